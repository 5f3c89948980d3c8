/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections that have ended are seen and cleared up, whatever else the library looks at; those of
 * requests that are refused are ended soon. */
#include "unit/front/httptest.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "front/http/http.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"

static struct http *http;
static struct http_request *held; /* by the last `start` that did not answer */

static void on_gone(void *ctx)
{
    (void)ctx;
    held = NULL;
}

static void hold(void *ctx, struct http_request *r)
{
    static const struct http_events events = {.gone = on_gone};
    http_watch(r, &events, ctx);
    held = r;
}

static void answer(void *ctx, struct http_request *r)
{
    (void)ctx;
    http_answer(r, 200, NULL, 0, "here", 4);
}

/* A file that became shorter than it was. */
static void send_short_file(void *ctx, struct http_request *r)
{
    (void)ctx;
    int fd = memfd_create("short", MFD_CLOEXEC);
    TEST_ASSERT(fd >= 0 && write(fd, "abc", 3) == 3);
    http_answer_file(r, 200, NULL, 0, fd, 0, 1 << 20);
}

static const struct http_route routes[] = {
    {"GET", "/echo", HTTP_NO_BODY, 0, NULL, 0, answer},
    {"GET", "/hold", HTTP_NO_BODY, 0, NULL, 0, hold},
    {"PUT", "/up", HTTP_RECEIVE, 1 << 20, NULL, 0, hold},
    {"GET", "/short", HTTP_NO_BODY, 0, NULL, 0, send_short_file},
};

static struct http_limits limits;

static void open_it(void)
{
    open_loop();
    limits = http_limits_default;
    limits.per_address = 6;
    struct http_config config = {.loop = loop,
                                 .host = "localhost",
                                 .limits = &limits,
                                 .routes = routes,
                                 .n_routes = sizeof routes / sizeof *routes};
    struct err e = ERR_NONE;
    TEST_ASSERT_(http_open(&config, &http, &e) == 0, "%s", e.msg);
    port = http_port(http);
}

static void close_it(void)
{
    http = http_close(http);
    close_loop();
}

static int count_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void break_off(int i, int fd)
{
    static const char *const lines[] = {GET("/short"), GET("/hold"), GET("/hold"), GET("/hold")};
    say(fd, lines[i]);
    if (i == 0) /* the file ends too early */
        return;
    TEST_ASSERT(held != NULL);
    http_stream_begin(held, 200, NULL, 0, -1);
    TEST_CHECK(http_stream_write(held, "x", 1) == 0);
    turn();
    if (i == 1) /* else the client leaves */
        http_stream_abort(held);
}

static void an_answer_that_is_broken_off_leaves_no_descriptor(void)
{
    open_it();
    int quiet = dial(); /* for longer than all that follow */
    say(quiet, GET("/echo"));
    (void)hear(quiet);
    int before = count_descriptors();
    for (int i = 0; i < 4; i++) {
        int fd = dial();
        break_off(i, fd);
        TEST_CHECK(i > 1 || hear(fd));
        (void)fd_close(fd);
        turn();
        TEST_CHECK_(count_descriptors() == before, "%d: %d of %d", i, count_descriptors(), before);
    }
    TEST_CHECK(!hear(quiet));
    (void)fd_close(quiet);
    close_it();
}

static void an_end_that_came_with_the_request_is_seen_soon(void)
{
    open_it();
    int half = dial(), whole = dial();
    say(whole, GET("/echo"));
    TEST_ASSERT(send(half, GET("/echo"), strlen(GET("/echo")), MSG_NOSIGNAL) > 0);
    TEST_ASSERT(shutdown(half, SHUT_WR) == 0);
    turn();
    bool over = hear(half);
    check_head("HTTP/1.1 200 ");
    pass(1000);
    TEST_CHECK(over || hear(half));
    TEST_CHECK(!hear(whole));
    pass(http_limits_default.idle_ms - 1001);
    TEST_CHECK(!hear(whole));
    pass(1);
    TEST_CHECK(hear(whole));
    (void)fd_close(half);
    (void)fd_close(whole);
    close_it();
}

#define HALF "PUT /up HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf"

static void an_end_that_came_with_half_a_body_is_seen_soon(void)
{
    open_it();
    int half = dial(), slow = dial();
    say(slow, HALF);
    TEST_ASSERT(send(half, HALF, strlen(HALF), MSG_NOSIGNAL) > 0);
    TEST_ASSERT(shutdown(half, SHUT_WR) == 0);
    turn();
    pass(1000);
    TEST_CHECK(hear(half) && got.len == 0);
    pass(limits.stall_ms - 1001);
    TEST_CHECK(!hear(slow));
    pass(1);
    TEST_CHECK(hear(slow));
    (void)fd_close(half);
    (void)fd_close(slow);
    close_it();
}

#define REFUSED "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"

/* Its body makes progress, but nobody wants it. */
static void who_is_refused_has_a_short_time_for_the_body(void)
{
    static char part[HTTP_STEP + 1], most[100000 - sizeof part];
    open_it();
    int slow = dial(), good = dial(), wanted = dial();
    say(slow, REFUSED);
    say(good, REFUSED);
    say(wanted, "PUT /up HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n");
    pass(limits.header_ms - 1);
    say_n(slow, part, sizeof part);
    say_n(good, part, sizeof part);
    say_n(good, most, sizeof most);
    TEST_CHECK(!hear(slow) && got.len == 0);
    TEST_CHECK(!hear(good));
    check_head("HTTP/1.1 404 ");
    pass(1);
    TEST_CHECK(hear(slow) && got.len == 0);
    pass(limits.stall_ms - limits.header_ms - 1);
    TEST_CHECK(!hear(good) && !hear(wanted));
    say(good, GET("/echo"));
    TEST_CHECK(!hear(good));
    check_head("HTTP/1.1 200 ");
    (void)fd_close(slow);
    (void)fd_close(good);
    (void)fd_close(wanted);
    close_it();
}

static void who_is_refused_makes_room(void)
{
    int fds[7];
    open_it();
    for (int i = 0; i < 7; i++) {
        fds[i] = dial();
        say(fds[i], REFUSED);
    }
    TEST_CHECK(hear(fds[0])); /* the oldest one */
    for (int i = 1; i < 7; i++)
        TEST_CHECK(!hear(fds[i]));
    for (int i = 0; i < 7; i++)
        (void)fd_close(fds[i]);
    close_it();
}

#define TEST(name) {#name, name}
TEST_LIST = {
    TEST(an_answer_that_is_broken_off_leaves_no_descriptor),
    TEST(an_end_that_came_with_the_request_is_seen_soon),
    TEST(an_end_that_came_with_half_a_body_is_seen_soon),
    TEST(who_is_refused_has_a_short_time_for_the_body),
    TEST(who_is_refused_makes_room),
    {NULL, NULL},
};
