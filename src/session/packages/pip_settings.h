/* SPDX-License-Identifier: Apache-2.0
 *
 * session/packages/pip_settings.h - the settings of pip's sandbox, if kernels have one: packages
 * run code when they are installed.
 * Files:   what kernels may not read it may not either, nor .env; it writes where packages go, its
 *          cache and temporary files, and nothing else of the workspace.
 * Network: the hosts that its environment names (indexes, links, proxies), pypi.org and
 *          files.pythonhosted.org without an index of its own, the host in the package's own
 *          address, and those that the operator adds. */
#ifndef SESSION_PACKAGES_PIP_SETTINGS_H
#define SESSION_PACKAGES_PIP_SETTINGS_H

#include "base/err.h"
#include "sandbox/policy/settings.h"

struct pip_place {           /* borrowed */
    const char *settings;    /* of kernels; NULL: there are none, or nobody judges hosts */
    const char *tmp;         /* "TMPDIR=…", which kernels have; or NULL */
    const char *hosts;       /* that are added, with commas between them; or NULL */
    const char *user_base;   /* where packages go, */
    const char *site;        /* or there; NULL: it cannot be written */
    const char *const *envp; /* of pip */
};

/* *ret_text is the caller's; *ret_hosts, too (words_done()): for messages. */
MUST_CHECK int pip_settings(const struct pip_place *place, const char *package, char **ret_text,
                            struct words *ret_hosts, struct err *e);

#endif
