/* SPDX-License-Identifier: Apache-2.0
 *
 * /exec/programmatic: code that calls tools of the client. The code runs once. A call comes over
 * the tool socket like those of MCP servers, and stays open until the client's next request brings
 * its result; calls that come within BATCH_MS of each other are one answer. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/jsonspan.h"
#include "base/list.h"
#include "base/random.h"
#include "base/secret.h"
#include "front/librechat/librechat_internal.h"

enum { BATCH_MS = 2, CALL_ID_MAX = 32 };

#define SERVER "librechat" /* as code in the kernel names it */
#define REQUEST_HEADER "X-LibreChat-Code-Request-ID"

/* --- time ------------------------------------------------------------------------------------- */

/* Its own time is over: what it has printed is told. */
static void on_run_time_over(void *ctx)
{
    struct librechat_run *run = ctx;
    run->timed_out = true;
    execution_cancel(run->code.execution);
}

static void on_client_time_over(void *ctx)
{
    librechat_run_free(ctx);
}

void librechat_tools_run(struct librechat_run *run)
{
    int64_t ms = run->order.timeout_ms ? run->order.timeout_ms : SESSIONS_TIMEOUT_MS;
    loop_timer_set(run->owner->config.loop, &run->limit, ms, on_run_time_over, run);
}

/* --- calls ------------------------------------------------------------------------------------ */

static void call_id(const struct librechat_call *call, char ret[CALL_ID_MAX])
{
    (void)snprintf(ret, CALL_ID_MAX, "call_%03llu", (unsigned long long)call->number);
}

static void free_librechat_call(struct librechat_run *run, struct librechat_call *call)
{
    chain_remove(&run->calls, call);
    xfree(call->tool);
    xfree(call->arguments);
    xfree(call);
}

static void put_calls(struct jsonw *w, const struct librechat_run *run)
{
    char id[CALL_ID_MAX];
    jsonw_set_array(w, "tool_calls");
    for (struct librechat_call *call = run->calls; call; call = call->next) {
        call->sent = true;
        call_id(call, id);
        jsonw_object(w);
        jsonw_set_text(w, "id", id);
        jsonw_set_text(w, "name", call->tool);
        jsonw_set_raw(w, "input", call->arguments);
        jsonw_end(w);
    }
    jsonw_end(w);
}

/* From here on the code waits for the client. */
static void ask_client(void *ctx)
{
    struct librechat_run *run = ctx;
    struct http_request *r = run->r;
    drop_buf struct buf body = BUF_INIT(LIBRECHAT_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    if (run->owner->stopping) {
        librechat_fail(r, 503, "the server is stopping");
        librechat_run_free(run);
        return;
    }
    random_hex(run->token, LIBRECHAT_TOKEN_BYTES);
    jsonw_object(&w);
    jsonw_set_text(&w, "status", "tool_call_required");
    jsonw_set_text(&w, "session_id", run->order.session);
    jsonw_set_text(&w, "continuation_token", run->token);
    put_calls(&w, run);
    jsonw_end(&w);
    if (body.failed) {
        librechat_fail(r, 500, "the arguments of the tools are too long");
        librechat_run_free(run);
        return;
    }
    run->r = NULL;
    loop_timer_set(run->owner->config.loop, &run->limit, LIBRECHAT_WAIT_MS, on_client_time_over,
                   run);
    http_answer_json(r, 200, &body);
}

static void ask_client_soon(struct librechat_run *run)
{
    if (run->r && !run->batch.armed)
        loop_timer_set(run->owner->config.loop, &run->batch, BATCH_MS, ask_client, run);
}

static void on_tool_called(void *ctx, struct toolplane_call *made, const char *tool,
                           const char *arguments)
{
    struct librechat_run *run = ctx;
    struct librechat_call *call = NEW(struct librechat_call);
    *call = (struct librechat_call){.call = made,
                                    .number = ++run->numbers,
                                    .tool = xstrdup(tool),
                                    .arguments = xstrdup(arguments)};
    chain_append(&run->calls, call);
    ask_client_soon(run);
}

/* The client may still send a result of one that it knows. */
static void on_tool_cancelled(void *ctx, const struct toolplane_call *made)
{
    struct librechat_run *run = ctx;
    struct librechat_call *call = run->calls;
    while (call && call->call != made)
        call = call->next;
    if (call && call->sent)
        call->call = NULL;
    else if (call)
        free_librechat_call(run, call);
    if (!run->calls)
        loop_timer_stop(run->owner->config.loop, &run->batch);
}

void librechat_tools_open(struct librechat_run *run)
{
    run->provider = (struct toolplane_provider){.session = run->name,
                                                .server = SERVER,
                                                .called = on_tool_called,
                                                .cancelled = on_tool_cancelled,
                                                .ctx = run};
    toolplane_provide(run->owner->config.toolplane, &run->provider);
}

void librechat_tools_close(struct librechat_run *run)
{
    loop_timer_stop(run->owner->config.loop, &run->limit);
    loop_timer_stop(run->owner->config.loop, &run->batch);
    if (run->provider.server)
        toolplane_unprovide(run->owner->config.toolplane, &run->provider);
    while (run->calls)
        free_librechat_call(run, run->calls);
}

void librechat_tools_stop(struct librechat *l)
{
    for (struct librechat_run *run = l->runs, *next; run; run = next) {
        next = run->next;
        if (!run->r)
            librechat_run_free(run);
    }
}

/* --- results ---------------------------------------------------------------------------------- */

static struct librechat_call *find_sent(const struct librechat_run *run, const char *id)
{
    char own[CALL_ID_MAX];
    for (struct librechat_call *call = run->calls; call; call = call->next) {
        call_id(call, own);
        if (call->sent && strcmp(own, id) == 0)
            return call;
    }
    return NULL;
}

static size_t count_sent(const struct librechat_run *run)
{
    size_t n = 0;
    for (const struct librechat_call *call = run->calls; call; call = call->next)
        n += call->sent;
    return n;
}

/* All of them are looked at before the first counts. */
static int check_results(const struct librechat_run *run, const struct json *results, struct err *e)
{
    size_t n = 0;
    if (!json_is_array(results) || json_count(results) != count_sent(run))
        return err_set(e, -EINVAL, "tool_results: an array with a result for each of %zu calls",
                       count_sent(run));
    for (const struct json *j = json_first(results); j; j = json_next(j), n++) {
        const char *id = json_get_text(j, "call_id");
        const struct json *message = json_get(j, "error_message");
        if (!id || !find_sent(run, id))
            return err_set(e, -EINVAL, "tool_results[%zu].call_id: no call waits under it", n);
        for (const struct json *old = json_first(results); old != j; old = json_next(old))
            if (strcmp(json_get_text(old, "call_id"), id) == 0)
                return err_set(e, -EINVAL, "tool_results[%zu].call_id: it is there twice", n);
        if (message && !json_is_null(message) && !json_text(message))
            return err_set(e, -EINVAL, "tool_results[%zu].error_message: a string is needed", n);
    }
    return 0;
}

static void give_result(struct librechat_run *run, const struct json *j, struct jsonspan span)
{
    struct librechat_call *call = find_sent(run, json_get_text(j, "call_id"));
    struct toolplane_call *made = call->call;
    struct jsonspan value = JSONSPAN("null", 4);
    const char *message = json_get_text(j, "error_message");
    free_librechat_call(run, call);
    if (!made)
        return;
    if (json_true(json_get(j, "is_error"))) {
        toolplane_answer(made, NULL, message && *message ? message : "the tool failed");
        return;
    }
    (void)jsonspan_get(span, "result", &value);
    drop_str char *line = jsonspan_line(value);
    drop_str char *result = xasprintf("{\"value\":%s}", line);
    toolplane_answer(made, result, "the result cannot be read");
}

/* Results go on as they were written: numbers are exact. */
static void give_results(struct librechat_run *run, const struct json *body, const char *text)
{
    struct jsonspan results, span;
    size_t at = 0;
    if (!jsonspan_get(JSONSPAN(text, strlen(text)), "tool_results", &results))
        return;
    for (const struct json *j = json_first(json_get(body, "tool_results")); j; j = json_next(j))
        if (jsonspan_next(results, &at, &span))
            give_result(run, j, span);
}

/* --- requests --------------------------------------------------------------------------------- */

static void note_request(struct librechat_run *run, const struct http_request *r)
{
    const char *id = http_header(r, REQUEST_HEADER);
    (void)snprintf(run->request_id, sizeof run->request_id, "%s", id ? id : "");
}

/* Of the user's runs. */
static struct librechat_run *find_waiting_run(const struct librechat *l,
                                              const struct http_request *r, const char *token)
{
    char space[LIBRECHAT_SPACE_MAX + 1];
    struct librechat_run *run = l->runs;
    librechat_space_of_user(r, space);
    while (run && !(run->token[0] && secret_equal(run->token, token) &&
                    strcmp(run->order.space, space) == 0))
        run = run->next;
    return run;
}

static struct librechat_run *find_run_of_request(const struct librechat *l,
                                                 const struct http_request *r, const char *id)
{
    char space[LIBRECHAT_SPACE_MAX + 1];
    struct librechat_run *run = l->runs;
    librechat_space_of_user(r, space);
    while (run && !(strcmp(run->request_id, id) == 0 && strcmp(run->order.space, space) == 0))
        run = run->next;
    return run;
}

static void on_tools_client_gone(void *ctx)
{
    librechat_run_free(ctx);
}

static void go_on(struct librechat_run *run, struct http_request *r, const struct json *body,
                  const char *text)
{
    static const struct http_events events = {.gone = on_tools_client_gone};
    run->token[0] = '\0';
    run->r = r;
    note_request(run, r);
    http_watch(r, &events, run);
    librechat_tools_run(run);
    give_results(run, body, text);
    if (run->code.execution->state == EXECUTION_ENDED)
        loop_defer(run->owner->config.loop, &run->done, librechat_run_finish, run);
    else if (run->calls)
        ask_client_soon(run);
}

static void continue_run(const struct librechat *l, struct http_request *r, const struct json *body,
                         const char *text)
{
    struct err e = ERR_NONE;
    const char *token = json_get_text(body, "continuation_token");
    struct librechat_run *run = token ? find_waiting_run(l, r, token) : NULL;
    if (!run)
        (void)err_set(&e, -EINVAL,
                      "continuation_token: no code waits for it: it was used, or is over");
    else
        (void)!check_results(run, json_get(body, "tool_results"), &e);
    if (e.code)
        librechat_fail_err(r, &e);
    else
        go_on(run, r, body, text);
}

void librechat_post_programmatic(void *ctx, struct http_request *r)
{
    struct buf *raw = http_body(r);
    struct err e = ERR_NONE;
    drop_str char *text = xstrdup(buf_text(raw));
    drop_json struct json *body = json_parse_copy(buf_text(raw), raw->len, JSON_REQUEST, &e);
    if (json_get(body, "continuation_token")) {
        continue_run(ctx, r, body, text);
        return;
    }
    struct librechat_run *run = librechat_run_start(ctx, r, true);
    if (run)
        note_request(run, r);
}

void librechat_post_cancel(void *ctx, struct http_request *r)
{
    struct librechat *l = ctx;
    struct err e = ERR_NONE;
    struct buf *raw = http_body(r);
    drop_json struct json *body = json_parse_copy(buf_text(raw), raw->len, JSON_REQUEST, &e);
    const char *id = json_get_text(body, "request_id");
    drop_buf struct buf answer = BUF_INIT(LIBRECHAT_ANSWER_MAX);
    if (!id || !*id) {
        librechat_fail(r, 400, "request_id: a string is needed");
        return;
    }
    struct librechat_run *run = find_run_of_request(l, r, id);
    if (!run) {
        librechat_fail(r, 404, "no code runs for the request %.60s", id);
        return;
    }
    if (run->r)
        librechat_fail(run->r, 409, "the code was cancelled");
    librechat_run_free(run);
    (void)buf_adds(&answer, "{\"status\":\"cancelled\"}");
    http_answer_json(r, 200, &answer);
}
