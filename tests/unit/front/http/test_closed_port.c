/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "front/http/closed_port.h"

#define TEXT "no token: set ONE"

static int64_t now = 1000;
static struct loop *loop;
static struct closed_port *closed;

static int64_t fake_clock(void)
{
    return now;
}

static void turn(void)
{
    for (int i = 0; i < 4; i++)
        loop_turn(loop, 0);
}

static void open_closed_port(void)
{
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    loop_set_clock(loop, fake_clock);
    closed = closed_port_open(loop, 0, TEXT);
    TEST_ASSERT_(closed_port_more(closed, "127.0.0.1", 0, &e) == 0, "%s", e.msg);
}

static void end_closed_port(void)
{
    closed = closed_port_close(closed);
    loop = loop_free(loop);
}

static int connect_to_it(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)closed_port_port(closed)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)connect(fd, (struct sockaddr *)(void *)&at, sizeof at);
    turn();
    return fd;
}

/* What has come, up to an end or to nothing more; *ret_ended: it was an end. */
static size_t receive(int fd, char *text, size_t size, bool *ret_ended)
{
    size_t n = 0;
    ssize_t got;
    turn();
    while ((got = recv(fd, text + n, size - n - 1, 0)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    *ret_ended = got == 0;
    return n;
}

static void every_request_is_told_why(void)
{
    char text[1000];
    bool ended;
    open_closed_port();
    int fd = connect_to_it();
    TEST_CHECK(send(fd, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL) == 18);
    (void)receive(fd, text, sizeof text, &ended);
    TEST_CHECK_(strncmp(text, "HTTP/1.1 403 ", 13) == 0, "%s", text);
    TEST_CHECK_(strstr(text, "\r\nContent-Length: 18\r\n") && strstr(text, "\r\n\r\n" TEXT "\n"),
                "%s", text);
    TEST_CHECK(ended);
    (void)close(fd);
    turn();
    end_closed_port();
}

static void what_follows_is_thrown_away(void)
{
    char text[1000];
    bool ended;
    open_closed_port();
    int fd = connect_to_it();
    TEST_CHECK(send(fd, "P", 1, MSG_NOSIGNAL) == 1);
    turn();
    static char body[64 << 10];
    for (int i = 0; i < 8; i++) {
        (void)send(fd, body, sizeof body, MSG_NOSIGNAL);
        turn();
    }
    TEST_CHECK(receive(fd, text, sizeof text, &ended) > 0 && ended);
    TEST_CHECK(strstr(text, TEXT) != NULL);
    (void)close(fd);
    end_closed_port();
}

static void who_says_nothing_is_let_go(void)
{
    char text[10];
    bool ended;
    open_closed_port();
    int fd = connect_to_it();
    TEST_CHECK(receive(fd, text, sizeof text, &ended) == 0 && !ended);
    now += CLOSED_PORT_MS;
    TEST_CHECK(receive(fd, text, sizeof text, &ended) == 0 && ended);
    (void)close(fd);
    end_closed_port();
}

static void the_oldest_makes_room(void)
{
    char text[10];
    bool ended;
    int fds[CLOSED_PORT_MAX + 1];
    open_closed_port();
    for (int i = 0; i <= CLOSED_PORT_MAX; i++)
        fds[i] = connect_to_it();
    TEST_CHECK(receive(fds[0], text, sizeof text, &ended) == 0 && ended);
    TEST_CHECK(receive(fds[1], text, sizeof text, &ended) == 0 && !ended);
    for (int i = 0; i <= CLOSED_PORT_MAX; i++)
        (void)close(fds[i]);
    end_closed_port();
}

TEST_LIST = {
    {"every_request_is_told_why", every_request_is_told_why},
    {"what_follows_is_thrown_away", what_follows_is_thrown_away},
    {"who_says_nothing_is_let_go", who_says_nothing_is_let_go},
    {"the_oldest_makes_room", the_oldest_makes_room},
    {NULL, NULL},
};
