/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/net/dns_stub.h - answers questions for names over TCP: an allowed name has an IPv4
 * address that stands for it, any other does not exist. Nothing is asked of anybody else, so a
 * question carries nothing out.
 * Limits:  DNS_STUB_CONNECTIONS_MAX connections, over that the oldest goes; DNS_STUB_IDLE_MS for
 *          each question.
 * Thread:  the loop's. */
#ifndef SANDBOX_NET_DNS_STUB_H
#define SANDBOX_NET_DNS_STUB_H

#include <stdbool.h>
#include <stdint.h>

#include "loop/loop.h"

#define DNS_STUB_CONNECTIONS_MAX 32
#define DNS_STUB_IDLE_MS 10000

/* The address (host's order) of a name in lower case; 0: there is no such name. */
typedef uint32_t (*dns_stub_fn)(void *ctx, const char *name);

struct dns_stub;
/* Listens on 127.0.0.1. */
MUST_CHECK int dns_stub_open(struct loop *loop, dns_stub_fn address, void *ctx,
                             struct dns_stub **ret, uint16_t *ret_port, struct err *e);
struct dns_stub *dns_stub_free(struct dns_stub *stub); /* NULL in, NULL out */

#endif
