/* SPDX-License-Identifier: Apache-2.0
 *
 * Streamable HTTP of 2025-03-26 to 2025-11-25: sessions that `initialize` makes. */
#include <string.h>

#include "base/alloc.h"
#include "front/mcp_http/mcp_http_head.h"
#include "front/mcp_http/mcp_peer.h"

/* The revisions since this one begin streams with an empty event, so that they can be resumed. */
static const char primes_since[] = "2025-11-25", no_batches_since[] = "2025-06-18";

static bool is_since(const struct mcp_peer *peer, const char *version)
{
    const char *own = mcp_version(peer->mcp);
    return own && strcmp(own, version) >= 0;
}

/* The session that a request belongs to; NULL: it has been answered. */
static struct mcp_peer *session_of(struct api_mcp *all, struct http_request *r, const char *id)
{
    const char *session = http_header(r, "Mcp-Session-Id");
    const char *version = http_header(r, "MCP-Protocol-Version");
    struct mcp_peer *peer = session ? mcp_peer_by_id(all, session) : NULL;
    if (!session)
        mcp_refuse(
            r, 400, id, RPC_INVALID_REQUEST,
            "Invalid Request: the header Mcp-Session-Id is needed; \"initialize\" gives one");
    else if (version && !mcp_handshake_serves(version))
        mcp_refuse(r, 400, id, RPC_INVALID_REQUEST,
                   "Invalid Request: MCP-Protocol-Version: %.64s is not served", version);
    else if (!peer)
        mcp_refuse(r, 404, id, RPC_INVALID_REQUEST, "Session not found: it is over, or never was");
    else
        return peer;
    return NULL;
}

static void accepted(struct http_request *r)
{
    http_answer(r, 202, NULL, 0, "", 0);
}

static const char *no_session(struct err *e)
{
    struct err why = *e;
    (void)err_set(e, why.code, "no session: %s", why.msg);
    return e->msg;
}

static struct mcp_peer *new_session(struct api_mcp *all, struct http_request *r, const char *id)
{
    const char *name = http_header(r, API_MCP_SESSION_HEADER);
    struct api_mcp_session held = {0};
    struct err e = ERR_NONE;
    bool full = all->sessions >= all->config.sessions_max && !api_mcp_make_room(all);
    if (full)
        (void)err_set(&e, -EAGAIN,
                      "there are %zu sessions, and no more are allowed; DELETE ends one",
                      all->sessions);
    if (all->stopping)
        mcp_refuse(r, 503, id, RPC_INTERNAL_ERROR, "the server is stopping");
    else if (full)
        mcp_refuse_full(all, r, id, e.msg);
    else if (all->config.session_for(all->config.ctx, name, &held, &e) < 0)
        mcp_refuse_full(all, r, id, no_session(&e));
    else
        return mcp_peer_new(all, true, NULL, &held);
    return NULL;
}

/* False: it has been answered. */
static bool check_session_header(struct http_request *r, const char *id)
{
    const char *name = http_header(r, API_MCP_SESSION_HEADER);
    struct err e = ERR_NONE;
    if (http_header_count(r, API_MCP_SESSION_HEADER) > 1)
        (void)err_set(&e, -EINVAL, API_MCP_SESSION_HEADER " is there more than once");
    else if (name && !mcp_is_session_name(name))
        (void)mcp_refuse_name(&e, API_MCP_SESSION_HEADER);
    else
        return true;
    mcp_refuse(r, 400, id, RPC_INVALID_REQUEST, "Invalid Request: %s", e.msg);
    return false;
}

static void on_initialize(struct api_mcp *all, struct http_request *r, const struct rpc_message *m,
                          const struct mcp_caller *caller)
{
    const char *version = http_header(r, "MCP-Protocol-Version");
    if (http_header(r, "Mcp-Session-Id")) {
        mcp_refuse(r, 400, m->id, RPC_INVALID_REQUEST,
                   "Invalid Request: \"initialize\" begins a session; this one has begun");
        return;
    }
    if (version && !mcp_handshake_serves(version)) {
        mcp_refuse(r, 400, m->id, RPC_INVALID_REQUEST,
                   "Invalid Request: MCP-Protocol-Version: %.64s is not served", version);
        return;
    }
    if (!json_get_text(m->params, "protocolVersion")) { /* before a kernel is started for it */
        mcp_refuse(r, 400, m->id, RPC_INVALID_PARAMS,
                   "Invalid params: protocolVersion: a string is needed");
        return;
    }
    if (!check_session_header(r, m->id))
        return;
    struct mcp_peer *peer = new_session(all, r, m->id);
    if (!peer)
        return;
    struct mcp_stream *stream = mcp_stream_open(&peer->streams, r);
    mcp_stream_expect(stream);
    mcp_dispatch(peer->mcp, stream, caller, m);
    peer->streams.primes = is_since(peer, primes_since);
}

void mcp_handshake_post(struct api_mcp *all, struct http_request *r, struct rpc_message *m,
                        const struct mcp_caller *caller)
{
    if (m->kind == RPC_REQUEST && strcmp(m->method, "initialize") == 0) {
        on_initialize(all, r, m, caller);
        return;
    }
    struct mcp_peer *peer = session_of(all, r, m->id);
    if (!peer)
        return;
    struct mcp_stream *stream = NULL;
    if (m->kind == RPC_REQUEST) {
        stream = mcp_stream_open(&peer->streams, r);
        mcp_stream_expect(stream);
    } else {
        accepted(r);
    }
    mcp_dispatch(peer->mcp, stream, caller, m);
}

static void one_of_batch(struct mcp_peer *peer, struct mcp_stream *stream,
                         const struct mcp_caller *caller, const struct json *one)
{
    drop_str char *text = json_print(one);
    struct rpc_message m;
    struct err e = ERR_NONE;
    if (!text)
        return;
    int r = rpc_parse(text, strlen(text), JSON_REQUEST, &m, &e);
    if (r < 0 || m.kind == RPC_REQUEST)
        mcp_stream_expect(stream);
    if (r < 0)
        mcp_answer_broken(peer->mcp, stream, m.id, &e);
    else
        mcp_dispatch(peer->mcp, stream, caller, &m);
    rpc_message_done(&m);
}

void mcp_handshake_batch(struct api_mcp *all, struct http_request *r,
                         const struct mcp_caller *caller)
{
    struct buf *body = http_body(r);
    struct err e = ERR_NONE;
    struct mcp_peer *peer = session_of(all, r, "null");
    if (!peer)
        return;
    if (is_since(peer, no_batches_since)) {
        mcp_refuse(r, 400, "null", RPC_INVALID_REQUEST,
                   "Invalid Request: there are no batches in this revision");
        return;
    }
    drop_json struct json *batch = json_parse(body->data, body->len, JSON_REQUEST, &e);
    if (!batch || json_count(batch) == 0) {
        mcp_refuse(r, 400, "null", batch ? RPC_INVALID_REQUEST : RPC_PARSE_ERROR, "%s",
                   batch ? "Invalid Request: an empty batch" : e.msg);
        return;
    }
    struct mcp_stream *stream = mcp_stream_open(&peer->streams, r);
    mcp_stream_expect(stream); /* until all of it has been read */
    for (const struct json *one = json_first(batch); one; one = json_next(one))
        one_of_batch(peer, stream, caller, one);
    mcp_stream_expect_less(stream);
}

void mcp_handshake_get(struct api_mcp *all, struct http_request *r)
{
    if (!mcp_head_accepts(http_header(r, "Accept"), "text/event-stream")) {
        mcp_refuse(r, 406, "null", RPC_INVALID_REQUEST,
                   "Not Acceptable: text/event-stream must be accepted");
        return;
    }
    struct mcp_peer *peer = session_of(all, r, "null");
    if (!peer)
        return;
    if (all->stopping)
        mcp_refuse(r, 503, "null", RPC_INTERNAL_ERROR, "the server is stopping");
    else if (mcp_streams_attach(&peer->streams, r, http_header(r, "Last-Event-ID")) < 0)
        mcp_refuse(r, 400, "null", RPC_INVALID_REQUEST,
                   "Invalid Request: Last-Event-ID: what came after it is not kept");
}

void mcp_handshake_delete(struct api_mcp *all, struct http_request *r)
{
    struct mcp_peer *peer = session_of(all, r, "null");
    if (!peer)
        return;
    mcp_peer_free(peer, 404, "the session was ended");
    http_answer(r, 200, NULL, 0, "", 0);
}
