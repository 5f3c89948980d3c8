/* SPDX-License-Identifier: Apache-2.0 */
#include "front/http/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

enum { ADDRESSES_MAX = 4, SOCKETS_MAX = 16, ACCEPTS_PER_TURN = 32, FULL_MS = 100 };
enum { KEEP_IDLE_S = 60, KEEP_INTERVAL_S = 15, KEEP_PROBES = 4 };
enum { UNHEARD_MS = (KEEP_IDLE_S + KEEP_INTERVAL_S * KEEP_PROBES) * 1000 };

struct listener {
    struct loop *loop;
    void (*accepted)(void *ctx, int fd, const struct sockaddr *from, socklen_t n);
    void *ctx;
    int fds[SOCKETS_MAX];
    struct loop_io *io[SOCKETS_MAX];
    size_t count;
    bool on;
    struct loop_timer again;
};

static void apply(struct listener *l)
{
    for (size_t i = 0; i < l->count; i++)
        loop_io_set(l->io[i], l->on && !l->again.armed ? LOOP_IN : 0);
}

static void on_again(void *ctx)
{
    apply(ctx);
}

void listener_set(struct listener *l, bool on)
{
    if (l->on == on)
        return;
    l->on = on;
    apply(l);
}

/* A peer that has vanished without a word, while its answer takes hours. Where something was sent
 * that it has not acknowledged the system does not probe, but repeats that, for a quarter of an
 * hour or more: with the other limit it gives up as early. So it does where the peer has no room
 * for a byte of it. */
static void set_keep_alive(int fd)
{
    int on = 1, idle = KEEP_IDLE_S, interval = KEEP_INTERVAL_S, probes = KEEP_PROBES;
    unsigned unheard = UNHEARD_MS;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unheard, sizeof unheard);
}

static void accept_some(struct listener *l, int listener)
{
    for (int n = 0; n < ACCEPTS_PER_TURN && l->on; n++) {
        struct sockaddr_storage from;
        socklen_t len = sizeof from;
        struct sockaddr *at = (struct sockaddr *)(void *)&from;
        int on = 1, fd = accept4(listener, at, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
                loop_timer_set(l->loop, &l->again, FULL_MS, on_again, l);
                apply(l);
            }
            return;
        }
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        set_keep_alive(fd);
        l->accepted(l->ctx, fd, at, len);
    }
}

static void on_listener_connection(void *ctx, unsigned events)
{
    (void)events;
    struct listener *l = ctx;
    for (size_t i = 0; i < l->count; i++)
        accept_some(l, l->fds[i]);
}

static void set_port(struct sockaddr *at, int port)
{
    if (at->sa_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)at)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)(void *)at)->sin_port = htons((uint16_t)port);
}

static int listen_at_address(struct listener *l, const struct addrinfo *at, int port,
                             struct ahead *ahead)
{
    set_port(at->ai_addr, port);
    drop_fd int fd = ahead_take(ahead, at->ai_addr, at->ai_addrlen);
    if (fd < 0)
        fd = ahead_socket(at->ai_addr, at->ai_addrlen);
    if (fd < 0)
        return fd_take(&fd);
    int r = loop_io_add(l->loop, fd, LOOP_IN, on_listener_connection, l, &l->io[l->count], NULL);
    if (r < 0)
        return r;
    l->fds[l->count++] = fd_take(&fd);
    return 0;
}

/* A name may have addresses that this machine does not: ::1 where there is no IPv6. */
static int listen_all(struct listener *l, const char *host, int port, struct ahead *ahead,
                      struct err *e)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    int r = getaddrinfo(host, NULL, &hints, &found);
    if (r != 0)
        return err_set(e, -EINVAL, "the host %s: %s", host, gai_strerror(r));
    size_t before = l->count, most = before + ADDRESSES_MAX;
    most = most < SOCKETS_MAX - 1 ? most : SOCKETS_MAX - 1; /* one is listener_add()'s */
    r = -EADDRNOTAVAIL;
    for (struct addrinfo *at = found; at && l->count < most; at = at->ai_next) {
        if (at->ai_family != AF_INET && at->ai_family != AF_INET6)
            continue;
        int failed = listen_at_address(l, at, port, ahead);
        if (failed < 0 && failed != -EADDRNOTAVAIL && failed != -EAFNOSUPPORT)
            r = failed;
        else if (failed == 0 && port == 0)
            port = listener_port(l);
    }
    freeaddrinfo(found);
    if (l->count > before)
        return 0;
    return err_set(e, r, "cannot listen on %s, port %d: %s%s", host, port, strerror(-r),
                   r == -EADDRINUSE ? "; name another port, or end the program that has it" : "");
}

/* Without asking anybody: where a container has no network, it has no /etc/hosts either, and the
 * question would wait for a name server. */
static int listen_at_host(struct listener *l, const char *host, int port, struct ahead *ahead,
                          struct err *e)
{
    if (strcmp(host, "localhost") != 0)
        return listen_all(l, host, port, ahead, e);
    int r = listen_all(l, "127.0.0.1", port, ahead, e);
    struct err no_ipv6 = ERR_NONE;
    if (r == 0)
        (void)!listen_all(l, "::1", port > 0 ? port : listener_port(l), ahead, &no_ipv6);
    return r;
}

int listener_open(struct loop *loop, const char *host, int port, struct ahead *ahead,
                  void (*accepted)(void *ctx, int fd, const struct sockaddr *from, socklen_t n),
                  void *ctx, struct listener **ret, struct err *e)
{
    struct listener *l = NEW(struct listener);
    *l = (struct listener){.loop = loop, .accepted = accepted, .ctx = ctx, .on = true};
    int r = host ? listen_at_host(l, host, port, ahead, e) : 0;
    if (r < 0) {
        (void)listener_close(l);
        return r;
    }
    *ret = l;
    return 0;
}

int listener_more(struct listener *l, const char *host, int port, struct err *e)
{
    return listen_at_host(l, host, port, NULL, e);
}

int listener_add(struct listener *l, int fd, struct err *e)
{
    int r = loop_io_add(l->loop, fd, LOOP_IN, on_listener_connection, l, &l->io[l->count], e);
    if (r < 0)
        (void)fd_close(fd);
    else
        l->fds[l->count++] = fd;
    return r;
}

struct listener *listener_close(struct listener *l)
{
    if (!l)
        return NULL;
    loop_timer_stop(l->loop, &l->again);
    for (size_t i = 0; i < l->count; i++) {
        (void)loop_io_del(l->io[i]);
        (void)fd_close(l->fds[i]);
    }
    xfree(l);
    return NULL;
}

int listener_port_of(const struct sockaddr_storage *at)
{
    if (at->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)at)->sin6_port);
    if (at->ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)(const void *)at)->sin_port);
    return 0;
}

int listener_port(const struct listener *l)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    if (l->count == 0 || getsockname(l->fds[0], (struct sockaddr *)(void *)&at, &n) < 0)
        return 0;
    return listener_port_of(&at);
}
