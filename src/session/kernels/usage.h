/* SPDX-License-Identifier: Apache-2.0
 *
 * session/kernels/usage.h - what all sessions use together: the container's figures.
 * Calls: any thread; reads some small files. */
#ifndef SESSION_KERNELS_USAGE_H
#define SESSION_KERNELS_USAGE_H

#include <stdint.h>

struct usage { /* 0 where nobody can tell */
    unsigned processors;
    uint64_t memory, memory_total, cache; /* bytes; what Linux can take back is cache */
    uint64_t disk, disk_total;            /* of the file system of the workspace */
    uint64_t cpu_us;                      /* so far */
};

void usage_look(const char *workspace, struct usage *ret);

#endif
