/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/cli/find.h - the running server, for a command in the same container: connects to one
 * of its sockets in IPYBOX_RUNTIME_DIR, or in whatever directory is below the usual bases.
 * Root:    `docker exec` makes us root, who without DAC_OVERRIDE may not enter the server's private
 *          directory. Then the directory's owner opens it for us, but the other end sees root. */
#ifndef ENTRYPOINT_CLI_FIND_H
#define ENTRYPOINT_CLI_FIND_H

#include "base/err.h"

/* A descriptor that does not block, or an error's code. -EPERM: another process listens there, as
 * code in a kernel where that has the server's uid; nothing was sent to it. */
MUST_CHECK int find_server(const char *socket_name, struct err *e);

#endif
