/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/server/server_place.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/service.h"
#include "entrypoint/installation.h"
#include "sandbox/confine/places.h"

static bool is_below_place(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* *ret: its canonical name. */
static int make(const char *path, char **ret, struct err *e)
{
    char real[PATH_MAX];
    struct stat st;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_set(e, -errno, "%s cannot be made: %s", path, strerror(errno));
    if (!realpath(path, real) || lstat(real, &st) < 0)
        return err_set(e, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || !may_access(real, W_OK | X_OK))
        return err_set(e, -EACCES, "%s: must be a writable directory that belongs to uid %u", path,
                       (unsigned)geteuid());
    if ((st.st_mode & 077) && chmod(real, 0700) < 0)
        return err_set(e, -errno, "%s: its mode cannot be made 0700: %s", path, strerror(errno));
    *ret = xstrdup(real);
    return 0;
}

/* Natively below the user's cache, whose folders are made. */
static char *usual_place(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (!installation_is_native())
        return xstrdup(SERVER_PLACE_DIR);
    bool given = cache && *cache == '/';
    drop_str char *base = given ? xstrdup(cache) : xasprintf("%s/.cache", home ? home : "");
    drop_str char *above = xasprintf("%s/ipybox", base);
    (void)mkdir(base, 0700);
    (void)mkdir(above, 0700);
    return xasprintf("%s/servers", above);
}

static int find_dir(const struct options *o, const char *workspace, const char *fallback,
                    struct server_place *place, struct err *e)
{
    struct err why = ERR_NONE;
    if (o->servers_dir) {
        int r = make(o->servers_dir, &place->dir, e);
        if (r == 0 && is_below_place(place->dir, workspace))
            r = err_set(e, -EINVAL, "%s is in the workspace, where cells and clients write",
                        place->dir);
        return r < 0 ? err_wrap(e, "--servers-dir") : 0;
    }
    drop_str char *usual = usual_place();
    if (make(usual, &place->dir, &why) == 0)
        return 0;
    drop_str char *path = xasprintf("%s/servers", fallback ? fallback : "");
    if (!fallback || make(path, &place->dir, NULL) < 0)
        place->dir = NULL;
    if (installation_is_native())
        log_info("tools", "%s, so the caches and settings of MCP servers are lost when ipybox ends",
                 why.msg);
    else
        log_info("tools",
                 "%s, so the caches and settings of MCP servers are lost when the "
                 "container ends, and servers with a secret cannot use packages of "
                 "install_package; a volume at " SERVER_PLACE_ABOVE " helps",
                 why.msg);
    return 0;
}

static bool is_executable(const char *dir)
{
    struct statvfs fs;
    return statvfs(dir, &fs) == 0 && !(fs.f_flag & ST_NOEXEC);
}

int server_place_open(const struct options *options, const char *workspace, const char *fallback,
                      struct server_place *ret, struct err *e)
{
    struct server_place *place = ret;
    *place = (struct server_place){.place = {.npm_shell = installation_npm_shell()}};
    if (options->mcp_cwd) {
        char real[PATH_MAX];
        if (!realpath(options->mcp_cwd, real))
            return err_set(e, -errno, "--mcp-cwd %s: %s", options->mcp_cwd, strerror(errno));
        place->cwd = xstrdup(real);
        place->place.cwd = place->cwd;
    }
    int r = find_dir(options, workspace, fallback, place, e);
    if (r < 0 || !place->dir)
        return r;
    place->place.open = installation_is_native() && !options->sandbox;
    place->place.writable = installation_is_native() ? workspace : NULL;
    bool usual = strcmp(place->dir, SERVER_PLACE_DIR) == 0;
    place->keep = xstrdup(usual ? SERVER_PLACE_ABOVE : place->dir);
    place->place.dir = place->dir;
    place->place.runs = is_executable(place->dir);
    return 0;
}

static bool is_held(const struct server_sandbox *sandbox, const char *path)
{
    const char *const list[] = {path, NULL};
    const char *not_held = NULL;
    struct sandbox_spec spec = sandbox->spec;
    spec.kept = list; /* hiding takes the same */
    spec.hidden = NULL;
    return sandbox->kernels && places_can_be_held(&spec, &not_held);
}

int server_place_keep(struct server_place *place, struct server_sandbox *sandbox, struct err *e)
{
    if (!place->keep)
        return 0;
    bool cheap = !places_need_broker(place->keep, NULL, NULL);
    const unsigned cells = OF_KERNELS | OF_PIP;
    /* What servers keep there (logins that npx and uvx have fetched) is theirs. Hiding takes a
     * broker, which kernels with settings have, and those whose uid the server has; where they have
     * none it would keep them from sandboxes of their own. */
    const bool hides = sandbox->settings || (cheap && !service_there());
    const unsigned hidden = hides ? cells : OF_OFFERED | OF_DOORS;
    int r = server_sandbox_hide(sandbox, hidden, place->keep, e);
    if (r == 0)
        r = server_sandbox_keep(sandbox, cells & ~hidden, place->keep, e);
    if (r == 0 && cheap)
        r = server_sandbox_keep(sandbox, OF_SERVERS, place->keep, e);
    if (r < 0)
        return r;
    place->place.kept =
        place->place.writable || ((cheap || geteuid() == 0) && is_held(sandbox, place->keep));
    if (!place->place.kept)
        log_info("tools",
                 "%s is not protected from cells: that takes Landlock, and folders "
                 "above it that only root can write. MCP servers with a secret get no "
                 "packages and no npx there",
                 place->keep);
    return 0;
}

void server_place_done(struct server_place *place)
{
    xfree(place->dir);
    xfree(place->cwd);
    xfree(place->keep);
    *place = (struct server_place){0};
}
