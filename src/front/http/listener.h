/* SPDX-License-Identifier: Apache-2.0
 *
 * front/http/listener.h - listening sockets on all addresses of a name, and a Unix socket (private
 * to front/).
 * Owns:    the sockets: non-blocking, close-on-exec, SO_REUSEADDR. With port 0 all addresses get
 *          the port that the first was given.
 * Full:    when no descriptor is left, it listens again after a moment. */
#ifndef FRONT_HTTP_LISTENER_H
#define FRONT_HTTP_LISTENER_H

#include <sys/socket.h>

#include "front/http/ahead.h"
#include "loop/loop.h"

struct listener;
/* accepted: fd is given; address without port. host: NULL: no address. ahead: sockets
 * that listen already are taken out of it; NULL: none. */
MUST_CHECK int listener_open(struct loop *loop, const char *host, int port, struct ahead *ahead,
                             void (*accepted)(void *ctx, int fd, const struct sockaddr *from,
                                              socklen_t n),
                             void *ctx, struct listener **ret, struct err *e);
struct listener *listener_close(struct listener *listen); /* NULL in, NULL out */
void listener_set(struct listener *listen, bool on);      /* at first it is on */
/* Another port of a name. */
MUST_CHECK int listener_more(struct listener *listen, const char *host, int port, struct err *e);
int listener_port_of(const struct sockaddr_storage *at); /* 0: it has none */
int listener_port(const struct listener *listen);        /* 0: no address */
/* fd listens already; it is taken over, also when this fails. */
MUST_CHECK int listener_add(struct listener *listen, int fd, struct err *e);

#endif
