/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/client/package.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acutest.h"
#include "base/alloc.h"

static char dir[64], root[128];

static void start(void)
{
    (void)snprintf(dir, sizeof dir, "/tmp/package-XXXXXX");
    TEST_ASSERT(mkdtemp(dir) != NULL);
    (void)snprintf(root, sizeof root, "%s/mcptools", dir);
    (void)umask(022);
}

static void run(const char *script)
{
    drop_str char *command = xasprintf("cd %s && %s", dir, script);
    TEST_CHECK_(system(command) == 0, "%s", command);
}

static int write_package(const char *first, const char *second, struct err *e)
{
    struct apigen_file files[] = {{.name = "__init__.py", .text = "x = 1\n"},
                                  {.name = (char *)(size_t)first, .text = (char *)(size_t)second}};
    struct apigen_package package = {.files = files, .n_files = 2};
    return package_write(root, "demo", &package, e);
}

static void expect(const char *name, const char *text)
{
    char found[64] = "";
    drop_str char *path = xasprintf("%s/%s", dir, name);
    drop_fd int fd = open(path, O_RDONLY);
    if (text) {
        TEST_ASSERT_(fd >= 0, "%s", path);
        TEST_CHECK(read(fd, found, sizeof found - 1) >= 0);
        TEST_CHECK_(strcmp(found, text) == 0, "%s: %s", name, found);
    } else {
        TEST_CHECK_(fd < 0, "%s", path);
    }
}

#define MODULE "# A tool of an MCP server.\n"

static ino_t inode(const char *name)
{
    struct stat st;
    drop_str char *path = xasprintf("%s/%s", dir, name);
    TEST_ASSERT_(stat(path, &st) == 0, "%s", path);
    return st.st_ino;
}

static void what_users_have_added_is_kept(void)
{
    start();
    TEST_ASSERT(write_package("a.py", MODULE "1\n", NULL) == 0);
    run("cd mcptools/demo && echo mine >> a.py && echo x > own.py && mkdir sub");
    ino_t whole = inode("mcptools/demo"), module = inode("mcptools/demo/a.py");
    TEST_ASSERT(write_package("a.py", MODULE "1\n", NULL) == 0);
    TEST_CHECK(inode("mcptools/demo") == whole && inode("mcptools/demo/a.py") == module);
    TEST_ASSERT(write_package("a.py", MODULE "2\n", NULL) == 0);
    TEST_CHECK(inode("mcptools/demo") != whole);
    run("test \"$(sed -n '2p;$p' mcptools/demo/a.py | tr '\\n' ' ')\" = '2 mine '");
    run("test \"$(ls mcptools/demo | tr '\\n' ' ')\" = '__init__.py a.py own.py sub '");
    run("sed -i 's/^2$/changed/' mcptools/demo/a.py");
    TEST_ASSERT(write_package("a.py", MODULE "3\n", NULL) == 0);
    run("grep -q changed mcptools/demo/a.py.orig && ! grep -q changed mcptools/demo/a.py");
    TEST_ASSERT(write_package("b.py", MODULE "1\n", NULL) == 0); /* the tool a is gone */
    run("tail -n 1 mcptools/demo/a.py | grep -q mine");
    run("rm -rf \"$PWD\"");
}

static void a_module_of_the_python_system_keeps_what_stands_below_run(void)
{
    start();
    run("mkdir -p mcptools/demo && printf '%s\\n' 'class Params: pass' "
        "'def run(params: Params) -> str:' '    \"\"\"Text' 'at the margin' '    \"\"\"' "
        "'    return 1' '' 'class ParseResult: pass' > mcptools/demo/a.py");
    TEST_ASSERT(write_package("a.py", MODULE "1\n", NULL) == 0);
    run("grep -q 'class ParseResult' mcptools/demo/a.py && ! grep -q margin mcptools/demo/a.py");
    run("grep -q margin mcptools/demo/a.py.orig && rm -rf \"$PWD\"");
}

static void a_package_is_written_and_replaced_as_a_whole(void)
{
    struct stat st;
    start();
    TEST_ASSERT(write_package("a.py", MODULE "1\n", NULL) == 0);
    expect("mcptools/demo/__init__.py", "x = 1\n");
    drop_str char *path = xasprintf("%s/demo/a.py", root);
    TEST_CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0644);
    run("mkdir -p mcptools/demo/__pycache__/deep && touch mcptools/demo/__pycache__/x");
    TEST_ASSERT(write_package("b.py", "two", NULL) == 0);
    expect("mcptools/demo/a.py", NULL);
    expect("mcptools/demo/b.py", "two");
    run("test \"$(ls -A -I__init__.py mcptools)\" = demo");
    run("rm -rf \"$PWD\"");
}

static void links_lead_nowhere(void)
{
    struct err e = ERR_NONE;
    start();
    run("mkdir mcptools outside && echo keep > outside/file && ln -s ../outside "
        "mcptools/demo");
    TEST_ASSERT(write_package("file", "ours", NULL) == 0);
    expect("outside/file", "keep\n");
    expect("mcptools/demo/file", "ours");
    run("ln -s ../../outside mcptools/demo/link && ln -s ../outside mcptools/.new-link");
    TEST_ASSERT(write_package("file", "again", NULL) == 0);
    expect("outside/file", "keep\n");
    run("rm -rf mcptools && ln -s outside mcptools");
    TEST_CHECK(write_package("file", "ours", &e) < 0);
    TEST_CHECK_(strstr(e.msg, "mcptools") != NULL, "%s", e.msg);
    expect("outside/file", "keep\n");
    run("rm -rf \"$PWD\"");
}

static void what_a_crash_left_is_removed(void)
{
    start();
    run("mkdir -p mcptools/.new-0123/sub");
    TEST_ASSERT(write_package("a.py", "one", NULL) == 0);
    run("test \"$(ls -A -I__init__.py mcptools)\" = demo");
    run("rm -rf \"$PWD\"");
}

static void on_failure_the_old_one_stays(void)
{
    struct err e = ERR_NONE;
    start();
    TEST_ASSERT(write_package("a.py", "one", NULL) == 0);
    TEST_CHECK(write_package("no/such/folder.py", "two", &e) == -ENOENT);
    TEST_CHECK_(strstr(e.msg, "demo") != NULL, "%s", e.msg);
    expect("mcptools/demo/a.py", "one");
    run("test \"$(ls -A -I__init__.py mcptools)\" = demo");
    run("rm -rf \"$PWD\"");
}

/* Code in kernels writes to that folder. */
static void any_number_of_leftovers_costs_one_registration_little(void)
{
    start();
    run("mkdir mcptools && cd mcptools && seq -f .new-%.0f 5000 | xargs touch");
    run("mkdir mcptools/.new-deep && cd mcptools/.new-deep && seq 5000 | xargs touch");
    TEST_CHECK(write_package("a.py", "one", NULL) == 0);
    run("[ $(find mcptools | wc -l) -gt 9600 ]");
    struct package_sweep *sweep = package_sweep_open(root);
    TEST_ASSERT(sweep != NULL);
    int steps = 1;
    while (package_sweep_some(sweep))
        steps++;
    TEST_CHECK_(steps > 10000 / PACKAGE_SWEEP_NAMES - 5, "%d", steps);
    sweep = package_sweep_close(sweep);
    TEST_CHECK(package_sweep_open("/no/such") == NULL);
    run("[ $(find mcptools -name '.new-*' | wc -l) -eq 0 ]");
    expect("mcptools/demo/a.py", "one");
    run("rm -r mcptools");
    TEST_CHECK(rmdir(dir) == 0);
}

TEST_LIST = {
    {"what_users_have_added_is_kept", what_users_have_added_is_kept},
    {"a_module_of_the_python_system_keeps_what_stands_below_run",
     a_module_of_the_python_system_keeps_what_stands_below_run},
    {"any_number_of_leftovers_costs_one_registration_little",
     any_number_of_leftovers_costs_one_registration_little},
    {"a_package_is_written_and_replaced_as_a_whole", a_package_is_written_and_replaced_as_a_whole},
    {"links_lead_nowhere", links_lead_nowhere},
    {"what_a_crash_left_is_removed", what_a_crash_left_is_removed},
    {"on_failure_the_old_one_stays", on_failure_the_old_one_stays},
    {NULL, NULL},
};
