/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/limits/container.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/proc/procfile.h"

enum { TEXT_MAX = 8192, PROCESSORS_MAX = 4096, NS_OF_US = 1000 };

#define MIB ((uint64_t)1 << 20)
/* More is version 1's word for no limit: all of 63 bits, in whole pages. */
#define NO_LIMIT ((uint64_t)1 << 60)
/* Of the server, the template and a spare kernel, and of what grows between two looks. */
#define RESERVE_LEAST (64 * MIB)
#define RESERVE_SHARE 16

static bool read_of(const struct cgroup *cgroup, const char *name, char text[static TEXT_MAX])
{
    char path[CGROUP_PATH_MAX + 64];
    (void)snprintf(path, sizeof path, "%s/%s", cgroup->dir, name);
    return procfile_read(AT_FDCWD, path, text, TEXT_MAX);
}

/* A file that is one number; `fallback` where it is not to be read, or says "max". */
static uint64_t number_of(const struct cgroup *cgroup, const char *name, uint64_t fallback)
{
    char text[TEXT_MAX];
    if (!read_of(cgroup, name, text) || text[0] < '0' || text[0] > '9')
        return fallback;
    return procfile_number(text, NULL);
}

void container_memory_open(const char *root, struct container_memory *ret)
{
    *ret = (struct container_memory){0};
    if (!cgroup_find(root, "memory", "memory.limit_in_bytes", "memory.max", &ret->cgroup))
        return;
    const char *name = ret->cgroup.unified ? "memory.max" : "memory.limit_in_bytes";
    const uint64_t most = number_of(&ret->cgroup, name, 0);
    ret->most = most < NO_LIMIT ? most : 0;
}

/* Pages of files that are clean, or will be: Linux takes them back before it ends a process. */
static uint64_t reclaimable(const struct cgroup *cgroup)
{
    static const char *const labels[2][2] = {
        {"\ntotal_inactive_file ", "\ntotal_active_file "}, /* of version 1 */
        {"\ninactive_file ", "\nactive_file "}};
    char text[TEXT_MAX];
    if (!read_of(cgroup, "memory.stat", text))
        return 0;
    return procfile_behind(text, labels[cgroup->unified][0]) +
           procfile_behind(text, labels[cgroup->unified][1]);
}

uint64_t container_memory_left(const struct container_memory *m)
{
    const char *name = m->cgroup.unified ? "memory.current" : "memory.usage_in_bytes";
    const uint64_t used = m->most > 0 ? number_of(&m->cgroup, name, UINT64_MAX) : UINT64_MAX;
    if (used == UINT64_MAX)
        return UINT64_MAX;
    const uint64_t back = reclaimable(&m->cgroup), held = used > back ? used - back : 0;
    return held < m->most ? m->most - held : 0;
}

uint64_t container_memory_of_kernel(const struct container_memory *m)
{
    const uint64_t reserve = RESERVE_LEAST + m->most / RESERVE_SHARE;
    return m->most > 2 * reserve ? m->most - reserve : m->most / 2;
}

uint64_t container_tasks(const char *root)
{
    static const char *const names[] = {"pid_max", "threads-max"}; /* of the machine */
    struct cgroup cgroup;
    uint64_t most = UINT64_MAX;
    if (cgroup_find(root, "pids", "pids.max", "pids.max", &cgroup))
        most = number_of(&cgroup, "pids.max", most);
    (void)snprintf(cgroup.dir, sizeof cgroup.dir, "%s/proc/sys/kernel", root);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const uint64_t machine = number_of(&cgroup, names[i], UINT64_MAX);
        most = machine < most ? machine : most;
    }
    return most;
}

/* Version 2: "QUOTA PERIOD" or "max PERIOD" in one file; version 1: two files, -1 for none. */
unsigned container_processors(const char *root)
{
    struct cgroup cgroup;
    char text[TEXT_MAX];
    const char *rest = text;
    uint64_t quota = 0, period = 0;
    if (!cgroup_find(root, "cpu", "cpu.cfs_quota_us", "cpu.max", &cgroup))
        return 0;
    if (!cgroup.unified) {
        quota = number_of(&cgroup, "cpu.cfs_quota_us", 0);
        period = number_of(&cgroup, "cpu.cfs_period_us", 0);
    } else if (read_of(&cgroup, "cpu.max", text)) {
        quota = procfile_number(text, &rest);
        period = quota > 0 ? procfile_number(rest, NULL) : 0;
    }
    if (quota == 0 || period == 0)
        return 0;
    const uint64_t count = (quota + period - 1) / period;
    return count < PROCESSORS_MAX ? (unsigned)count : PROCESSORS_MAX;
}

void container_look(const char *root, struct container_use *ret)
{
    struct cgroup memory, cpu;
    char text[TEXT_MAX];
    *ret = (struct container_use){0};
    if (cgroup_find(root, "memory", "memory.usage_in_bytes", "memory.current", &memory)) {
        const char *name = memory.unified ? "memory.current" : "memory.usage_in_bytes";
        const uint64_t used = number_of(&memory, name, 0), back = reclaimable(&memory);
        ret->memory = used > back ? used - back : 0;
        ret->cache = back;
    }
    if (!cgroup_find(root, "cpuacct", "cpuacct.usage", "cpu.stat", &cpu))
        return;
    if (!cpu.unified)
        ret->cpu_us = number_of(&cpu, "cpuacct.usage", 0) / NS_OF_US;
    else if (read_of(&cpu, "cpu.stat", text))
        ret->cpu_us = procfile_behind(text, "usage_usec ");
}
