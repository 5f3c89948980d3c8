/* SPDX-License-Identifier: Apache-2.0
 *
 * jupyter/gateway.h - the process of the bundled Jupyter Kernel Gateway: ipybox_gateway/.
 * Owns:    one process tree. Who wants another when it has ended starts another.
 * Sockets: it listens on `socket`, which is made anew, and has its kernels run through `supervisor`
 *          (front/supervise.h).
 * Log:     every line that it writes is handed to `log`. */
#ifndef JUPYTER_GATEWAY_H
#define JUPYTER_GATEWAY_H

#include "base/log.h"
#include "sandbox/spawn.h"

struct gateway_config { /* borrowed */
    struct spawner *spawner;
    const char *python;
    const char *const *envp; /* KG_AUTH_TOKEN in it is the token that is asked for */
    const char *cwd;
    const char *socket, *supervisor; /* paths */
    void (*log)(enum log_level level, const char *text);
    void (*ended)(void *ctx); /* it is freed */
    void *ctx;
};

struct gateway;
MUST_CHECK int gateway_start(const struct gateway_config *config, struct gateway **ret,
                             struct err *e);
struct gateway *gateway_stop(struct gateway *gateway); /* NULL in, NULL out */

#endif
