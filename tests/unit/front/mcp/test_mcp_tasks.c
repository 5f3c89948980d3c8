/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the modern era that go on as tasks. */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "fakes/fake_client.h"
#include "front/mcp/mcp_call.h"

#define EXTENSION "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"
#define TAKES META_WITH("{" EXTENSION "}")
#define TAKES_AND_ANSWERS META_WITH("{\"elicitation\":{\"form\":{}}," EXTENSION "}")
#define CELL_LIFE_MS (120 * 1000 + TASK_KEPT_MS)

static char task[2 * TASK_ID_BYTES + 1], state[200]; /* of the last answer */

static void get_text(const char *name, char *ret, size_t size)
{
    const char *at = strstr(sent, name);
    TEST_ASSERT(at != NULL);
    at += strlen(name);
    const size_t n = strcspn(at, "\"");
    TEST_ASSERT(n < size);
    memcpy(ret, at, n);
    ret[n] = '\0';
}

static void run_cell_with(int id, const char *meta)
{
    drop_str char *text =
        xasprintf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
                  "\"execute_ipython_cell\"," CODE ",%s}}",
                  id, meta);
    say(text);
}

static void request(const char *method, const char *id, const char *more)
{
    drop_str char *text = xasprintf("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tasks/%s\","
                                    "\"params\":{\"taskId\":\"%s\",%s}}",
                                    method, id, more);
    say(text);
}

static void begin_task(int id, const char *meta)
{
    run_cell_with(id, meta);
    pass_ms(TASK_AFTER_MS);
    TEST_CHECK(messages == 1);
    expect("\"result\":{\"resultType\":\"task\",\"taskId\":\"");
    get_text("\"taskId\":\"", task, sizeof task);
}

static void finish_as(enum cell_status status)
{
    struct output o;
    output_init(&o, "/tmp", 5000, 0);
    output_finish(&o, SIZE_MAX);
    listen_anew();
    fake_session_finish(
        &(struct cell_result){.status = status, .output = &o, .ename = "E", .evalue = "v"});
    output_done(&o);
    turn();
}

static void a_long_call_becomes_a_task_and_its_answer_is_kept(void)
{
    open_with(60000);
    run_cell_with(1, TAKES);
    pass_ms(TASK_AFTER_MS - 1);
    TEST_CHECK(messages == 0 && !mcp_is_idle(mcp));
    pass_ms(1);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"task\",\"taskId\":\"");
    expect("\",\"status\":\"working\",\"createdAt\":\"20");
    expect("\"ttlMs\":3720000,\"pollIntervalMs\":1000,\"_meta\":{");
    get_text("\"taskId\":\"", task, sizeof task);
    TEST_CHECK(strlen(task) == 2 * TASK_ID_BYTES && mcp_is_idle(mcp) && mcp_has_task(mcp, task));
    request("get", task, TAKES);
    expect("\"id\":9,\"result\":{\"taskId\":\"");
    expect("\"status\":\"working\"");
    expect("\"resultType\":\"complete\"");
    finish("done");
    TEST_CHECK(messages == 0);
    for (int i = 0; i < 2; i++) {
        request("get", task, TAKES);
        expect("\"status\":\"completed\"");
        expect("\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"isError\":false,"
               "\"resultType\":\"complete\"");
    }
    pass_ms(CELL_LIFE_MS);
    TEST_CHECK(!mcp_has_calls(mcp));
    request("get", task, TAKES);
    expect(
        "\"error\":{\"code\":-32602,\"message\":\"Invalid params: taskId: there is no such task");
    close_all();
}

static void a_failed_cell_is_a_completed_task(void)
{
    open_with(60000);
    begin_task(1, TAKES);
    finish_as(CELL_ERROR);
    request("get", task, TAKES);
    expect("\"status\":\"completed\"");
    expect("Error executing tool execute_ipython_cell: E: v");
    expect("\"isError\":true");
    close_all();
}

static void who_takes_no_tasks_gets_none(void)
{
    open_with(60000);
    run_cell_with(1, META);
    pass_ms(10 * TASK_AFTER_MS);
    TEST_CHECK(messages == 0);
    finish("late");
    expect("\"id\":1,\"result\":{\"content\"");
    run_cell_with(2, TAKES);
    pass_ms(TASK_AFTER_MS - 1);
    finish("soon");
    expect("\"id\":2,\"result\":{\"content\"");
    static const char *const methods[] = {"get", "update", "cancel"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        request(methods[i], "x", META);
        expect("\"code\":-32021");
        expect("\"data\":{\"requiredCapabilities\":{\"extensions\":{"
               "\"io.modelcontextprotocol/tasks\":{}}}}");
        request(methods[i], "x", TAKES);
        expect("\"code\":-32602");
        request(methods[i], "", TAKES);
        expect("\"code\":-32602");
    }
    say("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tasks/list\",\"params\":{" TAKES "}}");
    expect("\"code\":-32601");
    say("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"server/discover\",\"params\":{" TAKES "}}");
    expect("\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}");
    initialize("2025-11-25", "{}");
    expect_not("extensions");
    say("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tasks/get\",\"params\":{\"taskId\":\"x\"}}");
    expect("\"code\":-32601");
    close_all();
}

static void a_task_can_be_cancelled_by_its_id_alone(void)
{
    open_with(60000);
    begin_task(1, TAKES);
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
        "\"requestId\":1}}");
    TEST_CHECK(fake.cancels == 0);
    for (int i = 0; i < 2; i++) {
        request("cancel", task, TAKES);
        expect("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"resultType\":\"complete\"");
        expect_not("taskId");
        TEST_CHECK(fake.cancels == 1);
    }
    finish_as(CELL_CANCELLED);
    request("get", task, TAKES);
    expect("\"status\":\"cancelled\"");
    expect_not("content");
    request("cancel", task, TAKES);
    expect("\"resultType\":\"complete\"");
    close_all();
}

static void pip_as_a_task_ends_when_it_is_cancelled(void)
{
    open_with(60000);
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"install_package\",\"arguments\":{\"package_name\":\"six\"}," TAKES "}}");
    pass_ms(TASK_AFTER_MS);
    get_text("\"taskId\":\"", task, sizeof task);
    request("cancel", task, TAKES);
    request("get", task, TAKES);
    expect("\"status\":\"cancelled\"");
    close_all();
}

static void its_questions_are_shown_and_answered_there(void)
{
    struct caller caller;
    open_with(60000);
    begin_task(1, TAKES_AND_ANSWERS);
    ask(&caller, "push");
    TEST_CHECK(messages == 0);
    request("get", task, TAKES);
    expect("\"status\":\"input_required\"");
    expect("\"inputRequests\":{\"ipybox-1\":{\"method\":\"elicitation/create\",\"params\":{");
    request("update", task, "\"inputResponses\":5," TAKES);
    expect("\"code\":-32602");
    request("update", task, "\"inputResponses\":{\"other\":" APPROVE "}," TAKES);
    TEST_CHECK(caller.ends == 0);
    request("update", task, "\"inputResponses\":{\"ipybox-1\":" APPROVE "}," TAKES);
    expect("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"resultType\":\"complete\"");
    expect_end(&caller, APPROVAL_ACCEPTED);
    request("get", task, TAKES);
    expect("\"status\":\"working\"");
    finish("pushed");
    request("get", task, TAKES);
    expect("pushed");
    close_all();
}

static void a_question_comes_before_the_task(void)
{
    struct caller caller;
    open_with(60000);
    run_cell_with(1, TAKES_AND_ANSWERS);
    ask(&caller, "push");
    expect("\"resultType\":\"input_required\"");
    get_text("\"requestState\":\"", state, sizeof state);
    listen_anew();
    pass_ms(2 * TASK_AFTER_MS);
    TEST_CHECK(messages == 0);
    drop_str char *text =
        xasprintf("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":"
                  "\"execute_ipython_cell\"," CODE ",\"inputResponses\":{\"ipybox-1\":" APPROVE
                  "},\"requestState\":\"%s\"," TAKES_AND_ANSWERS "}}",
                  state);
    say(text);
    expect_end(&caller, APPROVAL_ACCEPTED);
    pass_ms(TASK_AFTER_MS);
    expect("\"id\":2,\"result\":{\"resultType\":\"task\"");
    finish("x");
    close_all();
}

static void what_is_over_makes_room(void)
{
    char first[sizeof task], second[sizeof task];
    open_with(60000);
    for (int i = 0; i <= TASKS_MAX; i++) {
        begin_task(i, TAKES);
        finish("x");
        if (i < 2)
            memcpy(i == 0 ? first : second, task, sizeof task);
    }
    TEST_CHECK(!mcp_has_task(mcp, first) && mcp_has_task(mcp, second) && mcp_has_task(mcp, task));
    close_all();
}

static void the_time_until_then_may_be_another(void)
{
    open_with(60000);
    config.task_after_ms = 10 * TASK_AFTER_MS;
    run_cell_with(1, TAKES);
    pass_ms(10 * TASK_AFTER_MS - 1);
    TEST_CHECK(messages == 0);
    pass_ms(1);
    expect("\"resultType\":\"task\"");
    finish("x");
    close_all();
}

TEST_LIST = {
#define T(name) {#name, name}
    T(a_long_call_becomes_a_task_and_its_answer_is_kept),
    T(the_time_until_then_may_be_another),
    T(a_failed_cell_is_a_completed_task),
    T(who_takes_no_tasks_gets_none),
    T(a_task_can_be_cancelled_by_its_id_alone),
    T(pip_as_a_task_ends_when_it_is_cancelled),
    T(its_questions_are_shown_and_answered_there),
    T(a_question_comes_before_the_task),
    T(what_is_over_makes_room),
    {NULL, NULL},
};
