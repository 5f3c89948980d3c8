/* SPDX-License-Identifier: Apache-2.0
 *
 * POST /v1/sessions/{id}/fork: sessions that begin with all that one has in memory. */
#include "base/alloc.h"
#include "base/list.h"
#include "front/api.h"
#include "front/api/api_bodies.h"
#include "front/api/api_json.h"
#include "front/sessions/api_session.h"

struct fork_waiter { /* a request that waits for its sessions */
    struct fork_waiter *prev, *next;
    struct api *api;
    struct fork_waiter **all;
    struct sessions_fork *fork;
    struct http_request *r; /* NULL: it is gone */
};

static void answer_fork(struct http_request *r, const char *const *ids, size_t count)
{
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    jsonw_object(&w);
    jsonw_set_array(&w, "sessions");
    for (size_t i = 0; i < count; i++) {
        jsonw_object(&w);
        jsonw_set_text(&w, "id", ids[i]);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_end(&w);
    http_answer_json(r, 201, &body);
}

static void on_api_forked(void *ctx, const char *const *ids, size_t count, const struct err *why)
{
    struct fork_waiter *request = ctx;
    if (request->r && why)
        api_fail(request->r, why);
    else if (request->r)
        answer_fork(request->r, ids, count);
    list_remove(request->all, request);
    xfree(request);
}

static void on_fork_request_gone(void *ctx)
{
    struct fork_waiter *request = ctx;
    request->r = NULL;
}

void fork_post(void *ctx, struct http_request *r)
{
    static const struct http_events events = {.gone = on_fork_request_gone};
    struct api *api = ctx;
    struct err e = ERR_NONE;
    struct sessions_fork_spec spec = {.done = on_api_forked};
    drop_json struct json *body = NULL;
    const struct api_session *parent = api_session_of(api, r);
    if (!parent || !api_body(r, body_fork_known, &body))
        return;
    struct fork_waiter *request = NEW(struct fork_waiter);
    *request = (struct fork_waiter){.api = api, .all = api_fork_requests(api), .r = r};
    spec.id = parent->id;
    spec.ctx = request;
    int failed = body_fork(body, &spec, &e);
    if (failed == 0)
        failed = audit_check(api->config->audit, &e);
    if (failed < 0 || sessions_fork(api->config->sessions, &spec, &request->fork, &e) < 0) {
        xfree(request);
        api_fail(r, &e);
        return;
    }
    list_push(request->all, request);
    http_watch(r, &events, request);
}

void fork_requests_close(struct api *api)
{
    struct fork_waiter **all = api_fork_requests(api);
    while (*all) {
        struct fork_waiter *request = *all;
        sessions_forget_fork(request->fork);
        list_remove(all, request);
        xfree(request);
    }
}
