/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/shim/branches.h - the kernels that were forked from the child of a shim while it ran, and
 * from each other. Private to shim*.c.
 * Asked:   by SHIM_FORK on a control socket. The kernel behind that socket is told on its line, and
 *          makes a root (preload/forks.c), which becomes `ipybox branch`, and below it the branch.
 * Line:    a pair between the shim and a kernel, SOCK_SEQPACKET; the child's is the one over which
 *          it was put behind its walls (confine.h), kept open. To the kernel goes struct fork_line
 *          with BRANCH_GIVEN descriptors. On the line of a branch its root says struct branch_word;
 *          who says it is told by the kernel of the machine (SCM_CREDENTIALS).
 * Root:    a process within the walls, to which what the branch orphans comes. It is the name of
 *          the branch's tree (proctree.h), which is left out of the tree of the child. Code in the
 *          kernel that was forked can end it, code in the branch cannot; then the branch is over,
 *          and what is left of it belongs to the child.
 * Walls:   those of the child, and a Landlock domain of its own within them, which the branch makes
 *          (ipybox_kernel/branch.py). The child's broker answers for all: so the shim stays until
 *          the last branch has ended.
 * Control: of a branch as of a child (shim.h); what SHIM_CONFINE asks for is refused.
 * Sleep:   SHIM_SLEEP makes all of a branch stand still, and its memory count with that of the
 *          kernel that it was forked from; when that is too much those who sleep end first, the
 *          oldest before the others. SHIM_WAKE makes it go on in the place of that kernel: others
 *          that sleep count with it then. Who sleeps and has nobody to count with counts by itself.
 * Thread:  the shim's first. */
#ifndef SANDBOX_SHIM_BRANCHES_H
#define SANDBOX_SHIM_BRANCHES_H

#include <poll.h>
#include <stdbool.h>

#include "sandbox/confine/spec.h"
#include "sandbox/proc/proctree.h"
#include "sandbox/shim/shim.h"

#define BRANCHES_MAX PROCTREE_ROOTS_MAX
#define BRANCH_POLLED 3 /* descriptors of each */

struct branch;
struct budget;

struct branches { /* all zero: none */
    struct branch *items[BRANCHES_MAX];
    size_t count;
    struct sandbox_limits limits; /* of each */
    const char *options;          /* as in the spec */
    pid_t child;                  /* of the shim: no root, whatever it says; 0: it has ended */
    uint64_t groups;              /* so far; that of the child is 0 */
};

bool branches_any(const struct branches *all);

/* An order to the child to fork, with all its descriptors, which are taken. `line`: to it; -1: it
 * has none. */
void branches_fork(struct branches *all, int line, int *fds, size_t count);

/* Whether the child, whose budget this is, and who sleeps for it still use too much when nobody
 * sleeps for it any more. */
bool branches_exceed(struct branches *all, struct budget *memory);

/* Fills in what to wait for; returns how many. */
size_t branches_poll(const struct branches *all, struct pollfd *fds);
int64_t branches_next_look(const struct branches *all); /* clock_ms(); -1: none */

/* Does what has come up in `fds`, as they were filled in, and what is due. True: a branch has
 * ended. */
bool branches_act(struct branches *all, const struct pollfd *fds);

void branches_end(struct branches *all);

#endif
