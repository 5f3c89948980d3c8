/* SPDX-License-Identifier: Apache-2.0
 *
 * front/agentsandbox/agentsandbox.h - the runtime's side of kubernetes-sigs/agent-sandbox: the
 * default session as the sandbox that a pod is.
 * Serves:  the contract of its python-runtime at one port (/execute, /upload, /download, /list,
 *          /exists), sandboxd's at others: REST (/v1/files, /v1/health, /v1/metadata), and gRPC
 *          (process.v1.ProcessService).
 * Keys:    IPYBOX_TOKEN or IPYBOX_EXECUTE_TOKEN, as the HTTP API takes them; health needs none.
 *          Without a token, or `open`, whoever reaches the ports may run code.
 * Files:   the workspace alone, and of it what code in cells may (judge.h), for every client.
 * Calls:   loop thread only; nothing blocks.
 * Limits:  AGENTSANDBOX_OUTPUT_MAX bytes of each stream of a command, AGENTSANDBOX_OUTPUTS_MAX of
 *          all that run; AGENTSANDBOX_ENTRIES_MAX names of a folder. */
#ifndef FRONT_AGENTSANDBOX_AGENTSANDBOX_H
#define FRONT_AGENTSANDBOX_AGENTSANDBOX_H

#include <sys/socket.h>

#include "audit/audit.h"
#include "front/http/ahead.h"
#include "loop/loop.h"
#include "session/kernels/sessions.h"

#define AGENTSANDBOX_OUTPUT_MAX ((size_t)4 << 20)
#define AGENTSANDBOX_OUTPUTS_MAX ((size_t)64 << 20)
#define AGENTSANDBOX_ENTRIES_MAX 10000

struct agentsandbox_config { /* copied; what it points to is borrowed */
    struct loop *loop;
    struct sessions *sessions;
    const char *workspace; /* absolute */
    const char *host;
    int port;                          /* of the python-runtime's contract */
    bool given;                        /* another door listens there: agentsandbox_take() */
    int rest_port;                     /* of sandboxd's; may be the same: then that one alone */
    int grpc_port;                     /* of sandboxd's calls; 0: none */
    struct ahead *ahead;               /* sockets that listen already; NULL: none */
    const char *token, *execute_token; /* NULL: there is none */
    const char *instance;              /* which all answers name; NULL: they name none */
    bool open;                         /* no token is asked for, whatever there is */
    struct audit *audit;               /* NULL: there is none */
};

struct agentsandbox;
MUST_CHECK int agentsandbox_open(const struct agentsandbox_config *config,
                                 struct agentsandbox **ret, struct err *e);
struct agentsandbox *agentsandbox_close(struct agentsandbox *a); /* NULL in, NULL out */
/* With `given`: a connection to the port of the python-runtime's contract; fd is taken over. */
void agentsandbox_take(struct agentsandbox *a, int fd, const struct sockaddr *from, socklen_t n);
/* Commands are refused from now on, and health says so. */
void agentsandbox_stop(struct agentsandbox *a);
/* done: every answer is written. */
void agentsandbox_drain(struct agentsandbox *a, loop_fn done, void *ctx);

#endif
