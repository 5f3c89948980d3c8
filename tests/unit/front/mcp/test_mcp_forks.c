/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools fork and end_session, over sessions that the test plays. */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "fakes/fake_client.h"

static const char *const made[] = {"a-1", "a-2", "a-3"};
static int sessions_there; /* its address stands for them */

static void call_tool(const char *id, const char *name, const char *arguments)
{
    drop_str char *text = xasprintf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\","
                                    "\"params\":{\"name\":\"%s\",\"arguments\":%s}}",
                                    id, name, arguments);
    say(text);
}

static void open_with_forks(const char *capabilities)
{
    open_with(60000);
    mcp = mcp_free(mcp);
    config.forks = true;
    config.sessions = (struct sessions *)&sessions_there;
    open_anew();
    initialize("2025-11-25", capabilities);
}

static void make_branches(size_t count)
{
    (void)strcpy(fake.other, "a-1"); /* the one that can be found is kept */
    call_tool("1", "fork", "{\"count\":3,\"name\":\"a\"}");
    TEST_CHECK(messages == 0);
    fake.fork.done(fake.fork.ctx, made, count, NULL);
}

static void forks_are_made_named_and_ended(void)
{
    open_with(60000);
    initialize("2025-11-25", "{}");
    call_tool("1", "fork", "{}");
    expect("Unknown tool: fork");
    close_all();

    open_with_forks("{}");
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
    expect("\"name\":\"fork\"");
    expect("\"name\":\"end_session\"");
    expect(
        "\"include_images\":{\"type\":\"boolean\",\"title\":\"Include Images\",\"default\":false,"
        "\"description\":\"Also return the images themselves, not only the paths they are saved "
        "at\"},\"session\":{");
    make_branches(3);
    expect("The new sessions are a-1, a-2 and a-3. Name one");
    TEST_CHECK(fake.fork.count == 3 && fake.fork.wait && !fake.fork.force);
    TEST_CHECK(strcmp(fake.fork_name, "a") == 0 && strcmp(fake.fork_of, "default") == 0);

    call_tool("2", "execute_ipython_cell", "{\"code\":\"x\",\"session\":\"a-1\"}");
    TEST_CHECK(fake.executed_in == (struct session *)&fake);
    call_tool("3", "execute_ipython_cell", "{\"code\":\"x\",\"session\":\"default\"}");
    TEST_CHECK(fake.executed_in == NULL);
    call_tool("4", "execute_ipython_cell", "{\"code\":\"x\",\"session\":\"else\"}");
    expect("session: there is no session else; fork makes sessions");
    call_tool("5", "execute_ipython_cell", "{\"code\":\"x\",\"session\":7}");
    expect("session: a name is needed");

    call_tool("6", "fork", "{\"session\":\"a-1\",\"force\":true}");
    TEST_CHECK(strcmp(fake.fork_of, "a-1") == 0 && fake.fork.force && fake.fork.count == 1);
    fake.fork.done(fake.fork.ctx, made + 1, 1, NULL);
    expect("The new session is a-2.");

    call_tool("7", "end_session", "{\"session\":\"default\"}");
    expect("session: default was not made by fork");
    call_tool("8", "end_session", "{\"session\":\"a-1\"}");
    expect("The session has ended.");
    TEST_CHECK(strcmp(fake.ended, "a-1") == 0);
    call_tool("9", "execute_ipython_cell", "{\"code\":\"x\",\"session\":\"a-1\"}");
    expect("there is no session a-1");
    make_branches(1);
    fake.watcher->ended(fake.watcher->ctx, "a-1"); /* by the HTTP API */
    call_tool("10", "execute_ipython_cell", "{\"code\":\"x\",\"session\":\"a-1\"}");
    expect("there is no session a-1");
    close_all();
}

static void wrong_arguments_and_a_refused_fork_are_named(void)
{
    static const char *const wrong[][2] = {
        {"{\"count\":0}", "count: 1 to 64 is needed"},
        {"{\"count\":65}", "count: 1 to 64 is needed"},
        {"{\"count\":1.5}", "count: 1 to 64 is needed"},
        {"{\"count\":true}", "count: a number is needed"},
        {"{\"force\":1}", "force: true or false is needed"},
        {"{\"name\":\"\"}", "name: 1 to 61 characters are needed"},
        {"{\"name\":3}", "name: 1 to 61 characters are needed"},
    };
    open_with_forks("{}");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        call_tool("1", "fork", wrong[i][0]);
        expect(wrong[i][1]);
    }
    call_tool("1", "end_session", "{}");
    expect("session");
    fake.refuse = true;
    call_tool("2", "fork", "{}");
    expect("Error executing tool fork: there is no session default");
    fake.refuse = false;
    call_tool("3", "fork", "{\"count\":\"2\"}");
    struct err why = ERR_NONE;
    (void)err_set(&why, -EBUSY, "a fork would lack this: a socket");
    fake.fork.done(fake.fork.ctx, NULL, 0, &why);
    expect("Error executing tool fork: a fork would lack this: a socket");
    close_all();
}

static void forks_that_nobody_waits_for_end_and_so_do_those_of_a_client_that_goes(void)
{
    open_with_forks("{}");
    call_tool("1", "fork", "{}");
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
        "\"params\":{\"requestId\":1}}");
    fake.fork.done(fake.fork.ctx, made, 1, NULL);
    TEST_CHECK(messages == 0 && strcmp(fake.ended, "a-1") == 0);
    fake.ended[0] = '\0';
    make_branches(1);
    close_all();
    TEST_CHECK(strcmp(fake.ended, "a-1") == 0 && fake.watcher == NULL);
}

static void a_branch_asks_the_client_that_made_it(void)
{
    struct caller caller = {0};
    open_with_forks("{\"elicitation\":{}}");
    make_branches(1);
    asking = "a-1";
    ask(&caller, "merge");
    expect("elicitation/create");
    asking = "b";
    ask(&caller, "merge");
    expect_end(&caller, APPROVAL_FAILED);
    close_all();
}

/* Two cells run: the question is of the call whose session asks. */
static void a_question_goes_to_the_call_of_its_session(void)
{
    struct caller caller = {0};
    open_with_forks("{}");
    make_branches(1);
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"execute_ipython_cell\"," CODE "," META "}}");
    say("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"execute_ipython_cell\",\"arguments\":{\"code\":\"x\",\"session\":\"a-1\"}," META "}}");
    asking = "a-1";
    ask(&caller, "merge");
    expect("\"id\":3,\"result\":{\"resultType\":\"input_required\"");
    expect_not("\"id\":2");
    asking = "default";
    ask(&caller, "merge");
    expect("\"id\":2,\"result\":{\"resultType\":\"input_required\"");
    close_all();
}

TEST_LIST = {
    {"forks_are_made_named_and_ended", forks_are_made_named_and_ended},
    {"wrong_arguments_and_a_refused_fork_are_named", wrong_arguments_and_a_refused_fork_are_named},
    {"forks_that_nobody_waits_for_end_and_so_do_those_of_a_client_that_goes",
     forks_that_nobody_waits_for_end_and_so_do_those_of_a_client_that_goes},
    {"a_branch_asks_the_client_that_made_it", a_branch_asks_the_client_that_made_it},
    {"a_question_goes_to_the_call_of_its_session", a_question_goes_to_the_call_of_its_session},
    {NULL, NULL},
};
