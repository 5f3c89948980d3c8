/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/paths/lexical.h - paths as texts, beside path_clean() of pathname.h: no look at any file.
 * Use:     what is said here is a guess at where a path leads: symbolic links are not known. It
 *          chooses between roads that are safe either way, it never decides what is allowed. */
#ifndef SANDBOX_PATHS_LEXICAL_H
#define SANDBOX_PATHS_LEXICAL_H

#include <limits.h>
#include <stdbool.h>

/* The last name of a path and what is before it: "a/b//" is "a/" and "b/" (the slash tells that a
 * directory is meant), "b" is "." and "b", "//" is "/" and "/".
 * -ENOENT: empty; -ENAMETOOLONG. */
int lexical_split(const char *path, char dir[static PATH_MAX], char name[static NAME_MAX + 2]);

/* ".", "..", "/": no name that could be made or removed. */
bool lexical_special(const char *name);

/* Has ".." among its names, so that lexical_join() may be wrong about it. */
bool lexical_climbs(const char *path);

#endif
