/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/mandatory.h"

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

struct walk {
    const struct mandatory *what;
    long names;
    char path[PATH_MAX]; /* where it is */
};

/* Puts "/name" behind the path; false, and the path is as it was, when that is too long. */
static bool step(struct walk *walk, const char *name)
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

static void step_back(struct walk *walk, size_t len)
{
    walk->path[len] = '\0';
    if (len == 1)
        walk->path[0] = '/';
}

static void tell(struct walk *walk, bool link)
{
    walk->what->found(walk->what->ctx, walk->path, link);
}

static void tell_inside(struct walk *walk, const char *name)
{
    size_t len = strlen(walk->path);
    if (step(walk, name))
        tell(walk, true);
    step_back(walk, len);
}

static bool is_wanted(const struct walk *walk, const struct inside *inside)
{
    return !walk->what->allow_git_config || strcmp(inside->name, "config") != 0;
}

static bool is_listed(const char *name)
{
    for (int i = 0; i < NAMES; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

/* The path is a directory called name: what is protected in it, there or not. */
static bool tell_insides(struct walk *walk, const char *name)
{
    bool any = false;
    for (int i = 0; i < INSIDES; i++)
        if (strcasecmp(name, insides[i].dir) == 0) {
            any = true;
            if (is_wanted(walk, &insides[i]))
                tell_inside(walk, insides[i].name);
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

static bool is_passed_over(const struct walk *walk, const char *name)
{
    return strcmp(name, "node_modules") == 0 || strcmp(walk->path, "/proc") == 0 ||
           strcmp(walk->path, "/sys") == 0;
}

static int look_into(struct walk *walk, int dir, const char *name, int depth, struct err *e);

static int look_at(struct walk *walk, int dir, const struct dirent *entry, int depth, struct err *e)
{
    if (is_listed(entry->d_name)) {
        tell(walk, entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN);
        return 0;
    }
    bool own = tell_insides(walk, entry->d_name); /* a link to a directory too */
    if (own || depth <= 1 || !is_dir(dir, entry) || is_passed_over(walk, entry->d_name))
        return 0;
    return look_into(walk, dir, entry->d_name, depth - 1, e);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int look_into(struct walk *walk, int dir, const char *name, int depth, struct err *e)
{
    drop_fd int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return err_set(e, -errno, "%s: %s", walk->path, strerror(errno));
    if (fd < 0) { /* nobody knows what is in it */
        if (errno != ENOENT)
            tell(walk, false);
        return 0;
    }
    DIR *list = fdopendir(fd);
    if (!list)
        return err_set(e, -errno, "%s: %s", walk->path, strerror(errno));
    fd = -1;
    size_t len = strlen(walk->path);
    int r = 0;
    for (struct dirent *entry = readdir(list); entry && r == 0; entry = readdir(list)) {
        if (is_dots(entry->d_name))
            continue;
        if (++walk->names > walk->what->names_max)
            r = err_set(e, -E2BIG,
                        "more than %ld names to look at down to %d levels below %s: a lower "
                        "mandatoryDenySearchDepth or a smaller working directory is needed",
                        walk->what->names_max, walk->what->depth, walk->what->cwd);
        else if (step(walk, entry->d_name))
            r = look_at(walk, dirfd(list), entry, depth, e);
        step_back(walk, len);
    }
    (void)closedir(list);
    return r;
}

int mandatory_find(const struct mandatory *what, struct err *e)
{
    struct walk walk = {.what = what};
    if (strlen(what->cwd) >= sizeof walk.path)
        return err_set(e, -ENAMETOOLONG, "the working directory's name is too long");
    memcpy(walk.path, what->cwd, strlen(what->cwd) + 1);
    for (int i = 0; i < NAMES; i++)
        tell_inside(&walk, names[i]);
    size_t len = strlen(walk.path);
    if (step(&walk, ".claude"))
        (void)tell_insides(&walk, ".claude");
    step_back(&walk, len);
    return look_into(&walk, AT_FDCWD, what->cwd, what->depth, e);
}
