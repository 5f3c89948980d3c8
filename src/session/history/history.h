/* SPDX-License-Identifier: Apache-2.0
 *
 * session/history/history.h - the cells of a session with their outputs, for export as a notebook
 * (notebook.h).
 * Cells:   of the session's queue, whoever sent them, and those of the kernel gateway's clients in
 *          its kernel. Code that was refused, or was cancelled before it ran, is not among them.
 * Kept:    each cell as JSON in an event log of its own (events/eventlog.h): the newest memory_max
 *          bytes in memory, what falls out of there in an unlinked file, the newest spill_max / 2
 *          to spill_max bytes; older cells are gone, and the notebook says how many. A cell that
 *          runs, or was the last, is open: what comes late is still its own.
 * Limits:  of one cell: nbcell.h.
 * Calls:   loop thread only. A history that is NULL keeps nothing. */
#ifndef SESSION_HISTORY_HISTORY_H
#define SESSION_HISTORY_HISTORY_H

#include "base/text/slice.h"
#include "session/events/eventlog.h"
#include "session/history/nbcell.h"

enum history_client { HISTORY_SESSION, HISTORY_GATEWAY, HISTORY__COUNT };

struct history_config { /* copied */
    struct loop *loop;
    size_t memory_max; /* 0: nothing is kept, and history_open() returns NULL */
    const char *spill_dir;
    uint64_t spill_max;
};

struct history;
struct history *history_open(const struct history_config *config);
struct history *history_close(struct history *h); /* NULL in, NULL out */

void history_begin(struct history *h, enum history_client client, struct slice code);
/* Of the client's cell that is open; of none: it is dropped. */
void history_message(struct history *h, enum history_client client, const struct jupyter_msg *m);
/* As nbcell_end(). */
void history_end(struct history *h, enum history_client client, const char *status,
                 const char *error, const char *reason);
/* Another kernel serves the next cell: a line of text between the cells. */
void history_kernel(struct history *h, const char *why);

/* The outputs of the client's newest cell, as of nbcell_put_outputs(). NULL, or no cell: none. */
void history_put_outputs(struct jsonw *w, const struct history *h, enum history_client client,
                         size_t max);

/* For notebook.c: the next entry behind *at (0 at first), as JSON; borrowed until the next call.
 * *ret_missed: entries between that are gone. False: there is none. */
bool history_next(struct history *h, uint64_t *at, struct slice *ret, uint64_t *ret_missed);
/* The cells that are open, the older first; NULL: there is none. */
const struct nbcell *history_open_cell(const struct history *h, size_t i);

#endif
