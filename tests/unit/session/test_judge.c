/* SPDX-License-Identifier: Apache-2.0
 *
 * The judge over a real workspace; the table of sessions is played here. */
#include "session/kernels/judge.h"

#include <acutest.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

static char work[64];
static int64_t now;
static const char *settings; /* of the default session; NULL: no sandbox */
static struct loop *loop;
static struct judge *judge;
static struct session_config base;

const struct session_config *sessions_base(const struct sessions *sessions)
{
    (void)sessions;
    return &base;
}

const char *sessions_settings(const struct sessions *sessions)
{
    (void)sessions;
    return settings;
}

static int64_t fake_now(void)
{
    return now;
}

static void run(const char *script)
{
    drop_str char *command = xasprintf("cd %s && %s", work, script);
    TEST_CHECK_(system(command) == 0, "%s", command);
}

static void start(void)
{
    (void)snprintf(work, sizeof work, "/tmp/judge-XXXXXX");
    TEST_ASSERT(mkdtemp(work) != NULL);
    run("mkdir -p sub/.git/hooks plain && touch .env plain/file sub/.bashrc");
    now = 1000;
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    loop_set_clock(loop, fake_now);
    loop_turn(loop, 0);
    base = (struct session_config){.kernel = {.loop = loop}, .workspace = work};
    judge = judge_new(NULL);
}

static void stop(void)
{
    judge = judge_free(judge);
    loop = loop_free(loop);
    drop_str char *command = xasprintf("rm -r %s", work);
    TEST_CHECK(system(command) == 0);
}

static void pass(int64_t ms)
{
    now += ms;
    loop_turn(loop, 0);
}

static bool allows(enum judge_act act, const char *name)
{
    drop_str char *path = xasprintf("%s/%s", work, name);
    return judge_allows(judge, act, path);
}

static bool allows_move(const char *from, const char *to, bool is_dir)
{
    drop_str char *a = xasprintf("%s/%s", work, from), *b = xasprintf("%s/%s", work, to);
    return judge_allows_move(judge, a, b, is_dir);
}

static void without_a_sandbox_the_documents_settings_hold(void)
{
    start();
    TEST_CHECK(allows(JUDGE_READ, "plain/file") && !allows(JUDGE_READ, ".env"));
    TEST_CHECK(allows(JUDGE_WRITE, "plain/new") && !allows(JUDGE_WRITE, ".env"));
    TEST_CHECK(!allows(JUDGE_WRITE, "sub/.git/hooks/x") && !allows(JUDGE_WRITE, "sub/.bashrc"));
    TEST_CHECK(!allows(JUDGE_WRITE, ".mcp.json")); /* not there yet */
    TEST_CHECK(allows(JUDGE_WRITE, "sub/x") && allows(JUDGE_READ, "sub/.git/hooks/x"));
    TEST_CHECK(allows(JUDGE_REMOVE, "plain") && !allows(JUDGE_REMOVE, "sub"));
    TEST_CHECK(!judge_allows(judge, JUDGE_WRITE, "/etc/passwd"));
    TEST_CHECK(allows_move("plain", "other", true) && !allows_move("sub/.git", "g", true));
    TEST_CHECK(!allows_move("plain/file", "sub/.git/hooks/x", false));
    stop();
}

static void the_default_sessions_settings_hold_as_soon_as_they_change(void)
{
    start();
    TEST_CHECK(allows(JUDGE_WRITE, "plain/new"));
    settings = "{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[]},\"filesystem\":"
               "{\"denyRead\":[\"plain\"],\"allowWrite\":[],\"denyWrite\":[]}}";
    TEST_CHECK(!allows(JUDGE_READ, "plain/file") && !allows(JUDGE_WRITE, "sub/new"));
    TEST_CHECK(allows(JUDGE_READ, ".env"));
    settings = "not settings";
    TEST_CHECK(!allows(JUDGE_READ, ".env"));
    settings = NULL;
    TEST_CHECK(allows(JUDGE_WRITE, "plain/new"));
    stop();
}

static void a_large_workspace_is_looked_through_in_slices_and_closed_so_long(void)
{
    start();
    run("mkdir many && cd many && seq 9000 | xargs touch");
    TEST_CHECK(!allows(JUDGE_READ, "plain/file"));
    for (int slices = JUDGE_FIRST; slices < 10; slices++) {
        TEST_CHECK(!judge_is_ready(judge) && !allows(JUDGE_READ, "plain/file"));
        pass(JUDGE_PAUSE_MS);
    }
    TEST_CHECK(allows(JUDGE_READ, "plain/file") && !allows(JUDGE_READ, ".env"));
    run("mkdir -p new/.git/hooks");
    pass(JUDGE_MS);
    TEST_CHECK(allows(JUDGE_WRITE, "new/.git/hooks/x")); /* the older one, meanwhile */
    for (int slices = 1; slices < 10; slices++)
        pass(JUDGE_PAUSE_MS);
    TEST_CHECK(!allows(JUDGE_WRITE, "new/.git/hooks/x") && allows(JUDGE_WRITE, "plain/file"));
    stop();
}

TEST_LIST = {
    {"without_a_sandbox_the_documents_settings_hold",
     without_a_sandbox_the_documents_settings_hold},
    {"the_default_sessions_settings_hold_as_soon_as_they_change",
     the_default_sessions_settings_hold_as_soon_as_they_change},
    {"a_large_workspace_is_looked_through_in_slices_and_closed_so_long",
     a_large_workspace_is_looked_through_in_slices_and_closed_so_long},
    {NULL, NULL},
};
