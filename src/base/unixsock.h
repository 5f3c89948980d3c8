/* SPDX-License-Identifier: Apache-2.0
 *
 * base/unixsock.h - Unix sockets: stream sockets with names in the file system, and messages with
 * descriptors (unix(7)). */
#ifndef BASE_UNIXSOCK_H
#define BASE_UNIXSOCK_H

#include <sys/socket.h>
#include <sys/un.h>

#include "base/err.h"

/* -ENAMETOOLONG: a socket's name has some 100 bytes. */
MUST_CHECK int unixsock_address(const char *path, struct sockaddr_un *ret, struct err *e);

/* In the place of whatever is at path: a socket that listens, does not block, is closed on exec. In
 * a process with a service uid (service.h) it belongs to that, and everybody may connect to it:
 * its directory decides who reaches it, the accepting code whom it serves. */
MUST_CHECK int unixsock_listen(const char *path, int backlog, int *ret_fd, struct err *e);
void unixsock_remove(const char *path);

/* One message with at most UNIXSOCK_FDS_MAX descriptors, which stay the caller's; flags as of
 * send(2), beside MSG_NOSIGNAL. 0 or -errno. Runs on its stack, as the next: also after a fork. */
#define UNIXSOCK_FDS_MAX 9
MUST_CHECK int unixsock_send(int sock, const void *bytes, size_t n, const int *fds, size_t count,
                             int flags);
/* A message of exactly n bytes and at most `most` descriptors, which are the caller's and
 * close-on-exec. -EPIPE: the end of file; -EBADMSG: another length, or more descriptors. */
MUST_CHECK int unixsock_receive(int sock, void *bytes, size_t n, int *fds, size_t most,
                                size_t *ret_count);

#endif
