/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/proc/socklook.h - what /proc tells of a socket that we do not hold: who has it open, and
 * the state of its connection, and what the kernel's own look-up says of who listens.
 * Cost:    socket_held() one link when nothing has changed, else all descriptors of all processes
 *          of this user; socket_tcp_state() a table of all connections. Both are rare.
 *          socket_listens() four calls, some 20 us; the table where nobody listens, and on
 *          kernels without inet_diag. */
#ifndef SANDBOX_PROC_SOCKLOOK_H
#define SANDBOX_PROC_SOCKLOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/proc/addresses.h"

struct socket_holder { /* where a socket was seen: descriptor `fd` of `pid` */
    pid_t pid;
    int fd;
};

/* "socket:[17]" -> 17; 0: not a socket. */
uint64_t socket_inode(const char *link);
bool socket_is_at(uint64_t inode, const struct socket_holder *holder);
/* The first other process that holds it and fits; fits may be NULL. True as well, with no pid, when
 * nothing can be told and anybody fits. */
bool socket_find(uint64_t inode, bool (*fits)(uint64_t inode, const struct socket_holder *holder),
                 struct socket_holder *ret);
/* Does another process hold the socket? Looks at *holder first and keeps what was found there. */
bool socket_held(uint64_t inode, struct socket_holder *holder);
/* TCP_ESTABLISHED and so on of netinet/tcp.h; 0: no connection of that socket is known. */
int socket_tcp_state(uint64_t inode);
/* Is it the one that a connection to this address of the loopback would come to now? Of several
 * that share a port (SO_REUSEPORT) one is. */
bool socket_listens(uint64_t inode, const struct address *at);
/* The socket at `from` of a TCP connection to `to`, both on the loopback, and whose it is. False:
 * there is none, or the kernel does not say. */
bool socket_of_connection(const struct address *from, const struct address *to, uint64_t *ret_inode,
                          uid_t *ret_uid);
/* Are they all Unix sockets? Their table is short; those of TCP take 2 ms. */
bool sockets_all_unix(const uint64_t *inodes, size_t n);

struct socket_flags {
    bool nonblock, cloexec;
};
/* Of descriptor fd of a process; -errno. */
int socket_flags(pid_t pid, int fd, struct socket_flags *ret);

#endif
