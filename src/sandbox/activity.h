/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/activity.h - whether the processes below this one have run since the last look, and how
 * much they and those of other kernels say that they have written.
 * Caller:  as for proctree.h.
 * Others:  what is below another shim of the same server whose child is a kernel. */
#ifndef SANDBOX_ACTIVITY_H
#define SANDBOX_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

struct activity {
    uint64_t own;            /* the same number again: none of ours has run */
    uint64_t written;        /* bytes, by ours that are there and children that they waited for */
    uint64_t others_written; /* likewise; less than before: one of them has gone */
    bool untold;             /* one of ours does not tell how much */
};

uint64_t activity_own(void);
void activity_take(struct activity *ret);

#endif
