/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/lexical.h"

#include <errno.h>
#include <string.h>

/* The names of `path` go behind the n bytes of `clean`; returns the new length. */
static int add_names(const char *path, char *clean, size_t n)
{
    for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
        size_t len = strcspn(path, "/");
        if (len == 2 && path[0] == '.' && path[1] == '.') {
            while (n > 0 && clean[--n] != '/')
                continue;
        } else if (len != 1 || path[0] != '.') {
            if (n + 1 + len >= PATH_MAX)
                return -ENAMETOOLONG;
            clean[n++] = '/';
            memcpy(clean + n, path, len);
            n += len;
        }
        path += len;
    }
    return (int)n;
}

int lexical_join(const char *base, const char *path, char clean[static PATH_MAX])
{
    if (!*path)
        return -ENOENT;
    int n = *path == '/' ? 0 : add_names(base, clean, 0);
    if (n >= 0)
        n = add_names(path, clean, (size_t)n);
    if (n < 0)
        return n;
    if (n == 0)
        clean[n++] = '/';
    clean[n] = '\0';
    return 0;
}

int lexical_split(const char *path, char dir[static PATH_MAX], char name[static NAME_MAX + 2])
{
    size_t len = strlen(path), end = len;
    if (len == 0)
        return -ENOENT;
    while (end > 0 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    if (end - begin > NAME_MAX || begin >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(name, path + begin, end - begin);
    name[end - begin] = '\0';
    if (end < len)
        memcpy(name + (end - begin), "/", 2);
    memcpy(dir, path, begin);
    dir[begin] = '\0';
    if (begin == 0)
        memcpy(dir, end == 0 ? "/" : ".", 2);
    return 0;
}

bool lexical_special(const char *name)
{
    size_t dots = strspn(name, ".");
    return dots <= 2 && strspn(name + dots, "/") == strlen(name + dots);
}

bool lexical_climbs(const char *path)
{
    for (const char *at = path; (at = strstr(at, "..")); at += 2) {
        bool begins = at == path || at[-1] == '/';
        if (begins && (at[2] == '/' || at[2] == '\0'))
            return true;
    }
    return false;
}
