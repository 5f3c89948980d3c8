/* SPDX-License-Identifier: Apache-2.0
 *
 * session/executions/executions.h - the executions of one session: cells whose results outlive the
 * request that brought them. Every wire (HTTP API, CLI, others) is a view of them: nothing here
 * knows a transport.
 * Owner:     session/kernels/sessions.c opens one store for each session and closes it behind the
 *            session. The store owns its executions; views borrow them, and keep one by watching
 *            it.
 * Caller:    the loop's thread. Watchers are called from the loop, never from inside their own
 *            execution_watch(). They may unwatch themselves and others, and cancel.
 * Events:    of one execution at most two: it has begun (once, or never if it was refused or
 *            cancelled in the queue), it has ended (once, the last). What it prints is in the
 *            session's event log; reader.h follows it.
 * Keys:      an idempotency key names one execution for as long as the key is known, so that a
 *            retried request does not run its code twice. Keys are known longer than results.
 * Limits:    the newest EXECUTIONS_KEPT results and EXECUTIONS_BYTES_MAX together (the newest one
 *            is kept whatever its size; one that is watched is kept, too); EXECUTIONS_KEYS_MAX
 *            keys of dropped results; EXECUTIONS_PENDING_MAX bytes of code that wait or run, in all
 *            sessions together.
 * Reset:     a session's reset ends the executions before it; the store, its results and its keys
 *            stay. A restart of the server forgets all. */
#ifndef SESSION_EXECUTIONS_EXECUTIONS_H
#define SESSION_EXECUTIONS_EXECUTIONS_H

#include "base/buf.h"
#include "base/hmac.h"
#include "session/queue/session.h"

#define EXECUTIONS_KEPT 256
#define EXECUTIONS_BYTES_MAX ((size_t)8 << 20)
#define EXECUTIONS_KEYS_MAX 4096
#define EXECUTIONS_PENDING_MAX ((size_t)256 << 20)
#define EXECUTION_ID_BYTES 12
#define EXECUTION_KEY_MAX 255                  /* bytes of an idempotency key */
#define EXECUTION_STREAM_MAX ((size_t)1 << 20) /* bytes of each of stdout and stderr in a result */
#define EXECUTION_OUTPUTS_MAX ((size_t)16 << 20) /* bytes of all displays in a result, as JSON */

struct executions;

enum execution_state { EXECUTION_QUEUED, EXECUTION_RUNNING, EXECUTION_ENDED };

struct execution_file { /* a display that was saved */
    char *path;         /* absolute */
    const char *mime;
};

struct execution_result { /* texts are never NULL but where it is said */
    enum cell_status status;
    int64_t duration_ms; /* -1: it never ran */
    bool kernel_replaced, truncated;
    char *ename, *evalue, *traceback, *reason, *last_words, *notice, *late; /* as of cell_result */
    struct buf text;        /* as struct output has it */
    char *error_file;       /* has all of the error; NULL: nothing of it is left out */
    char *output_file;      /* NULL: none */
    char *output_file_note; /* "": the file is whole */
    struct execution_file *files;
    size_t file_count;
    struct buf out, err; /* what was written to each; cut at a character at the limit: */
    bool streams_truncated;
    struct buf outputs;     /* JSON objects between commas: {"type": "display" | "update" |
                               "result", and the members of the message's content} */
    size_t outputs_omitted; /* for which there was no room */
};

struct execution {                 /* views read it, and write nothing */
    struct execution *prev, *next; /* oldest first */
    struct executions *owner;
    char id[2 * EXECUTION_ID_BYTES + 1];
    enum execution_state state;
    int64_t created_ms;               /* since 1970 */
    uint64_t number;                  /* of the cell in the event log; 0: it has not begun */
    uint64_t first_event, last_event; /* in the log, once it has begun and ended; 0 */
    struct execution_result result;   /* once it has ended */
    /* inside */
    char *key;                 /* NULL: none */
    char digest[HMAC_HEX + 1]; /* of the request that brought it */
    struct cell *cell;         /* NULL: it has ended */
    size_t code_bytes;
    int64_t begun_ms; /* loop time */
    bool cancel_when_left;
    struct execution_watcher *watchers;
};

struct execution_order { /* borrowed for the call */
    struct cell_request cell;
    const char *key;       /* 1 to EXECUTION_KEY_MAX bytes, or NULL */
    const char *digest;    /* of the request, HMAC_HEX characters; "" where there is no key */
    bool cancel_when_left; /* by the request that brought it: execution_left() */
};

struct executions_config { /* copied */
    struct loop *loop;
    struct session *session;
    size_t *pending;         /* bytes of code that wait or run; shared by all sessions */
    void (*used)(void *ctx); /* one has ended: the session's idle time begins anew */
    void *ctx;
};

struct executions *executions_open(const struct executions_config *config);
/* Whoever watches must have left. NULL in, NULL out. */
struct executions *executions_close(struct executions *all);

/* Oldest first; NULL: there is none. */
struct execution *executions_first(const struct executions *all);
/* NULL: there is none, or its result was dropped. */
struct execution *executions_find(const struct executions *all, const char *id);

/* What a key and the digest of its request mean. */
enum executions_known {
    EXECUTIONS_NEW,    /* nobody came with this key */
    EXECUTIONS_SAME,   /* *ret is its execution */
    EXECUTIONS_OTHER,  /* the key came with another request */
    EXECUTIONS_EXPIRED /* its execution has ended and was dropped; ret_id names it */
};
enum executions_known executions_look_up(const struct executions *all, const char *key,
                                         const char *digest, struct execution **ret,
                                         char ret_id[static 2 * EXECUTION_ID_BYTES + 1]);

/* -EAGAIN: too much waits already; and as session_execute(). */
MUST_CHECK int executions_submit(struct executions *all, const struct execution_order *order,
                                 struct execution **ret, struct err *e);

/* Interrupts it or takes it out of the queue; nothing if it has ended. Its end may come at once,
 * and an execution that nobody watches may be gone behind it. */
void execution_cancel(struct execution *x);
/* The request that brought it is gone: it is cancelled if it was ordered so. */
void execution_left(struct execution *x);

struct execution_watcher { /* embedded in its owner */
    struct execution_watcher *prev, *next;
    struct execution *execution; /* NULL: it watches nothing */
    void (*changed)(void *ctx);  /* it has begun, or ended: see `state` */
    void *ctx;
};
void execution_watch(struct execution *x, struct execution_watcher *w, void (*changed)(void *ctx),
                     void *ctx);
void execution_unwatch(struct execution_watcher *w); /* also where it watches nothing */

#endif
