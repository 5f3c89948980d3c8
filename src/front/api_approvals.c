/* SPDX-License-Identifier: Apache-2.0
 *
 * /v1/approvals: the humans' answers to tool calls, over HTTP.
 * Seat:    the API takes questions as long as somebody with the role looks: always when it is the
 *          only door and has a token for it, else from a listing on for AWAY_MS. Then others are
 *          asked again.
 * Events:  a question that is asked here, and its end, stand in the log of its session. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "front/api.h"
#include "front/api_json.h"
#include "front/api_parts.h"

enum { AWAY_MS = 60000 };

struct asked { /* a question that is ours */
    struct asked *next;
    char id[APPROVALS_ID_MAX];
    char session[SESSIONS_ID_MAX + 1];
};

struct api_approvals {
    struct api *api;
    struct approver *approver; /* NULL: nobody looks */
    struct asked *asked;
    struct loop_timer away;
};

/* --- the seat --------------------------------------------------------------------------------- */

static void put_subject(struct jsonw *w, const struct approval_view *view)
{
    const struct approval_subject *s = &view->subject;
    jsonw_set_text(w, "id", view->id);
    jsonw_set_text(w, "session", s->session);
    jsonw_set_text(w, "server", s->server);
    jsonw_set_text(w, "shown", s->shown);
    if (view->form) {
        jsonw_set_raw(w, "form", view->form);
        return;
    }
    jsonw_set_text(w, "tool", s->tool);
    jsonw_set_raw(w, "arguments", s->arguments);
    if (*s->digest)
        jsonw_set_text(w, "digest", s->digest);
    if (*view->note)
        jsonw_set_text(w, "note", view->note);
}

/* Into the session's log, as an event of the cell that runs. */
static void record(const struct api_approvals *all, const char *session, const struct buf *text)
{
    struct sessions_view view;
    if (text->failed || !sessions_find(all->api->config->sessions, session, &view))
        return;
    struct eventlog *log = session_events(view.session);
    if (log)
        eventlog_add(log, &(struct logged){.kind = LOGGED_APPROVAL,
                                           .cell = session_cell(view.session),
                                           .data = text->data,
                                           .n = text->len});
}

static void on_ask(void *ctx, const struct approval_view *view)
{
    struct api_approvals *all = ctx;
    struct asked *asked = NEW(struct asked);
    asked->next = all->asked;
    (void)snprintf(asked->id, sizeof asked->id, "%s", view->id);
    (void)snprintf(asked->session, sizeof asked->session, "%s", view->subject.session);
    all->asked = asked;
    drop_buf struct buf text = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&text);
    jsonw_object(&w);
    jsonw_set_text(&w, "state", "asked");
    put_subject(&w, view);
    jsonw_end(&w);
    record(all, asked->session, &text);
}

static struct asked **find_asked(struct api_approvals *all, const char *id)
{
    struct asked **at = &all->asked;
    while (*at && strcmp((*at)->id, id) != 0)
        at = &(*at)->next;
    return at;
}

static void on_settled(void *ctx, const char *id)
{
    struct api_approvals *all = ctx;
    struct asked **at = find_asked(all, id), *asked = *at;
    if (!asked)
        return;
    drop_buf struct buf text = BUF_INIT(1024);
    struct jsonw w = JSONW(&text);
    jsonw_object(&w);
    jsonw_set_text(&w, "state", "settled");
    jsonw_set_text(&w, "id", id);
    jsonw_end(&w);
    record(all, asked->session, &text);
    *at = asked->next;
    xfree(asked);
}

static void join(struct api_approvals *all)
{
    struct approver_config config = {
        .rank = APPROVER_API, .ask = on_ask, .settled = on_settled, .ctx = all};
    if (!all->approver)
        all->approver = approver_join(all->api->config->approvals, &config);
}

static void leave(struct api_approvals *all)
{
    all->approver = approver_leave(all->approver);
    while (all->asked) {
        struct asked *asked = all->asked;
        all->asked = asked->next;
        xfree(asked);
    }
}

static void on_away(void *ctx)
{
    leave(ctx);
}

/* When no token gives the role it may be that nobody ever looks: then a call fails at once. */
static bool is_seat_kept(const struct api_config *c)
{
    return c->alone && (c->admin_token || c->approver_token);
}

static void look(struct api_approvals *all)
{
    join(all);
    if (!is_seat_kept(all->api->config))
        loop_timer_set(all->api->loop, &all->away, AWAY_MS, on_away, all);
}

/* --- handlers --------------------------------------------------------------------------------- */

static void approvals_get(void *ctx, struct http_request *r)
{
    struct api *api = ctx;
    struct approval_view view;
    size_t at = 0;
    drop_buf struct buf body = BUF_INIT(2 * APPROVALS_BYTES_MAX);
    struct jsonw w = JSONW(&body);
    look(api->approvals);
    jsonw_object(&w);
    jsonw_set_array(&w, "approvals");
    while (approvals_next(api->config->approvals, &at, &view)) {
        jsonw_object(&w);
        put_subject(&w, &view);
        jsonw_set_bool(&w, "mine", *find_asked(api->approvals, view.id) != NULL);
        if (view.expires_ms > 0)
            jsonw_set_int(&w, "expires_in_ms", view.expires_ms - loop_now(api->loop));
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

static int read_decision(const struct json *body, struct approval_decision *ret, struct err *e)
{
    const char *decision = NULL;
    int64_t calls = 0;
    *ret = (struct approval_decision){0};
    int r = json_need_text(body, "decision", &decision, e);
    if (r == 0)
        r = api_int(body, "remember_ms", 0, SESSIONS_MS_MAX, &ret->remember_ms, e);
    if (r == 0)
        r = api_int(body, "remember_calls", 0, 1000000, &calls, e);
    if (r == 0 && strcmp(decision, "accept") != 0 && strcmp(decision, "reject") != 0)
        r = err_set(e, -EINVAL, "decision: accept or reject is needed");
    ret->remember_calls = (uint32_t)calls;
    ret->accept = r == 0 && strcmp(decision, "accept") == 0;
    if (r == 0 && !ret->accept && (ret->remember_ms > 0 || calls > 0))
        r = err_set(e, -EINVAL, "remember_ms, remember_calls: only what is accepted is remembered");
    return r;
}

static void approval_post(void *ctx, struct http_request *r)
{
    static const char *const known[] = {"decision", "remember_ms", "remember_calls", NULL};
    struct api *api = ctx;
    const char *id = http_param(r, "aid");
    struct approval_decision decision;
    struct err e = ERR_NONE;
    drop_json struct json *body = NULL;
    if (!api_body(r, known, &body))
        return;
    look(api->approvals);
    if (read_decision(body, &decision, &e) < 0 ||
        approver_decide(api->approvals->approver, id, &decision, &e) < 0) {
        api_fail(r, &e);
        return;
    }
    on_settled(api->approvals, id); /* who decides is not told */
    http_answer(r, 204, NULL, 0, NULL, 0);
}

static const struct http_route routes[] = {
    {"GET", "/v1/approvals", HTTP_NO_BODY, 0, NULL, API_APPROVE, approvals_get},
    {"POST", "/v1/approvals/{aid}", HTTP_COLLECT, 64 << 10, API_TYPE, API_APPROVE, approval_post},
};

const struct api_routes api_approval_routes = {routes, sizeof routes / sizeof *routes};

/* --- opening and closing ---------------------------------------------------------------------- */

struct api_approvals *api_approvals_open(struct api *api)
{
    struct api_approvals *all = NEW(struct api_approvals);
    all->api = api;
    if (is_seat_kept(api->config))
        join(all);
    return all;
}

struct api_approvals *api_approvals_close(struct api_approvals *all)
{
    if (!all)
        return NULL;
    leave(all);
    loop_timer_stop(all->api->loop, &all->away);
    xfree(all);
    return NULL;
}
