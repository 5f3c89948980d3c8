/* SPDX-License-Identifier: Apache-2.0
 *
 * front/gateway/sorter.h - one port for the kernel gateway and another wire: whose a connection is,
 * by the first request on it.
 * Does:    looks at what a connection begins with and reads none of it; then gives the descriptor
 *          away as it came. /api and /kernelspecs, below the gateway's base, are the gateway's; all
 *          else is the other's, and so is what is no HTTP.
 * Once:    later requests of a connection go where the first one went.
 * Limits:  a connection that has not said whose it is within SORTER_MS is closed. Where
 *          SORTER_MAX wait to say it, the oldest is closed for a new one.
 * Calls:   loop thread only; nothing blocks. */
#ifndef FRONT_GATEWAY_SORTER_H
#define FRONT_GATEWAY_SORTER_H

#include <stddef.h>
#include <sys/socket.h>

#include "loop/loop.h"

#define SORTER_MS 15000
#define SORTER_MAX 64
#define SORTER_LINE_MAX 1024 /* of a first line: what is not clear by then is the other's */

enum sorter_whose { SORTER_UNCLEAR, SORTER_GATEWAY, SORTER_OTHER };

/* By the first bytes of a connection. More bytes change no answer but SORTER_UNCLEAR.
 * base: what the gateway's paths begin with, "/x" or ""; slashes around it make no difference. */
enum sorter_whose sorter_whose(const char *bytes, size_t n, const char *base);

/* fd is given. */
typedef void (*sorter_fn)(void *ctx, int fd, const struct sockaddr *from, socklen_t n);

struct sorter_config { /* copied; the text is borrowed */
    struct loop *loop;
    const char *base;
    sorter_fn gateway, other;
    void *ctx;
};

struct sorter;
struct sorter *sorter_new(const struct sorter_config *config);
struct sorter *sorter_free(struct sorter *s); /* closes those that wait; NULL in, NULL out */
/* fd, not blocking, is taken over. One that has said it already is given away at once. */
void sorter_add(struct sorter *s, int fd, const struct sockaddr *from, socklen_t n);
size_t sorter_waiting(const struct sorter *s);

#endif
