/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection to the HTTP door, WebSockets included: the first byte of the input says in pieces of
 * what size the rest arrives. Handlers see nothing but clean text, each of them ends exactly once,
 * and what comes back is HTTP. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text/utf8.h"
#include "front/http/http.h"
#include "front/http/http_auth.h"

enum { TURNS_MAX = 1000, WAIT_MS = 10 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static struct http *http;
static size_t open_requests, open_sockets;

static void check_text(const char *text)
{
    if (text && !utf8_valid(text, strlen(text)))
        abort();
}

static void check_request(const struct http_request *r)
{
    char token[HTTP_TOKEN_MAX + 1];
    const char *rest = http_param(r, "rest"), *host = http_header(r, "Host");
    check_text(http_path(r));
    check_text(http_param(r, "id"));
    check_text(http_query(r, "q"));
    if (!host || strncmp(host, "evil", 4) == 0 || http_header(r, "Origin"))
        abort();
    for (const char *at = rest; at && *at; at += strcspn(at, "/"), at += *at == '/')
        if (strcspn(at, "/") == 2 && strncmp(at, "..", 2) == 0)
            abort();
    (void)http_token(r, token);
}

static void echo(void *ctx, struct http_request *r)
{
    (void)ctx;
    check_request(r);
    http_answer_json(r, 200, http_body(r));
}

static void on_gone(void *ctx)
{
    (void)ctx;
    open_requests--;
}

static void on_end(void *ctx)
{
    open_requests--;
    http_answer(ctx, 200, NULL, 0, "end", 3);
}

static void on_body(void *ctx, const char *bytes, size_t n)
{
    if (n > 0 && bytes[0] == 'p') {
        http_pause(ctx);
        http_continue(ctx);
    }
}

static const struct http_events events = {.body = on_body, .end = on_end, .gone = on_gone};

static void receive(void *ctx, struct http_request *r)
{
    (void)ctx;
    check_request(r);
    open_requests++;
    http_watch(r, &events, r);
}

static void stream(void *ctx, struct http_request *r)
{
    (void)ctx;
    check_request(r);
    http_stream_begin(r, 200, NULL, 0, -1);
    if (http_stream_write(r, "part", 4) < 0)
        abort();
    http_stream_end(r);
}

static void on_message(void *ctx, bool text, char *bytes, size_t n)
{
    struct ws **ws = ctx;
    if (text && !utf8_valid(bytes, n))
        abort();
    if (bytes[n] != '\0')
        abort();
    if (n == 4 && memcmp(bytes, "exit", 4) == 0) {
        ws_close(*ws, WS_NORMAL, "exit");
        open_sockets--;
        xfree(ws);
    } else if (ws_send(*ws, text, bytes, n, NULL) == -EPIPE) {
        abort();
    }
}

static void on_closed(void *ctx, int code, const char *reason)
{
    (void)code;
    check_text(reason);
    open_sockets--;
    xfree(ctx);
}

static void upgrade(void *ctx, struct http_request *r)
{
    static const struct ws_events ws_events = {.message = on_message, .closed = on_closed};
    (void)ctx;
    check_request(r);
    struct ws **ws = xcalloc(1, sizeof(struct ws *));
    if (http_upgrade(r, http_header(r, "Sec-WebSocket-Protocol"), &ws_events, ws, ws) < 0)
        xfree(ws);
    else
        open_sockets++;
}

static const struct http_route routes[] = {
    {"GET", "/e", HTTP_NO_BODY, 0, NULL, 0, echo},
    {"POST", "/e", HTTP_COLLECT, 100, NULL, 0, echo},
    {"GET", "/i/{id}", HTTP_NO_BODY, 0, NULL, 0, echo},
    {"GET", "/f/{rest*}", HTTP_NO_BODY, 0, NULL, 0, echo},
    {"PUT", "/u", HTTP_RECEIVE, 200, "text/plain", 0, receive},
    {"GET", "/s", HTTP_NO_BODY, 0, NULL, 0, stream},
    {"GET", "/w", HTTP_WEBSOCKET, 0, NULL, 0, upgrade},
};

static void open_once(void)
{
    static struct http_limits limits;
    if (http)
        return;
    limits = http_limits_default;
    limits.header_bytes = 2048;
    limits.ws.message_max = 200;
    struct http_config config = {.host = "127.0.0.1",
                                 .limits = &limits,
                                 .routes = routes,
                                 .n_routes = sizeof routes / sizeof *routes};
    if (loop_new(&loop, NULL) < 0)
        abort();
    config.loop = loop;
    if (http_open(&config, &http, NULL) < 0)
        abort();
}

static int dial(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)http_port(http)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct linger linger = {.l_onoff = 1}; /* no port is kept behind it */
    if (fd < 0 || connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) < 0 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        abort();
    return fd;
}

static void hear(int fd, struct buf *got)
{
    char bytes[4096];
    for (int i = 0; i < 4; i++)
        loop_turn(loop, 0);
    for (ssize_t n; (n = recv(fd, bytes, sizeof bytes, 0)) > 0;)
        (void)buf_add(got, bytes, (size_t)n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_once();
    if (size == 0)
        return 0;
    drop_buf struct buf got = BUF_INIT((size_t)1 << 20);
    size_t step = data[0] ? data[0] : size;
    int fd = dial();
    for (size_t at = 1; at < size;) {
        size_t n = size - at < step ? size - at : step;
        ssize_t sent = send(fd, data + at, n, MSG_NOSIGNAL);
        if (sent <= 0)
            break;
        at += (size_t)sent;
        hear(fd, &got);
    }
    (void)fd_close(fd);
    for (int i = 0; i < TURNS_MAX && open_requests + open_sockets > 0; i++)
        loop_turn(loop, WAIT_MS);
    if (open_requests + open_sockets > 0)
        abort();
    if (got.len > 0 && strncmp(buf_text(&got), "HTTP/1.1 ", got.len < 9 ? got.len : 9) != 0)
        abort();
    return 0;
}
