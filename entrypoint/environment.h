/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/environment.h - the environments of what the server starts, made from its own.
 * Kernels: PATH, HOME, USER, LOGNAME, LANG, LC_ALL, TZ and TMPDIR as the server has them, where
 *          Python keeps the user's packages, the extra CA bundle, and KERNEL_ENV_X as X. Nothing
 *          else of the server's environment: it may hold secrets.
 * pip:     the same without KERNEL_ENV_*, and PIP_*, the proxies' variables and those of TLS.
 * .env:    variables that the workspace's .env adds to the server's environment, as load_dotenv()
 *          of python-dotenv does; KERNEL_ENV_X among them too. */
#ifndef ENTRYPOINT_ENVIRONMENT_H
#define ENTRYPOINT_ENVIRONMENT_H

#include "base/err.h"

struct environment {
    char **kernel;   /* NAME=value…, NULL */
    char **pip;      /* likewise */
    char **template; /* as a kernel's, and IPYBOX_PRELOAD */
    char *user_base; /* where packages go that are installed */
    char **gateway;  /* likewise; with KG_AUTH_TOKEN when there is a token */
};

/* Reads <workspace>/.env into this process's environment; what is wrong with it is logged. */
void environment_load_dotenv(const char *workspace);

/* `ca` is the path of an extra CA bundle, `token` the gateway's; either may be NULL. -ENOENT… when
 * the bundle cannot be read. */
MUST_CHECK int environment_make(const char *workspace, const char *ca, const char *token,
                                struct environment *ret, struct err *e);
void environment_done(struct environment *env);

#endif
