/* SPDX-License-Identifier: Apache-2.0
 *
 * libmicrohttpd has its own epoll descriptor, which is nested in ours; MHD_run() is called when it
 * is ready, when a connection was added or resumed, and at the library's own time limits. While a
 * handler thinks its connection is suspended: the library does not look at it, so its end is
 * watched here. */
#include "front/http/http.h"

#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text/utf8.h"
#include "front/http/http_request.h"
#include "front/http/instance.h"
#include "front/http/listener.h"

enum {
    POOL_MORE = 8 << 10, /* than the head's limit: what the library notes of a hundred headers, and
                          * the answer's head. It clears all of it for each request. */
    STREAM_BLOCK = 64 << 10,
    SMALL_ANSWER = 64 << 10, /* is always sent */
    BUSY_WAIT_MAX_MS = 60000,
    SPARE = 32, /* connections over the limit while others are being cut off */
};

/* --- running the library ---------------------------------------------------------------------- */

static void run_daemon(void *ctx)
{
    struct http *http = ctx;
    MHD_UNSIGNED_LONG_LONG wait = 0;
    (void)MHD_run(http->daemon);
    if (MHD_get_timeout(http->daemon, &wait) != MHD_YES)
        loop_timer_stop(http->loop, &http->busy);
    else if (wait == 0)
        loop_defer(http->loop, &http->soon, run_daemon, http);
    else
        loop_timer_set(http->loop, &http->busy,
                       wait < BUSY_WAIT_MAX_MS ? (int64_t)wait : BUSY_WAIT_MAX_MS, run_daemon,
                       http);
}

static void on_library_ready(void *ctx, unsigned events)
{
    (void)events;
    run_daemon(ctx);
}

void http_kick(struct http *http)
{
    loop_defer(http->loop, &http->soon, run_daemon, http);
}

/* --- a suspended request ---------------------------------------------------------------------- */

static void resume(struct http_request *r)
{
    if (!r->suspended)
        return;
    r->watch = loop_io_del(r->watch);
    r->suspended = false;
    if (r->arrival != HTTP_ALL_CAME)
        http_expect_body(r);
    MHD_resume_connection(r->mhd);
    http_kick(r->http);
}

static void notify_request_gone(struct http_request *r)
{
    r->dead = true;
    if (r->owner != HTTP_HANDLERS)
        return;
    r->owner = HTTP_DOORS;
    const char *before = log_set_request(r->id);
    if (r->events->gone)
        r->events->gone(r->ctx);
    (void)log_set_request(before);
}

static void on_watched(void *ctx, unsigned events)
{
    struct http_request *r = ctx;
    char byte;
    ssize_t n = events & LOOP_HUP ? 0 : recv(r->conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n > 0)
        loop_io_set(r->watch, 0); /* the next request is there already: only a reset shows now */
    if (n > 0 || (n < 0 && errno == EAGAIN))
        return;
    notify_request_gone(r);
    resume(r);
}

static void suspend(struct http_request *r)
{
    if (r->suspended)
        return;
    r->suspended = true;
    MHD_suspend_connection(r->mhd);
    if (loop_io_add(r->http->loop, r->conn->fd, LOOP_IN, on_watched, r, &r->watch, NULL) < 0)
        r->watch = NULL; /* out of memory in the kernel: its end shows when it is answered */
}

/* --- answers ---------------------------------------------------------------------------------- */

static void on_hold_over(void *ctx)
{
    struct http_request *r = ctx;
    r->held = false;
    if (r->suspended)
        resume(r);
    else if (r->arrival != HTTP_ALL_CAME)
        http_expect_body(r); /* nobody has looked at its pace so long */
}

void http_delay(struct http_request *r, int64_t ms)
{
    r->held = true;
    loop_timer_set(r->http->loop, &r->timer, ms, on_hold_over, r);
}

static void add_headers(struct MHD_Response *response, const struct http_header *headers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)MHD_add_response_header(response, headers[i].name, headers[i].value);
}

static void name_instance(struct MHD_Response *response, const char *instance)
{
    if (instance)
        (void)MHD_add_response_header(response, HTTP_INSTANCE_HEADER, instance);
}

/* What was refused by its head has had no handler. */
static void leave_handler(struct http_request *r)
{
    if (r->owner == HTTP_HANDLERS)
        r->owner = HTTP_DOORS;
}

static void give_response(struct http_request *r, int status, struct MHD_Response *response)
{
    r->response = response;
    r->status = status;
    if (!r->held)
        resume(r);
}

/* Takes the response over. */
static void set_response(struct http_request *r, int status, const struct http_header *headers,
                         size_t n, struct MHD_Response *response)
{
    add_headers(response, headers, n);
    (void)MHD_add_response_header(response, HTTP_ID_HEADER, r->id);
    name_instance(response, r->http->config.instance);
    give_response(r, status, response);
}

static void let_go_of_response(struct http_request *r)
{
    if (r->response && !r->shared)
        MHD_destroy_response(r->response);
    r->response = NULL;
}

/* Whether all connections together may hold n bytes more; they are given back with the request. */
static bool hold(struct http_request *r, size_t n)
{
    struct http *http = r->http;
    if (n > http->limits.memory || http->memory > http->limits.memory - n)
        return false;
    http->memory += n;
    r->memory += n;
    return true;
}

void http_answer(struct http_request *r, int status, const struct http_header *headers, size_t n,
                 const char *body, size_t len)
{
    if (len > SMALL_ANSWER && !hold(r, len)) {
        http_problem(r, 503, NULL, 0, "too much waits to be read by clients");
        return;
    }
    leave_handler(r);
    r->small = len <= SMALL_ANSWER;
    struct MHD_Response *response = MHD_create_response_from_buffer_copy(len, body);
    if (!response) {
        r->dead = true;
        resume(r);
        return;
    }
    r->http->sent += len;
    set_response(r, status, headers, n, response);
}

struct http_prepared {
    int status;
    const struct http_header *headers;
    size_t n;
    const char *body;
    size_t len;
    struct MHD_Response *response;
};

struct http_prepared *http_prepare(int status, const struct http_header *headers, size_t n,
                                   const char *body, size_t len, const char *instance)
{
    struct http_prepared *p = NEW(struct http_prepared);
    *p = (struct http_prepared){
        .status = status, .headers = headers, .n = n, .body = body, .len = len};
    p->response = MHD_create_response_from_buffer_static(len, body);
    if (!p->response)
        return p;
    add_headers(p->response, headers, n);
    name_instance(p->response, instance);
    return p;
}

struct http_prepared *http_prepared_free(struct http_prepared *p)
{
    if (p && p->response)
        MHD_destroy_response(p->response);
    xfree(p);
    return NULL;
}

void http_answer_prepared(struct http_request *r, const struct http_prepared *p)
{
    if (r->brings_id || !p->response) {
        http_answer(r, p->status, p->headers, p->n, p->body, p->len);
        return;
    }
    leave_handler(r);
    r->small = r->shared = true;
    r->http->sent += p->len;
    give_response(r, p->status, p->response);
}

void http_answer_file(struct http_request *r, int status, const struct http_header *headers,
                      size_t n, int fd, uint64_t offset, uint64_t length)
{
    struct MHD_Response *response = MHD_create_response_from_fd_at_offset64(length, fd, offset);
    if (!response) {
        (void)fd_close(fd);
        http_problem(r, 500, NULL, 0, "no memory");
        return;
    }
    leave_handler(r);
    r->http->sent += length;
    set_response(r, status, headers, n, response);
}

/* --- streams ---------------------------------------------------------------------------------- */

static void on_http_tell(void *ctx)
{
    struct http_request *r = ctx;
    if (r->owner != HTTP_HANDLERS)
        return;
    const char *before = log_set_request(r->id);
    if (r->dead)
        notify_request_gone(r);
    else if (r->events->writable)
        r->events->writable(r->ctx);
    (void)log_set_request(before);
}

static unsigned quiet_seconds(const struct http_limits *limits)
{
    int64_t quiet = limits->idle_ms > limits->stall_ms ? limits->idle_ms : limits->stall_ms;
    return (unsigned)(quiet / 1000 + 1);
}

static ssize_t read_body_stream(void *ctx, uint64_t at, char *out, size_t max)
{
    (void)at;
    struct http_request *r = ctx;
    size_t n = r->queue.len - r->taken;
    if (r->dead || r->stream == HTTP_STREAM_BREAKS)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (n == 0 && r->stream == HTTP_STREAM_ENDS)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (n == 0) {
        r->idle = true;
        suspend(r);
        return 0;
    }
    n = n < max ? n : max;
    memcpy(out, r->queue.data + r->taken, n);
    r->taken += n;
    r->http->sent += n;
    if (r->taken == r->queue.len) {
        buf_clear(&r->queue);
        r->taken = 0;
    } else if (r->taken > HTTP_QUEUE_MAX / 2) {
        buf_cut_front(&r->queue, r->taken);
        r->taken = 0;
    }
    if (r->blocked && r->queue.len - r->taken <= HTTP_QUEUE_MAX / 2) {
        r->blocked = false;
        loop_defer(r->http->loop, &r->tell, on_http_tell, r);
    }
    return (ssize_t)n;
}

void http_stream_begin(struct http_request *r, int status, const struct http_header *headers,
                       size_t n, int64_t length)
{
    uint64_t size = length < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)length;
    r->queue = BUF_INIT((size_t)1 << 30); /* http_stream_write() has the limit */
    struct MHD_Response *response =
        MHD_create_response_from_callback(size, STREAM_BLOCK, read_body_stream, r, NULL);
    if (!response) {
        r->dead = true;
        loop_defer(r->http->loop, &r->tell, on_http_tell, r);
        resume(r);
        return;
    }
    set_response(r, status, headers, n, response);
}

int http_stream_write(struct http_request *r, const char *bytes, size_t n)
{
    size_t waiting = r->queue.len - r->taken;
    if (r->dead)
        return -EPIPE;
    if (waiting > 0 && waiting + n > HTTP_QUEUE_MAX) {
        r->blocked = true;
        return -EAGAIN;
    }
    int result = buf_add(&r->queue, bytes, n);
    if (n > 0 && !r->response)
        resume(r);
    return result;
}

void http_stream_last(struct http_request *r, const char *bytes, size_t n)
{
    if (!r->dead && buf_add(&r->queue, bytes, n) < 0)
        r->stream = HTTP_STREAM_BREAKS;
}

void http_stream_end(struct http_request *r)
{
    leave_handler(r);
    if (r->stream == HTTP_STREAM_RUNS)
        r->stream = HTTP_STREAM_ENDS;
    if (!r->response)
        resume(r);
}

void http_stream_abort(struct http_request *r)
{
    r->stream = HTTP_STREAM_BREAKS;
    http_stream_end(r);
}

/* --- what the library knows ------------------------------------------------------------------- */

const char *http_query(const struct http_request *r, const char *name)
{
    const char *value = NULL;
    size_t n = 0;
    (void)MHD_lookup_connection_value_n(r->mhd, MHD_GET_ARGUMENT_KIND, name, strlen(name), &value,
                                        &n);
    return value && strlen(value) == n ? value : NULL;
}

const char *http_header(const struct http_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, name);
}

struct header_visit {
    http_header_fn fn;
    void *ctx;
};

static enum MHD_Result visit_header(void *ctx, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    (void)kind;
    const struct header_visit *visit = ctx;
    visit->fn(visit->ctx, name, value ? value : "");
    return MHD_YES;
}

void http_each_header(const struct http_request *r, http_header_fn fn, void *ctx)
{
    struct header_visit visit = {fn, ctx};
    (void)MHD_get_connection_values(r->mhd, MHD_HEADER_KIND, visit_header, &visit);
}

static enum MHD_Result check_argument(void *ctx, enum MHD_ValueKind kind, const char *name,
                                      size_t name_n, const char *value, size_t n)
{
    (void)kind;
    bool *is_text = ctx;
    *is_text &= !memchr(name, '\0', name_n) && utf8_valid(name, name_n);
    *is_text &= !value || (!memchr(value, '\0', n) && utf8_valid(value, n));
    return *is_text ? MHD_YES : MHD_NO;
}

bool http_query_is_text(const struct http_request *r)
{
    bool is_text = true;
    (void)MHD_get_connection_values_n(r->mhd, MHD_GET_ARGUMENT_KIND, check_argument, &is_text);
    return is_text;
}

/* --- WebSockets ------------------------------------------------------------------------------- */

static void free_conn(struct conn *c)
{
    struct http *http = c->http;
    list_remove(&http->conns, c);
    loop_timer_stop(http->loop, &c->deadline);
    xfree(c);
    http->conn_count--;
    if (http->listen)
        listener_set(http->listen, http->conn_count < http->limits.connections + SPARE);
}

static void on_ws_over(void *ctx)
{
    struct conn *c = ctx;
    bool alone = c->is_ws && c->fd < 0;
    c->is_ws = false;
    if (alone)
        free_conn(c);
}

/* The answer 101 is on its way. */
static void on_upgraded(void *ctx, struct MHD_Connection *mhd, void *request, const char *early,
                        size_t n, MHD_socket fd, struct MHD_UpgradeResponseHandle *handle)
{
    (void)mhd, (void)request;
    struct http_request *r = ctx;
    struct ws *ws = r->ws;
    r->ws = NULL;
    ws_attach(ws, fd, early, n);
    (void)MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

const char *http_subprotocol(const struct http_request *r)
{
    const char *offered = http_header(r, "Sec-WebSocket-Protocol");
    return http_list_has(offered, HTTP_SUBPROTOCOL, true) ? HTTP_SUBPROTOCOL : NULL;
}

int http_upgrade(struct http_request *r, const char *subprotocol, const struct ws_events *events,
                 void *ctx, struct ws **ret)
{
    char accept[WS_ACCEPT_MAX];
    struct ws *ws = NULL;
    struct err e = ERR_NONE;
    int failed = ws_prepare(r->http->hub, http_header(r, "Sec-WebSocket-Key"), events, ctx,
                            on_ws_over, r->conn, &ws, accept, &e);
    if (failed < 0) {
        http_problem(r, failed == -EINVAL ? 400 : 503, NULL, 0, "%s", e.msg);
        return failed;
    }
    r->conn->is_ws = true;
    r->ws = ws;
    leave_handler(r);
    const struct http_header headers[] = {{"Upgrade", "websocket"},
                                          {"Sec-WebSocket-Accept", accept},
                                          {"Sec-WebSocket-Protocol", subprotocol}};
    *ret = ws;
    set_response(r, MHD_HTTP_SWITCHING_PROTOCOLS, headers, subprotocol ? 3 : 2,
                 MHD_create_response_for_upgrade(on_upgraded, r));
    return 0;
}

/* --- the head --------------------------------------------------------------------------------- */

static void start_handler(struct http_request *r)
{
    r->owner = HTTP_HANDLERS;
    r->match.route->start(r->realm ? r->realm->ctx : r->http->config.ctx, r);
}

static enum MHD_Result queue_response(struct http_request *r)
{
    http_expect_reader(r);
    enum MHD_Result done = MHD_queue_response(r->mhd, (unsigned)r->status, r->response);
    let_go_of_response(r);
    return done;
}

/* An answer that is queued here ends the connection: only when a long body would follow it. */
static enum MHD_Result on_request_head(struct http_request *r, const char *method)
{
    r->arrival = HTTP_HEAD_CAME;
    http_begin(r, method);
    loop_timer_stop(r->http->loop, &r->conn->deadline);
    if (http_judge(r, method)) {
        r->body.cap = r->match.route->body_max;
        if (r->match.route->body == HTTP_RECEIVE)
            start_handler(r);
    }
    if (!http_has_body(r))
        return MHD_YES;
    if (r->response && !r->held &&
        (http_header(r, "Expect") || http_body_length(r) > HTTP_DISCARD_MAX))
        return queue_response(r);
    http_expect_body(r);
    return MHD_YES;
}

/* --- the body --------------------------------------------------------------------------------- */

static enum MHD_Result discard(struct http_request *r, size_t n)
{
    r->discarded += n;
    return r->discarded > HTTP_DISCARD_MAX ? MHD_NO : MHD_YES;
}

/* It is not the client that is slow. */
static void wait_for_handler(struct http_request *r)
{
    loop_timer_stop(r->http->loop, &r->timer);
    suspend(r);
}

static enum MHD_Result on_request_body(struct http_request *r, const char *bytes, size_t n)
{
    const struct http_route *route = r->match.route;
    r->body_got += n;
    r->http->received += n;
    if (r->dead)
        return MHD_NO;
    bool wanted = route && (route->body == HTTP_COLLECT || route->body == HTTP_RECEIVE);
    if (r->response || !wanted)
        return discard(r, n);
    if (r->body_got > route->body_max) {
        if (r->owner == HTTP_HANDLERS) /* it receives: it hears that this is no whole body */
            notify_request_gone(r);
        r->dead = false;
        buf_done(&r->body);
        http_problem(r, 413, NULL, 0,
                     "the body is longer than %llu bytes; larger data belongs into a file",
                     (unsigned long long)route->body_max);
        return discard(r, n);
    }
    if (route->body == HTTP_COLLECT) {
        if (!hold(r, n) || buf_add(&r->body, bytes, n) < 0)
            http_problem(r, 503, NULL, 0, "no memory for this body");
        return MHD_YES;
    }
    if (r->owner == HTTP_HANDLERS && r->events->body)
        r->events->body(r->ctx, bytes, n);
    if (r->paused && r->owner == HTTP_HANDLERS)
        wait_for_handler(r);
    return MHD_YES;
}

void http_continue(struct http_request *r)
{
    r->paused = false;
    if (r->arrival != HTTP_ALL_CAME)
        resume(r);
}

/* The whole request is there: called again after each resumption until there is an answer. */
static enum MHD_Result on_complete(struct http_request *r)
{
    if (r->arrival != HTTP_ALL_CAME) {
        r->arrival = HTTP_ALL_CAME;
        loop_timer_stop(r->http->loop, &r->conn->deadline);
        if (!r->held)
            loop_timer_stop(r->http->loop, &r->timer);
        if (r->owner == HTTP_NOBODYS && !r->response && !r->dead)
            start_handler(r);
        else if (r->owner == HTTP_HANDLERS && r->match.route->body == HTTP_RECEIVE &&
                 r->events->end)
            r->events->end(r->ctx);
    }
    if (r->dead)
        return MHD_NO;
    if (r->response && !r->held)
        return queue_response(r);
    suspend(r);
    return MHD_YES;
}

static enum MHD_Result on_part(struct http_request *r, const char *method, const char *bytes,
                               size_t *n)
{
    if (r->arrival == HTTP_ARRIVES)
        return on_request_head(r, method);
    if (*n == 0)
        return on_complete(r);
    if (r->paused &&
        r->owner == HTTP_HANDLERS) { /* before the first of its bytes: they come again */
        wait_for_handler(r);
        return MHD_YES;
    }
    size_t taken = *n;
    *n = 0;
    return on_request_body(r, bytes, taken);
}

static enum MHD_Result on_access(void *ctx, struct MHD_Connection *mhd, const char *url,
                                 const char *method, const char *version, const char *bytes,
                                 size_t *n, void **request)
{
    (void)ctx, (void)url, (void)version, (void)mhd;
    struct http_request *r = *request;
    const char *before = log_set_request(r->id); /* which its head is about to bring */
    enum MHD_Result done = on_part(r, method, bytes, n);
    (void)log_set_request(before);
    return done;
}

/* --- requests and connections ----------------------------------------------------------------- */

static void *on_target(void *ctx, const char *raw, struct MHD_Connection *mhd)
{
    struct http *http = ctx;
    size_t n = strlen(raw) + 1;
    struct http_request *r = xcalloc(1, sizeof *r + n);
    r->http = http;
    r->mhd = mhd;
    r->conn = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    memcpy(r->raw, raw, n);
    r->events = &http_no_events;
    list_push(&http->requests, r);
    return r;
}

/* Where the source of an answer gives up, the library (1.0.10, with epoll) marks the connection as
 * closed and looks at it no more until all that were quiet for longer have gone: its descriptor and
 * its place stay. One with a time limit of its own is looked at in every turn. */
static void look_again(struct http *http, struct MHD_Connection *mhd)
{
    (void)MHD_set_connection_option(mhd, MHD_CONNECTION_OPTION_TIMEOUT,
                                    quiet_seconds(&http->limits) + 1);
    http_kick(http);
}

static void on_request_over(void *ctx, struct MHD_Connection *mhd, void **request,
                            enum MHD_RequestTerminationCode why)
{
    struct http *http = ctx;
    struct http_request *r = *request;
    if (why != MHD_REQUEST_TERMINATED_COMPLETED_OK)
        look_again(http, mhd);
    if (!r)
        return;
    *request = NULL;
    notify_request_gone(r);
    http_notify_over(r);
    if (r->ws)
        ws_abandon(r->ws); /* the 101 could not be sent */
    let_go_of_response(r);
    list_remove(&http->requests, r);
    http_expect_next(r->conn);
    (void)loop_io_del(r->watch);
    loop_timer_stop(http->loop, &r->timer);
    loop_defer_stop(http->loop, &r->tell);
    http_target_done(&r->target);
    http_match_done(&r->match);
    buf_done(&r->body);
    buf_done(&r->queue);
    http->memory -= r->memory;
    xfree(r);
}

static void on_http_connection(void *ctx, struct MHD_Connection *mhd, void **context,
                               enum MHD_ConnectionNotificationCode what)
{
    (void)mhd;
    struct http *http = ctx;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = http->arriving;
        http->arriving = NULL;
        return;
    }
    struct conn *c = *context;
    c->fd = -1;
    loop_timer_stop(http->loop, &c->deadline);
    if (!c->is_ws)
        free_conn(c);
}

void http_take(struct http *http, int fd, const struct sockaddr *from, socklen_t n)
{
    struct conn *c = NEW(struct conn);
    *c = (struct conn){.http = http, .fd = fd};
    if (!http_find_peer(c, from, n) || http->conn_count >= http->limits.connections + SPARE ||
        (http_is_crowded(http, c->address) && !http_make_room(http, c->address))) {
        (void)fd_close(fd);
        xfree(c);
        return;
    }
    list_push(&http->conns, c);
    if (++http->conn_count > http->limits.connections)
        (void)http_make_room(http, NULL);
    listener_set(http->listen, http->conn_count < http->limits.connections + SPARE);
    http_expect_first(c);
    http->arriving = c;
    if (MHD_add_connection(http->daemon, fd, from, n) != MHD_YES && http->arriving == c) {
        http->arriving = NULL; /* the library has closed fd */
        free_conn(c);
    }
    http_kick(http);
}

static void on_http_accepted(void *ctx, int fd, const struct sockaddr *from, socklen_t n)
{
    http_take(ctx, fd, from, n);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static int start_library(struct http *http, struct err *e)
{
    http->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_UPGRADE | MHD_ALLOW_SUSPEND_RESUME |
            MHD_USE_NO_THREAD_SAFETY,
        0, NULL, NULL, on_access, http, MHD_OPTION_URI_LOG_CALLBACK, on_target, http,
        MHD_OPTION_NOTIFY_COMPLETED, on_request_over, http, MHD_OPTION_NOTIFY_CONNECTION,
        on_http_connection, http, MHD_OPTION_CONNECTION_TIMEOUT, quiet_seconds(&http->limits),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, http->limits.header_bytes + POOL_MORE,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)http->limits.connections + SPARE + 1,
        MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1, MHD_OPTION_END);
    if (!http->daemon)
        return err_set(e, -ENOMEM, "libmicrohttpd could not be started");
    int fd = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    return loop_io_add(http->loop, fd, LOOP_IN, on_library_ready, http, &http->io, e);
}

int http_open(const struct http_config *config, struct http **ret, struct err *e)
{
    struct http *http = NEW(struct http);
    http->config = *config;
    http->limits = config->limits ? *config->limits : http_limits_default;
    if (http->limits.memory == 0)
        http->limits.memory = http_limits_default.memory;
    http->loop = config->loop;
    random_hex(http->id_start, sizeof http->id_start / 2);
    int r = start_library(http, e);
    if (r == 0)
        r = ws_hub_open(http->loop, &http->limits.ws, &http->hub, e);
    if (r == 0)
        r = listener_open(http->loop, config->given ? NULL : config->host, config->port,
                          config->ahead, on_http_accepted, http, &http->listen, e);
    if (r < 0) {
        (void)http_close(http);
        return r;
    }
    *ret = http;
    return 0;
}

int http_listen(struct http *http, int fd, struct err *e)
{
    return listener_add(http->listen, fd, e);
}

int http_listen_at(struct http *http, const char *host, int port, struct err *e)
{
    return listener_more(http->listen, host, port, e);
}

struct http *http_close(struct http *http)
{
    if (!http)
        return NULL;
    http->listen = listener_close(http->listen);
    for (struct http_request *r = http->requests, *next; r; r = next) {
        next = r->next;
        notify_request_gone(r);
        resume(r);
    }
    http->hub = ws_hub_close(http->hub);
    for (struct http_request *r = http->requests; r; r = r->next)
        r->ws = NULL;
    (void)loop_io_del(http->io);
    if (http->daemon)
        MHD_stop_daemon(http->daemon);
    loop_timer_stop(http->loop, &http->busy);
    loop_defer_stop(http->loop, &http->soon);
    xfree(http);
    return NULL;
}
