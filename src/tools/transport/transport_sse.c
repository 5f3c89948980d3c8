/* SPDX-License-Identifier: Apache-2.0
 *
 * One GET brings all messages of the server; its first event says where messages are to be posted.
 * It cannot be resumed: when it ends, everything has ended. */
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/list.h"
#include "tools/transport/http_talk.h"
#include "tools/transport/transport.h"
#include "wire/rpcpeek.h"
#include "wire/sse.h"

enum {
    POSTS_MAX = 512,
    POST_MS = 60000, /* for a server to take a message; the answer comes by the stream */
};

struct sse_transport {
    struct transport transport;
    struct http_peer peer;
    struct loop *loop;
    const struct transport_events *events;
    void *ctx;
    struct http_client_request *stream;
    struct sse sse;
    struct buf error; /* the body of an answer that is no stream */
    int status;
    enum http_kind kind;
    char *endpoint; /* NULL: not known yet, and messages are held */
    struct post *first;
    struct post *gate; /* notifications/initialized is on its way: what follows it is held */
    size_t count, bytes;
    struct loop_defer open_gate;
    bool inside, dead, closed;
};

struct post {
    struct sse_transport *t;
    struct post *prev, *next;
    struct http_client_request *request;
    char *id; /* NULL: no request */
    size_t bytes;
    bool held, last; /* last: what follows it has to wait for it */
    int status;
    struct buf error;
    struct loop_timer timer;
};

/* --- messages that are posted ---------------------------------------------------------------- */

static void on_sse_gate_open(void *ctx);

static void end_post(struct post *p)
{
    struct sse_transport *t = p->t;
    list_remove(&t->first, p);
    t->count--;
    t->bytes -= p->bytes;
    if (t->gate == p) {
        t->gate = NULL;
        loop_defer(t->loop, &t->open_gate, on_sse_gate_open, t);
    }
    loop_timer_stop(t->loop, &p->timer);
    (void)http_request_end(p->request);
    buf_done(&p->error);
    xfree(p->id);
    xfree(p);
}

/* The last thing that is done with p; the transport may be gone afterwards. */
static void refuse_sse_message(struct post *p, int status, const struct err *why)
{
    const struct transport_events *events = p->t->events;
    void *ctx = p->t->ctx;
    drop_str char *id = str_take(&p->id);
    end_post(p);
    if (id)
        events->refused(ctx, id, status, why);
}

static void on_sse_not_sent(void *ctx)
{
    struct post *p = ctx;
    struct err why = ERR_NONE;
    (void)err_set(&why, -ENOMEM, "a request to %s cannot be sent", p->t->peer.host);
    refuse_sse_message(p, 0, &why);
}

/* Sends what was held, the oldest first, up to a message that the next ones have to wait for. */
static void on_sse_gate_open(void *ctx)
{
    struct sse_transport *t = ctx;
    struct post *p = t->first;
    while (p && p->next)
        p = p->next;
    for (; p && !t->gate; p = p->prev) {
        if (!p->held)
            continue;
        p->held = false;
        if (http_request_go(p->request, t->endpoint, NULL) < 0)
            loop_timer_set(t->loop, &p->timer, 0, on_sse_not_sent, p);
        else if (p->last)
            t->gate = p;
    }
}

static void on_post_head(void *ctx, int status)
{
    struct post *p = ctx;
    p->status = status;
}

static void on_post_body(void *ctx, const char *bytes, size_t n)
{
    struct post *p = ctx;
    if (p->error.len + n <= HTTP_ERROR_BODY_MAX) {
        (void)buf_add(&p->error, bytes, n);
        return;
    }
    struct err why = ERR_NONE;
    http_explain_status(&p->t->peer, p->request, p->status, &(struct buf){0}, &why);
    refuse_sse_message(p, p->status, &why);
}

static void on_post_done(void *ctx, const struct err *why)
{
    struct post *p = ctx;
    struct err told = ERR_NONE;
    if (p->status >= 200 && p->status < 300) {
        end_post(p); /* "Accepted": the answer comes by the stream */
        return;
    }
    if (why)
        told = *why;
    else
        http_explain_status(&p->t->peer, p->request, p->status, &p->error, &told);
    refuse_sse_message(p, p->status, &told);
}

/* --- the stream ------------------------------------------------------------------------------ */

static void free_sse_transport(struct sse_transport *t)
{
    http_peer_done(&t->peer);
    sse_done(&t->sse);
    buf_done(&t->error);
    xfree(t->endpoint);
    xfree(t);
}

static void end_everything(struct sse_transport *t)
{
    t->closed = true;
    t->stream = http_request_end(t->stream);
    t->gate = NULL;
    while (t->first)
        end_post(t->first);
    loop_defer_stop(t->loop, &t->open_gate);
}

/* The last thing that is done with t. */
static void notify_sse_closed(struct sse_transport *t, const struct err *why)
{
    end_everything(t);
    t->events->closed(t->ctx, why);
}

static bool deliver_sse_message(struct sse_transport *t, char *text, size_t n)
{
    text[n] = '\0';
    t->inside = true;
    t->events->message(t->ctx, text, n);
    t->inside = false;
    if (!t->dead)
        return true;
    free_sse_transport(t);
    return false;
}

static int on_endpoint(struct sse_transport *t, const char *to, struct err *e)
{
    if (t->endpoint)
        return 0; /* it cannot move */
    int r = http_url_resolve(t->peer.url, to, &t->endpoint, e);
    if (r < 0)
        return err_wrap(e, "%s names an endpoint that cannot be used", t->peer.host);
    loop_defer(t->loop, &t->open_gate, on_sse_gate_open, t);
    return 0;
}

static void on_sse_events(struct sse_transport *t, const char *bytes, size_t n)
{
    struct sse_event event;
    struct err why = ERR_NONE;
    int r;
    while ((r = sse_next(&t->sse, &bytes, &n, &event)) > 0) {
        char *text = event.data;
        size_t len = event.n;
        rpc_trim(&text, &len);
        if (strcmp(event.type, "endpoint") == 0) {
            text[len] = '\0';
            if (on_endpoint(t, text, &why) < 0) {
                notify_sse_closed(t, &why);
                return;
            }
        } else if (strcmp(event.type, "message") == 0 && rpc_looks_like_message(text, len) &&
                   !deliver_sse_message(t, text, len)) {
            return;
        }
    }
    if (r == 0)
        return;
    http_explain_message(&t->peer, r, &why);
    notify_sse_closed(t, &why);
}

static void on_sse_head(void *ctx, int status)
{
    struct sse_transport *t = ctx;
    t->status = status;
    t->kind = status == 200 ? http_kind_of(t->stream) : HTTP_KIND_OTHER;
}

/* A URL of the newer transport refuses the older one's first request. */
static void explain_refused_stream(struct sse_transport *t, struct err *ret)
{
    struct err why = ERR_NONE;
    http_explain_status(&t->peer, t->stream, t->status, &t->error, &why);
    bool other = t->status == 400 || t->status == 404 || t->status == 405 || t->status == 406;
    (void)err_set(ret, why.code, "%s%s", why.msg,
                  other ? "; it may speak the newer transport: \"type\": \"streamable_http\"" : "");
}

static void on_sse_done(void *ctx, const struct err *why)
{
    struct sse_transport *t = ctx;
    struct err told = ERR_NONE;
    if (t->status == 200 && t->kind == HTTP_KIND_EVENTS)
        (void)err_set(&told, -EPIPE, "the event stream of %s ended", t->peer.host);
    else if (t->status == 200)
        (void)err_set(&told, -EPROTO, "%s has no event stream there", t->peer.host);
    else if (why)
        told = *why;
    else
        explain_refused_stream(t, &told);
    notify_sse_closed(t, &told);
}

static void on_sse_body(void *ctx, const char *bytes, size_t n)
{
    struct sse_transport *t = ctx;
    if (t->kind == HTTP_KIND_EVENTS)
        on_sse_events(t, bytes, n);
    else if (t->error.len + n > HTTP_ERROR_BODY_MAX)
        on_sse_done(t, NULL);
    else
        (void)buf_add(&t->error, bytes, n);
}

static int open_stream(struct sse_transport *t, struct err *e)
{
    static const struct http_client_events events = {
        .head = on_sse_head, .body = on_sse_body, .done = on_sse_done};
    struct http_headers h = {0};
    http_headers_add(&h, "Accept", "text/event-stream");
    http_headers_add_peer(&h, &t->peer);
    struct http_request_spec spec = {.method = HTTP_GET,
                                     .url = t->peer.url,
                                     .headers = h.list,
                                     .n_headers = h.n,
                                     .connect_timeout_ms = t->peer.connect_timeout_ms};
    int r = http_request_start(t->peer.http, &spec, &events, t, &t->stream, e);
    http_headers_done(&h);
    return r;
}

/* --- the door -------------------------------------------------------------------------------- */

static struct post *new_post(struct sse_transport *t)
{
    struct post *p = NEW(struct post);
    *p = (struct post){.t = t, .error = BUF_INIT(HTTP_ERROR_BODY_MAX)};
    list_push(&t->first, p);
    t->count++;
    return p;
}

static int start_post(struct post *p, const struct transport_message *m, struct err *e)
{
    static const struct http_client_events events = {
        .head = on_post_head, .body = on_post_body, .done = on_post_done};
    struct sse_transport *t = p->t;
    struct http_headers h = {0};
    http_headers_add(&h, "Content-Type", "application/json");
    if (m->version)
        http_headers_add(&h, "MCP-Protocol-Version", m->version);
    http_headers_add_trace(&h, m);
    http_headers_add_peer(&h, &t->peer);
    struct http_request_spec spec = {.method = HTTP_POST,
                                     .url = t->endpoint,
                                     .headers = h.list,
                                     .n_headers = h.n,
                                     .body = m->text,
                                     .n_body = m->n,
                                     .connect_timeout_ms = t->peer.connect_timeout_ms,
                                     .timeout_ms = POST_MS,
                                     .held = p->held};
    int r = http_request_start(t->peer.http, &spec, &events, p, &p->request, e);
    http_headers_done(&h);
    return r;
}

static int sse_send(struct transport *transport, const struct transport_message *m, struct err *e)
{
    struct sse_transport *t = (struct sse_transport *)(void *)transport;
    if (t->closed)
        return err_set(e, -EPIPE, "the connection to %s has ended", t->peer.host);
    if (m->n > TRANSPORT_MESSAGE_MAX)
        return err_set(e, -EMSGSIZE, "the message is longer than the limit of %zu MiB",
                       TRANSPORT_MESSAGE_MAX >> 20);
    if (t->bytes + m->n > TRANSPORT_BACKLOG_MAX || t->count >= POSTS_MAX)
        return err_set(e, -EAGAIN, "%s does not accept messages fast enough", t->peer.host);
    struct post *p = new_post(t);
    p->held = !t->endpoint || t->gate || t->open_gate.armed;
    p->last = m->method && strcmp(m->method, "notifications/initialized") == 0;
    int r = start_post(p, m, e);
    if (r < 0) {
        end_post(p);
        return r;
    }
    p->id = xstrdup(m->id);
    t->bytes += p->bytes = m->n;
    if (p->last && !p->held)
        t->gate = p;
    return 0;
}

static void sse_forget(struct transport *transport, const char *id)
{
    (void)transport, (void)id; /* its answer is a message of the stream like any other */
}

static void sse_close(struct transport *transport)
{
    struct sse_transport *t = (struct sse_transport *)(void *)transport;
    end_everything(t);
    if (t->inside)
        t->dead = true;
    else
        free_sse_transport(t);
}

int transport_sse_open(const struct transport_http_config *config,
                       const struct transport_events *events, void *ctx, struct transport **ret,
                       struct err *e)
{
    static const struct transport_ops ops = {
        .send = sse_send, .forget = sse_forget, .close = sse_close};
    struct http_peer peer;
    int r = http_peer_init(&peer, config, e);
    if (r < 0)
        return r;
    struct sse_transport *t = NEW(struct sse_transport);
    *t = (struct sse_transport){.transport = {.ops = &ops},
                                .peer = peer,
                                .loop = http_client_loop(config->http),
                                .events = events,
                                .ctx = ctx,
                                .sse = SSE_INIT(TRANSPORT_MESSAGE_MAX),
                                .error = BUF_INIT(HTTP_ERROR_BODY_MAX)};
    r = open_stream(t, e);
    if (r < 0) {
        free_sse_transport(t);
        return r;
    }
    *ret = &t->transport;
    return 0;
}
