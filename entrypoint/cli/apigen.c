/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/cli/apigen.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "apigen/apigen.h"
#include "approval/toolplane.h"
#include "base/alloc.h"
#include "entrypoint/cli/adopt.h"
#include "entrypoint/identity/environment.h"
#include "entrypoint/identity/identity.h"
#include "entrypoint/server/jsonfile.h"
#include "entrypoint/server/server_place.h"
#include "entrypoint/version.h"
#include "tools/client/package.h"

enum { KILL_WAIT_MS = 3000, FILE_MAX = 64 << 20 };

struct work {
    const struct options *options;
    struct loop *loop;
    struct spawner *spawner;
    struct environment env;
    struct server_place place;
    char *workspace, *python;
    struct tools *tools;
    struct approvals *approvals;
    struct toolplane *plane;
    struct toolplane_job *job;
    char *root_dir;
    bool failed;
};

static int print_modules(char *const *modules, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (dprintf(STDOUT_FILENO, "%s\n", modules[i]) < 0)
            return -errno;
    return 0;
}

/* --- from a file ----------------------------------------------------------------------------- */

/* The array itself, the result of tools/list, or the whole message. */
static const struct json *find_list(const struct json *file)
{
    const struct json *result = json_get(file, "result");
    const struct json *tools = json_get(result ? result : file, "tools");
    return json_is_array(file) ? file : json_is_array(tools) ? tools : NULL;
}

static int read_tools(const struct json *list, struct apigen_tool *tools, struct err *e)
{
    size_t i = 0;
    for (const struct json *item = json_first(list); item; item = json_next(item), i++) {
        const char *description = json_get_text(item, "description");
        tools[i] = (struct apigen_tool){.name = json_get_text(item, "name"),
                                        .description = description ? description : "",
                                        .input = json_get(item, "inputSchema"),
                                        .output = json_get(item, "outputSchema")};
        if (!tools[i].name)
            return err_set(e, -EINVAL, "tool %zu has no name", i + 1);
    }
    return 0;
}

static int from_file(const struct options *o, struct err *e)
{
    drop_json struct json *file = NULL;
    struct apigen_package package = {0};
    int r = jsonfile_read(o->tools_file, FILE_MAX, &file, e);
    if (r < 0)
        return r;
    const struct json *list = find_list(file);
    if (!list)
        return err_set(e, -EINVAL, "%s: must contain the result of tools/list", o->tools_file);
    size_t n = json_count(list);
    struct apigen_tool *tools = xcalloc(n + 1, sizeof *tools);
    r = read_tools(list, tools, e);
    if (r == 0)
        r = apigen_package(o->server_name, tools, n, &package, e);
    if (r == 0)
        r = package_write(o->root_dir, o->server_name, &package, e);
    if (r == 0)
        r = print_modules(package.modules, package.n_modules);
    apigen_package_done(&package);
    xfree(tools);
    return r;
}

/* --- from a server --------------------------------------------------------------------------- */

static void log_generated_tools(enum log_level level, const char *text)
{
    log_write(level, "tools", "%s", text);
}

static void on_apigen_registered(void *ctx, char *const *modules, size_t n, const struct err *why)
{
    struct work *work = ctx;
    work->job = NULL;
    work->failed = why != NULL;
    if (why)
        log_error("apigen", "%s", why->msg);
    else if (print_modules(modules, n) < 0)
        work->failed = true;
    loop_quit(work->loop);
}

static void on_apigen_signal(void *ctx, int signal)
{
    struct work *work = ctx;
    if (signal == SIGCHLD) {
        spawner_reap(work->spawner);
        return;
    }
    work->failed = true;
    loop_quit(work->loop);
}

/* A server that runs in this container keeps its cells from there. */
static int open_apigen_place(struct work *work, struct err *e)
{
    const struct options *o = work->options;
    char path[IDENTITY_PATH_MAX];
    bool has_fallback = identity_runtime_dir(false, path, NULL) == 0;
    int r = environment_python(o->python, &work->python, e);
    if (r == 0)
        r = server_place_open(o, work->workspace, has_fallback ? path : NULL, &work->place, e);
    work->place.place.kept = true;
    work->place.place.python = work->python;
    work->place.place.user_base = work->env.user_base;
    return r;
}

/* The workspace's own name: what is left out of PATH is compared with it. */
static int open_apigen_environment(struct work *work, struct err *e)
{
    const struct options *o = work->options;
    char real[PATH_MAX];
    if (!realpath(o->workspace, real))
        return err_set(e, -errno, "the workspace %s: %s", o->workspace, strerror(errno));
    work->workspace = xstrdup(real);
    environment_load_dotenv(work->workspace);
    const struct environment_config env = {
        .workspace = work->workspace, .ca = o->ca, .tool_socket = ""};
    return environment_make(&env, &work->env, e);
}

static int open_work(struct work *work, struct err *e)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
    const struct options *o = work->options;
    int r = open_apigen_environment(work, e);
    if (r == 0)
        r = open_apigen_place(work, e);
    if (r == 0)
        r = loop_new(&work->loop, e);
    if (r == 0)
        r = loop_signals(work->loop, signals, sizeof signals / sizeof *signals, on_apigen_signal,
                         work, e);
    if (r == 0)
        r = spawner_new(work->loop, &work->spawner, e);
    if (r < 0)
        return r;
    struct tools_config config = {.loop = work->loop,
                                  .spawner = work->spawner,
                                  .envp =
                                      (const char *const *)work->env.outside[ENVIRONMENT_SERVER],
                                  .place = &work->place.place,
                                  .workspace = work->workspace,
                                  .version = IPYBOX_VERSION,
                                  .ca_file = o->ca,
                                  .connect_timeout_ms = o->connect_timeout,
                                  .lookup = environment_lookup,
                                  .log = log_generated_tools};
    r = tools_open(&config, &work->tools, e);
    if (r == 0)
        r = approvals_open(&(struct approvals_config){.loop = work->loop}, &work->approvals, e);
    if (r == 0)
        work->plane = toolplane_open(&(struct toolplane_config){.loop = work->loop,
                                                                .tools = work->tools,
                                                                .approvals = work->approvals,
                                                                .packages_dir = o->root_dir});
    return r;
}

static void close_work(struct work *work)
{
    work->plane = toolplane_close(work->plane);
    work->approvals = approvals_close(work->approvals);
    work->tools = tools_close(work->tools);
    work->spawner = spawner_free(work->spawner, KILL_WAIT_MS);
    work->loop = loop_free(work->loop);
    environment_done(&work->env);
    server_place_done(&work->place);
    xfree(work->workspace);
    xfree(work->python);
}

static int from_server(const struct options *o, struct err *e)
{
    struct work work = {.options = o};
    size_t n = strlen(o->server_params);
    drop_json struct json *params = json_parse_copy(o->server_params, n, JSON_STRICT, e);
    if (!params)
        return err_wrap(e, "--server-params");
    int r = open_work(&work, e);
    if (r == 0)
        r = toolplane_register(work.plane, o->server_name, params, on_apigen_registered, &work,
                               &work.job, e);
    if (r == 0)
        loop_run(work.loop);
    close_work(&work);
    return r < 0 ? r : work.failed ? err_set(e, -EIO, "no package was written") : 0;
}

int apigen_main(const struct options *options)
{
    struct err e = ERR_NONE;
    log_set_level(options->log_level);
    log_set_json(options->log_format == OPTIONS_LOG_JSON);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (options->n_words > 0) {
        if (adopt_all(options, &e) == 0)
            return 0;
        log_error("apigen", "%s", e.msg);
        return 1;
    }
    if (!options->server_name || !options->server_params == !options->tools_file) {
        log_error("apigen", "--server-name, and either --server-params or --tools, are needed "
                            "(see ipybox --help)");
        return OPTIONS_USAGE_STATUS;
    }
    int r = options->tools_file ? from_file(options, &e) : from_server(options, &e);
    if (r < 0)
        log_error("apigen", "%s", e.msg);
    return r < 0 ? 1 : 0;
}
