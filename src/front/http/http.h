/* SPDX-License-Identifier: Apache-2.0
 *
 * front/http/http.h - one port that speaks HTTP/1.1, and WebSockets on it (ws.h).
 * Does:    listens on all addresses of a name and on a Unix socket, finds the route, collects a
 *          body or hands it on as it comes, and sends an answer that may come any time later, whole
 *          or as a stream.
 * Itself:  400, 403 (Origin), 404, 405, 413, 414, 415, 421 (Host, instance), 426 and 431 are
 *          answered here, as problem documents (RFC 9457) unless `problem` writes another body.
 * Request: its handler's from `start` until it has answered (http_answer*, http_problem,
 *          http_stream_end, http_upgrade) or is told `gone`; it must not be touched afterwards.
 * Gone:    a client that closes, or sends the end of its side, while it waits is gone.
 * Calls:   loop thread only; nothing blocks. Events come from the loop, or from http_close().
 *          http_close() must not be called inside an event of this door.
 * Limits:  struct http_limits. The head has header_ms from the opening of the connection (idle_ms
 *          from the last answer); a body and an answer that waits for its reader make HTTP_STEP
 *          bytes of progress in each stall_ms; one that was refused by its head has header_ms for
 *          the whole of its body. Who is slower is cut off, and so costs one connection for that
 *          time. Where there is no room for a new connection the oldest one without a request, or
 *          with one that was refused so, makes room. A peer that has vanished is found by TCP in
 *          2 minutes, also while something waits to be sent to it. */
#ifndef FRONT_HTTP_HTTP_H
#define FRONT_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "front/http/ahead.h"
#include "front/http/ws.h"
#include "loop/loop.h"

#define HTTP_PARAMS_MAX 4
#define HTTP_WHO_MAX 64            /* bytes */
#define HTTP_STEP 4096             /* bytes, the least progress in stall_ms */
#define HTTP_QUEUE_MAX (256 << 10) /* of a stream: over it http_stream_write() says -EAGAIN */
#define HTTP_DISCARD_MAX (1 << 20) /* of a body nobody wants, before the connection is cut */

struct http;
struct http_request;

struct http_limits {
    size_t header_bytes;             /* names and values of all headers; also the target's */
    size_t connections, per_address; /* WebSockets are among them */
    int64_t header_ms, idle_ms, stall_ms;
    size_t memory; /* of collected bodies and whole answers of all connections, bytes; what does
                      not fit: 503; 0: the usual */
    struct ws_limits ws;
};
extern const struct http_limits http_limits_default;

enum http_body {
    HTTP_NO_BODY,   /* one that comes all the same is thrown away */
    HTTP_COLLECT,   /* `start` finds it whole: http_body() */
    HTTP_RECEIVE,   /* `start` comes at once, the body by the events `body` and `end` */
    HTTP_WEBSOCKET, /* GET with a handshake: http_upgrade() */
    HTTP_EVENTS     /* GET, with a handshake or without: http_is_handshake() */
};

struct http_route {
    const char *method; /* GET answers HEAD, too */
    const char *path;   /* "/a/{id}/files/{path*}": {x} is one segment, {x*} all that are left */
    enum http_body body;
    uint64_t body_max; /* bytes; more: 413 */
    const char *type;  /* a body must have this media type, else 415; NULL: any */
    unsigned tag;      /* the owner's */
    void (*start)(void *ctx, struct http_request *r);
};

struct http_header {
    const char *name, *value;
};

/* Routes of another wire on the same port, with its own admission and its own form of errors. */
struct http_realm { /* borrowed */
    const struct http_route *routes;
    size_t n_routes;
    bool alone; /* what has no route here is 404; else it is looked for in the port's own routes */
    bool (*admit)(void *ctx, struct http_request *r, const struct http_route *route);
    void (*problem)(void *ctx, int status, const char *detail, struct buf *body);
    void *ctx; /* of these two and of the handlers */
};

struct http_config { /* copied; what it points to is borrowed */
    struct loop *loop;
    const char *host;                 /* all addresses of this name; NULL: no port */
    int port;                         /* 0: any */
    bool given;                       /* it does not listen there: http_take() brings connections */
    struct ahead *ahead;              /* sockets that listen already; NULL: none */
    const struct http_limits *limits; /* NULL: http_limits_default */
    const struct http_route *routes;
    size_t n_routes;
    /* Host headers that are right, without port. Bound to a loopback address, localhost,
     * 127.0.0.1, [::1] and `host` are right, too, and all others are refused; bound to another
     * address every Host is right while this list is empty. Ends with NULL; may be NULL. */
    const char *const *hosts;
    /* Allowed Origin headers; "*": all; as above. If hosts are restricted, same-origin requests are
     * also allowed. */
    const char *const *origins;
    bool dot; /* of a path the last segment may be ".", for clients that name a folder so */
    /* Every action needs a token, so same-origin requests are allowed for any Host. */
    bool guarded;
    const char *instance; /* which all answers name (instance.h); NULL: they name none */
    /* When the head is there and the route found, before any body. False: it has answered. */
    bool (*admit)(void *ctx, struct http_request *r, const struct http_route *route);
    /* Writes an error's body of its own, as JSON. NULL, or nothing written: a problem document. */
    void (*problem)(void *ctx, int status, const char *detail, struct buf *body);
    /* Whose request it is, by head and path; NULL, or what it returns: the port's own. */
    const struct http_realm *(*realm)(void *ctx, const struct http_request *r);
    void *ctx;
};

MUST_CHECK int http_open(const struct http_config *config, struct http **ret, struct err *e);
/* In order: no more connections, open requests are gone, then WebSockets. NULL in, NULL out. */
struct http *http_close(struct http *http);
int http_port(const struct http *http); /* 0: none */
/* A Unix socket that listens already; it is taken over, also when this fails. */
MUST_CHECK int http_listen(struct http *http, int fd, struct err *e);
/* One more port, on all addresses of a name. */
MUST_CHECK int http_listen_at(struct http *http, const char *host, int port, struct err *e);
/* A connection that was accepted elsewhere, as it came. fd, not blocking, is taken over; where
 * there is no place for it, it is closed. */
void http_take(struct http *http, int fd, const struct sockaddr *from, socklen_t n);
/* Requests whose answers, and WebSockets that are closing whose messages are not yet sent. */
size_t http_busy(const struct http *http);

/* Bytes of bodies that have come, and that were handed to the network. */
void http_traffic(const struct http *http, uint64_t *ret_received, uint64_t *ret_sent);

/* --- the request: everything is borrowed from it ---------------------------------------------- */

const char *http_method(const struct http_request *r);
/* The client's X-Request-Id when it has at most LOG_REQUEST_MAX letters, digits and -._~:+/=@, else
 * a random one. Every answer has it but prepared ones to requests without, and so have problem
 * documents and every line that is logged while the request's handler runs. */
const char *http_id(const struct http_request *r);
const char *http_path(const struct http_request *r);                    /* decoded */
const char *http_param(const struct http_request *r, const char *name); /* of the route's path */
/* From now on that parameter, which is there, is its first n bytes. */
void http_param_cut(struct http_request *r, const char *name, size_t n);
const char *http_query(const struct http_request *r, const char *name);  /* decoded, or NULL */
const char *http_header(const struct http_request *r, const char *name); /* the first, or NULL */
size_t http_header_count(const struct http_request *r, const char *name);
typedef void (*http_header_fn)(void *ctx, const char *name, const char *value);
void http_each_header(const struct http_request *r, http_header_fn fn, void *ctx);
const char *http_peer(const struct http_request *r); /* address without port; "uid 0" */
/* It came by the Unix socket, opened by this user. Such a request may have any Host. */
bool http_local(const struct http_request *r, uid_t *ret_uid);
/* Whom `admit` has let in, in the owner's own words; "": it has not said. */
void http_set_who(struct http_request *r, const char *who);
const char *http_who(const struct http_request *r);
int http_fd(const struct http_request *r);       /* of its connection, to look at */
bool http_below(const struct http_request *r);   /* so it did, from a process below the server */
int http_own_port(const struct http_request *r); /* where it came in; 0: no port */
int64_t http_body_length(const struct http_request *r); /* as announced; -1: not announced */
struct buf *http_body(struct http_request *r); /* HTTP_COLLECT; may be changed and taken from */

/* --- events ----------------------------------------------------------------------------------- */

struct http_events {                                      /* each may be NULL */
    void (*body)(void *ctx, const char *bytes, size_t n); /* HTTP_RECEIVE */
    void (*end)(void *ctx);                               /* the body is complete */
    void (*writable)(void *ctx); /* after -EAGAIN: a stream's queue is below its half */
    void (*gone)(void *ctx);     /* the last: client or server has ended it before the answer did */
};
void http_watch(struct http_request *r, const struct http_events *events, void *ctx);

void http_pause(struct http_request *r); /* no `body` until http_continue(): the client waits */
void http_continue(struct http_request *r);

/* --- the answer ------------------------------------------------------------------------------- */

/* Delays the next answer by so long, for clients that guess tokens. */
void http_delay(struct http_request *r, int64_t ms);

/* body: copied. A Content-Type is one of the headers. */
void http_answer(struct http_request *r, int status, const struct http_header *headers, size_t n,
                 const char *body, size_t len);
void http_answer_json(struct http_request *r, int status, const struct buf *body);

/* A short answer that is made once and given often, at doors whose http_config.instance is this
 * one. headers, body and instance: borrowed until it is freed, which must not happen before
 * http_close(). */
struct http_prepared *http_prepare(int status, const struct http_header *headers, size_t n,
                                   const char *body, size_t len, const char *instance);
struct http_prepared *http_prepared_free(struct http_prepared *prepared);
void http_answer_prepared(struct http_request *r, const struct http_prepared *prepared);

/* length bytes of a regular file from offset on; fd is taken over. HEAD and Content-Length are as
 * they should be; ranges are the handler's. */
void http_answer_file(struct http_request *r, int status, const struct http_header *headers,
                      size_t n, int fd, uint64_t offset, uint64_t length);

void http_problem(struct http_request *r, int status, const struct http_header *headers, size_t n,
                  const char *fmt, ...) PRINTF(5, 6);

/* length: -1 when it is not known (chunked). Answers to HEAD are `gone` at once. */
void http_stream_begin(struct http_request *r, int status, const struct http_header *headers,
                       size_t n, int64_t length);
/* All of it is taken, or nothing: -EAGAIN, `writable` follows. At an empty queue any length is
 * taken. */
MUST_CHECK int http_stream_write(struct http_request *r, const char *bytes, size_t n);
/* The last bytes of a stream, few of them: taken however much waits. http_stream_end() follows. */
void http_stream_last(struct http_request *r, const char *bytes, size_t n);
void http_stream_end(struct http_request *r);
void http_stream_abort(struct http_request *r); /* the client sees that it is incomplete */

#define HTTP_SUBPROTOCOL "ipybox"                           /* of WebSockets that name one */
const char *http_subprotocol(const struct http_request *r); /* it, where the client offers it */

/* The client asks for a WebSocket, and its route has one. */
bool http_is_handshake(const struct http_request *r);

/* Answers 101, and the connection is the WebSocket's from then on; what is sent before waits.
 * subprotocol: one that the client offers, or NULL. On failure it has answered with an error. */
MUST_CHECK int http_upgrade(struct http_request *r, const char *subprotocol,
                            const struct ws_events *events, void *ctx, struct ws **ret);

#endif
