/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/confine/level.h - what isolation this machine grants, found out by trying.
 * How:     a short-lived child tries each mechanism for itself; nothing is read off a version.
 * Levels:  full      Landlock, a seccomp listener and openat2(2): every setting is enforced
 *          landlock  no broker: no listener (a foreign one is above us), no memory of callers to be
 *                    read, or no openat2(2): the ruleset and the static filter
 *          none      neither; the static filter alone may still hold
 * Cost:    some milliseconds, once. */
#ifndef SANDBOX_CONFINE_LEVEL_H
#define SANDBOX_CONFINE_LEVEL_H

#include <stdbool.h>

#include "base/buf.h"

enum sandbox_level { SANDBOX_NONE, SANDBOX_LANDLOCK, SANDBOX_FULL, SANDBOX_LEVEL__COUNT };

struct sandbox_probe {
    enum sandbox_level level;
    int landlock_abi;                                                           /* 0: none */
    int landlock_errno, filter_errno, listener_errno, memory_errno, open_errno; /* 0: it works */
    bool scopes;    /* signals and abstract sockets stop at the edge (ABI 6) */
    bool read_fast; /* process_vm_readv */
    bool peers;     /* SO_PEERCRED tells who connected; below gVisor everybody sees himself */
};

void sandbox_probe(struct sandbox_probe *ret);
const char *sandbox_level_name(enum sandbox_level level); /* "full" */
int sandbox_level_of(const char *name);                   /* -EINVAL: no such level */
/* One line: what was obtained, and exactly what is missing and why. */
void sandbox_probe_text(const struct sandbox_probe *probe, struct buf *text);

#endif
