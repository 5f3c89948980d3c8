/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/paths/globsearch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/paths/glob.h"

struct glob_search {
    const char *pattern;
    long names;
    int depth;
    char path[PATH_MAX];
};

static int look_into_match(struct glob_search *search, int dir, const char *name);

static int look_at_match(struct glob_search *search, int dir, const struct dirent *entry)
{
    if (++search->names > GLOBSEARCH_NAMES_MAX)
        return -E2BIG;
    if (glob_matches(search->pattern, search->path, strlen(search->path)))
        return 1;
    bool maybe_dir = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
    if (!maybe_dir || !glob_reaches_below(search->pattern, search->path))
        return 0;
    return look_into_match(search, dir, entry->d_name);
}

/* The path with a name behind it; it is what it was afterwards. */
static int look_below(struct glob_search *search, int dir, const struct dirent *entry)
{
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
        return 0;
    size_t len = strlen(search->path), n = strlen(entry->d_name), at = len == 1 ? 0 : len;
    if (at + 1 + n >= sizeof search->path)
        return -ENAMETOOLONG;
    search->path[at] = '/';
    memcpy(search->path + at + 1, entry->d_name, n + 1);
    int r = look_at_match(search, dir, entry);
    search->path[len] = '\0';
    return r;
}

static int look_into_match(struct glob_search *search, int dir, const char *name)
{
    drop_fd int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
    if (search->depth == GLOBSEARCH_DEPTH_MAX)
        return -E2BIG;
    DIR *list = fdopendir(fd);
    if (!list)
        return -errno;
    fd = -1;
    search->depth++;
    int r = 0;
    for (struct dirent *entry = readdir(list); entry && r == 0; entry = readdir(list))
        r = look_below(search, dirfd(list), entry);
    search->depth--;
    (void)closedir(list);
    return r;
}

int glob_search(const char *pattern, const char *dir, const char *as)
{
    struct glob_search search = {.pattern = pattern};
    size_t n = strlen(as);
    if (n >= sizeof search.path)
        return -ENAMETOOLONG;
    memcpy(search.path, as, n + 1);
    return look_into_match(&search, AT_FDCWD, dir);
}
