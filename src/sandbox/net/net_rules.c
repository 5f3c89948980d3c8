/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/net/net_internal.h"

enum { DNS_PORT = 53 };

bool net_transparent(const struct policy *policy)
{
    uint16_t http, socks;
    policy_proxy_ports(policy, &http, &socks);
    return http == 0 && socks == 0;
}

bool net_may_name(const struct policy *policy, const char *name, uint16_t port)
{
    return *name && net_transparent(policy) && policy_may_connect(policy, name, port);
}

/* The port of a list's entry, "host:443"; 0: every port. */
static uint16_t port_of(const char *entry)
{
    const char *colon = strrchr(entry, ':');
    char *end;
    if (!colon || strchr(colon, ']'))
        return 0;
    unsigned long port = strtoul(colon + 1, &end, 10);
    return *end == '\0' && port <= UINT16_MAX ? (uint16_t)port : 0;
}

bool net_may_some_port(const struct policy *policy, const char *name)
{
    if (net_may_name(policy, name, 0))
        return true;
    const struct words *domains = policy_domains(policy);
    for (size_t i = 0; i < domains->count; i++) {
        uint16_t port = port_of(domains->items[i]);
        if (port != 0 && net_may_name(policy, name, port))
            return true;
    }
    return false;
}

/* Listed as what it is, not reached through a name. */
static bool may_literally(const struct policy *policy, const struct address *to)
{
    char text[ADDRESS_TEXT_MAX];
    address_text(to, text);
    return net_may_name(policy, text, address_port(to)) ||
           (address_is_loopback(to) && net_may_name(policy, "localhost", address_port(to)));
}

/* The loopback is shared by all of the container. */
static bool may_loopback(struct net *net, const struct policy *policy, const struct address *to)
{
    uint16_t port = address_port(to), http, socks;
    policy_proxy_ports(policy, &http, &socks);
    bool proxy = port != 0 && (port == http || port == socks || port == net->http_port ||
                               port == net->socks_port);
    return proxy || policy_loopback_port(policy, port) || may_literally(policy, to) ||
           sockets_listens(net->sockets, to);
}

/* To the kernel, connecting to no address is connecting to this machine. */
static struct address without_any(const struct address *to)
{
    if (!address_is_any(to))
        return *to;
    struct address loopback = address_of_v4(INADDR_LOOPBACK, address_port(to));
    uint32_t v4;
    if (!address_v4(to, &v4)) {
        loopback = *to;
        loopback.in6.sin6_addr = (struct in6_addr)IN6ADDR_LOOPBACK_INIT;
    }
    return loopback;
}

bool net_other_loopback(struct net *net, const struct address *to, struct address *ret)
{
    struct address four = address_of_v4(INADDR_LOOPBACK, address_port(to)), place = without_any(to);
    uint32_t v4;
    if (address_v4(&place, &v4) || !address_is_loopback(&place) ||
        !sockets_listens(net->sockets, &four))
        return false;
    *ret = four;
    return true;
}

enum net_verdict net_judge(struct net *net, const struct policy *policy, const struct address *to,
                           char name[static DNS_NAME_MAX + 1], struct address *ret_place)
{
    const struct address place = without_any(to);
    name[0] = '\0';
    *ret_place = place;
    if (address_port(to) == DNS_PORT)
        return NET_STUB;
    if (address_is_loopback(&place))
        return may_loopback(net, policy, &place) ? NET_ADDRESS : NET_REFUSED;
    uint32_t v4;
    if (address_v4(to, &v4) && names_find(net->names, v4, name))
        return net_may_name(policy, name, address_port(to)) ? NET_NAME : NET_REFUSED;
    return may_literally(policy, to) ? NET_ADDRESS : NET_REFUSED;
}

int net_resolve(struct net *net, const struct policy *policy, const char *name, uint16_t port,
                int family, struct address *ret)
{
    struct address found[NET_ADDRESSES_MAX];
    int n = net->resolve(name, family, found, NET_ADDRESSES_MAX);
    if (n < 0)
        return n;
    int kept = 0;
    for (int i = 0; i < n; i++) {
        address_set_port(&found[i], port);
        if (!address_is_inner(&found[i]) || may_literally(policy, &found[i]))
            ret[kept++] = found[i];
    }
    return kept > 0 ? kept : -EACCES;
}

void net_text(const struct address *to, const char *name, char text[static NET_TEXT_MAX])
{
    char plain[ADDRESS_TEXT_MAX];
    address_text(to, plain);
    if (name && *name)
        (void)snprintf(text, NET_TEXT_MAX, "%s:%u", name, address_port(to));
    else
        (void)snprintf(text, NET_TEXT_MAX, strchr(plain, ':') ? "[%s]:%u" : "%s:%u", plain,
                       address_port(to));
}
