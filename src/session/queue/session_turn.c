/* SPDX-License-Identifier: Apache-2.0
 *
 * A session's kernel in other hands than its cells', for a while; and a session whose first kernel
 * is forked from another's. */
#include "base/alloc.h"
#include "base/list.h"
#include "session/queue/session_internal.h"

/* --- turns ------------------------------------------------------------------------------------ */

int session_ask_turn(struct session *s, loop_fn begun,
                     void (*over)(void *ctx, const struct err *why), void *ctx, struct cell **ret,
                     struct err *e)
{
    struct cell *cell = NEW(struct cell);
    cell->session = s;
    cell->turn = begun;
    cell->reset_done = over;
    cell->ctx = ctx;
    output_init(&cell->output, s->config->workspace, 0, 0);
    return session_enqueue(s, cell, ret, e);
}

void session_begin_turn(struct session *s)
{
    s->running = true;
    s->state = LENT;
    s->queue->turn(s->queue->ctx);
}

static void free_turn(struct session *s)
{
    struct cell *cell = session_take_first(s);
    output_done(&cell->output);
    xfree(cell);
}

void session_lose_turn(struct session *s)
{
    const struct cell *cell = s->queue;
    void (*over)(void *ctx, const struct err *why) = cell->reset_done;
    void *ctx = cell->ctx;
    struct err why = *s->why;
    free_turn(s);
    over(ctx, &why);
}

void session_end_turn(struct cell *turn)
{
    struct session *s = turn->session;
    if (s->queue != turn || !s->running) { /* it has not begun */
        chain_remove(&s->queue, turn);
        s->queued--;
        output_done(&turn->output);
        xfree(turn);
        return;
    }
    free_turn(s);
    session_rest(s);
    session_look_for_work(s);
}

void cell_before_reset(struct cell *cell, loop_fn fn)
{
    cell->before_reset = fn;
}

/* --- branches --------------------------------------------------------------------------------- */

int session_open_branch(const struct session_config *config, struct session *parent,
                        const struct kernel_branch *how, const struct session_born *born, void *ctx,
                        struct session **ret, struct err *e)
{
    if (!parent->kernel || parent->state != LENT)
        return err_set(e, -EBUSY, "the session has no kernel that could be forked");
    struct session *s = session_new(config);
    int r =
        kernel_fork(parent->kernel, how, &config->kernel, &session_kernel_events, s, &s->kernel, e);
    if (r < 0) {
        (void)session_free(s);
        return r;
    }
    session_own_kernel(s);
    s->used = true; /* all that is in it was made */
    s->branch = true;
    s->born = born;
    s->born_ctx = ctx;
    *ret = s;
    return 0;
}

void session_kernel_forked(void *ctx)
{
    struct session *s = ctx;
    if (s->born)
        s->born->forked(s->born_ctx);
}

void session_tell_born(struct session *s, const struct err *why)
{
    const struct session_born *born = s->born;
    s->born = NULL;
    if (born)
        born->ready(s->born_ctx, why);
}

void session_renew_token(struct session *s)
{
    if (s->kernel)
        kernel_renew(s->kernel);
}
