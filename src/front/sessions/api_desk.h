/* SPDX-License-Identifier: Apache-2.0
 *
 * front/sessions/api_desk.h - sessions as the HTTP API sees them: requests that wait for executions
 * of one, and streams of its events (private to front/).
 * Desk:      one for each session that was used over HTTP; gone with its session.
 * Waiter:    a request that is answered with the result. Stream: one that is sent the events.
 * Slow:      a stream holds no events: it reads the session's log when its client can take more, so
 *            a client that is too slow finds a gap, which it is told.
 * Not here:  executions themselves, their results and keys (session/executions/executions.h). */
#ifndef FRONT_SESSIONS_API_DESK_H
#define FRONT_SESSIONS_API_DESK_H

#include "base/buf.h"
#include "front/api/api_follow.h"
#include "front/api/api_parts.h"
#include "session/executions/executions.h"
#include "session/executions/reader.h"
#include "session/kernels/sessions.h"

struct desk;

struct waiter {
    struct waiter *prev, *next;
    struct desk *desk;
    struct execution_watcher watcher;
    struct http_request *r;
    bool first; /* the request that brought the cell */
};

struct stream {
    struct stream *prev, *next;
    struct desk *desk;
    struct reader reader;
    struct follow follow;
    bool first;
    struct loop_defer again;
};

struct desk {
    struct desk *next;
    struct api *api;
    char id[SESSIONS_ID_MAX + 1];
    struct session *session;
    struct executions *executions;
    struct waiter *waiters;
    struct stream *streams;
};

/* --- api_sessions.c --------------------------------------------------------------------------- */

/* The desk of {id}. NULL: it has answered 404. */
struct desk *desk_of(struct api *api, struct http_request *r);

/* --- api_executions.c ------------------------------------------------------------------------- */

void executions_post(void *ctx, struct http_request *r);
void executions_list(void *ctx, struct http_request *r);
void execution_get(void *ctx, struct http_request *r);
void execution_delete(void *ctx, struct http_request *r);
void execution_events(void *ctx, struct http_request *r);
void waiters_free(struct desk *desk);

/* --- api_result.c ----------------------------------------------------------------------------- */

/* The document as it is now. */
void execution_put(struct buf *out, const struct desk *desk, const struct execution *x);
/* "queued", "running", or how it has ended. */
const char *execution_status(const struct execution *x);

/* --- api_events.c ----------------------------------------------------------------------------- */

void events_get(void *ctx, struct http_request *r);
/* To be asked before anything is begun whose events the stream will have: after which one it goes
 * on. False: it has answered. */
bool stream_may_open(const struct desk *desk, struct http_request *r, uint64_t *ret_after);
/* execution: NULL: all of the session. */
void stream_open(struct desk *desk, struct execution *execution, struct http_request *r,
                 bool first);
void streams_end(struct desk *desk, enum follow_why why, const char *reason);

#endif
