/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/server/server.h"

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
#include "entrypoint/identity/identity.h"
#include "entrypoint/identity/native_runtime.h"
#include "entrypoint/installation.h"
#include "entrypoint/last_words.h"
#include "entrypoint/sandbox/sandbox_place.h"
#include "entrypoint/sandbox/secret_files.h"
#include "entrypoint/server/server_capacity.h"
#include "entrypoint/server/server_internal.h"
#include "entrypoint/server/server_name.h"
#include "entrypoint/version.h"
#include "jupyter/link.h"
#include "sandbox/policy/pathname.h"

enum {
    KILL_WAIT_MS = 1000, /* for the last process trees, at the very end */
    INIT_MARGIN_MS =
        2000, /* of the grace that PID 1 gives the server, kept for what follows cells */
    EVENT_MEMORY = 1 << 20,   /* bytes of a session's event log */
    EVENT_DATA = 8 << 20,     /* of one event: a picture, say */
    EVENT_SPILL = 32 << 20,   /* of its file */
    HISTORY_MEMORY = 1 << 20, /* of its notebook */
    HISTORY_SPILL = 32 << 20,
};

/* --- stopping ------------------------------------------------------------------------------- */

static void on_doors_drained(void *ctx)
{
    struct server *s = ctx;
    loop_quit(s->loop);
}

void server_sessions_closed(void *ctx)
{
    struct server *s = ctx;
    s->sessions_closed = true;
    doors_drain(s->doors);
}

static void on_server_deadline(void *ctx, const char *doors)
{
    struct server *s = ctx;
    log_warning("server", "not everything ended in time; stopping now");
    if (*doors)
        log_info("server", "still open: %s", doors);
    loop_quit(s->loop);
}

void server_stop(struct server *s, int64_t grace_ms)
{
    s->stopping = true;
    s->grace_ms = grace_ms;
    control_set_stopping(s->control);
    doors_stop(s->doors, grace_ms + INIT_MARGIN_MS);
}

int64_t server_grace_ms(const struct server *s)
{
    int64_t grace = (int64_t)s->options->stop_grace * 1000 - INIT_MARGIN_MS;
    return grace > 0 ? grace : 0;
}

static void on_server_signal(void *ctx, int signal)
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
        server_stop(s, server_grace_ms(s));
}

/* --- opening -------------------------------------------------------------------------------- */

static void log_session(enum log_level level, const char *text)
{
    log_write(level, "session", "%s", text);
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

/* In a container it was judged before there was a server. */
static int check_native_workspace(const char *path, struct err *e)
{
    if (!installation_is_native() || may_access(path, W_OK))
        return 0;
    if (errno != EROFS)
        return err_set(
            e, -errno,
            "the workspace %s cannot be written by uid %u: %s; change its mode or owner, "
            "or name another folder with --workspace",
            path, (unsigned)geteuid(), strerror(errno));
    log_warning("server", "the workspace %s is read-only: nothing can be saved there", path);
    return 0;
}

static int open_workspace(struct server *s, struct err *e)
{
    const char *path = s->options->workspace;
    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return err_set(e, -errno, "make the workspace %s: %s (--workspace)", path, strerror(errno));
    char resolved[PATH_MAX];
    if (!realpath(path, resolved) || chdir(resolved) < 0)
        return err_set(e, -errno, "the workspace %s: %s (--workspace)", path, strerror(errno));
    int r = check_native_workspace(resolved, e);
    if (r < 0)
        return r;
    s->workspace = xstrdup(resolved);
    environment_load_dotenv(s->workspace);
    return 0;
}

/* Named by its descriptor, which is good for whoever holds it; the way to it by names is closed to
 * all but the service uid. */
static int open_server_channels(struct server *s, struct err *e)
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
    return open_server_channels(s, e);
}

/* What clients may not reach by asking the server for files (session/kernels/judge.h), beside what
 * is hidden from code: what the server writes for itself, in whichever folder it is. */
static int hide_from_doors(struct server *s, struct err *e)
{
    int r = 0;
    if (!path_is_under(s->workspace, s->runtime_dir))
        r = server_sandbox_hide(&s->sandbox, OF_DOORS, s->runtime_dir, e);
    if (r == 0 && s->options->audit_log && *s->options->audit_log == '/')
        r = server_sandbox_hide(&s->sandbox, OF_DOORS, s->options->audit_log, e);
    s->closed = (struct judge_places){.hidden = s->sandbox.doors.hidden,
                                      .kept = s->sandbox.doors.kept,
                                      .records = s->memory.records};
    return r;
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

static int open_server_place(struct server *s, struct err *e)
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
        r = server_memory_open(s->options, s->workspace, &s->sandbox, &s->memory, e);
    if (r == 0)
        r = hide_channels(s, e);
    if (r == 0)
        r = hide_from_doors(s, e);
    return r < 0 ? r : server_sandbox_ready(&s->sandbox, s->options, e);
}

static struct environment_config environment_config(const struct server *s, const char *tool_socket)
{
    const struct options *o = s->options;
    return (struct environment_config){.workspace = s->workspace,
                                       .ca = o->ca,
                                       .gateway_token = o->kernel_gateway_token,
                                       .instance = s->instance,
                                       .tool_socket = tool_socket,
                                       .approve_shell_cmds = o->approve_shell_cmds,
                                       .require_shell_escape = o->require_shell_escape,
                                       .sandbox = s->sandbox.variables.items,
                                       .n_sandbox = s->sandbox.variables.count,
                                       .preload = s->sandbox.preload};
}

static int open_environment(struct server *s, struct err *e)
{
    drop_str char *tool_socket = server_tools_socket(s->runtime_dir);
    struct environment_config config = environment_config(s, tool_socket);
    int r = environment_make(&config, &s->env, e);
    return r == 0 ? environment_python(s->options->python, &s->python, e) : r;
}

/* A session wants a sandbox where there is none for all. */
static int offer_session_walls(void *ctx, const struct session_walls **ret, struct err *e)
{
    struct server *s = ctx;
    int r = server_sandbox_offer(&s->sandbox, s->options, &s->offered.spec, e);
    if (r == 0 && !s->offered_env) {
        drop_str char *tool_socket = server_tools_socket(s->runtime_dir);
        struct environment_config config = environment_config(s, tool_socket);
        s->offered_env = environment_kernel(&config, s->env.user_base);
        s->offered.envp = (const char *const *)s->offered_env;
    }
    *ret = &s->offered;
    return r;
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

static void on_server_refused(void *ctx, const char *text)
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
        .forks = installation_forks(),
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
                   .alone = o->kernel_gateway_port == 0 && s->sandbox.peers,
                   .python = s->python,
                   .envp = (const char *const *)s->env.kernel,
                   .cwd = s->workspace,
                   .start_timeout_ms = (int64_t)o->kernel_start_timeout * 1000,
                   .template = s->template,
                   .tokens = &s->tokens,
                   .sandbox = s->sandbox.kernels},
        .offer = offer_session_walls,
        .offer_ctx = s,
        .workspace = s->workspace,
        .closed = &s->closed,
        .interrupt_grace_ms = (int64_t)o->interrupt_grace * 1000,
        .checkpoints = (size_t)o->checkpoints,
        .kernel_idle_ms = (int64_t)o->kernel_idle_timeout * 1000,
        .output_file_limit = o->output_file_limit,
        .retention = {.files = (size_t)o->keep_files,
                      .bytes = o->keep_files_size,
                      .age_s = o->keep_files_age},
        .metrics = &s->metrics,
        .audit = s->audit,
        .gateway = o->kernel_gateway_port != 0,
        .event_apart = true,
        .event_memory = EVENT_MEMORY,
        .event_data = EVENT_DATA,
        .event_dir = s->runtime_dir, /* the workspace's space is the user's */
        .event_spill = EVENT_SPILL,
        .history_memory = HISTORY_MEMORY,
        .history_spill = HISTORY_SPILL,
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
        .instance = s->instance,
        .envp = (const char *const *)s->env.outside[ENVIRONMENT_SERVER],
        .sandbox = s->sandbox.servers,
        .place = &s->place.place,
        .remembered = server_memory_files(&s->memory),
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

/* A session whose kernel is being replaced has two of them for a while. */
static size_t sockets_of_server(const struct options *o)
{
    const size_t states = (size_t)o->checkpoints + 2; /* one that is made, one that ends */
    size_t kernels =
        (o->checkpoints > 0 ? 2 + states : 2) * (size_t)o->max_sessions + POOL_MAX + KERNELS_MAX;
    return kernels * LINK_SOCKETS;
}

/* Fewer than the default is a small machine's lot, and no surprise. */
static void say_capacity(const struct options *o)
{
    struct capacity capacity;
    char text[CAPACITY_TEXT];
    capacity_read("", &capacity);
    if (!capacity_keeps(&capacity, o->max_sessions, text))
        log_write(o->max_sessions > CAPACITY_EXPECTED ? LOG_WARNING : LOG_INFO, "server", "%s",
                  text);
}

static int open_loop(struct server *s, struct err *e)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
    int r = loop_new(&s->loop, e);
    if (r == 0)
        r = loop_signals(s->loop, signals, sizeof signals / sizeof *signals, on_server_signal, s,
                         e);
    if (r == 0)
        r = spawner_new(s->loop, &s->spawner, e);
    if (r == 0)
        r = zctx_new(sockets_of_server(s->options), &s->zctx, e);
    if (r < 0)
        return r;
    gate_init(&s->refusals, s->loop, on_refusals_left_out, s);
    gate_init(&s->gateway_lines, s->loop, on_lines_left_out, s);
    spawner_on_refused(s->spawner, on_server_refused, s);
    return 0;
}

static int open_server_parts(struct server *s, struct err *e)
{
    static const struct doors_events doors_events = {.drained = on_doors_drained,
                                                     .late = on_server_deadline};
    int r = server_name(s->options->instance, s->instance, e);
    if (r == 0)
        r = public_url_parse(s->options->public_url, &s->public_url, e);
    if (r == 0)
        r = open_workspace(s, e);
    if (r == 0)
        r = open_runtime_dir(s, e);
    if (r == 0)
        r = open_server_place(s, e);
    if (r == 0)
        r = open_sandbox(s, e);
    if (r == 0)
        r = open_environment(s, e);
    if (r == 0)
        r = open_loop(s, e);
    if (r == 0)
        r = control_open(s->loop, s->runtime_dir, IPYBOX_VERSION, &s->control, e);
    if (r == 0)
        kernel_clean_channels(s->channels_path);
    if (r == 0)
        r = open_audit(s, e);
    if (r == 0)
        r = open_session(s, e);
    if (r == 0)
        r = open_tools(s, e);
    if (r == 0)
        r = doors_open(s->loop, server_doors, &doors_events, s, &s->doors, e);
    ahead_close(&s->ahead); /* what no door wants */
    return r;
}

static void close_server_parts(struct server *s)
{
    s->doors = doors_close(s->doors);
    s->tools = server_tools_close(s->tools);
    s->sessions = sessions_close(s->sessions);
    s->pool = pool_close(s->pool);
    s->template = template_close(s->template);
    s->control = control_close(s->control);
    s->spawner = spawner_free(s->spawner, KILL_WAIT_MS);
    s->zctx = zctx_free(s->zctx);
    s->audit = audit_close(s->audit);
    gate_done(&s->refusals);
    gate_done(&s->gateway_lines);
    s->loop = loop_free(s->loop);
    environment_done(&s->env);
    s->offered_env = environment_free(s->offered_env);
    xfree(s->python);
    server_sandbox_done(&s->sandbox);
    server_place_done(&s->place);
    server_memory_done(&s->memory);
    (void)fd_close(s->channels);
    if (installation_is_native())
        native_runtime_remove(s->runtime_dir);
    xfree(s->runtime_dir);
    xfree(s->workspace);
}

int server_main(const struct options *options)
{
    struct server s = {.options = options, .api_socket = apisocket_inherit(), .channels = -1};
    struct err e = ERR_NONE;
    ahead_inherit(&s.ahead);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);         /* a write over a limit is an error of that write */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* shims outlive the template that forked them */
    (void)prctl(PR_SET_DUMPABLE,
                0); /* code in a kernel has the same uid: no /proc/PID/mem for it */
    log_set_level(options->log_level);
    log_set_json(options->log_format == OPTIONS_LOG_JSON);
    int r = open_server_parts(&s, &e);
    if (r == 0) {
        say_capacity(options);
        log_info("server", "ipybox %s serves %s; workspace %s", IPYBOX_VERSION,
                 !options->serve ? "MCP on standard input and output"
                 : s.relay       ? "HTTP and the kernel gateway"
                                 : "HTTP",
                 s.workspace);
        loop_run(s.loop);
    }
    close_server_parts(&s);
    if (r < 0) { /* the log's last line */
        log_error("server", "%s", e.msg);
        last_words_write(LAST_WORDS_PATH, e.msg);
    }
    log_close(LOG_CLOSE_MS);
    return r == 0 ? 0 : 2;
}
