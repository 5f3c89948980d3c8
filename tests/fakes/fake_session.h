/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fakes/fake_session.h - stands in for session/queue/session.c, session/packages/packages.c
 * and session/kernels/sessions.c at link time: a test plays the session under a front door. */
#ifndef FAKES_FAKE_SESSION_H
#define FAKES_FAKE_SESSION_H

#include "session/kernels/sessions.h"
#include "session/packages/packages.h"
#include "session/queue/session.h"
#include "session/queue/session_checkpoints.h"

struct fake_session {
    uint64_t rewound;    /* to before this cell */
    uint64_t newest;     /* a state before this cell and each before it is kept; 0: none */
    const char *missing; /* why the newest is not; NULL: it is */
    struct session_call made;
    int executes, resets, installs, cancels, forgotten, abandoned; /* calls so far */
    bool refuse;                                                   /* the next cell is refused */
    char code[4096], package[256];
    struct cell_request request;
    struct request_context origin;
    struct history *history;           /* of every session */
    char other[65];                    /* a session that sessions_find() knows */
    const struct session *executed_in; /* of the last cell */
    struct sessions_fork_spec fork;    /* the last; its done is called by the test */
    char fork_of[65], fork_name[65];
    char ended[65]; /* the session that was ended last */
    struct sessions_watcher *watcher;
};

extern struct fake_session fake;

/* Of the cell that was asked for last: */
void fake_session_text(const char *text);
void fake_session_finish(const struct cell_result *result); /* missing texts are "" */
void fake_session_reset_done(const char *why);              /* NULL: well */
void fake_session_rewound(const char *why);                 /* likewise */
void fake_session_installed(const char *output, const char *why);

/* Of everything that is open, for fuzzers: */
void fake_session_text_all(const char *text);
void fake_session_end_all(void);
void fake_session_drop(void); /* without a word */

#endif
