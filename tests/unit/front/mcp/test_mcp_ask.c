/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions to a client of the handshake era. */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "fakes/fake_client.h"

static void open_handshake(void)
{
    open_with(60000);
    initialize("2025-11-25", "{\"elicitation\":{}}");
}

static void a_handshake_client_is_asked_by_a_request(void)
{
    struct caller caller;
    open_handshake();
    run_cell(1);
    ask(&caller, "push");
    TEST_CHECK(messages == 1 && caller.ends == 0);
    expect("{\"jsonrpc\":\"2.0\",\"id\":\"ipybox-1\",\"method\":\"elicitation/create\",\"params\":{"
           "\"mode\":\"form\",\"message\":\"Code in");
    expect(
        "server:    git\\nruns:      npx git-mcp\\ntool:      push\\narguments: {\\n  \\\"a\\\": "
        "\\\"\\\\u001b\\\"\\n}");
    expect("\"requestedSchema\":{\"type\":\"object\"");
    answer("ipybox-1", APPROVE);
    expect_end(&caller, APPROVAL_ACCEPTED);
    TEST_CHECK(messages == 0);
    answer("ipybox-1", APPROVE); /* answered already */
    finish("done");
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
           "\"done\"}],\"isError\":false}}");
    close_all();
}

static void everything_but_a_clear_yes_is_a_no(void)
{
    static const char *const cases[] = {
        "{\"action\":\"decline\"}",
        "{\"action\":\"cancel\"}",
        "{\"action\":\"decline\",\"content\":{\"decision\":\"approve\"}}",
        "{\"action\":\"accept\"}",
        "{\"action\":\"accept\",\"content\":{}}",
        "{\"action\":\"accept\",\"content\":{\"decision\":\"reject\"}}",
        "{\"action\":\"accept\",\"content\":{\"decision\":true}}",
        "{\"action\":\"accept\",\"content\":{\"decision\":\"Approve\"}}",
        "{\"action\":\"accept\",\"content\":\"approve\"}",
        "{\"action\":1}",
        "{}",
        "null",
        "\"approve\"",
    };
    struct caller caller;
    open_handshake();
    run_cell(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char id[40];
        TEST_CASE_("%s", cases[i]);
        ask(&caller, "push");
        (void)snprintf(id, sizeof id, "ipybox-%zu", i + 1);
        answer(id, cases[i]);
        expect_end(&caller, APPROVAL_REJECTED);
    }
    ask(&caller, "push");
    say("{\"jsonrpc\":\"2.0\",\"id\":\"ipybox-14\",\"error\":{\"code\":-32601,\"message\":\"?\"}}");
    expect_end(&caller, APPROVAL_REJECTED);
    close_all();
}

static void an_answer_under_another_id_is_ignored(void)
{
    struct caller caller;
    open_handshake();
    run_cell(1);
    ask(&caller, "push");
    answer("ipybox-2", APPROVE);
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" APPROVE "}");
    TEST_CHECK(caller.ends == 0 && messages == 0);
    close_all();
}

static void approving_for_the_session_asks_no_more(void)
{
    struct caller caller;
    open_handshake();
    run_cell(1);
    ask(&caller, "push");
    answer("ipybox-1",
           "{\"action\":\"accept\",\"content\":{\"decision\":\"approve for this session\"}}");
    expect_end(&caller, APPROVAL_ACCEPTED);
    ask(&caller, "push");
    expect_end(&caller, APPROVAL_ACCEPTED);
    TEST_CHECK(messages == 0);
    ask(&caller, "pull");
    TEST_CHECK(messages == 1 && caller.ends == 0);
    close_all();
}

static void a_client_that_declares_nothing_is_not_asked(void)
{
    static const char *const cases[] = {"{}", "{\"elicitation\":{\"url\":{}}}",
                                        "{\"elicitation\":true}", "{\"sampling\":{}}"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct caller caller;
        TEST_CASE_("%s", cases[i]);
        open_with(0);
        initialize("2025-11-25", cases[i]);
        run_cell(1);
        ask(&caller, "push");
        expect_end(&caller, APPROVAL_FAILED);
        TEST_CHECK(strcmp(caller.why, "Approval channel not connected") == 0 && messages == 0);
        close_all();
    }
}

static void older_revisions_get_no_mode(void)
{
    struct caller caller;
    open_with(0);
    initialize("2025-06-18", "{\"elicitation\":{}}");
    run_cell(1);
    ask(&caller, "push");
    expect("\"params\":{\"message\":");
    close_all();
}

static void a_question_that_is_settled_elsewhere_is_cancelled(void)
{
    struct caller caller;
    open_handshake();
    run_cell(1);
    ask(&caller, "push");
    listen_anew();
    pass_ms(60000);
    expect_end(&caller, APPROVAL_EXPIRED);
    expect("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
           "\"requestId\":"
           "\"ipybox-1\",");
    ask(&caller, "push");
    listen_anew();
    approval_withdraw(caller.approval);
    turn();
    expect("\"requestId\":\"ipybox-2\"");
    answer("ipybox-2", APPROVE);
    TEST_CHECK(caller.ends == 0 && messages == 0);
    close_all();
}

static void cancelling_the_call_refuses_its_questions(void)
{
    struct caller before, after;
    open_handshake();
    run_cell(1);
    ask(&before, "push");
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
        "\"requestId\":1}}");
    expect_end(&before, APPROVAL_REJECTED);
    expect("\"requestId\":\"ipybox-1\"");
    TEST_CHECK(fake.cancels == 1);
    ask(&after, "push"); /* its cell has not ended yet */
    expect_end(&after, APPROVAL_REJECTED);
    TEST_CHECK(messages == 0);
    close_all();
}

static void a_client_that_goes_or_starts_anew_loses_its_questions(void)
{
    struct caller caller;
    open_handshake();
    run_cell(1);
    ask(&caller, "push");
    initialize("2025-11-25", "{}");
    expect_end(&caller, APPROVAL_FAILED);
    TEST_CHECK(strcmp(caller.why, "Approval channel disconnected") == 0);
    expect("\"requestId\":\"ipybox-1\"");
    initialize("2025-11-25", "{\"elicitation\":{\"form\":{}}}");
    ask(&caller, "push");
    TEST_CHECK(messages == 1);
    listen_anew();
    mcp = mcp_free(mcp);
    turn();
    expect_end(&caller, APPROVAL_FAILED);
    TEST_CHECK(messages == 0);
    close_all();
}

static void a_thread_may_ask_after_its_cell_has_ended(void)
{
    struct caller caller;
    open_handshake();
    ask(&caller, "push");
    expect("elicitation/create");
    answer("ipybox-1", APPROVE);
    expect_end(&caller, APPROVAL_ACCEPTED);
    close_all();
}

static void a_form_of_a_server_is_passed_on_and_its_answer_back(void)
{
    static const char form[] = "{\"message\":\"Your name?\",\"requestedSchema\":{\"type\":"
                               "\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}}";
    static const char *const cases[][2] = {
        {"{\"action\":\"accept\",\"content\":{\"name\":\"A\"},\"x\":1}",
         "{\"action\":\"accept\",\"content\":{\"name\":\"A\"}}"},
        {"{\"action\":\"accept\"}", "{\"action\":\"decline\"}"},
        {"{\"action\":\"cancel\"}", "{\"action\":\"cancel\"}"},
        {"{\"action\":\"decline\",\"content\":{}}", "{\"action\":\"decline\"}"},
        {"[]", "{\"action\":\"decline\"}"},
    };
    struct caller caller;
    open_handshake();
    run_cell(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char id[40];
        elicit(&caller, form);
        expect("\"method\":\"elicitation/create\"");
        expect("message: Your name?");
        expect("\"properties\":{\"name\":{\"type\":\"string\"}}");
        (void)snprintf(id, sizeof id, "ipybox-%zu", i + 1);
        answer(id, cases[i][0]);
        TEST_CHECK(caller.ends == 1 && strcmp(caller.result, cases[i][1]) == 0);
        TEST_MSG("case %zu: %s", i, caller.result);
    }
    elicit(&caller, "{\"mode\":\"url\",\"message\":\"x\",\"url\":\"https://x\"}");
    TEST_CHECK(messages == 0 && strcmp(caller.result, "{\"action\":\"decline\"}") == 0);
    close_all();
}

static void a_client_that_cannot_be_heard_is_not_asked(void)
{
    struct caller before, after;
    open_handshake();
    run_cell(1);
    ask(&before, "push");
    listen_anew();
    mcp_input_ended(mcp);
    turn();
    expect_end(&before, APPROVAL_FAILED);
    TEST_CHECK(strcmp(before.why, "Approval channel disconnected") == 0);
    ask(&after, "push");
    expect_end(&after, APPROVAL_FAILED);
    TEST_CHECK(messages == 0 && !mcp_is_idle(mcp));
    finish("x");
    expect("\"id\":1,\"result\"");
    close_all();
}

#define T(name) {#name, name}

TEST_LIST = {
    T(a_handshake_client_is_asked_by_a_request),
    T(everything_but_a_clear_yes_is_a_no),
    T(an_answer_under_another_id_is_ignored),
    T(approving_for_the_session_asks_no_more),
    T(a_client_that_declares_nothing_is_not_asked),
    T(older_revisions_get_no_mode),
    T(a_question_that_is_settled_elsewhere_is_cancelled),
    T(cancelling_the_call_refuses_its_questions),
    T(a_client_that_goes_or_starts_anew_loses_its_questions),
    T(a_thread_may_ask_after_its_cell_has_ended),
    T(a_form_of_a_server_is_passed_on_and_its_answer_back),
    T(a_client_that_cannot_be_heard_is_not_asked),
    {NULL, NULL},
};
