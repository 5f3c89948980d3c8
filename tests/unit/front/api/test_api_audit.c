/* SPDX-License-Identifier: Apache-2.0
 *
 * What the audit log has of what comes by HTTP: logins, sessions, cells. */
#include "unit/front/apitest.h"

#include "front/http/http_auth.h"
#include "unit/audittest.h"

#define EXECUTIONS "/v1/sessions/default/executions"
#define ADMIN "Authorization: Bearer a\r\n"
#define EXECUTE "Authorization: Bearer e\r\n"
#define BEGIN                                                                                      \
    "start\n"                                                                                      \
    "session_created session=default\n"

static void open_all(void)
{
    open_audit();
    audit_of_sessions = audit;
    api_config =
        (struct api_config){.admin_token = "a", .execute_token = "e", .approver_token = "p"};
    open_ready();
}

static void close_all(void)
{
    close_api();
    close_audit();
    audit_of_sessions = NULL;
    api_config = (struct api_config){0};
}

static void run_cell(const char *reply)
{
    int fd = send_with("POST " EXECUTIONS, EXECUTE, "{\"code\":\"6*7\"}");
    fake_kernel_done(reply);
    finish(fd);
    check_head("HTTP/1.1 200 ");
}

static void logins_are_told_once_an_hour_and_refusals_until_they_are_held_up(void)
{
    open_all();
    call_with("GET /v1/sessions", ADMIN, "");
    call_with("GET /v1/sessions", EXECUTE, "");
    call_with("GET /v1/sessions", ADMIN, "");
    call_with("GET /v1/sessions", "Authorization: Bearer p\r\n", "");
    check_head("HTTP/1.1 403 ");
    check_trail(BEGIN "login door=http address=127.0.0.1 role=admin\n"
                      "login door=http address=127.0.0.1 role=execute\n"
                      "login_refused door=http address=127.0.0.1 role=approve outcome=forbidden\n");
    pass(HTTP_LOGIN_MS);
    call_with("GET /v1/sessions", ADMIN, "");
    read_trail();
    const char *again = strstr(audit_trail, "forbidden\n") + strlen("forbidden\n");
    TEST_CHECK(strcmp(again, "login door=http address=127.0.0.1 role=admin\n") == 0);
    for (int i = 0; i < HTTP_GUARD_FREE + 5; i++) {
        int fd = send_with("GET /v1/sessions", "Authorization: Bearer WRONG\r\n", "");
        if (i >= HTTP_GUARD_FREE)
            pass(HTTP_GUARD_DELAY_MS);
        finish(fd);
    }
    read_trail();
    int refused = 0, held_up = 0;
    for (const char *at = audit_trail; (at = strstr(at, "outcome=")); at++) {
        refused += strncmp(at + 8, "refused\n", 8) == 0;
        held_up += strncmp(at + 8, "held up\n", 8) == 0;
    }
    TEST_CHECK_(refused == HTTP_GUARD_FREE && held_up == 1, "%d and %d", refused, held_up);
    TEST_CHECK(!strstr(audit_trail, "WRONG"));
    close_all();
}

static void sessions_and_cells_are_told(void)
{
    open_all();
    call_with("POST /v1/sessions", EXECUTE, "{\"id\":\"other\"}");
    check_head("HTTP/1.1 201 ");
    fake.current = fake.first;
    run_cell(OK_REPLY);
    run_cell("{\"status\":\"error\",\"ename\":\"E\",\"evalue\":\"v\"}");
    call_with("DELETE /v1/sessions/other", EXECUTE, "");
    check_trail(BEGIN "login door=http address=127.0.0.1 role=execute\n"
                      "session_created session=other\n"
                      "cell cell=1 session=default bytes=3 sha256="
                      "be20d9eabd5e664b327bb5e311f295ae535b18dee2a5f0b764b0e2d7da913cbe\n"
                      "cell_end cell=1 session=default outcome=ok\n"
                      "cell cell=2 session=default bytes=3 sha256="
                      "be20d9eabd5e664b327bb5e311f295ae535b18dee2a5f0b764b0e2d7da913cbe\n"
                      "cell_end cell=2 session=default outcome=error\n"
                      "session_ended session=other outcome=deleted\n");
    close_all();
}

static void records_name_the_request_that_caused_them(void)
{
    open_all();
    int fd = send_with("POST " EXECUTIONS,
                       "X-Request-Id: req-1\r\ntraceparent: "
                       "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n" EXECUTE,
                       "{\"code\":\"6*7\"}");
    call_with("POST /v1/sessions", "X-Request-Id: req-2\r\n" EXECUTE, "{\"id\":\"other\"}");
    fake.current = fake.first;
    fake_kernel_done(OK_REPLY);
    finish(fd);
    call_with("DELETE /v1/sessions/other", "X-Request-Id: req-3\r\n" EXECUTE, "");
    check_trail(BEGIN "login request_id=req-1 door=http address=127.0.0.1 role=execute\n"
                      "cell cell=1 request_id=req-1 trace_id=4bf92f3577b34da6a3ce929d0e0e4736 "
                      "session=default bytes=3 sha256="
                      "be20d9eabd5e664b327bb5e311f295ae535b18dee2a5f0b764b0e2d7da913cbe\n"
                      "session_created request_id=req-2 session=other\n"
                      "cell_end cell=1 request_id=req-1 session=default outcome=ok\n"
                      "session_ended request_id=req-3 session=other outcome=deleted\n");
    close_all();
}

static void the_last_records_are_for_administrators(void)
{
    open_all();
    call_with("GET /v1/audit", EXECUTE, "");
    check_head("HTTP/1.1 403 ");
    call_with("GET /v1/audit", ADMIN, "");
    check_head("HTTP/1.1 200 ");
    check_has("{\"state\":\"written\",\"records\":[{\"seq\":1,");
    check_has("},{\"seq\":2,");
    check_has("\"kind\":\"session_created\"");
    call_with("GET /v1/audit?limit=1", ADMIN, "");
    check_has("{\"state\":\"written\",\"records\":[{\"seq\":4,");
    call_with("GET /v1/audit?limit=501", ADMIN, "");
    check_head("HTTP/1.1 400 ");
    close_all();
    api_config = (struct api_config){.admin_token = "a"};
    open_ready();
    call_with("GET /v1/audit", ADMIN, "");
    check_head("HTTP/1.1 404 ");
    check_has("--audit-log");
    close_api();
    api_config = (struct api_config){0};
}

static void a_cell_that_cannot_be_told_does_not_run(void)
{
    open_all();
    run_cell(OK_REPLY);
    TEST_CHECK(truncate(audit_file, 10) == 0);
    fake.code[0] = '\0';
    int fd = send_with("POST " EXECUTIONS, EXECUTE, "{\"code\":\"6*7\"}");
    turn();
    finish(fd);
    TEST_CHECK(strcmp(fake.code, "") == 0);
    check_has("\"status\":\"refused\"");
    check_has("the audit log was changed from outside");
    close_all();
}

TEST_LIST = {
    {"the last records are for administrators", the_last_records_are_for_administrators},
    {"logins are told once an hour, and refusals until they are held up",
     logins_are_told_once_an_hour_and_refusals_until_they_are_held_up},
    {"sessions and cells are told", sessions_and_cells_are_told},
    {"records name the request that caused them", records_name_the_request_that_caused_them},
    {"a cell that cannot be told does not run", a_cell_that_cannot_be_told_does_not_run},
    {NULL, NULL},
};
