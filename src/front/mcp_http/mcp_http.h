/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp_http/mcp_http.h - MCP over HTTP on the sessions of the server: what answers at /mcp of
 * the HTTP API.
 * Handshake: a session of its own for each, which ends with it. It has no kernel until its first
 *            cell; one that never ran anything makes room when there are too many.
 *            One that a client names (API_MCP_SESSION_HEADER) is as below.
 * Modern:    a session by its name. One that was not there is made, and ends after
 *            MCP_HTTP_IDLE_MS without a request.
 * Order:     it is opened before the HTTP API, which gets it in its struct api_config, and closed
 *            after it: then no request is open any more.
 * Calls:     loop thread only; nothing blocks. */
#ifndef FRONT_MCP_HTTP_MCP_HTTP_H
#define FRONT_MCP_HTTP_MCP_HTTP_H

#include "front/mcp/mcp.h"
#include "session/kernels/sessions.h"

#define MCP_HTTP_IDLE_MS ((int64_t)30 * 60 * 1000)
#define MCP_HTTP_SESSIONS_MAX 1000 /* sessions.h has the limit that counts */

struct api;
struct api_mcp;

struct mcp_http_config {   /* copied; what it points to is borrowed */
    struct mcp_config mcp; /* for all; session and session_id are put in for each */
    struct sessions *sessions;
};

struct mcp_http;
struct mcp_http *mcp_http_open(const struct mcp_http_config *config);
struct mcp_http *mcp_http_close(struct mcp_http *m); /* NULL in, NULL out */

/* No new sessions any more; streams that only listen are closed. Open requests go on. */
void mcp_http_stop(struct mcp_http *m);

/* For api_open(): requests come from this API, which knows what their tokens are good for. */
struct api_mcp *mcp_http_serve(struct mcp_http *m, const struct api *api);

#endif
