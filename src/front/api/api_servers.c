/* SPDX-License-Identifier: Apache-2.0
 *
 * /v1/mcp-servers and /v1/tools: the MCP servers whose tools code may call, and finding one. */
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "front/api.h"
#include "front/api/api_bodies.h"
#include "front/api/api_internal.h"
#include "front/api/api_json.h"

enum { TOOLS_FOUND = 10 };

struct api_registration { /* a request that waits for its server */
    struct api_registration *prev, *next;
    struct api_servers *owner;
    struct toolplane_job *job;
    struct http_request *r;
    char *name;
};

struct api_servers {
    struct api *api;
    struct api_registration *registrations;
};

/* --- registering ------------------------------------------------------------------------------ */

static void free_registration(struct api_registration *g)
{
    list_remove(&g->owner->registrations, g);
    xfree(g->name);
    xfree(g);
}

/* How a program is started; of others there is nothing to say. */
static void put_launch(struct jsonw *w, const struct tools_server *server)
{
    if (!server->note)
        return;
    jsonw_set_bool(w, "uses_cells", !server->secret);
    jsonw_set_text(w, "program", server->program);
    jsonw_set_text(w, "cwd", server->cwd);
    jsonw_set_text(w, "note", server->note);
}

static void on_api_registered(void *ctx, char *const *modules, size_t n, const struct err *why)
{
    struct api_registration *g = ctx;
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    jsonw_object(&w);
    jsonw_set_text(&w, "name", g->name);
    jsonw_set_array(&w, "modules");
    for (size_t i = 0; i < n; i++)
        jsonw_text(&w, modules[i]);
    jsonw_end(&w);
    struct tools_server server;
    if (!why && toolplane_find(g->owner->api->config->toolplane, g->name, &server))
        put_launch(&w, &server);
    const char *report = toolplane_report(g->owner->api->config->toolplane);
    if (report)
        jsonw_set_text(&w, "package", report);
    jsonw_end(&w);
    if (why)
        http_problem(g->r, 502, NULL, 0, "%s", why->msg);
    else
        http_answer_json(g->r, 201, &body);
    free_registration(g);
}

static void on_registering_client_gone(void *ctx)
{
    struct api_registration *g = ctx;
    toolplane_job_cancel(g->job);
    free_registration(g);
}

static int start_registration(struct api *api, struct http_request *r, const struct json *body,
                              struct err *e)
{
    static const struct http_events events = {.gone = on_registering_client_gone};
    const char *name = NULL;
    const struct json *params = NULL;
    bool generate;
    int failed = body_server(body, &name, &params, &generate, e);
    if (failed < 0)
        return failed;
    struct api_registration *g = NEW(struct api_registration);
    failed =
        toolplane_register(api->config->toolplane, name, params, on_api_registered, g, &g->job, e);
    if (failed < 0) {
        xfree(g);
        return failed;
    }
    if (!generate)
        toolplane_job_alone(g->job);
    g->owner = api->servers;
    g->r = r;
    g->name = xstrdup(name);
    list_push(&api->servers->registrations, g);
    http_watch(r, &events, g);
    return 0;
}

static void servers_post(void *ctx, struct http_request *r)
{
    struct err e = ERR_NONE;
    drop_json struct json *body = NULL;
    if (api_body(r, body_server_known, &body) && start_registration(ctx, r, body, &e) < 0)
        api_fail(r, &e);
}

/* --- what their tools say while they work ----------------------------------------------------- */

static void on_registration_progress(void *ctx, const struct toolplane_progress *p)
{
    const struct api_servers *all = ctx;
    drop_buf struct buf data = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&data);
    jsonw_object(&w);
    jsonw_set_int(&w, "call", (int64_t)p->call);
    jsonw_set_text(&w, "server", p->server);
    jsonw_set_text(&w, "tool", p->tool);
    jsonw_name(&w, "progress");
    jsonw_double(&w, p->progress);
    if (p->total >= 0) {
        jsonw_name(&w, "total");
        jsonw_double(&w, p->total);
    }
    if (*p->message)
        jsonw_set_text(&w, "message", p->message);
    jsonw_end(&w);
    api_record(all->api, p->session, LOGGED_PROGRESS, &data);
}

/* --- looking ---------------------------------------------------------------------------------- */

static void put_tool_schema(struct jsonw *w, const struct tools_tool *tool)
{
    drop_str char *input = tool->input ? json_print(tool->input) : NULL;
    drop_str char *output = tool->output ? json_print(tool->output) : NULL;
    jsonw_set_text(w, "name", tool->name);
    jsonw_set_text(w, "description", tool->description);
    jsonw_set_text(w, "digest", tool->digest);
    if (input)
        jsonw_set_raw(w, "inputSchema", input);
    if (output)
        jsonw_set_raw(w, "outputSchema", output);
}

/* Without the parameters: there may be secrets among them. */
static void put_server(struct jsonw *w, const struct tools_server *server, bool tools)
{
    jsonw_object(w);
    jsonw_set_text(w, "name", server->name);
    jsonw_set_text(w, "shown", server->shown);
    jsonw_set_text(w, "state", tools_state_name(server->state));
    if (server->why)
        jsonw_set_text(w, "error", server->why);
    jsonw_set_int(w, "tool_count", (int64_t)server->n_tools);
    put_launch(w, server);
    if (tools)
        jsonw_set_array(w, "tools");
    for (size_t i = 0; tools && i < server->n_tools; i++) {
        jsonw_object(w);
        put_tool_schema(w, &server->tools[i]);
        jsonw_end(w);
    }
    if (tools)
        jsonw_end(w);
    jsonw_end(w);
}

static void put_unready(void *ctx, const struct tools_server *server)
{
    put_server(ctx, server, false);
}

static void servers_get(void *ctx, struct http_request *r)
{
    struct api *api = ctx;
    struct tools_server server;
    size_t at = 0;
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    jsonw_object(&w);
    jsonw_set_array(&w, "servers");
    while (toolplane_next(api->config->toolplane, &at, &server))
        put_server(&w, &server, false);
    toolplane_unready(api->config->toolplane, put_unready, &w);
    jsonw_end(&w);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

static bool find_api_server(const struct api *api, struct http_request *r, struct tools_server *ret)
{
    const char *name = http_param(r, "name");
    size_t at = 0;
    while (toolplane_next(api->config->toolplane, &at, ret))
        if (strcmp(ret->name, name) == 0)
            return true;
    http_problem(r, 404, NULL, 0, "there is no MCP server %.80s", name);
    return false;
}

static void server_get(void *ctx, struct http_request *r)
{
    struct tools_server server;
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    if (!find_api_server(ctx, r, &server))
        return;
    put_server(&w, &server, true);
    http_answer_json(r, 200, &body);
}

/* --- finding a tool --------------------------------------------------------------------------- */

static void put_hit(void *ctx, const struct catalog_hit *hit)
{
    struct jsonw *w = ctx;
    jsonw_object(w);
    jsonw_set_text(w, "server", hit->server);
    jsonw_set_text(w, "name", hit->tool->name);
    jsonw_set_text(w, "module", hit->module);
    jsonw_set_text(w, "line", hit->line);
    jsonw_end(w);
}

static void tools_get(void *ctx, struct http_request *r)
{
    const struct api *api = ctx;
    const char *words = http_query(r, "search");
    size_t limit = TOOLS_FOUND;
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    if (!api_limit(r, CATALOG_LIMIT_MAX, &limit))
        return;
    jsonw_object(&w);
    jsonw_set_array(&w, "tools");
    toolplane_search(api->config->toolplane, http_query(r, "server"), words ? words : "", limit,
                     put_hit, &w);
    jsonw_end(&w);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

static void tool_get(void *ctx, struct http_request *r)
{
    struct tools_server server;
    const char *name = http_param(r, "tool");
    drop_buf struct buf body = BUF_INIT(API_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    if (!find_api_server(ctx, r, &server))
        return;
    size_t i = 0;
    while (i < server.n_tools && strcmp(server.tools[i].name, name) != 0)
        i++;
    if (i == server.n_tools) {
        http_problem(r, 404, NULL, 0, "the MCP server %s has no tool %.80s", server.name, name);
        return;
    }
    jsonw_object(&w);
    put_tool_schema(&w, &server.tools[i]);
    jsonw_end(&w);
    http_answer_json(r, 200, &body);
}

static void server_delete(void *ctx, struct http_request *r)
{
    struct api *api = ctx;
    const char *name = http_param(r, "name");
    if (!toolplane_remove(api->config->toolplane, name)) {
        http_problem(r, 404, NULL, 0, "there is no MCP server %.80s", name);
        return;
    }
    http_answer(r, 204, NULL, 0, NULL, 0);
}

static const struct http_route routes[] = {
    {"POST", "/v1/mcp-servers", HTTP_COLLECT, 1 << 20, API_TYPE, API_ADMIN, servers_post},
    {"GET", "/v1/mcp-servers", HTTP_NO_BODY, 0, NULL, API_EXECUTE, servers_get},
    {"GET", "/v1/mcp-servers/{name}", HTTP_NO_BODY, 0, NULL, API_EXECUTE, server_get},
    {"GET", "/v1/mcp-servers/{name}/tools/{tool}", HTTP_NO_BODY, 0, NULL, API_EXECUTE, tool_get},
    {"GET", "/v1/tools", HTTP_NO_BODY, 0, NULL, API_EXECUTE, tools_get},
    {"DELETE", "/v1/mcp-servers/{name}", HTTP_NO_BODY, 0, NULL, API_ADMIN, server_delete},
};

/* --- opening and closing ---------------------------------------------------------------------- */

static int open_servers_group(struct api *api, struct err *e)
{
    (void)e;
    struct api_servers *all = NEW(struct api_servers);
    all->api = api;
    if (api->config->toolplane)
        toolplane_watch(api->config->toolplane, on_registration_progress, all);
    api->servers = all;
    return 0;
}

static void close_servers_group(struct api *api)
{
    struct api_servers *all = api->servers;
    if (!all)
        return;
    while (all->registrations)
        on_registering_client_gone(all->registrations);
    if (api->config->toolplane)
        toolplane_watch(api->config->toolplane, NULL, NULL);
    xfree(all);
    api->servers = NULL;
}

const struct api_group api_servers_group = {.routes = routes,
                                            .n = sizeof routes / sizeof *routes,
                                            .open = open_servers_group,
                                            .close = close_servers_group};
