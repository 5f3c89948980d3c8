/* SPDX-License-Identifier: Apache-2.0
 *
 * The judge over a real workspace; the table of sessions is played here. */
#include "session/kernels/judge.h"

#include <acutest.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"

static char work[64];
static int64_t now;
static const char *settings; /* of the default session; NULL: no sandbox */
static struct loop *loop;
static struct judge *judge;
static struct session_config base;
static struct judge_places closed;

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
    base = (struct session_config){.kernel = {.loop = loop}, .workspace = work, .closed = &closed};
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

static bool may(enum spot_act act, const char *path)
{
    const struct spot_rules *rules = judge_rules(judge);
    return rules->allows(rules->ctx, act, path);
}

static bool allows(enum spot_act act, const char *name)
{
    drop_str char *path = xasprintf("%s/%s", work, name);
    return may(act, path);
}

static bool allows_move(const char *from, const char *to, bool is_dir)
{
    drop_str char *a = xasprintf("%s/%s", work, from), *b = xasprintf("%s/%s", work, to);
    const struct spot_rules *rules = judge_rules(judge);
    return rules->allows_move(rules->ctx, a, b, is_dir);
}

static void without_a_sandbox_the_documents_settings_hold(void)
{
    start();
    TEST_CHECK(allows(SPOT_READ, "plain/file") && !allows(SPOT_READ, ".env"));
    TEST_CHECK(allows(SPOT_WRITE, "plain/new") && !allows(SPOT_WRITE, ".env"));
    TEST_CHECK(!allows(SPOT_WRITE, "sub/.git/hooks/x") && !allows(SPOT_WRITE, "sub/.bashrc"));
    TEST_CHECK(!allows(SPOT_WRITE, ".mcp.json")); /* not there yet */
    TEST_CHECK(allows(SPOT_WRITE, "sub/x") && allows(SPOT_READ, "sub/.git/hooks/x"));
    TEST_CHECK(allows(SPOT_REMOVE, "plain") && !allows(SPOT_REMOVE, "sub"));
    TEST_CHECK(!may(SPOT_WRITE, "/etc/passwd"));
    TEST_CHECK(allows_move("plain", "other", true) && !allows_move("sub/.git", "g", true));
    TEST_CHECK(!allows_move("plain/file", "sub/.git/hooks/x", false));
    stop();
}

static void the_default_sessions_settings_hold_as_soon_as_they_change(void)
{
    start();
    TEST_CHECK(allows(SPOT_WRITE, "plain/new"));
    settings = "{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[]},\"filesystem\":"
               "{\"denyRead\":[\"plain\"],\"allowWrite\":[],\"denyWrite\":[]}}";
    TEST_CHECK(!allows(SPOT_READ, "plain/file") && !allows(SPOT_WRITE, "sub/new"));
    TEST_CHECK(allows(SPOT_READ, ".env"));
    settings = "not settings";
    TEST_CHECK(!allows(SPOT_READ, ".env"));
    settings = NULL;
    TEST_CHECK(allows(SPOT_WRITE, "plain/new"));
    stop();
}

static bool admin_may(enum spot_act act, const char *name)
{
    drop_str char *path = xasprintf("%s/%s", work, name);
    const struct spot_rules *rules = judge_rules_of_admins(judge);
    return rules->allows(rules->ctx, act, path);
}

static bool archive_holds(const char *name)
{
    drop_str char *path = xasprintf("%s/%s", work, name);
    const struct spot_rules *rules = judge_rules_of_archives(judge);
    return rules->allows(rules->ctx, SPOT_READ, path);
}

static const char *const free_for_all =
    "{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[]},\"filesystem\":"
    "{\"denyRead\":[],\"allowWrite\":[\".\"],\"denyWrite\":[]}}";

static void hidden_and_kept_places_are_closed_whatever_the_settings_say(void)
{
    struct stat st;
    start();
    run("mkdir -p keys && touch token keys/a policy.json && ln token other-name");
    drop_str char *token = xasprintf("%s/token", work), *keys = xasprintf("%s/keys", work);
    drop_str char *kept = xasprintf("%s/policy.json", work);
    const char *const hidden[] = {token, keys, NULL}, *const keeps[] = {kept, NULL};
    closed = (struct judge_places){.hidden = hidden, .kept = keeps};
    for (int i = 0; i < 2; i++) {
        settings = i ? free_for_all : NULL;
        TEST_CHECK(!allows(SPOT_READ, "token") && !allows(SPOT_WRITE, "token"));
        TEST_CHECK(!allows(SPOT_READ, "keys") && !allows(SPOT_READ, "keys/a"));
        TEST_CHECK(!allows(SPOT_WRITE, "keys/new") && !allows(SPOT_REMOVE, "keys"));
        TEST_CHECK(allows(SPOT_READ, "policy.json") && !allows(SPOT_WRITE, "policy.json"));
        TEST_CHECK(!allows_move("plain/file", "policy.json", false));
        TEST_CHECK(!allows_move("token", "plain/token", false) && allows(SPOT_WRITE, "plain/x"));
        const struct spot_rules *rules = judge_rules(judge);
        drop_str char *other = xasprintf("%s/other-name", work);
        TEST_CHECK(stat(other, &st) == 0 && rules->hides(rules->ctx, &st));
        TEST_CHECK(admin_may(SPOT_READ, "token") && admin_may(SPOT_WRITE, "policy.json"));
    }
    closed = (struct judge_places){0};
    settings = NULL;
    stop();
}

static void registrations_are_no_files_of_clients(void)
{
    start();
    drop_str char *records = xasprintf("%s/.ipybox/registrations", work);
    closed = (struct judge_places){.records = records};
    run("ln -s .ipybox .ipybox"); /* whatever a cell makes of the name */
    TEST_CHECK(!allows(SPOT_READ, ".ipybox/registrations/a.json"));
    TEST_CHECK(!allows(SPOT_READ, ".ipybox/registrations"));
    TEST_CHECK(!allows(SPOT_WRITE, ".ipybox/registrations/a.json"));
    TEST_CHECK(!allows(SPOT_REMOVE, ".ipybox") && !allows_move("plain", ".ipybox", true));
    TEST_CHECK(allows(SPOT_WRITE, ".ipybox/other") && allows(SPOT_READ, "plain/file"));
    TEST_CHECK(!admin_may(SPOT_WRITE, ".ipybox/registrations/a.json"));
    TEST_CHECK(admin_may(SPOT_READ, ".ipybox/registrations/a.json"));
    TEST_CHECK(admin_may(SPOT_REMOVE, ".ipybox/registrations/a.json"));
    TEST_CHECK(admin_may(SPOT_EMPTY, ".ipybox/registrations/a.json"));
    TEST_CHECK(!archive_holds(".ipybox/registrations") && archive_holds(".ipybox/other"));
    const struct spot_rules *rules = judge_rules_of_admins(judge);
    drop_str char *from = xasprintf("%s/plain", work), *to = xasprintf("%s/.ipybox", work);
    TEST_CHECK(!rules->allows_move(rules->ctx, from, to, true));
    TEST_CHECK(rules->allows_move(rules->ctx, to, from, true));
    closed = (struct judge_places){0};
    stop();
}

static void a_large_workspace_is_looked_through_in_slices_and_closed_so_long(void)
{
    start();
    run("mkdir many && cd many && seq 9000 | xargs touch");
    TEST_CHECK(!allows(SPOT_READ, "plain/file"));
    for (int slices = JUDGE_FIRST; slices < 10; slices++) {
        TEST_CHECK(!judge_is_ready(judge) && !allows(SPOT_READ, "plain/file"));
        pass(JUDGE_PAUSE_MS);
    }
    TEST_CHECK(allows(SPOT_READ, "plain/file") && !allows(SPOT_READ, ".env"));
    run("mkdir -p new/.git/hooks");
    pass(JUDGE_MS);
    TEST_CHECK(allows(SPOT_WRITE, "new/.git/hooks/x")); /* the older one, meanwhile */
    for (int slices = 1; slices < 10; slices++)
        pass(JUDGE_PAUSE_MS);
    TEST_CHECK(!allows(SPOT_WRITE, "new/.git/hooks/x") && allows(SPOT_WRITE, "plain/file"));
    stop();
}

TEST_LIST = {
    {"without_a_sandbox_the_documents_settings_hold",
     without_a_sandbox_the_documents_settings_hold},
    {"the_default_sessions_settings_hold_as_soon_as_they_change",
     the_default_sessions_settings_hold_as_soon_as_they_change},
    {"hidden_and_kept_places_are_closed_whatever_the_settings_say",
     hidden_and_kept_places_are_closed_whatever_the_settings_say},
    {"registrations_are_no_files_of_clients", registrations_are_no_files_of_clients},
    {"a_large_workspace_is_looked_through_in_slices_and_closed_so_long",
     a_large_workspace_is_looked_through_in_slices_and_closed_so_long},
    {NULL, NULL},
};
