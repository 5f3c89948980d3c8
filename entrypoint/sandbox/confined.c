/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/sandbox/confined.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/confine/confine.h"

enum { WAIT_MS = 30000, FAILED_STATUS = 127 };

static void become(const struct confined *confined, pid_t parent, int sock)
{
    int step = 0;
    /* The broker reads what calls point to; a program that nobody may read does not let it. */
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
        getppid() != parent || confine_self(sock, &step) < 0)
        _exit(FAILED_STATUS);
    (void)fd_close(sock);
    (void)sigprocmask(SIG_SETMASK, confined->mask, NULL);
    _exit(confined->run(confined->ctx));
}

static int confine_child(const struct confined *confined, int sock, struct err *e)
{
    int r = guard_settle(e);
    if (r == 0)
        r = guard_offer(confined->guard, sock, e);
    if (r == 0)
        r = guard_accept(confined->guard, sock, WAIT_MS, confined->refused, confined->ctx, e);
    return r;
}

int confined_start(const struct confined *confined, pid_t *ret_pid, struct err *e)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(e, -errno, "socketpair: %s", strerror(errno));
    drop_fd int ours = pair[0];
    drop_fd int theirs = pair[1];
    pid_t self = getpid(), pid = fork();
    if (pid < 0)
        return err_set(e, -errno, "fork: %s", strerror(errno));
    if (pid == 0) {
        ours = fd_close(ours);
        become(confined, self, fd_take(&theirs));
    }
    theirs = fd_close(theirs);
    int r = confine_child(confined, ours, e);
    if (r < 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return r;
    }
    *ret_pid = pid;
    return 0;
}
