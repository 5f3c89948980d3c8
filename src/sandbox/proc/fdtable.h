/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/proc/fdtable.h - what another process has open, as /proc/PID/fd shows it
 * (proc_pid_fd(5)).
 * Caller:  any thread. Needs the right to ptrace that process.
 * Not here: what the files mean to the caller (open_resources.h, unnamed_memory.h, socklook.h). */
#ifndef SANDBOX_PROC_FDTABLE_H
#define SANDBOX_PROC_FDTABLE_H

#include <stdbool.h>
#include <sys/types.h>

struct fdtable_entry { /* valid during the call that gets it */
    int fd;            /* its number in that process */
    int dir;           /* /proc/PID/fd, for fstatat(dir, name, ...) */
    const char *name;  /* in `dir` */
    const char *link;  /* where it leads: a path, or "socket:[INODE]" and such; cut at PATH_MAX */
};

/* Calls fn for each until it returns true. What is closed meanwhile is left out. Returns 1 when fn
 * did, 0 at the end, or a negative errno when the table cannot be read: -ENOENT, the process has
 * gone; -EACCES, it is not ours to see. */
int fdtable_each(pid_t pid, bool (*fn)(void *ctx, const struct fdtable_entry *entry), void *ctx);

#endif
