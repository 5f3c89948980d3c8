/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/seccomp/syscalls.h - numbers of system calls that are newer than the headers we build
 * with.
 * Source: the kernel's syscall.tbl; from 424 on a number is the same on every architecture. */
#ifndef SANDBOX_SECCOMP_SYSCALLS_H
#define SANDBOX_SECCOMP_SYSCALLS_H

#include <sys/syscall.h>

enum {
    CALL_QUOTACTL_FD = 443,
    CALL_FCHMODAT2 = 452,
    CALL_SETXATTRAT = 463,
    CALL_GETXATTRAT = 464,
    CALL_LISTXATTRAT = 465,
    CALL_REMOVEXATTRAT = 466,
    CALL_OPEN_TREE_ATTR = 467,
    CALL_FILE_GETATTR = 468,
    CALL_FILE_SETATTR = 469,
    CALL_LAST_KNOWN = CALL_FILE_SETATTR
};

#endif
