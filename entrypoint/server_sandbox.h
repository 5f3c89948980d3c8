/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/server_sandbox.h - what the server puts kernels and MCP servers behind: the sandbox of
 * --sandbox, and the walls that there are without it.
 * Found out: once, at the start. Less than --sandbox-min, or settings that cannot be used, end it.
 * Owns:    the specs and what they name. */
#ifndef ENTRYPOINT_SERVER_SANDBOX_H
#define ENTRYPOINT_SERVER_SANDBOX_H

#include "entrypoint/options.h"
#include "sandbox/settings.h"
#include "sandbox/spec.h"

enum { SERVER_SANDBOX_DIRS = 4, SERVER_SANDBOX_DETAIL = 600 };

struct server_sandbox {
    const struct sandbox_spec *kernels, *servers; /* NULL: nothing can be had here */
    const char *level;                            /* what this machine grants */
    char detail[SERVER_SANDBOX_DETAIL];           /* a sentence about that */
    struct words variables; /* of kernels, NAME=value; none without --sandbox */
    const char *preload;    /* of kernels' LD_PRELOAD, or NULL */
    /* what these point to */
    struct sandbox_spec spec, server_spec;
    char *settings, *workspace, *ipython, *tool_socket;
    char **disk_places; /* NULL without --kernel-disk */
    const char *dirs[SERVER_SANDBOX_DIRS], *sockets[2];
    uint16_t ports[2];
};

/* Before there are threads. `tool_socket`: where code in kernels finds the tool plane. */
MUST_CHECK int server_sandbox_open(const struct options *options, const char *workspace,
                                   const char *tool_socket, struct server_sandbox *ret,
                                   struct err *e);
void server_sandbox_done(struct server_sandbox *s);

#endif
