/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/shim/branch_line.h - what is said on the line of a branch (branches.h); the kernel's half
 * is ipybox_kernel/branch.py. Private to branch*.c and spawn.c.
 * Trust:   the shim takes nothing from here but who sent it, and how a branch has ended; a text is
 *          shown to whoever asked for the branch. */
#ifndef SANDBOX_SHIM_BRANCH_LINE_H
#define SANDBOX_SHIM_BRANCH_LINE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define BRANCH_VERSION 1
#define BRANCH_TEXT_MAX 512

/* Descriptors of SHIM_FORK: the branch's control socket and what the kernel is given but for the
 * line: its 1 and 2, CHILD_FDS_MAX of its own, and a file that says the rest (spawn.h). */
#define BRANCH_ASKED 9
#define BRANCH_GIVEN 9 /* without the former, with the line */

struct fork_line {
    uint32_t version;
};

enum branch_kind {
    BRANCH_ROOT = 1, /* by the root; a: the branch */
    BRANCH_FAILED,   /* by the kernel that was to fork: why, as text; a: EBUSY or EDOM */
    BRANCH_ENDED,    /* by the root; a: exit status or -1, b: signal or 0 */
};

struct branch_word {
    uint32_t kind;
    int32_t a, b;
    char text[BRANCH_TEXT_MAX]; /* ends with a 0 */
};

/* -EAGAIN: there is none; -EPIPE: nobody is there. A word may end behind any of its members. */
MUST_CHECK int branch_line_receive(int line, struct branch_word *ret, pid_t *ret_sender);

#endif
