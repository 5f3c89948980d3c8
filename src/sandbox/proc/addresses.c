/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/proc/addresses.h"

#include <arpa/inet.h>
#include <string.h>

enum { MAPPED = 12 /* bytes before the IPv4 address */ };

int address_read(const void *bytes, size_t n, struct address *ret)
{
    struct address address = {.len = (socklen_t)n};
    if (n < sizeof address.any.sa_family || n > sizeof address.room)
        return -EINVAL;
    memcpy(&address.room, bytes, n);
    if (address.any.sa_family == AF_INET) {
        if (n < sizeof address.in)
            return -EINVAL;
        address.len = sizeof address.in;
    } else if (address.any.sa_family == AF_INET6) {
        if (n < offsetof(struct sockaddr_in6, sin6_scope_id)) /* RFC 2133 had no scope */
            return -EINVAL;
        address.len = sizeof address.in6;
    } else {
        return -EAFNOSUPPORT;
    }
    *ret = address;
    return 0;
}

struct address address_of_v4(uint32_t v4, uint16_t port)
{
    struct address address = {.len = sizeof address.in};
    address.in.sin_family = AF_INET;
    address.in.sin_port = htons(port);
    address.in.sin_addr.s_addr = htonl(v4);
    return address;
}

uint16_t address_port(const struct address *address)
{
    bool six = address->any.sa_family == AF_INET6;
    return ntohs(six ? address->in6.sin6_port : address->in.sin_port);
}

void address_set_port(struct address *address, uint16_t port)
{
    if (address->any.sa_family == AF_INET6)
        address->in6.sin6_port = htons(port);
    else
        address->in.sin_port = htons(port);
}

bool address_v4(const struct address *address, uint32_t *ret)
{
    uint32_t v4 = address->in.sin_addr.s_addr;
    if (address->any.sa_family == AF_INET6) {
        if (!IN6_IS_ADDR_V4MAPPED(&address->in6.sin6_addr))
            return false;
        memcpy(&v4, address->in6.sin6_addr.s6_addr + MAPPED, sizeof v4);
    }
    *ret = ntohl(v4);
    return true;
}

bool address_same(const struct address *a, const struct address *b)
{
    uint32_t left, right;
    if (address_port(a) != address_port(b))
        return false;
    bool four = address_v4(a, &left);
    if (four != address_v4(b, &right))
        return false;
    return four ? left == right
                : memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof a->in6.sin6_addr) == 0;
}

void address_text(const struct address *address, char text[static ADDRESS_TEXT_MAX])
{
    uint32_t v4;
    if (address_v4(address, &v4)) {
        struct in_addr in = {.s_addr = htonl(v4)};
        (void)inet_ntop(AF_INET, &in, text, ADDRESS_TEXT_MAX);
    } else {
        (void)inet_ntop(AF_INET6, &address->in6.sin6_addr, text, ADDRESS_TEXT_MAX);
    }
}

bool address_is_any(const struct address *address)
{
    uint32_t v4;
    if (address_v4(address, &v4))
        return v4 == INADDR_ANY;
    return IN6_IS_ADDR_UNSPECIFIED(&address->in6.sin6_addr);
}

bool address_is_loopback(const struct address *address)
{
    uint32_t v4;
    if (address_v4(address, &v4))
        return v4 >> 24 == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&address->in6.sin6_addr);
}

/* The IANA special-purpose registries, IPv4: what is not globally reachable, and multicast; without
 * the networks for documents, which laboratories give to names that are the internet to them. */
static const struct {
    uint32_t net;
    int bits;
} inner_v4[] = {
    {0x00000000, 8},  /* this network */
    {0x0A000000, 8},  /* private */
    {0x64400000, 10}, /* shared by carriers */
    {0x7F000000, 8},  /* loopback */
    {0xA9FE0000, 16}, /* link-local: the metadata of clouds */
    {0xAC100000, 12}, /* private */
    {0xC0000000, 24}, /* IETF's own: DS-Lite, NAT64 discovery */
    {0xC0586300, 24}, /* relays of 6to4 */
    {0xC0A80000, 16}, /* private */
    {0xC6120000, 15}, /* benchmarks, and our own names */
    {0xE0000000, 3},  /* multicast, reserved, broadcast */
};

static bool is_inner_v4(uint32_t v4)
{
    for (size_t i = 0; i < sizeof inner_v4 / sizeof *inner_v4; i++)
        if ((v4 ^ inner_v4[i].net) >> (32 - inner_v4[i].bits) == 0)
            return true;
    return false;
}

/* IPv6: only 2000::/3 is given out. Inside it, what leads into an IPv4 network or to documents. */
static bool is_inner_v6(const uint8_t *a)
{
    static const uint8_t nat64[MAPPED] = {0x00, 0x64, 0xff, 0x9b};
    if (memcmp(a, nat64, sizeof nat64) == 0) {
        uint32_t v4;
        memcpy(&v4, a + MAPPED, sizeof v4);
        return is_inner_v4(ntohl(v4));
    }
    if ((a[0] & 0xE0) != 0x20)
        return true;
    if (a[0] == 0x20 && a[1] == 0x02) /* 6to4 */
        return true;
    if (a[0] == 0x20 && a[1] == 0x01 && a[2] < 0x02) /* 2001::/23: Teredo and other protocols */
        return true;
    return a[0] == 0x20 && a[1] == 0x01 && a[2] == 0x0d && a[3] == 0xb8;
}

bool address_is_inner(const struct address *address)
{
    uint32_t v4;
    if (address_v4(address, &v4))
        return is_inner_v4(v4);
    return is_inner_v6(address->in6.sin6_addr.s6_addr);
}

int address_for(const struct address *address, int family, struct address *ret)
{
    uint32_t v4;
    bool four = address_v4(address, &v4);
    if (family == AF_INET) {
        if (!four)
            return -EAFNOSUPPORT;
        *ret = address_of_v4(v4, address_port(address));
        return 0;
    }
    struct address six = {.len = sizeof six.in6};
    six.in6.sin6_family = AF_INET6;
    six.in6.sin6_port = htons(address_port(address));
    if (four) {
        uint32_t wire = htonl(v4);
        memset(six.in6.sin6_addr.s6_addr + MAPPED - 2, 0xff, 2);
        memcpy(six.in6.sin6_addr.s6_addr + MAPPED, &wire, sizeof wire);
    } else {
        six = *address;
    }
    *ret = six;
    return 0;
}
