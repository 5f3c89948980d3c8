/* SPDX-License-Identifier: Apache-2.0
 *
 * A library of its own, which the template of kernels loads (ipybox_kernel/forks.py): how a kernel
 * makes a branch and the branch's root (src/sandbox/shim/branches.h) with one copy of its page
 * tables, which are most of what a fork costs. The root is made as vfork(2) makes a process: it
 * shares the memory of the kernel, which stands still until the root executes a program. Before
 * that, the root forks the branch, the one copy.
 * Stack:   the root runs on that of the kernel's thread, below fork_branch(), which therefore keeps
 *          nothing there that it needs afterwards but its arguments.
 * Parent:  of the root is the kernel's own (CLONE_PARENT), as if a process between both had ended.
 * Signals: are blocked in all three until the branch has its own memory and the root its program.
 * Limits:  no C library is linked. fork(2) is that of the process, whose hooks are to run; clone(2)
 *          cannot be, for a function of a C library would return twice on one stack.
 * Source:  clone(2), vfork(2), rseq(2); Include/internal of CPython for what surrounds a fork. */
#include <errno.h>
#include <limits.h>
#include <linux/prctl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "sandbox/preload/forks.h"

enum { LINE_FD = 3, RSEQ_SIZE = 32, DIGITS = 12 };

#ifdef __x86_64__
#define RSEQ_SIGNATURE 0x53053053UL
#else
#define RSEQ_SIGNATURE 0xd428bc00UL
#endif

long syscall(long number, ...);

/* 0 in the process that is made, on the same stack; its id; or -errno. */
static inline __attribute__((always_inline)) long clone_shared(void)
{
    const long flags = CLONE_VM | CLONE_VFORK | CLONE_PARENT | SIGCHLD;
#ifdef __x86_64__
    long r;
    register long ctid __asm__("r10") = 0;
    register long tls __asm__("r8") = 0;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"((long)SYS_clone), "D"(flags), "S"(0L), "d"(0L), "r"(ctid), "r"(tls)
                     : "rcx", "r11", "memory");
    return r;
#else
    register long number __asm__("x8") = SYS_clone;
    register long r __asm__("x0") = flags;
    register long stack __asm__("x1") = 0;
    register long ptid __asm__("x2") = 0;
    register long tls __asm__("x3") = 0;
    register long ctid __asm__("x4") = 0;
    __asm__ volatile("svc 0"
                     : "+r"(r)
                     : "r"(number), "r"(stack), "r"(ptid), "r"(tls), "r"(ctid)
                     : "memory");
    return r;
#endif
}

static void set_signals(int how, const unsigned long *mask, unsigned long *ret_before)
{
    (void)syscall(SYS_rt_sigprocmask, (long)how, mask, ret_before, sizeof *mask);
}

static const char *write_digits(char *end, int number)
{
    *--end = '\0';
    do {
        *--end = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return end;
}

static __attribute__((noreturn)) void execute_root(struct fork_order *order, int branch,
                                                   const unsigned long *signals)
{
    char digits[DIGITS];
    const char *const argv[] = {"ipybox", "branch", "3", write_digits(digits + DIGITS, branch),
                                NULL};
    const char *const envp[] = {NULL};
    for (long fd = 0; fd < LINE_FD; fd++)
        (void)syscall(SYS_dup3, (long)order->null, fd, 0L);
    (void)syscall(SYS_dup3, (long)order->line, (long)LINE_FD, 0L);
    (void)syscall(SYS_close_range, LINE_FD + 1L, (long)UINT_MAX, 0L);
    set_signals(SIG_SETMASK, signals, NULL);
    (void)syscall(SYS_execve, order->program, argv, envp);
    order->failed = errno;
    (void)syscall(SYS_kill, (long)branch, (long)SIGKILL);
    for (;;)
        (void)syscall(SYS_exit_group, 127L);
}

/* Returns in the branch alone. */
static __attribute__((noinline)) void be_root(struct fork_order *order,
                                              const unsigned long *signals)
{
    (void)syscall(SYS_setsid);
    (void)syscall(SYS_prctl, (long)PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
    order->root = (int)syscall(SYS_getpid);
    const int branch = order->fork();
    if (branch == 0)
        return;
    if (branch > 0)
        execute_root(order, branch, signals);
    order->failed = errno;
    for (;;)
        (void)syscall(SYS_exit_group, 127L);
}

int fork_branch(struct fork_order *order)
{
    const unsigned long all = ~0UL;
    unsigned long before = 0;
    order->before();
    set_signals(SIG_BLOCK, &all, &before);
    const long pid = clone_shared();
    if (pid == 0) {
        be_root(order, &before);
        if (order->rseq)
            (void)syscall(SYS_rseq, order->rseq, (long)RSEQ_SIZE, 0L, RSEQ_SIGNATURE);
    } else if (pid < 0) {
        order->failed = (int)-pid;
    }
    set_signals(SIG_SETMASK, &before, NULL);
    if (pid == 0)
        order->after_child();
    else
        order->after_parent();
    return pid == 0;
}
