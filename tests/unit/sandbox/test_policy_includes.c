/* SPDX-License-Identifier: Apache-2.0
 *
 * What may take the place of a policy while its floor stays. Every answer "yes" is held to account:
 * no path is allowed by the first one and refused by the next. */
#include "policytest.h"

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
    {"the_network_does_not_matter", the_network_does_not_matter},
    {NULL, NULL},
};
