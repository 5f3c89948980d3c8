/* SPDX-License-Identifier: Apache-2.0 */
#include "base/unixsock.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

int unixsock_address(const char *path, struct sockaddr_un *ret, struct err *e)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof ret->sun_path)
        return err_set(e, -ENAMETOOLONG, "%s: too long for a socket's name", path);
    memcpy(ret->sun_path, path, strlen(path) + 1);
    return 0;
}

int unixsock_listen(const char *path, int backlog, int *ret_fd, struct err *e)
{
    struct sockaddr_un to;
    int r = unixsock_address(path, &to, e);
    if (r < 0)
        return r;
    (void)unlink(path);
    drop_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)(const void *)&to, sizeof to) < 0 ||
        listen(fd, backlog) < 0)
        return err_set(e, -errno, "listen at %s: %s", path, strerror(errno));
    *ret_fd = fd_take(&fd);
    return 0;
}
