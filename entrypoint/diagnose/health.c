/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/diagnose/health.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "entrypoint/cli/find.h"

enum { PATIENCE_MS = 2000, LINE_MAX_BYTES = 64 * 1024, BAD_STATUS = 1 };

#define SOCKET_NAME "control.sock"

/* One line, without its end. */
static int read_status_line(int fd, char *into, size_t size, struct err *e)
{
    int64_t until = clock_ms() + PATIENCE_MS;
    size_t n = 0;
    while (n + 1 < size) {
        int64_t left = until - clock_ms();
        struct pollfd p = {fd, POLLIN, 0};
        if (left <= 0 || poll(&p, 1, (int)left) == 0)
            return err_set(e, -ETIMEDOUT, "the server did not answer within %d ms", PATIENCE_MS);
        ssize_t r = read(fd, into + n, size - 1 - n);
        if (r < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (r < 0)
            return err_set(e, -errno, "read: %s", strerror(errno));
        n += (size_t)r;
        into[n] = '\0';
        char *end = strchr(into, '\n');
        if (end)
            *end = '\0';
        if (end || (r == 0 && n > 0))
            return 0;
        if (r == 0)
            return err_set(e, -EPIPE, "the server closed without an answer");
    }
    return err_set(e, -EMSGSIZE, "the server's answer is too long");
}

int health_main(void)
{
    static char line[LINE_MAX_BYTES];
    struct err e = ERR_NONE;
    /* It has the container's environment, and with --user the uid of cells. */
    (void)prctl(PR_SET_DUMPABLE, 0);
    drop_fd int fd = find_server(SOCKET_NAME, &e);
    if (fd < 0 || read_status_line(fd, line, sizeof line, &e) < 0) {
        (void)dprintf(STDERR_FILENO, "ipybox health: %s\n", e.msg);
        return BAD_STATUS;
    }
    (void)dprintf(STDOUT_FILENO, "%s\n", line);
    if (strstr(line, "\"status\":\"ok\""))
        return 0;
    (void)dprintf(STDERR_FILENO, "ipybox health: the server says that it is not well\n");
    return BAD_STATUS;
}
