/* SPDX-License-Identifier: Apache-2.0 */
#include "session/executions/reader.h"

static void on_read_execution_changed(void *ctx)
{
    struct execution_reader *r = ctx;
    r->more(r->ctx);
}

void reader_open(struct execution_reader *r, struct session *session, struct execution *x,
                 uint64_t after, loop_fn more, void *ctx)
{
    struct eventlog *log = session_events(session);
    *r = (struct execution_reader){.session = session,
                                   .execution = x,
                                   .after = after,
                                   .is_reset = log && !eventlog_knows(log, after),
                                   .more = more,
                                   .ctx = ctx};
    if (x)
        execution_watch(x, &r->watcher, on_read_execution_changed, r);
    if (log)
        eventlog_watch(log, &r->log_watcher, on_read_execution_changed, r);
}

void reader_close(struct execution_reader *r)
{
    struct eventlog *log = session_events(r->session);
    if (log)
        eventlog_unwatch(log, &r->log_watcher);
    execution_unwatch(&r->watcher);
}

static struct reader_item of_kind(enum reader_kind kind)
{
    return (struct reader_item){.kind = kind};
}

static struct reader_item next_logged(struct execution_reader *r)
{
    const struct execution *x = r->execution;
    struct eventlog *log = session_events(r->session);
    struct reader_item item = {.kind = READER_EVENT};
    if (!log || eventlog_next(log, r->after, &item.event, &item.missed) < 0)
        return of_kind(READER_NOTHING);
    if (item.missed > 0)
        item.kind = READER_GAP;
    else if (x && item.event.cell != x->number)
        item.kind = READER_PASSED;
    return item;
}

struct reader_item reader_next(struct execution_reader *r)
{
    const struct execution *x = r->execution;
    if (r->is_reset)
        return (struct reader_item){.kind = READER_RESET, .after = r->after};
    if (x && x->number > 0 && r->after + 1 < x->first_event)
        r->after = x->first_event - 1; /* what came before it began is not its own */
    if (x && x->state == EXECUTION_ENDED && r->after >= x->last_event)
        return of_kind(READER_OVER);
    if (x && x->state == EXECUTION_QUEUED)
        return of_kind(READER_NOTHING);
    return next_logged(r);
}

void reader_took(struct execution_reader *r, const struct reader_item *item)
{
    switch (item->kind) {
    case READER_RESET:
        r->is_reset = false;
        r->after = 0;
        break;
    case READER_GAP: /* it is told once what is missing */
        r->after = item->event.number - 1;
        break;
    case READER_EVENT:
        r->has_end = item->event.kind == LOGGED_END;
        r->after = item->event.number;
        break;
    case READER_PASSED:
        r->after = item->event.number;
        break;
    case READER_NOTHING:
    case READER_OVER:
        break;
    }
}
