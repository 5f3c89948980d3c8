/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/floor_paths.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"

enum { SIZE_FIRST = 64 };

static size_t hash(const char *text, size_t n)
{
    uint64_t h = 0xcbf29ce484222325U; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3U;
    return (size_t)(h ^ (h >> 32));
}

/* The slot that has the path, or the free one where it belongs. size > 0. */
static struct floor_path *find(struct floor_path *slots, size_t size, const char *path, size_t n)
{
    size_t at = hash(path, n) & (size - 1);
    while (slots[at].text && (strncmp(slots[at].text, path, n) != 0 || slots[at].text[n] != '\0'))
        at = (at + 1) & (size - 1);
    return &slots[at];
}

static void grow(struct floor_paths *paths)
{
    const size_t size = paths->size ? 2 * paths->size : SIZE_FIRST;
    struct floor_path *slots = xcalloc(size, sizeof *slots);
    for (size_t i = 0; i < paths->size; i++) {
        const struct floor_path *old = &paths->slots[i];
        if (old->text)
            *find(slots, size, old->text, strlen(old->text)) = *old;
    }
    xfree(paths->slots);
    paths->slots = slots;
    paths->size = size;
}

bool floor_paths_add(struct floor_paths *paths, const char *path)
{
    if (2 * paths->count >= paths->size)
        grow(paths);
    struct floor_path *slot = find(paths->slots, paths->size, path, strlen(path));
    struct stat st;
    if (slot->text)
        return false;
    slot->text = xstrdup(path);
    if (lstat(path, &st) == 0) {
        slot->device = st.st_dev;
        slot->inode = st.st_ino;
    }
    paths->count++;
    return true;
}

static const struct floor_path *get(const struct floor_paths *paths, const char *path, size_t n)
{
    if (paths->size == 0)
        return NULL;
    const struct floor_path *slot = find(paths->slots, paths->size, path, n);
    return slot->text ? slot : NULL;
}

bool floor_paths_has(const struct floor_paths *paths, const char *path, size_t n)
{
    return get(paths, path, n) != NULL;
}

static bool is_what_it_was(const struct floor_path *slot)
{
    struct stat st;
    return lstat(slot->text, &st) == 0 && st.st_dev == slot->device && st.st_ino == slot->inode;
}

bool floor_paths_cover(const struct floor_paths *paths, const char *path)
{
    const struct floor_path *slot = get(paths, "/", 1);
    for (size_t n = 1; !slot && path[n - 1] != '\0'; n++)
        if (path[n] == '/' || path[n] == '\0')
            slot = get(paths, path, n);
    return slot && is_what_it_was(slot);
}

void floor_paths_done(struct floor_paths *paths)
{
    for (size_t i = 0; i < paths->size; i++)
        xfree(paths->slots[i].text);
    xfree(paths->slots);
    *paths = (struct floor_paths){0};
}
