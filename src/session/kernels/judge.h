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
 * Places:  what the server hides from code and keeps (token files, lists of servers, policies, its
 *          sockets, registrations; struct judge_places), whatever the settings, and also without.
 * Calls:   loop thread only. */
#ifndef SESSION_KERNELS_JUDGE_H
#define SESSION_KERNELS_JUDGE_H

#include <stdbool.h>

#include "files/spot.h"
#include "session/kernels/sessions.h"

#define JUDGE_MS 30000
#define JUDGE_NAMES 1000 /* in one turn of the loop … */
#define JUDGE_PAUSE_MS 5 /* … and the time to the next */
#define JUDGE_FIRST 4    /* slices at once, where there is no policy */

/* Whatever the settings say; lists end with NULL, absolute paths. */
struct judge_places {
    const char *const *hidden, *const *kept; /* as in struct policy_place */
    const char *records;                     /* where registrations are; NULL: nowhere */
};

struct judge;
struct judge *judge_new(struct sessions *sessions);
struct judge *judge_free(struct judge *judge); /* NULL in, NULL out */

/* false: it is still looking through the workspace, and allows nothing so long. */
bool judge_is_ready(const struct judge *judge);

/* Good for as long as the judge. */
const struct spot_rules *judge_rules(const struct judge *judge);
/* Administrators may everything, but registrations are made by the routes for them alone: a file
 * that an archive of somebody else's brings would start programs. */
const struct spot_rules *judge_rules_of_admins(const struct judge *judge);
/* What an archive for administrators holds: no registrations, which no archive could bring back. */
const struct spot_rules *judge_rules_of_archives(const struct judge *judge);

#endif
