/* SPDX-License-Identifier: Apache-2.0
 *
 * jupyter/template.h - the process that has imported ipykernel once and forks kernels.
 * Protocol: a Unix socket (SOCK_SEQPACKET), the template's descriptor 3, one JSON object a packet;
 *          ipybox_kernel/template.py describes them. For each kernel it gets its shim's control
 *          socket and the kernel's output (SCM_RIGHTS), forks M, which forks the kernel and
 *          becomes `ipybox shim 3 --adopt PID`.
 * Failing: a template that dies is replaced, and so is one that takes more than TEMPLATE_START_MS,
 *          which is killed. It is replaced later each time, until one has lived for a minute.
 *          Kernels that were asked of it end as if their process could not be started.
 * Trust:   it runs outside the walls of kernels, so all that it has loaded is the image's; what
 *          users have is loaded by each fork, behind its walls.
 * Renewed: when packages of the image were installed, whose new versions its forks would not see,
 *          and when it has grown by TEMPLATE_GROWTH_MAX bytes. */
#ifndef JUPYTER_TEMPLATE_H
#define JUPYTER_TEMPLATE_H

#include <stdbool.h>

#include "base/log.h"
#include "sandbox/shim/spawn.h"

#define TEMPLATE_START_MS 30000
#define TEMPLATE_GROWTH_MAX ((size_t)64 << 20)

struct template_config { /* borrowed */
    struct loop *loop;
    struct spawner *spawner;
    const char *python;
    const char *const *envp;
    const char *cwd;
    const char *forks; /* the library of sandbox/preload/forks.c; NULL: no kernel can be forked */
    void (*log)(enum log_level level, const char *text);
};

struct template;

/* Never fails: without a template template_usable() is false. */
struct template *template_open(const struct template_config *config);
struct template *template_close(struct template *t); /* NULL in, NULL out */

/* False: start the kernel the ordinary way. True while it is still starting up. */
bool template_usable(struct template *t);

/* Packages were installed, also by users, since this was last asked: what it forked before may lack
 * them. */
bool template_packages_changed(struct template *t);

/* A kernel with exactly this environment, behind `sandbox` (NULL: nothing); the events are as those
 * of child_start(). */
struct template_kernel {
    const char *connection_file, *cwd;
    const char *const *envp;
    const struct sandbox_spec *sandbox;
    const int *fds; /* of link_fds() */
};
MUST_CHECK int template_fork(struct template *t, const struct template_kernel *kernel,
                             const struct child_events *events, void *ctx, struct child **ret,
                             struct err *e);

#endif
