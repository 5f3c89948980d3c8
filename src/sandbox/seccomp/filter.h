/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/seccomp/filter.h - the seccomp programs: which calls are refused, and which are notified
 * to the broker.
 * Source:  seccomp(2), linux/seccomp.h; the tables are per architecture (x86_64, aarch64). */
#ifndef SANDBOX_SECCOMP_FILTER_H
#define SANDBOX_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>

#include "base/err.h"

struct filter_wants {
    bool listener;     /* false: nothing is notified; what would be is refused if it must be */
    bool reads;        /* opens for reading are notified too (denyRead, or virtual files) */
    bool marks;        /* but for those with the mark of opens_mark.h: a ruleset judges reads */
    bool writes;       /* everything that changes the file system is notified */
    bool network;      /* sockets of the internet are notified; else they are refused */
    bool open_network; /* no rules for the network at all: the walls alone */
    bool unix_sockets; /* Unix sockets are notified; else refused */
    bool tasks;        /* clone, fork and vfork are notified */
    bool signals;      /* kill and its kind are notified: Landlock has no scope for them */
    bool counted;      /* somebody adds up what its processes have, as far as they can be read */
    bool disk;         /* and what they write */
    bool memory;       /* or what they have in memory */
    bool attributes;   /* modes, owners, times and their kind are notified, even if not `writes` */
    bool lists;        /* opens that say DIRECTORY are notified, even if not `reads` */
    bool terminals;    /* what opens one is notified: TIOCGPTPEER, opens that write or say NOCTTY */
};

#define FILTER_MAX 1024 /* instructions */

/* *ret is the caller's (xfree); *ret_count its instructions. -EMSGSIZE: over FILTER_MAX. */
MUST_CHECK int filter_build(const struct filter_wants *wants, struct sock_filter **ret,
                            unsigned short *ret_count, struct err *e);

#endif
