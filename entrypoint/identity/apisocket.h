/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/identity/apisocket.h - the Unix socket of the HTTP API, in the runtime directory. Mode
 * 0600, or
 *          0666 where the server has a uid of its own: who connects is known by its uid.
 * Whose:   where the container is started as root, PID 1 makes it before it starts the server as
 *          somebody else, and passes it on. Its clients then see that root listens. Code in
 *          kernels may be able to put another socket in its place, but never one of root's.
 *          Else the server makes it.
 * See:     docs/decisions/0016-who-may-approve-over-the-socket.md */
#ifndef ENTRYPOINT_IDENTITY_APISOCKET_H
#define ENTRYPOINT_IDENTITY_APISOCKET_H

#include "entrypoint/identity/identity.h"

#define API_SOCKET "api.sock"

/* In PID 1, after identity_prepare(): 0, or the descriptor for the child that will be `identity`,
 * of which its environment tells. */
MUST_CHECK int apisocket_for_child(const struct identity *identity, int *ret_fd, struct err *e);

/* In the server, before it starts anybody who could inherit it: what was passed on, or -1. */
int apisocket_inherit(void);

/* That one, which is taken over, or a new one in the directory. It listens. */
MUST_CHECK int apisocket_open(const char *runtime_dir, int inherited, int *ret_fd, struct err *e);

void apisocket_remove(const char *runtime_dir);

#endif
