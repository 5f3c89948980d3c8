/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/paths/pathset.h - canonical paths, to be asked whether one of them is a path or above it
 * (private to policy.c and its parts, and to ruleset_paths.c).
 * Cost:    one hash of the path, one look for each of its directories; however many there are. */
#ifndef SANDBOX_PATHS_PATHSET_H
#define SANDBOX_PATHS_PATHSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pathset { /* all zero: empty */
    struct pathset_slot *slots;
    size_t size, count;
    bool fold; /* upper and lower case of ASCII are the same; set before the first path */
};

void pathset_done(struct pathset *set);
bool pathset_add(struct pathset *set, const char *path);       /* false: it was there */
void pathset_add_above(struct pathset *set, const char *path); /* all directories it lies in */
bool pathset_has(const struct pathset *set, const char *path);
/* How many were added before the path of n bytes, of which the root has 0; -1: it is not there. */
ssize_t pathset_number(const struct pathset *set, const char *path, size_t n);

/* Length of the longest one that is the path or above it; the root has 0. -1: there is none. */
ssize_t pathset_longest(const struct pathset *set, const char *path);

/* All paths in the order of their bytes, the root as ""; borrowed. The caller frees the array with
 * xfree(); it has `count` of them. */
const char **pathset_sorted(const struct pathset *set);

#endif
