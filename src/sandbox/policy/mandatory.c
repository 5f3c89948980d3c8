/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/policy/mandatory.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

static const char *const names[] = {".gitconfig", ".gitmodules", ".bashrc",  ".bash_profile",
                                    ".zshrc",     ".zprofile",   ".profile", ".ripgreprc",
                                    ".mcp.json",  ".vscode",     ".idea"};

struct inside { /* names in a directory of a certain name */
    const char *dir, *name;
};

static const struct inside insides[] = {
    {".claude", "commands"}, {".claude", "agents"}, {".git", "hooks"}, {".git", "config"}};

enum { NAMES = sizeof names / sizeof *names, INSIDES = sizeof insides / sizeof *insides };

struct level { /* a directory that is being read */
    DIR *list;
    size_t len; /* of its path */
    int depth;
};

struct mandatory_walk {
    struct mandatory what;
    char *cwd;
    long names;
    struct level *levels; /* from the working directory down */
    size_t n_levels;
    char path[PATH_MAX]; /* where it is */
};

/* Puts "/name" behind the path; false, and the path is as it was, when that is too long. */
static bool step_mandatory(struct mandatory_walk *walk, const char *name)
{
    size_t len = strlen(walk->path), n = strlen(name);
    if (len == 1) /* the root */
        len = 0;
    if (len + 1 + n >= sizeof walk->path)
        return false;
    walk->path[len] = '/';
    memcpy(walk->path + len + 1, name, n + 1);
    return true;
}

static void step_back(struct mandatory_walk *walk, size_t len)
{
    walk->path[len] = '\0';
    if (len == 1)
        walk->path[0] = '/';
}

static void notify_mandatory(struct mandatory_walk *walk, bool link)
{
    walk->what.found(walk->what.ctx, walk->path, link);
}

static void notify_inside(struct mandatory_walk *walk, const char *name)
{
    size_t len = strlen(walk->path);
    if (step_mandatory(walk, name))
        notify_mandatory(walk, true);
    step_back(walk, len);
}

static bool is_wanted(const struct mandatory_walk *walk, const struct inside *inside)
{
    return !walk->what.allow_git_config || strcmp(inside->name, "config") != 0;
}

static bool is_mandatory(const char *name)
{
    for (int i = 0; i < NAMES; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

/* The path is a directory called name: what is protected in it, there or not. */
static bool notify_insides(struct mandatory_walk *walk, const char *name)
{
    bool any = false;
    for (int i = 0; i < INSIDES; i++)
        if (strcasecmp(name, insides[i].dir) == 0) {
            any = true;
            if (is_wanted(walk, &insides[i]))
                notify_inside(walk, insides[i].name);
        }
    return any;
}

static bool is_dir(int dir, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN && entry->d_type != DT_LNK)
        return entry->d_type == DT_DIR;
    return fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static bool is_passed_over(const struct mandatory_walk *walk, const char *name)
{
    return strcmp(name, "node_modules") == 0 || strcmp(walk->path, "/proc") == 0 ||
           strcmp(walk->path, "/sys") == 0;
}

static int look_into_mandatory(struct mandatory_walk *walk, int dir, const char *name, int depth,
                               struct err *e)
{
    drop_fd int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return err_set(e, -errno, "%s: %s", walk->path, strerror(errno));
    if (fd < 0) { /* nobody knows what is in it */
        if (errno != ENOENT)
            notify_mandatory(walk, false);
        return 0;
    }
    DIR *list = fdopendir(fd);
    if (!list)
        return err_set(e, -errno, "%s: %s", walk->path, strerror(errno));
    fd = -1;
    walk->levels = xrealloc(walk->levels, (walk->n_levels + 1) * sizeof *walk->levels);
    walk->levels[walk->n_levels++] =
        (struct level){.list = list, .len = strlen(walk->path), .depth = depth};
    return 0;
}

static int look_at_mandatory(struct mandatory_walk *walk, const struct level *level,
                             const struct dirent *entry, struct err *e)
{
    int dir = dirfd(level->list), depth = level->depth;
    if (is_mandatory(entry->d_name)) {
        notify_mandatory(walk, entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN);
        return 0;
    }
    bool own = notify_insides(walk, entry->d_name); /* a link to a directory too */
    if (own || depth <= 1 || !is_dir(dir, entry) || is_passed_over(walk, entry->d_name))
        return 0;
    return look_into_mandatory(walk, dir, entry->d_name, depth - 1, e);
}

static bool is_dots_name(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int look_at_next(struct mandatory_walk *walk, struct err *e)
{
    struct level level = walk->levels[walk->n_levels - 1];
    step_back(walk, level.len);
    const struct dirent *entry = readdir(level.list);
    if (!entry) {
        (void)closedir(level.list);
        walk->n_levels--;
        return 0;
    }
    if (is_dots_name(entry->d_name))
        return 0;
    if (++walk->names > walk->what.names_max)
        return err_set(e, -E2BIG,
                       "more than %ld names to look at down to %d levels below %s: a lower "
                       "mandatoryDenySearchDepth or a smaller working directory is needed",
                       walk->what.names_max, walk->what.depth, walk->cwd);
    return step_mandatory(walk, entry->d_name) ? look_at_mandatory(walk, &level, entry, e) : 0;
}

int mandatory_step(struct mandatory_walk *walk, long n, struct err *e)
{
    int r = 0;
    while (walk->n_levels > 0 && n-- > 0 && r == 0)
        r = look_at_next(walk, e);
    return r < 0 ? r : walk->n_levels == 0;
}

int mandatory_open(const struct mandatory *what, struct mandatory_walk **ret, struct err *e)
{
    if (strlen(what->cwd) >= PATH_MAX)
        return err_set(e, -ENAMETOOLONG, "the working directory's name is too long");
    struct mandatory_walk *walk = NEW(struct mandatory_walk);
    walk->what = *what;
    walk->cwd = xstrdup(what->cwd);
    memcpy(walk->path, what->cwd, strlen(what->cwd) + 1);
    for (int i = 0; i < NAMES; i++)
        notify_inside(walk, names[i]);
    size_t len = strlen(walk->path);
    if (step_mandatory(walk, ".claude"))
        (void)notify_insides(walk, ".claude");
    step_back(walk, len);
    int r = look_into_mandatory(walk, AT_FDCWD, walk->cwd, what->depth, e);
    if (r < 0)
        (void)mandatory_close(walk);
    else
        *ret = walk;
    return r;
}

struct mandatory_walk *mandatory_close(struct mandatory_walk *walk)
{
    if (!walk)
        return NULL;
    while (walk->n_levels > 0)
        (void)closedir(walk->levels[--walk->n_levels].list);
    xfree(walk->levels);
    xfree(walk->cwd);
    xfree(walk);
    return NULL;
}

int mandatory_find(const struct mandatory *what, struct err *e)
{
    struct mandatory_walk *walk = NULL;
    int r = mandatory_open(what, &walk, e);
    while (r == 0)
        r = mandatory_step(walk, LONG_MAX, e);
    (void)mandatory_close(walk);
    return r < 0 ? r : 0;
}
