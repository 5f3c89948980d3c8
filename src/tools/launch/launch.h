/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/launch/launch.h - how a stdio MCP server is started: which program, in which directory,
 * with which environment (private to tools/).
 * Secrets: a server holds one when its parameters have a member of "env" or of "headers", or a
 *          ${VAR} anywhere. Nothing that a cell can write is then loaded or run by us: not the
 *          packages of cells, and no program or script in a folder of theirs.
 * Program: looked for in the PATH of the base (folders of the system), then in the server's own
 *          folder, then, without a secret, among the packages of cells. One with a slash is below
 *          the working directory.
 * cwd:     "cwd", else the operator's, else the workspace without a secret and the server's own
 *          folder with one. */
#ifndef TOOLS_LAUNCH_LAUNCH_H
#define TOOLS_LAUNCH_LAUNCH_H

#include "tools/launch/place.h"
#include "tools/transport/params.h"

struct server_launch {
    bool secret;
    char *program; /* absolute; NULL: somewhere else, or it is not there yet */
    char *folder;  /* its own; NULL: none */
    char *cwd;     /* where it works */
    char *note;    /* one line for the answer to its registration */
    char *missing; /* the spec of which it first needs a copy; NULL: it can be started */
};

/* `params` passed params_check(). *ret_params: as of params_read(), ready to be started.
 * -ENOENT, -EACCES: there is no program that may be run, and what can be done about that. */
MUST_CHECK int launch_make(const struct tools_config *tools, const struct place_specs *specs,
                           const char *name, const struct json *params, struct server_launch *ret,
                           struct params *ret_params, struct err *e);
void launch_done(struct server_launch *launch);

/* What the server, or what works in its folder, is put behind: it writes its own folder, and no
 * other server's. *into has to stay as long as that is used. NULL: nothing. */
struct launch_walls {
    struct sandbox_spec spec;
    const char *own[2];
};
const struct sandbox_spec *launch_confine(const struct tools_config *tools, const char *folder,
                                          struct launch_walls *into);

/* Why it holds a secret, for a human; NULL: it does not. */
const char *launch_secret(const struct json *params);

/* --- a copy of a package ---------------------------------------------------------------------- */

struct copy;
struct copy_events {
    void (*text)(void *ctx, const char *text, size_t n); /* what pip says */
    void (*done)(void *ctx, const struct err *why);      /* the last one; NULL: it is there */
};
/* Installs launch->missing into its folder. */
MUST_CHECK int copy_start(const struct tools_config *tools, const struct server_launch *launch,
                          const struct copy_events *events, void *ctx, struct copy **ret,
                          struct err *e);
struct copy *copy_stop(struct copy *copy); /* no event comes after it; NULL in, NULL out */

#endif
