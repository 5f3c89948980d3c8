/* SPDX-License-Identifier: Apache-2.0
 *
 * front/supervise.h - the Unix socket through which the kernel gateway has its kernels run by us.
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
 * Access:   the socket is in the runtime directory, which only the server's user can enter.
 * Limits:   SUPERVISE_LINE_MAX bytes a line; who does not read loses the connection. */
#ifndef FRONT_SUPERVISE_H
#define FRONT_SUPERVISE_H

#include "loop/loop.h"
#include "session/kernels.h"

#define SUPERVISE_SOCKET "gateway.sock"
#define SUPERVISE_LINE_MAX ((size_t)1 << 20)

struct supervise;

MUST_CHECK int supervise_open(struct loop *loop, const char *runtime_dir, struct supervise **ret,
                              struct err *e);
struct supervise *supervise_close(struct supervise *s); /* NULL in, NULL out */

/* What it answers about; to be set before the loop runs, and NULL before kernels are closed. */
void supervise_set_kernels(struct supervise *s, struct kernels *kernels);

/* To be told by kernels_config.changed. */
void supervise_changed(struct supervise *s, const char *id);

const char *supervise_path(const struct supervise *s);

#endif
