/* SPDX-License-Identifier: Apache-2.0 */
#include "front/http/public_url.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define HOST_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

/* The length of a name, or of an address of IPv6 in its brackets; 0: it is neither. */
static size_t host_length(const char *text)
{
    if (text[0] != '[')
        return strspn(text, HOST_BYTES);
    size_t n = strspn(text + 1, "0123456789abcdefABCDEF:.");
    return n > 0 && text[n + 1] == ']' ? n + 2 : 0;
}

/* The length of ":PORT", which may be 0; -1: something else follows. */
static int port_length(const char *text)
{
    size_t n = text[0] == ':' ? 1 + strspn(text + 1, "0123456789") : 0;
    bool right = n != 1 && n <= 6 && (text[n] == '\0' || text[n] == '/');
    return right ? (int)n : -1;
}

int public_url_parse(const char *url, struct public_url *ret, struct err *e)
{
    *ret = (struct public_url){0};
    if (!url)
        return 0;
    bool secure = strncmp(url, "https://", 8) == 0;
    const char *host = url + (secure ? 8 : 7);
    size_t n = secure || strncmp(url, "http://", 7) == 0 ? host_length(host) : 0;
    int port = n > 0 && n <= PUBLIC_HOST_MAX ? port_length(host + n) : -1;
    if (port < 0)
        return err_set(e, -EINVAL,
                       "--public-url: http://HOST[:PORT][/PATH] or https://… is needed: %s", url);
    const char *usual = secure ? ":443" : ":80";
    if ((size_t)port == strlen(usual) && strncmp(host + n, usual, (size_t)port) == 0)
        port = 0;
    (void)snprintf(ret->host, sizeof ret->host, "%.*s", (int)n, host);
    (void)snprintf(ret->origin, sizeof ret->origin, "%s://%.*s", secure ? "https" : "http",
                   (int)n + port, host);
    ret->hosts[0] = ret->host;
    ret->origins[0] = ret->origin;
    return 0;
}
