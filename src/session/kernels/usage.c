/* SPDX-License-Identifier: Apache-2.0 */
#include "session/kernels/usage.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include "sandbox/limits/container.h"

void usage_look(const char *workspace, struct usage *ret)
{
    struct container_use use;
    struct container_memory memory;
    struct statvfs disk = {0};
    container_look("", &use);
    container_memory_open("", &memory);
    (void)statvfs(workspace, &disk);
    *ret = (struct usage){
        .processors = container_processors(""),
        .memory = use.memory,
        .memory_total = memory.most,
        .cache = use.cache,
        .disk = (disk.f_blocks - disk.f_bavail) * disk.f_frsize,
        .disk_total = disk.f_blocks * disk.f_frsize,
        .cpu_us = use.cpu_us,
    };
    if (ret->processors == 0)
        ret->processors = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    if (ret->memory_total == 0)
        ret->memory_total = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}
