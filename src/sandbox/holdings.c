/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/holdings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/alloc.h"
#include "sandbox/fdtable.h"
#include "sandbox/proctree.h"

enum { TABLE_LEAST = 64, BLOCK = 512 };

/* --- what was met already --------------------------------------------------------------------- */

static size_t place_of(const struct holdings *h, dev_t dev, ino_t ino)
{
    const uint64_t mixed = ((uint64_t)ino ^ ((uint64_t)dev << 32)) * 0x9E3779B97F4A7C15U;
    size_t at = (size_t)(mixed >> 32) & (h->size - 1);
    while (h->table[at].ino != 0 && (h->table[at].ino != ino || h->table[at].dev != dev))
        at = (at + 1) & (h->size - 1);
    return at;
}

bool holdings_has(const struct holdings *h, dev_t dev, ino_t ino)
{
    return h->size > 0 && h->table[place_of(h, dev, ino)].ino != 0;
}

static void grow(struct holdings *h)
{
    struct holdings larger = {.size = h->size > 0 ? 2 * h->size : TABLE_LEAST};
    larger.table = xcalloc(larger.size, sizeof *larger.table);
    for (size_t i = 0; i < h->size; i++)
        if (h->table[i].ino != 0)
            larger.table[place_of(&larger, h->table[i].dev, h->table[i].ino)] = h->table[i];
    xfree(h->table);
    h->table = larger.table;
    h->size = larger.size;
}

/* False: it was there already. */
static bool remember(struct holdings *h, dev_t dev, ino_t ino)
{
    if (holdings_has(h, dev, ino))
        return false;
    if (h->count >= HOLDINGS_MAX)
        return true;
    if (2 * h->count >= h->size)
        grow(h);
    h->table[place_of(h, dev, ino)] = (struct holding){dev, ino};
    h->count++;
    return true;
}

/* --- looking -------------------------------------------------------------------------------- */

/* The name says which files are worth a look: all others have a name on some disk. */
static bool is_candidate(const char *link)
{
    static const char removed[] = " (deleted)", shared[] = "/dev/shm/";
    const size_t n = strlen(link), tail = sizeof removed - 1;
    return (n > tail && strcmp(link + n - tail, removed) == 0) ||
           strncmp(link, shared, sizeof shared - 1) == 0;
}

static bool is_memory(int dir, const char *name)
{
    char path[64];
    struct statfs fs;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d/%s", dir, name);
    return statfs(path, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC);
}

static bool look_at(void *ctx, const struct fdtable_entry *entry)
{
    struct holdings *h = ctx;
    struct stat st;
    if (!is_candidate(entry->link) || fstatat(entry->dir, entry->name, &st, 0) < 0 ||
        !S_ISREG(st.st_mode))
        return false;
    const bool memory = is_memory(entry->dir, entry->name);
    if ((memory || st.st_nlink == 0) && remember(h, st.st_dev, st.st_ino))
        *(memory ? &h->memory : &h->unnamed) += (uint64_t)st.st_blocks * BLOCK;
    return false;
}

static void add(void *ctx, pid_t pid)
{
    struct holdings *h = ctx;
    const int r = fdtable_each(pid, look_at, h);
    h->unseen |= r == -EACCES || r == -EPERM;
}

void holdings_take(struct holdings *ret)
{
    *ret = HOLDINGS_NONE;
    (void)proctree_each(add, ret);
}

void holdings_done(struct holdings *h)
{
    xfree(h->table);
    *h = HOLDINGS_NONE;
}
