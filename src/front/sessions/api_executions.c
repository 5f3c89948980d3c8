/* SPDX-License-Identifier: Apache-2.0
 *
 * /v1/sessions/{id}/executions: cells that come over HTTP, and who waits for them. */
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "front/api.h"
#include "front/api/api_bodies.h"
#include "front/api/api_json.h"
#include "front/http/http_context.h"
#include "front/sessions/api_session.h"

/* --- answers ---------------------------------------------------------------------------------- */

static void answer_execution(const struct api_session *api_session, struct http_request *r,
                             int status, const struct execution *x, bool replayed)
{
    drop_str char *location = xasprintf("/v1/sessions/%s/executions/%s", api_session->id, x->id);
    const struct http_header headers[] = {
        {"Content-Type", API_TYPE}, {"Location", location}, {"Idempotency-Replayed", "true"}};
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    execution_put(&body, api_session, x);
    if (body.failed)
        http_problem(r, 500, NULL, 0, "the result is too long");
    else
        http_answer(r, status, headers, replayed ? 3 : 2, buf_text(&body), body.len);
}

static void free_waiter(struct execution_waiter *waiter)
{
    execution_unwatch(&waiter->watcher);
    list_remove(&waiter->api_session->waiters, waiter);
    xfree(waiter);
}

void waiters_free(struct api_session *api_session)
{
    while (api_session->waiters)
        free_waiter(api_session->waiters);
}

static void on_execution_waiter_gone(void *ctx)
{
    struct execution_waiter *waiter = ctx;
    struct execution *x = waiter->watcher.execution;
    const bool first = waiter->first;
    free_waiter(waiter);
    if (first)
        execution_left(x);
}

static void on_waited_execution_changed(void *ctx)
{
    struct execution_waiter *waiter = ctx;
    const struct execution *x = waiter->watcher.execution;
    if (x->state != EXECUTION_ENDED)
        return;
    const struct api_session *api_session = waiter->api_session;
    struct http_request *r = waiter->r;
    const bool first = waiter->first;
    free_waiter(waiter);
    answer_execution(api_session, r, 200, x, !first);
}

static void wait_for_execution(struct api_session *api_session, struct execution *x,
                               struct http_request *r, bool first)
{
    static const struct http_events events = {.gone = on_execution_waiter_gone};
    struct execution_waiter *waiter = NEW(struct execution_waiter);
    *waiter = (struct execution_waiter){.api_session = api_session, .r = r, .first = first};
    list_push(&api_session->waiters, waiter);
    execution_watch(x, &waiter->watcher, on_waited_execution_changed, waiter);
    http_watch(r, &events, waiter);
}

/* --- POST ------------------------------------------------------------------------------------- */

static void attend_execution(struct api_session *api_session, struct execution *x,
                             struct http_request *r, bool wait, bool first)
{
    const bool has_ended = x->state == EXECUTION_ENDED;
    if (api_wants_events(r))
        stream_open(api_session, x, r, first);
    else if (!has_ended && wait)
        wait_for_execution(api_session, x, r, first);
    else
        answer_execution(api_session, r, has_ended ? 200 : 202, x, !first);
}

/* A request with a key may be retried: its client does not want the cell to be cancelled when it
 * leaves, unless it says so. */
static bool is_cancelled_when_left(const struct body_execution *body, const char *key)
{
    return body->on_disconnect ? strcmp(body->on_disconnect, "cancel") == 0 : !key && body->wait;
}

static void post_new(struct api_session *api_session, struct http_request *r,
                     const struct json *body, const char *digest)
{
    struct sessions_view view;
    struct body_execution asked;
    struct request_context origin;
    struct execution *x;
    struct err e = ERR_NONE;
    uint64_t after;
    if (!sessions_find(api_session->api->config->sessions, api_session->id, &view) ||
        body_execution(body, view.timeout_ms, &asked, &e) < 0) {
        api_fail(r, &e);
        return;
    }
    if (api_wants_events(r) && !stream_may_open(api_session, r, &after))
        return; /* what is refused must not run */
    const char *key = http_header(r, "Idempotency-Key");
    drop_str char *code = xstrdup(asked.code);
    request_context_of(r, &origin);
    const struct execution_order order = {.cell = {.code = {code, strlen(code)},
                                                   .timeout_ms = asked.timeout_ms,
                                                   .max_chars = (size_t)asked.max_chars,
                                                   .unsaved = !asked.save_displays,
                                                   .origin = &origin},
                                          .key = key,
                                          .digest = digest,
                                          .cancel_when_left = is_cancelled_when_left(&asked, key)};
    if (executions_submit(api_session->executions, &order, &x, &e) < 0)
        api_fail(r, &e);
    else
        attend_execution(api_session, x, r, asked.wait, true);
}

/* The same key brings the same execution, whatever became of it. */
static void post_again(struct api_session *api_session, struct execution *x, struct http_request *r,
                       const struct json *body)
{
    bool wait = true;
    struct err e = ERR_NONE;
    if (body_bool(body, "wait", &wait, &e) < 0)
        api_fail(r, &e);
    else
        attend_execution(api_session, x, r, wait, false);
}

static void post_with_key(struct api_session *api_session, struct http_request *r, const char *key,
                          const struct json *body, const char *digest)
{
    struct execution *x = NULL;
    char id[2 * EXECUTION_ID_BYTES + 1];
    switch (executions_look_up(api_session->executions, key, digest, &x, id)) {
    case EXECUTIONS_NEW:
        post_new(api_session, r, body, digest);
        break;
    case EXECUTIONS_SAME:
        post_again(api_session, x, r, body);
        break;
    case EXECUTIONS_OTHER:
        http_problem(r, 422, NULL, 0, "this Idempotency-Key came with another body before");
        break;
    case EXECUTIONS_EXPIRED:
        http_problem(r, 410, NULL, 0,
                     "this Idempotency-Key is that of execution %s, which has ended and whose "
                     "result is not kept any more; nothing is run again",
                     id);
        break;
    }
}

void executions_post(void *ctx, struct http_request *r)
{
    char digest[HMAC_HEX + 1] = "";
    const char *key = http_header(r, "Idempotency-Key");
    struct api_session *api_session = api_session_of(ctx, r);
    drop_json struct json *body = NULL;
    if (key) /* it takes longer than all else; and parsing changes the body */
        sha256_hex(buf_text(http_body(r)), http_body(r)->len, digest);
    if (!api_session || !api_body(r, body_execution_known, &body))
        return;
    if (key && (!*key || strlen(key) > EXECUTION_KEY_MAX))
        http_problem(r, 400, NULL, 0, "Idempotency-Key: 1 to %d characters are needed",
                     EXECUTION_KEY_MAX);
    else if (key)
        post_with_key(api_session, r, key, body, digest);
    else
        post_new(api_session, r, body, digest);
}

/* --- the others ------------------------------------------------------------------------------- */

/* {eid} of {id}. False: it has answered 404. */
static bool execution_of(struct api *api, struct http_request *r,
                         struct api_session **ret_api_session, struct execution **ret)
{
    *ret_api_session = api_session_of(api, r);
    *ret = *ret_api_session ? executions_find((*ret_api_session)->executions, http_param(r, "eid"))
                            : NULL;
    if (*ret_api_session && !*ret)
        http_problem(r, 404, NULL, 0, "there is no execution %.80s, or its result was dropped",
                     http_param(r, "eid"));
    return *ret != NULL;
}

void executions_list(void *ctx, struct http_request *r)
{
    struct api_session *api_session = api_session_of(ctx, r);
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    if (!api_session)
        return;
    jsonw_object(&w);
    jsonw_set_array(&w, "executions");
    for (const struct execution *x = executions_first(api_session->executions); x; x = x->next) {
        jsonw_object(&w);
        jsonw_set_text(&w, "id", x->id);
        jsonw_set_text(&w, "status", execution_status(x));
        jsonw_set_int(&w, "created_ms", x->created_ms);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

void execution_get(void *ctx, struct http_request *r)
{
    struct api_session *api_session;
    struct execution *x;
    if (!execution_of(ctx, r, &api_session, &x))
        return;
    if (api_wants_events(r))
        stream_open(api_session, x, r, false);
    else
        answer_execution(api_session, r, 200, x, false);
}

void execution_events(void *ctx, struct http_request *r)
{
    struct api_session *api_session;
    struct execution *x;
    if (execution_of(ctx, r, &api_session, &x))
        stream_open(api_session, x, r, false);
}

static void ignore_change(void *ctx)
{
    (void)ctx;
}

void execution_delete(void *ctx, struct http_request *r)
{
    struct api_session *api_session;
    struct execution *x;
    struct execution_watcher keep; /* its end may come at once, and make room for others */
    if (!execution_of(ctx, r, &api_session, &x))
        return;
    execution_watch(x, &keep, ignore_change, NULL);
    execution_cancel(x);
    answer_execution(api_session, r, 200, x, false);
    execution_unwatch(&keep);
}
