/* SPDX-License-Identifier: Apache-2.0
 *
 * jupyter/pool.h - spare kernels for sessions that need one next.
 * Owns:    up to `size` kernels that nobody has used; one that dies is replaced, later each time.
 * Warm:    a ready spare has run an empty cell: the first one in a fresh fork costs 5 ms more.
 *          Spares from before packages were installed are replaced when one is asked for.
 * Refill:  POOL_REFILL_MS after one was taken, so that starting the next does not slow down what
 *          the taken one is wanted for. */
#ifndef JUPYTER_POOL_H
#define JUPYTER_POOL_H

#include "jupyter/kernel.h"

#define POOL_REFILL_MS 30
#define POOL_MAX 16

struct pool;

/* `config` is borrowed. size 0 to POOL_MAX. */
struct pool *pool_open(const struct kernel_config *config, int size);
struct pool *pool_close(struct pool *pool); /* NULL in, NULL out */

/* A kernel that has started or is about to: *ret_ready tells which; when it is not, its `ready`
 * event follows. NULL: there is none. */
struct kernel *pool_take(struct pool *pool, const struct kernel_events *events, void *ctx,
                         bool *ret_ready);

#endif
