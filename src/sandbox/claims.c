/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/claims.h"

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/proctree.h"
#include "sandbox/socklook.h"

enum { LINK_MAX_LEN = 64, SOCKETS_MOST = 256 };

struct look {
    pid_t main;
    bool others;
};

static void count(void *ctx, pid_t pid)
{
    struct look *look = ctx;
    look->others |= pid != look->main;
}

/* Devices without a state. */
static bool is_harmless(const char *link)
{
    static const char *const names[] = {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(link, names[i]) == 0)
            return true;
    return *link != '/';
}

/* Collects its sockets; true: something else, or what cannot be looked at, is a claim already. */
static bool look_at(DIR *fds, uint64_t inodes[static SOCKETS_MOST], size_t *n)
{
    const struct dirent *entry;
    while ((entry = readdir(fds))) {
        char link[LINK_MAX_LEN];
        ssize_t len = readlinkat(dirfd(fds), entry->d_name, link, sizeof link - 1);
        if (len <= 0)
            continue;
        link[len] = '\0';
        uint64_t inode = socket_inode(link);
        if (!is_harmless(link) || (inode && *n == SOCKETS_MOST))
            return true;
        if (inode)
            inodes[(*n)++] = inode;
    }
    return false;
}

bool claims_any(pid_t main)
{
    struct look look = {.main = main};
    uint64_t inodes[SOCKETS_MOST];
    size_t n = 0;
    char path[32];
    if (proctree_each(count, &look) < 0 || look.others)
        return true;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)main);
    DIR *fds = opendir(path);
    if (!fds)
        return true;
    bool found = look_at(fds, inodes, &n);
    (void)closedir(fds);
    return found || !sockets_all_unix(inodes, n);
}
