/* SPDX-License-Identifier: Apache-2.0
 *
 * mcp-http PORT plain|fixtures [OPTION...] - MCP over HTTP alone, on localhost, with the server's
 * options, real kernels and, when asked for, what the conformance suite needs to find. Prints the
 * port (PORT 0: any) and ends with its standard input.
 * mcp-http shim … is the shim that it starts above each kernel. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "entrypoint/environment.h"
#include "entrypoint/identity.h"
#include "entrypoint/server_tools.h"
#include "entrypoint/version.h"
#include "front/api_mcp.h"
#include "front/api_parts.h"
#include "mcp_fixtures.h"
#include "sandbox/shim.h"
#include "session/session.h"

enum { SESSIONS_MAX = 50, IDLE_MS = 30 * 60 * 1000, KILL_WAIT_MS = 2000 };

struct program {
    struct options options;
    struct loop *loop;
    struct spawner *spawner;
    struct zctx *zctx;
    struct environment env;
    struct tokens tokens;
    struct server_tools *tools;
    struct template_config template_config;
    struct template *template;
    struct session_config session_config;
    struct session *session; /* "default" */
    struct mcp_config mcp_config;
    struct api api;
    struct loop_io *input;
    const char *origins[3]; /* its own */
    size_t closing; /* sessions */
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

/* --- sessions --------------------------------------------------------------------------------- */

static int session_for(void *ctx, const char *name, struct api_mcp_session *ret, struct err *e)
{
    (void)ctx;
    int r = 0;
    *ret = (struct api_mcp_session){.id = SERVER_SESSION, .session = program.session};
    if (!name || strcmp(name, SERVER_SESSION) != 0)
        r = session_open(&program.session_config, &ret->session, e);
    ret->handle = ret->session;
    return r;
}

struct closing {
    struct session *session;
    struct loop_defer defer;
};

static void free_closed(void *ctx)
{
    struct closing *c = ctx;
    (void)session_free(c->session);
    xfree(c);
    program.closing--;
    if (program.closing == 0 && !program.session)
        loop_quit(program.loop);
}

static void on_closed(void *ctx) /* maybe inside session_close() */
{
    struct closing *c = ctx;
    loop_defer(program.loop, &c->defer, free_closed, c);
}

static void close_session(struct session *session)
{
    struct closing *c = NEW(struct closing);
    c->session = session;
    program.closing++;
    session_close(session, 0, on_closed, c);
}

static void session_done(void *ctx, void *handle)
{
    (void)ctx;
    if (handle != program.session)
        close_session(handle);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static void end(void)
{
    struct session *session = program.session;
    program.input = loop_io_del(program.input);
    program.api.http = http_close(program.api.http);
    program.api.mcp = api_mcp_close(program.api.mcp);
    program.tools = server_tools_close(program.tools);
    program.session = NULL;
    close_session(session);
}

static void on_input(void *ctx, unsigned events)
{
    char bytes[64];
    (void)ctx, (void)events;
    if (read(0, bytes, sizeof bytes) <= 0)
        end();
}

static void on_signal(void *ctx, int signal)
{
    (void)ctx;
    if (signal == SIGCHLD)
        spawner_reap(program.spawner);
    else
        loop_quit(program.loop);
}

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
    check(zctx_new(&p->zctx, e), e);
}

static void open_sessions(struct err *e)
{
    struct program *p = &program;
    check(identity_runtime_dir(p->runtime_dir, e), e);
    drop_str char *socket = server_tools_socket(p->runtime_dir);
    struct environment_config environment = {.workspace = p->options.workspace,
                                             .tool_socket = socket,
                                             .approve_shell_cmds = p->options.approve_shell_cmds};
    check(environment_make(&environment, &p->env, e), e);
    p->template_config = (struct template_config){
        .loop = p->loop,
        .spawner = p->spawner,
        .python = p->options.python,
        .envp = (const char *const *)p->env.template,
        .cwd = p->options.workspace,
        .log = log_session,
    };
    p->template = template_open(&p->template_config);
    p->session_config = (struct session_config){
        .kernel = {.loop = p->loop,
                   .spawner = p->spawner,
                   .zctx = p->zctx,
                   .runtime_dir = p->runtime_dir,
                   .python = p->options.python,
                   .envp = (const char *const *)p->env.kernel,
                   .cwd = p->options.workspace,
                   .start_timeout_ms = (int64_t)p->options.kernel_start_timeout * 1000,
                   .template = p->template,
                   .tokens = &p->tokens},
        .workspace = p->options.workspace,
        .interrupt_grace_ms = (int64_t)p->options.interrupt_grace * 1000,
        .output_file_limit = p->options.output_file_limit,
        .log = log_session,
    };
    check(session_open(&p->session_config, &p->session, e), e);
    struct server_tools_config tools = {.loop = p->loop,
                                        .spawner = p->spawner,
                                        .options = &p->options,
                                        .workspace = p->options.workspace,
                                        .runtime_dir = p->runtime_dir,
                                        .envp = (const char *const *)p->env.pip,
                                        .tokens = &p->tokens,
                                        .session = p->session};
    check(server_tools_open(&tools, &p->tools, e), e);
}

static void open_door(int port, bool fixtures, struct err *e)
{
    struct program *p = &program;
    p->mcp_config = (struct mcp_config){.loop = p->loop,
                                        .packages = {.spawner = p->spawner,
                                                     .python = p->options.python,
                                                     .envp = (const char *const *)p->env.pip,
                                                     .cwd = p->options.workspace},
                                        .toolplane = server_tools_plane(p->tools),
                                        .approvals = server_tools_approvals(p->tools),
                                        .version = IPYBOX_VERSION,
                                        .extension = fixtures ? &mcp_fixtures : NULL};
    struct api_mcp_config mcp = {.loop = p->loop,
                                 .mcp = &p->mcp_config,
                                 .sessions_max = SESSIONS_MAX,
                                 .idle_ms = IDLE_MS,
                                 .session_for = session_for,
                                 .session_done = session_done};
    p->api = (struct api){
        .loop = p->loop, .workspace = p->options.workspace, .mcp = api_mcp_open(&mcp)};
    struct http_config door = {.loop = p->loop,
                               .host = "localhost",
                               .port = port,
                               .routes = api_mcp_routes.routes,
                               .n_routes = api_mcp_routes.n,
                               .origins = p->origins,
                               .ctx = &p->api};
    check(http_open(&door, &p->api.http, e), e);
    p->origins[0] = xasprintf("http://localhost:%d", http_port(p->api.http));
    p->origins[1] = xasprintf("http://127.0.0.1:%d", http_port(p->api.http));
    check(loop_io_add(p->loop, 0, LOOP_IN, on_input, NULL, &p->input, e), e);
}

static void close_all(void)
{
    struct program *p = &program;
    p->template = template_close(p->template);
    p->spawner = spawner_free(p->spawner, KILL_WAIT_MS);
    p->zctx = zctx_free(p->zctx);
    p->loop = loop_free(p->loop);
    environment_done(&p->env);
    for (int i = 0; i < 2; i++)
        xfree((char *)(size_t)p->origins[i]);
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
    (void)fprintf(stdout, "%d\n", http_port(program.api.http));
    (void)fflush(stdout);
    loop_run(program.loop);
    close_all();
    mcp_fixtures_close();
    return 0;
}
