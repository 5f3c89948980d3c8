/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/shim/spawn_launch.h - the new process of a shim or a helper (private to sandbox/shim).
 * Thread: loop thread; waits until the new process runs its program. */
#ifndef SANDBOX_SHIM_SPAWN_LAUNCH_H
#define SANDBOX_SHIM_SPAWN_LAUNCH_H

#include <sys/resource.h>

#include "sandbox/shim/spawn.h"

#define LAUNCH_CONTROL_FD 3 /* where the shim finds its end of the socket, */
#define LAUNCH_SPEC_FD 4    /* and what its child is put behind */

struct launch_ends { /* the child's; owned. Without a pipe each: /dev/null, and 2 is a copy of 1 */
    int control, input, output, errors;
    bool terminal; /* output is all three */
    int spec;      /* -1: no walls */
    int fds[CHILD_FDS_MAX];
    size_t fd_count;
};

/* files: its limit of open files. 0, or a negative errno. */
MUST_CHECK int launch_shim(const struct child_spec *spec, const struct launch_ends *ends,
                           const struct rlimit *files, pid_t *ret_pid);
MUST_CHECK int launch_helper(const struct child_spec *spec, const struct launch_ends *ends,
                             const struct rlimit *files, pid_t *ret_pid);

#endif
