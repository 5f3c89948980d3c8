/* SPDX-License-Identifier: Apache-2.0
 *
 * MCP over HTTP, the era of 2026-07-28. */
#include "unit/front/mcphttptest.h"

#define VERSION_HEAD "MCP-Protocol-Version: 2026-07-28\r\n"
#define HEAD(method) VERSION_HEAD "Mcp-Method: " method "\r\n"
#define CALL_HEAD HEAD("tools/call") "Mcp-Name: execute_ipython_cell\r\n"
#define META_OF(version)                                                                           \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version "\","                      \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}"
#define E META_OF("2026-07-28") "}"
#define E_PROGRESS META_OF("2026-07-28") ",\"progressToken\":5}"
#define EXECUTE(id, arguments, meta)                                                               \
    RPC(id, "tools/call",                                                                          \
        "{\"name\":\"execute_ipython_cell\",\"arguments\":{\"code\":\"x\"" arguments "}," meta     \
        "}")

static void the_checks_come_in_order(void)
{
    static const struct {
        const char *name, *headers, *body, *status, *has;
    } cases[] = {
        {"not JSON", HEAD("tools/list"), "{", "400", "\"id\":null,\"error\":{\"code\":-32700"},
        {"a batch", HEAD("ping"), "[" RPC("1", "tools/list", "{" E "}") "]", "400", "-32600"},
        {"a response", VERSION_HEAD, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "400",
         "-32600"},
        {"malformed", VERSION_HEAD, "{\"jsonrpc\":\"2.0\",\"id\":1}", "400", "-32600"},
        {"a notification", VERSION_HEAD, "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", "202", ""},
        {"no _meta", HEAD("tools/list"), RPC("1", "tools/list", "{}"), "400",
         "\"id\":1,\"error\":{\"code\":-32602"},
        {"no version", HEAD("tools/list"),
         RPC("1", "tools/list", "{\"_meta\":{\"io.modelcontextprotocol/clientCapabilities\":{}}}"),
         "400", "-32602"},
        {"no capabilities", HEAD("other"),
         RPC("1", "tools/list",
             "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}"),
         "400", "-32602"},
        {"initialize", HEAD("initialize"), INITIALIZE("2025-11-25"), "400", "-32602"},
        {"no version header", "Mcp-Method: tools/list\r\n", RPC("1", "tools/list", "{" E "}"),
         "400", "-32020"},
        {"another version header", "MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/list\r\n",
         RPC("1", "tools/list", "{" E "}"), "400", "-32020"},
        {"no method header", VERSION_HEAD, RPC("1", "tools/list", "{" E "}"), "400", "-32020"},
        {"another method header", HEAD("tools/call"), RPC("1", "tools/list", "{" E "}"), "400",
         "-32020"},
        {"a method header in another case", HEAD("TOOLS/LIST"), RPC("1", "tools/list", "{" E "}"),
         "400", "-32020"},
        {"two method headers", HEAD("tools/list") "Mcp-Method: tools/list\r\n",
         RPC("1", "tools/list", "{" E "}"), "400", "-32020"},
        {"no name header", HEAD("tools/call"), EXECUTE("1", "", E), "400", "-32020"},
        {"another name header", HEAD("tools/call") "Mcp-Name: reset\r\n", EXECUTE("1", "", E),
         "400", "-32020"},
        {"two name headers", CALL_HEAD "Mcp-Name: execute_ipython_cell\r\n", EXECUTE("1", "", E),
         "400", "-32020"},
        {"a name header that is no base64", HEAD("tools/call") "Mcp-Name: =?base64?%%?=\r\n",
         EXECUTE("1", "", E), "400", "-32020"},
        {"base64 in another spelling", HEAD("tools/call") "Mcp-Name: =?base64?cmVzZXR=?=\r\n",
         RPC("1", "tools/call", "{\"name\":\"reset\"," E "}"), "400", "-32020"},
        {"a version that is not served", "MCP-Protocol-Version: 2099-01-01\r\nMcp-Method: x\r\n",
         RPC("1", "x", "{" META_OF("2099-01-01") "}}"), "400", "\"code\":-32022"},
        {"names what is served", "MCP-Protocol-Version: 2099-01-01\r\nMcp-Method: x\r\n",
         RPC("1", "x", "{" META_OF("2099-01-01") "}}"), "400", "\"requested\":\"2099-01-01\""},
        {"an unknown method", HEAD("no/such"), RPC("1", "no/such", "{" E "}"), "404", "-32601"},
        {"a removed method", HEAD("ping"), RPC("1", "ping", "{" E "}"), "404", "-32601"},
        {"an unknown tool", HEAD("tools/call") "Mcp-Name: nope\r\n",
         RPC("\"s\"", "tools/call", "{\"name\":\"nope\"," E "}"), "400",
         "\"id\":\"s\",\"error\":{\"code\":-32602"},
        {"right", HEAD("tools/list"), RPC("1", "tools/list", "{" E "}"), "200",
         "\"resultType\":\"complete\""},
        {"blanks around a value",
         "MCP-Protocol-Version:   2026-07-28  \r\nMcp-Method: server/discover \r\n",
         RPC("1", "server/discover", "{" E "}"), "200", "\"supportedVersions\":[\"2026-07-28\""},
        {"a name in base64", HEAD("tools/call") "Mcp-Name: =?base64?bm9wZQ==?=\r\n",
         RPC("1", "tools/call", "{\"name\":\"nope\"," E "}"), "400", "Unknown tool: nope"},
        {"names of headers in another case",
         "mcp-protocol-version: 2026-07-28\r\nMCP-METHOD: tools/list\r\n",
         RPC("1", "tools/list", "{" E "}"), "200", "\"tools\""},
    };
    open_it();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE(cases[i].name);
        post_with(cases[i].headers, cases[i].body);
        drop_str char *head = xasprintf("HTTP/1.1 %s ", cases[i].status);
        check_head(head);
        check_has(*cases[i].has ? cases[i].has : "HTTP");
        check_has_not("Mcp-Session-Id");
    }
    TEST_CHECK(acquired == 0); /* none of it needs a kernel */
    close_it();
}

static void there_is_only_post(void)
{
    open_it();
    send_request("GET", VERSION_HEAD "Accept: text/event-stream\r\n", "");
    check_head("HTTP/1.1 405 ");
    check_has("Allow: POST\r\n");
    send_request("DELETE", VERSION_HEAD, "");
    check_head("HTTP/1.1 405 ");
    check_has("Allow: POST\r\n");
    send_request("POST", HEAD("tools/list") "Accept: application/json\r\n",
                 RPC("1", "tools/list", "{" E "}"));
    check_head("HTTP/1.1 406 ");
    close_it();
}

static void a_call_is_answered_by_json_or_after_progress_by_a_stream(void)
{
    open_it();
    int fd = start_post_with(CALL_HEAD, EXECUTE("1", "", E));
    finish("two\n");
    (void)hear(fd);
    check_head("HTTP/1.1 200 OK\r\n");
    check_has("Content-Type: application/json\r\n");
    check_has("\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"two\"}]");
    check_has("\"resultType\":\"complete\"");
    end(fd);
    fd = start_post_with(CALL_HEAD, EXECUTE("1", "", E_PROGRESS));
    fake_session_text("half");
    turn();
    (void)hear(fd);
    check_has("Content-Type: text/event-stream\r\n");
    check_has("event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"");
    check_has_not("id: ");
    finish("half and half");
    (void)hear(fd);
    check_has("half and half");
    check_has("0\r\n\r\n");
    end(fd);
    close_it();
}

#define TRACED(id, more)                                                                           \
    META_OF("2026-07-28") ",\"traceparent\":\"00-" id "-00f067aa0ba902b7-01\"" more "}"
#define ID_A "4bf92f3577b34da6a3ce929d0e0e4736"
#define ID_B "0af7651916cd43dd8448eb211c80319c"

static void a_cell_carries_the_request_and_the_trace_that_it_came_with(void)
{
    static const struct {
        const char *headers, *body, *id, *state;
    } cases[] = {
        {"", EXECUTE("1", "", E), "", ""},
        {"traceparent: 00-" ID_A "-00f067aa0ba902b7-01\r\ntracestate: a=b\r\n", EXECUTE("1", "", E),
         ID_A, "a=b"},
        {"", EXECUTE("1", "", TRACED(ID_B, ",\"tracestate\":\"c=d\"")), ID_B, "c=d"},
        {"traceparent: 00-" ID_A "-00f067aa0ba902b7-01\r\ntracestate: a=b\r\n",
         EXECUTE("1", "", TRACED(ID_B, "")), ID_B, ""}, /* the message is nearer */
        {"traceparent: nonsense\r\n", EXECUTE("1", "", TRACED("short", "")), "", ""},
        {"traceparent: 00-" ID_A "-00f067aa0ba902b7-01\r\n"
         "traceparent: 00-" ID_B "-00f067aa0ba902b7-01\r\n",
         EXECUTE("1", "", E), "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_it();
        TEST_CASE_("%zu", i);
        drop_str char *head = xasprintf("%s%sX-Request-Id: req-1\r\n", CALL_HEAD, cases[i].headers);
        int fd = start_post_with(head, cases[i].body);
        TEST_CHECK_(strcmp(fake.origin.trace.id, cases[i].id) == 0, "%s", fake.origin.trace.id);
        TEST_CHECK_(strcmp(fake.origin.trace.state, cases[i].state) == 0, "%s",
                    fake.origin.trace.state);
        TEST_CHECK_(strcmp(fake.origin.request_id, "req-1") == 0, "%s", fake.origin.request_id);
        finish("");
        (void)hear(fd);
        end(fd);
        close_it();
    }
}

static void closing_the_connection_cancels(void)
{
    open_it();
    int fd = start_post_with(CALL_HEAD, EXECUTE("1", "", E));
    TEST_CHECK(fake.executes == 1 && fake.cancels == 0);
    end(fd);
    TEST_CHECK(fake.cancels == 1);
    finish("nobody hears it");
    fd = start_post_with(CALL_HEAD, EXECUTE("1", "", E_PROGRESS));
    fake_session_text("half");
    turn();
    end(fd);
    TEST_CHECK(fake.cancels == 2);
    finish("nobody hears it");
    TEST_CHECK(api_mcp_is_idle(parts.mcp));
    close_it();
}

static void two_clients_may_use_one_id(void)
{
    open_it();
    int one = start_post_with(CALL_HEAD, EXECUTE("1", "", E));
    int two = start_post_with(CALL_HEAD, EXECUTE("1", "", E));
    TEST_CHECK(fake.executes == 2);
    finish("of the second");
    (void)hear(two);
    check_has("of the second");
    end(two);
    TEST_CHECK(fake.cancels == 0);
    finish("of the first");
    (void)hear(one);
    check_has("of the first");
    end(one);
    close_it();
}

static void sessions_are_named_by_an_argument(void)
{
    open_it();
    post_with(HEAD("tools/list"), RPC("1", "tools/list", "{" E "}"));
    drop_json struct json *tree = json_parse_copy(body_of(), strlen(body_of()), JSON_STRICT, NULL);
    const struct json *tool = json_first(json_get(json_get(tree, "result"), "tools"));
    for (; tool; tool = json_next(tool)) {
        const char *name = json_get_text(tool, "name");
        const struct json *properties = json_get(json_get(tool, "inputSchema"), "properties");
        bool takes = strcmp(name, "execute_ipython_cell") == 0 || strcmp(name, "reset") == 0;
        TEST_CHECK((json_get(properties, "session") != NULL) == takes);
    }
    static const char *const sessions[] = {"", ",\"session\":\"a\"", ",\"session\":\"b.1\"",
                                           ",\"session\":\"a\"", ",\"session\":\"default\""};
    for (size_t i = 0; i < sizeof sessions / sizeof *sessions; i++) {
        drop_str char *body = xasprintf(EXECUTE("1", "%s", E), sessions[i]);
        int fd = start_post_with(CALL_HEAD, body);
        finish("x");
        (void)hear(fd);
        check_head("HTTP/1.1 200 ");
        end(fd);
    }
    TEST_CHECK(strcmp(asked_for, "default a b.1") == 0);
    TEST_MSG("%s", asked_for);
    static const char *const bad[] = {"\"\"", "1", "null", "\"a b\"", "\"../x\""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        drop_str char *body = xasprintf(EXECUTE("1", ",\"session\":%s", E), bad[i]);
        post_with(CALL_HEAD, body);
        check_head("HTTP/1.1 200 ");
        check_has("Error executing tool execute_ipython_cell: session: ");
        check_has("\"isError\":true");
    }
    refuse_session = true;
    post_with(CALL_HEAD, EXECUTE("1", ",\"session\":\"c\"", E));
    check_has("Error executing tool execute_ipython_cell: no kernel for you");
    TEST_CHECK(acquired == 3 && released == 0);
    pass(IDLE_MS + 1);
    TEST_CHECK(released == 3);
    close_it();
}

static void a_session_that_ended_is_asked_for_anew(void)
{
    open_it();
    refuse_session = false;
    int fd = start_post_with(CALL_HEAD, EXECUTE("1", "", E));
    finish("x");
    end(fd);
    api_mcp_session_ended(parts.mcp, handle_of(1));
    fd = start_post_with(CALL_HEAD, EXECUTE("1", "", E));
    TEST_CHECK(acquired == 2);
    finish("x");
    end(fd);
    close_it();
    TEST_CHECK(released == 1);
}

static void copy_state(char state[256])
{
    const char *at = strstr(buf_text(&got), "\"requestState\":\"");
    TEST_ASSERT(at != NULL);
    TEST_CHECK(sscanf(at, "\"requestState\":\"%200[^\"]", state) == 1);
}

static void a_question_ends_the_request_and_the_next_one_answers_it(void)
{
    char state[256];
    open_it();
    int fd = start_post_with(CALL_HEAD, EXECUTE("1", "", E));
    ask_approval();
    (void)hear(fd);
    check_head("HTTP/1.1 200 ");
    check_has("Content-Type: application/json\r\n");
    check_has("\"resultType\":\"input_required\"");
    copy_state(state);
    end(fd);
    TEST_CHECK(fake.cancels == 0); /* to go after this answer cancels nothing */
    drop_str char *body = xasprintf(
        RPC("9", "tools/call",
            "{\"name\":\"execute_ipython_cell\",\"arguments\":{\"code\":\"x\"},\"requestState\":"
            "\"%s\",\"inputResponses\":{\"ipybox-1\":{\"action\":\"accept\",\"content\":"
            "{\"decision\":\"approve\"}}}," E "}"),
        state);
    fd = start_post_with(CALL_HEAD, body);
    TEST_CHECK(decided == 1 && verdict == APPROVAL_ACCEPTED && fake.executes == 1);
    finish("approved");
    (void)hear(fd);
    check_has("\"id\":9,\"result\"");
    check_has("approved");
    end(fd);
    post_with(CALL_HEAD, body);
    check_head("HTTP/1.1 400 ");
    check_has("\"error\":{\"code\":-32602,\"message\":\"Invalid or expired requestState\"");
    close_it();
}

static void only_who_may_approve_is_asked_and_heard(void)
{
    char state[256];
    open_it();
    may_approve = false;
    int fd = start_post_with(CALL_HEAD, EXECUTE("1", "", E));
    ask_approval();
    (void)hear(fd);
    check_has_not("input_required");
    TEST_CHECK(decided == 1 && verdict != APPROVAL_ACCEPTED);
    finish("nobody was there");
    end(fd);
    may_approve = true;
    fd = start_post_with(CALL_HEAD, EXECUTE("1", "", E));
    ask_approval();
    (void)hear(fd);
    check_has("\"resultType\":\"input_required\"");
    copy_state(state);
    end(fd);
    drop_str char *body = xasprintf(
        RPC("9", "tools/call",
            "{\"name\":\"execute_ipython_cell\",\"arguments\":{\"code\":\"x\"},\"requestState\":"
            "\"%s\",\"inputResponses\":{\"ipybox-1\":{\"action\":\"accept\",\"content\":"
            "{\"decision\":\"approve\"}}}," E "}"),
        state);
    decided = 0;
    may_approve = false;
    fd = start_post_with(CALL_HEAD, body);
    TEST_CHECK(decided == 1 && verdict != APPROVAL_ACCEPTED);
    finish("nobody else was there");
    end(fd);
    may_approve = true;
    close_it();
}

static void listening_is_a_stream_that_a_stop_ends(void)
{
    open_it();
    int fd = start_post_with(HEAD("subscriptions/listen"),
                             RPC("\"L\"", "subscriptions/listen", "{\"notifications\":{}," E "}"));
    (void)hear(fd);
    check_head("HTTP/1.1 200 ");
    check_has("Content-Type: text/event-stream\r\n");
    check_has("notifications/subscriptions/acknowledged");
    pass(MCP_STREAM_ALIVE_MS);
    (void)hear(fd);
    check_has(": still here\r\n\r\n");
    api_mcp_stop(parts.mcp);
    (void)hear(fd);
    check_has("\"id\":\"L\",\"result\":{\"resultType\":\"complete\"");
    check_has("0\r\n\r\n");
    end(fd);
    fd = start_post_with(HEAD("subscriptions/listen"),
                         RPC("\"L\"", "subscriptions/listen", "{\"notifications\":{}," E "}"));
    end(fd); /* who goes leaves nothing behind */
    TEST_CHECK(api_mcp_is_idle(parts.mcp));
    close_it();
}

TEST_LIST = {
#define T(name) {#name, name}
    T(the_checks_come_in_order),
    T(there_is_only_post),
    T(a_call_is_answered_by_json_or_after_progress_by_a_stream),
    T(a_cell_carries_the_request_and_the_trace_that_it_came_with),
    T(closing_the_connection_cancels),
    T(two_clients_may_use_one_id),
    T(sessions_are_named_by_an_argument),
    T(a_session_that_ended_is_asked_for_anew),
    T(a_question_ends_the_request_and_the_next_one_answers_it),
    T(only_who_may_approve_is_asked_and_heard),
    T(listening_is_a_stream_that_a_stop_ends),
    {NULL, NULL},
};
