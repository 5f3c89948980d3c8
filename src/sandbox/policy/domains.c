/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/policy/domains.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static void set_v4(struct in6_addr *address, const struct in_addr *v4)
{
    *address = (struct in6_addr){.s6_addr = {[10] = 0xFF, [11] = 0xFF}};
    memcpy(address->s6_addr + 12, v4, sizeof *v4);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

/* Labels between single dots; lower case into `name`, which has room for DOMAIN_MAX and the end. */
static bool take_domain_name(const char *text, size_t n, char *name)
{
    if (n == 0 || n > DOMAIN_MAX || text[0] == '.' || text[n - 1] == '.')
        return false;
    for (size_t i = 0; i < n; i++) {
        name[i] = lower(text[i]);
        if (!is_name_char(name[i]) || (text[i] == '.' && text[i + 1] == '.'))
            return false;
    }
    name[n] = '\0';
    return true;
}

static const char *take_domain_port(const char *text, uint16_t *ret)
{
    char *end = NULL;
    long port = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;
    if (!end || *end != '\0' || port < 1 || port > 65535)
        return "a port is 1 to 65535";
    *ret = (uint16_t)port;
    return NULL;
}

static const char *parse_bracketed(const char *text, struct domain *ret)
{
    const char *end = strchr(text, ']');
    char address[INET6_ADDRSTRLEN] = "";
    size_t n = end ? (size_t)(end - text) - 1 : 0;
    if (n == 0 || n >= sizeof address)
        return "no IPv6 address between the brackets";
    memcpy(address, text + 1, n);
    if (inet_pton(AF_INET6, address, &ret->address) != 1)
        return "no IPv6 address between the brackets";
    ret->kind = DOMAIN_ADDRESS;
    if (end[1] == '\0')
        return NULL;
    return end[1] == ':' ? take_domain_port(end + 2, &ret->port) : "characters behind the brackets";
}

static const char *parse_wildcard(const char *text, size_t n, bool denies, struct domain *ret)
{
    if (n == 1) {
        ret->kind = DOMAIN_ANY;
        return denies ? NULL : "a bare * allows every host: name the hosts";
    }
    if (text[1] != '.' || memchr(text + 1, '*', n - 1))
        return "* stands only at the beginning, as in *.example.com";
    if (!take_domain_name(text + 2, n - 2, ret->name + 1))
        return "not a host name behind the *.";
    if (!memchr(text + 2, '.', n - 2))
        return "too broad: *. needs a name with a dot behind it, as in *.example.com";
    ret->kind = DOMAIN_BELOW;
    ret->name[0] = '.';
    return NULL;
}

static const char *parse_host(const char *text, size_t n, bool denies, struct domain *ret)
{
    if (n > 0 && *text == '*')
        return parse_wildcard(text, n, denies, ret);
    if (memchr(text, '*', n))
        return "* stands only at the beginning, as in *.example.com";
    if (!take_domain_name(text, n, ret->name))
        return "not a host name (ASCII letters, digits and - between single dots)";
    struct in_addr v4;
    if (inet_pton(AF_INET, ret->name, &v4) == 1) {
        ret->kind = DOMAIN_ADDRESS;
        set_v4(&ret->address, &v4);
        return NULL;
    }
    if (inet_aton(ret->name, &v4))
        return "an IPv4 address has four numbers";
    if (!strchr(ret->name, '.') && strcmp(ret->name, "localhost") != 0)
        return "a host name has a dot in it (or is localhost)";
    ret->kind = DOMAIN_NAME;
    return NULL;
}

const char *domain_parse(const char *text, bool denies, struct domain *ret)
{
    *ret = (struct domain){0};
    if (strstr(text, "://"))
        return "a host is named without a scheme";
    if (strchr(text, '/'))
        return "a host is named without a path";
    if (*text == '[')
        return parse_bracketed(text, ret);
    const char *colon = strchr(text, ':');
    if (colon && strchr(colon + 1, ':'))
        return "an IPv6 address stands in brackets, as in [2001:db8::1]:443";
    const char *wrong = colon ? take_domain_port(colon + 1, &ret->port) : NULL;
    return wrong ? wrong
                 : parse_host(text, colon ? (size_t)(colon - text) : strlen(text), denies, ret);
}

bool domain_target(const char *host, uint16_t port, struct domain *ret)
{
    *ret = (struct domain){.port = port, .kind = DOMAIN_ADDRESS};
    size_t n = strlen(host);
    if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
        host++;
        n -= 2;
    }
    if (memchr(host, ':', n)) {
        char address[INET6_ADDRSTRLEN] = "";
        if (n >= sizeof address)
            return false;
        memcpy(address, host, n);
        return inet_pton(AF_INET6, address, &ret->address) == 1;
    }
    if (n > 0 && host[n - 1] == '.')
        n--;
    if (!take_domain_name(host, n, ret->name))
        return false;
    struct in_addr v4;
    if (inet_aton(ret->name, &v4))
        set_v4(&ret->address, &v4);
    else
        ret->kind = DOMAIN_NAME;
    return true;
}

bool domain_matches(const struct domain *pattern, const struct domain *target)
{
    if (pattern->port != 0 && pattern->port != target->port)
        return false;
    if (pattern->kind == DOMAIN_ANY)
        return true;
    if (pattern->kind == DOMAIN_BELOW) {
        size_t n = strlen(pattern->name), all = strlen(target->name);
        return target->kind == DOMAIN_NAME && all > n &&
               strcmp(target->name + all - n, pattern->name) == 0;
    }
    if (pattern->kind != target->kind)
        return false;
    if (pattern->kind == DOMAIN_NAME)
        return strcmp(pattern->name, target->name) == 0;
    return memcmp(&pattern->address, &target->address, sizeof target->address) == 0;
}
