/* SPDX-License-Identifier: Apache-2.0 */
#include "front/http/ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"

#define PASSED "IPYBOX_LISTENERS" /* their numbers, each with a comma behind it */

enum { BACKLOG = 256, TEXT_MAX = 128 };

int ahead_socket(const struct sockaddr *at, socklen_t n)
{
    int on = 1;
    drop_fd int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0)
        return -errno;
    if (at->sa_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, at, n) < 0 || listen(fd, BACKLOG) < 0)
        return -errno;
    return fd_take(&fd);
}

static in_port_t *socket_port(struct sockaddr *at)
{
    return at->sa_family == AF_INET6 ? &((struct sockaddr_in6 *)(void *)at)->sin6_port
                                     : &((struct sockaddr_in *)(void *)at)->sin_port;
}

void ahead_listen(struct ahead *ahead, const char *host, int port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICHOST};
    struct addrinfo *found = NULL;
    if (strcmp(host, "localhost") == 0) {
        ahead_listen(ahead, "127.0.0.1", port);
        ahead_listen(ahead, "::1", port);
    }
    if (port == 0 || getaddrinfo(host, NULL, &hints, &found) != 0)
        return;
    for (struct addrinfo *at = found; at && ahead->count < AHEAD_MAX; at = at->ai_next) {
        if (at->ai_family != AF_INET && at->ai_family != AF_INET6)
            continue;
        *socket_port(at->ai_addr) = htons((uint16_t)port);
        int fd = ahead_socket(at->ai_addr, at->ai_addrlen);
        if (fd >= 0)
            ahead->fds[ahead->count++] = fd;
    }
    freeaddrinfo(found);
}

int ahead_tell(const struct ahead *ahead, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(TEXT_MAX);
    for (size_t i = 0; i < ahead->count; i++)
        (void)buf_addf(&text, "%d,", ahead->fds[i]);
    if (ahead->count > 0 && setenv(PASSED, buf_text(&text), 1) < 0)
        return err_set(e, -errno, "setenv: %s", strerror(errno));
    return 0;
}

void ahead_pass(const struct ahead *ahead)
{
    for (size_t i = 0; i < ahead->count; i++)
        (void)fcntl(ahead->fds[i], F_SETFD, 0);
}

static bool is_listening(int fd)
{
    int on = 0;
    socklen_t n = sizeof on;
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &n) == 0 && on != 0;
}

void ahead_inherit(struct ahead *ret)
{
    const char *text = getenv(PASSED);
    *ret = (struct ahead){0};
    while (text && *text && ret->count < AHEAD_MAX) {
        char *end = NULL;
        long fd = strtol(text, &end, 10);
        if (end == text || *end != ',' || fd <= STDERR_FILENO)
            break;
        if (is_listening((int)fd) && fcntl((int)fd, F_SETFD, FD_CLOEXEC) == 0)
            ret->fds[ret->count++] = (int)fd;
        text = end + 1;
    }
    (void)unsetenv(PASSED);
}

/* Scope ids and flow labels are not the same on both sides. */
static bool is_same(struct sockaddr *a, struct sockaddr *b)
{
    if (a->sa_family != b->sa_family || *socket_port(a) != *socket_port(b))
        return false;
    if (a->sa_family == AF_INET6)
        return memcmp(&((struct sockaddr_in6 *)(void *)a)->sin6_addr,
                      &((struct sockaddr_in6 *)(void *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
    return ((struct sockaddr_in *)(void *)a)->sin_addr.s_addr ==
           ((struct sockaddr_in *)(void *)b)->sin_addr.s_addr;
}

int ahead_take(struct ahead *ahead, const struct sockaddr *at, socklen_t n)
{
    struct sockaddr_storage wanted = {0};
    memcpy(&wanted, at, n);
    for (size_t i = 0; ahead && i < ahead->count; i++) {
        struct sockaddr_storage has;
        socklen_t size = sizeof has;
        if (getsockname(ahead->fds[i], (struct sockaddr *)(void *)&has, &size) < 0 ||
            !is_same((struct sockaddr *)(void *)&has, (struct sockaddr *)(void *)&wanted))
            continue;
        int fd = ahead->fds[i];
        ahead->fds[i] = ahead->fds[--ahead->count];
        return fd;
    }
    return -1;
}

void ahead_close(struct ahead *ahead)
{
    while (ahead->count > 0)
        (void)fd_close(ahead->fds[--ahead->count]);
}
