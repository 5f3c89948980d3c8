/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/landlock/floor_paths.h - a set of directories that is asked whether a path is below one
 * of them. Private to floor.c.
 * Owns:    copies of the paths, which are absolute and clean, and what was there when they were
 *          added: a rule of Landlock is about that directory, not about one made anew in its place
 *          (the rule holds the inode, so its number is given to no other).
 * Cost:    one look-up for each component of a path, whatever the number of directories, and one
 *          stat(2) for the directory that is found. */
#ifndef SANDBOX_LANDLOCK_FLOOR_PATHS_H
#define SANDBOX_LANDLOCK_FLOOR_PATHS_H

#include <stdbool.h>

#include "sandbox/paths/pathset.h"

struct floor_paths { /* all zero: empty */
    struct pathset set;
    struct floor_identity *were; /* by the number of the path; owned */
    size_t room;
};

bool floor_paths_add(struct floor_paths *paths, const char *path); /* false: it was there */
/* Is the path below one of these, and is that still what it was? */
bool floor_paths_cover(const struct floor_paths *paths, const char *path);
void floor_paths_done(struct floor_paths *paths);

#endif
