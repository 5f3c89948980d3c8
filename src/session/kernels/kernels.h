/* SPDX-License-Identifier: Apache-2.0
 *
 * session/kernels/kernels.h - every kernel that a client of the kernel gateway can reach, by its
 * id.
 * Owns:    the kernels that were launched for the gateway. The session's own kernel is among them
 *          under an id that stays the same whatever kernel the session has; a restart or a kill of
 *          it is a reset of the session.
 * Ended:   a kernel that ended stays, as KERNELS_ENDED, until it is forgotten or launched again.
 * Calls:   loop thread only; nothing blocks. `changed` may come from inside a call.
 * Limits:  KERNELS_MAX kernels beside the session's. */
#ifndef SESSION_KERNELS_KERNELS_H
#define SESSION_KERNELS_KERNELS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json/json.h"
#include "session/queue/session.h"

#define KERNELS_MAX 256
#define KERNELS_ID_MAX 64

struct kernels_config {
    const struct session_config *session_config; /* borrowed: how kernels are started */
    struct session *session;
    /* This kernel has come up, anew maybe, or has ended. */
    void (*changed)(void *ctx, const char *id);
    void *ctx;
};

enum kernels_state { KERNELS_STARTING, KERNELS_READY, KERNELS_ENDED };

struct kernels_item { /* borrowed until the next call */
    const char *id;
    bool of_session;
    enum kernels_state state;
    const char *connection; /* JSON text; NULL when it has ended */
    int status;             /* KERNELS_ENDED: 0, or -9 when it was killed on request */
    const char *why;        /* KERNELS_ENDED: a sentence */
};

struct kernels;
struct kernels *kernels_open(const struct kernels_config *config); /* copied */
struct kernels *kernels_close(struct kernels *kernels);            /* NULL in, NULL out */

/* Of `env`, an object or NULL, the kernel gets the texts whose name begins with KERNEL_. cwd: NULL
 * or "" is the workspace. It is ready when `changed` told so. -EEXIST: this one is running;
 * -EINVAL: not an id; -EAGAIN: there are too many. */
MUST_CHECK int kernels_launch(struct kernels *kernels, const char *id, const struct json *env,
                              const char *cwd, struct err *e);

bool kernels_find(const struct kernels *kernels, const char *id, struct kernels_item *ret);

/* One after the other: *at is 0 first. The session's, when it has one, is the first. */
bool kernels_next(const struct kernels *kernels, size_t *at, struct kernels_item *ret);

size_t kernels_running(const struct kernels *kernels); /* without the session's */

/* -ENOENT: there is no such kernel. */
MUST_CHECK int kernels_interrupt(struct kernels *kernels, const char *id, struct err *e);
MUST_CHECK int kernels_kill(struct kernels *kernels, const char *id, struct err *e);
MUST_CHECK int kernels_restart(struct kernels *kernels, const char *id, struct err *e);

void kernels_forget(struct kernels *kernels, const char *id); /* ends it, too; not the session's */
void kernels_sweep(struct kernels *kernels);                  /* forgets all that have ended */

#endif
