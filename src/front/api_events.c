/* SPDX-License-Identifier: Apache-2.0
 *
 * A session's event log as Server-Sent Events: what is kept after a number, and then what comes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "front/api.h"
#include "front/api_desk.h"
#include "front/api_json.h"

enum {
    EVENTS_PER_TURN = 64,
    ALIVE_MS = 15000, /* a comment so often: proxies end connections that say nothing */
};

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
    loop_timer_stop(loop, &s->alive);
    if (s->execution)
        s->execution->refs--;
    xfree(s);
}

static void end_stream(struct stream *s)
{
    struct http_request *r = s->r;
    free_stream(s);
    http_stream_end(r);
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

/* -EAGAIN: the client has to take some first. What is too long to be written is passed over. */
static int write_event(struct stream *s, const struct buf *text)
{
    if (text->failed)
        return 0;
    int r = http_stream_write(s->r, text->data, text->len);
    s->blocked = r == -EAGAIN;
    return r;
}

static bool is_text(enum logged_kind kind)
{
    return kind == LOGGED_STDOUT || kind == LOGGED_STDERR;
}

/* The data of every kind is an object: its own members behind those that all have. */
static void put_logged(struct buf *out, const struct logged *event)
{
    (void)buf_addf(out, "id: %llu\nevent: %s\ndata: {\"cell\":%llu,\"time_ms\":%lld",
                   (unsigned long long)event->number, logged_names[event->kind],
                   (unsigned long long)event->cell, (long long)event->time_ms);
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
    (void)buf_adds(out, "\n\n");
}

static bool is_wanted(const struct stream *s, const struct logged *event)
{
    return !s->execution || event->cell == s->execution->number;
}

static int send_logged(struct stream *s, const struct logged *event, uint64_t missed)
{
    drop_buf struct buf text = BUF_INIT(API_ANSWER_MAX);
    if (missed > 0)
        (void)buf_addf(&text, "event: gap\ndata: {\"missed\":%llu}\n\n",
                       (unsigned long long)missed);
    if (is_wanted(s, event))
        put_logged(&text, event);
    int r = text.len > 0 || text.failed ? write_event(s, &text) : 0;
    if (r == 0 && is_wanted(s, event))
        s->told_end = event->kind == LOGGED_END;
    return r;
}

static void write_closed(struct stream *s, const char *type, const char *status, const char *why)
{
    drop_buf struct buf text = BUF_INIT(4096);
    struct jsonw w = JSONW(&text);
    (void)buf_addf(&text, "event: %s\ndata: ", type);
    jsonw_object(&w);
    if (status)
        jsonw_set_text(&w, "status", status);
    if (why)
        jsonw_set_text(&w, "reason", why);
    jsonw_end(&w);
    (void)buf_adds(&text, "\n\n");
    (void)!write_event(s, &text);
}

/* --- the stream ------------------------------------------------------------------------------- */

static void on_more(void *ctx)
{
    struct stream *s = ctx;
    if (!s->blocked)
        loop_defer(s->desk->api->loop, &s->again, pump, s);
}

static void on_writable(void *ctx)
{
    struct stream *s = ctx;
    s->blocked = false;
    on_more(s);
}

/* All that an execution has brought was sent, or is no longer there. True: the stream is gone. */
static bool is_over(struct stream *s)
{
    const struct execution *x = s->execution;
    if (!x || x->cell || s->after < x->last_event)
        return false;
    if (!s->told_end) /* it never ran, or the log has dropped it */
        write_closed(s, "end", cell_status_names[x->status], NULL);
    end_stream(s);
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
    if (r == 0)
        r = send_logged(s, &event, missed);
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

static void on_alive(void *ctx)
{
    struct stream *s = ctx;
    if (!s->blocked)
        (void)!http_stream_write(s->r, ":\n\n", 3);
    loop_timer_set(s->desk->api->loop, &s->alive, ALIVE_MS, on_alive, s);
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

static void begin(struct stream *s, const struct execution *x)
{
    drop_str char *location =
        xasprintf("/v1/sessions/%s/executions/%s", s->desk->id, x ? x->id : "");
    const struct http_header headers[] = {{"Content-Type", "text/event-stream"},
                                          {"Cache-Control", "no-store"},
                                          {"X-Accel-Buffering", "no"},
                                          {"Location", location}};
    http_stream_begin(s->r, 200, headers, x ? 4 : 3, -1);
    drop_buf struct buf text = BUF_INIT(4096);
    if (x)
        (void)buf_addf(&text, "event: execution\ndata: {\"id\":\"%s\",\"session\":\"%s\"}\n\n",
                       x->id, s->desk->id);
    else
        (void)buf_adds(&text, ":\n\n");
    (void)!write_event(s, &text);
}

void stream_open(struct desk *desk, struct execution *x, struct http_request *r, bool first)
{
    static const struct http_events events = {.writable = on_writable, .gone = on_gone};
    struct eventlog *log = session_events(desk->session);
    uint64_t after = 0;
    if (!read_after(r, &after))
        return;
    struct stream *s = NEW(struct stream);
    *s = (struct stream){.next = desk->streams,
                         .desk = desk,
                         .execution = x,
                         .r = r,
                         .after = after,
                         .first = first};
    if (s->next)
        s->next->prev = s;
    desk->streams = s;
    if (x) {
        x->refs++;
        if (x->number > 0 && after < x->first_event)
            s->after = x->first_event - 1;
    }
    if (log)
        eventlog_watch(log, &s->watcher, on_more, s);
    http_watch(r, &events, s);
    begin(s, x);
    loop_timer_set(desk->api->loop, &s->alive, ALIVE_MS, on_alive, s);
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
void streams_end(struct desk *desk, const char *why)
{
    while (desk->streams) {
        struct stream *s = desk->streams;
        while (!is_over(s)) {
            if (send_next(s) == 0)
                continue;
            write_closed(s, "closed", NULL, why);
            end_stream(s);
            break;
        }
    }
}
