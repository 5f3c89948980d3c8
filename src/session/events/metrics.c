/* SPDX-License-Identifier: Apache-2.0 */
#include "session/events/metrics.h"

#include <stddef.h>

const int64_t metrics_bounds_ms[METRICS_BUCKETS] = {5,    10,    50,    100,   500,    1000,
                                                    5000, 10000, 30000, 60000, 300000, 1800000};

static void add_duration(struct metrics_durations *d, int64_t ms)
{
    size_t bucket = 0;
    while (bucket < METRICS_BUCKETS && ms > metrics_bounds_ms[bucket])
        bucket++;
    d->buckets[bucket]++;
    d->ms += ms;
}

void metrics_cell(struct metrics *m, int status, int64_t ran_ms)
{
    if (!m)
        return;
    m->cells[status]++;
    if (ran_ms >= 0)
        add_duration(&m->durations, ran_ms);
}

void metrics_external_cell(struct metrics *m, int status, int64_t ran_ms)
{
    if (!m)
        return;
    m->external[status]++;
    add_duration(&m->external_durations, ran_ms);
}

void metrics_restart(struct metrics *m, enum metrics_restart why)
{
    if (m)
        m->restarts[why]++;
}
