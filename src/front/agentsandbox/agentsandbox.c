/* SPDX-License-Identifier: Apache-2.0 */
#include "front/agentsandbox/agentsandbox.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/secret.h"
#include "front/agentsandbox/agentsandbox_internal.h"
#include "front/http/http_auth.h"
#include "front/workspace/api_files.h"

enum { DRAINS_EVERY_MS = 10, COMMAND_MAX = 1 << 20, SMALL_MAX = 8 << 10 };

/* --- errors ----------------------------------------------------------------------------------- */

static int asb_status_of(int code)
{
    static const struct {
        int code, status;
    } of[] = {
        {EINVAL, 400}, {EDOM, 400},      {ENAMETOOLONG, 400}, {EACCES, 403}, {EPERM, 403},
        {ENOENT, 404}, {EISDIR, 409},    {ENOTEMPTY, 409},    {EEXIST, 409}, {EAGAIN, 503},
        {ESTALE, 409}, {ESHUTDOWN, 503}, {ENOSPC, 507},       {EDQUOT, 507}, {EFBIG, 507},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (of[i].code == -code)
            return of[i].status;
    return 500;
}

void asb_fail(struct http_request *r, const struct err *e)
{
    http_problem(r, asb_status_of(e->code), NULL, 0, "%s", e->msg);
}

static const char *sandboxd_code(int status)
{
    static const struct {
        int status;
        const char *name;
    } names[] = {{400, "INVALID_ARGUMENT"},   {401, "UNAUTHENTICATED"},
                 {403, "PERMISSION_DENIED"},  {404, "NOT_FOUND"},
                 {405, "UNIMPLEMENTED"},      {409, "FAILED_PRECONDITION"},
                 {503, "UNAVAILABLE"},        {413, "RESOURCE_EXHAUSTED"},
                 {429, "RESOURCE_EXHAUSTED"}, {507, "RESOURCE_EXHAUSTED"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].status == status)
            return names[i].name;
    return status < 500 ? "INVALID_ARGUMENT" : "INTERNAL";
}

static void put_runtime_problem(void *ctx, int status, const char *detail, struct buf *body)
{
    (void)ctx, (void)status;
    struct jsonw w = JSONW(body);
    jsonw_object(&w);
    jsonw_set_text(&w, "message", detail);
    jsonw_end(&w);
}

static void put_sandboxd_problem(void *ctx, int status, const char *detail, struct buf *body)
{
    (void)ctx;
    struct jsonw w = JSONW(body);
    jsonw_object(&w);
    jsonw_set_text(&w, "code", sandboxd_code(status));
    jsonw_set_text(&w, "message", detail);
    jsonw_end(&w);
}

void asb_answer_message(struct http_request *r, const char *fmt, ...)
{
    char text[SMALL_MAX / 2];
    drop_buf struct buf body = BUF_INIT(ASB_SHOWN_MAX + (size_t)8 * SMALL_MAX);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put_runtime_problem(NULL, 0, text, &body);
    http_answer_json(r, 200, &body);
}

/* --- how it is -------------------------------------------------------------------------------- */

static void get_runtime(void *ctx, struct http_request *r)
{
    const struct agentsandbox *a = ctx;
    static const struct http_header type = {"Content-Type", "application/json"};
    static const char well[] = "{\"status\":\"ok\",\"message\":\"Sandbox Runtime is active.\"}";
    if (a->stopping)
        http_problem(r, 503, NULL, 0, "the server is stopping");
    else
        http_answer(r, 200, &type, 1, well, sizeof well - 1);
}

static void get_sandboxd_health(void *ctx, struct http_request *r)
{
    const struct agentsandbox *a = ctx;
    drop_buf struct buf body = BUF_INIT(SMALL_MAX);
    struct jsonw w = JSONW(&body);
    if (a->stopping) {
        http_problem(r, 503, NULL, 0, "the server is stopping");
        return;
    }
    jsonw_object(&w);
    jsonw_set_text(&w, "status", "ok");
    jsonw_set_int(&w, "uptime_seconds", (loop_now(a->config.loop) - a->begun_ms) / 1000);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

/* Variables are the server's, which has secrets: none is told. */
static void get_metadata(void *ctx, struct http_request *r)
{
    (void)ctx;
    static const struct http_header type = {"Content-Type", "application/json"};
    http_answer(r, 200, &type, 1, "{\"env\":{}}", sizeof "{\"env\":{}}" - 1);
}

/* --- routes ----------------------------------------------------------------------------------- */

#define NOTHING HTTP_NO_BODY, 0, NULL, ASB_NEEDS_TOKEN
#define FILES HTTP_RECEIVE, API_FILES_BODY_MAX, NULL, ASB_NEEDS_TOKEN

/* {path} is one segment, whose slashes are %2F; {path*} are several. */
static const struct http_route runtime_routes[] = {
    {"GET", "/", HTTP_NO_BODY, 0, NULL, ASB_FREE, get_runtime},
    {"POST", "/execute", HTTP_COLLECT, COMMAND_MAX, NULL, ASB_NEEDS_TOKEN, asb_execute},
    {"POST", "/upload", FILES, asb_upload},
    {"GET", "/download/{path}", NOTHING, asb_download},
    {"GET", "/download/{path*}", NOTHING, asb_download},
    {"GET", "/list", NOTHING, asb_list},
    {"GET", "/list/", NOTHING, asb_list}, /* "/list/." as some clients send it */
    {"GET", "/list/{path}", NOTHING, asb_list},
    {"GET", "/list/{path*}", NOTHING, asb_list},
    {"GET", "/exists/{path}", NOTHING, asb_exists},
    {"GET", "/exists/{path*}", NOTHING, asb_exists},
};

static const struct http_route sandboxd_routes[] = {
    {"GET", "/v1/health", HTTP_NO_BODY, 0, NULL, ASB_FREE, get_sandboxd_health},
    {"GET", "/v1/metadata", NOTHING, get_metadata},
    {"GET", "/v1/files", NOTHING, asb_get},
    {"GET", "/v1/files/", NOTHING, asb_get},
    {"GET", "/v1/files/{path}", NOTHING, asb_get},
    {"GET", "/v1/files/{path*}", NOTHING, asb_get},
    {"PUT", "/v1/files/{path}", FILES, asb_put},
    {"PUT", "/v1/files/{path*}", FILES, asb_put},
    {"DELETE", "/v1/files/{path}", NOTHING, asb_delete},
    {"DELETE", "/v1/files/{path*}", NOTHING, asb_delete},
};

bool asb_is_sandboxd(const struct agentsandbox *a, const struct http_request *r)
{
    return a->config.rest_port != 0 && http_own_port(r) == a->config.rest_port;
}

static const struct http_realm *choose_asb_realm(void *ctx, const struct http_request *r)
{
    const struct agentsandbox *a = ctx;
    return asb_is_sandboxd(a, r) ? &a->sandboxd : &a->runtime;
}

bool asb_is_open(const struct agentsandbox *a)
{
    return a->config.open || (!a->config.token && !a->config.execute_token);
}

const char *asb_role_of(const struct agentsandbox *a, const char *token)
{
    bool admin = token && secret_equal(a->config.token, token);
    bool execute = token && secret_equal(a->config.execute_token, token);
    return admin ? "admin" : execute ? "execute" : NULL;
}

static bool admit_asb(void *ctx, struct http_request *r, const struct http_route *route)
{
    const struct agentsandbox *a = ctx;
    char token[HTTP_TOKEN_MAX + 1];
    if (route->tag == ASB_FREE || asb_is_open(a))
        return true;
    const char *role = asb_role_of(a, http_token(r, token) ? token : NULL);
    if (role) {
        http_guard_admit(a->guard, r, role);
        return true;
    }
    http_guard_refuse(a->guard, r, "bring IPYBOX_TOKEN or IPYBOX_EXECUTE_TOKEN as X-Ipybox-Token");
    return false;
}

/* --- opening and closing ---------------------------------------------------------------------- */

static struct http_realm
asb_realm_of(struct agentsandbox *a, const struct http_route *routes, size_t n,
             void (*problem)(void *ctx, int status, const char *detail, struct buf *body))
{
    return (struct http_realm){.routes = routes,
                               .n_routes = n,
                               .alone = true,
                               .admit = admit_asb,
                               .problem = problem,
                               .ctx = a};
}

static int open_asb_calls(struct agentsandbox *a, struct err *e)
{
    const struct agentsandbox_config *c = &a->config;
    const struct grpc_config calls = {.loop = c->loop,
                                      .host = c->host,
                                      .port = c->grpc_port,
                                      .ahead = c->ahead,
                                      .instance = c->instance,
                                      .methods = asb_process_methods,
                                      .admit = asb_admit_call,
                                      .ctx = a};
    return c->grpc_port == 0 ? 0 : grpc_open(&calls, &a->grpc, e);
}

static int open_asb_ports(struct agentsandbox *a, struct err *e)
{
    const struct agentsandbox_config *c = &a->config;
    const struct http_config http = {.loop = c->loop,
                                     .host = c->host,
                                     .port = c->port,
                                     .given = c->given,
                                     .ahead = c->ahead,
                                     .dot = true,
                                     .instance = c->instance,
                                     .guarded = !asb_is_open(a),
                                     .problem = put_runtime_problem,
                                     .realm = choose_asb_realm,
                                     .ctx = a};
    int r = open_asb_calls(a, e);
    if (r == 0 && c->port != 0)
        r = http_open(&http, &a->http, e);
    if (r == 0 && c->rest_port != 0 && c->rest_port != c->port)
        r = http_listen_at(a->http, c->host, c->rest_port, e);
    return r < 0 ? err_wrap(e, "--agent-sandbox") : 0;
}

int agentsandbox_open(const struct agentsandbox_config *config, struct agentsandbox **ret,
                      struct err *e)
{
    struct agentsandbox *a = NEW(struct agentsandbox);
    *a = (struct agentsandbox){
        .config = *config, .top = BENEATH_NONE, .begun_ms = loop_now(config->loop)};
    a->runtime = asb_realm_of(a, runtime_routes, sizeof runtime_routes / sizeof *runtime_routes,
                              put_runtime_problem);
    a->sandboxd = asb_realm_of(a, sandboxd_routes, sizeof sandboxd_routes / sizeof *sandboxd_routes,
                               put_sandboxd_problem);
    a->guard = http_guard_new(config->loop);
    http_guard_tell(a->guard, config->audit, "agent-sandbox");
    a->judge = judge_new(config->sessions);
    a->rules = judge_rules(a->judge);
    int r = beneath_open(config->workspace, &a->top, e);
    if (r == 0)
        r = open_asb_ports(a, e);
    if (r < 0) {
        (void)agentsandbox_close(a);
        return r;
    }
    *ret = a;
    return 0;
}

struct agentsandbox *agentsandbox_close(struct agentsandbox *a)
{
    if (!a)
        return NULL;
    a->http = http_close(a->http);
    a->grpc = grpc_close(a->grpc);
    loop_timer_stop(a->config.loop, &a->drain);
    a->judge = judge_free(a->judge);
    a->guard = http_guard_free(a->guard);
    beneath_close(&a->top);
    xfree(a);
    return NULL;
}

void agentsandbox_take(struct agentsandbox *a, int fd, const struct sockaddr *from, socklen_t n)
{
    http_take(a->http, fd, from, n);
}

void agentsandbox_stop(struct agentsandbox *a)
{
    a->stopping = true;
    h2_stop(grpc_h2(a->grpc));
}

static void check_asb_drained(void *ctx)
{
    struct agentsandbox *a = ctx;
    if ((a->http && http_busy(a->http) > 0) || h2_busy(grpc_h2(a->grpc)) > 0)
        loop_timer_set(a->config.loop, &a->drain, DRAINS_EVERY_MS, check_asb_drained, a);
    else
        a->drained(a->drained_ctx);
}

void agentsandbox_drain(struct agentsandbox *a, loop_fn done, void *ctx)
{
    agentsandbox_stop(a);
    a->drained = done;
    a->drained_ctx = ctx;
    loop_timer_set(a->config.loop, &a->drain, 0, check_asb_drained, a);
}
