/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp_http/mcp_peer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/random.h"

enum { ERROR_MAX = 16 << 10 };

/* --- a life ----------------------------------------------------------------------------------- */

static void on_mcp_peer_idle(void *ctx);

static void use_mcp_peer(struct mcp_peer *peer)
{
    const struct api_mcp_config *config = &peer->all->config;
    peer->used_ms = loop_now(config->loop);
    loop_timer_set(config->loop, &peer->idle, config->idle_ms, on_mcp_peer_idle, peer);
    if (peer->holds && config->session_used)
        config->session_used(config->ctx, peer->held.handle);
}

static void on_mcp_peer_idle(void *ctx)
{
    struct mcp_peer *peer = ctx;
    if (peer->streams.connected > 0 || mcp_has_calls(peer->mcp))
        use_mcp_peer(peer);
    else
        mcp_peer_free(peer, 404, "the session is over");
}

static void on_send(void *ctx, const struct mcp_out *m)
{
    struct mcp_peer *peer = ctx;
    if (m->stream)
        mcp_stream_send(m->stream, m);
    else if (peer->is_handshake)
        mcp_streams_send(&peer->streams, m);
}

/* Something has come or gone. */
static void on_moved(void *ctx)
{
    struct mcp_peer *peer = ctx;
    use_mcp_peer(peer);
    if (peer->all->config.idle && api_mcp_is_idle(peer->all))
        peer->all->config.idle(peer->all->config.ctx);
}

static void on_stream_gone(void *ctx, struct mcp_stream *stream)
{
    struct mcp_peer *peer = ctx;
    mcp_stream_gone(peer->mcp, stream);
}

struct mcp_peer *mcp_peer_new(struct api_mcp *all, bool is_handshake, const char *name,
                              const struct api_mcp_session *held)
{
    static const struct mcp_events events = {.send = on_send, .idle = on_moved};
    struct mcp_peer *peer = NEW(struct mcp_peer);
    *peer = (struct mcp_peer){.all = all,
                              .is_handshake = is_handshake,
                              .name = xstrdup(name),
                              .holds = held != NULL,
                              .config = *all->config.mcp};
    if (held)
        peer->held = *held;
    peer->config.session = peer->held.session;
    peer->config.session_id = peer->held.id;
    peer->config.shared = !is_handshake;
    peer->config.runs_nothing = !held;
    peer->config.answers_cancelled = is_handshake;
    peer->mcp = mcp_new(&peer->config, &events, peer);
    peer->streams_config = (struct mcp_streams_config){.loop = all->config.loop,
                                                       .kept = is_handshake,
                                                       .gone = on_stream_gone,
                                                       .used = on_moved,
                                                       .ctx = peer};
    mcp_streams_init(&peer->streams, &peer->streams_config);
    if (is_handshake) {
        random_hex(peer->id, PEER_ID_BYTES);
        peer->streams.session_id = peer->id;
        all->sessions++;
    }
    list_push(&all->peers, peer);
    use_mcp_peer(peer);
    return peer;
}

void mcp_peer_free(struct mcp_peer *peer, int status, const char *why)
{
    struct api_mcp *all = peer->all;
    list_remove(&all->peers, peer);
    all->sessions -= peer->is_handshake;
    mcp_streams_done(&peer->streams, status, why);
    peer->mcp = mcp_free(peer->mcp);
    loop_timer_stop(all->config.loop, &peer->idle);
    if (peer->holds)
        all->config.session_done(all->config.ctx, peer->held.handle);
    xfree(peer->name);
    xfree(peer);
}

bool mcp_is_session_name(const char *name)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t n = strlen(name);
    return n > 0 && n <= API_MCP_NAME_MAX && strspn(name, allowed) == n;
}

int mcp_refuse_name(struct err *e, const char *where)
{
    return err_set(e, -EINVAL,
                   "%s: a name of at most %d letters, digits, \"-\", \"_\" and \".\" is needed",
                   where, API_MCP_NAME_MAX);
}

struct mcp_peer *mcp_peer_by_id(struct api_mcp *all, const char *id)
{
    struct mcp_peer *peer = all->peers;
    while (peer && (!peer->is_handshake || strcmp(peer->id, id) != 0))
        peer = peer->next;
    return peer;
}

static bool same_name(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

struct mcp_peer *mcp_peer_by_name(struct api_mcp *all, const char *name)
{
    struct mcp_peer *peer = all->peers;
    while (peer && (peer->is_handshake || !same_name(peer->name, name)))
        peer = peer->next;
    return peer;
}

void mcp_refuse_full(const struct api_mcp *all, struct http_request *r, const char *id,
                     const char *why)
{
    drop_buf struct buf body = BUF_INIT(ERROR_MAX);
    char seconds[24];
    (void)snprintf(seconds, sizeof seconds, "%d", api_mcp_retry_s(all));
    const struct http_header headers[] = {{"Content-Type", "application/json"},
                                          {"Retry-After", seconds}};
    rpc_put_error(&body, id, RPC_INTERNAL_ERROR, why, NULL);
    http_answer(r, 503, headers, 2, buf_text(&body), body.len);
}

void mcp_refuse(struct http_request *r, int status, const char *id, int code, const char *fmt, ...)
{
    static const struct http_header json = {"Content-Type", "application/json"};
    drop_buf struct buf body = BUF_INIT(ERROR_MAX);
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    rpc_put_error(&body, id, code, text, NULL);
    http_answer(r, status, &json, 1, buf_text(&body), body.len);
}
