/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/client/era.h - finds the era of a server: the requests of 2026-07-28, or the handshake of
 * 2024-11-05 to 2025-11-25, or that over HTTP+SSE (private to tools/).
 * Ladder:  server/discover; its answer decides. Any other error and silence: initialize, on the
 *          same connection; a program that ended is started again for that. HTTP that does not
 *          know initialize either (400, 404, 405): the event stream of 2024-11-05. 401, 403, 5xx
 *          and a failed connection say nothing about the era and are reported.
 * Owner:   era_stop() gives it up with its connection; no event comes after it. `found` hands the
 *          connection over and is, like `failed`, the last event.
 * Calls:   loop thread only; events come from the loop, never from inside a call. */
#ifndef TOOLS_CLIENT_ERA_H
#define TOOLS_CLIENT_ERA_H

#include "tools/client/peer.h"

#define ERA_MODERN_VERSION "2026-07-28"
#define ERA_OFFERED_VERSION "2025-11-25" /* in the handshake */
#define ERA_PROBE_MS 10000

enum era { ERA_UNKNOWN, ERA_MODERN, ERA_HANDSHAKE, ERA_SSE };

struct era_found { /* borrowed for the call */
    enum era era;
    bool list_changed; /* the server announces changes of its tools */
    bool has_tools;    /* it says that it has tools */
};

struct era_events {
    void (*found)(void *ctx, struct server_peer *peer, const struct era_found *found);
    void (*failed)(void *ctx, const struct err *why);
};

struct era_finder;
/* known: what was found before, to save a probe; ERA_UNKNOWN at first. */
MUST_CHECK int era_find(const struct peer_config *config, enum era known,
                        const struct era_events *events, void *ctx, struct era_finder **ret,
                        struct err *e);
struct era_finder *era_stop(struct era_finder *finder); /* NULL in, NULL out */

/* Members of a modern request's "_meta", which is open. */
void era_put_envelope(struct jsonw *w, const struct tools_config *config);

/* {"roots":[…]} as the value that is due. */
void era_put_roots(struct jsonw *w, const struct tools_config *config);

/* A notification "notifications/message" or a request that can come at any time is answered here:
 * ping, roots/list, and a refusal of what is unknown. False: it is the caller's (elicitation). */
bool era_serve(const struct tools_config *config, struct server_peer *peer, const char *id,
               const char *method);

#endif
