/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/limits/shared.h - how much memory this container has that is no process's own: files in
 * tmpfs, memfds and shared mappings, also those that nobody has open or mapped any more, or that
 * are on their way through a socket.
 * Source:  "shmem" of the memory cgroup that this process is in (of its children, too); where that
 *          is not to be read, what the mounted tmpfs have taken, which misses memfds.
 * Caller:  any thread.
 * Cost:    one small file; or a call for each tmpfs. */
#ifndef SANDBOX_LIMITS_SHARED_H
#define SANDBOX_LIMITS_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#define SHARED_PATH_MAX 576
#define SHARED_TMPFS_MAX 16

struct shared {
    char file[SHARED_PATH_MAX]; /* of the cgroup; "": there is none */
    const char *label;          /* before the number in it */
    char *tmpfs[SHARED_TMPFS_MAX];
};

void shared_open(struct shared *ret);
void shared_done(struct shared *shared);
uint64_t shared_bytes(const struct shared *shared);

#endif
