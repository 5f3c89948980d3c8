/* SPDX-License-Identifier: Apache-2.0 */
#include "output/savefile.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/random.h"

enum { NAME_BYTES = 4, TRIES = 16 };

static int open_beneath(int dir, const char *name, int flags, unsigned mode)
{
    struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC),
                           .mode = flags & O_CREAT ? mode : 0,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) /* an old kernel, a filter without it */
        fd = openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW, mode);
    return fd;
}

static int open_folder(const char *workspace, const char *folder, struct err *e)
{
    drop_fd int top = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return err_set(e, -errno, "%s: %s", workspace, strerror(errno));
    if (mkdirat(top, folder, 0777) < 0 && errno != EEXIST)
        return err_set(e, -errno, "make %s/%s: %s", workspace, folder, strerror(errno));
    int fd = open_beneath(top, folder, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return err_set(e, -errno, "open %s/%s: %s", workspace, folder, strerror(errno));
    return fd;
}

int savefile_open(const char *workspace, const char *folder, const char *extension, char **ret_path,
                  int *ret_fd, struct err *e)
{
    drop_fd int dir = open_folder(workspace, folder, e);
    if (dir < 0)
        return dir;
    for (int i = 0; i < TRIES; i++) {
        char hex[2 * NAME_BYTES + 1];
        random_hex(hex, NAME_BYTES);
        drop_str char *name = xasprintf("%s.%s", hex, extension);
        int fd = open_beneath(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (fd >= 0) {
            *ret_path = xasprintf("%s/%s/%s", workspace, folder, name);
            *ret_fd = fd;
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    return err_set(e, -errno, "make a file in %s/%s: %s", workspace, folder, strerror(errno));
}

int savefile_write(const char *workspace, const char *folder, const char *extension,
                   const char *bytes, size_t n, char **ret_path, struct err *e)
{
    drop_str char *path = NULL;
    drop_fd int fd = -1;
    int r = savefile_open(workspace, folder, extension, &path, &fd, e);
    if (r < 0)
        return r;
    r = fd_write(fd, bytes, n);
    if (r < 0) {
        (void)unlink(path);
        return err_set(e, r, "write %s: %s", path, strerror(-r));
    }
    *ret_path = str_take(&path);
    return 0;
}
