/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/net/flow.h - bytes on their way from one socket to another, for the proxies.
 * Limits:  FLOW_MAX bytes; more are read when these are gone.
 * Nothing here blocks. */
#ifndef SANDBOX_NET_FLOW_H
#define SANDBOX_NET_FLOW_H

#include <stdbool.h>
#include <sys/types.h>

#include "loop/loop.h"

#define FLOW_MAX 16384

struct end {
    int fd; /* -1: not yet */
    struct loop_io *io;
    bool hung_up; /* not watched any more: it would be told all the time */
};

struct flow {
    size_t from, to;      /* what waits in data */
    bool over, passed_on; /* the end of the stream: seen, told */
    char data[FLOW_MAX];
};

/* 1: some came, or the end. 0: none now, or never any more. -errno: the connection is broken. */
int flow_fill(const struct end *end, struct flow *flow);
/* As flow_fill(), of what was said on. */
int flow_drain(const struct end *end, struct flow *flow);
/* How much of the bytes was sent, or -errno. */
ssize_t flow_put(const struct end *end, const char *bytes, size_t n);

#endif
