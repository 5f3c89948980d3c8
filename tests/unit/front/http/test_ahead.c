/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "front/http/ahead.h"
#include "front/http/listener.h"

static int accepted_fd = -1;

static void on_accepted(void *ctx, int fd, const struct sockaddr *from, socklen_t n)
{
    (void)from, (void)n;
    accepted_fd = fd;
    loop_quit(ctx);
}

/* A port that is ours until the test ends: what holds it does not listen. */
static int own_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    const int on = 1, held = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TEST_ASSERT(setsockopt(held, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    TEST_ASSERT(bind(held, (struct sockaddr *)&at, n) == 0);
    TEST_ASSERT(getsockname(held, (struct sockaddr *)&at, &n) == 0);
    return ntohs(at.sin_port);
}

static int connect_to(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TEST_ASSERT(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    return fd;
}

static void who_comes_before_the_server_is_served_by_it(void)
{
    struct ahead ahead = {0};
    struct err e = ERR_NONE;
    int port = own_port();
    ahead_listen(&ahead, "127.0.0.1", port);
    TEST_ASSERT(ahead.count == 1);
    TEST_CHECK(fcntl(ahead.fds[0], F_GETFD) == FD_CLOEXEC);
    int early = connect_to(port);
    struct loop *loop = NULL;
    struct listener *listener = NULL;
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    TEST_CHECK_(listener_open(loop, "127.0.0.1", port, &ahead, on_accepted, loop, &listener, &e) ==
                    0,
                "%s", e.msg);
    TEST_CHECK(ahead.count == 0 && listener_port(listener) == port);
    loop_run(loop);
    TEST_CHECK(accepted_fd >= 0);
    (void)close(accepted_fd);
    (void)close(early);
    (void)listener_close(listener);
    (void)loop_free(loop);
}

static void localhost_is_known_without_asking(void)
{
    struct ahead ahead = {0};
    struct err e = ERR_NONE;
    struct loop *loop = NULL;
    struct listener *listener = NULL;
    int port = own_port();
    ahead_listen(&ahead, "localhost", port);
    TEST_CHECK(ahead.count == 1 || ahead.count == 2); /* ::1, where there is one */
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    TEST_CHECK(listener_open(loop, "localhost", port, &ahead, on_accepted, loop, &listener, &e) ==
               0);
    TEST_CHECK(ahead.count == 0);
    (void)listener_close(listener);
    (void)loop_free(loop);
}

static void only_the_same_address_is_taken(void)
{
    struct ahead ahead = {0};
    int port = own_port();
    ahead_listen(&ahead, "127.0.0.1", port);
    TEST_ASSERT(ahead.count == 1);
    struct sockaddr_in other = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_ANY)};
    TEST_CHECK(ahead_take(&ahead, (struct sockaddr *)&other, sizeof other) == -1);
    other.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    TEST_CHECK(ahead_take(NULL, (struct sockaddr *)&other, sizeof other) == -1);
    int fd = ahead_take(&ahead, (struct sockaddr *)&other, sizeof other);
    TEST_CHECK(fd >= 0 && ahead.count == 0);
    (void)close(fd);
}

static void what_cannot_be_had_is_not_there(void)
{
    struct ahead ahead = {0};
    ahead_listen(&ahead, "127.0.0.1", 0);
    ahead_listen(&ahead, "192.0.2.1", 1);
    ahead_listen(&ahead, "a.example", 1); /* which would have to be asked for */
    TEST_CHECK(ahead.count == 0);
    int port = own_port();
    for (int i = 0; i < 2 * AHEAD_MAX; i++)
        ahead_listen(&ahead, "127.0.0.1", port); /* which is taken, but for the first */
    TEST_CHECK(ahead.count == 1);
    ahead_close(&ahead);
    TEST_CHECK(ahead.count == 0);
}

static void they_go_through_one_exec_and_no_other_descriptor_does(void)
{
    struct ahead ahead = {0}, inherited = {0};
    struct err e = ERR_NONE;
    ahead_listen(&ahead, "127.0.0.1", own_port());
    TEST_ASSERT(ahead.count == 1 && ahead_tell(&ahead, &e) == 0);
    ahead_pass(&ahead);
    TEST_CHECK(fcntl(ahead.fds[0], F_GETFD) == 0);
    ahead_inherit(&inherited);
    TEST_CHECK(inherited.count == 1 && inherited.fds[0] == ahead.fds[0]);
    TEST_CHECK(fcntl(ahead.fds[0], F_GETFD) == FD_CLOEXEC && !getenv("IPYBOX_LISTENERS"));
    ahead_close(&inherited);
    static const char *const bad[] = {"", "x", "3", "-1,", "0,1,2,", "9999,", "3;4,"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TEST_ASSERT(setenv("IPYBOX_LISTENERS", bad[i], 1) == 0);
        ahead_inherit(&inherited);
        TEST_CHECK_(inherited.count == 0, "%s", bad[i]);
    }
}

TEST_LIST = {
    {"who_comes_before_the_server_is_served_by_it", who_comes_before_the_server_is_served_by_it},
    {"localhost_is_known_without_asking", localhost_is_known_without_asking},
    {"only_the_same_address_is_taken", only_the_same_address_is_taken},
    {"what_cannot_be_had_is_not_there", what_cannot_be_had_is_not_there},
    {"they_go_through_one_exec_and_no_other_descriptor_does",
     they_go_through_one_exec_and_no_other_descriptor_does},
    {NULL, NULL},
};
