/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/budget.h - how much memory and processor time the processes below this one use together.
 * Counts:  what is theirs alone or shared among them, once (Pss); files that are mapped count too;
 *          what they hold in memory by descriptors alone (holdings.h).
 * Caller:  as for proctree.h, one thread of a process that sees its descendants in /proc.
 * Cost:    one small file per process and what holdings.h says; the exact count, which takes a
 *          millisecond per process, is made only where the cheap one, which counts shared pages for
 *          each who has them, is too high. */
#ifndef SANDBOX_BUDGET_H
#define SANDBOX_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

bool budget_exceeds(uint64_t bytes);

/* The processor time of all that live below, and of the children that they have waited for, in
 * microseconds; a process that ends in between may count twice or not at all. Not in it: children
 * of this process that it has reaped, and those of a parent that ignores SIGCHLD. */
int64_t budget_cpu_us(void);

#endif
