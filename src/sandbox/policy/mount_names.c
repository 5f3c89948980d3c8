/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/policy/mount_names.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "sandbox/paths/mounts.h"
#include "sandbox/policy/pathname.h"

struct mount_search {
    const char *path;
    char *device, *inside; /* of the mount that the path is in: "8:1", its name in that */
    size_t depth;
    struct words *ret;
};

static size_t length_of(const char *dir)
{
    return strcmp(dir, "/") == 0 ? 0 : strlen(dir);
}

/* The last one that is mounted deepest is what is seen. */
static void find_mount(void *ctx, const struct mount *mount)
{
    struct mount_search *s = ctx;
    const size_t depth = length_of(mount->point);
    if (!path_is_under(s->path, mount->point) || depth < s->depth)
        return;
    xfree(s->device);
    xfree(s->inside);
    s->device = xstrdup(mount->device);
    s->inside = xasprintf("%.*s%s", (int)length_of(mount->root), mount->root, s->path + depth);
    s->depth = depth;
}

static bool are_one(const char *a, const char *b)
{
    struct stat one, other;
    return lstat(a, &one) == 0 && lstat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

static void add_name(struct mount_search *s, const char *name, const char *is)
{
    if (strcmp(name, is) != 0 && are_one(name, is))
        words_add(s->ret, name);
}

/* It shows the place, or a part of it. */
static void find_mount_name(void *ctx, const struct mount *mount)
{
    struct mount_search *s = ctx;
    const char *inside = *s->inside ? s->inside : "/";
    if (strcmp(mount->device, s->device) != 0)
        return;
    if (path_is_under(inside, mount->root)) {
        drop_str char *name = xasprintf("%.*s%s", (int)length_of(mount->point), mount->point,
                                        inside + length_of(mount->root));
        add_name(s, name, s->path);
    } else if (path_is_under(mount->root, inside)) {
        drop_str char *part = xasprintf("%s%s", s->path, mount->root + length_of(inside));
        add_name(s, mount->point, part);
    }
}

void mount_names(const char *path, struct words *ret)
{
    struct mount_search s = {.path = path, .ret = ret};
    mounts_each(find_mount, &s);
    if (s.device)
        mounts_each(find_mount_name, &s);
    xfree(s.device);
    xfree(s.inside);
}
