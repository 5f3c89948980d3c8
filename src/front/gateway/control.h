/* SPDX-License-Identifier: Apache-2.0
 *
 * front/gateway/control.h - the Unix socket through which commands in the container ask the server.
 * Protocol: who connects gets one JSON line, {"status":"ok"|"stopping","version":…,"pid":…}, and
 *           the end of the connection. Nothing is read.
 * Access:   the socket is in the runtime directory, which only the server's user can enter. */
#ifndef FRONT_GATEWAY_CONTROL_H
#define FRONT_GATEWAY_CONTROL_H

#include "loop/loop.h"

#define CONTROL_SOCKET "control.sock"

struct control;

/* -EADDRINUSE: another server answers on this socket. A dead one's socket is replaced. */
MUST_CHECK int control_open(struct loop *loop, const char *runtime_dir, const char *version,
                            struct control **ret, struct err *e);
void control_set_stopping(struct control *control);
struct control *control_close(struct control *control); /* NULL in, NULL out */

#endif
