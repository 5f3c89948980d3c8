/* SPDX-License-Identifier: Apache-2.0
 *
 * loop/loop.h - the one event loop of the server: descriptors, timers, signals, deferred calls.
 * Thread:  everything is called on the thread that runs the loop; no callback may block.
 * Freeing: anything may be removed inside any callback, also inside its own.
 * Order:   in one turn first the due timers, then the ready descriptors, then the deferred calls.
 * Long:    a turn is to take less than LOOP_LONG_MS of the processor. Each is measured, and one
 *          that was longer is logged, at most every LOOP_TELL_MS.
 * Errors:  only opening can fail; a running loop ends by loop_quit() alone. */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define LOOP_LONG_MS 20
#define LOOP_TELL_MS 10000

struct loop;
typedef void (*loop_fn)(void *ctx);

MUST_CHECK int loop_new(struct loop **ret, struct err *e);
struct loop *loop_free(struct loop *loop);              /* NULL in, NULL out */
void loop_run(struct loop *loop);                       /* until loop_quit() */
void loop_turn(struct loop *loop, int64_t max_wait_ms); /* one turn: for tests */
void loop_quit(struct loop *loop);

/* How long turns took, the waiting not counted. Processor time is what the turn itself needs; the
 * other also grows when the machine is busy, or a disk is slow. */
struct loop_turns {
    uint64_t turns, long_cpu, long_wall; /* long: above LOOP_LONG_MS */
    int64_t max_cpu_ns, max_wall_ns;
};
const struct loop_turns *loop_turns(const struct loop *loop);

/* Milliseconds as of the start of this turn. A test may put a clock of its own in place. */
int64_t loop_now(const struct loop *loop);
void loop_set_clock(struct loop *loop, int64_t (*now_ms)(void));

/* --- descriptors ---------------------------------------------------------------------------- */

enum loop_events {
    LOOP_IN = 1,
    LOOP_OUT = 2,
    LOOP_HUP = 4
}; /* HUP: hang-up or error, always told */

struct loop_io;
typedef void (*loop_io_fn)(void *ctx, unsigned events);

/* Watches fd (borrowed) level-triggered. -EPERM: a regular file, which epoll does not take. */
MUST_CHECK int loop_io_add(struct loop *loop, int fd, unsigned events, loop_io_fn fn, void *ctx,
                           struct loop_io **ret, struct err *e);
void loop_io_set(struct loop_io *io, unsigned events);
struct loop_io *loop_io_del(struct loop_io *io); /* before the fd is closed; NULL in, NULL out */

/* --- timers and deferred calls: embedded in their owner, zero means unarmed ----------------- */

struct loop_timer {
    size_t place;  /* in the loop's heap */
    uint64_t turn; /* of those that are due at once the one that was set first */
    int64_t due;
    loop_fn fn;
    void *ctx;
    bool armed;
};

void loop_timer_set(struct loop *loop, struct loop_timer *t, int64_t delay_ms, loop_fn fn,
                    void *ctx); /* sets it anew when armed */
void loop_timer_stop(struct loop *loop, struct loop_timer *t);

struct loop_defer {
    struct loop_defer *next;
    loop_fn fn;
    void *ctx;
    bool armed;
};

/* Calls fn once at the end of this turn (the next one, when asked by a deferred call). */
void loop_defer(struct loop *loop, struct loop_defer *d, loop_fn fn, void *ctx);
void loop_defer_stop(struct loop *loop, struct loop_defer *d);

/* --- signals -------------------------------------------------------------------------------- */

/* Calls fn for each of these signals from now on; they are blocked for the process. Once. */
MUST_CHECK int loop_signals(struct loop *loop, const int *signals, size_t n,
                            void (*fn)(void *ctx, int signal), void *ctx, struct err *e);

#endif
