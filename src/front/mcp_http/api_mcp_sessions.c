/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp_http/api_mcp_sessions.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "front/api.h"
#include "front/mcp_http/api_mcp.h"

struct held {
    struct held *next;
    char id[SESSIONS_ID_MAX + 1];
    bool own; /* of one client of MCP, with which it ends */
};

struct api_mcp_sessions {
    struct api *api;
    struct mcp_config mcp;
    struct sessions_watcher watcher;
    struct held *first;
};

static int session_for(void *ctx, const char *name, struct api_mcp_session *ret, struct err *e)
{
    struct api_mcp_sessions *m = ctx;
    struct sessions *sessions = m->api->config->sessions;
    const struct sessions_spec spec = {
        .id = name, .idle_ms = name ? API_MCP_IDLE_MS : 0, .lazy = true};
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

static void drop(struct api_mcp_sessions *m, const struct held *held)
{
    for (struct held **at = &m->first; *at; at = &(*at)->next) {
        if (*at != held)
            continue;
        struct held *found = *at;
        *at = found->next;
        xfree(found);
        return;
    }
}

static void session_done(void *ctx, void *handle)
{
    struct api_mcp_sessions *m = ctx;
    const struct held *held = handle;
    struct err e = ERR_NONE;
    if (held->own && sessions_end(m->api->config->sessions, held->id, &e) < 0)
        log_debug("mcp", "session %s: %s", held->id, e.msg);
    drop(m, held);
}

static void session_used(void *ctx, void *handle)
{
    struct api_mcp_sessions *m = ctx;
    const struct held *held = handle;
    sessions_touch(m->api->config->sessions, held->id);
}

/* It may be held twice: by its own client, and by others that name it. */
static void on_ended(void *ctx, const char *id)
{
    struct api_mcp_sessions *m = ctx;
    struct held *next = NULL;
    for (struct held *held = m->first; held; held = next) {
        next = held->next;
        if (strcmp(held->id, id) != 0)
            continue;
        api_mcp_session_ended(m->api->mcp, held);
        drop(m, held);
    }
}

static bool make_room(void *ctx)
{
    struct api_mcp_sessions *m = ctx;
    return api_mcp_make_room(m->api->mcp);
}

static void rights(void *ctx, const struct http_request *r, struct mcp_caller *caller)
{
    const struct api_mcp_sessions *m = ctx;
    caller->may_register = api_may(m->api, r, API_ADMIN);
    caller->may_approve = api_may(m->api, r, API_APPROVE);
}

struct api_mcp_sessions *api_mcp_sessions_open(struct api *api)
{
    const struct api_config *c = api->config;
    struct api_mcp_sessions *m = NEW(struct api_mcp_sessions);
    m->api = api;
    m->mcp = (struct mcp_config){.loop = c->loop,
                                 .toolplane = c->toolplane,
                                 .version = c->version,
                                 .approvals = c->approvals,
                                 .extension = c->mcp_extension};
    if (c->packages)
        m->mcp.packages = *c->packages;
    m->watcher = (struct sessions_watcher){.ended = on_ended, .make_room = make_room, .ctx = m};
    sessions_watch(c->sessions, &m->watcher);
    api->mcp = api_mcp_open(&(struct api_mcp_config){.loop = c->loop,
                                                     .mcp = &m->mcp,
                                                     .sessions_max = API_MCP_SESSIONS_MAX,
                                                     .idle_ms = API_MCP_IDLE_MS,
                                                     .session_for = session_for,
                                                     .session_done = session_done,
                                                     .session_used = session_used,
                                                     .rights = rights,
                                                     .ctx = m});
    return m;
}

struct api_mcp_sessions *api_mcp_sessions_close(struct api_mcp_sessions *m)
{
    if (!m)
        return NULL;
    m->api->mcp = api_mcp_close(m->api->mcp);
    sessions_unwatch(m->api->config->sessions, &m->watcher);
    while (m->first)
        drop(m, m->first);
    xfree(m);
    return NULL;
}
