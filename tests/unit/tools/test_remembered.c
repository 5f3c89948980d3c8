/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tools/client/remembered.h"

static char base[64];
static struct remembered all;

static void begin(void)
{
    (void)snprintf(base, sizeof base, "/tmp/remembered-XXXXXX");
    TEST_ASSERT(mkdtemp(base) != NULL);
    all = (struct remembered){.base = base, .parts = {"a", "b"}};
}

static void end(void)
{
    drop_str char *command = xasprintf("rm -rf %s", base);
    TEST_CHECK(system(command) == 0);
}

static int keep(const char *name, const char *params)
{
    drop_json struct json *tree = json_parse_copy(params, strlen(params), JSON_STRICT, NULL);
    return remembered_write(&all, name, tree, NULL);
}

/* What is read, as "TEXT", "TEXT?" when it has to be asked for, or "none". */
static void expect(const char *name, const char *expected)
{
    drop_json struct json *tree = NULL;
    bool ask = false;
    int r = remembered_read(&all, name, &tree, &ask, NULL);
    drop_str char *printed = r == 0 ? json_print(tree) : xstrdup("none");
    drop_str char *got = xasprintf("%s%s", printed, ask ? "?" : "");
    TEST_CHECK_(strcmp(got, expected) == 0, "%s: %s", name, got);
}

static void shell(const char *command)
{
    drop_str char *line = xasprintf("cd %s/a/b && %s", base, command);
    TEST_CHECK(system(line) == 0);
}

static void what_is_written_is_read_and_removed(void)
{
    begin();
    expect("demo", "none");
    TEST_CHECK(!remembered_remove(&all, "demo"));
    TEST_CHECK(keep("demo", "{\"command\":\"x\"}") == 0);
    expect("demo", "{\"command\":\"x\"}");
    TEST_CHECK(keep("demo", "{\"url\":\"http://h/${KEY}\"}") == 0);
    expect("demo", "{\"url\":\"http://h/${KEY}\"}?");
    TEST_CHECK(remembered_remove(&all, "demo"));
    expect("demo", "none");
    end();
}

static void only_ones_own_closed_plain_file_is_believed(void)
{
    begin();
    TEST_CHECK(keep("demo", "{\"command\":\"x\"}") == 0);
    shell("cp -p demo.json other.json"); /* it is of another server */
    expect("other", "none");
    shell("ln -s demo.json linked.json");
    expect("linked", "none");
    shell("mkfifo pipe.json");
    expect("pipe", "none");
    shell("chmod 644 demo.json");
    expect("demo", "none");
    shell("chmod 600 demo.json && ln demo.json twice.json");
    expect("demo", "none");
    shell("rm twice.json");
    expect("demo", "{\"command\":\"x\"}");
    expect("../b/demo", "none");
    shell("mv ../b ../c && ln -s c ../b");
    expect("demo", "none");
    TEST_CHECK(keep("demo", "{\"command\":\"x\"}") < 0);
    end();
}

static void secrets_are_not_written_where_code_could_read_them(void)
{
    static const char *const secret[] = {"{\"command\":\"x\",\"env\":{\"K\":\"v\"}}",
                                         "{\"url\":\"http://h\",\"headers\":{\"A\":\"Bearer v\"}}"};
    begin();
    for (size_t i = 0; i < 2; i++) {
        TEST_CHECK(keep("demo", secret[i]) == -EPERM);
        expect("demo", "none");
    }
    TEST_CHECK(keep("demo", "{\"command\":\"x\",\"env\":{\"K\":\"${V}\"}}") == 0);
    all.closed = true;
    TEST_CHECK(keep("demo", secret[0]) == 0);
    expect("demo", secret[0]);
    end();
}

static void a_sandbox_that_does_not_hide_them_asks_for_all(void)
{
    begin();
    all.sandbox = true;
    TEST_CHECK(keep("demo", "{\"command\":\"x\"}") == 0);
    expect("demo", "{\"command\":\"x\"}?");
    all.closed = true;
    expect("demo", "{\"command\":\"x\"}");
    end();
}

#define T(name) {#name, name}

TEST_LIST = {
    T(what_is_written_is_read_and_removed),
    T(only_ones_own_closed_plain_file_is_believed),
    T(secrets_are_not_written_where_code_could_read_them),
    T(a_sandbox_that_does_not_hide_them_asks_for_all),
    {NULL, NULL},
};
