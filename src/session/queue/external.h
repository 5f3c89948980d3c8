/* SPDX-License-Identifier: Apache-2.0
 *
 * session/queue/external.h - cells that another client runs in a kernel, past the server: what the
 * kernel says of them goes to the audit log, to the metrics and to the history (private to
 * session/).
 * Told:    when a cell has begun, so no cell waits for the log. A silent cell is logged when it
 *          ends; its code is unknown.
 * Trust:   the kernel publishes it: code in the kernel can suppress or forge it. */
#ifndef SESSION_QUEUE_EXTERNAL_H
#define SESSION_QUEUE_EXTERNAL_H

#include "audit/audit.h"
#include "loop/loop.h"
#include "session/events/metrics.h"
#include "session/history/history.h"
#include "wire/jupyter_msg.h"

#define EXTERNAL_ID_MAX 128 /* bytes of a request's id; a longer one is cut */

struct external_cells { /* in its owner, all zero at first; a kernel runs one cell at a time */
    char request[EXTERNAL_ID_MAX];
    int64_t begun_ms;
    bool told, failed;
};

struct external_place { /* borrowed for the call */
    struct loop *loop;
    struct audit *audit; /* NULL: there is none, as of the next */
    struct metrics *metrics;
    struct history *history;
    const char *session, *kernel; /* whose it is: one of both, the other is NULL */
};

/* What came on iopub for a request of another client. */
void external_message(struct external_cells *cell, const struct external_place *place,
                      const struct jupyter_msg *m);

static inline bool external_running(const struct external_cells *cell)
{
    return *cell->request != '\0';
}

/* The kernel is gone, and maybe a cell with it. */
void external_lost(struct external_cells *cell, const struct external_place *place);

#endif
