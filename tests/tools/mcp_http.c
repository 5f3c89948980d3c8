/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp-http PORT plain|fixtures [OPTION...] - the HTTP API on localhost, with the server's options,
 * real kernels and, when asked for, what the conformance suite needs to find. Prints the
 * port (PORT 0: any) and ends with its standard input. IPYBOX_TOKEN: its token, none without it.
 * TASK_AFTER_MS: after this time, and not the server's, a call may go on as a task.
 * mcp-http shim … is the shim that it starts above each kernel. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "entrypoint/identity/environment.h"
#include "entrypoint/identity/identity.h"
#include "entrypoint/server/server_tools.h"
#include "entrypoint/version.h"
#include "front/api.h"
#include "mcp_fixtures.h"
#include "sandbox/shim/shim.h"
#include "session/kernels/sessions.h"

enum { KILL_WAIT_MS = 2000 };

struct program {
    struct options options;
    struct loop *loop;
    struct spawner *spawner;
    struct zctx *zctx;
    struct environment env;
    char *python;
    struct tokens tokens;
    struct metrics metrics;
    struct template_config template_config;
    struct template *template;
    struct session_config session_config;
    struct sessions *sessions;
    struct server_tools *tools;
    struct packages_config packages;
    struct mcp_http *mcp;
    struct api *api;
    struct loop_io *input;
    char runtime_dir[IDENTITY_PATH_MAX];
};

static struct program program;

static void check(int r, const struct err *e)
{
    if (r >= 0)
        return;
    (void)fprintf(stderr, "mcp-http: %s\n", e->msg);
    exit(1);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void on_drained(void *ctx)
{
    (void)ctx;
    loop_quit(program.loop);
}

static void on_stopped(void *ctx)
{
    (void)ctx;
    api_drain(program.api, on_drained, NULL);
}

static void on_input(void *ctx, unsigned events)
{
    char bytes[64];
    (void)ctx, (void)events;
    if (read(0, bytes, sizeof bytes) > 0)
        return;
    program.input = loop_io_del(program.input);
    api_stop(program.api);
    mcp_http_stop(program.mcp);
    sessions_stop(program.sessions, 0, on_stopped, NULL);
}

static void on_signal(void *ctx, int signal)
{
    (void)ctx;
    if (signal == SIGCHLD)
        spawner_reap(program.spawner);
    else
        loop_quit(program.loop);
}

/* --- opening ---------------------------------------------------------------------------------- */

static void log_session(enum log_level level, const char *text)
{
    log_write(level, "session", "%s", text);
}

static void open_loop(struct err *e)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGCHLD};
    struct program *p = &program;
    check(loop_new(&p->loop, e), e);
    check(loop_signals(p->loop, signals, 3, on_signal, NULL, e), e);
    check(spawner_new(p->loop, &p->spawner, e), e);
    check(zctx_new(1000, &p->zctx, e), e);
}

static void open_sessions(struct err *e)
{
    struct program *p = &program;
    check(identity_runtime_dir(false, p->runtime_dir, e), e);
    drop_str char *socket = server_tools_socket(p->runtime_dir);
    struct environment_config environment = {.workspace = p->options.workspace,
                                             .tool_socket = socket,
                                             .approve_shell_cmds = p->options.approve_shell_cmds};
    check(environment_make(&environment, &p->env, e), e);
    check(environment_python(p->options.python, &p->python, e), e);
    p->template_config = (struct template_config){
        .loop = p->loop,
        .spawner = p->spawner,
        .python = p->python,
        .envp = (const char *const *)p->env.outside[ENVIRONMENT_TEMPLATE],
        .cwd = ENVIRONMENT_CWD,
        .log = log_session,
    };
    p->template = template_open(&p->template_config);
    p->session_config = (struct session_config){
        .kernel = {.loop = p->loop,
                   .spawner = p->spawner,
                   .zctx = p->zctx,
                   .channels = p->runtime_dir,
                   .python = p->python,
                   .envp = (const char *const *)p->env.kernel,
                   .cwd = p->options.workspace,
                   .start_timeout_ms = (int64_t)p->options.kernel_start_timeout * 1000,
                   .template = p->template,
                   .tokens = &p->tokens},
        .workspace = p->options.workspace,
        .interrupt_grace_ms = (int64_t)p->options.interrupt_grace * 1000,
        .output_file_limit = p->options.output_file_limit,
        .metrics = &p->metrics,
        .log = log_session,
    };
    struct sessions_config sessions = {.base = &p->session_config,
                                       .max = (size_t)p->options.max_sessions};
    check(sessions_open(&sessions, &p->sessions, e), e);
    struct server_tools_config tools = {.loop = p->loop,
                                        .spawner = p->spawner,
                                        .options = &p->options,
                                        .workspace = p->options.workspace,
                                        .runtime_dir = p->runtime_dir,
                                        .envp =
                                            (const char *const *)p->env.outside[ENVIRONMENT_SERVER],
                                        .tokens = &p->tokens,
                                        .sessions = p->sessions,
                                        .metrics = &p->metrics};
    check(server_tools_open(&tools, &p->tools, e), e);
    check(server_tools_open_socket(p->tools, e), e);
    check(server_tools_register(p->tools, e), e);
}

static int64_t task_after_ms(void)
{
    const char *text = getenv("TASK_AFTER_MS");
    return text ? strtoll(text, NULL, 10) : 0;
}

static void open_door(int port, bool fixtures, struct err *e)
{
    struct program *p = &program;
    p->packages =
        (struct packages_config){.spawner = p->spawner,
                                 .python = p->python,
                                 .envp = (const char *const *)p->env.outside[ENVIRONMENT_PIP],
                                 .workspace = p->options.workspace};
    struct mcp_http_config mcp = {.mcp = {.loop = p->loop,
                                          .packages = p->packages,
                                          .toolplane = server_tools_plane(p->tools),
                                          .approvals = server_tools_approvals(p->tools),
                                          .version = IPYBOX_VERSION,
                                          .task_after_ms = task_after_ms(),
                                          .extension = fixtures ? &mcp_fixtures : NULL},
                                  .sessions = p->sessions};
    p->mcp = mcp_http_open(&mcp);
    struct api_config api = {.loop = p->loop,
                             .host = "localhost",
                             .port = port,
                             .admin_token = getenv("IPYBOX_TOKEN"),
                             .workspace = p->options.workspace,
                             .version = IPYBOX_VERSION,
                             .sessions = p->sessions,
                             .toolplane = server_tools_plane(p->tools),
                             .approvals = server_tools_approvals(p->tools),
                             .metrics = &p->metrics,
                             .packages = &p->packages,
                             .mcp = p->mcp};
    check(api_open(&api, &p->api, e), e);
    check(loop_io_add(p->loop, 0, LOOP_IN, on_input, NULL, &p->input, e), e);
}

static void close_all(void)
{
    struct program *p = &program;
    p->api = api_close(p->api);
    p->mcp = mcp_http_close(p->mcp);
    server_tools_close_socket(p->tools);
    p->tools = server_tools_close(p->tools);
    p->sessions = sessions_close(p->sessions);
    p->template = template_close(p->template);
    p->spawner = spawner_free(p->spawner, KILL_WAIT_MS);
    p->zctx = zctx_free(p->zctx);
    p->loop = loop_free(p->loop);
    environment_done(&p->env);
    xfree(program.python);
}

int main(int argc, char **argv)
{
    struct err e = ERR_NONE;
    if (argc > 1 && strcmp(argv[1], "shim") == 0)
        return shim_main(argc - 1, argv + 1);
    if (argc < 3) {
        (void)fprintf(stderr, "mcp-http PORT plain|fixtures [OPTION...]\n");
        return 2;
    }
    check(options_parse(ROLE_SERVER, argc - 3, argv + 3, &program.options, &e), &e);
    log_set_level(program.options.log_level);
    mcp_fixtures_open();
    open_loop(&e);
    open_sessions(&e);
    open_door((int)strtol(argv[1], NULL, 10), strcmp(argv[2], "fixtures") == 0, &e);
    (void)fprintf(stdout, "%d\n", api_port(program.api));
    (void)fflush(stdout);
    loop_run(program.loop);
    close_all();
    mcp_fixtures_close();
    return 0;
}
