/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp_http/mcp_http_head.h - the headers of MCP over HTTP (private to front/; no state).
 * Source:  modelcontextprotocol.io specification, Streamable HTTP of 2025-06-18 to 2026-07-28. */
#ifndef FRONT_MCP_HTTP_MCP_HTTP_HEAD_H
#define FRONT_MCP_HTTP_MCP_HTTP_HEAD_H

#include "front/http/http.h"
#include "wire/jsonrpc.h"

/* Whether an Accept header takes this media type ("application/json"), maybe by a wildcard. */
bool mcp_head_accepts(const char *accept, const char *type);

/* Modern: MCP-Protocol-Version, Mcp-Method and Mcp-Name are there once, and say what the message
 * says. */
MUST_CHECK int mcp_head_mirrors(const struct http_request *r, const struct rpc_message *m,
                                struct err *e);

#endif
