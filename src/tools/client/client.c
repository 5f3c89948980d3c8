/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/client/client.h"

#include <string.h>

#include "base/alloc.h"
#include "wire/jsonrpc.h"

enum { LOGGED_MAX = 2000, LISTEN_MAX = 16 << 10 };

struct server_client {
    struct client_config config;
    const struct client_events *events;
    void *ctx;
    struct params params;
    struct server_launch launch;
    struct launch_walls walls;
    struct loop_timer timer; /* for all until the tools are listed */
    struct era_finder *finder;
    struct server_peer *peer;
    enum era era;
    bool has_tools;
    struct tool_fetch *fetch;
    bool listed, changed;    /* changed: since the last fetch began */
    struct loop_timer again; /* armed: the last fetch because of that is not long ago */
};

/* --- ends ------------------------------------------------------------------------------------ */

static void drop_client(struct server_client *client)
{
    loop_timer_stop(client->config.tools->loop, &client->timer);
    loop_timer_stop(client->config.tools->loop, &client->again);
    client->finder = era_stop(client->finder);
    client->fetch = tool_fetch_drop(client->fetch);
    (void)peer_close(client->peer);
    params_done(&client->params);
    launch_done(&client->launch);
    xfree(client);
}

static void end_server_client(struct server_client *client, const struct err *why)
{
    static const char nameless[] = "the server ";
    const struct client_events *events = client->events;
    void *ctx = client->ctx;
    struct err text = ERR_NONE;
    int code = why->code ? why->code : -EIO;
    if (strncmp(why->msg, nameless, strlen(nameless)) == 0)
        (void)err_set(&text, code, "the server %s %s", client->config.name,
                      why->msg + strlen(nameless));
    else
        (void)err_set(&text, code, "the server %s %s: %s", client->config.name,
                      client->listed ? "ended" : "could not be started", why->msg);
    drop_client(client);
    events->ended(ctx, &text);
}

static void on_client_timeout(void *ctx)
{
    struct server_client *client = ctx;
    int64_t ms = client->config.tools->connect_timeout_ms;
    struct err why = ERR_NONE;
    (void)err_set(&why, -ETIMEDOUT, "it did not list its tools within %.1f s", (double)ms / 1000);
    end_server_client(client, &why);
}

/* --- the tools ------------------------------------------------------------------------------- */

static int fetch_tools(struct server_client *client, struct err *e);

static bool may_log(const struct server_client *client, enum log_level level, size_t n)
{
    struct gate *gate = client->config.gate;
    return log_enabled(level) && (!gate || gate_pass(gate, n));
}

static void warn_of_client(struct server_client *client, const struct err *why)
{
    if (!client->config.tools->log || !may_log(client, LOG_WARNING, strlen(why->msg)))
        return;
    drop_str char *line = xasprintf("%s: %s", client->config.name, why->msg);
    client->config.tools->log(LOG_WARNING, line);
}

static void listen_for_changes(struct server_client *client);

static void fetch_again(void *ctx);

static void on_list(void *ctx, struct tool_list *list, const struct err *why)
{
    struct server_client *client = ctx;
    client->fetch = NULL;
    if (!list && !client->listed) {
        end_server_client(client, why);
        return;
    }
    if (!list)
        warn_of_client(client, why);
    fetch_again(client);
    if (!list)
        return;
    loop_timer_stop(client->config.tools->loop, &client->timer);
    client->listed = true;
    client->events->listed(client->ctx, list);
}

static int fetch_tools(struct server_client *client, struct err *e)
{
    static const struct tool_fetch_events events = {.done = on_list};
    client->changed = false;
    return tool_fetch_start(client->peer, client->config.tools, client->config.name,
                            client->config.gate, client->has_tools, &events, client, &client->fetch,
                            e);
}

/* A server may say so without end. */
static void fetch_again(void *ctx)
{
    struct server_client *client = ctx;
    struct err why = ERR_NONE;
    if (!client->changed || !client->peer || client->fetch || client->again.armed)
        return;
    loop_timer_set(client->config.tools->loop, &client->again, CLIENT_LIST_AGAIN_MS, fetch_again,
                   client);
    if (fetch_tools(client, &why) < 0)
        warn_of_client(client, &why);
}

static void on_client_changed(struct server_client *client)
{
    client->changed = true;
    fetch_again(client);
}

static void on_listen_ended(void *ctx, struct peer_answer *a)
{
    (void)ctx;
    (void)a; /* then changes are seen at the next start */
}

static void listen_for_changes(struct server_client *client)
{
    drop_buf struct buf params = BUF_INIT(LISTEN_MAX);
    struct jsonw w = JSONW(&params);
    jsonw_object(&w);
    jsonw_set_object(&w, "notifications");
    jsonw_set_bool(&w, "toolsListChanged", true);
    jsonw_end(&w);
    jsonw_set_object(&w, "_meta");
    era_put_envelope(&w, client->config.tools);
    jsonw_end(&w);
    jsonw_end(&w);
    struct peer_request *request;
    struct err why = ERR_NONE;
    if (peer_ask(
            client->peer,
            &(struct peer_question){.method = "subscriptions/listen", .params = buf_text(&params)},
            on_listen_ended, client, &request, &why) < 0)
        warn_of_client(client, &why);
}

/* --- what the server says -------------------------------------------------------------------- */

static void on_server_request(void *ctx, const char *id, const char *method,
                              const struct json *params)
{
    struct server_client *client = ctx;
    if (peer_is_modern(client->peer))
        peer_refuse(client->peer, id, RPC_METHOD_NOT_FOUND, "Method not found");
    else if (!era_serve(client->config.tools, client->peer, id, method))
        calls_elicit(client->config.calls, client->peer, id, params);
}

static enum log_level level_of(const char *name)
{
    static const struct {
        const char *name;
        enum log_level level;
    } levels[] = {
        {"debug", LOG_DEBUG}, {"info", LOG_INFO}, {"notice", LOG_INFO}, {"warning", LOG_WARNING}};
    for (size_t i = 0; name && i < sizeof levels / sizeof *levels; i++) {
        if (strcmp(levels[i].name, name) == 0)
            return levels[i].level;
    }
    return LOG_ERROR;
}

static void log_message(struct server_client *client, const struct json *params)
{
    const struct json *data = json_get(params, "data");
    enum log_level level = level_of(json_get_text(params, "level"));
    if (!client->config.tools->log || !may_log(client, level, LOGGED_MAX))
        return;
    drop_str char *text = json_text(data) ? xstrdup(json_text(data)) : json_print(data);
    drop_buf struct buf line = BUF_INIT(PARAMS_TEXT_MAX);
    (void)buf_addf(&line, "%s: %.*s", client->config.name, LOGGED_MAX, text ? text : "");
    params_scrub(&client->params, &line);
    client->config.tools->log(level, buf_text(&line));
}

static void on_server_notification(void *ctx, const char *method, const struct json *params)
{
    struct server_client *client = ctx;
    if (strcmp(method, "notifications/progress") == 0)
        calls_progress(client->config.calls, params);
    else if (strcmp(method, "notifications/message") == 0)
        log_message(client, params);
    else if (strcmp(method, "notifications/tools/list_changed") == 0)
        on_client_changed(client);
    else if (strcmp(method, "notifications/cancelled") == 0)
        calls_withdraw(client->config.calls, json_get(params, "requestId"));
}

static void on_client_closed(void *ctx, const struct err *why)
{
    end_server_client(ctx, why);
}

/* --- the start ------------------------------------------------------------------------------- */

static void on_found(void *ctx, struct server_peer *peer, const struct era_found *found)
{
    static const struct peer_events events = {.request = on_server_request,
                                              .notification = on_server_notification,
                                              .closed = on_client_closed};
    struct server_client *client = ctx;
    struct err why = ERR_NONE;
    client->finder = NULL;
    client->peer = peer;
    client->era = found->era;
    client->has_tools = found->has_tools;
    peer_set_events(peer, &events, client);
    if (fetch_tools(client, &why) < 0) {
        end_server_client(client, &why);
        return;
    }
    if (found->era == ERA_MODERN && found->list_changed)
        listen_for_changes(client);
}

static void on_not_found(void *ctx, const struct err *why)
{
    struct server_client *client = ctx;
    client->finder = NULL;
    end_server_client(client, why);
}

int client_open(const struct client_config *config, const struct json *params,
                const struct client_events *events, void *ctx, struct server_client **ret,
                struct err *e)
{
    static const struct era_events era_events = {.found = on_found, .failed = on_not_found};
    const struct tools_config *tools = config->tools;
    struct server_client *client = NEW(struct server_client);
    client->config = *config;
    client->events = events;
    client->ctx = ctx;
    int r = launch_make(tools, config->specs, config->name, params, &client->launch,
                        &client->params, e);
    if (r == 0 && client->launch.missing)
        r = err_set(e, -ENOENT, "its copy of %.80s is gone: register it once more",
                    client->launch.missing);
    struct peer_config peer = {.tools = tools,
                               .name = config->name,
                               .params = &client->params,
                               .sandbox =
                                   launch_confine(tools, client->launch.folder, &client->walls),
                               .kind = client->params.kind,
                               .http = config->http,
                               .gate = config->gate};
    if (r == 0)
        r = era_find(&peer, config->known, &era_events, client, &client->finder, e);
    if (r < 0) {
        drop_client(client);
        return r;
    }
    if (tools->connect_timeout_ms > 0)
        loop_timer_set(tools->loop, &client->timer, tools->connect_timeout_ms, on_client_timeout,
                       client);
    *ret = client;
    return 0;
}

struct server_client *client_close(struct server_client *client)
{
    if (client)
        drop_client(client);
    return NULL;
}

struct server_peer *client_peer(const struct server_client *client)
{
    return client->peer;
}

const struct server_launch *client_launch(const struct server_client *client)
{
    return &client->launch;
}

enum era client_era(const struct server_client *client)
{
    return client->era;
}
