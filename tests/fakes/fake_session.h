/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fakes/fake_session.h - stands in for session/queue/session.c, session/packages/packages.c
 * and session/kernels/sessions.c at link time: a test plays the session under a front door. */
#ifndef FAKES_FAKE_SESSION_H
#define FAKES_FAKE_SESSION_H

#include "session/kernels/sessions.h"
#include "session/packages/packages.h"
#include "session/queue/session.h"

struct fake_session {
    int executes, resets, installs, cancels, forgotten, abandoned; /* calls so far */
    bool refuse;                                                   /* the next cell is refused */
    char code[4096], package[256];
    struct cell_request request;
    struct request_context origin;
    struct history *history; /* of every session */
    char other[65];          /* a session that sessions_find() knows */
};

extern struct fake_session fake;

/* Of the cell that was asked for last: */
void fake_session_text(const char *text);
void fake_session_finish(const struct cell_result *result); /* missing texts are "" */
void fake_session_reset_done(const char *why);              /* NULL: well */
void fake_session_installed(const char *output, const char *why);

/* Of everything that is open, for fuzzers: */
void fake_session_text_all(const char *text);
void fake_session_end_all(void);
void fake_session_drop(void); /* without a word */

#endif
