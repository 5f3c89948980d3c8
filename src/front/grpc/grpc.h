/* SPDX-License-Identifier: Apache-2.0
 *
 * front/grpc/grpc.h - calls of gRPC over HTTP/2 (gRPC's PROTOCOL-HTTP2.md): one message comes, one
 * or several go, and a status ends it.
 * Itself:  method, media type, compression, envelope and time limit of a call are judged here, and
 *          so is whom it means (front/http/instance.h).
 * Call:    a stream of h2.h, its method's until it has been ended here, or is `gone`. A client that
 *          cancels is gone. Of a time limit the method is to say what it ends: grpc_timeout_ms().
 * Not:     messages of the client after its first; compression.
 * Calls:   loop thread only; nothing blocks. */
#ifndef FRONT_GRPC_GRPC_H
#define FRONT_GRPC_GRPC_H

#include <stdint.h>

#include "front/grpc/h2.h"

#define GRPC_MESSAGE_MAX (H2_BODY_MAX - 5)

enum grpc_status {
    GRPC_OK = 0,
    GRPC_CANCELLED = 1,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_PERMISSION_DENIED = 7,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_FAILED_PRECONDITION = 9,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
    GRPC_UNAUTHENTICATED = 16,
};

struct grpc_method {
    const char *path; /* "/package.Service/Method" */
    void (*start)(void *ctx, struct h2_stream *call, const char *message, size_t n);
};

struct grpc_config { /* copied; what it points to is borrowed */
    struct loop *loop;
    const char *host;
    int port;                                         /* 0: any */
    struct ahead *ahead;                              /* NULL: none */
    const char *instance;                             /* NULL: there is none */
    const struct grpc_method *methods;                /* ends with one without a path */
    bool (*admit)(void *ctx, struct h2_stream *call); /* false: it has ended it */
    void *ctx;
};

struct grpc;
MUST_CHECK int grpc_open(const struct grpc_config *config, struct grpc **ret, struct err *e);
struct grpc *grpc_close(struct grpc *grpc);  /* NULL in, NULL out */
struct h2 *grpc_h2(const struct grpc *grpc); /* for its port, what is busy, and its stop */

/* The client's, at least 1; 0: it has none. */
int64_t grpc_timeout_ms(const struct h2_stream *call);
/* As http_token(), without Basic. */
bool grpc_token(const struct h2_stream *call, char *ret, size_t size);

/* The next message; returns as h2_write(). */
MUST_CHECK int grpc_send(struct h2_stream *call, const struct buf *message);
/* The only message, and the end. */
void grpc_answer(struct h2_stream *call, const struct buf *message);
void grpc_end(struct h2_stream *call);
void grpc_fail(struct h2_stream *call, enum grpc_status status, const char *fmt, ...) PRINTF(3, 4);
/* By the errno of `e`. */
void grpc_fail_as(struct h2_stream *call, const struct err *e);
void grpc_refuse(struct h2_stream *call, int64_t late_ms, enum grpc_status status,
                 const char *message);

#endif
