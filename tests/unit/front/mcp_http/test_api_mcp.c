/* SPDX-License-Identifier: Apache-2.0
 *
 * MCP over HTTP, the handshake era; test_api_mcp_modern.c has the other one. */
#include "unit/front/mcphttptest.h"

static void initialize_makes_a_session(void)
{
    open_it();
    initialize("2025-11-25");
    check_head("HTTP/1.1 200 OK\r\n");
    check_has("Content-Type: application/json\r\n");
    check_has("\"protocolVersion\":\"2025-11-25\"");
    TEST_CHECK(acquired == 1 && strcmp(asked_for, "(own)") == 0);
    drop_str char *first = xstrdup(session_id);
    initialize("2025-11-25");
    TEST_CHECK(acquired == 2 && strcmp(first, session_id) != 0 && strlen(first) == 32);
    post("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    check_head("HTTP/1.1 202 Accepted\r\n");
    TEST_CHECK(strcmp(body_of(), "") == 0);
    post(RPC("1", "ping", "{}"));
    check_head("HTTP/1.1 200 OK\r\n");
    check_has("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    post(RPC("2", "tools/list", "{}"));
    check_has("\"name\":\"execute_ipython_cell\"");
    check_has_not("\"session\"");
    post(RPC("3", "no/method", "{}"));
    check_head("HTTP/1.1 200 OK\r\n");
    check_has("\"id\":3,\"error\":{\"code\":-32601");
    close_it();
    TEST_CHECK(released == 2);
}

static void a_slash_at_the_end_is_no_other_path(void)
{
    open_it();
    int fd = dial();
    say(fd, "GET /mcp/ HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
    turn();
    (void)hear(fd);
    check_has("Mcp-Session-Id is needed");
    end(fd);
    close_it();
}

static void a_session_can_be_named(void)
{
    static const char hello[] = INITIALIZE("2025-11-25");
    static const char *const bad[] = {
        "Ipybox-Session: \r\n", "Ipybox-Session: a b\r\n", "Ipybox-Session: ../x\r\n",
        "Ipybox-Session: 12345678901234567890123456789012345678901234567890123456789012345\r\n",
        "Ipybox-Session: a\r\nIpybox-Session: a\r\n"};
    open_it();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TEST_CASE(bad[i]);
        post_with(bad[i], hello);
        check_head("HTTP/1.1 400 ");
        check_has(
            "\"id\":0,\"error\":{\"code\":-32600,\"message\":\"Invalid Request: Ipybox-Session");
    }
    TEST_CASE("two clients, one session");
    TEST_CHECK(acquired == 0);
    post_with("Ipybox-Session: ada\r\n", hello);
    check_head("HTTP/1.1 200 ");
    post_with("Ipybox-Session: ada\r\n", hello);
    check_head("HTTP/1.1 200 ");
    TEST_CHECK(acquired == 2 && strcmp(asked_for, "ada ada") == 0);
    close_it();
}

static void what_is_not_of_a_session_is_refused(void)
{
    static const struct {
        const char *headers, *body, *status, *code;
    } cases[] = {
        {"", RPC("1", "tools/list", "{}"), "400", "-32600"},
        {"Mcp-Session-Id: nonsense\r\n", RPC("1", "tools/list", "{}"), "404", "\"id\":1"},
        {"Mcp-Session-Id: SESSION\r\nMCP-Protocol-Version: 2024-01-01\r\n", RPC("1", "ping", "{}"),
         "400", "-32600"},
        {"Mcp-Session-Id: SESSION\r\nMCP-Protocol-Version: 2025-06-18\r\n", RPC("1", "ping", "{}"),
         "200", "result"},
        {"Mcp-Session-Id: SESSION\r\n",
         RPC("1", "initialize", "{\"protocolVersion\":\"2025-11-25\"}"), "400", "-32600"},
        {"", RPC("1", "initialize", "{}"), "400", "-32602"},
        {"MCP-Protocol-Version: 1999-01-01\r\n",
         RPC("1", "initialize", "{\"protocolVersion\":\"2025-11-25\"}"), "400", "-32600"},
        {"Mcp-Session-Id: SESSION\r\n", "{", "400", "-32700"},
        {"Mcp-Session-Id: SESSION\r\n", "", "400", "-32700"},
        {"Mcp-Session-Id: SESSION\r\n", "{\"jsonrpc\":\"2.0\",\"id\":1}", "400", "-32600"},
        {"Mcp-Session-Id: SESSION\r\n", "[]", "400", "-32600"},
        {"", "[]", "400", "-32600"},
        {"Mcp-Session-Id: SESSION\r\n", "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}", "202",
         ""},
    };
    open_it();
    initialize("2025-11-25");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("%zu: %s %s", i, cases[i].headers, cases[i].body);
        post_with(cases[i].headers, cases[i].body);
        drop_str char *head = xasprintf("HTTP/1.1 %s ", cases[i].status);
        check_head(head);
        check_has(*cases[i].code ? cases[i].code : "HTTP");
    }
    TEST_CHECK(acquired == 1);
    TEST_CASE("Accept");
    send_request("POST", "Accept: application/json\r\n", RPC("1", "ping", "{}"));
    check_head("HTTP/1.1 406 ");
    send_request("POST", "", RPC("1", "ping", "{}"));
    check_head("HTTP/1.1 406 ");
    send_request("POST", "Accept: */*\r\nMcp-Session-Id: SESSION\r\n", RPC("1", "ping", "{}"));
    check_head("HTTP/1.1 200 ");
    send_request("GET", "Accept: application/json\r\nMcp-Session-Id: SESSION\r\n", "");
    check_head("HTTP/1.1 406 ");
    send_request("GET", "Accept: text/event-stream\r\n", "");
    check_head("HTTP/1.1 400 ");
    close_it();
}

static void a_call_is_answered_by_json_or_after_progress_by_a_stream(void)
{
    open_it();
    initialize("2025-06-18");
    int fd = start_post(CALL("1", ""));
    TEST_CHECK(fake.executes == 1);
    finish("two\n");
    (void)hear(fd);
    check_head("HTTP/1.1 200 OK\r\n");
    check_has("Content-Type: application/json\r\n");
    check_has("\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"two\"}]");
    end(fd);
    fd = start_post(CALL("2", PROGRESS));
    fake_session_text("half");
    turn();
    (void)hear(fd);
    check_head("HTTP/1.1 200 OK\r\n");
    check_has("Content-Type: text/event-stream\r\n");
    check_has("Cache-Control: no-cache, no-transform\r\n");
    check_has("id: 3.1\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
              "progress\"");
    finish("half and half");
    (void)hear(fd);
    check_has("id: 3.2\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\"");
    check_has("0\r\n\r\n"); /* the stream is at its end, the connection is not */
    end(fd);
    close_it();
}

static void the_newest_revision_begins_its_streams_with_an_id(void)
{
    open_it();
    initialize("2025-11-25");
    int fd = start_post(CALL("1", PROGRESS));
    fake_session_text("half");
    turn();
    (void)hear(fd);
    check_has("id: 2.1\r\ndata: \r\n\r\n");
    check_has("id: 2.2\r\nevent: message\r\n");
    end(fd);
    close_it();
}

static void silence_is_filled(void)
{
    open_it();
    initialize("2025-11-25");
    int fd = start_post(CALL("1", ""));
    (void)hear(fd);
    TEST_CHECK(got.len == 0);
    pass(MCP_STREAM_ALIVE_MS);
    (void)hear(fd);
    check_has("Content-Type: text/event-stream\r\n");
    check_has("id: 2.1\r\ndata: \r\n\r\n");
    pass(MCP_STREAM_ALIVE_MS);
    (void)hear(fd);
    check_has(": still here\r\n\r\n");
    finish("at last");
    (void)hear(fd);
    check_has("at last");
    end(fd);
    close_it();
}

static void a_broken_connection_cancels_nothing_and_can_be_resumed(void)
{
    open_it();
    initialize("2025-11-25");
    int fd = start_post(CALL("1", PROGRESS));
    fake_session_text("first");
    turn();
    end(fd);
    TEST_CHECK(fake.cancels == 0);
    pass(50);
    fake_session_text("second");
    pass(50);
    finish("all of it");
    send_request("GET",
                 "Accept: text/event-stream\r\nMcp-Session-Id: SESSION\r\nLast-Event-ID: 2.2\r\n",
                 "");
    check_head("HTTP/1.1 200 OK\r\n");
    check_has_not("first");
    check_has("id: 2.3\r\nevent: message\r\n");
    check_has("second");
    check_has("all of it");
    check_has("0\r\n\r\n");
    TEST_CASE("once more, from the front");
    send_request("GET",
                 "Accept: text/event-stream\r\nMcp-Session-Id: SESSION\r\nLast-Event-ID: 2.1\r\n",
                 "");
    check_has("first");
    check_has("all of it");
    TEST_CASE("ids that are none");
    static const char *const ids[] = {"9.1", "2.99", "2", "x", "2.", ".2", "-1.2", "2.2 "};
    for (size_t i = 0; i < sizeof ids / sizeof *ids - 1; i++) {
        drop_str char *headers = xasprintf(
            "Accept: text/event-stream\r\nMcp-Session-Id: SESSION\r\nLast-Event-ID: %s\r\n",
            ids[i]);
        send_request("GET", headers, "");
        check_head("HTTP/1.1 400 ");
    }
    close_it();
}

static void who_resumes_while_it_runs_gets_what_follows(void)
{
    open_it();
    initialize("2025-11-25");
    int fd = start_post(CALL("1", PROGRESS));
    fake_session_text("first");
    turn();
    end(fd);
    fd = start_request(
        "GET", "Accept: text/event-stream\r\nMcp-Session-Id: SESSION\r\nLast-Event-ID: 2.1\r\n",
        "");
    (void)hear(fd);
    check_has("first");
    finish("the end");
    (void)hear(fd);
    check_has("the end");
    check_has("0\r\n\r\n");
    end(fd);
    close_it();
}

static void what_is_kept_is_bounded(void)
{
    open_it();
    initialize("2025-11-25");
    drop_str char *text = xcalloc(1, (1 << 20) + 1);
    memset(text, 'x', 1 << 20);
    for (int i = 0; i < 6; i++) {
        int fd = start_post(CALL("1", PROGRESS));
        fake_session_text("p");
        turn();
        (void)hear(fd);
        finish(text);
        do {
            (void)hear(fd);
        } while (got.len > 0);
        end(fd);
    }
    send_request("GET",
                 "Accept: text/event-stream\r\nMcp-Session-Id: SESSION\r\nLast-Event-ID: 2.1\r\n",
                 "");
    check_head("HTTP/1.1 400 ");
    int fd = start_request(
        "GET", "Accept: text/event-stream\r\nMcp-Session-Id: SESSION\r\nLast-Event-ID: 7.1\r\n",
        "");
    (void)hear(fd);
    check_head("HTTP/1.1 200 ");
    end(fd);
    TEST_CASE("streams without much in them");
    for (int i = 0; i < MCP_STREAMS_KEEP_MAX + 8; i++) {
        fd = start_post(CALL("1", PROGRESS));
        fake_session_text("p");
        turn();
        finish("small");
        end(fd);
    }
    send_request("GET",
                 "Accept: text/event-stream\r\nMcp-Session-Id: SESSION\r\nLast-Event-ID: 12.1\r\n",
                 "");
    check_head("HTTP/1.1 400 ");
    close_it();
}

static void cancellation_is_a_notification(void)
{
    open_it();
    initialize("2025-11-25");
    int fd = start_post(CALL("7", ""));
    post("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
         "\"params\":{\"requestId\":7}}");
    check_head("HTTP/1.1 202 ");
    TEST_CHECK(fake.cancels == 1);
    (void)hear(fd);
    check_has("\"id\":7,\"error\":{\"code\":-32800");
    finish("late");
    (void)hear(fd);
    TEST_CHECK(got.len == 0);
    end(fd);
    close_it();
}

static void delete_ends_the_session(void)
{
    open_it();
    initialize("2025-11-25");
    int fd = start_post(CALL("1", ""));
    int listener =
        start_request("GET", "Accept: text/event-stream\r\nMcp-Session-Id: SESSION\r\n", "");
    send_request("DELETE", "Mcp-Session-Id: SESSION\r\n", "");
    check_head("HTTP/1.1 200 ");
    TEST_CHECK(released == 1 && fake.forgotten == 1);
    (void)hear(fd);
    check_head("HTTP/1.1 404 ");
    (void)hear(listener);
    check_has("0\r\n\r\n");
    end(fd);
    end(listener);
    post(RPC("1", "ping", "{}"));
    check_head("HTTP/1.1 404 ");
    send_request("DELETE", "Mcp-Session-Id: SESSION\r\n", "");
    check_head("HTTP/1.1 404 ");
    send_request("DELETE", "", "");
    check_head("HTTP/1.1 400 ");
    close_it();
    TEST_CHECK(released == 1);
}

static void a_session_that_nobody_uses_is_over(void)
{
    open_it();
    initialize("2025-11-25");
    int fd = start_request("GET", "Accept: text/event-stream\r\nMcp-Session-Id: SESSION\r\n", "");
    pass(IDLE_MS);
    post(RPC("1", "ping", "{}"));
    check_head("HTTP/1.1 200 ");
    end(fd);
    int caller = start_post(CALL("2", ""));
    end(caller);
    pass(IDLE_MS);
    post(RPC("3", "ping", "{}")); /* a cell runs */
    check_head("HTTP/1.1 200 ");
    finish("done");
    pass(IDLE_MS - 1);
    TEST_CHECK(released == 0);
    pass(2);
    TEST_CHECK(released == 1);
    post(RPC("4", "ping", "{}"));
    check_head("HTTP/1.1 404 ");
    close_it();
}

static void there_are_so_many_sessions_and_no_more(void)
{
    open_it();
    for (int i = 0; i < SESSIONS_MAX; i++) {
        initialize("2025-11-25");
        check_head("HTTP/1.1 200 ");
    }
    post_with("", INITIALIZE("2025-11-25"));
    check_head("HTTP/1.1 503 ");
    check_has("\"id\":0,\"error\":{\"code\":-32603");
    send_request("DELETE", "Mcp-Session-Id: SESSION\r\n", "");
    initialize("2025-11-25");
    check_head("HTTP/1.1 200 ");
    send_request("DELETE", "Mcp-Session-Id: SESSION\r\n", "");
    refuse_session = true;
    post_with("", INITIALIZE("2025-11-25"));
    check_head("HTTP/1.1 503 ");
    check_has("no kernel for you");
    close_it();
}

static void a_session_that_ends_by_itself_is_not_given_back(void)
{
    open_it();
    initialize("2025-11-25");
    int fd = start_post(RPC("1", "tools/list", "{}"));
    api_mcp_session_ended(parts.mcp, handle_of(1));
    turn();
    end(fd);
    post(RPC("1", "ping", "{}"));
    check_head("HTTP/1.1 404 ");
    close_it();
    TEST_CHECK(released == 0);
}

static void batches_are_of_the_old_revisions(void)
{
    open_it();
    initialize("2025-03-26");
    post("[" RPC("1", "ping",
                 "{}") ",{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"},"
                       "{\"id\":3}," RPC("2", "tools/list", "{}") "]");
    check_head("HTTP/1.1 200 ");
    check_has("Content-Type: text/event-stream\r\n");
    check_has("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    check_has("\"id\":3,\"error\":{\"code\":-32600");
    check_has("\"id\":2,\"result\":{\"tools\"");
    check_has("0\r\n\r\n");
    post("[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]");
    check_head("HTTP/1.1 202 ");
    post("[]");
    check_head("HTTP/1.1 400 ");
    initialize("2025-06-18");
    post("[" RPC("1", "ping", "{}") "]");
    check_head("HTTP/1.1 400 ");
    close_it();
}

static void a_question_comes_on_the_stream_of_its_call(void)
{
    open_it();
    initialize("2025-11-25");
    int other = start_post(RPC("1", "ping", "{}"));
    int fd = start_post(CALL("2", ""));
    ask_approval();
    (void)hear(fd);
    check_has("Content-Type: text/event-stream\r\n");
    check_has("\"id\":\"ipybox-1\",\"method\":\"elicitation/create\"");
    post("{\"jsonrpc\":\"2.0\",\"id\":\"ipybox-1\",\"result\":{\"action\":\"accept\",\"content\":"
         "{\"decision\":\"approve\"}}}");
    check_head("HTTP/1.1 202 ");
    turn();
    TEST_CHECK(decided == 1 && verdict == APPROVAL_ACCEPTED);
    finish("asked");
    (void)hear(fd);
    check_has("asked");
    end(fd);
    end(other);
    close_it();
}

#define APPROVE                                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":\"ipybox-1\",\"result\":{\"action\":\"accept\",\"content\":"      \
    "{\"decision\":\"approve\"}}}"

static void only_who_may_approve_is_asked_and_heard(void)
{
    open_it();
    may_approve = false;
    initialize("2025-11-25");
    int fd = start_post(CALL("1", ""));
    ask_approval();
    (void)hear(fd);
    check_has_not("elicitation/create");
    TEST_CHECK(decided == 1 && verdict != APPROVAL_ACCEPTED);
    finish("nobody was there");
    end(fd);
    may_approve = true;
    decided = 0;
    initialize("2025-11-25");
    fd = start_post(CALL("2", ""));
    ask_approval();
    (void)hear(fd);
    check_has("elicitation/create");
    TEST_CASE("another one knows the session's id");
    may_approve = false;
    post(APPROVE);
    check_head("HTTP/1.1 202 ");
    TEST_CHECK(decided == 0);
    may_approve = true;
    post(APPROVE);
    turn();
    TEST_CHECK(decided == 1 && verdict == APPROVAL_ACCEPTED);
    finish("asked");
    end(fd);
    close_it();
}

static void a_question_of_no_call_goes_to_who_listens(void)
{
    open_it();
    initialize("2025-11-25");
    int first =
        start_request("GET", "Accept: text/event-stream\r\nMcp-Session-Id: SESSION\r\n", "");
    (void)hear(first);
    check_has("id: 0.1\r\ndata: \r\n\r\n");
    int second =
        start_request("GET", "Accept: text/event-stream\r\nMcp-Session-Id: SESSION\r\n", "");
    (void)hear(first);
    check_has("0\r\n\r\n"); /* there is one listener, the newest */
    ask_approval();
    (void)hear(second);
    check_has("id: 0.2\r\n");
    check_has("elicitation/create");
    end(first);
    end(second);
    TEST_CASE("and waits for one");
    ask_approval();
    second = start_request("GET", "Accept: text/event-stream\r\nMcp-Session-Id: SESSION\r\n", "");
    (void)hear(second);
    check_has("ipybox-2");
    check_has_not("ipybox-1");
    end(second);
    close_it();
}

static void a_stop_lets_open_requests_end(void)
{
    open_it();
    initialize("2025-11-25");
    int listener =
        start_request("GET", "Accept: text/event-stream\r\nMcp-Session-Id: SESSION\r\n", "");
    int fd = start_post(CALL("1", ""));
    idles = 0;
    api_mcp_stop(parts.mcp);
    (void)hear(listener);
    check_has("0\r\n\r\n");
    TEST_CHECK(!api_mcp_is_idle(parts.mcp) && idles == 0);
    post_with("", INITIALIZE("2025-11-25"));
    check_head("HTTP/1.1 503 ");
    finish("in time");
    TEST_CHECK(api_mcp_is_idle(parts.mcp) && idles > 0);
    (void)hear(fd);
    check_has("in time");
    end(fd);
    end(listener);
    close_it();
}

static void closing_answers_who_waits(void)
{
    open_it();
    initialize("2025-11-25");
    int fd = start_post(CALL("1", ""));
    parts.mcp = api_mcp_close(parts.mcp);
    (void)hear(fd);
    check_head("HTTP/1.1 503 ");
    end(fd);
    close_it();
}

TEST_LIST = {
#define T(name) {#name, name}
    T(initialize_makes_a_session),
    T(a_slash_at_the_end_is_no_other_path),
    T(a_session_can_be_named),
    T(what_is_not_of_a_session_is_refused),
    T(a_call_is_answered_by_json_or_after_progress_by_a_stream),
    T(the_newest_revision_begins_its_streams_with_an_id),
    T(silence_is_filled),
    T(a_broken_connection_cancels_nothing_and_can_be_resumed),
    T(who_resumes_while_it_runs_gets_what_follows),
    T(what_is_kept_is_bounded),
    T(cancellation_is_a_notification),
    T(delete_ends_the_session),
    T(a_session_that_nobody_uses_is_over),
    T(there_are_so_many_sessions_and_no_more),
    T(a_session_that_ends_by_itself_is_not_given_back),
    T(batches_are_of_the_old_revisions),
    T(a_question_comes_on_the_stream_of_its_call),
    T(only_who_may_approve_is_asked_and_heard),
    T(a_question_of_no_call_goes_to_who_listens),
    T(a_stop_lets_open_requests_end),
    T(closing_answers_who_waits),
    {NULL, NULL},
};
