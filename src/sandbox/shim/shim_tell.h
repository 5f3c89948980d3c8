/* SPDX-License-Identifier: Apache-2.0
 *
 * sandbox/shim/shim_tell.h - what a shim says to its server. Private to shim*.c.
 * Thread:  any; refusals come from the broker's. */
#ifndef SANDBOX_SHIM_SHIM_TELL_H
#define SANDBOX_SHIM_SHIM_TELL_H

#include <pthread.h>

#include "sandbox/broker/broker.h"
#include "sandbox/shim/shim.h"

struct teller {
    int control;
    pthread_mutex_t lock; /* of what follows */
    int tokens;           /* refusals that may be told now */
    int64_t filled;       /* when tokens were last added */
    int untold;
};

void teller_init(struct teller *teller, int control);

/* `text` may be NULL. The server may be gone; end of file tells us so in its turn. */
void teller_report(const struct teller *teller, enum shim_kind kind, int32_t a, int32_t b,
                   const char *text);

/* For struct broker_config. At most SHIM_REFUSALS_SECOND a second; the rest is counted. */
void teller_refused(void *teller, const struct refusal *refusal);

#endif
