/* SPDX-License-Identifier: Apache-2.0
 *
 * base/clock.h - monotonic milliseconds and nanoseconds (CLOCK_MONOTONIC: stands still while the
 * machine sleeps, never jumps), the wall clock, and the processor time of a process and of the
 * calling thread. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

int64_t clock_ms(void);
int64_t clock_ns(void);

/* Of the wall clock, since 1970: it may jump. */
int64_t clock_real_ms(void);
int64_t clock_real_ms_of(const struct timespec *t); /* a file's, for example */

/* "2026-07-28T10:00:00.000Z", of such milliseconds; returns ret. What is before the year 1 or after
 * 9999 is the first or the last time of these years: clients cannot read another. */
#define CLOCK_ISO_MAX 40
const char *clock_iso(int64_t real_ms, char ret[CLOCK_ISO_MAX]);
/* With 1 to 9 digits of the second, cut off and not rounded. */
const char *clock_iso_of(const struct timespec *t, int digits, char ret[CLOCK_ISO_MAX]);
struct timespec clock_timespec_of(int64_t real_us);

/* Of all its threads, also those that have ended, in nanoseconds; -1: there is no such process. */
int64_t clock_of_process_ns(pid_t pid);
int64_t clock_of_thread_ns(void);

#endif
