/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/gate.h"

static void notify_gate_open(struct gate *g)
{
    if (g->loss.lines == 0)
        return;
    struct gate_loss loss = g->loss;
    loss.ms = loop_now(g->loop) - g->since;
    g->loss = (struct gate_loss){0};
    g->tell(g->ctx, &loss);
}

static void on_gate_timer(void *ctx)
{
    notify_gate_open(ctx);
}

void gate_init(struct gate *g, struct loop *loop,
               void (*notify_loss)(void *ctx, const struct gate_loss *loss), void *ctx)
{
    *g = (struct gate){.loop = loop, .tell = notify_loss, .ctx = ctx};
}

void gate_done(struct gate *g)
{
    if (!g->loop)
        return;
    loop_timer_stop(g->loop, &g->timer);
    notify_gate_open(g);
}

bool gate_pass(struct gate *g, size_t n)
{
    static const struct bucket_rate lines = {GATE_LINES_PER_S, GATE_LINES},
                                    bytes = {GATE_BYTES_PER_S, GATE_BYTES};
    int64_t now = loop_now(g->loop);
    if (bucket_take(&g->lines, &lines, now, 1) && bucket_take(&g->bytes, &bytes, now, (int64_t)n))
        return true;
    if (g->loss.lines == 0)
        g->since = now;
    g->loss.lines++;
    g->loss.bytes += n;
    if (!g->timer.armed)
        loop_timer_set(g->loop, &g->timer, GATE_TELL_MS, on_gate_timer, g);
    return false;
}
