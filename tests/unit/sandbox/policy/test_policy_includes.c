/* SPDX-License-Identifier: Apache-2.0
 *
 * What may take the place of a policy while its ruleset stays. Every answer "yes" is held to
 * account: no path is allowed by the first one and refused by the next. */
#include "unit/sandbox/policytest.h"

static const char *const probes[] = {"@w/a",     "@w/.env",  "@w/conf/x",     "@w/conf/mine/x",
                                     "@w/key/b", "@w/x.key", "@h/kept/x",     "@h/other",
                                     "@/data/x", "/etc/x",   "@w/.git/config"};

static void hold_to_account(const struct policy *next, const struct policy *first)
{
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        const char *path = full(probes[i]);
        TEST_CHECK_(!policy_may_read(first, path) || policy_may_read(next, path), "%s", path);
        TEST_CHECK_(!policy_may_write(first, path) || policy_may_write(next, path), "%s", path);
    }
}

/* The answer, and what the message names. */
static void check_next(struct lists before, struct lists after, const char *refused)
{
    const struct policy_place place = {0};
    struct policy *first = policy_of_place(&before, &place),
                  *next = policy_of_place(&after, &place);
    struct err e = ERR_NONE;
    int r = policy_includes(next, first, &e);
    TEST_CHECK_(r == (refused ? -EBUSY : 0), "%d: %s", r, e.msg);
    if (refused)
        TEST_CHECK_(strstr(e.msg, refused) && strstr(e.msg, "reset"), "%s", e.msg);
    else
        hold_to_account(next, first);
    (void)policy_free(first);
    (void)policy_free(next);
}

#define SETTINGS(...) ((struct lists){__VA_ARGS__})

static void what_grants_more_may_follow(void)
{
    make_place();
    check_next(SETTINGS(.deny_read = "[\".env\"]"), SETTINGS(.deny_read = "[\".env\"]"), NULL);
    check_next(SETTINGS(.deny_read = "[\".env\",\"key\"]"), SETTINGS(.deny_read = "[\"key\"]"),
               NULL);
    check_next(SETTINGS(.deny_read = "[\"key\"]"),
               SETTINGS(.deny_read = "[\"key\"]", .allow_read = "[\"key/b\"]"), NULL);
    check_next(SETTINGS(.allow_write = "[\".\"]"), SETTINGS(.allow_write = "[\".\",\"~/kept\"]"),
               NULL);
    check_next(SETTINGS(.allow_write = "[\".\"]", .deny_write = "[\"conf\"]"),
               SETTINGS(.allow_write = "[\".\"]"), NULL);
    check_next(SETTINGS(.allow_write = "[\"~/kept\"]"), SETTINGS(.allow_write = "[\"~\"]"), NULL);
    check_next(SETTINGS(.deny_read = "[]"), SETTINGS(.more = ",\"allowGitConfig\":true"), NULL);
}

static void what_takes_away_may_not_and_the_entry_is_named(void)
{
    make_place();
    check_next(SETTINGS(.deny_read = "[]"), SETTINGS(.deny_read = "[\"a\"]"), "denyRead: a:");
    check_next(SETTINGS(.deny_read = "[\".env\"]"),
               SETTINGS(.deny_read = "[\".env\",\"**/*.key\"]"), "denyRead: **/*.key:");
    check_next(SETTINGS(.deny_read = "[\"key\"]", .allow_read = "[\"key/b\"]"),
               SETTINGS(.deny_read = "[\"key\"]"), "allowRead without: key/b:");
    check_next(SETTINGS(.deny_read = "[\"key\"]", .allow_read = "[\"key/b\"]"),
               SETTINGS(.deny_read = "[\"key\"]", .allow_read = "[\"key\"]"), NULL);
    check_next(SETTINGS(.allow_write = "[\".\"]"), SETTINGS(.allow_write = "[\"conf\"]"),
               "allowWrite without: .:");
    check_next(SETTINGS(.allow_write = "[\".\"]"),
               SETTINGS(.allow_write = "[\".\"]", .deny_write = "[\"conf/mine\"]"),
               "denyWrite: conf/mine:");
    check_next(SETTINGS(.more = ",\"allowGitConfig\":true"), SETTINGS(.more = ""),
               "allowGitConfig");
    check_next(SETTINGS(.top = ""), SETTINGS(.top = ",\"mandatoryDenySearchDepth\":7"),
               "mandatoryDenySearchDepth");
}

/* An exception inside of what comes with it, or of what was denied before, takes nothing away. */
static void where_nothing_was_allowed_something_may_be_denied(void)
{
    make_place();
    check_next(SETTINGS(.allow_write = "[\".\"]"),
               SETTINGS(.allow_write = "[\".\",\"~/kept\"]", .deny_write = "[\"~/kept/x\"]"), NULL);
    check_next(SETTINGS(.allow_write = "[\".\"]"),
               SETTINGS(.allow_write = "[\".\",\"~\"]", .deny_write = "[\"~/kept/**/x\"]"), NULL);
    check_next(SETTINGS(.deny_read = "[\"key\"]"),
               SETTINGS(.deny_read = "[\"key\",\"key/b\"]", .allow_read = "[\"key\"]"), NULL);
    check_next(SETTINGS(.deny_read = "[\"key\"]", .allow_read = "[\"key/b\"]"),
               SETTINGS(.deny_read = "[\"key\",\"key/b/c\"]", .allow_read = "[\"key/b\"]"),
               "denyRead: key/b/c:");
}

/* --- by chance -------------------------------------------------------------------------------- */

enum { TRIES = 1500, ENTRIES_MAX = 3, LIST_MAX = 128, YES_LEAST = 100 };

static unsigned chance; /* the same ones in every run */

static unsigned roll(unsigned sides)
{
    chance = chance * 1103515245U + 12345U;
    return (chance >> 16) % sides;
}

static const char *some_list(char list[static LIST_MAX], bool never_empty)
{
    static const char *const words[] = {"a",    "a/b",    "a/b/c", "b",   "a/*", "**/c",
                                        "a/**", "a/**/c", ".",     "~/a", "~",   "[ab]/c"};
    size_t n = 1, count = never_empty + roll(ENTRIES_MAX);
    list[0] = '[';
    for (size_t i = 0; i < count; i++)
        n += (size_t)snprintf(list + n, LIST_MAX - n, "%s\"%s\"", i ? "," : "",
                              words[roll(sizeof words / sizeof *words)]);
    (void)snprintf(list + n, LIST_MAX - n, "]");
    return list;
}

struct texts {
    char lists[4][LIST_MAX];
};

/* Mostly the one before with a list of its own, or two that have nothing to do with each other
 * would never include one another. */
static struct policy *some_policy(struct texts *texts, bool anew)
{
    for (unsigned i = 0; i < 4; i++)
        if (anew || roll(3) == 0)
            (void)some_list(texts->lists[i], i == 2);
    return POLICY(.deny_read = texts->lists[0], .allow_read = texts->lists[1],
                  .allow_write = texts->lists[2], .deny_write = texts->lists[3]);
}

static int count_lost(const struct policy *next, const struct policy *first)
{
    static const char *const names[] = {"", "/a", "/b", "/c", "/x"};
    int lost = 0;
    for (int i = 0; i < 2 * 5 * 5 * 5; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "%s%s%s%s", i % 2 ? "@w" : "@h", names[i / 2 % 5],
                       names[i / 10 % 5], names[i / 50]);
        lost += policy_may_read(first, full(path)) && !policy_may_read(next, full(path));
        lost += policy_may_write(first, full(path)) && !policy_may_write(next, full(path));
    }
    return lost;
}

static void who_is_said_to_include_another_does(void)
{
    int yes = 0;
    make_place();
    for (int i = 0; i < TRIES; i++) {
        struct texts texts;
        struct policy *first = some_policy(&texts, true), *next = some_policy(&texts, false);
        struct err e = ERR_NONE;
        bool includes = policy_includes(next, first, &e) == 0;
        yes += includes;
        if (includes)
            TEST_CHECK_(count_lost(next, first) == 0, "try %d: %s %s %s %s", i, texts.lists[0],
                        texts.lists[1], texts.lists[2], texts.lists[3]);
        (void)policy_free(first);
        (void)policy_free(next);
    }
    TEST_CHECK_(yes >= YES_LEAST, "only %d of %d", yes, TRIES);
}

static void the_network_does_not_matter(void)
{
    make_place();
    check_next(SETTINGS(.network = "\"allowedDomains\":[\"example.org\"],\"deniedDomains\":[]"),
               SETTINGS(.network = "\"allowedDomains\":[],\"deniedDomains\":[\"*\"]"), NULL);
}

TEST_LIST = {
    {"what_grants_more_may_follow", what_grants_more_may_follow},
    {"what_takes_away_may_not_and_the_entry_is_named",
     what_takes_away_may_not_and_the_entry_is_named},
    {"where_nothing_was_allowed_something_may_be_denied",
     where_nothing_was_allowed_something_may_be_denied},
    {"who_is_said_to_include_another_does", who_is_said_to_include_another_does},
    {"the_network_does_not_matter", the_network_does_not_matter},
    {NULL, NULL},
};
