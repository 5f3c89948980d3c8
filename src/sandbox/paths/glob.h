/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/paths/glob.h - patterns of paths: what srt's settings mean by a star (private to policy.c
 * and its parts).
 * Words:   *    any characters of one component, also a leading dot
 *          ?    one character of a component
 *          [..] one of them, a-z a range, [!..] or [^..] any other; without its end it is itself
 *          **   as a component: any number of directories, none too; as a part of one: any
 *               characters, slashes too
 * Cost:    quadratic in the path at worst: it never depends on the number of stars. */
#ifndef SANDBOX_PATHS_GLOB_H
#define SANDBOX_PATHS_GLOB_H

#include <stdbool.h>
#include <stddef.h>

bool glob_is(const char *text); /* has it one of these characters? */

/* The length of what stands before the first component that is a pattern, with its slash. */
size_t glob_fixed(const char *pattern);

/* Does the pattern match path[0..n), all of it? */
bool glob_matches(const char *pattern, const char *path, size_t n);

/* Does it match the path or a directory above it? */
bool glob_covers(const char *pattern, const char *path);

/* Might it match a path below this directory? Yes when in doubt. */
bool glob_reaches_below(const char *pattern, const char *dir);

#endif
