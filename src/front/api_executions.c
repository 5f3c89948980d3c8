/* SPDX-License-Identifier: Apache-2.0
 *
 * /v1/sessions/{id}/executions: cells that come over HTTP, and who waits for them. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/random.h"
#include "front/api.h"
#include "front/api_bodies.h"
#include "front/api_desk.h"
#include "front/api_json.h"
#include "front/origin.h"

/* --- the store -------------------------------------------------------------------------------- */

static struct execution *find(const struct desk *desk, const char *id)
{
    struct execution *x = desk->first;
    while (x && strcmp(x->id, id) != 0)
        x = x->next;
    return x;
}

static struct execution *find_key(const struct desk *desk, const char *key)
{
    struct execution *x = desk->first;
    while (x && (!x->key || strcmp(x->key, key) != 0))
        x = x->next;
    return x;
}

static void free_execution(struct execution *x)
{
    struct desk *desk = x->desk;
    *(x->prev ? &x->prev->next : &desk->first) = x->next;
    *(x->next ? &x->next->prev : &desk->last) = x->prev;
    if (x->cell)
        cell_forget(x->cell);
    desk->api->pending -= x->code_bytes;
    buf_done(&x->out);
    buf_done(&x->err);
    buf_done(&x->outputs);
    buf_done(&x->result);
    xfree(x->key);
    xfree(x);
}

static struct spent *find_spent(const struct desk *desk, const char *key)
{
    struct spent *spent = desk->spent;
    while (spent && strcmp(spent->key, key) != 0)
        spent = spent->next;
    return spent;
}

static void free_oldest_spent(struct desk *desk)
{
    struct spent *spent = desk->spent;
    desk->spent = spent->next;
    if (--desk->spent_count == 0)
        desk->spent_last = NULL;
    xfree(spent->key);
    xfree(spent);
}

/* A request that is retried after its result has gone must not run again. */
static void remember_key(const struct execution *x)
{
    struct desk *desk = x->desk;
    struct spent *spent = NEW(struct spent);
    spent->key = xstrdup(x->key);
    memcpy(spent->id, x->id, sizeof spent->id);
    memcpy(spent->digest, x->digest, sizeof spent->digest);
    *(desk->spent_last ? &desk->spent_last->next : &desk->spent) = spent;
    desk->spent_last = spent;
    if (++desk->spent_count > DESK_KEYS_KEPT)
        free_oldest_spent(desk);
}

/* Oldest first; the newest result stays. */
static void prune(struct desk *desk)
{
    for (struct execution *x = desk->first, *next; x && x != desk->last; x = next) {
        next = x->next;
        if (desk->count <= DESK_KEPT && desk->bytes <= DESK_BYTES_MAX)
            return;
        if (x->cell || x->refs > 0)
            continue;
        desk->count--;
        desk->bytes -= x->result.len;
        if (x->key)
            remember_key(x);
        free_execution(x);
    }
}

static void drop_waiter(struct waiter *waiter)
{
    *(waiter->prev ? &waiter->prev->next : &waiter->execution->waiters) = waiter->next;
    if (waiter->next)
        waiter->next->prev = waiter->prev;
    xfree(waiter);
}

void executions_free(struct desk *desk)
{
    while (desk->first) {
        while (desk->first->waiters)
            drop_waiter(desk->first->waiters);
        free_execution(desk->first);
    }
    while (desk->spent)
        free_oldest_spent(desk);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void answer(struct http_request *r, int status, const struct execution *x, bool replayed)
{
    drop_str char *location = xasprintf("/v1/sessions/%s/executions/%s", x->desk->id, x->id);
    const struct http_header headers[] = {
        {"Content-Type", API_TYPE}, {"Location", location}, {"Idempotency-Replayed", "true"}};
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    execution_put(&body, x);
    if (body.failed)
        http_problem(r, 500, NULL, 0, "the result is too long");
    else
        http_answer(r, status, headers, replayed ? 3 : 2, buf_text(&body), body.len);
}

static void on_waiter_gone(void *ctx)
{
    struct waiter *waiter = ctx;
    struct execution *x = waiter->execution;
    bool first = waiter->first;
    drop_waiter(waiter);
    execution_gone(x, first);
}

static void wait_for(struct execution *x, struct http_request *r, bool first)
{
    static const struct http_events events = {.gone = on_waiter_gone};
    struct waiter *waiter = NEW(struct waiter);
    *waiter = (struct waiter){.next = x->waiters, .execution = x, .r = r, .first = first};
    if (waiter->next)
        waiter->next->prev = waiter;
    x->waiters = waiter;
    http_watch(r, &events, waiter);
}

void execution_gone(struct execution *x, bool first)
{
    if (first && x->cancel_when_gone && x->cell)
        cell_cancel(x->cell);
}

/* --- the cell's events ------------------------------------------------------------------------ */

static void on_begun(void *ctx, uint64_t number)
{
    struct execution *x = ctx;
    const struct eventlog *log = session_events(x->desk->session);
    x->number = number;
    x->first_event = log ? eventlog_last(log) : 0;
    x->begun_ms = loop_now(x->desk->api->loop);
    streams_wake(x->desk, x);
}

static void on_message(void *ctx, const struct jupyter_msg *m)
{
    execution_collect(ctx, m);
}

static void on_finished(void *ctx, const struct cell_result *result)
{
    struct execution *x = ctx;
    struct desk *desk = x->desk;
    const struct eventlog *log = session_events(desk->session);
    x->cell = NULL;
    desk->api->pending -= x->code_bytes;
    x->code_bytes = 0;
    x->status = result->status;
    x->last_event = log && x->number > 0 ? eventlog_last(log) : 0;
    execution_finish(x, result);
    desk->count++;
    desk->bytes += x->result.len;
    sessions_touch(desk->api->config->sessions, desk->id);
    while (x->waiters) {
        struct http_request *r = x->waiters->r;
        bool first = x->waiters->first;
        drop_waiter(x->waiters);
        answer(r, 200, x, !first);
    }
    streams_wake(desk, x);
    prune(desk);
}

/* --- POST ------------------------------------------------------------------------------------- */

static int64_t real_time_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct execution *new_execution(struct desk *desk, const char *key, const char *digest)
{
    struct execution *x = NEW(struct execution);
    *x = (struct execution){.desk = desk,
                            .prev = desk->last,
                            .key = xstrdup(key),
                            .created_ms = real_time_ms(),
                            .out = BUF_INIT(EXECUTION_STREAM_MAX),
                            .err = BUF_INIT(EXECUTION_STREAM_MAX),
                            .outputs = BUF_INIT(EXECUTION_OUTPUTS_MAX),
                            .result = BUF_INIT(API_ANSWER_MAX)};
    random_hex(x->id, EXECUTION_ID_BYTES);
    (void)snprintf(x->digest, sizeof x->digest, "%s", digest);
    *(desk->last ? &desk->last->next : &desk->first) = x;
    desk->last = x;
    return x;
}

/* A retried request without a wish of its own would not want its cell to be cancelled. */
static int start(struct execution *x, const struct body_execution *order,
                 const struct origin *origin, struct err *e)
{
    static const struct cell_events events = {
        .begun = on_begun, .message = on_message, .finished = on_finished};
    struct api *api = x->desk->api;
    size_t n = strlen(order->code);
    if (api->pending + n > PENDING_CODE_MAX)
        return err_set(e, -EAGAIN, "%zu MiB of code are waiting already, which is the limit",
                       PENDING_CODE_MAX >> 20);
    drop_str char *code = xstrdup(order->code);
    struct cell_request request = {.code = {code, n},
                                   .timeout_ms = order->timeout_ms,
                                   .max_chars = (size_t)order->max_chars,
                                   .origin = origin};
    x->cancel_when_gone =
        order->on_disconnect ? strcmp(order->on_disconnect, "cancel") == 0 : !x->key && order->wait;
    int r = session_execute(x->desk->session, &request, &events, x, &x->cell, e);
    if (r == 0)
        api->pending += x->code_bytes = n;
    return r;
}

static void attend(struct execution *x, struct http_request *r, bool wait, bool first)
{
    if (api_wants_events(r))
        stream_open(x->desk, x, r, first);
    else if (x->cell && wait)
        wait_for(x, r, first);
    else
        answer(r, x->cell ? 202 : 200, x, !first);
}

static void post_new(struct desk *desk, struct http_request *r, const struct json *body,
                     const char *digest)
{
    struct sessions_view view;
    struct body_execution order;
    struct origin origin;
    struct err e = ERR_NONE;
    uint64_t after;
    if (!sessions_find(desk->api->config->sessions, desk->id, &view) ||
        body_execution(body, view.timeout_ms, &order, &e) < 0) {
        api_fail(r, &e);
        return;
    }
    if (api_wants_events(r) && !stream_may_open(desk, r, &after))
        return; /* what is refused must not run */
    struct execution *x = new_execution(desk, http_header(r, "Idempotency-Key"), digest);
    origin_of(r, &origin);
    if (start(x, &order, &origin, &e) < 0) {
        free_execution(x);
        api_fail(r, &e);
        return;
    }
    attend(x, r, order.wait, true);
}

static bool is_same(struct http_request *r, const char *digest_before, const char *digest)
{
    if (strcmp(digest_before, digest) == 0)
        return true;
    http_problem(r, 422, NULL, 0, "this Idempotency-Key came with another body before");
    return false;
}

/* The same key brings the same execution, whatever became of it. */
static void post_again(struct execution *x, struct http_request *r, const struct json *body,
                       const char *digest)
{
    bool wait = true;
    struct err e = ERR_NONE;
    if (!is_same(r, x->digest, digest))
        return;
    if (body_bool(body, "wait", &wait, &e) < 0)
        api_fail(r, &e);
    else
        attend(x, r, wait, false);
}

static void post_too_late(const struct spent *spent, struct http_request *r, const char *digest)
{
    if (is_same(r, spent->digest, digest))
        http_problem(r, 410, NULL, 0,
                     "this Idempotency-Key is that of execution %s, which has ended and whose "
                     "result is not kept any more; nothing is run again",
                     spent->id);
}

void executions_post(void *ctx, struct http_request *r)
{
    char digest[HMAC_HEX + 1];
    const char *key = http_header(r, "Idempotency-Key");
    struct desk *desk = desk_of(ctx, r);
    drop_json struct json *body = NULL;
    sha256_hex(buf_text(http_body(r)), http_body(r)->len, digest); /* parsing changes it */
    if (!desk || !api_body(r, body_execution_known, &body))
        return;
    if (key && (!*key || strlen(key) > IDEMPOTENCY_KEY_MAX)) {
        http_problem(r, 400, NULL, 0, "Idempotency-Key: 1 to %d characters are needed",
                     IDEMPOTENCY_KEY_MAX);
        return;
    }
    struct execution *x = key ? find_key(desk, key) : NULL;
    const struct spent *spent = key && !x ? find_spent(desk, key) : NULL;
    if (x)
        post_again(x, r, body, digest);
    else if (spent)
        post_too_late(spent, r, digest);
    else
        post_new(desk, r, body, digest);
}

/* --- the others ------------------------------------------------------------------------------- */

static struct execution *execution_of(struct api *api, struct http_request *r)
{
    struct desk *desk = desk_of(api, r);
    struct execution *x = desk ? find(desk, http_param(r, "eid")) : NULL;
    if (desk && !x)
        http_problem(r, 404, NULL, 0, "there is no execution %.80s, or its result was dropped",
                     http_param(r, "eid"));
    return x;
}

void executions_list(void *ctx, struct http_request *r)
{
    struct desk *desk = desk_of(ctx, r);
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    if (!desk)
        return;
    jsonw_object(&w);
    jsonw_set_array(&w, "executions");
    for (const struct execution *x = desk->first; x; x = x->next) {
        jsonw_object(&w);
        jsonw_set_text(&w, "id", x->id);
        jsonw_set_text(&w, "status",
                       !x->cell    ? cell_status_names[x->status]
                       : x->number ? "running"
                                   : "queued");
        jsonw_set_int(&w, "created_ms", x->created_ms);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

void execution_get(void *ctx, struct http_request *r)
{
    struct execution *x = execution_of(ctx, r);
    if (x && api_wants_events(r))
        stream_open(x->desk, x, r, false);
    else if (x)
        answer(r, 200, x, false);
}

void execution_events(void *ctx, struct http_request *r)
{
    struct execution *x = execution_of(ctx, r);
    if (x)
        stream_open(x->desk, x, r, false);
}

void execution_cancel(void *ctx, struct http_request *r)
{
    struct execution *x = execution_of(ctx, r);
    if (!x)
        return;
    x->refs++; /* its end may come at once, and make room for others */
    if (x->cell)
        cell_cancel(x->cell);
    x->refs--;
    answer(r, 200, x, false);
}
