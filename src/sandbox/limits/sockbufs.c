/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/limits/sockbufs.h"

#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/proc/procfile.h"

enum {
    ANSWER_MAX = 32768,
    TEXT_MAX = 4096,
    LINE_MAX_LEN = 256,
    LEAST_SHARE = 1024, /* what a message of one byte takes, and more */
    ALL = -1,
};

/* What the system counts for one socket. */
static uint64_t memory_in(const uint32_t *info, size_t n)
{
    const uint64_t queued = n > SK_MEMINFO_WMEM_QUEUED ? info[SK_MEMINFO_WMEM_QUEUED] : 0;
    if (n <= SK_MEMINFO_WMEM_ALLOC)
        return 0;
    const uint64_t sent = info[SK_MEMINFO_WMEM_ALLOC];
    uint64_t bytes = info[SK_MEMINFO_RMEM_ALLOC] + (sent > queued ? sent : queued);
    if (n > SK_MEMINFO_BACKLOG)
        bytes += (uint64_t)info[SK_MEMINFO_FWD_ALLOC] + info[SK_MEMINFO_BACKLOG];
    return bytes;
}

/* --- asking ----------------------------------------------------------------------------------- */

struct socket_ask { /* one of both behind a header */
    struct nlmsghdr head;
    union {
        struct unix_diag_req local;
        struct inet_diag_req_v2 inet;
    } body;
};

/* Calls fn for each socket of the answer. False: the kernel does not say. */
static bool dump(struct socket_ask *ask, size_t body,
                 void (*fn)(void *ctx, const struct nlmsghdr *found), void *ctx)
{
    _Alignas(struct nlmsghdr) char answer[ANSWER_MAX];
    ask->head = (struct nlmsghdr){.nlmsg_len = (uint32_t)NLMSG_LENGTH(body),
                                  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP};
    drop_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0 || send(fd, ask, ask->head.nlmsg_len, 0) < 0)
        return false;
    for (;;) {
        const ssize_t n = recv(fd, answer, sizeof answer, MSG_DONTWAIT);
        if (n <= 0)
            return false;
        size_t left = (size_t)n;
        for (const struct nlmsghdr *at = (const struct nlmsghdr *)answer; NLMSG_OK(at, left);
             at = NLMSG_NEXT(at, left)) {
            if (at->nlmsg_type != SOCK_DIAG_BY_FAMILY)
                return at->nlmsg_type == NLMSG_DONE;
            fn(ctx, at);
        }
    }
}

/* The attribute behind a body of that size; NULL: it is not there. */
static const void *attribute(const struct nlmsghdr *found, size_t body, int type, size_t *ret_size)
{
    const char *at = (const char *)NLMSG_DATA(found) + NLMSG_ALIGN(body);
    const char *end = (const char *)found + found->nlmsg_len;
    while (at + sizeof(struct nlattr) <= end) {
        struct nlattr head;
        memcpy(&head, at, sizeof head);
        if (head.nla_len < sizeof head || at + head.nla_len > end)
            return NULL;
        *ret_size = head.nla_len - sizeof head;
        if ((head.nla_type & NLA_TYPE_MASK) == type)
            return at + sizeof head;
        at += NLMSG_ALIGN(head.nla_len);
    }
    return NULL;
}

static uint64_t memory_of(const struct nlmsghdr *found, size_t body, int type)
{
    uint32_t info[SK_MEMINFO_VARS] = {0};
    size_t size = 0;
    const void *at = attribute(found, body, type, &size);
    if (!at)
        return 0;
    size = size < sizeof info ? size : sizeof info;
    memcpy(info, at, size);
    return memory_in(info, size / sizeof *info);
}

/* --- Unix sockets ----------------------------------------------------------------------------- */

struct sum {
    const struct unnamed_memory *ours;
    uint64_t most_of_one; /* what a sender that has gone may have left */
    uint64_t bytes, known;
    bool listens;                        /* with connections that nobody has taken */
    const struct unnamed_memory *others; /* NULL: only ours count */
};

/* Messages are counted for who has sent them, and for nobody when that one is closed. */
static uint64_t left_behind(const struct sum *sum, const struct nlmsghdr *found, uint32_t queued)
{
    size_t size = 0;
    uint32_t peer = 0;
    const void *at = attribute(found, sizeof(struct unix_diag_msg), UNIX_DIAG_PEER, &size);
    if (at && size >= sizeof peer)
        memcpy(&peer, at, sizeof peer);
    if (queued == 0 || peer != 0)
        return 0;
    const uint64_t most = (uint64_t)queued * LEAST_SHARE;
    return most < sum->most_of_one ? most : sum->most_of_one;
}

static void add_local(void *ctx, const struct nlmsghdr *found)
{
    struct sum *sum = ctx;
    struct unix_diag_msg body;
    struct unix_diag_rqlen queue = {0};
    size_t size = 0;
    memcpy(&body, NLMSG_DATA(found), sizeof body);
    const bool ours = body.udiag_ino != 0 && unnamed_memory_has_socket(sum->ours, body.udiag_ino);
    const void *at = attribute(found, sizeof body, UNIX_DIAG_RQLEN, &size);
    if (at && size >= sizeof queue)
        memcpy(&queue, at, sizeof queue);
    sum->known += ours;
    if (!ours && (!sum->others || unnamed_memory_has_socket(sum->others, body.udiag_ino)))
        return;
    sum->bytes += memory_of(found, sizeof body, UNIX_DIAG_MEMINFO);
    if (body.udiag_state == TCP_LISTEN)
        sum->listens |= queue.udiag_rqueue > 0;
    else if (body.udiag_type != SOCK_DGRAM)
        sum->bytes += left_behind(sum, found, queue.udiag_rqueue);
}

static void add_locals(struct sum *sum)
{
    struct socket_ask ask = {
        .body.local = {.sdiag_family = AF_UNIX,
                       .udiag_states = (uint32_t)ALL,
                       .udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN | UDIAG_SHOW_MEMINFO}};
    (void)dump(&ask, sizeof ask.body.local, add_local, sum);
}

/* --- the internet ----------------------------------------------------------------------------- */

/* Both ends are here: the one that is closed is nobody's. */
static bool is_closed_end(const struct inet_diag_msg *body)
{
    return body->idiag_inode == 0 &&
           memcmp(body->id.idiag_src, body->id.idiag_dst, sizeof body->id.idiag_src) == 0;
}

static void add_inet(void *ctx, const struct nlmsghdr *found)
{
    struct sum *sum = ctx;
    struct inet_diag_msg body;
    memcpy(&body, NLMSG_DATA(found), sizeof body);
    if (is_closed_end(&body) || unnamed_memory_has_socket(sum->ours, body.idiag_inode))
        sum->bytes += memory_of(found, sizeof body, INET_DIAG_SKMEMINFO);
}

static void add_inets(struct sum *sum)
{
    static const uint8_t families[] = {AF_INET, AF_INET6}, kinds[] = {IPPROTO_TCP, IPPROTO_UDP};
    for (size_t i = 0; i < 4; i++) {
        struct socket_ask ask = {.body.inet = {.sdiag_family = families[i / 2],
                                               .sdiag_protocol = kinds[i % 2],
                                               .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
                                               .idiag_states = (uint32_t)ALL}};
        (void)dump(&ask, sizeof ask.body.inet, add_inet, sum);
    }
}

/* Of the whole machine, in TCP and UDP. */
static uint64_t inet_memory(void)
{
    char text[TEXT_MAX];
    uint64_t pages = 0;
    (void)procfile_read(AT_FDCWD, "/proc/self/net/sockstat", text, sizeof text);
    for (const char *at = text; (at = strstr(at, " mem ")); at++)
        pages += procfile_number(at + sizeof " mem " - 1, NULL);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* --- netlink ---------------------------------------------------------------------------------- */

/* Columns: sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode. */
static void add_netlinks(struct sum *sum)
{
    char line[LINE_MAX_LEN];
    FILE *file = fopen("/proc/self/net/netlink", "re");
    while (file && fgets(line, sizeof line, file)) {
        uint64_t columns[10] = {0};
        char *at = line;
        for (int i = 0; i < 10; i++) {
            at += strspn(at, " ");
            columns[i] = procfile_number(at, NULL);
            at += strcspn(at, " ");
        }
        if (columns[9] != 0 && unnamed_memory_has_socket(sum->ours, columns[9]))
            sum->bytes += columns[4] + columns[5];
    }
    if (file)
        (void)fclose(file);
}

/* The system doubles what is asked for, up to this. */
static uint64_t largest_buffer(void)
{
    char text[LINE_MAX_LEN];
    (void)procfile_read(AT_FDCWD, "/proc/sys/net/core/wmem_max", text, sizeof text);
    const uint64_t most = procfile_number(text, NULL);
    return 2 * (most > 0 ? most : 4 << 20);
}

uint64_t sockbufs_bytes(const struct unnamed_memory *ours)
{
    struct sum sum = {.ours = ours, .most_of_one = largest_buffer()};
    if (ours->sockets == 0)
        return 0;
    add_locals(&sum);
    if (ours->in_flight > 0 || sum.listens) {
        drop_unnamed_memory struct unnamed_memory others = UNNAMED_MEMORY_NONE;
        unnamed_memory_of_others(&others);
        sum = (struct sum){.ours = ours, .most_of_one = sum.most_of_one, .others = &others};
        add_locals(&sum);
    }
    if (sum.known < ours->sockets) {
        add_netlinks(&sum);
        if (inet_memory() > SOCKBUFS_NOISE)
            add_inets(&sum);
    }
    return sum.bytes;
}
