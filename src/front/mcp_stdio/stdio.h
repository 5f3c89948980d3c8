/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp_stdio/stdio.h - MCP on standard input and output: one message per line, nothing else.
 * Output:  opening moves descriptor 1 to a private one and points 1 at standard error, so that no
 *          stray print of a library can get between two messages.
 * Limits:  a line over STDIO_LINE_MAX bytes is dropped as it streams by and answered under its own
 *          id; while STDIO_BACKLOG_MAX bytes of answers wait for a slow reader nothing is read.
 * End:     end of input lets the open requests finish; `ended` is called when all is answered and
 *          written, or when the reader is gone. */
#ifndef FRONT_MCP_STDIO_STDIO_H
#define FRONT_MCP_STDIO_STDIO_H

#include "front/mcp/mcp.h"

#define STDIO_LINE_MAX ((size_t)2 << 20)
#define STDIO_BACKLOG_MAX ((size_t)1 << 20)

enum stdio_client {
    STDIO_NOBODY, /* the input was empty from the start: /dev/null */
    STDIO_SILENT, /* it was a pipe or a socket, whose other end closed before the first line */
    STDIO_HEARD,
};

struct stdio_events {
    /* Nothing more comes in. */
    void (*input_ended)(void *ctx, enum stdio_client had);
    void (*ended)(void *ctx);
};

struct stdio;
MUST_CHECK int stdio_open(const struct mcp_config *config, const struct stdio_events *events,
                          void *ctx, struct stdio **ret, struct err *e);
struct stdio *stdio_free(struct stdio *stdio); /* NULL in, NULL out */

/* Reads no more; `ended` follows when what is open has been answered and written. */
void stdio_stop(struct stdio *stdio);

#endif
