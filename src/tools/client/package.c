/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/client/package.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/random.h"

enum {
    DEPTH_MAX = 64,
    SUFFIX_BYTES = 8,
    SAME_MAX = 2000, /* sweeps of one directory: somebody may fill it meanwhile */
};

/* Directories that are being written, or were when the server was killed. */
static const char unfinished[] = ".new-";

static int open_directory(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Links are removed, never followed. *left: how many names it may remove; -EAGAIN: it was more. */
static int remove_some(int parent, const char *name, int depth, int *left)
{
    if (--*left < 0)
        return -EAGAIN;
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (depth == DEPTH_MAX)
        return -ELOOP;
    int fd = open_directory(parent, name);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return fd < 0 ? fd : -errno;
    int r = 0;
    for (struct dirent *entry; r == 0 && (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = remove_some(dirfd(dir), entry->d_name, depth + 1, left);
    (void)closedir(dir);
    if (r == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0)
        r = -errno;
    return r;
}

static int remove_tree(int parent, const char *name)
{
    int left = INT_MAX;
    return remove_some(parent, name, 0, &left);
}

/* --- leftovers ------------------------------------------------------------------------------- */

struct package_sweep {
    DIR *dir;
    char name[NAME_MAX + 1]; /* of a directory that is not empty yet, or "" */
    int same, sweeps;
};

struct package_sweep *package_sweep_open(const char *root_dir)
{
    int fd = open_directory(AT_FDCWD, root_dir);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            (void)fd_close(fd);
        return NULL;
    }
    struct package_sweep *sweep = NEW(struct package_sweep);
    sweep->dir = dir;
    return sweep;
}

struct package_sweep *package_sweep_close(struct package_sweep *sweep)
{
    if (!sweep)
        return NULL;
    (void)closedir(sweep->dir);
    xfree(sweep);
    return NULL;
}

/* True: all of it is gone, or stays for good. */
static bool remove_leftover(struct package_sweep *sweep, const char *name, int *left)
{
    if (remove_some(dirfd(sweep->dir), name, 0, left) != -EAGAIN || sweep->same++ >= SAME_MAX) {
        sweep->same = 0;
        sweep->name[0] = '\0';
        return true;
    }
    if (name != sweep->name)
        (void)snprintf(sweep->name, sizeof sweep->name, "%s", name);
    return false;
}

bool package_sweep_some(struct package_sweep *sweep)
{
    int left = PACKAGE_SWEEP_NAMES;
    if (sweep->sweeps++ >= PACKAGE_SWEEPS_MAX)
        return false;
    if (sweep->name[0] && !remove_leftover(sweep, sweep->name, &left))
        return true;
    for (int looked = 0; left > 0 && looked < PACKAGE_SWEEP_LOOKED_AT; looked++) {
        const struct dirent *entry = readdir(sweep->dir);
        if (!entry)
            return false;
        if (strncmp(entry->d_name, unfinished, sizeof unfinished - 1) == 0)
            (void)remove_leftover(sweep, entry->d_name, &left);
    }
    return true;
}

/* --- writing --------------------------------------------------------------------------------- */

static int write_file(int dir, const struct apigen_file *file)
{
    drop_fd int fd =
        openat(dir, file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    const char *p = file->text;
    for (size_t left = strlen(p); left > 0;) {
        ssize_t n = write(fd, p, left);
        if (n < 0 && errno != EINTR)
            return -errno;
        p += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int rename_as(int root, const char *from, const char *to, unsigned flags)
{
    return (int)syscall(SYS_renameat2, root, from, root, to,
                        flags); /* musl has no function for it */
}

/* The new one under its name, and what was there before under the temporary one. Where the file
 * system cannot exchange, there is a moment with neither. */
static int put_package_in_place(int root, const char *temporary, const char *name)
{
    if (rename_as(root, temporary, name, RENAME_NOREPLACE) == 0 ||
        rename_as(root, temporary, name, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    int r = remove_tree(root, name);
    if (r == 0 && renameat(root, temporary, root, name) < 0)
        r = -errno;
    return r;
}

static int open_root(const char *root_dir)
{
    if (mkdir(root_dir, 0777) < 0 && errno != EEXIST)
        return -errno;
    return open_directory(AT_FDCWD, root_dir);
}

struct package {
    char *root_dir, *name, *temporary;
    int root, dir;
};

static int fail_package(const struct package *package, int code, struct err *e)
{
    return err_set(e, code, "write the package %s/%s: %s", package->root_dir, package->name,
                   strerror(-code));
}

static int make_package_directory(struct package *package)
{
    if (mkdirat(package->root, package->temporary, 0777) < 0)
        return -errno;
    package->dir = open_directory(package->root, package->temporary);
    return package->dir < 0 ? package->dir : 0;
}

int package_open(const char *root_dir, const char *server_name, struct package **ret, struct err *e)
{
    char suffix[2 * SUFFIX_BYTES + 1];
    int root = open_root(root_dir);
    if (root < 0)
        return err_set(e, root, "the folder for packages, %s: %s", root_dir, strerror(-root));
    random_hex(suffix, SUFFIX_BYTES);
    struct package *package = NEW(struct package);
    *package = (struct package){.root_dir = xstrdup(root_dir),
                                .name = xstrdup(server_name),
                                .temporary = xasprintf("%s%s", unfinished, suffix),
                                .root = root,
                                .dir = -1};
    int r = make_package_directory(package);
    if (r < 0) {
        r = fail_package(package, r, e);
        (void)package_close(package);
        return r;
    }
    *ret = package;
    return 0;
}

int package_add(struct package *package, const struct apigen_file *file, struct err *e)
{
    int r = write_file(package->dir, file);
    return r < 0 ? fail_package(package, r, e) : 0;
}

int package_place(struct package *package, struct err *e)
{
    int r = put_package_in_place(package->root, package->temporary, package->name);
    return r < 0 ? fail_package(package, r, e) : 0;
}

struct package *package_close(struct package *package)
{
    if (!package)
        return NULL;
    if (package->dir >= 0)
        (void)fd_close(package->dir);
    (void)fd_close(package->root);
    xfree(package->root_dir);
    xfree(package->name);
    xfree(package->temporary);
    xfree(package);
    return NULL;
}

static void sweep_once(const char *root_dir)
{
    struct package_sweep *sweep = package_sweep_open(root_dir);
    if (sweep)
        (void)package_sweep_some(sweep);
    (void)package_sweep_close(sweep);
}

int package_write(const char *root_dir, const char *server_name, const struct apigen_package *all,
                  struct err *e)
{
    struct package *package = NULL;
    sweep_once(root_dir);
    int r = package_open(root_dir, server_name, &package, e);
    for (size_t i = 0; r == 0 && i < all->n_files; i++)
        r = package_add(package, &all->files[i], e);
    if (r == 0)
        r = package_place(package, e);
    if (package)
        (void)remove_tree(package->root, package->temporary);
    (void)package_close(package);
    return r;
}
