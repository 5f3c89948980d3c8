/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/limits/cgroup.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/service.h"

enum { LINE_MAX_LEN = 4096 };

static bool try_folder(struct cgroup *cgroup, const char *top, const char *below, const char *file)
{
    char path[CGROUP_PATH_MAX + 64];
    const int n = snprintf(cgroup->dir, sizeof cgroup->dir, "%s%s", top, below);
    if (n > 0 && (size_t)n < sizeof cgroup->dir) {
        (void)snprintf(path, sizeof path, "%s/%s", cgroup->dir, file);
        if (may_access(path, R_OK))
            return true;
    }
    cgroup->dir[0] = '\0';
    return false;
}

static bool has_controller(const char *list, const char *controller)
{
    const size_t n = strlen(controller);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, controller, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    return false;
}

/* One line of /proc/self/cgroup: NUMBER:CONTROLLERS:PATH. Version 2 names no controller. */
static bool take_cgroup_line(char *line, const char *root, const char *controller, const char *old,
                             const char *unified, struct cgroup *ret)
{
    char top[CGROUP_PATH_MAX];
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return false;
    controllers++;
    *path++ = '\0';
    ret->unified = *controllers == '\0';
    if (!ret->unified && !has_controller(controllers, controller))
        return false;
    (void)snprintf(top, sizeof top, "%s/sys/fs/cgroup%s%s", root, ret->unified ? "" : "/",
                   ret->unified ? "" : controller);
    const char *file = ret->unified ? unified : old;
    return try_folder(ret, top, strcmp(path, "/") == 0 ? "" : path, file) ||
           try_folder(ret, top, "", file);
}

bool cgroup_find(const char *root, const char *controller, const char *old, const char *unified,
                 struct cgroup *ret)
{
    char line[LINE_MAX_LEN];
    bool found = false;
    *ret = (struct cgroup){0};
    drop_str char *list = xasprintf("%s/proc/self/cgroup", root);
    FILE *file = fopen(list, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = take_cgroup_line(line, root, controller, old, unified, ret);
    if (file)
        (void)fclose(file);
    return found;
}
