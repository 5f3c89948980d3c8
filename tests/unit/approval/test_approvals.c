/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "approval/approvals.h"
#include "base/alloc.h"

static int64_t now = 1000;

static int64_t fake_clock(void)
{
    return now;
}

static struct loop *loop;
static struct approvals *all;
static char watched[400]; /* what the watcher heard */

static void turn(void)
{
    for (int i = 0; i < 4; i++)
        loop_turn(loop, 0);
}

static void pass_ms(int64_t ms)
{
    now += ms;
    turn();
}

static const char *ask_for; /* of the next open_with() */

static void on_changed(void *ctx, const char *session, bool waiting)
{
    (void)ctx;
    strcat(watched, session);
    strcat(watched, waiting ? "+ " : "- ");
}

static void open_with(const char *policy, bool ask_by_default, int64_t timeout_ms)
{
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    loop_set_clock(loop, fake_clock);
    drop_json struct json *tree =
        policy ? json_parse_copy(policy, strlen(policy), JSON_STRICT, &e) : NULL;
    TEST_ASSERT(!policy || tree);
    struct approvals_config config = {.loop = loop,
                                      .timeout_ms = timeout_ms,
                                      .ask_by_default = ask_by_default,
                                      .policy = tree,
                                      .ask_for = ask_for};
    TEST_ASSERT(approvals_open(&config, &all, &e) == 0);
    TEST_MSG("%s", e.msg);
    approvals_watch(all, on_changed, NULL);
    watched[0] = '\0';
}

static void close_all(void)
{
    all = approvals_close(all);
    loop = loop_free(loop);
}

/* --- a caller -------------------------------------------------------------------------------- */

struct caller {
    struct approval *approval;
    int ends;
    enum approval_verdict verdict;
    char why[300], result[200];
};

static void on_decided(void *ctx, enum approval_verdict verdict, const char *why)
{
    struct caller *caller = ctx;
    caller->ends++;
    caller->verdict = verdict;
    strncpy(caller->why, why, sizeof caller->why - 1);
}

static void on_answered(void *ctx, const char *result)
{
    struct caller *caller = ctx;
    caller->ends++;
    strncpy(caller->result, result, sizeof caller->result - 1);
}

static void ask_as(struct caller *caller, const char *session, const char *server, const char *tool,
                   const char *digest)
{
    struct err e = ERR_NONE;
    struct approval_subject subject = {.session = session,
                                       .server = server,
                                       .shown = "npx server",
                                       .tool = tool,
                                       .arguments = "{\"a\":1}",
                                       .digest = digest};
    *caller = (struct caller){0};
    TEST_ASSERT(approvals_ask(all, &subject, on_decided, caller, &caller->approval, &e) == 0);
    TEST_CHECK(caller->ends == 0); /* never from inside the call */
    turn();
}

static void ask(struct caller *caller, const char *server, const char *tool)
{
    ask_as(caller, "s", server, tool, "d1");
}

static enum approval_verdict verdict_of(const char *server, const char *tool)
{
    struct caller caller;
    ask(&caller, server, tool);
    TEST_ASSERT(caller.ends == 1);
    return caller.verdict;
}

static void elicit(struct caller *caller)
{
    struct err e = ERR_NONE;
    struct approval_question question = {
        .session = "s", .server = "git", .shown = "x", .form = "{\"message\":\"name?\"}"};
    *caller = (struct caller){0};
    TEST_ASSERT(approvals_elicit(all, &question, on_answered, caller, &caller->approval, &e) == 0);
    turn();
}

static void expect(const struct caller *caller, enum approval_verdict verdict, const char *why)
{
    TEST_CHECK(caller->ends == 1 && caller->verdict == verdict && strcmp(caller->why, why) == 0);
    TEST_MSG("%d events, verdict %d, \"%s\"; wanted %d, \"%s\"", caller->ends, caller->verdict,
             caller->why, verdict, why);
}

/* --- an approver ----------------------------------------------------------------------------- */

struct human {
    struct approver *approver;
    int asked, settled;
    char id[APPROVALS_ID_MAX], told[2 * APPROVALS_ID_MAX];
    char seen[300];
};

static void on_ask(void *ctx, const struct approval_view *view)
{
    struct human *human = ctx;
    human->asked++;
    (void)snprintf(human->id, sizeof human->id, "%s", view->id);
    (void)snprintf(human->seen, sizeof human->seen, "%s|%s|%s|%s|%s|%s|%s", view->subject.session,
                   view->subject.server, view->subject.shown, view->subject.tool,
                   view->subject.arguments, view->form ? view->form : "-", view->note);
}

static void on_settled(void *ctx, const char *id, const char *outcome)
{
    struct human *human = ctx;
    human->settled++;
    (void)snprintf(human->told, sizeof human->told, "%s %s", outcome, id);
}

static void join_as(struct human *human, int rank, const char *session, bool forms)
{
    *human = (struct human){0};
    struct approver_config config = {.rank = rank,
                                     .session = session,
                                     .ask = on_ask,
                                     .elicit = forms ? on_ask : NULL,
                                     .settled = on_settled,
                                     .ctx = human};
    human->approver = approver_join(all, &config);
}

static void join(struct human *human)
{
    join_as(human, APPROVER_CHANNEL, NULL, false);
}

static void leave(struct human *human)
{
    human->approver = approver_leave(human->approver);
    turn();
}

static int decide_with(struct human *human, struct approval_decision decision)
{
    struct err e = ERR_NONE;
    int r = approver_decide(human->approver, human->id, &decision, &e);
    turn();
    return r;
}

static void say(struct human *human, bool accept)
{
    TEST_CHECK(decide_with(human, (struct approval_decision){.accept = accept}) == 0);
}

/* --- the policy ------------------------------------------------------------------------------ */

static void the_first_rule_that_matches_decides(void)
{
    static const struct {
        const char *server, *tool;
        enum approval_verdict verdict;
    } cases[] = {
        {"git", "git_log", APPROVAL_ACCEPTED},    {"git", "git_push", APPROVAL_REJECTED},
        {"github", "git_log", APPROVAL_ACCEPTED}, {"git", "status", APPROVAL_FAILED},
        {"Git", "git_log", APPROVAL_FAILED},      {"files", "read", APPROVAL_ACCEPTED},
        {"files", "rea", APPROVAL_FAILED},        {"files", "rea\xC3\xA9", APPROVAL_ACCEPTED},
        {"files", "reads", APPROVAL_FAILED},      {"evil", "anything", APPROVAL_REJECTED},
        {"evil.example", "x", APPROVAL_REJECTED}, {"a-b-c", "x", APPROVAL_ACCEPTED},
        {"a-b-b", "x", APPROVAL_FAILED},          {"brackets", "[ab]", APPROVAL_ACCEPTED},
        {"brackets", "a", APPROVAL_FAILED},       {"", "", APPROVAL_FAILED},
    };
    open_with("{\"default\":\"ask\",\"rules\":["
              "{\"server\":\"git\",\"tool\":\"git_push\",\"action\":\"deny\"},"
              "{\"server\":\"git*\",\"tool\":\"git_*\",\"action\":\"allow\"},"
              "{\"server\":\"files\",\"tool\":\"rea?\",\"action\":\"allow\"},"
              "{\"server\":\"*-*-c\",\"action\":\"allow\"},"
              "{\"server\":\"brackets\",\"tool\":\"[ab]\",\"action\":\"allow\"},"
              "{\"server\":\"evil*\",\"action\":\"deny\"}]}",
              false, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("%s.%s", cases[i].server, cases[i].tool);
        TEST_CHECK(verdict_of(cases[i].server, cases[i].tool) == cases[i].verdict);
    }
    close_all();
}

static void without_a_rule_the_default_decides(void)
{
    static const struct {
        const char *policy;
        bool ask_by_default;
        enum approval_verdict verdict;
    } cases[] = {
        {NULL, false, APPROVAL_ACCEPTED},
        {NULL, true, APPROVAL_FAILED},
        {"{}", true, APPROVAL_FAILED},
        {"{\"rules\":[]}", false, APPROVAL_ACCEPTED},
        {"{\"default\":\"deny\"}", false, APPROVAL_REJECTED},
        {"{\"default\":\"allow\"}", true, APPROVAL_ACCEPTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("case %zu", i);
        open_with(cases[i].policy, cases[i].ask_by_default, 0);
        TEST_CHECK(verdict_of("s", "t") == cases[i].verdict);
        close_all();
    }
}

static void no_default_allows_the_server_that_is_always_asked_for(void)
{
    static const struct {
        const char *policy;
        enum approval_verdict verdict;
    } cases[] = {
        {NULL, APPROVAL_FAILED},
        {"{\"default\":\"allow\"}", APPROVAL_FAILED},
        {"{\"default\":\"deny\"}", APPROVAL_REJECTED},
        {"{\"rules\":[{\"server\":\"own\",\"action\":\"allow\"}]}", APPROVAL_ACCEPTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("case %zu", i);
        ask_for = "own";
        open_with(cases[i].policy, false, 0);
        TEST_CHECK(verdict_of("own", "shell") == cases[i].verdict);
        close_all();
        ask_for = NULL;
    }
}

static void what_is_wrong_in_a_policy_is_named(void)
{
    static const char *const cases[][2] = {
        {"[]", "the policy: an object"},
        {"{\"defualt\":\"ask\"}", "defualt: there is no such member"},
        {"{\"default\":\"yes\"}", "default: \"allow\""},
        {"{\"rules\":{}}", "rules: an array"},
        {"{\"rules\":[1]}", "rules[0]: an object"},
        {"{\"rules\":[{\"action\":\"ask\"},{\"tool\":\"x\"}]}", "rules[1].action: it is needed"},
        {"{\"rules\":[{\"action\":3}]}", "rules[0].action: \"allow\""},
        {"{\"rules\":[{\"action\":\"ask\",\"tools\":\"x\"}]}", "rules[0].tools: there is no such"},
        {"{\"rules\":[{\"action\":\"ask\",\"tool\":\"\"}]}", "rules[0].tool: a pattern"},
        {"{\"rules\":[{\"action\":\"ask\",\"server\":1}]}", "rules[0].server: a pattern"},
        {"{\"rules\":[{\"action\":\"ask\",\"max_calls\":1.5}]}", "rules[0].max_calls: a whole"},
        {"{\"rules\":[{\"action\":\"ask\",\"max_calls\":-1}]}", "rules[0].max_calls: a whole"},
        {"{\"rules\":[{\"action\":\"allow\",\"pin\":1}]}", "rules[0].pin: true or false"},
        {"{\"rules\":[{\"action\":\"allow\",\"digest\":\"ab\"}]}", "rules[0].digest: 64 digits"},
        {"{\"rules\":[{\"action\":\"ask\",\"pin\":true}]}", "rules[0]: \"pin\" and \"digest\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = ERR_NONE;
        drop_json struct json *tree =
            json_parse_copy(cases[i][0], strlen(cases[i][0]), JSON_STRICT, &e);
        TEST_ASSERT(tree != NULL);
        TEST_CHECK(approvals_check_policy(tree, &e) == -EINVAL);
        TEST_CHECK(strstr(e.msg, cases[i][1]) == e.msg);
        TEST_MSG("%s: %s", cases[i][0], e.msg);
    }
}

static void a_budget_counts_what_is_permitted_and_then_denies(void)
{
    struct human human;
    struct caller a, b;
    open_with("{\"rules\":[{\"tool\":\"free\",\"action\":\"allow\",\"max_calls\":2},"
              "{\"action\":\"ask\",\"max_calls\":1}]}",
              false, 0);
    TEST_CHECK(verdict_of("s", "free") == APPROVAL_ACCEPTED);
    TEST_CHECK(verdict_of("s", "free") == APPROVAL_ACCEPTED);
    ask(&a, "s", "free");
    expect(&a, APPROVAL_REJECTED, "denied by the policy: its budget of 2 calls is used up");
    join(&human);
    ask(&a, "s", "x");
    say(&human, false); /* a rejected call costs nothing */
    ask(&a, "s", "x");
    ask(&b, "s", "x"); /* one that waits has its place */
    TEST_CHECK(b.ends == 1 && b.verdict == APPROVAL_REJECTED);
    approval_withdraw(a.approval);
    turn();
    ask(&a, "s", "x");
    say(&human, true);
    expect(&a, APPROVAL_ACCEPTED, "");
    TEST_CHECK(verdict_of("s", "x") == APPROVAL_REJECTED);
    leave(&human);
    close_all();
}

static void a_pinned_tool_that_changed_is_asked(void)
{
    struct human human;
    struct caller caller;
    open_with("{\"rules\":[{\"server\":\"git\",\"action\":\"allow\",\"pin\":true}]}", false, 0);
    join(&human);
    ask_as(&caller, "s", "git", "log", "d1");
    expect(&caller, APPROVAL_ACCEPTED, "");
    ask_as(&caller, "s", "git", "diff", "d2"); /* each tool has its own */
    expect(&caller, APPROVAL_ACCEPTED, "");
    ask_as(&caller, "s", "git", "log", "d2");
    TEST_CHECK(caller.ends == 0 && strstr(human.seen, "has changed") != NULL);
    say(&human, true);
    ask_as(&caller, "s", "git", "log", "d2"); /* once is once */
    TEST_CHECK(caller.ends == 0);
    TEST_CHECK(decide_with(&human, (struct approval_decision){true, 1000, 0}) == 0);
    ask_as(&caller, "s", "git", "log", "d2");
    expect(&caller, APPROVAL_ACCEPTED, "");
    ask_as(&caller, "s", "git", "log", "d1"); /* the first one is still the pinned one */
    expect(&caller, APPROVAL_ACCEPTED, "");
    ask_as(&caller, "s", "git", "unlisted", "");
    TEST_CHECK(caller.ends == 0 && strstr(human.seen, "not in its server's list") != NULL);
    leave(&human);
    close_all();
}

static void a_rule_may_name_the_digest(void)
{
    struct caller caller;
    static const char good[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    drop_str char *policy =
        xasprintf("{\"rules\":[{\"action\":\"allow\",\"digest\":\"%s\"}]}", good);
    open_with(policy, false, 0);
    ask_as(&caller, "s", "git", "log", good);
    expect(&caller, APPROVAL_ACCEPTED, "");
    ask_as(&caller, "s", "git", "log", "other");
    expect(&caller, APPROVAL_FAILED, "Approval channel not connected");
    close_all();
}

/* --- asking ---------------------------------------------------------------------------------- */

static void an_approver_sees_everything_and_decides(void)
{
    struct human human;
    struct caller caller;
    open_with(NULL, true, 0);
    join(&human);
    ask(&caller, "git", "log");
    TEST_CHECK(strcmp(human.seen, "s|git|npx server|log|{\"a\":1}|-|") == 0);
    TEST_CHECK(strlen(human.id) == 32 && caller.ends == 0);
    say(&human, true);
    expect(&caller, APPROVAL_ACCEPTED, "");
    TEST_CHECK(human.settled == 0); /* it decided itself */
    TEST_CHECK(decide_with(&human, (struct approval_decision){.accept = true}) == -ENOENT);
    ask(&caller, "git", "log");
    say(&human, false);
    expect(&caller, APPROVAL_REJECTED, "rejected by the one who was asked");
    leave(&human);
    close_all();
}

static void without_an_approver_it_fails_at_once(void)
{
    struct human human;
    struct caller caller;
    open_with(NULL, true, 0);
    ask(&caller, "git", "log");
    expect(&caller, APPROVAL_FAILED, "Approval channel not connected");
    join_as(&human, APPROVER_CLIENT, "other", false);
    ask(&caller, "git", "log");
    expect(&caller, APPROVAL_FAILED, "Approval channel not connected");
    TEST_CHECK(human.asked == 0);
    leave(&human);
    close_all();
}

static void the_best_rank_is_asked_and_the_next_when_it_leaves(void)
{
    struct human client, channel, second;
    struct caller caller;
    open_with(NULL, true, 0);
    join_as(&client, APPROVER_CLIENT, "s", false);
    join(&channel);
    join(&second);
    ask(&caller, "git", "log");
    TEST_CHECK(channel.asked == 1 && second.asked == 0 && client.asked == 0);
    leave(&channel);
    TEST_CHECK(second.asked == 1 && client.asked == 0 && caller.ends == 0);
    TEST_CHECK(strcmp(second.id, channel.id) == 0);
    leave(&second);
    TEST_CHECK(client.asked == 1);
    join(&channel); /* who comes later gets what comes later */
    turn();
    TEST_CHECK(channel.asked == 0);
    leave(&channel);
    leave(&client);
    expect(&caller, APPROVAL_FAILED, "Approval channel disconnected");
    close_all();
}

static void an_approver_that_cannot_show_it_passes(void)
{
    struct human first, second;
    struct caller caller;
    open_with(NULL, true, 0);
    join(&first);
    join_as(&second, APPROVER_CLIENT, NULL, false);
    ask(&caller, "git", "log");
    TEST_CHECK(approver_pass(first.approver, first.id, NULL) == 0);
    TEST_CHECK(approver_pass(first.approver, first.id, NULL) == -ENOENT);
    turn();
    TEST_CHECK(second.asked == 1 && first.asked == 1);
    TEST_CHECK(approver_pass(second.approver, second.id, NULL) == 0);
    turn();
    expect(&caller, APPROVAL_FAILED, "Approval channel not connected");
    leave(&first);
    leave(&second);
    close_all();
}

static void only_the_one_who_is_asked_may_decide(void)
{
    struct human asked, other;
    struct caller caller;
    open_with(NULL, true, 0);
    join(&asked);
    join(&other);
    ask(&caller, "git", "log");
    memcpy(other.id, asked.id, sizeof other.id);
    TEST_CHECK(decide_with(&other, (struct approval_decision){.accept = true}) == -ENOENT);
    TEST_CHECK(caller.ends == 0);
    asked.id[0] = asked.id[0] == 'a' ? 'b' : 'a';
    TEST_CHECK(decide_with(&asked, (struct approval_decision){.accept = true}) == -ENOENT);
    TEST_CHECK(caller.ends == 0);
    leave(&asked);
    leave(&other);
    close_all();
}

static void what_is_not_answered_in_time_has_expired(void)
{
    struct human human;
    struct caller caller;
    open_with(NULL, true, 60000);
    join(&human);
    ask(&caller, "git", "log");
    pass_ms(59999);
    TEST_CHECK(caller.ends == 0 && human.settled == 0);
    pass_ms(1);
    expect(&caller, APPROVAL_EXPIRED, "it was not answered within 60 s");
    TEST_CHECK(human.settled == 1 && strstr(human.told, "expired ") == human.told);
    TEST_CHECK(decide_with(&human, (struct approval_decision){.accept = true}) == -ENOENT);
    leave(&human);
    close_all();
}

static void a_withdrawn_one_is_settled_without_an_event(void)
{
    struct human human;
    struct caller caller, asked_nobody;
    open_with(NULL, true, 0);
    join(&human);
    ask(&caller, "git", "log");
    struct approval_subject subject = {"s", "x", "x", "x", "{}", "", ""};
    asked_nobody = (struct caller){0};
    TEST_CHECK(
        approvals_ask(all, &subject, on_decided, &asked_nobody, &asked_nobody.approval, NULL) == 0);
    approval_withdraw(caller.approval);
    approval_withdraw(asked_nobody.approval);
    TEST_CHECK(approvals_waiting(all, "s") == 0);
    turn();
    TEST_CHECK(caller.ends == 0 && asked_nobody.ends == 0);
    TEST_CHECK(human.asked == 1 && strncmp(human.told, "withdrawn ", 10) == 0);
    leave(&human);
    close_all();
}

static void at_most_so_many_wait(void)
{
    static struct caller callers[APPROVALS_PENDING_MAX + 1];
    struct human human;
    open_with(NULL, true, 0);
    join(&human);
    for (int i = 0; i < APPROVALS_PENDING_MAX; i++)
        ask(&callers[i], "git", "log");
    TEST_CHECK(approvals_waiting(all, "s") == APPROVALS_PENDING_MAX && human.asked == 1000);
    ask(&callers[APPROVALS_PENDING_MAX], "git", "log");
    TEST_CHECK(callers[APPROVALS_PENDING_MAX].verdict == APPROVAL_FAILED &&
               callers[APPROVALS_PENDING_MAX].ends == 1);
    leave(&human);
    TEST_CHECK(approvals_waiting(all, "s") == 0);
    TEST_CHECK(callers[0].verdict == APPROVAL_FAILED && callers[999].ends == 1);
    close_all();
}

static void the_watcher_hears_of_the_first_and_the_last(void)
{
    struct human human;
    struct caller a, b, c;
    open_with(NULL, true, 0);
    join(&human);
    ask_as(&a, "s", "git", "log", "");
    ask_as(&b, "s", "git", "diff", "");
    ask_as(&c, "t", "git", "log", "");
    TEST_CHECK(strcmp(watched, "s+ t+ ") == 0);
    TEST_CHECK(approvals_waiting(all, "s") == 2 && approvals_waiting(all, "t") == 1);
    say(&human, true); /* c */
    approval_withdraw(a.approval);
    turn();
    TEST_CHECK(strcmp(watched, "s+ t+ t- ") == 0);
    approval_withdraw(b.approval);
    turn();
    TEST_CHECK(strcmp(watched, "s+ t+ t- s- ") == 0);
    leave(&human);
    ask_as(&a, "s", "git", "log", ""); /* fails at once: nothing ever waited for a human */
    TEST_CHECK(approvals_waiting(all, "s") == 0);
    close_all();
}

static void those_that_wait_are_listed(void)
{
    struct human human;
    struct caller a, b;
    struct approval_view view;
    size_t at = 0;
    open_with(NULL, true, 5000);
    join(&human);
    ask(&a, "git", "log");
    pass_ms(10);
    ask(&b, "git", "diff");
    TEST_CHECK(approvals_next(all, &at, &view) && strcmp(view.subject.tool, "log") == 0);
    TEST_CHECK(approvals_next(all, &at, &view) && strcmp(view.subject.tool, "diff") == 0);
    TEST_CHECK(view.expires_ms == now + 5000 && strcmp(view.id, human.id) == 0);
    TEST_CHECK(!approvals_next(all, &at, &view));
    leave(&human);
    close_all();
}

/* --- grants ---------------------------------------------------------------------------------- */

static void a_grant_lasts_its_time(void)
{
    struct human human;
    struct caller caller;
    open_with(NULL, true, 0);
    join(&human);
    ask(&caller, "git", "log");
    TEST_CHECK(decide_with(&human, (struct approval_decision){true, 1000, 0}) == 0);
    pass_ms(999);
    TEST_CHECK(verdict_of("git", "log") == APPROVAL_ACCEPTED && human.asked == 1);
    ask(&caller, "git", "diff"); /* another tool */
    TEST_CHECK(human.asked == 2);
    ask_as(&caller, "t", "git", "log", "d1"); /* another session */
    TEST_CHECK(human.asked == 3);
    pass_ms(1);
    ask(&caller, "git", "log");
    TEST_CHECK(human.asked == 4);
    leave(&human);
    close_all();
}

static void a_grant_lasts_its_calls(void)
{
    struct human human;
    struct caller caller;
    open_with(NULL, true, 0);
    join(&human);
    ask(&caller, "git", "log");
    TEST_CHECK(decide_with(&human, (struct approval_decision){true, 0, 2}) == 0);
    TEST_CHECK(verdict_of("git", "log") == APPROVAL_ACCEPTED);
    TEST_CHECK(verdict_of("git", "log") == APPROVAL_ACCEPTED);
    ask(&caller, "git", "log");
    TEST_CHECK(caller.ends == 0 && human.asked == 2);
    leave(&human);
    close_all();
}

static void a_grant_ends_with_the_digest_and_with_the_session(void)
{
    struct human human;
    struct caller caller;
    open_with(NULL, true, 0);
    join(&human);
    ask_as(&caller, "s", "git", "log", "d1");
    TEST_CHECK(decide_with(&human, (struct approval_decision){true, INT64_MAX, 0}) == 0);
    ask_as(&caller, "s", "git", "log", "d2");
    TEST_CHECK(human.asked == 2);
    say(&human, false);
    ask_as(&caller, "s", "git", "log", "d1"); /* it does not come back */
    TEST_CHECK(human.asked == 3);
    TEST_CHECK(decide_with(&human, (struct approval_decision){true, INT64_MAX, 0}) == 0);
    ask_as(&caller, "s", "git", "log", "d1");
    TEST_CHECK(human.asked == 3);
    approvals_forget(all, "s");
    ask_as(&caller, "s", "git", "log", "d1");
    TEST_CHECK(human.asked == 4);
    leave(&human);
    close_all();
}

static void a_grant_does_not_stand_before_a_deny(void)
{
    struct human human;
    struct caller caller;
    open_with("{\"default\":\"ask\",\"rules\":[{\"tool\":\"x\",\"action\":\"ask\",\"max_calls\":2},"
              "{\"tool\":\"y\",\"action\":\"deny\"}]}",
              false, 0);
    join(&human);
    ask(&caller, "git", "x");
    TEST_CHECK(decide_with(&human, (struct approval_decision){true, INT64_MAX, 0}) == 0);
    TEST_CHECK(verdict_of("git", "x") == APPROVAL_ACCEPTED && human.asked == 1);
    TEST_CHECK(verdict_of("git", "x") == APPROVAL_REJECTED); /* its budget */
    TEST_CHECK(verdict_of("git", "y") == APPROVAL_REJECTED && human.asked == 1);
    leave(&human);
    close_all();
}

static void a_grant_answers_those_that_wait_already(void)
{
    struct human human;
    struct caller a, b, other;
    open_with(NULL, true, 0);
    join(&human);
    ask(&other, "git", "diff");
    ask(&a, "git", "log");
    ask(&b, "git", "log");
    TEST_CHECK(decide_with(&human, (struct approval_decision){true, 1000, 0}) == 0);
    expect(&a, APPROVAL_ACCEPTED, "");
    expect(&b, APPROVAL_ACCEPTED, "");
    TEST_CHECK(other.ends == 0 && human.settled == 1);
    leave(&human);
    close_all();
}

/* --- questions of servers -------------------------------------------------------------------- */

static void a_question_goes_to_an_approver_that_takes_forms(void)
{
    struct human plain, forms;
    struct caller caller;
    open_with("{\"default\":\"deny\"}", false, 0);
    join(&plain);
    TEST_CHECK(!approvals_can_elicit(all, "s"));
    join_as(&forms, APPROVER_CLIENT, "s", true);
    TEST_CHECK(approvals_can_elicit(all, "s") && !approvals_can_elicit(all, "t"));
    elicit(&caller);
    TEST_CHECK(plain.asked == 0 && forms.asked == 1 && approvals_waiting(all, "s") == 1);
    TEST_CHECK(strcmp(forms.seen, "s|git|x|||{\"message\":\"name?\"}|") == 0);
    TEST_CHECK(decide_with(&forms, (struct approval_decision){.accept = true}) == -ENOENT);
    TEST_CHECK(approver_answer(forms.approver, forms.id, "{\"action\":\"accept\"}", NULL) == 0);
    turn();
    TEST_CHECK(caller.ends == 1 && strcmp(caller.result, "{\"action\":\"accept\"}") == 0);
    leave(&plain);
    leave(&forms);
    close_all();
}

static void a_question_that_nobody_answers_is_declined_or_cancelled(void)
{
    struct human human;
    struct caller caller;
    open_with(NULL, false, 1000);
    elicit(&caller);
    TEST_CHECK(caller.ends == 1 && strcmp(caller.result, "{\"action\":\"decline\"}") == 0);
    join_as(&human, APPROVER_CLIENT, NULL, true);
    elicit(&caller);
    pass_ms(1000);
    TEST_CHECK(caller.ends == 1 && strcmp(caller.result, "{\"action\":\"cancel\"}") == 0);
    TEST_CHECK(human.settled == 1);
    elicit(&caller);
    leave(&human);
    TEST_CHECK(caller.ends == 1 && strcmp(caller.result, "{\"action\":\"decline\"}") == 0);
    close_all();
}

/* --- the end --------------------------------------------------------------------------------- */

static struct human *leaver;

static void on_decided_leave(void *ctx, enum approval_verdict verdict, const char *why)
{
    on_decided(ctx, verdict, why);
    leaver->approver = approver_leave(leaver->approver);
}

static void approvers_may_leave_inside_an_event(void)
{
    struct human human;
    struct caller a = {0}, b;
    struct approval_subject subject = {"s", "x", "x", "x", "{}", "", ""};
    open_with(NULL, true, 0);
    join(&human);
    leaver = &human;
    TEST_CHECK(approvals_ask(all, &subject, on_decided_leave, &a, &a.approval, NULL) == 0);
    ask(&b, "git", "log");
    memcpy(human.seen, human.id, sizeof human.id);
    struct approval_view view;
    size_t at = 0;
    TEST_CHECK(approvals_next(all, &at, &view));
    TEST_CHECK(approver_decide(human.approver, view.id, &(struct approval_decision){.accept = true},
                               NULL) == 0);
    turn();
    turn();
    expect(&a, APPROVAL_ACCEPTED, "");
    expect(&b, APPROVAL_FAILED, "Approval channel disconnected");
    close_all();
}

static void closing_tells_nobody(void)
{
    struct human human;
    struct caller caller;
    open_with(NULL, true, 1000);
    join(&human);
    ask(&caller, "git", "log");
    struct approval_subject subject = {"s", "x", "x", "x", "{}", "", ""};
    struct caller fresh = {0};
    TEST_CHECK(approvals_ask(all, &subject, on_decided, &fresh, &fresh.approval, NULL) == 0);
    human.approver = approver_leave(human.approver);
    all = approvals_close(all);
    turn();
    TEST_CHECK(caller.ends == 0 && fresh.ends == 0);
    close_all();
}

static void no_memory_is_an_error_and_costs_no_budget(void)
{
    struct approval_subject subject = {"s", "x", "x", "x", "{}", "", ""};
    struct caller caller = {0};
    struct err e = ERR_NONE;
    open_with("{\"rules\":[{\"action\":\"ask\",\"max_calls\":1}]}", false, 0);
    try_realloc_fail_at(1);
    TEST_CHECK(approvals_ask(all, &subject, on_decided, &caller, &caller.approval, &e) == -ENOMEM);
    turn();
    TEST_CHECK(caller.ends == 0);
    TEST_CHECK(verdict_of("s", "x") == APPROVAL_FAILED); /* not connected, but not denied */
    close_all();
}

#define T(name) {#name, name}
TEST_LIST = {
    T(the_first_rule_that_matches_decides),
    T(without_a_rule_the_default_decides),
    T(no_default_allows_the_server_that_is_always_asked_for),
    T(what_is_wrong_in_a_policy_is_named),
    T(a_budget_counts_what_is_permitted_and_then_denies),
    T(a_pinned_tool_that_changed_is_asked),
    T(a_rule_may_name_the_digest),
    T(an_approver_sees_everything_and_decides),
    T(without_an_approver_it_fails_at_once),
    T(the_best_rank_is_asked_and_the_next_when_it_leaves),
    T(an_approver_that_cannot_show_it_passes),
    T(only_the_one_who_is_asked_may_decide),
    T(what_is_not_answered_in_time_has_expired),
    T(a_withdrawn_one_is_settled_without_an_event),
    T(at_most_so_many_wait),
    T(the_watcher_hears_of_the_first_and_the_last),
    T(those_that_wait_are_listed),
    T(a_grant_lasts_its_time),
    T(a_grant_lasts_its_calls),
    T(a_grant_ends_with_the_digest_and_with_the_session),
    T(a_grant_does_not_stand_before_a_deny),
    T(a_grant_answers_those_that_wait_already),
    T(a_question_goes_to_an_approver_that_takes_forms),
    T(a_question_that_nobody_answers_is_declined_or_cancelled),
    T(approvers_may_leave_inside_an_event),
    T(closing_tells_nobody),
    T(no_memory_is_an_error_and_costs_no_budget),
    {NULL, NULL},
};
