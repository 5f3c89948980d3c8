/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp/mcp_about.h"

#include "base/alloc.h"
#include "session/packages/package_look.h"

enum { TEXT_MAX = 64 << 10 };

#define META "io.modelcontextprotocol/"

struct server_names {
    struct buf *out;
    size_t n;
};

/* What has tools is told with their number, what has none with its state. */
static void put_server_name(void *ctx, const struct tools_server *server)
{
    struct server_names *names = ctx;
    if (names->n++ >= ABOUT_SERVERS_MAX)
        return;
    (void)buf_addf(names->out, "%s%s", names->n > 1 ? ", " : "", server->name);
    if (server->n_tools == 0)
        (void)buf_addf(names->out, " (%s)", tools_state_name(server->state));
    else
        (void)buf_addf(names->out, " (%zu tool%s)", server->n_tools,
                       server->n_tools == 1 ? "" : "s");
}

void put_registered_servers(struct buf *out, const struct mcp *mcp)
{
    struct server_names names = {.out = out};
    struct tools_server server;
    size_t at = 0;
    const struct toolplane *plane = mcp->config->toolplane;
    while (plane && toolplane_next(plane, &at, &server))
        put_server_name(&names, &server);
    if (plane)
        toolplane_unready(plane, put_server_name, &names);
    if (names.n > ABOUT_SERVERS_MAX)
        (void)buf_addf(out, " and %zu more", names.n - ABOUT_SERVERS_MAX);
}

/* Where the code runs. */
static void put_about_place(struct buf *out, const struct mcp_config *config)
{
    (void)buf_addf(out,
                   "Runs Python code in a stateful IPython kernel %s. Variables persist between "
                   "calls of execute_ipython_cell until reset. Print what you want to see.",
                   !config->native     ? "inside a container"
                   : config->sandboxed ? "in a sandbox on the machine of the server"
                                       : "on the machine of the server, with the rights of its "
                                         "user and no container around it");
    if (config->sandboxed)
        (void)buf_adds(out, " A sandbox limits which files the code may read and write and which "
                            "hosts it may reach; what it refuses fails with a permission error or "
                            "without a connection.");
}

/* What stays, and what goes with a container. */
static void put_about_files(struct buf *out, const struct mcp_config *config)
{
    (void)buf_adds(out, " The current directory is the workspace: ");
    (void)buf_adds(out, config->native
                            ? "files and installed packages stay there."
                            : "files there outlive the container, if a folder of the host is "
                              "mounted. Everything else, installed packages included, ends with "
                              "it, unless a volume keeps them.");
}

void put_instructions(struct jsonw *w, const struct mcp *mcp)
{
    drop_buf struct buf text = BUF_INIT(TEXT_MAX);
    drop_buf struct buf servers = BUF_INIT(TEXT_MAX);
    put_about_place(&text, mcp->config);
    (void)buf_adds(&text, "\n\n");
    packages_put_about(&text, &mcp->config->packages);
    put_about_files(&text, mcp->config);
    (void)buf_adds(&text,
                   "\n\nTools of MCP servers are Python functions in the package mcptools. `import "
                   "mcptools; mcptools.search('words')` finds tools of all servers, a line each; "
                   "`help(mcptools.SERVER.TOOL)` shows one; `mcptools.SERVER.TOOL(argument=value)` "
                   "calls it; `mcptools.servers()` lists the servers. ");
    put_registered_servers(&servers, mcp);
    if (servers.len)
        (void)buf_addf(&text, "Registered: %s.", buf_text(&servers));
    else
        (void)buf_adds(&text, "register_mcp_server adds one; none is registered yet.");
    jsonw_set_text(w, "instructions", buf_text(&text));
}

/* --- changes ---------------------------------------------------------------------------------- */

/* call: the open request of subscriptions/listen that it belongs to; NULL: none. */
static void send_change(struct mcp *mcp, const struct mcp_call *call)
{
    drop_buf struct buf out = BUF_INIT(TEXT_MAX);
    struct jsonw w = JSONW(&out);
    rpc_notification_begin(&w, "notifications/tools/list_changed");
    if (call) {
        jsonw_set_object(&w, "_meta");
        jsonw_set_raw(&w, META "subscriptionId", call->id);
        jsonw_end(&w);
    }
    rpc_end(&w);
    mcp_send(mcp, call, &out);
}

static void on_servers_changed(void *ctx)
{
    struct mcp *mcp = ctx;
    if (mcp->initialized)
        send_change(mcp, NULL);
    for (const struct mcp_call *call = mcp->calls; call; call = call->next)
        if (call->listening && call->hears_tools)
            send_change(mcp, call);
}

void about_open(struct mcp *mcp)
{
    mcp->servers = (struct toolplane_listener){.changed = on_servers_changed, .ctx = mcp};
    if (mcp->config->toolplane)
        toolplane_listen(mcp->config->toolplane, &mcp->servers);
}

void about_close(struct mcp *mcp)
{
    if (mcp->config->toolplane)
        toolplane_unlisten(mcp->config->toolplane, &mcp->servers);
}

void about_listen(struct mcp_call *call, const struct json *params)
{
    drop_buf struct buf out = BUF_INIT(TEXT_MAX);
    struct jsonw w = JSONW(&out);
    call->listening = true;
    call->hears_tools = json_true(json_get(json_get(params, "notifications"), "toolsListChanged"));
    rpc_notification_begin(&w, "notifications/subscriptions/acknowledged");
    jsonw_set_object(&w, "_meta");
    jsonw_set_raw(&w, META "subscriptionId", call->id);
    jsonw_end(&w);
    jsonw_set_object(&w, "notifications");
    if (call->hears_tools)
        jsonw_set_bool(&w, "toolsListChanged", true);
    jsonw_end(&w);
    rpc_end(&w);
    mcp_send(call->mcp, call, &out);
}
