/* SPDX-License-Identifier: Apache-2.0
 *
 * session/events/metrics.h - what the server has done since its start, in numbers;
 * front/api/api_metrics.c shows them. Nothing here tells one session from another.
 * Owner:   one struct, all zero at first, lent to whoever counts; NULL: nobody counts. */
#ifndef SESSION_EVENTS_METRICS_H
#define SESSION_EVENTS_METRICS_H

#include <stdint.h>

#define METRICS_STATUSES 7 /* enum cell_status */
#define METRICS_VERDICTS 4 /* enum approval_verdict */
#define METRICS_OUTCOMES 4 /* enum toolplane_failure */
#define METRICS_BUCKETS 12

enum metrics_restart {
    RESTART_RESET,
    RESTART_LOST,
    RESTART_UNRESPONSIVE,
    RESTART_IDLE,
    RESTART_REWIND,
    METRICS_RESTARTS
};

struct metrics_durations {
    uint64_t buckets[METRICS_BUCKETS + 1]; /* each cell is counted in one */
    int64_t ms;                            /* of all of them */
};

struct metrics {
    uint64_t cells[METRICS_STATUSES];
    struct metrics_durations durations;  /* of cells that ran */
    uint64_t external[METRICS_STATUSES]; /* session/queue/external.h: as kernels tell it */
    struct metrics_durations external_durations;
    uint64_t kernels; /* taken by sessions */
    uint64_t restarts[METRICS_RESTARTS];
    uint64_t output_bytes; /* text that cells printed */
    uint64_t verdicts[METRICS_VERDICTS];
    uint64_t calls[METRICS_OUTCOMES];
    uint64_t refusals; /* calls that sandboxes refused, as far as they were told */
};

/* Upper bounds of the buckets in ms; what is longer is in the last, unbounded one. */
extern const int64_t metrics_bounds_ms[METRICS_BUCKETS];

void metrics_cell(struct metrics *m, int status, int64_t ran_ms); /* < 0: it never ran */
void metrics_external_cell(struct metrics *m, int status, int64_t ran_ms);
void metrics_restart(struct metrics *m, enum metrics_restart why);

#endif
