/* SPDX-License-Identifier: Apache-2.0 */
#include "jupyter/zsock.h"

#include <string.h>
#include <zmq.h>

#include "base/alloc.h"

enum {
    RECONNECT_MS = 2, /* the default of 100 ms would be most of a kernel's start */
    RECEIVE_HIGH_WATER = 64,
    MESSAGES_PER_TURN = 64,   /* then the other guests of the loop have their turn, */
    BYTES_PER_TURN = 1 << 20, /* as after so many: signatures cost some 3 ms for each MiB */
};

#define USER "ipybox"

struct zctx {
    void *zmq;
    /* the message being received: one at a time, whichever socket it came through */
    zmq_msg_t messages[ZSOCK_PARTS_MAX];
    struct slice parts[ZSOCK_PARTS_MAX];
};

struct zsock {
    struct zctx *zctx;
    void *zmq;
    struct loop *loop;
    struct loop_io *io;
    struct loop_defer again; /* look for messages although the descriptor shows no edge */
    zsock_fn fn;
    void *ctx;
    bool receiving; /* inside receive_messages(): closing only marks */
    bool closed;
    size_t taken; /* bytes, in this turn */
};

int zctx_new(size_t sockets, struct zctx **ret, struct err *e)
{
    void *zmq = zmq_ctx_new();
    if (!zmq)
        return err_set(e, -errno, "zmq_ctx_new: %s", zmq_strerror(errno));
    if (zmq_ctx_set(zmq, ZMQ_MAX_SOCKETS, (int)sockets) < 0) {
        int r = err_set(e, -errno, "%zu sockets of ZeroMQ: %s", sockets, zmq_strerror(errno));
        (void)zmq_ctx_term(zmq);
        return r;
    }
    (void)zmq_ctx_set(zmq, ZMQ_BLOCKY, 0);
    struct zctx *ctx = NEW(struct zctx);
    ctx->zmq = zmq;
    *ret = ctx;
    return 0;
}

struct zctx *zctx_free(struct zctx *ctx)
{
    if (!ctx)
        return NULL;
    (void)zmq_ctx_term(ctx->zmq);
    xfree(ctx);
    return NULL;
}

static void free_socket(struct zsock *s)
{
    loop_defer_stop(s->loop, &s->again);
    (void)loop_io_del(s->io);
    (void)zmq_close(s->zmq);
    xfree(s);
}

/* Reads the parts of one message into the context's table; what is over the limit is dropped.
 * Only the first part can be missing (-EAGAIN): messages arrive whole. */
static int receive_parts(struct zsock *s, size_t *ret_n)
{
    struct zctx *zctx = s->zctx;
    size_t n = 0;
    int more = 1;
    while (more) {
        zmq_msg_t *message = &zctx->messages[n];
        (void)zmq_msg_init(message);
        if (zmq_msg_recv(message, s->zmq, ZMQ_DONTWAIT) < 0)
            return -errno;
        more = zmq_msg_more(message);
        zctx->parts[n] = (struct slice){zmq_msg_data(message), zmq_msg_size(message)};
        if (n + 1 < ZSOCK_PARTS_MAX)
            n++;
        else
            (void)zmq_msg_close(message);
    }
    *ret_n = n;
    return 0;
}

static int receive_one(struct zsock *s)
{
    size_t n = 0;
    int r = receive_parts(s, &n);
    for (size_t i = 0; i < n; i++)
        s->taken += s->zctx->parts[i].len;
    if (r == 0)
        s->fn(s->ctx, s->zctx->parts, n);
    for (size_t i = 0; i < n; i++)
        (void)zmq_msg_close(&s->zctx->messages[i]);
    return r;
}

static void receive_messages(void *ctx)
{
    struct zsock *s = ctx;
    s->receiving = true;
    s->taken = 0;
    int r = 0;
    for (int i = 0; i < MESSAGES_PER_TURN && s->taken < BYTES_PER_TURN && r == 0 && !s->closed; i++)
        r = receive_one(s);
    s->receiving = false;
    if (s->closed)
        free_socket(s);
    else if (r == 0)
        loop_defer(s->loop, &s->again, receive_messages, s);
}

static void on_edge(void *ctx, unsigned events)
{
    (void)events;
    receive_messages(ctx);
}

static void set_int(void *zmq, int option, int value)
{
    (void)zmq_setsockopt(zmq, option, &value, sizeof value);
}

static void set_zsock_options(void *zmq, enum zsock_kind kind, const struct zsock_way *way)
{
    const int64_t frame_max = ZSOCK_FRAME_MAX;
    set_int(zmq, ZMQ_LINGER, 0);
    set_int(zmq, ZMQ_RECONNECT_IVL, RECONNECT_MS);
    set_int(zmq, ZMQ_RCVHWM, RECEIVE_HIGH_WATER);
    (void)zmq_setsockopt(zmq, ZMQ_MAXMSGSIZE, &frame_max, sizeof frame_max);
    if (kind == ZSOCK_SUB)
        (void)zmq_setsockopt(zmq, ZMQ_SUBSCRIBE, "", 0);
    if (kind == ZSOCK_DEALER)
        (void)zmq_setsockopt(zmq, ZMQ_ROUTING_ID, way->identity, strlen(way->identity));
    if (kind == ZSOCK_REQ) { /* a lost answer must not block the next question */
        set_int(zmq, ZMQ_REQ_RELAXED, 1);
        set_int(zmq, ZMQ_REQ_CORRELATE, 1);
    }
    if (way->password) {
        (void)zmq_setsockopt(zmq, ZMQ_PLAIN_USERNAME, USER, strlen(USER));
        (void)zmq_setsockopt(zmq, ZMQ_PLAIN_PASSWORD, way->password, strlen(way->password));
    }
}

int zsock_open(struct zctx *zctx, struct loop *loop, enum zsock_kind kind,
               const struct zsock_way *way, zsock_fn fn, void *ctx, struct zsock **ret,
               struct err *e)
{
    static const int types[] = {
        [ZSOCK_DEALER] = ZMQ_DEALER, [ZSOCK_SUB] = ZMQ_SUB, [ZSOCK_REQ] = ZMQ_REQ};
    void *zmq = zmq_socket(zctx->zmq, types[kind]);
    if (!zmq)
        return err_set(e, -errno, "zmq_socket: %s", zmq_strerror(errno));
    set_zsock_options(zmq, kind, way);
    int fd = -1, r = 0;
    size_t size = sizeof fd;
    struct zsock *s = NEW(struct zsock);
    *s = (struct zsock){.zctx = zctx, .zmq = zmq, .loop = loop, .fn = fn, .ctx = ctx};
    if (zmq_connect(zmq, way->endpoint) < 0 || zmq_getsockopt(zmq, ZMQ_FD, &fd, &size) < 0)
        r = err_set(e, -errno, "connect to %s: %s", way->endpoint, zmq_strerror(errno));
    else
        r = loop_io_add(loop, fd, LOOP_IN, on_edge, s, &s->io, e);
    if (r < 0) {
        free_socket(s);
        return r;
    }
    loop_defer(loop, &s->again, receive_messages, s);
    *ret = s;
    return 0;
}

struct zsock *zsock_close(struct zsock *s)
{
    if (s && s->receiving)
        s->closed = true;
    else if (s)
        free_socket(s);
    return NULL;
}

int zsock_send(struct zsock *s, const struct slice *parts, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        int flags = ZMQ_DONTWAIT | (i + 1 < n ? ZMQ_SNDMORE : 0);
        if (zmq_send(s->zmq, parts[i].data, parts[i].len, flags) < 0)
            return err_set(e, -errno, "send to the kernel: %s", zmq_strerror(errno));
    }
    loop_defer(s->loop, &s->again, receive_messages, s); /* sending may have taken the edge */
    return 0;
}
