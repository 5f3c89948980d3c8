/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "front/relay.h"

static struct loop *loop;
static struct relay *relay;
static char dir[] = "/tmp/relay-XXXXXX";
static char path[64];
static int wanted;
static size_t used;
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

static void on_used(void *ctx, size_t count)
{
    (void)ctx;
    used = count;
}

static void open_it(void)
{
    TEST_ASSERT(mkdtemp(dir) != NULL);
    (void)snprintf(path, sizeof path, "%s/sock", dir);
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    loop_set_clock(loop, fake_clock);
    struct relay_config config = {
        .loop = loop, .host = "127.0.0.1", .upstream = path, .wanted = on_wanted, .used = on_used};
    TEST_ASSERT(relay_open(&config, &relay, NULL) == 0);
}

static void close_it(void)
{
    relay = relay_close(relay);
    loop = loop_free(loop);
    (void)unlink(path);
    TEST_CHECK(rmdir(dir) == 0);
}

static void turn(void)
{
    for (int i = 0; i < 6; i++) {
        fake_now += 5;
        loop_turn(loop, 2);
    }
}

static int connect_client(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)relay_port(relay)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TEST_ASSERT(connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to) == 0);
    turn();
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
    turn();
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    TEST_ASSERT(fd >= 0);
    return fd;
}

static void say(int fd, const char *text)
{
    TEST_ASSERT(send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
    turn();
}

static void expect(int fd, const char *expected)
{
    char got[4096];
    ssize_t n = recv(fd, got, sizeof got - 1, MSG_DONTWAIT);
    got[n > 0 ? n : 0] = '\0';
    TEST_CHECK(strncmp(got, expected, strlen(expected)) == 0 && (*expected || n < 0));
    TEST_MSG("expected: %s", expected);
    TEST_MSG("actual:   %s (%zd)", got, n);
}

static void expect_end(int fd)
{
    char byte;
    TEST_CHECK(recv(fd, &byte, 1, MSG_DONTWAIT) == 0);
}

static void the_gateway_is_wanted_at_the_first_connection(void)
{
    open_it();
    TEST_CHECK(wanted == 0);
    int client = connect_client();
    TEST_CHECK(wanted == 1 && used == 1);
    say(client, "GET");
    int listener = listen_gateway();
    int gateway = accept_gateway(listener);
    turn();
    expect(gateway, "GET");
    say(gateway, "200");
    expect(client, "200");
    int second = connect_client();
    TEST_CHECK(wanted == 1 && used == 2);
    (void)fd_close(second);
    (void)fd_close(client);
    turn();
    expect_end(gateway);
    (void)fd_close(gateway);
    (void)fd_close(listener); /* with it the second, which it has not accepted */
    turn();
    TEST_CHECK(used == 0);
    close_it();
}

static void a_client_that_waits_gets_502_when_the_gateway_ends(void)
{
    open_it();
    int client = connect_client();
    say(client, "GET");
    relay_gateway_ended(relay);
    turn();
    expect(client, "HTTP/1.1 502 ");
    expect_end(client);
    (void)fd_close(client);
    turn();
    TEST_CHECK(used == 0);
    close_it();
}

static void nobody_waits_for_ever(void)
{
    open_it();
    int client = connect_client();
    fake_now += RELAY_START_MS;
    turn();
    expect(client, "HTTP/1.1 502 ");
    fake_now += 60000; /* it does not close: it is closed */
    turn();
    TEST_CHECK(used == 0);
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
    say(plain, "GET");
    say(idle, "GET");
    say(gateways[1], "HTTP/1.1 200 OK");
    expect(idle, "HTTP/1.1 200 OK");
    say(gateways[2], "HTTP/1.1 101 Switching");
    expect(upgraded, "HTTP/1.1 101 Switching");
    say(upgraded, "frame");
    for (int i = 0; i < 3; i++)
        (void)fd_close(gateways[i]);
    turn();
    expect(plain, "HTTP/1.1 502 ");
    expect_end(idle);
    expect_end(upgraded);
    (void)fd_close(plain);
    (void)fd_close(idle);
    (void)fd_close(upgraded);
    turn();
    TEST_CHECK(used == 0);
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
    turn();
    expect(gateway, "GET");
    expect_end(gateway);
    say(gateway, "answer");
    (void)fd_close(gateway);
    turn();
    expect(client, "answer");
    expect_end(client);
    TEST_CHECK(used == 0);
    (void)fd_close(client);
    (void)fd_close(listener);
    close_it();
}

/* Writes until nothing is taken any more; returns how much was. */
static size_t fill(int fd)
{
    static char bytes[65536];
    size_t sum = 0;
    for (int idle = 0; idle < 5;) {
        ssize_t n = send(fd, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        sum += n > 0 ? (size_t)n : 0;
        idle = n > 0 ? 0 : idle + 1;
        turn();
        if (sum > (size_t)256 << 20)
            break;
    }
    return sum;
}

static size_t drain(int fd)
{
    static char bytes[65536];
    size_t sum = 0;
    for (int idle = 0; idle < 5;) {
        ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        sum += n > 0 ? (size_t)n : 0;
        idle = n > 0 ? 0 : idle + 1;
        if (n <= 0)
            turn();
    }
    return sum;
}

static void who_does_not_read_stops_who_writes_and_nothing_is_lost(void)
{
    open_it();
    int listener = listen_gateway();
    int client = connect_client();
    int gateway = accept_gateway(listener);
    size_t down = fill(gateway), up = fill(client);
    TEST_CHECK(down > 0 && down < (size_t)64 << 20);
    TEST_CHECK(up > 0 && up < (size_t)64 << 20);
    (void)shutdown(gateway, SHUT_WR);
    TEST_CHECK(drain(client) == down);
    (void)fd_close(gateway);
    (void)fd_close(client);
    turn();
    TEST_CHECK(used == 0);
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
    turn();
    size_t got = drain(client);
    TEST_CHECK(got == down);
    TEST_MSG("%zu of %zu", got, down);
    (void)fd_close(client);
    turn();
    TEST_CHECK(used == 0);
    (void)fd_close(listener);
    close_it();
}

static void what_cannot_be_listened_on_is_an_error(void)
{
    struct relay *none = NULL;
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    struct relay_config config = {.loop = loop, .host = "192.0.2.1", .used = on_used};
    TEST_CHECK(relay_open(&config, &none, &e) < 0 && strstr(e.msg, "192.0.2.1") != NULL);
    config.host = "127.0.0.1 ";
    TEST_CHECK(relay_open(&config, &none, &e) < 0);
    TEST_CHECK(none == NULL);
    loop = loop_free(loop);
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
    TEST(what_cannot_be_listened_on_is_an_error),
    {NULL, NULL},
};
