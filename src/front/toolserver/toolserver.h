/* SPDX-License-Identifier: Apache-2.0
 *
 * front/toolserver/toolserver.h - the tool server: calls and approvals over HTTP, the wire of
 * mcpygen 0.1.4.
 * Routes:  GET /status, PUT /reset, POST /run, POST /approve, WebSocket /approval.
 * Trust:   who calls is known by the token (http_auth.h). An application may call, approve and
 *          reset; an approver may only open /approval; code in a kernel may call and approve for
 *          its own session. A server that is open lets in who brings no token, where its owner says
 *          so of the connection. A token may stand in both lists. A kernel's never opens /approval.
 * Channel: one approver at a time; a second waits TOOLSERVER_JOIN_MS for the first to leave, then
 *          it gets 403. What is no answer on the channel closes it with 1007, and nothing else.
 *          A question has one member more than the old wire: params.server_shown, the server's
 *          real command or URL.
 * Calls:   loop thread only; nothing blocks. toolserver_close() cancels open calls.
 * Limits:  TOOLSERVER_BODY_MAX; those of http.h. */
#ifndef FRONT_TOOLSERVER_TOOLSERVER_H
#define FRONT_TOOLSERVER_TOOLSERVER_H

#include "approval/approvals.h"
#include "approval/toolplane.h"
#include "front/http/http.h"

#define TOOLSERVER_BODY_MAX ((uint64_t)16 << 20)
#define TOOLSERVER_ANSWER_MAX ((size_t)128 << 20)
#define TOOLSERVER_JOIN_MS 5000

struct toolserver_config { /* copied; what it points to is borrowed */
    struct loop *loop;
    struct toolplane *plane;
    struct approvals *approvals;
    const char *host;
    int port;
    const struct http_limits *limits;                   /* NULL: the usual */
    const char *const *hosts, *const *origins;          /* as in struct http_config */
    const char *instance;                               /* likewise; NULL: there is none */
    const char *const *applications, *const *approvers; /* tokens; end with NULL; may be NULL */
    const char *application_session; /* whose policy counts for an application's calls */
    /* Whether it is a kernel's token, and of which session. NULL: no kernel calls. */
    bool (*kernel_token)(void *ctx, const char *token, const char **session);
    /* Whether a request without a token, on this connection, has the rights of an application and
     * of an approver. NULL: none has. */
    bool (*open_to)(void *ctx, int fd);
    void *ctx;
    struct audit *audit; /* NULL: there is none */
};

struct toolserver;
MUST_CHECK int toolserver_open(const struct toolserver_config *config, struct toolserver **ret,
                               struct err *e);
struct toolserver *toolserver_close(struct toolserver *server); /* NULL in, NULL out */

/* Cancels the calls of this kernel's token, which is not valid any more. */
void toolserver_revoke(struct toolserver *s, const char *token);
int toolserver_port(const struct toolserver *server);

#endif
