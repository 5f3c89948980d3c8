/* SPDX-License-Identifier: Apache-2.0
 *
 * front/http_listen.h - listening sockets on all addresses of a name, and a Unix socket (private to
 * http.c).
 * Owns:    the sockets: non-blocking, close-on-exec, SO_REUSEADDR. With port 0 all addresses get
 *          the port that the first was given.
 * Full:    when no descriptor is left, it listens again after a moment. */
#ifndef FRONT_HTTP_LISTEN_H
#define FRONT_HTTP_LISTEN_H

#include <sys/socket.h>

#include "loop/loop.h"

struct http_listen;
/* accepted: fd is given; address without port. host: NULL: no address. */
MUST_CHECK int http_listen_open(struct loop *loop, const char *host, int port,
                                void (*accepted)(void *ctx, int fd, const struct sockaddr *from,
                                                 socklen_t n),
                                void *ctx, struct http_listen **ret, struct err *e);
struct http_listen *http_listen_close(struct http_listen *listen); /* NULL in, NULL out */
void http_listen_set(struct http_listen *listen, bool on);         /* at first it is on */
int http_listen_port(const struct http_listen *listen);            /* 0: no address */
/* fd listens already; it is taken over, also when this fails. */
MUST_CHECK int http_listen_add(struct http_listen *listen, int fd, struct err *e);

#endif
