/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/cli/cli_client.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "entrypoint/cli/find.h"
#include "entrypoint/identity/apisocket.h"
#include "front/mcp/ask_text.h"

enum {
    HEAD_MAX = 64 << 10,
    BLOCK = 64 << 10,
    DETAIL_MAX = 64 << 10,
    PATIENCE_MS = 30000,
    COMPLAINT_INDENT = 4, /* of its further lines */
};

/* --- output ----------------------------------------------------------------------------------- */

static bool wait_for_server(int fd, short events, int ms)
{
    struct pollfd p = {fd, events, 0};
    return poll(&p, 1, ms) != 0;
}

void cli_write(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t some = write(fd, bytes, n);
        if (some < 0 && errno == EAGAIN)
            (void)wait_for_server(fd, POLLOUT, -1);
        else if (some < 0 && errno != EINTR)
            return;
        if (some > 0) {
            bytes += some;
            n -= (size_t)some;
        }
    }
}

void cli_put(int fd, const struct buf *text)
{
    cli_write(fd, buf_text(text), text->len);
}

void cli_complain(const char *command, const char *fmt, ...)
{
    drop_buf struct buf text = BUF_INIT(DETAIL_MAX);
    char sentence[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    (void)buf_addf(&text, "ipybox %s: ", command);
    ask_put_visible(&text, sentence, COMPLAINT_INDENT);
    (void)buf_addc(&text, '\n');
    cli_put(STDERR_FILENO, &text);
}

void cli_write_text(int fd, const char *text)
{
    for (const char *nul; (nul = strstr(text, "\xC0\x80")); text = nul + 2) {
        cli_write(fd, text, (size_t)(nul - text));
        cli_write(fd, "", 1);
    }
    cli_write(fd, text, strlen(text));
}

int cli_input(struct buf *ret, struct err *e)
{
    static char block[BLOCK];
    for (;;) {
        ssize_t n = read(STDIN_FILENO, block, sizeof block);
        if (n == 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(e, -errno, "standard input: %s", strerror(errno));
        if (buf_add(ret, block, (size_t)n) < 0)
            return err_set(e, -EINVAL, "standard input is longer than %zu bytes", ret->cap);
    }
}

/* --- one request ------------------------------------------------------------------------------ */

void cli_answer_done(struct cli_answer *a)
{
    a->fd = fd_close(a->fd);
    buf_done(&a->ahead);
}

char *cli_path(const char *before, const char *segment, const char *behind)
{
    drop_buf struct buf path = BUF_INIT(HEAD_MAX);
    (void)buf_adds(&path, before);
    for (const char *c = segment; *c; c++) {
        bool plain = (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
                     (*c >= 'a' && *c <= 'z') || strchr("-._~", *c);
        (void)buf_addf(&path, plain ? "%c" : "%%%02X", (unsigned char)*c);
    }
    (void)buf_adds(&path, behind);
    return xstrdup(buf_text(&path));
}

/* Who listens, the kernel has taken down when listening began. */
static int check_listener(int fd, const char *otherwise, struct err *e)
{
    struct ucred peer;
    socklen_t n = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
        return err_set(e, -errno, "SO_PEERCRED: %s", strerror(errno));
    if (peer.uid != 0)
        return err_set(e, -EPERM,
                       "code in kernels has the same uid (%u) as the process that answers, "
                       "so neither side can recognise the other: %s",
                       peer.uid, otherwise);
    if (geteuid() != 0)
        return err_set(e, -EPERM, "only root may do this: docker exec --user 0 …");
    return 0;
}

static int send_all(int fd, const struct buf *text, struct err *e)
{
    for (size_t sent = 0; sent < text->len;) {
        ssize_t n = send(fd, text->data + sent, text->len - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            (void)wait_for_server(fd, POLLOUT, -1);
        else if (n < 0 && errno != EINTR)
            return err_set(e, -errno, "the server: %s", strerror(errno));
        sent += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int send_http_request(int fd, const struct cli_request *q, struct err *e)
{
    size_t length = q->body ? q->body->len : 0;
    drop_buf struct buf text = BUF_INIT(HEAD_MAX + length);
    (void)buf_addf(&text, "%s %s HTTP/1.0\r\n", q->method, q->path);
    if (q->events)
        (void)buf_adds(&text, "Accept: text/event-stream\r\n");
    if (q->body)
        (void)buf_adds(&text, "Content-Type: application/json\r\n");
    if (q->body || strcmp(q->method, "POST") == 0)
        (void)buf_addf(&text, "Content-Length: %zu\r\n", length);
    (void)buf_adds(&text, "User-Agent: ipybox-cli\r\n\r\n");
    (void)buf_add(&text, buf_text(q->body ? q->body : &(struct buf){0}), length);
    if (text.failed)
        return err_set(e, text.failed, "the request is too long");
    return send_all(fd, &text, e);
}

/* Bytes from the connection; 0: its end. ms: the most to wait; -1: for ever. */
static int receive_response(int fd, char *into, size_t size, int ms, struct err *e)
{
    for (;;) {
        ssize_t n = recv(fd, into, size, 0);
        if (n >= 0)
            return (int)n;
        if (errno == EAGAIN && !wait_for_server(fd, POLLIN, ms))
            return err_set(e, -ETIMEDOUT, "the server did not answer within %d s", ms / 1000);
        if (errno != EAGAIN && errno != EINTR)
            return err_set(e, -errno, "the server: %s", strerror(errno));
    }
}

/* Up to the empty line; what came behind it is `ahead`. */
static int read_head(struct cli_answer *a, struct err *e)
{
    static char block[BLOCK];
    drop_buf struct buf head = BUF_INIT(HEAD_MAX);
    const char *end = NULL;
    while (!end) {
        int n = receive_response(a->fd, block, sizeof block, PATIENCE_MS, e);
        if (n < 0)
            return n;
        if (n == 0 || buf_add(&head, block, (size_t)n) < 0)
            return err_set(e, -EPIPE, "the server ended the connection");
        end = strstr(head.data, "\r\n\r\n");
    }
    const char *length = strcasestr(head.data, "\r\nContent-Length:");
    const char *status = strchr(head.data, ' ');
    char *stop = NULL;
    a->status = status ? (int)strtol(status, &stop, 10) : 0;
    a->left = length && length < end ? strtoll(strchr(length, ':') + 1, &stop, 10) : -1;
    end += 4;
    return buf_add(&a->ahead, end, head.len - (size_t)(end - head.data));
}

/* What the problem document says. */
static int fail_request(struct cli_answer *a, struct err *e)
{
    static char block[BLOCK];
    drop_buf struct buf text = BUF_INIT(DETAIL_MAX);
    int n;
    while ((n = cli_read(a, block, sizeof block, NULL)) > 0)
        (void)buf_add(&text, block, (size_t)n);
    drop_json struct json *problem = json_parse_copy(buf_text(&text), text.len, JSON_REPAIR, NULL);
    const char *detail = json_get_text(problem, "detail");
    int code = a->status == 403 ? -EPERM : a->status == 404 ? -ENOENT : -EINVAL;
    if (a->status < 400 || a->status >= 500 || a->status == 429)
        code = -EIO;
    if (!detail)
        return err_set(e, code, "the server answered with status %d", a->status);
    return err_set(e, code, "%s", detail);
}

int cli_ask(const struct cli_request *q, struct cli_answer *ret, struct err *e)
{
    struct cli_answer a = {.fd = -1, .ahead = BUF_INIT(HEAD_MAX + BLOCK)};
    int r = find_server(API_SOCKET, e);
    if (r < 0)
        return -ENOTCONN; /* whatever the reason */
    a.fd = r;
    r = q->trusted ? check_listener(a.fd, q->trusted, e) : 0;
    if (r == 0)
        r = send_http_request(a.fd, q, e);
    if (r == 0)
        r = read_head(&a, e);
    if (r == 0 && (a.status < 200 || a.status > 299))
        r = fail_request(&a, e);
    if (r == -EPERM && a.status == 403 && q->trusted)
        r = err_set(e, -EPERM, "the server and code in kernels are both root: %s", q->trusted);
    if (r < 0)
        cli_answer_done(&a);
    else
        *ret = a;
    return r;
}

int cli_read(struct cli_answer *a, char *into, size_t size, struct err *e)
{
    int n;
    if (a->left == 0)
        return 0;
    if (a->ahead.len > 0) {
        n = (int)(a->ahead.len < size ? a->ahead.len : size);
        memcpy(into, a->ahead.data, (size_t)n);
        buf_cut_front(&a->ahead, (size_t)n);
    } else {
        n = receive_response(a->fd, into, size, a->left < 0 ? -1 : PATIENCE_MS, e);
    }
    if (n == 0 && a->left > 0)
        return err_set(e, -EPIPE, "the server ended the connection");
    if (n > 0 && a->left > 0)
        a->left -= n < a->left ? n : a->left;
    return n;
}

int cli_fetch(const struct cli_request *q, struct buf *ret, struct err *e)
{
    static char block[BLOCK];
    drop_cli_answer struct cli_answer a = CLI_ANSWER;
    int r = cli_ask(q, &a, e);
    while (r >= 0 && (r = cli_read(&a, block, sizeof block, e)) > 0) {
        if (buf_add(ret, block, (size_t)r) < 0)
            return err_set(e, -EMSGSIZE, "the server's answer is too long");
    }
    return r;
}

int cli_fetch_json(const struct cli_request *q, struct json **ret, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(CLI_ANSWER_MAX);
    int r = cli_fetch(q, &text, e);
    if (r < 0)
        return r;
    if (text.len == 0)
        return err_set(e, -EBADMSG, "the server's answer is empty");
    struct json *j = json_parse(text.data, text.len, JSON_REPAIR, e);
    if (!j)
        return err_wrap(e, "the server's answer");
    *ret = j;
    return 0;
}
