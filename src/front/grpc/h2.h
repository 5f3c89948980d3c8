/* SPDX-License-Identifier: Apache-2.0
 *
 * front/grpc/h2.h - one port that speaks HTTP/2 without TLS (h2c with prior knowledge, RFC 9113),
 * which is what gRPC asks for.
 * Stream:  a request's and its answer's. Its owner has it from `start`, or `refuse`, until it has
 *          answered (h2_end) or is told `gone`; it must not be touched afterwards.
 * Gone:    the client has reset it, its connection has ended, or it was too slow.
 * Calls:   loop thread only; nothing blocks. Events come from the loop, or from h2_close(), which
 *          must not be called inside an event of this door.
 * Limits:  H2_STREAMS_MAX requests at once, H2_STREAMS_OF_ONE of a connection; of connections
 *          H2_CONNECTIONS_MAX, then the oldest without a request makes room; H2_HEAD_MAX bytes of
 *          names and values, H2_BODY_MAX of a body, H2_MEMORY_MAX of all that is held. A head is
 *          there in H2_HEAD_MS, a body in H2_REQUEST_MS; who does not take HTTP_STEP bytes of an
 *          answer in H2_STALL_MS loses it. A connection has H2_HEAD_MS to its first request, and
 *          H2_IDLE_MS to its next. H2_CALM frames in a row that bring nothing end it, and so do
 *          streams that are reset faster than H2_RESETS_A_SECOND. */
#ifndef FRONT_GRPC_H2_H
#define FRONT_GRPC_H2_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "front/http/ahead.h"
#include "front/http/http.h"
#include "loop/loop.h"

#define H2_CONNECTIONS_MAX 64
#define H2_STREAMS_MAX 256
#define H2_STREAMS_OF_ONE 64
#define H2_HEAD_MAX ((size_t)16 << 10)
#define H2_BODY_MAX (((size_t)4 << 20) + 5)
#define H2_MEMORY_MAX ((size_t)64 << 20)
#define H2_QUEUE_MAX ((size_t)256 << 10) /* of a stream: over it h2_write() says 1 */
#define H2_HEAD_MS 15000
#define H2_REQUEST_MS 30000
#define H2_STALL_MS 30000
#define H2_IDLE_MS 300000
#define H2_CALM 1000
#define H2_RESETS 200 /* at once */
#define H2_RESETS_A_SECOND 20

struct h2;
struct h2_stream;

struct h2_config { /* copied; what it points to is borrowed */
    struct loop *loop;
    const char *host;
    int port;                                            /* 0: any */
    struct ahead *ahead;                                 /* sockets that listen already, or NULL */
    bool (*admit)(void *ctx, struct h2_stream *stream);  /* by its head. False: it has answered */
    void (*start)(void *ctx, struct h2_stream *stream);  /* it is there with its body */
    void (*refuse)(void *ctx, struct h2_stream *stream); /* it is too large, and to be answered */
    void *ctx;
};

MUST_CHECK int h2_open(const struct h2_config *config, struct h2 **ret, struct err *e);
struct h2 *h2_close(struct h2 *h2); /* NULL in, NULL out */
int h2_port(const struct h2 *h2);
size_t h2_busy(const struct h2 *h2); /* requests whose answers are not written yet */
/* Connections are told that there will be no further requests. */
void h2_stop(struct h2 *h2);

/* --- the request: everything is borrowed from it ---------------------------------------------- */

void *h2_ctx(const struct h2_stream *stream); /* of the configuration */
const char *h2_peer(const struct h2_stream *stream);
/* The first of that name in lower case, also ":path"; NULL: there is none. */
const char *h2_header(const struct h2_stream *stream, const char *name);
size_t h2_header_count(const struct h2_stream *stream, const char *name);
const struct buf *h2_body(const struct h2_stream *stream);

struct h2_events {               /* each may be NULL */
    void (*writable)(void *ctx); /* after 1: the queue is below its half */
    void (*gone)(void *ctx);     /* the last */
};
void h2_watch(struct h2_stream *stream, const struct h2_events *events, void *ctx);

/* --- the answer ------------------------------------------------------------------------------- */

bool h2_begun(const struct h2_stream *stream);
void h2_begin(struct h2_stream *stream, const struct http_header *headers, size_t n);
/* It is taken. 1: more than H2_QUEUE_MAX waits for the client, and `writable` follows. -ENOBUFS: it
 * is not taken, as H2_MEMORY_MAX is reached. */
MUST_CHECK int h2_write(struct h2_stream *stream, const char *bytes, size_t n);
/* The last headers: behind what was written, or, of an answer that has not begun, all it has. */
void h2_end(struct h2_stream *stream, const struct http_header *headers, size_t n);
/* The answer comes so much later, for clients that guess tokens. */
void h2_end_late(struct h2_stream *stream, int64_t ms, const struct http_header *headers, size_t n);

#endif
