/* SPDX-License-Identifier: Apache-2.0 */
#include "policytest.h"

static void what_is_not_denied_is_read_and_what_is_not_allowed_is_not_written(void)
{
    make_place();
    struct policy *policy = POLICY(.deny_read = "[\".env\"]");
    READS(policy, "@w/a");
    READS(policy, "/etc/passwd");
    READS_NOT(policy, "@w/.env");
    READS_NOT(policy, "@w/.env/below");
    READS(policy, "@w/.env2");
    READS(policy, "@w/sub/.env");
    WRITES(policy, "@w/a/b");
    WRITES_NOT(policy, "@/work2/a");
    WRITES_NOT(policy, "/etc/passwd");
    TEST_CHECK(policy_denies_reads(policy));
    (void)policy_free(policy);
    policy = POLICY(.allow_write = "[\".\"]");
    TEST_CHECK(!policy_denies_reads(policy));
    READS(policy, "@w/.env");
    (void)policy_free(policy);
}

static void what_may_not_be_read_may_not_be_written(void)
{
    make_place();
    struct policy *policy = POLICY(.deny_read = "[\".env\"]", .allow_write = "[\".\",\".env\"]");
    WRITES_NOT(policy, "@w/.env");
    WRITES(policy, "@w/.env.local");
    (void)policy_free(policy);
}

static void a_denied_write_wins_over_an_allowed_one_at_any_depth(void)
{
    make_place();
    struct policy *policy =
        POLICY(.allow_write = "[\".\",\"conf/mine\"]", .deny_write = "[\"conf\"]");
    WRITES_NOT(policy, "@w/conf");
    WRITES_NOT(policy, "@w/conf/mine/x");
    WRITES(policy, "@w/confusion");
    READS(policy, "@w/conf/mine/x");
    (void)policy_free(policy);
}

static void rules_hold_for_what_is_made_later(void)
{
    make_place();
    struct policy *policy = POLICY(.deny_read = "[\"new/.env\"]", .allow_write = "[\"new\"]");
    make_dir("@w/new");
    make_file("@w/new/.env");
    READS_NOT(policy, "@w/new/.env");
    WRITES(policy, "@w/new/x");
    WRITES_NOT(policy, "@w/old");
    (void)policy_free(policy);
}

static void an_entry_that_is_a_link_protects_its_target_and_pins_itself(void)
{
    make_place();
    make_dir("@w/real");
    make_file("@w/real/key");
    make_link("@w/key", "@w/real/key");
    make_link("@w/soon", "@w/real/not-yet");
    struct policy *policy = POLICY(.deny_read = "[\"key\",\"soon\"]", .deny_write = "[]");
    READS_NOT(policy, "@w/real/key");
    READS_NOT(policy, "@w/real/not-yet");
    READS(policy, "@w/real/other");
    PINS(policy, "@w/key");
    PINS(policy, "@w/soon");
    PINS(policy, "@w/real");
    PINS_NOT(policy, "@w/real/key");
    PINS_NOT(policy, "@w/other");
    (void)policy_free(policy);
}

static void what_lies_in_a_working_directory_and_runs_code_is_never_written(void)
{
    make_place();
    make_dir("@w/.git/hooks");
    make_dir("@w/sub/.Git");
    make_file("@w/sub/.BASHRC");
    struct policy *policy = POLICY(.deny_write = "[]");
    WRITES_NOT(policy, "@w/.bashrc");
    WRITES_NOT(policy, "@w/.MCP.json");
    WRITES_NOT(policy, "@w/.git/hooks/pre-commit");
    WRITES_NOT(policy, "@w/.git/config");
    WRITES_NOT(policy, "@w/.claude/commands/x.md");
    WRITES(policy, "@w/.claude/x");
    WRITES(policy, "@w/.git/index");
    WRITES_NOT(policy, "@w/sub/.BASHRC");
    WRITES_NOT(policy, "@w/sub/.Git/hooks/x");
    WRITES(policy, "@w/sub/.profile");
    READS(policy, "@w/.bashrc");
    PINS(policy, "@w/.git");
    PINS(policy, "@w/sub/.Git");
    PINS(policy, "@w");
    PINS(policy, "@");
    PINS(policy, "/");
    PINS_NOT(policy, "@w/.git/index");
    (void)policy_free(policy);
    policy = POLICY(.deny_write = "[]", .more = ",\"allowGitConfig\":true");
    WRITES(policy, "@w/.git/config");
    WRITES_NOT(policy, "@w/.git/hooks");
    (void)policy_free(policy);
}

#define T(name) {#name, name}

TEST_LIST = {
    T(what_is_not_denied_is_read_and_what_is_not_allowed_is_not_written),
    T(what_may_not_be_read_may_not_be_written),
    T(a_denied_write_wins_over_an_allowed_one_at_any_depth),
    T(rules_hold_for_what_is_made_later),
    T(an_entry_that_is_a_link_protects_its_target_and_pins_itself),
    T(what_lies_in_a_working_directory_and_runs_code_is_never_written),
    {NULL, NULL},
};
