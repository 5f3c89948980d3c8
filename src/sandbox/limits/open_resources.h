/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/limits/open_resources.h - whether processes below this one still hold resources (files,
 * ports) that the next kernel may need.
 * Sees:    processes beside `main`; of main the files that it has open by a name (locks, text that
 *          is not written yet) and its sockets (ports) but for Unix sockets, which kernels have
 *          many of.
 * Not:     what main will do at its end.
 * Caller:  as for proctree.h.
 * Cost:    a scan of /proc, a readlink(2) for each descriptor of main, the table of Unix sockets.
 * Source:  proc(5), proc_pid_fd(5), proc_pid_net(5): unix. */
#ifndef SANDBOX_LIMITS_OPEN_RESOURCES_H
#define SANDBOX_LIMITS_OPEN_RESOURCES_H

#include <stdbool.h>
#include <sys/types.h>

/* What cannot be looked at is a claim. */
bool open_resources_any(pid_t main);

#endif
