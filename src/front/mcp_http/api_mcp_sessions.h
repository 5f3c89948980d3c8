/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp_http/api_mcp_sessions.h - MCP over HTTP on the sessions of the server (private to
 * front/).
 * Handshake: a session of its own for each, which ends with it. It has no kernel until its first
 *            cell; one that never ran anything makes room when there are too many.
 * Modern:    a session by its name. One that was not there is made, and ends after API_MCP_IDLE_MS
 *            without a request. */
#ifndef FRONT_MCP_HTTP_API_MCP_SESSIONS_H
#define FRONT_MCP_HTTP_API_MCP_SESSIONS_H

#include "front/api/api_parts.h"

#define API_MCP_IDLE_MS ((int64_t)30 * 60 * 1000)
#define API_MCP_SESSIONS_MAX 1000 /* sessions.h has the limit that counts */

struct api_mcp_sessions;

/* Sets api->mcp. */
struct api_mcp_sessions *api_mcp_sessions_open(struct api *api);
/* Closes api->mcp; after http_close(). NULL in, NULL out. */
struct api_mcp_sessions *api_mcp_sessions_close(struct api_mcp_sessions *m);

#endif
