/* SPDX-License-Identifier: Apache-2.0
 *
 * front/sessions/api_session.h - sessions as the HTTP API sees them: requests that wait for
 * executions of one, and streams of its events (private to front/).
 * Session:   one for each session that was used over HTTP; gone with its session.
 * Waiter:    a request that is answered with the result. Stream: one that is sent the events.
 * Slow:      a stream holds no events: it reads the session's log when its client can take more, so
 *            a client that is too slow finds a gap, which it is told.
 * Not here:  executions themselves, their results and keys (session/executions/executions.h). */
#ifndef FRONT_SESSIONS_API_SESSION_H
#define FRONT_SESSIONS_API_SESSION_H

#include "base/buf.h"
#include "front/api/api_follow.h"
#include "front/api/api_internal.h"
#include "session/executions/executions.h"
#include "session/executions/reader.h"
#include "session/kernels/sessions.h"

struct api_session;

struct execution_waiter {
    struct execution_waiter *prev, *next;
    struct api_session *api_session;
    struct execution_watcher watcher;
    struct http_request *r;
    bool first; /* the request that brought the cell */
};

struct event_stream {
    struct event_stream *prev, *next;
    struct api_session *api_session;
    struct execution_reader reader;
    struct follow follow;
    bool first;
    struct loop_defer again;
};

struct api_session {
    struct api_session *next;
    struct api *api;
    char id[SESSIONS_ID_MAX + 1];
    struct session *session;
    struct executions *executions;
    struct execution_waiter *waiters;
    struct event_stream *streams;
    struct terminal *terminals;
    size_t terminal_count;
};

/* --- api_sessions.c --------------------------------------------------------------------------- */

/* The api_session of {id}. NULL: it has answered 404. */
struct api_session *api_session_of(struct api *api, struct http_request *r);

struct fork_waiter;
struct fork_waiter **api_fork_requests(struct api *api); /* those under way */

/* --- api_fork.c ------------------------------------------------------------------------------- */

void fork_post(void *ctx, struct http_request *r);
void fork_requests_close(struct api *api);

struct rewind_waiter;
struct rewind_waiter **api_rewind_requests(struct api *api); /* those under way */

/* --- api_rewind.c ----------------------------------------------------------------------------- */

void checkpoints_get(void *ctx, struct http_request *r);
void rewind_post(void *ctx, struct http_request *r);
void rewind_requests_close(struct api *api);

/* --- api_executions.c ------------------------------------------------------------------------- */

void executions_post(void *ctx, struct http_request *r);
void executions_list(void *ctx, struct http_request *r);
void execution_get(void *ctx, struct http_request *r);
void execution_delete(void *ctx, struct http_request *r);
void execution_events(void *ctx, struct http_request *r);
void waiters_free(struct api_session *api_session);

/* --- api_result.c ----------------------------------------------------------------------------- */

/* The document as it is now. */
void execution_put(struct buf *out, const struct api_session *api_session,
                   const struct execution *x);
/* "queued", "running", or how it has ended. */
const char *execution_status(const struct execution *x);

/* --- api_notebook.c --------------------------------------------------------------------------- */

void notebook_get(void *ctx, struct http_request *r);

/* --- api_questions.c -------------------------------------------------------------------------- */

void complete_post(void *ctx, struct http_request *r);
void inspect_post(void *ctx, struct http_request *r);
void variables_get(void *ctx, struct http_request *r);

/* --- api_terminal.c --------------------------------------------------------------------------- */

#define TERMINALS_MAX 8 /* of one session */
void terminal_get(void *ctx, struct http_request *r);
void terminals_end(struct api_session *api_session, bool stopping, const char *reason);

/* --- api_events.c ----------------------------------------------------------------------------- */

void events_get(void *ctx, struct http_request *r);
/* To be asked before anything is begun whose events the stream will have: after which one it goes
 * on. False: it has answered. */
bool stream_may_open(const struct api_session *api_session, struct http_request *r,
                     uint64_t *ret_after);
/* execution: NULL: all of the session. */
void stream_open(struct api_session *api_session, struct execution *execution,
                 struct http_request *r, bool first);
void streams_end(struct api_session *api_session, enum follow_why why, const char *reason);

#endif
