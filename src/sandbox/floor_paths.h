/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/floor_paths.h - a set of directories that is asked whether a path is below one of them.
 * Private to floor.c.
 * Owns:    copies of the paths, which are absolute and clean.
 * Cost:    one look-up for each component of a path, whatever the number of directories. */
#ifndef SANDBOX_FLOOR_PATHS_H
#define SANDBOX_FLOOR_PATHS_H

#include <stdbool.h>
#include <stddef.h>

struct floor_paths {
    char **slots; /* owned; a hash table, NULL: free */
    size_t size;  /* slots, a power of two, or 0 */
    size_t count;
};

bool floor_paths_add(struct floor_paths *paths, const char *path); /* false: it was there */
bool floor_paths_has(const struct floor_paths *paths, const char *path, size_t n);
bool floor_paths_cover(const struct floor_paths *paths, const char *path);
void floor_paths_done(struct floor_paths *paths);

#endif
