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

/* Where a tool's schema has the session's name, when there are several: a row's JSON is JSON but
 * for this. */
#define TOOL_SESSION_HERE "\1"

/* Arguments. Numbers may come as text ("120"): models write them so, and clients were never told
 * no. -EINVAL, whose message begins with the name. */
MUST_CHECK int tool_number(const struct json *arguments, const char *name, double fallback,
                           double *ret, struct err *e);
MUST_CHECK int tool_flag(const struct json *arguments, const char *name, bool *ret, struct err *e);

/* Starts the call; its answer comes later, or at once when the arguments are wrong. */
void tool_call(struct mcp_call *call, const char *name, const struct json *arguments);

#endif
