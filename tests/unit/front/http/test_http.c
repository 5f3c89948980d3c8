/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/front/httptest.h"

#include <fcntl.h>

#include "front/http/http.h"
#include "front/http/http_auth.h"
#include "front/http/http_head.h"

static struct http *http;
static struct http_guard *guard;
static struct http_request *held; /* by the last `start` that did not answer */
static struct buf received = {.cap = (size_t)64 << 20};
static int gone, ended, writable;
static bool pause_it, pause_first;
static size_t memory; /* of the door; 0: the usual */
static char big[32 << 20];

static void on_gone(void *ctx)
{
    (void)ctx;
    gone++;
    held = NULL;
}

static void on_body(void *ctx, const char *bytes, size_t n)
{
    (void)ctx;
    TEST_CHECK(buf_add(&received, bytes, n) == 0);
    if (pause_it)
        http_pause(held);
}

static void on_end(void *ctx)
{
    (void)ctx;
    ended++;
}

static void on_writable(void *ctx)
{
    (void)ctx;
    writable++;
}

static const struct http_events events = {
    .body = on_body, .end = on_end, .writable = on_writable, .gone = on_gone};

static void hold(void *ctx, struct http_request *r)
{
    http_watch(r, &events, ctx);
    held = r;
    if (pause_first)
        http_pause(r);
}

static void answer_much(void *ctx, struct http_request *r)
{
    (void)ctx;
    http_answer(r, 200, NULL, 0, big, sizeof big);
}

static void answer(struct http_request *r, const char *text)
{
    static const struct http_header type = {"Content-Type", "text/plain"};
    http_answer(r, 200, &type, 1, text, strlen(text));
}

static void echo(void *ctx, struct http_request *r)
{
    (void)ctx;
    drop_buf struct buf text = BUF_INIT(1 << 20);
    const char *id = http_param(r, "id"), *rest = http_param(r, "rest"), *q = http_query(r, "q");
    (void)buf_addf(&text, "%s %s id=%s rest=%s q=%s x=%s body=", http_method(r), http_path(r),
                   id ? id : "-", rest ? rest : "-", q ? q : "-",
                   http_header(r, "x-test") ? http_header(r, "x-test") : "-");
    (void)buf_add(&text, buf_text(http_body(r)), http_body(r)->len);
    answer(r, buf_text(&text));
}

static void send_file(void *ctx, struct http_request *r)
{
    (void)ctx;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    http_answer_file(r, 200, NULL, 0, fd, 1, 3);
}

static bool admit(void *ctx, struct http_request *r, const struct http_route *route)
{
    (void)ctx;
    char token[HTTP_TOKEN_MAX + 1];
    if (route->tag == 0 || (http_token(r, token) && strcmp(token, "secret") == 0))
        return true;
    http_guard_refuse(guard, r, "bring a token");
    return false;
}

static const struct http_route routes[] = {
    {"GET", "/echo", HTTP_NO_BODY, 0, NULL, 0, echo},
    {"POST", "/echo", HTTP_COLLECT, 1000, NULL, 0, echo},
    {"POST", "/json", HTTP_COLLECT, 1000, "application/json", 0, echo},
    {"GET", "/s/{id}/one", HTTP_NO_BODY, 0, NULL, 0, echo},
    {"GET", "/s/{id}/files/{rest*}", HTTP_NO_BODY, 0, NULL, 0, echo},
    {"GET", "/hold", HTTP_NO_BODY, 0, NULL, 0, hold},
    {"PUT", "/up", HTTP_RECEIVE, (uint64_t)32 << 20, NULL, 0, hold},
    {"GET", "/file", HTTP_NO_BODY, 0, NULL, 0, send_file},
    {"GET", "/big", HTTP_NO_BODY, 0, NULL, 0, answer_much},
    {"GET", "/secret", HTTP_NO_BODY, 0, NULL, 1, echo},
};

static const char *const origins[] = {"https://good.example", NULL};
static struct http_limits limits;
static bool guarded;

static void open_it(void)
{
    open_loop();
    limits = http_limits_default;
    limits.connections = 8;
    limits.per_address = 6;
    limits.memory = memory;
    guard = http_guard_new(loop);
    struct http_config config = {.loop = loop,
                                 .host = "localhost",
                                 .limits = &limits,
                                 .routes = routes,
                                 .n_routes = sizeof routes / sizeof *routes,
                                 .origins = origins,
                                 .guarded = guarded,
                                 .admit = admit};
    struct err e = ERR_NONE;
    TEST_CHECK(http_open(&config, &http, &e) == 0);
    TEST_MSG("%s", e.msg);
    port = http_port(http);
}

static void close_it(void)
{
    http = http_close(http);
    guard = http_guard_free(guard);
    close_loop();
    buf_done(&received);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define POST(path, length, more)                                                                   \
    "POST " path " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " length "\r\n" more "\r\n"

static void requests_are_answered_on_one_connection(void)
{
    open_it();
    int fd = dial();
    for (int i = 0; i < 3; i++) {
        say(fd, "GET /echo?q=a%20b+c HTTP/1.1\r\nHost: localhost:1\r\nX-TEST: y\r\n\r\n");
        TEST_CHECK(!hear(fd));
        check_head("HTTP/1.1 200 OK\r\n");
        TEST_CHECK(strcmp(body_of(), "GET /echo id=- rest=- q=a b c x=y body=") == 0);
        say(fd, POST("/echo", "5", "") "hello");
        TEST_CHECK(!hear(fd));
        check_has("body=hello");
    }
    say(fd, "HEAD /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
    (void)hear(fd);
    check_head("HTTP/1.1 200 OK\r\n");
    check_has("Content-Length: ");
    TEST_CHECK(strcmp(body_of(), "") == 0);
    (void)fd_close(fd);
    ask(GET("/file"));
    check_has("Content-Length: 3\r\n");
    TEST_CHECK(strcmp(body_of(), "ELF") == 0);
    close_it();
}

static void paths_are_decoded_and_matched_by_segments(void)
{
    open_it();
    ask(GET("/s/a%2Fb%C3%BC/one"));
    check_has("id=a/b\303\274 ");
    ask(GET("/s/x/files/a/b%20c"));
    check_has("id=x rest=a/b c ");
    static const char *const bad[] = {
        GET("/s/%00/one"),
        GET("/s/%0a/one"),
        GET("/s/%zz/one"),
        GET("/s/%4/one"),
        GET("/s/%ff/one"),
        GET("/s/x/files/../y"),
        GET("/s/x/files/%2e%2E/y"),
        GET("/s/./one"),
        GET("http://localhost/echo"),
        "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
    };
    ask(GET("/echo?q=%00"));
    check_head("HTTP/1.1 400 ");
    ask(GET("/echo?x&%00=1"));
    check_head("HTTP/1.1 400 ");
    ask(GET("/echo?a=b&q=%ff"));
    check_head("HTTP/1.1 400 ");
    ask(GET("/echo?q=1&q=2&x"));
    check_has(" q=1 ");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TEST_CASE(bad[i]);
        ask(bad[i]);
        check_head("HTTP/1.1 400 ");
    }
    static const char *const absent[] = {GET("/"), GET("/s//one"), GET("/s/x/files"),
                                         GET("/s/x/files/a%2fb"), GET("/echo/")};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        TEST_CASE(absent[i]);
        ask(absent[i]);
        check_head("HTTP/1.1 404 ");
    }
    close_it();
}

static void errors_are_problem_documents(void)
{
    open_it();
    ask("GET /nothing HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: r-1\r\n\r\n");
    check_head("HTTP/1.1 404 Not Found\r\n");
    check_has("Content-Type: application/problem+json\r\n");
    TEST_CHECK(strcmp(body_of(),
                      "{\"type\":\"about:blank\",\"title\":\"Not Found\",\"status\":404,"
                      "\"detail\":\"there is nothing at this path\",\"request_id\":\"r-1\"}") == 0);
    ask("DELETE /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
    check_head("HTTP/1.1 405 ");
    check_has("Allow: GET, POST\r\n");
    ask(POST("/json", "2", "Content-Type: text/plain\r\n") "{}");
    check_head("HTTP/1.1 415 ");
    ask(POST("/json", "2", "Content-Type: Application/JSON;charset=utf-8\r\n") "{}");
    check_head("HTTP/1.1 200 ");
    drop_buf struct buf long_one = BUF_INIT(1 << 20);
    (void)buf_addf(&long_one, "GET /echo?%013000d HTTP/1.1\r\nHost: localhost\r\n\r\n", 1);
    ask(long_one.data);
    check_head("HTTP/1.1 414 ");
    buf_clear(&long_one);
    (void)buf_adds(&long_one, "GET /echo HTTP/1.1\r\nHost: localhost\r\n");
    for (int i = 0; i < 17; i++)
        (void)buf_addf(&long_one, "X-%d: %01000d\r\n", i, i);
    (void)buf_adds(&long_one, "\r\n");
    ask(long_one.data);
    check_head("HTTP/1.1 431 ");
    close_it();
}

static void a_head_may_have_its_16_kib_in_a_hundred_headers(void)
{
    open_it();
    drop_buf struct buf head = BUF_INIT(1 << 20);
    (void)buf_adds(&head, "GET /echo HTTP/1.1\r\nHost: localhost\r\n");
    for (int i = 0; i < 100; i++)
        (void)buf_addf(&head, "X-%03d: %0150d\r\n", i, i);
    (void)buf_adds(&head, "\r\n");
    ask(head.data);
    check_head("HTTP/1.1 200 ");
    close_it();
}

static void bodies_over_the_limit_are_refused(void)
{
    open_it();
    char body[1200];
    memset(body, 'x', sizeof body);
    int fd = dial();
    say(fd, POST("/echo", "1200", ""));
    say_n(fd, body, sizeof body);
    TEST_CHECK(!hear(fd)); /* a short one is read to its end, and the connection stays */
    check_head("HTTP/1.1 413 ");
    say(fd, "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4b0\r\n");
    say_n(fd, body, sizeof body);
    say(fd, "\r\n0\r\n\r\n");
    TEST_CHECK(!hear(fd));
    check_head("HTTP/1.1 413 ");
    say(fd, POST("/echo", "5000000000", ""));
    TEST_CHECK(hear(fd));
    check_head("HTTP/1.1 413 ");
    (void)fd_close(fd);
    ask(POST("/echo", "1200", "Expect: 100-continue\r\n"));
    check_head("HTTP/1.1 413 ");
    close_it();
}

static void an_answer_may_come_later(void)
{
    open_it();
    int fd = dial();
    say(fd, GET("/hold"));
    TEST_ASSERT(held != NULL);
    TEST_CHECK(!hear(fd) && got.len == 0);
    pass(1000000);
    TEST_CHECK(!hear(fd) && got.len == 0);
    answer(held, "late");
    TEST_CHECK(!hear(fd));
    TEST_CHECK(strcmp(body_of(), "late") == 0);
    say(fd, GET("/echo"));
    (void)hear(fd);
    check_head("HTTP/1.1 200 ");
    TEST_CHECK(gone == 0);
    (void)fd_close(fd);
    close_it();
}

static void a_client_that_leaves_is_told_before_any_byte_was_sent(void)
{
    open_it();
    int fd = dial();
    say(fd, GET("/hold"));
    TEST_ASSERT(held != NULL);
    (void)fd_close(fd);
    turn();
    TEST_CHECK(gone == 1);
    fd = dial();
    say(fd, GET("/hold"));
    TEST_ASSERT(held != NULL);
    struct linger linger = {.l_onoff = 1};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    (void)fd_close(fd);
    turn();
    TEST_CHECK(gone == 2);
    fd = dial();
    say(fd, GET("/hold"));
    http = http_close(http);
    TEST_CHECK(gone == 3);
    (void)fd_close(fd);
    close_it();
}

static void a_stream_is_bounded_and_its_reader_sets_the_pace(void)
{
    static char block[32768];
    open_it();
    int fd = dial();
    say(fd, GET("/hold"));
    TEST_ASSERT(held != NULL);
    http_stream_begin(held, 200, &(struct http_header){"Content-Type", "text/event-stream"}, 1, -1);
    TEST_CHECK(!hear(fd));
    check_has("Transfer-Encoding: chunked\r\n");
    TEST_CHECK(http_stream_write(held, "data: 1\n\n", 9) == 0);
    TEST_CHECK(!hear(fd));
    TEST_CHECK(strcmp(buf_text(&got), "9\r\ndata: 1\n\n\r\n") == 0);
    size_t sum = 0;
    for (int refused = 0; refused < 5; turn()) {
        if (http_stream_write(held, block, sizeof block) == 0)
            sum += sizeof block;
        else
            refused++;
        TEST_ASSERT(sum < (size_t)64 << 20);
    }
    TEST_CHECK(writable == 0);
    TEST_CHECK(!hear(fd) && got.len >= sum);
    TEST_CHECK(writable == 1);
    http_stream_end(held);
    TEST_CHECK(!hear(fd));
    check_has("0\r\n\r\n");
    say(fd, GET("/hold"));
    http_stream_begin(held, 200, NULL, 0, 4);
    TEST_CHECK(http_stream_write(held, "four", 4) == 0);
    http_stream_end(held);
    (void)hear(fd);
    check_has("Content-Length: 4\r\n");
    check_has("\r\n\r\nfour");
    TEST_CHECK(gone == 0);
    (void)fd_close(fd);
    close_it();
}

static void a_stream_may_lose_its_reader_or_be_broken_off(void)
{
    open_it();
    int fd = dial();
    say(fd, GET("/hold"));
    http_stream_begin(held, 200, NULL, 0, -1);
    TEST_CHECK(!hear(fd));
    (void)fd_close(fd);
    turn();
    TEST_CHECK(gone == 1);
    fd = dial();
    say(fd, GET("/hold"));
    http_stream_begin(held, 200, NULL, 0, -1);
    TEST_CHECK(http_stream_write(held, "half", 4) == 0);
    (void)hear(fd);
    http_stream_abort(held);
    TEST_CHECK(hear(fd));
    check_has_not("0\r\n\r\n");
    TEST_CHECK(gone == 1);
    (void)fd_close(fd);
    fd = dial();
    say(fd, "HEAD /hold HTTP/1.1\r\nHost: localhost\r\n\r\n");
    http_stream_begin(held, 200, NULL, 0, 5);
    TEST_CHECK(!hear(fd));
    check_has("Content-Length: 5\r\n");
    TEST_CHECK(gone == 2);
    (void)fd_close(fd);
    close_it();
}

static void an_upload_waits_for_its_handler(void)
{
    static char block[1 << 20];
    open_it();
    int fd = dial();
    pause_it = true;
    say(fd, "PUT /up HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16777216\r\n\r\n");
    TEST_ASSERT(held != NULL);
    size_t sent = 0;
    for (int idle = 0; idle < 20; turn()) {
        ssize_t n = send(fd, block, sizeof block, MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        idle = n > 0 ? 0 : idle + 1;
    }
    TEST_CHECK(sent < (size_t)16 << 20 && received.len < 200000);
    pass(1000000); /* it is not the client that is slow */
    TEST_ASSERT(held != NULL);
    pause_it = false;
    http_continue(held);
    turn();
    while (sent < (size_t)16 << 20) {
        size_t left = ((size_t)16 << 20) - sent;
        ssize_t n =
            send(fd, block, left < sizeof block ? left : sizeof block, MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        turn();
    }
    for (int i = 0; i < 1000 && ended == 0; i++)
        turn();
    TEST_CHECK(ended == 1 && received.len == (size_t)16 << 20);
    answer(held, "thanks");
    (void)hear(fd);
    TEST_CHECK(strcmp(body_of(), "thanks") == 0);
    TEST_CHECK(gone == 0);
    (void)fd_close(fd);
    close_it();
}

static void an_upload_may_wait_before_its_first_byte(void)
{
    open_it();
    pause_first = true;
    int fd = dial();
    say(fd, "PUT /up HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello");
    TEST_ASSERT(held != NULL);
    TEST_CHECK(received.len == 0 && ended == 0);
    pass(1000000);
    TEST_ASSERT(held != NULL && received.len == 0);
    http_continue(held);
    turn();
    TEST_CHECK(received.len == 5 && ended == 1);
    answer(held, "thanks");
    (void)hear(fd);
    TEST_CHECK(strcmp(body_of(), "thanks") == 0);
    say(fd, "PUT /up HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\nhello");
    TEST_ASSERT(held != NULL);
    answer(held, "no"); /* the rest is thrown away, but not waited for without end */
    turn();
    TEST_CHECK(!hear(fd));
    pass(limits.stall_ms);
    TEST_CHECK(hear(fd));
    (void)fd_close(fd);
    close_it();
}

static void a_slow_client_is_cut_off(void)
{
    open_it();
    int silent = dial(), slow = dial(), idle = dial(), body = dial();
    say(idle, GET("/echo"));
    (void)hear(idle);
    say(body, POST("/echo", "1000", "") "x");
    say(slow, "GET /echo HT");
    pass(limits.header_ms - 1);
    say(slow, "T");
    TEST_CHECK(!hear(silent) && !hear(slow));
    pass(2);
    TEST_CHECK(hear(silent) && hear(slow));
    TEST_CHECK(!hear(idle) && !hear(body));
    pass(limits.stall_ms - limits.header_ms);
    TEST_CHECK(hear(body));
    pass(limits.idle_ms);
    TEST_CHECK(hear(idle));
    (void)fd_close(silent);
    (void)fd_close(slow);
    (void)fd_close(idle);
    (void)fd_close(body);
    close_it();
}

/* Reads n bytes, or up to the end of the connection. */
static size_t take(int fd, size_t n)
{
    static char bytes[1 << 20];
    size_t sum = 0;
    for (int idle = 0; idle < 1000 && sum < n;) {
        size_t left = n - sum < sizeof bytes ? n - sum : sizeof bytes;
        ssize_t some = recv(fd, bytes, left, MSG_DONTWAIT);
        if (some == 0 || (some < 0 && errno != EAGAIN))
            break;
        sum += some > 0 ? (size_t)some : 0;
        idle = some > 0 ? 0 : idle + 1;
        if (some < 0)
            turn();
    }
    return sum;
}

static void a_slow_reader_is_cut_off(void)
{
    open_it();
    int silent = dial(), slow = dial(), good = dial();
    say(silent, GET("/big"));
    say(slow, GET("/big"));
    say(good, GET("/big"));
    size_t sum = 0;
    for (int i = 0; i < 6; i++) {
        sum += take(good, (size_t)4 << 20);
        TEST_CHECK(take(slow, 100) == 100);
        pass(limits.stall_ms);
    }
    TEST_CHECK(take(silent, SIZE_MAX) < sizeof big && hear(silent));
    TEST_CHECK(take(slow, SIZE_MAX) < sizeof big && hear(slow));
    sum += take(good, sizeof big - sum);
    TEST_CHECK(sum == sizeof big);
    TEST_MSG("%zu", sum);
    TEST_CHECK(!hear(good));
    say(good, GET("/hold"));
    TEST_ASSERT(held != NULL);
    http_stream_begin(held, 200, NULL, 0, -1);
    for (int i = 0; i < 5; i++) { /* a stream with little to say is not slow */
        TEST_CHECK(http_stream_write(held, "x", 1) == 0);
        turn();
        pass(limits.stall_ms);
    }
    TEST_CHECK(!hear(good) && gone == 0);
    check_has("1\r\nx\r\n1\r\nx\r\n1\r\nx\r\n1\r\nx\r\n1\r\nx\r\n");
    (void)fd_close(silent);
    (void)fd_close(slow);
    (void)fd_close(good);
    close_it();
}

static void all_connections_share_a_limited_memory(void)
{
    char body[1000];
    memset(body, 'x', sizeof body);
    memory = 1500;
    open_it();
    int first = dial(), second = dial();
    say(first, POST("/echo", "1000", ""));
    say_n(first, body, 999);
    say(second, POST("/echo", "1000", ""));
    say_n(second, body, 1000);
    TEST_CHECK(!hear(second));
    check_head("HTTP/1.1 503 ");
    (void)fd_close(first);
    turn();
    say(second, POST("/echo", "1000", ""));
    say_n(second, body, 1000);
    TEST_CHECK(!hear(second));
    check_head("HTTP/1.1 200 ");
    say(second, GET("/big"));
    TEST_CHECK(!hear(second));
    check_head("HTTP/1.1 503 ");
    (void)fd_close(second);
    close_it();
}

static void a_client_that_vanished_is_found(void)
{
    open_it();
    int client = dial(), found = 0;
    struct sockaddr_in from;
    socklen_t n = sizeof from;
    TEST_CHECK(getsockname(client, (struct sockaddr *)(void *)&from, &n) == 0);
    for (int fd = 3; fd < 256; fd++) { /* the server's end is in this process, too */
        struct sockaddr_in to;
        int on = 0, seconds = 0;
        n = sizeof to;
        if (getpeername(fd, (struct sockaddr *)(void *)&to, &n) < 0 || to.sin_family != AF_INET ||
            to.sin_port != from.sin_port)
            continue;
        n = sizeof on;
        TEST_CHECK(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &n) == 0 && on);
        TEST_CHECK(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, &n) == 0 && seconds == 60);
        unsigned ms = 0; /* while something that was sent to it is not acknowledged */
        n = sizeof ms;
        TEST_CHECK(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &n) == 0 && ms == 120000);
        found++;
    }
    TEST_CHECK(found == 1);
    (void)fd_close(client);
    close_it();
}

static void one_address_has_so_many_connections(void)
{
    int fds[7];
    open_it();
    for (int i = 0; i < 7; i++)
        fds[i] = dial();
    TEST_CHECK(hear(fds[0])); /* the oldest that only sits there makes room */
    for (int i = 1; i < 7; i++) {
        TEST_CHECK(!hear(fds[i]));
        say(fds[i], GET("/hold"));
    }
    (void)fd_close(fds[0]);
    fds[0] = dial();
    TEST_CHECK(hear(fds[0])); /* those that work do not */
    for (int i = 1; i < 7; i++)
        TEST_CHECK(!hear(fds[i]));
    TEST_CHECK(gone == 0);
    for (int i = 0; i < 7; i++)
        (void)fd_close(fds[i]);
    turn();
    ask(GET("/echo"));
    check_head("HTTP/1.1 200 ");
    close_it();
}

static int dial_from(uint32_t address)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TEST_ASSERT(bind(fd, (const struct sockaddr *)(const void *)&from, sizeof from) == 0);
    TEST_ASSERT(connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to) == 0);
    turn();
    return fd;
}

static void who_only_sits_there_keeps_nobody_out(void)
{
    int fds[60];
    open_it();
    int busy = dial();
    say(busy, GET("/hold"));
    for (int i = 0; i < 60; i++) /* a machine of many addresses */
        fds[i] = dial_from(0x7f000002U + (uint32_t)i);
    TEST_CHECK(hear(fds[0]) && !hear(fds[59]));
    ask(GET("/echo"));
    check_head("HTTP/1.1 200 ");
    TEST_CHECK(gone == 0 && !hear(busy));
    answer(held, "still here");
    TEST_CHECK(!hear(busy));
    check_has("still here");
    for (int i = 0; i < 60; i++)
        (void)fd_close(fds[i]);
    (void)fd_close(busy);
    close_it();
}

static void hosts_and_origins_that_are_not_known_are_refused(void)
{
    open_it();
    ask("GET /echo HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    check_head("HTTP/1.1 421 ");
    ask("GET /echo HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n");
    check_head("HTTP/1.1 421 ");
    ask("GET /echo HTTP/1.1\r\nHost: [::1]:80\r\nOrigin: https://good.example\r\n\r\n");
    check_head("HTTP/1.1 200 ");
    ask("GET /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: null\r\n\r\n");
    check_head("HTTP/1.1 403 ");
    ask("GET /echo HTTP/1.1\r\nHost: localhost:80\r\nOrigin: http://localhost:80\r\n\r\n");
    check_head("HTTP/1.1 200 ");
    ask("GET /echo HTTP/1.1\r\nHost: localhost:80\r\nOrigin: http://localhost:81\r\n\r\n");
    check_head("HTTP/1.1 403 ");
    static const char *const hosts[] = {"box.example", NULL};
    TEST_CHECK(http_origin_is_own("https://box.example", "box.example", "0.0.0.0", hosts));
    TEST_CHECK(!http_origin_is_own("http://evil.example", "evil.example", "0.0.0.0", NULL));
    TEST_CHECK(http_host_right("box.example:80", "localhost", hosts));
    TEST_CHECK(http_host_right("BOX.example", "0.0.0.0", hosts));
    TEST_CHECK(!http_host_right("localhost", "0.0.0.0", hosts));
    TEST_CHECK(http_host_right("any", "0.0.0.0", NULL));
    TEST_CHECK(!http_host_right("localhost:80@evil", "localhost", NULL));
    TEST_CHECK(!http_host_right("[::1", "localhost", NULL) && !http_host_right("", "::1", NULL));
    TEST_CHECK(!http_host_right(NULL, "localhost", NULL));
    close_it();
}

#define FOREIGN "GET /echo HTTP/1.1\r\nHost: localhost\r\nOrigin: https://proxy.example\r\n"

static void a_browsers_word_for_same_origin_counts_where_there_is_a_token(void)
{
    for (int i = 0; i < 2; i++) {
        guarded = i > 0;
        open_it();
        ask(FOREIGN "Sec-Fetch-Site: same-origin\r\n\r\n");
        check_head(guarded ? "HTTP/1.1 200 " : "HTTP/1.1 403 ");
        ask(FOREIGN "Sec-Fetch-Site: same-site\r\n\r\n");
        check_head("HTTP/1.1 403 ");
        ask(FOREIGN "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: same-origin\r\n\r\n");
        check_head("HTTP/1.1 403 ");
        close_it();
    }
    guarded = false;
}

static void tokens_come_as_bearer_or_as_a_password(void)
{
    open_it();
    ask("GET /secret HTTP/1.1\r\nHost: localhost\r\nAuthorization: bearer secret\r\n\r\n");
    check_head("HTTP/1.1 200 ");
    ask("GET /secret HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic eDpzZWNyZXQ=\r\n\r\n");
    check_head("HTTP/1.1 200 ");
    static const char *const wrong[] = {"Bearer secret2",
                                        "Bearer",
                                        "Basic c2VjcmV0",
                                        "Basic ???",
                                        "Token secret",
                                        "",
                                        "Bearer secret\r\n"
                                        "Authorization: Bearer secret"};
    char text[256];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        (void)snprintf(text, sizeof text,
                       "GET /secret HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\n\r\n",
                       wrong[i]);
        TEST_CASE(wrong[i]);
        ask(text);
        check_head("HTTP/1.1 401 ");
        check_has("WWW-Authenticate: Bearer ");
    }
    for (size_t i = sizeof wrong / sizeof *wrong; i < HTTP_GUARD_FREE; i++)
        ask(GET("/secret"));
    check_head("HTTP/1.1 401 ");
    int fd = dial();
    say(fd, GET("/secret"));
    TEST_CHECK(!hear(fd) && got.len == 0);
    ask("GET /secret HTTP/1.1\r\nHost: localhost\r\nAuthorization: bearer secret\r\n\r\n");
    check_head("HTTP/1.1 200 "); /* a right token does not suffer for the others */
    pass(HTTP_GUARD_DELAY_MS);
    (void)hear(fd);
    check_head("HTTP/1.1 429 ");
    int waiting = dial(); /* held back, it is still to send what it has announced */
    say(waiting, "GET /secret HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nx");
    pass(HTTP_GUARD_DELAY_MS);
    TEST_CHECK(!hear(waiting) && got.len == 0);
    pass(limits.stall_ms);
    TEST_CHECK(hear(waiting));
    (void)fd_close(waiting);
    pass(HTTP_GUARD_MS + 1);
    ask(GET("/secret"));
    check_head("HTTP/1.1 401 ");
    (void)fd_close(fd);
    close_it();
}

static void what_cannot_be_listened_on_is_an_error(void)
{
    struct http *none = NULL;
    struct err e = ERR_NONE;
    open_loop();
    struct http_config config = {.loop = loop, .host = "192.0.2.1"};
    TEST_CHECK(http_open(&config, &none, &e) < 0 && strstr(e.msg, "192.0.2.1") != NULL);
    TEST_CHECK(none == NULL);
    close_loop();
}

#define TEST(name) {#name, name}
TEST_LIST = {
    TEST(requests_are_answered_on_one_connection),
    TEST(paths_are_decoded_and_matched_by_segments),
    TEST(errors_are_problem_documents),
    TEST(a_head_may_have_its_16_kib_in_a_hundred_headers),
    TEST(bodies_over_the_limit_are_refused),
    TEST(an_answer_may_come_later),
    TEST(a_client_that_leaves_is_told_before_any_byte_was_sent),
    TEST(a_stream_is_bounded_and_its_reader_sets_the_pace),
    TEST(a_stream_may_lose_its_reader_or_be_broken_off),
    TEST(an_upload_waits_for_its_handler),
    TEST(an_upload_may_wait_before_its_first_byte),
    TEST(a_slow_client_is_cut_off),
    TEST(a_slow_reader_is_cut_off),
    TEST(all_connections_share_a_limited_memory),
    TEST(a_client_that_vanished_is_found),
    TEST(one_address_has_so_many_connections),
    TEST(who_only_sits_there_keeps_nobody_out),
    TEST(hosts_and_origins_that_are_not_known_are_refused),
    TEST(a_browsers_word_for_same_origin_counts_where_there_is_a_token),
    TEST(tokens_come_as_bearer_or_as_a_password),
    TEST(what_cannot_be_listened_on_is_an_error),
    {NULL, NULL},
};
