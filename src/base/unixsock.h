/* SPDX-License-Identifier: Apache-2.0
 *
 * base/unixsock.h - stream sockets with names in the file system (unix(7)). */
#ifndef BASE_UNIXSOCK_H
#define BASE_UNIXSOCK_H

#include <sys/socket.h>
#include <sys/un.h>

#include "base/err.h"

/* -ENAMETOOLONG: a socket's name has some 100 bytes. */
MUST_CHECK int unixsock_address(const char *path, struct sockaddr_un *ret, struct err *e);

/* In the place of whatever is at path: a socket that listens, does not block, is closed on exec. */
MUST_CHECK int unixsock_listen(const char *path, int backlog, int *ret_fd, struct err *e);

#endif
