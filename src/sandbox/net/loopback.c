/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/net/loopback.h"

#include <string.h>

#include "base/alloc.h"
#include "sandbox/proc/addresses.h"

enum { BACKLOG = 64 };

int loopback_listen(int *ret_fd, uint16_t *ret_port, struct err *e)
{
    struct address address = address_of_v4(INADDR_LOOPBACK, 0);
    drop_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, &address.any, address.len) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, &address.any, &address.len) < 0)
        return err_set(e, -errno, "listen on 127.0.0.1: %s", strerror(errno));
    *ret_port = address_port(&address);
    *ret_fd = fd_take(&fd);
    return 0;
}
