/* SPDX-License-Identifier: Apache-2.0 */
#include "session/metrics.h"

#include <stddef.h>

const int64_t metrics_bounds_ms[METRICS_BUCKETS] = {5,    10,    50,    100,   500,    1000,
                                                    5000, 10000, 30000, 60000, 300000, 1800000};

void metrics_cell(struct metrics *m, int status, int64_t ran_ms)
{
    size_t bucket = 0;
    if (!m)
        return;
    m->cells[status]++;
    if (ran_ms < 0)
        return;
    while (bucket < METRICS_BUCKETS && ran_ms > metrics_bounds_ms[bucket])
        bucket++;
    m->durations[bucket]++;
    m->duration_ms += ran_ms;
}

void metrics_restart(struct metrics *m, enum metrics_restart why)
{
    if (m)
        m->restarts[why]++;
}
