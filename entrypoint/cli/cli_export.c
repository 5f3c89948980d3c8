/* SPDX-License-Identifier: Apache-2.0
 *
 * ipybox export: a session as a notebook or as a script, on standard output or in a file. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "entrypoint/cli/cli.h"
#include "entrypoint/cli/cli_client.h"
#include "entrypoint/identity/identity.h"
#include "files/spot.h"
#include "sandbox/policy/pathname.h"

#define NAME "export"

/* By its name, where nothing else is said. */
static bool wants_script(const struct options *o)
{
    const char *dot = o->n_words > 0 ? strrchr(o->words[0], '.') : NULL;
    return o->format ? strcmp(o->format, "py") == 0 : dot && strcmp(dot, ".py") == 0;
}

/* --- the file --------------------------------------------------------------------------------- */

/* Where code in cells makes links; it is the directory of the default session. */
static int find_workspace(char ret[PATH_MAX], struct err *e)
{
    drop_json struct json *session = NULL;
    const struct cli_request request = {.method = "GET", .path = "/v1/sessions/default"};
    int r = cli_fetch_json(&request, &session, e);
    if (r < 0)
        return r;
    const char *cwd = json_get_text(session, "cwd");
    return cwd && realpath(cwd, ret) ? 0 : err_set(e, -ENOENT, "the workspace is not to be found");
}

/* The first part of `path` that leads to the workspace, or into it; *ret_rest: what is behind.
 * NONE: it does not lead there. */
static struct beneath enter_workspace(const char *path, const char *workspace,
                                      const char **ret_rest)
{
    char part[PATH_MAX], real[PATH_MAX];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        (void)snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        drop_fd int fd = open(part, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            break;
        *ret_rest = slash + 1;
        if (beneath_real_of(fd, real) && path_is_under(real, workspace))
            return beneath_of(fd_take(&fd));
    }
    return BENEATH_NONE;
}

static int find_outside(const char *path, struct spot *ret, struct err *e)
{
    const char *slash = strrchr(path, '/');
    struct beneath top = BENEATH_NONE;
    drop_str char *folder = xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
    bool root = geteuid() == 0; /* who follows no link that somebody else may have laid */
    int r = beneath_open(root ? "/" : folder, &top, e);
    if (r == 0)
        r = spot_find(&top, root ? path + 1 : slash + 1, root ? SPOT_NO_LINKS : SPOT_AS_IT_IS, NULL,
                      SPOT_WRITE, ret);
    beneath_close(&top);
    return r;
}

/* *ret_inside: it is in the workspace, where links are code's. None is followed there. */
static int find_file(const char *path, struct spot *ret, bool *ret_inside, struct err *e)
{
    char workspace[PATH_MAX], clean[PATH_MAX], cwd[PATH_MAX];
    const char *rest = NULL;
    int r = find_workspace(workspace, e);
    if (r < 0)
        return r;
    r = getcwd(cwd, sizeof cwd) ? path_clean(cwd, path, clean) : -errno;
    if (r < 0)
        return r;
    struct beneath top = enter_workspace(clean, workspace, &rest);
    *ret_inside = top.root >= 0;
    if (!*ret_inside)
        return find_outside(clean, ret, e);
    r = spot_find(&top, rest, SPOT_NO_LINKS, NULL, SPOT_WRITE, ret);
    beneath_close(&top);
    return r;
}

static int fail_file(const char *path, bool inside, int code, struct err *e)
{
    if (*e->msg)
        return code;
    if (code == -ELOOP)
        return err_set(e, code,
                       "%s: a link is on the way; name the folder that it leads to, or write to "
                       "standard output",
                       path);
    if (code == -EACCES && inside)
        return err_set(e, code,
                       "%s: the workspace's owner may not write there; name a folder of the "
                       "owner's, or write to standard output",
                       path);
    return err_set(e, code, "%s: %s", path, strerror(-code));
}

/* A file that is there is not replaced: it may be the one that somebody works in. In the workspace
 * it is the owner's. */
static int write_new_file(const char *path, const struct buf *text, struct err *e)
{
    drop_held struct spot spot = SPOT_NONE;
    bool inside = false;
    int r = find_file(path, &spot, &inside, e);
    if (r == 0 && inside)
        r = identity_become_owner(false, e);
    drop_fd int fd = r < 0 ? r : spot_create(&spot, 0666);
    if (fd < 0)
        return fail_file(path, inside, fd, e);
    r = fd_write(fd, buf_text(text), text->len);
    return r < 0 ? err_set(e, r, "%s: %s", path, strerror(-r)) : 0;
}

static int export_session(const struct options *o, struct err *e)
{
    drop_buf struct buf text = BUF_INIT(CLI_ANSWER_MAX);
    drop_str char *path = cli_path("/v1/sessions/", o->session,
                                   wants_script(o) ? "/notebook?format=py" : "/notebook");
    const struct cli_request request = {.method = "GET", .path = path};
    int r = cli_fetch(&request, &text, e);
    if (r < 0)
        return r;
    if (o->n_words > 0 && strcmp(o->words[0], "-") != 0)
        return write_new_file(o->words[0], &text, e);
    cli_put(STDOUT_FILENO, &text);
    return 0;
}

int cli_export(const struct options *o)
{
    struct err e = ERR_NONE;
    if (o->format && strcmp(o->format, "py") != 0 && strcmp(o->format, "ipynb") != 0) {
        cli_complain(NAME, "--format: ipynb or py is needed");
        return OPTIONS_USAGE_STATUS;
    }
    if (export_session(o, &e) == 0)
        return 0;
    cli_complain(NAME, "%s", e.msg);
    return CLI_FAILED;
}
