/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/net/proxy.h - an HTTP or a SOCKS5 proxy for programs that use proxy variables.
 * Limits:  PROXY_CONNECTIONS_MAX connections, others wait in the kernel's queue; PROXY_REQUEST_MS
 *          for a request to come, PROXY_IDLE_MS without a byte in either direction.
 * Threads: the loop's; each connection is dialled on a short-lived one of its own. */
#ifndef SANDBOX_NET_PROXY_H
#define SANDBOX_NET_PROXY_H

#include <stdint.h>

#include "loop/loop.h"

#define PROXY_CONNECTIONS_MAX 64
#define PROXY_REQUEST_MS 10000
#define PROXY_IDLE_MS 600000

enum proxy_kind { PROXY_HTTP, PROXY_SOCKS };

/* A connection to a host that may be connected to; -EACCES: it may not; other -errno. May block,
 * from any thread. */
typedef int (*proxy_dial_fn)(void *ctx, const char *host, uint16_t port);

struct proxy;
/* fd listens and does not block; taken. */
MUST_CHECK int proxy_open(struct loop *loop, enum proxy_kind kind, int fd, proxy_dial_fn dial,
                          void *ctx, struct proxy **ret, struct err *e);
struct proxy *proxy_free(struct proxy *proxy); /* waits for those who dial; NULL in, NULL out */

#endif
