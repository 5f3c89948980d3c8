/* SPDX-License-Identifier: Apache-2.0
 *
 * front/door.h - a door is a way into the server for its clients: a port, a socket, standard input
 * and output. `struct doors` opens, stops, drains and closes all doors of one list.
 * Owns:    which doors are open and which have ended, and the deadline of a stop. What a door
 *          consists of belongs to `ctx`, which every function of a door gets.
 * Order:   doors open in the order of the list; they stop, drain and close in reverse order. A step
 *          of the server that has its place between two doors may be an entry of the list, too.
 * Calls:   loop thread only. doors_close() not from inside a function of a door.
 * Not here: the list itself (entrypoint/server/doors.c). */
#ifndef FRONT_DOOR_H
#define FRONT_DOOR_H

#include <stdbool.h>

#include "loop/loop.h"

enum { DOOR_UNUSED = 1 };

struct door {
    const char *name; /* for messages about a stop that takes too long */
    /* 0: it is open. DOOR_UNUSED: the options do not ask for it, and none of the other functions is
     * called. Negative: an error; the door has closed again what it had opened. NULL: no more than
     * a place in the order. */
    int (*open)(void *ctx, struct err *e);
    void (*stop)(void *ctx);  /* takes no new work; may come twice. NULL: work goes on */
    void (*drain)(void *ctx); /* says its last words; doors_ended() follows. NULL: it has none */
    void (*close)(void *ctx); /* NULL: there is nothing to close */
};

struct doors_events {
    void (*drained)(void *ctx); /* every open door has ended; once, after doors_drain() */
    /* The deadline is over. These doors were drained and have not ended: "http, stdio"; or "". */
    void (*late)(void *ctx, const char *names);
};

struct doors;

/* `list` ends with NULL; it and `events` are borrowed. When a door cannot be opened, those before
 * it are closed. */
MUST_CHECK int doors_open(struct loop *loop, const struct door *const *list,
                          const struct doors_events *events, void *ctx, struct doors **ret,
                          struct err *e);
struct doors *doors_close(struct doors *doors); /* NULL in, NULL out */

/* Stops every open door. A second call sets the deadline anew. */
void doors_stop(struct doors *doors, int64_t deadline_ms);

/* Drains every open door that has not ended yet. A second call does nothing. */
void doors_drain(struct doors *doors);

/* This door has nothing more to say. It may come before doors_drain(), and twice. */
void doors_ended(struct doors *doors, const struct door *door);

#endif
