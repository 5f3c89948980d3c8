/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/landlock/ruleset_paths.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"

enum { ROOM_FIRST = 64 };

struct ruleset_identity {
    dev_t device;
    ino_t inode; /* 0: nothing was there */
};

static struct ruleset_identity identity_of(const char *path)
{
    struct stat st;
    return lstat(path, &st) < 0 ? (struct ruleset_identity){0}
                                : (struct ruleset_identity){st.st_dev, st.st_ino};
}

bool ruleset_paths_add(struct ruleset_paths *paths, const char *path)
{
    const size_t number = paths->set.count;
    if (!pathset_add(&paths->set, path))
        return false;
    if (number == paths->room) {
        paths->room = number ? 2 * number : ROOM_FIRST;
        paths->were = xrealloc(paths->were, paths->room * sizeof *paths->were);
    }
    paths->were[number] = identity_of(path);
    return true;
}

static bool is_what_it_was(const struct ruleset_identity *was, const char *path, size_t n)
{
    char dir[PATH_MAX];
    if (n >= sizeof dir)
        return false;
    (void)snprintf(dir, sizeof dir, "%.*s", n ? (int)n : 1, path);
    const struct ruleset_identity is = identity_of(dir);
    return is.inode != 0 && is.device == was->device && is.inode == was->inode;
}

bool ruleset_paths_cover(const struct ruleset_paths *paths, const char *path)
{
    for (size_t n = 0;; n++) {
        const bool ends = path[n] == '\0';
        if (!ends && path[n] != '/')
            continue;
        const ssize_t number = pathset_number(&paths->set, path, n);
        if (number >= 0)
            return is_what_it_was(&paths->were[number], path, n);
        if (ends)
            return false;
    }
}

void ruleset_paths_done(struct ruleset_paths *paths)
{
    pathset_done(&paths->set);
    xfree(paths->were);
    *paths = (struct ruleset_paths){0};
}
