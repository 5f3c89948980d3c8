/* SPDX-License-Identifier: Apache-2.0
 *
 * session/packages/packages.h - installs a Python package with pip, outside every kernel.
 * Where:   site-packages when it can be written to, else the user's (PYTHONUSERBASE); either is on
 *          the path of every kernel, so packages outlive resets.
 * Runs:    beside the cells, in a process tree of its own that ends with it. pip loads nothing from
 *          where cells can write: ipybox_pip/__main__.py. */
#ifndef SESSION_PACKAGES_PACKAGES_H
#define SESSION_PACKAGES_PACKAGES_H

#include <stdbool.h>

#include "audit/audit.h"
#include "base/err.h"
#include "sandbox/shim/spawn.h"
#include "session/packages/pip_settings.h"

struct sessions;

struct packages_config { /* borrowed, until the end of what it installs */
    struct spawner *spawner;
    const char *python;
    const char *const *envp;
    const char *workspace;              /* what a relative path of a package is below */
    const struct sandbox_spec *sandbox; /* what pip is put behind; NULL: nothing */
    const struct pip_place *walls; /* whose `settings` it gets settings of its own from; or NULL */
    /* Those that are in force in their place, of `sessions`; either NULL: there are no others. */
    const char *(*settings)(const struct sessions *sessions);
    const struct sessions *sessions;
    struct audit *audit; /* NULL: there is none; without its yes nothing is installed */
    void (*installed)(void *ctx, const char *package); /* was asked for and is there; may be NULL */
    void *ctx;
};

struct install_events {
    void (*text)(void *ctx, const char *text, size_t n); /* pip's output as it comes */
    /* Of a download, in bytes, about four times a second; total < 0: unknown. `what`: pip's line
     * before it. NULL: nobody wants to know. */
    void (*progress)(void *ctx, double progress, double total, const char *what);
    /* The last event. `output`: all that pip wrote; why: NULL when pip ended with status 0. */
    void (*finished)(void *ctx, const char *output, const struct err *why);
};

struct install;
MUST_CHECK int install_start(const struct packages_config *config, const char *package,
                             const struct install_events *events, void *ctx, struct install **ret,
                             struct err *e);
struct install *install_cancel(struct install *install); /* no event follows; NULL in, NULL out */

#endif
