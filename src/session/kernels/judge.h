/* SPDX-License-Identifier: Apache-2.0
 *
 * session/kernels/judge.h - what a client that may only execute may do with the workspace's files:
 * what code in the default session may, and without --sandbox what the documents' settings allow
 * it.
 * Owns:    the settings as a policy, made anew when they change or are JUDGE_MS old: names that no
 *          settings allow to be written are looked for in the workspace then, JUDGE_NAMES at a
 *          time; so long an older policy of the same settings judges.
 * Closed:  where there is no policy yet, or none can be made, nothing is allowed. The first one is
 *          there at once, unless the workspace has more than JUDGE_FIRST slices of names.
 * Calls:   loop thread only. */
#ifndef SESSION_KERNELS_JUDGE_H
#define SESSION_KERNELS_JUDGE_H

#include <stdbool.h>

#include "session/kernels/sessions.h"

#define JUDGE_MS 30000
#define JUDGE_NAMES 1000 /* in one turn of the loop … */
#define JUDGE_PAUSE_MS 5 /* … and the time to the next */
#define JUDGE_FIRST 4    /* slices at once, where there is no policy */

enum judge_act {
    JUDGE_READ,
    JUDGE_WRITE,  /* or make */
    JUDGE_REMOVE, /* or move away; what is protected below it stays */
};

struct judge;
struct judge *judge_new(struct sessions *sessions);
struct judge *judge_free(struct judge *judge); /* NULL in, NULL out */

/* false: it is still looking through the workspace, and allows nothing so long. */
bool judge_is_ready(const struct judge *judge);

/* path: absolute and canonical; it need not exist. */
bool judge_allows(struct judge *judge, enum judge_act act, const char *path);
bool judge_allows_move(struct judge *judge, const char *from, const char *to, bool is_dir);

#endif
