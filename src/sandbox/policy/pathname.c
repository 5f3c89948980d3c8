/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/policy/pathname.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* as the kernel has it */

/* What was made so far has no slash at its end; the root is "". */
static int append_component(char path[PATH_MAX], const char *name, size_t n)
{
    size_t len = strlen(path);
    if (len + 1 + n >= PATH_MAX)
        return -ENAMETOOLONG;
    path[len] = '/';
    memcpy(path + len + 1, name, n);
    path[len + 1 + n] = '\0';
    return 0;
}

static void go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
}

static bool is_component(const char *text, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(text, name, n) == 0;
}

static int clean_onto(char path[PATH_MAX], const char *more)
{
    for (const char *at = more; *at;) {
        size_t n = strcspn(at, "/");
        int r = 0;
        if (is_component(at, n, ".."))
            go_up(path);
        else if (n > 0 && !is_component(at, n, "."))
            r = append_component(path, at, n);
        if (r < 0)
            return r;
        at += n;
        at += strspn(at, "/");
    }
    return 0;
}

int path_clean(const char *base, const char *path, char ret[PATH_MAX])
{
    char made[PATH_MAX] = "";
    int r = *path == '/' ? 0 : clean_onto(made, base);
    r = r < 0 ? r : clean_onto(made, path);
    if (r < 0)
        return r;
    memcpy(ret, *made ? made : "/", strlen(*made ? made : "/") + 1);
    return 0;
}

/* Puts the target of the link `made` before the rest of the way, and made back to where the target
 * begins. */
static int follow_pathname_link(char made[PATH_MAX], char rest[PATH_MAX], const char *left)
{
    char way[PATH_MAX];
    ssize_t n = readlink(made, way, sizeof way);
    if (n < 0)
        return -errno;
    size_t more = strlen(left);
    if ((size_t)n + 1 + more >= PATH_MAX)
        return -ENAMETOOLONG;
    way[n] = '/';
    memcpy(way + n + 1, left, more + 1);
    memcpy(rest, way, (size_t)n + 1 + more + 1);
    if (*rest == '/')
        *made = '\0';
    else
        go_up(made);
    return 0;
}

int path_resolve(const char *clean, char ret[PATH_MAX], struct words *links)
{
    char made[PATH_MAX] = "", rest[PATH_MAX];
    if (strlen(clean) >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(rest, clean, strlen(clean) + 1);
    int followed = 0;
    for (char *at = rest + strspn(rest, "/"); *at; at += strspn(at, "/")) {
        size_t n = strcspn(at, "/");
        if (is_component(at, n, "..") || is_component(at, n, ".")) { /* of a link's target */
            if (n == 2)
                go_up(made);
            at += n;
            continue;
        }
        int r = append_component(made, at, n);
        at += n;
        struct stat st;
        if (r == 0 && lstat(made, &st) == 0 && S_ISLNK(st.st_mode)) {
            if (++followed > LINKS_MAX)
                return -ELOOP;
            if (links)
                words_add(links, made);
            r = follow_pathname_link(made, rest, at);
            at = rest;
        }
        if (r < 0)
            return r;
    }
    memcpy(ret, *made ? made : "/", strlen(*made ? made : "/") + 1);
    return 0;
}

bool path_is_under(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    if (n == 1)
        return true;
    return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}
