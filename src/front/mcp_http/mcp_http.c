/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp_http/mcp_http.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/log.h"
#include "front/api/api_internal.h"
#include "front/mcp_http/api_mcp.h"

struct held {
    struct held *next;
    char id[SESSIONS_ID_MAX + 1];
    bool own; /* of one client of MCP, with which it ends */
};

struct mcp_http {
    const struct api *api;
    struct api_mcp *mcp;
    struct mcp_http_config config;
    struct sessions_watcher watcher;
    struct held *first;
};

static int session_for(void *ctx, const char *name, struct api_mcp_session *ret, struct err *e)
{
    struct mcp_http *m = ctx;
    struct sessions *sessions = m->config.sessions;
    const struct sessions_spec spec = {
        .id = name, .idle_ms = name ? MCP_HTTP_IDLE_MS : 0, .lazy = true};
    struct sessions_view view;
    bool there = name && sessions_find(sessions, name, &view);
    int r = there ? 0 : sessions_create(sessions, &spec, &view, e);
    if (r < 0)
        return r;
    struct held *held = NEW(struct held);
    held->own = !name;
    (void)snprintf(held->id, sizeof held->id, "%s", view.id);
    held->next = m->first;
    m->first = held;
    *ret = (struct api_mcp_session){.session = view.session, .id = held->id, .handle = held};
    return 0;
}

static void drop_mcp_session(struct mcp_http *m, struct held *held)
{
    chain_remove(&m->first, held);
    xfree(held);
}

static void session_done(void *ctx, void *handle)
{
    struct mcp_http *m = ctx;
    struct held *held = handle;
    struct err e = ERR_NONE;
    if (held->own && sessions_end(m->config.sessions, held->id, &e) < 0)
        log_debug("mcp", "session %s: %s", held->id, e.msg);
    drop_mcp_session(m, held);
}

static void session_used(void *ctx, void *handle)
{
    struct mcp_http *m = ctx;
    const struct held *held = handle;
    sessions_touch(m->config.sessions, held->id);
}

/* It may be held twice: by its own client, and by others that name it. */
static void on_mcp_session_ended(void *ctx, const char *id)
{
    struct mcp_http *m = ctx;
    struct held *next = NULL;
    for (struct held *held = m->first; held; held = next) {
        next = held->next;
        if (strcmp(held->id, id) != 0)
            continue;
        api_mcp_session_ended(m->mcp, held);
        drop_mcp_session(m, held);
    }
}

static bool make_room_for_mcp_session(void *ctx)
{
    struct mcp_http *m = ctx;
    return api_mcp_make_room(m->mcp);
}

static void rights(void *ctx, const struct http_request *r, struct mcp_caller *caller)
{
    const struct mcp_http *m = ctx;
    caller->may_register = api_may(m->api, r, API_ADMIN);
    caller->may_approve = api_may(m->api, r, API_APPROVE);
}

struct mcp_http *mcp_http_open(const struct mcp_http_config *config)
{
    struct mcp_http *m = NEW(struct mcp_http);
    m->config = *config;
    m->config.mcp.sessions = config->sessions;
    m->watcher = (struct sessions_watcher){
        .ended = on_mcp_session_ended, .make_room = make_room_for_mcp_session, .ctx = m};
    sessions_watch(config->sessions, &m->watcher);
    m->mcp = api_mcp_open(&(struct api_mcp_config){.loop = config->mcp.loop,
                                                   .mcp = &m->config.mcp,
                                                   .sessions_max = MCP_HTTP_SESSIONS_MAX,
                                                   .idle_ms = MCP_HTTP_IDLE_MS,
                                                   .session_for = session_for,
                                                   .session_done = session_done,
                                                   .session_used = session_used,
                                                   .rights = rights,
                                                   .ctx = m});
    return m;
}

struct mcp_http *mcp_http_close(struct mcp_http *m)
{
    if (!m)
        return NULL;
    m->mcp = api_mcp_close(m->mcp);
    sessions_unwatch(m->config.sessions, &m->watcher);
    while (m->first)
        drop_mcp_session(m, m->first);
    xfree(m);
    return NULL;
}

void mcp_http_stop(struct mcp_http *m)
{
    api_mcp_stop(m->mcp);
}

struct api_mcp *mcp_http_serve(struct mcp_http *m, const struct api *api)
{
    m->api = api;
    return m->mcp;
}
