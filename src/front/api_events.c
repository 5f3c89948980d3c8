/* SPDX-License-Identifier: Apache-2.0
 *
 * A session's event log for those who follow it: what is kept after a number, then what comes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "front/api.h"
#include "front/api_desk.h"
#include "front/api_json.h"

enum { EVENTS_PER_TURN = 64 };

static void pump(void *ctx);

static void free_stream(struct stream *s)
{
    struct eventlog *log = session_events(s->desk->session);
    struct loop *loop = s->desk->api->loop;
    *(s->prev ? &s->prev->next : &s->desk->streams) = s->next;
    if (s->next)
        s->next->prev = s->prev;
    if (log)
        eventlog_unwatch(log, &s->watcher);
    loop_defer_stop(loop, &s->again);
    follow_drop(&s->follow);
    if (s->execution)
        s->execution->refs--;
    xfree(s);
}

static void end_stream(struct stream *s, enum follow_why why, const char *reason)
{
    follow_end(&s->follow, why, reason);
    free_stream(s);
}

static void on_gone(void *ctx)
{
    struct stream *s = ctx;
    struct execution *x = s->execution;
    bool first = s->first;
    free_stream(s);
    if (x)
        execution_gone(x, first);
}

/* --- one event -------------------------------------------------------------------------------- */

static bool is_text(enum logged_kind kind)
{
    return kind == LOGGED_STDOUT || kind == LOGGED_STDERR;
}

/* The data of every kind is an object: its own members behind those that all have. */
static void put_logged(const struct stream *s, struct buf *out, const struct logged *event)
{
    follow_put(&s->follow, out, event->number, logged_names[event->kind]);
    (void)buf_addf(out, "{\"cell\":%llu,\"time_ms\":%lld", (unsigned long long)event->cell,
                   (long long)event->time_ms);
    if (event->late)
        (void)buf_adds(out, ",\"late\":true");
    if (is_text(event->kind)) {
        struct jsonw w = JSONW(out);
        (void)buf_adds(out, ",\"text\":");
        jsonw_text_n(&w, event->data, event->n);
        (void)buf_addc(out, '}');
    } else {
        (void)buf_adds(out, event->n > 2 ? "," : "");
        (void)buf_add(out, event->data + 1, event->n - 1);
    }
}

static bool is_wanted(const struct stream *s, const struct logged *event)
{
    return !s->execution || event->cell == s->execution->number;
}

static int send_gap(struct stream *s, uint64_t missed)
{
    drop_buf struct buf text = BUF_INIT(4096);
    follow_put(&s->follow, &text, 0, "gap");
    (void)buf_addf(&text, "{\"missed\":%llu}", (unsigned long long)missed);
    return follow_send(&s->follow, &text);
}

/* It asks for what came after an event of an earlier life of the server, or of another session that
 * had this name: all that is kept follows. */
static void send_reset(struct stream *s)
{
    drop_buf struct buf text = BUF_INIT(4096);
    follow_put(&s->follow, &text, 0, "reset");
    (void)buf_addf(&text, "{\"after\":%llu}", (unsigned long long)s->after);
    s->after = 0;
    (void)!follow_send(&s->follow, &text);
}

static int send_logged(struct stream *s, const struct logged *event)
{
    drop_buf struct buf text = BUF_INIT(API_ANSWER_MAX);
    put_logged(s, &text, event);
    int r = follow_send(&s->follow, &text);
    if (r == 0)
        s->told_end = event->kind == LOGGED_END;
    return r;
}

/* --- the stream ------------------------------------------------------------------------------- */

static void on_more(void *ctx)
{
    struct stream *s = ctx;
    if (!s->follow.blocked)
        loop_defer(s->desk->api->loop, &s->again, pump, s);
}

/* All that an execution has brought was sent, or is no longer there. True: the stream is gone. */
static bool is_over(struct stream *s)
{
    const struct execution *x = s->execution;
    if (!x || x->cell || s->after < x->last_event)
        return false;
    if (!s->told_end) /* it never ran, or the log has dropped it */
        follow_last(&s->follow, "end", "status", cell_status_names[x->status]);
    end_stream(s, FOLLOW_DONE, "the execution has ended");
    return true;
}

/* 0: go on; else nothing is to be done at present. */
static int send_next(struct stream *s)
{
    struct eventlog *log = session_events(s->desk->session);
    struct logged event;
    uint64_t missed = 0;
    if (s->execution && s->execution->number == 0)
        return -EAGAIN; /* it waits in the queue */
    int r = log ? eventlog_next(log, s->after, &event, &missed) : -EAGAIN;
    if (r == 0 && missed > 0)
        r = send_gap(s, missed);
    if (r == 0)
        s->after = event.number - 1; /* it is told once what is missing */
    if (r == 0 && is_wanted(s, &event))
        r = send_logged(s, &event);
    if (r == 0)
        s->after = event.number;
    return r;
}

static void pump(void *ctx)
{
    struct stream *s = ctx;
    for (int i = 0; i < EVENTS_PER_TURN; i++) {
        if (is_over(s) || send_next(s) < 0)
            return;
    }
    loop_defer(s->desk->api->loop, &s->again, pump, s);
}

/* Last-Event-ID is what a client sends that comes back by itself; ?after=N is for all others. */
static bool read_after(struct http_request *r, uint64_t *ret)
{
    const char *text = http_header(r, "Last-Event-ID");
    if (!text)
        text = http_query(r, "after");
    char *end = NULL;
    if (!text)
        return true;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno) {
        http_problem(r, 400, NULL, 0, "Last-Event-ID, after: the number of an event is needed");
        return false;
    }
    *ret = n;
    return true;
}

/* The answer has begun. False: with an error, and the stream is not to be. */
static bool begin(struct stream *s, struct http_request *r)
{
    static const struct follow_events events = {.writable = on_more, .gone = on_gone};
    const struct execution *x = s->execution;
    drop_str char *location =
        x ? xasprintf("/v1/sessions/%s/executions/%s", s->desk->id, x->id) : NULL;
    if (!follow_begin(&s->follow, s->desk->api->loop, r, location, &events, s))
        return false;
    drop_buf struct buf text = BUF_INIT(4096);
    follow_put(&s->follow, &text, 0, "execution");
    if (x)
        (void)buf_addf(&text, "{\"id\":\"%s\",\"session\":\"%s\"}", x->id, s->desk->id);
    if (x)
        (void)!follow_send(&s->follow, &text);
    return true;
}

bool stream_may_open(const struct desk *desk, struct http_request *r, uint64_t *ret_after)
{
    if (!desk->api->drains)
        return read_after(r, ret_after);
    http_problem(r, 503, NULL, 0, API_STOPPING);
    return false;
}

void stream_open(struct desk *desk, struct execution *x, struct http_request *r, bool first)
{
    struct eventlog *log = session_events(desk->session);
    uint64_t after = 0;
    if (!stream_may_open(desk, r, &after))
        return;
    struct stream *s = NEW(struct stream);
    *s = (struct stream){.desk = desk, .execution = x, .after = after, .first = first};
    if (!begin(s, r)) {
        xfree(s);
        return;
    }
    s->next = desk->streams;
    if (s->next)
        s->next->prev = s;
    desk->streams = s;
    if (log && !eventlog_knows(log, after))
        send_reset(s);
    if (x) {
        x->refs++;
        if (x->number > 0 && s->after < x->first_event)
            s->after = x->first_event - 1;
    }
    if (log)
        eventlog_watch(log, &s->watcher, on_more, s);
    on_more(s);
}

void events_get(void *ctx, struct http_request *r)
{
    struct desk *desk = desk_of(ctx, r);
    if (desk)
        stream_open(desk, NULL, r, false);
}

void streams_wake(struct desk *desk, const struct execution *x)
{
    for (struct stream *s = desk->streams; s; s = s->next) {
        if (s->execution != x)
            continue;
        if (s->after + 1 < x->first_event) /* what came before it began is not its own */
            s->after = x->first_event - 1;
        on_more(s);
    }
}

/* What is still in the log goes out first, as far as the client takes it at once. */
void streams_end(struct desk *desk, enum follow_why why, const char *reason)
{
    while (desk->streams) {
        struct stream *s = desk->streams;
        while (!is_over(s)) {
            if (send_next(s) == 0)
                continue;
            follow_last(&s->follow, "closed", "reason", reason);
            end_stream(s, why, reason);
            break;
        }
    }
}
