/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/client/package.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/random.h"
#include "tools/client/merge.h"

enum {
    DEPTH_MAX = 64,
    SUFFIX_BYTES = 8,
    MODULE_MAX = 8 << 20,
    CARRIED_MAX = 10000, /* names of an old package */
    REPORT_MAX = 2000,
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

static int write_module_file(int dir, const char *name, const char *p)
{
    drop_fd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
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

static int rename_between(int from, int to, const char *name)
{
    return (int)syscall(SYS_renameat2, from, name, to, name, RENAME_NOREPLACE);
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
    int old;      /* the one that is there, or -1 */
    bool changed; /* it is to be put in place */
    char **same;  /* names of modules that stay as they are */
    size_t n_same;
    struct buf rewritten, kept, saved; /* names, for a human */
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
                                .dir = -1,
                                .old = open_directory(root, server_name),
                                .rewritten = BUF_INIT(REPORT_MAX),
                                .kept = BUF_INIT(REPORT_MAX),
                                .saved = BUF_INIT(REPORT_MAX)};
    package->changed = package->old < 0;
    int r = make_package_directory(package);
    if (r < 0) {
        r = fail_package(package, r, e);
        (void)package_close(package);
        return r;
    }
    *ret = package;
    return 0;
}

/* What is no plain file, or too large, is as good as not there. */
static bool read_old(const struct package *package, const char *name, struct buf *ret)
{
    struct stat st;
    drop_fd int fd = package->old < 0 ? -1
                                      : openat(package->old, name,
                                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size >= MODULE_MAX)
        return false;
    ssize_t n = 1;
    while (n > 0 && buf_reserve(ret, (size_t)st.st_size + 1) == 0 && ret->len < MODULE_MAX / 2) {
        n = read(fd, ret->data + ret->len, (size_t)st.st_size + 1);
        ret->len += n > 0 ? (size_t)n : 0;
    }
    return n == 0 && buf_addc(ret, '\0') == 0;
}

/* A file as it stands, under its name or another; a copy where it cannot be linked. */
static int carry_as(const struct package *package, const char *name, const char *as)
{
    drop_buf struct buf text = BUF_INIT(MODULE_MAX);
    if (linkat(package->old, name, package->dir, as, 0) == 0 || errno == EEXIST)
        return 0;
    int r = -errno;
    return read_old(package, name, &text) ? write_module_file(package->dir, as, text.data) : r;
}

static void note_same(struct package *package, const char *name)
{
    package->same = xrealloc(package->same, (package->n_same + 1) * sizeof *package->same);
    package->same[package->n_same++] = xstrdup(name);
}

static int carry_same(const struct package *package)
{
    int r = 0;
    for (size_t i = 0; i < package->n_same && r == 0; i++)
        r = carry_as(package, package->same[i], package->same[i]);
    return r;
}

static void add_module_name(struct buf *names, const char *name)
{
    size_t n = strlen(name);
    int stem = n > 3 && strcmp(name + n - 3, ".py") == 0 ? (int)n - 3 : (int)n;
    if (names->len + n + 2 < REPORT_MAX)
        (void)buf_addf(names, "%s%.*s", names->len ? ", " : "", stem, name);
}

static int note_rewritten(struct package *package, const char *name, bool there,
                          const struct merged *merged)
{
    package->changed = true;
    add_module_name(&package->rewritten, name);
    if (merged->added)
        add_module_name(&package->kept, name);
    if (!there || !merged->edited)
        return 0;
    drop_str char *as = xasprintf("%s.orig", name);
    add_module_name(&package->saved, as);
    return carry_as(package, name, as);
}

int package_add(struct package *package, const struct apigen_file *file, struct err *e)
{
    drop_buf struct buf old = BUF_INIT(MODULE_MAX);
    bool there = read_old(package, file->name, &old);
    struct merged merged;
    merge_module(file->text, there ? buf_text(&old) : NULL, &merged);
    int r = merged.text ? write_module_file(package->dir, file->name, merged.text) : 0;
    if (!merged.text)
        note_same(package, file->name);
    if (r == 0 && merged.text && package->old >= 0)
        r = note_rewritten(package, file->name, there, &merged);
    xfree(merged.text);
    return r < 0 ? fail_package(package, r, e) : 0;
}

/* A module without a part of the users'. */
static bool is_gone(const struct package *package, const char *name, bool *ret_added)
{
    drop_buf struct buf old = BUF_INIT(MODULE_MAX);
    *ret_added = false;
    return read_old(package, name, &old) && merge_is_generated(old.data, ret_added) && !*ret_added;
}

static int compare_module_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Before anything is carried: is there a module of a tool that is gone? */
static int find_gone(struct package *package, const char *name)
{
    bool added;
    if (!package->changed && !bsearch(&name, package->same, package->n_same, sizeof *package->same,
                                      compare_module_names))
        package->changed = is_gone(package, name, &added);
    return 0;
}

/* A name of the old package that the new one has not: users' files stay, and modules of tools that
 * are gone when users have added to them. */
static int carry_user_file(struct package *package, const char *name)
{
    struct stat st;
    bool added = false;
    if (fstatat(package->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
        fstatat(package->old, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
        is_gone(package, name, &added))
        return 0;
    if (added)
        add_module_name(&package->kept, name);
    return carry_as(package, name, name);
}

/* `each` for the names in the old package; those that end it are errors. */
static int each_old(struct package *package, int dir,
                    int (*each)(struct package *package, const char *name))
{
    int copy = dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    int r = 0, seen = 0;
    for (struct dirent *entry; r == 0 && list && (entry = readdir(list));) {
        if (entry->d_name[0] == '.' || seen++ > CARRIED_MAX)
            continue;
        r = each(package, entry->d_name);
    }
    if (list)
        (void)closedir(list);
    return r;
}

/* Once the new one stands; caches are made anew. */
static int move_user_directory(struct package *package, const char *name)
{
    struct stat st;
    if (strcmp(name, "__pycache__") != 0 &&
        fstatat(package->old, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
        (void)rename_between(package->old, package->dir, name);
    return 0;
}

/* The folder's own module, where users have none: it finds tools. Without it all can be called. */
static void write_root_module(const struct package *package)
{
    static const char name[] = "__init__.py";
    if (faccessat(package->root, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT &&
        write_module_file(package->root, name, apigen_root_text()) < 0)
        (void)unlinkat(package->root, name, 0);
}

int package_place(struct package *package, struct err *e)
{
    if (package->n_same > 0)
        qsort(package->same, package->n_same, sizeof *package->same, compare_module_names);
    int r = each_old(package, package->old, find_gone);
    if (r == 0 && !package->changed)
        return 0;
    if (r == 0)
        r = carry_same(package);
    if (r == 0)
        r = each_old(package, package->old, carry_user_file);
    if (r < 0)
        return fail_package(package, r, e);
    r = put_package_in_place(package->root, package->temporary, package->name);
    if (r == 0)
        write_root_module(package);
    if (r == 0)
        (void)each_old(package, package->old, move_user_directory);
    return r < 0 ? fail_package(package, r, e) : 0;
}

char *package_report(const struct package *package)
{
    const struct buf *parts[] = {&package->rewritten, &package->kept, &package->saved};
    static const char *const words[] = {
        "rewritten: ", "; what users added is kept in: ", "; as they were before: "};
    drop_buf struct buf text = BUF_INIT((size_t)4 * REPORT_MAX);
    if (package->old < 0 || !package->changed)
        return NULL;
    (void)buf_addf(&text, "The package %s: ", package->name);
    for (size_t i = 0; i < 3; i++)
        if (parts[i]->len > 0 || i == 0)
            (void)buf_addf(&text, "%s%s", words[i], parts[i]->len ? parts[i]->data : "nothing");
    return text.failed ? NULL : xstrdup(buf_text(&text));
}

struct package *package_close(struct package *package)
{
    if (!package)
        return NULL;
    if (package->dir >= 0)
        (void)fd_close(package->dir);
    if (package->old >= 0)
        (void)fd_close(package->old);
    (void)fd_close(package->root);
    for (size_t i = 0; i < package->n_same; i++)
        xfree(package->same[i]);
    xfree(package->same);
    buf_done(&package->rewritten);
    buf_done(&package->kept);
    buf_done(&package->saved);
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
