/* SPDX-License-Identifier: Apache-2.0
 *
 * /v1/sessions: making, listing and ending sessions. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "front/api.h"
#include "front/api/api_bodies.h"
#include "front/api/api_json.h"
#include "front/sessions/api_session.h"
#include "session/kernels/limits.h"

struct api_sessions {
    struct api *api;
    struct api_session *api_sessions;
    struct sessions_watcher watcher;
    struct reset *resets;
    struct fork_waiter *forks;
    struct rewind_waiter *rewinds;
};

struct reset { /* a request that waits for a new kernel */
    struct reset *prev, *next;
    struct api_sessions *owner;
    struct cell *cell;
    struct http_request *r; /* NULL: it is gone */
};

/* --- api_sessions
 * ------------------------------------------------------------------------------------ */

static struct api_session *open_api_session(struct api_sessions *all,
                                            const struct sessions_view *view)
{
    struct api_session *api_session = all->api_sessions;
    while (api_session && strcmp(api_session->id, view->id) != 0)
        api_session = api_session->next;
    if (api_session)
        return api_session;
    api_session = NEW(struct api_session);
    *api_session = (struct api_session){.next = all->api_sessions,
                                        .api = all->api,
                                        .session = view->session,
                                        .executions = view->executions};
    (void)snprintf(api_session->id, sizeof api_session->id, "%s", view->id);
    all->api_sessions = api_session;
    return api_session;
}

struct api_session *api_session_of(struct api *api, struct http_request *r)
{
    struct sessions_view view;
    const char *id = http_param(r, "id");
    if (!sessions_find(api->config->sessions, id, &view)) {
        http_problem(r, 404, NULL, 0, "there is no session %.80s", id);
        return NULL;
    }
    sessions_touch(api->config->sessions, id);
    return open_api_session(api->sessions, &view);
}

struct fork_waiter **api_fork_requests(struct api *api)
{
    return &api->sessions->forks;
}

struct rewind_waiter **api_rewind_requests(struct api *api)
{
    return &api->sessions->rewinds;
}

void api_record(const struct api *api, const char *session, enum logged_kind kind,
                const struct buf *data)
{
    struct sessions_view view;
    if (data->failed || !sessions_find(api->config->sessions, session, &view))
        return;
    struct eventlog *log = session_events(view.session);
    if (log)
        eventlog_add(log, &(struct logged){.kind = kind,
                                           .cell = session_cell(view.session),
                                           .data = data->data,
                                           .n = data->len});
}

static void free_api_session(struct api_sessions *all, struct api_session *api_session)
{
    chain_remove(&all->api_sessions, api_session);
    streams_end(api_session, FOLLOW_DONE, "the session has ended");
    terminals_end(api_session, false, "the session has ended");
    waiters_free(api_session);
    xfree(api_session);
}

static void on_session_ended(void *ctx, const char *id)
{
    struct api_sessions *all = ctx;
    struct api_session *api_session = all->api_sessions;
    approvals_forget(all->api->config->approvals, id);
    while (api_session && strcmp(api_session->id, id) != 0)
        api_session = api_session->next;
    if (api_session)
        free_api_session(all, api_session);
}

/* Before anything of it runs: what its parent may not do it may not either. */
static void on_session_forked(void *ctx, const char *parent, const char *id)
{
    const struct api_sessions *all = ctx;
    approvals_copy_rule(all->api->config->approvals, parent, id);
}

/* --- documents -------------------------------------------------------------------------------- */

static const char *state_of(const struct session *session)
{
    bool ready = false;
    const struct kernel *kernel = session_kernel(session, &ready);
    if (session_waiting(session) > 0)
        return "busy";
    return !kernel ? "down" : ready ? "idle" : "starting";
}

static void put_session(struct jsonw *w, const struct api *api, const struct sessions_view *view)
{
    const struct eventlog *log = session_events(view->session);
    jsonw_object(w);
    jsonw_set_text(w, "id", view->id);
    jsonw_set_text(w, "instance", api->config->instance);
    jsonw_set_text(w, "state", state_of(view->session));
    jsonw_set_text(w, "cwd", view->cwd);
    if (view->parent)
        jsonw_set_text(w, "forked_from", view->parent);
    jsonw_set_int(w, "timeout_ms", view->timeout_ms);
    jsonw_set_int(w, "idle_timeout_ms", view->idle_ms);
    jsonw_set_int(w, "created_ms", view->created_ms);
    jsonw_set_int(w, "queued", (int64_t)session_waiting(view->session));
    jsonw_set_int(w, "last_event", log ? (int64_t)eventlog_last(log) : 0);
    limits_put(w, "limits", view->limits);
    jsonw_end(w);
}

static void answer_session(const struct api *api, struct http_request *r, int status,
                           const struct sessions_view *view)
{
    drop_str char *location = xasprintf("/v1/sessions/%s", view->id);
    const struct http_header headers[] = {{"Content-Type", API_TYPE}, {"Location", location}};
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    put_session(&w, api, view);
    http_answer(r, status, headers, status == 201 ? 2 : 1, buf_text(&body), body.len);
}

/* --- handlers --------------------------------------------------------------------------------- */

/* The settings of its own. Whoever may execute must not choose what holds the code, but may ask
 * that something does. */
static int read_sandbox(const struct api *api, const struct http_request *r,
                        const struct json *body, struct sessions_spec *spec, char **ret,
                        struct err *e)
{
    const struct json *settings = json_get(body, "sandbox");
    if (!settings || json_is_null(settings))
        return 0;
    spec->sandboxed = json_true(settings);
    if (spec->sandboxed)
        return audit_check(api->config->audit, e);
    if (!api_may(api, r, API_ADMIN))
        return err_set(e, -EPERM, "sandbox: only IPYBOX_TOKEN, the role admin, may choose it");
    if (!json_is_object(settings))
        return err_set(e, -EINVAL, "sandbox: true or an object is needed");
    spec->sandbox = *ret = json_print(settings);
    return audit_check(api->config->audit, e);
}

static void notify_created(const struct api *api, const struct http_request *r,
                           const struct sessions_view *view)
{
    if (view->own_sandbox)
        api_notify_sandbox(api, &(struct sandbox_told){.session = view->id,
                                                       .peer = http_peer(r),
                                                       .request_id = http_id(r),
                                                       .settings = view->sandbox,
                                                       .outcome = "created"});
}

static void sessions_post(void *ctx, struct http_request *r)
{
    struct approvals_rule rule;
    struct api *api = ctx;
    struct sessions_spec spec;
    struct sessions_view view;
    struct err e = ERR_NONE;
    drop_json struct json *body = NULL;
    drop_str char *sandbox = NULL;
    if (!api_body(r, body_session_known, &body))
        return;
    int failed = body_session(body, &spec, &rule, &e);
    if (failed == 0)
        failed = read_sandbox(api, r, body, &spec, &sandbox, &e);
    if (failed < 0 || sessions_create(api->config->sessions, &spec, &view, &e) < 0) {
        api_fail(r, &e);
        return;
    }
    approvals_restrict(api->config->approvals, view.id, &rule);
    if (!spec.sandboxed) /* then nobody has chosen any */
        notify_created(api, r, &view);
    answer_session(api, r, 201, &view);
}

static void sessions_get(void *ctx, struct http_request *r)
{
    struct api *api = ctx;
    struct sessions_view view;
    size_t at = 0;
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    jsonw_object(&w);
    jsonw_set_array(&w, "sessions");
    while (sessions_next(api->config->sessions, &at, &view))
        put_session(&w, api, &view);
    jsonw_end(&w);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

static void session_get(void *ctx, struct http_request *r)
{
    struct api *api = ctx;
    struct sessions_view view;
    if (api_session_of(api, r) && sessions_find(api->config->sessions, http_param(r, "id"), &view))
        answer_session(api, r, 200, &view);
}

static void session_delete(void *ctx, struct http_request *r)
{
    struct api *api = ctx;
    struct err e = ERR_NONE;
    if (sessions_end(api->config->sessions, http_param(r, "id"), &e) < 0)
        api_fail(r, &e);
    else
        http_answer(r, 204, NULL, 0, NULL, 0);
}

/* --- resets ----------------------------------------------------------------------------------- */

static void free_reset(struct reset *reset)
{
    list_remove(&reset->owner->resets, reset);
    xfree(reset);
}

static void on_api_session_reset(void *ctx, const struct err *why)
{
    struct reset *reset = ctx;
    if (reset->r && why)
        http_problem(reset->r, 503, NULL, 0, "%s", why->msg);
    else if (reset->r)
        http_answer(reset->r, 204, NULL, 0, NULL, 0);
    free_reset(reset);
}

static void on_reset_gone(void *ctx)
{
    struct reset *reset = ctx;
    reset->r = NULL;
}

static void session_post_reset(void *ctx, struct http_request *r)
{
    static const struct http_events events = {.gone = on_reset_gone};
    struct api *api = ctx;
    struct api_session *api_session = api_session_of(api, r);
    struct err e = ERR_NONE;
    if (!api_session)
        return;
    struct reset *reset = NEW(struct reset);
    if (session_reset(api_session->session, on_api_session_reset, reset, &reset->cell, &e) < 0) {
        xfree(reset);
        api_fail(r, &e);
        return;
    }
    /* As the tool `reset` does. All sessions share the servers, so it takes their administrator. */
    if (strcmp(api_session->id, SESSIONS_DEFAULT) == 0 && api_may(api, r, API_ADMIN))
        toolplane_reset(api->config->toolplane);
    reset->owner = api->sessions;
    reset->r = r;
    list_push(&api->sessions->resets, reset);
    http_watch(r, &events, reset);
}

static const struct http_route routes[] = {
    {"POST", "/v1/sessions", HTTP_COLLECT, API_BODY_MAX, API_TYPE, API_EXECUTE, sessions_post},
    {"GET", "/v1/sessions", HTTP_NO_BODY, 0, NULL, API_EXECUTE, sessions_get},
    {"GET", "/v1/sessions/{id}", HTTP_NO_BODY, 0, NULL, API_EXECUTE, session_get},
    {"DELETE", "/v1/sessions/{id}", HTTP_NO_BODY, 0, NULL, API_EXECUTE, session_delete},
    {"POST", "/v1/sessions/{id}/reset", HTTP_NO_BODY, 0, NULL, API_EXECUTE, session_post_reset},
    {"POST", "/v1/sessions/{id}/fork", HTTP_COLLECT, API_BODY_MAX, API_TYPE, API_EXECUTE,
     fork_post},
    {"POST", "/v1/sessions/{id}/complete", HTTP_COLLECT, API_BODY_MAX, API_TYPE, API_EXECUTE,
     complete_post},
    {"POST", "/v1/sessions/{id}/inspect", HTTP_COLLECT, API_BODY_MAX, API_TYPE, API_EXECUTE,
     inspect_post},
    {"GET", "/v1/sessions/{id}/variables", HTTP_NO_BODY, 0, NULL, API_EXECUTE, variables_get},
    {"GET", "/v1/sessions/{id}/terminal", HTTP_WEBSOCKET, 0, NULL, API_ADMIN, terminal_get},
    {"POST", "/v1/sessions/{id}/rewind", HTTP_COLLECT, API_BODY_MAX, API_TYPE, API_EXECUTE,
     rewind_post},
    {"GET", "/v1/sessions/{id}/checkpoints", HTTP_NO_BODY, 0, NULL, API_EXECUTE, checkpoints_get},
    {"GET", "/v1/sessions/{id}/events", HTTP_EVENTS, 0, NULL, API_EXECUTE, events_get},
    {"GET", "/v1/sessions/{id}/notebook", HTTP_NO_BODY, 0, NULL, API_EXECUTE, notebook_get},
    {"POST", "/v1/sessions/{id}/executions", HTTP_COLLECT, API_BODY_MAX, API_TYPE, API_EXECUTE,
     executions_post},
    {"GET", "/v1/sessions/{id}/executions", HTTP_NO_BODY, 0, NULL, API_EXECUTE, executions_list},
    {"GET", "/v1/sessions/{id}/executions/{eid}", HTTP_NO_BODY, 0, NULL, API_EXECUTE,
     execution_get},
    {"DELETE", "/v1/sessions/{id}/executions/{eid}", HTTP_NO_BODY, 0, NULL, API_EXECUTE,
     execution_delete},
    {"POST", "/v1/sessions/{id}/executions/{eid}/interrupt", HTTP_NO_BODY, 0, NULL, API_EXECUTE,
     execution_delete},
    {"GET", "/v1/sessions/{id}/executions/{eid}/events", HTTP_EVENTS, 0, NULL, API_EXECUTE,
     execution_events},
};

/* --- opening and closing ---------------------------------------------------------------------- */

static int open_sessions_group(struct api *api, struct err *e)
{
    (void)e;
    struct api_sessions *all = NEW(struct api_sessions);
    *all = (struct api_sessions){
        .api = api,
        .watcher = {.ended = on_session_ended, .forked = on_session_forked, .ctx = all}};
    sessions_watch(api->config->sessions, &all->watcher);
    api->sessions = all;
    return 0;
}

static void drain_sessions_group(struct api *api)
{
    for (struct api_session *api_session = api->sessions->api_sessions; api_session;
         api_session = api_session->next) {
        streams_end(api_session, FOLLOW_STOPPING, API_STOPPING);
        terminals_end(api_session, true, API_STOPPING);
    }
}

static void close_sessions_group(struct api *api)
{
    struct api_sessions *all = api->sessions;
    if (!all)
        return;
    fork_requests_close(api);
    rewind_requests_close(api);
    while (all->resets) {
        cell_forget(all->resets->cell);
        free_reset(all->resets);
    }
    while (all->api_sessions)
        free_api_session(all, all->api_sessions);
    sessions_unwatch(api->config->sessions, &all->watcher);
    xfree(all);
    api->sessions = NULL;
}

const struct api_group api_sessions_group = {.routes = routes,
                                             .n = sizeof routes / sizeof *routes,
                                             .open = open_sessions_group,
                                             .close = close_sessions_group,
                                             .drain = drain_sessions_group};
