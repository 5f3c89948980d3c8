/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/main.c - which role of the program is meant, and nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "entrypoint/cli/adopt.h"
#include "entrypoint/cli/apigen.h"
#include "entrypoint/cli/audit.h"
#include "entrypoint/cli/cli.h"
#include "entrypoint/diagnose/doctor.h"
#include "entrypoint/diagnose/doctor_box.h"
#include "entrypoint/diagnose/health.h"
#include "entrypoint/identity/apisocket.h"
#include "entrypoint/identity/identity.h"
#include "entrypoint/identity/wipe.h"
#include "entrypoint/init.h"
#include "entrypoint/installation.h"
#include "entrypoint/last_words.h"
#include "entrypoint/options.h"
#include "entrypoint/sandbox/sandbox.h"
#include "entrypoint/server/server.h"
#include "entrypoint/started.h"
#include "sandbox/shim/shim.h"

static int fail_command(const struct err *e)
{
    drop_buf struct buf text = BUF_INIT(OPTIONS_TEXT_MAX);
    (void)buf_addf(&text, "ipybox: %s\n", e->msg);
    (void)!write(2, buf_text(&text), text.len);
    return OPTIONS_USAGE_STATUS;
}

static int show_text(const struct buf *text)
{
    return !text->failed && write(1, buf_text(text), text->len) == (ssize_t)text->len ? 0 : 1;
}

static int show_page(void (*make)(struct buf *out))
{
    drop_buf struct buf text = BUF_INIT(OPTIONS_TEXT_MAX);
    make(&text);
    return show_text(&text);
}

static int show_help_of(enum role role)
{
    drop_buf struct buf text = BUF_INIT(OPTIONS_TEXT_MAX);
    options_help_of(role, &text);
    return show_text(&text);
}

static int show_completions(int argc, char **argv)
{
    drop_buf struct buf text = BUF_INIT(OPTIONS_SCRIPT_MAX);
    struct err e = ERR_NONE;
    if (options_completions(argc == 1 ? argv[0] : "", &text, &e) < 0)
        return fail_command(&e);
    return show_text(&text);
}

static void put_version(struct buf *out)
{
    (void)buf_addf(out, "%s\n", options_version());
}

/* Of a server; else ROLE_VERSION. */
static enum role server_role(const char *word)
{
    if (strcmp(word, "server") == 0)
        return ROLE_SERVER;
    if (strcmp(word, "serve") == 0)
        return ROLE_SERVE;
    return strcmp(word, "serve-all") == 0 ? ROLE_SERVE_ALL : ROLE_VERSION;
}

static bool is_server(const char *word)
{
    return server_role(word) != ROLE_VERSION;
}

/* Commands that run programs, which is not for root to do. */
static bool runs_others(const char *word)
{
    return strcmp(word, "sandbox") == 0 || strcmp(word, "doctor") == 0 ||
           strcmp(word, "apigen") == 0;
}

/* It looks at the command's surroundings as who has started it, and tries ways out as cells do. */
static int doctor(int argc, char **argv)
{
    struct err e = ERR_NONE;
    int open = argc == 0 ? doctor_start() : 0;
    return identity_become_owner(false, &e) < 0 ? fail_command(&e) : doctor_main(argc, argv, open);
}

/* In a container init has become somebody else by now, unless it was passed by. Root of a user
 * namespace is its maker. */
static int check_root(const struct options *o, struct err *e)
{
    unsigned long inside = 1, outside = 1;
    FILE *map = fopen("/proc/self/uid_map", "re");
    bool real =
        map && fscanf(map, "%lu %lu", &inside, &outside) == 2 && inside == 0 && outside == 0;
    if (map)
        (void)fclose(map);
    if (geteuid() != 0 || !real || o->allow_root)
        return 0;
    return err_set(
        e, -EPERM,
        "cells would be root: start ipybox %s, or with --allow-root "
        "(IPYBOX_ALLOW_ROOT=1) if that is intended",
        installation_is_native()
            ? "as an ordinary user"
            : "through `ipybox init`, the image's ENTRYPOINT, which changes the user (in "
              "Kubernetes name args, not command), or as an ordinary user");
}

/* The server, apigen, or a command that talks to the running server. */
static int serve_with_options(enum role role, int argc, char **argv)
{
    struct options options;
    struct err e = ERR_NONE;
    if (options_parse(role, argc, argv, &options, &e) < 0)
        return fail_command(&e);
    switch (options.want) {
    case OPTIONS_HELP:
        return show_help_of(role);
    case OPTIONS_VERSION:
        return show_page(put_version);
    case OPTIONS_RUN:
        break;
    }
    if (options_own(role) & OPTION_OF_CLI)
        return cli_main(role, &options);
    if (options.n_words > 0 && !adopt_is_meant(argc, argv)) {
        (void)err_set(&e, -EINVAL, "apigen: " OPTIONS_ADOPT " stands before the options");
        return fail_command(&e);
    }
    if (role != ROLE_APIGEN && check_root(&options, &e) < 0) {
        last_words_write(LAST_WORDS_PATH, e.msg);
        return fail_command(&e);
    }
    return role == ROLE_APIGEN ? apigen_main(&options) : server_main(&options);
}

static int serve_alone(enum role role, int argc, char **argv)
{
    struct err e = ERR_NONE;
    if (identity_take_over(&e) < 0)
        return fail_command(&e);
    if (role == ROLE_APIGEN && identity_become_owner(adopt_is_meant(argc, argv), &e) < 0)
        return fail_command(&e);
    if (identity_read_secrets(&e) < 0) /* under init they have been read already */
        return fail_command(&e);
    return serve_with_options(role, argc, argv);
}

enum { LEFTOVER_GRACE_MS = 500 };

/* Before all that takes time: a framework may come as soon as the container runs. */
static int listen_ahead(const struct options *options, struct init_plan *plan, struct err *e)
{
    started_listen(options, &plan->ahead);
    return ahead_tell(&plan->ahead, e);
}

/* While we are root, and only for a server that will not be. */
static void open_api_socket(const struct identity *identity, struct init_plan *plan)
{
    struct err e = ERR_NONE;
    if (geteuid() != 0 || identity->uid == 0)
        return;
    if (apisocket_for_child(identity, &plan->passed, &e) < 0)
        log_warning("init", "`ipybox approve` will not work: %s", e.msg);
}

/* The program of `docker run IMAGE PROGRAM` may be one that was installed. PATH is the image's: of
 * folders in which no cell can plant one for root, who comes with `docker exec`. */
static void show_installed_programs(void)
{
    const char *home = getenv("HOME"), *path = getenv("PATH");
    drop_str char *with = xasprintf("%s/.local/bin:%s", home ? home : "", path ? path : "");
    if (home && path)
        (void)setenv("PATH", with, 1);
}

/* No descriptor of ours is to be standard input for what we start. */
static void keep_standard_input(void)
{
    if (fcntl(STDIN_FILENO, F_GETFD) < 0 && /* the lowest number is 0 then */
        open("/dev/null", O_RDONLY | O_CLOEXEC) == STDIN_FILENO)
        (void)fcntl(STDIN_FILENO, F_SETFD, 0);
}

/* A terminal may be nobody's: some frameworks give the container one and come with `docker exec`
 * alone. They take every capability from root, with which no server can start. */
static int stay_for_exec(struct init_plan *plan, const struct err *e)
{
    static char program[] = "sleep", forever[] = "infinity";
    log_error("init", "%s", e->msg);
    log_warning("init", "nothing is served; programs can be run with `docker exec`");
    xfree(plan->argv);
    plan->argv = xcalloc(3, sizeof *plan->argv);
    plan->argv[0] = program;
    plan->argv[1] = forever;
    plan->self = false;
    plan->identity = NULL;
    ahead_close(&plan->ahead);
    return 0;
}

static int fail_init(const struct init_plan *plan, const struct err *e)
{
    last_words_write(plan->last_words, e->msg);
    return fail_command(e);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The words behind `init` are checked here, before anything runs: a typing error should not look
 * like a container that starts and stops. */
static int init(int argc, char **argv)
{
    struct init_plan plan = {.leftover_grace_ms = LEFTOVER_GRACE_MS};
    struct identity identity;
    struct options options;
    struct err e = ERR_NONE;
    static char server_word[] = "server", all_word[] = "serve-all";
    enum started how = started_how(STDIN_FILENO);
    keep_standard_input();
    init_plan_words(argc, argv, how == STARTED_WITH_PEER ? server_word : all_word, &plan);
    bool server = plan.self && is_server(plan.argv[1]);
    bool named = argc > 0 && is_server(argv[0]);
    plan.last_words = server ? LAST_WORDS_PATH : NULL;
    enum role role = server ? server_role(plan.argv[1]) : ROLE_SERVER;
    int r = options_parse(role, server ? argc - named : 0, argv + (server && named), &options, &e);
    if (argc == 0 && how == STARTED_AT_TERMINAL)
        (void)show_page(started_explain);
    if (r == 0 && options.want == OPTIONS_RUN && server)
        r = listen_ahead(&options, &plan, &e);
    bool works = server || !plan.self || runs_others(plan.argv[1]);
    if (r == 0 && options.want == OPTIONS_RUN && works) {
        /* a closed workspace is no reason to refuse --help or health */
        log_set_level(options.log_level);
        log_set_json(options.log_format == OPTIONS_LOG_JSON);
        if (server && is_folder(options.workspace)) /* else that alone is said */
            log_info("init", "%s starts: it runs Python for language models in %s, and serves %s",
                     options_version(), options.workspace,
                     options.serve ? "HTTP" : "MCP on standard input and output");
        bool adopts = plan.self && strcmp(plan.argv[1], "apigen") == 0 &&
                      adopt_is_meant(plan.argv[2] != NULL, plan.argv + 2);
        /* Registrations are files of the service uid. */
        r = identity_prepare(options.workspace, server || adopts, &identity, &e);
        plan.identity = &identity;
        if (r == 0 && server)
            open_api_socket(&identity, &plan);
        plan.stop_grace_ms = (int64_t)options.stop_grace * 1000;
    }
    if (r == -EPERM && argc == 0 && how == STARTED_AT_TERMINAL)
        r = stay_for_exec(&plan, &e);
    else if (r == 0 && !plan.self)
        show_installed_programs();
    /* Without a word it is the whole program that is asked about, not the server that is meant. */
    bool asked = r == 0 && server && !named && options.want == OPTIONS_HELP;
    int status = r < 0 ? fail_init(&plan, &e) : asked ? show_page(options_help) : init_main(&plan);
    xfree(plan.argv);
    return status;
}

static int help(int argc, char **argv)
{
    enum role role;
    int skip;
    char *words[] = {NULL, argc > 0 ? argv[0] : NULL};
    struct err e = ERR_NONE;
    if (argc > 0 && argv[0][0] != '-')
        return options_role(2, words, &role, &skip, &e) < 0 ? fail_command(&e) : show_help_of(role);
    return show_page(argc > 0 && strcmp(argv[0], "--markdown") == 0 ? options_markdown
                                                                    : options_help);
}

/* Commands that do not read options as the others do. */
static bool has_page_alone(enum role role)
{
    return role == ROLE_HEALTH || role == ROLE_AUDIT || role == ROLE_SANDBOX ||
           role == ROLE_DOCTOR || role >= ROLE_COMPLETIONS;
}

int main(int argc, char **argv)
{
    enum role role = ROLE_SERVER;
    int skip = 0;
    struct err e = ERR_NONE;
    wipe_environment();
    if (argc > 0 && sandbox_is_srt(argv[0]))
        return sandbox_main(true, argc - 1, argv + 1);
    if (options_role(argc, argv, &role, &skip, &e) < 0)
        return fail_command(&e);
    argc -= skip;
    argv += skip;
    if (has_page_alone(role) && argc > 0 &&
        (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0))
        return show_help_of(role);
    switch (role) {
    case ROLE_SERVER:
    case ROLE_SERVE:
    case ROLE_SERVE_ALL:
    case ROLE_APIGEN:
        return serve_alone(role, argc, argv);
    case ROLE_INIT:
        return init(argc, argv);
    case ROLE_SHIM:
        return shim_main(argc + 1, argv - 1);
    case ROLE_BRANCH:
        return branch_main(argc + 1, argv - 1);
    case ROLE_HEALTH:
        return health_main();
    case ROLE_AUDIT:
        return audit_main(argc, argv);
    case ROLE_SANDBOX:
        return identity_become_owner(false, &e) < 0 ? fail_command(&e)
                                                    : sandbox_main(false, argc, argv);
    case ROLE_DOCTOR:
        return doctor(argc, argv);
    case ROLE_EXEC:
    case ROLE_SESSIONS:
    case ROLE_POLICY:
    case ROLE_APPROVE:
    case ROLE_LOGS:
    case ROLE_EXPORT:
    case ROLE_FORK:
        return serve_with_options(role, argc, argv);
    case ROLE_COMPLETIONS:
        return show_completions(argc, argv);
    case ROLE_MAN:
        return show_page(options_man);
    case ROLE_HELP:
        return help(argc, argv);
    case ROLE_VERSION:
        return show_page(put_version);
    }
    return OPTIONS_USAGE_STATUS;
}
