/* SPDX-License-Identifier: Apache-2.0
 *
 * session/queue/session_checkpoints.h - states of a session that are kept, and how it goes back to
 * one of them (docs/rewind.md).
 * Kept:    before a cell runs its kernel is forked, and the fork sleeps: all of its processes stand
 *          still. The newest config.checkpoints of them stay. Where a fork is refused the cell runs
 *          all the same, and the reason is kept in its place.
 * Rewind:  in turn with the cells. The kernel ends, the sleeping one wakes in its place, and the
 *          states behind it end. Cells keep counting: a number is given once.
 * End:     they outlive the end of their kernel (exit, a crash, an interrupt that was ignored), but
 *          not a reset, an idle end or a change of the sandbox: none of these is undone.
 * Memory:  they count with the kernel of their session; when that is too much the oldest ends
 *          first (sandbox/shim/branches.h).
 * Calls:   loop thread only. */
#ifndef SESSION_QUEUE_SESSION_CHECKPOINTS_H
#define SESSION_QUEUE_SESSION_CHECKPOINTS_H

#include "session/queue/session.h"

#define SESSION_CHECKPOINTS_MAX 16
#define SESSION_CALLS_MAX 64 /* the newest tool calls that are remembered */
#define SESSION_CALL_NAME 96
#define SESSION_FORK_MS 5000 /* a fork that takes longer is given up */

struct session_checkpoint { /* borrowed until the next turn of the loop */
    uint64_t cell;          /* the state is that before it began */
    const char *missing;    /* why there is none; NULL: it is kept */
    uint64_t memory;        /* bytes, as session_measure() has seen them last; 0: it has not */
};

/* The newest is 0. False: there are no more. */
bool session_checkpoint_at(const struct session *session, size_t at,
                           struct session_checkpoint *ret);
/* The cell that begins next, or runs. */
uint64_t session_next_cell(const struct session *session);

/* What no rewind undoes, in words; NULL is the end. */
extern const char *const session_not_undone[];

struct session_call { /* of a tool, by code */
    uint64_t cell;
    char name[SESSION_CALL_NAME]; /* SERVER.TOOL */
};
/* It is being made, whatever comes of it. Nothing happens where no states are kept. */
void session_note_call(struct session *session, const char *server, const char *tool);
/* Oldest first; NULL: there are no more. */
const struct session_call *session_call_at(const struct session *session, size_t at);
uint64_t session_calls_dropped(const struct session *session); /* older ones */

/* `memory` is asked for. False: nothing is kept; else done follows, unless it is forgotten. */
struct session_measure { /* embedded in its owner */
    struct session_measure *prev, *next;
    loop_fn done;
    void *ctx;
};
bool session_measure(struct session *session, struct session_measure *measure, loop_fn done,
                     void *ctx);
void session_forget_measure(struct session *session, struct session_measure *measure);

struct rewind;
/* To the state before that cell; `wait`: for the cells of the session. 0: done follows. -ESTALE: it
 * is not kept, and the message says what is; -EBUSY; -EDOM: nothing is kept at all. */
MUST_CHECK int session_rewind(struct session *session, uint64_t cell, bool wait,
                              void (*done)(void *ctx, const struct err *why), void *ctx,
                              struct rewind **ret, struct err *e);
void session_forget_rewind(struct rewind *rewind); /* nothing is called; it goes on */

#endif
