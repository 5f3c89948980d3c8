/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fakes/fake_spawn.h - stands in for sandbox/shim/spawn.c at link time: no process is
 * started; a test says what becomes of the one child that there is. A test is the helper itself.
 * State:   `orders` has what the child was told, a word each: "interrupt", "kill", "look" … */
#ifndef FAKES_FAKE_SPAWN_H
#define FAKES_FAKE_SPAWN_H

#include "sandbox/shim/spawn.h"

struct fake_spawn {
    const struct child_events *events; /* of the last child; NULL: it was given up */
    void *ctx;
    int starts;
    bool refuses; /* child_start() and helper_start() fail */
    int adopts, branches;
    char said[3 * CHILD_SLOT]; /* what the last branch was told, as it lies in its file */
    int helper; /* the helper's descriptor, the test's to close; helper_starts counts them */
    int helper_starts;
    pid_t helper_pid; /* what helper_start() says */
    char orders[200];
};

extern struct fake_spawn fake_spawn;

/* Its process has ended with this status, or by this signal. */
void fake_spawn_end(int code, int signal);
void fake_spawn_fail(const char *why); /* it never ran */
void fake_spawn_started(void);

#endif
