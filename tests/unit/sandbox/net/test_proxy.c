/* SPDX-License-Identifier: Apache-2.0
 *
 * The proxies, with a client and a host on both sides of them; host.test is the only host. */
#include <acutest.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "sandbox/net/loopback.h"
#include "sandbox/net/proxy.h"
#include "sandbox/net/proxy_request.h"
#include "sandbox/proc/addresses.h"
#include "unit/guard.h"

enum { TEXT_MAX = 1 << 20, HEAD_MAX = PROXY_HEAD_MAX + 512 };

static struct loop *loop;
static struct proxy *proxy;
static uint16_t proxy_port, host_port;
static int host_listener;
static int64_t fake_now;

/* --- requests --------------------------------------------------------------------------------- */

static void expect_http(const char *request, int want, const char *host, unsigned port,
                        const char *head)
{
    drop_buf struct buf said = BUF_INIT(HEAD_MAX);
    struct proxy_request got = {.port = 0};
    int r = proxy_http_read(request, strlen(request), &got, &said);
    TEST_CHECK_(r == want, "%s: %d", request, r);
    if (r == 1) {
        TEST_CHECK_(strcmp(got.host, host) == 0 && got.port == port, "%s:%u", got.host, got.port);
        TEST_CHECK_(strcmp(buf_text(&said), head) == 0, "%s", buf_text(&said));
        TEST_CHECK(got.tunnel == (*head == '\0'));
    }
}

static void http_requests_are_read(void)
{
    expect_http("CONNECT a.test:443 HTTP/1.1\r\nHost: b.test\r\n\r\n", 1, "a.test", 443, "");
    expect_http("CONNECT [2001:db8::1]:80 HTTP/1.0\r\n\r\n", 1, "2001:db8::1", 80, "");
    expect_http("GET http://a.test/x?y HTTP/1.1\r\nHost: b.test\r\nProxy-Connection: k\r\n"
                "Accept: *\r\nConnection: keep-alive\r\n\r\n",
                1, "a.test", 80,
                "GET /x?y HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nAccept: *\r\n\r\n");
    expect_http("GET HTTP://a.test:81?y HTTP/1.1\r\n\r\n", 1, "a.test", 81,
                "GET /?y HTTP/1.1\r\nHost: a.test:81\r\nConnection: close\r\n\r\n");
}

static void what_a_proxy_is_not_asked_is_refused(void)
{
    static const char *const wrong[] = {
        "GET / HTTP/1.1\r\n\r\n",
        "GET ftp://a.test/ HTTP/1.1\r\n\r\n",
        "GET https://a.test/ HTTP/1.1\r\n\r\n",
        "GET http://b.test@a.test/ HTTP/1.1\r\n\r\n",
        "GET http://a.test:/ HTTP/1.1\r\n\r\n",
        "GET http://a.test:0/ HTTP/1.1\r\n\r\n",
        "GET http://a.test:65536/ HTTP/1.1\r\n\r\n",
        "GET http:/// HTTP/1.1\r\n\r\n",
        "GET http://a.test/\r\n\r\n",
        "GET http://a.test/ HTTP/2.0\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nA: b\r\n c: d\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nA: b\nHost: c\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nA: b\rHost: c\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nno colon\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nA : b\r\n\r\n",
        "Host:GET http://a.test/ HTTP/1.1\r\n\r\n",
        "CONNECT a.test HTTP/1.1\r\n\r\n",
        "CONNECT [::1] HTTP/1.1\r\n\r\n",
        "CONNECT a%2etest:443 HTTP/1.1\r\n\r\n",
        "\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_http(wrong[i], -EBADMSG, "", 0, "");
    expect_http("CONNECT a.test:443 HTTP/1.1\r\n", 0, "", 0, "");
}

static void a_head_that_is_too_long_is_refused(void)
{
    drop_buf struct buf request = BUF_INIT(TEXT_MAX), head = BUF_INIT(HEAD_MAX);
    struct proxy_request got;
    (void)buf_adds(&request, "GET http://a.test/ HTTP/1.1\r\nA: ");
    while (request.len < PROXY_HEAD_MAX - 4)
        (void)buf_addc(&request, 'x');
    TEST_CHECK(proxy_http_read(request.data, request.len, &got, &head) == 0);
    (void)buf_adds(&request, "\r\n\r\n");
    TEST_CHECK(proxy_http_read(request.data, request.len, &got, &head) == 1);
    (void)buf_adds(&request, "\r\n\r\n");
    request.data[PROXY_HEAD_MAX - 4] = 'x';
    TEST_CHECK(proxy_http_read(request.data, request.len, &got, &head) == -EMSGSIZE);
}

static void socks_requests_are_read(void)
{
    struct proxy_request got;
    size_t used = 0;
    const uint8_t greeting[] = {5, 2, 2, 0}, passwords[] = {5, 1, 2}, four[] = {4, 1};
    TEST_CHECK(proxy_socks_greet(greeting, sizeof greeting, &used) == 1 && used == 4);
    TEST_CHECK(proxy_socks_greet(greeting, 3, &used) == 0);
    TEST_CHECK(proxy_socks_greet(passwords, sizeof passwords, &used) == -ENOTSUP);
    TEST_CHECK(proxy_socks_greet(four, sizeof four, &used) == -EBADMSG);
    const uint8_t name[] = {5, 1, 0, 3, 6, 'a', '.', 't', 'e', 's', 't', 1, 0xBB};
    const uint8_t v4[] = {5, 1, 0, 1, 192, 0, 2, 1, 0, 80},
                  bind_v4[] = {5, 2, 0, 1, 192, 0, 2, 1, 0, 80};
    const uint8_t odd[] = {5, 1, 0, 3, 3, 'a', 0, 't', 0, 80},
                  kind[] = {5, 1, 0, 2, 0, 0, 0, 0, 0, 80};
    uint8_t v6[22] = {5, 1, 0, 4, 0x20, 1, 0x0d, 0xb8};
    v6[21] = 80;
    TEST_CHECK(proxy_socks_read(name, sizeof name, &got) == 1 && strcmp(got.host, "a.test") == 0 &&
               got.port == 443 && got.used == sizeof name);
    for (size_t n = 0; n < sizeof name; n++)
        TEST_CHECK(proxy_socks_read(name, n, &got) == 0);
    TEST_CHECK(proxy_socks_read(v4, sizeof v4, &got) == 1 && strcmp(got.host, "192.0.2.1") == 0);
    TEST_CHECK(proxy_socks_read(v6, sizeof v6, &got) == 1 && strcmp(got.host, "2001:db8::") == 0);
    TEST_CHECK(proxy_socks_read(bind_v4, sizeof bind_v4, &got) == -ENOTSUP);
    TEST_CHECK(proxy_socks_read(odd, sizeof odd, &got) == -EBADMSG);
    TEST_CHECK(proxy_socks_read(kind, sizeof kind, &got) == -EBADMSG);
}

/* --- connections ------------------------------------------------------------------------------ */

static int64_t now(void)
{
    return fake_now;
}

static int connect_local(uint16_t port)
{
    struct address to = address_of_v4(INADDR_LOOPBACK, port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TEST_ASSERT(fd >= 0 && connect(fd, &to.any, to.len) == 0);
    return fd;
}

static int dial(void *ctx, const char *host, uint16_t port)
{
    (void)ctx;
    if (strcmp(host, "away.test") == 0)
        return -EHOSTUNREACH;
    return strcmp(host, "host.test") == 0 && port == 80 ? connect_local(host_port) : -EACCES;
}

static void open_proxy(enum proxy_kind kind)
{
    struct err e = ERR_NONE;
    int fd = -1;
    fake_now = 0;
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    loop_set_clock(loop, now);
    TEST_ASSERT(loopback_listen(&host_listener, &host_port, &e) == 0);
    TEST_ASSERT(loopback_listen(&fd, &proxy_port, &e) == 0);
    TEST_ASSERT(proxy_open(loop, kind, fd, dial, NULL, &proxy, &e) == 0);
}

static void close_proxy(void)
{
    proxy = proxy_free(proxy);
    loop = loop_free(loop);
    (void)close(host_listener);
}

/* Turns the loop until fd has something to read, or the end; everything that came is in *got. */
static bool read_until(int fd, struct buf *got, const char *want)
{
    int64_t until = clock_ms() + GUARD_MS;
    char bytes[4096];
    while (clock_ms() < until) {
        loop_turn(loop, 1);
        ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n > 0)
            (void)buf_add(got, bytes, (size_t)n);
        if (want && strstr(buf_text(got), want))
            return true;
        if (n == 0 || (n < 0 && errno != EAGAIN))
            return !want;
    }
    return false;
}

static int accept_host(void)
{
    int64_t until = clock_ms() + GUARD_MS;
    int fd;
    do {
        loop_turn(loop, 1);
        fd = accept4(host_listener, NULL, NULL, SOCK_CLOEXEC);
    } while (fd < 0 && clock_ms() < until);
    TEST_ASSERT(fd >= 0);
    return fd;
}

static void say(int fd, const char *text)
{
    TEST_ASSERT(send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
}

static void a_tunnel_carries_bytes_both_ways_until_both_have_ended(void)
{
    drop_buf struct buf client_got = BUF_INIT(TEXT_MAX), host_got = BUF_INIT(TEXT_MAX);
    open_proxy(PROXY_HTTP);
    drop_fd int client = connect_local(proxy_port);
    say(client, "CONNECT host.test:80 HTTP/1.1\r\n\r\nfirst ");
    drop_fd int host = accept_host();
    TEST_CHECK(read_until(client, &client_got, "200 Connection Established\r\n\r\n"));
    say(client, "second");
    TEST_CHECK(read_until(host, &host_got, "first second"));
    (void)shutdown(client, SHUT_WR);
    TEST_CHECK(read_until(host, &host_got, NULL));
    say(host, "late answer");
    (void)shutdown(host, SHUT_WR);
    TEST_CHECK(read_until(client, &client_got, NULL));
    TEST_CHECK(strstr(client_got.data, "\r\n\r\nlate answer") != NULL);
    close_proxy();
}

static void a_plain_request_reaches_the_host_that_its_line_names(void)
{
    drop_buf struct buf client_got = BUF_INIT(TEXT_MAX), host_got = BUF_INIT(TEXT_MAX);
    open_proxy(PROXY_HTTP);
    drop_fd int client = connect_local(proxy_port);
    say(client,
        "POST http://host.test/x HTTP/1.1\r\nHost: other.test\r\nContent-Length: 4\r\n\r\nbo");
    drop_fd int host = accept_host();
    say(client, "dy");
    TEST_CHECK(read_until(host, &host_got, "\r\n\r\nbody"));
    TEST_CHECK(strstr(host_got.data, "POST /x HTTP/1.1\r\nHost: host.test\r\n") == host_got.data);
    TEST_CHECK(!strstr(host_got.data, "other.test"));
    say(host, "HTTP/1.1 204 No Content\r\n\r\n");
    TEST_CHECK(read_until(client, &client_got, "HTTP/1.1 204"));
    close_proxy();
}

static void expect_answer(const char *request, const char *want)
{
    drop_buf struct buf got = BUF_INIT(TEXT_MAX);
    drop_fd int client = connect_local(proxy_port);
    say(client, request);
    TEST_CHECK_(read_until(client, &got, NULL), "%s is not ended", request);
    TEST_CHECK_(strncmp(buf_text(&got), want, strlen(want)) == 0, "%s: %s", request, got.data);
    TEST_CHECK(accept4(host_listener, NULL, NULL, SOCK_CLOEXEC) < 0);
}

static void what_may_not_be_reached_is_said_to_be_blocked(void)
{
    open_proxy(PROXY_HTTP);
    expect_answer("CONNECT other.test:80 HTTP/1.1\r\n\r\n", "HTTP/1.1 403 ");
    expect_answer("CONNECT host.test:81 HTTP/1.1\r\n\r\n", "HTTP/1.1 403 ");
    expect_answer("GET http://other.test/ HTTP/1.1\r\nHost: host.test\r\n\r\n", "HTTP/1.1 403 ");
    expect_answer("CONNECT away.test:80 HTTP/1.1\r\n\r\n", "HTTP/1.1 502 ");
    expect_answer("nonsense\r\n\r\n", "HTTP/1.1 400 ");
    close_proxy();
}

static void socks_reaches_the_host_and_no_other(void)
{
    drop_buf struct buf got = BUF_INIT(TEXT_MAX), host_got = BUF_INIT(TEXT_MAX);
    static const char good[] = "\5\1\0\5\1\0\3\x09host.test\0\x50",
                      other[] = "\5\1\0\5\1\0\3\x0aother.test\0\x50";
    open_proxy(PROXY_SOCKS);
    drop_fd int client = connect_local(proxy_port);
    TEST_ASSERT(send(client, good, sizeof good - 1, 0) == sizeof good - 1);
    drop_fd int host = accept_host();
    say(host, "hello");
    say(client, "there");
    TEST_CHECK(read_until(host, &host_got, "there"));
    while (got.len < 2 + 10 + 5 && read_until(client, &got, ""))
        continue;
    TEST_CHECK(got.len == 17 && memcmp(got.data, "\5\0\5\0\0\1\0\0\0\0\0\0hello", 17) == 0);

    drop_fd int refused = connect_local(proxy_port);
    buf_clear(&got);
    TEST_ASSERT(send(refused, other, sizeof other - 1, 0) == sizeof other - 1);
    TEST_CHECK(read_until(refused, &got, NULL));
    TEST_CHECK(got.len == 12 && memcmp(got.data, "\5\0\5\2", 4) == 0);
    close_proxy();
}

static void a_request_that_does_not_come_in_time_is_given_up(void)
{
    drop_buf struct buf got = BUF_INIT(TEXT_MAX);
    open_proxy(PROXY_HTTP);
    drop_fd int client = connect_local(proxy_port);
    for (int i = 0; i < 4; i++) { /* a byte now and then does not help */
        say(client, "C");
        loop_turn(loop, 10);
        fake_now += PROXY_REQUEST_MS / 4;
    }
    loop_turn(loop, 0);
    fake_now++;
    TEST_CHECK(read_until(client, &got, NULL));
    close_proxy();
}

static void connections_over_the_limit_wait_for_a_place(void)
{
    int clients[PROXY_CONNECTIONS_MAX];
    drop_buf struct buf got = BUF_INIT(TEXT_MAX);
    open_proxy(PROXY_HTTP);
    for (int i = 0; i < PROXY_CONNECTIONS_MAX; i++) {
        clients[i] = connect_local(proxy_port);
        loop_turn(loop, 10);
    }
    drop_fd int late = connect_local(proxy_port);
    say(late, "CONNECT other.test:80 HTTP/1.1\r\n\r\n");
    for (int i = 0; i < 10; i++)
        loop_turn(loop, 1);
    TEST_CHECK(recv(late, &(char){0}, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
    (void)close(clients[0]);
    TEST_CHECK(read_until(late, &got, "403"));
    for (int i = 1; i < PROXY_CONNECTIONS_MAX; i++)
        (void)close(clients[i]);
    close_proxy();
}

/* More than all buffers between them hold, to a reader that reads late. */
static void a_slow_reader_loses_nothing(void)
{
    enum { TOTAL = 4 << 20 };
    drop_buf struct buf got = BUF_INIT(TEXT_MAX);
    static char piece[65536];
    open_proxy(PROXY_HTTP);
    drop_fd int client = connect_local(proxy_port);
    say(client, "CONNECT host.test:80 HTTP/1.1\r\n\r\n");
    drop_fd int host = accept_host();
    TEST_CHECK(read_until(client, &got, "\r\n\r\n"));
    size_t sent = 0, came = 0, quiet = 0;
    int64_t until = clock_ms() + GUARD_MS;
    while (came < TOTAL && clock_ms() < until) {
        size_t want = TOTAL - sent < sizeof piece ? TOTAL - sent : sizeof piece;
        ssize_t n = want > 0 ? send(host, piece, want, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
        sent += n > 0 ? (size_t)n : 0;
        quiet = n > 0 ? 0 : quiet + 1;
        if (sent == TOTAL)
            (void)shutdown(host, SHUT_WR);
        loop_turn(loop, 1);
        if (quiet > 5 && (n = recv(client, piece, sizeof piece, MSG_DONTWAIT)) > 0)
            came += (size_t)n;
    }
    TEST_CHECK_(came == TOTAL, "%zu of %zu", came, sent);
    close_proxy();
}

#define T(name) {#name, name}

TEST_LIST = {
    T(http_requests_are_read),
    T(what_a_proxy_is_not_asked_is_refused),
    T(a_head_that_is_too_long_is_refused),
    T(socks_requests_are_read),
    T(a_tunnel_carries_bytes_both_ways_until_both_have_ended),
    T(a_plain_request_reaches_the_host_that_its_line_names),
    T(what_may_not_be_reached_is_said_to_be_blocked),
    T(socks_reaches_the_host_and_no_other),
    T(a_request_that_does_not_come_in_time_is_given_up),
    T(connections_over_the_limit_wait_for_a_place),
    T(a_slow_reader_loses_nothing),
    {NULL, NULL},
};
