/* SPDX-License-Identifier: Apache-2.0
 *
 * front/http/closed_port.h - a port of loopback addresses alone, seen from elsewhere: on the other
 * addresses of this machine it says why nothing is served there.
 * Owns:    listening sockets on the addresses that there are when it opens. One that cannot be
 *          listened at is left out.
 * Answers: every connection with the same 403 once something has come, which is thrown away unread.
 * Limits:  CLOSED_PORT_MAX connections, then the oldest ends; each for CLOSED_PORT_MS and
 *          CLOSED_PORT_BYTES_MAX. */
#ifndef FRONT_HTTP_CLOSED_PORT_H
#define FRONT_HTTP_CLOSED_PORT_H

#include "loop/loop.h"

#define CLOSED_PORT_MAX 32
#define CLOSED_PORT_MS 5000
#define CLOSED_PORT_BYTES_MAX ((size_t)1 << 20)

struct closed_port;
/* port 0: no address yet. text: a line for who asks; copied. */
struct closed_port *closed_port_open(struct loop *loop, int port, const char *text);
/* Also on this address. */
MUST_CHECK int closed_port_more(struct closed_port *closed, const char *host, int port,
                                struct err *e);
int closed_port_port(const struct closed_port *closed);            /* 0: there is no such address */
struct closed_port *closed_port_close(struct closed_port *closed); /* NULL in, NULL out */

#endif
