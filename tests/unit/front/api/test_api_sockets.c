/* SPDX-License-Identifier: Apache-2.0
 *
 * The events of sessions and executions over WebSockets. */
#include "unit/front/apitest.h"

#define EXECUTIONS "/v1/sessions/default/executions"
#define EVENTS "/v1/sessions/default/events"

static struct buf texts = {.cap = (size_t)64 << 20}; /* the messages so far, one a line */
static int close_code;                               /* 0: no close frame came */
static struct buf rest = {.cap = (size_t)64 << 20};  /* bytes of a frame that is not whole */

static size_t frame_at(const unsigned char *p, size_t n, size_t *ret_head)
{
    size_t length = n > 1 ? p[1] & 127U : 0, head = length < 126 ? 2 : length < 127 ? 4 : 10;
    if (n < head)
        return SIZE_MAX;
    if (length > 125) {
        length = 0;
        for (size_t i = 2; i < head; i++)
            length = length << 8 | p[i];
    }
    *ret_head = head;
    return length;
}

static void take_frames(void)
{
    for (;;) {
        const unsigned char *p = (const unsigned char *)buf_text(&rest);
        size_t head = 2, n = frame_at(p, rest.len, &head);
        if (rest.len < 2 || n == SIZE_MAX || rest.len < head + n)
            return;
        if (p[0] == 0x81) {
            (void)buf_add(&texts, p + head, n);
            (void)buf_addc(&texts, '\n');
        }
        if (p[0] == 0x88 && n >= 2)
            close_code = p[head] << 8 | p[head + 1];
        buf_cut_front(&rest, head + n);
    }
}

/* What has come; whether the connection has ended. */
static bool listen_to(int fd)
{
    bool ended = hear(fd);
    (void)buf_add(&rest, got.data, got.len);
    take_frames();
    return ended;
}

static int join_with(const char *path, const char *more)
{
    int fd = dial();
    drop_str char *text = xasprintf("GET %s HTTP/1.1\r\n" WS_HEAD "%s\r\n", path, more);
    say(fd, text);
    (void)hear(fd);
    buf_clear(&texts);
    buf_clear(&rest);
    close_code = 0;
    const char *end = memmem(buf_text(&got), got.len, "\r\n\r\n", 4);
    if (end)
        (void)buf_add(&rest, end + 4, got.len - (size_t)(end + 4 - got.data));
    take_frames();
    return fd;
}

static int join(const char *path)
{
    int fd = join_with(path, "");
    check_head("HTTP/1.1 101 ");
    return fd;
}

static void leave(int fd)
{
    (void)fd_close(fd);
    turn();
}

static void check_text(const char *expected)
{
    TEST_CHECK(strstr(buf_text(&texts), expected) != NULL);
    TEST_MSG("expected: %s\nactual: %.1500s", expected, buf_text(&texts));
}

static void check_no_text(const char *unexpected)
{
    TEST_CHECK(strstr(buf_text(&texts), unexpected) == NULL);
    TEST_MSG("not expected: %s\nactual: %.1500s", unexpected, buf_text(&texts));
}

static void close_all(void)
{
    close_api();
    buf_done(&texts);
    buf_done(&rest);
}

/* Its Location, after it was started and has printed two lines. */
static char *start_cell(int *ret_fd)
{
    *ret_fd = send_with("POST " EXECUTIONS, "Accept: text/event-stream\r\n", "{\"code\":\"x\"}");
    (void)hear(*ret_fd);
    char *place = xstrdup(header_of("Location"));
    fake_kernel_stream("one", true);
    fake_kernel_stream("two", true);
    turn();
    return place;
}

static void an_execution_is_followed_over_a_socket(void)
{
    int cell;
    open_ready();
    drop_str char *place = start_cell(&cell);
    drop_str char *path = xasprintf("%s/events", place);
    int fd = join(path);
    (void)listen_to(fd);
    check_text("{\"event\":\"execution\",\"data\":{\"id\":\"");
    check_text("{\"id\":2,\"event\":\"begin\",\"data\":{\"cell\":1,");
    check_text("{\"id\":3,\"event\":\"stdout\",\"data\":{\"cell\":1,");
    check_text("\"text\":\"two\"}}\n");
    check_no_text("\"kernel\"");
    fake_kernel_error("E", "v");
    fake_kernel_done("{\"status\":\"error\"}");
    (void)listen_to(fd);
    check_text("{\"id\":5,\"event\":\"error\",\"data\":{");
    check_text("{\"id\":6,\"event\":\"end\",\"data\":{\"cell\":1,");
    TEST_CHECK(close_code == 1000);
    leave(fd);
    finish(cell);
    close_all();
}

static void who_comes_back_names_the_last_number(void)
{
    int cell;
    open_ready();
    drop_str char *place = start_cell(&cell);
    drop_str char *path = xasprintf("%s/events?after=3", place);
    int fd = join(path);
    (void)listen_to(fd);
    check_no_text("\"one\"");
    check_text("{\"id\":4,");
    leave(fd);
    fd = join_with(EVENTS, "Last-Event-ID: 3\r\n");
    (void)listen_to(fd);
    check_no_text("\"one\"");
    check_text("{\"id\":4,");
    leave(fd);
    fd = join(EVENTS "?after=0");
    (void)listen_to(fd);
    check_text("{\"id\":1,\"event\":\"kernel\"");
    check_text("\"one\"");
    leave(fd);
    ask("GET " EVENTS "?after=x HTTP/1.1\r\n" WS_HEAD "\r\n");
    check_head("HTTP/1.1 400 ");
    fake_kernel_done(OK_REPLY);
    finish(cell);
    close_all();
}

static void who_listens_alone_may_leave(void)
{
    int cell;
    open_ready();
    drop_str char *place = start_cell(&cell);
    drop_str char *path = xasprintf("%s/events", place);
    leave(join(path));
    TEST_CHECK(fake.interrupts == 0);
    fake_kernel_done(OK_REPLY);
    finish(cell);
    check_has("event: end\n");
    close_all();
}

/* It has an address for what it wants to say; here it is only told. Pings are answered. */
static void what_a_client_says_closes_its_socket(void)
{
    static char large[5000];
    static const struct {
        int first_byte;
        size_t n;
        int code;
    } cases[] = {{0x81, 2, 1008}, {0x82, 2, 1008}, {0x81, 0, 1008}, {0x82, sizeof large, 1009}};
    open_ready();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int fd = join(EVENTS);
        say_frame(fd, 0x89, "?", 1);
        (void)listen_to(fd);
        TEST_CHECK(close_code == 0);
        say_frame(fd, cases[i].first_byte, i < 3 ? "{}" : large, cases[i].n);
        (void)listen_to(fd);
        TEST_CHECK_(close_code == cases[i].code, "%zu: %d", i, close_code);
        leave(fd);
    }
    call("GET " EXECUTIONS, "");
    check_head("HTTP/1.1 200 ");
    close_all();
}

static void a_session_that_ends_says_so_and_closes(void)
{
    open_ready();
    call("POST /v1/sessions", "{\"id\":\"a\"}");
    fake_kernel_ready();
    int fd = join("/v1/sessions/a/events");
    call("DELETE /v1/sessions/a", "");
    (void)listen_to(fd);
    check_text("{\"event\":\"closed\",\"data\":{\"reason\":\"the session has ended\"}}\n");
    TEST_CHECK(close_code == 1000);
    leave(fd);
    ask("GET /v1/sessions/a/events HTTP/1.1\r\n" WS_HEAD "\r\n");
    check_head("HTTP/1.1 404 ");
    close_all();
}

static int drained;

static void on_drained(void *ctx)
{
    (void)ctx;
    drained++;
}

static void a_stopping_server_sends_a_last_event_before_it_is_drained(void)
{
    open_ready();
    int fd = join(EVENTS);
    api_stop(api);
    api_drain(api, on_drained, NULL);
    TEST_CHECK(drained == 0);
    pass(10);
    (void)listen_to(fd);
    check_text("{\"event\":\"closed\",\"data\":{\"reason\":\"the server is stopping\"}}\n");
    TEST_CHECK(close_code == 1001);
    pass(10);
    pass(10);
    TEST_CHECK(drained == 1);
    leave(fd);
    close_all();
}

static void a_slow_reader_has_a_last_event_too(void)
{
    open_ready();
    make_session_of_long_events("a");
    int fd = join("/v1/sessions/a/events");
    show_long_events("a");
    fake_kernel_done(OK_REPLY);
    turn();
    api_drain(api, on_drained, NULL);
    for (int i = 0; i < 10000 && close_code == 0; i++)
        (void)listen_to(fd);
    TEST_CHECK_(close_code == 1001, "%d", close_code);
    TEST_CHECK(texts.len > LONG_EVENT);
    check_text("{\"event\":\"closed\",\"data\":{\"reason\":\"the server is stopping\"}}\n");
    leave(fd);
    close_all();
}

/* Nothing is lost that was taken for it before. */
static void the_server_waits_for_a_slow_reader(void)
{
    static char large[60000];
    open_ready();
    int fd = join(EVENTS);
    int cell = send_with("POST " EXECUTIONS, "", "{\"code\":\"x\"}");
    memset(large, 'x', sizeof large - 1);
    for (int i = 0; i < 400; i++) {
        fake_kernel_stream(large, true);
        loop_turn(loop, 0);
    }
    fake_kernel_done(OK_REPLY);
    finish(cell);
    drained = 0;
    api_drain(api, on_drained, NULL);
    for (int i = 0; i < 10; i++)
        pass(10);
    TEST_CHECK(drained == 0);
    for (int i = 0; i < 500 && close_code == 0; i++)
        (void)listen_to(fd);
    TEST_CHECK_(close_code == 1001, "%d", close_code);
    pass(10);
    TEST_CHECK(drained == 1);
    leave(fd);
    close_all();
}

/* What it does not take is not held for it. */
static void a_slow_reader_costs_little_and_finds_a_gap(void)
{
    static char large[60000];
    open_ready();
    int fd = join(EVENTS);
    int cell = send_with("POST " EXECUTIONS, "", "{\"code\":\"x\"}");
    memset(large, 'x', sizeof large - 1);
    for (int i = 0; i < 400; i++) {
        fake_kernel_stream(large, true);
        loop_turn(loop, 0);
    }
    fake_kernel_stream("last", true);
    for (int i = 0; i < 500 && !strstr(buf_text(&texts), "\"last\""); i++)
        (void)listen_to(fd);
    check_text("{\"event\":\"gap\",\"data\":{\"missed\":");
    check_text("\"last\"");
    TEST_CHECK(texts.len < (size_t)16 << 20);
    fake_kernel_done(OK_REPLY);
    finish(cell);
    leave(fd);
    close_all();
}

static void one_address_serves_both_forms(void)
{
    open_ready();
    int fd = send_with("GET " EVENTS, "", "");
    (void)hear(fd);
    check_has("Content-Type: text/event-stream\r\n");
    leave(fd);
    fd = send_with("GET " EVENTS, "Upgrade: h2c\r\n", ""); /* of no interest here */
    (void)hear(fd);
    check_has("Content-Type: text/event-stream\r\n");
    leave(fd);
    ask("GET " EVENTS " HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 8\r\n\r\n");
    check_head("HTTP/1.1 426 ");
    check_has("Sec-WebSocket-Version: 13\r\n");
    ask("GET " EXECUTIONS " HTTP/1.1\r\n" WS_HEAD "\r\n"); /* no socket is here */
    check_head("HTTP/1.1 200 ");
    close_all();
}

/* --- who may ---------------------------------------------------------------------------------- */

static void check_status(const char *path, const char *more, const char *status)
{
    int fd = join_with(path, more);
    drop_str char *line = xasprintf("HTTP/1.1 %s ", status);
    check_head(line);
    TEST_MSG("%s", more);
    leave(fd);
}

#define PROTOCOL "Sec-WebSocket-Protocol: "
#define OFFER PROTOCOL "ipybox, ipybox.bearer."

static void a_token_comes_in_a_header_or_among_the_subprotocols(void)
{
    api_config.execute_token = "the to>ken?"; /* dGhlIHRvPmtlbj8 in base64url */
    api_config.approver_token = "approve";
    open_ready();
    check_status(EVENTS, "", "401");
    check_status(EVENTS, "Authorization: Bearer the to>ken?\r\n", "101");
    check_has_not("Sec-WebSocket-Protocol");
    check_status(EVENTS, OFFER "dGhlIHRvPmtlbj8\r\n", "101");
    check_has("\r\nSec-WebSocket-Protocol: ipybox\r\n");
    check_has_not("dGhl");
    check_status(EVENTS, PROTOCOL "ipybox.bearer.dGhlIHRvPmtlbj8=\r\n", "101");
    check_has_not("Sec-WebSocket-Protocol");
    check_status(EVENTS, OFFER "d3Jvbmc\r\n", "401");
    check_status(EVENTS, OFFER "\r\n", "401");
    check_status(EVENTS, OFFER "!!!\r\n", "401");
    check_status(EVENTS, OFFER "YXBwcm92ZQ\r\n", "403");
    check_status(EVENTS, OFFER "dGhlIHRvPmtlbj8, ipybox.bearer.d3Jvbmc\r\n", "401");
    check_status(EVENTS, "Authorization: Bearer wrong\r\n" OFFER "dGhlIHRvPmtlbj8\r\n", "401");
    close_all();
}

static void a_token_is_right_nowhere_else(void)
{
    api_config.execute_token = "execute";
    open_ready();
    check_status(EVENTS "?token=execute&access_token=execute", "", "401");
    call_with("GET " EVENTS, OFFER "ZXhlY3V0ZQ\r\n", ""); /* not a handshake */
    check_head("HTTP/1.1 401 ");
    ask("GET " EXECUTIONS " HTTP/1.1\r\n" WS_HEAD OFFER "ZXhlY3V0ZQ\r\n\r\n"); /* no socket's */
    check_head("HTTP/1.1 401 ");
    close_all();
}

static void a_page_from_elsewhere_gets_no_socket(void)
{
    open_ready();
    check_status(EVENTS, "Origin: http://elsewhere.example\r\n", "403");
    check_status(EVENTS, "Origin: http://localhost\r\n", "101");
    ask("GET " EVENTS " HTTP/1.1\r\nHost: rebound.example\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " WS_KEY "\r\n\r\n");
    check_head("HTTP/1.1 421 ");
    close_all();
}

TEST_LIST = {
    {"an_execution_is_followed_over_a_socket", an_execution_is_followed_over_a_socket},
    {"who_comes_back_names_the_last_number", who_comes_back_names_the_last_number},
    {"who_listens_alone_may_leave", who_listens_alone_may_leave},
    {"what_a_client_says_closes_its_socket", what_a_client_says_closes_its_socket},
    {"a_session_that_ends_says_so_and_closes", a_session_that_ends_says_so_and_closes},
    {"a_stopping_server_sends_a_last_event_before_it_is_drained",
     a_stopping_server_sends_a_last_event_before_it_is_drained},
    {"a_slow_reader_has_a_last_event_too", a_slow_reader_has_a_last_event_too},
    {"the_server_waits_for_a_slow_reader", the_server_waits_for_a_slow_reader},
    {"a_slow_reader_costs_little_and_finds_a_gap", a_slow_reader_costs_little_and_finds_a_gap},
    {"one_address_serves_both_forms", one_address_serves_both_forms},
    {"a_token_comes_in_a_header_or_among_the_subprotocols",
     a_token_comes_in_a_header_or_among_the_subprotocols},
    {"a_token_is_right_nowhere_else", a_token_is_right_nowhere_else},
    {"a_page_from_elsewhere_gets_no_socket", a_page_from_elsewhere_gets_no_socket},
    {NULL, NULL},
};
