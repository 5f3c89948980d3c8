/* SPDX-License-Identifier: Apache-2.0
 *
 * /v1/sessions/{id}/checkpoints and …/rewind: what a session can go back to, and going there. */
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "front/api.h"
#include "front/api/api_bodies.h"
#include "front/api/api_json.h"
#include "front/sessions/api_session.h"
#include "session/queue/session_checkpoints.h"

enum { REWIND_CELLS_MAX = 256 }; /* that are named */

struct rewind_waiter { /* a request that waits for one of both */
    struct rewind_waiter *prev, *next;
    struct rewind_waiter **all;
    struct api_session *owner;
    struct rewind *rewind; /* NULL: it measures */
    struct session_measure measure;
    uint64_t cell;
    struct http_request *r; /* NULL: it is gone */
};

static void free_rewind_waiter(struct rewind_waiter *waiter)
{
    list_remove(waiter->all, waiter);
    xfree(waiter);
}

static struct rewind_waiter *new_rewind_waiter(struct api_session *owner, struct http_request *r)
{
    struct rewind_waiter *waiter = NEW(struct rewind_waiter);
    *waiter =
        (struct rewind_waiter){.all = api_rewind_requests(owner->api), .owner = owner, .r = r};
    list_push(waiter->all, waiter);
    return waiter;
}

static void on_rewind_request_gone(void *ctx)
{
    struct rewind_waiter *waiter = ctx;
    waiter->r = NULL;
}

/* It is under way: its end comes from the loop. */
static void watch_rewind_request(struct rewind_waiter *waiter)
{
    static const struct http_events events = {.gone = on_rewind_request_gone};
    http_watch(waiter->r, &events, waiter);
}

/* --- what there is ---------------------------------------------------------------------------- */

static size_t count_checkpoints(const struct session *session)
{
    struct session_checkpoint point;
    size_t count = 0;
    while (session_checkpoint_at(session, count, &point))
        count++;
    return count;
}

/* Oldest first. */
static void put_checkpoints(struct jsonw *w, const struct session *session, bool kept)
{
    struct session_checkpoint point;
    for (size_t at = count_checkpoints(session); at-- > 0;) {
        if (!session_checkpoint_at(session, at, &point) || (point.missing == NULL) != kept)
            continue;
        jsonw_object(w);
        jsonw_set_int(w, "cell", (int64_t)point.cell);
        if (kept)
            jsonw_set_int(w, "memory", (int64_t)point.memory);
        else
            jsonw_set_text(w, "reason", point.missing);
        jsonw_end(w);
    }
}

static void answer_checkpoints(struct http_request *r, const struct session *session)
{
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    jsonw_object(&w);
    jsonw_set_int(&w, "next_cell", (int64_t)session_next_cell(session));
    jsonw_set_array(&w, "checkpoints");
    put_checkpoints(&w, session, true);
    jsonw_end(&w);
    jsonw_set_array(&w, "missing");
    put_checkpoints(&w, session, false);
    jsonw_end(&w);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

static void on_api_measured(void *ctx)
{
    struct rewind_waiter *waiter = ctx;
    if (waiter->r)
        answer_checkpoints(waiter->r, waiter->owner->session);
    free_rewind_waiter(waiter);
}

void checkpoints_get(void *ctx, struct http_request *r)
{
    struct api *api = ctx;
    struct api_session *owner = api_session_of(api, r);
    if (!owner)
        return;
    struct rewind_waiter *waiter = new_rewind_waiter(owner, r);
    if (session_measure(owner->session, &waiter->measure, on_api_measured, waiter))
        watch_rewind_request(waiter);
    else
        on_api_measured(waiter);
}

/* --- going there ------------------------------------------------------------------------------ */

/* The cells whose variables are gone; of many the last. */
static void put_undone(struct jsonw *w, const struct session *session, uint64_t from)
{
    const uint64_t end = session_next_cell(session);
    jsonw_set_array(w, "undone");
    for (uint64_t n = end > from + REWIND_CELLS_MAX ? end - REWIND_CELLS_MAX : from; n < end; n++)
        jsonw_int(w, (int64_t)n);
    jsonw_end(w);
}

static void put_calls_since(struct jsonw *w, const struct session *session, uint64_t from)
{
    const struct session_call *call;
    jsonw_set_array(w, "tool_calls");
    for (size_t at = 0; (call = session_call_at(session, at)); at++) {
        if (call->cell < from)
            continue;
        jsonw_object(w);
        jsonw_set_int(w, "cell", (int64_t)call->cell);
        jsonw_set_text(w, "tool", call->name);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void answer_rewind(const struct rewind_waiter *waiter)
{
    const struct session *session = waiter->owner->session;
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    jsonw_object(&w);
    jsonw_set_int(&w, "cell", (int64_t)waiter->cell);
    put_undone(&w, session, waiter->cell);
    jsonw_set_object(&w, "not_undone");
    put_calls_since(&w, session, waiter->cell);
    jsonw_set_array(&w, "other");
    for (const char *const *other = session_not_undone; *other; other++)
        jsonw_text(&w, *other);
    jsonw_end(&w);
    jsonw_end(&w);
    jsonw_end(&w);
    http_answer_json(waiter->r, 200, &body);
}

static void on_api_rewound(void *ctx, const struct err *why)
{
    struct rewind_waiter *waiter = ctx;
    waiter->rewind = NULL;
    if (waiter->r && why)
        api_fail(waiter->r, why);
    else if (waiter->r)
        answer_rewind(waiter);
    free_rewind_waiter(waiter);
}

void rewind_post(void *ctx, struct http_request *r)
{
    struct api *api = ctx;
    struct err e = ERR_NONE;
    struct body_rewind wanted;
    drop_json struct json *body = NULL;
    struct api_session *owner = api_session_of(api, r);
    if (!owner || !api_body(r, body_rewind_known, &body))
        return;
    if (body_rewind(body, &wanted, &e) < 0) {
        api_fail(r, &e);
        return;
    }
    struct rewind_waiter *waiter = new_rewind_waiter(owner, r);
    waiter->cell = wanted.cell;
    if (session_rewind(owner->session, wanted.cell, wanted.wait, on_api_rewound, waiter,
                       &waiter->rewind, &e) == 0) {
        watch_rewind_request(waiter);
        return;
    }
    free_rewind_waiter(waiter);
    api_fail(r, &e);
}

void rewind_requests_close(struct api *api)
{
    struct rewind_waiter **all = api_rewind_requests(api);
    while (*all) {
        struct rewind_waiter *waiter = *all;
        if (waiter->rewind)
            session_forget_rewind(waiter->rewind);
        else
            session_forget_measure(waiter->owner->session, &waiter->measure);
        free_rewind_waiter(waiter);
    }
}
