/* SPDX-License-Identifier: Apache-2.0
 *
 * session/queue/session.h - a session: one kernel at a time, a queue of cells, and what becomes of
 * them.
 * Order:   cells and resets run one after the other, in the order in which they were asked for.
 * Kernel:  started at once; replaced when it died, ignored an interrupt, or on reset; ended when it
 *          was idle for kernel_idle_ms, the next cell gets another. The first cell in a new kernel
 *          that nobody asked for is told so.
 * Calls:   loop thread only; nothing blocks. Events come from the loop, never from inside the
 *          call that caused them.
 * Limits:  SESSION_QUEUE_MAX cells wait; what they print is bounded by output.h, and by
 *          background.h what comes between two cells and is handed out with the next. */
#ifndef SESSION_QUEUE_SESSION_H
#define SESSION_QUEUE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/audit.h"
#include "base/err.h"
#include "base/log.h"
#include "jupyter/kernel.h"
#include "jupyter/pool.h"
#include "output/output.h"
#include "output/retention.h"
#include "session/events/eventlog.h"
#include "session/events/metrics.h"
#include "session/events/refusals.h"
#include "session/history/history.h"
#include "session/queue/request_context.h"

#define SESSION_QUEUE_MAX 1000

/* What the kernels of a session are put behind that has settings of its own where the others have
 * no sandbox. */
struct session_walls {               /* borrowed while there are sessions */
    const struct sandbox_spec *spec; /* with the settings of who names none */
    const char *const *envp;         /* of such kernels */
};

struct judge_places; /* session/kernels/judge.h */

struct session_config {
    struct kernel_config kernel;
    /* Called when the first one wants it, where kernel.sandbox has no settings; NULL: nothing can
     * be had. */
    int (*offer)(void *ctx, const struct session_walls **ret, struct err *e);
    void *offer_ctx;
    struct pool *pool;                 /* spare kernels; NULL: none */
    const char *workspace;             /* absolute */
    const struct judge_places *closed; /* to clients that ask for files (judge.h); NULL: nothing */
    const char *id;                    /* its kernels' owner (jupyter/tokens.h); NULL: nobody */
    const char *setup;                 /* code that runs first in each of its kernels; NULL: none */
    int64_t
        interrupt_grace_ms; /* for a cell to react to an interrupt, then its kernel is replaced */
    int64_t kernel_idle_ms; /* without a cell: it ends, with its variables; 0: never */
    uint64_t output_file_limit; /* bytes */
    struct retention retention; /* of images/ and outputs/ */
    size_t event_memory;        /* bytes of the event log; 0: none is kept */
    size_t event_data;          /* of one event; 0: half of that */
    const char *event_dir;      /* where it spills to; NULL: nowhere */
    uint64_t event_spill;
    bool event_apart;       /* the numbers of events are no other session's */
    bool event_for_readers; /* it spills only when somebody has read it */
    size_t history_memory;  /* as event_memory, of the notebook (history.h); spills to event_dir */
    uint64_t history_spill;
    struct metrics *metrics; /* NULL: nobody counts */
    struct audit *audit;     /* NULL: there is none */
    bool lazy;               /* its first kernel is started by its first cell */
    size_t checkpoints;      /* states that are kept (session_checkpoints.h); 0: none */
    bool gateway;            /* configured: its clients run cells here (external.h) */
    void (*log)(enum log_level level, const char *text);
};

enum cell_status {
    CELL_OK,
    CELL_ERROR,     /* the code raised an exception */
    CELL_TIMEOUT,   /* it was interrupted after its timeout */
    CELL_CANCELLED, /* it was interrupted, or taken out of the queue, on request */
    CELL_LOST,      /* its kernel died */
    CELL_STOPPED,   /* it was ended because the server is stopping */
    CELL_REFUSED,   /* it never ran: no kernel could be started, or the server is stopping */
};

extern const char *const cell_status_names[]; /* "ok", "error" … */

struct cell_result { /* borrowed for the call */
    enum cell_status status;
    uint64_t number; /* of its events in the log; 0: it never ran */
    const struct output *output;
    const char *ename, *evalue;   /* of CELL_ERROR and of an interrupted cell, else "" */
    const char *traceback;        /* its lines, without colours */
    const char *error_file;       /* has all of it, NULL when nothing is left out */
    const char *reason;           /* TIMEOUT, LOST, REFUSED: a sentence, else "" */
    const char *last_words;       /* LOST: what the process wrote to standard error at its end */
    bool kernel_replaced;         /* all variables are gone: a new kernel serves the next cell */
    const char *notice;           /* why it ran in a new kernel, a budget that it met, or "" */
    const char *late;             /* what arrived after the cell before it had ended, or "" */
    size_t links_room;            /* characters for the links to its files, */
    size_t words_room;            /* and for last_words */
    const struct json *variables; /* when they were asked for, as the kernel says; NULL: unknown */
};

struct cell_request {
    struct slice code; /* copied */
    int64_t timeout_ms;
    size_t max_chars;
    bool unsaved; /* no file is made of a display that an event holds: who asks has it there */
    bool tell_variables; /* the result names the variables that there are after it */
    const struct request_context *origin; /* copied; NULL: unknown */
};

struct cell_events {
    /* All but the last may be NULL. It runs, and its events in the log carry this number: */
    void (*begun)(void *ctx, uint64_t number);
    void (*text)(void *ctx, const char *text, size_t n);           /* as it is produced */
    void (*message)(void *ctx, const struct jupyter_msg *m);       /* all that it says */
    void (*finished)(void *ctx, const struct cell_result *result); /* the last event */
};

struct session;
struct cell;

/* No cell has run or waits, and there is no kernel: ending it loses nothing. */
bool session_is_untouched(const struct session *session);

/* What the sandbox of its kernels refused last; borrowed. */
const struct refusals *session_refusals(const struct session *session);
MUST_CHECK int session_open(const struct session_config *config, struct session **ret,
                            struct err *e);

/* -EAGAIN: the queue is full; -ESHUTDOWN: the session is closing. */
MUST_CHECK int session_execute(struct session *session, const struct cell_request *request,
                               const struct cell_events *events, void *ctx, struct cell **ret,
                               struct err *e);

/* Interrupts it, or takes it out of the queue; its last event follows, maybe at once. A reset that
 * has begun goes on. */
void cell_cancel(struct cell *cell);

/* No event comes any more: the one who waited is gone. The cell goes on. */
void cell_forget(struct cell *cell);

/* Likewise; its text comes with the next cell's result, as late output. */
void cell_abandon(struct cell *cell);

/* How many wait or run, resets among them. */
size_t session_waiting(const struct session *session);

/* The number of the cell that runs in the kernel, 0: none does. */
uint64_t session_cell(const struct session *session);

/* What the cell that runs came with; NULL: none runs. Good until it has ended. */
const struct request_context *session_request_context(const struct session *session);

/* While it is held, because a human is asked, the timeout of the running cell and of those that
 * begin meanwhile stands still. An interrupt's grace does not. */
void session_hold(struct session *session, bool hold);

/* Its kernel stands still with all that it has started, and so does the timeout of the running
 * cell; no cell and no reset begins. What is asked for meanwhile waits. */
void session_pause(struct session *session, bool pause);

/* A new kernel, in turn with the cells. done: why == NULL when it is ready. */
MUST_CHECK int session_reset(struct session *session,
                             void (*done)(void *ctx, const struct err *why), void *ctx,
                             struct cell **ret, struct err *e);

/* Of a reset: fn is called with its ctx when its turn has come, before the kernel is replaced. */
void cell_before_reset(struct cell *cell, loop_fn fn);

/* Other settings of its kernel's sandbox. 1: there is no kernel that is up, and nothing was done;
 * 0: done follows, as of kernel_confine(). */
MUST_CHECK int session_confine(struct session *session, const char *settings,
                               void (*done)(void *ctx, const struct err *why), void *ctx,
                               struct err *e);

/* A kernel that is not up yet is started anew, with what the config says now. */
void session_renew(struct session *session);

/* --- lending and forking its kernel (session_turn.c)
 * ------------------------------------------ */

/* A turn among its cells, with which its kernel is lent: begun is called when the kernel is up and
 * idle, and no cell begins until session_end_turn(). over: the kernel has ended meanwhile, or there
 * was no turn; nothing else follows. */
MUST_CHECK int session_ask_turn(struct session *session, loop_fn begun,
                                void (*over)(void *ctx, const struct err *why), void *ctx,
                                struct cell **ret, struct err *e);
void session_end_turn(struct cell *turn);

struct session_born { /* all but the first are called once; why == NULL: its kernel is ready */
    void (*forked)(void *ctx);
    void (*ready)(void *ctx, const struct err *why);
};

/* A session whose first kernel is forked from that of `parent`, which is lent to the caller. */
MUST_CHECK int session_open_branch(const struct session_config *config, struct session *parent,
                                   const struct kernel_branch *how, const struct session_born *born,
                                   void *ctx, struct session **ret, struct err *e);
/* The last of the branches has forked: kernel_renew(). */
void session_renew_token(struct session *session);

/* Its kernel is asked something beside its cells (jupyter/questions.h). cursor: in characters.
 * -EBUSY: no kernel is up, it stands still, or, of code, a cell runs or waits. */
MUST_CHECK int session_ask(struct session *session, enum question_kind kind, const char *code,
                           size_t cursor, question_fn fn, void *ctx, struct kernel_question **ret,
                           struct err *e);

/* What happened in it, late output among it; NULL: none is kept. Borrowed. */
struct eventlog *session_events(const struct session *session);

/* Its cells with their outputs, for a notebook; NULL: none is kept. Borrowed. */
struct history *session_history(const struct session *session);

/* --- for other clients of its kernel (kernels.h) -------------------------------------------- */

/* NULL: there is none at present. *ret_ready: it has come up. */
const struct kernel *session_kernel(const struct session *session, bool *ret_ready);

/* Calls fn whenever another kernel is ready, or one was ended because it was idle. Once. */
void session_watch(struct session *session, loop_fn fn, void *ctx);

/* KeyboardInterrupt in whatever runs in the kernel. `insist`: the kernel is replaced when the
 * running cell ignores it. */
void session_interrupt(struct session *session, bool insist);

/* Takes no more work; what it has gets grace_ms to end. done is called when nothing is left
 * and frees nothing: session_free() follows. Called again with a shorter time: hurries. */
void session_close(struct session *session, int64_t grace_ms, loop_fn done, void *ctx);
struct session *session_free(struct session *session); /* NULL in, NULL out */

#endif
