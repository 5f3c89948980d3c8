/* SPDX-License-Identifier: Apache-2.0
 *
 * session/executions/reader.h - reads a session's event log for one follower: everything of the
 * session, or what belongs to one execution.
 * Owner:   embedded in the follower, which closes it before the execution or the session ends.
 * Form:    reader_next() shows what is to be sent next and changes nothing; reader_took() says that
 *          it was sent. A client that is too slow lets the reader stand, and holds no events: what
 *          falls out of the log meanwhile is a gap that it is told of.
 * Events:  of an execution: those from its begin to its end, then READER_OVER, the last. Of a
 *          session: those that come until the follower leaves.
 * Restart: who comes back with the number of an event that this log does not know (of an earlier
 *          life of the server, or of an earlier session of this name) gets READER_RESET first and
 *          then all that is kept.
 * Caller:  the loop's thread. `more` comes from the loop, never from inside a call. */
#ifndef SESSION_EXECUTIONS_READER_H
#define SESSION_EXECUTIONS_READER_H

#include "session/events/eventlog.h"
#include "session/executions/executions.h"

enum reader_kind {
    READER_NOTHING, /* until `more` */
    READER_RESET,   /* `after` is not known here */
    READER_GAP,     /* `missed` events are not kept any more */
    READER_EVENT,   /* `event` */
    READER_PASSED,  /* an event of another cell: nothing is to be sent, but it is to be taken */
    READER_OVER     /* the execution's last event has been taken */
};

struct reader_item {
    enum reader_kind kind;
    uint64_t after;      /* READER_RESET: what was asked for */
    uint64_t missed;     /* READER_GAP */
    struct logged event; /* READER_EVENT; borrowed until the next call */
};

struct execution_reader {
    struct session *session;
    struct execution *execution; /* NULL: all of the session */
    uint64_t after;              /* the last event that was taken */
    bool is_reset;               /* `after` is not one of this log */
    bool has_end;                /* the last that was taken is the end of a cell */
    struct eventlog_watcher log_watcher;
    struct execution_watcher watcher;
    loop_fn more;
    void *ctx;
};

/* after: the number of the last event that the follower has; 0: none. `more` is called when
 * there may be something new, at most once in a turn of the loop for events of the log. */
void reader_open(struct execution_reader *r, struct session *session, struct execution *x,
                 uint64_t after, loop_fn more, void *ctx);
void reader_close(struct execution_reader *r);

struct reader_item reader_next(struct execution_reader *r);
void reader_took(struct execution_reader *r, const struct reader_item *item);

#endif
