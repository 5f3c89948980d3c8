/* SPDX-License-Identifier: Apache-2.0 */
#include "jupyter/oom.h"

#include <stdio.h>
#include <string.h>

static long read_count(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    char name[64];
    long value, count = 0;
    while (fscanf(file, "%63s %ld", name, &value) == 2) {
        if (strcmp(name, "oom_kill") == 0)
            count = value;
    }
    (void)fclose(file);
    return count;
}

long oom_kills(void)
{
    long count = read_count("/sys/fs/cgroup/memory.events");
    if (count < 0)
        count = read_count("/sys/fs/cgroup/memory/memory.oom_control");
    return count < 0 ? 0 : count;
}
