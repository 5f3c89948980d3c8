/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/started.h - how the container was started, and what is served for that: an MCP client
 * holds the other end of a pipe; a framework starts the image without standard input and comes by a
 * port; a person has a terminal.
 * Calls:    before anything else is started; nothing here blocks.
 * Not here: the table of the options (options.h).
 * See:      docs/decisions/0041-what-standard-input-is-decides-what-is-served.md */
#ifndef ENTRYPOINT_STARTED_H
#define ENTRYPOINT_STARTED_H

#include "base/buf.h"
#include "entrypoint/options.h"
#include "front/http/ahead.h"

enum started {
    STARTED_WITH_PEER,     /* a pipe, a socket, a file: MCP, also when it is at its end */
    STARTED_WITHOUT_INPUT, /* /dev/null, or nothing */
    STARTED_AT_TERMINAL,   /* who is there speaks no MCP; it may be nobody */
};

enum started started_how(int input);

/* Ports, hosts and tokens of ROLE_SERVE_ALL that were not given (kernel_gateway_port < 0,
 * kernel_gateway_host NULL), from those that were and from the variables of frameworks. */
void started_complete(struct options *options);

/* Where the HTTP API is to listen: as --http says, and without a HOST where everybody is, when a
 * token tells who may, else on this machine alone. False: --http is no address. */
bool started_http_address(const struct options *options, char ret_host[OPTIONS_HOST_MAX + 1],
                          int *ret_port);

/* Listens for the server, which is started later, at the ports that frameworks know. */
void started_listen(const struct options *options, struct ahead *ahead);

/* What a person at a terminal sees who said nothing: five lines. */
void started_explain(struct buf *out);

#endif
