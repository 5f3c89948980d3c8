/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/limits/open_resources.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sandbox/proc/fdtable.h"
#include "sandbox/proc/proctree.h"
#include "sandbox/proc/socklook.h"

enum { SOCKETS_MOST = 256 };

struct resource_look {
    pid_t main;
    bool others;
    uint64_t inodes[SOCKETS_MOST];
    size_t sockets;
};

static void count_open_resources(void *ctx, pid_t pid)
{
    struct resource_look *look = ctx;
    look->others |= pid != look->main && pid != proctree_entered();
}

/* Devices without a state. */
#define CONNECTION_FILE "/memfd:connection (deleted)" /* jupyter/link.c makes it */

static bool is_harmless(const char *link)
{
    static const char *const names[] = {
        "/dev/null",    "/dev/zero",     "/dev/random",
        "/dev/urandom", CONNECTION_FILE, /* of every kernel */
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(link, names[i]) == 0)
            return true;
    return *link != '/';
}

/* Collects its sockets; true: something else, or one socket too many, is a claim already. */
static bool is_claim(void *ctx, const struct fdtable_entry *entry)
{
    struct resource_look *look = ctx;
    const uint64_t inode = socket_inode(entry->link);
    if (!inode)
        return !is_harmless(entry->link);
    if (look->sockets == SOCKETS_MOST)
        return true;
    look->inodes[look->sockets++] = inode;
    return false;
}

bool open_resources_any(pid_t main)
{
    struct resource_look look = {.main = main};
    if (proctree_each(count_open_resources, &look) < 0 || look.others)
        return true;
    return fdtable_each(main, is_claim, &look) != 0 || !sockets_all_unix(look.inodes, look.sockets);
}
