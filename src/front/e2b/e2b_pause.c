/* SPDX-License-Identifier: Apache-2.0
 *
 * Sandboxes that stand still: their processes are stopped and stay in memory. */
#include "front/e2b/e2b_interpreter.h"

static void pause_sessions(const struct e2b_sandbox *s, bool pause)
{
    struct err e = ERR_NONE; /* -ENOENT: one that has ended by itself */
    (void)!sessions_pause(s->owner->config.sessions, s->id, pause, &e);
    for (const struct e2b_context *c = s->contexts; c; c = c->next)
        (void)!sessions_pause(s->owner->config.sessions, c->session, pause, &e);
}

void e2b_sandbox_pause(struct e2b_sandbox *s)
{
    s->paused = true;
    pause_sessions(s, true);
    e2b_sandbox_set_end(s, E2B_PAUSED_MS);
}

void e2b_sandbox_resume(struct e2b_sandbox *s, int64_t in_ms)
{
    s->paused = false;
    pause_sessions(s, false);
    e2b_sandbox_set_end(s, in_ms);
}

bool e2b_sandbox_awake(struct e2b_sandbox *s)
{
    if (s->paused && s->wakes)
        e2b_sandbox_resume(s, s->timeout_ms);
    return !s->paused;
}
