/* SPDX-License-Identifier: Apache-2.0
 *
 * base/kin.h - who is at the other end of a Unix socket, by its place in the tree of processes.
 * Finds:   the process that connected, or that called listen(2), and its parents in /proc. Every
 *          process that code in a kernel starts, and every orphan of it, is below the server, which
 *          is a subreaper as its shims are: no process leaves that tree while the server lives.
 * Numbers: one that was given to another process meanwhile is known by its start, which is then
 *          later than its child's; of who connected the system holds the process itself
 *          (SO_PEERPIDFD, since Linux 6.5).
 * Limits:  KIN_DEPTH_MAX ancestors are looked at; who has more counts as below. */
#ifndef BASE_KIN_H
#define BASE_KIN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define KIN_DEPTH_MAX 256

/* Whether the process has this one among its ancestors. Also true when that is unknown. */
bool kin_below(pid_t pid, pid_t ancestor);

/* Whether the peer of this socket is below the calling process, has ended, or is unknown.
 * A peer of another PID namespace, which has no number here, is none of ours. */
bool kin_peer_below(int fd);

/* 0: what listens at the other end was made by the uppermost process named `name`, or by a child of
 * that. -EPERM: by another one, as a process below the server that has taken a socket's name. */
MUST_CHECK int kin_check_listener(int fd, const char *name, struct err *e);

#endif
