/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/cli/find.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/kin.h"
#include "entrypoint/identity/identity.h"
#include "entrypoint/identity/native_runtime.h"
#include "entrypoint/installation.h"

#define PROGRAM "ipybox" /* as /proc names the server and its init */

/* A Unix socket's connect waits while the server's queue is full: hence not blocking, and EAGAIN
 * is an answer like any other. */
static int connect_to_server(const char *dir, const char *name, struct err *e)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n = snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", dir, name);
    if (n < 0 || (size_t)n >= sizeof address.sun_path)
        return err_set(e, -ENAMETOOLONG, "%s: too long for a socket", dir);
    drop_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_set(e, -errno, "socket: %s", strerror(errno));
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        return err_set(e, -errno, "%s: %s", address.sun_path, strerror(errno));
    int r = kin_check_listener(fd, PROGRAM, e);
    return r < 0 ? err_wrap(e, "%s", address.sun_path) : fd_take(&fd);
}

static bool enter_as_owner(const char *dir)
{
    struct stat st;
    if (geteuid() != 0 || lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid == 0)
        return false;
    (void)setfsuid(st.st_uid);
    return (uid_t)setfsuid((uid_t)-1) == st.st_uid;
}

static int connect_in(const char *dir, const char *name, struct err *e)
{
    int fd = connect_to_server(dir, name, e);
    return fd == -EACCES && enter_as_owner(dir) ? connect_to_server(dir, name, e) : fd;
}

/* Where only a server that was started as root can have made it: before what others may have laid
 * beside it. */
static int try_service(const char *base, const char *name, struct err *e)
{
    struct stat st;
    char path[IDENTITY_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%d", base, IDENTITY_SERVICE_UID);
    bool there = lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == IDENTITY_SERVICE_UID;
    return there ? connect_to_server(path, name, e) : -ENOENT;
}

/* Tries the directory of every user below one base. The last failure is kept in *e. */
static int search_base(const char *base, const char *name, struct err *e)
{
    int fd = try_service(base, name, e);
    if (fd >= 0)
        return fd;
    DIR *dir = opendir(base);
    fd = -ENOENT;
    if (!dir)
        return err_set(e, -errno, "%s: %s", base, strerror(errno));
    const struct dirent *entry;
    while (fd < 0 && (entry = readdir(dir))) {
        char path[IDENTITY_PATH_MAX];
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        int n = snprintf(path, sizeof path, "%s/%s", base, entry->d_name);
        if (n > 0 && (size_t)n < sizeof path)
            fd = connect_in(path, name, e);
    }
    (void)closedir(dir);
    return fd;
}

int find_server(const char *socket_name, struct err *e)
{
    const char *asked = getenv("IPYBOX_RUNTIME_DIR");
    if (asked && *asked)
        return connect_in(asked, socket_name, e);
    if (installation_is_native()) {
        char base[IDENTITY_PATH_MAX];
        native_runtime_base(base);
        return search_base(base, socket_name, e);
    }
    struct err last = ERR_NONE; /* a socket that refuses says more than an absent directory */
    bool refused = false;
    for (size_t i = 0; identity_runtime_base(i); i++) {
        struct err why = ERR_NONE;
        int fd = search_base(identity_runtime_base(i), socket_name, &why);
        if (fd >= 0)
            return fd;
        if (why.code && (!refused || why.code != -ENOENT)) {
            last = why;
            refused = refused || why.code != -ENOENT;
        }
    }
    if (!refused)
        return err_set(e, -ENOENT, "no server is running: there is no %s", socket_name);
    return err_set(e, last.code, "%s", last.msg);
}
