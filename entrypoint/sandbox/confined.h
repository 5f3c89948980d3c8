/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/sandbox/confined.h - a child of this process that runs behind the walls of a guard,
 * for commands in the foreground: it stays in our session and process group.
 * Caller:  has one thread; after that also the broker's. All signals but those of faults are
 *          blocked in it; the child has the mask that there was before. */
#ifndef ENTRYPOINT_SANDBOX_CONFINED_H
#define ENTRYPOINT_SANDBOX_CONFINED_H

#include <signal.h>

#include "sandbox/confine/guard.h"

struct confined {
    struct guard *guard;
    int (*run)(void *ctx); /* in the child; what it returns is its exit status */
    void *ctx;
    void (*refused)(void *ctx, const struct refusal *refusal); /* any thread; may be NULL */
    const sigset_t *mask;                                      /* of the child */
};

/* The child is killed when this process ends. */
MUST_CHECK int confined_start(const struct confined *confined, pid_t *ret_pid, struct err *e);

#endif
