/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tools/launch/launch.h"
#include "tools/launch/surroundings.h"

static char root[64], place_dir[80], cells[80], space[80];
static struct tools_place place;
static struct tools_config config;
static struct place_specs specs;
static struct server_launch launch;
static struct params params;
static struct err e;

static const char *lookup(const char *name)
{
    return strcmp(name, "TOKEN") == 0 ? "hush-hush" : NULL;
}

static void write_file(const char *folder, const char *name, const char *text)
{
    drop_str char *path = xasprintf("%s/%s", folder, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    TEST_ASSERT(fd >= 0);
    TEST_ASSERT(fd_write(fd, text, strlen(text)) == 0);
    (void)close(fd);
}

static void open_all(void)
{
    static const char *const envp[] = {"PATH=/usr/bin:/bin",
                                       "HOME=/nobody",
                                       "PYTHONNOUSERSITE=1",
                                       "GIT_CONFIG_GLOBAL=/dev/null",
                                       "NPM_CONFIG_USERCONFIG=/dev/null",
                                       "UV_CACHE_DIR=/theirs",
                                       NULL};
    (void)snprintf(root, sizeof root, "/tmp/ipybox-launch-XXXXXX");
    TEST_ASSERT(mkdtemp(root) != NULL);
    (void)snprintf(place_dir, sizeof place_dir, "%s/servers", root);
    (void)snprintf(cells, sizeof cells, "%s/cells", root);
    (void)snprintf(space, sizeof space, "%s/space", root);
    TEST_ASSERT(mkdir(place_dir, 0700) == 0 && mkdir(cells, 0700) == 0 && mkdir(space, 0700) == 0);
    place = (struct tools_place){.dir = place_dir,
                                 .kept = true,
                                 .runs = true,
                                 .user_base = cells,
                                 .python = "/usr/bin/python3",
                                 .npm_shell = "/shell"};
    config =
        (struct tools_config){.envp = envp, .place = &place, .workspace = space, .lookup = lookup};
    specs = (struct place_specs){0};
}

static void close_all(void)
{
    place_specs_done(&specs);
    drop_str char *command = xasprintf("rm -rf %s", root);
    TEST_ASSERT(system(command) == 0); // NOLINT
}

static void forget(void)
{
    launch_done(&launch);
    params_done(&params);
}

static int make(const char *text)
{
    drop_json struct json *j = json_parse_copy(text, strlen(text), JSON_STRICT, &e);
    TEST_ASSERT(j != NULL);
    e = ERR_NONE;
    TEST_CASE(text);
    int r = launch_make(&config, &specs, "demo", j, &launch, &params, &e);
    TEST_MSG("%s", e.msg);
    return r;
}

static const char *variable(const char *name)
{
    const char *value = surroundings_get(params.envp, name);
    return value ? value : "";
}

static bool is_in(const char *path, const char *folder)
{
    return strncmp(path, folder, strlen(folder)) == 0;
}

static void secrets_are_members_of_env_and_headers_and_variables(void)
{
    static const struct {
        const char *params;
        bool secret;
    } cases[] = {
        {"{\"command\":\"a\"}", false},
        {"{\"command\":\"a\",\"env\":{},\"args\":[\"$HOME\"]}", false},
        {"{\"command\":\"a\",\"env\":{\"A\":\"1\"}}", true},
        {"{\"command\":\"a\",\"env\":{\"LANG\":\"C\",\"PYTHONPATH\":\"lib\"}}", false},
        {"{\"command\":\"a\",\"env\":{\"LANG\":\"C\",\"LANGUAGE_KEY\":\"k\"}}", true},
        {"{\"command\":\"a\",\"env\":{\"LANG\":\"${KEY}\"}}", true},
        {"{\"command\":\"a\",\"args\":[\"--key\",\"x${KEY}y\"]}", true},
        {"{\"command\":\"a\",\"cwd\":\"${DIR}\"}", true},
        {"{\"url\":\"http://h/mcp\",\"headers\":{\"A\":\"1\"}}", true},
        {"{\"url\":\"http://h/mcp?k=${KEY}\"}", true},
        {"{\"url\":\"http://h/mcp\"}", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].params;
        drop_json struct json *j = json_parse_copy(text, strlen(text), JSON_STRICT, NULL);
        TEST_CASE(text);
        TEST_CHECK((launch_secret(j) != NULL) == cases[i].secret);
    }
}

static void a_server_works_in_the_workspace_or_with_a_secret_in_its_own_folder(void)
{
    open_all();
    drop_str char *own = xasprintf("%s/demo.secret", place_dir);
    TEST_CHECK(make("{\"command\":\"env\"}") == 0);
    TEST_CHECK(strcmp(params.cwd, space) == 0);
    TEST_CHECK(strstr(launch.note, "It holds no secret") != NULL);
    forget();
    TEST_CHECK(make("{\"command\":\"env\",\"env\":{\"A\":\"1\"}}") == 0);
    TEST_CHECK(strcmp(params.cwd, own) == 0);
    TEST_CHECK(strstr(launch.note, "It holds a secret (\"env\")") != NULL);
    forget();
    TEST_CHECK(make("{\"command\":\"env\",\"args\":[\"${TOKEN}\"],\"cwd\":\"sub\"}") == 0);
    TEST_CHECK(is_in(params.cwd, space) && strstr(params.cwd, "/sub"));
    TEST_CHECK(!strstr(launch.note, "hush"));
    forget();
    place.cwd = "/operators";
    TEST_CHECK(make("{\"command\":\"env\",\"env\":{\"A\":\"1\"}}") == 0);
    TEST_CHECK(strcmp(params.cwd, "/operators") == 0);
    forget();
    close_all();
}

static void the_surroundings_are_its_own_and_loaders_are_off(void)
{
    open_all();
    drop_str char *own = xasprintf("%s/demo.secret/", place_dir);
    TEST_CHECK(make("{\"command\":\"env\",\"env\":{\"A\":\"1\",\"UV_PYTHON\":\"3.12\"}}") == 0);
    static const char *const inside[] = {"HOME", "TMPDIR", "PYTHONUSERBASE"};
    TEST_CHECK(!*variable("GIT_CONFIG_GLOBAL") && !*variable("NPM_CONFIG_USERCONFIG"));
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        TEST_CASE(inside[i]);
        TEST_CHECK(is_in(variable(inside[i]), own));
    }
    TEST_CHECK(strcmp(variable("UV_CACHE_DIR"), "/theirs") == 0); /* the operator's */
    TEST_CHECK(strcmp(variable("UV_PYTHON"), "3.12") == 0);       /* of "env" */
    TEST_CHECK(strcmp(variable("UV_NO_CONFIG"), "1") == 0);
    TEST_CHECK(strcmp(variable("PYTHONSAFEPATH"), "1") == 0);
    TEST_CHECK(!*variable("PYTHONNOUSERSITE"));
    TEST_CHECK(!strstr(variable("PATH"), cells));
    TEST_CHECK(strcmp(variable("GIT_TEST_ASSUME_DIFFERENT_OWNER"), "1") == 0);
    TEST_CHECK(strcmp(variable("GIT_CONFIG_KEY_0"), "core.fsmonitor") == 0);
    forget();
    TEST_CHECK(make("{\"command\":\"env\"}") == 0);
    drop_str char *end = xasprintf(":%s/bin", cells);
    TEST_CHECK(is_in(variable("PATH"), "/usr/bin:/bin:"));
    TEST_CHECK(strcmp(variable("PATH") + strlen(variable("PATH")) - strlen(end), end) == 0);
    TEST_CHECK(strcmp(variable("PYTHONUSERBASE"), cells) == 0);
    TEST_CHECK(!*variable("GIT_TEST_ASSUME_DIFFERENT_OWNER"));
    forget();
    close_all();
}

static void a_program_of_the_system_comes_before_one_of_cells(void)
{
    open_all();
    write_file(cells, "bin/env", "");
    write_file(cells, "bin/only-theirs", "");
    TEST_CHECK(make("{\"command\":\"env\"}") == 0);
    TEST_CHECK(strcmp(params.argv[0], "/usr/bin/env") == 0);
    forget();
    TEST_CHECK(make("{\"command\":\"only-theirs\"}") == 0);
    TEST_CHECK(is_in(params.argv[0], cells));
    forget();
    TEST_CHECK(make("{\"command\":\"only-theirs\",\"env\":{\"A\":\"1\"}}") == -EACCES);
    TEST_CHECK(strstr(e.msg, "install_package") != NULL);
    TEST_CHECK(make("{\"command\":\"nowhere\"}") == -ENOENT);
    TEST_CHECK(strstr(e.msg, "no such program in PATH") != NULL);
    close_all();
}

static void what_cells_can_write_is_not_run_with_a_secret(void)
{
    static const char *const refused[] = {
        "{\"command\":\"./serve\",\"cwd\":\"%s\",\"env\":{\"A\":\"1\"}}",
        "{\"command\":\"%s/serve\",\"env\":{\"A\":\"1\"}}",
        "{\"command\":\"sh\",\"args\":[\"%s/serve\"],\"env\":{\"A\":\"1\"}}",
        "{\"command\":\"sh\",\"args\":[\"serve\"],\"cwd\":\"%s\",\"env\":{\"A\":\"1\"}}",
    };
    open_all();
    write_file(space, "serve", "");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        drop_str char *text = NULL;
        const char *at = strstr(refused[i], "%s");
        text = xasprintf("%.*s%s%s", (int)(at - refused[i]), refused[i], space, at + 2);
        TEST_CHECK(make(text) == -EACCES);
        TEST_CHECK(strstr(e.msg, "code in cells can write") && strstr(e.msg, "mounted read-only"));
    }
    TEST_CHECK(make("{\"command\":\"./serve\"}") == 0); /* it holds none */
    forget();
    close_all();
}

static void npx_works_in_the_servers_own_folder(void)
{
    open_all();
    write_file(space, "npx", "");
    drop_str char *own = xasprintf("%s/demo/npm", place_dir);
    drop_str char *option = xasprintf("--prefix=%s", own);
    TEST_CHECK(make("{\"command\":\"./npx\",\"args\":[\"-y\",\"pkg\"]}") == 0);
    TEST_CHECK(strcmp(params.argv[1], option) == 0 && strcmp(params.argv[2], "-y") == 0);
    TEST_CHECK(strcmp(params.cwd, own) == 0 && strcmp(launch.cwd, space) == 0);
    TEST_CHECK(strcmp(variable("IPYBOX_SERVER_CWD"), space) == 0);
    TEST_CHECK(strcmp(variable("npm_config_script_shell"), "/shell") == 0);
    forget();
    close_all();
}

static void a_scripts_neighbours_are_loaded(void)
{
    open_all();
    TEST_CHECK(make("{\"command\":\"python3\",\"args\":[\"/srv/app/main.py\"]}") == 0);
    TEST_CHECK(strcmp(variable("PYTHONPATH"), "/srv/app") == 0);
    forget();
    close_all();
}

#define SECRET_SERVER "{\"command\":\"mcp-tool\",\"env\":{\"A\":\"1\"}}"

static void a_server_with_a_secret_gets_a_copy_of_what_was_asked_for(void)
{
    open_all();
    write_file(cells, "bin/mcp-tool", "");
    place_specs_add(&place, &specs, "other");
    TEST_CHECK(make(SECRET_SERVER) == -EACCES); /* nobody asked for what brings it */
    place_specs_add(&place, &specs, "Mcp_Tool>=2");
    TEST_CHECK(make(SECRET_SERVER) == 0);
    TEST_CHECK(launch.missing && strcmp(launch.missing, "Mcp_Tool>=2") == 0);
    forget();
    write_file(place_dir, "demo.secret/home/.local/bin/mcp-tool", "");
    TEST_CHECK(make(SECRET_SERVER) == 0);
    TEST_CHECK(launch.missing != NULL); /* nobody knows of what that is a copy */
    place_note_copy(launch.folder, "Mcp_Tool>=2");
    forget();
    TEST_CHECK(make(SECRET_SERVER) == 0);
    TEST_CHECK(!launch.missing && is_in(params.argv[0], place_dir));
    forget();
    place_specs_add(&place, &specs, "mcp.tool==3"); /* the newest is what is meant */
    TEST_CHECK(make(SECRET_SERVER) == 0);
    TEST_CHECK(launch.missing && strcmp(launch.missing, "mcp.tool==3") == 0);
    forget();
    close_all();
}

static void metadata_of_cells_chooses_among_what_was_asked_for(void)
{
    static const char site[] = "lib/python3.13/site-packages";
    static const char module[] =
        "{\"command\":\"python3\",\"args\":[\"-m\",\"odd_name\"],\"env\":{\"A\":\"1\"}}";
    open_all();
    drop_str char *record = xasprintf("%s/real_dist-1.0.dist-info/RECORD", site);
    drop_str char *evil = xasprintf("%s/evil-1.0.dist-info/RECORD", site);
    drop_str char *file = xasprintf("%s/odd_name/__init__.py", site);
    write_file(cells, record, "x\n../../../bin/mcp-tool,sha256=x,9\nodd_name/__init__.py,,\n");
    write_file(cells, evil, "../../../bin/mcp-other,sha256=x,9\n");
    write_file(cells, file, "");
    write_file(cells, "bin/mcp-tool", "");
    write_file(cells, "bin/mcp-other", "");
    place_specs_add(&place, &specs, "real-dist");
    TEST_CHECK(make(SECRET_SERVER) == 0);
    TEST_CHECK(launch.missing && strcmp(launch.missing, "real-dist") == 0);
    forget();
    TEST_CHECK(make(module) == 0);
    TEST_CHECK(launch.missing && strcmp(launch.missing, "real-dist") == 0);
    forget();
    TEST_CHECK(make("{\"command\":\"mcp-other\",\"env\":{\"A\":\"1\"}}") == -EACCES);
    /* A path is no name: what lies there is the cells'. */
    place_specs_add(&place, &specs, "./evil");
    place_specs_add(&place, &specs, "evil @ file:///app/workspace/evil");
    TEST_CHECK(make("{\"command\":\"mcp-other\",\"env\":{\"A\":\"1\"}}") == -EACCES);
    close_all();
}

static void without_a_place_that_is_kept_there_is_no_copy(void)
{
    open_all();
    write_file(cells, "bin/mcp-tool", "");
    place_specs_add(&place, &specs, "mcp-tool");
    place.kept = false;
    TEST_CHECK(make(SECRET_SERVER) == -EACCES);
    TEST_CHECK(strstr(e.msg, "mount a volume at /var/lib/ipybox") != NULL);
    place.kept = true;
    place.runs = false;
    TEST_CHECK(make(SECRET_SERVER) == -EACCES);
    place.dir = NULL;
    TEST_CHECK(make(SECRET_SERVER) == -EACCES);
    TEST_CHECK(make("{\"command\":\"mcp-tool\"}") == 0);
    forget();
    close_all();
}

static void what_was_asked_for_is_known_to_the_next_start(void)
{
    struct place_specs again = {0};
    open_all();
    place_specs_add(&place, &specs, "one");
    place_specs_add(&place, &specs, "two");
    place_specs_add(&place, &specs, "one");
    place_specs_load(&place, &again);
    TEST_CHECK(again.n == 2 && strcmp(again.items[0], "one") == 0);
    place_specs_done(&again);
    for (int i = 0; i < PLACE_SPECS_MAX + 5; i++) {
        drop_str char *spec = xasprintf("p%d", i);
        place_specs_add(&place, &specs, spec);
    }
    TEST_CHECK(specs.n == PLACE_SPECS_MAX && strcmp(specs.items[0], "p204") == 0);
    place.kept = false; /* a cell may have written it */
    place_specs_load(&place, &again);
    TEST_CHECK(again.n == 0);
    close_all();
}

TEST_LIST = {
    {"secrets are members of env and headers, and variables",
     secrets_are_members_of_env_and_headers_and_variables},
    {"a server works in the workspace, or with a secret in its own folder",
     a_server_works_in_the_workspace_or_with_a_secret_in_its_own_folder},
    {"the surroundings are its own and loaders are off",
     the_surroundings_are_its_own_and_loaders_are_off},
    {"a program of the system comes before one of cells",
     a_program_of_the_system_comes_before_one_of_cells},
    {"what cells can write is not run with a secret",
     what_cells_can_write_is_not_run_with_a_secret},
    {"npx works in the server's own folder", npx_works_in_the_servers_own_folder},
    {"a script's neighbours are loaded", a_scripts_neighbours_are_loaded},
    {"a server with a secret gets a copy of what was asked for",
     a_server_with_a_secret_gets_a_copy_of_what_was_asked_for},
    {"metadata of cells chooses among what was asked for",
     metadata_of_cells_chooses_among_what_was_asked_for},
    {"without a place that is kept there is no copy",
     without_a_place_that_is_kept_there_is_no_copy},
    {"what was asked for is known to the next start",
     what_was_asked_for_is_known_to_the_next_start},
    {NULL, NULL},
};
