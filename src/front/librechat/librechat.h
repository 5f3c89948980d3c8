/* SPDX-License-Identifier: Apache-2.0
 *
 * front/librechat/librechat.h - LibreChat's CODE API, below /librechat/v1 on the HTTP API's port.
 * Owns:    requests whose code runs. Code runs in a session of its own, which ends with it; its
 *          files stay in a folder of the workspace, LIBRECHAT_FOLDER/ID, ID being what the client
 *          knows as the session.
 * Key:     IPYBOX_TOKEN, as X-API-Key or Bearer. Where the HTTP API asks for no token, neither
 *          does this.
 * Users:   with jwt_keys also a signed token of LibreChat, as Bearer. A user has sessions of its
 *          own, and shares those of an agent or a skill with its tenant's users; the key has others
 *          again.
 * Order:   opened before the HTTP API, which gets it in its struct api_config, and closed behind
 *          it: then no request is open any more.
 * Calls:   loop thread only; nothing blocks.
 * Limits:  LIBRECHAT_BODY_MAX bytes of a request, LIBRECHAT_UPLOAD_MAX of an upload,
 *          LIBRECHAT_FILES_MAX files of a session; as many runs as there may be sessions. */
#ifndef FRONT_LIBRECHAT_LIBRECHAT_H
#define FRONT_LIBRECHAT_LIBRECHAT_H

#include "approval/toolplane.h"
#include "audit/audit.h"
#include "front/http/http.h"
#include "loop/loop.h"
#include "session/kernels/sessions.h"

#define LIBRECHAT_PREFIX "/librechat/v1"
#define LIBRECHAT_FOLDER "librechat"
#define LIBRECHAT_BODY_MAX ((size_t)4 << 20)
#define LIBRECHAT_UPLOAD_MAX ((uint64_t)256 << 20)
#define LIBRECHAT_FILES_MAX 1000
#define LIBRECHAT_RESULTS_MAX ((size_t)16 << 20) /* bytes of a request with results of tools */
#define LIBRECHAT_WAIT_MS 300000 /* for those; then the code that waits for them is ended */

struct librechat_config { /* copied; what it points to is borrowed */
    struct loop *loop;
    struct sessions *sessions;
    const char *workspace; /* absolute */
    const char *key;       /* NULL: whoever reaches the port may do everything, unless: */
    const char
        *jwt_keys; /* the text of public keys (wire/token/jwks.h); NULL: no tokens of users */
    const char *jwt_issuer, *jwt_audience;
    struct audit *audit; /* NULL: there is none */
    struct toolplane *toolplane;
};

struct librechat;
MUST_CHECK int librechat_open(const struct librechat_config *config, struct librechat **ret,
                              struct err *e);
struct librechat *librechat_close(struct librechat *l); /* NULL in, NULL out */

/* No new work any more; what is under way goes on. */
void librechat_stop(struct librechat *l);

/* For `realm` of the port's struct http_config. NULL: the request is not for this wire. */
const struct http_realm *librechat_realm(const struct librechat *l, const struct http_request *r);

#endif
