/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/proc/fdtable.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int fdtable_each(pid_t pid, bool (*fn)(void *ctx, const struct fdtable_entry *entry), void *ctx)
{
    char path[32], link[PATH_MAX];
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return -errno;
    struct fdtable_entry entry = {.dir = dirfd(dir), .link = link};
    const struct dirent *found;
    bool stopped = false;
    while (!stopped && (found = readdir(dir))) {
        char *end;
        const long fd = strtol(found->d_name, &end, 10);
        if (end == found->d_name) /* "." and ".." */
            continue;
        const ssize_t n = readlinkat(entry.dir, found->d_name, link, sizeof link - 1);
        if (n <= 0)
            continue;
        link[n] = '\0';
        entry.name = found->d_name;
        entry.fd = (int)fd;
        stopped = fn(ctx, &entry);
    }
    (void)closedir(dir);
    return stopped;
}
