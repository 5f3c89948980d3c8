/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/front/apitest.h"

#define EXECUTIONS "/v1/sessions/default/executions"

static void the_server_is_ready_once_a_kernel_has_come_up_until_it_stops(void)
{
    open_api();
    call("GET /livez", "");
    check_head("HTTP/1.1 200 ");
    call("GET /readyz", "");
    check_head("HTTP/1.1 503 ");
    call("GET /startupz", "");
    check_head("HTTP/1.1 503 ");
    fake_kernel_ready();
    turn();
    call("GET /startupz", "");
    check_head("HTTP/1.1 200 ");
    call("GET /readyz", "");
    check_head("HTTP/1.1 200 ");
    api_stop(api);
    call("GET /readyz", "");
    check_head("HTTP/1.1 503 ");
    check_has("\"status\":\"stopping\"");
    call("GET /livez", "");
    check_head("HTTP/1.1 200 ");
    close_api();
}

static void a_cell_is_answered_with_its_result(void)
{
    open_ready();
    int fd = send_with("POST " EXECUTIONS, "", "{\"code\":\"6*7\"}");
    TEST_CHECK(strcmp(fake.code, "6*7") == 0);
    fake_kernel_stream("out", true);
    fake_kernel_message(JUPYTER_STREAM, "{\"name\":\"stderr\",\"text\":\"warned\"}");
    fake_kernel_message(JUPYTER_DISPLAY_DATA, "{\"data\":{\"text/html\":\"<b>\"},\"metadata\":{}}");
    fake_kernel_message(JUPYTER_EXECUTE_RESULT,
                        "{\"data\":{\"text/plain\":\"42\"},\"execution_count\":1}");
    fake_kernel_done(OK_REPLY);
    finish(fd);
    check_head("HTTP/1.1 200 ");
    check_has("\"status\":\"ok\"");
    check_has("\"stdout\":\"out\"");
    check_has("\"stderr\":\"warned\"");
    check_has(
        "\"outputs\":[{\"type\":\"display\",\"data\":{\"text/html\":\"<b>\"},\"metadata\":{}},"
        "{\"type\":\"result\",\"data\":{\"text/plain\":\"42\"},\"execution_count\":1}]");
    check_has("\"text\":\"outwarned");
    drop_str char *line = xasprintf("GET %s", header_of("Location"));
    call(line, "");
    check_head("HTTP/1.1 200 ");
    check_has("\"stdout\":\"out\"");
    call("GET " EXECUTIONS, "");
    check_has("\"status\":\"ok\"");
    close_api();
}

static void a_failed_cell_says_why(void)
{
    open_ready();
    int fd = send_with("POST " EXECUTIONS, "", "{\"code\":\"1/0\"}");
    fake_kernel_error("ZeroDivisionError", "division by zero");
    fake_kernel_done("{\"status\":\"error\"}");
    finish(fd);
    check_head("HTTP/1.1 200 ");
    check_has("\"status\":\"error\"");
    check_has("\"error\":{\"ename\":\"ZeroDivisionError\",\"evalue\":\"division by zero\"");
    close_api();
}

/* Soft: the interrupt was enough. Hard: the kernel had to go. */
static void a_timeout_is_soft_or_hard(void)
{
    open_ready();
    int fd = send_with("POST " EXECUTIONS, "", "{\"code\":\"x\",\"timeout_ms\":1000}");
    fake_kernel_input();
    pass(1000);
    TEST_CHECK(fake.interrupts == 1);
    fake_kernel_done("{\"status\":\"error\",\"ename\":\"KeyboardInterrupt\",\"evalue\":\"\"}");
    finish(fd);
    check_has("\"status\":\"timeout\"");
    check_has("\"timeout\":\"soft\"");
    fd = send_with("POST " EXECUTIONS, "", "{\"code\":\"x\",\"timeout_ms\":1000}");
    fake_kernel_input();
    pass(1000);
    pass(5000);
    finish(fd);
    check_has("\"timeout\":\"hard\"");
    check_has("\"kernel_replaced\":true");
    close_api();
}

static void what_is_wrong_with_a_request_is_named(void)
{
    static const struct {
        const char *line, *body, *head, *text;
    } cases[] = {
        {"POST " EXECUTIONS, "{}", "HTTP/1.1 400 ", "code: a string is needed"},
        {"POST " EXECUTIONS, "[1]", "HTTP/1.1 400 ", "a JSON object is needed"},
        {"POST " EXECUTIONS, "{", "HTTP/1.1 400 ", "the body: "},
        {"POST " EXECUTIONS, "{\"code\":\"\",\"cod\":1}", "HTTP/1.1 400 ", "cod: there is no such"},
        {"POST " EXECUTIONS, "{\"code\":\"\",\"timeout_ms\":0}", "HTTP/1.1 400 ", "timeout_ms: "},
        {"POST " EXECUTIONS, "{\"code\":\"\",\"timeout_ms\":1.5}", "HTTP/1.1 400 ", "timeout_ms: "},
        {"POST " EXECUTIONS, "{\"code\":\"\",\"wait\":1}", "HTTP/1.1 400 ", "wait: true or false"},
        {"POST " EXECUTIONS, "{\"code\":\"\",\"on_disconnect\":\"x\"}", "HTTP/1.1 400 ",
         "on_disconnect: cancel or detach"},
        {"POST /v1/sessions/x/executions", "{\"code\":\"\"}", "HTTP/1.1 404 ", "no session x"},
        {"GET " EXECUTIONS "/0", "", "HTTP/1.1 404 ", "no execution 0"},
        {"POST /v1/sessions", "{\"id\":\"a/b\"}", "HTTP/1.1 400 ", "id: 1 to 64 letters"},
        {"POST /v1/sessions", "{\"id\":\"default\"}", "HTTP/1.1 409 ", "already"},
        {"POST /v1/sessions", "{\"cwd\":\"/\"}", "HTTP/1.1 422 ", "not in the workspace"},
        {"POST /v1/sessions", "{\"cwd\":\"no/such\"}", "HTTP/1.1 422 ", "cwd: "},
        {"POST /v1/sessions", "{\"env\":{\"A\":1}}", "HTTP/1.1 400 ", "env.A: "},
        {"POST /v1/sessions", "{\"env\":{\"A=\":\"\"}}", "HTTP/1.1 400 ", "env.A=: "},
        {"POST /v1/sessions", "{\"idle_timeout_ms\":-1}", "HTTP/1.1 400 ", "idle_timeout_ms: "},
        {"DELETE /v1/sessions/default", "", "HTTP/1.1 403 ", "cannot be ended"},
        {"DELETE /v1/sessions/x", "", "HTTP/1.1 404 ", "no session x"},
        {"GET /v1/sessions/default/events?after=x", "", "HTTP/1.1 400 ", "the number of an event"},
    };
    open_ready();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE(cases[i].text);
        call(cases[i].line, cases[i].body);
        check_head(cases[i].head);
        check_has("application/problem+json");
        check_has(cases[i].text);
    }
    TEST_CHECK(sessions_count(sessions) == 1);
    close_api();
}

static void sessions_are_made_listed_and_ended(void)
{
    open_ready();
    call("POST /v1/sessions", "{\"id\":\"a\",\"env\":{\"X\":\"1\"},\"cwd\":\"" API_WORKSPACE "\"}");
    check_head("HTTP/1.1 201 ");
    TEST_CHECK(strcmp(header_of("Location"), "/v1/sessions/a") == 0);
    TEST_CHECK(strcmp(fake.owner, "a") == 0);
    check_has("\"state\":\"starting\"");
    fake_kernel_ready(); /* it is given its variables before anything else */
    turn();
    TEST_CHECK(strstr(fake.code, "{\"X\":\"1\"}") != NULL);
    call("GET /v1/sessions/a", "");
    check_has("\"state\":\"starting\"");
    fake_kernel_done(OK_REPLY);
    turn();
    call("GET /v1/sessions/a", "");
    check_has("\"state\":\"idle\"");
    call("POST /v1/sessions", "");
    check_head("HTTP/1.1 201 ");
    call("POST /v1/sessions", "");
    check_head("HTTP/1.1 429 ");
    check_has("there are 3 sessions, which is the limit (--max-sessions)");
    call("DELETE /v1/sessions/a", "");
    check_head("HTTP/1.1 204 ");
    call("GET /v1/sessions/a", "");
    check_head("HTTP/1.1 404 ");
    call("GET /v1/sessions", "");
    check_has("\"id\":\"default\"");
    check_has_not("\"id\":\"a\"");
    close_api();
}

static void a_session_ends_when_nobody_uses_it(void)
{
    open_ready();
    call("POST /v1/sessions", "{\"id\":\"a\",\"idle_timeout_ms\":1000}");
    fake_kernel_ready();
    int fd = send_with("POST /v1/sessions/a/executions", "", "{\"code\":\"x\"}");
    pass(3000); /* it runs */
    fake_kernel_done(OK_REPLY);
    finish(fd);
    check_head("HTTP/1.1 200 ");
    pass(999);
    call("GET /v1/sessions/a", "");
    check_head("HTTP/1.1 200 ");
    pass(999);
    TEST_CHECK(sessions_count(sessions) == 2);
    pass(1);
    turn();
    TEST_CHECK(sessions_count(sessions) == 1);
    close_api();
}

static void the_end_of_a_session_is_the_end_of_its_cells(void)
{
    open_ready();
    call("POST /v1/sessions", "{\"id\":\"a\"}");
    fake_kernel_ready();
    int fd = send_with("POST /v1/sessions/a/executions", "", "{\"code\":\"x\"}");
    call("DELETE /v1/sessions/a", "");
    finish(fd);
    check_head("HTTP/1.1 200 ");
    check_has("\"status\":\"stopped\"");
    close_api();
}

static void a_retried_request_gets_the_first_ones_result(void)
{
    open_ready();
    int fd = send_with("POST " EXECUTIONS, "Idempotency-Key: k\r\n", "{\"code\":\"x\"}");
    (void)fd_close(fd); /* the connection is lost: the cell goes on */
    turn();
    TEST_CHECK(fake.interrupts == 0);
    fd = send_with("POST " EXECUTIONS, "Idempotency-Key: k\r\n", "{\"code\":\"x\"}");
    fake_kernel_stream("once", true);
    fake_kernel_done(OK_REPLY);
    finish(fd);
    check_has("\"stdout\":\"once\"");
    TEST_CHECK(strcmp(header_of("Idempotency-Replayed"), "true") == 0);
    call_with("POST " EXECUTIONS, "Idempotency-Key: k\r\n", "{\"code\":\"x\"}");
    check_has("\"stdout\":\"once\"");
    call_with("POST " EXECUTIONS, "Idempotency-Key: k\r\n", "{\"code\":\"y\"}");
    check_head("HTTP/1.1 422 ");
    close_api();
}

/* The connection is lost, and the result made room for another one before the client is back. */
static void a_retried_request_does_not_run_again_when_its_result_has_gone(void)
{
    static char large[9 << 20];
    int n = snprintf(large, sizeof large, "{\"data\":{\"text/plain\":\"");
    memset(large + n, 'x', sizeof large - (size_t)n);
    memcpy(large + sizeof large - 4, "\"}}", 4);
    open_ready();
    call_with("POST " EXECUTIONS, "Idempotency-Key: k\r\n", "{\"code\":\"a\",\"wait\":false}");
    check_head("HTTP/1.1 202 ");
    drop_str char *id = xstrdup(strrchr(header_of("Location"), '/') + 1);
    fake_kernel_message(JUPYTER_DISPLAY_DATA, large);
    fake_kernel_done(OK_REPLY);
    int fd = send_with("POST " EXECUTIONS, "", "{\"code\":\"b\"}");
    fake_kernel_done(OK_REPLY);
    finish(fd);
    drop_str char *line = xasprintf("GET " EXECUTIONS "/%s", id);
    call(line, "");
    check_head("HTTP/1.1 404 ");
    call_with("POST " EXECUTIONS, "Idempotency-Key: k\r\n", "{\"code\":\"a\",\"wait\":false}");
    check_head("HTTP/1.1 410 Gone\r\n");
    check_has("Content-Type: application/problem+json\r\n");
    drop_str char *named = xasprintf("execution %s, which has ended", id);
    check_has(named);
    TEST_CHECK(strcmp(fake.code, "b") == 0);
    call_with("POST " EXECUTIONS, "Idempotency-Key: k\r\n", "{\"code\":\"c\",\"wait\":false}");
    check_head("HTTP/1.1 422 ");
    TEST_CHECK(strcmp(fake.code, "b") == 0);
    close_api();
}

/* Whether the key is known: of an execution that is not kept any more. */
static bool is_known(const char *key)
{
    drop_str char *more = xasprintf("Idempotency-Key: %s\r\n", key);
    call_with("POST " EXECUTIONS, more, "{\"code\":\"x\",\"wait\":false}");
    if (strncmp(buf_text(&got), "HTTP/1.1 202 ", 13) == 0)
        fake_kernel_done(OK_REPLY);
    return strncmp(buf_text(&got), "HTTP/1.1 410 ", 13) == 0;
}

static void the_newest_keys_of_results_that_have_gone_are_kept(void)
{
    enum { KEPT = 256, KEYS = 4096 }; /* DESK_KEPT, DESK_KEYS_KEPT */
    static const char form[] = "POST " EXECUTIONS " HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Type: application/json\r\nContent-Length: 25\r\n"
                               "Idempotency-Key: k%d\r\n\r\n{\"code\":\"x\",\"wait\":false}";
    open_ready();
    int fd = dial();
    for (int i = 0; i < KEPT + KEYS + 1; i++) {
        drop_str char *text = xasprintf(form, i);
        (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
        fake.code[0] = '\0';
        for (int turns = 0; turns < 10000 && !fake.code[0]; turns++)
            loop_turn(loop, 1);
        fake_kernel_done(OK_REPLY);
        if (i % 100 == 99)
            (void)hear(fd);
    }
    (void)fd_close(fd);
    turn();
    TEST_CHECK(is_known("k1") && is_known("k4000"));
    TEST_CHECK(!is_known("k0"));
    close_api();
}

static void a_client_that_leaves_cancels_its_cell_unless_it_says_otherwise(void)
{
    open_ready();
    int fd = send_with("POST " EXECUTIONS, "", "{\"code\":\"x\"}");
    fake_kernel_input();
    (void)fd_close(fd);
    turn();
    TEST_CHECK(fake.interrupts == 1);
    fake_kernel_done("{\"status\":\"error\"}");
    turn();
    fd = send_with("POST " EXECUTIONS, "", "{\"code\":\"x\",\"on_disconnect\":\"detach\"}");
    fake_kernel_input();
    (void)fd_close(fd);
    turn();
    TEST_CHECK(fake.interrupts == 1);
    fake_kernel_done(OK_REPLY);
    call("POST " EXECUTIONS, "{\"code\":\"y\",\"wait\":false}");
    check_head("HTTP/1.1 202 ");
    check_has("\"status\":\"queued\"");
    TEST_CHECK(strcmp(fake.code, "y") == 0 && fake.interrupts == 1);
    drop_str char *line = xasprintf("DELETE %s", header_of("Location"));
    call(line, "");
    check_head("HTTP/1.1 200 ");
    fake_kernel_input(); /* an early interrupt is repeated */
    TEST_CHECK(fake.interrupts >= 2);
    close_api();
}

static void ignore_result(void *ctx, const struct cell_result *result)
{
    (void)ctx, (void)result;
}

static void a_full_queue_refuses_with_its_limit_and_takes_again(void)
{
    static const char line[] = "POST " EXECUTIONS;
    static const struct cell_events events = {.finished = ignore_result};
    struct cell_request request = {.code = {"x", 1}, .timeout_ms = 1000};
    struct sessions_view view;
    struct cell *cell = NULL;
    open_ready();
    TEST_ASSERT(sessions_find(sessions, "default", &view));
    for (int i = 0; i < SESSION_QUEUE_MAX; i++)
        TEST_ASSERT(session_execute(view.session, &request, &events, NULL, &cell, NULL) == 0);
    turn();
    call(line, "{\"code\":\"x\",\"wait\":false}");
    check_head("HTTP/1.1 429 ");
    check_has("Content-Type: application/problem+json\r\n");
    check_has("\"detail\":\"1000 cells are waiting already\"");
    fake_kernel_done(OK_REPLY);
    turn();
    call(line, "{\"code\":\"x\",\"wait\":false}");
    check_head("HTTP/1.1 202 ");
    close_api();
}

static void a_reset_waits_for_the_new_kernel(void)
{
    open_ready();
    int fd = send_with("POST /v1/sessions/default/reset", "", "");
    TEST_CHECK(fake.starts == 2);
    (void)hear(fd);
    TEST_CHECK(got.len == 0);
    fake_kernel_ready();
    finish(fd);
    check_head("HTTP/1.1 204 ");
    close_api();
}

static unsigned long long metric(const char *name)
{
    drop_str char *line = xasprintf("\n%s ", name);
    call("GET /metrics", "");
    const char *at = strstr(buf_text(&got), line);
    TEST_CHECK_(at != NULL, "%s is missing", name);
    return at ? strtoull(at + strlen(line), NULL, 10) : 0;
}

static void the_metrics_have_traffic_the_running_cells_and_the_process(void)
{
    open_ready();
    unsigned long long received = metric("ipybox_http_received_bytes_total");
    unsigned long long sent = metric("ipybox_http_sent_bytes_total");
    TEST_CHECK(metric("ipybox_cells_running") == 0);
    int fd = send_with("POST /v1/sessions/default/executions", "", "{\"code\":\"12345\"}");
    TEST_CHECK(metric("ipybox_cells_running") == 1 && metric("ipybox_cells_waiting") == 1);
    fake_kernel_done(OK_REPLY);
    finish(fd);
    TEST_CHECK(metric("ipybox_http_received_bytes_total") == received + 16);
    TEST_CHECK(metric("ipybox_http_sent_bytes_total") > sent + 1000);
    TEST_CHECK(metric("process_open_fds") > 3 && metric("process_resident_memory_bytes") > 100000);
    check_has("process_cpu_seconds_total ");
    close_api();
}

static void the_metrics_count(void)
{
    open_ready();
    int fd = send_with("POST " EXECUTIONS, "", "{\"code\":\"x\",\"timeout_ms\":100000}");
    pass(2000);
    fake_kernel_stream("12345", true);
    fake_kernel_done(OK_REPLY);
    finish(fd);
    fd = send_with("POST " EXECUTIONS, "", "{\"code\":\"x\"}");
    fake_kernel_done("{\"status\":\"error\"}");
    finish(fd);
    fd = send_with("POST " EXECUTIONS, "", "{\"code\":\"x\"}");
    for (int i = 0; i < 3; i++)
        metrics_external_cell(&metrics, CELL_OK, 2000);
    call("GET /metrics", "");
    check_head("HTTP/1.1 200 ");
    check_has("\nipybox_cells_total{status=\"ok\"} 1\n");
    check_has("\nipybox_cells_total{status=\"error\"} 1\n");
    check_has("\nipybox_cell_duration_seconds_bucket{le=\"1\"} 1\n");
    check_has("\nipybox_cell_duration_seconds_bucket{le=\"5\"} 2\n");
    check_has("\nipybox_cell_duration_seconds_sum 2.000\n");
    check_has("\nipybox_cell_duration_seconds_count 2\n");
    check_has("\nipybox_gateway_cells_total{status=\"ok\"} 3\n");
    check_has("\nipybox_gateway_cells_total{status=\"error\"} 0\n");
    check_has("\nipybox_gateway_cells_total{status=\"lost\"} 0\n");
    check_has("\nipybox_gateway_cell_duration_seconds_bucket{le=\"1\"} 0\n");
    check_has("\nipybox_gateway_cell_duration_seconds_bucket{le=\"5\"} 3\n");
    check_has("\nipybox_gateway_cell_duration_seconds_sum 6.000\n");
    check_has("\nipybox_gateway_cell_duration_seconds_count 3\n");
    check_has("\nipybox_output_bytes_total 5\n");
    check_has("\nipybox_kernels_started_total 1\n");
    check_has("\nipybox_kernels 1\n");
    check_has("\nipybox_cells_waiting 1\n");
    check_has("\nipybox_http_requests_total 4\n");
    check_has("\nprocess_resident_memory_bytes ");
    check_has_not("process_resident_memory_bytes 0\n");
    check_has_not("default");
    fake_kernel_dies("exited", "");
    finish(fd);
    call("GET /metrics", "");
    check_has("\nipybox_cells_total{status=\"lost\"} 1\n");
    check_has("\nipybox_kernel_restarts_total{reason=\"lost\"} 1\n");
    close_api();
}

static const struct {
    const char *admin, *execute, *approver; /* of the server */
    const char *token;                      /* of the request; NULL: none */
    const char *livez, *sessions;           /* statuses */
} tokens[] = {
    {NULL, NULL, NULL, NULL, "200", "200"}, {NULL, NULL, "p", "p", "200", "200"},
    {"a", NULL, NULL, NULL, "200", "401"},  {"a", NULL, NULL, "x", "200", "401"},
    {"a", "e", "p", "a", "200", "200"},     {"a", "e", "p", "e", "200", "200"},
    {"a", "e", "p", "p", "200", "403"},     {NULL, "e", NULL, NULL, "200", "401"},
    {NULL, "e", NULL, "e", "200", "200"},   {"a", NULL, "p", "p", "200", "403"},
};

static void a_token_is_asked_for_where_there_is_one(void)
{
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        TEST_CASE_("%zu", i);
        api_config = (struct api_config){.admin_token = tokens[i].admin,
                                         .execute_token = tokens[i].execute,
                                         .approver_token = tokens[i].approver};
        open_ready();
        drop_str char *more = tokens[i].token
                                  ? xasprintf("Authorization: Bearer %s\r\n", tokens[i].token)
                                  : xstrdup("");
        drop_str char *livez = xasprintf("HTTP/1.1 %s ", tokens[i].livez);
        drop_str char *all = xasprintf("HTTP/1.1 %s ", tokens[i].sessions);
        call_with("GET /livez", more, "");
        check_head(livez);
        call_with("GET /v1/sessions", more, "");
        check_head(all);
        close_api();
    }
    api_config = (struct api_config){0};
}

static void the_console_may_ask_where_a_token_is_needed(void)
{
#define FROM_CONSOLE "Origin: http://localhost\r\nAuthorization: Bearer a\r\n"
    api_config = (struct api_config){.admin_token = "a"};
    api_host = "0.0.0.0";
    open_ready();
    call_with("GET /v1/sessions", FROM_CONSOLE, "");
    check_head("HTTP/1.1 200 ");
    call_with("GET /v1/sessions", "Origin: http://evil.example\r\nAuthorization: Bearer a\r\n", "");
    check_head("HTTP/1.1 403 ");
    close_api();
    api_config = (struct api_config){0};
    open_ready(); /* everybody may execute, and every Host is right: no page may */
    call_with("GET /v1/sessions", FROM_CONSOLE, "");
    check_head("HTTP/1.1 403 ");
    close_api();
    api_host = "localhost";
}

TEST_LIST = {
    {"the_console_may_ask_where_a_token_is_needed", the_console_may_ask_where_a_token_is_needed},
    {"the_metrics_have_traffic_the_running_cells_and_the_process",
     the_metrics_have_traffic_the_running_cells_and_the_process},
    {"the_metrics_count", the_metrics_count},
    {"a_token_is_asked_for_where_there_is_one", a_token_is_asked_for_where_there_is_one},
    {"the_server_is_ready_once_a_kernel_has_come_up_until_it_stops",
     the_server_is_ready_once_a_kernel_has_come_up_until_it_stops},
    {"a_cell_is_answered_with_its_result", a_cell_is_answered_with_its_result},
    {"a_failed_cell_says_why", a_failed_cell_says_why},
    {"a_timeout_is_soft_or_hard", a_timeout_is_soft_or_hard},
    {"what_is_wrong_with_a_request_is_named", what_is_wrong_with_a_request_is_named},
    {"sessions_are_made_listed_and_ended", sessions_are_made_listed_and_ended},
    {"a_session_ends_when_nobody_uses_it", a_session_ends_when_nobody_uses_it},
    {"the_end_of_a_session_is_the_end_of_its_cells", the_end_of_a_session_is_the_end_of_its_cells},
    {"a_retried_request_gets_the_first_ones_result", a_retried_request_gets_the_first_ones_result},
    {"a_retried_request_does_not_run_again_when_its_result_has_gone",
     a_retried_request_does_not_run_again_when_its_result_has_gone},
    {"the_newest_keys_of_results_that_have_gone_are_kept",
     the_newest_keys_of_results_that_have_gone_are_kept},
    {"a_client_that_leaves_cancels_its_cell_unless_it_says_otherwise",
     a_client_that_leaves_cancels_its_cell_unless_it_says_otherwise},
    {"a_full_queue_refuses_with_its_limit_and_takes_again",
     a_full_queue_refuses_with_its_limit_and_takes_again},
    {"a_reset_waits_for_the_new_kernel", a_reset_waits_for_the_new_kernel},
    {NULL, NULL},
};
