/* SPDX-License-Identifier: Apache-2.0
 *
 * nghttp2 has the protocol. A stream is known to it by `s` as long as it is open; what we hold of
 * one ends with the library's on_stream_close, or with the connection. The library's session is
 * never freed inside a callback of its own: a connection that is over is ended by drive_h2(). */
#include "front/grpc/h2.h"

#include <netdb.h>
#include <nghttp2/nghttp2.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/list.h"
#include "front/http/listener.h"

enum {
    READ_STEP = 16 << 10,
    OUT_STEP = 64 << 10,
    OUT_MAX = 256 << 10, /* with the longest frame on top */
    PASSES = 4,          /* then others have their turn */
    FIELDS_MAX = 8,
    SPENT_MAX = 64 << 10, /* of a queue, before its front is cut off */
    PEER_MAX = 64,
};

struct h2_conn {
    struct h2_conn *prev, *next;
    struct h2 *owner;
    nghttp2_session *session;
    int fd;
    struct loop_io *io;
    struct buf out; /* that the network has not taken */
    struct h2_stream *streams;
    size_t taken; /* bytes of it since the deadline was set */
    size_t empty; /* frames since the last one that brought something */
    bool heard;   /* at least once */
    bool over;    /* nothing more is read */
    struct loop_timer deadline;
    struct loop_defer again;
    char address[PEER_MAX];
};

struct h2_stream {
    struct h2_stream *prev, *next;
    struct h2_conn *conn;
    int32_t id;
    struct buf head;              /* name, 0, value, 0 and so on */
    struct buf body, queue, last; /* last: headers, likewise */
    size_t spent;                 /* bytes at the queue's front that are gone */
    size_t taken;                 /* as of the connection */
    size_t held;                  /* counted in the door's memory */
    bool admitted, received, begun, ended, behind;
    const struct h2_events *events;
    void *ctx;
    struct loop_timer timer; /* of the request, then of what waits to be taken, or of a late end */
    struct loop_defer tell;
};

struct h2 {
    struct h2_config config;
    struct loop *loop;
    struct listener *listener;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    struct h2_conn *conns; /* the newest first */
    size_t count, streams, memory;
    bool stopping;
};

/* --- headers as text -------------------------------------------------------------------------- */

static int put_field(struct buf *to, const char *name, size_t n, const char *value, size_t m)
{
    (void)buf_add(to, name, n);
    (void)buf_addc(to, '\0');
    (void)buf_add(to, value, m);
    (void)buf_addc(to, '\0');
    return to->failed;
}

static void put_fields(struct buf *to, const struct http_header *headers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)put_field(to, headers[i].name, strlen(headers[i].name), headers[i].value,
                        strlen(headers[i].value));
}

/* The next pair behind *at; NULL: there is none. */
static const char *next_field(const struct buf *of, size_t *at, const char **ret_value)
{
    if (*at >= of->len)
        return NULL;
    const char *name = of->data + *at;
    *ret_value = name + strlen(name) + 1;
    *at = (size_t)(*ret_value + strlen(*ret_value) + 1 - of->data);
    return name;
}

static size_t make_fields(const struct buf *from, nghttp2_nv ret[FIELDS_MAX])
{
    const char *name, *value;
    size_t n = 0;
    for (size_t at = 0; n < FIELDS_MAX && (name = next_field(from, &at, &value)) != NULL; n++)
        ret[n] = (nghttp2_nv){.name = (uint8_t *)(size_t)name,
                              .value = (uint8_t *)(size_t)value,
                              .namelen = strlen(name),
                              .valuelen = strlen(value)};
    return n;
}

static size_t find_fields(const struct h2_stream *s, const char *wanted, const char **ret_first)
{
    const char *name, *value;
    size_t n = 0;
    for (size_t at = 0; (name = next_field(&s->head, &at, &value)) != NULL;)
        if (strcmp(name, wanted) == 0 && n++ == 0)
            *ret_first = value;
    return n;
}

const char *h2_header(const struct h2_stream *s, const char *name)
{
    const char *value = NULL;
    (void)find_fields(s, name, &value);
    return value;
}

size_t h2_header_count(const struct h2_stream *s, const char *name)
{
    const char *value;
    return find_fields(s, name, &value);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* What the stream holds now; false: it is too much for all of them. */
static bool count_held(struct h2_stream *s)
{
    struct h2 *h2 = s->conn->owner;
    size_t now = s->body.len + s->queue.len;
    h2->memory += now - s->held;
    s->held = now;
    return h2->memory <= H2_MEMORY_MAX;
}

/* --- the end of a stream, and of a connection ------------------------------------------------- */

static void reset_h2_stream(struct h2_stream *s, uint32_t code)
{
    (void)nghttp2_submit_rst_stream(s->conn->session, NGHTTP2_FLAG_NONE, s->id, code);
}

static void free_h2_stream(struct h2_stream *s)
{
    struct h2 *h2 = s->conn->owner;
    const struct h2_events *events = s->events;
    void *ctx = s->ctx;
    loop_timer_stop(h2->loop, &s->timer);
    loop_defer_stop(h2->loop, &s->tell);
    list_remove(&s->conn->streams, s);
    h2->memory -= s->held;
    h2->streams--;
    buf_done(&s->head);
    buf_done(&s->body);
    buf_done(&s->queue);
    buf_done(&s->last);
    xfree(s);
    if (events && events->gone)
        events->gone(ctx);
}

static void end_h2_conn(struct h2_conn *c)
{
    struct h2 *h2 = c->owner;
    while (c->streams)
        free_h2_stream(c->streams);
    loop_timer_stop(h2->loop, &c->deadline);
    loop_defer_stop(h2->loop, &c->again);
    nghttp2_session_del(c->session);
    c->io = loop_io_del(c->io);
    (void)fd_close(c->fd);
    buf_done(&c->out);
    list_remove(&h2->conns, c);
    h2->count--;
    xfree(c);
}

static void on_h2_deadline(void *ctx)
{
    end_h2_conn(ctx);
}

/* Something waits for the network, or the connection waits for a request. */
static void expect_of_conn(struct h2_conn *c)
{
    struct loop *loop = c->owner->loop;
    c->taken = 0;
    if (c->out.len > 0)
        loop_timer_set(loop, &c->deadline, H2_STALL_MS, on_h2_deadline, c);
    else if (c->streams)
        loop_timer_stop(loop, &c->deadline);
    else
        loop_timer_set(loop, &c->deadline, c->heard ? H2_IDLE_MS : H2_HEAD_MS, on_h2_deadline, c);
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* What the library has to say, as far as there is room for it. */
static int collect_out(struct h2_conn *c)
{
    while (c->out.len < OUT_STEP) {
        const uint8_t *bytes;
        nghttp2_ssize n = nghttp2_session_mem_send2(c->session, &bytes);
        if (n <= 0)
            return (int)n;
        if (buf_add(&c->out, bytes, (size_t)n) < 0)
            return c->out.failed;
    }
    return 0;
}

/* False: the connection is broken. */
static bool send_h2(struct h2_conn *c)
{
    for (int i = 0; i < PASSES; i++) {
        if (collect_out(c) < 0)
            return false;
        if (c->out.len == 0)
            return true;
        ssize_t n = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        buf_cut_front(&c->out, (size_t)n);
        c->taken += (size_t)n;
        if (c->taken >= HTTP_STEP || c->out.len == 0)
            expect_of_conn(c);
    }
    return true;
}

static void tell_http1(const struct h2_conn *c)
{
    static const char text[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
                               "Content-Length: 57\r\nConnection: close\r\n\r\n"
                               "this port speaks gRPC: HTTP/2 without TLS, from the start";
    (void)send(c->fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* False: likewise. */
static bool receive_h2(struct h2_conn *c)
{
    uint8_t bytes[READ_STEP];
    for (int i = 0; i < PASSES && !c->over && c->out.len < OUT_STEP; i++) {
        ssize_t n = recv(c->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        if (n == 0)
            return false;
        nghttp2_ssize taken = nghttp2_session_mem_recv2(c->session, bytes, (size_t)n);
        if (taken == NGHTTP2_ERR_BAD_CLIENT_MAGIC)
            tell_http1(c);
        if (taken < 0)
            return false;
        if (collect_out(c) < 0)
            return false;
    }
    return true;
}

static void drive_h2(struct h2_conn *c, bool fine)
{
    fine = fine && send_h2(c);
    bool more = nghttp2_session_want_write(c->session) != 0 || c->out.len > 0;
    c->over = nghttp2_session_want_read(c->session) == 0;
    if (!fine || (c->over && !more)) {
        end_h2_conn(c);
        return;
    }
    loop_io_set(c->io, (!c->over && c->out.len < OUT_STEP ? LOOP_IN : 0) | (more ? LOOP_OUT : 0));
    if (!c->deadline.armed || (c->streams && c->out.len == 0))
        expect_of_conn(c);
}

static void on_h2_ready(void *ctx, unsigned events)
{
    struct h2_conn *c = ctx;
    drive_h2(c, events & LOOP_IN ? receive_h2(c) : (events & LOOP_HUP) == 0);
}

static void on_h2_again(void *ctx)
{
    drive_h2(ctx, true);
}

/* An owner of a stream has done something. */
static void pump_later(struct h2_conn *c)
{
    loop_defer(c->owner->loop, &c->again, on_h2_again, c);
}

/* --- a request -------------------------------------------------------------------------------- */

static struct h2_stream *h2_stream_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

/* Half a head holds up all that is behind it. */
static void on_h2_slow(void *ctx)
{
    struct h2_stream *s = ctx;
    if (!s->admitted) {
        end_h2_conn(s->conn);
        return;
    }
    reset_h2_stream(s, NGHTTP2_CANCEL);
    pump_later(s->conn);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2_conn *c = user;
    struct h2 *h2 = c->owner;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    if (h2->streams >= H2_STREAMS_MAX || h2->stopping)
        return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                         NGHTTP2_REFUSED_STREAM);
    struct h2_stream *s = NEW(struct h2_stream);
    *s = (struct h2_stream){.conn = c,
                            .id = frame->hd.stream_id,
                            .head = BUF_INIT(H2_HEAD_MAX),
                            .body = BUF_INIT(H2_BODY_MAX),
                            .queue = BUF_INIT(H2_MEMORY_MAX),
                            .last = BUF_INIT(H2_HEAD_MAX)};
    list_push(&c->streams, s);
    h2->streams++;
    c->heard = true;
    loop_timer_set(h2->loop, &s->timer, H2_HEAD_MS, on_h2_slow, s);
    return nghttp2_session_set_stream_user_data(session, s->id, s);
}

static int on_h2_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                        size_t n, const uint8_t *value, size_t m, uint8_t flags, void *user)
{
    (void)flags, (void)user;
    struct h2_stream *s = h2_stream_of(session, frame->hd.stream_id);
    if (!s || s->admitted) /* trailers are nobody's */
        return 0;
    bool text = !memchr(value, '\0', m);
    return text && put_field(&s->head, (const char *)name, n, (const char *)value, m) == 0
               ? 0
               : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static bool wants_more(const struct h2_stream *s)
{
    return !s->ended && !s->received;
}

static int on_h2_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                      size_t n, void *user)
{
    (void)flags;
    struct h2_conn *c = user;
    struct h2_stream *s = h2_stream_of(session, id);
    c->empty = 0;
    if (!s || !wants_more(s))
        return 0;
    if (buf_add(&s->body, bytes, n) < 0 || !count_held(s)) {
        buf_done(&s->body);
        (void)count_held(s);
        c->owner->config.refuse(c->owner->config.ctx, s);
    }
    return 0;
}

static void on_h2_received(struct h2_stream *s)
{
    struct h2 *h2 = s->conn->owner;
    if (!wants_more(s))
        return;
    s->received = true;
    loop_timer_stop(h2->loop, &s->timer);
    h2->config.start(h2->config.ctx, s);
}

static int on_h2_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2_conn *c = user;
    struct h2 *h2 = c->owner;
    struct h2_stream *s = h2_stream_of(session, frame->hd.stream_id);
    bool head = frame->hd.type == NGHTTP2_HEADERS, data = frame->hd.type == NGHTTP2_DATA;
    if (head)
        c->empty = 0;
    else if ((!data || frame->hd.length == 0) && ++c->empty > H2_CALM)
        return nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM);
    if (!s || !(head || data))
        return 0;
    if (head && !s->admitted) {
        s->admitted = true;
        loop_timer_set(h2->loop, &s->timer, H2_REQUEST_MS, on_h2_slow, s);
        if (!h2->config.admit(h2->config.ctx, s))
            return 0;
    }
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
        on_h2_received(s);
    return 0;
}

static int on_h2_stream_closed(nghttp2_session *session, int32_t id, uint32_t why, void *user)
{
    (void)why, (void)user;
    struct h2_stream *s = h2_stream_of(session, id);
    if (s)
        free_h2_stream(s);
    return 0;
}

/* An answer that is complete before its request was: the client need not send the rest. */
static int on_h2_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    (void)user;
    bool last =
        frame->hd.type == NGHTTP2_HEADERS && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    struct h2_stream *s = last ? h2_stream_of(session, frame->hd.stream_id) : NULL;
    if (s && !s->received)
        reset_h2_stream(s, NGHTTP2_NO_ERROR);
    return 0;
}

void *h2_ctx(const struct h2_stream *s)
{
    return s->conn->owner->config.ctx;
}

const char *h2_peer(const struct h2_stream *s)
{
    return s->conn->address;
}

const struct buf *h2_body(const struct h2_stream *s)
{
    return &s->body;
}

void h2_watch(struct h2_stream *s, const struct h2_events *events, void *ctx)
{
    s->events = events;
    s->ctx = ctx;
}

/* --- an answer -------------------------------------------------------------------------------- */

static void tell_writable(void *ctx)
{
    struct h2_stream *s = ctx;
    if (s->events && s->events->writable)
        s->events->writable(s->ctx);
}

static size_t queued(const struct h2_stream *s)
{
    return s->queue.len - s->spent;
}

static void note_taken(struct h2_stream *s, size_t n)
{
    struct loop *loop = s->conn->owner->loop;
    s->spent += n;
    s->conn->empty = 0;
    if (queued(s) == 0) {
        buf_done(&s->queue);
        s->spent = 0;
        loop_timer_stop(loop, &s->timer);
    } else if ((s->taken += n) >= HTTP_STEP) {
        s->taken = 0;
        loop_timer_set(loop, &s->timer, H2_STALL_MS, on_h2_slow, s);
    }
    if (s->spent > SPENT_MAX && s->spent > s->queue.len / 2) {
        buf_cut_front(&s->queue, s->spent);
        s->spent = 0;
    }
    (void)count_held(s);
    if (s->behind && queued(s) < H2_QUEUE_MAX / 2) {
        s->behind = false;
        loop_defer(loop, &s->tell, tell_writable, s);
    }
}

static nghttp2_ssize read_h2_answer(nghttp2_session *session, int32_t id, uint8_t *to, size_t room,
                                    uint32_t *flags, nghttp2_data_source *source, void *user)
{
    (void)user;
    struct h2_stream *s = source->ptr;
    size_t n = queued(s) < room ? queued(s) : room;
    if (n == 0 && !s->ended)
        return NGHTTP2_ERR_DEFERRED;
    if (n > 0) {
        memcpy(to, s->queue.data + s->spent, n);
        note_taken(s, n);
    }
    if (s->ended && queued(s) == 0) {
        nghttp2_nv last[FIELDS_MAX];
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        if (nghttp2_submit_trailer(session, id, last, make_fields(&s->last, last)) != 0)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return (nghttp2_ssize)n;
}

bool h2_begun(const struct h2_stream *s)
{
    return s->begun;
}

void h2_begin(struct h2_stream *s, const struct http_header *headers, size_t n)
{
    nghttp2_nv fields[FIELDS_MAX];
    nghttp2_data_provider2 provider = {.source = {.ptr = s}, .read_callback = read_h2_answer};
    drop_buf struct buf text = BUF_INIT(H2_HEAD_MAX);
    put_fields(&text, headers, n);
    s->begun = true;
    if (nghttp2_submit_response2(s->conn->session, s->id, fields, make_fields(&text, fields),
                                 &provider) != 0)
        reset_h2_stream(s, NGHTTP2_INTERNAL_ERROR);
    pump_later(s->conn);
}

int h2_write(struct h2_stream *s, const char *bytes, size_t n)
{
    struct h2_conn *c = s->conn;
    if (c->owner->memory + n > H2_MEMORY_MAX || buf_add(&s->queue, bytes, n) < 0)
        return -ENOBUFS;
    (void)count_held(s);
    if (!s->timer.armed)
        loop_timer_set(c->owner->loop, &s->timer, H2_STALL_MS, on_h2_slow, s);
    (void)nghttp2_session_resume_data(c->session, s->id);
    pump_later(c);
    s->behind = queued(s) > H2_QUEUE_MAX;
    return s->behind;
}

static void end_answer(void *ctx)
{
    struct h2_stream *s = ctx;
    nghttp2_nv last[FIELDS_MAX];
    loop_timer_set(s->conn->owner->loop, &s->timer, H2_STALL_MS, on_h2_slow, s);
    if (s->begun)
        (void)nghttp2_session_resume_data(s->conn->session, s->id);
    else if (nghttp2_submit_response2(s->conn->session, s->id, last, make_fields(&s->last, last),
                                      NULL) != 0)
        reset_h2_stream(s, NGHTTP2_INTERNAL_ERROR);
    pump_later(s->conn);
}

void h2_end(struct h2_stream *s, const struct http_header *headers, size_t n)
{
    h2_end_late(s, 0, headers, n);
}

void h2_end_late(struct h2_stream *s, int64_t ms, const struct http_header *headers, size_t n)
{
    put_fields(&s->last, headers, n);
    h2_watch(s, NULL, NULL);
    s->ended = true;
    if (ms > 0 && s->conn->owner->streams < H2_STREAMS_MAX / 2)
        loop_timer_set(s->conn->owner->loop, &s->timer, ms, end_answer, s);
    else
        end_answer(s);
}

/* --- connections ------------------------------------------------------------------------------ */

static int begin_session(struct h2_conn *c)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, H2_STREAMS_OF_ONE},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_HEAD_MAX},
    };
    int r = nghttp2_session_server_new2(&c->session, c->owner->callbacks, c, c->owner->option);
    return r ? r
             : nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings,
                                       sizeof settings / sizeof *settings);
}

/* The one that has been without a request for longest is the last such in the list. */
static bool make_room_for_conn(struct h2 *h2)
{
    struct h2_conn *idle = NULL;
    for (struct h2_conn *c = h2->conns; c; c = c->next)
        idle = c->streams ? idle : c;
    if (idle)
        end_h2_conn(idle);
    return idle != NULL;
}

static void on_h2_accepted(void *ctx, int fd, const struct sockaddr *from, socklen_t n)
{
    struct h2 *h2 = ctx;
    if (h2->stopping || (h2->count == H2_CONNECTIONS_MAX && !make_room_for_conn(h2))) {
        (void)fd_close(fd);
        return;
    }
    struct h2_conn *c = NEW(struct h2_conn);
    *c = (struct h2_conn){.owner = h2, .fd = fd, .out = BUF_INIT(OUT_MAX)};
    (void)getnameinfo(from, n, c->address, sizeof c->address, NULL, 0, NI_NUMERICHOST);
    list_push(&h2->conns, c);
    h2->count++;
    if (begin_session(c) != 0 ||
        loop_io_add(h2->loop, fd, LOOP_IN, on_h2_ready, c, &c->io, NULL) < 0) {
        end_h2_conn(c);
        return;
    }
    expect_of_conn(c);
    pump_later(c);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static int prepare_library(struct h2 *h2)
{
    if (nghttp2_session_callbacks_new(&h2->callbacks) != 0 || nghttp2_option_new(&h2->option) != 0)
        return -ENOMEM;
    nghttp2_option_set_stream_reset_rate_limit(h2->option, H2_RESETS, H2_RESETS_A_SECOND);
    nghttp2_session_callbacks *of = h2->callbacks;
    nghttp2_session_callbacks_set_on_begin_headers_callback(of, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(of, on_h2_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(of, on_h2_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(of, on_h2_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(of, on_h2_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(of, on_h2_stream_closed);
    return 0;
}

int h2_open(const struct h2_config *config, struct h2 **ret, struct err *e)
{
    struct h2 *h2 = NEW(struct h2);
    *h2 = (struct h2){.config = *config, .loop = config->loop};
    int r = prepare_library(h2);
    if (r < 0)
        (void)err_set(e, r, "nghttp2 could not be started");
    else
        r = listener_open(h2->loop, config->host, config->port, config->ahead, on_h2_accepted, h2,
                          &h2->listener, e);
    if (r < 0) {
        (void)h2_close(h2);
        return r;
    }
    *ret = h2;
    return 0;
}

struct h2 *h2_close(struct h2 *h2)
{
    if (!h2)
        return NULL;
    h2->listener = listener_close(h2->listener);
    while (h2->conns)
        end_h2_conn(h2->conns);
    nghttp2_session_callbacks_del(h2->callbacks);
    nghttp2_option_del(h2->option);
    xfree(h2);
    return NULL;
}

int h2_port(const struct h2 *h2)
{
    return listener_port(h2->listener);
}

size_t h2_busy(const struct h2 *h2)
{
    return h2 ? h2->streams : 0;
}

void h2_stop(struct h2 *h2)
{
    if (!h2 || h2->stopping)
        return;
    h2->stopping = true;
    for (struct h2_conn *c = h2->conns; c; c = c->next) {
        (void)nghttp2_submit_shutdown_notice(c->session);
        pump_later(c);
    }
}
