/* SPDX-License-Identifier: Apache-2.0
 *
 * jupyter/zsock.h - ZeroMQ sockets as guests of the event loop; the only file that knows libzmq.
 * Owns:    a context (with libzmq's own threads) and its sockets.
 * Events:  ZMQ_FD is edge-triggered: it is read again after every send and receive here, so that
 *          the owner sees plain "a message came" calls.
 * Limits:  a frame over ZSOCK_FRAME_MAX cuts the connection; at most ZSOCK_PARTS_MAX parts.
 *          Receiving stops at a low high-water mark, so a flood waits in the sender, not here. */
#ifndef JUPYTER_ZSOCK_H
#define JUPYTER_ZSOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text/slice.h"
#include "loop/loop.h"

#define ZSOCK_FRAME_MAX ((int64_t)256 << 20)
#define ZSOCK_PARTS_MAX 1024

struct zctx;
/* `sockets`: how many may be open at once. */
MUST_CHECK int zctx_new(size_t sockets, struct zctx **ret, struct err *e);
struct zctx *zctx_free(struct zctx *ctx); /* after its sockets; NULL in, NULL out */

enum zsock_kind { ZSOCK_DEALER, ZSOCK_SUB, ZSOCK_REQ };

struct zsock;

/* One whole message; the parts are borrowed for the call and may be changed in place. */
typedef void (*zsock_fn)(void *ctx, struct slice *parts, size_t n);

struct zsock_way {        /* borrowed until zsock_open() returns */
    const char *endpoint; /* ipc://…, which may appear later: it is tried every few milliseconds */
    const char *identity; /* the routing id of a DEALER */
    const char *password; /* of ZeroMQ's mechanism PLAIN; NULL: whoever gets there is let in */
};

/* Connects. fn is never called from inside zsock_open/send. */
MUST_CHECK int zsock_open(struct zctx *zctx, struct loop *loop, enum zsock_kind kind,
                          const struct zsock_way *way, zsock_fn fn, void *ctx, struct zsock **ret,
                          struct err *e);
struct zsock *zsock_close(struct zsock *s); /* also inside fn; NULL in, NULL out */

/* Copies and queues one message. -EAGAIN: the peer takes nothing. */
MUST_CHECK int zsock_send(struct zsock *s, const struct slice *parts, size_t n, struct err *e);

#endif
