/* SPDX-License-Identifier: Apache-2.0
 *
 * A session's event log for those who follow it: what is kept after a number, then what comes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "front/api.h"
#include "front/api/api_json.h"
#include "front/sessions/api_session.h"

enum { EVENTS_PER_TURN = 64 };

static void pump_events(void *ctx);

static void free_event_stream(struct event_stream *s)
{
    list_remove(&s->api_session->streams, s);
    reader_close(&s->reader);
    loop_defer_stop(s->api_session->api->loop, &s->again);
    follow_drop(&s->follow);
    xfree(s);
}

static void end_stream(struct event_stream *s, enum follow_why why, const char *reason)
{
    follow_end(&s->follow, why, reason);
    free_event_stream(s);
}

static void on_event_stream_gone(void *ctx)
{
    struct event_stream *s = ctx;
    struct execution *x = s->reader.execution;
    const bool first = s->first;
    free_event_stream(s);
    if (x && first)
        execution_left(x);
}

enum { TOLD_EXECUTION, TOLD_GAP, TOLD_RESET, TOLD_CLOSED, TOLD__COUNT };
const char *const api_event_names[] = {[TOLD_EXECUTION] = "execution",
                                       [TOLD_GAP] = "gap",
                                       [TOLD_RESET] = "reset",
                                       [TOLD_CLOSED] = "closed",
                                       [TOLD__COUNT] = NULL};

/* --- one event -------------------------------------------------------------------------------- */

static bool is_text_event(enum logged_kind kind)
{
    return kind == LOGGED_STDOUT || kind == LOGGED_STDERR;
}

/* The data of every kind is an object: its own members behind those that all have. */
static void put_logged(const struct event_stream *s, struct buf *out, const struct logged *event)
{
    follow_put(&s->follow, out, event->number, logged_names[event->kind]);
    (void)buf_addf(out, "{\"cell\":%llu,\"time_ms\":%lld", (unsigned long long)event->cell,
                   (long long)event->time_ms);
    if (event->late)
        (void)buf_adds(out, ",\"late\":true");
    if (is_text_event(event->kind)) {
        struct jsonw w = JSONW(out);
        (void)buf_adds(out, ",\"text\":");
        jsonw_text_n(&w, event->data, event->n);
        (void)buf_addc(out, '}');
    } else {
        (void)buf_adds(out, event->n > 2 ? "," : "");
        (void)buf_add(out, event->data + 1, event->n - 1);
    }
}

/* Of an item that is not an event: a JSON object with one number. */
static int send_number(struct event_stream *s, const char *type, const char *member,
                       uint64_t number)
{
    drop_buf struct buf text = BUF_INIT(4096);
    follow_put(&s->follow, &text, 0, type);
    (void)buf_addf(&text, "{\"%s\":%llu}", member, (unsigned long long)number);
    return follow_send(&s->follow, &text);
}

static int send_logged(struct event_stream *s, const struct logged *event)
{
    drop_buf struct buf text = BUF_INIT(API_ANSWER_MAX);
    put_logged(s, &text, event);
    return follow_send(&s->follow, &text);
}

static int send_item(struct event_stream *s, const struct reader_item *item)
{
    switch (item->kind) {
    case READER_RESET:
        return send_number(s, api_event_names[TOLD_RESET], "after", item->after);
    case READER_GAP:
        return send_number(s, api_event_names[TOLD_GAP], "missed", item->missed);
    case READER_EVENT:
        return send_logged(s, &item->event);
    case READER_PASSED:
        return 0;
    case READER_NOTHING:
    case READER_OVER:
        break;
    }
    return -EAGAIN;
}

/* --- the stream ------------------------------------------------------------------------------- */

static void on_event_stream_more(void *ctx)
{
    struct event_stream *s = ctx;
    if (!s->follow.blocked)
        loop_defer(s->api_session->api->loop, &s->again, pump_events, s);
}

/* All that an execution has brought was sent, or is no longer there. */
static void finish_stream(struct event_stream *s)
{
    if (!s->reader.has_end) /* it never ran, or the log has dropped it */
        follow_last(&s->follow, logged_names[LOGGED_END], "status",
                    execution_status(s->reader.execution));
    end_stream(s, FOLLOW_DONE, "the execution has ended");
}

enum step { STEP_SENT, STEP_STANDS, STEP_OVER };

/* STEP_OVER: the stream is gone. STEP_STANDS: nothing more can be sent at present. */
static enum step send_next(struct event_stream *s)
{
    const struct reader_item item = reader_next(&s->reader);
    if (item.kind == READER_OVER) {
        finish_stream(s);
        return STEP_OVER;
    }
    if (send_item(s, &item) < 0)
        return STEP_STANDS;
    reader_took(&s->reader, &item);
    return STEP_SENT;
}

static void pump_events(void *ctx)
{
    struct event_stream *s = ctx;
    for (int i = 0; i < EVENTS_PER_TURN; i++)
        if (send_next(s) != STEP_SENT)
            return;
    loop_defer(s->api_session->api->loop, &s->again, pump_events, s);
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
static bool begin_event_stream(struct event_stream *s, const struct execution *x,
                               struct http_request *r)
{
    static const struct follow_events events = {.writable = on_event_stream_more,
                                                .gone = on_event_stream_gone};
    drop_str char *location =
        x ? xasprintf("/v1/sessions/%s/executions/%s", s->api_session->id, x->id) : NULL;
    if (!follow_begin(&s->follow, s->api_session->api->loop, r, location, &events, s))
        return false;
    drop_buf struct buf text = BUF_INIT(4096);
    follow_put(&s->follow, &text, 0, api_event_names[TOLD_EXECUTION]);
    if (x)
        (void)buf_addf(&text, "{\"id\":\"%s\",\"session\":\"%s\",\"instance\":\"%s\"}", x->id,
                       s->api_session->id, s->api_session->api->config->instance);
    if (x)
        (void)!follow_send(&s->follow, &text);
    return true;
}

bool stream_may_open(const struct api_session *api_session, struct http_request *r,
                     uint64_t *ret_after)
{
    if (!api_session->api->drains)
        return read_after(r, ret_after);
    http_problem(r, 503, NULL, 0, API_STOPPING);
    return false;
}

/* An EventSource comes back after the end, too, until it is told that nothing follows. */
static bool has_heard_all(const struct api_session *api_session, struct execution *x,
                          const struct http_request *r, uint64_t after)
{
    struct execution_reader probe;
    if (!x || !http_header(r, "Last-Event-ID") || http_is_handshake(r))
        return false;
    reader_open(&probe, api_session->session, x, after, on_event_stream_more, NULL);
    bool is_over = reader_next(&probe).kind == READER_OVER;
    reader_close(&probe);
    return is_over;
}

void stream_open(struct api_session *api_session, struct execution *x, struct http_request *r,
                 bool first)
{
    uint64_t after = 0;
    if (!stream_may_open(api_session, r, &after))
        return;
    if (has_heard_all(api_session, x, r, after)) {
        http_answer(r, 204, NULL, 0, "", 0);
        return;
    }
    struct event_stream *s = NEW(struct event_stream);
    *s = (struct event_stream){.api_session = api_session, .first = first};
    if (!begin_event_stream(s, x, r)) {
        xfree(s);
        return;
    }
    list_push(&api_session->streams, s);
    reader_open(&s->reader, api_session->session, x, after, on_event_stream_more, s);
    on_event_stream_more(s);
}

void events_get(void *ctx, struct http_request *r)
{
    struct api_session *api_session = api_session_of(ctx, r);
    if (api_session)
        stream_open(api_session, NULL, r, false);
}

/* What is still in the log goes out first, as far as the client takes it at once. */
void streams_end(struct api_session *api_session, enum follow_why why, const char *reason)
{
    while (api_session->streams) {
        struct event_stream *s = api_session->streams;
        enum step step = STEP_SENT;
        while (step == STEP_SENT)
            step = send_next(s);
        if (step == STEP_OVER)
            continue;
        follow_last(&s->follow, api_event_names[TOLD_CLOSED], "reason", reason);
        end_stream(s, why, reason);
    }
}
