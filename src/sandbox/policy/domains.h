/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/policy/domains.h - the names of allowedDomains and deniedDomains (private to settings.c
 * and policy.c).
 * Forms:   example.com  localhost  *.example.com (its subdomains, not itself)  192.0.2.1
 *          [2001:db8::1], each with :port or for every port; * and *:port in a list that denies. */
#ifndef SANDBOX_POLICY_DOMAINS_H
#define SANDBOX_POLICY_DOMAINS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define DOMAIN_MAX 253 /* RFC 1035, without the dot at its end */

enum domain_kind { DOMAIN_NAME, DOMAIN_BELOW, DOMAIN_ADDRESS, DOMAIN_ANY };

struct domain {
    enum domain_kind kind;
    uint16_t port;             /* 0: every */
    char name[DOMAIN_MAX + 2]; /* lower case; of DOMAIN_BELOW with its first dot */
    struct in6_addr address;   /* IPv4 as ::ffff:a.b.c.d */
};

/* NULL: *ret is filled. Else what is wrong with it. */
const char *domain_parse(const char *text, bool denies, struct domain *ret);

/* What somebody wants to connect to: false when it can be no name and no address. An address in
 * any of the forms that inet_aton(3) takes is that address. */
bool domain_target(const char *host, uint16_t port, struct domain *ret);

bool domain_matches(const struct domain *pattern, const struct domain *target);

#endif
