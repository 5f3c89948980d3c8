/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/front/httptest.h - a client of one's own for the tests of the HTTP door: raw bytes
 * over sockets, in turns with the loop under test. */
#ifndef UNIT_FRONT_HTTPTEST_H
#define UNIT_FRONT_HTTPTEST_H

#include <acutest.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "loop/loop.h"

#define WS_KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define WS_HEAD                                                                                    \
    "Host: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"                             \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " WS_KEY "\r\n"

static struct loop *loop;
static int port;
static int64_t fake_now = 1000;
static struct buf got = {.cap = (size_t)64 << 20}; /* what the last ask() or hear() brought */

static int64_t fake_clock(void)
{
    return fake_now;
}

static void turn(void)
{
    for (int i = 0; i < 6; i++)
        loop_turn(loop, 2);
}

static __attribute__((unused)) void pass(int64_t ms)
{
    fake_now += ms;
    turn();
}

static int dial(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    TEST_ASSERT(connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to) == 0);
    turn();
    return fd;
}

static void say_n(int fd, const char *bytes, size_t n)
{
    for (size_t sent = 0; sent < n;) {
        ssize_t some = send(fd, bytes + sent, n - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (some < 0 && errno != EAGAIN)
            break;
        sent += some > 0 ? (size_t)some : 0;
        turn();
    }
}

static void say(int fd, const char *text)
{
    say_n(fd, text, strlen(text));
}

/* Reads what comes within some turns; returns whether the connection has ended. */
static bool hear(int fd)
{
    static char bytes[65536];
    bool ended = false;
    buf_clear(&got);
    for (int idle = 0; idle < 4 && !ended;) {
        ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        ended = n == 0 || (n < 0 && errno != EAGAIN);
        if (n > 0)
            (void)buf_add(&got, bytes, (size_t)n);
        idle = n > 0 ? 0 : idle + 1;
        turn();
    }
    return ended;
}

static void check_head(const char *expected)
{
    const char *text = buf_text(&got);
    TEST_CHECK(strncmp(text, expected, strlen(expected)) == 0);
    TEST_MSG("expected: %s\nactual: %.800s", expected, text);
}

static __attribute__((unused)) void check_has(const char *expected)
{
    TEST_CHECK(got.len > 0 && memmem(got.data, got.len, expected, strlen(expected)) != NULL);
    TEST_MSG("expected: %s\nactual: %.800s", expected, buf_text(&got));
}

static __attribute__((unused)) void check_has_not(const char *unexpected)
{
    TEST_CHECK(strstr(buf_text(&got), unexpected) == NULL);
    TEST_MSG("not expected: %s\nactual: %.800s", unexpected, buf_text(&got));
}

/* One request on a connection of its own. */
static __attribute__((unused)) void ask(const char *text)
{
    int fd = dial();
    say(fd, text);
    (void)hear(fd);
    (void)fd_close(fd);
    turn();
}

static __attribute__((unused)) const char *body_of(void)
{
    const char *at = strstr(buf_text(&got), "\r\n\r\n");
    return at ? at + 4 : "";
}

/* A frame as clients send it: masked, here by zeros. */
static __attribute__((unused)) void say_frame(int fd, int first_byte, const char *bytes, size_t n)
{
    struct buf frame = {.cap = n + 16};
    (void)buf_addc(&frame, (char)first_byte);
    (void)buf_addc(&frame, (char)(0x80 | (n < 126 ? n : n < 65536 ? 126 : 127)));
    for (int shift = n < 126 ? -1 : n < 65536 ? 8 : 56; shift >= 0; shift -= 8)
        (void)buf_addc(&frame, (char)((uint64_t)n >> shift & 255));
    (void)buf_add(&frame, "\0\0\0\0", 4);
    (void)buf_add(&frame, bytes, n);
    say_n(fd, frame.data, frame.len);
    buf_done(&frame);
}

static void open_loop(void)
{
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    loop_set_clock(loop, fake_clock);
}

static void close_loop(void)
{
    loop = loop_free(loop);
    buf_done(&got);
}

#endif
