/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/landlock/floor.h - what the kernel itself enforces: the Landlock ruleset of a policy.
 * Why:     whatever the broker lets go on is checked again by these rules, so it may answer
 *          "continue" for what they grant and never for anything else.
 * How:     a directory whose whole tree a policy allows is granted; on the way to a denied path
 *          every sibling is granted instead ("mixed" directories have no rule). Rules bind to
 *          inodes: what is made later in a mixed directory goes through the broker.
 * Owns:    the ruleset's descriptor and the sets of granted directories.
 * Thread:  built once; any thread may ask. */
#ifndef SANDBOX_LANDLOCK_FLOOR_H
#define SANDBOX_LANDLOCK_FLOOR_H

#include <stdbool.h>

#include "sandbox/policy/policy.h"

int landlock_abi(void); /* 0: there is no Landlock */

struct floor;
/* brokered: what the rules do not grant is asked of a broker, so they grant less; no terminal
 * among it. */
MUST_CHECK int floor_build(const struct policy *policy, bool brokered, struct floor **ret,
                           struct err *e);
/* The walls without a policy: no tracing, signals or abstract sockets across the edge. terminals:
 * they are not opened either, but by a broker. Not before ABI 2. */
MUST_CHECK int floor_build_walls(bool terminals, struct floor **ret, struct err *e);
/* The walls with a policy of their own (policy_new_walls()). Not before ABI 2, but brokered. */
struct floor_walls {
    bool brokered, terminals; /* as above */
    bool lists;               /* also what names are in a hidden directory is refused */
};
MUST_CHECK int floor_build_places(const struct policy *policy, const struct floor_walls *how,
                                  struct floor **ret, struct err *e);
struct floor *floor_free(struct floor *floor); /* NULL in, NULL out */

int floor_ruleset(const struct floor *floor); /* lent; -1 without Landlock */

/* Do the rules refuse every read that the policy denies? */
bool floor_holds_reads(const struct floor *floor);

/* Is this absolute, lexically clean path below a directory that the rules grant? */
bool floor_grants_read(const struct floor *floor, const char *path);
bool floor_grants_write(const struct floor *floor, const char *path);

#endif
