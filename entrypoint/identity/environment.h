/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/identity/environment.h - the environments of all that is started, made from the
 * server's own.
 *
 * The law: what runs outside the walls of a kernel takes no code, no program and no setting from
 * where a cell can write. environment_build() makes every environment of it, whatever it is for:
 *   PATH     folders of the system alone, and programs are started by their absolute paths
 *            (environment_python()). Of an MCP server that is started natively: the user's PATH,
 *            without folders of the workspace;
 *   HOME     a folder of ipybox in which nobody puts anything: no user configuration of IPython,
 *            Jupyter, pip, git or npm, no .bashrc;
 *   PYTHON*  no user site (PYTHONNOUSERSITE), no folder of a script (PYTHONSAFEPATH), and none of
 *            the workspace's; the server's own Python programs run with -I as well;
 *   cwd      ENVIRONMENT_CWD, and not the workspace.
 * The workspace's .env is such a place: of it only environment_lookup() and KERNEL_ENV_* are taken.
 * User site, its .pth files, ~/.ipython and ~/.jupyter are for kernels, once their walls stand.
 *
 * Kernels: PATH, HOME, USER, LOGNAME, LANG, LC_ALL, TZ and TMPDIR as the server has them, where
 *          Python keeps the user's packages, the extra CA bundle, in a container with a CPU quota
 *          how many threads that is worth (PYTHON_CPU_COUNT, OMP_NUM_THREADS, …), and KERNEL_ENV_X
 *          as X. Nothing else of the server's environment: it may hold secrets. */
#ifndef ENTRYPOINT_IDENTITY_ENVIRONMENT_H
#define ENTRYPOINT_IDENTITY_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define ENVIRONMENT_CWD "/"
#define ENVIRONMENT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

enum environment_purpose {
    ENVIRONMENT_TEMPLATE, /* of kernels: with IPYBOX_PRELOAD, and a kernel's LD_PRELOAD */
    ENVIRONMENT_GATEWAY,  /* with KG_AUTH_TOKEN when there is a token */
    ENVIRONMENT_PIP,      /* and the list of packages: PIP_*, the variables of proxies and of TLS */
    /* An MCP server: as pip's, for npx and uvx may have to fetch it first, and with UV_* and
     * npm_config_*. What it has for itself alone comes to that: tools/launch/surroundings.h. */
    ENVIRONMENT_SERVER,
    ENVIRONMENT__COUNT
};

struct environment_config {
    const char *workspace;
    const char *ca;            /* path of an extra CA bundle, or NULL */
    const char *gateway_token; /* or NULL */
    const char *instance;      /* likewise */
    const char *tool_socket;   /* where code in kernels finds the tool plane */
    bool approve_shell_cmds, require_shell_escape;
    /* NAME=value of the sandbox that kernels run in, which KERNEL_ENV_X may overrule; n of them. */
    char *const *sandbox;
    size_t n_sandbox;
    const char
        *preload; /* of kernels' LD_PRELOAD, which KERNEL_ENV_LD_PRELOAD overrules; or NULL */
};

struct environment { /* each: NAME=value…, NULL */
    char **kernel;
    char **outside[ENVIRONMENT__COUNT];
    char *user_base; /* where packages go that are installed */
};

/* -ENOENT… when the bundle cannot be read. */
MUST_CHECK int environment_make(const struct environment_config *config, struct environment *ret,
                                struct err *e);
void environment_done(struct environment *env);

/* One environment of the law, for what the server does not start; the caller frees it with
 * environment_free(). */
char **environment_build(const struct environment_config *config, enum environment_purpose purpose,
                         const char *user_base);
/* That of kernels, for those with another sandbox than environment_make() was told of. */
char **environment_kernel(const struct environment_config *config, const char *user_base);
char **environment_free(char **envp); /* NULL in, NULL out */

/* Reads <workspace>/.env, for environment_lookup() and kernels. What is wrong with it is logged,
 * and once, by their names, variables that programs would heed if they came another way. */
void environment_load_dotenv(const char *workspace);

/* Logs which KG_ variables of this process have no effect. */
void environment_warn_of_gateway(void);

/* A variable of this process, else of .env: for ${NAME} in the parameters of an MCP server. */
const char *environment_lookup(const char *name);

/* The absolute path of a program: as given, or of the first one on this process's PATH. The caller
 * frees it. -ENOENT. */
MUST_CHECK int environment_python(const char *given, char **ret, struct err *e);

#endif
