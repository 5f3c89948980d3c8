/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/proc/socklook.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/proc/fdtable.h"

enum {
    LINK_MAX_LEN = 64,
    PATH_LEN = 64,
    LINE_LEN = 512,
    STATE_COLUMN = 3,
    INODE_COLUMN = 9,
    UNIX_INODE_COLUMN = 6,
    LOOPBACK_INTERFACE = 1, /* in every network namespace */
};

uint64_t socket_inode(const char *link)
{
    static const char head[] = "socket:[";
    char *end;
    if (strncmp(link, head, sizeof head - 1) != 0)
        return 0;
    uint64_t inode = strtoull(link + sizeof head - 1, &end, 10);
    return *end == ']' ? inode : 0;
}

static bool leads_to(const char *path, uint64_t inode)
{
    char link[LINK_MAX_LEN];
    ssize_t n = readlink(path, link, sizeof link - 1);
    if (n <= 0)
        return false;
    link[n] = '\0';
    return socket_inode(link) == inode;
}

/* A number that is the whole of a name in /proc; -1: it is none. */
static int inode_number_of(const char *name)
{
    char *end;
    if (!isdigit((unsigned char)*name))
        return -1;
    long number = strtol(name, &end, 10);
    return *end == '\0' && number <= INT32_MAX ? (int)number : -1;
}

struct hunt {
    uint64_t inode;
    struct socket_holder *holder;
};

static bool is_hunted(void *ctx, const struct fdtable_entry *entry)
{
    const struct hunt *hunt = ctx;
    if (socket_inode(entry->link) != hunt->inode)
        return false;
    hunt->holder->fd = entry->fd;
    return true;
}

bool socket_is_at(uint64_t inode, const struct socket_holder *holder)
{
    char path[PATH_LEN];
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)holder->pid, holder->fd);
    return holder->pid > 0 && leads_to(path, inode);
}

bool socket_find(uint64_t inode, bool (*fits)(uint64_t inode, const struct socket_holder *holder),
                 struct socket_holder *ret)
{
    DIR *proc = opendir("/proc");
    struct hunt hunt = {.inode = inode, .holder = ret};
    bool found = false;
    const struct dirent *entry;
    while (proc && !found && (entry = readdir(proc)) != NULL) {
        ret->pid = inode_number_of(entry->d_name);
        found = ret->pid > 0 && ret->pid != getpid() &&
                fdtable_each(ret->pid, is_hunted, &hunt) > 0 && (!fits || fits(inode, ret));
    }
    if (!found)
        ret->pid = 0;
    const bool looked = proc != NULL;
    if (proc)
        (void)closedir(proc);
    return found || (!looked && !fits); /* nothing is known: nothing is given up */
}

bool socket_held(uint64_t inode, struct socket_holder *holder)
{
    return socket_is_at(inode, holder) || socket_find(inode, NULL, holder);
}

/* Column `want` of a line, from 0; "" when there are fewer. */
static const char *column(const char *line, int want)
{
    line += strspn(line, " ");
    for (int i = 0; i < want; i++) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    return line;
}

static int state_in(const char *path, uint64_t inode)
{
    FILE *file = fopen(path, "re");
    char line[LINE_LEN];
    int state = 0;
    while (file && state == 0 && fgets(line, sizeof line, file)) {
        char *end;
        if (strtoull(column(line, INODE_COLUMN), &end, 10) == inode)
            state = (int)strtoul(column(line, STATE_COLUMN), &end, 16);
    }
    if (file)
        (void)fclose(file);
    return state;
}

int socket_tcp_state(uint64_t inode)
{
    int state = state_in("/proc/self/net/tcp", inode);
    return state ? state : state_in("/proc/self/net/tcp6", inode);
}

static void put_diag_address(const struct address *at, __be32 ret[4])
{
    uint32_t v4;
    if (address_v4(at, &v4))
        ret[0] = htonl(v4);
    else
        memcpy(ret, &at->in6.sin6_addr, sizeof at->in6.sin6_addr);
}

static struct inet_diag_req_v2 diag_request(const struct address *from, const struct address *to,
                                            uint16_t to_port)
{
    struct inet_diag_req_v2 request = {
        .sdiag_protocol = IPPROTO_TCP,
        .id = {.idiag_sport = htons(address_port(from)),
               .idiag_dport = htons(to_port),
               .idiag_if = LOOPBACK_INTERFACE,
               .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}},
    };
    uint32_t v4;
    request.sdiag_family = address_v4(from, &v4) ? AF_INET : AF_INET6;
    put_diag_address(from, request.id.idiag_src);
    put_diag_address(to, request.id.idiag_dst);
    return request;
}

/* False: there is none, or the kernel does not say. The answer is there when send() is. */
static bool ask_diag(struct inet_diag_req_v2 request, struct inet_diag_msg *ret)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } ask = {.head = {.nlmsg_len = sizeof ask,
                      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                      .nlmsg_flags = NLM_F_REQUEST},
             .body = request};
    struct {
        struct nlmsghdr head;
        struct inet_diag_msg body;
    } answer; /* attributes follow, which nobody needs */
    drop_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0 || send(fd, &ask, sizeof ask, 0) != (ssize_t)sizeof ask ||
        recv(fd, &answer, sizeof answer, MSG_DONTWAIT) != (ssize_t)sizeof answer ||
        answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    *ret = answer.body;
    return true;
}

/* Its inode; 0: nobody listens, or the kernel does not say. */
static uint32_t listener_at(const struct address *at)
{
    struct inet_diag_msg found;
    bool there = ask_diag(diag_request(at, at, 0), &found);
    return there && found.idiag_state == TCP_LISTEN ? found.idiag_inode : 0;
}

bool socket_of_connection(const struct address *from, const struct address *to, uint64_t *ret_inode,
                          uid_t *ret_uid)
{
    struct inet_diag_msg found;
    if (!ask_diag(diag_request(from, to, address_port(to)), &found) ||
        found.idiag_state == TCP_LISTEN || found.idiag_inode == 0)
        return false;
    *ret_inode = found.idiag_inode;
    *ret_uid = found.idiag_uid;
    return true;
}

bool socket_listens(uint64_t inode, const struct address *at)
{
    const uint32_t there = listener_at(at);
    return there != 0 ? there == (uint32_t)inode : socket_tcp_state(inode) == TCP_LISTEN;
}

bool sockets_all_unix(const uint64_t *inodes, size_t n)
{
    FILE *file = fopen("/proc/self/net/unix", "re");
    char line[LINE_LEN];
    size_t seen = 0;
    while (file && seen < n && fgets(line, sizeof line, file)) {
        char *end;
        const uint64_t inode = strtoull(column(line, UNIX_INODE_COLUMN), &end, 10);
        for (size_t i = 0; i < n; i++)
            seen += inodes[i] == inode;
    }
    if (file)
        (void)fclose(file);
    return seen >= n;
}

int socket_flags(pid_t pid, int fd, struct socket_flags *ret)
{
    char path[PATH_LEN], line[LINE_LEN];
    (void)snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)pid, fd);
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    int r = -ENOENT;
    while (r < 0 && fgets(line, sizeof line, file)) {
        char *end;
        if (strncmp(line, "flags:", 6) != 0)
            continue;
        unsigned long flags = strtoul(line + 6, &end, 8);
        *ret = (struct socket_flags){.nonblock = (flags & O_NONBLOCK) != 0,
                                     .cloexec = (flags & O_CLOEXEC) != 0};
        r = 0;
    }
    (void)fclose(file);
    return r;
}
