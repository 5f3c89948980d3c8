/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/paths/lexical.h"

#include <errno.h>
#include <string.h>

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
