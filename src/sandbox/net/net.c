/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/net/net.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/net/dns_stub.h"
#include "sandbox/net/loopback.h"
#include "sandbox/net/net_internal.h"
#include "sandbox/net/proxy.h"

/* Reached without a proxy; to srt inner networks, too, but a proxy says why these are refused. */
#define NO_PROXY "localhost,127.0.0.1,::1,*.local,.local"

enum { SWEEP_MS = 1000, DIAL_S = 30, TEXT_MAX = 1 << 20, HOST_MAX = 256 };

/* --- before the program starts ---------------------------------------------------------------- */

int net_proxies_listen(struct net_proxies *ret, struct err *e)
{
    struct net_proxies proxies;
    drop_fd int http = -1;
    int r = loopback_listen(&http, &proxies.http_port, e);
    if (r == 0)
        r = loopback_listen(&proxies.socks, &proxies.socks_port, e);
    if (r < 0)
        return r;
    proxies.http = fd_take(&http);
    *ret = proxies;
    return 0;
}

enum proxy_port { HTTP_PORT, SOCKS_PORT, ANY_PORT };

struct proxy_variable {
    const char *name, *value; /* the port stands behind the value */
    enum proxy_port port;
};

/* Those that srt sets on Linux. A name behind SOCKS is resolved by the proxy: socks5h. */
static const struct proxy_variable proxy_variables[] = {
    {"HTTP_PROXY", "http://localhost:", HTTP_PORT},
    {"HTTPS_PROXY", "http://localhost:", HTTP_PORT},
    {"http_proxy", "http://localhost:", HTTP_PORT},
    {"https_proxy", "http://localhost:", HTTP_PORT},
    {"ALL_PROXY", "socks5h://localhost:", SOCKS_PORT},
    {"all_proxy", "socks5h://localhost:", SOCKS_PORT},
    {"FTP_PROXY", "socks5h://localhost:", SOCKS_PORT},
    {"ftp_proxy", "socks5h://localhost:", SOCKS_PORT},
    {"GRPC_PROXY", "socks5h://localhost:", SOCKS_PORT},
    {"grpc_proxy", "socks5h://localhost:", SOCKS_PORT},
    {"RSYNC_PROXY", "localhost:", SOCKS_PORT},
    {"DOCKER_HTTP_PROXY", "http://localhost:", ANY_PORT},
    {"DOCKER_HTTPS_PROXY", "http://localhost:", ANY_PORT},
    {"CLOUDSDK_PROXY_PORT", "", HTTP_PORT},
};

static const char *const proxy_constants[] = {
    "CLOUDSDK_PROXY_TYPE=https",
    "CLOUDSDK_PROXY_ADDRESS=localhost",
    "NO_PROXY=" NO_PROXY,
    "no_proxy=" NO_PROXY,
};

static void add_proxies(struct words *words, uint16_t http, uint16_t socks)
{
    const uint16_t ports[] = {http, socks, http ? http : socks};
    for (size_t i = 0; i < sizeof proxy_variables / sizeof *proxy_variables; i++) {
        const struct proxy_variable *variable = &proxy_variables[i];
        char text[128];
        if (ports[variable->port] == 0)
            continue;
        (void)snprintf(text, sizeof text, "%s=%s%u", variable->name, variable->value,
                       ports[variable->port]);
        words_add(words, text);
    }
    for (size_t i = 0; i < sizeof proxy_constants / sizeof *proxy_constants; i++)
        words_add(words, proxy_constants[i]);
}

void net_environment(const struct policy *policy, const struct net_proxies *proxies,
                     struct words *words)
{
    uint16_t http, socks;
    policy_proxy_ports(policy, &http, &socks);
    if (proxies && http == 0 && socks == 0) {
        http = proxies->http_port;
        socks = proxies->socks_port;
    }
    words_add(words, "RES_OPTIONS=use-vc timeout:1 attempts:1");
    if (http != 0 || socks != 0)
        add_proxies(words, http, socks);
}

/* --- virtual files ---------------------------------------------------------------------------- */

/* Where only /etc/hosts is read (musl), a name works if it is listed as it is. */
static void write_hosts(struct net *net, const struct policy *policy, struct buf *text)
{
    char host[HOST_MAX] = "";
    const struct words *domains = policy_domains(policy);
    (void)gethostname(host, sizeof host - 1);
    (void)buf_addf(text, "127.0.0.1 localhost %s\n::1 localhost ip6-localhost\n", host);
    for (size_t i = 0; i < domains->count; i++) {
        char name[DNS_NAME_MAX + 1] = "";
        const char *entry = domains->items[i];
        size_t n = strcspn(entry, ":");
        if (strpbrk(entry, "*[") || n > DNS_NAME_MAX)
            continue;
        memcpy(name, entry, n);
        struct in_addr v4;
        if (strcmp(name, "localhost") == 0 || inet_aton(name, &v4) ||
            !net_may_some_port(policy, name))
            continue;
        struct in_addr address = {.s_addr = htonl(names_address(net->names, name))};
        char digits[INET_ADDRSTRLEN];
        (void)inet_ntop(AF_INET, &address, digits, sizeof digits);
        (void)buf_addf(text, "%s %s\n", digits, name);
    }
}

/* opens.c knows the names too. */
int net_virtual_file(struct net *net, const struct policy *policy, const char *path)
{
    drop_buf struct buf text = BUF_INIT(TEXT_MAX);
    if (!net)
        return -1;
    if (strcmp(path, "/etc/hosts") == 0)
        write_hosts(net, policy, &text);
    else if (strcmp(path, "/etc/resolv.conf") == 0)
        (void)buf_adds(&text, "nameserver 127.0.0.53\noptions use-vc timeout:1 attempts:1\n");
    else
        return -1;
    int fd = text.failed ? -1 : names_file(strrchr(path, '/') + 1, &text);
    return fd < 0 ? -1 : fd;
}

/* --- the stub, the proxies -------------------------------------------------------------------- */

static uint32_t on_net_question(void *ctx, const char *name)
{
    struct net *net = ctx;
    struct policy_reference *reference = policy_reference_take(net->broker);
    bool may = net_may_some_port(policy_reference_policy(reference), name);
    policy_reference_drop(net->broker, reference);
    return may ? names_address(net->names, name) : 0;
}

static int connect_in_time(const struct address *to)
{
    const struct timeval most = {.tv_sec = DIAL_S};
    drop_fd int fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) < 0 ||
        connect(fd, &to->any, to->len) < 0)
        return -errno;
    return fd_take(&fd);
}

/* Address or name, as a program would connect to it; what stands for a name is one of those. */
static int find_host(struct net *net, const struct policy *policy, const char *host, uint16_t port,
                     struct address *ret)
{
    struct address to = address_of_v4(0, port);
    char name[DNS_NAME_MAX + 1];
    bool six = inet_pton(AF_INET6, host, &to.in6.sin6_addr) == 1;
    if (six) {
        to.len = sizeof to.in6;
        to.in6.sin6_family = AF_INET6;
    }
    if (!six && inet_pton(AF_INET, host, &to.in.sin_addr) != 1)
        return net_may_name(policy, host, port)
                   ? net_resolve(net, policy, host, port, AF_UNSPEC, ret)
                   : -EACCES;
    enum net_verdict verdict = net_judge(net, policy, &to, name, &ret[0]);
    if (verdict == NET_NAME)
        return net_resolve(net, policy, name, port, AF_UNSPEC, ret);
    return verdict == NET_ADDRESS ? 1 : -EACCES;
}

static int on_dial(void *ctx, const char *host, uint16_t port)
{
    struct net *net = ctx;
    struct address found[NET_ADDRESSES_MAX];
    struct policy_reference *reference = policy_reference_take(net->broker);
    int n = find_host(net, policy_reference_policy(reference), host, port, found);
    policy_reference_drop(net->broker, reference);
    const struct broker_config *config = &net->broker->config;
    if (n == -EACCES && config->refused) {
        char text[NET_TEXT_MAX];
        (void)snprintf(text, sizeof text, "%s:%u", host, port);
        config->refused(config->ctx, &(struct refusal){.call = "proxy", .what = text});
    }
    int r = n < 0 ? n : -EHOSTUNREACH;
    for (int i = 0; i < n && r < 0; i++)
        r = connect_in_time(&found[i]);
    return r;
}

/* --- bound sockets ---------------------------------------------------------------------------- */

static void sweep(void *ctx)
{
    struct net *net = ctx;
    if (sockets_sweep(net->sockets))
        loop_timer_set(net->loop, &net->sweep, SWEEP_MS, sweep, net);
}

static void on_bell(void *ctx, unsigned events)
{
    struct net *net = ctx;
    uint64_t count;
    (void)events;
    (void)!read(net->bell, &count, sizeof count);
    if (__atomic_load_n(&net->over, __ATOMIC_ACQUIRE))
        loop_quit(net->loop);
    else if (!net->sweep.armed)
        loop_timer_set(net->loop, &net->sweep, SWEEP_MS, sweep, net);
}

/* --- start ------------------------------------------------------------------------------------ */

static void *run_loop(void *ctx)
{
    struct net *net = ctx;
    loop_run(net->loop);
    return NULL;
}

int net_run(struct net *net)
{
    sigset_t all, before;
    int r = 0;
    (void)pthread_mutex_lock(&net->lock);
    if (!net->runs) {
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are the first thread's */
        r = pthread_create(&net->thread, NULL, run_loop, net);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        net->runs = r == 0;
    }
    (void)pthread_mutex_unlock(&net->lock);
    return -r;
}

void net_sweep_soon(struct net *net)
{
    const uint64_t one = 1;
    if (net_run(net) == 0)
        (void)!write(net->bell, &one, sizeof one);
}

/* The machine's own resolver: of a container what its engine set up. */
static int resolve_host(const char *name, int family, struct address *ret, int max)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = family};
    struct addrinfo *found = NULL;
    if (family == AF_INET6)
        hints.ai_family = AF_UNSPEC; /* such a socket reaches IPv4, too */
    if (getaddrinfo(name, NULL, &hints, &found) != 0)
        return -EHOSTUNREACH;
    int n = 0;
    for (const struct addrinfo *at = found; at && n < max; at = at->ai_next)
        if (address_read(at->ai_addr, at->ai_addrlen, &ret[n]) == 0)
            n++;
    freeaddrinfo(found);
    return n > 0 ? n : -EHOSTUNREACH;
}

static int open_proxies(struct net *net, const struct net_proxies *proxies, struct err *e)
{
    net->http_port = proxies->http_port;
    net->socks_port = proxies->socks_port;
    int r = proxy_open(net->loop, PROXY_HTTP, proxies->http, on_dial, net, &net->proxies[0], e);
    if (r == 0)
        r = proxy_open(net->loop, PROXY_SOCKS, proxies->socks, on_dial, net, &net->proxies[1], e);
    if (r < 0)
        return r;
    r = net_run(net);
    return r < 0 ? err_set(e, r, "a thread of the broker: %s", strerror(-r)) : 0;
}

static int open_parts(struct net *net, struct err *e)
{
    int r = loop_new(&net->loop, e);
    if (r < 0)
        return r;
    net->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (net->bell < 0)
        return err_set(e, -errno, "an eventfd: %s", strerror(errno));
    r = loop_io_add(net->loop, net->bell, LOOP_IN, on_bell, net, &net->bell_io, e);
    if (r == 0)
        r = dns_stub_open(net->loop, on_net_question, net, &net->stub, &net->stub_port, e);
    const struct net_proxies *proxies = net->broker->config.proxies;
    return r == 0 && proxies ? open_proxies(net, proxies, e) : r;
}

int net_open(struct broker *broker, struct net **ret, struct err *e)
{
    struct net *net = NEW(struct net);
    *net = (struct net){.broker = broker, .resolve = resolve_host, .bell = -1};
    (void)pthread_mutex_init(&net->lock, NULL);
    net->sockets = sockets_new();
    net->names = names_new();
    int r = open_parts(net, e);
    if (r < 0)
        net = net_free(net);
    else
        *ret = net;
    return r;
}

struct net *net_free(struct net *net)
{
    const uint64_t one = 1;
    if (!net)
        return NULL;
    __atomic_store_n(&net->over, true, __ATOMIC_RELEASE);
    if (net->runs && write(net->bell, &one, sizeof one) == sizeof one)
        (void)pthread_join(net->thread, NULL);
    net->proxies[0] = proxy_free(net->proxies[0]);
    net->proxies[1] = proxy_free(net->proxies[1]);
    net->stub = dns_stub_free(net->stub);
    net->bell_io = loop_io_del(net->bell_io);
    net->loop = loop_free(net->loop);
    (void)fd_close(net->bell);
    net->names = names_free(net->names);
    net->sockets = sockets_free(net->sockets);
    (void)pthread_mutex_destroy(&net->lock);
    xfree(net);
    return NULL;
}
