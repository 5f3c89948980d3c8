/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/limits/diskbudget.h - how much disk space the processes below this one have taken since
 * it was opened.
 * Counts:  by how much the places of diskuse.h have grown while these processes ran, and their
 *          files without a name (unnamed_memory.h). Growth in a time in which they have hardly run,
 *          or in which another kernel has written or ended, is at most what ours say that they have
 *          written (activity.h).
 * Looks:   cheap, each time that it is asked; the places are walked in a thread of its own: when
 *          their disks have filled by half of what is left, else every DISKBUDGET_PAUSE_MS, both
 *          only while something runs, and seldom enough to use 2 % of a processor.
 * Caller:  as for proctree.h; one thread. It lives as long as the process. */
#ifndef SANDBOX_LIMITS_DISKBUDGET_H
#define SANDBOX_LIMITS_DISKBUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define DISKBUDGET_PAUSE_MS 2000

struct diskbudget;

/* Before anything runs below this process: it blocks for as long as the places take to walk.
 * `places`: as of diskuse.h; copied. */
struct diskbudget *diskbudget_open(uint64_t most, const char *const *places);
/* `now_ms`: of clock_ms(), or of whoever plays it. */
bool diskbudget_exceeded(struct diskbudget *budget, int64_t now_ms);
/* While a walk goes on a look learns nothing. */
bool diskbudget_is_walking(struct diskbudget *budget);
/* A child was reaped which had written so many bytes, as wait4(2) tells. */
void diskbudget_reaped(struct diskbudget *budget, uint64_t written);

#endif
