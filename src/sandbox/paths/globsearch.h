/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/paths/globsearch.h - does a pattern match something that is there now (private to
 * policy.c and its parts). */
#ifndef SANDBOX_PATHS_GLOBSEARCH_H
#define SANDBOX_PATHS_GLOBSEARCH_H

#define GLOBSEARCH_NAMES_MAX 20000 /* looked at in one search */
#define GLOBSEARCH_DEPTH_MAX 64

/* Below a directory: 1 yes, 0 no; -E2BIG over one of the limits, -EACCES where a directory cannot
 * be read, or another error. 0 too when dir is no directory. Links are not followed. The pattern is
 * compared as if dir had the path `as`. */
int glob_search(const char *pattern, const char *dir, const char *as);

#endif
