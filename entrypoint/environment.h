/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/environment.h - the environments of what the server starts, made from its own.
 * Kernels: PATH, HOME, USER, LOGNAME, LANG, LC_ALL, TZ and TMPDIR as the server has them, where
 *          Python keeps the user's packages, the extra CA bundle, and KERNEL_ENV_X as X. Nothing
 *          else of the server's environment: it may hold secrets.
 * pip:     the same without KERNEL_ENV_*, and PIP_*, the proxies' variables and those of TLS; so do
 *          MCP servers, which npx and uvx may have to fetch first.
 * .env:    variables that the workspace's .env adds to the server's environment, as load_dotenv()
 *          of python-dotenv does; KERNEL_ENV_X among them too. */
#ifndef ENTRYPOINT_ENVIRONMENT_H
#define ENTRYPOINT_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct environment {
    char **kernel;   /* NAME=value…, NULL */
    char **pip;      /* likewise; of pip and of MCP servers */
    char **template; /* as a kernel's without `sandbox` below, and IPYBOX_PRELOAD */
    char *user_base; /* where packages go that are installed */
    char **gateway;  /* likewise; with KG_AUTH_TOKEN when there is a token */
};

/* Reads <workspace>/.env into this process's environment; what is wrong with it is logged. */
void environment_load_dotenv(const char *workspace);

struct environment_config {
    const char *workspace;
    const char *ca;            /* path of an extra CA bundle, or NULL */
    const char *gateway_token; /* or NULL */
    const char *tool_socket;   /* where code in kernels finds the tool plane */
    bool approve_shell_cmds, require_shell_escape;
    /* NAME=value of the sandbox that kernels run in, which KERNEL_ENV_X may overrule; n of them. */
    char *const *sandbox;
    size_t n_sandbox;
    const char
        *preload; /* of kernels' LD_PRELOAD, which KERNEL_ENV_LD_PRELOAD overrules; or NULL */
};

/* -ENOENT… when the bundle cannot be read. */
MUST_CHECK int environment_make(const struct environment_config *config, struct environment *ret,
                                struct err *e);
void environment_done(struct environment *env);

#endif
