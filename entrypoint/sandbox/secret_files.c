/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/sandbox/secret_files.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/service.h"
#include "sandbox/policy/pathname.h"

#define VOLUME_LINK "/..data" /* of Kubernetes' secrets and config maps */

int secret_files_note(const char *variable, const char *path, struct err *e)
{
    char absolute[PATH_MAX], cwd[PATH_MAX];
    if (strchr(path, '\n'))
        return err_set(e, -EINVAL, "%s: a path without a line break is needed", variable);
    int r = getcwd(cwd, sizeof cwd) ? path_clean(cwd, path, absolute) : -errno;
    if (r < 0)
        return err_set(e, r, "%s: %s: %s", variable, path, strerror(-r));
    const char *before = getenv(SECRET_FILES_VARIABLE);
    drop_str char *all =
        xasprintf("%s%s%s=%s", before ? before : "", before ? "\n" : "", variable, absolute);
    return setenv(SECRET_FILES_VARIABLE, all, 1) < 0 ? err_set(e, -errno, "setenv") : 0;
}

/* --- who may do what -------------------------------------------------------------------------- */

/* Also by changing its mode first. */
static bool is_ours(const char *path, int mode)
{
    struct stat st;
    return may_access(path, mode) || (lstat(path, &st) == 0 && st.st_uid == geteuid());
}

/* Could another file be put in its place? */
static bool can_be_replaced(const char *path)
{
    drop_str char *dir = xstrdup(path);
    for (char *slash; (slash = strrchr(dir, '/')) != NULL;) {
        slash[slash == dir] = '\0';
        if (is_ours(dir, W_OK))
            return true;
        if (slash == dir)
            break;
    }
    return false;
}

struct secret {
    const char *name; /* of the variable or option */
    char path[PATH_MAX], real[PATH_MAX];
    struct words links; /* on the way */
};

static bool is_open_to_code(const struct secret *secret)
{
    bool open =
        is_ours(secret->real, R_OK) || is_ours(secret->real, W_OK) || can_be_replaced(secret->real);
    for (size_t i = 0; i < secret->links.count && !open; i++)
        open = can_be_replaced(secret->links.items[i]);
    return open;
}

/* --- hiding ----------------------------------------------------------------------------------- */

static int hide_volumes(const struct secret *secret, struct server_sandbox *s, struct err *e)
{
    int r = 0;
    for (size_t i = 0; i < secret->links.count && r == 0; i++) {
        const char *link = secret->links.items[i], *slash = strrchr(link, '/');
        if (slash == link || strcmp(slash, VOLUME_LINK) != 0)
            continue;
        drop_str char *volume = xstrndup(link, (size_t)(slash - link));
        r = server_sandbox_hide(s, OF_ALL, volume, e);
    }
    return r;
}

static int refuse_secret_file(const struct secret *secret, const char *why, struct err *e)
{
    const int n = (int)(strlen(secret->name) - strlen("_FILE"));
    return err_set(e, -EPERM,
                   "%s: %s: code could read or replace it as uid %u, and %s: let root alone read "
                   "it (mode 0400) and start as root, or give %.*s instead (in Kubernetes by "
                   "secretKeyRef)",
                   secret->name, secret->path, geteuid(), why, n, secret->name);
}

static int hide_secret(const struct secret *secret, struct server_sandbox *s, struct err *e)
{
    struct stat st;
    if (lstat(secret->real, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink > 1)
        return refuse_secret_file(secret, "it has other names", e);
    int r = server_sandbox_hide(s, OF_ALL, secret->path, e);
    if (r == 0)
        r = hide_volumes(secret, s, e);
    if (r == 0 && server_sandbox_open_place(s, OF_ALL))
        r = refuse_secret_file(secret, "nothing here can hide it there (ipybox doctor)", e);
    return r;
}

static int find_secret_file(const char *name, const char *path, struct secret *ret, struct err *e)
{
    char cwd[PATH_MAX];
    *ret = (struct secret){.name = name};
    int r = getcwd(cwd, sizeof cwd) ? path_clean(cwd, path, ret->path) : -errno;
    r = r < 0 ? r : path_resolve(ret->path, ret->real, &ret->links);
    return r < 0 ? err_set(e, r, "%s: %s: %s", name, path, strerror(-r)) : 0;
}

static int hide_noted(const char *name, const char *path, struct server_sandbox *s, struct err *e)
{
    struct secret secret;
    int r = find_secret_file(name, path, &secret, e);
    if (r == 0 && is_open_to_code(&secret))
        r = hide_secret(&secret, s, e);
    words_done(&secret.links);
    return r;
}

/* Files that the operator gave: whoever writes there decides at the next start. */
static int guard_option(const char *name, const char *path, bool secret_too,
                        struct server_sandbox *s, struct err *e)
{
    struct secret found;
    int r = path ? find_secret_file(name, path, &found, e) : -ENOENT;
    if (!path)
        return 0;
    if (r == 0 && is_open_to_code(&found))
        r = secret_too ? server_sandbox_hide(s, OF_ALL, found.path, e)
                       : server_sandbox_keep(s, OF_ALL, found.path, e);
    words_done(&found.links);
    return r;
}

/* Where there is no such file yet, a cell could make one for the next start. */
static int guard_settings(const struct options *o, struct server_sandbox *s, struct err *e)
{
    char absolute[PATH_MAX], cwd[PATH_MAX];
    if (!o->sandbox)
        return 0;
    if (!o->sandbox_config || server_sandbox_config_there(o))
        return guard_option("--sandbox-config", o->sandbox_config, false, s, e);
    int r = getcwd(cwd, sizeof cwd) ? path_clean(cwd, o->sandbox_config, absolute) : -errno;
    if (r < 0)
        return err_set(e, r, "--sandbox-config: %s: %s", o->sandbox_config, strerror(-r));
    return server_sandbox_keep(s, OF_KERNELS | OF_PIP, absolute, e);
}

int secret_files_hide(const struct options *o, struct server_sandbox *s, struct err *e)
{
    const char *noted = getenv(SECRET_FILES_VARIABLE);
    drop_str char *all = xstrdup(noted ? noted : "");
    (void)unsetenv(SECRET_FILES_VARIABLE);
    int r = 0;
    for (char *rest = all, *line; r == 0 && (line = strsep(&rest, "\n")) != NULL;) {
        char *equals = strchr(line, '=');
        if (!equals)
            continue;
        *equals = '\0';
        r = hide_noted(line, equals + 1, s, e);
    }
    if (r == 0)
        r = guard_option("--mcp-servers", o->mcp_servers, true, s, e);
    if (r == 0)
        r = guard_option("--tool-policy", o->tool_policy, false, s, e);
    if (r == 0)
        r = guard_option("--librechat-jwt-keys", o->librechat_jwt_keys, false, s, e);
    return r < 0 ? r : guard_settings(o, s, e);
}
