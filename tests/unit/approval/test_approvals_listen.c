/* SPDX-License-Identifier: Apache-2.0
 *
 * Those who hear of every approval, and approvers of questions alone. */
#include <acutest.h>

#include <stdio.h>
#include <string.h>

#include "approval/approvals.h"

static int64_t now = 1000;
static struct loop *loop;
static struct approvals *all;
static char heard[400], id[APPROVALS_ID_MAX];
static struct approver *approver;
static int asked, ends;

static int64_t fake_clock(void)
{
    return now;
}

static void turn(void)
{
    for (int i = 0; i < 4; i++)
        loop_turn(loop, 0);
}

static void open_all(void)
{
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    loop_set_clock(loop, fake_clock);
    struct approvals_config config = {.loop = loop, .timeout_ms = 1000, .ask_by_default = true};
    TEST_ASSERT(approvals_open(&config, &all, NULL) == 0);
}

static void close_all(void)
{
    approver = approver_leave(approver);
    all = approvals_close(all);
    loop = loop_free(loop);
}

static void on_ask(void *ctx, const struct approval_view *view)
{
    (void)ctx;
    asked++;
    (void)snprintf(id, sizeof id, "%s", view->id);
}

static void join(int rank, bool calls, bool questions)
{
    const struct approver_config config = {
        .rank = rank, .ask = calls ? on_ask : NULL, .elicit = questions ? on_ask : NULL};
    approver = approver_join(all, &config);
}

static void on_decided(void *ctx, enum approval_verdict verdict, const char *why)
{
    (void)ctx, (void)verdict, (void)why;
    ends++;
}

static void on_answered(void *ctx, const char *result)
{
    (void)ctx, (void)result;
    ends++;
}

static struct approval *call(void)
{
    const struct approval_subject subject = {"s", "git", "x", "push", "{}", "", NULL};
    struct approval *approval;
    TEST_ASSERT(approvals_ask(all, &subject, on_decided, NULL, &approval, NULL) == 0);
    turn();
    return approval;
}

static void question(void)
{
    const struct approval_question q = {"s", "git", "x", "{\"message\":\"?\"}"};
    struct approval *approval;
    TEST_ASSERT(approvals_elicit(all, &q, on_answered, NULL, &approval, NULL) == 0);
    turn();
}

static void decide(bool accept)
{
    const struct approval_decision decision = {.accept = accept};
    TEST_CHECK(approver_decide(approver, id, &decision, NULL) == 0);
    turn();
}

static void on_asked(void *ctx)
{
    strcat(heard, ctx);
    strcat(heard, "? ");
}

static void on_settled(void *ctx, const char *which, const char *outcome)
{
    TEST_CHECK(strlen(which) == 32);
    strcat(heard, ctx);
    strcat(heard, outcome);
    strcat(heard, " ");
}

static void expect(const char *text)
{
    TEST_CHECK_(strcmp(heard, text) == 0, "%s", heard);
    heard[0] = '\0';
}

static struct approvals_listener first = {.asked = on_asked, .settled = on_settled, .ctx = "1"};
static struct approvals_listener second = {.asked = on_asked, .settled = on_settled, .ctx = "2"};

static void listeners_hear_of_every_question_and_its_outcome(void)
{
    open_all();
    approvals_listen(all, &first);
    (void)call(); /* nobody is there */
    expect("1failed ");
    join(APPROVER_CHANNEL, true, true);
    (void)call();
    expect("1? ");
    decide(true);
    expect("1accepted ");
    (void)call();
    decide(false);
    expect("1? 1rejected ");
    (void)call();
    now += 1000;
    turn();
    expect("1? 1expired ");
    approval_withdraw(call());
    turn();
    expect("1? 1withdrawn ");
    question();
    TEST_CHECK(approver_answer(approver, id, "{}", NULL) == 0);
    turn();
    expect("1? 1answered ");
    (void)call();
    approver = approver_leave(approver);
    turn();
    expect("1? 1failed ");
    close_all();
}

static void listeners_come_and_go(void)
{
    open_all();
    join(APPROVER_CHANNEL, true, true);
    approvals_listen(all, &first);
    approvals_listen(all, &second);
    (void)call();
    expect("2? 1? ");
    approvals_unlisten(all, &first);
    decide(true);
    expect("2accepted ");
    approvals_unlisten(all, &second);
    (void)call();
    decide(true);
    expect("");
    close_all();
}

static void what_needs_nobody_is_not_told(void)
{
    open_all();
    approvals_listen(all, &first);
    approvals_restrict(all, "s", &(struct approvals_rule){.strictness = APPROVALS_DENY_ALL});
    (void)call();
    TEST_CHECK(ends == 1);
    expect("");
    close_all();
}

static void questions_have_approvers_of_their_own(void)
{
    open_all();
    join(APPROVER_API_QUESTIONS, false, true);
    TEST_CHECK(approvals_can_elicit(all, "s"));
    (void)call();
    TEST_CHECK(ends == 1 && asked == 0);
    question();
    TEST_CHECK(ends == 1 && asked == 1);
    struct approver *seat = approver;
    join(APPROVER_CLIENT, true, true); /* comes before it, also when it comes later */
    question();
    TEST_CHECK(approver_answer(seat, id, "{}", NULL) == -ENOENT);
    TEST_CHECK(approver_answer(approver, id, "{}", NULL) == 0);
    turn();
    TEST_CHECK(ends == 2);
    (void)approver_leave(seat);
    turn();
    TEST_CHECK(asked == 3 && ends == 2); /* the first one goes on to the client */
    close_all();
}

/* What waits goes to who moves before its holder, and from who moves behind another. */
static void who_moves_takes_and_gives_what_waits(void)
{
    open_all();
    join(APPROVER_API_AWAY, true, false);
    struct approver *seat = approver;
    (void)call(); /* the seat's, as nobody else is there */
    join(APPROVER_CLIENT, true, false);
    (void)call(); /* the client's */
    TEST_CHECK(asked == 2 && !approver_holds(seat, id) && approver_holds(approver, id));
    approver_move(seat, APPROVER_API);
    TEST_CHECK(approver_holds(seat, id) && !approver_holds(approver, id)); /* at once */
    TEST_CHECK(asked == 2);
    turn();
    TEST_CHECK(asked == 3); /* the first one has not moved */
    approver_move(seat, APPROVER_API_AWAY);
    turn();
    TEST_CHECK(asked == 5 && !approver_holds(seat, id) && approver_holds(approver, id));
    decide(true);
    TEST_CHECK(ends == 1);
    (void)approver_leave(seat);
    close_all();
}

static void who_passes_is_not_asked_again_when_another_moves(void)
{
    open_all();
    join(APPROVER_API_AWAY, true, false);
    struct approver *seat = approver;
    join(APPROVER_CLIENT, true, false);
    (void)call();
    TEST_CHECK(approver_pass(approver, id, NULL) == 0);
    turn();
    TEST_CHECK(asked == 2 && approver_holds(seat, id));
    approver_move(seat, APPROVER_API);
    approver_move(seat, APPROVER_API_AWAY);
    turn();
    TEST_CHECK(asked == 2 && approver_holds(seat, id) && ends == 0);
    (void)approver_leave(seat);
    close_all();
}

TEST_LIST = {
    {"who_moves_takes_and_gives_what_waits", who_moves_takes_and_gives_what_waits},
    {"who_passes_is_not_asked_again_when_another_moves",
     who_passes_is_not_asked_again_when_another_moves},
    {"listeners_hear_of_every_question_and_its_outcome",
     listeners_hear_of_every_question_and_its_outcome},
    {"listeners_come_and_go", listeners_come_and_go},
    {"what_needs_nobody_is_not_told", what_needs_nobody_is_not_told},
    {"questions_have_approvers_of_their_own", questions_have_approvers_of_their_own},
    {NULL, NULL},
};
