/* SPDX-License-Identifier: Apache-2.0
 *
 * jupyter/gateway.h - the process of the bundled Jupyter Kernel Gateway: ipybox_gateway/.
 * Owns:    one process tree. After its end the caller starts another one.
 * Sockets: none of it has a name. It is started with one end of a pair of SOCK_SEQPACKET: there it
 *          says "r" when it serves, gets each of its clients as "h" with a descriptor, and sends
 *          "s" with a descriptor for each connection on which it has its kernels run
 *          (front/gateway/supervise.h); and with the directory of the kernels' sockets, which it
 *          could not enter by its name.
 * Log:     every line that it writes is handed to `log`, as far as `gate` lets it pass. */
#ifndef JUPYTER_GATEWAY_H
#define JUPYTER_GATEWAY_H

#include "base/log.h"
#include "loop/gate.h"
#include "sandbox/shim/spawn.h"

struct gateway_config { /* borrowed */
    struct loop *loop;
    struct spawner *spawner;
    const char *python;
    const char *const *envp; /* KG_AUTH_TOKEN in it is the token that is asked for */
    const char *cwd;
    int channels;                    /* the directory of kernel_config.channels, open with O_PATH */
    void (*asks)(void *ctx, int fd); /* a connection of its supervisor, owned */
    void (*log)(enum log_level level, const char *text);
    struct gate *gate;        /* NULL: none */
    void (*ended)(void *ctx); /* it is freed */
    void *ctx;
};

struct gateway;
MUST_CHECK int gateway_start(const struct gateway_config *config, struct gateway **ret,
                             struct err *e);
/* A new connection to it: a socket, not blocking, owned. -EAGAIN: it takes none yet. */
MUST_CHECK int gateway_connect(struct gateway *gateway);
struct gateway *gateway_stop(struct gateway *gateway); /* NULL in, NULL out */

#endif
