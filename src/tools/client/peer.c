/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/client/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/jsonscan.h"
#include "base/list.h"
#include "wire/jsonrpc.h"

enum { ID_MAX = 24, CLOSE_GRACE_MS = 2000, LOGGED_MAX = 400, ERROR_TEXT_MAX = 16 << 10 };

struct peer_request {
    struct peer_request *prev, *next;
    struct server_peer *peer;
    long number;
    char id[ID_MAX];
    peer_answer_fn answered;
    void *ctx;
    int64_t timeout_ms;
    struct loop_timer timer;
};

struct server_peer {
    struct peer_config config;
    const struct peer_events *events;
    void *ctx;
    struct transport *transport; /* NULL: closed */
    char *version;
    bool modern;
    long last_id;
    struct peer_request *requests;
    bool *gone; /* set when the peer is closed inside an event */
};

static void log_peer_line(struct server_peer *peer, enum log_level level, const char *what,
                          const char *text)
{
    size_t n = strnlen(text, (size_t)LOGGED_MAX * 4);
    if (!peer->config.tools->log || !log_enabled(level))
        return;
    if (peer->config.gate && !gate_pass(peer->config.gate, n))
        return;
    drop_buf struct buf line = BUF_INIT(PARAMS_TEXT_MAX);
    (void)buf_addf(&line, "%s: %s%.*s", peer->config.name, what, LOGGED_MAX * 4, text);
    params_scrub(peer->config.params, &line);
    peer->config.tools->log(level, buf_text(&line));
}

static void on_peer_stderr(void *ctx, const char *line)
{
    log_peer_line(ctx, LOG_INFO, "", line);
}

/* --- requests -------------------------------------------------------------------------------- */

static void drop_request(struct peer_request *request)
{
    struct server_peer *peer = request->peer;
    loop_timer_stop(peer->config.tools->loop, &request->timer);
    list_remove(&peer->requests, request);
    xfree(request);
}

/* The request is gone before its owner hears of it, who may close the peer. */
static void answer_peer(struct peer_request *request, struct peer_answer *a)
{
    peer_answer_fn answered = request->answered;
    void *ctx = request->ctx;
    drop_request(request);
    answered(ctx, a);
}

static void on_peer_timeout(void *ctx)
{
    struct peer_request *request = ctx;
    struct server_peer *peer = request->peer;
    struct err why;
    (void)err_set(&why, -ETIMEDOUT, "no answer within %lld ms", (long long)request->timeout_ms);
    if (peer->transport)
        peer->transport->ops->forget(peer->transport, request->id);
    answer_peer(request, &(struct peer_answer){.outcome = PEER_SILENT, .why = &why});
}

static struct peer_request *find_pending(struct server_peer *peer, const char *id)
{
    for (struct peer_request *r = peer->requests; r; r = r->next) {
        size_t n = strlen(r->id);
        if (strcmp(r->id, id) == 0 ||
            (*id == '"' && strncmp(r->id, id + 1, n) == 0 && strcmp(id + 1 + n, "\"") == 0))
            return r; /* some servers answer a number with a string */
    }
    return NULL;
}

static int send_text(struct server_peer *peer, struct buf *text, struct transport_message *m,
                     struct err *e)
{
    if (text->failed)
        return err_set(e, text->failed, "a message over %zu bytes", text->cap);
    if (!peer->transport)
        return err_set(e, -EPIPE, "the connection is closed");
    m->text = text->data;
    m->n = text->len;
    m->version = peer->version;
    m->modern = peer->modern;
    return peer->transport->ops->send(peer->transport, m, e);
}

static void put_peer_call(struct buf *out, const char *id, const char *method, const char *params)
{
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    jsonw_set_text(&w, "jsonrpc", "2.0");
    if (id)
        jsonw_set_raw(&w, "id", id);
    jsonw_set_text(&w, "method", method);
    if (params)
        jsonw_set_raw(&w, "params", params);
    jsonw_end(&w);
}

int peer_ask(struct server_peer *peer, const struct peer_question *question,
             peer_answer_fn answered, void *ctx, struct peer_request **ret, struct err *e)
{
    struct peer_request *request = NEW(struct peer_request);
    request->peer = peer;
    request->number = ++peer->last_id;
    (void)snprintf(request->id, sizeof request->id, "%ld", request->number);
    request->answered = answered;
    request->ctx = ctx;
    request->timeout_ms = question->timeout_ms;
    list_push(&peer->requests, request);
    drop_buf struct buf text = BUF_INIT(PEER_TEXT_MAX);
    put_peer_call(&text, request->id, question->method, question->params);
    struct transport_message m = {.id = request->id,
                                  .method = question->method,
                                  .name = question->name,
                                  .params = question->headers,
                                  .n_params = question->n_headers,
                                  .traceparent = question->traceparent,
                                  .tracestate = question->tracestate};
    int r = send_text(peer, &text, &m, e);
    if (r < 0) {
        drop_request(request);
        return r;
    }
    if (question->timeout_ms > 0)
        loop_timer_set(peer->config.tools->loop, &request->timer, question->timeout_ms,
                       on_peer_timeout, request);
    *ret = request;
    return 0;
}

long peer_next_id(const struct server_peer *peer)
{
    return peer->last_id + 1;
}

long peer_request_id(const struct peer_request *request)
{
    return request->number;
}

void peer_forget(struct server_peer *peer, struct peer_request *request, bool tell)
{
    if (!request)
        return;
    bool by_closing = peer->modern && peer->config.kind != PARAMS_STDIO;
    if (tell && !by_closing) {
        char params[64];
        (void)snprintf(params, sizeof params, "{\"requestId\":%s,\"reason\":\"cancelled\"}",
                       request->id);
        if (peer_tell(peer, "notifications/cancelled", params, NULL) < 0)
            log_peer_line(peer, LOG_DEBUG, "", "a call was cancelled, but that could not be said");
    }
    if (peer->transport)
        peer->transport->ops->forget(peer->transport, request->id);
    drop_request(request);
}

int peer_tell(struct server_peer *peer, const char *method, const char *params, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(PEER_TEXT_MAX);
    put_peer_call(&text, NULL, method, params);
    return send_text(peer, &text, &(struct transport_message){.method = method}, e);
}

void peer_reply(struct server_peer *peer, const char *id, const char *result)
{
    drop_buf struct buf text = BUF_INIT(PEER_TEXT_MAX);
    struct jsonw w = JSONW(&text);
    jsonw_object(&w);
    jsonw_set_text(&w, "jsonrpc", "2.0");
    jsonw_set_raw(&w, "id", id);
    jsonw_set_raw(&w, "result", result);
    jsonw_end(&w);
    (void)send_text(peer, &text, &(struct transport_message){.method = NULL}, NULL);
}

void peer_refuse(struct server_peer *peer, const char *id, int code, const char *message)
{
    drop_buf struct buf text = BUF_INIT(PEER_TEXT_MAX);
    rpc_put_error(&text, id, code, message, NULL);
    (void)send_text(peer, &text, &(struct transport_message){.method = NULL}, NULL);
}

/* --- what comes ------------------------------------------------------------------------------ */

static void set_error(struct server_peer *peer, const struct json *error, int code, struct err *why)
{
    drop_buf struct buf text = BUF_INIT(ERROR_TEXT_MAX);
    const char *message = json_get_text(error, "message");
    (void)buf_addf(&text, "%.*s", ERROR_TEXT_MAX / 2, message ? message : "an error");
    params_scrub(peer->config.params, &text);
    (void)err_set(why, -EREMOTEIO, "%s (code %d)", buf_text(&text), code);
}

/* An error without an id is one of a request that the server could not read: the only open one. */
static struct peer_request *meant(struct server_peer *peer, const char *id,
                                  const struct json *error)
{
    struct peer_request *request = find_pending(peer, id);
    bool unnamed = strcmp(id, "null") == 0 || *id == '\0';
    if (!request && unnamed && error && peer->requests && !peer->requests->next)
        request = peer->requests;
    return request;
}

/* What a failed tool says is a text of an error, too. */
static void scrub_failure(struct server_peer *peer, struct jsonspan *text, struct buf *clean,
                          struct json **tree, const struct json **result)
{
    (void)buf_add(clean, text->at, text->n);
    params_scrub(peer->config.params, clean);
    if (clean->failed || clean->len == text->n)
        return;
    struct json *again = json_parse_copy(clean->data, clean->len, JSON_STRICT, NULL);
    if (!again)
        return;
    *tree = json_free(*tree);
    *tree = again;
    *result = again;
    *text = JSONSPAN(clean->data, clean->len);
}

static void on_peer_response(struct server_peer *peer, const char *id, struct json **tree,
                             struct jsonspan whole)
{
    const struct json *error = json_get(*tree, "error");
    struct peer_request *request = meant(peer, id, error);
    if (!request)
        return; /* late, or for what was cancelled */
    struct peer_answer a = {.tree = tree};
    struct err why = ERR_NONE;
    drop_buf struct buf clean = BUF_INIT(PEER_TEXT_MAX);
    if (json_is_object(error)) {
        double code = json_number(json_get(error, "code"));
        a.outcome = PEER_ERROR;
        a.code = code > -1e9 && code < 1e9 ? (int)code : 0;
        a.data = json_get(error, "data");
        set_error(peer, error, a.code, &why);
        a.why = &why;
    } else {
        a.outcome = PEER_RESULT;
        a.result = json_get(*tree, "result");
        (void)jsonspan_get(whole, "result", &a.text);
        if (json_true(json_get(a.result, "isError")) && peer->config.params->n_secrets > 0)
            scrub_failure(peer, &a.text, &clean, tree, &a.result);
    }
    answer_peer(request, &a);
}

/* Somebody may wait for this: an answer with too many values, say. */
static void on_unreadable(struct server_peer *peer, struct jsonspan whole, const char *id,
                          const struct err *e)
{
    struct peer_request *request = *whole.at == '{' ? find_pending(peer, id) : NULL;
    struct err why = ERR_NONE;
    (void)err_set(&why, -EBADMSG, "an answer that cannot be read: %s", e->msg);
    if (request) {
        answer_peer(request, &(struct peer_answer){.outcome = PEER_ERROR, .why = &why});
        return;
    }
    drop_str char *start = xstrndup(whole.at, whole.n < LOGGED_MAX ? whole.n : LOGGED_MAX);
    log_peer_line(peer, LOG_DEBUG, "not JSON-RPC: ", start);
}

static void on_one(struct server_peer *peer, struct jsonspan whole)
{
    struct err e = ERR_NONE;
    drop_json struct json *tree = json_parse_copy(whole.at, whole.n, JSON_STRICT, &e);
    struct jsonscan scan = {0};
    jsonscan_feed(&scan, whole.at, whole.n);
    const char *id = jsonscan_id(&scan);
    if (!json_is_object(tree)) {
        on_unreadable(peer, whole, id, &e);
        return;
    }
    const char *method = json_get_text(tree, "method");
    const struct json *params = json_get(tree, "params");
    params = json_is_object(params) ? params : NULL;
    if (!method)
        on_peer_response(peer, id, &tree, whole);
    else if (*id == '\0')
        peer->events->notification(peer->ctx, method, params);
    else
        peer->events->request(peer->ctx, id, method, params);
}

static void on_peer_message(void *ctx, char *text, size_t n)
{
    struct server_peer *peer = ctx;
    struct jsonspan whole = JSONSPAN(text, n), one;
    size_t at = 0;
    bool gone = false;
    while (whole.n > 0 && strchr(" \t\r\n", *whole.at) && *whole.at != '\0') {
        whole.at++;
        whole.n--;
    }
    if (whole.n == 0)
        return;
    if (*whole.at != '[') {
        on_one(peer, whole);
        return;
    }
    peer->gone = &gone; /* a batch, which the revision of 2025-03-26 has */
    while (!gone && jsonspan_next(whole, &at, &one))
        on_one(peer, one);
    if (!gone)
        peer->gone = NULL;
}

static void on_peer_refused(void *ctx, const char *id, int status, const struct err *why)
{
    struct server_peer *peer = ctx;
    struct peer_request *request = find_pending(peer, id);
    if (!request)
        return;
    struct err clean = *why;
    params_scrub_err(peer->config.params, &clean);
    answer_peer(request,
                &(struct peer_answer){.outcome = PEER_REFUSED, .status = status, .why = &clean});
}

static void drop_requests(struct server_peer *peer)
{
    while (peer->requests)
        drop_request(peer->requests);
}

static void on_peer_closed(void *ctx, const struct err *why)
{
    struct server_peer *peer = ctx;
    struct err clean = *why;
    params_scrub_err(peer->config.params, &clean);
    peer->transport->ops->close(peer->transport);
    peer->transport = NULL;
    drop_requests(peer);
    peer->events->closed(peer->ctx, &clean);
}

/* --- opening and closing --------------------------------------------------------------------- */

static int open_transport(struct server_peer *peer, struct err *e)
{
    static const struct transport_events events = {
        .message = on_peer_message, .refused = on_peer_refused, .closed = on_peer_closed};
    const struct params *params = peer->config.params;
    const struct tools_config *tools = peer->config.tools;
    if (peer->config.kind == PARAMS_STDIO) {
        struct transport_stdio_config stdio = {
            .loop = tools->loop,
            .spawner = tools->spawner,
            .argv = (const char *const *)params->argv,
            .envp = (const char *const *)params->envp,
            .cwd = params->cwd,
            .sandbox = peer->config.sandbox,
            .close_grace_ms = CLOSE_GRACE_MS,
            .log = on_peer_stderr,
            .log_ctx = peer,
        };
        return transport_stdio_open(&stdio, &events, peer, &peer->transport, e);
    }
    struct transport_http_config http = {
        .http = peer->config.http,
        .url = params->url,
        .headers = params->headers,
        .n_headers = params->n_headers,
        .connect_timeout_ms = tools->connect_timeout_ms,
    };
    return (peer->config.kind == PARAMS_HTTP ? transport_http_open : transport_sse_open)(
        &http, &events, peer, &peer->transport, e);
}

int peer_open(const struct peer_config *config, const struct peer_events *events, void *ctx,
              struct server_peer **ret, struct err *e)
{
    struct server_peer *peer = NEW(struct server_peer);
    peer->config = *config;
    peer->events = events;
    peer->ctx = ctx;
    struct err why = ERR_NONE;
    int r = open_transport(peer, &why);
    if (r < 0) {
        xfree(peer);
        params_scrub_err(config->params, &why);
        return err_set(e, r, "%s", why.msg);
    }
    *ret = peer;
    return 0;
}

struct server_peer *peer_close(struct server_peer *peer)
{
    if (!peer)
        return NULL;
    if (peer->gone)
        *peer->gone = true;
    drop_requests(peer);
    if (peer->transport)
        peer->transport->ops->close(peer->transport);
    xfree(peer->version);
    xfree(peer);
    return NULL;
}

void peer_set_events(struct server_peer *peer, const struct peer_events *events, void *ctx)
{
    peer->events = events;
    peer->ctx = ctx;
}

void peer_set_version(struct server_peer *peer, const char *version, bool modern)
{
    char *copy = xstrdup(version);
    xfree(peer->version);
    peer->version = copy;
    peer->modern = modern;
}

bool peer_is_modern(const struct server_peer *peer)
{
    return peer->modern;
}

bool peer_is_program(const struct server_peer *peer)
{
    return peer->config.kind == PARAMS_STDIO;
}
