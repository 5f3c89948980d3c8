/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/net/sockets.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

struct socket_entry {
    uint64_t used; /* by the clock; 0: free */
    bool held;
    int fd; /* owned while it is held */
    struct socket_kind kind;
    enum socket_state state;
    struct socket_holder holder; /* of one that is bound or listens */
    struct address address;      /* of one that listens */
};

struct sockets {
    pthread_mutex_t lock;
    uint64_t clock;
    size_t held;
    uint64_t inode[SOCKETS_MAX]; /* a column of its own: this is what is searched */
    struct socket_entry entry[SOCKETS_MAX];
};

struct sockets *sockets_new(void)
{
    struct sockets *sockets = NEW(struct sockets);
    (void)pthread_mutex_init(&sockets->lock, NULL);
    return sockets;
}

static void give_up_sockets(struct sockets *sockets, struct socket_entry *entry)
{
    if (!entry->held)
        return;
    sockets->held--;
    entry->held = false;
    entry->fd = fd_close(entry->fd);
}

struct sockets *sockets_free(struct sockets *sockets)
{
    if (!sockets)
        return NULL;
    for (size_t i = 0; i < SOCKETS_MAX; i++)
        give_up_sockets(sockets, &sockets->entry[i]);
    (void)pthread_mutex_destroy(&sockets->lock);
    xfree(sockets);
    return NULL;
}

static struct socket_entry *find_socket(struct sockets *sockets, uint64_t inode)
{
    size_t i = 0;
    while (i < SOCKETS_MAX && sockets->inode[i] != inode)
        i++;
    if (i == SOCKETS_MAX || inode == 0)
        return NULL;
    sockets->entry[i].used = ++sockets->clock;
    return &sockets->entry[i];
}

/* Of those whose descriptor is held; new ones before bound ones, which are not easily replaced. */
static struct socket_entry *oldest_held(struct sockets *sockets)
{
    struct socket_entry *oldest = NULL;
    for (size_t i = 0; i < SOCKETS_MAX; i++) {
        struct socket_entry *entry = &sockets->entry[i];
        if (!entry->held)
            continue;
        bool bound = entry->state == SOCKET_BOUND;
        bool oldest_bound = oldest && oldest->state == SOCKET_BOUND;
        if (!oldest || bound < oldest_bound ||
            (bound == oldest_bound && entry->used < oldest->used))
            oldest = entry;
    }
    return oldest;
}

/* A listening one stays as long as there are others: without it nobody may connect to it. */
static size_t place_for_new_socket(struct sockets *sockets)
{
    size_t best = 0;
    for (size_t i = 0; i < SOCKETS_MAX && sockets->entry[best].used > 0; i++) {
        const struct socket_entry *entry = &sockets->entry[i], *other = &sockets->entry[best];
        bool listens = entry->state == SOCKET_LISTENING;
        bool other_listens = other->state == SOCKET_LISTENING;
        if (listens < other_listens || (listens == other_listens && entry->used < other->used))
            best = i;
    }
    return best;
}

int sockets_add(struct sockets *sockets, int fd, const struct socket_kind *kind)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return -errno;
    (void)pthread_mutex_lock(&sockets->lock);
    struct socket_entry *entry =
        find_socket(sockets, st.st_ino); /* a number that is in use for the second time */
    size_t at = entry ? (size_t)(entry - sockets->entry) : place_for_new_socket(sockets);
    give_up_sockets(sockets, &sockets->entry[at]);
    if (sockets->held >= SOCKETS_HELD_MAX)
        give_up_sockets(sockets, oldest_held(sockets));
    sockets->held++;
    sockets->inode[at] = st.st_ino;
    sockets->entry[at] =
        (struct socket_entry){.used = ++sockets->clock, .held = true, .fd = copy, .kind = *kind};
    (void)pthread_mutex_unlock(&sockets->lock);
    return 0;
}

bool sockets_find(struct sockets *sockets, uint64_t inode, struct socket_seen *ret)
{
    (void)pthread_mutex_lock(&sockets->lock);
    const struct socket_entry *entry = find_socket(sockets, inode);
    if (entry)
        *ret = (struct socket_seen){
            .inode = inode,
            .fd = !entry->held ? -1 : fcntl(entry->fd, F_DUPFD_CLOEXEC, 0),
            .kind = entry->kind,
            .state = entry->state,
        };
    (void)pthread_mutex_unlock(&sockets->lock);
    return entry != NULL;
}

void sockets_started(struct sockets *sockets, uint64_t inode)
{
    (void)pthread_mutex_lock(&sockets->lock);
    struct socket_entry *entry = find_socket(sockets, inode);
    if (entry) {
        entry->state = SOCKET_STARTED;
        give_up_sockets(sockets, entry);
    }
    (void)pthread_mutex_unlock(&sockets->lock);
}

static void set_held(struct sockets *sockets, uint64_t inode, enum socket_state state,
                     const struct socket_holder *holder)
{
    (void)pthread_mutex_lock(&sockets->lock);
    struct socket_entry *entry = find_socket(sockets, inode);
    if (entry) {
        entry->state = state;
        entry->holder = *holder;
    }
    (void)pthread_mutex_unlock(&sockets->lock);
}

void sockets_bound(struct sockets *sockets, uint64_t inode, const struct socket_holder *holder)
{
    set_held(sockets, inode, SOCKET_BOUND, holder);
}

void sockets_waiting(struct sockets *sockets, uint64_t inode, const struct socket_holder *holder)
{
    set_held(sockets, inode, SOCKET_WAITING, holder);
}

void sockets_listening(struct sockets *sockets, uint64_t inode, const struct socket_holder *holder,
                       const struct address *address)
{
    (void)pthread_mutex_lock(&sockets->lock);
    struct socket_entry *entry = find_socket(sockets, inode);
    if (entry) {
        entry->state = SOCKET_LISTENING;
        entry->holder = *holder;
        if (address)
            entry->address = *address;
        give_up_sockets(sockets, entry);
    }
    (void)pthread_mutex_unlock(&sockets->lock);
}

bool sockets_listens(struct sockets *sockets, const struct address *address)
{
    bool listens = false;
    (void)pthread_mutex_lock(&sockets->lock);
    for (size_t i = 0; i < SOCKETS_MAX && !listens; i++) {
        struct socket_entry *entry = &sockets->entry[i];
        if (entry->used == 0 || entry->state != SOCKET_LISTENING || entry->address.len == 0 ||
            !address_same(&entry->address, address))
            continue;
        /* One that was shut down listens no more: its port may be another's by now. */
        listens = socket_listens(sockets->inode[i], address);
        if (!listens && !socket_held(sockets->inode[i], &entry->holder)) {
            *entry = (struct socket_entry){0};
            sockets->inode[i] = 0;
        }
    }
    (void)pthread_mutex_unlock(&sockets->lock);
    return listens;
}

static bool is_on_its_way(int fd)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
           info.tcpi_state == TCP_SYN_SENT;
}

/* True: it stays. */
static bool sweep_one(struct sockets *sockets, struct socket_entry *entry, uint64_t inode)
{
    bool waits = entry->state == SOCKET_WAITING;
    if (!entry->held || (!waits && entry->state != SOCKET_BOUND))
        return false;
    if (socket_held(inode, &entry->holder) && (!waits || is_on_its_way(entry->fd)))
        return true;
    entry->state = waits ? SOCKET_STARTED : entry->state;
    give_up_sockets(sockets, entry);
    return false;
}

bool sockets_sweep(struct sockets *sockets)
{
    bool left = false;
    (void)pthread_mutex_lock(&sockets->lock);
    for (size_t i = 0; i < SOCKETS_MAX; i++)
        left |= sweep_one(sockets, &sockets->entry[i], sockets->inode[i]);
    (void)pthread_mutex_unlock(&sockets->lock);
    return left;
}
