/* SPDX-License-Identifier: Apache-2.0
 *
 * The code interpreter: /execute, whose answer is the events of the cell as they come. */
#include "front/e2b/e2b_interpreter.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/list.h"
#include "front/http/http_context.h"
#include "session/executions/reader.h"

enum { EVENTS_PER_TURN = 64, ALIVE_MS = 15000, ENV_CODE_MAX = 1 << 20 };

struct e2b_run { /* a request whose code runs or waits */
    struct e2b_run *prev, *next;
    struct e2b *owner;
    struct http_request *r;
    char session[SESSIONS_ID_MAX + 1];
    struct execution_reader reader;
    bool blocked;
    struct loop_defer again;
    struct loop_timer alive;
};

/* --- the stream ------------------------------------------------------------------------------- */

static void pump_run(void *ctx);

static void free_run(struct e2b_run *run)
{
    list_remove(&run->owner->interpreter->runs, run);
    reader_close(&run->reader);
    loop_defer_stop(run->owner->config.loop, &run->again);
    loop_timer_stop(run->owner->config.loop, &run->alive);
    xfree(run);
}

/* Closing the connection is how a client interrupts its code. */
static void on_run_gone(void *ctx)
{
    struct e2b_run *run = ctx;
    struct execution *x = run->reader.execution;
    free_run(run);
    execution_left(x);
}

static void on_run_more(void *ctx)
{
    struct e2b_run *run = ctx;
    if (!run->blocked)
        loop_defer(run->owner->config.loop, &run->again, pump_run, run);
}

static void on_run_writable(void *ctx)
{
    struct e2b_run *run = ctx;
    run->blocked = false;
    on_run_more(run);
}

static void on_run_quiet(void *ctx)
{
    static const char line[] = "{\"type\":\"keepalive\"}\n";
    struct e2b_run *run = ctx;
    if (!run->blocked)
        (void)!http_stream_write(run->r, line, sizeof line - 1);
    loop_timer_set(run->owner->config.loop, &run->alive, ALIVE_MS, on_run_quiet, run);
}

static void finish_run(struct e2b_run *run)
{
    struct http_request *r = run->r;
    drop_buf struct buf text = BUF_INIT(E2B_ANSWER_MAX);
    e2b_put_end(&text, run->reader.execution);
    free_run(run);
    http_stream_last(r, buf_text(&text), text.len);
    http_stream_end(r);
}

static void put_item(struct buf *out, const struct reader_item *item)
{
    if (item->kind == READER_EVENT)
        e2b_put_event(out, &item->event);
    else if (item->kind == READER_GAP)
        e2b_put_gap(out, item->missed, clock_real_ms());
}

enum run_step { RUN_SENT, RUN_STANDS, RUN_OVER };

/* RUN_OVER: the run is gone. RUN_STANDS: nothing more can be sent at present. */
static enum run_step send_next_line(struct e2b_run *run)
{
    drop_buf struct buf text = BUF_INIT((size_t)64 << 20);
    const struct reader_item item = reader_next(&run->reader);
    if (item.kind == READER_OVER) {
        finish_run(run);
        return RUN_OVER;
    }
    if (item.kind == READER_NOTHING)
        return RUN_STANDS;
    put_item(&text, &item);
    if (text.len > 0 && http_stream_write(run->r, text.data, text.len) < 0) {
        run->blocked = true;
        return RUN_STANDS;
    }
    reader_took(&run->reader, &item);
    return RUN_SENT;
}

static void pump_run(void *ctx)
{
    struct e2b_run *run = ctx;
    for (int i = 0; i < EVENTS_PER_TURN; i++)
        if (send_next_line(run) != RUN_SENT)
            return;
    loop_defer(run->owner->config.loop, &run->again, pump_run, run);
}

static void open_run(struct e2b *e, struct http_request *r, const struct sessions_view *view,
                     struct execution *x)
{
    static const struct http_header type = {"Content-Type", "application/x-ndjson"};
    static const struct http_events events = {.writable = on_run_writable, .gone = on_run_gone};
    struct e2b_run *run = NEW(struct e2b_run);
    *run = (struct e2b_run){.owner = e, .r = r};
    (void)snprintf(run->session, sizeof run->session, "%s", view->id);
    list_push(&e->interpreter->runs, run);
    http_watch(r, &events, run);
    http_stream_begin(r, 200, &type, 1, -1);
    reader_open(&run->reader, view->session, x, 0, on_run_more, run);
    loop_timer_set(e->config.loop, &run->alive, ALIVE_MS, on_run_quiet, run);
    on_run_more(run);
}

/* --- the request ------------------------------------------------------------------------------ */

struct run_order { /* borrowed from the body */
    const char *code, *context, *language;
    const struct json *env; /* NULL: none */
};

static int read_env_vars(const struct json *env, struct err *err)
{
    if (!json_is_object(env))
        return err_set(err, -EINVAL, "env_vars: an object is needed");
    for (const struct json *j = json_first(env); j; j = json_next(j)) {
        const char *name = json_name(j), *text = json_text(j);
        if (!*name || strchr(name, '=') || strstr(name, "\xc0\x80"))
            return err_set(err, -EINVAL, "env_vars: %.40s is no name of a variable", name);
        if (!text || strstr(text, "\xc0\x80"))
            return err_set(err, -EINVAL, "env_vars.%.40s: a string without NUL is needed", name);
    }
    return 0;
}

static int read_optional(const struct json *body, const char *name, const char **ret,
                         struct err *err)
{
    const struct json *value = json_get(body, name);
    if (!value || json_is_null(value))
        return 0;
    return json_need_text(body, name, ret, err);
}

static int read_asked(const struct json *body, struct run_order *ret, struct err *err)
{
    *ret = (struct run_order){0};
    int r = json_need_text(body, "code", &ret->code, err);
    if (r == 0)
        r = read_optional(body, "context_id", &ret->context, err);
    if (r == 0)
        r = read_optional(body, "language", &ret->language, err);
    if (r == 0 && ret->context && ret->language)
        r = err_set(err, -EINVAL, "Only one of context_id or language can be provided");
    const struct json *env = json_get(body, "env_vars");
    if (r == 0 && env && !json_is_null(env)) {
        r = read_env_vars(env, err);
        ret->env = json_first(env) ? env : NULL;
    }
    return r;
}

static int submit(const struct sessions_view *view, char *code, size_t n, bool cancel,
                  const struct request_context *origin, struct execution **ret, struct err *err)
{
    const struct execution_order order = {.cell = {.code = {code, n},
                                                   .timeout_ms = SESSIONS_MS_MAX,
                                                   .unsaved = true,
                                                   .origin = origin},
                                          .digest = "",
                                          .cancel_when_left = cancel};
    return executions_submit(view->executions, &order, ret, err);
}

/* Variables of one request are there while its code runs: a cell before it puts them, and one
 * behind it brings back what was there. */
static int submit_env(const struct sessions_view *view, const struct json *env,
                      const struct request_context *origin, struct err *err)
{
    drop_buf struct buf code = BUF_INIT(ENV_CODE_MAX);
    struct jsonw w = JSONW(&code);
    struct execution *x;
    (void)buf_adds(&code, "(lambda os, new: (setattr(os, '_e2b_env', {k: os.environ.get(k) for k "
                          "in new}), os.environ.update(new), None)[-1])(__import__('os'), ");
    jsonw_object(&w);
    for (const struct json *j = json_first(env); j; j = json_next(j))
        jsonw_set_text(&w, json_name(j), json_text(j));
    jsonw_end(&w);
    (void)buf_addc(&code, ')');
    if (code.failed)
        return err_set(err, -EINVAL, "env_vars: they are too long");
    return submit(view, code.data, code.len, false, origin, &x, err);
}

static int submit_env_back(const struct sessions_view *view, const struct request_context *origin,
                           struct err *err)
{
    static char code[] =
        "(lambda os: ([os.environ.pop(k, None) if v is None else os.environ.__setitem__(k, v) "
        "for k, v in os.__dict__.pop('_e2b_env', {}).items()], None)[-1])(__import__('os'))";
    struct execution *x;
    return submit(view, code, sizeof code - 1, false, origin, &x, err);
}

/* Its shells go on where the one before ended. */
static int submit_shell_state(const struct sessions_view *view,
                              const struct request_context *origin, struct err *err)
{
    static char code[] = "__import__('ipybox_kernel.bash_state', fromlist=['begin']).begin()";
    struct execution *x;
    return submit(view, code, sizeof code - 1, false, origin, &x, err);
}

static int submit_asked(const struct e2b_place *place, const struct run_order *asked,
                        const struct http_request *r, struct execution **ret, struct err *err)
{
    struct request_context origin;
    request_context_of(r, &origin);
    drop_str char *code =
        xasprintf("%s%s", place->language == E2B_BASH ? "%%bash\n" : "", asked->code);
    int failed = place->language == E2B_BASH ? submit_shell_state(&place->view, &origin, err) : 0;
    if (failed == 0 && asked->env)
        failed = submit_env(&place->view, asked->env, &origin, err);
    if (failed == 0)
        failed = submit(&place->view, code, strlen(code), true, &origin, ret, err);
    if (failed == 0 && asked->env)
        failed = submit_env_back(&place->view, &origin, err);
    return failed;
}

static void post_execute(void *ctx, struct http_request *r)
{
    struct e2b *e = ctx;
    struct e2b_sandbox *s = e2b_here(e, r);
    struct run_order asked;
    struct e2b_place place;
    struct execution *x = NULL;
    struct err why = ERR_NONE;
    drop_json struct json *body = NULL;
    if (!s || !e2b_body(r, &body))
        return;
    if (read_asked(body, &asked, &why) < 0 ||
        e2b_place_of(s, asked.context, asked.language, &place, &why) < 0 ||
        submit_asked(&place, &asked, r, &x, &why) < 0)
        e2b_fail_err(r, &why);
    else
        open_run(e, r, &place.view, x);
}

static void get_code_health(void *ctx, struct http_request *r)
{
    static const struct http_header type = {"Content-Type", E2B_TYPE};
    (void)ctx;
    http_answer(r, 200, &type, 1, "\"OK\"", 4);
}

static const struct http_route routes[] = {
    {"GET", "/health", HTTP_NO_BODY, 0, NULL, E2B_FREE, get_code_health},
    {"POST", "/execute", HTTP_COLLECT, E2B_BODY_MAX, NULL, E2B_NEEDS_TOKEN, post_execute},
    {"GET", "/contexts", HTTP_NO_BODY, 0, NULL, E2B_NEEDS_TOKEN, e2b_contexts_get},
    {"POST", "/contexts", HTTP_COLLECT, E2B_BODY_MAX, NULL, E2B_NEEDS_TOKEN, e2b_contexts_post},
    {"POST", "/contexts/{id}/restart", HTTP_COLLECT, E2B_BODY_MAX, NULL, E2B_NEEDS_TOKEN,
     e2b_context_restart},
    {"DELETE", "/contexts/{id}", HTTP_COLLECT, E2B_BODY_MAX, NULL, E2B_NEEDS_TOKEN,
     e2b_context_delete},
};

/* --- the part --------------------------------------------------------------------------------- */

static void open_interpreter(struct e2b *e)
{
    e->interpreter = NEW(struct e2b_interpreter);
}

/* No request is open any more, so there are no runs. */
static void close_interpreter(struct e2b *e)
{
    e2b_restarts_close(e);
    xfree(e->interpreter);
    e->interpreter = NULL;
}

/* What is still in its log goes out first, as far as the client takes it at once. */
static void end_runs(struct e2b *e, const char *id)
{
    for (struct e2b_run *run = e->interpreter->runs, *next; run; run = next) {
        next = run->next;
        if (strcmp(run->session, id) != 0)
            continue;
        enum run_step step = RUN_SENT;
        while (step == RUN_SENT)
            step = send_next_line(run);
        if (step != RUN_OVER)
            finish_run(run);
    }
}

static void on_interpreter_session_ended(struct e2b *e, const char *id)
{
    end_runs(e, id);
    e2b_contexts_session_ended(e, id);
}

const struct e2b_part e2b_interpreter_part = {.routes = routes,
                                              .n = sizeof routes / sizeof *routes,
                                              .open = open_interpreter,
                                              .close = close_interpreter,
                                              .ended = e2b_contexts_end,
                                              .session_ended = on_interpreter_session_ended};
