/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/net/dns_stub.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/net/loopback.h"
#include "wire/dns.h"

enum { LENGTH = 2 /* bytes before each message */ };

struct dns_connection {
    struct dns_stub *stub;
    int fd; /* -1: free */
    struct loop_io *io;
    struct loop_timer idle;
    int64_t since; /* by the count of connections */
    size_t n;
    uint8_t in[LENGTH + DNS_MESSAGE_MAX];
};

struct dns_stub {
    struct loop *loop;
    dns_stub_fn address;
    void *ctx;
    int fd;
    struct loop_io *io;
    int64_t count;
    struct dns_connection connections[DNS_STUB_CONNECTIONS_MAX];
};

static void hang_up_dns(struct dns_connection *connection)
{
    loop_timer_stop(connection->stub->loop, &connection->idle);
    connection->io = loop_io_del(connection->io);
    connection->fd = fd_close(connection->fd);
}

static void on_dns_idle(void *ctx)
{
    hang_up_dns(ctx);
}

/* One message; false: it is none that can be answered. */
static bool answer_query(struct dns_connection *connection, const uint8_t *query, size_t n)
{
    struct dns_stub *stub = connection->stub;
    struct dns_question question;
    uint8_t out[LENGTH + DNS_MESSAGE_MAX];
    uint32_t address = 0;
    enum dns_code code = DNS_NO_NAME;
    int r = dns_parse(query, n, &question);
    if (r == -EBADMSG)
        return false;
    if (r == 0)
        address = stub->address(stub->ctx, question.name);
    else if (question.type == 0) /* no question at all */
        code = DNS_NOT_IMPLEMENTED;
    if (address != 0)
        code = DNS_OK;
    size_t length = dns_answer(query, &question, code, address, out + LENGTH);
    out[0] = (uint8_t)(length >> 8);
    out[1] = (uint8_t)length;
    /* A client that does not read its answers has no use for more of them. */
    return send(connection->fd, out, LENGTH + length, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           (ssize_t)(LENGTH + length);
}

/* All whole messages that have come; false: hang up. */
static bool answer_all_queries(struct dns_connection *connection)
{
    size_t at = 0;
    while (connection->n - at >= LENGTH) {
        const uint8_t *start = connection->in + at;
        size_t n = (size_t)start[0] << 8 | start[1];
        if (n > DNS_MESSAGE_MAX)
            return false;
        if (connection->n - at < LENGTH + n)
            break;
        if (!answer_query(connection, start + LENGTH, n))
            return false;
        at += LENGTH + n;
    }
    connection->n -= at;
    memmove(connection->in, connection->in + at, connection->n);
    if (at > 0)
        loop_timer_set(connection->stub->loop, &connection->idle, DNS_STUB_IDLE_MS, on_dns_idle,
                       connection);
    return true;
}

static void on_dns_readable(void *ctx, unsigned events)
{
    struct dns_connection *connection = ctx;
    (void)events;
    ssize_t n = recv(connection->fd, connection->in + connection->n,
                     sizeof connection->in - connection->n, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    connection->n += n > 0 ? (size_t)n : 0;
    if (n <= 0 || !answer_all_queries(connection))
        hang_up_dns(connection);
}

/* A free place, or that of the oldest. */
static struct dns_connection *make_room_for_query(struct dns_stub *stub)
{
    struct dns_connection *oldest = &stub->connections[0];
    for (size_t i = 0; i < DNS_STUB_CONNECTIONS_MAX; i++) {
        struct dns_connection *connection = &stub->connections[i];
        if (connection->fd < 0)
            return connection;
        if (connection->since < oldest->since)
            oldest = connection;
    }
    hang_up_dns(oldest);
    return oldest;
}

static void on_dns_connection(void *ctx, unsigned events)
{
    struct dns_stub *stub = ctx;
    struct err e;
    (void)events;
    drop_fd int fd = accept4(stub->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct dns_connection *connection = make_room_for_query(stub);
    if (loop_io_add(stub->loop, fd, LOOP_IN, on_dns_readable, connection, &connection->io, &e) < 0)
        return;
    connection->fd = fd_take(&fd);
    connection->n = 0;
    connection->since = ++stub->count;
    loop_timer_set(stub->loop, &connection->idle, DNS_STUB_IDLE_MS, on_dns_idle, connection);
}

int dns_stub_open(struct loop *loop, dns_stub_fn address, void *ctx, struct dns_stub **ret,
                  uint16_t *ret_port, struct err *e)
{
    struct dns_stub *stub = NEW(struct dns_stub);
    *stub = (struct dns_stub){.loop = loop, .address = address, .ctx = ctx, .fd = -1};
    for (size_t i = 0; i < DNS_STUB_CONNECTIONS_MAX; i++) {
        stub->connections[i].stub = stub;
        stub->connections[i].fd = -1;
    }
    int r = loopback_listen(&stub->fd, ret_port, e);
    if (r == 0)
        r = loop_io_add(loop, stub->fd, LOOP_IN, on_dns_connection, stub, &stub->io, e);
    if (r < 0)
        stub = dns_stub_free(stub);
    else
        *ret = stub;
    return r;
}

struct dns_stub *dns_stub_free(struct dns_stub *stub)
{
    if (!stub)
        return NULL;
    for (size_t i = 0; i < DNS_STUB_CONNECTIONS_MAX; i++)
        if (stub->connections[i].fd >= 0)
            hang_up_dns(&stub->connections[i]);
    (void)loop_io_del(stub->io);
    (void)fd_close(stub->fd);
    xfree(stub);
    return NULL;
}
