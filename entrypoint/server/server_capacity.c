/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/server/server_capacity.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include "sandbox/limits/container.h"

#define MIB ((uint64_t)1 << 20)

static uint64_t lesser_limit(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void capacity_read(const char *root, struct capacity *ret)
{
    struct rlimit files = {.rlim_max = RLIM_INFINITY};
    struct container_memory memory;
    struct sysinfo machine;
    (void)getrlimit(RLIMIT_NOFILE, &files); /* the spawner takes what it may have */
    container_memory_open(root, &memory);
    *ret = (struct capacity){.files = files.rlim_max == RLIM_INFINITY ? UINT64_MAX : files.rlim_max,
                             .tasks = container_tasks(root),
                             .memory = memory.most > 0 ? memory.most : UINT64_MAX};
    if (sysinfo(&machine) == 0)
        ret->memory = lesser_limit(ret->memory, (uint64_t)machine.totalram * machine.mem_unit);
}

bool capacity_keeps(const struct capacity *c, int sessions, char text[static CAPACITY_TEXT])
{
    const struct {
        const char *name, *remedy;
        uint64_t most, base, each, unit;
    } limits[] = {
        {"open files", "RLIMIT_NOFILE, docker run --ulimit nofile", c->files, CAPACITY_BASE_FILES,
         CAPACITY_FILES, 1},
        {"processes and threads", "pids.max, docker run --pids-limit", c->tasks,
         CAPACITY_BASE_TASKS, CAPACITY_TASKS, 1},
        {"MiB of memory", "docker run --memory", c->memory, CAPACITY_BASE_MEMORY, CAPACITY_MEMORY,
         MIB},
    };
    uint64_t keeps = UINT64_MAX;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const uint64_t most = limits[i].most, base = limits[i].base, each = limits[i].each;
        const uint64_t mine = most > base ? (most - base) / each : 0;
        if (most == UINT64_MAX || mine >= keeps)
            continue;
        keeps = mine;
        (void)snprintf(text, CAPACITY_TEXT,
                       "--max-sessions %d: there is room for some %llu: a session takes %llu %s, "
                       "and %llu are there (%s)",
                       sessions, (unsigned long long)mine,
                       (unsigned long long)(each / limits[i].unit), limits[i].name,
                       (unsigned long long)(most / limits[i].unit), limits[i].remedy);
    }
    return keeps >= (uint64_t)sessions;
}
