/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/paths/mounts.h - what is mounted where, as /proc/self/mountinfo has it (private to
 * sandbox/).
 * Source: proc_pid_mountinfo(5). A line of more than MOUNTS_LINE_MAX bytes is left out. */
#ifndef SANDBOX_PATHS_MOUNTS_H
#define SANDBOX_PATHS_MOUNTS_H

#define MOUNTS_LINE_MAX 20480 /* two escaped paths, and more */

struct mount {          /* borrowed for the call */
    const char *device; /* "0:59" */
    const char *root;   /* which directory or file of its file system */
    const char *point;  /* where it is seen */
    const char *kind;   /* "devpts" */
};

/* Calls `each` for every mount, in the order in which they cover each other. 0, or a negative
 * errno. */
int mounts_each(void (*each)(void *ctx, const struct mount *mount), void *ctx);

#endif
