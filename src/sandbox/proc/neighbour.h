/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/proc/neighbour.h - whether the other end of a loopback connection is a free program of
 * this user, as /proc and the system's list of sockets tell.
 * Free:    the socket is this uid's, and a process has it open that is not below the caller
 *          (kin.h: every kernel, MCP server and pip is) and has not given up new privileges:
 *          nobody gets out of that, and who puts code behind walls of its own does it.
 * Closed:  whatever cannot be told is not free: a socket that nobody holds any more, a process
 *          that lets nobody look into it, a system without sock_diag(7).
 * Cost:    a few reads where the holder is the one that was seen last, else all descriptors of all
 *          processes of this user. */
#ifndef SANDBOX_PROC_NEIGHBOUR_H
#define SANDBOX_PROC_NEIGHBOUR_H

#include <stdbool.h>

#include "sandbox/proc/socklook.h"

/* fd: our end. *last: zero at first, then where the other end was seen. */
bool neighbour_is_free(int fd, struct socket_holder *last);

#endif
