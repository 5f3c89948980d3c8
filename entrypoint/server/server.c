/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/server/server.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/service.h"
#include "entrypoint/identity/apisocket.h"
#include "entrypoint/identity/environment.h"
#include "entrypoint/identity/identity.h"
#include "entrypoint/sandbox/sandbox_place.h"
#include "entrypoint/sandbox/secret_files.h"
#include "entrypoint/sandbox/server_sandbox.h"
#include "entrypoint/server/server_place.h"
#include "entrypoint/server/server_tools.h"
#include "entrypoint/version.h"
#include "front/api.h"
#include "front/gateway/control.h"
#include "front/gateway/relay.h"
#include "front/gateway/supervise.h"
#include "front/mcp/stdio.h"
#include "jupyter/gateway.h"
#include "loop/gate.h"
#include "sandbox/policy/pathname.h"
#include "session/kernels/kernels.h"
#include "session/kernels/sessions.h"

enum {
    KILL_WAIT_MS = 1000, /* for the last process trees, at the very end */
    INIT_MARGIN_MS =
        2000,         /* of the grace that PID 1 gives the server, kept for what follows cells */
    KERNEL_NAME = 16, /* digits that the names of a kernel's sockets begin with */
    GATEWAY_IDLE_S = 600, /* without a connection and a kernel, then the gateway is stopped */
    GATEWAY_IDLE_MAX_S = 86400,
    EVENT_MEMORY = 1 << 20, /* bytes of a session's event log */
    EVENT_DATA = 8 << 20,   /* of one event: a picture, say */
    EVENT_SPILL = 32 << 20, /* of its file */
};

struct server {
    const struct options *options;
    struct loop *loop;
    struct spawner *spawner;
    struct zctx *zctx;
    char *workspace, *runtime_dir;
    int channels; /* the directory of kernels' sockets */
    char channels_path[40];
    char *python; /* its absolute path */
    struct environment env;
    struct server_sandbox sandbox;
    struct server_place place; /* of MCP servers */
    struct tokens tokens;      /* of kernels */
    struct server_tools *tools;
    struct template_config template_config;
    struct template *template;
    struct pool *pool;
    struct session_config session_config;
    struct metrics metrics;
    struct audit *audit; /* NULL: none */
    struct sessions *sessions;
    struct session *session; /* the default one */
    struct api *api;
    int api_socket; /* inherited; -1: none */
    char http_host[OPTIONS_HOST_MAX + 1];
    struct supervise *supervise;
    struct kernels *kernels;
    struct relay *relay;
    struct gateway_config gateway_config;
    struct gateway *gateway; /* while it runs */
    struct loop_timer gateway_idle;
    struct gate gateway_lines, refusals; /* that code in kernels brings into the log */
    size_t gateway_connections;
    struct control *control;
    struct mcp_config mcp_config;
    struct packages_config packages;
    struct stdio *stdio;
    struct loop_timer deadline;
    bool stopping, sessions_closed, stdio_ended, api_drained;
};

/* --- stopping ------------------------------------------------------------------------------- */

static void quit_when_done(struct server *s)
{
    if (s->sessions_closed && s->stdio_ended && s->api_drained)
        loop_quit(s->loop);
}

static void on_api_drained(void *ctx)
{
    struct server *s = ctx;
    s->api_drained = true;
    quit_when_done(s);
}

static void on_sessions_closed(void *ctx)
{
    struct server *s = ctx;
    s->sessions_closed = true;
    if (s->api)
        api_drain(s->api, on_api_drained, s);
    else
        s->api_drained = true;
    quit_when_done(s);
}

static void on_stdio_ended(void *ctx);

static void on_deadline(void *ctx)
{
    struct server *s = ctx;
    log_warning("server", "not everything ended in time; stopping now");
    loop_quit(s->loop);
}

/* No new work; what there is gets grace_ms. A second call hurries the first. */
static void stop(struct server *s, int64_t grace_ms)
{
    s->stopping = true;
    control_set_stopping(s->control);
    loop_timer_set(s->loop, &s->deadline, grace_ms + INIT_MARGIN_MS, on_deadline, s);
    if (s->api)
        api_stop(s->api);
    if (!s->sessions_closed)
        sessions_stop(s->sessions, grace_ms, on_sessions_closed, s);
    if (s->stdio)
        stdio_stop(s->stdio);
    else
        s->stdio_ended = true;
}

static void on_stdio_ended(void *ctx)
{
    struct server *s = ctx;
    s->stdio_ended = true;
    if (!s->stopping) {
        log_info("server", "the client is gone; stopping");
        stop(s, 0);
    }
    quit_when_done(s);
}

static int64_t grace_ms(const struct server *s)
{
    int64_t grace = (int64_t)s->options->stop_grace * 1000 - INIT_MARGIN_MS;
    return grace > 0 ? grace : 0;
}

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

static void on_input_ended(void *ctx, bool heard)
{
    struct server *s = ctx;
    const char *other = other_service(s);
    if (!heard && other) {
        log_info("server", "standard input is at its end; serving %s alone", other);
        return;
    }
    if (!heard)
        log_warning("server", "standard input is at its end: nothing to serve. In a container: "
                              "docker run -i …");
    stop(s, grace_ms(s));
}

static void on_signal(void *ctx, int signal)
{
    struct server *s = ctx;
    if (signal == SIGCHLD)
        spawner_reap(s->spawner);
    if (signal == SIGCHLD || signal == SIGUSR1 || signal == SIGUSR2)
        return; /* they reach a command that runs in place of the server; here they mean nothing */
    log_info("server", "%s: stopping%s", strsignal(signal), s->stopping ? " at once" : "");
    if (s->stopping || signal == SIGQUIT)
        loop_quit(s->loop);
    else
        stop(s, grace_ms(s));
}

/* --- opening -------------------------------------------------------------------------------- */

static void log_session(enum log_level level, const char *text)
{
    log_write(level, "session", "%s", text);
}

static void log_gateway(enum log_level level, const char *text)
{
    log_write(level, "gateway", "%s", text);
}

static void log_audit(enum log_level level, const char *text)
{
    log_write(level, "audit", "%s", text);
}

static int open_audit(struct server *s, struct err *e)
{
    struct audit_config config = {.path = s->options->audit_log,
                                  .workspace = s->workspace,
                                  .version = IPYBOX_VERSION,
                                  .loop = s->loop,
                                  .log = log_audit};
    return config.path ? audit_open(&config, &s->audit, e) : 0;
}

static int open_workspace(struct server *s, struct err *e)
{
    const char *path = s->options->workspace;
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return err_set(e, -errno, "make the workspace %s: %s", path, strerror(errno));
    char resolved[PATH_MAX];
    if (!realpath(path, resolved) || chdir(resolved) < 0)
        return err_set(e, -errno, "the workspace %s: %s", path, strerror(errno));
    s->workspace = xstrdup(resolved);
    environment_load_dotenv(s->workspace);
    return 0;
}

/* What a server that was killed has left behind: the names of kernels' sockets. */
static void clean_channels(const struct server *s)
{
    drop_service struct service service = service_enter();
    DIR *dir = opendir(s->channels_path);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strspn(entry->d_name, "0123456789abcdef") == KERNEL_NAME)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    (void)closedir(dir);
}

/* Named by its descriptor, which is good for whoever holds it; the way to it by names is closed to
 * all but the service uid. */
static int open_channels(struct server *s, struct err *e)
{
    char path[IDENTITY_PATH_MAX];
    int r = identity_channels_dir(s->runtime_dir, path, e);
    if (r < 0)
        return r;
    s->channels = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (s->channels < 0)
        return err_set(e, -errno, "%s: %s", path, strerror(errno));
    (void)snprintf(s->channels_path, sizeof s->channels_path, "/proc/self/fd/%d", s->channels);
    return 0;
}

static int open_runtime_dir(struct server *s, struct err *e)
{
    char path[IDENTITY_PATH_MAX];
    drop_service struct service service = service_enter();
    int r = identity_runtime_dir(service.inside, path, e);
    if (r < 0)
        return r;
    s->runtime_dir = xstrdup(path);
    return open_channels(s, e);
}

/* Kernels let in this process alone, but where the gateway is to come, too. There their sockets are
 * hidden from whoever has our uid; it costs every open that code does a question. */
static int hide_channels(struct server *s, struct err *e)
{
    if (s->options->kernel_gateway_port == 0 || service_there())
        return 0;
    drop_str char *closed = xasprintf("%s/" IDENTITY_PRIVATE_DIR, s->runtime_dir);
    return server_sandbox_hide(&s->sandbox, OF_ALL, closed, e);
}

static int open_place(struct server *s, struct err *e)
{
    drop_str char *user = identity_user_dir(service_there(), s->runtime_dir);
    return server_place_open(s->options, s->workspace, user, &s->place, e);
}

static int open_sandbox(struct server *s, struct err *e)
{
    drop_str char *tool_socket = server_tools_socket(s->runtime_dir);
    int r = server_sandbox_open(s->options, s->workspace, tool_socket, &s->sandbox, e);
    if (r == 0)
        r = secret_files_hide(s->options, &s->sandbox, e);
    /* With a uid of the server's own its mode closes it. A home in it is the cells'. */
    if (r == 0 && !service_there() && !path_is_under(sandbox_home(), s->runtime_dir))
        r = server_sandbox_hide(&s->sandbox, OF_KERNELS | OF_PIP, s->runtime_dir, e);
    if (r == 0) /* oom_score_adj and its like of others who have the uid */
        r = server_sandbox_keep(&s->sandbox, OF_ALL, "/proc", e);
    if (r == 0)
        r = server_place_keep(&s->place, &s->sandbox, e);
    if (r == 0)
        r = hide_channels(s, e);
    return r < 0 ? r : server_sandbox_ready(&s->sandbox, s->options, e);
}

static int open_environment(struct server *s, struct err *e)
{
    const struct options *o = s->options;
    drop_str char *tool_socket = server_tools_socket(s->runtime_dir);
    struct environment_config config = {.workspace = s->workspace,
                                        .ca = o->ca,
                                        .gateway_token = o->kernel_gateway_token,
                                        .tool_socket = tool_socket,
                                        .approve_shell_cmds = o->approve_shell_cmds,
                                        .require_shell_escape = o->require_shell_escape,
                                        .sandbox = s->sandbox.variables.items,
                                        .n_sandbox = s->sandbox.variables.count,
                                        .preload = s->sandbox.preload};
    int r = environment_make(&config, &s->env, e);
    return r == 0 ? environment_python(o->python, &s->python, e) : r;
}

static void on_refusals_left_out(void *ctx, const struct gate_loss *loss)
{
    (void)ctx;
    log_warning("sandbox", GATE_TEXT, GATE_TEXT_OF(loss));
}

static void on_lines_left_out(void *ctx, const struct gate_loss *loss)
{
    (void)ctx;
    log_warning("gateway", GATE_TEXT, GATE_TEXT_OF(loss));
}

static void on_refused(void *ctx, const char *text)
{
    struct server *s = ctx;
    s->metrics.refusals++;
    if (log_enabled(LOG_INFO) && gate_pass(&s->refusals, strlen(text)))
        log_write(LOG_INFO, "sandbox", "refused %s", text);
}

static void open_template(struct server *s)
{
    if (s->options->no_kernel_template)
        return;
    s->template_config = (struct template_config){
        .loop = s->loop,
        .spawner = s->spawner,
        .python = s->python,
        .envp = (const char *const *)s->env.outside[ENVIRONMENT_TEMPLATE],
        .cwd = s->workspace,
        .log = log_session,
    };
    s->template = template_open(&s->template_config);
}

static int open_session(struct server *s, struct err *e)
{
    const struct options *o = s->options;
    open_template(s);
    s->session_config = (struct session_config){
        .kernel = {.loop = s->loop,
                   .spawner = s->spawner,
                   .zctx = s->zctx,
                   .channels = s->channels_path,
                   .alone = o->kernel_gateway_port == 0,
                   .python = s->python,
                   .envp = (const char *const *)s->env.kernel,
                   .cwd = s->workspace,
                   .start_timeout_ms = (int64_t)o->kernel_start_timeout * 1000,
                   .template = s->template,
                   .tokens = &s->tokens,
                   .sandbox = s->sandbox.kernels},
        .workspace = s->workspace,
        .interrupt_grace_ms = (int64_t)o->interrupt_grace * 1000,
        .output_file_limit = o->output_file_limit,
        .metrics = &s->metrics,
        .audit = s->audit,
        .gateway = o->kernel_gateway_port != 0,
        .event_apart = true,
        .event_memory = EVENT_MEMORY,
        .event_data = EVENT_DATA,
        .event_dir = s->runtime_dir, /* the workspace's space is the user's */
        .event_spill = EVENT_SPILL,
        .event_for_readers = !o->http, /* who may come then comes by the Unix socket */
        .log = log_session,
    };
    s->pool = s->session_config.pool =
        pool_open(&s->session_config.kernel, s->template ? o->spare_kernels : 0);
    struct sessions_config config = {.base = &s->session_config, .max = (size_t)o->max_sessions};
    struct sessions_view view;
    int r = sessions_open(&config, &s->sessions, e);
    if (r == 0 && sessions_find(s->sessions, SESSIONS_DEFAULT, &view))
        s->session = view.session;
    return r;
}

/* --- the kernel gateway --------------------------------------------------------------------- */

static int64_t gateway_idle_ms(void)
{
    const char *text = getenv("IPYBOX_GATEWAY_IDLE");
    char *end = NULL;
    unsigned long seconds = text ? strtoul(text, &end, 10) : 0;
    bool usable = text && *text && *end == '\0' && seconds > 0 && seconds <= GATEWAY_IDLE_MAX_S;
    return 1000 * (usable ? (int64_t)seconds : GATEWAY_IDLE_S);
}

/* Kernels that it was asked for keep it running. */
static void on_gateway_idle(void *ctx)
{
    struct server *s = ctx;
    if (!s->gateway || s->gateway_connections > 0)
        return;
    if (kernels_running(s->kernels) > 0) {
        loop_timer_set(s->loop, &s->gateway_idle, gateway_idle_ms(), on_gateway_idle, s);
        return;
    }
    log_info("gateway", "nobody uses it: stopped until the next connection");
    s->gateway = gateway_stop(s->gateway);
}

static void on_gateway_used(void *ctx, size_t connections)
{
    struct server *s = ctx;
    s->gateway_connections = connections;
    if (connections == 0)
        loop_timer_set(s->loop, &s->gateway_idle, gateway_idle_ms(), on_gateway_idle, s);
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
    log_warning("gateway", "it cannot be started: %s", e.msg);
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

static bool is_loopback(const char *host)
{
    return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0;
}

static int open_gateway(struct server *s, struct err *e)
{
    const struct options *o = s->options;
    if (o->kernel_gateway_port == 0)
        return 0;
    if (!o->kernel_gateway_token && !is_loopback(o->kernel_gateway_host))
        return err_set(e, -EPERM,
                       "the kernel gateway runs code for everyone who reaches %s: give "
                       "IPYBOX_KERNEL_GATEWAY_TOKEN (or …_FILE), or keep it on localhost",
                       o->kernel_gateway_host);
    s->supervise = supervise_open(s->loop);
    s->kernels = kernels_open(&(struct kernels_config){.session_config = &s->session_config,
                                                       .session = s->session,
                                                       .changed = on_kernel_changed,
                                                       .ctx = s});
    supervise_set_kernels(s->supervise, s->kernels);
    s->gateway_config = (struct gateway_config){
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
    struct relay_config relay = {
        .loop = s->loop,
        .host = o->kernel_gateway_host,
        .port = o->kernel_gateway_port,
        .connect = connect_gateway,
        .wanted = on_gateway_wanted,
        .used = on_gateway_used,
        .ctx = s,
    };
    return relay_open(&relay, &s->relay, e);
}

static void close_gateway(struct server *s)
{
    if (s->loop)
        loop_timer_stop(s->loop, &s->gateway_idle);
    s->relay = relay_close(s->relay);
    s->gateway = gateway_stop(s->gateway);
    if (s->supervise)
        supervise_set_kernels(s->supervise, NULL);
    s->kernels = kernels_close(s->kernels);
    s->supervise = supervise_close(s->supervise);
}

static void on_installed(void *ctx, const char *package)
{
    struct server *s = ctx;
    server_tools_note_package(s->tools, package);
}

static int open_tools(struct server *s, struct err *e)
{
    const struct options *o = s->options;
    s->place.place.user_base = s->env.user_base;
    s->place.place.python = s->python;
    struct server_tools_config config = {
        .loop = s->loop,
        .spawner = s->spawner,
        .options = s->options,
        .workspace = s->workspace,
        .runtime_dir = s->runtime_dir,
        .envp = (const char *const *)s->env.outside[ENVIRONMENT_SERVER],
        .sandbox = s->sandbox.servers,
        .place = &s->place.place,
        .tokens = &s->tokens,
        .sessions = s->sessions,
        .metrics = &s->metrics,
        .audit = s->audit,
    };
    s->packages =
        (struct packages_config){.spawner = s->spawner,
                                 .python = s->python,
                                 .envp = (const char *const *)s->env.outside[ENVIRONMENT_PIP],
                                 .workspace = s->workspace,
                                 .audit = s->audit,
                                 .sandbox = s->sandbox.pip,
                                 .walls = &s->sandbox.pip_place,
                                 .settings = sessions_settings,
                                 .sessions = s->sessions,
                                 .installed = on_installed,
                                 .ctx = s};
    server_sandbox_place_pip(&s->sandbox, o, s->env.user_base, s->packages.envp);
    return server_tools_open(&config, &s->tools, e);
}

/* --- the HTTP API --------------------------------------------------------------------------- */

/* Without HOST: where everybody is, when a token tells who may; else only this machine. */
static int choose_address(struct server *s, int *ret_port, struct err *e)
{
    const struct options *o = s->options;
    bool guarded = o->token || o->execute_token;
    if (!options_address(o->http, s->http_host, ret_port))
        return err_set(e, -EINVAL, "--http: not an address: %s", o->http);
    if (!*s->http_host)
        (void)snprintf(s->http_host, sizeof s->http_host, guarded ? "0.0.0.0" : "localhost");
    if (!guarded && !is_loopback(s->http_host))
        return err_set(e, -EPERM,
                       "the HTTP API runs code for everyone who reaches %s: give IPYBOX_TOKEN or "
                       "IPYBOX_EXECUTE_TOKEN (or …_FILE), or keep it on localhost",
                       s->http_host);
    if (!guarded)
        log_warning("http", "no IPYBOX_TOKEN: only this machine, or container, can connect, and "
                            "whoever does may run code. With a token all addresses are served");
    return 0;
}

static int open_api(struct server *s, struct err *e)
{
    const struct options *o = s->options;
    int port = 0, local = 0;
    int r = o->http ? choose_address(s, &port, e) : 0;
    if (r == 0)
        r = apisocket_open(s->runtime_dir, s->api_socket, &local, e);
    if (r < 0)
        return r;
    struct api_config config = {
        .loop = s->loop,
        .host = o->http ? s->http_host : NULL,
        .port = port,
        .local = local,
        .workspace = s->workspace,
        .version = IPYBOX_VERSION,
        .admin_token = o->token,
        .execute_token = o->execute_token,
        .approver_token = o->approver_token,
        .sessions = s->sessions,
        .toolplane = server_tools_plane(s->tools),
        .approvals = server_tools_approvals(s->tools),
        .metrics = &s->metrics,
        .audit = s->audit,
        .packages = &s->packages,
        .sandbox_level = s->sandbox.level,
        .sandbox_detail = s->sandbox.detail,
        .sandboxed = o->sandbox,
        .uid = getuid(),
        .kernel_uid = geteuid(),
        .alone = o->serve,
    };
    r = api_open(&config, &s->api, e);
    if (r == 0 && o->http)
        log_info("http", "the HTTP API is at http://%s:%d", s->http_host, api_port(s->api));
    return r;
}

static int open_stdio(struct server *s, struct err *e)
{
    static const struct stdio_events events = {.input_ended = on_input_ended,
                                               .ended = on_stdio_ended};
    s->mcp_config = (struct mcp_config){
        .loop = s->loop,
        .session = s->session,
        .packages = s->packages,
        .toolplane = server_tools_plane(s->tools),
        .approvals = server_tools_approvals(s->tools),
        .session_id = SERVER_SESSION,
        .version = IPYBOX_VERSION,
    };
    return stdio_open(&s->mcp_config, &events, s, &s->stdio, e);
}

static int open_loop(struct server *s, struct err *e)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
    int r = loop_new(&s->loop, e);
    if (r == 0)
        r = loop_signals(s->loop, signals, sizeof signals / sizeof *signals, on_signal, s, e);
    if (r == 0)
        r = spawner_new(s->loop, &s->spawner, e);
    if (r == 0)
        r = zctx_new(&s->zctx, e);
    if (r < 0)
        return r;
    gate_init(&s->refusals, s->loop, on_refusals_left_out, s);
    gate_init(&s->gateway_lines, s->loop, on_lines_left_out, s);
    spawner_on_refused(s->spawner, on_refused, s);
    return 0;
}

static int open_all(struct server *s, struct err *e)
{
    int r = open_workspace(s, e);
    if (r == 0)
        r = open_runtime_dir(s, e);
    if (r == 0)
        r = open_place(s, e);
    if (r == 0)
        r = open_sandbox(s, e);
    if (r == 0)
        r = open_environment(s, e);
    if (r == 0)
        r = open_loop(s, e);
    if (r == 0)
        r = control_open(s->loop, s->runtime_dir, IPYBOX_VERSION, &s->control, e);
    if (r == 0)
        clean_channels(s);
    if (r == 0)
        r = open_audit(s, e);
    if (r == 0)
        r = open_session(s, e);
    if (r == 0)
        r = open_tools(s, e);
    if (r == 0)
        r = open_gateway(s, e);
    if (r == 0)
        r = open_api(s, e);
    if (r == 0 && !s->options->serve)
        r = open_stdio(s, e);
    return r;
}

static void close_all(struct server *s)
{
    if (s->api)
        apisocket_remove(s->runtime_dir);
    s->api = api_close(s->api);
    s->stdio = stdio_free(s->stdio);
    close_gateway(s);
    s->tools = server_tools_close(s->tools);
    s->sessions = sessions_close(s->sessions);
    s->pool = pool_close(s->pool);
    s->template = template_close(s->template);
    if (s->loop)
        loop_timer_stop(s->loop, &s->deadline);
    s->control = control_close(s->control);
    s->spawner = spawner_free(s->spawner, KILL_WAIT_MS);
    s->zctx = zctx_free(s->zctx);
    s->audit = audit_close(s->audit);
    gate_done(&s->refusals);
    gate_done(&s->gateway_lines);
    s->loop = loop_free(s->loop);
    environment_done(&s->env);
    xfree(s->python);
    server_sandbox_done(&s->sandbox);
    server_place_done(&s->place);
    (void)fd_close(s->channels);
    xfree(s->runtime_dir);
    xfree(s->workspace);
}

int server_main(const struct options *options)
{
    struct server s = {.options = options, .api_socket = apisocket_inherit(), .channels = -1};
    struct err e = ERR_NONE;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);         /* a write over a limit is an error of that write */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* shims outlive the template that forked them */
    (void)prctl(PR_SET_DUMPABLE,
                0); /* code in a kernel has the same uid: no /proc/PID/mem for it */
    log_set_level(options->log_level);
    log_set_json(options->log_format == OPTIONS_LOG_JSON);
    int r = open_all(&s, &e);
    if (r == 0) {
        log_info("server", "ipybox %s serves %s; workspace %s", IPYBOX_VERSION,
                 options->serve ? "HTTP" : "MCP on standard input and output", s.workspace);
        loop_run(s.loop);
    } else {
        log_error("server", "%s", e.msg);
    }
    close_all(&s);
    return r == 0 ? 0 : 2;
}
