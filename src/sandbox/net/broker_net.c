/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls on sockets. The broker makes them, and acts on the same open file afterwards: no
 * address is read by the kernel out of memory that the sandbox can change meanwhile. */
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/net/net_internal.h"

void net_refuse(struct notice *notice, const char *what)
{
    notice_refuse(notice, what);
    notice->error = EACCES;
}

int net_socket(const struct notice *notice, struct socket_seen *ret)
{
    char link[PATH_MAX];
    int r = target_descriptor(notice, (int)notice->args[0], link);
    if (r < 0)
        return r;
    uint64_t inode = socket_inode(link);
    if (inode == 0)
        return -ENOTSOCK;
    return sockets_find(notice->broker->net->sockets, inode, ret) ? 0 : -ENOENT;
}

int net_caller_address(const struct notice *notice, struct sockaddr_storage *ret)
{
    size_t n = (size_t)notice->args[2];
    *ret = (struct sockaddr_storage){0};
    if (n > sizeof *ret || n < sizeof ret->ss_family)
        return -EINVAL;
    int r = target_bytes(notice, notice->args[1], ret, n);
    if (r < 0)
        return r;
    return notice_alive(notice) ? (int)n : -ESRCH;
}

/* --- socket ----------------------------------------------------------------------------------- */

static bool is_tcp(const struct socket_kind *kind)
{
    return (kind->domain == AF_INET || kind->domain == AF_INET6) && kind->type == SOCK_STREAM &&
           (kind->protocol == 0 || kind->protocol == IPPROTO_TCP);
}

/* A datagram socket names its peer in each message, where the broker does not see it. */
static bool may_unix(const struct policy *policy, const struct socket_kind *kind)
{
    if (kind->domain != AF_UNIX)
        return false;
    return policy_all_unix(policy) || (policy_has_unix(policy) && kind->type != SOCK_DGRAM);
}

static const char *kind_text(const struct socket_kind *kind)
{
    if (kind->domain == AF_UNIX)
        return "a Unix socket";
    bool inet = kind->domain == AF_INET || kind->domain == AF_INET6;
    return inet ? "an internet socket other than TCP" : "a socket of another family";
}

static void on_broker_socket(struct notice *notice)
{
    const int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
    int type = (int)notice->args[1];
    struct socket_kind kind = {
        .domain = (int)notice->args[0], .type = type & ~flags, .protocol = (int)notice->args[2]};
    if (!is_tcp(&kind) && !may_unix(notice_policy(notice), &kind)) {
        notice_refuse(notice, kind_text(&kind));
        return;
    }
    drop_fd int fd = socket(kind.domain, type | SOCK_CLOEXEC, kind.protocol);
    int r = fd < 0 ? -errno : sockets_add(notice->broker->net->sockets, fd, &kind);
    if (r < 0)
        notice->error = -r;
    else
        notice_give(notice, fd_take(&fd), (type & SOCK_CLOEXEC) != 0);
}

int net_replace(const struct notice *notice, struct socket_seen *seen)
{
    struct socket_flags flags;
    struct socket_seen fresh = {.kind = seen->kind, .fd = -1};
    int number = (int)notice->args[0];
    int r = socket_flags(notice->pid, number, &flags);
    if (r < 0)
        return r;
    int type = fresh.kind.type | (flags.nonblock ? SOCK_NONBLOCK : 0);
    drop_fd int fd = socket(fresh.kind.domain, type | SOCK_CLOEXEC, fresh.kind.protocol);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    fresh.inode = st.st_ino;
    r = sockets_add(notice->broker->net->sockets, fd, &fresh.kind);
    if (r < 0)
        return r;
    struct seccomp_notif_addfd add = {
        .id = notice->id,
        .flags = SECCOMP_ADDFD_FLAG_SETFD,
        .srcfd = (uint32_t)fd,
        .newfd = (uint32_t)number,
        .newfd_flags = flags.cloexec ? O_CLOEXEC : 0,
    };
    if (ioctl(notice->broker->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0)
        return -errno;
    fresh.fd = fd_take(&fd);
    *seen = fresh;
    return 0;
}

/* --- bind ------------------------------------------------------------------------------------- */

static void notify_bound(const struct notice *notice, const struct socket_seen *seen)
{
    struct net *net = notice->broker->net;
    struct socket_holder holder = {.pid = notice->pid, .fd = (int)notice->args[0]};
    sockets_bound(net->sockets, seen->inode, &holder);
    net_sweep_soon(net);
}

/* A port that we alone still hold open is free. */
static int bind_once_more(struct net *net, int fd, const struct address *to)
{
    if (bind(fd, &to->any, to->len) == 0)
        return 0;
    if (errno != EADDRINUSE)
        return -errno;
    (void)sockets_sweep(net->sockets);
    return bind(fd, &to->any, to->len) == 0 ? 0 : -errno;
}

/* All addresses mean the loopback; both loopbacks for a socket of both families are one. */
static int loopback_for(int fd, const struct address *asked, struct address *ret)
{
    struct address to = *asked;
    if (address_is_any(asked)) {
        int only_six = 0;
        socklen_t len = sizeof only_six;
        (void)getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_six, &len);
        to = address_of_v4(INADDR_LOOPBACK, address_port(asked));
        if (asked->any.sa_family == AF_INET6 && only_six) {
            to = *asked;
            to.in6.sin6_addr = (struct in6_addr)IN6ADDR_LOOPBACK_INIT;
        }
    }
    if (!address_is_loopback(&to))
        return -EACCES;
    return address_for(&to, asked->any.sa_family, ret);
}

static void bind_inet(struct notice *notice, const struct socket_seen *seen,
                      const struct sockaddr_storage *raw, int len)
{
    struct address asked, to;
    char text[NET_TEXT_MAX];
    int r = address_read(raw, (size_t)len, &asked);
    if (r < 0) {
        notice->error = -r;
        return;
    }
    net_text(&asked, NULL, text);
    r = loopback_for(seen->fd, &asked, &to);
    if (r == -EACCES || !policy_may_bind(notice_policy(notice))) {
        net_refuse(notice, text);
        return;
    }
    r = r < 0 ? r : bind_once_more(notice->broker->net, seen->fd, &to);
    if (r == 0)
        notify_bound(notice, seen);
    notice->error = -r;
}

/* Sockets that we did not make are those to the kernel's routing tables, and pairs. A bind of one
 * is let go on: the number may be put onto another socket meanwhile, but nothing comes of it, for
 * on_listen() looks where a socket is bound. */
static void bind_foreign(struct notice *notice, const struct sockaddr_storage *raw)
{
    if (raw->ss_family == AF_NETLINK)
        notice->go_on = true;
    else
        notice->error = EINVAL;
}

static void on_bind(struct notice *notice)
{
    struct sockaddr_storage raw;
    struct socket_seen seen = {.fd = -1};
    int len = net_caller_address(notice, &raw);
    int r = len < 0 ? len : net_socket(notice, &seen);
    drop_fd int held = seen.fd;
    if (r == -ENOENT) {
        bind_foreign(notice, &raw);
        return;
    }
    if (r == 0 && held < 0) {
        bool anew = seen.state == SOCKET_NEW;
        r = anew ? net_replace(notice, &seen) : -EINVAL;
        held = anew && r == 0 ? seen.fd : -1;
    }
    if (r < 0)
        notice->error = -r;
    else if (seen.kind.domain == AF_UNIX)
        unix_bind(notice, seen.fd, &raw, len);
    else
        bind_inet(notice, &seen, &raw, len);
}

/* --- listen ----------------------------------------------------------------------------------- */

static int listen_inet(struct notice *notice, const struct socket_seen *seen, struct address *ret)
{
    struct address at = {.len = sizeof at.room};
    char text[NET_TEXT_MAX];
    if (getsockname(seen->fd, &at.any, &at.len) < 0)
        return -errno;
    net_text(&at, NULL, text);
    bool bound = address_port(&at) != 0;
    if (!policy_may_bind(notice_policy(notice)) || (bound && !address_is_loopback(&at))) {
        net_refuse(notice, text);
        return -EACCES;
    }
    if (!bound) { /* the kernel would choose a port of all addresses */
        struct address to;
        int r = loopback_for(seen->fd, &at, &to);
        if (r == 0 && bind(seen->fd, &to.any, to.len) < 0)
            r = -errno;
        at.len = sizeof at.room;
        if (r < 0 || getsockname(seen->fd, &at.any, &at.len) < 0)
            return r < 0 ? r : -errno;
    }
    *ret = at;
    return 0;
}

/* A name in the file system was judged when it was bound; an abstract one may not be. */
static int listen_unix(struct notice *notice, const struct socket_seen *seen)
{
    struct sockaddr_un at = {0};
    socklen_t len = sizeof at;
    if (getsockname(seen->fd, (struct sockaddr *)&at, &len) < 0)
        return -errno;
    bool abstract = len > offsetof(struct sockaddr_un, sun_path) && at.sun_path[0] == '\0';
    if (!abstract || policy_all_unix(notice_policy(notice)))
        return 0;
    notice_refuse(notice, "an abstract Unix socket");
    return -EPERM;
}

static void on_listen(struct notice *notice)
{
    struct socket_seen seen = {.fd = -1};
    struct address at = {.len = 0};
    int r = net_socket(notice, &seen);
    drop_fd int held = seen.fd;
    if (r == 0 && seen.state == SOCKET_LISTENING)
        return; /* once more, with another backlog: the first one stays */
    if (r == 0 && held < 0) {
        bool anew = seen.state == SOCKET_NEW;
        r = anew ? net_replace(notice, &seen) : -EINVAL;
        held = anew && r == 0 ? seen.fd : -1;
    }
    bool local = seen.kind.domain == AF_UNIX;
    if (r == 0)
        r = local ? listen_unix(notice, &seen) : listen_inet(notice, &seen, &at);
    if (r == 0 && listen(seen.fd, (int)notice->args[1]) < 0)
        r = -errno;
    notice->error = r == -ENOENT ? EINVAL : -r;
    if (r < 0)
        return;
    struct socket_holder holder = {.pid = notice->pid, .fd = (int)notice->args[0]};
    sockets_listening(notice->broker->net->sockets, seen.inode, &holder, local ? NULL : &at);
}

notice_fn broker_net_call(int call)
{
    switch (call) {
    case SYS_socket:
        return on_broker_socket;
    case SYS_connect:
        return net_connect;
    case SYS_bind:
        return on_bind;
    case SYS_listen:
        return on_listen;
    default:
        return NULL;
    }
}
