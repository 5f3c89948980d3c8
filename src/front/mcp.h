/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp.h - the Model Context Protocol over any stream of lines, in both of its eras.
 * Eras:    2024-11-05 to 2025-11-25 by handshake; 2026-07-28 per request. Which one is decided for
 *          each message: a request that carries the version in its _meta is served statelessly,
 *          whatever came before; anything else follows the handshake's rules.
 * Owner:   one `struct mcp` per peer; it owns the calls in flight and cancels them when freed.
 * Calls:   loop thread only; nothing blocks.
 * Source:  modelcontextprotocol.io specification, revisions 2024-11-05 … 2026-07-28. */
#ifndef FRONT_MCP_H
#define FRONT_MCP_H

#include <stdbool.h>
#include <stddef.h>

#include "loop/loop.h"
#include "session/packages.h"
#include "session/session.h"
#include "session/toolplane.h"

struct mcp_config { /* borrowed */
    struct loop *loop;
    struct session *session;
    struct packages_config packages;
    struct toolplane *toolplane;
    const char *version;         /* of this program */
    struct approvals *approvals; /* asked from this peer when it can be; NULL: there are none */
    const char *session_id;      /* the session's in approvals; NULL: asked for every one */
};

struct mcp_events {
    void (*send)(void *ctx, const char *message, size_t n); /* one message, without a line break */
    void (*idle)(void *ctx); /* the last open request has been answered */
};

struct mcp;
struct mcp *mcp_new(const struct mcp_config *config, const struct mcp_events *events, void *ctx);
struct mcp *mcp_free(struct mcp *mcp); /* NULL in, NULL out */

/* One message of the peer; the text is changed in the course. */
void mcp_message(struct mcp *mcp, char *text, size_t len);

/* A message over `limit` bytes was dropped; id as written, or "". */
void mcp_too_long(struct mcp *mcp, const char *id, size_t limit);

/* Nothing can be heard from the peer any more: it is not asked, and what it was asked goes to the
 * next approver. Open requests go on. */
void mcp_input_ended(struct mcp *mcp);

bool mcp_is_idle(const struct mcp *mcp);

#endif
