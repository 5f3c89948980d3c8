/* SPDX-License-Identifier: Apache-2.0
 *
 * /v1/sessions/{id}/sandbox: what a session is put behind, and changing it while its kernel runs.
 * Both are for administrators: code in kernels may reach the port in the role execute. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hmac.h"
#include "base/list.h"
#include "base/log.h"
#include "front/api.h"
#include "front/api/api_bodies.h"
#include "front/api/api_internal.h"
#include "front/api/api_json.h"

enum { SETTINGS_MAX = 2 << 20 }; /* of the body; sandbox/policy/settings.h has a limit of its own */

struct api_sandbox {
    struct api *api;
    struct policy_change *changes;
};

struct policy_change { /* a request that waits until its settings hold */
    struct policy_change *prev, *next;
    struct api_sandbox *owner;
    struct http_request *r; /* NULL: it is gone */
    char id[SESSIONS_ID_MAX + 1], request_id[LOG_REQUEST_MAX + 1];
    char *peer, *settings;
    bool reset;
};

/* --- the document ----------------------------------------------------------------------------- */

static void put_policy_settings(struct jsonw *w, const struct sessions_view *view)
{
    char hash[HMAC_HEX + 1];
    size_t n = strlen(view->sandbox);
    sha256_hex(view->sandbox, n, hash);
    jsonw_set_raw(w, "settings", view->sandbox);
    jsonw_set_text(w, "source", view->own_sandbox ? "session" : "server");
    jsonw_set_text(w, "sha256", hash);
}

static void put_refusals(struct jsonw *w, const struct refusals *refusals)
{
    jsonw_set_array(w, "refused");
    for (size_t i = 0; i < refusals_kept(refusals); i++) {
        const struct refusal_kept refusal = refusals_at(refusals, i);
        jsonw_object(w);
        jsonw_set_time(w, "time", refusal.ms);
        jsonw_set_text(w, "what", refusal.what);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void answer_sandbox(const struct api *api, struct http_request *r, const char *id)
{
    struct sessions_view view;
    struct err e = ERR_NONE;
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX), meaning = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    if (sessions_explain_sandbox(api->config->sessions, id, &meaning, &e) < 0 ||
        !sessions_find(api->config->sessions, id, &view)) {
        api_fail(r, &e);
        return;
    }
    jsonw_object(&w);
    jsonw_set_text(&w, "session", id);
    jsonw_set_text(&w, "level", api->config->sandbox_level);
    put_policy_settings(&w, &view);
    jsonw_set_text(&w, "meaning", buf_text(&meaning));
    put_refusals(&w, session_refusals(view.session));
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

static void sandbox_get(void *ctx, struct http_request *r)
{
    answer_sandbox(ctx, r, http_param(r, "id"));
}

/* --- a change --------------------------------------------------------------------------------- */

void api_notify_sandbox(const struct api *api, const struct sandbox_told *told)
{
    char hash[HMAC_HEX + 1];
    size_t n = strlen(told->settings);
    sha256_hex(told->settings, n, hash);
    (void)audit_add(api->config->audit, &(struct audit_event){.kind = AUDIT_SANDBOX_CHANGED,
                                                              .session = told->session,
                                                              .request_id = told->request_id,
                                                              .door = "http",
                                                              .address = told->peer,
                                                              .role = "admin",
                                                              .outcome = told->outcome,
                                                              .code = told->settings,
                                                              .code_len = n});
    const char *before = log_set_request(told->request_id);
    log_info("sandbox", "session %s: settings with the SHA-256 %s, from %s: %s", told->session,
             hash, told->peer, told->outcome);
    (void)log_set_request(before);
}

static void notify_change(const struct policy_change *change, const char *outcome)
{
    api_notify_sandbox(change->owner->api, &(struct sandbox_told){.session = change->id,
                                                                  .peer = change->peer,
                                                                  .request_id = change->request_id,
                                                                  .settings = change->settings,
                                                                  .outcome = outcome});
}

static void free_change(struct policy_change *change)
{
    list_remove(&change->owner->changes, change);
    xfree(change->peer);
    xfree(change->settings);
    xfree(change);
}

static void on_policy_changed(void *ctx, const struct err *why)
{
    struct policy_change *change = ctx;
    notify_change(change, why ? "refused" : change->reset ? "reset" : "live");
    if (change->r && why)
        api_fail(change->r, why);
    else if (change->r)
        answer_sandbox(change->owner->api, change->r, change->id);
    free_change(change);
}

static void on_policy_client_gone(void *ctx)
{
    struct policy_change *change = ctx;
    change->r = NULL;
}

static struct policy_change *new_change(struct api *api, struct http_request *r, char *settings,
                                        bool reset)
{
    struct api_sandbox *all = api->sandbox;
    struct policy_change *change = NEW(struct policy_change);
    *change = (struct policy_change){
        .owner = all, .r = r, .peer = xstrdup(http_peer(r)), .settings = settings, .reset = reset};
    (void)snprintf(change->id, sizeof change->id, "%s", http_param(r, "id"));
    (void)snprintf(change->request_id, sizeof change->request_id, "%s", http_id(r));
    list_push(&all->changes, change);
    return change;
}

static void sandbox_put(void *ctx, struct http_request *r)
{
    static const struct http_events events = {.gone = on_policy_client_gone};
    struct api *api = ctx;
    const struct json *settings = NULL;
    struct err e = ERR_NONE;
    bool reset = false;
    drop_json struct json *body = NULL;
    if (!api_body(r, body_sandbox_known, &body))
        return;
    if (body_sandbox(body, &settings, &reset, &e) < 0 || audit_check(api->config->audit, &e) < 0) {
        api_fail(r, &e);
        return;
    }
    struct policy_change *change = new_change(api, r, json_print(settings), reset);
    int held = sessions_change_sandbox(api->config->sessions, change->id, change->settings, reset,
                                       on_policy_changed, change, &e);
    if (held != 0)
        on_policy_changed(change, held < 0 ? &e : NULL);
    else
        http_watch(r, &events, change);
}

static const struct http_route routes[] = {
    {"GET", "/v1/sessions/{id}/sandbox", HTTP_NO_BODY, 0, NULL, API_ADMIN, sandbox_get},
    {"PUT", "/v1/sessions/{id}/sandbox", HTTP_COLLECT, SETTINGS_MAX, API_TYPE, API_ADMIN,
     sandbox_put},
};

/* --- opening and closing ---------------------------------------------------------------------- */

static int open_sandbox_group(struct api *api, struct err *e)
{
    (void)e;
    struct api_sandbox *all = NEW(struct api_sandbox);
    all->api = api;
    api->sandbox = all;
    return 0;
}

static void close_sandbox_group(struct api *api)
{
    struct api_sandbox *all = api->sandbox;
    if (!all)
        return;
    while (all->changes) {
        sessions_forget_change(api->config->sessions, all->changes);
        free_change(all->changes);
    }
    xfree(all);
    api->sandbox = NULL;
}

const struct api_group api_sandbox_group = {.routes = routes,
                                            .n = sizeof routes / sizeof *routes,
                                            .open = open_sandbox_group,
                                            .close = close_sandbox_group};
