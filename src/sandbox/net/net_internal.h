/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/net/net_internal.h - the network half of the broker: what its files share.
 * Private to net*.c, broker_net.c, broker_connect.c and their tests. */
#ifndef SANDBOX_NET_NET_INTERNAL_H
#define SANDBOX_NET_NET_INTERNAL_H

#include <pthread.h>
#include <sys/un.h>

#include "loop/loop.h"
#include "sandbox/broker/broker_internal.h"
#include "sandbox/net/sockets.h"
#include "sandbox/paths/names.h"
#include "sandbox/proc/addresses.h"

#define NET_ADDRESSES_MAX 16 /* tried of one name */

/* Real resolution; may block. How many addresses, at least 1, or a negative errno. */
typedef int (*net_resolve_fn)(const char *name, int family, struct address *ret, int max);

struct net {
    struct broker *broker;
    struct sockets *sockets;
    struct host_names *names;
    net_resolve_fn resolve; /* tests put theirs here */
    uint16_t stub_port;
    uint16_t http_port, socks_port; /* our own proxies; 0: none */

    /* A thread that is started when it has work first: the stub, the proxies, the sweep. */
    struct loop *loop;
    pthread_mutex_t lock;
    pthread_t thread;
    bool runs, over;
    struct dns_stub *stub;
    struct proxy *proxies[2];
    int bell; /* eventfd: a socket was bound, or it is over */
    struct loop_io *bell_io;
    struct loop_timer sweep;
};

enum net_verdict { NET_REFUSED, NET_ADDRESS, NET_NAME, NET_STUB };

/* net.c. Starts the thread; -errno. */
MUST_CHECK int net_run(struct net *net);
void net_sweep_soon(struct net *net);

/* net_rules.c: what a policy says. */
/* May connections be judged by name? Not when external proxies are set. */
bool net_transparent(const struct policy *policy);
bool net_may_name(const struct policy *policy, const char *name, uint16_t port);
bool net_may_some_port(const struct policy *policy, const char *name);
/* NET_NAME: the name that stands behind the address, and it may be connected to; NET_STUB: nothing
 * but our own DNS. The name is filled in for a refusal, too, if there is one; else "".
 * *ret_place is what was judged and what NET_ADDRESS lets be connected to, always by that address:
 * which one 0.0.0.0 and :: mean, the kernel tells by what the socket is bound to. */
enum net_verdict net_judge(struct net *net, const struct policy *policy, const struct address *to,
                           char name[static DNS_NAME_MAX + 1], struct address *ret_place);
/* A socket of both families listens at 127.0.0.1 when it asked for all addresses (broker_net.c);
 * whoever looks for it at ::1 finds it there. */
bool net_other_loopback(struct net *net, const struct address *to, struct address *ret);
/* The addresses of an allowed name that may be connected to, with the port; how many, or -errno:
 * -EACCES when it has none but those of the inner network. May block. */
int net_resolve(struct net *net, const struct policy *policy, const char *name, uint16_t port,
                int family, struct address *ret);
/* "name:443", "198.51.100.1:443", "[2001:db8::1]:443"; name NULL or "": the address. */
#define NET_TEXT_MAX (DNS_NAME_MAX + 16)
void net_text(const struct address *to, const char *name, char text[static NET_TEXT_MAX]);

/* broker_net.c: what its calls share. */
/* The socket that a call names with its first argument. -ENOENT: not one that we made. */
MUST_CHECK int net_socket(const struct notice *notice, struct socket_seen *ret);
/* A new socket of the same kind takes its place in the caller; *seen tells of the new one. */
MUST_CHECK int net_replace(const struct notice *notice, struct socket_seen *seen);
/* The address that a call names with its second and third argument: its length, or -errno. */
int net_caller_address(const struct notice *notice, struct sockaddr_storage *ret);
/* EACCES, and reported, as srt does for TCP. */
void net_refuse(struct notice *notice, const char *what);

void net_connect(struct notice *notice); /* broker_connect.c */

/* broker_unix.c: Unix sockets by their canonical names. */
struct unix_peer {
    int fd; /* owned: the socket's file; -1: an abstract name */
    struct sockaddr_un address;
    socklen_t len;
};
/* Judges the target of a connect. -EPERM: refused and reported. */
MUST_CHECK int unix_find(struct notice *notice, const struct sockaddr_storage *to, int len,
                         struct unix_peer *ret);
void unix_bind(struct notice *notice, int fd, const struct sockaddr_storage *to, int len);

#endif
