/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { NS_DIGITS = 9 };
#define FIRST_SECOND (-62135596800LL) /* 0001-01-01T00:00:00Z */
#define LAST_SECOND 253402300799LL    /* 9999-12-31T23:59:59Z */

static int64_t in_ns(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

int64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return in_ns(&t);
}

int64_t clock_of_process_ns(pid_t pid)
{
    clockid_t clock;
    struct timespec used;
    bool there = clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &used) == 0;
    return there ? in_ns(&used) : -1;
}

int64_t clock_of_thread_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return in_ns(&used);
}

int64_t clock_ms(void)
{
    return clock_ns() / 1000000;
}

int64_t clock_real_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return clock_real_ms_of(&t);
}

int64_t clock_real_ms_of(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000 + t->tv_nsec / 1000000;
}

/* Of so many parts of a second since 1970, or before. */
static struct timespec timespec_of_parts(int64_t count, int64_t in_second)
{
    const int64_t part = count % in_second, before = part < 0;
    return (struct timespec){.tv_sec = (time_t)(count / in_second - before),
                             .tv_nsec =
                                 (long)((part + before * in_second) * (1000000000 / in_second))};
}

struct timespec clock_timespec_of(int64_t real_us)
{
    return timespec_of_parts(real_us, 1000000);
}

const char *clock_iso_of(const struct timespec *t, int digits, char ret[CLOCK_ISO_MAX])
{
    struct timespec held =
        *t; /* a file's time is what code has set, and clients read four digits */
    struct tm tm = {0};
    char part[NS_DIGITS + 1], seconds[CLOCK_ISO_MAX - NS_DIGITS - 2];
    if (held.tv_sec < FIRST_SECOND)
        held = (struct timespec){.tv_sec = FIRST_SECOND};
    else if (held.tv_sec > LAST_SECOND)
        held = (struct timespec){.tv_sec = LAST_SECOND, .tv_nsec = 999999999};
    (void)gmtime_r(&held.tv_sec, &tm);
    (void)strftime(seconds, sizeof seconds, "-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(part, sizeof part, "%09u", (unsigned)held.tv_nsec % 1000000000);
    (void)snprintf(ret, CLOCK_ISO_MAX, "%04u%s.%.*sZ", (unsigned)(tm.tm_year + 1900) % 10000,
                   seconds, digits, part);
    return ret;
}

const char *clock_iso(int64_t real_ms, char ret[CLOCK_ISO_MAX])
{
    const struct timespec t = timespec_of_parts(real_ms, 1000);
    return clock_iso_of(&t, 3, ret);
}
