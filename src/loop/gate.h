/* SPDX-License-Identifier: Apache-2.0
 *
 * loop/gate.h - limits the log lines that programs, kernels and code in them cause: they would fill
 * the log.
 * Owner:   embedded in its owner; gate_done() reports what was left out.
 * Limits:  GATE_LINES and GATE_BYTES at once, then a few each second. What was left out is told in
 *          numbers: after GATE_TELL_MS, again as long as it goes on.
 * Calls:   loop thread only. */
#ifndef LOOP_GATE_H
#define LOOP_GATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bucket.h"
#include "loop/loop.h"

#define GATE_LINES 500
#define GATE_LINES_PER_S 20
#define GATE_BYTES ((int64_t)256 << 10)
#define GATE_BYTES_PER_S ((int64_t)8 << 10)
#define GATE_TELL_MS 10000

struct gate_loss { /* since the last report */
    uint64_t lines, bytes;
    int64_t ms;
};

struct gate {
    struct loop *loop;
    void (*tell)(void *ctx, const struct gate_loss *loss);
    void *ctx;
    struct bucket lines, bytes;
    struct gate_loss loss;
    int64_t since;
    struct loop_timer timer;
};

void gate_init(struct gate *g, struct loop *loop,
               void (*tell)(void *ctx, const struct gate_loss *loss), void *ctx);
void gate_done(struct gate *g); /* one that was never begun, too */

/* True: a line of n bytes may be logged. False: it is counted. */
bool gate_pass(struct gate *g, size_t n);

#define GATE_TEXT "%llu more lines, %llu KiB, were left out within %.1f s: it says too much"
#define GATE_TEXT_OF(loss)                                                                         \
    (unsigned long long)(loss)->lines, (unsigned long long)(((loss)->bytes + 1023) >> 10),         \
        (double)(loss)->ms / 1000

#endif
