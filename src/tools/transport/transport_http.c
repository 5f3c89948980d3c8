/* SPDX-License-Identifier: Apache-2.0
 *
 * Every message is a POST of its own: an exchange, which lives until the request is answered, and
 * across the connections that it takes to get the answer. The stream of what the server says by
 * itself is an exchange without a request. */
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/list.h"
#include "tools/transport/http_talk.h"
#include "tools/transport/transport.h"
#include "wire/jsonrpc.h"
#include "wire/rpcpeek.h"
#include "wire/sse.h"

enum {
    EXCHANGES_MAX = 512,
    SESSION_ID_MAX = 1024,
    NOTIFICATION_MS = 60000, /* for a server to take a message that has no answer */
    DELETE_MS = 5000,
    AFTER_ANSWER_MS = 1000, /* for a stream to end by itself, so that its connection is kept */
    RETRY_MS = 1000,        /* unless the stream said otherwise */
    RETRY_MIN_MS = 100,
    RETRY_MAX_MS = 60000,
    FAILURES_MAX = 5, /* connections in a row that brought nothing */
};

struct http_transport {
    struct transport transport;
    struct http_peer peer;
    struct loop *loop;
    const struct transport_events *events;
    void *ctx;
    char *session, *version; /* of the handshake era, or NULL */
    struct exchange *first;
    struct exchange *gate; /* notifications/initialized is on its way: what follows it is held */
    size_t count, bytes;   /* of the exchanges and of what they send */
    bool listen;           /* the gate was passed: the server's own stream is due */
    struct loop_defer open_gate;
};

struct exchange {
    struct http_transport *t;
    struct exchange *prev, *next;
    struct http_client_request *request;
    char *id;           /* of the request; NULL: nothing is waited for */
    const char *method; /* "initialize", "notifications/initialized" or NULL */
    size_t bytes;
    bool modern, held;
    bool in_session; /* the session's id was sent */
    bool get;        /* the stream of the server, or the rest of a broken one */
    bool answered;
    int status;
    enum http_kind kind;
    struct buf body; /* of JSON, or of an error */
    struct sse sse;
    int failures;
    bool progress; /* this connection has brought something */
    struct loop_timer timer;
    bool inside, dead;
};

/* --- exchanges ------------------------------------------------------------------------------- */

static void free_exchange(struct exchange *x)
{
    buf_done(&x->body);
    sse_done(&x->sse);
    xfree(x->id);
    xfree(x);
}

static void on_http_gate_open(void *ctx);

static void open_gate(struct http_transport *t)
{
    t->gate = NULL;
    loop_defer(t->loop, &t->open_gate, on_http_gate_open, t);
}

/* Takes it out of the transport. Inside its own event it is freed by who tells that. */
static void end_exchange(struct exchange *x)
{
    struct http_transport *t = x->t;
    list_remove(&t->first, x);
    t->count--;
    t->bytes -= x->bytes;
    loop_timer_stop(t->loop, &x->timer);
    x->request = http_request_end(x->request);
    if (t->gate == x)
        open_gate(t);
    if (x->inside)
        x->dead = true;
    else
        free_exchange(x);
}

/* The last thing that is done with x; the transport may be gone afterwards. */
static void refuse_http_message(struct exchange *x, int status, const struct err *why)
{
    const struct transport_events *events = x->t->events;
    void *ctx = x->t->ctx;
    drop_str char *id = str_take(&x->id);
    bool told = x->answered;
    end_exchange(x);
    if (id && !told)
        events->refused(ctx, id, status, why);
}

static void refuse_early_end(struct exchange *x)
{
    struct err why = ERR_NONE;
    (void)err_set(&why, -EPIPE, "%s ended its answer before it was complete", x->t->peer.host);
    refuse_http_message(x, x->status, &why);
}

static void on_http_answered(void *ctx)
{
    end_exchange(ctx);
}

/* False: an event has ended the exchange, which is gone. */
static bool deliver_http_message(struct exchange *x, char *text, size_t n)
{
    if (x->id && !x->answered && rpc_looks_like_answer(text, n, x->id)) {
        x->answered = true;
        loop_timer_set(x->t->loop, &x->timer, AFTER_ANSWER_MS, on_http_answered, x);
    }
    text[n] = '\0';
    x->inside = true;
    x->t->events->message(x->t->ctx, text, n);
    x->inside = false;
    if (!x->dead)
        return true;
    free_exchange(x);
    return false;
}

/* --- headers --------------------------------------------------------------------------------- */

static void add_session(const struct exchange *x, struct http_headers *h)
{
    if (x->t->session)
        http_headers_add(h, "Mcp-Session-Id", x->t->session);
}

static void add_message_headers(const struct exchange *x, const struct transport_message *m,
                                struct http_headers *h)
{
    http_headers_add(h, "Content-Type", "application/json");
    http_headers_add(h, "Accept", "application/json, text/event-stream");
    if (m->version)
        http_headers_add(h, "MCP-Protocol-Version", m->version);
    if (!m->modern)
        add_session(x, h);
    if (m->modern && m->method)
        http_headers_add(h, "Mcp-Method", m->method);
    if (m->modern && m->name)
        http_headers_add_encoded(h, "Mcp-Name", m->name);
    for (size_t i = 0; m->modern && i < m->n_params; i++)
        http_headers_add_encoded(h, m->params[i].name, m->params[i].value);
    http_headers_add_trace(h, m);
    http_headers_add_peer(h, &x->t->peer);
}

/* --- the GET stream: what the server says by itself, and the rest of a broken answer ---------- */

static const struct http_client_events exchange_events;

static int start_get(struct exchange *x, struct err *e)
{
    struct http_transport *t = x->t;
    struct http_headers h = {0};
    http_headers_add(&h, "Accept", "text/event-stream");
    if (t->version)
        http_headers_add(&h, "MCP-Protocol-Version", t->version);
    add_session(x, &h);
    if (x->sse.id[0])
        http_headers_add(&h, "Last-Event-ID", x->sse.id);
    http_headers_add_peer(&h, &t->peer);
    struct http_request_spec spec = {.method = HTTP_GET,
                                     .url = t->peer.url,
                                     .headers = h.list,
                                     .n_headers = h.n,
                                     .connect_timeout_ms = t->peer.connect_timeout_ms};
    sse_restart(&x->sse);
    buf_clear(&x->body);
    x->get = true;
    x->progress = false;
    x->status = 0;
    x->in_session = t->session != NULL;
    x->request = http_request_end(x->request);
    int r = http_request_start(t->peer.http, &spec, &exchange_events, x, &x->request, e);
    http_headers_done(&h);
    return r;
}

static void on_retry(void *ctx)
{
    struct exchange *x = ctx;
    struct err why = ERR_NONE;
    if (start_get(x, &why) < 0)
        refuse_http_message(x, 0, &why);
}

static void retry(struct exchange *x)
{
    x->failures = x->progress ? 0 : x->failures + 1;
    if (x->failures > FAILURES_MAX) {
        refuse_early_end(x);
        return;
    }
    int64_t wait = x->sse.retry_ms < 0 ? RETRY_MS : x->sse.retry_ms;
    wait = wait < RETRY_MIN_MS ? RETRY_MIN_MS : wait > RETRY_MAX_MS ? RETRY_MAX_MS : wait;
    loop_timer_set(x->t->loop, &x->timer, wait, on_retry, x);
}

static struct exchange *new_exchange(struct http_transport *t)
{
    struct exchange *x = NEW(struct exchange);
    *x = (struct exchange){
        .t = t, .body = BUF_INIT(TRANSPORT_MESSAGE_MAX), .sse = SSE_INIT(TRANSPORT_MESSAGE_MAX)};
    list_push(&t->first, x);
    t->count++;
    return x;
}

static void on_http_not_sent(void *ctx)
{
    struct exchange *x = ctx;
    struct err why = ERR_NONE;
    (void)err_set(&why, -ENOMEM, "no memory for a request to %s", x->t->peer.host);
    refuse_http_message(x, 0, &why);
}

static void on_http_gate_open(void *ctx)
{
    struct http_transport *t = ctx;
    struct exchange *x = t->first;
    while (x && x->next)
        x = x->next;
    for (; x; x = x->prev) { /* the oldest first */
        if (x->held && http_request_go(x->request, NULL, NULL) < 0)
            loop_timer_set(t->loop, &x->timer, 0, on_http_not_sent, x);
        x->held = false;
    }
    if (!t->listen)
        return;
    t->listen = false;
    x = new_exchange(t);
    if (start_get(x, NULL) < 0)
        end_exchange(x);
}

/* --- what comes ------------------------------------------------------------------------------ */

static void keep_session(struct http_transport *t, const char *id)
{
    size_t n = id ? strlen(id) : 0;
    for (size_t i = 0; i < n; i++) {
        if (id[i] <= ' ' || id[i] >= 0x7F)
            n = 0;
    }
    xfree(t->session);
    t->session = n > 0 && n <= SESSION_ID_MAX ? xstrdup(id) : NULL;
}

static void on_http_head(void *ctx, int status)
{
    struct exchange *x = ctx;
    x->status = status;
    x->kind = http_kind_of(x->request);
    bool good = status >= 200 && status < 300;
    if (good && x->method && !x->modern && strcmp(x->method, "initialize") == 0)
        keep_session(x->t, http_request_header(x->request, "Mcp-Session-Id"));
    if (x->t->gate == x) {
        x->t->listen = good;
        open_gate(x->t);
    }
    if (!good || (x->get && x->kind == HTTP_KIND_JSON))
        x->kind = HTTP_KIND_OTHER;
}

static void http_message_too_long(struct exchange *x, int code)
{
    struct err why = ERR_NONE;
    http_explain_message(&x->t->peer, code, &why);
    refuse_http_message(x, x->status, &why);
}

static void on_http_events(struct exchange *x, const char *bytes, size_t n)
{
    struct sse_event event;
    int r;
    while ((r = sse_next(&x->sse, &bytes, &n, &event)) > 0) {
        x->progress = true;
        char *text = event.data;
        size_t len = event.n;
        rpc_trim(&text, &len);
        if (strcmp(event.type, "message") == 0 && rpc_looks_like_message(text, len) &&
            !deliver_http_message(x, text, len))
            return;
    }
    if (r < 0)
        http_message_too_long(x, r);
}

static void on_http_body(void *ctx, const char *bytes, size_t n)
{
    struct exchange *x = ctx;
    if (x->kind == HTTP_KIND_EVENTS) {
        on_http_events(x, bytes, n);
        return;
    }
    bool wanted = x->kind == HTTP_KIND_JSON;
    if (wanted || x->body.len + n <= HTTP_ERROR_BODY_MAX) {
        int r = buf_add(&x->body, bytes, n);
        if (r < 0)
            http_message_too_long(x, r);
        return;
    }
    struct err why = ERR_NONE; /* an error without an end */
    http_explain_status(&x->t->peer, x->request, x->status, &(struct buf){0}, &why);
    refuse_http_message(x, x->status, &why);
}

/* --- how it ends ----------------------------------------------------------------------------- */

/* The body is an error with another id than that of the request, perhaps null. */
static bool deliver_error(struct exchange *x)
{
    drop_buf struct buf text = BUF_INIT(2 * HTTP_ERROR_BODY_MAX);
    if (!x->id || !http_error_as_answer(buf_text(&x->body), x->body.len, x->id, &text))
        return false;
    if (deliver_http_message(x, text.data, text.len))
        end_exchange(x);
    return true;
}

static void end_of_json(struct exchange *x)
{
    char *text = x->body.data;
    size_t n = x->body.len;
    rpc_trim(&text, &n);
    bool message = rpc_looks_like_message(text, n);
    if (message && x->id && !rpc_looks_like_answer(text, n, x->id) && deliver_error(x))
        return;
    if (message && !deliver_http_message(x, text, n))
        return;
    struct err why = ERR_NONE;
    (void)err_set(&why, -EPROTO, "%s sent an invalid answer", x->t->peer.host);
    refuse_http_message(x, x->status, &why);
}

static void end_of_other(struct exchange *x)
{
    struct err why = ERR_NONE;
    bool good = x->status >= 200 && x->status < 300;
    bool ended = x->status == 404 && x->in_session;
    bool message = x->status >= 400 && x->status < 500 && x->status != 401 && x->status != 403;
    if (message && !ended && !x->get && deliver_error(x))
        return;
    if (good)
        (void)err_set(&why, -EPROTO, "%s answered with status %d and no message", x->t->peer.host,
                      x->status);
    else if (ended)
        (void)err_set(&why, -ENOENT, "%s has ended the session", x->t->peer.host);
    else
        http_explain_status(&x->t->peer, x->request, x->status, &x->body, &why);
    refuse_http_message(x, x->get ? 0 : x->status, &why); /* the request itself was taken, once */
}

static void on_http_done(void *ctx, const struct err *why)
{
    struct exchange *x = ctx;
    bool stream = x->status != 0 && x->kind == HTTP_KIND_EVENTS;
    bool lost = why && x->get && x->status == 0; /* the next attempt may reach it */
    if (x->answered)
        end_exchange(x);
    else if ((stream || lost) && (x->get || (x->id && !x->modern && x->sse.id[0])))
        retry(x);
    else if (why)
        refuse_http_message(x, x->status, why);
    else if (stream)
        refuse_early_end(x);
    else if (x->kind == HTTP_KIND_JSON && x->body.len > 0)
        end_of_json(x);
    else
        end_of_other(x);
}

static const struct http_client_events exchange_events = {
    .head = on_http_head, .body = on_http_body, .done = on_http_done};

/* --- sending --------------------------------------------------------------------------------- */

static const char *special(const struct transport_message *m)
{
    static const char *const methods[] = {"initialize", "notifications/initialized"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (m->method && strcmp(m->method, methods[i]) == 0)
            return methods[i];
    }
    return NULL;
}

/* A handshake begins anew: nothing of the last one's session is of use. */
static void begin_handshake(struct http_transport *t)
{
    xfree(t->session);
    xfree(t->version);
    t->session = t->version = NULL;
    for (struct exchange *x = t->first, *next; x; x = next) {
        next = x->next;
        if (!x->id && x->get)
            end_exchange(x);
    }
}

static int post_message(struct exchange *x, const struct transport_message *m, struct err *e)
{
    struct http_transport *t = x->t;
    struct http_headers h = {0};
    add_message_headers(x, m, &h);
    struct http_request_spec spec = {.method = HTTP_POST,
                                     .url = t->peer.url,
                                     .headers = h.list,
                                     .n_headers = h.n,
                                     .body = m->text,
                                     .n_body = m->n,
                                     .connect_timeout_ms = t->peer.connect_timeout_ms,
                                     .timeout_ms = m->id ? 0 : NOTIFICATION_MS,
                                     .held = x->held};
    int r = http_request_start(t->peer.http, &spec, &exchange_events, x, &x->request, e);
    http_headers_done(&h);
    return r;
}

static int http_send(struct transport *transport, const struct transport_message *m, struct err *e)
{
    struct http_transport *t = (struct http_transport *)(void *)transport;
    if (m->n > TRANSPORT_MESSAGE_MAX)
        return err_set(e, -EMSGSIZE, "the message is longer than the limit of %zu MiB",
                       TRANSPORT_MESSAGE_MAX >> 20);
    if (t->bytes + m->n > TRANSPORT_BACKLOG_MAX || t->count >= EXCHANGES_MAX)
        return err_set(e, -EAGAIN, "%s has too many open messages already", t->peer.host);
    const char *method = special(m);
    bool initialize = method && !m->modern && m->id;
    if (initialize)
        begin_handshake(t);
    struct exchange *x = new_exchange(t);
    x->method = method;
    x->modern = m->modern;
    x->in_session = t->session && !m->modern;
    x->held = t->gate || t->open_gate.armed;
    int r = post_message(x, m, e);
    if (r < 0) {
        end_exchange(x);
        return r;
    }
    x->id = xstrdup(m->id);
    t->bytes += x->bytes = m->n;
    if (m->version && !m->modern) {
        xfree(t->version);
        t->version = xstrdup(m->version);
    }
    if (method && !m->id && !m->modern && !t->gate)
        t->gate = x;
    return 0;
}

static void http_forget(struct transport *transport, const char *id)
{
    struct http_transport *t = (struct http_transport *)(void *)transport;
    for (struct exchange *x = t->first; x; x = x->next) {
        if (x->id && rpc_same_id(x->id, id)) {
            end_exchange(x);
            return;
        }
    }
}

static void end_session(struct http_transport *t)
{
    struct http_headers h = {0};
    http_headers_add(&h, "Mcp-Session-Id", t->session);
    if (t->version)
        http_headers_add(&h, "MCP-Protocol-Version", t->version);
    http_headers_add_peer(&h, &t->peer);
    struct http_request_spec spec = {.method = HTTP_DELETE,
                                     .url = t->peer.url,
                                     .headers = h.list,
                                     .n_headers = h.n,
                                     .connect_timeout_ms = t->peer.connect_timeout_ms,
                                     .timeout_ms = DELETE_MS};
    struct http_client_request *none;
    (void)!http_request_start(t->peer.http, &spec, NULL, NULL, &none, NULL);
    http_headers_done(&h);
}

static void http_close(struct transport *transport)
{
    struct http_transport *t = (struct http_transport *)(void *)transport;
    if (t->session)
        end_session(t);
    t->gate = NULL;
    while (t->first)
        end_exchange(t->first);
    loop_defer_stop(t->loop, &t->open_gate);
    http_peer_done(&t->peer);
    xfree(t->session);
    xfree(t->version);
    xfree(t);
}

int transport_http_open(const struct transport_http_config *config,
                        const struct transport_events *events, void *ctx, struct transport **ret,
                        struct err *e)
{
    static const struct transport_ops ops = {
        .send = http_send, .forget = http_forget, .close = http_close};
    struct http_peer peer;
    int r = http_peer_init(&peer, config, e);
    if (r < 0)
        return r;
    struct http_transport *t = NEW(struct http_transport);
    *t = (struct http_transport){.transport = {.ops = &ops},
                                 .peer = peer,
                                 .loop = http_client_loop(config->http),
                                 .events = events,
                                 .ctx = ctx};
    *ret = &t->transport;
    return 0;
}
