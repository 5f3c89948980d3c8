/* SPDX-License-Identifier: Apache-2.0
 *
 * The doors of the server: each has what the options say handed to its own folder in src/front/. A
 * door that comes is a section here and a line in server_doors (CONTRIBUTING.md, "add a door"). */
#include "entrypoint/server/server_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "entrypoint/identity/apisocket.h"
#include "entrypoint/installation.h"
#include "entrypoint/server/jsonfile.h"
#include "entrypoint/started.h"
#include "entrypoint/version.h"
#include "wire/token/jwks.h"

enum {
    GATEWAY_IDLE_S = 600, /* without a connection and a kernel, then the gateway is stopped */
    GATEWAY_IDLE_MAX_S = 86400,
};

/* --- tools: for code in kernels, and for applications and approvers ------------------------- */

static int open_tool_socket(void *ctx, struct err *e)
{
    struct server *s = ctx;
    return server_tools_open_socket(s->tools, e);
}

static void close_tool_socket(void *ctx)
{
    struct server *s = ctx;
    server_tools_close_socket(s->tools);
}

static const struct door tool_socket_door = {
    .name = "the tool socket", .open = open_tool_socket, .close = close_tool_socket};

static int open_tool_server(void *ctx, struct err *e)
{
    struct server *s = ctx;
    if (s->options->tool_server_port == 0)
        return DOOR_UNUSED;
    return server_tools_open_port(s->tools, e);
}

static void close_tool_server(void *ctx)
{
    struct server *s = ctx;
    server_tools_close_port(s->tools);
}

static const struct door tool_server_door = {
    .name = "the tool server", .open = open_tool_server, .close = close_tool_server};

/* No way in: it has its place between the doors of the tools and those of clients. */
static int register_servers(void *ctx, struct err *e)
{
    struct server *s = ctx;
    return server_tools_register(s->tools, e);
}

static const struct door mcp_servers_step = {.name = "the servers of --mcp-servers",
                                             .open = register_servers};

/* --- the kernel gateway --------------------------------------------------------------------- */

static void log_gateway(enum log_level level, const char *text)
{
    log_write(level, "gateway", "%s", text);
}

static int64_t gateway_idle_ms(void)
{
    const char *text = getenv("IPYBOX_GATEWAY_IDLE");
    char *end = NULL;
    unsigned long seconds = text ? strtoul(text, &end, 10) : 0;
    bool usable = text && *text && *end == '\0' && seconds > 0 && seconds <= GATEWAY_IDLE_MAX_S;
    return 1000 * (usable ? (int64_t)seconds : GATEWAY_IDLE_S);
}

/* Kernels that it was asked for keep it running. */
static bool is_gateway_busy(void *ctx)
{
    struct server *s = ctx;
    return kernels_running(s->kernels) > 0;
}

static void on_gateway_idle(void *ctx)
{
    struct server *s = ctx;
    if (!s->gateway)
        return;
    log_info("gateway", "unused: the kernel gateway stops until the next connection");
    s->gateway = gateway_stop(s->gateway);
}

static void on_gateway_ended(void *ctx)
{
    struct server *s = ctx;
    s->gateway = NULL;
    kernels_sweep(s->kernels);
    relay_gateway_ended(s->relay);
}

static void on_gateway_wanted(void *ctx)
{
    struct server *s = ctx;
    struct err e = ERR_NONE;
    if (s->gateway || gateway_start(&s->gateway_config, &s->gateway, &e) == 0)
        return;
    log_warning("gateway", "the kernel gateway cannot be started: %s", e.msg);
    relay_gateway_ended(s->relay);
}

static int connect_gateway(void *ctx)
{
    struct server *s = ctx;
    return s->gateway ? gateway_connect(s->gateway) : -1;
}

static void on_gateway_asks(void *ctx, int fd)
{
    struct server *s = ctx;
    supervise_add(s->supervise, fd);
}

static void on_kernel_changed(void *ctx, const char *id)
{
    struct server *s = ctx;
    supervise_changed(s->supervise, id);
}

static int check_gateway_token(const struct options *o, struct err *e)
{
    if (!o->kernel_gateway_token && !options_is_loopback(o->kernel_gateway_host))
        return err_set(e, -EPERM,
                       "the kernel gateway runs code for everyone who reaches %s: give "
                       "IPYBOX_KERNEL_GATEWAY_TOKEN (or …_FILE), or keep it on localhost",
                       o->kernel_gateway_host);
    return 0;
}

static struct gateway_config gateway_config(struct server *s)
{
    return (struct gateway_config){
        .loop = s->loop,
        .spawner = s->spawner,
        .python = s->python,
        .envp = (const char *const *)s->env.outside[ENVIRONMENT_GATEWAY],
        .cwd = s->workspace,
        .channels = s->channels,
        .asks = on_gateway_asks,
        .log = log_gateway,
        .gate = &s->gateway_lines,
        .ended = on_gateway_ended,
        .ctx = s,
    };
}

/* The gateway and agent-sandbox have one port between them. */
static bool shares_port(const struct options *o)
{
    return o->agent_sandbox && o->kernel_gateway_port != 0 &&
           o->agent_sandbox_port == o->kernel_gateway_port;
}

static void on_not_gateways(void *ctx, int fd, const struct sockaddr *from, socklen_t n)
{
    struct server *s = ctx;
    if (s->agentsandbox)
        agentsandbox_take(s->agentsandbox, fd, from, n);
    else
        (void)fd_close(fd);
}

/* What the gateway, which has the variable from the environment, puts before its paths. */
static const char *gateway_base(void)
{
    const char *base = getenv("KG_BASE_URL");
    return base ? base : "";
}

static struct relay_config gateway_relay(struct server *s)
{
    const struct options *o = s->options;
    return (struct relay_config){
        .loop = s->loop,
        .host = o->kernel_gateway_host,
        .port = o->kernel_gateway_port,
        .ahead = &s->ahead,
        .connect = connect_gateway,
        .wanted = on_gateway_wanted,
        .busy = is_gateway_busy,
        .idle = on_gateway_idle,
        .idle_ms = gateway_idle_ms(),
        .instance = s->instance,
        .other = shares_port(o) ? on_not_gateways : NULL,
        .base = gateway_base(),
        .ctx = s,
    };
}

static void close_gateway(void *ctx)
{
    struct server *s = ctx;
    s->relay = relay_close(s->relay);
    s->gateway = gateway_stop(s->gateway);
    supervise_set_kernels(s->supervise, NULL);
    s->kernels = kernels_close(s->kernels);
    s->supervise = supervise_close(s->supervise);
}

static int open_gateway(void *ctx, struct err *e)
{
    struct server *s = ctx;
    const struct options *o = s->options;
    if (o->kernel_gateway_port == 0)
        return DOOR_UNUSED;
    int r = check_gateway_token(o, e);
    if (r < 0)
        return r;
    environment_warn_of_gateway();
    if (!o->kernel_gateway_token)
        log_warning("gateway",
                    "no IPYBOX_KERNEL_GATEWAY_TOKEN: only this machine, or container, can connect, "
                    "and whoever does may run code");
    s->supervise = supervise_open(s->loop);
    s->kernels = kernels_open(&(struct kernels_config){.session_config = &s->session_config,
                                                       .session = s->session,
                                                       .changed = on_kernel_changed,
                                                       .ctx = s});
    supervise_set_kernels(s->supervise, s->kernels);
    s->gateway_config = gateway_config(s);
    const struct relay_config relay = gateway_relay(s);
    r = relay_open(&relay, &s->relay, e);
    if (r < 0)
        close_gateway(s);
    else
        log_info("gateway", "the kernel gateway is at http://%s:%d", o->kernel_gateway_host,
                 o->kernel_gateway_port);
    return r;
}

static const struct door gateway_door = {
    .name = "the kernel gateway", .open = open_gateway, .close = close_gateway};

/* --- the sessions --------------------------------------------------------------------------- */

/* No way in, but what is behind the doors. When they stop, the HTTP API has taken the last cell;
 * the client of stdio can be asked what an ending session asks, and is let go after it. */
static void stop_sessions(void *ctx)
{
    struct server *s = ctx;
    if (!s->sessions_closed)
        sessions_stop(s->sessions, s->grace_ms, server_sessions_closed, s);
}

static const struct door sessions_step = {.name = "the sessions", .stop = stop_sessions};

/* --- MCP over HTTP: /mcp of the HTTP API ---------------------------------------------------- */

static struct mcp_config mcp_config(const struct server *s)
{
    return (struct mcp_config){
        .loop = s->loop,
        .packages = s->packages,
        .toolplane = server_tools_plane(s->tools),
        .approvals = server_tools_approvals(s->tools),
        .version = IPYBOX_VERSION,
        .search_tool = s->options->search_tool,
        .rewinds = s->options->checkpoints > 0,
        .forks = s->options->fork_tool,
        .sessions = s->sessions,
        .native = installation_is_native(),
        .sandboxed = s->options->sandbox,
    };
}

static int open_mcp_http(void *ctx, struct err *e)
{
    (void)e;
    struct server *s = ctx;
    struct mcp_http_config config = {.mcp = mcp_config(s), .sessions = s->sessions};
    s->mcp_http = mcp_http_open(&config);
    return 0;
}

static void stop_mcp_http(void *ctx)
{
    struct server *s = ctx;
    mcp_http_stop(s->mcp_http);
}

static void close_mcp_http(void *ctx)
{
    struct server *s = ctx;
    s->mcp_http = mcp_http_close(s->mcp_http);
}

/* Its requests are the HTTP API's, and end with those. */
static const struct door mcp_http_door = {
    .name = "MCP over HTTP", .open = open_mcp_http, .stop = stop_mcp_http, .close = close_mcp_http};

/* --- E2B's wire: on the HTTP API's port, and on ports of its own ------------------------------ */

static int open_e2b(void *ctx, struct err *e)
{
    struct server *s = ctx;
    const struct options *o = s->options;
    (void)e;
    if (!o->e2b)
        return DOOR_UNUSED;
    s->e2b = e2b_open(&(struct e2b_config){.loop = s->loop,
                                           .sessions = s->sessions,
                                           .workspace = s->workspace,
                                           .key = o->token,
                                           .audit = s->audit,
                                           .envd_port = o->e2b_envd_port,
                                           .code_port = o->e2b_code_port});
    return 0;
}

static void stop_e2b(void *ctx)
{
    struct server *s = ctx;
    e2b_stop(s->e2b);
}

static const struct door e2b_door;

static void drain_e2b(void *ctx)
{
    struct server *s = ctx;
    e2b_drain(s->e2b);
    doors_ended(s->doors, &e2b_door);
}

static void close_e2b(void *ctx)
{
    struct server *s = ctx;
    s->e2b = e2b_close(s->e2b);
}

/* Its requests are the HTTP API's, and end with those. */
static const struct door e2b_door = {.name = "E2B's wire",
                                     .open = open_e2b,
                                     .stop = stop_e2b,
                                     .drain = drain_e2b,
                                     .close = close_e2b};

static int open_e2b_ports(void *ctx, struct err *e)
{
    struct server *s = ctx;
    const int ports[] = {s->options->e2b_envd_port, s->options->e2b_code_port};
    for (size_t i = 0; s->e2b && i < 2; i++) {
        int r = ports[i] == 0 ? 0 : api_listen_at(s->api, s->http_host, ports[i], e);
        if (r < 0)
            return err_wrap(e, "--e2b");
    }
    return 0;
}

/* They are the HTTP API's, which closes them. */
static const struct door e2b_ports_step = {.name = "E2B's ports", .open = open_e2b_ports};

/* --- LibreChat's wire: on the HTTP API's port ------------------------------------------------- */

static int open_librechat(void *ctx, struct err *e)
{
    struct server *s = ctx;
    const struct options *o = s->options;
    drop_buf struct buf keys = BUF_INIT(0);
    if (!o->librechat)
        return DOOR_UNUSED;
    struct librechat_config config = {.loop = s->loop,
                                      .sessions = s->sessions,
                                      .workspace = s->workspace,
                                      .key = o->token,
                                      .jwt_issuer = o->librechat_jwt_issuer,
                                      .jwt_audience = o->librechat_jwt_audience,
                                      .audit = s->audit,
                                      .toolplane = server_tools_plane(s->tools)};
    int r =
        o->librechat_jwt_keys ? jsonfile_text(o->librechat_jwt_keys, JWKS_BYTES_MAX, &keys, e) : 0;
    if (r < 0)
        return err_wrap(e, "--librechat-jwt-keys");
    if (o->librechat_jwt_keys)
        config.jwt_keys = buf_text(&keys);
    return librechat_open(&config, &s->librechat, e);
}

static void stop_librechat(void *ctx)
{
    struct server *s = ctx;
    librechat_stop(s->librechat);
}

static void close_librechat(void *ctx)
{
    struct server *s = ctx;
    s->librechat = librechat_close(s->librechat);
}

/* Its requests are the HTTP API's, and end with those. */
static const struct door librechat_door = {.name = "LibreChat's wire",
                                           .open = open_librechat,
                                           .stop = stop_librechat,
                                           .close = close_librechat};

/* --- the HTTP API --------------------------------------------------------------------------- */

static int choose_address(struct server *s, int *ret_port, struct err *e)
{
    const struct options *o = s->options;
    bool guarded = o->token || o->execute_token;
    if (!started_http_address(o, s->http_host, ret_port))
        return err_set(e, -EINVAL, "--http: not an address: %s", o->http);
    if (!guarded && !options_is_loopback(s->http_host))
        return err_set(e, -EPERM,
                       "the HTTP API runs code for everyone who reaches %s: give IPYBOX_TOKEN or "
                       "IPYBOX_EXECUTE_TOKEN (or …_FILE), or keep it on localhost",
                       s->http_host);
    if (!guarded)
        log_warning("http", "no IPYBOX_TOKEN: only this machine, or container, can connect, and "
                            "whoever does may run code. With a token all addresses are served");
    return 0;
}

static struct api_config api_config(struct server *s, int port)
{
    const struct options *o = s->options;
    return (struct api_config){
        .loop = s->loop,
        .host = o->http ? s->http_host : NULL,
        .port = port,
        .ahead = &s->ahead,
        .workspace = s->workspace,
        .version = IPYBOX_VERSION,
        .console = installation_console(),
        .instance = s->instance,
        /* Where every name is right, a list would refuse the others. */
        .hosts = options_is_loopback(s->http_host) ? s->public_url.hosts : NULL,
        .origins = s->public_url.origins,
        .admin_token = o->token,
        .execute_token = o->execute_token,
        .approver_token = o->approver_token,
        .sessions = s->sessions,
        .toolplane = server_tools_plane(s->tools),
        .approvals = server_tools_approvals(s->tools),
        .metrics = &s->metrics,
        .audit = s->audit,
        .packages = &s->packages,
        .mcp = s->mcp_http,
        .e2b = s->e2b,
        .librechat = s->librechat,
        .sandbox_level = s->sandbox.level,
        .sandbox_detail = s->sandbox.detail,
        .sandboxed = o->sandbox,
        .uid = getuid(),
        .kernel_uid = geteuid(),
        .alone = o->serve,
    };
}

static int open_api(void *ctx, struct err *e)
{
    struct server *s = ctx;
    const struct options *o = s->options;
    int port = 0;
    int r = o->http ? choose_address(s, &port, e) : 0;
    if (r < 0)
        return r;
    struct api_config config = api_config(s, port);
    r = api_open(&config, &s->api, e);
    if (r == 0 && o->http)
        log_info("http", "the HTTP API is at http://%s:%d", s->http_host, api_port(s->api));
    return r;
}

static void stop_api(void *ctx)
{
    struct server *s = ctx;
    api_stop(s->api);
}

static const struct door api_door;

static void on_api_drained(void *ctx)
{
    struct server *s = ctx;
    doors_ended(s->doors, &api_door);
}

static void drain_api(void *ctx)
{
    struct server *s = ctx;
    api_drain(s->api, on_api_drained, s);
}

static void close_api(void *ctx)
{
    struct server *s = ctx;
    s->api = api_close(s->api);
}

static const struct door api_door = {.name = "the HTTP API",
                                     .open = open_api,
                                     .stop = stop_api,
                                     .drain = drain_api,
                                     .close = close_api};

/* --- the contracts of agent-sandbox ----------------------------------------------------------- */

/* Without a token only for this machine, unless it is said that the network is trusted. A port that
 * is the gateway's, too, has the gateway's address. */
static int choose_agentsandbox_host(struct server *s, struct err *e)
{
    const struct options *o = s->options;
    char *host = s->agentsandbox_host;
    int port;
    bool asks = !o->agent_sandbox_open && (o->token || o->execute_token);
    if (shares_port(o))
        (void)snprintf(host, sizeof s->agentsandbox_host, "%s", o->kernel_gateway_host);
    else if (!o->http || !options_address(o->http, host, &port) || !*host)
        (void)snprintf(host, sizeof s->agentsandbox_host, "%s",
                       asks || o->agent_sandbox_open ? "0.0.0.0" : "localhost");
    if (!asks && !o->agent_sandbox_open && !options_is_loopback(host))
        return err_set(
            e, -EPERM,
            "--agent-sandbox runs code for everyone who reaches %s: give IPYBOX_TOKEN or "
            "IPYBOX_EXECUTE_TOKEN (or …_FILE), keep it on localhost, or say with "
            "--agent-sandbox-open that the network decides",
            host);
    if (!asks && o->approve_shell_cmds)
        return err_set(e, -EPERM,
                       "--agent-sandbox without a token: code in a cell would start programs there "
                       "that --approve-shell-cmds is to ask about; give IPYBOX_TOKEN");
    return 0;
}

static int open_agentsandbox(void *ctx, struct err *e)
{
    struct server *s = ctx;
    const struct options *o = s->options;
    const char *host = s->agentsandbox_host;
    if (!o->agent_sandbox)
        return DOOR_UNUSED;
    int port = o->agent_sandbox_port ? o->agent_sandbox_port : o->agent_sandbox_rest_port;
    int r = choose_agentsandbox_host(s, e);
    if (r < 0)
        return r;
    if (o->agent_sandbox_open)
        log_warning("agent-sandbox", "--agent-sandbox-open: whoever reaches %s:%d may run code",
                    host, port ? port : o->agent_sandbox_grpc_port);
    const struct agentsandbox_config config = {.loop = s->loop,
                                               .sessions = s->sessions,
                                               .workspace = s->workspace,
                                               .host = host,
                                               .port = port,
                                               .given = shares_port(o),
                                               .rest_port = o->agent_sandbox_rest_port,
                                               .grpc_port = o->agent_sandbox_grpc_port,
                                               .ahead = &s->ahead,
                                               .token = o->token,
                                               .execute_token = o->execute_token,
                                               .instance = s->instance,
                                               .open = o->agent_sandbox_open,
                                               .audit = s->audit};
    r = agentsandbox_open(&config, &s->agentsandbox, e);
    if (r == 0 && port != 0)
        log_info("agent-sandbox", "agent-sandbox's contracts are at http://%s:%d", host, port);
    if (r == 0 && o->agent_sandbox_grpc_port != 0)
        log_info("agent-sandbox", "its commands by gRPC are at %s:%d", host,
                 o->agent_sandbox_grpc_port);
    return r;
}

static void stop_agentsandbox(void *ctx)
{
    struct server *s = ctx;
    agentsandbox_stop(s->agentsandbox);
}

static const struct door agentsandbox_door;

static void on_agentsandbox_drained(void *ctx)
{
    struct server *s = ctx;
    doors_ended(s->doors, &agentsandbox_door);
}

static void drain_agentsandbox(void *ctx)
{
    struct server *s = ctx;
    agentsandbox_drain(s->agentsandbox, on_agentsandbox_drained, s);
}

static void close_agentsandbox(void *ctx)
{
    struct server *s = ctx;
    s->agentsandbox = agentsandbox_close(s->agentsandbox);
}

static const struct door agentsandbox_door = {.name = "agent-sandbox",
                                              .open = open_agentsandbox,
                                              .stop = stop_agentsandbox,
                                              .drain = drain_agentsandbox,
                                              .close = close_agentsandbox};

/* --- the socket of the command line: the HTTP API for `docker exec` ------------------------- */

static int open_cli_socket(void *ctx, struct err *e)
{
    struct server *s = ctx;
    int fd = -1, r = apisocket_open(s->runtime_dir, s->api_socket, &fd, e);
    s->api_socket = -1;
    if (r == 0)
        r = api_listen(s->api, fd, e);
    return r;
}

static void close_cli_socket(void *ctx)
{
    struct server *s = ctx;
    apisocket_remove(s->runtime_dir);
}

/* Its requests are the HTTP API's, and end with those. */
static const struct door cli_socket_door = {
    .name = "the socket of the command line", .open = open_cli_socket, .close = close_cli_socket};

/* --- standard input and output -------------------------------------------------------------- */

/* What goes on without an MCP client; NULL: nothing. */
static const char *other_service(const struct server *s)
{
    const struct options *o = s->options;
    if (o->http)
        return "HTTP";
    if (s->relay)
        return "the kernel gateway";
    if (o->tool_server_port != 0 && o->tool_server_token)
        return "the tool server";
    return NULL;
}

/* Who holds the other end of a pipe has started us for itself, also when it dies before its first
 * word: then nobody knows of us. */
static void on_input_ended(void *ctx, enum stdio_client had)
{
    struct server *s = ctx;
    const char *other = other_service(s);
    if (had == STDIO_NOBODY && other) {
        log_info("server", "standard input is at its end; serving %s alone", other);
        return;
    }
    if (had == STDIO_SILENT && other)
        log_info("server",
                 "the client is gone before its first word; stopping. To serve %s alone, start "
                 "without an input: </dev/null, docker run without -i, or `ipybox serve`",
                 other);
    else if (had != STDIO_HEARD)
        log_warning("server", "standard input is at its end: nothing to serve. In a container: "
                              "docker run -i …");
    server_stop(s, server_grace_ms(s));
}

static const struct door stdio_door;

static void on_stdio_ended(void *ctx)
{
    struct server *s = ctx;
    if (!s->stopping) {
        log_info("server", "the client is gone; stopping");
        server_stop(s, 0);
    }
    doors_ended(s->doors, &stdio_door);
}

static int open_stdio(void *ctx, struct err *e)
{
    struct server *s = ctx;
    static const struct stdio_events events = {.input_ended = on_input_ended,
                                               .ended = on_stdio_ended};
    if (s->options->serve)
        return DOOR_UNUSED;
    s->mcp_config = mcp_config(s);
    s->mcp_config.session = s->session;
    s->mcp_config.session_id = SERVER_SESSION;
    return stdio_open(&s->mcp_config, &events, s, &s->stdio, e);
}

static void stop_stdio(void *ctx)
{
    struct server *s = ctx;
    stdio_stop(s->stdio);
}

/* Its end follows its stop: the answers to what was open are written then. */
static void drain_stdio(void *ctx)
{
    (void)ctx;
}

static void close_stdio(void *ctx)
{
    struct server *s = ctx;
    s->stdio = stdio_free(s->stdio);
}

static const struct door stdio_door = {.name = "standard input and output",
                                       .open = open_stdio,
                                       .stop = stop_stdio,
                                       .drain = drain_stdio,
                                       .close = close_stdio};

/* --- ports without a token, from outside the container --------------------------------------- */

/* No way in: who has published such a port is told why nobody is served there. */
static int open_closed_ports(void *ctx, struct err *e)
{
    (void)e;
    struct server *s = ctx;
    const struct options *o = s->options;
    if (installation_is_native())
        return DOOR_UNUSED;
    if (o->http && !o->token && !o->execute_token)
        s->closed_api = closed_port_open(
            s->loop, api_port(s->api),
            "ipybox has no token, so only its own container may use this port. Give it one: "
            "docker run -e IPYBOX_TOKEN=SECRET (or IPYBOX_EXECUTE_TOKEN); clients send "
            "\"Authorization: Bearer SECRET\"");
    if (s->relay && !o->kernel_gateway_token)
        s->closed_gateway = closed_port_open(
            s->loop, o->kernel_gateway_port,
            "the kernel gateway has no token, so only its own container may use this port. Give it "
            "one: docker run -e IPYBOX_KERNEL_GATEWAY_TOKEN=SECRET; clients send "
            "\"Authorization: token SECRET\"");
    return 0;
}

static void close_closed_ports(void *ctx)
{
    struct server *s = ctx;
    s->closed_api = closed_port_close(s->closed_api);
    s->closed_gateway = closed_port_close(s->closed_gateway);
}

static const struct door closed_ports_step = {
    .name = "the ports that only refuse", .open = open_closed_ports, .close = close_closed_ports};

/* --- the list ------------------------------------------------------------------------------- */

const struct door *const server_doors[] = {
    &tool_socket_door, &tool_server_door, &mcp_servers_step,  &gateway_door,      &stdio_door,
    &sessions_step,    &mcp_http_door,    &e2b_door,          &agentsandbox_door, &librechat_door,
    &api_door,         &e2b_ports_step,   &closed_ports_step, &cli_socket_door,   NULL,
};
