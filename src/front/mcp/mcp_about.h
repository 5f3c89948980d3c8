/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp/mcp_about.h - what a client learns beside the answers (private to front/): the
 * instructions, which name the MCP servers that code may call, and that these have changed.
 * Change:  the description of register_mcp_server names the registered servers, too. A client of
 *          the handshake hears notifications/tools/list_changed; one of the modern era does on each
 *          subscriptions/listen that asked for toolsListChanged. */
#ifndef FRONT_MCP_MCP_ABOUT_H
#define FRONT_MCP_MCP_ABOUT_H

#include "front/mcp/mcp_call.h"

void put_instructions(struct jsonw *w, const struct mcp *mcp);

/* "git (12 tools), github (26 tools)"; nothing when there is none. At most ABOUT_SERVERS_MAX. */
#define ABOUT_SERVERS_MAX 20
void put_registered_servers(struct buf *out, const struct mcp *mcp);

void about_open(struct mcp *mcp); /* from here on its client hears of changes */
void about_close(struct mcp *mcp);

/* The answer to subscriptions/listen; the call stays open. */
void about_listen(struct mcp_call *call, const struct json *params);

#endif
