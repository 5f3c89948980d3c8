/* SPDX-License-Identifier: Apache-2.0
 *
 * session/queue/session_internal.h - what the files of a session share (private to session*.c).
 * session.c changes it; session_pause.c makes it stand still; session_look.c looks. */
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
    loop_fn watch;           /* another kernel is ready */
    void *watch_ctx;
    /* closing */
    bool closing;
    struct loop_timer close_timer;
    loop_fn closed;
    void *closed_ctx;
};

/* --- session.c --- */

void session_look_for_work(struct session *s);
void session_cell_late(void *ctx); /* the timer of a cell */

/* --- session_look.c --- */

void session_tell_watcher(const struct session *s);

#endif
