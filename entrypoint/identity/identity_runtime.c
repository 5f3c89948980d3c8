/* SPDX-License-Identifier: Apache-2.0
 *
 * The private directory for sockets. Run as the one it is for. */
#include "entrypoint/identity/identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/service.h"
#include "entrypoint/identity/native_runtime.h"
#include "entrypoint/installation.h"

#define USER_DIR "user"

enum { PRIVATE = 0700, PASSABLE = 0711, OF_GROUP = 01770 };

static const char *const runtime_bases[] = {"/run/ipybox", "/tmp/ipybox", "/dev/shm/ipybox", NULL};

const char *identity_runtime_base(size_t i)
{
    return runtime_bases[i];
}

/* A directory, no link to one; made with this mode, whatever the umask, when it is not there. */
static int make_dir(const char *path, mode_t mode, struct stat *ret, struct err *e)
{
    if (mkdir(path, PRIVATE) == 0)
        (void)chmod(path, mode);
    else if (errno != EEXIST)
        return err_set(e, -errno, "%s: %s", path, strerror(errno));
    if (lstat(path, ret) < 0)
        return err_set(e, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(ret->st_mode))
        return err_set(e, -ENOTDIR, "%s: not a directory", path);
    return 0;
}

static int make_own_dir(const char *path, mode_t mode, struct err *e)
{
    struct stat st;
    int r = make_dir(path, mode, &st, e);
    if (r < 0)
        return r;
    if (st.st_uid != getuid())
        return err_set(e, -EPERM, "%s: belongs to uid %u, not to uid %u", path, st.st_uid,
                       getuid());
    if ((st.st_mode & 07777) != mode && chmod(path, mode) < 0)
        return err_set(e, -errno, "%s: %s", path, strerror(errno));
    if (!may_access(path, W_OK | X_OK))
        return err_set(e, -errno, "%s: %s", path, strerror(errno));
    return 0;
}

int identity_private_dir(const char *path, struct err *e)
{
    return make_own_dir(path, PRIVATE, e);
}

int identity_channels_dir(const char *runtime_dir, char *ret, struct err *e)
{
    drop_str char *closed = xasprintf("%s/" IDENTITY_PRIVATE_DIR, runtime_dir);
    int r = make_own_dir(closed, PRIVATE, e);
    if (r < 0)
        return r;
    int n = snprintf(ret, IDENTITY_PATH_MAX, "%s/channels", closed);
    if (n < 0 || n >= IDENTITY_PATH_MAX)
        return err_set(e, -ENAMETOOLONG, "%s: too long", runtime_dir);
    return make_own_dir(ret, PASSABLE, e);
}

char *identity_user_dir(bool service, const char *runtime_dir)
{
    return service ? xasprintf("%s/" USER_DIR, runtime_dir) : xstrdup(runtime_dir);
}

static int make_dirs(bool service, const char *path, struct err *e)
{
    drop_str char *user = identity_user_dir(service, path);
    int r = make_own_dir(path, service ? PASSABLE : PRIVATE, e);
    return r == 0 && service ? make_own_dir(user, OF_GROUP, e) : r;
}

/* Nobody but root and us may be able to put another directory in the place of ours. */
static int make_base(bool service, const char *path, struct err *e)
{
    struct stat st;
    int r = make_dir(path, service ? PASSABLE : PRIVATE, &st, e);
    if (r < 0)
        return r;
    if (st.st_uid != 0 && st.st_uid != getuid())
        return err_set(e, -EPERM, "%s: belongs to uid %u", path, st.st_uid);
    if ((st.st_mode & 022) && !(st.st_mode & S_ISVTX))
        return err_set(e, -EPERM, "%s: others may rename what is in it (no sticky bit)", path);
    return 0;
}

int identity_runtime_dir(bool service, char *ret, struct err *e)
{
    const char *asked = getenv("IPYBOX_RUNTIME_DIR");
    if (asked && *asked) {
        if (*asked != '/' || strlen(asked) >= IDENTITY_PATH_MAX)
            return err_set(e, -EINVAL,
                           "IPYBOX_RUNTIME_DIR: an absolute path of at most %d bytes is needed",
                           IDENTITY_PATH_MAX - 1);
        int r = make_dirs(service, asked, e);
        if (r < 0)
            return err_wrap(e, "IPYBOX_RUNTIME_DIR");
        (void)snprintf(ret, IDENTITY_PATH_MAX, "%s", asked);
        return 0;
    }
    if (installation_is_native())
        return native_runtime_dir(ret, e);
    struct err why[3] = {ERR_NONE, ERR_NONE, ERR_NONE};
    for (size_t i = 0; runtime_bases[i]; i++) {
        char path[IDENTITY_PATH_MAX];
        (void)snprintf(path, sizeof path, "%s/%u", runtime_bases[i], getuid());
        if (make_base(service, runtime_bases[i], &why[i]) < 0 ||
            make_dirs(service, path, &why[i]) < 0)
            continue;
        memcpy(ret, path, sizeof path);
        return 0;
    }
    return err_set(e, why[1].code,
                   "no directory for sockets (%.80s; %.80s; %.80s): give a writable /tmp "
                   "(--tmpfs /tmp) or IPYBOX_RUNTIME_DIR",
                   why[0].msg, why[1].msg, why[2].msg);
}
