/* SPDX-License-Identifier: Apache-2.0
 *
 * /v1/approvals: the humans' answers to tool calls and to questions of servers, over HTTP. What is
 * asked here, and its end, stand in the log of its session too. */
#include "front/api/api_approvals.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "front/api.h"
#include "front/api/api_bodies.h"
#include "front/api/api_json.h"
#include "front/mcp/form.h"

enum { AWAY_MS = 60000, BODY_MAX = 256 << 10 };

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

static struct asked **find_asked_question(struct api_approvals *all, const char *id)
{
    struct asked **at = &all->asked;
    while (*at && strcmp((*at)->id, id) != 0)
        at = &(*at)->next;
    return at;
}

bool approvals_are_mine(const struct api_approvals *all, const char *id)
{
    return approver_holds(all->approver, id) || approver_holds(all->questions, id);
}

void approvals_put(struct jsonw *w, struct api_approvals *all, const struct approval_view *view)
{
    jsonw_object(w);
    put_subject(w, view);
    jsonw_set_bool(w, "mine", approvals_are_mine(all, view->id));
    if (view->expires_ms > 0)
        jsonw_set_int(w, "expires_in_ms", view->expires_ms - loop_now(all->api->loop));
    jsonw_end(w);
}

static void on_api_ask(void *ctx, const struct approval_view *view)
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
    api_record(all->api, asked->session, LOGGED_APPROVAL, &text);
}

static void on_api_settled(void *ctx, const char *id, const char *outcome)
{
    struct api_approvals *all = ctx;
    struct asked **at = find_asked_question(all, id), *asked = *at;
    if (!asked)
        return;
    drop_buf struct buf text = BUF_INIT(1024);
    struct jsonw w = JSONW(&text);
    jsonw_object(&w);
    jsonw_set_text(&w, "state", "settled");
    jsonw_set_text(&w, "id", id);
    jsonw_set_text(&w, "outcome", outcome);
    jsonw_end(&w);
    api_record(all->api, asked->session, LOGGED_APPROVAL, &text);
    *at = asked->next;
    xfree(asked);
}

/* A form that could not be filled in here goes to nobody: none is behind this seat. */
static void on_api_question(void *ctx, const struct approval_view *view)
{
    struct api_approvals *all = ctx;
    drop_json struct json *form =
        json_parse_copy(view->form, strlen(view->form), JSON_REPAIR, NULL);
    if (form_check(form, NULL) == 0)
        on_api_ask(ctx, view);
    else
        (void)!approver_pass(all->questions, view->id, NULL);
}

static void join_approvals(struct api_approvals *all, int rank)
{
    const struct approver_config calls = {
        .rank = rank, .ask = on_api_ask, .settled = on_api_settled, .ctx = all};
    const struct approver_config questions = {.rank = APPROVER_API_QUESTIONS,
                                              .elicit = on_api_question,
                                              .settled = on_api_settled,
                                              .ctx = all};
    if (all->approver) {
        approver_move(all->approver, rank);
        return;
    }
    all->approver = approver_join(all->api->config->approvals, &calls);
    all->questions = approver_join(all->api->config->approvals, &questions);
}

static void leave_approvals(struct api_approvals *all)
{
    all->approver = approver_leave(all->approver);
    all->questions = approver_leave(all->questions);
    while (all->asked) {
        struct asked *asked = all->asked;
        all->asked = asked->next;
        xfree(asked);
    }
}

/* When no token gives the role it may be that nobody ever looks: then a call fails at once. */
static bool is_seat_kept(const struct api_config *c)
{
    return c->alone && (c->admin_token || c->approver_token);
}

static void on_away(void *ctx)
{
    struct api_approvals *all = ctx;
    if (all->approval_streams)
        return;
    if (is_seat_kept(all->api->config))
        join_approvals(all, APPROVER_API_AWAY);
    else
        leave_approvals(all);
}

void approvals_look(struct api_approvals *all)
{
    join_approvals(all, APPROVER_API);
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
    if (http_is_handshake(r) || api_wants_events(r)) {
        approval_streams_open(api->approvals, r);
        return;
    }
    approvals_look(api->approvals);
    jsonw_object(&w);
    jsonw_set_array(&w, "approvals");
    while (approvals_next(api->config->approvals, &at, &view))
        approvals_put(&w, api->approvals, &view);
    jsonw_end(&w);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

/* The form of a question that waits, parsed; NULL: it is none. */
static struct json *find_form(const struct api *api, const char *id)
{
    struct approval_view view;
    for (size_t at = 0; approvals_next(api->config->approvals, &at, &view);) {
        if (strcmp(view.id, id) == 0 && view.form)
            return json_parse_copy(view.form, strlen(view.form), JSON_REPAIR, NULL);
    }
    return NULL;
}

static int answer_question(struct api_approvals *all, const char *id,
                           const struct body_decision *given, struct err *e)
{
    drop_json struct json *form = find_form(all->api, id);
    bool accept = strcmp(given->action, "accept") == 0;
    int r = form && accept ? form_fits(form, given->content, e) : 0;
    if (r < 0)
        return r;
    drop_str char *content = given->content ? json_print(given->content) : xstrdup("{}");
    drop_buf struct buf result = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&result);
    jsonw_object(&w);
    jsonw_set_text(&w, "action", given->action);
    if (accept)
        jsonw_set_raw(&w, "content", content);
    jsonw_end(&w);
    return result.failed ? err_set(e, -ENOMEM, "no memory")
                         : approver_answer(all->questions, id, buf_text(&result), e);
}

static int settle_question(struct api_approvals *all, const char *id,
                           const struct body_decision *given, struct err *e)
{
    if (given->action)
        return answer_question(all, id, given, e);
    drop_json struct json *form = find_form(all->api, id);
    return form ? err_set(e, -EINVAL,
                          "action: this is a question: accept, decline or cancel is needed")
                : approver_decide(all->approver, id, &given->decision, e);
}

static void approval_post(void *ctx, struct http_request *r)
{
    struct api *api = ctx;
    const char *id = http_param(r, "aid");
    struct body_decision given;
    struct err e = ERR_NONE;
    drop_json struct json *body = NULL;
    if (!api_body(r, body_decision_known, &body))
        return;
    approvals_look(api->approvals);
    if (body_decision(body, &given, &e) < 0 ||
        settle_question(api->approvals, id, &given, &e) < 0) {
        api_fail(r, &e);
        return;
    }
    const char *outcome = given.action            ? "answered"
                          : given.decision.accept ? "accepted"
                                                  : "rejected";
    on_api_settled(api->approvals, id, outcome); /* who decides is not told */
    http_answer(r, 204, NULL, 0, NULL, 0);
}

static const struct http_route routes[] = {
    {"GET", "/v1/approvals", HTTP_EVENTS, 0, NULL, API_APPROVE, approvals_get},
    {"POST", "/v1/approvals/{aid}", HTTP_COLLECT, BODY_MAX, API_TYPE, API_APPROVE, approval_post},
};

/* --- opening and closing ---------------------------------------------------------------------- */

static int open_approvals_group(struct api *api, struct err *e)
{
    (void)e;
    struct api_approvals *all = NEW(struct api_approvals);
    all->api = api;
    if (is_seat_kept(api->config))
        join_approvals(all, APPROVER_API_AWAY);
    api->approvals = all;
    return 0;
}

static void close_approvals_group(struct api *api)
{
    struct api_approvals *all = api->approvals;
    if (!all)
        return;
    approval_streams_end(all, FOLLOW_STOPPING, API_STOPPING);
    leave_approvals(all);
    loop_timer_stop(api->loop, &all->away);
    xfree(all);
    api->approvals = NULL;
}

static void drain_approvals_group(struct api *api)
{
    approval_streams_end(api->approvals, FOLLOW_STOPPING, API_STOPPING);
}

const struct api_group api_approvals_group = {.routes = routes,
                                              .n = sizeof routes / sizeof *routes,
                                              .open = open_approvals_group,
                                              .close = close_approvals_group,
                                              .drain = drain_approvals_group};
