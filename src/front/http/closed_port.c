/* SPDX-License-Identifier: Apache-2.0 */
#include "front/http/closed_port.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/list.h"
#include "front/http/listener.h"

enum { CHUNK = 4096, ANSWER_MAX = 1024, ADDRESS_MAX = 64 };

struct turned_away { /* a connection */
    struct closed_port *closed;
    struct turned_away *prev, *next;
    int fd;
    struct loop_io *io;
    struct loop_timer end;
    size_t got;
    bool told;
};

struct closed_port {
    struct loop *loop;
    struct listener *listener;
    struct buf answer;
    struct turned_away *connections; /* the newest first */
    size_t count;
};

static void end_refused(void *ctx)
{
    struct turned_away *c = ctx;
    list_remove(&c->closed->connections, c);
    c->closed->count--;
    loop_timer_stop(c->closed->loop, &c->end);
    (void)loop_io_del(c->io);
    (void)fd_close(c->fd);
    xfree(c);
}

/* A new socket has room for it. What the client still sends is read, or it might not see this. */
static bool tell_refused(struct turned_away *c)
{
    const struct buf *answer = &c->closed->answer;
    c->told = true;
    return send(c->fd, buf_text(answer), answer->len, MSG_NOSIGNAL) == (ssize_t)answer->len &&
           shutdown(c->fd, SHUT_WR) == 0;
}

static void on_refused(void *ctx, unsigned events)
{
    (void)events;
    struct turned_away *c = ctx;
    char thrown_away[CHUNK];
    ssize_t n = read(c->fd, thrown_away, sizeof thrown_away);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    c->got += n > 0 ? (size_t)n : 0;
    bool goes_on = n > 0 && c->got <= CLOSED_PORT_BYTES_MAX && (c->told || tell_refused(c));
    if (!goes_on)
        end_refused(c);
}

static void on_closed_port_accepted(void *ctx, int fd, const struct sockaddr *from, socklen_t n)
{
    (void)from, (void)n;
    struct closed_port *r = ctx;
    struct turned_away *oldest = r->connections;
    while (oldest && oldest->next)
        oldest = oldest->next;
    if (r->count == CLOSED_PORT_MAX)
        end_refused(oldest);
    struct turned_away *c = NEW(struct turned_away);
    *c = (struct turned_away){.closed = r, .fd = fd};
    list_push(&r->connections, c);
    r->count++;
    if (loop_io_add(r->loop, fd, LOOP_IN, on_refused, c, &c->io, NULL) < 0)
        end_refused(c);
    else
        loop_timer_set(r->loop, &c->end, CLOSED_PORT_MS, end_refused, c);
}

static bool is_elsewhere(const struct ifaddrs *at)
{
    if (!at->ifa_addr || !(at->ifa_flags & IFF_UP) || at->ifa_flags & IFF_LOOPBACK)
        return false;
    if (at->ifa_addr->sa_family == AF_INET)
        return true;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)at->ifa_addr;
    return at->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
}

static void listen_elsewhere(struct closed_port *r, int port)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) < 0)
        return;
    for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
        char host[ADDRESS_MAX];
        struct err e = ERR_NONE; /* another program may have it */
        if (is_elsewhere(at) &&
            getnameinfo(at->ifa_addr,
                        at->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                           : sizeof(struct sockaddr_in6),
                        host, sizeof host, NULL, 0, NI_NUMERICHOST) == 0)
            (void)!listener_more(r->listener, host, port, &e);
    }
    freeifaddrs(all);
}

struct closed_port *closed_port_open(struct loop *loop, int port, const char *text)
{
    struct closed_port *r = NEW(struct closed_port);
    *r = (struct closed_port){.loop = loop, .answer = BUF_INIT(ANSWER_MAX)};
    (void)buf_addf(
        &r->answer,
        "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Content-Length: %zu\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n%s\n",
        strlen(text) + 1, text);
    if (listener_open(loop, NULL, 0, NULL, on_closed_port_accepted, r, &r->listener, NULL) < 0)
        return closed_port_close(r);
    if (port > 0)
        listen_elsewhere(r, port);
    return r;
}

int closed_port_more(struct closed_port *r, const char *host, int port, struct err *e)
{
    return listener_more(r->listener, host, port, e);
}

int closed_port_port(const struct closed_port *r)
{
    return listener_port(r->listener);
}

struct closed_port *closed_port_close(struct closed_port *r)
{
    if (!r)
        return NULL;
    r->listener = listener_close(r->listener);
    while (r->connections)
        end_refused(r->connections);
    buf_done(&r->answer);
    xfree(r);
    return NULL;
}
