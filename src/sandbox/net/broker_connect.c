/* SPDX-License-Identifier: Apache-2.0
 *
 * connect(). A call that may take its time runs on a thread of its own, and reads its arguments
 * anew there: what is judged is what is connected to, whenever that was read. A signal for the
 * caller ends the waiting; the connection goes on by itself, and the call, if it starts over, waits
 * for it again. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>

#include "base/alloc.h"
#include "sandbox/net/net_internal.h"

struct connect_request { /* one connect() */
    struct notice *notice;
    struct net *net;
    struct socket_seen seen;
};

static int connect_fd(struct connect_request *request, const struct sockaddr *to, socklen_t len)
{
    return connect(request->seen.fd, to, len) == 0 ? 0 : -errno;
}

/* --- the internet ----------------------------------------------------------------------------- */

static int connect_to_judged(struct connect_request *request, const struct address *to)
{
    struct address fit;
    int r = address_for(to, request->seen.kind.domain, &fit);
    return r < 0 ? r : connect_fd(request, &fit.any, fit.len);
}

/* It stands, or is on its way. */
static bool is_begun(int r)
{
    return r == 0 || r == -EINPROGRESS || r == -EINTR;
}

static int connect_name(struct connect_request *request, const char *name, uint16_t port)
{
    struct address found[NET_ADDRESSES_MAX];
    int n = net_resolve(request->net, notice_policy(request->notice), name, port,
                        request->seen.kind.domain, found);
    if (n == -EACCES) {
        char text[NET_TEXT_MAX + 32];
        (void)snprintf(text, sizeof text, "%s:%u (an inner address)", name, port);
        net_refuse(request->notice, text);
    }
    if (n < 0)
        return n;
    if (!notice_alive(request->notice))
        return -EINTR;
    int r = -EHOSTUNREACH;
    for (int i = 0; i < n; i++) {
        r = connect_to_judged(request, &found[i]);
        if (is_begun(r))
            break;
    }
    return r;
}

static int connect_inet(struct connect_request *request, const struct address *to)
{
    char name[DNS_NAME_MAX + 1], text[NET_TEXT_MAX];
    const struct address stub = address_of_v4(INADDR_LOOPBACK, request->net->stub_port);
    struct address place, other;
    int r;
    switch (net_judge(request->net, notice_policy(request->notice), to, name, &place)) {
    case NET_STUB:
        r = net_run(request->net);
        return r < 0 ? r : connect_to_judged(request, &stub);
    case NET_ADDRESS:
        return notice_naive(request->notice) || request->notice->go_on
                   ? 0
                   : connect_to_judged(request, &place);
    case NET_NAME:
        return connect_name(request, name, address_port(to));
    case NET_REFUSED:
        break;
    }
    if (net_other_loopback(request->net, to, &other))
        return connect_to_judged(request, &other);
    net_text(to, name, text);
    net_refuse(request->notice, text);
    return -EACCES;
}

static int connect_unix(struct connect_request *request, const struct sockaddr_storage *raw,
                        int len)
{
    struct unix_peer peer = {.fd = -1};
    int r = unix_find(request->notice, raw, len, &peer);
    if (r == 0)
        r = connect_fd(request, (const struct sockaddr *)&peer.address, peer.len);
    (void)fd_close(peer.fd);
    return r;
}

/* A socket that we do not hold any more, because it was connected once, or because there are too
 * many of its kind. */
static int take_again(struct connect_request *request, bool disconnect)
{
    enum socket_state state = request->seen.state;
    bool begun = state == SOCKET_STARTED || state == SOCKET_WAITING;
    if (state == SOCKET_LISTENING || (begun && request->seen.kind.domain == AF_UNIX))
        return -EISCONN;
    int tcp = begun ? socket_tcp_state(request->seen.inode) : 0;
    if (tcp == TCP_SYN_SENT && !disconnect)
        return -EALREADY;
    if (tcp != 0 && !disconnect)
        return -EISCONN;
    return net_replace(request->notice, &request->seen);
}

static int go_connect(struct connect_request *request, const struct sockaddr_storage *raw, int len)
{
    struct address to;
    bool disconnect = raw->ss_family == AF_UNSPEC;
    int r = request->seen.fd < 0 ? take_again(request, disconnect) : 0;
    if (r < 0)
        return r;
    if (disconnect)
        return connect_fd(request, (const struct sockaddr *)raw, (socklen_t)len);
    if (request->seen.kind.domain == AF_UNIX)
        return connect_unix(request, raw, len);
    r = address_read(raw, (size_t)len, &to);
    if (r == 0 && to.any.sa_family == AF_INET6 && request->seen.kind.domain == AF_INET)
        r = -EAFNOSUPPORT;
    return r < 0 ? r : connect_inet(request, &to);
}

static void notify_begun(const struct connect_request *request, int r)
{
    struct net *net = request->net;
    struct socket_holder holder = {.pid = request->notice->pid,
                                   .fd = (int)request->notice->args[0]};
    if (r != -EINTR) {
        sockets_started(net->sockets, request->seen.inode);
        return;
    }
    sockets_waiting(net->sockets, request->seen.inode, &holder);
    net_sweep_soon(net);
}

/* --- the call --------------------------------------------------------------------------------- */

static void run_connect(struct notice *notice, bool patient);

static void run_patiently(struct notice *notice)
{
    run_connect(notice, true);
    notice_answer(notice);
}

/* Names are looked up, and sockets that block wait: both on a thread of their own. */
static bool takes_time(const struct connect_request *request, const struct sockaddr_storage *raw,
                       int len)
{
    struct address to;
    char name[DNS_NAME_MAX + 1];
    uint32_t v4;
    if (request->seen.fd < 0 || (fcntl(request->seen.fd, F_GETFL) & O_NONBLOCK) == 0)
        return true;
    return address_read(raw, (size_t)len, &to) == 0 && address_v4(&to, &v4) &&
           names_find(request->net->names, v4, name);
}

static void run_connect(struct notice *notice, bool patient)
{
    struct sockaddr_storage raw;
    struct connect_request request = {.notice = notice, .net = notice->broker->net, .seen.fd = -1};
    int len = net_caller_address(notice, &raw);
    int r = len < 0 ? len : net_socket(notice, &request.seen);
    if (r < 0) {
        notice->error = r == -ENOENT ? EISCONN : -r;
        return;
    }
    if (!patient && takes_time(&request, &raw, len)) {
        (void)fd_close(request.seen.fd);
        notice_defer(notice, run_patiently);
        return;
    }
    r = go_connect(&request, &raw, len);
    (void)fd_close(request.seen.fd);
    notice->error = r == -EINTR ? NOTICE_RESTART : -r;
    if (is_begun(r) && raw.ss_family != AF_UNSPEC && !notice->go_on)
        notify_begun(&request, r);
}

void net_connect(struct notice *notice)
{
    run_connect(notice, false);
}
