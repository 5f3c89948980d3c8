/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp/mcp_resources.h - what a client can read beside calling tools: a session's notebook,
 * what of it waits for a human, and the pages of front/apps/ (private to front/).
 * Names:   ipybox://sessions/ID/notebook.ipynb, …/notebook.py and …/approvals.json. Where sessions
 *          are named by each call, any that is there; else the peer's own, whose approvals are
 *          ipybox://session/approvals.json, too.
 * Limits:  as of session/history/notebook.h. */
#ifndef FRONT_MCP_MCP_RESOURCES_H
#define FRONT_MCP_MCP_RESOURCES_H

#include "front/mcp/mcp_call.h"

/* The lists have one page: a cursor that is no null is answered with an error, and true. */
bool mcp_refuses_cursor(const struct mcp_request *r);

void list_resources(const struct mcp_request *r);
void list_resource_templates(const struct mcp_request *r);
void read_resource(const struct mcp_request *r);

#endif
