/* SPDX-License-Identifier: Apache-2.0
 *
 * process.Process: the calls that are no streams of output. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text/base64.h"
#include "front/envd/envd_internal.h"
#include "front/http/http_head.h"
#include "session/commands/commands.h"

enum { LIST_MAX = 8 << 20, SIZE_MAX_CELLS = 10000 };

/* A number, or as a text: JSON of protocol buffers has both. */
static double pid_number(const struct json *value)
{
    const char *text = json_text(value);
    return text ? strtod(text, NULL) : json_number(value);
}

int envd_select(const struct envd_call *call, const struct json *selector, struct command **ret,
                struct err *e)
{
    const struct json *pid = json_get(selector, "pid");
    const char *tag = json_get_text(selector, "tag");
    double number = pid_number(pid);
    if (!pid && !tag)
        return err_set(e, -EINVAL, "process: a pid or a tag is needed");
    *ret = tag ? commands_find_tag(call->session.commands, tag)
           : number > 0 && number < (double)INT32_MAX
               ? commands_find(call->session.commands, (pid_t)number)
               : NULL;
    if (*ret)
        return 0;
    return tag ? err_set(e, -ENOENT, "process with tag %.100s not found", tag)
               : err_set(e, -ENOENT, "process with pid %.0f not found", number);
}

/* What a command's call came to. */
static int describe_call(int code, struct err *e)
{
    switch (code) {
    case 0:
        return 0;
    case -ESRCH:
        return err_set(e, -ENOENT, "the process has ended");
    case -EPIPE:
        return err_set(e, -EPIPE, "stdin not enabled or closed");
    case -ENOTTY:
        return err_set(e, -EPIPE, "this is a process with a terminal, or the call is for one");
    case -EAGAIN:
        return err_set(e, -EAGAIN, "the process does not read its input, and %d bytes wait",
                       COMMANDS_INPUT_MAX);
    default:
        return err_set(e, code, "%s", strerror(-code));
    }
}

/* A call for one command, which `run` carries out and which has no more to say. */
static void call_command(void *ctx, struct http_request *r,
                         int (*run)(struct command *command, const struct json *body,
                                    struct err *e))
{
    drop_call struct envd_call call = {0};
    struct command *command = NULL;
    struct err e = ERR_NONE;
    if (!envd_unary(ctx, r, &call))
        return;
    int code = envd_select(&call, json_get(call.body, "process"), &command, &e);
    if (code == 0)
        code = run(command, call.body, &e);
    if (code < 0)
        envd_refuse(r, &e);
    else
        envd_answer_empty(r);
}

/* --- List ------------------------------------------------------------------------------------- */

static void put_json_member(struct jsonw *w, const char *name, const struct json *value)
{
    char *text = value && json_count(value) > 0 ? json_print(value) : NULL;
    if (text)
        jsonw_set_raw(w, name, text);
    xfree(text);
}

static void put_command(struct jsonw *w, const struct command *command)
{
    struct command_view view;
    command_look(command, &view);
    jsonw_object(w);
    jsonw_set_object(w, "config");
    jsonw_set_text(w, "cmd", view.program);
    put_json_member(w, "args", view.args);
    put_json_member(w, "envs", view.envs);
    jsonw_set_text(w, "cwd", view.cwd);
    jsonw_end(w);
    jsonw_set_int(w, "pid", view.pid);
    if (view.tag)
        jsonw_set_text(w, "tag", view.tag);
    jsonw_end(w);
}

void envd_list(void *ctx, struct http_request *r)
{
    drop_call struct envd_call call = {0};
    drop_buf struct buf body = BUF_INIT(LIST_MAX);
    struct jsonw w = JSONW(&body);
    if (!envd_unary(ctx, r, &call))
        return;
    jsonw_object(&w);
    jsonw_set_array(&w, "processes");
    for (const struct command *c = NULL; (c = commands_next(call.session.commands, c)) != NULL;)
        put_command(&w, c);
    jsonw_end(&w);
    jsonw_end(&w);
    envd_answer(r, &body);
}

/* --- input ------------------------------------------------------------------------------------ */

static int type_input(struct command *command, const struct json *input, struct err *e)
{
    const char *typed = json_get_text(input, "pty"), *text = json_get_text(input, "stdin");
    drop_buf struct buf bytes = BUF_INIT(ENVD_BODY_MAX);
    struct command_view view;
    command_look(command, &view);
    if (!typed && !text)
        return err_set(e, -EINVAL, "input: stdin or pty is needed");
    if (view.terminal != (typed != NULL))
        return err_set(e, -EPIPE,
                       view.terminal ? "the process has a terminal: send pty"
                                     : "the process has no terminal: send stdin");
    text = typed ? typed : text;
    if (base64_decode(&bytes, text, strlen(text)) < 0)
        return err_set(e, -EINVAL, "input: base64 is needed");
    return describe_call(command_type(command, buf_text(&bytes), bytes.len), e);
}

static int run_send_input(struct command *command, const struct json *body, struct err *e)
{
    return type_input(command, json_get(body, "input"), e);
}

void envd_send_input(void *ctx, struct http_request *r)
{
    call_command(ctx, r, run_send_input);
}

/* A stream of messages: {"start":{"process"}}, then {"data":{"input"}} and {"keepalive"}. */
struct input_stream {
    struct envd_call call;
    struct connect_reader reader;
    pid_t pid; /* 0: not said yet */
};

static void free_input_stream(struct input_stream *i)
{
    connect_done(&i->reader);
    xfree(i);
}

static void on_input_gone(void *ctx)
{
    free_input_stream(ctx);
}

static int take_input(struct input_stream *i, const struct json *message, struct err *e)
{
    struct command *command = NULL;
    const struct json *start = json_get(message, "start"), *data = json_get(message, "data");
    if (start) {
        int r = envd_select(&i->call, json_get(start, "process"), &command, e);
        struct command_view view;
        if (r < 0)
            return r;
        command_look(command, &view);
        i->pid = view.pid;
        return 0;
    }
    if (!data)
        return 0;
    if (i->pid == 0)
        return err_set(e, -EINVAL, "the first message is to be {\"start\": …}");
    if (!sessions_find(i->call.envd->e2b->config.sessions, i->call.sandbox->id, &i->call.session))
        return err_set(e, -ESHUTDOWN, "the sandbox is gone");
    command = commands_find(i->call.session.commands, i->pid);
    if (!command)
        return err_set(e, -ENOENT, "the process has ended");
    return type_input(command, json_get(data, "input"), e);
}

static void fail_input(struct input_stream *i, const struct err *e)
{
    envd_refuse_stream(i->call.r, e);
    free_input_stream(i);
}

static void on_input_body(void *ctx, const char *bytes, size_t n)
{
    struct input_stream *i = ctx;
    struct connect_frame frame;
    struct err e = ERR_NONE;
    int r;
    while ((r = connect_next(&i->reader, &bytes, &n, &frame)) > 0) {
        drop_json struct json *message = json_parse(frame.data, frame.n, JSON_REQUEST, &e);
        if (!message)
            (void)err_set(&e, -EINVAL, "a message is not JSON");
        if (!message || take_input(i, message, &e) < 0) {
            fail_input(i, &e);
            return;
        }
    }
    if (r < 0) {
        (void)err_set(&e, -EINVAL, "an envelope is broken, or its message is too long");
        fail_input(i, &e);
    }
}

static void on_input_end(void *ctx)
{
    static const char empty[] = "\0\0\0\0\2{}";
    struct input_stream *i = ctx;
    struct err e = ERR_NONE;
    if (connect_end(&i->reader) < 0 || i->pid == 0) {
        (void)err_set(&e, -EINVAL, "whole messages in envelopes are needed");
        fail_input(i, &e);
        return;
    }
    envd_stream_begin(i->call.r);
    http_stream_last(i->call.r, empty, sizeof empty - 1);
    envd_stream_end(i->call.r, NULL);
    free_input_stream(i);
}

void envd_stream_input(void *ctx, struct http_request *r)
{
    static const struct http_events events = {
        .body = on_input_body, .end = on_input_end, .gone = on_input_gone};
    struct envd_call call = {0};
    struct err e = ERR_NONE;
    if (envd_find(ctx, r, &call, &e) < 0) {
        envd_refuse_stream(r, &e);
        return;
    }
    struct input_stream *i = NEW(struct input_stream);
    *i = (struct input_stream){.call = call, .reader = CONNECT_READER(ENVD_BODY_MAX)};
    http_watch(r, &events, i);
}

/* --- the others ------------------------------------------------------------------------------- */

static int run_close_stdin(struct command *command, const struct json *body, struct err *e)
{
    (void)body;
    return describe_call(command_close_input(command), e);
}

void envd_close_stdin(void *ctx, struct http_request *r)
{
    call_command(ctx, r, run_close_stdin);
}

static int run_send_signal(struct command *command, const struct json *body, struct err *e)
{
    const char *signal = json_get_text(body, "signal");
    bool kill = signal && strcmp(signal, "SIGNAL_SIGKILL") == 0;
    if (!kill && !(signal && strcmp(signal, "SIGNAL_SIGTERM") == 0))
        return err_set(e, -EINVAL, "signal: SIGNAL_SIGTERM or SIGNAL_SIGKILL is needed");
    return describe_call(command_kill(command, kill), e);
}

void envd_send_signal(void *ctx, struct http_request *r)
{
    call_command(ctx, r, run_send_signal);
}

static int run_update(struct command *command, const struct json *body, struct err *e)
{
    const struct json *size = json_get(json_get(body, "pty"), "size");
    double columns = json_number(json_get(size, "cols")),
           rows = json_number(json_get(size, "rows"));
    if (columns < 1 || columns > SIZE_MAX_CELLS || rows < 1 || rows > SIZE_MAX_CELLS)
        return err_set(e, -EINVAL, "pty.size: cols and rows of 1 to %d are needed", SIZE_MAX_CELLS);
    return describe_call(command_resize(command, (unsigned short)columns, (unsigned short)rows), e);
}

void envd_update(void *ctx, struct http_request *r)
{
    call_command(ctx, r, run_update);
}
