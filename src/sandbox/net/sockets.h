/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/net/sockets.h - the sockets that the broker made and handed out, by inode.
 * Why:     the broker keeps a second descriptor of each, so that it connects, binds and listens on
 *          the very same open file, and no address is read twice. It is given up as soon as
 *          nothing is left to do for the socket: while it is held, a close by the sandbox does not
 *          end a connection nor free a port.
 * Limits:  SOCKETS_MAX sockets are remembered, SOCKETS_HELD_MAX descriptors are held; over that
 *          the one unused for longest goes. A socket whose descriptor has gone and that is used
 *          after all is replaced by a new one of the same kind (broker_net.c).
 * Thread:  any. */
#ifndef SANDBOX_NET_SOCKETS_H
#define SANDBOX_NET_SOCKETS_H

#include "sandbox/proc/addresses.h"
#include "sandbox/proc/socklook.h"

#define SOCKETS_MAX 4096
#define SOCKETS_HELD_MAX 256

enum socket_state {
    SOCKET_NEW,
    SOCKET_BOUND,     /* to a port, which is taken as long as somebody holds the socket */
    SOCKET_WAITING,   /* a signal ended connect(), which may be called again at once */
    SOCKET_STARTED,   /* connected, or about to be: nothing is held */
    SOCKET_LISTENING, /* nothing is held */
};

struct socket_kind {
    int domain, type, protocol; /* type without flags */
};

struct socket_seen {
    uint64_t inode;
    int fd; /* a copy, owned by the caller; -1: nothing is held any more */
    struct socket_kind kind;
    enum socket_state state;
};

struct sockets;
struct sockets *sockets_new(void);
struct sockets *sockets_free(struct sockets *sockets); /* NULL in, NULL out */

/* Remembers a new socket; fd is lent, a copy is held. 0, or -errno. */
int sockets_add(struct sockets *sockets, int fd, const struct socket_kind *kind);
bool sockets_find(struct sockets *sockets, uint64_t inode, struct socket_seen *ret);

void sockets_started(struct sockets *sockets, uint64_t inode);
/* To be swept. */
void sockets_waiting(struct sockets *sockets, uint64_t inode, const struct socket_holder *holder);
void sockets_bound(struct sockets *sockets, uint64_t inode, const struct socket_holder *holder);
/* address: NULL for a Unix socket. */
void sockets_listening(struct sockets *sockets, uint64_t inode, const struct socket_holder *holder,
                       const struct address *address);

/* Does a socket of the sandbox listen at exactly this address now? */
bool sockets_listens(struct sockets *sockets, const struct address *address);
/* Gives up bound sockets that all others have closed, and those without pending work; true:
 * some are left. */
bool sockets_sweep(struct sockets *sockets);

#endif
