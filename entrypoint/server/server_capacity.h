/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/server/server_capacity.h - how many sessions the machine keeps: said at the start, by
 * the name of the limit, and not when the session is created that is one too many.
 * Figures: what a session with a kernel that has run a cell takes; bench/density.sh measures it. */
#ifndef ENTRYPOINT_SERVER_SERVER_CAPACITY_H
#define ENTRYPOINT_SERVER_SERVER_CAPACITY_H

#include <stdbool.h>
#include <stdint.h>

#define CAPACITY_FILES 14                   /* of the server, for each; two where events spill */
#define CAPACITY_TASKS 11                   /* processes and threads */
#define CAPACITY_MEMORY ((uint64_t)9 << 20) /* bytes */
/* The same of all that is not a session's: server, template, a spare kernel, clients. */
#define CAPACITY_BASE_FILES 100
#define CAPACITY_BASE_TASKS 40
#define CAPACITY_BASE_MEMORY ((uint64_t)80 << 20)
#define CAPACITY_EXPECTED 100 /* sessions: the default of --max-sessions */
#define CAPACITY_TEXT 300

struct capacity { /* UINT64_MAX: no limit */
    uint64_t files, tasks, memory;
};

/* Of this process and its container; `root` is before /proc and /sys: "" but in tests. */
void capacity_read(const char *root, struct capacity *ret);

/* False: not so many; the text names the tightest limit, what it keeps, and the remedy. */
bool capacity_keeps(const struct capacity *c, int sessions, char text[static CAPACITY_TEXT]);

#endif
