/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp_http/api_mcp.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "front/api/api_internal.h"
#include "front/http/http_context.h"
#include "front/mcp/mcp_tools.h"
#include "front/mcp_http/mcp_http_head.h"
#include "front/mcp_http/mcp_peer.h"

/* --- opening and closing ---------------------------------------------------------------------- */

struct api_mcp *api_mcp_open(const struct api_mcp_config *config)
{
    struct api_mcp *all = NEW(struct api_mcp);
    all->config = *config;
    return all;
}

struct api_mcp *api_mcp_close(struct api_mcp *all)
{
    if (!all)
        return NULL;
    all->config.idle = NULL;
    while (all->peers)
        mcp_peer_free(all->peers, 503, "the server is stopping");
    xfree(all);
    return NULL;
}

void api_mcp_session_ended(struct api_mcp *all, const void *handle)
{
    struct mcp_peer *next = NULL;
    for (struct mcp_peer *peer = all->peers; peer; peer = next) {
        next = peer->next;
        if (!peer->holds || peer->held.handle != handle)
            continue;
        peer->holds = false;
        mcp_peer_free(peer, 404, "the session is over");
    }
}

static bool is_forgotten(const struct mcp_peer *peer)
{
    return peer->is_handshake && peer->holds && peer->streams.connected == 0 &&
           !mcp_has_calls(peer->mcp) && session_is_untouched(peer->held.session);
}

bool api_mcp_make_room(struct api_mcp *all)
{
    int64_t now = loop_now(all->config.loop);
    struct mcp_peer *oldest = NULL;
    for (struct mcp_peer *peer = all->peers; peer; peer = peer->next) {
        if (is_forgotten(peer) && (!oldest || peer->used_ms < oldest->used_ms))
            oldest = peer;
    }
    if (!oldest || now - oldest->used_ms < API_MCP_FRESH_MS)
        return false;
    log_info("mcp",
             "session %s ends to make room for another: it ran nothing and was not used for %lld s",
             oldest->held.id, (long long)(now - oldest->used_ms) / 1000);
    mcp_peer_free(oldest, 404, "the session is over");
    return true;
}

int api_mcp_retry_s(const struct api_mcp *all)
{
    int64_t now = loop_now(all->config.loop), least = all->config.idle_ms;
    for (const struct mcp_peer *peer = all->peers; peer; peer = peer->next) {
        int64_t lives = is_forgotten(peer) ? API_MCP_FRESH_MS : all->config.idle_ms;
        int64_t left = peer->used_ms + lives - now;
        if (peer->is_handshake && peer->streams.connected == 0 && left < least)
            least = left;
    }
    return least < 1000 ? 1 : (int)((least + 999) / 1000);
}

void api_mcp_stop(struct api_mcp *all)
{
    all->stopping = true;
    for (struct mcp_peer *peer = all->peers; peer; peer = peer->next) {
        mcp_streams_stop_listening(&peer->streams);
        mcp_stop_listening(peer->mcp);
    }
}

bool api_mcp_is_idle(const struct api_mcp *all)
{
    const struct mcp_peer *peer = all->peers;
    while (peer && mcp_is_idle(peer->mcp) && peer->streams.connected == 0)
        peer = peer->next;
    return !peer;
}

/* --- the modern era --------------------------------------------------------------------------- */

static struct mcp_peer *nameless(struct api_mcp *all)
{
    struct mcp_peer *peer = mcp_peer_by_name(all, NULL);
    return peer ? peer : mcp_peer_new(all, false, NULL, NULL);
}

/* Who has the task that a request is of. */
static struct mcp_peer *peer_of_task(struct api_mcp *all, const char *id)
{
    struct mcp_peer *peer = all->peers;
    while (peer && (!id || peer->is_handshake || !mcp_has_task(peer->mcp, id)))
        peer = peer->next;
    return peer ? peer : nameless(all);
}

/* Who serves this request. NULL with *e: its session cannot be had. */
static struct mcp_peer *peer_for(struct api_mcp *all, const struct rpc_message *m, struct err *e)
{
    if (strncmp(m->method, "tasks/", 6) == 0)
        return peer_of_task(all, json_get_text(m->params, "taskId"));
    const char *tool = json_get_text(m->params, "name");
    const char *version = json_get_text(json_get(m->params, "_meta"), MCP_VERSION_KEY);
    bool calls = strcmp(m->method, "tools/call") == 0 && tool && tool_exists(all->config.mcp, tool);
    if (!calls || !version || strcmp(version, MCP_MODERN_VERSION) != 0)
        return nameless(all);
    const struct json *named = tool_takes_session(all->config.mcp, tool)
                                   ? json_get(json_get(m->params, "arguments"), "session")
                                   : NULL;
    const char *name = named ? json_text(named) : "default";
    if (!name || !mcp_is_session_name(name)) {
        (void)mcp_refuse_name(e, "session");
        return NULL;
    }
    struct mcp_peer *peer = mcp_peer_by_name(all, name);
    struct api_mcp_session held = {0};
    if (peer)
        return peer;
    int r = all->config.session_for(all->config.ctx, name, &held, e);
    return r < 0 ? NULL : mcp_peer_new(all, false, name, &held);
}

static void serve_modern(struct api_mcp *all, struct http_request *r, const struct rpc_message *m,
                         const struct mcp_caller *caller)
{
    struct err e = ERR_NONE;
    if (mcp_has_envelope(m) && mcp_head_mirrors(r, m, &e) < 0) {
        mcp_refuse(r, 400, m->id, RPC_HEADER_MISMATCH, "%s", e.msg);
        return;
    }
    struct mcp_peer *peer = mcp_has_envelope(m) ? peer_for(all, m, &e) : nameless(all);
    bool refused = !peer;
    if (refused)
        peer = nameless(all);
    struct mcp_stream *stream = mcp_stream_open(&peer->streams, r);
    mcp_stream_expect(stream);
    if (refused)
        mcp_refuse_call(peer->mcp, stream, m, e.msg);
    else
        mcp_dispatch(peer->mcp, stream, caller, m);
}

/* What the modern era does with the message, by the body's word or by the header's. */
static void modern_post(struct api_mcp *all, struct http_request *r, const struct rpc_message *m,
                        const struct mcp_caller *caller)
{
    if (m->kind == RPC_NOTIFICATION)
        http_answer(r, 202, NULL, 0, "", 0); /* none means anything here */
    else if (m->kind == RPC_RESPONSE)
        mcp_refuse(r, 400, m->id, RPC_INVALID_REQUEST,
                   "Invalid Request: the server has asked nothing");
    else if (!json_get(json_get(m->params, "_meta"), MCP_VERSION_KEY))
        mcp_refuse(r, 400, m->id, RPC_INVALID_PARAMS,
                   "Invalid params: _meta." MCP_VERSION_KEY " is missing");
    else
        serve_modern(all, r, m, caller);
}

/* --- routes ----------------------------------------------------------------------------------- */

static bool header_is_modern(const struct http_request *r)
{
    const char *version = http_header(r, "MCP-Protocol-Version");
    return version && strcmp(version, MCP_MODERN_VERSION) == 0;
}

static bool is_posted_batch(const struct buf *body)
{
    const char *text = buf_text(body);
    return text[strspn(text, " \t\r\n")] == '[';
}

/* Code in kernels may execute, too: that alone opens nothing else. */
static struct mcp_caller caller_of(const struct api_mcp *all, const struct http_request *r)
{
    struct mcp_caller caller = {0};
    request_context_of(r, &caller.origin);
    if (all->config.rights)
        all->config.rights(all->config.ctx, r, &caller);
    return caller;
}

static void on_post(void *ctx, struct http_request *r)
{
    struct api_mcp *all = ((struct api *)ctx)->mcp;
    const struct mcp_caller caller = caller_of(all, r);
    struct buf *body = http_body(r);
    const char *accept = http_header(r, "Accept");
    struct rpc_message m;
    struct err e = ERR_NONE;
    if (!mcp_head_accepts(accept, "application/json") ||
        !mcp_head_accepts(accept, "text/event-stream")) {
        mcp_refuse(r, 406, "null", RPC_INVALID_REQUEST,
                   "Not Acceptable: application/json and text/event-stream must be accepted");
        return;
    }
    if (is_posted_batch(body) && !header_is_modern(r)) {
        mcp_handshake_batch(all, r, &caller);
        return;
    }
    if (rpc_parse(body->len > 0 ? body->data : (char[]){""}, body->len, JSON_REQUEST, &m, &e) < 0)
        mcp_refuse(r, 400, m.id, e.code, "%s", e.msg);
    else if (header_is_modern(r) || json_get(json_get(m.params, "_meta"), MCP_VERSION_KEY))
        modern_post(all, r, &m, &caller);
    else
        mcp_handshake_post(all, r, &m, &caller);
    rpc_message_done(&m);
}

static bool is_old(struct http_request *r)
{
    bool is_modern = header_is_modern(r);
    if (is_modern)
        http_problem(r, 405, &(struct http_header){"Allow", "POST"}, 1,
                     "in " MCP_MODERN_VERSION " there is only POST");
    return !is_modern;
}

static void on_get(void *ctx, struct http_request *r)
{
    if (is_old(r))
        mcp_handshake_get(((struct api *)ctx)->mcp, r);
}

static void on_delete(void *ctx, struct http_request *r)
{
    if (is_old(r))
        mcp_handshake_delete(((struct api *)ctx)->mcp, r);
}

static const struct http_route routes[] = {
    {"POST", "/mcp", HTTP_COLLECT, API_MCP_BODY_MAX, "application/json", API_EXECUTE, on_post},
    {"GET", "/mcp", HTTP_NO_BODY, 0, NULL, API_EXECUTE, on_get},
    {"DELETE", "/mcp", HTTP_NO_BODY, 0, NULL, API_EXECUTE, on_delete},
    /* As people write it. */
    {"POST", "/mcp/", HTTP_COLLECT, API_MCP_BODY_MAX, "application/json", API_EXECUTE, on_post},
    {"GET", "/mcp/", HTTP_NO_BODY, 0, NULL, API_EXECUTE, on_get},
    {"DELETE", "/mcp/", HTTP_NO_BODY, 0, NULL, API_EXECUTE, on_delete},
};

const struct api_group api_mcp_group = {.routes = routes, .n = sizeof routes / sizeof *routes};
