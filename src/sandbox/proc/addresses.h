/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/proc/addresses.h - addresses of the internet: what kind they are, and as text. Pure.
 * Forms:   an IPv4 address inside an IPv6 one (::ffff:a.b.c.d) counts as the IPv4 address. */
#ifndef SANDBOX_PROC_ADDRESSES_H
#define SANDBOX_PROC_ADDRESSES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

#define ADDRESS_TEXT_MAX 64 /* "198.51.100.1", "2001:db8::1" */

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_storage room;
    };
    socklen_t len;
};

/* What a program gave to connect() or bind(). -EINVAL: too short; -EAFNOSUPPORT: another family. */
MUST_CHECK int address_read(const void *bytes, size_t n, struct address *ret);
struct address address_of_v4(uint32_t v4, uint16_t port); /* host's order */

uint16_t address_port(const struct address *address);
void address_set_port(struct address *address, uint16_t port);
bool address_v4(const struct address *address, uint32_t *ret); /* host's order; also if mapped */
bool address_same(const struct address *a, const struct address *b); /* and the port */
void address_text(const struct address *address, char text[static ADDRESS_TEXT_MAX]);

bool address_is_any(const struct address *address); /* 0.0.0.0, :: */
bool address_is_loopback(const struct address *address);
/* Not of the open internet: loopback, private, link-local (with the metadata of clouds), shared
 * (carriers), multicast, reserved; whatever carries such an address inside. A public name that
 * resolves to one of these reaches into the network of the host. */
bool address_is_inner(const struct address *address);

/* The same address for a socket of that family. -EAFNOSUPPORT: it has none. */
MUST_CHECK int address_for(const struct address *address, int family, struct address *ret);

#endif
