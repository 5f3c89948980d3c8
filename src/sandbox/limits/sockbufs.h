/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/limits/sockbufs.h - how much memory sockets hold for what was sent and not read yet.
 * Counts:  the Unix, TCP, UDP and netlink sockets of `ours`; what has gone from its sender's socket
 *          into one of these; of connections within this network namespace the ends that are closed
 *          already; and where descriptors are on their way through sockets of ours, all Unix
 *          sockets that no other process has open.
 * Source:  sock_diag(7), with what the system says of the memory of each; /proc/net.
 * Caller:  a process in the network namespace of the sockets; any thread.
 * Cost:    some 20 us for Unix sockets; the tables of the internet are read where these hold more
 *          than SOCKBUFS_NOISE on the whole machine, which takes some milliseconds. */
#ifndef SANDBOX_LIMITS_SOCKBUFS_H
#define SANDBOX_LIMITS_SOCKBUFS_H

#include <stdint.h>

#include "sandbox/limits/unnamed_memory.h"

#define SOCKBUFS_NOISE ((uint64_t)8 << 20)

uint64_t sockbufs_bytes(const struct unnamed_memory *ours);

#endif
