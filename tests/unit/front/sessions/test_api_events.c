/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/front/apitest.h"

#define EXECUTIONS "/v1/sessions/default/executions"
#define SSE "Accept: text/event-stream\r\n"

static void check_order(const char *const *texts)
{
    const char *at = buf_text(&got);
    for (; *texts; texts++) {
        at = strstr(at, *texts);
        TEST_CHECK_(at != NULL, "missing or out of order: %s", *texts);
        TEST_MSG("%s", buf_text(&got));
        if (!at)
            return;
    }
}

static void a_cell_is_streamed_as_it_runs(void)
{
    open_ready();
    int fd = send_with("POST " EXECUTIONS, SSE, "{\"code\":\"x\"}");
    (void)hear(fd);
    check_head("HTTP/1.1 200 ");
    check_has("Content-Type: text/event-stream\r\n");
    check_has("event: execution\ndata: {\"id\":\"");
    check_has("id: 2\nevent: begin\n");
    fake_kernel_stream("one", true);
    (void)hear(fd);
    check_has("id: 3\nevent: stdout\ndata: {\"cell\":1,");
    check_has("\"text\":\"one\"}\n\n");
    fake_kernel_message(JUPYTER_STREAM, "{\"name\":\"stderr\",\"text\":\"two\\n\"}");
    fake_kernel_message(JUPYTER_DISPLAY_DATA, "{\"data\":{\"image/png\":\"iVBO\"}}");
    fake_kernel_message(JUPYTER_EXECUTE_RESULT, "{\"data\":{\"text/plain\":\"3\"}}");
    fake_kernel_error("E", "v");
    fake_kernel_done("{\"status\":\"error\"}");
    TEST_CHECK(!hear(fd));
    check_order((const char *const[]){
        "id: 4\nevent: stderr\n", "\"text\":\"two\\n\"}", "id: 5\nevent: display\n",
        "\"data\":{\"image/png\":\"iVBO\"}}", "id: 6\nevent: result\n", "id: 7\nevent: error\n",
        "\"ename\":\"E\"", "id: 8\nevent: end\n", "\"status\":\"error\",\"error\":{", "0\r\n\r\n",
        NULL});
    (void)fd_close(fd);
    close_api();
}

/* Nothing is lost: what an event does not hold is a file all the same. */
static void displays_are_saved_unless_the_client_takes_them_from_the_events(void)
{
    static char large[(2 << 20) + 100];
    open_ready();
    int fd = send_with("POST " EXECUTIONS, SSE, "{\"code\":\"x\",\"save_displays\":false}");
    (void)hear(fd);
    fake_kernel_message(JUPYTER_DISPLAY_DATA, "{\"data\":{\"image/png\":\"iVBORw0KGgo=\"}}");
    fake_kernel_message(JUPYTER_DISPLAY_DATA, "{\"data\":{\"text/html\":\"<b>x</b>\"}}");
    fake_kernel_done(OK_REPLY);
    TEST_CHECK(!hear(fd));
    check_has("\"data\":{\"image/png\":\"iVBORw0KGgo=\"}");
    check_has("\"files\":[]");
    (void)fd_close(fd);
    fd = send_with("POST " EXECUTIONS, "", "{\"code\":\"x\",\"save_displays\":false}");
    int n = snprintf(large, sizeof large, "{\"data\":{\"image/png\":\"iVBORw0KGgoA");
    memset(large + n, 'A', 2 << 20);
    (void)snprintf(large + n + (2 << 20), 5, "\"}}");
    fake_kernel_message(JUPYTER_DISPLAY_DATA, large);
    fake_kernel_message(JUPYTER_DISPLAY_DATA, "{\"data\":{\"image/gif\":\"R0lGODlh\"}}");
    fake_kernel_done(OK_REPLY);
    finish(fd);
    check_has("\"files\":[{\"path\":\"" API_WORKSPACE "/images/");
    check_has("\"mime\":\"image/png\"}]");
    call("POST " EXECUTIONS, "{\"code\":\"x\",\"save_displays\":1}");
    check_has("save_displays: true or false is needed");
    close_api();
}

static void a_client_that_comes_back_gets_what_it_has_missed(void)
{
    open_ready();
    int fd = send_with("POST " EXECUTIONS, SSE, "{\"code\":\"x\",\"on_disconnect\":\"detach\"}");
    (void)hear(fd);
    drop_str char *place = xstrdup(header_of("Location"));
    (void)fd_close(fd);
    fake_kernel_stream("one", true);
    fake_kernel_stream("two", true);
    turn();
    drop_str char *line = xasprintf("GET %s/events", place);
    fd = send_with(line, "Last-Event-ID: 3\r\n", "");
    (void)hear(fd);
    check_has_not("\"one\"");
    check_has("\"two\"");
    fake_kernel_done(OK_REPLY);
    (void)hear(fd);
    check_has("event: end\n");
    (void)fd_close(fd);
    drop_str char *again = xasprintf("GET %s/events", place);
    call(again, ""); /* from its beginning, after its end */
    check_order((const char *const[]){"event: begin\n", "\"one\"", "\"two\"", "event: end\n",
                                      "0\r\n\r\n", NULL});
    drop_str char *last = xasprintf("GET %s/events?after=4", place);
    call(last, "");
    check_has_not("\"two\"");
    check_has("event: end\n");
    call_with(line, "Last-Event-ID: 4\r\n", "");
    check_has("event: end\n");
    call_with(line, "Last-Event-ID: 5\r\n", ""); /* that was the end: an EventSource gives up */
    check_head("HTTP/1.1 204 ");
    drop_str char *after = xasprintf("GET %s/events?after=5", place);
    call(after, "");
    check_has("event: end\n");
    close_api();
}

static void a_cell_that_never_ran_has_an_end(void)
{
    open_ready();
    int first = send_with("POST " EXECUTIONS, "", "{\"code\":\"x\"}");
    int second = send_with("POST " EXECUTIONS, SSE, "{\"code\":\"y\"}");
    (void)hear(second);
    check_has_not("event: begin");
    drop_str char *line = xasprintf("DELETE %s", header_of("Location"));
    call(line, "");
    check_has("\"status\":\"cancelled\"");
    finish(second);
    check_has("event: end\ndata: {\"status\":\"cancelled\"");
    fake_kernel_done(OK_REPLY);
    finish(first);
    close_api();
}

static void a_stream_has_the_events_of_its_own_cell_alone(void)
{
    open_ready();
    int first = send_with("POST " EXECUTIONS, "", "{\"code\":\"x\"}");
    int second = send_with("POST " EXECUTIONS, SSE, "{\"code\":\"y\"}");
    fake_kernel_stream("of x", true);
    fake_kernel_done(OK_REPLY);
    finish(first);
    fake_kernel_stream("of y", true);
    fake_kernel_done(OK_REPLY);
    finish(second);
    check_has("of y");
    check_has_not("of x");
    close_api();
}

static void who_watches_sees_the_code_and_who_sent_it(void)
{
    open_ready();
    int first = send_with("POST " EXECUTIONS, "Ipybox-Client: console\r\n", "{\"code\":\"x = 1\"}");
    fake_kernel_done(OK_REPLY);
    finish(first);
    int second = send_with("POST " EXECUTIONS, "User-Agent: curl/8.14.1 (x86)\r\n",
                           "{\"code\":\"\\u00e9\"}");
    fake_kernel_done(OK_REPLY);
    finish(second);
    int all = send_with("GET /v1/sessions/default/events", "", "");
    (void)hear(all);
    check_has(",\"code\":\"x = 1\",\"client\":\"console\"}");
    check_has(",\"code\":\"\xc3\xa9\",\"client\":\"curl/8.14.1\"}");
    (void)fd_close(all);
    close_api();
}

static void of_long_code_the_beginning_is_shown(void)
{
    open_ready();
    drop_str char *code = xasprintf("%070000d", 0);
    drop_str char *body = xasprintf("{\"code\":\"%s\"}", code);
    int fd = send_with("POST " EXECUTIONS, SSE, body);
    fake_kernel_done(OK_REPLY);
    finish(fd);
    check_has("0000\",\"truncated\":true}");
    close_api();
}

static void a_stream_that_is_left_cancels_its_cell(void)
{
    open_ready();
    int fd = send_with("POST " EXECUTIONS, SSE, "{\"code\":\"x\"}");
    fake_kernel_input();
    (void)fd_close(fd);
    turn();
    fake_kernel_stream("to nobody", true);
    turn();
    TEST_CHECK(fake.interrupts == 1);
    fake_kernel_done(OK_REPLY);
    close_api();
}

static void a_session_is_followed_until_it_ends(void)
{
    open_ready();
    call("POST /v1/sessions", "{\"id\":\"a\"}");
    fake_kernel_ready();
    int fd = send_with("GET /v1/sessions/a/events", "", "");
    (void)hear(fd);
    check_has("id: 1\nevent: kernel\ndata: {\"cell\":0,");
    pass(15000);
    (void)hear(fd);
    check_has(":\n\n"); /* it is still there */
    call("DELETE /v1/sessions/a", "");
    finish(fd);
    check_has("event: closed\ndata: {\"reason\":\"the session has ended\"}");
    check_has("0\r\n\r\n");
    close_api();
}

static int drained;

static void on_drained(void *ctx)
{
    (void)ctx;
    drained++;
}

static void ignore(void *ctx)
{
    (void)ctx;
}

static void streams_end_with_a_last_event_when_the_server_stops(void)
{
    open_ready();
    int all = send_with("GET /v1/sessions/default/events", "", "");
    int one = send_with("POST " EXECUTIONS, SSE, "{\"code\":\"x\"}");
    api_stop(api);
    sessions_stop(sessions, 1000, ignore, NULL);
    call("POST " EXECUTIONS, "{\"code\":\"y\"}");
    check_head("HTTP/1.1 503 ");
    call("POST /v1/sessions", "{}");
    check_head("HTTP/1.1 503 ");
    fake_kernel_stream("goes on", true);
    pass(1000);
    (void)hear(one);
    check_order((const char *const[]){"goes on", "event: end\n", "\"status\":\"stopped\"", NULL});
    api_drain(api, on_drained, NULL);
    pass(10);
    (void)hear(all);
    check_order((const char *const[]){"event: end\n", "event: closed\n",
                                      "{\"reason\":\"the server is stopping\"}", NULL});
    pass(10);
    pass(10);
    TEST_CHECK(drained == 1);
    (void)fd_close(one);
    (void)fd_close(all);
    close_api();
}

static void open_watches_end_when_the_server_stops(void)
{
    open_ready();
    int fd = send_with("GET /v1/watch", "", "");
    drained = 0;
    api_stop(api);
    pass(10);
    TEST_CHECK(!hear(fd)); /* cells that still run may change files */
    check_has("event: ready\n");
    api_drain(api, on_drained, NULL);
    for (int i = 0; i < 3; i++)
        pass(10);
    finish(fd);
    check_has("event: closed\ndata: {\"reason\":\"the server is stopping\"}\n\n");
    check_has("\r\n0\r\n\r\n");
    pass(10);
    TEST_CHECK(drained == 1);
    close_api();
}

/* Who comes back at once after `closed` would keep the server from ending. */
static void no_stream_is_opened_once_they_have_ended(void)
{
    open_ready();
    int cell = send_with("POST " EXECUTIONS, "", "{\"code\":\"x\"}");
    fake_kernel_done(OK_REPLY);
    finish(cell);
    drop_str char *one = xasprintf("GET %s", header_of("Location"));
    drop_str char *its_events = xasprintf("%s/events", one);
    api_stop(api);
    int early = send_with("GET /v1/sessions/default/events", "", "");
    (void)hear(early);
    check_head("HTTP/1.1 200 ");
    drained = 0;
    api_drain(api, on_drained, NULL);
    const char *const lines[] = {"GET /v1/sessions/default/events", one, its_events,
                                 "GET /v1/watch", "GET /v1/watch/x"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        TEST_CASE(lines[i]);
        call_with(lines[i], SSE, "");
        check_head("HTTP/1.1 503 ");
        check_has("Content-Type: application/problem+json\r\n");
        check_has("\"detail\":\"the server is stopping\"");
    }
    call(one, "");
    check_head("HTTP/1.1 200 ");
    ask("GET /v1/sessions/default/events HTTP/1.1\r\n" WS_HEAD "\r\n");
    check_head("HTTP/1.1 503 ");
    finish(early);
    check_has("event: closed\n");
    for (int i = 0; i < 3; i++)
        pass(10);
    TEST_CHECK(drained == 1);
    close_api();
}

static bool ends_with(const struct buf *all, const char *expected)
{
    size_t n = strlen(expected);
    return all->len >= n && memcmp(all->data + all->len - n, expected, n) == 0;
}

/* hear() would wait some turns for each of its many pieces. */
static void read_to_the_end(int fd, struct buf *all)
{
    static char bytes[1 << 20];
    for (int idle = 0; idle < 30000 && !ends_with(all, "\r\n0\r\n\r\n");) {
        ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n == 0)
            break;
        if (n > 0)
            (void)buf_add(all, bytes, (size_t)n);
        idle = n > 0 ? 0 : idle + 1;
        loop_turn(loop, 2);
    }
    (void)fd_close(fd);
    turn();
}

static void check_last(const struct buf *all, const char *expected)
{
    TEST_CHECK(all->len > LONG_EVENT && ends_with(all, expected));
    TEST_MSG("%zu: %.200s", all->len, buf_text(all) + all->len - (all->len < 200 ? all->len : 200));
}

static void a_slow_reader_has_a_last_event_too(void)
{
    drop_buf struct buf ended = BUF_INIT((size_t)64 << 20), stopped = BUF_INIT((size_t)64 << 20);
    open_ready();
    make_session_of_long_events("a");
    int fd = send_with("GET /v1/sessions/a/events", "", "");
    show_long_events("a");
    call("DELETE /v1/sessions/a", "");
    read_to_the_end(fd, &ended);
    check_last(&ended, "event: closed\ndata: {\"reason\":\"the session has ended\"}\n\n\r\n"
                       "0\r\n\r\n");
    make_session_of_long_events("b");
    fd = send_with("GET /v1/sessions/b/events", "", "");
    show_long_events("b");
    fake_kernel_done(OK_REPLY);
    turn();
    api_drain(api, on_drained, NULL);
    read_to_the_end(fd, &stopped);
    check_last(&stopped, "event: closed\ndata: {\"reason\":\"the server is stopping\"}\n\n\r\n"
                         "0\r\n\r\n");
    close_api();
}

static void what_cannot_be_streamed_does_not_run(void)
{
    open_ready();
    call_with("POST " EXECUTIONS "?after=x", SSE, "{\"code\":\"wrong\"}");
    check_head("HTTP/1.1 400 ");
    call_with("POST " EXECUTIONS, SSE "Last-Event-ID: -1\r\n", "{\"code\":\"wrong\"}");
    check_head("HTTP/1.1 400 ");
    TEST_CHECK(strcmp(fake.code, "") == 0);
    call("GET " EXECUTIONS, "");
    check_has("{\"executions\":[]}");
    int fd = send_with("POST " EXECUTIONS "?after=0", SSE, "{\"code\":\"right\"}");
    TEST_CHECK(strcmp(fake.code, "right") == 0);
    fake_kernel_done(OK_REPLY);
    finish(fd);
    check_has("event: end\n");
    close_api();
}

/* What a reader does not take is not held for it: it reads the log, and hears what it missed. */
static void a_slow_reader_is_told_what_it_has_missed(void)
{
    static char large[60000];
    open_ready();
    int fd = send_with("GET /v1/sessions/default/events", "", "");
    int cell = send_with("POST " EXECUTIONS, "", "{\"code\":\"x\"}");
    memset(large, 'x', sizeof large - 1);
    for (int i = 0; i < 400; i++) {
        fake_kernel_stream(large, true);
        loop_turn(loop, 0);
    }
    fake_kernel_stream("last", true);
    buf_clear(&got);
    drop_buf struct buf everything = BUF_INIT((size_t)64 << 20);
    for (int i = 0; i < 500 && !memmem(buf_text(&everything), everything.len, "\"last\"", 6); i++) {
        (void)hear(fd);
        (void)buf_add(&everything, got.data, got.len);
    }
    TEST_CHECK(strstr(buf_text(&everything), "event: gap\ndata: {\"missed\":") != NULL);
    TEST_CHECK(strstr(buf_text(&everything), "\"last\"") != NULL);
    TEST_CHECK(everything.len < (size_t)16 << 20);
    fake_kernel_done(OK_REPLY);
    finish(cell);
    (void)fd_close(fd);
    close_api();
}

static void who_followed_an_earlier_life_is_told_so(void)
{
    open_ready();
    int fd = send_with("GET /v1/sessions/default/events", "Last-Event-ID: 70000000001\r\n", "");
    (void)hear(fd);
    check_order((const char *const[]){"event: reset\ndata: {\"after\":70000000001}\n\n",
                                      "id: 1\nevent: kernel\n", NULL});
    (void)fd_close(fd);
    fd = send_with("GET /v1/sessions/default/events", "Last-Event-ID: 1\r\n", "");
    (void)hear(fd);
    check_has_not("reset");
    (void)fd_close(fd);
    close_api();
}

TEST_LIST = {
    {"displays_are_saved_unless_the_client_takes_them_from_the_events",
     displays_are_saved_unless_the_client_takes_them_from_the_events},
    {"who_followed_an_earlier_life_is_told_so", who_followed_an_earlier_life_is_told_so},
    {"a_cell_is_streamed_as_it_runs", a_cell_is_streamed_as_it_runs},
    {"a_client_that_comes_back_gets_what_it_has_missed",
     a_client_that_comes_back_gets_what_it_has_missed},
    {"a_cell_that_never_ran_has_an_end", a_cell_that_never_ran_has_an_end},
    {"a_stream_has_the_events_of_its_own_cell_alone",
     a_stream_has_the_events_of_its_own_cell_alone},
    {"who_watches_sees_the_code_and_who_sent_it", who_watches_sees_the_code_and_who_sent_it},
    {"of_long_code_the_beginning_is_shown", of_long_code_the_beginning_is_shown},
    {"a_stream_that_is_left_cancels_its_cell", a_stream_that_is_left_cancels_its_cell},
    {"a_session_is_followed_until_it_ends", a_session_is_followed_until_it_ends},
    {"streams_end_with_a_last_event_when_the_server_stops",
     streams_end_with_a_last_event_when_the_server_stops},
    {"open_watches_end_when_the_server_stops", open_watches_end_when_the_server_stops},
    {"no_stream_is_opened_once_they_have_ended", no_stream_is_opened_once_they_have_ended},
    {"a_slow_reader_has_a_last_event_too", a_slow_reader_has_a_last_event_too},
    {"what_cannot_be_streamed_does_not_run", what_cannot_be_streamed_does_not_run},
    {"a_slow_reader_is_told_what_it_has_missed", a_slow_reader_is_told_what_it_has_missed},
    {NULL, NULL},
};
