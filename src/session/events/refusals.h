/* SPDX-License-Identifier: Apache-2.0
 *
 * session/events/refusals.h - what the sandbox of a session's kernels refused last.
 * Source:  code in the kernel, which chooses the words as it chooses paths: nothing is decided by
 *          them.
 * Owner:   one struct, all zero at first, embedded in its session; refusals_free() at its end.
 * Limits:  the last REFUSALS_KEPT, each of at most REFUSAL_MAX bytes; of what comes too fast the
 *          shim counts the rest (sandbox/shim/shim.h). */
#ifndef SESSION_EVENTS_REFUSALS_H
#define SESSION_EVENTS_REFUSALS_H

#include <stddef.h>
#include <stdint.h>

#define REFUSALS_KEPT 32
#define REFUSAL_MAX 512

struct refusal_kept {
    int64_t ms;       /* since 1970 */
    const char *what; /* "pid=17 call=openat path=/x"; borrowed until the next one comes */
};

struct refusals {
    struct refusal_slot *ring; /* NULL: none yet */
    uint64_t count;            /* that came */
};

void refusals_add(struct refusals *refusals, const char *what);
void refusals_free(struct refusals *refusals);

size_t refusals_kept(const struct refusals *refusals);
struct refusal_kept refusals_at(const struct refusals *refusals, size_t at); /* 0: the oldest */

#endif
