/* SPDX-License-Identifier: Apache-2.0 */
#include "front/api.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/secret.h"
#include "front/api/api_internal.h"
#include "front/api/api_json.h"
#include "front/api/api_metrics.h"
#include "front/api/openapi.h"
#include "front/http/http_auth.h"
#include "front/http/instance.h"
#include "front/workspace/api_files.h"
#include "session/kernels/judge.h"

enum { DRAIN_STEP_MS = 10, HEALTH_MAX = 4096 };

#define TOKEN_KNOWN (1U << 31) /* among the roles: a right token was brought */

struct api_core { /* api.c's own */
    struct api api;
    struct api_config config;
    struct http_guard *guard;
    struct http_route *routes;
    size_t n_routes;
    bool started;
    struct buf well; /* what is said of the server's health as long as it is well */
    struct http_prepared *well_answer;
    uint64_t requests;
    struct loop_timer drain;
    loop_fn drained;
    void *drained_ctx;
};

/* --- who may ---------------------------------------------------------------------------------- */

/* Who comes by the Unix socket, from outside of what the server has started. The server's uid
 * proves no more than that one may execute: code in kernels has it, too. */
unsigned api_peer_roles(uid_t peer, uid_t server)
{
    if (peer == 0 && server != 0)
        return 1U << API_EXECUTE | 1U << API_APPROVE | 1U << API_ADMIN;
    return peer == server ? 1U << API_EXECUTE : 0;
}

/* What the token, or the socket, is good for; several roles as bits. */
static unsigned api_roles_of(const struct api_config *c, const struct http_request *r)
{
    char token[HTTP_TOKEN_MAX + 1];
    bool brought = http_token(r, token);
    bool open = !c->admin_token && !c->execute_token;
    bool admin = brought && secret_equal(c->admin_token, token);
    bool execute = brought && secret_equal(c->execute_token, token);
    bool approve = brought && secret_equal(c->approver_token, token);
    unsigned roles = 1U << API_EVERYONE;
    uid_t peer;
    if (http_local(r, &peer)) {
        roles |= http_below(r) ? 0 : api_peer_roles(peer, geteuid());
        open = false;
    }
    if (open || execute || admin)
        roles |= 1U << API_EXECUTE;
    if (approve || admin)
        roles |= 1U << API_APPROVE;
    if (admin)
        roles |= 1U << API_ADMIN;
    return admin || execute || approve ? roles | TOKEN_KNOWN : roles;
}

bool api_limit(struct http_request *r, size_t max, size_t *ret)
{
    const char *text = http_query(r, "limit");
    size_t n = 0;
    if (!text)
        return true;
    for (const char *at = text; *at >= '0' && *at <= '9' && n <= max; at++)
        n = n * 10 + (size_t)(*at - '0');
    if (n == 0 || n > max || strspn(text, "0123456789") != strlen(text)) {
        http_problem(r, 400, NULL, 0, "limit must be a number from 1 to %zu", max);
        return false;
    }
    *ret = n;
    return true;
}

bool api_may(const struct api *api, const struct http_request *r, enum api_role role)
{
    return (api_roles_of(api->config, r) & 1U << role) != 0;
}

static const char *what_is_needed(const struct api_config *c, unsigned role)
{
    if (role == API_EXECUTE)
        return "bring IPYBOX_TOKEN or IPYBOX_EXECUTE_TOKEN as `Authorization: Bearer TOKEN`";
    if (role == API_APPROVE)
        return c->admin_token || c->approver_token
                   ? "bring IPYBOX_TOKEN or IPYBOX_APPROVER_TOKEN as `Authorization: Bearer TOKEN`"
                   : "the server has no IPYBOX_APPROVER_TOKEN and no IPYBOX_TOKEN, so nobody can "
                     "do this: code in kernels reaches this port, too";
    return c->admin_token
               ? "bring IPYBOX_TOKEN as `Authorization: Bearer TOKEN`"
               : "the server has no IPYBOX_TOKEN, so nobody can do this: code in kernels "
                 "reaches this port, too";
}

static const char *role_name(unsigned roles)
{
    return roles & 1U << API_ADMIN ? "admin" : roles & 1U << API_APPROVE ? "approve" : "execute";
}

static void refuse_local(struct http_request *r)
{
    if (http_below(r)) {
        http_problem(r, 403, NULL, 0,
                     "not over this socket: what the server has started, as code in kernels, "
                     "packages and MCP servers, has no role here; use docker exec");
        return;
    }
    http_problem(r, 403, NULL, 0,
                 geteuid() == 0
                     ? "not over this socket: the server and code in kernels are both root"
                     : "over this socket only root may do that: code in kernels has the "
                       "server's uid");
}

/* The session's id may end in "@" and its instance's name: no id has that letter. */
static bool is_session_here(const struct api_config *c, struct http_request *r,
                            const struct http_route *route)
{
    static const char sessions_of[] = "/v1/sessions/{id}";
    if (strncmp(route->path, sessions_of, sizeof sessions_of - 1) != 0)
        return true;
    const char *id = http_param(r, "id"), *at = strrchr(id, '@');
    if (!at || !instance_is_name(at + 1))
        return true;
    if (strcmp(at + 1, c->instance) != 0) {
        instance_refuse(r, "this session", at + 1, c->instance);
        return false;
    }
    http_param_cut(r, "id", (size_t)(at - id));
    return true;
}

static bool admit_api_request(void *ctx, struct http_request *r, const struct http_route *route)
{
    struct api *api = ctx;
    const struct api_config *c = api->config;
    unsigned roles = api_roles_of(c, r);
    if (roles & 1U << route->tag) {
        api->core->requests++;
        if (roles & TOKEN_KNOWN)
            http_guard_admit(api->core->guard, r, role_name(roles));
        return is_session_here(c, r, route);
    }
    uid_t peer;
    if (http_local(r, &peer) && !(roles & TOKEN_KNOWN)) {
        refuse_local(r);
        return false;
    }
    if (!(roles & TOKEN_KNOWN)) {
        http_guard_refuse(api->core->guard, r, what_is_needed(c, route->tag));
        return false;
    }
    http_guard_forbid(api->core->guard, r, role_name(roles));
    http_problem(r, 403, NULL, 0, "this token may not do that: %s", what_is_needed(c, route->tag));
    return false;
}

/* --- how the server is ------------------------------------------------------------------------ */

/* Once a kernel has come up; it may be replaced later. */
static bool has_started(struct api *api)
{
    struct sessions_view view;
    bool ready = false;
    if (sessions_find(api->config->sessions, SESSIONS_DEFAULT, &view))
        (void)session_kernel(view.session, &ready);
    return api->core->started |= ready;
}

static void put_readiness_sandbox(const struct api_config *config, struct jsonw *w)
{
    if (!config->sandbox_level)
        return;
    jsonw_set_object(w, "sandbox");
    jsonw_set_text(w, "level", config->sandbox_level);
    jsonw_set_bool(w, "kernels", config->sandboxed);
    jsonw_set_text(w, "detail", config->sandbox_detail);
    jsonw_end(w);
}

static void put_readiness_identity(const struct api_config *config, struct jsonw *w)
{
    jsonw_set_object(w, "identity");
    jsonw_set_int(w, "server", config->uid);
    jsonw_set_int(w, "kernels", config->kernel_uid);
    jsonw_set_bool(w, "apart", config->uid != config->kernel_uid);
    jsonw_end(w);
}

static void put_readiness_audit(const struct api_config *config, struct jsonw *w)
{
    struct audit_numbers numbers;
    enum audit_state state = audit_state(config->audit, &numbers);
    if (state != AUDIT_OFF)
        jsonw_set_text(w, "audit", audit_state_names[state]);
}

static bool is_audit_well(const struct api_config *config)
{
    struct audit_numbers numbers;
    return audit_state(config->audit, &numbers) <= AUDIT_WRITTEN;
}

static void put_health(const struct api_config *config, const char *status, struct buf *out)
{
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    jsonw_set_text(&w, "status", status);
    jsonw_set_text(&w, "version", config->version);
    jsonw_set_text(&w, "instance", config->instance);
    put_readiness_identity(config, &w);
    put_readiness_sandbox(config, &w);
    put_readiness_audit(config, &w);
    jsonw_end(&w);
}

static const struct http_header health_headers[] = {{"Content-Type", API_TYPE},
                                                    {"Cache-Control", "no-store"}};

static void prepare_health(struct api_core *core, const struct api_config *config)
{
    core->well = BUF_INIT(HEALTH_MAX);
    put_health(config, "ok", &core->well);
    core->well_answer = http_prepare(200, health_headers, 2, buf_text(&core->well), core->well.len,
                                     config->instance);
}

static void answer_health(struct api *api, struct http_request *r, bool well, const char *why)
{
    if (well && is_audit_well(api->config)) {
        http_answer_prepared(r, api->core->well_answer);
        return;
    }
    drop_buf struct buf body = BUF_INIT(HEALTH_MAX);
    put_health(api->config, well ? "ok" : why, &body);
    http_answer(r, well ? 200 : 503, health_headers, 2, buf_text(&body), body.len);
}

static void get_livez(void *ctx, struct http_request *r)
{
    answer_health(ctx, r, true, "");
}

static void get_startupz(void *ctx, struct http_request *r)
{
    answer_health(ctx, r, has_started(ctx), "starting");
}

static void get_readyz(void *ctx, struct http_request *r)
{
    struct api *api = ctx;
    answer_health(api, r, has_started(api) && !api->stopping,
                  api->stopping ? "stopping" : "starting");
}

static void get_openapi(void *ctx, struct http_request *r)
{
    static const struct http_header type = {"Content-Type", API_TYPE};
    (void)ctx;
    http_answer(r, 200, &type, 1, (const char *)openapi, openapi_size);
}

static const struct http_route core_routes[] = {
    {"GET", "/openapi.json", HTTP_NO_BODY, 0, NULL, API_EVERYONE, get_openapi},
    {"GET", "/livez", HTTP_NO_BODY, 0, NULL, API_EVERYONE, get_livez},
    {"GET", "/readyz", HTTP_NO_BODY, 0, NULL, API_EVERYONE, get_readyz},
    {"GET", "/startupz", HTTP_NO_BODY, 0, NULL, API_EVERYONE, get_startupz},
    {"GET", "/metrics", HTTP_NO_BODY, 0, NULL, API_EVERYONE, api_metrics_get},
};

const struct api_group api_core_group = {core_routes, sizeof core_routes / sizeof *core_routes,
                                         NULL, NULL, NULL};

/* --- opening and closing ---------------------------------------------------------------------- */

static void join_routes(struct api_core *core)
{
    for (const struct api_group *const *group = api_groups; *group; group++) {
        if (*group == &api_mcp_group && !core->config.mcp)
            continue;
        core->routes =
            xrealloc(core->routes, (core->n_routes + (*group)->n) * sizeof *core->routes);
        memcpy(core->routes + core->n_routes, (*group)->routes, (*group)->n * sizeof *core->routes);
        core->n_routes += (*group)->n;
    }
}

static const struct http_realm *choose_realm(void *ctx, const struct http_request *r)
{
    const struct api *api = ctx;
    const struct librechat *librechat = api->config->librechat;
    const struct http_realm *realm = librechat ? librechat_realm(librechat, r) : NULL;
    if (realm)
        return realm;
    return api->config->e2b ? e2b_realm(api->config->e2b, r) : NULL;
}

static int open_port(struct api *api, struct err *e)
{
    const struct http_config http = {.loop = api->loop,
                                     .host = api->config->host,
                                     .port = api->config->port,
                                     .ahead = api->config->ahead,
                                     .routes = api->core->routes,
                                     .n_routes = api->core->n_routes,
                                     .hosts = api->config->hosts,
                                     .origins = api->config->origins,
                                     .guarded =
                                         api->config->admin_token || api->config->execute_token,
                                     .instance = api->config->instance,
                                     .admit = admit_api_request,
                                     .realm = choose_realm,
                                     .ctx = api};
    return http_open(&http, &api->http, e);
}

static int open_groups(struct api *api, struct err *e)
{
    for (const struct api_group *const *group = api_groups; *group; group++) {
        int r = (*group)->open ? (*group)->open(api, e) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static void close_groups(struct api *api)
{
    size_t n = 0;
    while (api_groups[n])
        n++;
    while (n-- > 0)
        if (api_groups[n]->close)
            api_groups[n]->close(api);
}

int api_open(const struct api_config *config, struct api **ret, struct err *e)
{
    struct api_core *core = NEW(struct api_core);
    struct api *api = &core->api;
    core->config = *config;
    core->guard = http_guard_new(config->loop);
    http_guard_tell(core->guard, config->audit, "http");
    join_routes(core);
    prepare_health(core, config);
    *api = (struct api){.loop = config->loop,
                        .workspace = config->workspace,
                        .config = &core->config,
                        .core = core};
    api->mcp = config->mcp ? mcp_http_serve(config->mcp, api) : NULL;
    api->judge = judge_new(config->sessions);
    int r = open_groups(api, e);
    if (r == 0)
        r = open_port(api, e);
    if (r < 0) {
        (void)api_close(api);
        return err_wrap(e, "the HTTP API");
    }
    *ret = api;
    return 0;
}

/* Requests are told that they are gone before what they belong to is. */
struct api *api_close(struct api *api)
{
    if (!api)
        return NULL;
    struct api_core *core = api->core;
    api->http = http_close(api->http);
    close_groups(api);
    loop_timer_stop(api->loop, &core->drain);
    core->guard = http_guard_free(core->guard);
    api->judge = judge_free(api->judge);
    core->well_answer = http_prepared_free(core->well_answer);
    buf_done(&core->well);
    xfree(core->routes);
    xfree(core);
    return NULL;
}

int api_port(const struct api *api)
{
    return http_port(api->http);
}

int api_listen(struct api *api, int fd, struct err *e)
{
    return http_listen(api->http, fd, e);
}

int api_listen_at(struct api *api, const char *host, int port, struct err *e)
{
    return http_listen_at(api->http, host, port, e);
}

uint64_t api_requests(const struct api *api)
{
    return api->core->requests;
}

void api_stop(struct api *api)
{
    api->stopping = true;
}

static void check_api_drained(void *ctx)
{
    struct api_core *core = ctx;
    if (http_busy(core->api.http) > 0)
        loop_timer_set(core->api.loop, &core->drain, DRAIN_STEP_MS, check_api_drained, core);
    else
        core->drained(core->drained_ctx);
}

void api_drain(struct api *api, loop_fn done, void *ctx)
{
    struct api_core *core = api->core;
    api->stopping = api->drains = true;
    core->drained = done;
    core->drained_ctx = ctx;
    for (const struct api_group *const *group = api_groups; *group; group++)
        if ((*group)->drain)
            (*group)->drain(api);
    loop_timer_set(api->loop, &core->drain, 0, check_api_drained, core);
}
