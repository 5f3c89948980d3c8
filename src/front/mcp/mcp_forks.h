/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp/mcp_forks.h - the tools fork and end_session (private to front/).
 * A peer with a session of its own (stdio, a session of the handshake) has its branches beside it:
 *          its calls name them, it alone does, and they end with it.
 * Peers that share (stateless, over HTTP) name any session; the forks idle out as others do. */
#ifndef FRONT_MCP_MCP_FORKS_H
#define FRONT_MCP_MCP_FORKS_H

#include "front/mcp/mcp_call.h"

extern const char fork_json[], end_session_json[]; /* rows of the table in mcp_tools.c */
MUST_CHECK int fork_tool(struct mcp_call *call, const struct json *arguments, struct err *e);
MUST_CHECK int end_session_tool(struct mcp_call *call, const struct json *arguments, struct err *e);

void forks_open(struct mcp *mcp);
void forks_close(struct mcp *mcp); /* ends the branches; calls are dropped after it */

/* Fills in the session of a call; name: of its arguments, or NULL. -EINVAL, -ENOENT. */
MUST_CHECK int forks_find_session(struct mcp_call *call, const struct json *name, struct err *e);
bool forks_has(const struct mcp *mcp, const char *session); /* it is a branch of this peer */

#endif
