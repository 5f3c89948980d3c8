/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/tools/play.h"

#define RULES(...)                                                                                 \
    struct fake_rule rules[] = {__VA_ARGS__, {NULL, NULL, 0, 0}};                                  \
    fake_transports.rules = rules

#define MODERN {"server/discover", DISCOVERED, 0, 0}, {"tools/list", LISTED, 0, 0}
#define HANDSHAKE                                                                                  \
    {"server/discover", UNKNOWN, 0, 0}, {"initialize", INITIALIZED, 0, 0},                         \
        {"tools/list", LISTED, 0, 0}
#define ANSWERED                                                                                   \
    "\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}"
#define ELICIT(message)                                                                            \
    "{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"" message      \
    "\",\"requestedSchema\":{}}}"

static void result(int which, int id, const char *result)
{
    drop_str char *text = xasprintf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%s}", id, result);
    fake_transport_say(which, text);
    play();
}

/* --- arguments and results ------------------------------------------------------------------- */

static void arguments_and_results_keep_their_numbers(void)
{
    open_it();
    RULES(MODERN, {"tools/call",
                   "\"result\":{\"structuredContent\" : {\"n\": 12345678901234567890,\n\"x\":1.0 } "
                   ",\"content\":[{\"type\":\"text\",\"text\":\"t\"}],\"isError\":false}",
                   0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    TEST_CHECK(call_it("odd (name)", "{\"a\": 9007199254740993,\r\n\"b\":1.0,\"c\":1}") != NULL);
    expect_text(last(0),
                "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{"
                "\"name\":\"odd (name)\",\"arguments\":{\"a\": 9007199254740993,  \"b\":1.0,"
                "\"c\":1},\"_meta\":{\"progressToken\":3," ENVELOPE("{}") "}}}\n");
    expect_in(buf_text(&fake_transports.list[0].headers), "3 2026-07-28 modern odd (name)\n");
    expect_text(seen.structured, "{\"n\": 12345678901234567890, \"x\":1.0 }");
    expect_text(seen.text, "t");
    TEST_CHECK(seen.done == 1 && !seen.is_error);
    close_it();
}

static void what_is_no_object_is_refused(void)
{
    open_it();
    RULES(MODERN);
    TEST_CHECK(register_it("s", PROGRAM));
    TEST_CHECK(call_it("add", "[1]") == NULL);
    TEST_CHECK(call_it("add", "{") == NULL);
    TEST_CHECK(call_with("none", "add", "{}", NULL) == NULL);
    expect_text(seen.why, "there is no MCP server \"none\": register it first");
    close_it();
}

static void failures_are_told_apart(void)
{
    static const struct {
        const char *answer, *why, *text;
        bool is_error;
    } cases[] = {
        {"\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"bad hush-hush\"}],"
         "\"isError\":true}",
         "", "bad ***", true},
        {"\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"bad\"}],\"isError\":true}", "",
         "bad", true},
        {"\"error\":{\"code\":-32602,\"message\":\"Unknown tool: hush-hush\"}",
         "Unknown tool: *** (code -32602)", "", false},
        {"!500 hush-hush", "HTTP status 500 ***", "", false},
        {"\"result\":7", "the result is no object", "", false},
        {"\"result\":{\"resultType\":\"task\"}", "a result of an unknown type", "", false},
        {"\"result\":{\"resultType\":\"input_required\"}",
         "the server needs input, but does not say which", "", false},
        {"\"result\":{},", "an answer that cannot be read", "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_it();
        RULES(MODERN, {"tools/call", cases[i].answer, 0, 0});
        TEST_CASE(cases[i].answer);
        TEST_CHECK(register_it("s", "{\"command\":\"run\",\"args\":[\"${TOKEN}\"]}"));
        TEST_CHECK(call_it("add", "{}") != NULL && seen.done == 1);
        expect_in(seen.why, cases[i].why);
        expect_text(seen.text, cases[i].text);
        TEST_CHECK(seen.is_error == cases[i].is_error);
        close_it();
    }
}

static void calls_run_side_by_side(void)
{
    open_it();
    RULES(HANDSHAKE);
    int a = 0, b = 0;
    TEST_CHECK(register_it("s", PROGRAM));
    TEST_CHECK(call_with("s", "add", "{}", &a) != NULL && call_with("s", "add", "{}", &b) != NULL);
    result(0, 5, "{\"content\":[]}");
    TEST_CHECK(a == 0 && b == 1);
    fake_transport_say(0, "[{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}},"
                          "{\"jsonrpc\":\"2.0\",\"id\":\"4\",\"result\":{\"content\":[]}}]");
    play();
    TEST_CHECK(a == 1 && b == 1);
    close_it();
}

static void progress_reaches_its_call(void)
{
    open_it();
    RULES(HANDSHAKE);
    TEST_CHECK(register_it("s", PROGRAM));
    TEST_CHECK(call_it("add", "{}") != NULL);
    expect_in(last(0), "\"arguments\":{},\"_meta\":{\"progressToken\":4}}");
    fake_transport_say(0, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
                          "{\"progressToken\":4,\"progress\":1,\"total\":2,\"message\":\"m\"}}");
    TEST_CHECK(seen.progress > 0.9 && seen.total > 1.9);
    expect_text(seen.message, "m");
    fake_transport_say(0, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
                          "{\"progressToken\":\"4\",\"progress\":2}}");
    TEST_CHECK(seen.progress > 1.9 && seen.total < 0);
    fake_transport_say(0, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
                          "{\"progressToken\":1e300,\"progress\":9}}");
    TEST_CHECK(seen.progress < 3);
    close_it();
}

static void a_cancel_is_told_in_the_way_of_the_transport(void)
{
    static const struct {
        const char *params;
        struct fake_rule discover;
        bool told;
    } cases[] = {
        {PROGRAM, {"server/discover", DISCOVERED, 0, 0}, true},
        {PROGRAM, {"server/discover", UNKNOWN, 0, 0}, true},
        {SITE, {"server/discover", DISCOVERED, 0, 0}, false},
        {SITE, {"server/discover", UNKNOWN, 0, 0}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_it();
        RULES(cases[i].discover, HANDSHAKE);
        TEST_CASE_("%zu", i);
        TEST_CHECK(register_it("s", cases[i].params));
        struct tools_call *call = call_it("add", "{}");
        TEST_ASSERT(call != NULL);
        tools_call_cancel(call);
        bool told = strstr(last(0), "\"method\":\"notifications/cancelled\",\"params\":"
                                    "{\"requestId\":") != NULL;
        TEST_CHECK(told == cases[i].told);
        TEST_CHECK(fake_transports.list[0].forgotten.len == 2);
        play();
        TEST_CHECK(seen.done == 0);
        close_it();
    }
}

static void arguments_are_repeated_in_headers(void)
{
    open_it();
    RULES({"server/discover", DISCOVERED, 0, 0},
          {"tools/list",
           "\"result\":{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\","
           "\"properties\":{\"a\":{\"type\":\"integer\",\"x-mcp-header\":\"A\"},"
           "\"b\":{\"type\":\"object\",\"properties\":{\"c\":{\"type\":\"string\","
           "\"x-mcp-header\":\"C\"}}},\"d\":{\"type\":\"boolean\",\"x-mcp-header\":\"D\"}}}},"
           "{\"name\":\"bad1\",\"inputSchema\":{\"properties\":{\"a\":{\"type\":\"string\","
           "\"x-mcp-header\":\"a b\"}}}},"
           "{\"name\":\"bad2\",\"inputSchema\":{\"properties\":{\"a\":{\"type\":\"array\","
           "\"items\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}}},"
           "{\"name\":\"bad3\",\"inputSchema\":{\"properties\":{\"a\":{\"type\":\"string\","
           "\"x-mcp-header\":\"A\"},\"b\":{\"type\":\"string\",\"x-mcp-header\":\"a\"}}}},"
           "{\"name\":\"bad4\",\"inputSchema\":{\"properties\":{\"a\":{\"type\":\"object\","
           "\"x-mcp-header\":\"A\"}}}}]}",
           0, 0});
    TEST_CHECK(register_it("s", SITE) && seen.n_tools == 1);
    expect_in(logged, "tool \"bad1\" is left out: x-mcp-header");
    TEST_CHECK(call_it("t", "{\"a\":9007199254740993,\"b\":{\"c\":\"x y\"},\"d\":null}") != NULL);
    expect_in(buf_text(&fake_transports.list[0].headers),
              "3 2026-07-28 modern t Mcp-Param-A=9007199254740993 Mcp-Param-C=x y\n");
    close_it();
}

/* --- traces ---------------------------------------------------------------------------------- */

#define TRACE_ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define THEIR_SPAN "00f067aa0ba902b7"

/* The span of the traceparent behind `before`, which must not be that of the caller. */
static void copy_span(const char *text, const char *before, char span[TRACE_SPAN_HEX + 1])
{
    const char *at = strstr(text, before);
    span[0] = '\0';
    TEST_CHECK_(at != NULL, "%s is not in %s", before, text);
    if (!at)
        return;
    at += strlen(before);
    memcpy(span, at, TRACE_SPAN_HEX);
    span[TRACE_SPAN_HEX] = '\0';
    TEST_CHECK(strspn(span, "0123456789abcdef") == TRACE_SPAN_HEX);
    TEST_CHECK(strcmp(span, THEIR_SPAN) != 0);
    TEST_CHECK(strncmp(at + TRACE_SPAN_HEX, "-01", 3) == 0);
}

static struct trace traced(void)
{
    struct trace trace = {0};
    TEST_ASSERT(trace_parse("00-" TRACE_ID "-" THEIR_SPAN "-01", "a=b", &trace) == 0);
    return trace;
}

/* Two calls of a program, and what they were sent with. */
static void check_program(void)
{
    struct trace trace = traced();
    char first[TRACE_SPAN_HEX + 1], second[TRACE_SPAN_HEX + 1];
    call_trace = &trace;
    TEST_CHECK(register_it("s", PROGRAM) && call_it("add", "{}") != NULL);
    copy_span(last(0), "\"traceparent\":\"00-" TRACE_ID "-", first);
    expect_in(last(0), ",\"tracestate\":\"a=b\"}}}\n");
    TEST_CHECK(call_it("add", "{}") != NULL);
    copy_span(last(0), "\"traceparent\":\"00-" TRACE_ID "-", second);
    TEST_CHECK(strcmp(first, second) != 0);
    call_trace = NULL;
}

static void a_program_gets_the_trace_in_meta_each_call_a_new_span(void)
{
    open_it();
    RULES(HANDSHAKE);
    check_program();
    close_it();
}

static void a_program_of_the_modern_era_likewise(void)
{
    open_it();
    RULES(MODERN);
    check_program();
    close_it();
}

static void a_site_gets_the_trace_beside_the_message(void)
{
    struct trace trace = traced();
    char span[TRACE_SPAN_HEX + 1];
    open_it();
    RULES(MODERN);
    call_trace = &trace;
    TEST_CHECK(register_it("s", SITE) && call_it("add", "{}") != NULL);
    copy_span(buf_text(&fake_transports.list[0].headers), " traceparent=00-" TRACE_ID "-", span);
    expect_in(buf_text(&fake_transports.list[0].headers), "-01 tracestate=a=b\n");
    TEST_CHECK(!strstr(last(0), "trace"));
    call_trace = NULL;
    close_it();
}

static void without_a_trace_nothing_is_sent_of_one(void)
{
    static const struct trace none;
    static const char *const servers[] = {PROGRAM, SITE};
    for (size_t i = 0; i < 4; i++) {
        open_it();
        RULES(MODERN);
        call_trace = i < 2 ? &none : NULL;
        TEST_CHECK(register_it("s", servers[i % 2]) && call_it("add", "{}") != NULL);
        TEST_CHECK_(!strstr(sent(0), "trace"), "%s", sent(0));
        TEST_CHECK(!strstr(buf_text(&fake_transports.list[0].headers), "trace"));
        call_trace = NULL;
        close_it();
    }
}

/* --- what the server asks -------------------------------------------------------------------- */

static void input_is_asked_one_by_one_and_sent_together(void)
{
    open_it();
    elicits = true;
    RULES(MODERN,
          {"tools/call",
           "\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"one\":" ELICIT(
               "1") ",\"two\":" ELICIT("2") "},\"requestState\": \"s\\u0041/\\\"\" }",
           1, 0},
          {"tools/call", ANSWERED, 0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    struct tools_call *call = call_it("add", "{\"a\":1.0}");
    expect_in(last(0), "{\"elicitation\":{\"form\":{}}}");
    TEST_CHECK(seen.inputs == 1);
    expect_in(seen.input, "\"message\":\"1\"");
    uint64_t first = seen.key;
    tools_call_answer(call, first, "{\"action\":\"accept\",\n\"content\":{\"n\":1.0}}");
    TEST_CHECK(seen.inputs == 1);
    play();
    TEST_CHECK(seen.inputs == 2);
    expect_in(seen.input, "\"message\":\"2\"");
    tools_call_answer(call, first, "{}");
    tools_call_answer(call, seen.key, "{\"action\":\"decline\"}");
    play();
    expect_in(last(0), "\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"add\","
                       "\"arguments\":{\"a\":1.0},\"inputResponses\":{\"one\":{\"action\":"
                       "\"accept\", \"content\":{\"n\":1.0}},\"two\":{\"action\":\"decline\"}},"
                       "\"requestState\":\"s\\u0041/\\\"\",\"_meta\":{\"progressToken\":4,");
    expect_text(seen.text, "done");
    close_it();
}

static void state_alone_is_sent_again_after_a_while(void)
{
    static const int64_t waits[] = {50, 100, 150, 200, 250, 250, 250, 250, 250, 250};
    open_it();
    RULES(MODERN, {"tools/call",
                   "\"result\":{\"resultType\":\"input_required\",\"requestState\":\"x\"}", 0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    TEST_CHECK(call_it("add", "{}") != NULL);
    for (int i = 0; i < TOOLS_INPUT_ROUNDS_MAX; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "\"id\":%d,", i + 4);
        pass(waits[i] - 1);
        TEST_CHECK(strstr(last(0), id) == NULL);
        pass(1);
        expect_in(last(0), id);
        expect_in(last(0), "\"requestState\":\"x\"");
    }
    TEST_CHECK(seen.done == 1);
    expect_text(seen.why, "the server asks for input again and again");
    close_it();
}

static void what_is_not_offered_is_an_error(void)
{
    open_it();
    RULES(MODERN, {"tools/call",
                   "\"result\":{\"resultType\":\"input_required\",\"inputRequests\":"
                   "{\"a\":{\"method\":\"sampling/createMessage\",\"params\":{}}}}",
                   0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    TEST_CHECK(call_it("add", "{}") != NULL && seen.done == 1);
    expect_text(seen.why, "the server asks for sampling/createMessage, "
                          "which ipybox does not offer");
    close_it();
}

static void the_root_is_told_when_there_is_one(void)
{
    open_it_with("/w s");
    RULES(MODERN,
          {"tools/call",
           "\"result\":{\"resultType\":\"input_required\",\"inputRequests\":"
           "{\"a\":{\"method\":\"roots/list\"}}}",
           1, 0},
          {"tools/call", ANSWERED, 0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    TEST_CHECK(call_it("add", "{}") != NULL && seen.done == 1);
    expect_in(last(0), "\"inputResponses\":{\"a\":{\"roots\":[{\"uri\":\"file:///w%20s\","
                       "\"name\":\"workspace\"}]}}");
    close_it();
}

static void a_handshake_server_asks_the_newest_call(void)
{
    open_it();
    elicits = true;
    RULES(HANDSHAKE);
    TEST_CHECK(register_it("s", PROGRAM));
    expect_in(sent(0), "\"capabilities\":{\"elicitation\":{\"form\":{}}}");
    struct tools_call *old = call_it("add", "{}"), *new = call_it("add", "{}");
    fake_transport_say(0, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\","
                          "\"params\":{\"message\":\"m1\"}}");
    fake_transport_say(0, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"elicitation/create\","
                          "\"params\":{\"message\":\"m2\"}}");
    play();
    TEST_CHECK(seen.inputs == 1);
    tools_call_answer(old, seen.key, "{\"wrong\":1}");
    tools_call_answer(new, seen.key, "{\"action\":\"cancel\"}");
    expect_text(last(0), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"cancel\"}}\n");
    play();
    TEST_CHECK(seen.inputs == 2);
    expect_text(seen.input, "{\"message\":\"m2\"}");
    fake_transport_say(0, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                          "\"params\":{\"requestId\":\"x\"}}");
    tools_call_answer(new, seen.key, "{\"action\":\"accept\"}");
    expect_in(last(0), "\"cancel\"");
    close_it();
}

static void what_a_handshake_server_may_ask_is_answered(void)
{
    static const struct {
        const char *request, *answer;
    } cases[] = {
        {"\"method\":\"ping\"", "\"result\":{}"},
        {"\"method\":\"roots/list\"", "\"error\":{\"code\":-32601,"},
        {"\"method\":\"sampling/createMessage\",\"params\":{}", "\"error\":{\"code\":-32601,"},
        {"\"method\":\"elicitation/create\",\"params\":{}", "\"result\":{\"action\":\"decline\"}"},
        {"\"method\":\"elicitation/create\",\"params\":{\"mode\":\"url\"}",
         "\"error\":{\"code\":-32602,"},
    };
    open_it();
    RULES(HANDSHAKE);
    TEST_CHECK(register_it("s", PROGRAM));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_str char *text = xasprintf("{\"jsonrpc\":\"2.0\",\"id\":\"q\",%s}", cases[i].request);
        fake_transport_say(0, text);
        expect_in(last(0), "\"id\":\"q\"");
        expect_in(last(0), cases[i].answer);
    }
    fake_transport_say(0, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":"
                          "{\"level\":\"warning\",\"data\":{\"a\":1}}}");
    fake_transport_say(0, "no JSON");
    fake_transport_say(0, "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}");
    fake_transport_say(0, "{}");
    fake_transport_log(0, "a line");
    expect_in(logged, "2 s: {\"a\":1}\n");
    expect_in(logged, "1 s: a line\n");
    close_it();
}

/* --- ends ------------------------------------------------------------------------------------ */

static void a_dead_server_fails_its_calls_and_is_started_again(void)
{
    open_it();
    RULES(HANDSHAKE, {"tools/call", NULL, 2, 0}, {"tools/call", ANSWERED, 0, 0});
    TEST_CHECK(register_it("s", "{\"command\":\"run\",\"args\":[\"${TOKEN}\"]}"));
    TEST_CHECK(call_it("add", "{}") != NULL && call_it("add", "{}") != NULL);
    fake_transport_close(0, "the server ended (exit status 3); its last words: oh hush-hush");
    play();
    TEST_CHECK(seen.done == 2 && fake_transports.n == 1);
    expect_text(seen.why, "the server s ended (exit status 3); its last words: oh ***");
    TEST_CHECK(call_it("add", "{}") != NULL && seen.done == 3 && fake_transports.n == 2);
    expect_text(seen.text, "done");
    close_it();
}

static void a_start_is_shared_and_fails_for_all(void)
{
    open_it();
    RULES({"server/discover", DISCOVERED, 1, 0}, {"tools/list", LISTED, 0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    tools_reset(tools);
    TEST_CHECK(call_it("add", "{}") != NULL && call_it("add", "{}") != NULL);
    TEST_CHECK(fake_transports.n == 2 && seen.done == 0);
    pass(30000);
    TEST_CHECK(seen.done == 2);
    expect_in(seen.why, "the server s could not be started: it did not list its tools");
    fake_transports.refuse = -ENOENT;
    TEST_CHECK(call_it("add", "{}") != NULL && seen.done == 3);
    expect_text(seen.why, "the server s could not be started: refused");
    close_it();
}

static void those_that_waited_are_sent_in_their_order(void)
{
    open_it();
    RULES({"server/discover", DISCOVERED, 1, 0}, {"tools/list", LISTED, 0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    tools_reset(tools);
    TEST_CHECK(call_it("add", "{\"k\":1}") != NULL && call_it("add", "{\"k\":2}") != NULL);
    rules[0].used = 0;
    fake_transport_say(1, "{\"jsonrpc\":\"2.0\",\"id\":1," DISCOVERED "}");
    play();
    const char *first = strstr(sent(1), "{\"k\":1}"), *second = strstr(sent(1), "{\"k\":2}");
    TEST_CHECK(first && second && first < second);
    close_it();
}

static void a_program_that_reads_no_more_is_started_again_for_the_call(void)
{
    open_it();
    RULES(HANDSHAKE, {"tools/call", ANSWERED, 0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    fake_transports.broken = -EPIPE;
    TEST_CHECK(call_it("add", "{}") != NULL && seen.done == 0);
    fake_transports.broken = 0;
    fake_transport_close(0, "the server ended");
    play();
    TEST_CHECK(seen.done == 1 && fake_transports.n == 2);
    expect_text(seen.text, "done");
    fake_transports.broken = -EAGAIN;
    TEST_CHECK(call_it("add", "{}") != NULL && seen.done == 2);
    expect_text(seen.why, "broken");
    close_it();
}

static void a_session_that_is_over_is_opened_again(void)
{
    static const char *const over[] = {
        "!404", "\"error\":{\"code\":-32000,\"message\":\"Bad Request: No valid session ID\"}"};
    for (size_t i = 0; i < 2; i++) {
        open_it();
        RULES(HANDSHAKE, {"tools/call", over[i], 1, 0}, {"tools/call", ANSWERED, 1, 0},
              {"tools/call", over[i], 0, 0});
        TEST_CHECK(register_it("s", SITE));
        TEST_CHECK(call_it("add", "{}") != NULL && seen.done == 1);
        expect_text(seen.text, "done");
        TEST_CHECK(fake_transports.n == 2 && !fake_transports.list[0].open);
        TEST_CHECK(call_it("add", "{}") != NULL && seen.done == 2 && seen.why[0] != '\0');
        close_it();
    }
}

static void a_reset_and_a_removal_fail_what_is_under_way(void)
{
    open_it();
    RULES(MODERN);
    TEST_CHECK(register_it("s", PROGRAM));
    TEST_CHECK(call_it("add", "{}") != NULL);
    tools_reset(tools);
    TEST_CHECK(seen.done == 0);
    play();
    TEST_CHECK(seen.done == 1);
    expect_text(seen.why, "the server s was stopped by a reset");
    TEST_CHECK(call_it("add", "{}") != NULL);
    tools_remove(tools, "s");
    tools_remove(tools, "s");
    play();
    TEST_CHECK(seen.done == 2);
    expect_text(seen.why, "the server s was removed");
    TEST_CHECK(call_it("add", "{}") == NULL);
    close_it();
}

static void close_inside(void *ctx, const struct tools_result *given, const struct err *why)
{
    (void)ctx;
    (void)given;
    (void)why;
    seen.done++;
    tools = tools_close(tools);
}

static void progress_resets(void *ctx, double progress, double total, const char *message)
{
    (void)ctx;
    (void)progress;
    (void)total;
    (void)message;
    tools_reset(tools);
}

static void everything_may_be_closed_inside_an_event(void)
{
    static const struct tools_call_events events = {.progress = progress_resets,
                                                    .done = close_inside};
    open_it();
    RULES(MODERN);
    struct tools_call *call;
    TEST_CHECK(register_it("s", PROGRAM));
    TEST_CHECK(call_it("add", "{}") != NULL);
    TEST_CHECK(tools_call_start(tools, "s", "add", "{}", NULL, &events, NULL, &call, NULL) == 0);
    fake_transport_say(0, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
                          "{\"progressToken\":4,\"progress\":1}},"
                          "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}]");
    play();
    TEST_CHECK(tools == NULL && seen.done >= 1);
    close_it();
}

TEST_LIST = {
    {"arguments and results keep their numbers", arguments_and_results_keep_their_numbers},
    {"what is no object is refused", what_is_no_object_is_refused},
    {"failures are told apart", failures_are_told_apart},
    {"calls run side by side", calls_run_side_by_side},
    {"progress reaches its call", progress_reaches_its_call},
    {"a cancel is told in the way of the transport", a_cancel_is_told_in_the_way_of_the_transport},
    {"arguments are repeated in headers", arguments_are_repeated_in_headers},
    {"a program gets the trace in _meta, each call a new span",
     a_program_gets_the_trace_in_meta_each_call_a_new_span},
    {"a program of the modern era likewise", a_program_of_the_modern_era_likewise},
    {"a site gets the trace beside the message", a_site_gets_the_trace_beside_the_message},
    {"without a trace nothing is sent of one", without_a_trace_nothing_is_sent_of_one},
    {"input is asked one by one and sent together", input_is_asked_one_by_one_and_sent_together},
    {"state alone is sent again after a while", state_alone_is_sent_again_after_a_while},
    {"what is not offered is an error", what_is_not_offered_is_an_error},
    {"the root is told when there is one", the_root_is_told_when_there_is_one},
    {"a handshake server asks the newest call", a_handshake_server_asks_the_newest_call},
    {"what a handshake server may ask is answered", what_a_handshake_server_may_ask_is_answered},
    {"a dead server fails its calls and is started again",
     a_dead_server_fails_its_calls_and_is_started_again},
    {"a start is shared and fails for all", a_start_is_shared_and_fails_for_all},
    {"those that waited are sent in their order", those_that_waited_are_sent_in_their_order},
    {"a program that reads no more is started again for the call",
     a_program_that_reads_no_more_is_started_again_for_the_call},
    {"a session that is over is opened again", a_session_that_is_over_is_opened_again},
    {"a reset and a removal fail what is under way", a_reset_and_a_removal_fail_what_is_under_way},
    {"everything may be closed inside an event", everything_may_be_closed_inside_an_event},
    {NULL, NULL},
};
