/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/front/httptest.h"

#include "front/http/http.h"

static struct http *http;
static struct ws *ws; /* the one that was opened last */
static struct http_request *held;
static char last[256]; /* message */
static size_t last_n;
static int messages, closed, code, writable, opened;
static bool last_text, hold_it, greet, close_in_message;

static void on_message(void *ctx, bool text, char *data, size_t n)
{
    (void)ctx;
    messages++;
    last_text = text;
    last_n = n;
    (void)snprintf(last, sizeof last, "%s", data);
    if (close_in_message) {
        ws_close(ws, WS_POLICY, "enough");
        ws = NULL;
    }
}

static void on_writable(void *ctx)
{
    (void)ctx;
    writable++;
}

static void on_closed(void *ctx, int why, const char *reason)
{
    (void)ctx;
    (void)snprintf(last, sizeof last, "%s", reason);
    closed++;
    code = why;
    ws = NULL;
}

static const struct ws_events events = {on_message, on_writable, on_closed};

static void upgrade(struct http_request *r)
{
    if (http_upgrade(r, http_header(r, "Sec-WebSocket-Protocol"), &events, NULL, &ws) == 0)
        opened++;
    if (greet)
        TEST_CHECK(ws_send(ws, true, "welcome", 7, NULL) == 0);
}

static void start(void *ctx, struct http_request *r)
{
    (void)ctx;
    held = r;
    if (!hold_it)
        upgrade(r);
}

static void status(void *ctx, struct http_request *r)
{
    (void)ctx;
    http_answer(r, 200, NULL, 0, "ok", 2);
}

static const struct http_route routes[] = {
    {"GET", "/ws", HTTP_WEBSOCKET, 0, NULL, 0, start},
    {"GET", "/status", HTTP_NO_BODY, 0, NULL, 0, status},
};

static struct http_limits limits;

static void open_it(void)
{
    open_loop();
    limits = http_limits_default;
    limits.ws.sockets = 4;
    limits.ws.message_max = 100000;
    limits.ws.backlog_max = 1 << 20;
    struct http_config config = {.loop = loop,
                                 .host = "127.0.0.1",
                                 .limits = &limits,
                                 .routes = routes,
                                 .n_routes = sizeof routes / sizeof *routes};
    TEST_ASSERT(http_open(&config, &http, NULL) == 0);
    port = http_port(http);
}

static void close_it(void)
{
    http = http_close(http);
    close_loop();
}

#define UPGRADE "GET /ws HTTP/1.1\r\n" WS_HEAD "\r\n"

static int connect_ws(void)
{
    int fd = dial();
    say(fd, UPGRADE);
    TEST_CHECK(!hear(fd));
    check_head("HTTP/1.1 101 ");
    check_has("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n");
    return fd;
}

static void check_close_frame(int expected)
{
    const unsigned char *at = (const unsigned char *)buf_text(&got);
    TEST_CHECK(got.len >= 4 && at[0] == 0x88 && (at[2] << 8 | at[3]) == expected);
    TEST_MSG("%d wanted; %zu bytes: %02x %d", expected, got.len, at[0],
             got.len >= 4 ? at[2] << 8 | at[3] : 0);
}

static void messages_go_both_ways(void)
{
    open_it();
    int fd = connect_ws();
    say_frame(fd, 0x81, "h\303\274", 3);
    TEST_CHECK(messages == 1 && last_text && last_n == 3 && strcmp(last, "h\303\274") == 0);
    say_frame(fd, 0x82, "\0\1", 2);
    TEST_CHECK(messages == 2 && !last_text && last_n == 2);
    say_frame(fd, 0x01, "in ", 3);
    say_frame(fd, 0x89, "ping", 4);
    say_frame(fd, 0x80, "two", 3);
    TEST_CHECK(messages == 3 && strcmp(last, "in two") == 0);
    TEST_CHECK(!hear(fd));
    TEST_CHECK(got.len == 6 && memcmp(got.data, "\x8a\4ping", 6) == 0);
    say_frame(fd, 0x81, "", 0);
    TEST_CHECK(messages == 4 && last_n == 0);
    TEST_CHECK(ws_send(ws, true, "one", 3, NULL) == 0 && ws_send(ws, false, "2", 1, NULL) == 0);
    TEST_CHECK(!hear(fd));
    TEST_CHECK(got.len == 8 && memcmp(got.data,
                                      "\x81\3one\x82\1"
                                      "2",
                                      8) == 0);
    static char big[90000];
    say_frame(fd, 0x82, big, sizeof big);
    TEST_CHECK(messages == 5 && last_n == sizeof big);
    say_frame(fd, 0x88,
              "\x03\xe8"
              "bye",
              5);
    TEST_CHECK(hear(fd));
    TEST_CHECK(closed == 1 && code == WS_NORMAL && strcmp(last, "bye") == 0);
    (void)fd_close(fd);
    close_it();
}

static void a_used_connection_is_upgraded_and_early_frames_count(void)
{
    open_it();
    greet = true;
    int fd = dial();
    say(fd, "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
    (void)hear(fd);
    check_head("HTTP/1.1 200 ");
    static const char early[] = UPGRADE "\x81\x85\0\0\0\0early\x81\x83\0\0\0\0two";
    say_n(fd, early, sizeof early - 1);
    TEST_CHECK(!hear(fd));
    check_head("HTTP/1.1 101 ");
    check_has("\x81\7welcome");
    TEST_CHECK(messages == 2 && strcmp(last, "two") == 0);
    (void)fd_close(fd);
    turn();
    TEST_CHECK(closed == 1 && code == WS_LOST);
    fd = dial();
    static const char junk[] = UPGRADE "\xff\xff\xff\xff\xff\xff\xff\xff";
    say_n(fd, junk, sizeof junk - 1);
    (void)hear(fd);
    (void)fd_close(fd);
    turn();
    TEST_CHECK(closed == 2);
    close_it();
}

static void early_frames_cannot_hold_up_the_others(void)
{
    static char text[60000];
    static const struct {
        const char *name, *bytes;
        size_t n;
    } cases[] = {
        {"a close frame, and more", "\x88\x82\0\0\0\0\x03\xe8\x81\x81\0\0\0\0a", 15},
        {"no UTF-8, and more", "\x81\x81\0\0\0\0\xff\x81\x81\0\0\0\0a", 14},
        {"half a frame", "\x81\xfe\1\0\0\0\0", 7},
        {"half a length", "\x82\xff\x7f", 3},
        {"the longest frame there is", "\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0x", 15},
        {"an unmasked frame", "\x81\1a\x81\1a", 6},
        {"junk", "\xff\xff\xff\xff\xff\xff\xff\xff", 8},
    };
    open_it();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE(cases[i].name);
        for (int much = 0; much < 2; much++) {
            size_t n = sizeof UPGRADE - 1, more = much ? 20000 : 0;
            memset(text, 'z', sizeof text);
            memcpy(text, UPGRADE, n);
            memcpy(text + n, cases[i].bytes, cases[i].n);
            int fd = dial();
            say_n(fd, text, n + cases[i].n + more);
            (void)hear(fd);
            check_head("HTTP/1.1 101 ");
            (void)fd_close(fd);
            turn();
            TEST_CHECK(closed == opened);
        }
    }
    size_t n = sizeof UPGRADE - 1;
    memcpy(text, UPGRADE, n);
    for (; n < 30000; n += 16) /* pings: all are answered, or the connection ends */
        memcpy(text + n,
               "\x89\x8a\0\0\0\0"
               "0123456789",
               16);
    int fd = dial();
    say_n(fd, text, n);
    (void)hear(fd);
    check_head("HTTP/1.1 101 ");
    const char *pong = memmem(got.data, got.len, "\r\n\r\n", 4);
    TEST_ASSERT(pong != NULL);
    for (pong += 4; pong < got.data + got.len; pong += 12)
        TEST_ASSERT(memcmp(pong, "\x8a\n0123456789", 12) == 0);
    (void)fd_close(fd);
    turn();
    ask("GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
    check_head("HTTP/1.1 200 ");
    close_it();
}

static void the_handshake_may_wait(void)
{
    open_it();
    hold_it = true;
    int fd = dial();
    say(fd, "GET /ws HTTP/1.1\r\n" WS_HEAD "Sec-WebSocket-Protocol: v1\r\n\r\n");
    TEST_CHECK(!hear(fd) && got.len == 0);
    upgrade(held);
    TEST_CHECK(!hear(fd));
    check_has("Sec-WebSocket-Protocol: v1\r\n");
    int lost = dial(); /* the client goes before the 101 can be sent */
    say(lost, UPGRADE);
    upgrade(held);
    (void)fd_close(lost);
    turn();
    TEST_CHECK(opened == 2 && closed == 1);
    (void)fd_close(fd);
    close_it();
}

static void what_is_no_handshake_is_refused(void)
{
    open_it();
    static const char *const wrong[] = {
        "GET /ws HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 99\r\nSec-WebSocket-Key: " WS_KEY "\r\n\r\n",
        "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " WS_KEY "\r\n\r\n",
        "GET /ws HTTP/1.1\r\nSec-WebSocket-Key: " WS_KEY "\r\n" WS_HEAD "\r\n",
        "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        TEST_CASE(wrong[i]);
        ask(wrong[i]);
        check_head("HTTP/1.1 4");
    }
    TEST_CHECK(opened == 0);
    ask("HEAD /ws HTTP/1.1\r\n" WS_HEAD "\r\n");
    check_head("HTTP/1.1 426 ");
    ask("GET /ws HTTP/1.0\r\n" WS_HEAD "\r\n");
    check_has_not("HTTP/1.1 101 ");
    ask("GET /ws HTTP/1.1\r\nOrigin: http://evil.example\r\n" WS_HEAD "\r\n");
    check_head("HTTP/1.1 403 ");
    TEST_CHECK(opened == closed);
    closed = 0;
    int fds[5];
    for (int i = 0; i < 4; i++)
        fds[i] = connect_ws();
    ask(UPGRADE);
    check_head("HTTP/1.1 503 ");
    for (int i = 0; i < 4; i++)
        (void)fd_close(fds[i]);
    turn();
    TEST_CHECK(closed == 4);
    fds[4] = connect_ws();
    (void)fd_close(fds[4]);
    close_it();
}

static void junk_closes_its_own_socket_alone(void)
{
    static char big[100001];
    static const struct {
        const char *name, *bytes;
        size_t n;
        int code;
    } cases[] = {
        {"an opcode that is none", "\x83\x80\0\0\0\0", 6, 1002},
        {"a reserved bit", "\xa1\x80\0\0\0\0", 6, 1002},
        {"a continuation of nothing", "\x80\x80\0\0\0\0", 6, 1002},
        {"not UTF-8", "\x81\x82\0\0\0\0\xff\xff", 8, 1007},
        {"a long ping", "\x89\xfe\1\0\0\0\0\0", 8, 0}, /* 0: it just ends */
    };
    open_it();
    int other = connect_ws();
    struct ws *kept = ws;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE(cases[i].name);
        int fd = connect_ws();
        say_n(fd, cases[i].bytes, cases[i].n);
        bool ended = hear(fd);
        if (cases[i].code)
            check_close_frame(cases[i].code);
        else
            TEST_CHECK(ended);
        (void)fd_close(fd);
        turn();
        TEST_CHECK(closed == (int)i + 1);
    }
    int fd = connect_ws();
    say_frame(fd, 0x82, big, sizeof big);
    (void)hear(fd);
    check_close_frame(WS_TOO_BIG);
    (void)fd_close(fd);
    TEST_CHECK(messages == 0);
    TEST_CHECK(ws_send(kept, true, "x", 1, NULL) == 0);
    TEST_CHECK(!hear(other) && got.len == 3);
    say_frame(other, 0x81, "here", 4);
    TEST_CHECK(messages == 1);
    (void)fd_close(other);
    close_it();
}

static void a_slow_reader_is_not_served_without_limit(void)
{
    static char block[65536];
    open_it();
    int fd = connect_ws();
    size_t sum = 0;
    for (int refused = 0; refused < 5; turn()) {
        if (ws_send(ws, false, block, sizeof block, NULL) == 0)
            sum += sizeof block;
        else
            refused++;
        TEST_ASSERT(sum < (size_t)64 << 20);
    }
    TEST_CHECK(writable == 0 && ws_backlog(ws) <= limits.ws.backlog_max);
    TEST_CHECK(!hear(fd));
    TEST_CHECK(got.len > sum && writable == 1 && ws_backlog(ws) == 0);
    (void)fd_close(fd);
    close_it();
}

static void nothing_that_a_client_sends_grows_without_limit(void)
{
    static char part[30000];
    open_it();
    int other = connect_ws();
    struct ws *kept = ws;
    int fd = connect_ws();
    say_frame(fd, 0x02, part, sizeof part); /* a message in parts that never ends */
    for (int i = 0; i < 4; i++)
        say_frame(fd, 0x00, part, sizeof part);
    TEST_CHECK(closed == 0 || code == WS_TOO_BIG);
    (void)hear(fd);
    check_close_frame(WS_TOO_BIG);
    (void)fd_close(fd);
    turn();
    fd = connect_ws();
    for (int i = 0; i < 20000; i++) { /* pings, and no answer is read */
        if (send(fd, "\x89\x84\0\0\0\0ping", 10, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            turn();
        if (i % 500 == 0)
            loop_turn(loop, 0);
    }
    TEST_CHECK(ws_send(kept, true, "x", 1, NULL) == 0);
    TEST_CHECK(!hear(other) && got.len == 3);
    (void)fd_close(fd);
    turn();
    size_t sent = 0; /* messages that are empty count, too */
    while (sent < (size_t)1 << 20 && ws_send(kept, true, "", 0, NULL) == 0)
        sent++;
    TEST_CHECK(sent > 100 && sent < (size_t)1 << 20);
    TEST_CHECK(messages == 0);
    (void)fd_close(other);
    close_it();
}

static void who_does_not_read_is_not_waited_for(void)
{
    static char block[65536];
    open_it();
    int fd = connect_ws(), turns = 0;
    while (turns++ < 2000 && ws_send(ws, false, block, sizeof block, NULL) == 0)
        loop_turn(loop, 0);
    TEST_ASSERT(ws_backlog(ws) > 0);
    ws_close(ws, WS_NORMAL, "");
    for (int i = 0; i < 20; i++) { /* it is alive, but that does not help */
        say_frame(fd, 0x81, "x", 1);
        pass(limits.ws.ping_ms);
    }
    TEST_CHECK(messages == 0);
    while (!hear(fd) && got.len > 0)
        ;
    TEST_CHECK(hear(fd));
    (void)fd_close(fd);
    close_it();
}

static void the_server_closes_in_order(void)
{
    open_it();
    int fd = connect_ws();
    TEST_CHECK(ws_send(ws, true, "last", 4, NULL) == 0);
    ws_close(ws, WS_POLICY, "why");
    TEST_CHECK(!hear(fd));
    TEST_CHECK(got.len == 13 && memcmp(got.data, "\x81\4last\x88\5\x03\xf0why", 13) == 0);
    say_frame(fd, 0x88, "\x03\xf0", 2);
    TEST_CHECK(hear(fd));
    TEST_CHECK(closed == 0);
    (void)fd_close(fd);
    close_in_message = true;
    fd = connect_ws();
    say_frame(fd, 0x81, "x", 1);
    (void)hear(fd);
    check_has("enough");
    (void)fd_close(fd);
    turn();
    fd = connect_ws();
    http = http_close(http);
    TEST_CHECK(closed == 1 && code == WS_GOING_AWAY);
    (void)fd_close(fd);
    close_it();
}

static void a_silent_client_is_pinged_and_then_let_go(void)
{
    open_it();
    int fd = connect_ws();
    pass(limits.ws.ping_ms);
    TEST_CHECK(!hear(fd));
    TEST_CHECK(got.len == 3 && memcmp(got.data, "\x89\1?", 3) == 0);
    say_frame(fd, 0x8a, "?", 1);
    pass(limits.ws.ping_ms);
    TEST_CHECK(!hear(fd));
    TEST_CHECK(closed == 0);
    pass(limits.ws.ping_ms);
    TEST_CHECK(hear(fd));
    TEST_CHECK(closed == 1 && code == WS_LOST);
    (void)fd_close(fd);
    close_it();
}

#define TEST(name) {#name, name}
TEST_LIST = {
    TEST(messages_go_both_ways),
    TEST(a_used_connection_is_upgraded_and_early_frames_count),
    TEST(early_frames_cannot_hold_up_the_others),
    TEST(the_handshake_may_wait),
    TEST(what_is_no_handshake_is_refused),
    TEST(junk_closes_its_own_socket_alone),
    TEST(a_slow_reader_is_not_served_without_limit),
    TEST(nothing_that_a_client_sends_grows_without_limit),
    TEST(who_does_not_read_is_not_waited_for),
    TEST(the_server_closes_in_order),
    TEST(a_silent_client_is_pinged_and_then_let_go),
    {NULL, NULL},
};
