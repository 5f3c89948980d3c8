/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/net/proxy_request.h - what a client asks of a proxy: HTTP (CONNECT, and whole requests
 * for http:) and SOCKS5; without I/O.
 * Limits:  PROXY_HEAD_MAX bytes of an HTTP head, names of PROXY_HOST_MAX bytes.
 * Source:  RFC 9110 section 9.3.6, RFC 9112 sections 3 and 5; RFC 1928. */
#ifndef SANDBOX_NET_PROXY_REQUEST_H
#define SANDBOX_NET_PROXY_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define PROXY_HEAD_MAX 16384
#define PROXY_HOST_MAX 253

struct proxy_request {
    char host[PROXY_HOST_MAX + 1]; /* a name, or an address without brackets */
    uint16_t port;
    bool tunnel; /* the answer is a tunnel; else `head` is said on to the host */
    size_t used; /* bytes of the request; what comes behind is for the host */
};

/* n: all that has come. 1: *ret is filled, and for a request that is no tunnel *head has what is
 * said on to the host. 0: there is more to come. -EBADMSG, -EMSGSIZE: no proxy's request, or
 * one that is too long. */
MUST_CHECK int proxy_http_read(const char *bytes, size_t n, struct proxy_request *ret,
                               struct buf *head);

/* The greeting: 1 with *ret_used, 0: more to come, -EBADMSG; -ENOTSUP: no method that we speak. */
MUST_CHECK int proxy_socks_greet(const uint8_t *bytes, size_t n, size_t *ret_used);
/* The request behind it: as proxy_http_read(). -ENOTSUP: another command than CONNECT. */
MUST_CHECK int proxy_socks_read(const uint8_t *bytes, size_t n, struct proxy_request *ret);

#endif
