/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp/mcp_stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define FRAME_MAX (((size_t)256 << 20) + 4096)

enum { LISTENING = 0 }; /* the number of the stream that answers no request */

struct event {
    struct event *next;
    uint64_t number;
    struct buf frame;
};

struct mcp_stream {
    struct mcp_streams *all;
    struct mcp_stream *next, *prev;
    uint64_t number;        /* among the kept ones */
    struct http_request *r; /* NULL: nobody is connected */
    bool streaming;         /* its answer has begun, as a stream of events */
    bool resumable;         /* a client has, or may have, an id of it */
    size_t expected;        /* answers that are to come */
    bool answered;          /* at least one was sent */
    struct event *first, *last;
    uint64_t made, written; /* numbers of events */
    struct loop_timer alive;
};

void mcp_streams_init(struct mcp_streams *all, const struct mcp_streams_config *config)
{
    *all = (struct mcp_streams){.config = config};
}

/* The HTTP status of an answer with this JSON-RPC code (0: a result), in the modern era. */
static int http_status_of(int code)
{
    switch (code) {
    case RPC_PARSE_ERROR:
    case RPC_INVALID_REQUEST:
    case RPC_INVALID_PARAMS:
    case RPC_HEADER_MISMATCH:
    case RPC_MISSING_CAPABILITY:
    case RPC_UNSUPPORTED_VERSION:
        return 400;
    case RPC_METHOD_NOT_FOUND:
        return 404;
    default:
        return 200;
    }
}

/* --- the store -------------------------------------------------------------------------------- */

static struct mcp_stream *new_stream(struct mcp_streams *all, uint64_t number)
{
    struct mcp_stream *s = NEW(struct mcp_stream);
    *s = (struct mcp_stream){.all = all, .number = number, .prev = all->last};
    *(s->prev ? &s->prev->next : &all->first) = s;
    all->last = s;
    all->streams++;
    return s;
}

static void drop_event(struct mcp_stream *s)
{
    struct event *event = s->first;
    s->first = event->next;
    if (!s->first)
        s->last = NULL;
    s->all->bytes -= event->frame.len;
    buf_done(&event->frame);
    xfree(event);
}

static void free_mcp_stream(struct mcp_stream *s)
{
    struct mcp_streams *all = s->all;
    while (s->first)
        drop_event(s);
    *(s->prev ? &s->prev->next : &all->first) = s->next;
    *(s->next ? &s->next->prev : &all->last) = s->prev;
    loop_timer_stop(all->config->loop, &s->alive);
    xfree(s);
    all->streams--;
}

static struct mcp_stream *find_stream(const struct mcp_streams *all, uint64_t number)
{
    struct mcp_stream *s = all->first;
    while (s && s->number != number)
        s = s->next;
    return s;
}

static bool is_stream_over(const struct mcp_stream *s)
{
    return s->expected == 0 && s->number != LISTENING;
}

/* Makes room, the oldest first: what a client has got, and what it left behind. May free any stream
 * that nobody is connected to. */
static void trim(struct mcp_streams *all)
{
    size_t bytes = all->config->kept ? MCP_STREAM_KEEP_MAX : 0;
    struct mcp_stream *next = NULL;
    for (struct mcp_stream *s = all->first;
         s && (all->bytes > bytes || all->streams > MCP_STREAMS_KEEP_MAX); s = next) {
        next = s->next;
        while (s->first && all->bytes > bytes && (!s->r || s->first->number <= s->written))
            drop_event(s);
        if (!s->r && is_stream_over(s) && (!s->first || all->streams > MCP_STREAMS_KEEP_MAX))
            free_mcp_stream(s);
    }
}

/* --- the connection --------------------------------------------------------------------------- */

static void detach(struct mcp_stream *s)
{
    s->r = NULL;
    s->streaming = false;
    s->all->connected--;
    loop_timer_stop(s->all->config->loop, &s->alive);
}

/* Its last event is out, or nobody can come back for what there is. */
static void end_when_over(struct mcp_stream *s)
{
    struct mcp_streams *all = s->all;
    if (!is_stream_over(s) || (s->r && s->written < s->made))
        return;
    if (s->r) {
        struct http_request *r = s->r;
        detach(s);
        http_stream_end(r);
    }
    if (!all->config->kept || !s->resumable)
        free_mcp_stream(s);
    if (all->config->used)
        all->config->used(all->config->ctx);
}

static struct event *next_stream_event(const struct mcp_stream *s)
{
    struct event *event = s->first;
    while (event && event->number <= s->written)
        event = event->next;
    return event;
}

static void pump_stream(struct mcp_stream *s)
{
    for (struct event *event = next_stream_event(s); event && s->r; event = event->next) {
        int r = http_stream_write(s->r, event->frame.data, event->frame.len);
        if (r == -EAGAIN || r == -EPIPE)
            break; /* `writable` follows, or `gone` */
        if (r < 0) {
            http_stream_abort(s->r);
            detach(s);
            break;
        }
        s->written = event->number;
    }
}

/* The stream may be gone afterwards. */
static void go_on_with_stream(struct mcp_stream *s)
{
    struct mcp_streams *all = s->all;
    pump_stream(s);
    end_when_over(s);
    trim(all);
}

static void on_stream_writable(void *ctx)
{
    go_on_with_stream(ctx);
}

static void on_mcp_stream_gone(void *ctx)
{
    struct mcp_stream *s = ctx;
    struct mcp_streams *all = s->all;
    detach(s);
    if (!all->config->kept) {
        all->config->gone(all->config->ctx, s);
        free_mcp_stream(s);
    } else if (is_stream_over(s)) {
        end_when_over(s);
    } else if (all->config->used) {
        all->config->used(all->config->ctx);
    }
}

static const struct http_events connection_events = {.writable = on_stream_writable,
                                                     .gone = on_mcp_stream_gone};

static void on_stream_alive(void *ctx);

static void keep_stream_alive(struct mcp_stream *s)
{
    loop_timer_set(s->all->config->loop, &s->alive, MCP_STREAM_ALIVE_MS, on_stream_alive, s);
}

static void attach(struct mcp_stream *s, struct http_request *r)
{
    s->r = r;
    s->all->connected++;
    http_watch(r, &connection_events, s);
    keep_stream_alive(s);
    if (s->all->config->used)
        s->all->config->used(s->all->config->ctx);
}

/* --- events ----------------------------------------------------------------------------------- */

static void put_frame(struct mcp_stream *s, struct buf *frame, const char *text, size_t n)
{
    if (s->all->config->kept)
        (void)buf_addf(frame, "id: %" PRIu64 ".%" PRIu64 "\r\n", s->number, s->made + 1);
    if (n > 0)
        (void)buf_adds(frame, "event: message\r\n");
    (void)buf_adds(frame, "data: ");
    (void)buf_add(frame, text, n);
    (void)buf_adds(frame, "\r\n\r\n");
}

static void add_event(struct mcp_stream *s, const char *text, size_t n)
{
    struct event *event = NEW(struct event);
    event->frame = BUF_INIT(FRAME_MAX);
    put_frame(s, &event->frame, text, n);
    if (event->frame.failed) { /* no memory: the client sees that something is missing */
        buf_done(&event->frame);
        xfree(event);
        if (s->r && s->streaming) {
            http_stream_abort(s->r);
            detach(s);
        }
        return;
    }
    event->number = ++s->made;
    if (s->last)
        s->last->next = event;
    else
        s->first = event;
    s->last = event;
    s->all->bytes += event->frame.len;
}

static void begin_streaming(struct mcp_stream *s)
{
    const struct http_header headers[] = {{"Content-Type", "text/event-stream"},
                                          {"Cache-Control", "no-cache, no-transform"},
                                          {"X-Accel-Buffering", "no"},
                                          {"Mcp-Session-Id", s->all->session_id}};
    s->streaming = true;
    s->resumable = s->all->config->kept;
    http_stream_begin(s->r, 200, headers, s->all->session_id ? 4 : 3, -1);
    if (s->all->config->kept && s->all->primes && s->made == 0)
        add_event(s, "", 0);
}

static void on_stream_alive(void *ctx)
{
    static const char comment[] = ": still here\r\n\r\n";
    struct mcp_stream *s = ctx;
    keep_stream_alive(s);
    if (!s->streaming)
        begin_streaming(s);
    int r = next_stream_event(s) ? 0 : http_stream_write(s->r, comment, sizeof comment - 1);
    (void)r; /* a queue that is full needs no sign of life */
    go_on_with_stream(s);
}

static void answer_json(struct mcp_stream *s, const struct mcp_out *m)
{
    const struct http_header headers[] = {{"Content-Type", "application/json"},
                                          {"Mcp-Session-Id", s->all->session_id}};
    struct http_request *r = s->r;
    int status = s->all->config->kept ? 200 : http_status_of(m->error);
    detach(s);
    http_answer(r, status, headers, s->all->session_id ? 2 : 1, m->text, m->n);
    end_when_over(s);
}

void mcp_stream_send(struct mcp_stream *s, const struct mcp_out *m)
{
    bool is_last = m->is_answer && s->expected == 1;
    if (m->is_answer)
        s->expected--;
    if (is_last && s->r && !s->streaming && !s->answered) {
        answer_json(s, m);
        return;
    }
    s->answered = s->answered || m->is_answer;
    if (s->r && !s->streaming)
        begin_streaming(s);
    add_event(s, m->text, m->n);
    go_on_with_stream(s);
}

void mcp_streams_send(struct mcp_streams *all, const struct mcp_out *m)
{
    struct mcp_stream *s = find_stream(all, LISTENING);
    mcp_stream_send(s ? s : new_stream(all, LISTENING), m);
}

/* --- opening and closing ---------------------------------------------------------------------- */

struct mcp_stream *mcp_stream_open(struct mcp_streams *all, struct http_request *r)
{
    struct mcp_stream *s = new_stream(all, ++all->count);
    attach(s, r);
    return s;
}

void mcp_stream_expect(struct mcp_stream *s)
{
    s->expected++;
}

void mcp_stream_expect_less(struct mcp_stream *s)
{
    s->expected--;
    if (s->expected == 0 && s->r && !s->streaming) {
        struct http_request *r = s->r;
        detach(s);
        http_answer(r, 202, NULL, 0, "", 0);
    }
    end_when_over(s);
}

/* "STREAM.EVENT" */
static bool read_event_id(const char *text, uint64_t *stream, uint64_t *event)
{
    char *end = NULL;
    if (strspn(text, "0123456789.") != strlen(text) || strlen(text) > 40)
        return false;
    *stream = strtoull(text, &end, 10);
    if (end == text || *end != '.')
        return false;
    text = end + 1;
    *event = strtoull(text, &end, 10);
    return end > text && *end == '\0';
}

int mcp_streams_attach(struct mcp_streams *all, struct http_request *r, const char *last_event_id)
{
    uint64_t stream = LISTENING, event = 0;
    if (last_event_id && !read_event_id(last_event_id, &stream, &event))
        return -ENOENT;
    struct mcp_stream *s = find_stream(all, stream);
    if (!s && stream == LISTENING)
        s = new_stream(all, LISTENING);
    if (!s || event > s->made)
        return -ENOENT;
    if (s->r) {
        struct http_request *before = s->r;
        detach(s);
        http_stream_end(before);
    }
    if (last_event_id)
        s->written = event;
    attach(s, r);
    begin_streaming(s);
    go_on_with_stream(s);
    return 0;
}

void mcp_streams_stop_listening(struct mcp_streams *all)
{
    struct mcp_stream *s = find_stream(all, LISTENING);
    struct http_request *r = s ? s->r : NULL;
    if (!r)
        return;
    detach(s);
    http_stream_end(r);
}

void mcp_streams_done(struct mcp_streams *all, int status, const char *why)
{
    while (all->first) {
        struct mcp_stream *s = all->first;
        struct http_request *r = s->r;
        bool streaming = s->streaming;
        if (r)
            detach(s);
        if (r && streaming)
            http_stream_end(r);
        else if (r)
            http_problem(r, status, NULL, 0, "%s", why);
        free_mcp_stream(s);
    }
}
