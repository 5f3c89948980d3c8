/* SPDX-License-Identifier: Apache-2.0
 *
 * front/gateway/relay.h - the port of the kernel gateway: connections to a process that is started
 * late.
 * Does:    listens on host:port; asks for the gateway when a connection comes (`wanted`), gives it
 *          one end of a pair of sockets as soon as it can, and hands bytes on both ways unread.
 * Limits:  RELAY_BUFFER bytes are held for each direction of a connection: who does not read slows
 *          down who writes. Over RELAY_MAX connections none is accepted.
 * Idling:  without a connection and with nothing that keeps it busy the gateway is idle after
 *          idle_ms; a gateway that is busy then is looked at again after as long.
 * Failing: when the gateway has ended (relay_gateway_ended) or is not there within
 *          RELAY_START_MS, a client that waits for an answer gets 502 Bad Gateway, every other the
 *          end of its connection.
 * Shared:  with `other` the port is another wire's, too (sorter.h): that one gets the connections
 *          that are not the gateway's as they came. They count for nothing here; over RELAY_MAX
 *          of its own the gateway's are closed.
 * Not here: HTTP, tokens and WebSockets: they are the gateway's. */
#ifndef FRONT_GATEWAY_RELAY_H
#define FRONT_GATEWAY_RELAY_H

#include <stdbool.h>

#include "front/gateway/sorter.h"
#include "front/http/ahead.h"
#include "loop/loop.h"

#define RELAY_BUFFER ((size_t)64 << 10)
#define RELAY_MAX 1024
#define RELAY_START_MS 30000

struct relay_config { /* copied; the texts are borrowed */
    struct loop *loop;
    const char *host;          /* all addresses of this name */
    int port;                  /* 0: any, for tests */
    struct ahead *ahead;       /* sockets that listen already; NULL: none */
    int (*connect)(void *ctx); /* a socket to it, not blocking, owned; -1: not yet */
    void (*wanted)(void *ctx); /* a connection waits for the gateway */
    bool (*busy)(void *ctx);   /* it is needed without a connection, too */
    void (*idle)(void *ctx);   /* idle_ms without a connection, and not busy */
    int64_t idle_ms;
    const char *instance; /* which the 502 names; NULL: none */
    sorter_fn other;      /* takes what is not for the gateway; NULL: all is */
    const char *base;     /* with `other`: what the gateway's paths begin with, "" or "/x" */
    void *ctx;
};

struct relay;
MUST_CHECK int relay_open(const struct relay_config *config, struct relay **ret, struct err *e);
struct relay *relay_close(struct relay *relay); /* NULL in, NULL out */

void relay_gateway_ended(struct relay *relay);
int relay_port(const struct relay *relay);
size_t relay_connections(const struct relay *relay);

#endif
