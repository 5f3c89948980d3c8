/* SPDX-License-Identifier: Apache-2.0
 *
 * front/api_desk.h - sessions as the HTTP API sees them: their executions, and those who wait for
 * them or read their events (private to front/).
 * Desk:      one for each session that was used over HTTP; gone with its session.
 * Execution: a cell that came over HTTP, and its result as a JSON document.
 * Kept:      the newest results, at most DESK_KEPT of them and DESK_BYTES_MAX together (the newest
 *            one is kept whatever its size). One whose client still reads is kept.
 * Key:       an Idempotency-Key is known longer than its result, so that no retried request runs
 *            its code twice: the newest DESK_KEYS_KEPT, half a KiB each at most.
 * Waiter:    a request that is answered with the result. Stream: one that is sent the events.
 * Slow:      a stream holds no events: it reads the session's log when its client can take more, so
 *            a client that is too slow finds a gap, which it is told. */
#ifndef FRONT_API_DESK_H
#define FRONT_API_DESK_H

#include "base/buf.h"
#include "base/hmac.h"
#include "front/api_follow.h"
#include "front/api_parts.h"
#include "session/sessions.h"

#define DESK_KEPT 256
#define DESK_BYTES_MAX ((size_t)8 << 20)
#define EXECUTION_ID_BYTES 12
#define EXECUTION_STREAM_MAX ((size_t)1 << 20) /* bytes of each of stdout and stderr in a result */
#define EXECUTION_OUTPUTS_MAX ((size_t)16 << 20) /* of all displays in a result, as JSON */
#define IDEMPOTENCY_KEY_MAX 255
#define DESK_KEYS_KEPT 4096                  /* of executions whose results are not kept any more */
#define PENDING_CODE_MAX ((size_t)256 << 20) /* of all cells that wait or run */

struct desk;
struct execution;

struct waiter {
    struct waiter *prev, *next;
    struct execution *execution;
    struct http_request *r;
    bool first; /* the request that brought the cell */
};

struct stream {
    struct stream *prev, *next;
    struct desk *desk;
    struct execution *execution; /* NULL: everything of the session */
    struct follow follow;
    uint64_t after; /* the last event that was sent or passed over */
    bool first;
    bool told_end;
    struct eventlog_watcher watcher;
    struct loop_defer again;
};

struct execution {
    struct execution *prev, *next; /* oldest first */
    struct desk *desk;
    char id[2 * EXECUTION_ID_BYTES + 1];
    char *key;                 /* Idempotency-Key, or NULL */
    char digest[HMAC_HEX + 1]; /* of the request that brought it */
    struct cell *cell;         /* NULL: it has ended */
    size_t code_bytes;
    uint64_t number, first_event, last_event; /* in the log; 0: it has not begun */
    int64_t created_ms;                       /* since 1970 */
    int64_t begun_ms;                         /* loop time */
    bool cancel_when_gone;                    /* with the request that brought it */
    enum cell_status status;                  /* once it has ended */
    struct buf out, err, outputs;             /* while it runs */
    size_t outputs_omitted;
    struct buf result; /* once it has ended: a JSON object */
    struct waiter *waiters;
    size_t refs; /* streams */
};

struct spent { /* the key of an execution that is not kept any more */
    struct spent *next;
    char *key;
    char id[2 * EXECUTION_ID_BYTES + 1];
    char digest[HMAC_HEX + 1];
};

struct desk {
    struct desk *next;
    struct api *api;
    char id[SESSIONS_ID_MAX + 1];
    struct session *session;
    struct execution *first, *last;
    size_t count, bytes;              /* of executions that have ended, and their results */
    struct spent *spent, *spent_last; /* oldest first */
    size_t spent_count;
    struct stream *streams;
};

/* --- api_sessions.c --------------------------------------------------------------------------- */

/* The desk of {id}. NULL: it has answered 404. */
struct desk *desk_of(struct api *api, struct http_request *r);

/* --- api_executions.c ------------------------------------------------------------------------- */

void executions_post(void *ctx, struct http_request *r);
void executions_list(void *ctx, struct http_request *r);
void execution_get(void *ctx, struct http_request *r);
void execution_cancel(void *ctx, struct http_request *r);
void execution_events(void *ctx, struct http_request *r);
void execution_gone(struct execution *x, bool first); /* a request of it is gone */
void executions_free(struct desk *desk);

/* --- api_result.c ----------------------------------------------------------------------------- */

void execution_collect(struct execution *x, const struct jupyter_msg *m);
void execution_finish(struct execution *x, const struct cell_result *result);
/* The document as it is now. */
void execution_put(struct buf *out, const struct execution *x);

/* --- api_events.c ----------------------------------------------------------------------------- */

void events_get(void *ctx, struct http_request *r);
/* To be asked before anything is begun whose events the stream will have: after which one it goes
 * on. False: it has answered. */
bool stream_may_open(const struct desk *desk, struct http_request *r, uint64_t *ret_after);
/* execution: NULL: all of the session. */
void stream_open(struct desk *desk, struct execution *execution, struct http_request *r,
                 bool first);
void streams_wake(struct desk *desk, const struct execution *execution); /* it has ended */
void streams_end(struct desk *desk, enum follow_why why, const char *reason);

#endif
