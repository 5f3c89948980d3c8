/* SPDX-License-Identifier: Apache-2.0
 *
 * session/queue/session_internal.h - what the files of a session share (private to session*.c).
 * session.c changes it; session_turn.c lends its kernel and forks it; session_checkpoints.c keeps
 * its states; session_pause.c makes it stand still; session_look.c looks. */
#ifndef SESSION_QUEUE_SESSION_INTERNAL_H
#define SESSION_QUEUE_SESSION_INTERNAL_H

#include "output/traceback.h"
#include "session/queue/background.h"
#include "session/queue/external.h"
#include "session/queue/session.h"

enum session_state {
    DOWN,
    STARTING,   /* the kernel's process comes up, */
    SETTING_UP, /* runs config->setup, */
    WAITING,    /* and waits for what the one before may still hold */
    IDLE,
    LENT,          /* a cell_turn has it (session_turn.c) */
    CHECKPOINTING, /* it is being forked, before a cell runs (session_checkpoints.c) */
    RUNNING,
    INTERRUPTED,
    STATE__COUNT
};
enum event { WORK, READY, DONE, RELEASED, LOST, TIMEOUT, CANCEL, GRACE_OVER, IDLED, EVENT__COUNT };

struct cell { /* a place in the queue: a cell, or a reset when `reset_done` is set */
    struct session *session;
    struct cell *next;
    char *code;
    size_t code_len;
    int64_t timeout_ms, begun_ms;
    struct request_context origin;
    struct output output;
    const struct cell_events *events;
    void *ctx;
    void (*reset_done)(void *ctx, const struct err *why);
    loop_fn before_reset;         /* NULL: nothing */
    loop_fn turn;                 /* of a turn, whose end `reset_done` tells; NULL: it is none */
    uint64_t number;              /* in the event log; 0: it has not begun */
    bool unsaved, tell_variables; /* as of its request */
    bool abandoned;               /* nobody gets its result: the text comes with the next one's */
};

/* A kernel is there, and no cell can run in it yet. */
static inline bool is_session_starting(enum session_state state)
{
    return state == STARTING || state == SETTING_UP || state == WAITING;
}

struct session {
    const struct session_config *config;
    struct loop *loop;
    enum session_state state;
    struct kernel *kernel;
    struct cell *queue; /* the first is the one being worked on, once `running` is set */
    size_t queued;
    bool running; /* the first of the queue is in the kernel, or being reset to */
    enum cell_status stopped_as;
    struct loop_timer timer; /* timeout of the cell, then the interrupt's grace */
    struct loop_timer idle;  /* of the kernel; while a cell runs it means nothing */
    bool paused;             /* as session_pause() has it */
    bool held;               /* the timeout's clock stands still, as it does while it is paused, */
    int64_t held_ms;         /* with so much left for the running cell */
    struct loop_defer work;
    struct loop_defer spare_ready;
    bool used;    /* the kernel has run a cell: it is worth starting another when it dies */
    int retiring; /* kernels that are shutting down in the background */
    struct kernel *leaving; /* the last of them, while it may hold what the next one could miss */
    /* about the running cell */
    const struct json *reply; /* during DONE */
    const struct err *why;    /* during LOST */
    const char *last_words;
    struct cell_failure failure;
    /* to tell the next cell */
    char notice[600];
    struct background_output late;
    struct external_cells external;
    struct external_place place;
    struct eventlog *events; /* NULL: none is kept */
    struct history *history; /* likewise */
    uint64_t cells;          /* that have begun */
    bool branch; /* its kernel was forked, and has all that a first cell would give it */
    const struct session_born *born; /* NULL: nobody waits for the first kernel */
    void *born_ctx;
    struct checkpoint *checkpoints;   /* the newest first */
    uint64_t rewound, rewound_at;     /* before which cell it stands, as long as no cell has begun
                                         since so many had; 0: nowhere */
    struct session_measure *measures; /* that wait */
    struct session_call *calls;       /* a ring of the last `called`; NULL: none yet */
    uint64_t called;
    struct refusals refusals;
    loop_fn watch; /* another kernel is ready */
    void *watch_ctx;
    /* closing */
    bool closing;
    struct loop_timer close_timer;
    loop_fn closed;
    void *closed_ctx;
};

/* --- session.c --- */

void session_look_for_work(struct session *s);
struct cell *session_take_first(struct session *s);
int session_enqueue(struct session *s, struct cell *cell, struct cell **ret, struct err *e);
void session_rest(struct session *s); /* nothing runs in its kernel */
void session_own_kernel(struct session *s);
void session_retire_kernel(struct session *s);
void session_kernel_gone(void *ctx); /* of a session: a retired one */
void session_await_leaving(struct session *s);
extern const struct kernel_events session_kernel_events;
struct session *session_new(const struct session_config *config);
void session_cell_late(void *ctx); /* the timer of a cell */

/* --- session_turn.c --- */

void session_begin_turn(struct session *s);
void session_lose_turn(struct session *s); /* its kernel has ended; s->why */
void session_kernel_forked(void *ctx);
void session_tell_born(struct session *s, const struct err *why);

/* --- session_checkpoints.c --- */

/* Before the first cell of the queue. True: it waits for a fork; then there is work again. */
bool session_begin_checkpoint(struct session *s);
void session_drop_checkpoints(struct session *s);
void session_free_checkpoints(struct session *s); /* at once, at its end */

/* --- session_look.c --- */

void session_tell_watcher(const struct session *s);

#endif
