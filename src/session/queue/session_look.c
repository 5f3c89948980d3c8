/* SPDX-License-Identifier: Apache-2.0
 *
 * What others see of a session. */
#include "session/queue/session_internal.h"

bool session_is_untouched(const struct session *s)
{
    return !s->kernel && s->cells == 0 && !s->queue && s->retiring == 0;
}

const struct request_context *session_request_context(const struct session *s)
{
    return s->running ? &s->queue->origin : NULL;
}

size_t session_waiting(const struct session *s)
{
    return s->queued;
}

uint64_t session_cell(const struct session *s)
{
    return s->running ? s->queue->number : 0;
}

struct eventlog *session_events(const struct session *session)
{
    return session->events;
}

struct history *session_history(const struct session *session)
{
    return session->history;
}

const struct kernel *session_kernel(const struct session *s, bool *ret_ready)
{
    *ret_ready = s->kernel && !is_session_starting(s->state);
    return s->kernel;
}

void session_watch(struct session *s, loop_fn fn, void *ctx)
{
    s->watch = fn;
    s->watch_ctx = ctx;
}

void session_tell_watcher(const struct session *s)
{
    if (s->watch)
        s->watch(s->watch_ctx);
}
