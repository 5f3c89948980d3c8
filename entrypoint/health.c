/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/health.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "entrypoint/identity.h"

enum { PATIENCE_MS = 2000, LINE_MAX_BYTES = 64 * 1024, BAD_STATUS = 1 };

#define SOCKET_NAME "control.sock"

/* A Unix socket's connect waits while the server's queue is full: hence not blocking, and EAGAIN
 * is an answer like any other. */
static int connect_to(const char *dir, struct err *e)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n = snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", dir, SOCKET_NAME);
    if (n < 0 || (size_t)n >= sizeof address.sun_path)
        return err_set(e, -ENAMETOOLONG, "%s: too long for a socket", dir);
    drop_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_set(e, -errno, "socket: %s", strerror(errno));
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        return err_set(e, -errno, "%s: %s", address.sun_path, strerror(errno));
    return fd_take(&fd);
}

/* `docker exec` makes us root, who without DAC_OVERRIDE may not enter the server's private
 * directory: then we become the one whom it belongs to. */
static bool become_owner(const char *dir)
{
    struct stat st;
    if (geteuid() != 0 || lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid == 0)
        return false;
    return setresgid(st.st_gid, st.st_gid, st.st_gid) == 0 &&
           setresuid(st.st_uid, st.st_uid, st.st_uid) == 0;
}

/* Tries the directory of every user below one base. The last failure is kept in *e. */
static int search_base(const char *base, struct err *e)
{
    DIR *dir = opendir(base);
    int fd = -ENOENT;
    if (!dir)
        return err_set(e, -errno, "%s: %s", base, strerror(errno));
    const struct dirent *entry;
    while (fd < 0 && (entry = readdir(dir))) {
        char path[IDENTITY_PATH_MAX];
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        int n = snprintf(path, sizeof path, "%s/%s", base, entry->d_name);
        if (n > 0 && (size_t)n < sizeof path)
            fd = connect_to(path, e);
        if (fd == -EACCES && become_owner(path))
            fd = connect_to(path, e);
    }
    (void)closedir(dir);
    return fd;
}

static int find_server(struct err *e)
{
    const char *asked = getenv("IPYBOX_RUNTIME_DIR");
    if (asked && *asked)
        return connect_to(asked, e);
    bool refused = false; /* a socket that answers so says more than a directory that is absent */
    for (size_t i = 0; identity_runtime_base(i); i++) {
        struct err why = ERR_NONE;
        int fd = search_base(identity_runtime_base(i), &why);
        if (fd >= 0)
            return fd;
        if (why.code && (!refused || why.code != -ENOENT)) {
            *e = why;
            refused = refused || why.code != -ENOENT;
        }
    }
    if (!refused)
        return err_set(e, -ENOENT, "no server is running: there is no %s", SOCKET_NAME);
    return e->code;
}

/* One line, without its end. */
static int read_line(int fd, char *into, size_t size, struct err *e)
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
    drop_fd int fd = find_server(&e);
    if (fd < 0 || read_line(fd, line, sizeof line, &e) < 0) {
        (void)dprintf(STDERR_FILENO, "ipybox health: %s\n", e.msg);
        return BAD_STATUS;
    }
    (void)dprintf(STDOUT_FILENO, "%s\n", line);
    if (strstr(line, "\"status\":\"ok\""))
        return 0;
    (void)dprintf(STDERR_FILENO, "ipybox health: the server says that it is not well\n");
    return BAD_STATUS;
}
