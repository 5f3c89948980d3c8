/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/limits/budget.h - how much memory and processor time the processes below this one use
 * together.
 * Counts:  what is theirs alone or shared among them, once (Pss); files that are mapped count too;
 *          what they hold in memory by descriptors alone (unnamed_memory.h); by how much the
 *          container's shared memory (shared.h) has grown while they ran; their page tables,
 *          threads, pipes and what waits in their sockets (sockbufs.h).
 * Whose:   of shared memory that grows while other kernels are there, what these say that they
 *          have written and touched is theirs (activity.h).
 * Looks:   cheap ones, which count shared pages for each who has them: one small file per process;
 *          every BUDGET_WHOLE_MS also at what is held and at sockets. The exact count, a
 *          millisecond per process, is made only where the cheap one is too high, and is left
 *          when what processes have added since they were seen first is alone too much. While
 *          nothing runs a look is a call for each process.
 * Caller:  as for proctree.h, one thread of a process that sees its descendants in /proc. */
#ifndef SANDBOX_LIMITS_BUDGET_H
#define SANDBOX_LIMITS_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define BUDGET_WHOLE_MS 200

/* So fast may memory grow for each processor, for at most so many: see docs/sandbox-budgets.md. The
 * limit is looked at so often that at this rate it is not passed by as much again, and that the
 * container's own limit is not reached (container.h). */
#define BUDGET_GROWTH_MS ((uint64_t)4 << 20)
#define BUDGET_PROCESSORS_MAX 16
#define BUDGET_PAUSE_LEAST_MS 4

struct budget;

/* Before anything runs below this process. */
struct budget *budget_open(uint64_t most);
struct budget *budget_free(struct budget *budget); /* NULL in, NULL out */
bool budget_exceeded(struct budget *budget);
/* That was because hardly anything is left of the container's memory, not of the budget's. */
bool budget_container_full(const struct budget *budget);
/* Until the next look. */
int64_t budget_pause_ms(const struct budget *budget);

/* One look, without the shared memory of the container. */
bool budget_exceeds(uint64_t bytes);

/* What they use now, of what is shared their part, with page tables. */
uint64_t budget_part(void);

/* The processor time of all that live below, and of the children that they have waited for, in
 * microseconds; a process that ends in between may count twice or not at all. Not in it: children
 * of this process that it has reaped, and those of a parent that ignores SIGCHLD. */
int64_t budget_cpu_us(void);

#endif
