/* SPDX-License-Identifier: Apache-2.0
 *
 * session/queue/generation.h - writes the package of a registered server, module by module between
 * the turns of the loop: a server may have thousands of tools. Then what packages have left is
 * removed.
 * Owner:   one for a tool plane. One package is written at a time, the others wait.
 * Limits:  GENERATION_SLICE_MS of each turn, or one module.
 * Calls:   loop thread only. `done` comes from the loop, never from inside a call. */
#ifndef SESSION_QUEUE_GENERATION_H
#define SESSION_QUEUE_GENERATION_H

#include "loop/loop.h"
#include "tools/tools.h"

#define GENERATION_SLICE_MS 5
#define GENERATION_SWEEP_MS 20 /* between two handfuls of leftovers */

struct generations;
struct generations *generations_open(struct loop *loop, const struct tools *tools,
                                     const char *packages_dir);
struct generations *generations_close(struct generations *all); /* NULL in, NULL out */

typedef void (*generation_fn)(void *ctx, char *const *modules, size_t n, const struct err *why);

/* done: the last event: the names to import, or (modules == NULL) why not. */
struct generation;
struct generation *generation_start(struct generations *all, const char *server, generation_fn done,
                                    void *ctx);
/* Inside `done`: what was done to a package that was there; NULL: nothing. Borrowed. */
const char *generation_report(const struct generation *g);
struct generation *generation_cancel(struct generation *g); /* NULL in, NULL out */

#endif
