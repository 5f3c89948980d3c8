/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of several servers an answer comes from, requests that are meant for another of them, and
 * the token's header that routers leave alone. */
#include "unit/front/apitest.h"

#define HERE "\r\nIpybox-Instance: here\r\n"
#define THERE "\r\nIpybox-Owner: there\r\n"

/* --- names ------------------------------------------------------------------------------------ */

static void check_once(void)
{
    const char *at = strstr(buf_text(&got), HERE);
    TEST_CHECK(at && !strstr(at + 2, "\r\nIpybox-Instance: "));
}

static void every_answer_names_its_instance(void)
{
    static const char *const lines[] = {
        "GET /livez",          "GET /readyz",    "GET /openapi.json", "GET /",
        "GET /metrics",        "GET /v1/files/", "GET /v1/sessions",  "GET /nowhere",
        "GET /v1/sessions/no", "DELETE /livez",  "GET /mcp"};
    open_ready();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        TEST_CASE(lines[i]);
        call(lines[i], "");
        check_has(HERE);
        check_once();
        call_with(lines[i], "X-Request-Id: 1\r\n", "");
        check_has(HERE);
        check_once();
    }
    int fd = dial();
    say(fd, "GET /v1/sessions/default/events HTTP/1.1\r\n" WS_HEAD "\r\n");
    (void)hear(fd);
    check_head("HTTP/1.1 101 ");
    check_has(HERE);
    (void)fd_close(fd);
    turn();
    close_api();
}

static void sessions_executions_and_health_name_it(void)
{
    open_ready();
    call("POST /v1/sessions", "{\"id\":\"ada\"}");
    check_has("\"id\":\"ada\",\"instance\":\"here\",");
    call("GET /v1/sessions", "");
    check_has("{\"id\":\"default\",\"instance\":\"here\",");
    call("GET /readyz", "");
    check_has(",\"instance\":\"here\",");
    call("POST /v1/sessions/default/executions", "{\"code\":\"1\",\"wait\":false}");
    check_has("\"session\":\"default\",\"instance\":\"here\",");
    close_api();
}

/* --- requests that are meant for another ------------------------------------------------------ */

static void a_request_for_another_instance_is_told_whose_it_is(void)
{
    open_ready();
    call_with("GET /v1/sessions", "Ipybox-Instance: here\r\n", "");
    check_head("HTTP/1.1 200 ");
    call_with("GET /v1/sessions", "Ipybox-Instance: there\r\n", "");
    check_head("HTTP/1.1 421 ");
    check_has(HERE);
    check_has(THERE);
    check_has("\"detail\":\"this request is of the instance there; this is here\"");
    check_has("\"owner\":\"there\"");
    call_with("POST /mcp", "Ipybox-Instance: there\r\n", "{}");
    check_head("HTTP/1.1 421 ");
    call_with("POST /v1/sessions/default/executions", "Ipybox-Instance: there\r\n",
              "{\"code\":\"1\"}");
    check_head("HTTP/1.1 421 ");
    TEST_CHECK(strcmp(fake.code, "") == 0);
    close_api();
}

static void a_header_that_is_no_name_is_refused(void)
{
    static const char *const bad[] = {"Ipybox-Instance: \r\n", "Ipybox-Instance: a b\r\n",
                                      "Ipybox-Instance: a\"b\r\n",
                                      "Ipybox-Instance: here\r\nIpybox-Instance: here\r\n"};
    open_ready();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TEST_CASE(bad[i]);
        call_with("GET /v1/sessions", bad[i], "");
        check_head("HTTP/1.1 400 ");
        TEST_CHECK(!strstr(buf_text(&got), "Ipybox-Owner"));
    }
    close_api();
}

static void a_session_s_id_may_name_its_instance(void)
{
    open_ready();
    call("POST /v1/sessions", "{\"id\":\"ada\"}");
    call("GET /v1/sessions/ada@here", "");
    check_head("HTTP/1.1 200 ");
    check_has("\"id\":\"ada\"");
    call("GET /v1/sessions/default@here/executions", "");
    check_head("HTTP/1.1 200 ");
    call("GET /v1/sessions/ada@there", "");
    check_head("HTTP/1.1 421 ");
    check_has(THERE);
    check_has("\"detail\":\"this session is of the instance there; this is here\"");
    call("DELETE /v1/sessions/ada@there", "");
    check_head("HTTP/1.1 421 ");
    call("GET /v1/sessions/ada", "");
    check_head("HTTP/1.1 200 ");
    call("GET /v1/sessions/ada@", "");
    check_head("HTTP/1.1 404 ");
    call("GET /v1/sessions/bob@here", "");
    check_head("HTTP/1.1 404 ");
    call("DELETE /v1/sessions/ada@here", "");
    check_head("HTTP/1.1 204 ");
    close_api();
}

static void who_may_not_is_not_told_whose_a_session_is(void)
{
    api_config = (struct api_config){.execute_token = "e"};
    open_ready();
    call("GET /v1/sessions/ada@there", "");
    check_head("HTTP/1.1 401 ");
    close_api();
    api_config = (struct api_config){0};
}

/* --- the token's own header ------------------------------------------------------------------- */

#define OWN_RIGHT "X-Ipybox-Token: right\r\n"
#define OWN_WRONG "X-Ipybox-Token: wrong\r\n"
#define RIGHT "Authorization: Bearer right\r\n"
#define WRONG "Authorization: Bearer wrong\r\n"
#define ALSO "X-Ipybox-Token: also\r\n"
#define ROUTERS "Authorization: Basic cm91dGVyOnM=\r\n"

static const struct {
    const char *headers, *answer;
} tokens[] = {
    {"", "401"},
    {RIGHT, "200"},
    {WRONG, "401"},
    {OWN_RIGHT, "200"},
    {OWN_WRONG, "401"},
    {OWN_RIGHT WRONG, "200"}, /* Authorization is the router's */
    {OWN_RIGHT ROUTERS, "200"},
    {OWN_WRONG RIGHT, "401"},
    {OWN_RIGHT OWN_RIGHT, "401"},
    {OWN_RIGHT OWN_WRONG, "401"},
    {"X-Ipybox-Token: \r\n" RIGHT, "401"},
    {"X-Ipybox-Token: Bearer right\r\n", "401"},
    {"X-Ipybox-Token: righ\r\n", "401"},
    {ALSO, "403"}, /* a token of another role */
    {ALSO RIGHT, "403"},
};

static void a_token_may_come_in_a_header_of_its_own(void)
{
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        TEST_CASE_("%zu: %s", i, tokens[i].headers);
        api_config = (struct api_config){.execute_token = "right", .approver_token = "also"};
        open_ready();
        drop_str char *expected = xasprintf("HTTP/1.1 %s ", tokens[i].answer);
        call_with("GET /v1/sessions", tokens[i].headers, "");
        check_head(expected);
        drop_str char *mcp = xasprintf("HTTP/1.1 %s ", strcmp(tokens[i].answer, "200") == 0
                                                           ? "406" /* it is let in */
                                                           : tokens[i].answer);
        call_with("POST /mcp", tokens[i].headers, "{}");
        check_head(mcp);
        close_api();
    }
    api_config = (struct api_config){0};
}

TEST_LIST = {
    {"every_answer_names_its_instance", every_answer_names_its_instance},
    {"sessions_executions_and_health_name_it", sessions_executions_and_health_name_it},
    {"a_request_for_another_instance_is_told_whose_it_is",
     a_request_for_another_instance_is_told_whose_it_is},
    {"a_header_that_is_no_name_is_refused", a_header_that_is_no_name_is_refused},
    {"a_session_s_id_may_name_its_instance", a_session_s_id_may_name_its_instance},
    {"who_may_not_is_not_told_whose_a_session_is", who_may_not_is_not_told_whose_a_session_is},
    {"a_token_may_come_in_a_header_of_its_own", a_token_may_come_in_a_header_of_its_own},
    {NULL, NULL},
};
