/* SPDX-License-Identifier: Apache-2.0
 *
 * process.Process: Start and Connect, whose answers are streams of what a command says. A client
 * that goes away leaves the command as it is. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text/base64.h"
#include "front/envd/envd_internal.h"
#include "session/commands/commands.h"

enum {
    HELD_MAX = 8 << 20,
    CHUNK = 48 << 10, /* of output in one frame; a multiple of three */
    STATUS_MAX = 80,
    SIZE_MAX_CELLS = 10000,
    HELD_KEPT = 256 << 10
};

struct command_stream_out {
    struct envd *envd;
    struct http_request *r;
    struct command_reader reader;
    struct buf held; /* frames that the client did not take yet */
    struct loop_timer alive, end;
    int64_t alive_ms;
    bool begun;
};

static void free_command_out(struct command_stream_out *o)
{
    struct loop *loop = o->envd->e2b->config.loop;
    command_unfollow(&o->reader);
    loop_timer_stop(loop, &o->alive);
    loop_timer_stop(loop, &o->end);
    buf_done(&o->held);
    xfree(o);
}

static void on_command_out_gone(void *ctx)
{
    free_command_out(ctx);
}

/* --- frames ----------------------------------------------------------------------------------- */

static void begin_out(struct command_stream_out *o)
{
    if (!o->begun)
        envd_stream_begin(o->r);
    o->begun = true;
}

/* False: the client is slow. */
static bool flush_out(struct command_stream_out *o)
{
    if (o->held.failed || (o->held.len > 0 && envd_stream_put(o->r, &o->held) < 0))
        return false;
    buf_reuse(&o->held, HELD_KEPT);
    return true;
}

/* The frame {"event":{NAME:JSON}}. */
static void put_event(struct command_stream_out *o, const char *name, const char *json)
{
    size_t at;
    connect_begin(&o->held, &at);
    (void)buf_addf(&o->held, "{\"event\":{\"%s\":%s}}", name, json);
    connect_finish(&o->held, at, 0);
}

static void put_data(struct command_stream_out *o, const char *name, const char *bytes, size_t n)
{
    size_t at;
    connect_begin(&o->held, &at);
    (void)buf_addf(&o->held, "{\"event\":{\"data\":{\"%s\":\"", name);
    (void)!base64_encode(&o->held, bytes, n); /* a failure stays in `held` */
    (void)buf_adds(&o->held, "\"}}}");
    connect_finish(&o->held, at, 0);
}

/* --- events of the command -------------------------------------------------------------------- */

static void on_out_alive(void *ctx)
{
    struct command_stream_out *o = ctx;
    loop_timer_set(o->envd->e2b->config.loop, &o->alive, o->alive_ms, on_out_alive, o);
    if (o->held.len == 0) {
        put_event(o, "keepalive", "{}");
        (void)flush_out(o);
    }
}

static void on_out_started(void *ctx, pid_t pid)
{
    struct command_stream_out *o = ctx;
    char json[STATUS_MAX];
    begin_out(o);
    (void)snprintf(json, sizeof json, "{\"pid\":%d}", (int)pid);
    put_event(o, "start", json);
    (void)flush_out(o);
    loop_timer_set(o->envd->e2b->config.loop, &o->alive, o->alive_ms, on_out_alive, o);
}

static bool on_out_output(void *ctx, enum command_stream stream, const char *bytes, size_t n)
{
    static const char *const names[] = {
        [COMMAND_STDOUT] = "stdout", [COMMAND_STDERR] = "stderr", [COMMAND_TERMINAL] = "pty"};
    struct command_stream_out *o = ctx;
    for (size_t at = 0; at < n; at += CHUNK)
        put_data(o, names[stream], bytes + at, n - at < CHUNK ? n - at : CHUNK);
    return flush_out(o);
}

static void put_end(struct command_stream_out *o, const struct command_end *end)
{
    drop_buf struct buf json = BUF_INIT(STATUS_MAX * 20);
    struct jsonw w = JSONW(&json);
    char status[STATUS_MAX];
    if (end->signal)
        (void)snprintf(status, sizeof status, "signal: %s",
                       end->signal == SIGKILL   ? "killed"
                       : end->signal == SIGTERM ? "terminated"
                       : end->signal == SIGINT  ? "interrupt"
                                                : strsignal(end->signal));
    else
        (void)snprintf(status, sizeof status, "exit status %d", end->code);
    jsonw_object(&w);
    if (!end->signal)
        jsonw_set_bool(&w, "exited", true);
    jsonw_set_text(&w, "status", status);
    if (end->code != 0)
        jsonw_set_int(&w, "exitCode", end->code);
    if (end->code != 0 || end->signal)
        jsonw_set_text(&w, "error", end->limit ? end->limit : status);
    jsonw_end(&w);
    put_event(o, "end", buf_text(&json));
}

static void on_out_ended(void *ctx, const struct command_end *end)
{
    struct command_stream_out *o = ctx;
    struct err e = ERR_NONE;
    begin_out(o);
    if (o->held.failed) { /* the client sees that it is incomplete */
        http_stream_abort(o->r);
        free_command_out(o);
        return;
    }
    if (end->why)
        (void)err_set(&e, end->error == -ESHUTDOWN ? -ESHUTDOWN : -EINVAL, "%s", end->why);
    else if (end->timed_out)
        (void)err_set(&e, -ETIMEDOUT, "the time of Connect-Timeout-Ms is over");
    else
        put_end(o, end);
    if (o->held.len > 0)
        http_stream_last(o->r, o->held.data, o->held.len);
    envd_stream_end(o->r, e.code ? &e : NULL);
    free_command_out(o);
}

static void on_out_writable(void *ctx)
{
    struct command_stream_out *o = ctx;
    if (flush_out(o))
        command_continue(&o->reader);
}

static const struct command_events out_events = {on_out_started, on_out_output, on_out_ended};
static const struct http_events http_out_events = {.writable = on_out_writable,
                                                   .gone = on_command_out_gone};

static struct command_stream_out *new_out(const struct envd_call *call)
{
    struct command_stream_out *o = NEW(struct command_stream_out);
    *o = (struct command_stream_out){.envd = call->envd,
                                     .r = call->r,
                                     .held = BUF_INIT(HELD_MAX),
                                     .alive_ms = envd_keepalive_ms(call->r)};
    http_watch(call->r, &http_out_events, o);
    return o;
}

/* --- Start ------------------------------------------------------------------------------------ */

static bool read_cells(const struct json *value, unsigned short *ret)
{
    double cells = json_number(value);
    if (!json_is_number(value) || cells < 0 || cells > SIZE_MAX_CELLS)
        return false;
    *ret = (unsigned short)cells;
    return true;
}

static int read_terminal(const struct json *pty, struct command_spec *ret, struct err *e)
{
    const struct json *size = json_get(pty, "size");
    if (!pty || json_is_null(pty))
        return 0;
    ret->terminal = true;
    if (read_cells(json_get(size, "cols"), &ret->columns) &&
        read_cells(json_get(size, "rows"), &ret->rows))
        return 0;
    return err_set(e, -EINVAL, "pty.size: cols and rows of 0 to %d are needed", SIZE_MAX_CELLS);
}

/* 0 of a text that is absent, too. */
static int read_text(const struct json *object, const char *name, const char **ret, struct err *e)
{
    const struct json *value = json_get(object, name);
    *ret = json_text(value);
    if (*ret && strstr(*ret, "\xC0\x80"))
        return err_set(e, -EINVAL, "%s: it has a NUL", name);
    return *ret || !value || json_is_null(value)
               ? 0
               : err_set(e, -EINVAL, "%s: a text is needed", name);
}

static int read_start(const struct envd_call *call, struct command_spec *ret, struct err *e)
{
    const struct json *process = json_get(call->body, "process");
    const struct json *args = json_get(process, "args"), *envs = json_get(process, "envs");
    const struct json *input = json_get(call->body, "stdin");
    int r = read_text(process, "cmd", &ret->program, e);
    if (r == 0)
        r = read_text(process, "cwd", &ret->cwd, e);
    if (r == 0)
        r = read_text(call->body, "tag", &ret->tag, e);
    if (r == 0)
        r = read_terminal(json_get(call->body, "pty"), ret, e);
    ret->args = args && !json_is_null(args) ? args : NULL;
    ret->envs = envs && !json_is_null(envs) ? envs : NULL;
    ret->input = !input || json_is_null(input) || json_true(input); /* as older clients expect */
    ret->timeout_ms = envd_timeout_ms(call->r);
    return r;
}

static void describe_failed_start(struct err *e, const char *cwd)
{
    if (e->code == -ENOENT || e->code == -ENOTDIR)
        (void)err_set(e, -EINVAL, "cwd '%.200s' does not exist", cwd);
    else if (e->code == -EACCES)
        (void)err_set(e, -EACCES, "cwd '%.200s' cannot be entered", cwd);
}

void envd_start(void *ctx, struct http_request *r)
{
    drop_call struct envd_call call = {0};
    struct command_spec spec = {0};
    struct err e = ERR_NONE;
    if (!envd_streaming(ctx, r, &call))
        return;
    int code = read_start(&call, &spec, &e);
    const char *cwd = spec.cwd && *spec.cwd ? spec.cwd : ".";
    drop_str char *folder = envd_real_path(call.envd, cwd);
    spec.cwd = folder;
    if (code == 0) {
        struct command_stream_out *o = new_out(&call);
        code = command_start(call.session.commands, &spec, &out_events, o, &o->reader, &e);
        if (code < 0) {
            http_watch(r, NULL, NULL);
            free_command_out(o);
            describe_failed_start(&e, cwd);
        }
    }
    if (code < 0)
        envd_refuse_stream(r, &e);
}

/* --- Connect ---------------------------------------------------------------------------------- */

static void on_connect_timeout(void *ctx)
{
    struct command_stream_out *o = ctx;
    struct err e = ERR_NONE;
    (void)err_set(&e, -ETIMEDOUT, "the time of Connect-Timeout-Ms is over");
    begin_out(o);
    envd_stream_end(o->r, &e);
    free_command_out(o);
}

void envd_connect(void *ctx, struct http_request *r)
{
    drop_call struct envd_call call = {0};
    struct command *command = NULL;
    struct err e = ERR_NONE;
    if (!envd_streaming(ctx, r, &call))
        return;
    if (envd_select(&call, json_get(call.body, "process"), &command, &e) < 0) {
        envd_refuse_stream(r, &e);
        return;
    }
    struct command_stream_out *o = new_out(&call);
    command_follow(command, &out_events, o, &o->reader);
    int64_t timeout = envd_timeout_ms(r);
    if (timeout > 0)
        loop_timer_set(call.envd->e2b->config.loop, &o->end, timeout, on_connect_timeout, o);
}
