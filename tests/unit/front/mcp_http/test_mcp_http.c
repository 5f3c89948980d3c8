/* SPDX-License-Identifier: Apache-2.0
 *
 * MCP over HTTP and the table of sessions. */
#include "unit/front/apitest.h"

#include "front/mcp_http/api_mcp.h"

#define ACCEPT "Accept: application/json, text/event-stream\r\n"
#define INITIALIZE                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"2025-11-25\"}}"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define E                                                                                          \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN                                                                                     \
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"                               \
    "Mcp-Name: execute_ipython_cell\r\n"

static char session_id[64];

static void open_mcp(void)
{
    open_ready();
}

static void post(const char *headers, const char *body)
{
    drop_str char *all = xasprintf(ACCEPT "%s", headers);
    call_with("POST /mcp", all, body);
}

/* Does not wait for an answer. */
static void post_and_go(const char *headers, const char *body)
{
    drop_str char *all = xasprintf(ACCEPT "%s", headers);
    int fd = send_with("POST /mcp", all, body);
    turn();
    (void)fd_close(fd);
    turn();
}

static void ping(const char *expected)
{
    drop_str char *headers = xasprintf("Mcp-Session-Id: %s\r\n", session_id);
    post(headers, PING);
    check_head(expected);
}

static void initialize(void)
{
    post("", INITIALIZE);
    check_head("HTTP/1.1 200 ");
    (void)snprintf(session_id, sizeof session_id, "%s", header_of("Mcp-Session-Id"));
}

/* The id of the session that came last. */
static void last_session(char id[SESSIONS_ID_MAX + 1])
{
    struct sessions_view view;
    for (size_t at = 0; sessions_next(sessions, &at, &view);)
        (void)snprintf(id, SESSIONS_ID_MAX + 1, "%s", view.id);
}

static void a_session_of_the_handshake_is_one_of_the_table_and_ends_with_it(void)
{
    open_mcp();
    initialize();
    TEST_CHECK(sessions_count(sessions) == 2);
    ping("HTTP/1.1 200 ");
    drop_str char *headers = xasprintf("Mcp-Session-Id: %s\r\n", session_id);
    call_with("DELETE /mcp", headers, "");
    check_head("HTTP/1.1 200 ");
    char id[SESSIONS_ID_MAX + 1];
    last_session(id);
    TEST_CHECK(strcmp(id, "default") == 0);
    close_api();
}

static void one_that_is_ended_elsewhere_is_over_here(void)
{
    char id[SESSIONS_ID_MAX + 1];
    struct err e = ERR_NONE;
    open_mcp();
    initialize();
    last_session(id);
    TEST_CHECK(sessions_end(sessions, id, &e) == 0);
    turn();
    ping("HTTP/1.1 404 ");
    TEST_CHECK(sessions_count(sessions) == 1);
    close_api();
}

static void a_named_session_is_made_once_and_stays(void)
{
    static const char call[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"execute_ipython_cell\",\"arguments\":{\"code\":\"x\",\"session\":\"a\"}," E "}}";
    char id[SESSIONS_ID_MAX + 1];
    open_mcp();
    for (int i = 0; i < 2; i++) {
        post_and_go(MODERN, call);
        TEST_CHECK(sessions_count(sessions) == 2);
    }
    last_session(id);
    TEST_CHECK(strcmp(id, "a") == 0);
    close_api();
}

static void one_that_is_held_twice_ends_for_both(void)
{
    char id[SESSIONS_ID_MAX + 1];
    struct err e = ERR_NONE;
    open_mcp();
    initialize();
    last_session(id);
    drop_str char *call = xasprintf(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"execute_ipython_cell\",\"arguments\":{\"code\":\"x\",\"session\":\"%s\"}," E "}}",
        id);
    post_and_go(MODERN, call);
    TEST_CHECK(sessions_count(sessions) == 2 && sessions_end(sessions, id, &e) == 0);
    turn();
    TEST_CHECK(sessions_count(sessions) == 1);
    ping("HTTP/1.1 404 ");
    close_api();
}

static void without_a_name_it_is_the_default_one(void)
{
    static const char call[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"execute_ipython_cell\",\"arguments\":{\"code\":\"x\"}," E "}}";
    open_mcp();
    post_and_go(MODERN, call);
    TEST_CHECK(sessions_count(sessions) == 1);
    close_api();
}

static void a_token_is_needed_where_there_is_one(void)
{
    api_config.execute_token = "secret";
    open_mcp();
    post("", INITIALIZE);
    check_head("HTTP/1.1 401 ");
    post("Authorization: Bearer secret\r\n", INITIALIZE);
    check_head("HTTP/1.1 200 ");
    close_api();
    api_config.execute_token = NULL;
}

#define REGISTER(params)                                                                           \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"                \
    "\"register_mcp_server\",\"arguments\":{\"server_name\":\"s\",\"server_params\":" params "}"
#define MODERN_REGISTER                                                                            \
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"                               \
    "Mcp-Name: register_mcp_server\r\n"

/* With the header of this token: what becomes of a registration in each era, and whether the one
 * who made the session is asked. */
static void check_rights(const char *bearer, bool all)
{
    const char *refused = "needs IPYBOX_TOKEN", *read = "server_params: an object is needed";
    char id[SESSIONS_ID_MAX + 1];
    TEST_CASE(*bearer ? bearer : "(no token)");
    drop_str char *modern = xasprintf("%s" MODERN_REGISTER, bearer);
    post(modern, REGISTER("[]") "," E "}}");
    check_has(all ? read : refused);
    post(bearer, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
                 "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":{}}}}");
    check_head("HTTP/1.1 200 ");
    drop_str char *headers =
        xasprintf("%sMcp-Session-Id: %s\r\n", bearer, header_of("Mcp-Session-Id"));
    last_session(id);
    TEST_CHECK(approvals_can_elicit(approvals, id) == all);
    post(headers, REGISTER("[]") "}}");
    check_has(all ? read : refused);
    check_has("\"isError\":true");
    call_with("DELETE /mcp", headers, "");
    check_head("HTTP/1.1 200 ");
}

static void who_may_execute_neither_registers_nor_approves(void)
{
    open_mcp();
    check_rights("", false);
    close_api();
    api_config.execute_token = "worker";
    api_config.admin_token = "master";
    open_mcp();
    check_rights("Authorization: Bearer worker\r\n", false);
    check_rights("Authorization: Bearer master\r\n", true);
    close_api();
    api_config.execute_token = api_config.admin_token = NULL;
}

static void without_this_door_there_is_no_mcp(void)
{
    without_mcp = true;
    open_mcp();
    call_with("POST /mcp", ACCEPT, INITIALIZE);
    check_head("HTTP/1.1 404 ");
    close_api();
}

static void a_door_that_stops_makes_no_sessions_and_serves_those_it_has(void)
{
    open_mcp();
    initialize();
    mcp_http_stop(mcp_http);
    call_with("POST /mcp", ACCEPT, INITIALIZE);
    check_head("HTTP/1.1 503 ");
    ping("HTTP/1.1 200 ");
    close_api();
}

static int64_t mcp_now = 1000;

static int64_t mcp_clock(void)
{
    return mcp_now;
}

/* The table takes three: the default one and two more. */
static void forgotten_sessions_make_room_and_used_ones_do_not(void)
{
    char first[64], second[64];
    open_mcp();
    loop_set_clock(loop, mcp_clock);
    initialize();
    (void)snprintf(first, sizeof first, "%s", session_id);
    initialize();
    (void)snprintf(second, sizeof second, "%s", session_id);
    TEST_CHECK(sessions_count(sessions) == 3);
    post("", INITIALIZE); /* nobody was forgotten yet */
    check_head("HTTP/1.1 503 ");
    TEST_CHECK(strcmp(header_of("Retry-After"), "10") == 0);
    mcp_now += API_MCP_FRESH_MS;
    (void)snprintf(session_id, sizeof session_id, "%s", first);
    ping("HTTP/1.1 200 ");
    initialize(); /* in the place of the second one */
    TEST_CHECK(sessions_count(sessions) == 3);
    (void)snprintf(session_id, sizeof session_id, "%s", second);
    ping("HTTP/1.1 404 ");
    (void)snprintf(session_id, sizeof session_id, "%s", first);
    ping("HTTP/1.1 200 ");
    close_api();
}

TEST_LIST = {
    {"forgotten_sessions_make_room_and_used_ones_do_not",
     forgotten_sessions_make_room_and_used_ones_do_not},
#define T(name) {#name, name}
    T(a_session_of_the_handshake_is_one_of_the_table_and_ends_with_it),
    T(one_that_is_ended_elsewhere_is_over_here),
    T(a_named_session_is_made_once_and_stays),
    T(one_that_is_held_twice_ends_for_both),
    T(without_a_name_it_is_the_default_one),
    T(a_token_is_needed_where_there_is_one),
    T(who_may_execute_neither_registers_nor_approves),
    T(without_this_door_there_is_no_mcp),
    T(a_door_that_stops_makes_no_sessions_and_serves_those_it_has),
    {NULL, NULL},
};
