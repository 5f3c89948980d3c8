/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/package.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/random.h"

enum { DEPTH_MAX = 64, SUFFIX_BYTES = 8 };

/* Directories that are being written, or were when the server was killed. */
static const char unfinished[] = ".new-";

static int open_directory(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Links are removed, never followed. */
static int remove_tree(int parent, const char *name, int depth)
{
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
            r = remove_tree(dirfd(dir), entry->d_name, depth + 1);
    (void)closedir(dir);
    if (r == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0)
        r = -errno;
    return r;
}

static void remove_leftovers(int root)
{
    int fd = open_directory(root, ".");
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (strncmp(entry->d_name, unfinished, sizeof unfinished - 1) == 0)
            (void)remove_tree(root, entry->d_name, 0);
    if (dir)
        (void)closedir(dir);
}

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

static int write_files(int root, const char *name, const struct apigen_package *package)
{
    if (mkdirat(root, name, 0777) < 0)
        return -errno;
    drop_fd int dir = open_directory(root, name);
    int r = dir < 0 ? dir : 0;
    for (size_t i = 0; r == 0 && i < package->n_files; i++)
        r = write_file(dir, &package->files[i]);
    return r;
}

static int rename_as(int root, const char *from, const char *to, unsigned flags)
{
    return (int)syscall(SYS_renameat2, root, from, root, to,
                        flags); /* musl has no function for it */
}

/* The new one under its name, and what was there before under the temporary one. Where the file
 * system cannot exchange, there is a moment with neither. */
static int put_in_place(int root, const char *temporary, const char *name)
{
    if (rename_as(root, temporary, name, RENAME_NOREPLACE) == 0 ||
        rename_as(root, temporary, name, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    int r = remove_tree(root, name, 0);
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

int package_write(const char *root_dir, const char *server_name,
                  const struct apigen_package *package, struct err *e)
{
    char suffix[2 * SUFFIX_BYTES + 1];
    drop_fd int root = open_root(root_dir);
    if (root < 0)
        return err_set(e, root, "the folder for packages, %s: %s", root_dir, strerror(-root));
    remove_leftovers(root);
    random_hex(suffix, SUFFIX_BYTES);
    drop_str char *temporary = xasprintf("%s%s", unfinished, suffix);
    int r = write_files(root, temporary, package);
    if (r == 0)
        r = put_in_place(root, temporary, server_name);
    (void)remove_tree(root, temporary, 0);
    if (r < 0)
        return err_set(e, r, "write the package %s/%s: %s", root_dir, server_name, strerror(-r));
    return 0;
}
