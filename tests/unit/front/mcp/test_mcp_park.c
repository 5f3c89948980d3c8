/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions to a client of the modern era: the call is parked. */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "fakes/fake_client.h"

static void open_modern(void)
{
    open_with(60000);
}

static char state[200]; /* of the last "input_required" */

static void get_state(void)
{
    static const char name[] = "\"requestState\":\"";
    const char *at = strstr(sent, name);
    TEST_ASSERT(at != NULL);
    at += sizeof name - 1;
    size_t n = strcspn(at, "\"");
    TEST_ASSERT(n < sizeof state);
    memcpy(state, at, n);
    state[n] = '\0';
}

static void run_modern_cell(int id)
{
    drop_str char *text =
        xasprintf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
                  "\"execute_ipython_cell\"," CODE "," META "}}",
                  id);
    say(text);
}

static void retry_as(int id, const char *params, const char *with_state, const char *responses)
{
    drop_str char *text =
        xasprintf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{%s,"
                  "\"inputResponses\":%s,\"requestState\":\"%s\"," META "}}",
                  id, params, responses, with_state);
    say(text);
}

static void retry(int id, const char *responses)
{
    retry_as(id, "\"name\":\"execute_ipython_cell\"," CODE, state, responses);
}

static void a_modern_call_ends_with_the_question_and_is_taken_up_again(void)
{
    struct caller caller;
    open_modern();
    run_modern_cell(1);
    ask(&caller, "push");
    TEST_CHECK(messages == 1 && mcp_is_idle(mcp));
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"input_required\","
           "\"inputRequests\":{\"ipybox-1\":{\"method\":\"elicitation/create\",\"params\":{"
           "\"mode\":\"form\",\"message\":");
    expect("/serverInfo\":{\"name\":\"ipybox\",\"version\":\"1.2.3\"}}}}");
    get_state();
    TEST_CHECK(strlen(state) == 3 + 32 + 1 + 64);
    retry(2, "{\"ipybox-1\":" APPROVE "}");
    TEST_CHECK(messages == 0 && !mcp_is_idle(mcp) && fake.executes == 1);
    expect_end(&caller, APPROVAL_ACCEPTED);
    finish("done");
    expect("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
           "\"done\"}],\"isError\":false,\"resultType\":\"complete\"");
    TEST_CHECK(messages == 1 && mcp_is_idle(mcp));
    close_all();
}

static void a_modern_no_is_a_no(void)
{
    struct caller caller;
    open_modern();
    run_modern_cell(1);
    ask(&caller, "push");
    get_state();
    retry(2, "{\"ipybox-1\":{\"action\":\"decline\"},\"other\":5}");
    expect_end(&caller, APPROVAL_REJECTED);
    close_all();
}

static void a_cell_may_ask_again_and_again(void)
{
    struct caller caller;
    open_modern();
    run_modern_cell(1);
    for (int i = 1; i <= 5; i++) {
        char responses[200], wanted[100];
        ask(&caller, "push");
        (void)snprintf(wanted, sizeof wanted, "\"id\":%d,\"result\":{\"resultType\":\"input_", i);
        expect(wanted);
        get_state();
        (void)snprintf(responses, sizeof responses, "{\"ipybox-%d\":" APPROVE "}", i);
        retry(i + 1, responses);
        TEST_CHECK(messages == 0);
        expect_end(&caller, APPROVAL_ACCEPTED);
    }
    finish("x");
    expect("\"id\":6,\"result\":{\"content\"");
    close_all();
}

static void parallel_questions_go_out_together(void)
{
    struct caller a, b, late;
    open_modern();
    run_modern_cell(1);
    ask_at_once(&a, "push");
    turn();
    now += 10;
    ask(&b, "pull");
    TEST_CHECK(messages == 1);
    expect("\"ipybox-1\":{\"method\"");
    expect("\"ipybox-2\":{\"method\"");
    get_state();
    ask(&late, "fetch"); /* while the client thinks */
    TEST_CHECK(messages == 0);
    retry(2, "{\"ipybox-1\":" APPROVE ",\"ipybox-3\":" APPROVE "}"); /* one was never shown */
    expect_end(&a, APPROVAL_ACCEPTED);
    TEST_CHECK(b.ends == 0 && late.ends == 0 && messages == 1);
    expect("\"id\":2,\"result\":{\"resultType\":\"input_required\"");
    expect_not("\"ipybox-1\"");
    get_state();
    retry(3, "{\"ipybox-2\":" APPROVE ",\"ipybox-3\":{\"action\":\"decline\"}}");
    expect_end(&b, APPROVAL_ACCEPTED);
    expect_end(&late, APPROVAL_REJECTED);
    TEST_CHECK(messages == 0);
    close_all();
}

static void missing_answers_are_asked_for_again(void)
{
    static const char *const cases[] = {"{}", "null", "[]", "5", "{\"other\":" APPROVE "}"};
    struct caller caller;
    open_modern();
    run_modern_cell(1);
    ask(&caller, "push");
    for (int i = 0; i < 5; i++) {
        get_state();
        retry(i + 2, cases[i]);
        TEST_CHECK(messages == 1 && caller.ends == 0);
        expect("\"resultType\":\"input_required\"");
        expect("\"ipybox-1\"");
    }
    close_all();
}

static void a_state_that_is_not_good_changes_nothing(void)
{
    struct caller caller;
    char good[200];
    open_modern();
    run_modern_cell(1);
    ask(&caller, "push");
    get_state();
    memcpy(good, state, sizeof good);
    for (size_t i = 0; i < strlen(good); i += 7) {
        state[i] = state[i] == '0' ? '1' : '0';
        retry(2, "{\"ipybox-1\":" APPROVE "}");
        expect("\"id\":2," INVALID_STATE);
        memcpy(state, good, sizeof good);
    }
    static const char *const others[] = {
        "\"name\":\"execute_ipython_cell\",\"arguments\":{\"code\":\"y\"}",
        "\"name\":\"execute_ipython_cell\",\"arguments\":{\"code\":\"x\",\"timeout\":1}",
        "\"name\":\"execute_ipython_cell\"",
        "\"name\":\"install_package\"," CODE,
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        retry_as(2, others[i], good, "{\"ipybox-1\":" APPROVE "}");
        expect(INVALID_STATE);
    }
    retry_as(2, "\"name\":\"execute_ipython_cell\"," CODE, "", "{}");
    expect(INVALID_STATE);
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"execute_ipython_cell\"," CODE ",\"requestState\":7," META "}}");
    expect(INVALID_STATE);
    TEST_CHECK(caller.ends == 0 && fake.executes == 1);
    retry(3, "{\"ipybox-1\":" APPROVE "}");
    expect_end(&caller, APPROVAL_ACCEPTED);
    retry(4, "{\"ipybox-1\":" APPROVE "}"); /* once is all */
    expect("\"id\":4," INVALID_STATE);
    close_all();
}

static void a_state_of_before_is_worth_nothing(void)
{
    struct caller caller;
    char old[200];
    open_modern();
    run_modern_cell(1);
    ask(&caller, "push");
    get_state();
    memcpy(old, state, sizeof old);
    retry(2, "{}");
    get_state();
    TEST_CHECK(strcmp(old, state) != 0);
    retry_as(3, "\"name\":\"execute_ipython_cell\"," CODE, old, "{\"ipybox-1\":" APPROVE "}");
    expect(INVALID_STATE);
    TEST_CHECK(caller.ends == 0);
    close_all();
}

static void who_does_not_come_in_time_has_denied(void)
{
    struct caller caller;
    open_with(0); /* no timeout of approvals: ten minutes */
    run_modern_cell(1);
    ask(&caller, "push");
    get_state();
    pass_ms(599999);
    TEST_CHECK(caller.ends == 0 && fake.abandoned == 0);
    pass_ms(1);
    expect_end(&caller, APPROVAL_REJECTED);
    TEST_CHECK(fake.abandoned == 1 && fake.cancels == 0);
    retry(2, "{\"ipybox-1\":" APPROVE "}");
    expect(INVALID_STATE);
    close_all();
}

static void the_end_of_the_approval_is_the_end_of_the_state(void)
{
    struct caller caller;
    open_modern();
    run_modern_cell(1);
    ask(&caller, "push");
    get_state();
    pass_ms(59979);
    TEST_CHECK(caller.ends == 0);
    pass_ms(1);
    expect_end(&caller, APPROVAL_EXPIRED);
    TEST_CHECK(fake.abandoned == 1);
    retry(2, "{\"ipybox-1\":" APPROVE "}");
    expect(INVALID_STATE);
    close_all();
}

static void an_answer_that_came_meanwhile_is_kept(void)
{
    struct caller caller;
    open_modern();
    run_modern_cell(1);
    ask(&caller, "push");
    get_state();
    approval_withdraw(caller.approval); /* the code gave up waiting */
    turn();
    finish("came early");
    TEST_CHECK(messages == 0);
    retry(22, "{\"ipybox-1\":" APPROVE "}");
    expect("{\"jsonrpc\":\"2.0\",\"id\":22,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
           "\"came early\"}],\"isError\":false,\"resultType\":\"complete\"");
    TEST_CHECK(messages == 1);
    run_modern_cell(3);
    ask(&caller, "push");
    get_state();
    finish("never fetched");
    pass_ms(60000);
    retry(4, "{}");
    expect(INVALID_STATE);
    close_all();
}

static void a_parked_call_can_be_cancelled(void)
{
    struct caller caller;
    open_modern();
    run_modern_cell(1);
    ask(&caller, "push");
    get_state();
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
        "\"requestId\":1}}");
    TEST_CHECK(fake.cancels == 1 && messages == 0);
    expect_end(&caller, APPROVAL_REJECTED);
    retry(2, "{\"ipybox-1\":" APPROVE "}");
    expect(INVALID_STATE);
    finish("x");
    TEST_CHECK(messages == 0);
    run_modern_cell(1); /* the id is free, also while a call that had it is parked */
    ask(&caller, "push");
    run_modern_cell(1);
    TEST_CHECK(messages == 0 && fake.executes == 3);
    close_all();
}

static void a_retry_can_be_cancelled_before_the_cell_ends(void)
{
    struct caller caller;
    open_modern();
    run_modern_cell(1);
    ask(&caller, "push");
    get_state();
    retry(2, "{\"ipybox-1\":" APPROVE "}");
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
        "\"requestId\":2}}");
    TEST_CHECK(fake.cancels == 1);
    finish("x");
    TEST_CHECK(messages == 0 && mcp_is_idle(mcp));
    close_all();
}

static void a_modern_call_without_the_capability_is_not_asked(void)
{
    static const char plain[] =
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"execute_ipython_cell\"," CODE "," META_WITH("{}") "}}";
    struct caller caller;
    open_modern();
    say(plain);
    ask(&caller, "push");
    expect_end(&caller, APPROVAL_FAILED);
    TEST_CHECK(strcmp(caller.why, "Approval channel not connected") == 0);
    finish("x");
    run_modern_cell(1); /* what one request says does not count for another */
    finish("x");
    say(plain);
    ask(&caller, "push");
    expect_end(&caller, APPROVAL_FAILED);
    TEST_CHECK(strcmp(caller.why, "Approval channel not connected") == 0 && messages == 0);
    close_all();
}

static void a_question_without_an_open_call_waits_for_the_next(void)
{
    struct caller caller;
    open_modern();
    run_modern_cell(1);
    finish("x");
    ask(&caller, "push");
    TEST_CHECK(messages == 0 && caller.ends == 0);
    run_modern_cell(2);
    expect("\"id\":2,\"result\":{\"resultType\":\"input_required\"");
    get_state();
    finish("y");
    retry(3, "{\"ipybox-1\":" APPROVE "}");
    expect("\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"y\"}]");
    expect_end(&caller, APPROVAL_ACCEPTED);
    ask(&caller, "pull");
    pass_ms(60000);
    expect_end(&caller, APPROVAL_EXPIRED);
    close_all();
}

static void the_cell_that_runs_is_the_one_that_asks(void)
{
    struct caller caller;
    open_modern();
    run_modern_cell(1);
    run_modern_cell(2); /* waits in the queue */
    ask(&caller, "push");
    expect("\"id\":1,\"result\":{\"resultType\":\"input_required\"");
    TEST_CHECK(messages == 1);
    close_all();
}

static void progress_stops_with_the_question_and_goes_on_for_the_retry(void)
{
    struct caller caller;
    open_modern();
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"execute_ipython_cell\"," CODE ",\"_meta\":{\"progressToken\":\"p\","
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}}}");
    fake_session_text("before");
    ask(&caller, "push");
    expect("\"message\":\"before\"");
    get_state();
    listen_anew();
    fake_session_text("meanwhile");
    pass_ms(100);
    TEST_CHECK(messages == 0);
    drop_str char *text =
        xasprintf("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":"
                  "\"execute_ipython_cell\"," CODE ",\"inputResponses\":{\"ipybox-1\":" APPROVE
                  "},\"requestState\":\"%s\",\"_meta\":{\"progressToken\":\"q\","
                  "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                  "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}}}",
                  state);
    say(text);
    fake_session_text("after");
    pass_ms(100);
    expect("\"progressToken\":\"q\",\"progress\":1,\"message\":\"after\"");
    close_all();
}

static void a_peer_that_goes_while_parked_leaves_nothing_behind(void)
{
    struct caller caller;
    open_modern();
    run_modern_cell(1);
    ask(&caller, "push");
    listen_anew();
    mcp = mcp_free(mcp);
    turn();
    expect_end(&caller, APPROVAL_FAILED);
    TEST_CHECK(strcmp(caller.why, "Approval channel disconnected") == 0 && messages == 0);
    TEST_CHECK(fake.forgotten == 1);
    close_all();
}

static void without_approvals_nothing_changes(void)
{
    open_modern();
    (void)mcp_free(mcp);
    config.approvals = NULL;
    open_anew();
    initialize("2025-11-25", "{\"elicitation\":{}}");
    answer("ipybox-1", APPROVE);
    TEST_CHECK(messages == 0);
    run_modern_cell(1);
    finish("x");
    expect("\"resultType\":\"complete\"");
    retry_as(2, "\"name\":\"execute_ipython_cell\"," CODE, "v1", "{}");
    expect(INVALID_STATE);
    close_all();
}

static void at_the_end_of_input_parked_calls_are_let_go(void)
{
    struct caller shown, gathered;
    open_modern();
    run_modern_cell(1);
    ask(&shown, "push");
    finish("x");
    run_modern_cell(2);
    ask_at_once(&gathered, "pull");
    turn();
    listen_anew();
    mcp_input_ended(mcp);
    turn();
    pass_ms(60000);
    expect_end(&shown, APPROVAL_FAILED);
    expect_end(&gathered, APPROVAL_FAILED);
    TEST_CHECK(messages == 0);
    close_all();
}

static void after_ten_rounds_the_client_would_not_come_again(void)
{
    struct caller caller;
    open_modern();
    run_modern_cell(1);
    ask(&caller, "push");
    for (int i = 2; i <= 10; i++) {
        get_state();
        retry(i, "{}");
        expect("input_required");
    }
    get_state();
    retry(11, "{}");
    TEST_CHECK(messages == 0);
    expect_end(&caller, APPROVAL_FAILED);
    TEST_CHECK(strcmp(caller.why, "Approval channel not connected") == 0);
    finish("x");
    expect("\"id\":11,\"result\":{\"content\"");
    run_modern_cell(12);
    ask(&caller, "push");
    expect("\"id\":12,\"result\":{\"resultType\":\"input_required\"");
    close_all();
}

#define T(name) {#name, name}

TEST_LIST = {
    T(a_modern_call_ends_with_the_question_and_is_taken_up_again),
    T(a_modern_no_is_a_no),
    T(a_cell_may_ask_again_and_again),
    T(parallel_questions_go_out_together),
    T(missing_answers_are_asked_for_again),
    T(a_state_that_is_not_good_changes_nothing),
    T(a_state_of_before_is_worth_nothing),
    T(who_does_not_come_in_time_has_denied),
    T(the_end_of_the_approval_is_the_end_of_the_state),
    T(an_answer_that_came_meanwhile_is_kept),
    T(a_parked_call_can_be_cancelled),
    T(a_retry_can_be_cancelled_before_the_cell_ends),
    T(a_modern_call_without_the_capability_is_not_asked),
    T(a_question_without_an_open_call_waits_for_the_next),
    T(the_cell_that_runs_is_the_one_that_asks),
    T(progress_stops_with_the_question_and_goes_on_for_the_retry),
    T(a_peer_that_goes_while_parked_leaves_nothing_behind),
    T(without_approvals_nothing_changes),
    T(at_the_end_of_input_parked_calls_are_let_go),
    T(after_ten_rounds_the_client_would_not_come_again),
    {NULL, NULL},
};
