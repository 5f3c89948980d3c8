/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/preload/forks.h - what forks.so is asked for. _Order in ipybox_kernel/forks.py is the
 * same.
 * Caller: has the interpreter's lock. Its arguments stay until the call returns.
 * Errors: `failed`, with no process made that stays. */
#ifndef SANDBOX_PRELOAD_FORKS_H
#define SANDBOX_PRELOAD_FORKS_H

struct fork_order {
    int (*fork)(void);                                                 /* the C library's */
    void (*before)(void), (*after_parent)(void), (*after_child)(void); /* PyOS_BeforeFork(), ... */
    const char *program; /* what the root executes: PROGRAM branch 3 PID */
    void *rseq;          /* where the thread has its restartable sequences; NULL: nowhere */
    int null, line;      /* descriptors: what 0, 1, 2 and 3 are in the root */
    volatile int root;   /* out: its id */
    volatile int failed; /* out: the errno of what failed, else 0 */
};

/* 1 in the branch, 0 in the process that is forked. */
int fork_branch(struct fork_order *order);

#endif
