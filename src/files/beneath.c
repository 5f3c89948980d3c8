/* SPDX-License-Identifier: Apache-2.0 */
#include "files/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"

enum {
    ALWAYS = O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
    RACES_MAX = 64, /* openat2(2) says EAGAIN while something is moved about */
    FD_LINK_MAX = 40,
};

/* Only O_CLOEXEC, O_DIRECTORY and O_NOFOLLOW may stand beside O_PATH. */
static int all_flags(int flags)
{
    return flags & O_PATH ? flags | O_CLOEXEC : flags | ALWAYS;
}

static int ask_kernel(int dir, const char *path, int flags, enum beneath_links links)
{
    struct open_how how = {.flags = (unsigned)all_flags(flags),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    if (links == BENEATH_NO_LINKS)
        how.resolve |= RESOLVE_NO_SYMLINKS;
    for (int i = 0; i < RACES_MAX; i++) {
        int fd = (int)syscall(SYS_openat2, dir, *path ? path : ".", &how, sizeof how);
        if (fd >= 0 || errno != EAGAIN)
            return fd < 0 ? -errno : fd;
    }
    return -EAGAIN;
}

struct beneath beneath_of(int folder)
{
    struct beneath b = {.root = folder};
    drop_fd int probe = ask_kernel(folder, "", O_PATH, BENEATH_FOLLOW);
    b.walk = probe == -ENOSYS || probe == -EPERM; /* an old kernel, a filter that refuses it */
    return b;
}

int beneath_open(const char *folder, struct beneath *ret, struct err *e)
{
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, -errno, "%s: %s", folder, strerror(errno));
    *ret = beneath_of(fd);
    return 0;
}

void beneath_close(struct beneath *b)
{
    b->root = fd_close(b->root);
}

int beneath_clean(const char *path, char ret[BENEATH_PATH_MAX])
{
    size_t n = strlen(path);
    if (n >= BENEATH_PATH_MAX)
        return -ENAMETOOLONG;
    if (n > 0 && path[n - 1] == '/')
        n--;
    for (size_t at = 0; at < n || (at == 0 && path[0] == '/');) {
        size_t length = strcspn(path + at, "/");
        if (length == 0 ||
            (path[at] == '.' && (length == 1 || (length == 2 && path[at + 1] == '.'))))
            return -EINVAL;
        if (length > BENEATH_NAME_MAX)
            return -ENAMETOOLONG;
        at += length + 1;
    }
    if (n > 0 && path[n - 1] == '/')
        return -EINVAL;
    memcpy(ret, path, n);
    ret[n] = '\0';
    return 0;
}

/* --- without openat2(2) ----------------------------------------------------------------------- */

/* done: real names, no links among them, that lead from the root to where the walk is; left: what
 * is still to be walked. ".." takes a name off `done`, and the way is walked anew from the root. */
struct beneath_walk {
    const struct beneath *b;
    enum beneath_links links;
    int at; /* owned: the folder that `done` names */
    int links_seen;
    char done[BENEATH_PATH_MAX], left[BENEATH_PATH_MAX];
};

static int step_into(struct beneath_walk *w, const char *name)
{
    int fd = openat(w->at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    (void)fd_close(w->at);
    w->at = fd;
    return 0;
}

/* `done` changes by other hands, too: whatever stands there, a link is not followed. */
static int walk_anew(struct beneath_walk *w)
{
    (void)fd_close(w->at);
    w->at = fcntl(w->b->root, F_DUPFD_CLOEXEC, 0);
    char way[BENEATH_PATH_MAX];
    memcpy(way, w->done, strlen(w->done) + 1);
    int r = w->at < 0 ? -errno : 0;
    for (char *name = way, *slash; r == 0 && *name; name = slash) {
        slash = name + strcspn(name, "/");
        if (*slash)
            *slash++ = '\0';
        r = step_into(w, name);
    }
    return r;
}

static int step_up_folder(struct beneath_walk *w)
{
    if (w->done[0] == '\0')
        return -EXDEV;
    char *slash = strrchr(w->done, '/');
    *(slash ? slash : w->done) = '\0';
    return walk_anew(w);
}

static int push_name(struct beneath_walk *w, const char *name, size_t n)
{
    size_t length = strlen(w->done);
    if (length + n + 2 > sizeof w->done)
        return -ENAMETOOLONG;
    if (length > 0)
        w->done[length++] = '/';
    memcpy(w->done + length, name, n + 1);
    return 0;
}

/* The link's text stands before what is left from now on. -EINVAL: it is no link. */
static int expand_link(struct beneath_walk *w, const char *name)
{
    char text[BENEATH_PATH_MAX];
    ssize_t n = readlinkat(w->at, name, text, sizeof text);
    if (n < 0)
        return -errno;
    if (w->links == BENEATH_NO_LINKS || ++w->links_seen > BENEATH_LINKS_MAX)
        return -ELOOP;
    size_t left = strlen(w->left);
    if (n > 0 && text[0] == '/')
        return -EXDEV;
    if ((size_t)n + left + 2 > sizeof w->left)
        return -ENAMETOOLONG;
    memmove(w->left + n + 1, w->left, left + 1);
    memcpy(w->left, text, (size_t)n);
    w->left[n] = '/';
    return 0;
}

/* Takes the next component off `left`. */
static size_t next_component(struct beneath_walk *w, char name[BENEATH_NAME_MAX + 1],
                             bool *ret_last)
{
    size_t skip = strspn(w->left, "/"), n = strcspn(w->left + skip, "/");
    size_t rest = skip + n + strspn(w->left + skip + n, "/");
    *ret_last = w->left[rest] == '\0';
    if (n <= BENEATH_NAME_MAX) {
        memcpy(name, w->left + skip, n);
        name[n] = '\0';
    }
    memmove(w->left, w->left + rest, strlen(w->left + rest) + 1);
    return n;
}

static int open_last(const struct beneath_walk *w, const char *name, int flags)
{
    int fd = openat(w->at, name, all_flags(flags) | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return -errno;
    if (!(flags & O_NOFOLLOW) && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode)) {
        (void)fd_close(fd); /* O_PATH opens the link itself */
        return -ELOOP;
    }
    return fd;
}

static int walk_on_beneath(struct beneath_walk *w, int flags)
{
    char name[BENEATH_NAME_MAX + 1];
    for (bool last;;) {
        size_t n = next_component(w, name, &last);
        int r = 0;
        if (n > BENEATH_NAME_MAX)
            return -ENAMETOOLONG;
        if (strcmp(name, "..") == 0)
            r = step_up_folder(w);
        else if (n > 0 && strcmp(name, ".") != 0) {
            r = last ? open_last(w, name, flags) : step_into(w, name);
            if (last && r >= 0)
                return r;
            if ((r == -ELOOP || r == -ENOTDIR) && !(last && flags & O_NOFOLLOW)) { /* a link? */
                int expanded = expand_link(w, name);
                if (expanded == -EINVAL)
                    return r;
                if (expanded < 0)
                    return expanded;
                continue;
            }
            if (r == 0)
                r = push_name(w, name, n);
        }
        if (r < 0)
            return r;
        if (last)
            return openat(w->at, ".", all_flags(flags) | O_CLOEXEC);
    }
}

static int walk_to(const struct beneath *b, const char *path, int flags, enum beneath_links links)
{
    struct beneath_walk w = {.b = b, .links = links};
    memcpy(w.left, path, strlen(path) + 1);
    w.at = fcntl(b->root, F_DUPFD_CLOEXEC, 0);
    if (w.at < 0)
        return -errno;
    int fd = walk_on_beneath(&w, flags);
    if (fd == -1)
        fd = -errno;
    w.at = fd_close(w.at);
    return fd;
}

/* --- the door --------------------------------------------------------------------------------- */

static int resolve_beneath(const struct beneath *b, const char *path, int flags,
                           enum beneath_links links)
{
    return b->walk ? walk_to(b, path, flags, links) : ask_kernel(b->root, path, flags, links);
}

static bool is_plain_component(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

int beneath_at(const struct beneath *b, const char *path, int flags, enum beneath_links links)
{
    if (flags & O_PATH)
        return resolve_beneath(b, path, flags, links);
    /* Opening wakes who waits at a FIFO, and rewinds tapes: look first. What is swapped in between
     * is opened without waiting, and closed again. */
    drop_fd int look = resolve_beneath(b, path, O_PATH, links);
    if (look < 0)
        return look;
    if (!is_plain_component(look))
        return -ENXIO;
    drop_fd int fd = resolve_beneath(b, path, flags, links);
    if (fd < 0)
        return fd;
    return is_plain_component(fd) ? fd_take(&fd) : -ENXIO;
}

/* --- real names ------------------------------------------------------------------------------- */

bool beneath_real_of(int fd, char ret[PATH_MAX])
{
    char link[FD_LINK_MAX];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, ret, PATH_MAX - 1);
    ret[n > 0 ? n : 0] = '\0';
    return n > 0 && ret[0] == '/';
}
