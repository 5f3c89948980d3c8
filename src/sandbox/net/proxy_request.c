/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/net/proxy_request.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { HTTP_PORT = 80, PORT_DIGITS = 5 };

struct piece { /* of the bytes that came; lent */
    const char *at;
    size_t n;
};

/* --- HTTP ------------------------------------------------------------------------------------- */

static bool is_piece(struct piece piece, const char *word)
{
    return piece.n == strlen(word) && strncasecmp(piece.at, word, piece.n) == 0;
}

/* Cuts off what stands before the first `stop`; false: there is none. */
static bool cut_request_word(struct piece *rest, char stop, struct piece *ret)
{
    const char *end = memchr(rest->at, stop, rest->n);
    if (!end)
        return false;
    *ret = (struct piece){rest->at, (size_t)(end - rest->at)};
    rest->n -= ret->n + 1;
    rest->at = end + 1;
    return true;
}

/* A line without its end, CR LF. */
static bool cut_line(struct piece *rest, struct piece *ret)
{
    if (!cut_request_word(rest, '\n', ret) || ret->n == 0 || ret->at[ret->n - 1] != '\r')
        return false;
    ret->n--;
    return true;
}

static bool take_target_port(struct piece text, uint16_t *ret)
{
    unsigned long port = 0;
    if (text.n == 0 || text.n > PORT_DIGITS)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (!isdigit((unsigned char)text.at[i]))
            return false;
        port = port * 10 + (unsigned long)(text.at[i] - '0');
    }
    *ret = (uint16_t)port;
    return port > 0 && port <= UINT16_MAX;
}

static bool is_target_byte(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

static bool take_host(struct piece text, char host[static PROXY_HOST_MAX + 1])
{
    bool six = text.n > 2 && text.at[0] == '[' && text.at[text.n - 1] == ']';
    if (six)
        text = (struct piece){text.at + 1, text.n - 2};
    if (text.n == 0 || text.n > PROXY_HOST_MAX)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (six ? !isxdigit((unsigned char)text.at[i]) && text.at[i] != ':' && text.at[i] != '.'
                : !is_target_byte(text.at[i]))
            return false;
    memcpy(host, text.at, text.n);
    host[text.n] = '\0';
    return true;
}

/* "host", "host:port", "[::1]:port"; default_port 0: the port must be there. */
static bool take_authority(struct piece text, uint16_t default_port, struct proxy_request *ret)
{
    const char *colon = memrchr(text.at, ':', text.n);
    if (colon && memchr(colon, ']', (size_t)(text.at + text.n - colon)))
        colon = NULL;
    ret->port = default_port;
    struct piece host = {text.at, colon ? (size_t)(colon - text.at) : text.n};
    struct piece port = {colon ? colon + 1 : NULL, colon ? text.n - host.n - 1 : 0};
    if (colon && !take_target_port(port, &ret->port))
        return false;
    return ret->port != 0 && take_host(host, ret->host);
}

/* Meant for us and not for the host, or written anew. */
static bool is_dropped(struct piece name)
{
    static const char *const dropped[] = {"Host",
                                          "Connection",
                                          "Keep-Alive",
                                          "Proxy-Connection",
                                          "Proxy-Authorization",
                                          "Proxy-Authenticate",
                                          "Upgrade",
                                          "TE"};
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        if (is_piece(name, dropped[i]))
            return true;
    return false;
}

/* One request for each connection: what came behind it would go to the same host, whatever it
 * names. The Host header is that of the request line, which was judged. */
static int write_head(struct piece lines, struct piece method, struct piece target,
                      struct piece authority, struct buf *head)
{
    const char *slash = target.n > 0 && target.at[0] == '/' ? "" : "/";
    (void)buf_addf(head, "%.*s %s", (int)method.n, method.at, slash);
    (void)buf_add(head, target.at, target.n);
    (void)buf_addf(head, " HTTP/1.1\r\nHost: %.*s\r\nConnection: close\r\n", (int)authority.n,
                   authority.at);
    struct piece line;
    for (;;) {
        struct piece name;
        if (!cut_line(&lines, &line))
            return -EBADMSG;
        if (line.n == 0)
            break;
        struct piece rest = line;
        if (memchr(line.at, '\r', line.n) || line.at[0] == ' ' || line.at[0] == '\t' ||
            !cut_request_word(&rest, ':', &name) || name.n == 0 || memchr(name.at, ' ', name.n))
            return -EBADMSG;
        if (is_dropped(name))
            continue;
        (void)buf_add(head, line.at, line.n);
        (void)buf_adds(head, "\r\n");
    }
    (void)buf_adds(head, "\r\n");
    return head->failed;
}

/* Those that are registered, and what looks like them. */
static bool is_method(struct piece method)
{
    for (size_t i = 0; i < method.n; i++)
        if (!isalpha((unsigned char)method.at[i]) && method.at[i] != '-')
            return false;
    return method.n > 0;
}

static int read_whole_target(struct piece text, struct proxy_request *ret, struct buf *head)
{
    static const char scheme[] = "http://";
    struct piece line, method, target;
    if (!cut_line(&text, &line) || !cut_request_word(&line, ' ', &method) ||
        !cut_request_word(&line, ' ', &target) || !is_method(method) || line.n != 8 ||
        strncmp(line.at, "HTTP/1.", 7) != 0 || memchr(target.at, '\r', target.n))
        return -EBADMSG;
    ret->tunnel = is_piece(method, "CONNECT");
    if (ret->tunnel)
        return take_authority(target, 0, ret) ? 0 : -EBADMSG;
    size_t n = sizeof scheme - 1;
    if (target.n < n || strncasecmp(target.at, scheme, n) != 0)
        return -EBADMSG;
    struct piece rest = {target.at + n, target.n - n};
    size_t length = 0;
    while (length < rest.n && !strchr("/?#", rest.at[length]))
        length++;
    struct piece authority = {rest.at, length};
    if (!take_authority(authority, HTTP_PORT, ret))
        return -EBADMSG;
    rest = (struct piece){rest.at + length, rest.n - length};
    return write_head(text, method, rest, authority, head);
}

int proxy_http_read(const char *bytes, size_t n, struct proxy_request *ret, struct buf *head)
{
    struct proxy_request request = {0};
    const char *end = memmem(bytes, n < PROXY_HEAD_MAX ? n : PROXY_HEAD_MAX, "\r\n\r\n", 4);
    if (!end)
        return n < PROXY_HEAD_MAX ? 0 : -EMSGSIZE;
    request.used = (size_t)(end + 4 - bytes);
    if (memchr(bytes, '\0', request.used))
        return -EBADMSG;
    int r = read_whole_target((struct piece){bytes, request.used}, &request, head);
    if (r < 0)
        return r;
    *ret = request;
    return 1;
}

/* --- SOCKS5 ----------------------------------------------------------------------------------- */

enum { SOCKS = 5, NO_PASSWORD = 0, CONNECT = 1, BY_V4 = 1, BY_NAME = 3, BY_V6 = 4, HEAD = 4 };

int proxy_socks_greet(const uint8_t *bytes, size_t n, size_t *ret_used)
{
    if (n > 0 && bytes[0] != SOCKS)
        return -EBADMSG;
    if (n < 2 || n < 2U + bytes[1])
        return 0;
    if (!memchr(bytes + 2, NO_PASSWORD, bytes[1]))
        return -ENOTSUP;
    *ret_used = 2U + bytes[1];
    return 1;
}

static bool take_socks_host(const uint8_t *at, size_t n, uint8_t kind, char *host)
{
    struct piece name = {(const char *)at, n};
    if (kind == BY_NAME)
        return take_host(name, host) && host[0] != '[' && !strchr(host, ':');
    return inet_ntop(kind == BY_V4 ? AF_INET : AF_INET6, at, host, PROXY_HOST_MAX) != NULL;
}

int proxy_socks_read(const uint8_t *bytes, size_t n, struct proxy_request *ret)
{
    if (n > 0 && bytes[0] != SOCKS)
        return -EBADMSG;
    if (n <= HEAD)
        return 0;
    uint8_t kind = bytes[3];
    size_t at = kind == BY_NAME ? HEAD + 1 : HEAD;
    size_t length = kind == BY_NAME ? bytes[HEAD] : kind == BY_V4 ? 4 : 16;
    if (kind != BY_V4 && kind != BY_NAME && kind != BY_V6)
        return -EBADMSG;
    if (n < at + length + 2)
        return 0;
    if (bytes[1] != CONNECT)
        return -ENOTSUP;
    struct proxy_request request = {.tunnel = true, .used = at + length + 2};
    request.port = (uint16_t)(bytes[at + length] << 8 | bytes[at + length + 1]);
    if (request.port == 0 || !take_socks_host(bytes + at, length, kind, request.host))
        return -EBADMSG;
    *ret = request;
    return 1;
}
