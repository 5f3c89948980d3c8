/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/paths/pathset.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"

/* The root is the empty text, so that every path of the set ends before a slash or the end. */
struct pathset_slot {
    char *path;
    size_t len, number;
    uint64_t hash;
};

#define HASH_START 0xCBF29CE484222325u /* FNV-1a */
#define HASH_PRIME 0x100000001B3u

static uint64_t hash_more(const struct pathset *set, uint64_t hash, char c)
{
    if (set->fold && c >= 'A' && c <= 'Z')
        c = (char)(c - 'A' + 'a');
    return (hash ^ (unsigned char)c) * HASH_PRIME;
}

static uint64_t path_hash_of(const struct pathset *set, const char *path, size_t n)
{
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < n; i++)
        hash = hash_more(set, hash, path[i]);
    return hash;
}

static size_t path_place_of(uint64_t hash, size_t size)
{
    return (size_t)(hash ^ hash >> 32) & (size - 1);
}

static bool is_same_path(const struct pathset *set, const struct pathset_slot *slot, uint64_t hash,
                         const char *path, size_t n)
{
    if (slot->hash != hash || slot->len != n)
        return false;
    return (set->fold ? strncasecmp(slot->path, path, n) : memcmp(slot->path, path, n)) == 0;
}

/* The path's slot, or the free one where it would be. */
static struct pathset_slot *find_in_pathset(const struct pathset *set, uint64_t hash,
                                            const char *path, size_t n)
{
    size_t at = path_place_of(hash, set->size);
    while (set->slots[at].path && !is_same_path(set, &set->slots[at], hash, path, n))
        at = (at + 1) & (set->size - 1);
    return &set->slots[at];
}

static void grow_pathset(struct pathset *set)
{
    struct pathset bigger = *set;
    bigger.size = set->size ? set->size * 2 : 16;
    bigger.slots = xcalloc(bigger.size, sizeof *bigger.slots);
    for (size_t i = 0; i < set->size; i++) {
        struct pathset_slot *slot = &set->slots[i];
        if (slot->path)
            *find_in_pathset(&bigger, slot->hash, slot->path, slot->len) = *slot;
    }
    xfree(set->slots);
    *set = bigger;
}

static size_t path_length(const char *path)
{
    size_t n = strlen(path);
    return n == 1 && *path == '/' ? 0 : n;
}

static bool add_path(struct pathset *set, const char *path, size_t n)
{
    if (2 * (set->count + 1) > set->size)
        grow_pathset(set);
    uint64_t hash = path_hash_of(set, path, n);
    struct pathset_slot *slot = find_in_pathset(set, hash, path, n);
    if (slot->path)
        return false;
    *slot = (struct pathset_slot){
        .path = xstrndup(path, n), .len = n, .number = set->count++, .hash = hash};
    return true;
}

void pathset_done(struct pathset *set)
{
    for (size_t i = 0; i < set->size; i++)
        xfree(set->slots[i].path);
    xfree(set->slots);
    *set = (struct pathset){.fold = set->fold};
}

bool pathset_add(struct pathset *set, const char *path)
{
    return add_path(set, path, path_length(path));
}

void pathset_add_above(struct pathset *set, const char *path)
{
    for (size_t n = path_length(path); n > 0;) {
        do
            n--;
        while (path[n] != '/');
        if (!add_path(set, path, n))
            return; /* and so were all above it */
    }
}

bool pathset_has(const struct pathset *set, const char *path)
{
    return pathset_number(set, path, path_length(path)) >= 0;
}

ssize_t pathset_number(const struct pathset *set, const char *path, size_t n)
{
    if (set->count == 0)
        return -1;
    const struct pathset_slot *slot = find_in_pathset(set, path_hash_of(set, path, n), path, n);
    return slot->path ? (ssize_t)slot->number : -1;
}

ssize_t pathset_longest(const struct pathset *set, const char *path)
{
    ssize_t longest = -1;
    if (set->count == 0)
        return longest;
    uint64_t hash = HASH_START;
    for (size_t n = 0;; n++) {
        bool ends = path[n] == '\0';
        if ((ends || path[n] == '/') && find_in_pathset(set, hash, path, n)->path)
            longest = (ssize_t)n;
        if (ends)
            return longest;
        hash = hash_more(set, hash, path[n]);
    }
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **pathset_sorted(const struct pathset *set)
{
    const char **paths = xcalloc(set->count + 1, sizeof *paths);
    size_t n = 0;
    for (size_t i = 0; i < set->size; i++)
        if (set->slots[i].path)
            paths[n++] = set->slots[i].path;
    qsort(paths, n, sizeof *paths, by_bytes);
    return paths;
}
