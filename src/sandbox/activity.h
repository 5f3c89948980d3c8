/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/activity.h - whether the processes below this one, and those of other kernels, have run
 * since the last look, and how much ours say that they have written.
 * Caller:  as for proctree.h.
 * Others:  what is below another shim whose child is a kernel. */
#ifndef SANDBOX_ACTIVITY_H
#define SANDBOX_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

struct activity {
    uint64_t own, others; /* the same number again: none of them has run */
    uint64_t written;     /* bytes, by ours that are there and children that they waited for */
    bool untold;          /* one of ours does not tell how much */
};

uint64_t activity_own(void);
void activity_take(struct activity *ret);

#endif
