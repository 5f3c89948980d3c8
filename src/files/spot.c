/* SPDX-License-Identifier: Apache-2.0 */
#include "files/spot.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/alloc.h"

#define GONE " (deleted)" /* what Linux puts behind a name that is none any more */

enum { HOLD = O_PATH | O_DIRECTORY };

/* --- names and rules -------------------------------------------------------------------------- */

/* Whether something has this name that the descriptor is not of; a file may end in GONE itself. */
static bool has_gone(int fd, const char *real)
{
    struct stat st, named;
    size_t n = strlen(real), tail = sizeof GONE - 1;
    if (n < tail || strcmp(real + n - tail, GONE) != 0)
        return false;
    return fstat(fd, &st) < 0 || lstat(real, &named) < 0 || st.st_ino != named.st_ino ||
           st.st_dev != named.st_dev;
}

static int name_now(int fd, char ret[PATH_MAX])
{
    return beneath_real_of(fd, ret) && !has_gone(fd, ret) ? 0 : -ENOENT;
}

static bool join(char ret[BENEATH_REAL_MAX], const char *folder, const char *name)
{
    const char *slash = *name && strcmp(folder, "/") != 0 ? "/" : "";
    int n = snprintf(ret, BENEATH_REAL_MAX, "%s%s%s", folder, slash, name);
    return n > 0 && n < BENEATH_REAL_MAX;
}

/* name: in the folder, or a path from there on; "": the folder itself. */
static int ask_rules(const struct spot_rules *rules, enum spot_act act, const char *folder,
                     const char *name)
{
    char path[BENEATH_REAL_MAX];
    if (!rules)
        return 0;
    return join(path, folder, name) && rules->allows(rules->ctx, act, path) ? 0 : SPOT_REFUSED;
}

static int ask_of(const struct spot_rules *rules, enum spot_act act, int dir, const char *name)
{
    char folder[PATH_MAX];
    int r = rules ? name_now(dir, folder) : 0;
    return r < 0 || !rules ? r : ask_rules(rules, act, folder, name);
}

int spot_may(const struct spot *p, enum spot_act act)
{
    return ask_of(p->rules, act, p->dir, p->name);
}

int spot_admits(int fd, const struct spot_rules *rules)
{
    struct stat st;
    int r = ask_of(rules, SPOT_READ, fd, "");
    if (r < 0 || !rules || !rules->hides)
        return r;
    return fstat(fd, &st) < 0 ? -errno : rules->hides(rules->ctx, &st) ? SPOT_REFUSED : 0;
}

/* --- the way to a place ----------------------------------------------------------------------- */

static enum beneath_links links_of(unsigned way)
{
    return way & SPOT_NO_LINKS ? BENEATH_NO_LINKS : BENEATH_FOLLOW;
}

/* The deepest folder of the path that is there; *ret_rest: what of it is missing, "" when nothing
 * is. */
static int hold_deepest(const struct beneath *top, const char *path, unsigned way,
                        const char **ret_rest)
{
    char there[BENEATH_PATH_MAX];
    memcpy(there, path, strlen(path) + 1);
    for (;;) {
        int fd = beneath_at(top, there, HOLD, links_of(way));
        char *slash = strrchr(there, '/');
        if (fd != -ENOENT || there[0] == '\0') {
            const char *rest = path + strlen(there);
            *ret_rest = rest + (*rest == '/' && there[0] != '\0');
            return fd;
        }
        *(slash ? slash : there) = '\0';
    }
}

/* One more folder. What others put there meanwhile is entered if it is one, and no link. */
static int make_one(int dir, const char *name, const struct spot_rules *rules)
{
    int r = ask_of(rules, SPOT_WRITE, dir, name);
    if (r < 0)
        return r;
    if (mkdirat(dir, name, 0777) < 0 && errno != EEXIST)
        return -errno;
    int fd = openat(dir, name, HOLD | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* dir is taken over. */
static int make_rest(int dir, const char *rest, const struct spot_rules *rules)
{
    char name[BENEATH_NAME_MAX + 1];
    while (dir >= 0 && *rest) {
        size_t n = strcspn(rest, "/");
        (void)snprintf(name, sizeof name, "%.*s", (int)n, rest);
        int next = make_one(dir, name, rules);
        (void)fd_close(dir);
        dir = next;
        rest += n + (rest[n] == '/');
    }
    return dir;
}

/* The folder, of which this may be done with `name`. Nothing is made of what is refused. */
static int hold_folder(const struct beneath *top, const char *path, const char *name, unsigned way,
                       const struct spot_rules *rules, enum spot_act act)
{
    char folder[PATH_MAX], below[BENEATH_PATH_MAX + BENEATH_NAME_MAX + 2];
    const char *rest = "";
    drop_fd int fd = hold_deepest(top, path, way, &rest);
    if (fd < 0)
        return fd;
    (void)snprintf(below, sizeof below, "%s%s%s", rest, *rest && *name ? "/" : "", name);
    int r = rules ? name_now(fd, folder) : 0;
    if (r == 0)
        r = ask_rules(rules, act, folder, below);
    if (r == 0 && *rest && !(way & SPOT_MAKE_FOLDERS))
        r = -ENOENT;
    return r < 0 ? r : make_rest(fd_take(&fd), rest, rules);
}

int spot_folder(const struct beneath *top, const char *path, unsigned way,
                const struct spot_rules *rules)
{
    return hold_folder(top, path, "", way, rules, SPOT_WRITE);
}

int spot_find(const struct beneath *top, const char *path, unsigned way,
              const struct spot_rules *rules, enum spot_act act, struct spot *ret)
{
    char folder[BENEATH_PATH_MAX], real[PATH_MAX];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 0, path);
    drop_fd int dir = hold_folder(top, folder, name, way, rules, act);
    if (dir < 0)
        return dir;
    int r = name_now(dir, real);
    if (r < 0)
        return r;
    *ret = (struct spot){.rules = rules, .dir = fd_take(&dir), .folder = xstrdup(real)};
    (void)snprintf(ret->name, sizeof ret->name, "%s", name);
    return 0;
}

void spot_close(struct spot *p)
{
    p->dir = fd_close(p->dir);
    xfree(p->folder);
    *p = SPOT_NONE;
}

struct spot spot_take(struct spot *p)
{
    struct spot taken = *p;
    *p = SPOT_NONE;
    return taken;
}

int spot_stat_at(int dir, const char *name, struct stat *ret)
{
    return fstatat(dir, name, ret, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0 ? -errno : 0;
}

int spot_stat(const struct spot *p, struct stat *ret)
{
    return spot_stat_at(p->dir, p->name, ret);
}

ssize_t spot_link_text(int dir, const char *name, char *ret, size_t size)
{
    ssize_t n = readlinkat(dir, name, ret, size);
    return n < 0 ? -errno : n;
}

/* There is no call that takes a folder; its descriptor is a name of it. */
static bool name_at(int dir, const char *name, char ret[BENEATH_PATH_MAX])
{
    int n = snprintf(ret, BENEATH_PATH_MAX, "/proc/self/fd/%d/%s", dir, *name ? name : ".");
    return n > 0 && n < BENEATH_PATH_MAX;
}

ssize_t spot_attributes(int dir, const char *name, char *ret, size_t size)
{
    char path[BENEATH_PATH_MAX];
    ssize_t n = name_at(dir, name, path) ? llistxattr(path, ret, size) : -1;
    return n < 0 ? -errno : n;
}

ssize_t spot_attribute(int dir, const char *name, const char *attribute, char *ret, size_t size)
{
    char path[BENEATH_PATH_MAX];
    ssize_t n = name_at(dir, name, path) ? lgetxattr(path, attribute, ret, size) : -1;
    return n < 0 ? -errno : n;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int admit(int fd, const struct spot_rules *rules, struct stat *ret_st)
{
    int r = spot_admits(fd, rules);
    if (r == 0 && ret_st && fstat(fd, ret_st) < 0)
        r = -errno;
    if (r < 0)
        (void)fd_close(fd);
    return r < 0 ? r : fd;
}

int spot_open(const struct beneath *top, const char *path, int flags, enum beneath_links links,
              const struct spot_rules *rules, struct stat *ret_st)
{
    int fd = beneath_at(top, path, flags, links);
    return fd < 0 ? fd : admit(fd, rules, ret_st);
}

int spot_open_at(int dir, const char *name, int flags, const struct spot_rules *rules,
                 struct stat *ret_st)
{
    int fd = openat(dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? -errno : admit(fd, rules, ret_st);
}

/* --- changes ---------------------------------------------------------------------------------- */

static int is_where_it_was(const struct spot *p)
{
    char now[PATH_MAX];
    int r = name_now(p->dir, now);
    return r < 0 || strcmp(now, p->folder) != 0 ? -ESTALE : 0;
}

int spot_new_file(const struct spot *p, mode_t mode, struct newfile *ret)
{
    int r = spot_may(p, SPOT_WRITE);
    return r < 0 ? r : newfile_open(p->dir, mode, false, ret);
}

/* What takes its time comes first, so that nothing is between the question and the act. */
int spot_commit(const struct spot *p, struct newfile *f, enum newfile_how how, bool sync)
{
    int r = sync ? newfile_sync(f) : 0;
    if (r == 0)
        r = is_where_it_was(p);
    if (r == 0)
        r = spot_may(p, SPOT_WRITE);
    if (r == 0)
        return newfile_commit(f, p->name, how, sync);
    newfile_drop(f);
    return r;
}

int spot_create(const struct spot *p, mode_t mode)
{
    int r = spot_may(p, SPOT_WRITE);
    if (r < 0)
        return r;
    int fd = openat(p->dir, p->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    return fd < 0 ? -errno : fd;
}

int spot_make_folder(const struct spot *p, mode_t mode)
{
    int r = spot_may(p, SPOT_WRITE);
    return r < 0 ? r : mkdirat(p->dir, p->name, mode) < 0 ? -errno : 0;
}

int spot_symlink(const struct spot *p, const char *target)
{
    int r = spot_may(p, SPOT_WRITE);
    return r < 0 ? r : newfile_symlink(p->dir, p->name, target);
}

/* The link is made of what is open, not of its name. */
int spot_hardlink(const struct spot *p, const struct spot *from)
{
    int r = spot_may(from, SPOT_WRITE);
    if (r == 0)
        r = spot_may(p, SPOT_WRITE);
    if (r < 0)
        return r;
    drop_fd int fd = spot_open_at(from->dir, from->name, O_PATH, from->rules, NULL);
    return fd < 0 ? fd : newfile_hardlink(p->dir, p->name, fd);
}

int spot_remove_at(int dir, const char *name, bool folder, const struct spot_rules *rules)
{
    int r = ask_of(rules, SPOT_EMPTY, dir, name);
    return r < 0 ? r : unlinkat(dir, name, folder ? AT_REMOVEDIR : 0) < 0 ? -errno : 0;
}

int spot_remove(const struct spot *p, bool folder)
{
    int r = spot_may(p, SPOT_REMOVE);
    return r < 0 ? r : unlinkat(p->dir, p->name, folder ? AT_REMOVEDIR : 0) < 0 ? -errno : 0;
}

int spot_open_tree(const struct spot *p)
{
    int r = spot_may(p, SPOT_REMOVE);
    return r < 0 ? r : spot_open_at(p->dir, p->name, O_RDONLY | O_DIRECTORY, p->rules, NULL);
}

/* --- moves ------------------------------------------------------------------------------------ */

struct name_at { /* borrowed */
    int dir;
    const char *name;
};

static struct name_at name_of(const struct spot *p)
{
    return (struct name_at){p->dir, p->name};
}

static int ask_move(const struct spot_rules *rules, struct name_at from, struct name_at to,
                    bool is_dir)
{
    char a[PATH_MAX], b[PATH_MAX], real[BENEATH_REAL_MAX], real_to[BENEATH_REAL_MAX];
    int r = rules ? name_now(from.dir, a) : 0;
    if (r == 0 && rules)
        r = name_now(to.dir, b);
    if (r < 0 || !rules)
        return r;
    return join(real, a, from.name) && join(real_to, b, to.name) &&
                   rules->allows_move(rules->ctx, real, real_to, is_dir)
               ? 0
               : SPOT_REFUSED;
}

int spot_move_at(int dir, const char *name, int to_dir, const char *to_name,
                 const struct spot_rules *rules)
{
    int r = ask_move(rules, (struct name_at){dir, name}, (struct name_at){to_dir, to_name}, true);
    return r < 0 ? r : renameat(dir, name, to_dir, to_name) < 0 ? -errno : 0;
}

static int rename_place(const struct spot *from, const struct spot *to, bool replaces)
{
    if (!replaces)
        return rename_to_new(from->dir, from->name, to->dir, to->name);
    return renameat(from->dir, from->name, to->dir, to->name) < 0 ? -errno : 0;
}

/* A folder that took the file's name behind the question was not asked about. With something in it
 * that is protected here it goes back. */
static int look_at_moved(const struct spot *from, const struct spot *to)
{
    struct stat st;
    if (spot_stat(to, &st) < 0 || !S_ISDIR(st.st_mode))
        return 0;
    int r = ask_move(to->rules, name_of(to), name_of(to), true);
    if (r < 0)
        (void)!rename_to_new(to->dir, to->name, from->dir, from->name);
    return r;
}

int spot_move(const struct spot *from, const struct spot *to, bool replaces)
{
    struct stat st;
    int r = spot_stat(from, &st);
    bool is_dir = r == 0 && S_ISDIR(st.st_mode);
    if (r == 0)
        r = ask_move(from->rules, name_of(from), name_of(to), is_dir);
    if (r == 0)
        r = rename_place(from, to, replaces);
    return r < 0 || is_dir || !from->rules ? r : look_at_moved(from, to);
}
