/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/net/net.h - the environment that tells a sandboxed program about its network.
 * Plain:   every connection is judged where it is made, by the name that it was resolved from; a
 *          program needs RES_OPTIONS and no more. docs/sandbox-network.md has the whole way.
 * Proxies: as srt does it, for programs that expect proxy variables: ours (net_proxies_listen(),
 *          then broker_config.proxies), or those that the settings name by their ports; with the
 *          latter nothing else is reached.
 * Thread:  any. */
#ifndef SANDBOX_NET_NET_H
#define SANDBOX_NET_NET_H

#include <stdint.h>

#include "sandbox/policy/policy.h"

struct net_proxies { /* of this sandbox alone, on 127.0.0.1 */
    int http, socks; /* they listen; the broker's once it has started */
    uint16_t http_port, socks_port;
};

MUST_CHECK int net_proxies_listen(struct net_proxies *ret, struct err *e);
/* Adds "NAME=value" for each variable that the program needs. proxies: NULL without our own. */
void net_environment(const struct policy *policy, const struct net_proxies *proxies,
                     struct words *words);

#endif
