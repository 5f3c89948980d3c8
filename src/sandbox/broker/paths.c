/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a path leads the caller, found out by us. The two of us see the same files, but for the
 * process file system: /proc/self there is whoever looks. So the kernel resolves a path for us at
 * once only if it meets no magic link and does not end in that file system; else it is walked name
 * by name, with the caller's own number in place of "self", and into no other process: we could
 * read there what Landlock keeps from the caller. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/broker/broker_internal.h"
#include "sandbox/paths/lexical.h"
#include "sandbox/policy/pathname.h"

enum { LINKS_MAX = 40, PROC_ROOT_INODE = 1 };

static const char deleted[] = " (deleted)";

struct path_walk {
    const struct notice *notice;
    int at;              /* O_PATH, owned: what was reached */
    bool on_proc;        /* ... is of a process file system */
    char rest[PATH_MAX]; /* of the path */
    int links;           /* that were followed */
};

struct fd_path fd_path(int fd)
{
    struct fd_path path;
    (void)snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", fd);
    return path;
}

static bool is_on_proc(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC;
}

/* A name that ends in " (deleted)" is such a name, or the kernel's remark. */
static void cut_remark(int fd, char *full, size_t n)
{
    size_t len = sizeof deleted - 1;
    struct stat here, there;
    if (n <= len || strcmp(full + n - len, deleted) != 0 || fstat(fd, &here) < 0)
        return;
    if (lstat(full, &there) < 0 || here.st_dev != there.st_dev || here.st_ino != there.st_ino)
        full[n - len] = '\0';
}

int path_canonical(int fd, char full[static PATH_MAX])
{
    ssize_t n = readlink(fd_path(fd).text, full, PATH_MAX);
    if (n < 0)
        return -errno;
    if (n == PATH_MAX)
        return -ENAMETOOLONG;
    full[n] = '\0';
    struct stat st;
    bool memfd = strncmp(full, "/memfd:", 7) == 0 && fstat(fd, &st) == 0 && st.st_nlink == 0;
    if (full[0] != '/' || memfd)
        return PATH_NAMELESS;
    cut_remark(fd, full, (size_t)n);
    return 0;
}

/* --- name by name ----------------------------------------------------------------------------- */

/* Not another process's: /proc/123 and what is below. */
static int check_owner(const struct path_walk *walk, int fd)
{
    char full[PATH_MAX];
    int r = path_canonical(fd, full);
    if (r < 0)
        return r;
    if (strcmp(full, "/proc") == 0)
        return 0;
    if (strncmp(full, "/proc/", 6) != 0)
        return -EACCES; /* of other processes than /proc, for all we know */
    char *end;
    unsigned long number = strtoul(full + 6, &end, 10);
    if (end == full + 6 || (*end != '/' && *end != '\0'))
        return 0;
    if (number == (unsigned long)walk->notice->pid)
        return 0;
    return number == (unsigned long)target_process(walk->notice) ? 0 : -EACCES;
}

/* fd is taken. */
static int arrive(struct path_walk *walk, int fd)
{
    drop_fd int reached = fd;
    walk->on_proc = is_on_proc(fd);
    int r = walk->on_proc ? check_owner(walk, fd) : 0;
    if (r < 0)
        return r;
    (void)fd_close(walk->at);
    walk->at = fd_take(&reached);
    return 0;
}

/* The text of a link comes before the rest of the path, which is empty or begins with a slash. */
static int turn(struct path_walk *walk, const char *text)
{
    char rest[PATH_MAX];
    if (!*text)
        return -ENOENT;
    int n = snprintf(rest, sizeof rest, "%s%s", text, walk->rest);
    if (n < 0 || (size_t)n >= sizeof rest)
        return -ENAMETOOLONG;
    memcpy(walk->rest, rest, (size_t)n + 1);
    if (*text != '/')
        return 0;
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return root < 0 ? -errno : arrive(walk, root);
}

static int open_here(const struct path_walk *walk, const char *name, uint64_t flags,
                     uint64_t resolve)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags, .resolve = resolve};
    int fd = (int)syscall(SYS_openat2, walk->at, name, &how, sizeof how);
    return fd < 0 ? -errno : fd;
}

static int follow_link(struct path_walk *walk, const char *name, uint64_t resolve)
{
    if (++walk->links > LINKS_MAX || resolve & RESOLVE_NO_SYMLINKS)
        return -ELOOP;
    if (walk->on_proc) { /* a magic link, or a text like any other? */
        int fd = open_here(walk, name, 0, RESOLVE_NO_MAGICLINKS);
        if (fd == -ELOOP && resolve & RESOLVE_NO_MAGICLINKS)
            return fd;
        if (fd == -ELOOP) {
            fd = open_here(walk, name, 0, 0);
            return fd < 0 ? fd : arrive(walk, fd);
        }
        (void)fd_close(fd);
    }
    char text[PATH_MAX];
    ssize_t n = readlinkat(walk->at, name, text, sizeof text);
    if (n < 0 || n == sizeof text)
        return n < 0 ? -errno : -ENAMETOOLONG;
    text[n] = '\0';
    return turn(walk, text);
}

/* "self" of /proc: 1 when the name was one of these and the path goes on from there. */
static int follow_self(struct path_walk *walk, const char *name)
{
    struct stat st;
    bool thread = strcmp(name, "thread-self") == 0;
    if (!walk->on_proc || (!thread && strcmp(name, "self") != 0))
        return 0;
    if (fstat(walk->at, &st) < 0 || st.st_ino != PROC_ROOT_INODE)
        return 0;
    char text[64];
    int process = (int)target_process(walk->notice);
    if (process == 0)
        return -ESRCH;
    if (thread)
        (void)snprintf(text, sizeof text, "%d/task/%d", process, (int)walk->notice->pid);
    else
        (void)snprintf(text, sizeof text, "%d", process);
    int r = turn(walk, text);
    return r < 0 ? r : 1;
}

static int step_path(struct path_walk *walk, const char *name, bool stop_at_link, uint64_t resolve)
{
    int r = stop_at_link ? 0 : follow_self(walk, name);
    if (r != 0)
        return r < 0 ? r : 0;
    drop_fd int fd = open_here(walk, name, O_NOFOLLOW, 0);
    struct stat st;
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (S_ISLNK(st.st_mode) && !stop_at_link)
        return follow_link(walk, name, resolve);
    return arrive(walk, fd_take(&fd));
}

/* The next name of the rest: its length, 0 at the end. */
static int next_path_name(struct path_walk *walk, char name[static NAME_MAX + 1])
{
    char *at = walk->rest + strspn(walk->rest, "/");
    size_t len = strcspn(at, "/");
    if (len > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(name, at, len);
    name[len] = '\0';
    memmove(walk->rest, at + len, strlen(at + len) + 1);
    return (int)len;
}

static int walk_on_path(struct path_walk *walk, unsigned how, uint64_t resolve)
{
    char name[NAME_MAX + 1];
    bool directory = (how & LOOK_DIRECTORY) != 0;
    int r;
    while ((r = next_path_name(walk, name)) > 0) {
        bool ends = !*walk->rest;
        directory = !ends || how & LOOK_DIRECTORY;
        r = step_path(walk, name, ends && how & LOOK_NOFOLLOW, resolve);
        if (r < 0)
            return r;
    }
    struct stat st;
    if (r == 0 && directory && (fstat(walk->at, &st) < 0 || !S_ISDIR(st.st_mode)))
        r = -ENOTDIR;
    return r;
}

static int look_slowly(const struct notice *notice, int base, const char *path, unsigned how,
                       uint64_t resolve)
{
    struct path_walk walk = {.notice = notice, .at = -1};
    size_t len = strlen(path);
    if (len >= sizeof walk.rest)
        return -ENAMETOOLONG;
    memcpy(walk.rest, path, len + 1);
    int start = *path == '/' ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)
                             : fcntl(base, F_DUPFD_CLOEXEC, 0);
    int r = start < 0 ? -errno : arrive(&walk, start);
    if (r == 0)
        r = walk_on_path(&walk, how, resolve);
    if (r == 0)
        return walk.at;
    (void)fd_close(walk.at);
    return r;
}

/* --- at once ---------------------------------------------------------------------------------- */

int path_look(const struct notice *notice, int base, const char *path, unsigned how,
              uint64_t resolve)
{
    if (!*path)
        return -ENOENT;
    struct open_how open_how = {.flags = (unsigned)(O_PATH | O_CLOEXEC |
                                                    (how & LOOK_NOFOLLOW ? O_NOFOLLOW : 0) |
                                                    (how & LOOK_DIRECTORY ? O_DIRECTORY : 0)),
                                .resolve = resolve | RESOLVE_NO_MAGICLINKS};
    drop_fd int fd = (int)syscall(SYS_openat2, base, path, &open_how, sizeof open_how);
    int r = fd < 0 ? -errno : 0;
    if (fd >= 0 && !is_on_proc(fd))
        return fd_take(&fd);
    /* What only the kernel can hold to is not walked. */
    if (resolve & ~(uint64_t)(RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS))
        return r < 0 ? r : -EACCES;
    return look_slowly(notice, base, path, how, resolve);
}

int path_look_at(const struct notice *notice, int dirfd, const char *path, unsigned how)
{
    if (!*path && how & LOOK_EMPTY)
        return target_base(notice, dirfd);
    if (*path == '/')
        return path_look(notice, AT_FDCWD, path, how, 0);
    drop_fd int base = target_base(notice, dirfd);
    return base < 0 ? base : path_look(notice, base, path, how, 0);
}

int place_find_from(const struct notice *notice, int base, const char *path, uint64_t resolve,
                    struct place *ret)
{
    struct place place = {.dir = -1};
    char dir[PATH_MAX];
    int r = lexical_split(path, dir, place.name);
    if (r < 0)
        return r;
    drop_fd int fd = path_look(notice, base, dir, LOOK_DIRECTORY, resolve);
    if (fd < 0)
        return fd;
    r = path_canonical(fd, dir);
    if (r != 0)
        return r < 0 ? r : -ENOTDIR;
    place.special = lexical_special(place.name);
    r = path_clean(dir, place.special ? "." : place.name, place.full);
    if (r < 0)
        return r;
    place.dir = fd_take(&fd);
    *ret = place;
    return 0;
}

int place_find(const struct notice *notice, int dirfd, const char *path, struct place *ret)
{
    if (*path == '/' || !*path)
        return place_find_from(notice, AT_FDCWD, path, 0, ret);
    drop_fd int base = target_base(notice, dirfd);
    return base < 0 ? base : place_find_from(notice, base, path, 0, ret);
}

void place_done(struct place *place)
{
    place->dir = fd_close(place->dir);
}

/* --- guesses ---------------------------------------------------------------------------------- */

int path_lexical(const struct notice *notice, int dirfd, const char *path,
                 char clean[static PATH_MAX])
{
    char base[PATH_MAX] = "/";
    int r = *path == '/' ? 0 : target_base_path(notice, dirfd, base);
    return r < 0 ? r : path_clean(base, path, clean);
}

bool path_is_plain(const char *path)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    drop_fd int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    return fd >= 0 || errno != ELOOP;
}
