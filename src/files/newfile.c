/* SPDX-License-Identifier: Apache-2.0 */
#include "files/newfile.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/random.h"
#include "base/service.h"

#define PREFIX ".ipybox-"
#define SUFFIX ".part"

enum { NAME_BYTES = 8, TRIES = 16, FD_PATH_MAX = 40 };

_Static_assert(sizeof PREFIX + sizeof SUFFIX + 2 * NAME_BYTES <= NEWFILE_TEMP_MAX, "it fits");

static void make_name(char name[NEWFILE_TEMP_MAX])
{
    char hex[2 * NAME_BYTES + 1];
    random_hex(hex, NAME_BYTES);
    (void)snprintf(name, NEWFILE_TEMP_MAX, PREFIX "%s" SUFFIX, hex);
}

bool newfile_is_temporary(const char *name)
{
    size_t n = strlen(name), whole = sizeof PREFIX + sizeof SUFFIX - 2 + (size_t)2 * NAME_BYTES;
    return n == whole && strncmp(name, PREFIX, sizeof PREFIX - 1) == 0 &&
           strcmp(name + n - sizeof SUFFIX + 1, SUFFIX) == 0;
}

static void name_descriptor(int fd, char path[FD_PATH_MAX])
{
    (void)snprintf(path, FD_PATH_MAX, "/proc/self/fd/%d", fd);
}

static int open_named(struct newfile *f, mode_t mode)
{
    for (int i = 0; i < TRIES; i++) {
        make_name(f->temp);
        f->fd = openat(f->dir, f->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (f->fd >= 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    return -errno;
}

int newfile_open(int dir, mode_t mode, bool named, struct newfile *ret)
{
    struct newfile f = NEWFILE_NONE;
    char self[FD_PATH_MAX];
    f.dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
    if (f.dir < 0)
        return -errno;
    name_descriptor(f.dir, self);
    if (!named && may_access(self, F_OK))
        f.fd = openat(f.dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    int r = f.fd >= 0 ? 0 : open_named(&f, mode);
    if (r < 0) {
        f.temp[0] = '\0'; /* it is not ours */
        newfile_drop(&f);
        return r;
    }
    *ret = f;
    return 0;
}

/* The window that was just filled begins its way to the disk, the one before has arrived. An error
 * is not lost: fsync(2) tells it. */
static void write_behind(const struct newfile *f, uint64_t before)
{
    off_t window = NEWFILE_WINDOW, last = (off_t)(before / NEWFILE_WINDOW) * window;
    if (f->size / NEWFILE_WINDOW == before / NEWFILE_WINDOW)
        return;
    (void)sync_file_range(f->fd, last, window, SYNC_FILE_RANGE_WRITE);
    if (last >= window)
        (void)sync_file_range(f->fd, last - window, window,
                              SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                  SYNC_FILE_RANGE_WAIT_AFTER);
}

int newfile_write(struct newfile *f, const char *bytes, size_t n)
{
    uint64_t before = f->size;
    int r = fd_write(f->fd, bytes, n);
    if (r < 0)
        return r;
    f->size += n;
    write_behind(f, before);
    return 0;
}

/* Links the file to a name that nothing has. */
static int link_to(const struct newfile *f, const char *name)
{
    char self[FD_PATH_MAX];
    if (f->temp[0])
        return rename_to_new(f->dir, f->temp, f->dir, name);
    name_descriptor(f->fd, self);
    return linkat(AT_FDCWD, self, f->dir, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static int put_file_in_place(struct newfile *f, const char *name, enum newfile_how how)
{
    int r = link_to(f, name);
    if (r == 0)
        f->temp[0] = '\0';
    if (r != -EEXIST || how == NEWFILE_NEW)
        return r;
    for (int i = 0; !f->temp[0]; i++) {
        make_name(f->temp);
        r = link_to(&(struct newfile){.dir = f->dir, .fd = f->fd}, f->temp);
        if (r == 0)
            break;
        f->temp[0] = '\0';
        if (r != -EEXIST || i == TRIES)
            return r;
    }
    if (renameat(f->dir, f->temp, f->dir, name) < 0)
        return -errno;
    f->temp[0] = '\0';
    return 0;
}

int newfile_sync(const struct newfile *f)
{
    return fsync(f->fd) < 0 ? -errno : 0;
}

int newfile_commit(struct newfile *f, const char *name, enum newfile_how how, bool sync)
{
    if (f->temp[0]) /* under that name, so that a watch of the real one hears of it once */
        f->fd = fd_close(f->fd);
    int r = put_file_in_place(f, name, how);
    if (r == 0 && sync) { /* the name, too; who may not read the folder does without */
        drop_fd int dir = openat(f->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir >= 0)
            (void)fsync(dir);
    }
    newfile_drop(f);
    return r;
}

void newfile_drop(struct newfile *f)
{
    if (f->temp[0])
        (void)unlinkat(f->dir, f->temp, 0);
    f->fd = fd_close(f->fd);
    f->dir = fd_close(f->dir);
    *f = NEWFILE_NONE;
}

/* --- links and names -------------------------------------------------------------------------- */

/* Two names of one file are not renamed by rename(2): the temporary one goes in any case. */
static int move_over(int dir, const char *temp, const char *name)
{
    int r = renameat(dir, temp, dir, name) < 0 ? -errno : 0;
    (void)unlinkat(dir, temp, 0);
    return r;
}

int newfile_symlink(int dir, const char *name, const char *target)
{
    char temp[NEWFILE_TEMP_MAX];
    make_name(temp);
    if (symlinkat(target, dir, temp) < 0)
        return -errno;
    return move_over(dir, temp, name);
}

int newfile_hardlink(int dir, const char *name, int file)
{
    char temp[NEWFILE_TEMP_MAX], self[FD_PATH_MAX];
    struct stat st;
    if (fstat(file, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -ENXIO;
    make_name(temp);
    name_descriptor(file, self);
    if (linkat(AT_FDCWD, self, dir, temp, AT_SYMLINK_FOLLOW) < 0)
        return -errno;
    return move_over(dir, temp, name);
}

/* A folder may take the place of an empty one, and who has just made that one owns the name. */
static int rename_in_steps(int dir, const char *name, int to_dir, const char *to_name)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode)) {
        if (linkat(dir, name, to_dir, to_name, 0) < 0)
            return -errno;
        if (unlinkat(dir, name, 0) == 0)
            return 0;
        int r = -errno;
        (void)unlinkat(to_dir, to_name, 0);
        return r;
    }
    if (mkdirat(to_dir, to_name, 0777) < 0)
        return -errno;
    if (renameat(dir, name, to_dir, to_name) == 0)
        return 0;
    int r = -errno;
    (void)unlinkat(to_dir, to_name, AT_REMOVEDIR);
    return r;
}

int rename_to_new(int dir, const char *name, int to_dir, const char *to_name)
{
    if (syscall(SYS_renameat2, dir, name, to_dir, to_name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != ENOSYS && errno != EINVAL)
        return -errno;
    return rename_in_steps(dir, name, to_dir, to_name);
}
