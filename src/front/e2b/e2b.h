/* SPDX-License-Identifier: Apache-2.0
 *
 * front/e2b/e2b.h - E2B's wire: the sessions of the server as sandboxes of E2B's SDKs.
 * Owns:    the sandboxes that were made by this wire: names, tokens, metadata, and when they end.
 *          What a sandbox is underneath is a session, with its kernel, queue and executions.
 * Planes:  control (/sandboxes), envd (files, processes) and the code interpreter (/execute). All
 *          are served on the HTTP API's port, envd and the interpreter also on ports of their own.
 * Keys:    control takes IPYBOX_TOKEN as X-API-KEY; a sandbox takes its own tokens, which create()
 *          returns. Where the HTTP API asks for no token, neither does this.
 * Order:   opened before the HTTP API, which gets it in its struct api_config, and closed behind
 *          it: then no request is open any more.
 * Calls:   loop thread only; nothing blocks.
 * Limits:  as many sandboxes as there may be sessions; a body of E2B_BODY_MAX bytes. */
#ifndef FRONT_E2B_E2B_H
#define FRONT_E2B_E2B_H

#include "audit/audit.h"
#include "front/http/http.h"
#include "loop/loop.h"
#include "session/kernels/sessions.h"

#define E2B_ENVD_PORT 49983 /* as clients name it, wherever it is served */
#define E2B_CODE_PORT 49999
#define E2B_BODY_MAX ((size_t)4 << 20)

struct e2b_config { /* copied; what it points to is borrowed */
    struct loop *loop;
    struct sessions *sessions;
    const char *workspace;    /* absolute */
    const char *key;          /* NULL: whoever reaches the port may do everything */
    struct audit *audit;      /* NULL: there is none */
    int envd_port, code_port; /* of their own; 0: none */
};

struct e2b;
struct e2b *e2b_open(const struct e2b_config *config);
struct e2b *e2b_close(struct e2b *e); /* NULL in, NULL out */

/* No new work any more; what is under way goes on. */
void e2b_stop(struct e2b *e);
/* The sessions have ended: streams that go on without them end. */
void e2b_drain(struct e2b *e);

/* For `realm` of the port's struct http_config. NULL: the request is not for this wire. */
const struct http_realm *e2b_realm(struct e2b *e, const struct http_request *r);

#endif
