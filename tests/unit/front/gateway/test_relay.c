/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "front/gateway/relay.h"
#include "unit/guard.h"

static struct loop *loop;
static struct relay *relay;
static char dir[] = "/tmp/relay-XXXXXX";
static char path[64];
static int wanted;
enum { IDLE_MS = 3600000 };
static int idled;
static bool busy;
static int64_t fake_now = 1000;

static int64_t fake_clock(void)
{
    return fake_now;
}

static void on_wanted(void *ctx)
{
    (void)ctx;
    wanted++;
}

static bool is_busy(void *ctx)
{
    (void)ctx;
    return busy;
}

static void on_idle(void *ctx)
{
    (void)ctx;
    idled++;
}

static int connect_it(void *ctx)
{
    (void)ctx;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static sorter_fn other;
static int other_fd = -1;

static void on_other(void *ctx, int fd, const struct sockaddr *from, socklen_t n)
{
    (void)ctx;
    TEST_CHECK(from->sa_family == AF_INET && n == sizeof(struct sockaddr_in));
    other_fd = fd;
}

static void open_it(void)
{
    TEST_ASSERT(mkdtemp(dir) != NULL);
    (void)snprintf(path, sizeof path, "%s/sock", dir);
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    loop_set_clock(loop, fake_clock);
    struct relay_config config = {.loop = loop,
                                  .host = "127.0.0.1",
                                  .connect = connect_it,
                                  .wanted = on_wanted,
                                  .busy = is_busy,
                                  .idle = on_idle,
                                  .idle_ms = IDLE_MS,
                                  .instance = "pod-7",
                                  .other = other,
                                  .base = ""};
    TEST_ASSERT(relay_open(&config, &relay, NULL) == 0);
}

static void close_it(void)
{
    relay = relay_close(relay);
    loop = loop_free(loop);
    (void)unlink(path);
    TEST_CHECK(rmdir(dir) == 0);
}

enum { QUIET_MS = 100, TURN_MS = 5 };

/* Whether it came to hold within so long. The relay's clock stands still meanwhile: nothing in it
 * runs out because this machine is slow. */
static bool within(int64_t ms, bool (*holds)(int fd), int fd)
{
    for (int64_t end = clock_ms() + ms; clock_ms() < end;) {
        if (holds(fd))
            return true;
        loop_turn(loop, TURN_MS);
    }
    return holds(fd);
}

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

static bool is_writable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, 0) > 0;
}

static bool is_used_by(int count)
{
    return relay_connections(relay) == (size_t)count;
}

static void expect_used(int count)
{
    TEST_CHECK_(within(GUARD_MS, is_used_by, count), "%zu and not %d", relay_connections(relay),
                count);
}

static int connect_socket(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)relay_port(relay)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TEST_ASSERT(connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to) == 0);
    return fd;
}

static int connect_client(void)
{
    int before = (int)relay_connections(relay), fd = connect_socket();
    expect_used(before + 1);
    return fd;
}

static int listen_gateway(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    TEST_ASSERT(bind(fd, (const struct sockaddr *)(const void *)&at, sizeof at) == 0);
    TEST_ASSERT(listen(fd, 8) == 0);
    return fd;
}

static int accept_gateway(int listener)
{
    fake_now += 10; /* it is looked for now and then */
    TEST_ASSERT(within(GUARD_MS, is_readable, listener));
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    TEST_ASSERT(fd >= 0);
    return fd;
}

static void expect(int fd, const char *expected)
{
    char got[4096];
    TEST_CHECK(within(GUARD_MS, is_readable, fd));
    ssize_t n = recv(fd, got, sizeof got - 1, MSG_DONTWAIT);
    got[n > 0 ? n : 0] = '\0';
    TEST_CHECK(strncmp(got, expected, strlen(expected)) == 0);
    TEST_MSG("expected: %s", expected);
    TEST_MSG("actual:   %s (%zd)", got, n);
}

static void expect_end(int fd)
{
    char byte;
    TEST_CHECK(within(GUARD_MS, is_readable, fd));
    TEST_CHECK(recv(fd, &byte, 1, MSG_DONTWAIT) == 0);
}

static void say(int fd, const char *text)
{
    TEST_ASSERT(send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
}

static void pass(int from, int to, const char *text)
{
    say(from, text);
    expect(to, text);
}

static void the_gateway_is_wanted_at_the_first_connection(void)
{
    open_it();
    TEST_CHECK(wanted == 0);
    int client = connect_client();
    TEST_CHECK(wanted == 1 && relay_connections(relay) == 1);
    say(client, "GET");
    int listener = listen_gateway();
    int gateway = accept_gateway(listener);
    expect(gateway, "GET");
    pass(gateway, client, "200");
    int second = connect_client();
    TEST_CHECK(wanted == 1 && relay_connections(relay) == 2);
    (void)fd_close(second);
    (void)fd_close(client);
    expect_end(gateway);
    (void)fd_close(gateway);
    (void)fd_close(listener); /* with it the second, which it has not accepted */
    expect_used(0);
    close_it();
}

static void a_client_that_waits_gets_502_when_the_gateway_ends(void)
{
    open_it();
    int client = connect_client();
    say(client, "GET");
    relay_gateway_ended(relay);
    expect(client, "HTTP/1.1 502 Bad Gateway\r\nContent-Type: application/json\r\n"
                   "Content-Length: 74\r\nIpybox-Instance: pod-7\r\nConnection: close\r\n\r\n{");
    expect_end(client);
    (void)fd_close(client);
    expect_used(0);
    close_it();
}

static void nobody_waits_for_ever(void)
{
    open_it();
    int client = connect_client();
    fake_now += RELAY_START_MS;
    expect(client, "HTTP/1.1 502 ");
    fake_now += 60000; /* it does not close: it is closed */
    expect_used(0);
    (void)fd_close(client);
    close_it();
}

static void an_unanswered_request_gets_502_and_a_websocket_its_end(void)
{
    open_it();
    int listener = listen_gateway();
    int plain = connect_client(), idle = connect_client(), upgraded = connect_client();
    int gateways[3];
    for (int i = 0; i < 3; i++)
        gateways[i] = accept_gateway(listener);
    pass(plain, gateways[0], "GET");
    pass(idle, gateways[1], "GET");
    pass(gateways[1], idle, "HTTP/1.1 200 OK");
    pass(gateways[2], upgraded, "HTTP/1.1 101 Switching");
    pass(upgraded, gateways[2], "frame");
    for (int i = 0; i < 3; i++)
        (void)fd_close(gateways[i]);
    expect(plain, "HTTP/1.1 502 ");
    expect_end(idle);
    expect_end(upgraded);
    (void)fd_close(plain);
    (void)fd_close(idle);
    (void)fd_close(upgraded);
    expect_used(0);
    (void)fd_close(listener);
    close_it();
}

static void a_half_closed_client_still_gets_its_answer(void)
{
    open_it();
    int listener = listen_gateway();
    int client = connect_client();
    int gateway = accept_gateway(listener);
    say(client, "GET");
    TEST_CHECK(shutdown(client, SHUT_WR) == 0);
    expect(gateway, "GET");
    expect_end(gateway);
    say(gateway, "answer");
    (void)fd_close(gateway);
    expect(client, "answer");
    expect_end(client);
    expect_used(0);
    (void)fd_close(client);
    (void)fd_close(listener);
    close_it();
}

/* Writes until nothing is taken any more, which can only be waited for; returns how much was. That
 * more would have been taken later makes a test weaker, but not wrong. */
static size_t fill(int fd)
{
    static char bytes[65536];
    size_t sum = 0;
    while (sum < (size_t)256 << 20 && within(QUIET_MS, is_writable, fd)) {
        ssize_t n = send(fd, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        sum += n > 0 ? (size_t)n : 0;
    }
    return sum;
}

/* All that comes up to the end. */
static size_t drain(int fd)
{
    static char bytes[65536];
    size_t sum = 0;
    ssize_t n = 1;
    while (n > 0 && within(GUARD_MS, is_readable, fd)) {
        n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        sum += n > 0 ? (size_t)n : 0;
    }
    TEST_CHECK_(n == 0, "it ended with %zd", n);
    return sum;
}

static void check_filled(size_t n)
{
    TEST_CHECK_(n > RELAY_BUFFER && n < (size_t)64 << 20, "%zu", n);
}

static void check_equal(size_t got, size_t sent)
{
    TEST_CHECK_(got == sent, "%zu of %zu", got, sent);
}

static void who_does_not_read_stops_who_writes_and_nothing_is_lost(void)
{
    open_it();
    int listener = listen_gateway();
    int client = connect_client();
    int gateway = accept_gateway(listener);
    pass(gateway, client, "HTTP/1.1 101 Switching"); /* what the client sends asks for no answer */
    size_t down = fill(gateway);
    check_filled(down);
    check_filled(fill(client));
    (void)shutdown(gateway, SHUT_WR);
    check_equal(drain(client), down);
    (void)fd_close(gateway);
    (void)fd_close(client);
    expect_used(0);
    (void)fd_close(listener);
    close_it();
}

static void a_gateway_that_is_gone_does_not_cost_what_it_has_said(void)
{
    open_it();
    int listener = listen_gateway();
    int client = connect_client();
    int gateway = accept_gateway(listener);
    size_t down = fill(gateway);
    (void)fd_close(gateway);
    check_equal(drain(client), down);
    (void)fd_close(client);
    expect_used(0);
    (void)fd_close(listener);
    close_it();
}

/* The descriptor of this process that is the other end of a client's connection. */
static int other_end(int client)
{
    struct sockaddr_in own = {0}, peer;
    socklen_t n = sizeof own;
    TEST_ASSERT(getsockname(client, (struct sockaddr *)(void *)&own, &n) == 0);
    for (int fd = 0; fd < 1024; fd++) {
        peer = (struct sockaddr_in){0};
        n = sizeof peer;
        if (getpeername(fd, (struct sockaddr *)(void *)&peer, &n) == 0 &&
            peer.sin_family == AF_INET && peer.sin_port == own.sin_port)
            return fd;
    }
    return -1;
}

static void what_is_small_is_not_kept_back_for_more(void)
{
    open_it();
    int listener = listen_gateway();
    int client = connect_client(), on = 0;
    int gateway = accept_gateway(listener);
    socklen_t n = sizeof on;
    TEST_CHECK(getsockopt(other_end(client), IPPROTO_TCP, TCP_NODELAY, &on, &n) == 0 && on == 1);
    (void)fd_close(gateway);
    (void)fd_close(client);
    expect_used(0);
    (void)fd_close(listener);
    close_it();
}

static void what_cannot_be_listened_on_is_an_error(void)
{
    struct relay *none = NULL;
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    struct relay_config config = {.loop = loop, .host = "192.0.2.1"};
    TEST_CHECK(relay_open(&config, &none, &e) < 0 && strstr(e.msg, "192.0.2.1") != NULL);
    config.host = "127.0.0.1 ";
    TEST_CHECK(relay_open(&config, &none, &e) < 0);
    TEST_CHECK(none == NULL);
    loop = loop_free(loop);
}

static void pass_time(int64_t ms)
{
    fake_now += ms;
    loop_turn(loop, 0);
}

/* A client that waits for the gateway is there until its time is over. */
static void come_and_go(void)
{
    (void)close(connect_client());
    pass_time(RELAY_START_MS);
    expect_used(0);
}

static void a_gateway_that_nobody_uses_is_idle_after_a_while(void)
{
    open_it();
    int client = connect_client();
    pass_time(2 * IDLE_MS);
    TEST_CHECK(idled == 0);
    (void)close(client);
    expect_used(0);
    pass_time(IDLE_MS - 1);
    TEST_CHECK(idled == 0);
    pass_time(1);
    TEST_CHECK(idled == 1);
    close_it();
}

static void kernels_keep_a_gateway_without_connections_busy(void)
{
    open_it();
    busy = true;
    come_and_go();
    pass_time(IDLE_MS);
    TEST_CHECK(idled == 0);
    busy = false;
    pass_time(IDLE_MS - 1);
    TEST_CHECK(idled == 0);
    pass_time(1);
    TEST_CHECK(idled == 1);
    close_it();
}

static void a_connection_in_time_keeps_the_gateway(void)
{
    open_it();
    come_and_go();
    pass_time(IDLE_MS - 1);
    int client = connect_client();
    pass_time(IDLE_MS);
    TEST_CHECK(idled == 0);
    (void)close(client);
    close_it();
}

static bool is_given(int unused)
{
    (void)unused;
    return other_fd >= 0;
}

static void what_is_for_another_wire_neither_starts_the_gateway_nor_counts(void)
{
    other = on_other;
    open_it();
    int stranger = connect_socket(), client = connect_socket();
    say(stranger, "GET / HTTP/1.1\r\n");
    TEST_CHECK(within(GUARD_MS, is_given, 0));
    expect(other_fd, "GET / HTTP/1.1\r\n");
    TEST_CHECK(wanted == 0 && relay_connections(relay) == 0);
    say(client, "GET /api/kernels HTTP/1.1\r\n");
    expect_used(1);
    TEST_CHECK(wanted == 1);
    int listener = listen_gateway();
    int gateway = accept_gateway(listener);
    expect(gateway, "GET /api/kernels HTTP/1.1\r\n");
    pass(client, gateway, "POST /execute HTTP/1.1\r\n"); /* it stays with whom it was for */
    other_fd = fd_close(other_fd);
    (void)fd_close(gateway);
    (void)fd_close(stranger);
    (void)fd_close(client);
    expect_used(0);
    (void)fd_close(listener);
    close_it();
}

#define TEST(name) {#name, name}
TEST_LIST = {
    TEST(the_gateway_is_wanted_at_the_first_connection),
    TEST(a_client_that_waits_gets_502_when_the_gateway_ends),
    TEST(nobody_waits_for_ever),
    TEST(an_unanswered_request_gets_502_and_a_websocket_its_end),
    TEST(a_half_closed_client_still_gets_its_answer),
    TEST(who_does_not_read_stops_who_writes_and_nothing_is_lost),
    TEST(a_gateway_that_is_gone_does_not_cost_what_it_has_said),
    TEST(what_is_small_is_not_kept_back_for_more),
    TEST(a_gateway_that_nobody_uses_is_idle_after_a_while),
    TEST(kernels_keep_a_gateway_without_connections_busy),
    TEST(a_connection_in_time_keeps_the_gateway),
    TEST(what_is_for_another_wire_neither_starts_the_gateway_nor_counts),
    TEST(what_cannot_be_listened_on_is_an_error),
    {NULL, NULL},
};
