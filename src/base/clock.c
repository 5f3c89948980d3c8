/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

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

const char *clock_iso(int64_t real_ms, char ret[CLOCK_ISO_MAX])
{
    char day[CLOCK_ISO_MAX] = "";
    struct tm tm;
    const int part = (int)((real_ms % 1000 + 1000) % 1000); /* files may be older than 1970 */
    const time_t seconds = (time_t)((real_ms - part) / 1000);
    if (gmtime_r(&seconds, &tm))
        (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(ret, CLOCK_ISO_MAX, "%.30s.%03dZ", day, part);
    return ret;
}
