/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/sandbox/wallstest.h - an act in a child, without a wall and behind one.
 * Both without capabilities. An act answers 0 when it was done, or the errno of its refusal. */
#ifndef UNIT_SANDBOX_WALLSTEST_H
#define UNIT_SANDBOX_WALLSTEST_H

#include <acutest.h>

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/landlock/landlock_abi.h"
#include "sandbox/seccomp/filter.h"

typedef int (*act_fn)(void);

enum { ENDED_BY_SIGNAL = 1000, NO_WALL = 253 }; /* 1000 + signal: how a child of run() ended */

struct wall {
    const struct filter_wants *wants; /* NULL: no filter */
    int ruleset;                      /* -1: no Landlock */
};

static const struct wall no_wall = {NULL, -1};

/* As on the way into a sandbox: CAP_PERFMON reads the memory of others past every wall. */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return (int)syscall(SYS_capset, &head, none);
}

/* The listener, 0 without one, or -1. */
static int enter_wall(const struct wall *wall)
{
    if (drop_capabilities() < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    if (wall->ruleset >= 0 && landlock_restrict(wall->ruleset, 0) < 0)
        return -1;
    if (!wall->wants)
        return 0;
    struct sock_filter *filter = NULL;
    unsigned short count = 0;
    if (filter_build(wall->wants, &filter, &count, NULL) < 0)
        return -1;
    struct sock_fprog program = {count, filter};
    const unsigned flags = wall->wants->listener ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
    int r = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    xfree(filter);
    return r;
}

/* What is notified is answered ENOSYS here, for nobody listens. */
static int run(act_fn act, const struct wall *wall)
{
    pid_t pid = fork();
    if (pid == 0) {
        int listener = enter_wall(wall);
        if (listener > 0)
            (void)close(listener);
        _exit(listener < 0 ? NO_WALL : act());
    }
    int status = 0;
    TEST_ASSERT(pid > 0 && waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : ENDED_BY_SIGNAL + WTERMSIG(status);
}

static inline int call_result(long r)
{
    return r < 0 ? errno : 0;
}

#endif
