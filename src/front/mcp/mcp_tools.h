/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp/mcp_tools.h - the tools that an MCP client sees, as one table (private to front/).
 * Names, arguments, defaults and texts are those of the Python ipybox, which clients and prompts
 * are written for; what is new is optional. */
#ifndef FRONT_MCP_MCP_TOOLS_H
#define FRONT_MCP_MCP_TOOLS_H

#include "front/mcp/mcp_call.h"

/* The value of "tools" in a tools/list result: a JSON array. */
void tools_put_list(struct jsonw *w, const struct mcp_request *r);

/* config: some tools are offered by option. */
bool tool_exists(const struct mcp_config *config, const char *name);
/* The argument "session", where there are several. */
bool tool_takes_session(const struct mcp_config *config, const char *name);

/* Starts the call; its answer comes later, or at once when the arguments are wrong. */
void tool_call(struct mcp_call *call, const char *name, const struct json *arguments);

#endif
