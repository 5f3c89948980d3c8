/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp_http/mcp_peer.h - one dispatcher with its streams: a session of the handshake, or one
 * of the sessions that modern requests name (private to front/). */
#ifndef FRONT_MCP_HTTP_MCP_PEER_H
#define FRONT_MCP_HTTP_MCP_PEER_H

#include "front/mcp/mcp_stream.h"
#include "front/mcp_http/api_mcp.h"

enum { PEER_ID_BYTES = 16 };

struct mcp_peer {
    struct api_mcp *all;
    struct mcp_peer *next, *prev;
    bool is_handshake;
    char id[2 * PEER_ID_BYTES + 1]; /* handshake: Mcp-Session-Id */
    char *name;                     /* modern: the session's; NULL: requests that need none */
    bool holds;                     /* `held` must be given back */
    struct api_mcp_session held;
    struct mcp_config config;
    struct mcp *mcp;
    struct mcp_streams_config streams_config;
    struct mcp_streams streams;
    struct loop_timer idle; /* then it is over */
    int64_t used_ms;
};

struct api_mcp {
    struct api_mcp_config config;
    struct mcp_peer *peers; /* the newest first */
    size_t sessions;        /* of the handshake */
    bool stopping;
};

/* held == NULL: none is needed. It is given back when the peer is freed. */
struct mcp_peer *mcp_peer_new(struct api_mcp *all, bool is_handshake, const char *name,
                              const struct api_mcp_session *held);
/* Who waits is answered with this status. Not inside an event of the peer. */
void mcp_peer_free(struct mcp_peer *peer, int status, const char *why);

bool mcp_is_session_name(const char *name);
struct mcp_peer *mcp_peer_by_id(struct api_mcp *all, const char *id);
struct mcp_peer *mcp_peer_by_name(struct api_mcp *all, const char *name); /* NULL: the nameless */

/* The sentence for a name that is none. */
int mcp_refuse_name(struct err *e, const char *where);

/* A JSON-RPC error as the answer to a request. */
void mcp_refuse(struct http_request *r, int status, const char *id, int code, const char *fmt, ...)
    PRINTF(5, 6);
/* 503, and when to come back. */
void mcp_refuse_full(const struct api_mcp *all, struct http_request *r, const char *id,
                     const char *why);

/* The handshake era's part of /mcp. */
void mcp_handshake_post(struct api_mcp *all, struct http_request *r, struct rpc_message *m,
                        const struct mcp_caller *caller);
void mcp_handshake_batch(struct api_mcp *all, struct http_request *r,
                         const struct mcp_caller *caller);
void mcp_handshake_get(struct api_mcp *all, struct http_request *r);
void mcp_handshake_delete(struct api_mcp *all, struct http_request *r);

#endif
