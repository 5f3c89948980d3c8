/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/kin.h"

static int ends[2];

static void tell(pid_t pid)
{
    TEST_ASSERT(write(ends[1], &pid, sizeof pid) == (ssize_t)sizeof pid);
}

static pid_t hear(void)
{
    pid_t pid = 0;
    TEST_ASSERT(read(ends[0], &pid, sizeof pid) == (ssize_t)sizeof pid);
    return pid;
}

static void parents_are_above_their_childrens_children(void)
{
    TEST_ASSERT(pipe2(ends, O_CLOEXEC) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            tell(getpid());
            (void)pause();
        }
        (void)pause();
    }
    pid_t grandchild = hear();
    TEST_CHECK(kin_below(child, getpid()) && kin_below(grandchild, getpid()));
    TEST_CHECK(kin_below(grandchild, child));
    TEST_CHECK(kin_below(getpid(), getppid()));
    TEST_CHECK(!kin_below(getpid(), getpid()));
    TEST_CHECK(!kin_below(child, grandchild) && !kin_below(getppid(), child));
    (void)kill(grandchild, SIGKILL);
    (void)kill(child, SIGKILL);
    TEST_CHECK(waitpid(child, NULL, 0) == child);
    TEST_CHECK(kin_below(child, getpid())); /* it has gone: nobody can tell */
}

static void orphans_stay_below_a_subreaper(void)
{
    TEST_ASSERT(pipe2(ends, O_CLOEXEC) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            (void)setsid();
            tell(getpid());
            (void)pause();
        }
        _exit(0);
    }
    pid_t orphan = hear();
    TEST_CHECK(waitpid(child, NULL, 0) == child);
    TEST_CHECK(kin_below(orphan, getpid()));
    TEST_CHECK(kill(orphan, SIGKILL) == 0 && waitpid(orphan, NULL, 0) == orphan);
}

static void peers_are_known_by_who_connected(void)
{
    int pair[2];
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    TEST_CHECK(!kin_peer_below(pair[0])); /* we are not below ourselves */
    TEST_ASSERT(pipe2(ends, O_CLOEXEC) == 0);
    pid_t server = getpid(), child = fork();
    if (child == 0) { /* the pair is its parent's, who is above */
        tell(kin_peer_below(pair[0]) ? 1 : 2);
        _exit(0);
    }
    TEST_CHECK(hear() == 2);
    TEST_CHECK(waitpid(child, NULL, 0) == child);
    TEST_ASSERT(getpid() == server);
    TEST_CHECK(kin_peer_below(ends[0])); /* no socket at all */
}

/* The number of who connected may be anybody's by now. */
static void a_peer_that_has_ended_is_not_believed(void)
{
    int pair[2], back[2];
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, back) == 0);
    pid_t child = fork();
    if (child == 0) {
        struct msghdr m = {0};
        union {
            struct cmsghdr head;
            char space[CMSG_SPACE(sizeof(int))];
        } rights = {0};
        struct iovec part = {&(char){0}, 1};
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
            _exit(1);
        m = (struct msghdr){.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = &rights,
                            .msg_controllen = sizeof rights};
        rights.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        rights.head.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&rights.head), &pair[0], sizeof pair[0]);
        _exit(sendmsg(back[1], &m, 0) != 1);
    }
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } rights;
    char byte;
    struct iovec part = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights};
    int status = -1, fd = -1;
    TEST_ASSERT(recvmsg(back[0], &m, MSG_CMSG_CLOEXEC) == 1);
    memcpy(&fd, CMSG_DATA(&rights.head), sizeof fd);
    TEST_ASSERT(waitpid(child, &status, 0) == child && status == 0);
    TEST_CHECK(kin_peer_below(fd));
}

TEST_LIST = {
    {"parents_are_above_their_childrens_children", parents_are_above_their_childrens_children},
    {"orphans_stay_below_a_subreaper", orphans_stay_below_a_subreaper},
    {"peers_are_known_by_who_connected", peers_are_known_by_who_connected},
    {"a_peer_that_has_ended_is_not_believed", a_peer_that_has_ended_is_not_believed},
    {NULL, NULL},
};
