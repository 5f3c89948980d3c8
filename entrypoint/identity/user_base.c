/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/identity/user_base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/log.h"
#include "base/service.h"
#include "entrypoint/installation.h"

static void make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    (void)mkdir(path, 0777);
}

/* Extension modules cannot be loaded from a file system that is mounted noexec, as --tmpfs is. */
static bool can_hold_packages(const char *path)
{
    struct statvfs fs;
    return may_access(path, W_OK) && statvfs(path, &fs) == 0 && !(fs.f_flag & ST_NOEXEC);
}

/* Makes `name` where it is not there, and enters it: *dir becomes it. */
static int enter_user_base(int *dir, const char *name, uid_t owner, struct err *e)
{
    struct stat st;
    if (mkdirat(*dir, name, 0777) < 0 && errno != EEXIST)
        return err_set(e, -errno, "%s cannot be made there: %s", name, strerror(errno));
    int fd = openat(*dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return err_set(e, -errno, "%s exists there and is not a directory", name);
    if (fd < 0 || fstat(fd, &st) < 0) {
        int r = err_set(e, -errno, "%s there cannot be opened: %s", name, strerror(errno));
        return fd >= 0 ? (void)close(fd), r : r;
    }
    (void)close(*dir);
    *dir = fd;
    if (st.st_uid != geteuid() && st.st_uid != owner)
        return err_set(e, -EPERM, "%s there belongs to user %u", name, (unsigned)st.st_uid);
    return 0;
}

static int make_in_workspace(const char *workspace, struct err *e)
{
    struct stat st;
    struct statvfs fs;
    drop_fd int dir = open(workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) < 0)
        return err_set(e, -errno, "it cannot be opened: %s", strerror(errno));
    int r = enter_user_base(&dir, ".ipybox", st.st_uid, e);
    if (r == 0)
        r = enter_user_base(&dir, "python", st.st_uid, e);
    if (r < 0)
        return r;
    if (faccessat(dir, ".", W_OK, AT_EACCESS) < 0 || fstatvfs(dir, &fs) < 0)
        return err_set(e, -errno, ".ipybox/python there cannot be written: %s", strerror(errno));
    return fs.f_flag & ST_NOEXEC ? err_set(e, -EPERM, "it has no execution") : 0;
}

char *user_base_choose(const char *home, const char *workspace)
{
    struct err e = ERR_NONE;
    const char *given = getenv("PYTHONUSERBASE");
    bool native = installation_is_native();
    if (given && *given && !native)
        return xstrdup(given);
    char *in_home = xasprintf("%s/.local", home);
    if (!native)
        make_directories(in_home);
    if (!native && can_hold_packages(in_home))
        return in_home;
    if (make_in_workspace(workspace, &e) == 0) {
        xfree(in_home);
        return xasprintf("%s/.ipybox/python", workspace);
    }
    log_warning("packages",
                "no directory was found that packages can be installed into and loaded from: %s is "
                "on a file system without execution, and in the workspace %s: %s. Packages with "
                "machine code cannot be loaded; PYTHONUSERBASE names another place",
                in_home, workspace, e.msg);
    return in_home;
}
