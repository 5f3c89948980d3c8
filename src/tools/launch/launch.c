/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/launch/launch.h"

#include <string.h>

#include "base/alloc.h"
#include "tools/launch/program.h"
#include "tools/launch/surroundings.h"

/* --- what it holds ---------------------------------------------------------------------------- */

static bool has_variable(const struct json *value)
{
    const char *text = json_text(value);
    if (text)
        return params_has_variable(text);
    for (const struct json *v = json_first(value); v; v = json_next(v))
        if (has_variable(v))
            return true;
    return false;
}

/* Variables that say how a program runs; what they hold is no secret. */
static bool is_plain_word(const char *name)
{
    static const char *const plain[] = {
        "DEBUG",    "FORCE_COLOR", "LANG",     "LANGUAGE",   "LC_ALL",           "LOG_LEVEL",
        "NODE_ENV", "NODE_PATH",   "NO_COLOR", "PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONUTF8",
        "TERM",     "TZ"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(name, plain[i]) == 0)
            return true;
    return false;
}

static bool has_other_variables(const struct json *env)
{
    for (const struct json *v = json_first(env); v; v = json_next(v))
        if (!is_plain_word(json_name(v)))
            return true;
    return false;
}

const char *launch_secret(const struct json *params)
{
    return has_other_variables(json_get(params, "env"))  ? "\"env\""
           : json_count(json_get(params, "headers")) > 0 ? "\"headers\""
           : has_variable(params)                        ? "a ${VAR}"
                                                         : NULL;
}

/* --- while one is made ------------------------------------------------------------------------ */

struct command_making {
    const struct tools_config *tools;
    const struct tools_place *place;
    const struct place_specs *specs;
    const char *name, *why_secret;
    struct server_launch *launch;
    struct params *params;
};

static const char *kept_dir(const struct command_making *m)
{
    return m->place->kept ? m->place->dir : NULL;
}

static char *choose_cwd(const struct command_making *m)
{
    if (m->place->cwd)
        return xstrdup(m->place->cwd);
    bool own = m->why_secret && m->launch->folder;
    return xstrdup(own ? m->launch->folder : m->tools->workspace);
}

static int check_loose(const struct command_making *m, const char *path, struct err *e)
{
    const char *writable = m->place->writable;
    if (!m->why_secret ||
        (writable ? !program_is_below(path, writable) : !program_is_loose(path, kept_dir(m))))
        return 0;
    return err_set(e, -EACCES,
                   "code in cells can write %.120s, and the server holds a secret (%s): put the "
                   "program where cells cannot write (in the image, or mounted read-only), or "
                   "start it by uvx or npx",
                   path, m->why_secret);
}

static char *at_cwd(const struct command_making *m, const char *path)
{
    return *path == '/' ? xstrdup(path) : xasprintf("%s/%s", m->launch->cwd, path);
}

/* --- packages --------------------------------------------------------------------------------- */

static int no_place(const struct command_making *m, const char *what, struct err *e)
{
    return err_set(e, -EACCES,
                   "%s is only among the packages of cells, and the server holds a secret (%s); it "
                   "would get a copy of its own, but there is no folder for servers that cells "
                   "cannot write and that programs run from: mount a volume at /var/lib/ipybox, or "
                   "give --servers-dir",
                   what, m->why_secret);
}

/* What is there already, or a package that was asked for, or nothing. */
static int need_copy(struct command_making *m, const char *what, bool module, bool in_copy,
                     bool in_cells, struct err *e)
{
    const struct tools_place *place = m->place;
    bool usable = place->dir && place->kept && place->runs && m->launch->folder;
    const char *spec = place_spec_of(place, m->specs, what, module);
    if (!spec && !in_copy && in_cells)
        return err_set(e, -EACCES,
                       "%s is only among the packages of cells, and the server holds a secret "
                       "(%s): call install_package for it once more, so that the server gets a "
                       "copy of its own, or start it by uvx",
                       what, m->why_secret);
    if (!spec)
        return 0;
    if (!usable)
        return in_cells ? no_place(m, what, e) : 0;
    if (!in_copy || !place_has_copy(m->launch->folder, spec))
        m->launch->missing = xstrdup(spec);
    return 0;
}

static int find_module(struct command_making *m, const char *module, struct err *e)
{
    drop_str char *own = m->launch->folder ? place_packages(m->launch->folder) : NULL;
    const char *cells = m->place->user_base;
    bool in_copy = own && place_has_module(own, module);
    return need_copy(m, module, true, in_copy, cells && place_has_module(cells, module), e);
}

static int find_server_command(struct command_making *m, const char *command, struct err *e)
{
    drop_str char *own = m->launch->folder ? place_packages(m->launch->folder) : NULL;
    drop_str char *copy = own ? place_command(own, command) : NULL;
    drop_str char *cells = m->place->user_base ? place_command(m->place->user_base, command) : NULL;
    if (!m->why_secret) {
        m->launch->program = xstrdup(copy ? copy : cells);
    } else {
        int r = need_copy(m, command, false, copy != NULL, cells != NULL, e);
        if (r < 0 || m->launch->missing)
            return r;
        m->launch->program = str_take(&copy);
    }
    return m->launch->program ? 0
                              : err_set(e, -ENOENT,
                                        "%s: no such program in PATH; install_package, uvx or npx "
                                        "can bring it",
                                        command);
}

/* --- the program ------------------------------------------------------------------------------ */

static int find_program(struct command_making *m, bool own_path, struct err *e)
{
    const char *command = m->params->argv[0];
    struct server_launch *launch = m->launch;
    if (strchr(command, '/')) {
        launch->program = at_cwd(m, command);
        return check_loose(m, launch->program, e);
    }
    /* Only the system's folders come from the base; a PATH in "env" is the registrant's. */
    drop_str char *base = NULL;
    for (const char *const *at = m->tools->envp; at && *at && !own_path; at++)
        if (strncmp(*at, "PATH=", 5) == 0)
            base = xstrdup(*at + 5);
    const char *path = own_path ? surroundings_get(m->params->envp, "PATH") : base;
    launch->program = program_find(path, command);
    if (launch->program || own_path)
        return launch->program ? 0 : err_set(e, -ENOENT, "%s: no such program in PATH", command);
    return find_server_command(m, command, e);
}

static int check_command_words(struct command_making *m, struct err *e)
{
    char **argv = m->params->argv;
    int script = program_script(argv), local = program_local_package(argv);
    int module = program_module(argv);
    const char *project = program_project(argv);
    int r = 0;
    if (script > 0 && m->why_secret) {
        drop_str char *base = project ? at_cwd(m, project) : xstrdup(m->launch->cwd);
        drop_str char *path =
            *argv[script] == '/' ? xstrdup(argv[script]) : xasprintf("%s/%s", base, argv[script]);
        r = check_loose(m, path, e);
    }
    if (r == 0 && local > 0) {
        drop_str char *path = at_cwd(m, argv[local]);
        r = check_loose(m, path, e);
    }
    if (r == 0 && project) {
        drop_str char *path = at_cwd(m, project);
        r = check_loose(m, path, e);
    }
    if (r == 0 && module > 0 && m->why_secret)
        r = find_module(m, argv[module], e);
    return r;
}

/* A script's neighbours are loaded as ever, though nothing of the working directory is. */
static void put_neighbours(struct command_making *m)
{
    char **argv = m->params->argv;
    int script = program_script(argv);
    const char *project = program_project(argv);
    if (script == 0 || (!project && !program_is_python(argv[0])))
        return;
    drop_str char *base = project ? at_cwd(m, project) : xstrdup(m->launch->cwd);
    drop_str char *path =
        *argv[script] == '/' ? xstrdup(argv[script]) : xasprintf("%s/%s", base, argv[script]);
    char *slash = strrchr(path, '/');
    slash[slash == path] = '\0';
    const char *given = surroundings_get(m->params->envp, "PYTHONPATH");
    drop_str char *both = given && *given ? xasprintf("%s:%s", path, given) : xstrdup(path);
    surroundings_put(&m->params->envp, "PYTHONPATH", both);
}

/* npx looks for node_modules, package.json and .npmrc from where it is started up to /, and puts
 * what it finds there in front of PATH. So it is started in the server's own folder; the shell that
 * it starts the server by goes to where that shall work. */
static int turn_npx(struct command_making *m, struct err *e)
{
    struct params *params = m->params;
    int at = program_npx(params->argv);
    if (at == 0 || program_local_package(params->argv) > 0 || !m->launch->folder)
        return 0;
    if (m->why_secret && !m->place->kept)
        return err_set(e, -EACCES,
                       "npx loads from folders in which cells can write here, and the server holds "
                       "a secret (%s): mount a volume at /var/lib/ipybox, or give --servers-dir",
                       m->why_secret);
    size_t n = 0;
    while (params->argv[n])
        n++;
    params->argv = xrealloc(params->argv, (n + 2) * sizeof *params->argv);
    memmove(params->argv + at + 1, params->argv + at, (n + 1 - (size_t)at) * sizeof *params->argv);
    params->argv[at] = xasprintf("--prefix=%s/npm", m->launch->folder);
    xfree(params->cwd);
    params->cwd = xasprintf("%s/npm", m->launch->folder);
    return 0;
}

static char *make_note(const struct command_making *m)
{
    const struct server_launch *launch = m->launch;
    const struct tools_place *place = m->place;
    const char *packages = place->user_base ? place->user_base : "";
    drop_str char *from =
        launch->program ? xstrdup(launch->program) : xasprintf("a copy of %s", launch->missing);
    if (!m->why_secret)
        return xasprintf("The server %s runs %s in %s. It holds no secret, so it may use what "
                         "cells can write: the packages of install_package (%s)",
                         m->name, from, launch->cwd, packages);
    const char *open = place->kept ? ""
                                   : ". On this machine its own folder is not kept from cells "
                                     "(docs/tools.md)";
    return xasprintf("The server %s runs %s in %s. It holds a secret (%s), so it uses no packages "
                     "of cells, and git only repositories below its own folder %s%s",
                     m->name, from, launch->cwd, m->why_secret,
                     launch->folder ? launch->folder : "(it has none)", open);
}

/* --- making one ------------------------------------------------------------------------------- */

static int read_params(struct command_making *m, const struct json *json, struct err *e)
{
    struct server_launch *launch = m->launch;
    drop_str char *usual = choose_cwd(m);
    struct params_source source = {
        .lookup = m->tools->lookup, .cwd = m->tools->workspace, .usual_cwd = usual};
    char **base =
        surroundings_new(m->tools->envp, m->place, launch->folder, m->why_secret != NULL, usual);
    source.envp = (const char *const *)base;
    int r = params_read(json, &source, m->params, e);
    (void)surroundings_free(base);
    if (r < 0)
        return r;
    launch->cwd = xstrdup(m->params->cwd);
    surroundings_put(&m->params->envp, "IPYBOX_SERVER_CWD", launch->cwd);
    return 0;
}

static int make_server_program(struct command_making *m, const struct json *json, struct err *e)
{
    m->launch->folder = place_folder(m->place, m->name, m->why_secret != NULL);
    int r = read_params(m, json, e);
    if (r < 0)
        return r;
    bool own_path = json_get(json_get(json, "env"), "PATH") != NULL;
    r = find_program(m, own_path, e);
    if (r == 0)
        r = check_command_words(m, e);
    if (r == 0)
        r = turn_npx(m, e);
    if (r == 0) {
        put_neighbours(m);
        m->launch->note = make_note(m);
        if (m->launch->program) {
            xfree(m->params->argv[0]);
            m->params->argv[0] = xstrdup(m->launch->program);
        }
    } else {
        params_done(m->params);
    }
    return r;
}

int launch_make(const struct tools_config *tools, const struct place_specs *specs, const char *name,
                const struct json *params, struct server_launch *ret, struct params *ret_params,
                struct err *e)
{
    bool open = tools->place && tools->place->open; /* there is nobody to keep a secret from */
    const char *why_secret = open ? NULL : launch_secret(params);
    struct server_launch launch = {.secret = why_secret != NULL};
    struct params made = {.kind = PARAMS_STDIO};
    struct command_making m = {.tools = tools,
                               .place = tools->place,
                               .specs = specs,
                               .name = name,
                               .why_secret = why_secret,
                               .launch = &launch,
                               .params = &made};
    struct params_source source = {
        .lookup = tools->lookup, .envp = tools->envp, .cwd = tools->workspace};
    bool program = json_get_text(params, "command") && tools->place;
    int r = program ? make_server_program(&m, params, e) : params_read(params, &source, &made, e);
    if (r < 0) {
        params_scrub_err(&made, e);
        launch_done(&launch);
        return r;
    }
    *ret = launch;
    *ret_params = made;
    return 0;
}

const struct sandbox_spec *launch_confine(const struct tools_config *tools, const char *folder,
                                          struct launch_walls *into)
{
    if (!tools->sandbox || !folder)
        return tools->sandbox;
    *into = (struct launch_walls){.spec = *tools->sandbox, .own = {folder}};
    into->spec.private_dirs = into->own;
    return &into->spec;
}

void launch_done(struct server_launch *launch)
{
    xfree(launch->program);
    xfree(launch->folder);
    xfree(launch->cwd);
    xfree(launch->note);
    xfree(launch->missing);
    *launch = (struct server_launch){0};
}
