/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/net/proxy.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/list.h"
#include "sandbox/net/flow.h"
#include "sandbox/net/proxy_request.h"

enum {
    HEAD_CAP = PROXY_HEAD_MAX + 512, /* Host and Connection are written anew */
    TURN = 16,                       /* chunks, then others have theirs */
    DIAL_STACK = 256 * 1024,
};

_Static_assert(FLOW_MAX >= PROXY_HEAD_MAX, "a request fits");

enum proxy_state { GREETING, REQUEST, DIALLING, RELAY, SAYING_NO };

struct proxy_connection {
    struct proxy_connection *prev, *next;
    struct proxy *proxy;
    enum proxy_state state;
    struct dial *dial;
    struct loop_timer timer;
    struct loop_defer again;
    struct buf head;      /* goes to the host before flows[0] */
    struct end ends[2];   /* the client, the host */
    struct flow flows[2]; /* out of the client, out of the host */
};

struct dial { /* of a thread; then comes back through the pipe */
    struct proxy *proxy;
    struct proxy_connection *connection; /* NULL: it was closed meanwhile */
    char host[PROXY_HOST_MAX + 1];
    uint16_t port;
    int result;
};

struct proxy {
    struct loop *loop;
    enum proxy_kind kind;
    proxy_dial_fn dial;
    void *ctx;
    int fd;
    struct loop_io *io;
    int dialled[2]; /* a pipe of struct dial * */
    struct loop_io *dialled_io;
    int dials, count;
    struct proxy_connection *connections;
};

static void hang_up_proxy(struct proxy_connection *connection)
{
    struct proxy *proxy = connection->proxy;
    loop_timer_stop(proxy->loop, &connection->timer);
    loop_defer_stop(proxy->loop, &connection->again);
    for (int i = 0; i < 2; i++) {
        connection->ends[i].io = loop_io_del(connection->ends[i].io);
        (void)fd_close(connection->ends[i].fd);
    }
    if (connection->dial)
        connection->dial->connection = NULL;
    list_remove(&proxy->connections, connection);
    proxy->count--;
    loop_io_set(proxy->io, LOOP_IN);
    buf_done(&connection->head);
    xfree(connection);
}

static void on_time(void *ctx)
{
    hang_up_proxy(ctx);
}

static void work_on_proxied(struct proxy_connection *connection);

static void work_again(void *ctx)
{
    work_on_proxied(ctx);
}

static void on_proxy_event(void *ctx, struct end *end, unsigned events)
{
    struct proxy_connection *connection = ctx;
    if (events & LOOP_HUP) {
        end->io = loop_io_del(end->io);
        end->hung_up = true;
    }
    work_on_proxied(connection);
}

static void on_proxy_client(void *ctx, unsigned events)
{
    struct proxy_connection *connection = ctx;
    on_proxy_event(ctx, &connection->ends[0], events);
}

static void on_host(void *ctx, unsigned events)
{
    struct proxy_connection *connection = ctx;
    on_proxy_event(ctx, &connection->ends[1], events);
}

static int drain_head(struct proxy_connection *connection)
{
    struct buf *head = &connection->head;
    if (head->len == 0)
        return 0;
    ssize_t sent = flow_put(&connection->ends[1], head->data, head->len);
    if (sent > 0)
        buf_cut_front(head, (size_t)sent);
    return sent < 0 ? (int)sent : sent > 0;
}

static void say_proxy_answer(struct proxy_connection *connection, const void *bytes, size_t n)
{
    struct flow *flow = &connection->flows[1]; /* only short words, while the host is silent */
    memcpy(flow->data + flow->to, bytes, n);
    flow->to += n;
}

/* --- what is asked ---------------------------------------------------------------------------- */

/* What srt's proxy answers; clients show it. */
static const char blocked[] = "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n"
                              "X-Proxy-Error: blocked-by-allowlist\r\nContent-Length: 39\r\n"
                              "Connection: close\r\n\r\nConnection blocked by network allowlist";
static const char bad[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n"
                          "Connection: close\r\n\r\n";
static const char unreachable[] = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n"
                                  "Connection: close\r\n\r\n";
static const char established[] = "HTTP/1.1 200 Connection Established\r\n\r\n";

enum socks_code { SOCKS_OK, SOCKS_FAILED, SOCKS_REFUSED, SOCKS_UNREACHABLE = 4, SOCKS_COMMAND = 7 };

static void say_socks(struct proxy_connection *connection, enum socks_code code)
{
    const char answer[] = {5, (char)code, 0, 1, 0, 0, 0, 0, 0, 0};
    say_proxy_answer(connection, answer, sizeof answer);
}

/* Says why and ends the connection once it is said. */
static void refuse_proxied(struct proxy_connection *connection, int error)
{
    const char *text = error == -EACCES                          ? blocked
                       : error == -EBADMSG || error == -EMSGSIZE ? bad
                                                                 : unreachable;
    if (connection->proxy->kind == PROXY_HTTP)
        say_proxy_answer(connection, text, strlen(text));
    else if (connection->state != GREETING)
        say_socks(connection, error == -EACCES    ? SOCKS_REFUSED
                              : error == -ENOTSUP ? SOCKS_COMMAND
                              : error == -EBADMSG ? SOCKS_FAILED
                                                  : SOCKS_UNREACHABLE);
    else if (error == -ENOTSUP)
        say_proxy_answer(connection, "\5\xFF", 2);
    connection->state = SAYING_NO;
    connection->flows[1].over = true;
}

static void *run_dial(void *ctx)
{
    struct dial *dial = ctx;
    struct proxy *proxy = dial->proxy;
    dial->result = proxy->dial(proxy->ctx, dial->host, dial->port);
    (void)!write(proxy->dialled[1], &dial, sizeof dial); /* there is room for all of them */
    return NULL;
}

static int start_dial(struct proxy_connection *connection, const struct proxy_request *request)
{
    struct proxy *proxy = connection->proxy;
    if (proxy->dials >= PROXY_CONNECTIONS_MAX)
        return -EAGAIN;
    struct dial *dial = NEW(struct dial);
    *dial = (struct dial){.proxy = proxy, .connection = connection, .port = request->port};
    memcpy(dial->host, request->host, sizeof dial->host);
    pthread_attr_t attr;
    pthread_t thread;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, DIAL_STACK);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int r = pthread_create(&thread, &attr, run_dial, dial);
    (void)pthread_attr_destroy(&attr);
    if (r != 0) {
        xfree(dial);
        return -r;
    }
    proxy->dials++;
    connection->dial = dial;
    connection->state = DIALLING;
    return 0;
}

static int read_proxy_request(struct proxy_connection *connection, struct proxy_request *ret)
{
    const struct flow *flow = &connection->flows[0];
    return proxy_http_read(flow->data, flow->to, ret, &connection->head);
}

static int read_socks(struct proxy_connection *connection, struct proxy_request *ret)
{
    struct flow *flow = &connection->flows[0];
    const uint8_t *bytes = (const uint8_t *)flow->data + flow->from;
    if (connection->state == GREETING) {
        size_t used;
        int r = proxy_socks_greet(bytes, flow->to - flow->from, &used);
        if (r <= 0)
            return r;
        flow->from += used;
        bytes += used;
        connection->state = REQUEST;
        say_proxy_answer(connection, "\5\0", 2);
    }
    return proxy_socks_read(bytes, flow->to - flow->from, ret);
}

static void read_request(struct proxy_connection *connection)
{
    struct flow *flow = &connection->flows[0];
    struct proxy_request request;
    int r = connection->proxy->kind == PROXY_HTTP ? read_proxy_request(connection, &request)
                                                  : read_socks(connection, &request);
    if (r == 0 && (flow->over || flow->to == FLOW_MAX))
        r = -EBADMSG;
    if (r > 0) {
        flow->from += request.used;
        if (flow->from == flow->to)
            flow->from = flow->to = 0;
        r = start_dial(connection, &request);
    }
    if (r < 0)
        refuse_proxied(connection, r);
}

static void on_dialled(void *ctx, unsigned events)
{
    struct proxy *proxy = ctx;
    struct dial *dial;
    struct err e;
    (void)events;
    if (read(proxy->dialled[0], &dial, sizeof dial) != sizeof dial)
        return;
    struct proxy_connection *connection = dial->connection;
    int result = dial->result;
    proxy->dials--;
    xfree(dial);
    if (!connection) {
        (void)fd_close(result);
        return;
    }
    struct end *host = &connection->ends[1];
    connection->dial = NULL;
    if (result >= 0 &&
        loop_io_add(proxy->loop, result, LOOP_IN, on_host, connection, &host->io, &e) < 0)
        result = (fd_close(result), -EAGAIN);
    if (result < 0) {
        refuse_proxied(connection, result);
    } else {
        host->fd = result;
        connection->state = RELAY;
        if (proxy->kind == PROXY_SOCKS)
            say_socks(connection, SOCKS_OK);
        else if (connection->head.len == 0)
            say_proxy_answer(connection, established, sizeof established - 1);
    }
    work_on_proxied(connection);
}

/* --- one connection --------------------------------------------------------------------------- */

static bool is_relayed(const struct proxy_connection *connection)
{
    return connection->state == RELAY;
}

/* A host that takes no more may have said something before: that is still passed on. */
static int move_host(struct proxy_connection *connection)
{
    const struct end *host = &connection->ends[1];
    struct flow *out = &connection->flows[0], *in = &connection->flows[1];
    int sent = drain_head(connection);
    if (sent >= 0 && connection->head.len == 0)
        sent |= flow_drain(host, out);
    if (sent < 0) {
        buf_clear(&connection->head);
        out->from = out->to = 0;
        out->over = out->passed_on = true;
    }
    int came = in->to == 0 ? flow_fill(host, in) : 0;
    if (came < 0)
        in->over = true;
    return sent > 0 || came != 0;
}

/* Moves what can be moved: 1 when something was, -errno when an end is broken. */
static int move_bytes(struct proxy_connection *connection)
{
    const struct end *client = &connection->ends[0];
    struct flow *out = &connection->flows[0], *in = &connection->flows[1];
    bool asks = connection->state == GREETING || connection->state == REQUEST;
    int moved = 0, r = 0;
    if (asks || (is_relayed(connection) && out->to == 0))
        moved |= r = flow_fill(client, out);
    if (r >= 0 && asks && r > 0)
        read_request(connection);
    if (r >= 0 && is_relayed(connection))
        moved |= move_host(connection);
    if (r >= 0)
        moved |= r = flow_drain(client, in);
    return r < 0 ? r : moved != 0;
}

static void watch_proxied(struct proxy_connection *connection)
{
    const struct flow *out = &connection->flows[0], *in = &connection->flows[1];
    bool asks = connection->state == GREETING || connection->state == REQUEST;
    bool relayed = is_relayed(connection);
    bool to_host = connection->head.len > 0 || out->to > out->from;
    unsigned client = (asks || (relayed && !out->over && out->to == 0) ? LOOP_IN : 0U) |
                      (in->to > in->from ? LOOP_OUT : 0U);
    unsigned host =
        (relayed && !in->over && in->to == 0 ? LOOP_IN : 0U) | (relayed && to_host ? LOOP_OUT : 0U);
    if (connection->ends[0].io)
        loop_io_set(connection->ends[0].io, client);
    if (connection->ends[1].io)
        loop_io_set(connection->ends[1].io, host);
}

static void work_on_proxied(struct proxy_connection *connection)
{
    struct loop *loop = connection->proxy->loop;
    enum proxy_state before = connection->state;
    int r = 1, turns = 0;
    while (r > 0 && turns++ < TURN)
        r = move_bytes(connection);
    const struct flow *out = &connection->flows[0], *in = &connection->flows[1];
    bool done = in->passed_on && (out->passed_on || connection->state == SAYING_NO);
    /* A client that is gone needs no host; one that only said all it had to say does. */
    bool gone = connection->ends[0].hung_up && connection->state != RELAY;
    if (r < 0 || done || gone) {
        hang_up_proxy(connection);
        return;
    }
    if (r > 0)
        loop_defer(loop, &connection->again, work_again, connection);
    bool waits = connection->state == GREETING || connection->state == REQUEST;
    if (!waits || before != connection->state)
        loop_timer_set(loop, &connection->timer, waits ? PROXY_REQUEST_MS : PROXY_IDLE_MS, on_time,
                       connection);
    watch_proxied(connection);
}

static void on_proxy_connection(void *ctx, unsigned events)
{
    struct proxy *proxy = ctx;
    struct err e;
    (void)events;
    drop_fd int fd = accept4(proxy->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct proxy_connection *connection = NEW(struct proxy_connection);
    connection->proxy = proxy;
    connection->state = proxy->kind == PROXY_SOCKS ? GREETING : REQUEST;
    connection->head = BUF_INIT(HEAD_CAP);
    connection->ends[0].fd = connection->ends[1].fd = -1;
    if (loop_io_add(proxy->loop, fd, LOOP_IN, on_proxy_client, connection, &connection->ends[0].io,
                    &e) < 0) {
        xfree(connection);
        return;
    }
    connection->ends[0].fd = fd_take(&fd);
    list_push(&proxy->connections, connection);
    if (++proxy->count >= PROXY_CONNECTIONS_MAX)
        loop_io_set(proxy->io, 0);
    loop_timer_set(proxy->loop, &connection->timer, PROXY_REQUEST_MS, on_time, connection);
}

int proxy_open(struct loop *loop, enum proxy_kind kind, int fd, proxy_dial_fn dial, void *ctx,
               struct proxy **ret, struct err *e)
{
    struct proxy *proxy = NEW(struct proxy);
    *proxy = (struct proxy){
        .loop = loop, .kind = kind, .dial = dial, .ctx = ctx, .fd = fd, .dialled = {-1, -1}};
    int r = 0;
    if (pipe2(proxy->dialled, O_CLOEXEC) < 0)
        r = err_set(e, -errno, "a pipe: %s", strerror(errno));
    if (r == 0)
        r = loop_io_add(loop, proxy->dialled[0], LOOP_IN, on_dialled, proxy, &proxy->dialled_io, e);
    if (r == 0)
        r = loop_io_add(loop, fd, LOOP_IN, on_proxy_connection, proxy, &proxy->io, e);
    if (r < 0)
        proxy = proxy_free(proxy);
    else
        *ret = proxy;
    return r;
}

struct proxy *proxy_free(struct proxy *proxy)
{
    if (!proxy)
        return NULL;
    while (proxy->connections)
        hang_up_proxy(proxy->connections);
    while (proxy->dials > 0)
        on_dialled(proxy, 0); /* blocks until the next one has come back */
    (void)loop_io_del(proxy->dialled_io);
    (void)loop_io_del(proxy->io);
    (void)fd_close(proxy->dialled[0]);
    (void)fd_close(proxy->dialled[1]);
    (void)fd_close(proxy->fd);
    xfree(proxy);
    return NULL;
}
