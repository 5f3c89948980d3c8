/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/landlock/ruleset_paths.h - a set of directories that is asked whether a path is below one
 * of them. Private to ruleset.c.
 * Owns:    copies of the paths, which are absolute and clean, and what was there when they were
 *          added: a rule of Landlock is about that directory, not about one made anew in its place
 *          (the rule holds the inode, so its number is given to no other).
 * Cost:    one look-up for each component of a path, whatever the number of directories, and one
 *          stat(2) for the directory that is found. */
#ifndef SANDBOX_LANDLOCK_RULESET_PATHS_H
#define SANDBOX_LANDLOCK_RULESET_PATHS_H

#include <stdbool.h>

#include "sandbox/paths/pathset.h"

struct ruleset_paths { /* all zero: empty */
    struct pathset set;
    struct ruleset_identity *were; /* by the number of the path; owned */
    size_t room;
};

bool ruleset_paths_add(struct ruleset_paths *paths, const char *path); /* false: it was there */
/* Is the path below one of these, and is that still what it was? */
bool ruleset_paths_cover(const struct ruleset_paths *paths, const char *path);
void ruleset_paths_done(struct ruleset_paths *paths);

#endif
