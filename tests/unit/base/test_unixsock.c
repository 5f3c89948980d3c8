/* SPDX-License-Identifier: Apache-2.0 */
#include "base/unixsock.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <acutest.h>

#include "unit/as_service.h"

static void pair(int *ends)
{
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
}

/* The lowest number that is free: it grows when a descriptor stays open. */
static int lowest(void)
{
    int fd = dup(0);
    (void)close(fd);
    return fd;
}

static void a_message_brings_its_bytes_and_descriptors(void)
{
    int ends[2], sent[UNIXSOCK_FDS_MAX], got[UNIXSOCK_FDS_MAX];
    uint32_t word = 0;
    size_t count = 0;
    pair(ends);
    for (size_t i = 0; i < UNIXSOCK_FDS_MAX; i++)
        sent[i] = ends[i % 2];
    TEST_CHECK(unixsock_send(ends[0], "four", 4, sent, UNIXSOCK_FDS_MAX, 0) == 0);
    TEST_CHECK(unixsock_receive(ends[1], &word, 4, got, UNIXSOCK_FDS_MAX, &count) == 0);
    TEST_CHECK(memcmp(&word, "four", 4) == 0 && count == UNIXSOCK_FDS_MAX);
    for (size_t i = 0; i < count; i++)
        TEST_CHECK(got[i] != sent[i] && fcntl(got[i], F_GETFD) == FD_CLOEXEC);
    TEST_CHECK(unixsock_send(ends[0], "four", 4, NULL, 0, 0) == 0);
    TEST_CHECK(unixsock_receive(ends[1], &word, 4, NULL, 0, &count) == 0 && count == 0);
}

static void of_a_message_that_is_not_as_expected_nothing_stays_open(void)
{
    static const struct {
        size_t bytes, fds, most;
    } cases[] = {{4, 2, 1}, {4, 1, 0}, {4, 3, 2}, {3, 1, 1}, {5, 1, 1}};
    int ends[2], got[UNIXSOCK_FDS_MAX] = {-1, -1, -1};
    uint32_t word;
    size_t count = 7;
    pair(ends);
    const int before = lowest();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int sent[] = {ends[0], ends[1], 0};
        TEST_CHECK(unixsock_send(ends[0], "bytes", cases[i].bytes, sent, cases[i].fds, 0) == 0);
        TEST_CHECK(unixsock_receive(ends[1], &word, 4, got, cases[i].most, &count) == -EBADMSG);
        TEST_CHECK(lowest() == before && got[0] == -1 && count == 7);
        TEST_MSG("case %zu", i);
    }
}

static void the_end_of_the_other_side_is_an_error_of_its_own(void)
{
    int ends[2];
    char byte;
    size_t count = 0;
    pair(ends);
    (void)close(ends[0]);
    TEST_CHECK(unixsock_receive(ends[1], &byte, 1, NULL, 0, &count) == -EPIPE);
    TEST_CHECK(unixsock_send(ends[1], "x", 1, NULL, 0, 0) == -EPIPE);
}

static void listen_as_service(const char *dir)
{
    struct stat st;
    struct sockaddr_un to;
    char own[64], path[80];
    int fd = -1, client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    make_of_service(dir, own, sizeof own);
    (void)snprintf(path, sizeof path, "%s/sock", own);
    (void)umask(077);
    HOLDS(unixsock_listen(path, 1, &fd, NULL) == 0 && unixsock_address(path, &to, NULL) == 0);
    HOLDS(connect(client, (struct sockaddr *)(void *)&to, sizeof to) < 0); /* 0700 is not for us */
    struct service service = service_enter();
    HOLDS(lstat(path, &st) == 0 && st.st_uid == SERVICE && (st.st_mode & 07777) == 0666);
    HOLDS(chmod(own, 0711) == 0);
    service_leave(&service);
    HOLDS(connect(client, (struct sockaddr *)(void *)&to, sizeof to) == 0);
    HOLDS(unlink(path) < 0);
    unixsock_remove(path);
    HOLDS(lstat(path, &st) < 0 && errno == ENOENT);
    remove_of_service(own);
}

static void a_servers_own_uid_has_the_socket_and_others_connect(void)
{
    as_service(listen_as_service);
}

TEST_LIST = {
    {"a message brings its bytes and descriptors", a_message_brings_its_bytes_and_descriptors},
    {"of a message that is not as expected nothing stays open",
     of_a_message_that_is_not_as_expected_nothing_stays_open},
    {"the end of the other side is an error of its own",
     the_end_of_the_other_side_is_an_error_of_its_own},
    {"a server's own uid has the socket and others connect",
     a_servers_own_uid_has_the_socket_and_others_connect},
    {NULL, NULL},
};
