/* SPDX-License-Identifier: Apache-2.0
 *
 * front/http/ws.h - WebSockets on connections that began as HTTP (the only door to libwebsockets).
 * How:     HTTP answers the handshake; then libwebsockets adopts a duplicate of the connection
 *          (ws_attach), together with the frames that were read behind the request. The connection
 *          may have been used for HTTP before.
 * Owner:   the hub owns the sockets; a `struct ws *` is its handler's until `closed` is told or
 *          ws_close() gives it up.
 * Calls:   loop thread only; nothing blocks. Events come from the loop, or from ws_hub_close().
 * Limits:  message_max: a longer message closes its socket with 1009. backlog_max: what a slow
 *          reader has not taken; over it ws_send() answers -EAGAIN. ws_limit() lowers both.
 *          Each socket is pinged after ping_ms and closed when nothing came in the next ping_ms.
 * Failing: bytes that are no frames, or text that is not UTF-8, close that socket and no other.
 * Source:  RFC 6455. No extensions (compression) are agreed on. */
#ifndef FRONT_HTTP_WS_H
#define FRONT_HTTP_WS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"

enum ws_code {
    WS_NORMAL = 1000,
    WS_GOING_AWAY = 1001,
    WS_PROTOCOL = 1002,
    WS_UNSUPPORTED = 1003,
    WS_LOST = 1006, /* told, never sent: no close frame came */
    WS_POLICY = 1008,
    WS_TOO_BIG = 1009,
    WS_ERROR = 1011
};

#define WS_REASON_MAX 123 /* bytes of a close reason, by the protocol */

struct ws;

struct ws_events {
    /* One whole message; data[n] is 0. It may be changed. */
    void (*message)(void *ctx, bool text, char *data, size_t n);
    void (*writable)(void *ctx); /* after -EAGAIN: the backlog is below its half; may be NULL */
    void (*closed)(void *ctx, int code, const char *reason); /* the last event */
};

/* -EAGAIN: the backlog is full; -EPIPE: it is closing. */
MUST_CHECK int ws_send(struct ws *ws, bool text, const char *data, size_t n, struct err *e);
size_t ws_backlog(const struct ws *ws); /* bytes, some for each message itself */
/* Limits of this socket's own; message_max before its first message. */
void ws_limit(struct ws *ws, size_t message_max, size_t backlog_max);

/* Sends what waits, then the close frame; a peer that takes none of it in ping_ms is cut off. Gives
 * the socket up: no event comes any more. */
void ws_close(struct ws *ws, int code, const char *reason);

/* --- for http.c ------------------------------------------------------------------------------- */

struct ws_limits { /* copied */
    size_t sockets;
    size_t message_max, backlog_max; /* bytes */
    int64_t ping_ms;
};

struct ws_hub;
MUST_CHECK int ws_hub_open(struct loop *loop, const struct ws_limits *limits, struct ws_hub **ret,
                           struct err *e);
/* Every handler is told `closed` (WS_GOING_AWAY). NULL in, NULL out. */
struct ws_hub *ws_hub_close(struct ws_hub *hub);
size_t ws_hub_closing(const struct ws_hub *hub); /* given up, and not all of it is sent */

#define WS_ACCEPT_MAX 64

/* A WebSocket that ws_attach() has to be called for; messages may be sent already. key: the value
 * of Sec-WebSocket-Key; accept: of Sec-WebSocket-Accept. over: the connection has ended and its
 * place is free. -EINVAL: not a key; -EBUSY: there are too many. */
MUST_CHECK int ws_prepare(struct ws_hub *hub, const char *key, const struct ws_events *events,
                          void *ctx, void (*over)(void *over_ctx), void *over_ctx, struct ws **ret,
                          char accept[WS_ACCEPT_MAX], struct err *e);
/* Takes a duplicate of fd, when the client has had the answer; `early` was read behind the request
 * already. The socket may be closed by what it says. */
void ws_attach(struct ws *ws, int fd, const char *early, size_t n);
void ws_abandon(struct ws *ws); /* it will never be attached: `closed` is told */

#endif
