/* SPDX-License-Identifier: Apache-2.0 */
#include "files/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/random.h"
#include "files/beneath.h"
#include "files/spot.h"

enum { FLAT_BYTES = 8 };

struct tree {
    DIR *dirs[TREE_DEPTH_MAX];      /* from the top down */
    size_t lengths[TREE_DEPTH_MAX]; /* of the path of each */
    int depth;                      /* of them */
    char path[BENEATH_PATH_MAX];
    char name[BENEATH_NAME_MAX + 1]; /* of the last entry */
    bool flattened;                  /* something was moved to the top: it is read again */
    const struct spot_rules *rules;  /* NULL: everything is allowed */
};

void tree_judge(struct tree *t, const struct spot_rules *rules)
{
    t->rules = rules;
}

int tree_open(int folder, struct tree **ret)
{
    DIR *dir = fdopendir(folder);
    if (!dir) {
        int r = -errno;
        (void)fd_close(folder);
        return r;
    }
    struct tree *t = NEW(struct tree);
    t->dirs[0] = dir;
    t->depth = 1;
    *ret = t;
    return 0;
}

struct tree *tree_close(struct tree *t)
{
    if (!t)
        return NULL;
    while (t->depth > 0)
        (void)closedir(t->dirs[--t->depth]);
    xfree(t);
    return NULL;
}

static int here(const struct tree *t)
{
    return dirfd(t->dirs[t->depth - 1]);
}

/* path and name become those of this entry; tree_enter() has seen to it that there is room. */
static void set_names(struct tree *t, const char *name)
{
    size_t at = t->lengths[t->depth - 1];
    (void)snprintf(t->name, sizeof t->name, "%s", name);
    (void)snprintf(t->path + at, sizeof t->path - at, "%s%s", at > 0 ? "/" : "", name);
}

static int leave_folder(struct tree *t, struct tree_entry *ret)
{
    size_t n = t->lengths[t->depth - 1];
    (void)closedir(t->dirs[--t->depth]);
    t->path[n] = '\0';
    const char *slash = strrchr(t->path, '/');
    (void)snprintf(t->name, sizeof t->name, "%.255s", slash ? slash + 1 : t->path);
    *ret = (struct tree_entry){.dir = here(t), .name = t->name, .path = t->path, .leaving = true};
    return 1;
}

int tree_next(struct tree *t, struct tree_entry *ret)
{
    for (;;) {
        errno = 0;
        const struct dirent *d = readdir(t->dirs[t->depth - 1]);
        if (!d && errno)
            return -errno;
        if (!d)
            return t->depth > 1 ? leave_folder(t, ret) : 0;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        struct stat st;
        int r = spot_stat_at(here(t), d->d_name, &st);
        if (r == -ENOENT)
            continue;
        if (r < 0)
            return r;
        set_names(t, d->d_name);
        *ret = (struct tree_entry){.dir = here(t), .name = t->name, .path = t->path, .st = st};
        return 1;
    }
}

int tree_enter(struct tree *t)
{
    size_t length = strlen(t->path);
    if (t->depth == TREE_DEPTH_MAX || length + BENEATH_NAME_MAX + 2 > sizeof t->path)
        return -E2BIG;
    int fd = spot_open_at(here(t), t->name, O_RDONLY | O_DIRECTORY, t->rules, NULL);
    if (fd < 0)
        return fd;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int r = -errno;
        (void)fd_close(fd);
        return r;
    }
    t->lengths[t->depth] = length;
    t->dirs[t->depth++] = dir;
    return 0;
}

/* --- the end of it ---------------------------------------------------------------------------- */

/* A folder below too many others becomes one of the top, where there are none above it. */
static int flatten(struct tree *t, const struct tree_entry *entry)
{
    char hex[2 * FLAT_BYTES + 1];
    random_hex(hex, FLAT_BYTES);
    t->flattened = true;
    return spot_move_at(entry->dir, entry->name, dirfd(t->dirs[0]), hex, t->rules);
}

static int delete_one(struct tree *t, const struct tree_entry *entry)
{
    int r = 0;
    if (entry->leaving)
        r = spot_remove_at(entry->dir, entry->name, true, t->rules);
    else if (!S_ISDIR(entry->st.st_mode))
        r = spot_remove_at(entry->dir, entry->name, false, t->rules);
    else
        r = tree_enter(t);
    if (r == -E2BIG)
        r = t->depth > 1 ? flatten(t, entry) : r;
    return r == -ENOENT ? 0 : r;
}

int tree_delete(struct tree *t, const char **ret_path)
{
    *ret_path = t->path;
    for (int i = 0; i < TREE_DELETE_STEP; i++) {
        struct tree_entry entry;
        int r = tree_next(t, &entry);
        if (r == 0 && !t->flattened)
            return 1;
        if (r == 0) {
            t->flattened = false;
            rewinddir(t->dirs[0]);
            continue;
        }
        if (r > 0)
            r = delete_one(t, &entry);
        if (r < 0)
            return r;
    }
    return 0;
}
