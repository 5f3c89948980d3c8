/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells of a session whose end nobody waits for any more. */
#include "session/queue/session_internal.h"

static void ignore_result(void *ctx, const struct cell_result *result)
{
    (void)ctx, (void)result;
}

static void ignore_reset(void *ctx, const struct err *why)
{
    (void)ctx, (void)why;
}

void cell_forget(struct cell *cell)
{
    static const struct cell_events silent = {.finished = ignore_result};
    if (cell->reset_done)
        cell->reset_done = ignore_reset;
    else
        cell->events = &silent;
}

void cell_abandon(struct cell *cell)
{
    cell_forget(cell);
    cell->abandoned = cell->reset_done == NULL;
}
