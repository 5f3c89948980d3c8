/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/limits/container.h - what this container may use of memory and processors, by the limits
 * of its cgroup (docker run --memory and --cpus, resources.limits of a pod).
 * Why:     where memory.oom.group is set, as kubelet does, the end of one process for want of
 *          memory is the end of all of them. A kernel has to be ended before.
 * Caller:  any thread; the server for defaults, each shim for its budget.
 * Cost:    container_memory_left reads two small files. */
#ifndef SANDBOX_LIMITS_CONTAINER_H
#define SANDBOX_LIMITS_CONTAINER_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/limits/cgroup.h"

struct container_memory {
    struct cgroup cgroup;
    uint64_t most; /* bytes; 0: no limit */
};

/* `root` as of cgroup_find. */
void container_memory_open(const char *root, struct container_memory *ret);

/* Bytes until the limit, without what Linux can take back from the page cache; UINT64_MAX: no
 * limit, or nobody can tell. */
uint64_t container_memory_left(const struct container_memory *memory);

/* What a kernel may have, so that the server, the template, a spare kernel and the time between two
 * looks fit beside it; 0: no limit. */
uint64_t container_memory_of_kernel(const struct container_memory *memory);

/* How many processes and threads there may be; UINT64_MAX: nobody can tell. */
uint64_t container_tasks(const char *root);

/* How many processors the CPU quota is worth, rounded up; 0: there is no quota. */
unsigned container_processors(const char *root);

struct container_use {
    uint64_t memory, cache; /* bytes; what Linux can take back is cache, and not memory */
    uint64_t cpu_us;        /* of all that has run here */
};
/* 0 where nobody can tell. */
void container_look(const char *root, struct container_use *ret);

#endif
