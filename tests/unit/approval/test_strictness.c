/* SPDX-License-Identifier: Apache-2.0
 *
 * A session that is held to more than the policy. */
#include <acutest.h>

#include <string.h>

#include "approval/approvals.h"

static enum approval_verdict verdict;
static char why[200];
static int ends;

static void on_decided(void *ctx, enum approval_verdict v, const char *text)
{
    (void)ctx;
    verdict = v;
    ends++;
    strncpy(why, text, sizeof why - 1);
}

static struct loop *loop;
static struct approvals *all;

static void ask(const char *session, const char *server)
{
    struct approval_subject subject = {.session = session,
                                       .server = server,
                                       .shown = "x",
                                       .tool = "push",
                                       .arguments = "{}",
                                       .digest = ""};
    struct approval *approval;
    struct err e = ERR_NONE;
    ends = 0;
    TEST_ASSERT(approvals_ask(all, &subject, on_decided, NULL, &approval, &e) == 0);
    for (int i = 0; i < 4; i++)
        loop_turn(loop, 0);
    TEST_CHECK(ends == 1);
}

static void restrict_to(enum approvals_strictness strictness)
{
    approvals_restrict(all, "s", &(struct approvals_rule){.strictness = strictness});
}

static void a_session_can_be_stricter_than_the_policy_never_laxer(void)
{
    static const char text[] = "{\"rules\":[{\"server\":\"bad\",\"action\":\"deny\"}]}";
    struct err e = ERR_NONE;
    drop_json struct json *policy = json_parse_copy(text, strlen(text), JSON_STRICT, &e);
    TEST_ASSERT(policy && loop_new(&loop, &e) == 0);
    struct approvals_config config = {.loop = loop, .policy = policy};
    TEST_ASSERT(approvals_open(&config, &all, &e) == 0);
    ask("s", "git");
    TEST_CHECK(verdict == APPROVAL_ACCEPTED);
    restrict_to(APPROVALS_ASK_ALL);
    ask("s", "git");
    TEST_CHECK(verdict == APPROVAL_FAILED); /* there is nobody to be asked */
    ask("s", "bad");
    TEST_CHECK(verdict == APPROVAL_REJECTED);
    ask("other", "git");
    TEST_CHECK(verdict == APPROVAL_ACCEPTED);
    restrict_to(APPROVALS_DENY_ALL);
    ask("s", "git");
    TEST_CHECK(verdict == APPROVAL_REJECTED && strcmp(why, "this session may call no tools") == 0);
    approvals_forget(all, "s");
    ask("s", "git");
    TEST_CHECK(verdict == APPROVAL_ACCEPTED);
    restrict_to(APPROVALS_ASK_ALL);
    all = approvals_close(all);
    loop = loop_free(loop);
}

TEST_LIST = {
    {"a_session_can_be_stricter_than_the_policy_never_laxer",
     a_session_can_be_stricter_than_the_policy_never_laxer},
    {NULL, NULL},
};
