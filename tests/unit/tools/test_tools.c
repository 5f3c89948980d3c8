/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/tools/play.h"

#include "base/hmac.h"
#include "tools/client/client.h"

#define RULES(...)                                                                                 \
    struct fake_rule rules[] = {__VA_ARGS__, {NULL, NULL, 0, 0}};                                  \
    fake_transports.rules = rules

static void a_modern_program_is_asked_and_listed(void)
{
    open_it();
    RULES({"server/discover", DISCOVERED, 0, 0}, {"tools/list", LISTED, 0, 0});
    TEST_CHECK(register_it("s", "{\"command\":\"run\",\"args\":[\"${TOKEN}\"]}"));
    expect_text(seen.why, "");
    TEST_CHECK(seen.n_tools == 2);
    expect_text(sent(0),
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":"
                "{\"_meta\":{" ENVELOPE(
                    "{}") "}}}\n"
                          "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":"
                          "{\"_meta\":{" ENVELOPE("{}") "}}}\n");
    expect_text(fake_transports.opened, "run;hush-hush;env PATH=/bin;cwd /w s;");
    struct tools_server server;
    TEST_ASSERT(tools_find(tools, "s", &server));
    expect_text(server.params, "{\"command\":\"run\",\"args\":[\"${TOKEN}\"]}");
    expect_text(server.shown, "run ${TOKEN}");
    expect_text(server.tools[1].name, "odd (name)");
    TEST_CHECK(strlen(server.tools[0].digest) == HMAC_HEX);
    TEST_CHECK(!tools_find(tools, "t", &server));
    close_it();
}

static void an_older_program_gets_the_handshake(void)
{
    open_it();
    RULES({"server/discover", UNKNOWN, 0, 0}, {"initialize", INITIALIZED, 0, 0},
          {"tools/list", LISTED, 0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    expect_in(sent(0), "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\",\"params\":"
                       "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":"
                       "{\"name\":\"ipybox\",\"version\":\"9.9\"}}}\n"
                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
                       "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}\n");
    expect_text(buf_text(&fake_transports.list[0].headers),
                "1 2026-07-28 modern -\n2 - - -\n3 2025-06-18 - -\n");
    close_it();
}

static void what_was_found_is_kept_over_a_reset(void)
{
    open_it();
    RULES({"server/discover", UNKNOWN, 0, 0}, {"initialize", INITIALIZED, 0, 0},
          {"tools/list", LISTED, 0, 0}, {"tools/call", "\"result\":{\"content\":[]}", 0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    tools_reset(tools);
    TEST_CHECK(!fake_transports.list[0].open);
    struct tools_server server;
    TEST_CHECK(tools_find(tools, "s", &server) && server.n_tools == 2);
    TEST_CHECK(fake_transports.n == 1);
    TEST_CHECK(call_it("add", "{}") != NULL && seen.done == 1);
    TEST_CHECK(fake_transports.n == 2);
    TEST_CHECK(strstr(sent(1), "discover") == NULL);
    close_it();
}

static void what_was_found_is_looked_for_again_when_it_fails(void)
{
    open_it();
    RULES({"server/discover", UNKNOWN, 1, 0}, {"server/discover", DISCOVERED, 0, 0},
          {"initialize", INITIALIZED, 1, 0}, {"initialize", UNKNOWN, 0, 0},
          {"tools/list", LISTED, 0, 0}, {"tools/call", "\"result\":{\"content\":[]}", 0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    tools_reset(tools);
    TEST_CHECK(call_it("add", "{}") != NULL && seen.done == 1);
    expect_text(seen.why, "");
    TEST_CHECK(fake_transports.n == 3);
    close_it();
}

static void silence_is_no_answer(void)
{
    open_it();
    RULES({"initialize", INITIALIZED, 0, 0}, {"tools/list", LISTED, 0, 0});
    TEST_CHECK(!register_it("s", PROGRAM));
    pass(9999);
    TEST_CHECK(strstr(sent(0), "initialize") == NULL);
    pass(1);
    TEST_CHECK(seen.registered == 1 && seen.n_tools == 2 && fake_transports.n == 1);
    close_it();
}

static void a_program_that_ends_at_the_probe_is_started_again(void)
{
    open_it();
    RULES({"server/discover", "#the server ended (exit status 1)", 0, 0},
          {"initialize", INITIALIZED, 0, 0}, {"tools/list", LISTED, 0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    TEST_CHECK(fake_transports.n == 2 && strstr(sent(1), "discover") == NULL);
    close_it();
}

static void a_program_that_only_ends_says_why(void)
{
    open_it();
    RULES({"server/discover", "#the server ended (exit status 1)", 0, 0},
          {"initialize", "#the server ended (exit status 1); its last words: no hush-hush", 0, 0});
    TEST_CHECK(!register_it("s", "{\"command\":\"run\",\"env\":{\"A\":\"${TOKEN}\"}}"));
    TEST_CHECK(seen.registered == 1 && fake_transports.n == 2);
    expect_text(seen.why, "the server s ended (exit status 1); its last words: no ***");
    close_it();
}

/* What a server may say to the probe, what follows, and whether it can be used. */
static void the_probe_decides(void)
{
    static const struct {
        const char *name, *answer, *again; /* again: to a second probe */
        const char *sent;                  /* the next request */
    } cases[] = {
        {"versions of the handshake", "\"result\":{\"supportedVersions\":[\"2025-11-25\"]}", NULL,
         "initialize"},
        {"no versions", "\"result\":{}", NULL, "initialize"},
        {"all versions", "\"result\":{\"supportedVersions\":[\"2025-11-25\",\"2026-07-28\"]}", NULL,
         "tools/list"},
        {"unsupported, but it is",
         "\"error\":{\"code\":-32022,\"message\":\"m\",\"data\":{\"supported\":[\"2026-07-28\"]}}",
         DISCOVERED, "tools/list"},
        {"unsupported, older",
         "\"error\":{\"code\":-32022,\"message\":\"m\",\"data\":{\"supported\":[\"2024-11-05\"]}}",
         NULL, "initialize"},
        {"unsupported, newer",
         "\"error\":{\"code\":-32022,\"message\":\"m\",\"data\":{\"supported\":[\"2027-01-01\"]}}",
         NULL, NULL},
        {"another error", "\"error\":{\"code\":-32602,\"message\":\"m\"}", NULL, "initialize"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_it();
        RULES({"server/discover", cases[i].answer, 1, 0},
              {"server/discover", cases[i].again, 1, 0});
        TEST_CASE(cases[i].name);
        TEST_CHECK(!register_it("s", PROGRAM));
        if (cases[i].sent)
            expect_in(last(0), cases[i].sent);
        else
            expect_text(seen.why, "the server s could not be started: no common version of the "
                                  "protocol: m (code -32022)");
        close_it();
    }
}

static void a_handshake_that_comes_too_late_is_a_probe_again(void)
{
    open_it();
    RULES({"server/discover", NULL, 1, 0}, {"server/discover", DISCOVERED, 0, 0},
          {"initialize", "\"error\":{\"code\":-32022,\"message\":\"m\"}", 0, 0},
          {"tools/list", LISTED, 0, 0});
    TEST_CHECK(!register_it("s", PROGRAM));
    pass(10000);
    TEST_CHECK(seen.registered == 1 && seen.n_tools == 2);
    close_it();
}

static void a_version_that_is_not_spoken_is_an_error(void)
{
    open_it();
    RULES({"server/discover", UNKNOWN, 0, 0},
          {"initialize", "\"result\":{\"protocolVersion\":\"2031-01-01\"}", 0, 0});
    TEST_CHECK(!register_it("s", PROGRAM));
    expect_in(seen.why, "version \"2031-01-01\" is not supported");
    close_it();
}

static void a_site_is_asked_down_the_ladder(void)
{
    static const struct {
        const char *name, *discover, *initialize, *sse;
        int transports;
        const char *why;
    } cases[] = {
        {"modern", DISCOVERED, NULL, NULL, 1, ""},
        {"older", "!400", INITIALIZED, NULL, 1, ""},
        {"older, with an error", "\"error\":{\"code\":-32000,\"message\":\"m\"}", INITIALIZED, NULL,
         1, ""},
        {"event stream", "!405", "!405", INITIALIZED, 2, ""},
        {"event stream, 404", "!404", "!404", INITIALIZED, 2, ""},
        {"neither", "!404", "!404 gone", "#no event stream", 2,
         "the server s could not be started: initialize: HTTP status 404 gone"},
        {"forbidden", "!401", NULL, NULL, 1, "the server s could not be started: HTTP status 401"},
        {"forbidden", "!403", NULL, NULL, 1, "the server s could not be started: HTTP status 403"},
        {"broken", "!502", NULL, NULL, 1, "the server s could not be started: HTTP status 502"},
        {"not there", "!0", NULL, NULL, 1, "the server s could not be started: HTTP status 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_it();
        RULES({"server/discover", cases[i].discover, 1, 0},
              {"initialize", cases[i].initialize, 1, 0}, {"initialize", cases[i].sse, 1, 0},
              {"tools/list", LISTED, 0, 0});
        TEST_CASE(cases[i].name);
        TEST_CHECK(register_it("s", SITE) == (*cases[i].why == '\0'));
        TEST_CHECK(seen.registered == 1 && fake_transports.n == cases[i].transports);
        expect_text(seen.why, cases[i].why);
        close_it();
    }
}

static void an_event_stream_is_not_probed(void)
{
    open_it();
    RULES({"initialize", INITIALIZED, 0, 0}, {"tools/list", LISTED, 0, 0});
    TEST_CHECK(register_it("s", "{\"url\":\"http://h/sse\",\"headers\":{\"A\":\"${TOKEN}\"}}"));
    TEST_CHECK(fake_transports.list[0].kind == PARAMS_SSE);
    expect_text(fake_transports.opened, "http://h/sse;A;=hush-hush;");
    close_it();
}

static void a_slow_start_ends(void)
{
    open_it();
    RULES({"server/discover", DISCOVERED, 0, 0});
    TEST_CHECK(!register_it("s", PROGRAM));
    pass(29999);
    TEST_CHECK(seen.registered == 0);
    pass(1);
    expect_text(seen.why,
                "the server s could not be started: it did not list its tools within 30.0 s");
    TEST_CHECK(!fake_transports.list[0].open);
    close_it();
}

/* --- lists ----------------------------------------------------------------------------------- */

#define AS_TASK "{\"name\":\"t\",\"execution\":{\"taskSupport\":\"required\"}}"
#define ODD TOOL("c") "," TOOL("a") ",{},7," AS_TASK

static void pages_are_put_together_and_loops_end(void)
{
    open_it();
    RULES({"server/discover", DISCOVERED, 0, 0},
          {"tools/list", "\"result\":{\"tools\":[" TOOL("a") "],\"nextCursor\":\"x\\\"1\"}", 1, 0},
          {"tools/list", "\"result\":{\"tools\":[" TOOL("b") "],\"nextCursor\":\"2\"}", 1, 0},
          {"tools/list", "\"result\":{\"tools\":[" ODD "],\"nextCursor\":\"x\\\"1\"}", 1, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    TEST_CHECK(seen.n_tools == 3);
    expect_in(sent(0), "{\"cursor\":\"x\\\"1\",\"_meta\"");
    expect_in(logged, "s: tool \"a\" is left out: another one has its name");
    expect_in(logged, "s: tool \"\" is left out: it has no name");
    expect_in(logged, "s: tool \"t\" is left out: it can only be called as a task");
    close_it();
}

static void too_many_tools_are_an_error(void)
{
    open_it();
    drop_buf struct buf page = BUF_INIT(1 << 20);
    (void)buf_adds(&page, "\"result\":{\"tools\":[{}");
    for (int i = 0; i < TOOLS_PER_SERVER_MAX; i++)
        (void)buf_adds(&page, ",{}");
    (void)buf_adds(&page, "]}");
    RULES({"server/discover", DISCOVERED, 0, 0}, {"tools/list", page.data, 0, 0});
    TEST_CHECK(!register_it("s", PROGRAM));
    expect_in(seen.why, "tools/list: more than 4096 tools");
    close_it();
}

static void a_server_without_tools_has_none(void)
{
    open_it();
    RULES(
        {"server/discover", UNKNOWN, 0, 0},
        {"initialize", "\"result\":{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{}}", 0, 0},
        {"tools/list", UNKNOWN, 0, 0});
    TEST_CHECK(register_it("s", PROGRAM) && seen.n_tools == 0);
    close_it();
}

static void digest_of(const char *list, char digest[HMAC_HEX + 1])
{
    struct tools_server server;
    RULES({"server/discover", DISCOVERED, 0, 0}, {"tools/list", list, 0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    TEST_ASSERT(tools_find(tools, "s", &server) && server.n_tools == 1);
    memcpy(digest, server.tools[0].digest, HMAC_HEX + 1);
}

static void a_digest_is_of_the_meaning(void)
{
    char a[HMAC_HEX + 1], b[HMAC_HEX + 1];
    open_it();
    digest_of("\"result\":{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"x\":1,\"y\":[2]}}]}", a);
    digest_of("\"result\":{\"tools\":[{\"inputSchema\":{\"y\":[2.0],\"x\":1},\"name\":\"t\"}]}", b);
    expect_text(a, b);
    expect_text(a, "e6ca8b3ef659b2be09b54439c32eeda7f452210b8f04576c900ad6ff662ca513");
    digest_of("\"result\":{\"tools\":[{\"inputSchema\":{\"y\":[2],\"x\":2},\"name\":\"t\"}]}", b);
    TEST_CHECK(strcmp(a, b) != 0);
    close_it();
}

static void changes_are_listed_again(void)
{
    open_it();
    RULES({"server/discover", UNKNOWN, 0, 0}, {"initialize", INITIALIZED, 0, 0},
          {"tools/list", LISTED, 1, 0},
          {"tools/list", "\"result\":{\"tools\":[" TOOL("other") "]}", 1, 0},
          {"tools/list", UNKNOWN, 0, 0});
    static const char changed[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}";
    TEST_CHECK(register_it("s", PROGRAM));
    fake_transport_say(0, changed);
    play();
    struct tools_server server;
    TEST_CHECK(tools_find(tools, "s", &server) && server.n_tools == 1);
    expect_text(server.tools[0].name, "other");
    for (int i = 0; i < 100; i++)
        fake_transport_say(0, changed);
    play();
    expect_text(logged, ""); /* it was not asked again yet */
    pass(CLIENT_LIST_AGAIN_MS);
    TEST_CHECK(tools_find(tools, "s", &server) && server.n_tools == 1);
    expect_in(logged, "s: tools/list: Method not found (code -32601)");
    close_it();
}

static void a_modern_server_is_listened_to(void)
{
    open_it();
    RULES({"server/discover",
           "\"result\":{\"supportedVersions\":[\"2026-07-28\"],"
           "\"capabilities\":{\"tools\":{\"listChanged\":true}}}",
           0, 0},
          {"tools/list", LISTED, 0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    expect_in(sent(0), "\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":"
                       "{\"toolsListChanged\":true},\"_meta\":{");
    close_it();
}

/* --- registering ----------------------------------------------------------------------------- */

static void a_failure_leaves_the_old_one(void)
{
    open_it();
    RULES({"server/discover", DISCOVERED, 1, 0}, {"server/discover", "#it broke", 0, 0},
          {"initialize", "#it broke", 0, 0}, {"tools/list", LISTED, 0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    TEST_CHECK(!register_it("s", "{\"command\":\"other\"}"));
    expect_text(seen.why, "the server s could not be started: it broke");
    struct tools_server server;
    TEST_CHECK(tools_find(tools, "s", &server));
    expect_text(server.shown, "run");
    TEST_CHECK(fake_transports.list[0].open);
    close_it();
}

static void a_new_one_takes_the_place_and_calls_end_in_peace(void)
{
    open_it();
    RULES({"server/discover", DISCOVERED, 0, 0}, {"tools/list", LISTED, 0, 0});
    TEST_CHECK(register_it("s", PROGRAM));
    TEST_CHECK(call_it("add", "{}") != NULL);
    TEST_CHECK(register_it("s", "{\"command\":\"other\"}"));
    TEST_CHECK(fake_transports.list[0].open && fake_transports.list[1].open);
    fake_transport_say(0, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":"
                          "[{\"type\":\"text\",\"text\":\"old\"}]}}");
    play();
    expect_text(seen.text, "old");
    TEST_CHECK(!fake_transports.list[0].open);
    struct tools_server server;
    size_t at = 0;
    TEST_CHECK(tools_next(tools, &at, &server) && strcmp(server.shown, "other") == 0);
    TEST_CHECK(!tools_next(tools, &at, &server));
    close_it();
}

static void a_registration_can_be_given_up(void)
{
    open_it();
    RULES({"server/discover", DISCOVERED, 0, 0});
    TEST_CHECK(begin_register("s", PROGRAM) == 0);
    play();
    tools_job_cancel(seen.job);
    TEST_CHECK(!fake_transports.list[0].open);
    play();
    TEST_CHECK(seen.registered == 0);
    close_it();
}

static void wrong_registrations_are_refused_at_once(void)
{
    open_it();
    TEST_CHECK(begin_register("S-1", PROGRAM) == -EINVAL);
    TEST_CHECK(begin_register("s", "{}") == -EINVAL);
    TEST_CHECK(begin_register("s", "{\"command\":\"${NONE}\"}") == -EINVAL);
    expect_in(seen.why, "NONE is not set");
    fake_transports.refuse = -EMFILE;
    TEST_CHECK(begin_register("s", PROGRAM) == -EMFILE);
    close_it();
}

static void two_names_differ_in_more_than_case(void)
{
    open_it();
    RULES({"server/discover", DISCOVERED, 0, 0}, {"tools/list", LISTED, 0, 0});
    TEST_CHECK(register_it("GitHub", PROGRAM));
    TEST_CHECK(begin_register("github", PROGRAM) == -EINVAL);
    expect_in(seen.why, "differs only in case from the registered GitHub");
    tools_remove(tools, "GitHub");
    TEST_CHECK(register_it("github", PROGRAM));
    close_it();
}

static void parameters_are_compared(void)
{
    open_it();
    RULES({"server/discover", DISCOVERED, 0, 0}, {"tools/list", LISTED, 0, 0});
    TEST_CHECK(register_it("s", "{\"command\":\"run\",\"args\":[\"1\"]}"));
    static const char reordered[] = "{\"args\":[\"1\"],\"command\":\"run\"}";
    drop_json struct json *same = json_parse_copy(reordered, strlen(reordered), JSON_STRICT, NULL);
    drop_json struct json *other = json_parse_copy(PROGRAM, strlen(PROGRAM), JSON_STRICT, NULL);
    TEST_CHECK(tools_same_params(tools, "s", same));
    TEST_CHECK(!tools_same_params(tools, "s", other));
    TEST_CHECK(!tools_same_params(tools, "t", same));
    close_it();
}

static void a_slow_server_delays_no_other(void)
{
    open_it();
    RULES({"server/discover", NULL, 1, 0}, {"server/discover", DISCOVERED, 0, 0},
          {"tools/list", LISTED, 0, 0});
    TEST_CHECK(!register_it("slow", PROGRAM));
    TEST_CHECK(register_it("s", PROGRAM));
    close_it();
}

TEST_LIST = {
    {"a modern program is asked and listed", a_modern_program_is_asked_and_listed},
    {"an older program gets the handshake", an_older_program_gets_the_handshake},
    {"what was found is kept over a reset", what_was_found_is_kept_over_a_reset},
    {"what was found is looked for again when it fails",
     what_was_found_is_looked_for_again_when_it_fails},
    {"silence is no answer", silence_is_no_answer},
    {"a program that ends at the probe is started again",
     a_program_that_ends_at_the_probe_is_started_again},
    {"a program that only ends says why", a_program_that_only_ends_says_why},
    {"the probe decides", the_probe_decides},
    {"a handshake that comes too late is a probe again",
     a_handshake_that_comes_too_late_is_a_probe_again},
    {"a version that is not spoken is an error", a_version_that_is_not_spoken_is_an_error},
    {"a site is asked down the ladder", a_site_is_asked_down_the_ladder},
    {"an event stream is not probed", an_event_stream_is_not_probed},
    {"a slow start ends", a_slow_start_ends},
    {"pages are put together and loops end", pages_are_put_together_and_loops_end},
    {"too many tools are an error", too_many_tools_are_an_error},
    {"a server without tools has none", a_server_without_tools_has_none},
    {"a digest is of the meaning", a_digest_is_of_the_meaning},
    {"changes are listed again", changes_are_listed_again},
    {"a modern server is listened to", a_modern_server_is_listened_to},
    {"a failure leaves the old one", a_failure_leaves_the_old_one},
    {"a new one takes the place and calls end in peace",
     a_new_one_takes_the_place_and_calls_end_in_peace},
    {"a registration can be given up", a_registration_can_be_given_up},
    {"wrong registrations are refused at once", wrong_registrations_are_refused_at_once},
    {"two names differ in more than case", two_names_differ_in_more_than_case},
    {"parameters are compared", parameters_are_compared},
    {"a slow server delays no other", a_slow_server_delays_no_other},
    {NULL, NULL},
};
