/* SPDX-License-Identifier: Apache-2.0 */
#include "front/gateway/relay.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/list.h"
#include "front/http/instance.h"
#include "front/http/listener.h"

enum {
    PASSES_PER_TURN = 4, /* of a buffer's worth each, then others have their turn */
    CONNECT_MS = 5,      /* between two attempts to reach a gateway that starts */
    LINGER_MS = 5000,    /* for a client to read an end that it did not ask for */
};

static const char bad_gateway[] = "HTTP/1.1 502 Bad Gateway\r\n"
                                  "Content-Type: application/json\r\n"
                                  "Content-Length: 74\r\n"
                                  "%s%s%s"
                                  "Connection: close\r\n\r\n"
                                  "{\"reason\": \"Bad Gateway\", \"message\": \"the kernel gateway "
                                  "is not running\"}\n";

struct side {
    int fd;
    struct loop_io *io;
    struct buf out; /* to be written to it */
    bool eof;       /* it sends no more */
    bool no_more;   /* nothing more comes for it; once `out` is empty it is told */
    bool told;      /* shutdown(SHUT_WR) */
};

struct relay_connection {
    struct relay *relay;
    struct relay_connection *next, *prev;
    struct side client, gateway; /* gateway.fd -1: not connected yet, or not any more */
    bool waiting;                /* for the gateway to start */
    bool ending;                 /* what the client still sends is thrown away */
    bool upgraded;               /* to a WebSocket: no HTTP can be said in it */
    bool answered;               /* the last bytes went to the client: it waits for nothing */
    struct loop_timer deadline;  /* while waiting or ending */
};

struct relay {
    struct relay_config config;
    struct loop *loop;
    struct listener *listener;
    struct sorter *sorter; /* NULL: all connections are the gateway's */
    struct relay_connection *first;
    size_t count;
    struct loop_timer connect, idle;
};

/* --- idling --------------------------------------------------------------------------------- */

static void on_relay_idle(void *ctx)
{
    struct relay *relay = ctx;
    if (relay->config.busy(relay->config.ctx))
        loop_timer_set(relay->loop, &relay->idle, relay->config.idle_ms, on_relay_idle, relay);
    else
        relay->config.idle(relay->config.ctx);
}

static void note_count(struct relay *relay)
{
    if (relay->count == 0)
        loop_timer_set(relay->loop, &relay->idle, relay->config.idle_ms, on_relay_idle, relay);
    else
        loop_timer_stop(relay->loop, &relay->idle);
}

/* --- one connection's end ------------------------------------------------------------------- */

static void close_side(struct side *side)
{
    side->io = loop_io_del(side->io);
    side->fd = fd_close(side->fd);
    buf_done(&side->out);
}

static void end_connection(struct relay_connection *c)
{
    struct relay *relay = c->relay;
    list_remove(&relay->first, c);
    loop_timer_stop(relay->loop, &c->deadline);
    close_side(&c->client);
    close_side(&c->gateway);
    xfree(c);
    if (relay->count-- == RELAY_MAX)
        listener_set(relay->listener, true); /* which it is while it sorts */
    note_count(relay);
}

static void on_linger_over(void *ctx)
{
    end_connection(ctx);
}

/* The gateway sends nothing more. The client gets what there is for it, and a 502 when it is owed
 * an answer; closing at once could destroy that on its way. */
static void begin_end(struct relay_connection *c)
{
    const char *instance = c->relay->config.instance;
    close_side(&c->gateway);
    if (!c->answered && !c->upgraded && !c->ending)
        (void)buf_addf(&c->client.out, bad_gateway, instance ? HTTP_INSTANCE_HEADER ": " : "",
                       instance ? instance : "", instance ? "\r\n" : "");
    c->waiting = false;
    c->ending = true;
    c->client.no_more = true;
    loop_timer_set(c->relay->loop, &c->deadline, LINGER_MS, on_linger_over, c);
}

/* --- bytes ---------------------------------------------------------------------------------- */

/* Both: 1 when something moved, 0 when nothing could, negative when the side is broken. */
static int read_into(struct side *from, struct buf *to)
{
    if (from->fd < 0 || from->eof || to->len >= RELAY_BUFFER)
        return 0;
    size_t room = RELAY_BUFFER - to->len;
    if (buf_reserve(to, room) < 0)
        return to->failed;
    ssize_t n = recv(from->fd, to->data + to->len, room, 0);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    from->eof = n == 0;
    to->len += (size_t)n;
    return 1;
}

static int write_out_relay(struct side *to)
{
    if (to->fd < 0)
        return 0;
    if (to->out.len == 0) {
        if (to->no_more && !to->told)
            (void)shutdown(to->fd, SHUT_WR);
        to->told = to->no_more;
        return 0;
    }
    ssize_t n = send(to->fd, to->out.data, to->out.len, MSG_NOSIGNAL);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    buf_cut_front(&to->out, (size_t)n);
    return 1;
}

static int from_client(struct relay_connection *c)
{
    if (c->ending) {
        struct buf nowhere = BUF_INIT(RELAY_BUFFER);
        int r = read_into(&c->client, &nowhere);
        buf_done(&nowhere);
        return r;
    }
    size_t before = c->gateway.out.len;
    int r = read_into(&c->client, &c->gateway.out);
    if (c->gateway.out.len > before)
        c->answered = false;
    c->gateway.no_more = c->client.eof;
    return r;
}

static int from_gateway(struct relay_connection *c)
{
    static const char switching[] = "HTTP/1.1 101";
    struct buf *out = &c->client.out;
    size_t before = out->len;
    int r = read_into(&c->gateway, out);
    if (out->len > before) {
        c->upgraded |= out->len - before >= sizeof switching - 1 &&
                       memcmp(out->data + before, switching, sizeof switching - 1) == 0;
        c->answered = true;
    }
    return r;
}

static unsigned wishes(const struct side *side, const struct buf *into)
{
    unsigned in = !side->eof && into->len < RELAY_BUFFER ? LOOP_IN : 0;
    bool end_is_due = side->no_more && !side->told;
    return in | (side->out.len > 0 || end_is_due ? LOOP_OUT : 0);
}

static void set_wishes(struct relay_connection *c)
{
    bool rest = c->gateway.fd >= 0 && !c->gateway.io; /* of a gateway that hung up */
    loop_io_set(c->client.io, wishes(&c->client, &c->gateway.out) | (rest ? LOOP_OUT : 0));
    if (c->gateway.io)
        loop_io_set(c->gateway.io, wishes(&c->gateway, &c->client.out));
}

/* Returns whether something moved; *ret_lost: the client is gone. */
static bool pass_bytes(struct relay_connection *c, bool *ret_lost)
{
    int client = from_client(c), gateway = from_gateway(c);
    int to_gateway = write_out_relay(&c->gateway), to_client = write_out_relay(&c->client);
    *ret_lost = client < 0 || to_client < 0;
    if (c->ending && to_client > 0)
        loop_timer_set(c->relay->loop, &c->deadline, LINGER_MS, on_linger_over, c);
    if (!*ret_lost && c->gateway.fd >= 0 && (gateway < 0 || to_gateway < 0 || c->gateway.eof)) {
        begin_end(c);
        return true;
    }
    return client > 0 || gateway > 0 || to_gateway > 0 || to_client > 0;
}

static bool is_relay_over(const struct relay_connection *c)
{
    return c->ending && c->client.told && c->client.eof;
}

static void pump_relay(struct relay_connection *c)
{
    bool lost = false, moved = true;
    for (int i = 0; i < PASSES_PER_TURN && moved && !lost; i++)
        moved = pass_bytes(c, &lost);
    if (lost || is_relay_over(c))
        end_connection(c);
    else
        set_wishes(c);
}

static void on_relay_client(void *ctx, unsigned events)
{
    struct relay_connection *c = ctx;
    if (events == LOOP_HUP)
        end_connection(c); /* it is gone, and nothing of it is left to read */
    else
        pump_relay(c);
}

static void on_gateway(void *ctx, unsigned events)
{
    struct relay_connection *c = ctx;
    if (events == LOOP_HUP && c->client.out.len >= RELAY_BUFFER) {
        c->gateway.io = loop_io_del(c->gateway.io); /* the rest is read when there is room again */
        return;
    }
    pump_relay(c);
}

/* --- reaching the gateway ------------------------------------------------------------------- */

static bool try_gateway_connect(struct relay_connection *c)
{
    c->gateway.fd = c->relay->config.connect(c->relay->config.ctx);
    if (c->gateway.fd < 0)
        return false;
    if (loop_io_add(c->relay->loop, c->gateway.fd, LOOP_IN, on_gateway, c, &c->gateway.io, NULL) <
        0) {
        c->gateway.fd = fd_close(c->gateway.fd);
        return false;
    }
    c->waiting = false;
    loop_timer_stop(c->relay->loop, &c->deadline);
    pump_relay(c);
    return true;
}

static void on_connect(void *ctx)
{
    struct relay *relay = ctx;
    bool waiting = false;
    for (struct relay_connection *c = relay->first, *next; c; c = next) {
        next = c->next;
        if (c->waiting && !try_gateway_connect(c))
            waiting = true;
    }
    if (waiting)
        loop_timer_set(relay->loop, &relay->connect, CONNECT_MS, on_connect, relay);
}

static void on_start_over(void *ctx)
{
    struct relay_connection *c = ctx;
    begin_end(c);
    pump_relay(c);
}

void relay_gateway_ended(struct relay *relay)
{
    for (struct relay_connection *c = relay->first, *next; c; c = next) {
        next = c->next;
        if (c->waiting)
            on_start_over(c); /* the others read the end of their own connection */
    }
}

/* --- accepting ------------------------------------------------------------------------------ */

static void begin_connection(struct relay *relay, int fd)
{
    struct relay_connection *c = NEW(struct relay_connection);
    *c = (struct relay_connection){.relay = relay, .waiting = true};
    c->client = (struct side){.fd = fd, .out = BUF_INIT(2 * RELAY_BUFFER)};
    c->gateway = (struct side){.fd = -1, .out = BUF_INIT(2 * RELAY_BUFFER)};
    list_push(&relay->first, c);
    if (++relay->count == RELAY_MAX && !relay->sorter)
        listener_set(relay->listener, false);
    note_count(relay);
    if (loop_io_add(relay->loop, fd, 0, on_relay_client, c, &c->client.io, NULL) < 0) {
        end_connection(c);
        return;
    }
    loop_timer_set(relay->loop, &c->deadline, RELAY_START_MS, on_start_over, c);
    if (try_gateway_connect(c))
        return;
    if (!relay->connect.armed)
        loop_timer_set(relay->loop, &relay->connect, CONNECT_MS, on_connect, relay);
    relay->config.wanted(relay->config.ctx);
}

static void on_sorted_gateway(void *ctx, int fd, const struct sockaddr *from, socklen_t n)
{
    (void)from, (void)n;
    struct relay *relay = ctx;
    if (relay->count < RELAY_MAX)
        begin_connection(relay, fd);
    else
        (void)fd_close(fd);
}

static void on_sorted_other(void *ctx, int fd, const struct sockaddr *from, socklen_t n)
{
    const struct relay *relay = ctx;
    relay->config.other(relay->config.ctx, fd, from, n);
}

static void on_relay_accepted(void *ctx, int fd, const struct sockaddr *from, socklen_t n)
{
    struct relay *relay = ctx;
    if (relay->sorter)
        sorter_add(relay->sorter, fd, from, n);
    else
        begin_connection(relay, fd);
}

/* --- opening and closing -------------------------------------------------------------------- */

int relay_open(const struct relay_config *config, struct relay **ret, struct err *e)
{
    struct relay *relay = NEW(struct relay);
    relay->config = *config;
    relay->loop = config->loop;
    if (config->other)
        relay->sorter = sorter_new(&(struct sorter_config){.loop = config->loop,
                                                           .base = config->base,
                                                           .gateway = on_sorted_gateway,
                                                           .other = on_sorted_other,
                                                           .ctx = relay});
    int r = listener_open(relay->loop, config->host, config->port, config->ahead, on_relay_accepted,
                          relay, &relay->listener, e);
    if (r < 0) {
        (void)relay_close(relay);
        return err_wrap(e, "the kernel gateway");
    }
    *ret = relay;
    return 0;
}

struct relay *relay_close(struct relay *relay)
{
    if (!relay)
        return NULL;
    while (relay->first)
        end_connection(relay->first);
    loop_timer_stop(relay->loop, &relay->connect);
    loop_timer_stop(relay->loop, &relay->idle);
    relay->listener = listener_close(relay->listener);
    relay->sorter = sorter_free(relay->sorter);
    xfree(relay);
    return NULL;
}

int relay_port(const struct relay *relay)
{
    return listener_port(relay->listener);
}

size_t relay_connections(const struct relay *relay)
{
    return relay->count;
}
