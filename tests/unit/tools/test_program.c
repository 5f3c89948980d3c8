/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tools/launch/program.h"

static char *words[12];

static char **split(const char *text)
{
    size_t n = 0;
    for (const char *at = text; *at && n < 11; n++) {
        size_t length = strcspn(at, " ");
        words[n] = xstrndup(at, length);
        at += length + (at[length] == ' ');
    }
    words[n] = NULL;
    return words;
}

static void drop_words(void)
{
    for (size_t i = 0; words[i]; i++)
        xfree(words[i]);
}

static void what_is_run_is_found_in_the_words_of_a_command(void)
{
    static const struct {
        const char *line;
        int script, module, local, npx;
        const char *project;
    } cases[] = {
        {"python3 server.py --port 3", 1, 0, 0, 0, NULL},
        {"/usr/bin/python3.13 -u -X dev /srv/s.py", 4, 0, 0, 0, NULL},
        {"python3 -m mcp_server_git -r .", 0, 2, 0, 0, NULL},
        {"python3 -I -W error -m a.b", 0, 5, 0, 0, NULL},
        {"python3 -c pass x.py", 0, 0, 0, 0, NULL},
        {"pythonic x.py", 0, 0, 0, 0, NULL},
        {"node --require x dist/index.js", 3, 0, 0, 0, NULL},
        {"sh -c ./x", 0, 0, 0, 0, NULL},
        {"bash -- start.sh", 2, 0, 0, 0, NULL},
        {"uvx mcp-server-git --repository /app/workspace", 0, 0, 0, 0, NULL},
        {"uvx --from ./mine tool", 0, 0, 2, 0, NULL},
        {"uvx ./mine", 0, 0, 1, 0, NULL},
        {"uv run --directory /srv server.py", 4, 0, 0, 0, "/srv"},
        {"uv --project=/srv run tool", 0, 0, 0, 0, "/srv"},
        {"uv run tool", 0, 0, 0, 0, ""},
        {"uv tool list", 0, 0, 0, 0, NULL},
        {"npx -y pkg ./data", 0, 0, 0, 1, NULL},
        {"npx -y ./pkg", 0, 0, 2, 1, NULL},
        {"npm exec pkg", 0, 0, 0, 2, NULL},
        {"npm install", 0, 0, 0, 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char **argv = split(cases[i].line);
        const char *project = program_project(argv);
        TEST_CASE(cases[i].line);
        TEST_CHECK(program_script(argv) == cases[i].script);
        TEST_CHECK(program_module(argv) == cases[i].module);
        TEST_CHECK(program_local_package(argv) == cases[i].local);
        TEST_CHECK(program_npx(argv) == cases[i].npx);
        TEST_CHECK((project == NULL) == (cases[i].project == NULL));
        TEST_CHECK(!project || strcmp(project, cases[i].project) == 0);
        drop_words();
    }
}

static void touch(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    TEST_ASSERT(fd >= 0);
    (void)close(fd);
}

/* The image's folders are nobody's but root's; what this user may write a cell may. */
static void a_program_is_loose_where_its_file_or_the_way_to_it_can_be_changed(void)
{
    char dir[] = "/tmp/ipybox-program-XXXXXX";
    TEST_ASSERT(mkdtemp(dir) != NULL);
    TEST_ASSERT(chdir(dir) == 0);
    touch("server");
    TEST_ASSERT(symlink("/usr/bin/env", "link") == 0);
    TEST_ASSERT(symlink("loop", "loop") == 0);
    static const struct {
        const char *below; /* of the folder; or absolute */
        bool loose;
    } cases[] = {
        {"server", true},     {"missing", true},       {"link", true},     {"loop", true},
        {"../no/such", true}, {"/usr/bin/env", false}, {"/bin/sh", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = cases[i].below;
        drop_str char *path = *name == '/' ? xstrdup(name) : xasprintf("%s/%s", dir, name);
        TEST_CASE(name);
        TEST_CHECK(program_is_loose(path, NULL) == cases[i].loose);
    }
    drop_str char *kept = xasprintf("%s/server", dir);
    TEST_CHECK(!program_is_loose(kept, dir) || geteuid() == 0);
    /* A link of ours that leads to a closed place is no closed place. */
    drop_str char *link = xasprintf("%s/link", dir);
    TEST_CHECK(program_is_loose(link, "/nowhere"));
    (void)unlink("server");
    (void)unlink("link");
    (void)unlink("loop");
    (void)rmdir(dir);
}

static void only_absolute_folders_of_a_path_are_looked_at(void)
{
    char dir[] = "/tmp/ipybox-program-XXXXXX";
    TEST_ASSERT(mkdtemp(dir) != NULL);
    TEST_ASSERT(chdir(dir) == 0);
    touch("env");
    drop_str char *found = program_find(":.:bin:/usr/bin:/bin", "env");
    TEST_CHECK(found && strcmp(found, "/usr/bin/env") == 0);
    drop_str char *none = program_find("/nowhere:", "env");
    TEST_CHECK(!none);
    (void)unlink("env");
    (void)rmdir(dir);
}

TEST_LIST = {
    {"what is run is found in the words of a command",
     what_is_run_is_found_in_the_words_of_a_command},
    {"a program is loose where its file or the way to it can be changed",
     a_program_is_loose_where_its_file_or_the_way_to_it_can_be_changed},
    {"only absolute folders of a PATH are looked at",
     only_absolute_folders_of_a_path_are_looked_at},
    {NULL, NULL},
};
