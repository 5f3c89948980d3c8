/* SPDX-License-Identifier: Apache-2.0
 *
 * front/http/ahead.h - sockets that listen before the server does. PID 1 makes them as the first
 * thing it does and hands them to the server, so that a client which comes as soon as the container
 * runs is never refused: its connection waits.
 * Owns:     the sockets: non-blocking, close-on-exec but across the one exec.
 * Errors:   what cannot be made is not there; the server tries again, and says why it fails.
 * Limits:   AHEAD_MAX sockets. */
#ifndef FRONT_HTTP_AHEAD_H
#define FRONT_HTTP_AHEAD_H

#include <stddef.h>
#include <sys/socket.h>

#include "base/err.h"

#define AHEAD_MAX 8

struct ahead {
    int fds[AHEAD_MAX];
    size_t count;
};

/* In PID 1: listens at the address, or those of "localhost". Port 0, or another name, which would
 * have to be asked for: nothing. */
void ahead_listen(struct ahead *ahead, const char *host, int port);
/* Tells the environment of them, for ahead_inherit() behind the exec. */
MUST_CHECK int ahead_tell(const struct ahead *ahead, struct err *e);
/* In the forked child, before the exec: lets them through. */
void ahead_pass(const struct ahead *ahead);
/* In the server: those that were handed over, now close-on-exec. */
void ahead_inherit(struct ahead *ret);
/* The one that listens at this address, which is the caller's then; -1: none. NULL: no sockets. */
int ahead_take(struct ahead *ahead, const struct sockaddr *at, socklen_t n);
void ahead_close(struct ahead *ahead);

/* A new one, as the server's own are. Negative: the reason. */
MUST_CHECK int ahead_socket(const struct sockaddr *at, socklen_t n);

#endif
