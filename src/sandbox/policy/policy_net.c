/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "sandbox/policy/pathname.h"
#include "sandbox/policy/policy_internal.h"

/* --- making one ------------------------------------------------------------------------------- */

static int add_unix(struct policy *policy, const char *const *sockets, struct err *e)
{
    for (; sockets && *sockets; sockets++) {
        char path[PATH_MAX];
        int r = path_clean(policy->cwd, *sockets, path);
        r = r < 0 ? r : path_resolve(path, path, NULL);
        if (r < 0)
            return err_set(e, r, "%s: %s", *sockets, strerror(-r));
        rules_add(&policy->lists[LIST_UNIX], path);
        rules_add(&policy->own_sockets, path);
    }
    return 0;
}

static int add_domains(const struct words *words, bool denies, const char *name,
                       struct domain **ret, size_t *ret_count, struct words *ret_written,
                       struct err *e)
{
    *ret = xcalloc(words->count + 1, sizeof **ret);
    *ret_count = words->count;
    for (size_t i = 0; i < words->count; i++) {
        const char *wrong = domain_parse(words->items[i], denies, &(*ret)[i]);
        if (wrong)
            return err_set(e, -EINVAL, "%s[%zu]: %s", name, i, wrong);
        words_add(ret_written, words->items[i]);
    }
    return 0;
}

int policy_add_network(struct policy *policy, const struct sandbox_settings *settings,
                       const struct policy_place *place, struct err *e)
{
    policy->http_port = (uint16_t)settings->http_proxy_port;
    policy->socks_port = (uint16_t)settings->socks_proxy_port;
    policy->all_unix = settings->allow_all_unix_sockets;
    policy->may_bind = settings->allow_local_binding;
    size_t n = 0;
    while (place->loopback_ports && place->loopback_ports[n] != 0)
        n++;
    policy->loopback_ports = xcalloc(n + 1, sizeof *policy->loopback_ports);
    for (size_t i = 0; i < n; i++)
        policy->loopback_ports[i] = place->loopback_ports[i];
    int r = add_domains(&settings->allowed_domains, false, "network.allowedDomains",
                        &policy->allowed, &policy->allowed_count, &policy->domains, e);
    if (r == 0)
        r = add_domains(&settings->denied_domains, true, "network.deniedDomains", &policy->denied,
                        &policy->denied_count, &policy->denied_domains, e);
    return r < 0 ? r : add_unix(policy, place->unix_sockets, e);
}

/* --- being asked ------------------------------------------------------------------------------ */

bool policy_has_network(const struct policy *policy)
{
    return policy->allowed_count > 0;
}

bool policy_has_inet(const struct policy *policy)
{
    return policy_has_network(policy) || policy->may_bind || policy->http_port ||
           policy->socks_port || *policy->loopback_ports;
}

static bool is_listed_domain(const struct domain *domains, size_t n, const struct domain *target)
{
    for (size_t i = 0; i < n; i++)
        if (domain_matches(&domains[i], target))
            return true;
    return false;
}

bool policy_may_connect(const struct policy *policy, const char *host, uint16_t port)
{
    struct domain target;
    return domain_target(host, port, &target) &&
           !is_listed_domain(policy->denied, policy->denied_count, &target) &&
           is_listed_domain(policy->allowed, policy->allowed_count, &target);
}

const struct words *policy_domains(const struct policy *policy)
{
    return &policy->domains;
}

bool policy_may_connect_unix(const struct policy *policy, const char *path)
{
    if (rules_match(&policy->own_sockets, path))
        return true;
    if (policy_is_hidden(policy, path))
        return false;
    return rules_match(&policy->own, path) || rules_match(&policy->lists[LIST_UNIX], path) ||
           (policy->all_unix && policy_may_read(policy, path));
}

bool policy_has_unix(const struct policy *policy)
{
    return policy->all_unix || !rules_empty(&policy->own) ||
           !rules_empty(&policy->lists[LIST_UNIX]);
}

bool policy_all_unix(const struct policy *policy)
{
    return policy->all_unix;
}

bool policy_may_bind(const struct policy *policy)
{
    return policy->may_bind;
}

bool policy_loopback_port(const struct policy *policy, uint16_t port)
{
    if (port == 0)
        return false;
    for (const uint16_t *at = policy->loopback_ports; *at != 0; at++)
        if (*at == port)
            return true;
    return port == policy->http_port || port == policy->socks_port;
}

void policy_proxy_ports(const struct policy *policy, uint16_t *ret_http, uint16_t *ret_socks)
{
    *ret_http = policy->http_port;
    *ret_socks = policy->socks_port;
}

bool policy_has_ignored(const struct policy *policy)
{
    return policy->ignored.count > 0;
}

/* srt asks for a part of the text on both sides, and * stands for every command. */
bool policy_ignores(const struct policy *policy, const char *command, const char *path)
{
    const struct words *pairs = &policy->ignored;
    for (size_t i = 0; i + 1 < pairs->count; i += 2) {
        const char *part = pairs->items[i];
        bool every = strcmp(part, "*") == 0;
        if ((every || (command && strstr(command, part))) && strstr(path, pairs->items[i + 1]))
            return true;
    }
    return false;
}
