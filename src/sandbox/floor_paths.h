/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/floor_paths.h - a set of directories that is asked whether a path is below one of them.
 * Private to floor.c.
 * Owns:    copies of the paths, which are absolute and clean, and what was there when they were
 *          added: a rule of Landlock is about that directory, not about one made anew in its place
 *          (the rule holds the inode, so its number is given to no other).
 * Cost:    one look-up for each component of a path, whatever the number of directories, and one
 *          stat(2) for the directory that is found. */
#ifndef SANDBOX_FLOOR_PATHS_H
#define SANDBOX_FLOOR_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct floor_path {
    char *text; /* owned; NULL: the slot is free */
    dev_t device;
    ino_t inode; /* 0: nothing was there */
};

struct floor_paths {
    struct floor_path *slots; /* owned; a hash table */
    size_t size;              /* slots, a power of two, or 0 */
    size_t count;
};

bool floor_paths_add(struct floor_paths *paths, const char *path); /* false: it was there */
bool floor_paths_has(const struct floor_paths *paths, const char *path, size_t n);
/* Is the path below one of these, and is that still what it was? */
bool floor_paths_cover(const struct floor_paths *paths, const char *path);
void floor_paths_done(struct floor_paths *paths);

#endif
