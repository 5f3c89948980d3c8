/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/identity/apisocket.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/service.h"
#include "base/unixsock.h"

#define PASSED "IPYBOX_API_SOCKET"

enum { BACKLOG = 128 };

static int make_socket(int *ret, struct err *e)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_set(e, -errno, "a socket: %s", strerror(errno));
    *ret = fd;
    return 0;
}

/* Whose socket it is, the kernel takes down at listen(). */
static int start_listening(int fd, struct err *e)
{
    if (listen(fd, BACKLOG) < 0)
        return err_set(e, -errno, "listen: %s", strerror(errno));
    return 0;
}

int apisocket_for_child(const struct identity *identity, int *ret_fd, struct err *e)
{
    const char *dir = getenv("IPYBOX_RUNTIME_DIR");
    drop_str char *path = xasprintf("%s/" API_SOCKET, dir ? dir : "");
    drop_fd int fd = -1;
    int r = make_socket(&fd, e);
    if (r == 0)
        r = identity_bind(identity, fd, path, e);
    if (r == 0)
        r = start_listening(fd, e);
    if (r < 0)
        return r;
    drop_str char *number = xasprintf("%d", fd);
    if (setenv(PASSED, number, 1) < 0)
        return err_set(e, -errno, "setenv: %s", strerror(errno));
    *ret_fd = fd_take(&fd);
    return 0;
}

int apisocket_inherit(void)
{
    const char *text = getenv(PASSED);
    char *end = NULL;
    struct sockaddr_un at;
    socklen_t n = sizeof at;
    long fd = text ? strtol(text, &end, 10) : -1;
    bool usable = text && *text && *end == '\0' && fd > 2 &&
                  getsockname((int)fd, (struct sockaddr *)(void *)&at, &n) == 0 &&
                  at.sun_family == AF_UNIX && fcntl((int)fd, F_SETFD, FD_CLOEXEC) == 0;
    (void)unsetenv(PASSED);
    return usable ? (int)fd : -1;
}

static int bind_here(int fd, const char *runtime_dir, struct err *e)
{
    struct sockaddr_un to;
    drop_str char *path = xasprintf("%s/" API_SOCKET, runtime_dir);
    int r = unixsock_address(path, &to, e);
    if (r < 0)
        return r;
    drop_service struct service service = service_enter();
    (void)unlink(path); /* that nobody else serves here the health check's socket has shown */
    mode_t before = umask(service.inside ? 0111 : 0177);
    r = bind(fd, (const struct sockaddr *)(const void *)&to, sizeof to) < 0 ? -errno : 0;
    (void)umask(before);
    return r < 0 ? err_set(e, r, "%s: %s", path, strerror(-r)) : 0;
}

int apisocket_open(const char *runtime_dir, int inherited, int *ret_fd, struct err *e)
{
    drop_fd int fd = inherited;
    int r = 0;
    if (fd < 0) {
        r = make_socket(&fd, e);
        if (r == 0)
            r = bind_here(fd, runtime_dir, e);
        if (r == 0)
            r = start_listening(fd, e);
    }
    if (r == 0)
        *ret_fd = fd_take(&fd);
    return r;
}

void apisocket_remove(const char *runtime_dir)
{
    drop_str char *path = xasprintf("%s/" API_SOCKET, runtime_dir);
    unixsock_remove(path);
}
