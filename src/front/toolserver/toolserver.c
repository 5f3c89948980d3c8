/* SPDX-License-Identifier: Apache-2.0 */
#include "front/toolserver/toolserver.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"
#include "base/list.h"
#include "base/log.h"
#include "base/secret.h"
#include "front/http/http_auth.h"
#include "front/http/http_context.h"
#include "front/toolserver/toolserver_wire.h"

enum tool_role { APPLICATION = 1, APPROVER = 2, KERNEL = 4 };

struct tool_request {
    struct toolserver *server;
    struct tool_request *next, *prev;
    struct http_request *request;
    struct toolplane_call *under_way;
    char *token; /* the kernel's whose code asks; NULL: an application's */
    bool approval;
};

/* An approver, or one who waits to be. */
struct channel {
    struct toolserver *server;
    struct http_request *request; /* while it waits */
    struct ws *ws;                /* once it is connected */
    struct approver *approver;
    struct channel *next; /* waits, too */
    struct loop_timer limit;
};

struct toolserver {
    struct toolserver_config config;
    struct http *http;
    struct http_guard *guard;
    struct tool_request *calls;
    struct channel *channel; /* NULL: nobody is connected */
    struct channel *waiting; /* the first who came is the first in the list */
    struct loop_defer next;  /* the first who waits is connected */
};

/* --- who it is -------------------------------------------------------------------------------- */

static bool is_among_names(const char *const *tokens, const char *given)
{
    bool found = false;
    for (; tokens && *tokens; tokens++)
        found |= secret_equal(*tokens, given);
    return found;
}

/* The roles of the request's token, or of who brings none; 0: none. */
static unsigned toolserver_roles_of(const struct toolserver *s, const struct http_request *r,
                                    const char **session)
{
    char token[HTTP_TOKEN_MAX + 1];
    const struct toolserver_config *config = &s->config;
    if (!http_token(r, token)) {
        bool open =
            config->open_to && !http_brings_token(r) && config->open_to(config->ctx, http_fd(r));
        *session = config->application_session ? config->application_session : "";
        return open ? APPLICATION | APPROVER : 0U;
    }
    unsigned roles = (is_among_names(config->applications, token) ? APPLICATION : 0U) |
                     (is_among_names(config->approvers, token) ? APPROVER : 0U);
    *session = config->application_session ? config->application_session : "";
    if (roles == 0 && config->kernel_token && config->kernel_token(config->ctx, token, session))
        roles = KERNEL;
    return roles;
}

static bool admit_tool_request(void *ctx, struct http_request *r, const struct http_route *route)
{
    struct toolserver *s = ctx;
    const char *session = NULL;
    if (route->tag == 0)
        return true;
    unsigned roles = toolserver_roles_of(s, r, &session);
    if (roles == 0) {
        http_guard_refuse(s->guard, r,
                          s->config.open_to
                              ? "without a token this is for programs of the user alone, not for "
                                "code in kernels, other sandboxes and MCP servers"
                              : "a token is needed: send the header \"Authorization: Bearer "
                                "TOKEN\", or write it into the host as x:TOKEN@HOST");
        return false;
    }
    const char *role = roles & APPROVER      ? "approver"
                       : roles & APPLICATION ? "application"
                                             : "kernel";
    if (!(roles & route->tag)) {
        http_guard_forbid(s->guard, r, role);
        http_problem(r, 403, NULL, 0, "this token is not for %s", http_path(r));
        return false;
    }
    if (roles != KERNEL) /* its calls are told themselves */
        http_guard_admit(s->guard, r, role);
    return true;
}

/* Bodies of errors as FastAPI has them. */
static void put_tool_problem(void *ctx, int status, const char *detail, struct buf *body)
{
    (void)ctx;
    struct jsonw w = JSONW(body);
    jsonw_object(&w);
    jsonw_set_text(&w, "detail",
                   status == 404   ? "Not Found"
                   : status == 405 ? "Method Not Allowed"
                                   : detail);
    jsonw_end(&w);
}

/* --- calls ------------------------------------------------------------------------------------ */

static void free_tool_request(struct tool_request *c)
{
    list_remove(&c->server->calls, c);
    xfree(c->token);
    xfree(c);
}

static void answer_tool_request(struct http_request *r, bool approval,
                                enum toolplane_failure failure, const struct tools_result *result,
                                const char *why)
{
    drop_buf struct buf body = BUF_INIT(TOOLSERVER_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    jsonw_object(&w);
    if (approval)
        jsonw_set_bool(&w, "approved", failure == TOOLPLANE_OK);
    if (failure != TOOLPLANE_OK)
        jsonw_set_text(&w, "error", why);
    if (failure == TOOLPLANE_REJECTED || failure == TOOLPLANE_TIMEOUT)
        jsonw_set_text(&w, "type", failure == TOOLPLANE_REJECTED ? "rejected" : "timeout");
    if (failure == TOOLPLANE_OK && !approval) {
        jsonw_name(&w, "result");
        toolplane_put_result(&w, result);
        toolplane_put_content(&w, result);
    }
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

static void on_tool_request_done(void *ctx, enum toolplane_failure failure,
                                 const struct tools_result *result, const char *why)
{
    struct tool_request *c = ctx;
    answer_tool_request(c->request, c->approval, failure, result, why);
    free_tool_request(c);
}

static void on_caller_gone(void *ctx)
{
    struct tool_request *c = ctx;
    toolplane_call_cancel(c->under_way);
    free_tool_request(c);
}

void toolserver_revoke(struct toolserver *s, const char *token)
{
    for (struct tool_request *c = s->calls, *next; c; c = next) {
        next = c->next;
        if (!c->token || strcmp(c->token, token) != 0)
            continue;
        toolplane_call_cancel(c->under_way);
        answer_tool_request(c->request, c->approval, TOOLPLANE_ERROR, NULL, "the kernel has ended");
        free_tool_request(c);
    }
}

static int ask_plane(struct tool_request *c, const struct toolplane_request *request, struct err *e)
{
    static const struct toolplane_events events = {.done = on_tool_request_done};
    return (c->approval ? toolplane_approve : toolplane_call)(c->server->config.plane, request,
                                                              &events, c, &c->under_way, e);
}

static void begin_call(struct toolserver *s, struct http_request *r, bool approval,
                       const struct toolserver_query *q)
{
    static const struct http_events events = {.gone = on_caller_gone};
    const char *session = NULL;
    unsigned roles = toolserver_roles_of(s, r, &session);
    struct request_context origin;
    request_context_of(r, &origin);
    struct toolplane_request request = {
        .role = roles & APPLICATION ? TOOLPLANE_APPLICATION : TOOLPLANE_KERNEL,
        .session = session,
        .server = q->server,
        .tool = q->tool,
        .params = q->params,
        .arguments = q->arguments,
        .origin = &origin,
    };
    struct err e = ERR_NONE;
    if (!(roles & (APPLICATION | KERNEL))) { /* its kernel ended while the body came */
        http_problem(r, 401, NULL, 0, "the token is no longer right");
        return;
    }
    struct tool_request *c = NEW(struct tool_request);
    *c = (struct tool_request){.server = s, .request = r, .approval = approval};
    char token[HTTP_TOKEN_MAX + 1];
    if (!(roles & APPLICATION) && http_token(r, token))
        c->token = xstrdup(token);
    list_push(&s->calls, c);
    http_watch(r, &events, c);
    if (ask_plane(c, &request, &e) < 0) {
        answer_tool_request(r, approval, TOOLPLANE_ERROR, NULL, e.msg);
        free_tool_request(c);
    }
}

static void read_call(struct toolserver *s, struct http_request *r, bool approval)
{
    struct toolserver_query q = {0};
    drop_buf struct buf out = BUF_INIT(TOOLSERVER_ANSWER_MAX);
    struct buf *body = http_body(r);
    int status = toolserver_read(buf_text(body), body->len, http_header(r, "Content-Type"),
                                 !approval, &q, &out);
    if (status == 0)
        begin_call(s, r, approval, &q);
    else if (status == 503)
        http_problem(r, 503, NULL, 0, "no memory");
    else
        http_answer_json(r, status, &out);
    toolserver_query_done(&q);
}

static void on_run(void *ctx, struct http_request *r)
{
    read_call(ctx, r, false);
}

static void on_approve(void *ctx, struct http_request *r)
{
    read_call(ctx, r, true);
}

static void answer_text(struct http_request *r, const char *json)
{
    static const struct http_header type = {"Content-Type", "application/json"};
    http_answer(r, 200, &type, 1, json, strlen(json));
}

static void on_toolserver_status(void *ctx, struct http_request *r)
{
    (void)ctx;
    answer_text(r, "{\"status\":\"ok\"}");
}

static void on_servers_reset(void *ctx, struct http_request *r)
{
    struct toolserver *s = ctx;
    toolplane_reset(s->config.plane);
    answer_text(r, "{\"reset\":\"success\"}");
}

/* --- the approval channel --------------------------------------------------------------------- */

static void connect_next(void *ctx);

static void free_channel(struct channel *c)
{
    struct toolserver *s = c->server;
    loop_timer_stop(s->config.loop, &c->limit);
    chain_remove(&s->waiting, c);
    xfree(c);
}

static void leave_approval_channel(struct channel *c)
{
    struct toolserver *s = c->server;
    c->approver = approver_leave(c->approver);
    free_channel(c);
    s->channel = NULL;
    if (s->waiting)
        loop_defer(s->config.loop, &s->next, connect_next, s);
}

static void refuse_message(struct channel *c, int code, const char *why)
{
    ws_close(c->ws, code, why);
    leave_approval_channel(c);
}

static void on_channel_ask(void *ctx, const struct approval_view *view)
{
    struct channel *c = ctx;
    drop_buf struct buf text = BUF_INIT(TOOLSERVER_ANSWER_MAX), arguments = BUF_INIT(text.cap);
    struct jsonw w = JSONW(&text);
    struct err e = ERR_NONE;
    toolserver_compact(&arguments, view->subject.arguments, strlen(view->subject.arguments));
    jsonw_object(&w);
    jsonw_set_text(&w, "jsonrpc", "2.0");
    jsonw_set_text(&w, "method", "approve");
    jsonw_set_object(&w, "params");
    jsonw_set_text(&w, "server_name", view->subject.server);
    jsonw_set_text(&w, "tool_name", view->subject.tool);
    jsonw_set_raw(&w, "tool_args", buf_text(&arguments));
    jsonw_set_text(&w, "server_shown", view->subject.shown);
    jsonw_end(&w);
    jsonw_set_text(&w, "id", view->id);
    jsonw_end(&w);
    if (text.failed < 0 || ws_send(c->ws, true, text.data, text.len, &e) < 0)
        refuse_message(c, WS_POLICY, "the approver does not read");
}

static void on_channel_settled(void *ctx, const char *id, const char *outcome)
{
    (void)ctx, (void)id, (void)outcome; /* the wire has no word for it */
}

/* {"jsonrpc":"2.0","result":true,"id":"…"} */
static void on_channel_message(void *ctx, bool text, char *data, size_t n)
{
    struct channel *c = ctx;
    drop_json struct json *message = text ? json_parse(data, n, JSON_STRICT, NULL) : NULL;
    const struct json *result = json_get(message, "result");
    const char *id = json_get_text(message, "id");
    struct approval_decision decision = {.accept = json_true(result)};
    if (!id || !json_is_bool(result)) {
        refuse_message(c, 1007, "not an answer to an approval request");
        return;
    }
    struct err late = ERR_NONE; /* decided elsewhere or expired: the wire has no word for it */
    if (approver_decide(c->approver, id, &decision, &late) < 0)
        log_debug("approvals", "%s", late.msg);
}

static void on_channel_closed(void *ctx, int code, const char *reason)
{
    (void)code, (void)reason;
    leave_approval_channel(ctx);
}

static void on_tool_client_gone(void *ctx)
{
    free_channel(ctx);
}

static void on_waited_enough(void *ctx)
{
    struct channel *c = ctx;
    http_problem(c->request, 403, NULL, 0, "Timed out waiting for previous connection to close");
    free_channel(c);
}

static void connect_next(void *ctx)
{
    static const struct ws_events events = {.message = on_channel_message,
                                            .closed = on_channel_closed};
    struct toolserver *s = ctx;
    struct channel *c = s->waiting;
    if (!c || s->channel)
        return;
    struct approver_config config = {
        .rank = APPROVER_CHANNEL, .ask = on_channel_ask, .settled = on_channel_settled, .ctx = c};
    struct http_request *request = c->request;
    s->waiting = c->next;
    loop_timer_stop(s->config.loop, &c->limit);
    c->next = NULL;
    if (http_upgrade(request, NULL, &events, c, &c->ws) < 0) {
        xfree(c);
        connect_next(s);
        return;
    }
    c->request = NULL;
    s->channel = c;
    c->approver = approver_join(s->config.approvals, &config);
}

static void on_approval_socket(void *ctx, struct http_request *r)
{
    static const struct http_events events = {.gone = on_tool_client_gone};
    struct toolserver *s = ctx;
    struct channel *c = NEW(struct channel);
    *c = (struct channel){.server = s, .request = r};
    chain_append(&s->waiting, c);
    http_watch(r, &events, c);
    loop_timer_set(s->config.loop, &c->limit, TOOLSERVER_JOIN_MS, on_waited_enough, c);
    connect_next(s);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static const struct http_route routes[] = {
    {"GET", "/status", HTTP_NO_BODY, 0, NULL, 0, on_toolserver_status},
    {"PUT", "/reset", HTTP_NO_BODY, 0, NULL, APPLICATION, on_servers_reset},
    {"POST", "/run", HTTP_COLLECT, TOOLSERVER_BODY_MAX, NULL, APPLICATION | KERNEL, on_run},
    {"POST", "/approve", HTTP_COLLECT, TOOLSERVER_BODY_MAX, NULL, APPLICATION | KERNEL, on_approve},
    {"GET", "/approval", HTTP_WEBSOCKET, 0, NULL, APPROVER, on_approval_socket},
};

int toolserver_open(const struct toolserver_config *config, struct toolserver **ret, struct err *e)
{
    struct toolserver *s = NEW(struct toolserver);
    s->config = *config;
    s->guard = http_guard_new(config->loop);
    http_guard_tell(s->guard, config->audit, "tool-server");
    struct http_config http = {
        .loop = config->loop,
        .host = config->host,
        .port = config->port,
        .limits = config->limits,
        .routes = routes,
        .n_routes = sizeof routes / sizeof *routes,
        .hosts = config->hosts,
        .origins = config->origins,
        .instance = config->instance,
        .admit = admit_tool_request,
        .problem = put_tool_problem,
        .ctx = s,
    };
    int r = http_open(&http, &s->http, e);
    if (r < 0) {
        (void)toolserver_close(s);
        return err_wrap(e, "the tool server");
    }
    *ret = s;
    return 0;
}

struct toolserver *toolserver_close(struct toolserver *s)
{
    if (!s)
        return NULL;
    s->http = http_close(s->http);
    loop_defer_stop(s->config.loop, &s->next);
    s->guard = http_guard_free(s->guard);
    xfree(s);
    return NULL;
}

int toolserver_port(const struct toolserver *s)
{
    return http_port(s->http);
}
