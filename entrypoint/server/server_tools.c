/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/server/server_tools.h"

#include <string.h>

#include "base/alloc.h"
#include "entrypoint/identity/environment.h"
#include "entrypoint/installation.h"
#include "entrypoint/server/jsonfile.h"
#include "entrypoint/version.h"
#include "front/toolserver/toolserver.h"
#include "front/toolserver/toolsock.h"
#include "sandbox/proc/neighbour.h"
#include "session/queue/session_checkpoints.h"

enum { SETTINGS_MAX = 4 << 20 };

struct config_registration { /* of --mcp-servers */
    struct server_tools *owner;
    const char *name;
    struct toolplane_job *job;
};

struct server_tools {
    struct server_tools_config config;
    struct json *policy, *servers;
    struct approvals *approvals;
    struct tools *tools;
    struct toolplane *plane;
    struct config_registration *registrations;
    size_t n_registrations;
    char *packages_dir, *socket_path;
    const char *applications[2], *approvers[2]; /* one token each, or none; end with NULL */
    struct toolsock *socket;
    struct toolserver *toolserver;
    struct socket_holder neighbour; /* of the tool server: who was seen last */
};

static void log_registered_tools(enum log_level level, const char *text)
{
    log_write(level, "tools", "%s", text);
}

/* Whoever registers a server would hold its tokens, and with them the approver's seat. */
static const char *look_up_server_variable(const char *name)
{
    const char *own = NULL;
    for (size_t i = 0; (own = options_secret(i)); i++) {
        if (strcmp(name, own) == 0)
            return NULL;
    }
    return environment_lookup(name);
}

static bool can_elicit(void *ctx)
{
    struct server_tools *t = ctx;
    return approvals_can_elicit(t->approvals, SERVER_SESSION);
}

static bool know_kernel(void *ctx, const char *token, const char **ret_session)
{
    struct server_tools *t = ctx;
    const char *owner = "";
    bool known = tokens_know(t->config.tokens, token, &owner);
    *ret_session = *owner ? owner : SERVER_SESSION;
    return known;
}

static void on_revoked(void *ctx, const char *token)
{
    struct server_tools *t = ctx;
    if (t->socket)
        toolsock_revoke(t->socket, token);
    if (t->toolserver)
        toolserver_revoke(t->toolserver, token);
}

static const struct request_context *context_of_cell(void *ctx, const char *session)
{
    struct server_tools *t = ctx;
    struct sessions_view view;
    return sessions_find(t->config.sessions, session, &view) ? session_request_context(view.session)
                                                             : NULL;
}

static void note_made_call(void *ctx, const char *session, const char *server, const char *tool)
{
    struct server_tools *t = ctx;
    struct sessions_view view;
    if (sessions_find(t->config.sessions, session, &view))
        session_note_call(view.session, server, tool);
}

/* A human who thinks does not use up the time of the cell that waits for the answer. */
static void on_waiting(void *ctx, const char *session, bool waiting)
{
    struct server_tools *t = ctx;
    struct sessions_view view;
    if (sessions_find(t->config.sessions, session, &view))
        session_hold(view.session, waiting);
}

/* --- the servers that the operator gave ------------------------------------------------------ */

static void on_server_registered(void *ctx, char *const *modules, size_t n, const struct err *why)
{
    struct config_registration *registration = ctx;
    const char *report = toolplane_report(registration->owner->plane);
    (void)modules;
    registration->job = NULL;
    if (why)
        log_error("tools", "%s of --mcp-servers: %s", registration->name, why->msg);
    else
        log_info("tools", "mcptools.%s: %zu tools%s%s", registration->name, n, report ? ". " : "",
                 report ? report : "");
}

/* The list may stand in "mcpServers", as clients have it, or be the file itself. */
static const struct json *find_servers(const struct json *file)
{
    const struct json *inner = json_get(file, "mcpServers");
    return inner ? inner : file;
}

static int check_servers(const struct server_tools *t, struct err *e)
{
    const char *path = t->config.options->mcp_servers;
    const struct json *servers = find_servers(t->servers);
    if (!json_is_object(servers))
        return err_set(e, -EINVAL, "%s: an object of servers is needed", path);
    for (const struct json *item = json_first(servers); item; item = json_next(item)) {
        int r = tools_check_params(json_name(item), item, e);
        if (r < 0) {
            (void)err_wrap(e, "%s: %s", path, json_name(item));
            return r;
        }
    }
    return 0;
}

int server_tools_register(struct server_tools *t, struct err *e)
{
    if (!t->servers)
        return 0;
    const struct json *servers = find_servers(t->servers);
    t->registrations = xcalloc(json_count(servers) + 1, sizeof *t->registrations);
    for (const struct json *item = json_first(servers); item; item = json_next(item)) {
        struct config_registration *registration = &t->registrations[t->n_registrations++];
        *registration = (struct config_registration){.owner = t, .name = json_name(item)};
        int r = toolplane_register(t->plane, registration->name, item, on_server_registered,
                                   registration, &registration->job, e);
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- opening --------------------------------------------------------------------------------- */

static int read_servers_settings(struct server_tools *t, struct err *e)
{
    const struct options *o = t->config.options;
    int r = 0;
    if (o->tool_policy)
        r = jsonfile_read(o->tool_policy, SETTINGS_MAX, &t->policy, e);
    if (r == 0 && t->policy && approvals_check_policy(t->policy, e) < 0)
        r = err_wrap(e, "%s", o->tool_policy);
    if (r == 0 && o->mcp_servers)
        r = jsonfile_read(o->mcp_servers, SETTINGS_MAX, &t->servers, e);
    if (r == 0 && t->servers)
        r = check_servers(t, e);
    return r;
}

static int open_plane(struct server_tools *t, struct err *e)
{
    const struct server_tools_config *c = &t->config;
    struct approvals_config approvals = {.loop = c->loop,
                                         .timeout_ms = c->options->approval_timeout,
                                         .ask_by_default = c->options->approve_tool_calls,
                                         .ask_for =
                                             c->options->approve_shell_cmds ? TOOLPLANE_OWN : NULL,
                                         .policy = t->policy,
                                         .metrics = c->metrics,
                                         .audit = c->audit};
    int r = approvals_open(&approvals, &t->approvals, e);
    if (r < 0)
        return r;
    approvals_watch(t->approvals, on_waiting, t);
    struct tools_config tools = {.loop = c->loop,
                                 .spawner = c->spawner,
                                 .envp = c->envp,
                                 .sandbox = c->sandbox,
                                 .place = c->place,
                                 .workspace = c->workspace,
                                 .root = c->options->mcp_root,
                                 .version = IPYBOX_VERSION,
                                 .ca_file = c->options->ca,
                                 .connect_timeout_ms = c->options->connect_timeout,
                                 .lookup = look_up_server_variable,
                                 .log = log_registered_tools,
                                 .can_elicit = can_elicit,
                                 .ctx = t};
    r = tools_open(&tools, &t->tools, e);
    if (r < 0)
        return r;
    t->packages_dir = xasprintf("%s/mcptools", c->workspace);
    t->plane = toolplane_open(&(struct toolplane_config){.loop = c->loop,
                                                         .tools = t->tools,
                                                         .approvals = t->approvals,
                                                         .packages_dir = t->packages_dir,
                                                         .metrics = c->metrics,
                                                         .audit = c->audit,
                                                         .remembered = c->remembered,
                                                         .log = log_registered_tools,
                                                         .origin = context_of_cell,
                                                         .made = note_made_call,
                                                         .ctx = t});
    return 0;
}

int server_tools_open_socket(struct server_tools *t, struct err *e)
{
    t->socket_path = server_tools_socket(t->config.runtime_dir);
    struct toolsock_config socket = {.loop = t->config.loop,
                                     .path = t->socket_path,
                                     .toolplane = t->plane,
                                     .may_reset = SERVER_SESSION,
                                     .who = know_kernel,
                                     .ctx = t};
    return toolsock_open(&socket, &t->socket, e);
}

void server_tools_close_socket(struct server_tools *t)
{
    t->socket = toolsock_close(t->socket);
}

static bool is_open_to(void *ctx, int fd)
{
    struct server_tools *t = ctx;
    return neighbour_is_free(fd, &t->neighbour);
}

/* In a container nothing tells whose program is at the other end. */
static int check_open_port(const struct options *o, struct err *e)
{
    if (!o->tool_server_open)
        return 0;
    if (!installation_is_native())
        return err_set(e, -EPERM,
                       "--tool-server-open is for ipybox that was started natively: give "
                       "IPYBOX_TOOL_SERVER_TOKEN and IPYBOX_APPROVER_TOKEN");
    if (!options_is_loopback(o->tool_server_host))
        return err_set(e, -EPERM,
                       "--tool-server-open: the tool server runs programs for whoever reaches %s: "
                       "keep it on localhost, or give IPYBOX_TOOL_SERVER_TOKEN",
                       o->tool_server_host);
    return 0;
}

int server_tools_open_port(struct server_tools *t, struct err *e)
{
    const struct options *o = t->config.options;
    int r = check_open_port(o, e);
    if (r < 0)
        return r;
    if (!o->tool_server_token && !o->approver_token && !o->tool_server_open)
        log_warning("tools", "the tool server has no IPYBOX_TOOL_SERVER_TOKEN and no "
                             "IPYBOX_APPROVER_TOKEN: nobody but code in kernels can use it");
    t->applications[0] = o->tool_server_token;
    t->approvers[0] = o->approver_token;
    struct toolserver_config toolserver = {.loop = t->config.loop,
                                           .plane = t->plane,
                                           .approvals = t->approvals,
                                           .host = o->tool_server_host,
                                           .port = o->tool_server_port,
                                           .instance = t->config.instance,
                                           .applications = t->applications,
                                           .approvers = t->approvers,
                                           .application_session = SERVER_SESSION,
                                           .kernel_token = know_kernel,
                                           .open_to = o->tool_server_open ? is_open_to : NULL,
                                           .ctx = t,
                                           .audit = t->config.audit};
    return toolserver_open(&toolserver, &t->toolserver, e);
}

void server_tools_close_port(struct server_tools *t)
{
    t->toolserver = toolserver_close(t->toolserver);
}

int server_tools_open(const struct server_tools_config *config, struct server_tools **ret,
                      struct err *e)
{
    struct server_tools *t = NEW(struct server_tools);
    t->config = *config;
    config->tokens->revoked = on_revoked;
    config->tokens->ctx = t;
    int r = read_servers_settings(t, e);
    if (r == 0)
        r = open_plane(t, e);
    if (r < 0)
        (void)server_tools_close(t);
    else
        *ret = t;
    return r;
}

struct server_tools *server_tools_close(struct server_tools *t)
{
    if (!t)
        return NULL;
    t->config.tokens->revoked = NULL;
    t->plane = toolplane_close(t->plane);
    t->tools = tools_close(t->tools);
    t->approvals = approvals_close(t->approvals);
    (void)json_free(t->policy);
    (void)json_free(t->servers);
    xfree(t->registrations);
    xfree(t->packages_dir);
    xfree(t->socket_path);
    xfree(t);
    return NULL;
}

char *server_tools_socket(const char *runtime_dir)
{
    return xasprintf("%s/tools.sock", runtime_dir);
}

void server_tools_note_package(struct server_tools *tools, const char *package)
{
    tools_note_package(tools->tools, package);
}

struct toolplane *server_tools_plane(const struct server_tools *tools)
{
    return tools->plane;
}

struct approvals *server_tools_approvals(const struct server_tools *tools)
{
    return tools->approvals;
}
