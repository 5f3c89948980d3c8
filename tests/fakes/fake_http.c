/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fake_http.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"

struct fake_http {
    struct loop *loop;
    fake_http_fn fn;
    int fd;
    struct loop_io *io;
    struct fake_conn *first;
    size_t accepted, open;
};

struct fake_conn {
    struct fake_http *server;
    struct fake_conn *next;
    int fd;
    struct loop_io *io;
    struct buf in, out;
    char *head; /* of the request at hand */
    char value[4096];
    bool ending;
};

static void end_now(struct fake_conn *c)
{
    if (c->fd < 0)
        return;
    c->io = loop_io_del(c->io);
    c->fd = fd_close(c->fd);
    c->server->open--;
}

static void flush_out(struct fake_conn *c)
{
    while (c->fd >= 0 && c->out.len > 0) {
        ssize_t n = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0)
            break;
        buf_cut_front(&c->out, (size_t)n);
    }
    if (c->fd >= 0 && c->out.len > 0)
        loop_io_set(c->io, LOOP_IN | LOOP_OUT);
    else if (c->ending)
        end_now(c);
    else if (c->fd >= 0)
        loop_io_set(c->io, LOOP_IN);
}

void fake_say_n(struct fake_conn *c, const char *bytes, size_t n)
{
    (void)buf_add(&c->out, bytes, n);
    flush_out(c);
}

void fake_say(struct fake_conn *c, const char *text)
{
    fake_say_n(c, text, strlen(text));
}

void fake_answer(struct fake_conn *c, const char *head, const char *body)
{
    drop_str char *text =
        xasprintf("HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", head, strlen(body), body);
    fake_say(c, text);
}

void fake_end(struct fake_conn *c)
{
    c->ending = true;
    flush_out(c);
}

const char *fake_header(struct fake_conn *c, const char *name)
{
    drop_str char *line = xasprintf("\r\n%s: ", name);
    const char *at = strcasestr(c->head, line);
    if (!at)
        return NULL;
    at += strlen(line);
    size_t n = strcspn(at, "\r");
    n = n < sizeof c->value - 1 ? n : sizeof c->value - 1;
    memcpy(c->value, at, n);
    c->value[n] = '\0';
    return c->value;
}

/* Hands on one request; false: it is not whole yet. */
static bool take_request(struct fake_conn *c)
{
    char *end = c->in.len > 0 ? strstr(c->in.data, "\r\n\r\n") : NULL;
    if (!end)
        return false;
    c->head = xstrndup(c->in.data, (size_t)(end - c->in.data) + 2);
    const char *length = fake_header(c, "Content-Length");
    char *digits = NULL;
    size_t n_body = length ? strtoul(length, &digits, 10) : 0;
    size_t n_head = (size_t)(end - c->in.data) + 4;
    bool whole = c->in.len >= n_head + n_body;
    if (whole) {
        drop_str char *body = xstrndup(c->in.data + n_head, n_body);
        drop_str char *words = xstrndup(c->head, strcspn(c->head, "\r"));
        buf_cut_front(&c->in, n_head + n_body);
        char *path = strchr(words, ' ');
        *path++ = '\0';
        path[strcspn(path, " ")] = '\0';
        c->server->fn(c, &(struct fake_request){words, path, body, n_body});
    }
    xfree(c->head);
    c->head = NULL;
    return whole && c->fd >= 0;
}

static void on_bytes(void *ctx, unsigned events)
{
    struct fake_conn *c = ctx;
    (void)events;
    if (buf_reserve(&c->in, 65536) < 0)
        abort();
    ssize_t n = recv(c->fd, c->in.data + c->in.len, 65536, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        end_now(c);
        return;
    }
    if (n > 0) {
        c->in.len += (size_t)n;
        c->in.data[c->in.len] = '\0';
    }
    flush_out(c);
    while (c->fd >= 0 && take_request(c))
        ;
}

static void on_connection(void *ctx, unsigned events)
{
    (void)events;
    struct fake_http *server = ctx;
    int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct fake_conn *c = NEW(struct fake_conn);
    *c = (struct fake_conn){.server = server,
                            .next = server->first,
                            .fd = fd,
                            .in = BUF_INIT((size_t)256 << 20),
                            .out = BUF_INIT((size_t)256 << 20)};
    server->first = c;
    server->accepted++;
    server->open++;
    if (loop_io_add(server->loop, fd, LOOP_IN, on_bytes, c, &c->io, NULL) < 0)
        abort();
}

struct fake_http *fake_http_open(struct loop *loop, fake_http_fn fn)
{
    struct fake_http *server = NEW(struct fake_http);
    *server = (struct fake_http){.loop = loop, .fn = fn};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(server->fd, (const struct sockaddr *)(const void *)&at, sizeof at) < 0 ||
        listen(server->fd, 64) < 0 ||
        loop_io_add(loop, server->fd, LOOP_IN, on_connection, server, &server->io, NULL) < 0)
        abort();
    return server;
}

struct fake_http *fake_http_close(struct fake_http *server)
{
    (void)loop_io_del(server->io);
    (void)fd_close(server->fd);
    while (server->first) {
        struct fake_conn *c = server->first;
        server->first = c->next;
        end_now(c);
        buf_done(&c->in);
        buf_done(&c->out);
        xfree(c);
    }
    xfree(server);
    return NULL;
}

int fake_http_port(const struct fake_http *server)
{
    struct sockaddr_in at = {0};
    socklen_t n = sizeof at;
    if (getsockname(server->fd, (struct sockaddr *)(void *)&at, &n) < 0)
        abort();
    return ntohs(at.sin_port);
}

size_t fake_http_connections(const struct fake_http *server)
{
    return server->accepted;
}

size_t fake_http_open_connections(const struct fake_http *server)
{
    return server->open;
}
