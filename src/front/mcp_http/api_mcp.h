/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp_http/api_mcp.h - MCP at /mcp: Streamable HTTP, in both eras, by the dispatcher of
 * mcp.h.
 * Handshake: `initialize` makes a session with a kernel of its own, known by the Mcp-Session-Id of
 *            its answer. A connection that breaks cancels nothing. DELETE ends the session, and
 *            idle_ms without a connection and a call. With the header API_MCP_SESSION_HEADER it
 *            uses the session of that name, which outlives it.
 * Modern:    each request stands for itself; execute_ipython_cell and reset take the name of a
 *            session ("default" without one). Closing the connection cancels the request.
 * Sessions:  the owner's: asked for by session_for(), given back by session_done(). One that ends
 *            by itself is told by api_mcp_session_ended().
 * Calls:     loop thread only; nothing blocks. Close the http door first: then nobody waits here.
 * Limits:    sessions_max; mcp_stream.h; a message of API_MCP_BODY_MAX bytes. */
#ifndef FRONT_MCP_HTTP_API_MCP_H
#define FRONT_MCP_HTTP_API_MCP_H

#include "front/http/http.h"
#include "front/mcp/mcp.h"

#define API_MCP_BODY_MAX ((size_t)2 << 20)
#define API_MCP_NAME_MAX 64 /* of a session */
#define API_MCP_SESSION_HEADER "Ipybox-Session"
#define API_MCP_FRESH_MS ((int64_t)10000)

struct api_mcp_session {
    struct session *session;
    const char *id; /* in approvals; borrowed, as is the session, until session_done() or its end */
    void *handle;   /* the owner's */
};

struct api_mcp_config { /* copied; what it points to is borrowed */
    struct loop *loop;
    const struct mcp_config *mcp; /* for all; session and session_id are put in for each */
    size_t sessions_max;          /* of the handshake era */
    int64_t idle_ms;
    /* name: a session of this name, made when there is none; NULL: a new one of its own. *e: a
     * sentence for the client. */
    int (*session_for)(void *ctx, const char *name, struct api_mcp_session *ret, struct err *e);
    void (*session_done)(void *ctx, void *handle);
    void (*session_used)(void *ctx, void *handle); /* a request has come or gone; may be NULL */
    void (*idle)(void *ctx); /* api_mcp_is_idle() may be true now; may be NULL */
    /* What the bearer of a request may beside executing; NULL: nothing. */
    void (*rights)(void *ctx, const struct http_request *r, struct mcp_caller *caller);
    void *ctx;
};

struct api_mcp;
struct api_mcp *api_mcp_open(const struct api_mcp_config *config);
struct api_mcp *api_mcp_close(struct api_mcp *all); /* NULL in, NULL out */

/* All its cells have been told their end, and it will be freed: who waits is told so, it is used no
 * more, and not given back. Not inside an event of the http door or of the session. */
void api_mcp_session_ended(struct api_mcp *all, const void *handle);

/* Ends the session of the handshake that was used least lately among those that ran nothing and
 * that nobody is connected to for API_MCP_FRESH_MS. False: there is none. */
bool api_mcp_make_room(struct api_mcp *all);
/* Seconds after which it is worth to try again when all are taken. */
int api_mcp_retry_s(const struct api_mcp *all);

/* No new sessions any more; streams that only listen are closed. Open requests go on. */
void api_mcp_stop(struct api_mcp *all);
bool api_mcp_is_idle(const struct api_mcp *all); /* no request waits for its answer */

#endif
