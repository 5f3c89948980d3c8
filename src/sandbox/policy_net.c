/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "sandbox/policy_parts.h"

bool policy_has_network(const struct policy *policy)
{
    return policy->allowed_count > 0;
}

static bool is_listed(const struct domain *domains, size_t n, const struct domain *target)
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
           !is_listed(policy->denied, policy->denied_count, &target) &&
           is_listed(policy->allowed, policy->allowed_count, &target);
}

const struct words *policy_domains(const struct policy *policy)
{
    return &policy->domains;
}

bool policy_may_connect_unix(const struct policy *policy, const char *path)
{
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
