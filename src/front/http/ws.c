/* SPDX-License-Identifier: Apache-2.0
 *
 * libwebsockets lends its descriptors to our loop (lib_ops); what it has buffered itself is served
 * by a deferred call and a timer (service()).
 * Who completes a WebSocket: on_ws_closed() tells `closed` once and frees it; the library calls for
 * it, whether the peer, our ws_close() or a ping without an answer was the cause. Before the
 * library has a connection, ws_abandon() frees without a word.
 * Re-entry: `received` may send and close; ws_close() frees nothing, the library closes later. */
#include "front/http/ws.h"

#include <fcntl.h>
#include <libwebsockets.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/text/utf8.h"

enum {
    CLOSE_SECONDS = 5,     /* for a peer to answer a close frame */
    READ_BYTES = 64 << 10, /* at once */
    SERVICE_MAX_MS = 5000, /* between two looks at the library's own timers */
    ANSWER_MAX = 512,      /* bytes of the library's answer to a handshake */
};

struct message {
    struct message *next;
    size_t n;
    bool text;
    unsigned char bytes[]; /* LWS_PRE bytes for the library, then n */
};

struct ws {
    struct ws_hub *hub;
    struct ws *next, *prev;
    struct lws *wsi;                /* NULL: before ws_attach(), and after the library closed it */
    const struct ws_events *events; /* NULL: given up by its handler */
    void *ctx;
    void (*over)(void *ctx);
    void *over_ctx;
    bool closing, ended, blocked, ping_due, heard;
    int code; /* of the close, to be sent or as it came */
    char reason[WS_REASON_MAX + 1];
    struct buf in;
    struct message *first, **end;
    size_t backlog, backlog_max;
    size_t left; /* of the backlog when the last ping was due */
    struct loop_timer ping;
};

struct watched { /* a descriptor of the library's */
    struct ws_hub *hub;
    int fd;
    unsigned events;
    struct loop_io *io;
};

struct ws_hub {
    struct loop *loop;
    struct ws_limits limits;
    struct lws_context *context;
    struct lws_vhost *vhost;
    struct watched **by_fd;
    size_t fds;
    struct ws *first, *adopting;
    size_t count;
    bool destroying;
    struct loop_timer service;
    struct loop_defer soon;
};

/* --- the library's descriptors in our loop ---------------------------------------------------- */

static void service(void *ctx);

static void serve_fd(struct ws_hub *hub, int fd, unsigned events, unsigned ready)
{
    struct lws_pollfd poll = {
        .fd = fd,
        .events = (short)((events & LOOP_IN ? POLLIN : 0) | (events & LOOP_OUT ? POLLOUT : 0)),
        .revents = (short)((ready & LOOP_IN ? POLLIN : 0) | (ready & LOOP_OUT ? POLLOUT : 0) |
                           (ready & LOOP_HUP ? POLLHUP : 0)),
    };
    (void)lws_service_fd(hub->context, &poll);
    loop_defer(hub->loop, &hub->soon, service, hub);
}

static void on_ws_ready(void *ctx, unsigned ready)
{
    struct watched *w = ctx;
    serve_fd(w->hub, w->fd, w->events, ready);
}

static struct ws_hub *hub_of(struct lws *wsi)
{
    struct ws_hub **hub =
        lws_evlib_wsi_to_evlib_pt(wsi); /* the context's user is not set at first */
    return *hub;
}

static struct watched *watched_at(struct ws_hub *hub, int fd)
{
    return fd >= 0 && (size_t)fd < hub->fds ? hub->by_fd[fd] : NULL;
}

static void watch_ws(struct ws_hub *hub, int fd, unsigned events)
{
    if ((size_t)fd >= hub->fds) {
        size_t more = (size_t)fd + 64;
        hub->by_fd = xrealloc(hub->by_fd, more * sizeof *hub->by_fd);
        memset(hub->by_fd + hub->fds, 0, (more - hub->fds) * sizeof *hub->by_fd);
        hub->fds = more;
    }
    struct watched *w = NEW(struct watched);
    *w = (struct watched){.hub = hub, .fd = fd, .events = events};
    if (loop_io_add(hub->loop, fd, events, on_ws_ready, w, &w->io, NULL) < 0) {
        xfree(w);
        return;
    }
    hub->by_fd[fd] = w;
}

static unsigned unwatch(struct ws_hub *hub, int fd)
{
    struct watched *w = watched_at(hub, fd);
    if (!w)
        return 0;
    unsigned events = w->events;
    (void)loop_io_del(w->io);
    xfree(w);
    hub->by_fd[fd] = NULL;
    return events;
}

static int lib_init(struct lws_context *context, void *loop, int tsi)
{
    struct ws_hub **hub = lws_evlib_tsi_to_evlib_pt(context, tsi);
    *hub = loop;
    return 0;
}

static int lib_add(struct lws *wsi)
{
    watch_ws(hub_of(wsi), lws_get_socket_fd(wsi), LOOP_IN);
    return 0;
}

static void lib_want(struct lws *wsi, unsigned flags)
{
    struct watched *w = watched_at(hub_of(wsi), lws_get_socket_fd(wsi));
    if (!w)
        return;
    unsigned bits = (flags & LWS_EV_READ ? LOOP_IN : 0U) | (flags & LWS_EV_WRITE ? LOOP_OUT : 0U);
    unsigned events = flags & LWS_EV_START ? w->events | bits : w->events & ~bits;
    if (events == w->events)
        return;
    w->events = events;
    loop_io_set(w->io, events);
}

static int lib_drop(struct lws *wsi)
{
    (void)unwatch(hub_of(wsi), lws_get_socket_fd(wsi));
    return 0;
}

static const struct lws_event_loop_ops lib_ops = {
    .name = "loop",
    .init_pt = lib_init,
    .init_vhost_listen_wsi = lib_add,
    .sock_accept = lib_add,
    .io = lib_want,
    .wsi_logical_close = lib_drop,
    .evlib_size_pt = sizeof(struct ws_hub *),
};

static const lws_plugin_evlib_t lib_loop = {
    .hdr = {"loop", "lws_evlib_plugin", LWS_BUILD_HASH, LWS_PLUGIN_API_MAGIC},
    .ops = &lib_ops,
};

/* Runs the library's timers; a socket with bytes that it has read but not handled is served. */
static void service(void *ctx)
{
    struct ws_hub *hub = ctx;
    int wait = lws_service_adjust_timeout(hub->context, SERVICE_MAX_MS, 0);
    if (wait == 0) {
        for (size_t fd = 0; fd < hub->fds; fd++) {
            if (hub->by_fd[fd] && hub->by_fd[fd]->events & LOOP_IN)
                serve_fd(hub, (int)fd, hub->by_fd[fd]->events, LOOP_IN);
        }
    }
    if (hub->count > 0)
        loop_timer_set(hub->loop, &hub->service, wait > 0 ? wait : 1, service, hub);
}

/* --- one socket ------------------------------------------------------------------------------- */

static void free_ws(struct ws *ws)
{
    struct ws_hub *hub = ws->hub;
    list_remove(&hub->first, ws);
    hub->count--;
    loop_timer_stop(hub->loop, &ws->ping);
    while (ws->first) {
        struct message *m = ws->first;
        ws->first = m->next;
        xfree(m);
    }
    buf_done(&ws->in);
    ws->over(ws->over_ctx);
    xfree(ws);
}

/* The library has closed it, or never had it. */
static void on_ws_closed(struct ws *ws)
{
    ws->wsi = NULL;
    ws->closing = true;
    const struct ws_events *events = ws->events;
    ws->events = NULL;
    if (events)
        events->closed(ws->ctx, ws->hub->destroying ? WS_GOING_AWAY : ws->code, ws->reason);
    free_ws(ws);
}

static void on_ping_due(void *ctx)
{
    struct ws *ws = ctx;
    bool stuck = ws->closing && ws->backlog == ws->left; /* what it still says does not count */
    ws->left = ws->backlog;
    if (!ws->heard || stuck) {
        lws_set_timeout(ws->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC); /* frees ws */
        return;
    }
    ws->heard = false;
    ws->ping_due = true;
    loop_timer_set(ws->hub->loop, &ws->ping, ws->hub->limits.ping_ms, on_ping_due, ws);
    (void)lws_callback_on_writable(ws->wsi);
}

/* The close frame goes out with this. Returns what the library's callback has to return. */
static int end_ws(struct ws *ws)
{
    ws->ended = true;
    lws_close_reason(ws->wsi, (enum lws_close_status)ws->code, (unsigned char *)ws->reason,
                     strlen(ws->reason));
    return -1;
}

static int refuse_ws(struct ws *ws, int code, const char *reason)
{
    ws->code = code;
    (void)snprintf(ws->reason, sizeof ws->reason, "%s", reason);
    return end_ws(ws);
}

static int on_received(struct ws *ws, const char *bytes, size_t n)
{
    ws->heard = true;
    if (lws_is_first_fragment(ws->wsi))
        buf_clear(&ws->in);
    int r = n > 0 ? buf_add(&ws->in, bytes, n) : 0;
    if (r < 0)
        return refuse_ws(ws, r == -EMSGSIZE ? WS_TOO_BIG : WS_ERROR, "message too long");
    if (!lws_is_final_fragment(ws->wsi) || lws_remaining_packet_payload(ws->wsi) > 0)
        return 0;
    bool text = !lws_frame_is_binary(ws->wsi);
    if (text && !utf8_valid(buf_text(&ws->in), ws->in.len))
        return refuse_ws(ws, 1007, "not UTF-8");
    if (buf_reserve(&ws->in, 1) < 0 && ws->in.len == 0)
        return refuse_ws(ws, WS_ERROR, "no memory");
    if (ws->in.len == 0)
        ws->in.data[0] = '\0';
    if (ws->events)
        ws->events->message(ws->ctx, text, ws->in.data, ws->in.len);
    if (ws->in.size > READ_BYTES)
        buf_done(&ws->in);
    return 0;
}

static int on_ws_writable(struct ws *ws)
{
    if (ws->ended)
        return 0;
    if (ws->ping_due) {
        unsigned char ping[LWS_PRE + 1] = {[LWS_PRE] = '?'}; /* an empty pong would not be told */
        ws->ping_due = false;
        if (lws_write(ws->wsi, ping + LWS_PRE, 1, LWS_WRITE_PING) < 0)
            return -1;
    } else if (ws->first) {
        struct message *m = ws->first;
        ws->first = m->next;
        if (!ws->first)
            ws->end = &ws->first;
        ws->backlog -= sizeof *m + LWS_PRE + m->n;
        int r = lws_write(ws->wsi, m->bytes + LWS_PRE, m->n,
                          m->text ? LWS_WRITE_TEXT : LWS_WRITE_BINARY);
        xfree(m);
        if (r < 0)
            return -1;
    } else if (ws->closing) {
        return end_ws(ws);
    }
    if (ws->first || ws->closing)
        (void)lws_callback_on_writable(ws->wsi);
    if (ws->blocked && ws->events && ws->backlog <= ws->backlog_max / 2) {
        ws->blocked = false;
        if (ws->events->writable)
            ws->events->writable(ws->ctx);
    }
    return 0;
}

static void on_peer_closes(struct ws *ws, const unsigned char *in, size_t n)
{
    ws->code = n >= 2 ? in[0] << 8 | in[1] : 1005;
    if (n > 2 && utf8_valid((const char *)in + 2, n - 2))
        (void)snprintf(ws->reason, sizeof ws->reason, "%.*s", (int)(n - 2), (const char *)in + 2);
}

/* libwebsockets has written its answer to the handshake into a buffer and asks for more headers.
 * The client has had that answer from HTTP already: the text is taken back, and nothing is sent. */
static int unsay_answer(struct lws_process_html_args *args)
{
    static const char status[] = "HTTP/1.1 101 ", end_of_headers[] = "\r\n";
    char *start = args->p;
    for (size_t n = 0; n < ANSWER_MAX; n++) {
        if (memcmp(--start, status, sizeof status - 1) != 0)
            continue;
        args->p = start - (sizeof end_of_headers - 1); /* which it adds before it sends */
        return 0;
    }
    return -1;
}

static int on_established(struct lws *wsi)
{
    struct ws_hub *hub = hub_of(wsi);
    struct ws *ws = hub->adopting;
    if (!ws)
        return -1;
    hub->adopting = NULL;
    ws->wsi = wsi;
    lws_set_opaque_user_data(wsi, ws);
    loop_timer_set(hub->loop, &ws->ping, hub->limits.ping_ms, on_ping_due, ws);
    if (ws->first || ws->closing)
        (void)lws_callback_on_writable(wsi);
    return 0;
}

static int on_library(struct lws *wsi, enum lws_callback_reasons why, void *user, void *in,
                      size_t n)
{
    struct ws *ws = lws_get_opaque_user_data(wsi);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wswitch-enum" /* a hundred reasons, of which these are ours */
    switch (why) {
    case LWS_CALLBACK_ADD_HEADERS:
        return unsay_answer(in);
    case LWS_CALLBACK_ESTABLISHED:
        return on_established(wsi);
    case LWS_CALLBACK_RECEIVE:
        return ws ? on_received(ws, in, n) : -1;
    case LWS_CALLBACK_RECEIVE_PONG:
        if (ws)
            ws->heard = true;
        return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return ws ? on_ws_writable(ws) : -1;
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        if (ws)
            on_peer_closes(ws, in, n);
        return 0;
    case LWS_CALLBACK_CLOSED:
        if (ws)
            on_ws_closed(ws);
        lws_set_opaque_user_data(wsi, NULL);
        return 0;
    default:
        return lws_callback_http_dummy(wsi, why, user, in, n);
    }
#pragma GCC diagnostic pop
}

/* --- for handlers ----------------------------------------------------------------------------- */

int ws_send(struct ws *ws, bool text, const char *data, size_t n, struct err *e)
{
    if (ws->closing)
        return err_set(e, -EPIPE, "the WebSocket is closing");
    /* One message is always taken, however long it is: or it could never be sent. */
    size_t size = sizeof(struct message) + LWS_PRE + n;
    if (ws->backlog > 0 && ws->backlog + size > ws->backlog_max) {
        ws->blocked = true;
        return err_set(e, -EAGAIN, "the client does not read: %zu bytes wait for it", ws->backlog);
    }
    struct message *m = try_realloc(NULL, size);
    if (!m)
        return err_set(e, -ENOMEM, "no memory for a message of %zu bytes", n);
    *m = (struct message){.n = n, .text = text};
    if (n > 0)
        memcpy(m->bytes + LWS_PRE, data, n);
    *ws->end = m;
    ws->end = &m->next;
    ws->backlog += size;
    if (ws->wsi)
        (void)lws_callback_on_writable(ws->wsi);
    return 0;
}

size_t ws_backlog(const struct ws *ws)
{
    return ws->backlog;
}

void ws_limit(struct ws *ws, size_t message_max, size_t backlog_max)
{
    ws->in.cap = message_max;
    ws->backlog_max = backlog_max;
}

void ws_close(struct ws *ws, int code, const char *reason)
{
    ws->events = NULL;
    ws->closing = true;
    ws->left = SIZE_MAX;
    ws->code = code;
    (void)snprintf(ws->reason, sizeof ws->reason, "%s", reason ? reason : "");
    if (ws->wsi)
        (void)lws_callback_on_writable(ws->wsi);
}

/* --- for http.c ------------------------------------------------------------------------------- */

/* Sec-WebSocket-Accept for a key (RFC 6455, section 4.2.2). */
static int accept_of(const char *key, char accept[WS_ACCEPT_MAX])
{
    unsigned char hash[20];
    char text[64];
    int n = snprintf(text, sizeof text, "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    lws_SHA1((const unsigned char *)text, (size_t)n, hash);
    return lws_b64_encode_string((const char *)hash, sizeof hash, accept, WS_ACCEPT_MAX);
}

int ws_prepare(struct ws_hub *hub, const char *key, const struct ws_events *events, void *ctx,
               void (*over)(void *over_ctx), void *over_ctx, struct ws **ret,
               char accept[WS_ACCEPT_MAX], struct err *e)
{
    if (hub->count >= hub->limits.sockets)
        return err_set(e, -EBUSY, "%zu WebSockets are open, more are not allowed", hub->count);
    if (strlen(key) != 24 ||
        strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                    "0123456789+/=") != 24 ||
        accept_of(key, accept) < 0)
        return err_set(e, -EINVAL, "Sec-WebSocket-Key is not 16 bytes in base64");
    struct ws *ws = NEW(struct ws);
    *ws = (struct ws){.hub = hub,
                      .events = events,
                      .ctx = ctx,
                      .over = over,
                      .over_ctx = over_ctx,
                      .heard = true,
                      .code = WS_LOST,
                      .backlog_max = hub->limits.backlog_max,
                      .in = BUF_INIT(hub->limits.message_max)};
    ws->end = &ws->first;
    list_push(&hub->first, ws);
    hub->count++;
    *ret = ws;
    return 0;
}

void ws_abandon(struct ws *ws)
{
    if (ws->wsi)
        lws_set_timeout(ws->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
    else
        on_ws_closed(ws);
}

/* libwebsockets takes a WebSocket only as a request: it reads the least one, which http.c has
 * judged and answered, and then what came behind it. */
void ws_attach(struct ws *ws, int fd, const char *early, size_t n)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                                  "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    struct ws_hub *hub = ws->hub;
    drop_buf struct buf text = BUF_INIT(sizeof request + n);
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0 || buf_adds(&text, request) < 0 || (n > 0 && buf_add(&text, early, n) < 0)) {
        (void)fd_close(own);
        on_ws_closed(ws);
        return;
    }
    hub->adopting = ws;
    struct lws *wsi = lws_adopt_socket_vhost_readbuf(hub->vhost, own, text.data, text.len);
    if (hub->adopting) { /* it was not established */
        hub->adopting = NULL;
        if (wsi)
            lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_SYNC);
        on_ws_closed(ws);
    }
    loop_defer(hub->loop, &hub->soon, service, hub);
}

static const struct lws_protocols protocols[] = {
    {.name = "x", .callback = on_library, .rx_buffer_size = READ_BYTES}, LWS_PROTOCOL_LIST_TERM};

int ws_hub_open(struct loop *loop, const struct ws_limits *limits, struct ws_hub **ret,
                struct err *e)
{
    struct ws_hub *hub = NEW(struct ws_hub);
    hub->loop = loop;
    hub->limits = *limits;
    lws_set_log_level(0, NULL);
    void *loops[1] = {hub};
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .protocols = protocols,
        .vhost_name = "ws",
        .event_lib_custom = &lib_loop,
        .foreign_loops = loops,
        .fd_limit_per_thread = (unsigned)limits->sockets + 16,
        .pt_serv_buf_size = READ_BYTES,
        .timeout_secs = CLOSE_SECONDS,
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
    };
    hub->context = lws_create_context(&info);
    if (hub->context)
        hub->vhost = lws_create_vhost(hub->context, &info);
    if (!hub->vhost) {
        (void)ws_hub_close(hub);
        return err_set(e, -ENOMEM, "libwebsockets could not be started");
    }
    *ret = hub;
    return 0;
}

size_t ws_hub_closing(const struct ws_hub *hub)
{
    size_t n = 0;
    for (const struct ws *ws = hub->first; ws; ws = ws->next)
        n += ws->closing && !ws->ended;
    return n;
}

struct ws_hub *ws_hub_close(struct ws_hub *hub)
{
    if (!hub)
        return NULL;
    hub->destroying = true;
    while (hub->first)
        ws_abandon(hub->first);
    if (hub->context)
        lws_context_destroy(hub->context);
    loop_timer_stop(hub->loop, &hub->service);
    loop_defer_stop(hub->loop, &hub->soon);
    for (size_t fd = 0; fd < hub->fds; fd++)
        (void)unwatch(hub, (int)fd);
    xfree(hub->by_fd);
    xfree(hub);
    return NULL;
}
