/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/floor_paths.h"

#include <stdint.h>
#include <string.h>

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
static char **find(char **slots, size_t size, const char *path, size_t n)
{
    size_t at = hash(path, n) & (size - 1);
    while (slots[at] && (strncmp(slots[at], path, n) != 0 || slots[at][n] != '\0'))
        at = (at + 1) & (size - 1);
    return &slots[at];
}

static void grow(struct floor_paths *paths)
{
    const size_t size = paths->size ? 2 * paths->size : SIZE_FIRST;
    char **slots = xcalloc(size, sizeof *slots);
    for (size_t i = 0; i < paths->size; i++)
        if (paths->slots[i])
            *find(slots, size, paths->slots[i], strlen(paths->slots[i])) = paths->slots[i];
    xfree(paths->slots);
    paths->slots = slots;
    paths->size = size;
}

bool floor_paths_add(struct floor_paths *paths, const char *path)
{
    if (2 * paths->count >= paths->size)
        grow(paths);
    char **slot = find(paths->slots, paths->size, path, strlen(path));
    if (*slot)
        return false;
    *slot = xstrdup(path);
    paths->count++;
    return true;
}

bool floor_paths_has(const struct floor_paths *paths, const char *path, size_t n)
{
    return paths->size > 0 && *find(paths->slots, paths->size, path, n) != NULL;
}

bool floor_paths_cover(const struct floor_paths *paths, const char *path)
{
    if (floor_paths_has(paths, "/", 1))
        return true;
    for (size_t n = 1;; n++) {
        if (path[n - 1] == '\0')
            return false;
        if ((path[n] == '/' || path[n] == '\0') && floor_paths_has(paths, path, n))
            return true;
    }
}

void floor_paths_done(struct floor_paths *paths)
{
    for (size_t i = 0; i < paths->size; i++)
        xfree(paths->slots[i]);
    xfree(paths->slots);
    *paths = (struct floor_paths){0};
}
