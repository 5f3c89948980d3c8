/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests to the proxies. The first byte chooses: HTTP or SOCKS. A request that is taken names a
 * host in plain letters and was there as a whole; a shorter piece of it asks for more. What is said
 * on has one Host line and no way to a second request. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sandbox/net/proxy_request.h"

enum { HEAD_MAX = PROXY_HEAD_MAX + 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check(const struct proxy_request *request, size_t n)
{
    must(request->used > 0 && request->used <= n && request->port > 0);
    must(request->host[0] != '\0' && strlen(request->host) <= PROXY_HOST_MAX);
    for (const char *at = request->host; *at; at++)
        must(isalnum((unsigned char)*at) || strchr("-_.:", *at) != NULL);
}

static void check_head(const struct buf *head)
{
    const char *end = memmem(head->data, head->len, "\r\n\r\n", 4);
    must(end && end + 4 == head->data + head->len && !memchr(head->data, '\0', head->len));
    int hosts = 0;
    for (const char *at = head->data; at < end; at = strstr(at, "\r\n") + 2)
        hosts += strncasecmp(at, "Host:", 5) == 0;
    must(hosts == 1);
}

static void http(const char *bytes, size_t n)
{
    struct buf head = BUF_INIT(HEAD_MAX);
    struct proxy_request request;
    int r = proxy_http_read(bytes, n, &request, &head);
    must(r == 1 || r == 0 || r == -EBADMSG || r == -EMSGSIZE);
    if (r == 1) {
        check(&request, n);
        if (!request.tunnel)
            check_head(&head);
        buf_done(&head);
        must(proxy_http_read(bytes, request.used - 1, &request, &head) == 0);
    }
    buf_done(&head);
}

static void socks(const uint8_t *bytes, size_t n)
{
    struct proxy_request request;
    size_t used = 0;
    int r = proxy_socks_greet(bytes, n, &used);
    if (r != 1)
        return;
    must(used <= n);
    bytes += used;
    n -= used;
    r = proxy_socks_read(bytes, n, &request);
    must(r == 1 || r == 0 || r == -EBADMSG || r == -ENOTSUP);
    if (r == 1) {
        check(&request, n);
        must(proxy_socks_read(bytes, request.used - 1, &request) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] % 2 == 0)
        http((const char *)data + 1, size - 1);
    else
        socks(data + 1, size - 1);
    return 0;
}
