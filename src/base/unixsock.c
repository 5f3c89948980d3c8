/* SPDX-License-Identifier: Apache-2.0 */
#include "base/unixsock.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/service.h"

int unixsock_address(const char *path, struct sockaddr_un *ret, struct err *e)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof ret->sun_path)
        return err_set(e, -ENAMETOOLONG, "%s: too long for a socket's name", path);
    memcpy(ret->sun_path, path, strlen(path) + 1);
    return 0;
}

enum { EVERYBODY = 0666 }; /* may connect to what stands in a directory of the service's */

int unixsock_listen(const char *path, int backlog, int *ret_fd, struct err *e)
{
    drop_service struct service service = service_enter();
    struct sockaddr_un to;
    int r = unixsock_address(path, &to, e);
    if (r < 0)
        return r;
    (void)unlink(path);
    drop_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)(const void *)&to, sizeof to) < 0 ||
        (service.inside && chmod(path, EVERYBODY) < 0) || listen(fd, backlog) < 0)
        return err_set(e, -errno, "listen at %s: %s", path, strerror(errno));
    *ret_fd = fd_take(&fd);
    return 0;
}

void unixsock_remove(const char *path)
{
    drop_service struct service service = service_enter();
    (void)unlink(path);
}

/* --- descriptors ------------------------------------------------------------------------------ */

union rights { /* the space for them in a message, aligned as cmsg(3) wants it */
    struct cmsghdr head;
    char space[CMSG_SPACE(UNIXSOCK_FDS_MAX * sizeof(int))];
};

int unixsock_send(int sock, const void *bytes, size_t n, const int *fds, size_t count, int flags)
{
    struct iovec part = {(void *)(uintptr_t)bytes, n};
    union rights rights = {0};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        m.msg_control = &rights;
        m.msg_controllen = (unsigned)CMSG_SPACE(count * sizeof *fds);
        rights.head.cmsg_level = SOL_SOCKET;
        rights.head.cmsg_type = SCM_RIGHTS;
        rights.head.cmsg_len = (unsigned)CMSG_LEN(count * sizeof *fds);
        memcpy(CMSG_DATA(&rights.head), fds, count * sizeof *fds);
    }
    ssize_t sent;
    do
        sent = sendmsg(sock, &m, MSG_NOSIGNAL | flags);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

static void close_all_descriptors(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
}

/* The descriptors of the message. The padding of the space may have let in one too many. */
static size_t take_fds(const struct msghdr *m, const union rights *rights, int *fds)
{
    if (m->msg_controllen < sizeof rights->head || rights->head.cmsg_level != SOL_SOCKET ||
        rights->head.cmsg_type != SCM_RIGHTS)
        return 0;
    const size_t count = ((size_t)rights->head.cmsg_len - CMSG_LEN(0)) / sizeof *fds;
    memcpy(fds, CMSG_DATA(&rights->head), count * sizeof *fds);
    return count;
}

int unixsock_receive(int sock, void *bytes, size_t n, int *fds, size_t most, size_t *ret_count)
{
    struct iovec part = {bytes, n};
    union rights rights = {0};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights};
    ssize_t got;
    do
        got = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    int came[sizeof rights / sizeof *fds];
    const size_t count = take_fds(&m, &rights, came);
    if ((size_t)got != n || (m.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) || count > most) {
        close_all_descriptors(came, count);
        return got == 0 ? -EPIPE : -EBADMSG;
    }
    if (count > 0)
        memcpy(fds, came, count * sizeof *fds);
    *ret_count = count;
    return 0;
}
