/* SPDX-License-Identifier: Apache-2.0
 *
 * jupyter/link.h - the five ZeroMQ channels of one kernel: shell, control, stdin, iopub, heartbeat.
 * Owns:    our ends, the sockets at which the kernel listens, and what it needs to know: its key
 *          and where it is. It gets all by descriptor: no file is there for others to read.
 * Names:   `place`-1 to `place`-5, in a directory that code in kernels does not enter; made as the
 *          service uid where there is one.
 * Calls:   loop thread only; nothing blocks. Freeing inside an event is allowed.
 * Trust:   messages without a valid signature, or seen before, are dropped and counted.
 * Not here: the kernel's process (kernel.h); bytes of messages (wire/jupyter_msg.h). */
#ifndef JUPYTER_LINK_H
#define JUPYTER_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "jupyter/zsock.h"
#include "loop/loop.h"
#include "wire/jupyter_msg.h"

enum link_channel { LINK_SHELL, LINK_CONTROL, LINK_STDIN, LINK_IOPUB, LINK__COUNT };

struct link_events {
    /* m is borrowed for the call; its content may be NULL (content_error). */
    void (*message)(void *ctx, enum link_channel channel, const struct jupyter_msg *m);
    /* The kernel stopped answering pings, or answers again. Never before its first answer. */
    void (*heartbeat)(void *ctx, bool alive);
};

struct link;

struct link_config { /* borrowed until link_open() returns, but for the first two */
    struct loop *loop;
    struct zctx *zctx;
    const char *place; /* absolute; what the names of its sockets begin with */
    bool alone;        /* only this process may connect; else clients need a password */
};

MUST_CHECK int link_open(const struct link_config *config, const struct link_events *events,
                         void *ctx, struct link **ret, struct err *e);
struct link *link_free(struct link *link); /* removes the names; NULL in, NULL out */

/* What the kernel is started with, in this order: LINK_SOCKETS sockets that listen, in the order of
 * the ports in the connection information, and a file with that. They stay the link's. */
#define LINK_SOCKETS 5 /* and as many of ZeroMQ are ours, see zctx_new() */
#define LINK_FDS (LINK_SOCKETS + 1)
const int *link_fds(const struct link *link);
void link_drop_fds(struct link *link); /* the kernel has them */

const char *link_connection_text(const struct link *link); /* JSON */
const char *link_session(const struct link *link);         /* in the header of what is sent here */

#define LINK_ID_SIZE 33 /* bytes of a message id with its final 0 */

/* Sends a request; `content` is the JSON text of an object. ret_id (may be NULL) gets its id. */
MUST_CHECK int link_send(struct link *link, enum link_channel channel, enum jupyter_type type,
                         struct slice content, char ret_id[LINK_ID_SIZE], struct err *e);

/* Whether it is asked for signs of life; at first it is. */
void link_beat(struct link *link, bool on);

/* Messages dropped because of their signature or form. */
uint64_t link_dropped(const struct link *link);

#endif
