/* SPDX-License-Identifier: Apache-2.0
 *
 * front/gateway/supervise.h - what the kernel gateway asks, which has its kernels run by us.
 * Protocol: JSON lines. One answer for each request, in order; {"error":TEXT} when it failed.
 *   {"op":"launch","id":ID,"env":{…},"cwd":PATH}  {"conn":{…}} once the kernel is ready
 *   {"op":"restart","id":ID}                      the same; of the session's kernel: its reset
 *   {"op":"poll","id":ID}                         {"rc":null} while it runs, else {"rc":STATUS}
 *   {"op":"wait","id":ID}                         {"rc":STATUS} once it has ended
 *   {"op":"signal","id":ID,"sig":N}               {}; 2 interrupts, 15 and 9 kill, 0 does nothing
 *   {"op":"kill","id":ID}                         {}; of the session's kernel: its reset
 *   {"op":"forget","id":ID}                       {}; ends it, too
 *   {"op":"list"}                                 {"kernels":[{"id","owner","state","conn"}…]}
 *   {"op":"watch"}                                {}, and from then on {"changed":ID} whenever a
 *                                                 kernel has come up anew or has ended
 * Access:   connections have no name: the gateway sends one end of a pair (jupyter/gateway.h).
 * Limits:   SUPERVISE_LINE_MAX bytes a line, SUPERVISE_CLIENTS_MAX connections; who does not read
 *           loses the connection. */
#ifndef FRONT_GATEWAY_SUPERVISE_H
#define FRONT_GATEWAY_SUPERVISE_H

#include "loop/loop.h"
#include "session/kernels/kernels.h"

#define SUPERVISE_LINE_MAX ((size_t)1 << 20)
#define SUPERVISE_CLIENTS_MAX 512

struct supervise;

struct supervise *supervise_open(struct loop *loop);
struct supervise *supervise_close(struct supervise *s); /* NULL in, NULL out */

/* What it answers about; to be set before the loop runs, and NULL before kernels are closed. */
void supervise_set_kernels(struct supervise *s, struct kernels *kernels);

/* To be told by kernels_config.changed. */
void supervise_changed(struct supervise *s, const char *id);

/* A connection of the gateway's: a connected socket, taken over. */
void supervise_add(struct supervise *s, int fd);

#endif
