/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/init.h - process 1 of the container: starts one main child, passes signals on, reaps,
 * ends everything in order, and returns the main child's exit status.
 * Process: small and alone: no thread, no allocation and nothing from outside after the child was
 *          made, so that what can go wrong in the server cannot go wrong here.
 * Works:   as PID 1 and below one (docker --init, a shared PID namespace, a shell).
 * Stop:    the first TERM or INT is passed on and starts the grace; its end, or a second TERM or
 *          INT, kills the main child. When it has ended, what is left of the tree gets TERM, a
 *          short time, and KILL (at once after a second signal).
 * Cause:   when a signal has ended a server, the log's last line and the file `last_words` say
 *          which, and whether memory ran out. What a server says itself as it ends is left.
 * Not here: who it all runs as (identity.h). */
#ifndef ENTRYPOINT_INIT_H
#define ENTRYPOINT_INIT_H

#include <stdbool.h>
#include <stdint.h>

#include "entrypoint/identity/identity.h"
#include "front/http/ahead.h"

#define INIT_STATUS_NOT_RUNNABLE 126
#define INIT_STATUS_NOT_FOUND 127

struct init_plan {
    char **argv; /* of the main child; NULL ends it. The environment is ours */
    bool self;   /* run this very program instead of looking argv[0] up in PATH */
    const struct identity *identity; /* NULL: stays who we are */
    int passed;                      /* a descriptor for the main child alone; 0: none */
    struct ahead ahead;              /* likewise */
    int64_t stop_grace_ms;           /* for the main child, after the first signal */
    int64_t leftover_grace_ms;       /* for what the main child left behind */
    const char *last_words;          /* of a server (last_words.h); NULL: it is none */
};

/* Fills argv and self from the words behind `init`: none, or options first: `server`, the command
 * of that server, with these; a command of our own: that; any other word: that program. *ret->argv
 * is owned: xfree(). `server` is borrowed. */
void init_plan_words(int argc, char **words, char *server, struct init_plan *ret);

/* Returns the exit status for the whole container: the main child's, 128+N when signal N ended
 * it, 126 or 127 when it could not be run. */
int init_main(struct init_plan *plan);

#endif
