/* SPDX-License-Identifier: Apache-2.0 */
#include "front/http/http_request.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/json/jsonw.h"
#include "base/kin.h"
#include "front/http/instance.h"
#include "front/http/listener.h"
#include "front/http/ws.h"

enum { PROBLEM_MAX = 16 << 10, HEADERS_MAX = 8 };

const struct http_events http_no_events = {0};

const struct http_limits http_limits_default = {
    .header_bytes = 16 << 10,
    .connections = 1024,
    .per_address = 512,
    .header_ms = 15000,
    .idle_ms = 75000,
    .stall_ms = 30000,
    .memory = (size_t)256 << 20,
    .ws = {.sockets = 256, .message_max = 4 << 20, .backlog_max = 16 << 20, .ping_ms = 20000},
};

/* --- headers ---------------------------------------------------------------------------------- */

struct header_sum {
    const char *name; /* NULL: all */
    size_t count, bytes;
};

static void sum_header(void *ctx, const char *name, const char *value)
{
    struct header_sum *sum = ctx;
    sum->count += !sum->name || strcasecmp(name, sum->name) == 0;
    sum->bytes += strlen(name) + strlen(value) + 4;
}

size_t http_header_count(const struct http_request *r, const char *name)
{
    struct header_sum sum = {.name = name};
    http_each_header(r, sum_header, &sum);
    return sum.count;
}

static size_t bytes_of_head(const struct http_request *r)
{
    struct header_sum sum = {0};
    http_each_header(r, sum_header, &sum);
    return sum.bytes;
}

/* --- the request and the door as a whole ------------------------------------------------------ */

/* The client's own, when it is one and harmless wherever it will stand. */
static bool take_id(struct http_request *r)
{
    static const char harmless[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                   "-._~:+/=@";
    const char *id = http_header(r, HTTP_ID_HEADER);
    size_t n = strlen(id);
    if (n == 0 || n > LOG_REQUEST_MAX || strspn(id, harmless) != n ||
        http_header_count(r, HTTP_ID_HEADER) != 1)
        return false;
    memcpy(r->id, id, n + 1);
    return true;
}

/* Like no other, and nothing to guess: random bytes cost a twentieth of a short request. */
static void make_id(struct http_request *r)
{
    static const char digits[] = "0123456789abcdef";
    const size_t n = sizeof r->http->id_start - 1;
    uint64_t left = ++r->http->ids;
    memcpy(r->id, r->http->id_start, n);
    for (size_t i = 2 * n; i > n; left >>= 4)
        r->id[--i] = digits[left & 15];
    r->id[2 * n] = '\0';
}

void http_begin(struct http_request *r, const char *method)
{
    memcpy(r->method, method, strnlen(method, sizeof r->method - 1));
    r->begun_ms = loop_now(r->http->loop);
    r->brings_id = http_header(r, HTTP_ID_HEADER) != NULL;
    if (!r->brings_id || !take_id(r))
        make_id(r);
}

/* The path of its route: what the client wrote may name its files. */
void http_notify_over(const struct http_request *r)
{
    enum log_level level = r->status == 500 ? LOG_WARNING : LOG_DEBUG;
    if (r->arrival == HTTP_ARRIVES || !log_enabled(level))
        return;
    const char *before = log_set_request(r->id);
    log_write(level, "http", "%s %s: %d in %lld ms", r->match.route ? r->match.route->method : "-",
              r->match.route ? r->match.route->path : "-", r->status,
              (long long)(loop_now(r->http->loop) - r->begun_ms));
    (void)log_set_request(before);
}

int http_port(const struct http *http)
{
    return listener_port(http->listen);
}

size_t http_busy(const struct http *http)
{
    size_t n = 0;
    for (const struct http_request *r = http->requests; r; r = r->next)
        n++;
    return n + ws_hub_closing(http->hub);
}

void http_traffic(const struct http *http, uint64_t *ret_received, uint64_t *ret_sent)
{
    *ret_received = http->received;
    *ret_sent = http->sent;
}

uint64_t http_acknowledged(const struct http_request *r)
{
    struct tcp_info info = {0};
    socklen_t n = sizeof info;
    if (getsockopt(r->conn->fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0)
        return 0;
    return info.tcpi_bytes_acked;
}

/* --- what a handler asks ---------------------------------------------------------------------- */

const char *http_method(const struct http_request *r)
{
    return r->method;
}

const char *http_id(const struct http_request *r)
{
    return r->id;
}

const char *http_path(const struct http_request *r)
{
    return r->target.path ? r->target.path : "";
}

const char *http_param(const struct http_request *r, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < r->match.n; i++) {
        if (strncmp(r->match.names[i], name, n) == 0 && strchr("*}", r->match.names[i][n]))
            return r->match.values[i];
    }
    return NULL;
}

void http_param_cut(struct http_request *r, const char *name, size_t n)
{
    for (size_t i = 0; i < r->match.n; i++) {
        if (http_param(r, name) == r->match.values[i])
            r->match.values[i][n] = '\0';
    }
}

const char *http_peer(const struct http_request *r)
{
    return r->conn->address;
}

bool http_is_crowded(const struct http *http, const char *address)
{
    size_t n = 0;
    for (const struct conn *c = http->conns; c; c = c->next)
        n += !c->cut && strcmp(c->address, address) == 0;
    return n >= http->limits.per_address;
}

void http_pause(struct http_request *r)
{
    r->paused = true;
}

bool http_find_peer(struct conn *c, const struct sockaddr *from, socklen_t n)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    c->local = from->sa_family == AF_UNIX;
    if (!c->local) {
        (void)getnameinfo(from, n, c->address, sizeof c->address, NULL, 0, NI_NUMERICHOST);
        return true;
    }
    if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return false;
    c->uid = peer.uid;
    c->below = kin_peer_below(c->fd);
    (void)snprintf(c->address, sizeof c->address, "uid %u", peer.uid);
    return true;
}

int http_fd(const struct http_request *r)
{
    return r->conn->fd;
}

void http_set_who(struct http_request *r, const char *who)
{
    (void)snprintf(r->who, sizeof r->who, "%s", who);
}

const char *http_who(const struct http_request *r)
{
    return r->who;
}

int http_own_port(const struct http_request *r)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    if (getsockname(r->conn->fd, (struct sockaddr *)(void *)&at, &n) < 0)
        return 0;
    return listener_port_of(&at);
}

bool http_below(const struct http_request *r)
{
    return r->conn->below;
}

bool http_local(const struct http_request *r, uid_t *ret_uid)
{
    if (r->conn->local)
        *ret_uid = r->conn->uid;
    return r->conn->local;
}

int64_t http_body_length(const struct http_request *r)
{
    const char *text = http_header(r, "Content-Length");
    char *end = NULL;
    long long n = text ? strtoll(text, &end, 10) : -1;
    return text && *end == '\0' && n >= 0 ? n : -1;
}

struct buf *http_body(struct http_request *r)
{
    return &r->body;
}

void http_watch(struct http_request *r, const struct http_events *events, void *ctx)
{
    r->events = events ? events : &http_no_events;
    r->ctx = ctx;
}

/* --- answers that are errors, and JSON -------------------------------------------------------- */

void http_answer_json(struct http_request *r, int status, const struct buf *body)
{
    static const struct http_header json = {"Content-Type", "application/json"};
    if (body->failed < 0)
        http_problem(r, 500, NULL, 0, "the answer is too long");
    else
        http_answer(r, status, &json, 1, buf_text(body), body->len);
}

static void put_problem_document(struct buf *out, const struct http_request *r, int status,
                                 const char *detail)
{
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    jsonw_set_text(&w, "type", "about:blank");
    jsonw_set_text(&w, "title", http_reason(status));
    jsonw_set_int(&w, "status", status);
    jsonw_set_text(&w, "detail", detail);
    jsonw_set_text(&w, "request_id", r->id);
    if (r->owned_by)
        jsonw_set_text(&w, "owner", r->owned_by);
    jsonw_end(&w);
}

void http_problem(struct http_request *r, int status, const struct http_header *headers, size_t n,
                  const char *fmt, ...)
{
    drop_buf struct buf detail = BUF_INIT(PROBLEM_MAX / 4), body = BUF_INIT(PROBLEM_MAX);
    char text[PROBLEM_MAX / 8];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const char *type = "application/json";
    if (r->realm)
        r->realm->problem(r->realm->ctx, status, text, &body);
    else if (r->http->config.problem)
        r->http->config.problem(r->http->config.ctx, status, text, &body);
    if (body.len == 0) {
        type = "application/problem+json";
        put_problem_document(&body, r, status, text);
    }
    struct http_header all[HEADERS_MAX] = {{"Content-Type", type}};
    size_t count = 1;
    for (size_t i = 0; i < n && count < HEADERS_MAX; i++)
        all[count++] = headers[i];
    http_answer(r, status, all, count, buf_text(&body), body.len);
}

/* --- whether it is let in --------------------------------------------------------------------- */

bool http_has_body(const struct http_request *r)
{
    return http_body_length(r) > 0 || http_header(r, "Transfer-Encoding");
}

static bool asks_for_websocket(const struct http_request *r)
{
    const char *version = http_header(r, "Sec-WebSocket-Version");
    return strcmp(r->method, "GET") == 0 &&
           http_list_has(http_header(r, "Upgrade"), "websocket", false) &&
           http_list_has(http_header(r, "Connection"), "upgrade", false) &&
           http_header_count(r, "Sec-WebSocket-Key") == 1 && version && strcmp(version, "13") == 0;
}

bool http_is_handshake(const struct http_request *r)
{
    enum http_body body = r->match.route->body;
    return (body == HTTP_WEBSOCKET || body == HTTP_EVENTS) && asks_for_websocket(r);
}

static bool needs_handshake(const struct http_request *r)
{
    const struct http_route *route = r->match.route;
    return route->body == HTTP_WEBSOCKET ||
           (route->body == HTTP_EVENTS &&
            http_list_has(http_header(r, "Upgrade"), "websocket", false));
}

static bool is_head_short(struct http_request *r)
{
    const size_t target = r->http->limits.header_bytes / 4 * 3;
    if (strlen(r->raw) > target)
        http_problem(r, 414, NULL, 0, "the target is longer than %zu bytes", target);
    else if (bytes_of_head(r) > r->http->limits.header_bytes)
        http_problem(r, 431, NULL, 0, "the headers are longer than %zu bytes",
                     r->http->limits.header_bytes);
    return !r->response;
}

/* A browser's own word, which no page can write: it also holds behind a proxy that gives the
 * server another Host. Without tokens it would not do: a page whose name points here is
 * same-origin, too. */
static bool is_same_origin(struct http_request *r)
{
    const char *site = http_header(r, "Sec-Fetch-Site");
    return r->http->config.guarded && site && strcmp(site, "same-origin") == 0 &&
           http_header_count(r, "Sec-Fetch-Site") == 1;
}

static bool is_from_here(struct http_request *r)
{
    const struct http_config *config = &r->http->config;
    const char *host = http_header(r, "Host"), *origin = http_header(r, "Origin");
    bool right = r->conn->local || http_host_right(host, config->host, config->hosts);
    if (http_header_count(r, "Host") > 1 || !right)
        http_problem(r, 421, NULL, 0, "this server does not answer to this Host");
    else if (!http_origin_right(origin, config->origins) && !is_same_origin(r) &&
             !http_origin_is_own(origin, host, config->guarded ? "localhost" : config->host,
                                 config->hosts))
        http_problem(r, 403, NULL, 0,
                     "requests from this Origin are not allowed: behind a proxy that changes Host, "
                     "start the server with --public-url");
    return !r->response;
}

static int look_up_route(struct http_request *r, const char *method, struct buf *allow)
{
    const struct http_config *config = &r->http->config;
    const struct http_realm *realm = config->realm ? config->realm(config->ctx, r) : NULL;
    int found = -ENOENT;
    if (realm)
        found =
            http_find_route(realm->routes, realm->n_routes, method, &r->target, &r->match, allow);
    if (realm && (realm->alone || found != -ENOENT)) {
        r->realm = realm;
        return found;
    }
    return http_find_route(config->routes, config->n_routes, method, &r->target, &r->match, allow);
}

/* The wire that has the path for itself has all errors, those of the head, too. */
static void find_realm_alone(struct http_request *r)
{
    const struct http_config *config = &r->http->config;
    const struct http_realm *realm = config->realm ? config->realm(config->ctx, r) : NULL;
    if (realm && realm->alone)
        r->realm = realm;
}

/* wrong: what is wrong with the target; without a code nothing. */
static bool find_route(struct http_request *r, const char *method, const struct err *wrong)
{
    drop_buf struct buf allow = BUF_INIT(1024);
    if (wrong->code < 0) {
        http_problem(r, 400, NULL, 0, "%s", wrong->msg);
        return false;
    }
    if (!http_query_is_text(r)) {
        http_problem(r, 400, NULL, 0, "the query is not UTF-8, or has a %%00");
        return false;
    }
    int found = look_up_route(r, method, &allow);
    if (found == -EPERM)
        http_problem(r, 405, &(struct http_header){"Allow", buf_text(&allow)}, 1,
                     "the method %.32s is not allowed here", method);
    else if (found < 0)
        http_problem(r, 404, NULL, 0, "there is nothing at this path");
    return !r->response;
}

static bool is_body_right(struct http_request *r)
{
    const struct http_route *route = r->match.route;
    int64_t length = http_body_length(r);
    if (needs_handshake(r) && !asks_for_websocket(r)) {
        static const struct http_header upgrade[] = {{"Upgrade", "websocket"},
                                                     {"Sec-WebSocket-Version", "13"}};
        http_problem(r, 426, upgrade, 2, "a WebSocket is here");
    } else if (route->body != HTTP_COLLECT && route->body != HTTP_RECEIVE) {
        return true;
    } else if (length > 0 && (uint64_t)length > route->body_max) {
        http_problem(r, 413, NULL, 0,
                     "the body is longer than %llu bytes; larger data belongs into a file",
                     (unsigned long long)route->body_max);
    } else if (route->type && http_has_body(r) &&
               !http_type_is(http_header(r, "Content-Type"), route->type)) {
        http_problem(r, 415, NULL, 0, "the body must be %s", route->type);
    }
    return !r->response;
}

static bool is_admitted(struct http_request *r)
{
    const struct http_config *config = &r->http->config;
    if (r->realm)
        return r->realm->admit(r->realm->ctx, r, r->match.route);
    return !config->admit || config->admit(config->ctx, r, r->match.route);
}

bool http_judge(struct http_request *r, const char *method)
{
    struct err wrong = ERR_NONE;
    if (http_target_parse(r->raw, r->http->config.dot, &r->target, &wrong) == 0)
        find_realm_alone(r);
    return is_head_short(r) && is_from_here(r) && find_route(r, method, &wrong) &&
           instance_is_meant(r, r->http->config.instance) && is_admitted(r) && is_body_right(r);
}
