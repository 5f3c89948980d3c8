/* SPDX-License-Identifier: Apache-2.0
 *
 * wire/dns.h - one question of the domain name system, and the answer to it; without I/O.
 * Memory:  none is allocated; a message is at most DNS_MESSAGE_MAX bytes.
 * Not here: what the additional section of a query says (EDNS); names with other bytes than
 *          letters, digits, '-' and '_', which no host has.
 * Source:  RFC 1035, sections 3.1 and 4.1; over TCP two bytes of length go before (4.2.2). */
#ifndef WIRE_DNS_H
#define WIRE_DNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DNS_NAME_MAX 253
#define DNS_MESSAGE_MAX 512

enum dns_type { DNS_A = 1, DNS_AAAA = 28 };
enum dns_code { DNS_OK = 0, DNS_FORMAT = 1, DNS_NO_NAME = 3, DNS_NOT_IMPLEMENTED = 4 };

struct dns_question {
    char name[DNS_NAME_MAX + 1]; /* lower case, no final dot; "" is the root */
    uint16_t type, class;
    size_t end; /* bytes of header and question */
};

/* -EBADMSG: not a query. -ENOTSUP: a query that is not one question for a host; it can be answered
 * with a code, and `end` says how much of it is echoed. */
MUST_CHECK int dns_parse(const uint8_t *query, size_t n, struct dns_question *ret);

/* The answer to a query that dns_parse() took or refused with -ENOTSUP. address (host's order) is
 * told for a question of type A with DNS_OK, unless it is 0. Returns the length. */
size_t dns_answer(const uint8_t *query, const struct dns_question *question, enum dns_code code,
                  uint32_t address, uint8_t out[static DNS_MESSAGE_MAX]);

#endif
