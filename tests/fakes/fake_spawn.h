/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fakes/fake_spawn.h - stands in for sandbox/shim/spawn.c at link time: no process is
 * started; a test says what becomes of the one child that there is.
 * State:   `orders` has what the child was told, a word each: "interrupt", "kill", "look" … */
#ifndef FAKES_FAKE_SPAWN_H
#define FAKES_FAKE_SPAWN_H

#include "sandbox/shim/spawn.h"

struct fake_spawn {
    const struct child_events *events; /* of the last child; NULL: it was given up */
    void *ctx;
    int starts;
    bool refuses; /* child_start() fails */
    char orders[200];
};

extern struct fake_spawn fake_spawn;

/* Its process has ended with this status, or by this signal. */
void fake_spawn_end(int code, int signal);

#endif
