/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/landlock/ruleset.h - what the kernel itself enforces: the Landlock ruleset of a policy.
 * Why:     whatever the broker lets go on is checked again by these rules, so it may answer
 *          "continue" for what they grant and never for anything else.
 * How:     a directory whose whole tree a policy allows is granted; on the way to a denied path
 *          every sibling is granted instead ("mixed" directories have no rule). Rules bind to
 *          inodes: what is made later in a mixed directory goes through the broker.
 * Owns:    the ruleset's descriptor and the sets of granted directories.
 * Thread:  built once; any thread may ask. */
#ifndef SANDBOX_LANDLOCK_RULESET_H
#define SANDBOX_LANDLOCK_RULESET_H

#include <stdbool.h>

#include "sandbox/policy/policy.h"

int landlock_abi(void); /* 0: there is no Landlock */

struct landlock_ruleset;
/* brokered: what the rules do not grant is asked of a broker, so they grant less; no terminal
 * among it. */
MUST_CHECK int ruleset_build(const struct policy *policy, bool brokered,
                             struct landlock_ruleset **ret, struct err *e);
/* The walls without a policy: no tracing, signals or abstract sockets across the edge. terminals:
 * they are not opened either, but by a broker. Not before ABI 2. */
MUST_CHECK int ruleset_build_walls(bool terminals, struct landlock_ruleset **ret, struct err *e);
/* The walls with a policy of their own (policy_new_walls()). Not before ABI 2, but brokered. */
struct ruleset_walls {
    bool brokered, terminals; /* as above */
    bool lists;               /* also what names are in a hidden directory is refused */
};
MUST_CHECK int ruleset_build_places(const struct policy *policy, const struct ruleset_walls *how,
                                    struct landlock_ruleset **ret, struct err *e);
struct landlock_ruleset *ruleset_free(struct landlock_ruleset *ruleset); /* NULL in, NULL out */

int ruleset_fd(const struct landlock_ruleset *ruleset); /* lent; -1 without Landlock */

/* Do the rules refuse every read that the policy denies? */
bool ruleset_holds_reads(const struct landlock_ruleset *ruleset);

/* Is this absolute, lexically clean path below a directory that the rules grant? */
bool ruleset_grants_read(const struct landlock_ruleset *ruleset, const char *path);
bool ruleset_grants_write(const struct landlock_ruleset *ruleset, const char *path);

#endif
