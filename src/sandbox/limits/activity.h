/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/limits/activity.h - whether the processes below this one have run since the last look,
 * and how much they and those of other kernels say that they have written, and touched in memory.
 * Caller:  as for proctree.h.
 * Others:  what is below another shim of the same server whose child is a kernel. */
#ifndef SANDBOX_LIMITS_ACTIVITY_H
#define SANDBOX_LIMITS_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ACTIVITY_OTHERS_MAX 128

struct activity_own { /* of our processes */
    int64_t at_ns;    /* when it was looked, */
    int64_t used_ns;  /* the processor time of those that are there, */
    uint64_t who;     /* the same number again: they are the same */
};

struct activity {
    struct activity_own own;
    uint64_t written;        /* bytes, by ours that are there and children that they waited for */
    uint64_t others_written; /* likewise */
    uint64_t touched, others_touched;  /* bytes of pages that came to them, likewise */
    bool untold;                       /* one of ours does not tell how much */
    pid_t others[ACTIVITY_OTHERS_MAX]; /* the shims of the other kernels */
    size_t other_count;                /* one more than fit: too many */
};

struct activity_own activity_own(void);
/* More than a kernel does that waits for a cell: it answers a heartbeat every three seconds. */
bool activity_has_run(const struct activity_own *before, const struct activity_own *now);
void activity_take(struct activity *ret);
/* A kernel of `before` is not there any more: nobody knows what it has written. */
bool activity_has_lost(const struct activity *before, const struct activity *now);

#endif
