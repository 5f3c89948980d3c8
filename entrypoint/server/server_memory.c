/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/server/server_memory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hmac.h"
#include "base/log.h"
#include "base/service.h"
#include "entrypoint/installation.h"
#include "sandbox/policy/pathname.h"

enum { FOLDER_NAME = 16 }; /* digits of a digest */

static const char folder[] = "registrations";

static int use_state_dir(const char *path, const char *workspace, struct server_memory *memory,
                         struct err *e)
{
    char real[PATH_MAX];
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_set(e, -errno, "--state-dir %s: %s", path, strerror(errno));
    if (!realpath(path, real))
        return err_set(e, -errno, "--state-dir %s: %s", path, strerror(errno));
    if (path_is_under(real, workspace))
        return err_set(e, -EINVAL, "--state-dir %s is in the workspace, where cells write", real);
    if (!may_access(real, W_OK | X_OK))
        return err_set(e, -EACCES, "--state-dir %s cannot be written by uid %u", real,
                       (unsigned)geteuid());
    memory->base = xstrdup(real);
    memory->files.parts[0] = folder;
    return 0;
}

/* All on the way is made as well. */
static bool make_state_home(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    (void)mkdir(path, 0700);
    return may_access(path, W_OK | X_OK);
}

static void use_home(const char *workspace, struct server_memory *memory)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char hex[HMAC_HEX + 1];
    if (state && *state == '/')
        memory->base = xstrdup(state);
    else if (home && *home == '/')
        memory->base = xasprintf("%s/.local/state", home);
    if (!memory->base || !make_state_home(memory->base)) {
        log_info("tools", "registrations of MCP servers are not stored: no folder for them is "
                          "writable (--state-dir names one)");
        xfree(memory->base);
        memory->base = NULL;
        return;
    }
    sha256_hex(workspace, strlen(workspace), hex);
    memory->folder = xstrndup(hex, FOLDER_NAME);
    memory->files.parts[0] = "ipybox";
    memory->files.parts[1] = memory->folder;
}

/* By no link: below the base none is followed (remembered.h). */
static void name_records(struct server_memory *memory)
{
    const struct remembered *files = &memory->files;
    char real[PATH_MAX];
    memory->records =
        xasprintf("%s/%s%s%s", realpath(files->base, real) ? real : files->base, files->parts[0],
                  files->parts[1] ? "/" : "", files->parts[1] ? files->parts[1] : "");
}

/* Where code has our uid, its sandbox keeps it away: all of it, where all of it has one. */
static int hide_memory(struct server_memory *memory, struct server_sandbox *sandbox, struct err *e)
{
    const char *path = memory->records;
    if (!sandbox || memory->files.own)
        return 0;
    if (!sandbox->settings)
        return server_sandbox_hide(sandbox, OF_OFFERED, path, e);
    int r = server_sandbox_hide(sandbox, OF_KERNELS | OF_PIP, path, e);
    memory->files.closed = r == 0 && !server_sandbox_open_place(sandbox, OF_KERNELS | OF_PIP);
    return r;
}

int server_memory_open(const struct options *options, const char *workspace,
                       struct server_sandbox *sandbox, struct server_memory *ret, struct err *e)
{
    struct server_memory *memory = ret;
    *memory = (struct server_memory){
        .files = {.own = service_there(), .sandbox = sandbox && sandbox->settings}};
    int r = 0;
    if (options->state_dir) {
        r = use_state_dir(options->state_dir, workspace, memory, e);
    } else if (!installation_is_native() && may_access(installation_npm_shell(), F_OK)) {
        memory->base = xstrdup(workspace);
        memory->files.parts[0] = ".ipybox";
        memory->files.parts[1] = folder;
    } else {
        use_home(workspace, memory);
    }
    memory->files.base = memory->base;
    if (r < 0 || !memory->base)
        return r;
    name_records(memory);
    return hide_memory(memory, sandbox, e);
}

const struct remembered *server_memory_files(const struct server_memory *memory)
{
    return memory->files.base ? &memory->files : NULL;
}

void server_memory_done(struct server_memory *memory)
{
    xfree(memory->base);
    xfree(memory->folder);
    xfree(memory->records);
    *memory = (struct server_memory){0};
}
