/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/paths/terminals.h - which devices are terminals, and which paths lead to them: mounts of
 * devpts, and bind mounts of single ones (/dev/console of `docker run -t`).
 * Owns:    a set of paths, as the mounts are when it is filled. Any thread may ask.
 * Source:  proc_pid_mountinfo(5), Documentation/admin-guide/devices.txt of Linux.
 * Not here: who may open one (broker_terminals.c). */
#ifndef SANDBOX_PATHS_TERMINALS_H
#define SANDBOX_PATHS_TERMINALS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"
#include "sandbox/paths/pathset.h"

/* Pseudo terminals, consoles, serial lines. Not /dev/tty, which is the caller's own, and not
 * /dev/ptmx, which makes a new one. */
bool terminal_is(const struct stat *st);

#define TERMINAL_PTS_MAJOR 136 /* of pseudo terminals; the minor is their number */

struct terminals {                /* all zero: empty */
    struct pathset mounts, above; /* where devpts is; all directories that hold such a place */
};

MUST_CHECK int terminals_find(struct terminals *t, struct err *e);
void terminals_done(struct terminals *t);
bool terminals_at(const struct terminals *t, const char *path); /* the root of a devpts */
bool terminals_below(const struct terminals *t,
                     const char *path); /* in this directory, somewhere */

#endif
