/* SPDX-License-Identifier: Apache-2.0
 *
 * A session that stands still, or whose clock does. A kernel that is starting comes up first: its
 * start has a deadline. */
#include "session/queue/session_internal.h"

/* `held` or `paused` may have changed. */
static void run_clock(struct session *s, bool stood)
{
    const bool stands = s->held || s->paused;
    if (stands == stood || s->state != RUNNING) /* the grace after an interrupt goes on */
        return;
    if (stands) {
        s->held_ms = s->timer.due - loop_now(s->loop);
        loop_timer_stop(s->loop, &s->timer);
    } else {
        loop_timer_set(s->loop, &s->timer, s->held_ms, session_cell_late, s);
    }
}

void session_hold(struct session *s, bool hold)
{
    const bool stood = s->held || s->paused;
    s->held = hold;
    run_clock(s, stood);
}

void session_pause(struct session *s, bool pause)
{
    const bool stood = s->held || s->paused;
    if (s->paused == pause)
        return;
    s->paused = pause;
    run_clock(s, stood);
    if (s->kernel && !is_session_starting(s->state))
        (pause ? kernel_freeze : kernel_resume)(s->kernel);
    if (!pause)
        session_look_for_work(s);
}
