/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/limits/unnamed_memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/alloc.h"
#include "sandbox/proc/fdtable.h"
#include "sandbox/proc/procfile.h"
#include "sandbox/proc/proctree.h"
#include "sandbox/proc/socklook.h"

enum { TABLE_LEAST = 64, BLOCK = 512, INFO_MAX = 512, IS_SOCKET = 1, IS_PIPE = 2 };

/* --- what was met already --------------------------------------------------------------------- */

static size_t unnamed_place_of(const struct unnamed_set *set, dev_t dev, ino_t ino)
{
    const uint64_t mixed = ((uint64_t)ino ^ ((uint64_t)dev << 32)) * 0x9E3779B97F4A7C15U;
    size_t at = (size_t)(mixed >> 32) & (set->size - 1);
    while (set->table[at].ino != 0 && (set->table[at].ino != ino || set->table[at].dev != dev))
        at = (at + 1) & (set->size - 1);
    return at;
}

static bool has_unnamed_block(const struct unnamed_set *set, dev_t dev, ino_t ino)
{
    return set->size > 0 && set->table[unnamed_place_of(set, dev, ino)].ino != 0;
}

bool unnamed_memory_has(const struct unnamed_memory *h, dev_t dev, ino_t ino)
{
    return has_unnamed_block(&h->files, dev, ino);
}

bool unnamed_memory_has_socket(const struct unnamed_memory *h, uint64_t inode)
{
    return has_unnamed_block(&h->ends, IS_SOCKET, (ino_t)inode);
}

static void grow_unnamed_memory(struct unnamed_set *set)
{
    struct unnamed_set larger = {.size = set->size > 0 ? 2 * set->size : TABLE_LEAST};
    larger.table = xcalloc(larger.size, sizeof *larger.table);
    for (size_t i = 0; i < set->size; i++)
        if (set->table[i].ino != 0)
            larger.table[unnamed_place_of(&larger, set->table[i].dev, set->table[i].ino)] =
                set->table[i];
    xfree(set->table);
    set->table = larger.table;
    set->size = larger.size;
}

/* False: it was there already. */
static bool remember_unnamed_block(struct unnamed_set *set, dev_t dev, ino_t ino)
{
    if (has_unnamed_block(set, dev, ino))
        return false;
    if (set->count >= UNNAMED_MEMORY_MAX)
        return true;
    if (2 * set->count >= set->size)
        grow_unnamed_memory(set);
    set->table[unnamed_place_of(set, dev, ino)] = (struct unnamed_block){dev, ino};
    set->count++;
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

/* Descriptors that are sent and not received yet. The directory is /proc/PID/fd. */
static uint64_t in_flight(const struct fdtable_entry *entry)
{
    char path[48], text[INFO_MAX];
    (void)snprintf(path, sizeof path, "../fdinfo/%d", entry->fd);
    (void)procfile_read(entry->dir, path, text, sizeof text);
    return procfile_behind(text, "\nscm_fds:");
}

static void add_end(struct unnamed_memory *h, const struct fdtable_entry *entry)
{
    static const char pipe[] = "pipe:[";
    const uint64_t inode = socket_inode(entry->link);
    if (inode != 0 && remember_unnamed_block(&h->ends, IS_SOCKET, (ino_t)inode)) {
        h->sockets++;
        h->in_flight += in_flight(entry);
    }
    if (inode == 0 && strncmp(entry->link, pipe, sizeof pipe - 1) == 0)
        h->pipes += remember_unnamed_block(
            &h->ends, IS_PIPE, (ino_t)procfile_number(entry->link + sizeof pipe - 1, NULL));
}

static bool look_at_descriptor(void *ctx, const struct fdtable_entry *entry)
{
    struct unnamed_memory *h = ctx;
    struct stat st;
    if (*entry->link != '/') {
        add_end(h, entry);
        return false;
    }
    if (!is_candidate(entry->link) || fstatat(entry->dir, entry->name, &st, 0) < 0 ||
        !S_ISREG(st.st_mode))
        return false;
    const bool memory = is_memory(entry->dir, entry->name);
    if ((memory || st.st_nlink == 0) && remember_unnamed_block(&h->files, st.st_dev, st.st_ino))
        *(memory ? &h->memory : &h->unnamed) += (uint64_t)st.st_blocks * BLOCK;
    return false;
}

static void add_unnamed_block(void *ctx, pid_t pid)
{
    struct unnamed_memory *h = ctx;
    const int r = fdtable_each(pid, look_at_descriptor, h);
    h->unseen |= r == -EACCES || r == -EPERM;
}

void unnamed_memory_take(struct unnamed_memory *ret)
{
    *ret = UNNAMED_MEMORY_NONE;
    (void)proctree_each(add_unnamed_block, ret);
}

/* --- others ----------------------------------------------------------------------------------- */

static bool look_at_end(void *ctx, const struct fdtable_entry *entry)
{
    if (*entry->link != '/')
        add_end(ctx, entry);
    return false;
}

static void note_ours(void *ctx, pid_t pid)
{
    (void)remember_unnamed_block(ctx, 0, (ino_t)pid);
}

void unnamed_memory_of_others(struct unnamed_memory *ret)
{
    struct unnamed_set ours = {0};
    const struct dirent *entry;
    *ret = UNNAMED_MEMORY_NONE;
    (void)proctree_each(note_ours, &ours);
    DIR *dir = opendir("/proc");
    while (dir && (entry = readdir(dir))) {
        const pid_t pid = (pid_t)procfile_number(entry->d_name, NULL);
        if (pid > 0 && !has_unnamed_block(&ours, 0, (ino_t)pid))
            (void)fdtable_each(pid, look_at_end, ret);
    }
    if (dir)
        (void)closedir(dir);
    xfree(ours.table);
}

void unnamed_memory_done(struct unnamed_memory *h)
{
    xfree(h->files.table);
    xfree(h->ends.table);
    *h = UNNAMED_MEMORY_NONE;
}
