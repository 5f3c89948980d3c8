/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/shim/branch_line.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/unixsock.h"
#include "sandbox/shim/shim.h"

enum { USAGE = 2 };

static pid_t sender_of(struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        struct ucred who;
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
            continue;
        memcpy(&who, CMSG_DATA(c), sizeof who);
        return who.pid;
    }
    return 0;
}

int branch_line_receive(int line, struct branch_word *ret, pid_t *ret_sender)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct branch_word word = {0};
    struct iovec part = {&word, sizeof word};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t n = recvmsg(line, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? -EAGAIN : -errno;
    if (n == 0)
        return -EPIPE;
    word.text[BRANCH_TEXT_MAX - 1] = '\0';
    *ret = word;
    *ret_sender = sender_of(&message);
    return 0;
}

/* --- the root: `ipybox branch LINE PID` ------------------------------------------------------- */

struct root {
    int line, signals;
    pid_t branch;
    bool told;
};

static int say_word(const struct root *root, enum branch_kind kind, int32_t a, int32_t b)
{
    const struct branch_word word = {.kind = (uint32_t)kind, .a = a, .b = b};
    return unixsock_send(root->line, &word, sizeof word, NULL, 0, MSG_DONTWAIT);
}

/* What the branch has orphaned comes to us, and goes on until the shim ends it. */
static void reap_for_root(struct root *root)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
        if (pid != root->branch || root->told)
            continue;
        const bool exited = WIFEXITED(status);
        root->told = true;
        (void)say_word(root, BRANCH_ENDED, exited ? WEXITSTATUS(status) : -1,
                       exited ? 0 : WTERMSIG(status));
    }
}

static int set_up_root(struct root *root)
{
    sigset_t set;
    sigfillset(&set);
    if (sigprocmask(SIG_SETMASK, &set, NULL) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return -errno;
    (void)signal(SIGCHLD, SIG_DFL);
    root->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return root->signals < 0 ? -errno : say_word(root, BRANCH_ROOT, root->branch, 0);
}

/* The shim's end is closed when it has gone. */
static void serve_root(struct root *root)
{
    struct pollfd fds[] = {{root->line, 0, 0}, {root->signals, POLLIN, 0}};
    struct signalfd_siginfo info;
    for (;;) {
        reap_for_root(root);
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return;
        if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
            return;
        while (read(root->signals, &info, sizeof info) == (ssize_t)sizeof info)
            ;
    }
}

/* 0: it is none. */
static int positive_number(const char *text)
{
    char *end;
    const long n = strtol(text, &end, 10);
    return *end == '\0' && n > 0 && n <= INT32_MAX ? (int)n : 0;
}

int branch_main(int argc, char **argv)
{
    struct root root = {.signals = -1};
    if (argc != 3)
        return USAGE;
    root.line = positive_number(argv[1]);
    root.branch = positive_number(argv[2]);
    if (root.line < 3 || root.branch <= 1) {
        (void)dprintf(STDERR_FILENO, "ipybox branch: this role is started by kernels only\n");
        return USAGE;
    }
    if (set_up_root(&root) == 0)
        serve_root(&root);
    (void)kill(root.branch, SIGKILL);
    return 0;
}
