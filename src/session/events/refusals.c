/* SPDX-License-Identifier: Apache-2.0 */
#include "session/events/refusals.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"

struct refusal_slot {
    int64_t ms;
    char what[REFUSAL_MAX + 1];
};

void refusals_add(struct refusals *refusals, const char *what)
{
    if (!refusals->ring)
        refusals->ring = xcalloc(REFUSALS_KEPT, sizeof *refusals->ring);
    struct refusal_slot *slot = &refusals->ring[refusals->count++ % REFUSALS_KEPT];
    slot->ms = clock_real_ms();
    (void)snprintf(slot->what, sizeof slot->what, "%s", what);
}

void refusals_free(struct refusals *refusals)
{
    xfree(refusals->ring);
    *refusals = (struct refusals){0};
}

size_t refusals_kept(const struct refusals *refusals)
{
    return refusals->count < REFUSALS_KEPT ? (size_t)refusals->count : REFUSALS_KEPT;
}

struct refusal_kept refusals_at(const struct refusals *refusals, size_t at)
{
    const uint64_t first = refusals->count - refusals_kept(refusals);
    const struct refusal_slot *slot = &refusals->ring[(first + at) % REFUSALS_KEPT];
    return (struct refusal_kept){slot->ms, slot->what};
}
