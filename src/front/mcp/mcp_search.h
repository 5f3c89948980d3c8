/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp/mcp_search.h - the MCP tool search_tools, for agents that look for tools without
 * running code (private to front/). It is offered where mcp_config says so. */
#ifndef FRONT_MCP_MCP_SEARCH_H
#define FRONT_MCP_MCP_SEARCH_H

#include "front/mcp/mcp_call.h"

extern const char search_tools_json[]; /* the tool, as tools/list has it */

MUST_CHECK int search_tools_tool(struct mcp_call *call, const struct json *arguments,
                                 struct err *e);

#endif
