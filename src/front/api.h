/* SPDX-License-Identifier: Apache-2.0
 *
 * front/api.h - the HTTP API: one port for an agent in the next container (docs/http-api.md), and a
 * Unix socket for the command line (docs/cli.md).
 * Tokens:  admin may do everything, execute everything but approving and registering servers,
 *          approve nothing but that. Without an admin and an execute token everybody who reaches
 *          the port may execute; nobody may approve without a token: code in kernels reaches it.
 * Socket:  root may do everything there, unless the server is root, too; who has the server's uid
 *          may execute; a token gives its role as on the port. Processes below the server, which is
 *          where code in kernels, packages and MCP servers are, get nothing without a token.
 * Calls:   loop thread only; nothing blocks. api_close() not from inside an event.
 * End:     api_stop() when no new work is taken, api_drain() when all cells have ended. */
#ifndef FRONT_API_H
#define FRONT_API_H

#include "approval/approvals.h"
#include "approval/toolplane.h"
#include "front/e2b/e2b.h"
#include "front/http/ahead.h"
#include "front/librechat/librechat.h"
#include "front/mcp_http/mcp_http.h"
#include "loop/loop.h"
#include "session/events/metrics.h"
#include "session/kernels/sessions.h"
#include "session/packages/packages.h"

struct api_config { /* copied; what it points to is borrowed */
    struct loop *loop;
    const char *host; /* NULL: no port */
    int port;
    struct ahead *ahead;   /* sockets that listen already; NULL: none */
    const char *workspace; /* absolute */
    const char *version;
    const char *console;  /* folder of the page at / (console/api_console.c); NULL: none */
    const char *instance; /* this server's name among others (http/instance.h) */
    /* As in struct http_config, beside the server's own (http/public_url.h). */
    const char *const *hosts, *const *origins;
    const char *admin_token, *execute_token, *approver_token; /* NULL: none */
    struct sessions *sessions;
    struct toolplane *toolplane;
    struct approvals *approvals;
    const struct metrics *metrics;
    struct audit *audit; /* NULL: there is none */
    const struct packages_config *packages;
    const char *sandbox_level;   /* that the machine grants; NULL: not known */
    const char *sandbox_detail;  /* a sentence */
    bool sandboxed;              /* kernels have one, not the walls alone */
    uid_t uid, kernel_uid;       /* the server's own, and that of kernels: two or one */
    struct mcp_http *mcp;        /* serves /mcp (mcp_http.h); NULL: nobody does */
    struct e2b *e2b;             /* answers its requests on this port, too; NULL: nobody does */
    struct librechat *librechat; /* likewise */
    bool alone; /* there is no other door: questions for a human wait here even if nobody looks */
};

struct api;
MUST_CHECK int api_open(const struct api_config *config, struct api **ret, struct err *e);
struct api *api_close(struct api *api); /* NULL in, NULL out */
int api_port(const struct api *api);
/* A Unix socket that listens already; it is taken over, also when this fails. */
MUST_CHECK int api_listen(struct api *api, int fd, struct err *e);

/* One more port, for the same requests. */
MUST_CHECK int api_listen_at(struct api *api, const char *host, int port, struct err *e);

/* From now on the server is not ready; what is under way goes on. */
void api_stop(struct api *api);

/* Ends the streams with a last event, and opens no more of them; done is called once everything has
 * been sent. */
void api_drain(struct api *api, loop_fn done, void *ctx);

#endif
