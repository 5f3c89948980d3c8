/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp/mcp.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "front/apps/apps.h"
#include "front/mcp/mcp_about.h"
#include "front/mcp/mcp_call.h"
#include "front/mcp/mcp_forks.h"
#include "front/mcp/mcp_resources.h"
#include "front/mcp/mcp_tools.h"

enum { SMALL_ANSWER_MAX = 1 << 20, LIST_FRESH_MS = 60000 };

#define META "io.modelcontextprotocol/"

static const char modern_version[] = MCP_MODERN_VERSION;

/* The newest last: it is what an unknown version is answered with. */
static const char *const handshake_versions[] = {"2024-11-05", "2025-03-26", "2025-06-18",
                                                 "2025-11-25"};
enum { HANDSHAKE_COUNT = sizeof handshake_versions / sizeof *handshake_versions };

struct mcp *mcp_new(const struct mcp_config *config, const struct mcp_events *events, void *ctx)
{
    struct mcp *mcp = NEW(struct mcp);
    mcp->config = config;
    mcp->events = events;
    mcp->ctx = ctx;
    mcp->asker = asker_open(mcp);
    about_open(mcp);
    forks_open(mcp);
    return mcp;
}

struct mcp *mcp_free(struct mcp *mcp)
{
    if (!mcp)
        return NULL;
    about_close(mcp);
    forks_close(mcp);
    mcp->asker = asker_close(mcp->asker);
    while (mcp->calls)
        call_drop(mcp->calls);
    xfree(mcp);
    return NULL;
}

void mcp_input_ended(struct mcp *mcp)
{
    mcp->asker = asker_close(mcp->asker);
}

bool mcp_is_idle(const struct mcp *mcp)
{
    const struct mcp_call *call = mcp->calls;
    while (call && (call->listening || call->ask.parked || call_is_task(call)))
        call = call->next;
    return call == NULL;
}

bool mcp_has_calls(const struct mcp *mcp)
{
    return mcp->calls != NULL;
}

/* --- answers that need no work -------------------------------------------------------------- */

void mcp_answer_error(struct mcp *mcp, const char *id, int code, const char *message,
                      const char *data)
{
    drop_buf struct buf out = BUF_INIT(SMALL_ANSWER_MAX);
    rpc_put_error(&out, id, code, message, data);
    mcp->events->send(mcp->ctx, &(struct mcp_out){.text = buf_text(&out),
                                                  .n = out.len,
                                                  .stream = mcp->stream,
                                                  .is_answer = true,
                                                  .error = code});
}

void mcp_answer(struct mcp *mcp, const struct buf *message)
{
    mcp->events->send(mcp->ctx, &(struct mcp_out){.text = buf_text(message),
                                                  .n = message->len,
                                                  .stream = mcp->stream,
                                                  .is_answer = true});
}

static void answer_begin(struct buf *out, struct jsonw *w, const char *id)
{
    *out = BUF_INIT(SMALL_ANSWER_MAX);
    *w = JSONW(out);
    rpc_result_begin(w, id);
}

static void answer_end(struct mcp *mcp, struct buf *out, struct jsonw *w)
{
    rpc_end(w);
    mcp_answer(mcp, out);
    buf_done(out);
}

static void put_versions(struct jsonw *w, const char *name)
{
    jsonw_set_array(w, name);
    jsonw_text(w, modern_version);
    for (int i = HANDSHAKE_COUNT - 1; i >= 0; i--)
        jsonw_text(w, handshake_versions[i]);
    jsonw_end(w);
}

static void put_extensions(struct jsonw *w, enum mcp_era era, bool shows_apps)
{
    if (era != MCP_MODERN && !shows_apps)
        return;
    jsonw_set_object(w, "extensions");
    if (era == MCP_MODERN)
        tasks_put_extension(w);
    if (shows_apps)
        apps_put_extension(w);
    jsonw_end(w);
}

static void put_capabilities(struct jsonw *w, const struct mcp_request *r)
{
    jsonw_set_object(w, "capabilities");
    jsonw_set_object(w, "tools");
    jsonw_set_bool(w, "listChanged", true);
    jsonw_end(w);
    jsonw_set_object(w, "resources");
    jsonw_end(w);
    put_extensions(w, r->era, mcp_shows_apps(r));
    if (r->mcp->config->extension)
        r->mcp->config->extension->put_capabilities(w);
    jsonw_end(w);
}

/* The lists change with the MCP servers, and by what the client's capabilities are. */
void put_caching(struct jsonw *w, enum mcp_era era)
{
    if (era != MCP_MODERN)
        return;
    jsonw_set_int(w, "ttlMs", LIST_FRESH_MS);
    jsonw_set_text(w, "cacheScope", "private");
}

bool mcp_shows_apps(const struct mcp_request *r)
{
    const struct json *meta = json_get(r->m->params, "_meta");
    return r->era == MCP_MODERN ? apps_are_shown(json_get(meta, META "clientCapabilities"))
                                : r->mcp->shows_apps;
}

/* --- methods -------------------------------------------------------------------------------- */

static void initialize_mcp(const struct mcp_request *r)
{
    const char *asked = json_get_text(r->m->params, "protocolVersion");
    if (!asked) {
        mcp_answer_error(r->mcp, r->m->id, RPC_INVALID_PARAMS,
                         "Invalid params: protocolVersion: a string is needed", NULL);
        return;
    }
    const char *version = handshake_versions[HANDSHAKE_COUNT - 1];
    for (int i = 0; i < HANDSHAKE_COUNT; i++) {
        if (strcmp(asked, handshake_versions[i]) == 0)
            version = handshake_versions[i];
    }
    r->mcp->initialized = true;
    r->mcp->handshake_version = version;
    r->mcp->shows_apps = apps_are_shown(json_get(r->m->params, "capabilities"));
    request_put_client(r->mcp->client, json_get_text(json_get(r->m->params, "clientInfo"), "name"));
    ask_handshake(r->mcp, json_get(r->m->params, "capabilities"));
    struct buf out;
    struct jsonw w;
    answer_begin(&out, &w, r->m->id);
    jsonw_set_text(&w, "protocolVersion", version);
    put_capabilities(&w, r);
    jsonw_set_object(&w, "serverInfo");
    jsonw_set_text(&w, "name", "ipybox");
    jsonw_set_text(&w, "version", r->mcp->config->version);
    jsonw_end(&w);
    put_instructions(&w, r->mcp);
    answer_end(r->mcp, &out, &w);
}

static void ping(const struct mcp_request *r)
{
    struct buf out;
    struct jsonw w;
    answer_begin(&out, &w, r->m->id);
    answer_end(r->mcp, &out, &w);
}

static void discover(const struct mcp_request *r)
{
    struct buf out;
    struct jsonw w;
    answer_begin(&out, &w, r->m->id);
    put_versions(&w, "supportedVersions");
    put_capabilities(&w, r);
    put_instructions(&w, r->mcp);
    put_caching(&w, r->era);
    put_result_stamp(&w, r->mcp, r->era);
    answer_end(r->mcp, &out, &w);
}

static void list_tools(const struct mcp_request *r)
{
    struct buf out;
    struct jsonw w;
    if (mcp_refuses_cursor(r))
        return;
    answer_begin(&out, &w, r->m->id);
    jsonw_name(&w, "tools");
    tools_put_list(&w, r);
    put_caching(&w, r->era);
    put_result_stamp(&w, r->mcp, r->era);
    answer_end(r->mcp, &out, &w);
}

static void call_tool(const struct mcp_request *r)
{
    const char *name = json_get_text(r->m->params, "name");
    const struct json *arguments = json_get(r->m->params, "arguments");
    char text[300];
    if (!name || !tool_exists(r->mcp->config, name)) {
        (void)snprintf(text, sizeof text, name ? "Unknown tool: %.200s" : "Invalid params: name%s",
                       name ? name : ": a tool's name is needed");
        mcp_answer_error(r->mcp, r->m->id, RPC_INVALID_PARAMS, text, NULL);
        return;
    }
    if (arguments && !json_is_object(arguments) && !json_is_null(arguments)) {
        mcp_answer_error(r->mcp, r->m->id, RPC_INVALID_PARAMS,
                         "Invalid params: arguments: an object is needed", NULL);
        return;
    }
    if (r->era == MCP_MODERN && json_get(r->m->params, "requestState")) {
        if (!ask_retry(r->mcp, r->m))
            mcp_answer_error(r->mcp, r->m->id, RPC_INVALID_PARAMS,
                             "Invalid or expired requestState", NULL);
        return;
    }
    struct mcp_call *call = call_new(r->mcp, r->m, r->era);
    call->shows_apps = mcp_shows_apps(r);
    ask_call_begins(call, r->m->params);
    task_call_begins(call, r->m->params);
    tool_call(call, name, arguments);
}

static void listen_to_changes(const struct mcp_request *r)
{
    about_listen(call_new(r->mcp, r->m, r->era), r->m->params);
}

enum { IN_HANDSHAKE = 1, IN_MODERN = 2, BEFORE_INITIALIZE = 4 };

static const struct method {
    const char *name;
    unsigned eras;
    void (*handle)(const struct mcp_request *r);
} methods[] = {
    {"initialize", IN_HANDSHAKE | BEFORE_INITIALIZE, initialize_mcp},
    {"ping", IN_HANDSHAKE | BEFORE_INITIALIZE, ping},
    {"server/discover", IN_MODERN, discover},
    {"tools/list", IN_HANDSHAKE | IN_MODERN, list_tools},
    {"tools/call", IN_HANDSHAKE | IN_MODERN, call_tool},
    {"resources/list", IN_HANDSHAKE | IN_MODERN, list_resources},
    {"resources/templates/list", IN_HANDSHAKE | IN_MODERN, list_resource_templates},
    {"resources/read", IN_HANDSHAKE | IN_MODERN, read_resource},
    {"subscriptions/listen", IN_MODERN, listen_to_changes},
    {"tasks/get", IN_MODERN, tasks_get},
    {"tasks/update", IN_MODERN, tasks_update},
    {"tasks/cancel", IN_MODERN, tasks_cancel},
};

/* --- dispatch ------------------------------------------------------------------------------- */

static const struct method *find_method(const char *name, unsigned era)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(methods[i].name, name) == 0 && (methods[i].eras & era))
            return &methods[i];
    }
    return NULL;
}

/* What a request of the modern era must carry with it; false when an error was answered. */
static bool envelope_is_right(struct mcp *mcp, const struct rpc_message *m,
                              const struct json *version)
{
    const struct json *meta = json_get(m->params, "_meta");
    const char *text = json_text(version);
    if (!text) {
        mcp_answer_error(mcp, m->id, RPC_INVALID_PARAMS,
                         "Invalid params: _meta." MCP_VERSION_KEY ": a string is needed", NULL);
        return false;
    }
    if (!json_is_object(json_get(meta, META "clientCapabilities"))) {
        mcp_answer_error(mcp, m->id, RPC_INVALID_PARAMS,
                         "Invalid params: _meta." META "clientCapabilities: an object is needed",
                         NULL);
        return false;
    }
    if (strcmp(text, modern_version) == 0)
        return true;
    drop_buf struct buf data = BUF_INIT(SMALL_ANSWER_MAX);
    struct jsonw w = JSONW(&data);
    jsonw_object(&w);
    put_versions(&w, "supported");
    jsonw_set_text(&w, "requested", text);
    jsonw_end(&w);
    mcp_answer_error(mcp, m->id, RPC_UNSUPPORTED_VERSION, "Unsupported protocol version",
                     buf_text(&data));
    return false;
}

static void on_client_request(struct mcp *mcp, const struct rpc_message *m)
{
    const struct json *version = json_get(json_get(m->params, "_meta"), MCP_VERSION_KEY);
    enum mcp_era era = version ? MCP_MODERN : MCP_HANDSHAKE;
    if (!mcp->config->shared && call_find(mcp, m->id)) {
        mcp_answer_error(mcp, m->id, RPC_INVALID_REQUEST,
                         "Invalid Request: a request with this id is still open", NULL);
        return;
    }
    if (era == MCP_MODERN && !envelope_is_right(mcp, m, version))
        return;
    const struct mcp_request request = {.mcp = mcp, .m = m, .era = era};
    const struct mcp_extension *extension = mcp->config->extension;
    if (extension && (era == MCP_MODERN || mcp->initialized) && extension->request(&request))
        return;
    const struct method *method =
        find_method(m->method, era == MCP_MODERN ? IN_MODERN : IN_HANDSHAKE);
    if (!method) {
        drop_str char *text = xasprintf("Method not found: %.200s", m->method);
        mcp_answer_error(mcp, m->id, RPC_METHOD_NOT_FOUND, text, NULL);
        return;
    }
    if (era == MCP_HANDSHAKE && !mcp->initialized && !(method->eras & BEFORE_INITIALIZE)) {
        mcp_answer_error(
            mcp, m->id, RPC_INVALID_REQUEST,
            "Invalid Request: \"initialize\" must come first (or the version in _meta)", NULL);
        return;
    }
    method->handle(&request);
}

static void on_client_notification(struct mcp *mcp, const struct rpc_message *m)
{
    if (strcmp(m->method, "notifications/cancelled") != 0)
        return; /* initialized, roots/list_changed…: nothing depends on them */
    const struct json *id = json_get(m->params, "requestId");
    drop_str char *text = json_text(id) || json_is_number(id) ? json_print(id) : NULL;
    struct mcp_call *call = text ? call_find(mcp, text) : NULL;
    if (text && !call)
        call = call_find_parked(mcp, text);
    if (call)
        call_cancel(call);
}

static void on_client_response(struct mcp *mcp, const struct rpc_message *m)
{
    ask_response(mcp, m);
    if (mcp->config->extension)
        mcp->config->extension->response(mcp, m);
}

void mcp_dispatch(struct mcp *mcp, void *stream, const struct mcp_caller *caller,
                  const struct rpc_message *m)
{
    mcp->stream = stream;
    mcp->caller = caller;
    if (m->kind == RPC_REQUEST)
        on_client_request(mcp, m);
    else if (m->kind == RPC_NOTIFICATION)
        on_client_notification(mcp, m);
    else
        on_client_response(mcp, m);
    mcp->stream = NULL;
    mcp->caller = NULL;
}

void mcp_refuse_call(struct mcp *mcp, void *stream, const struct rpc_message *m, const char *why)
{
    mcp->stream = stream;
    struct mcp_call *call = call_new(mcp, m, MCP_MODERN);
    mcp->stream = NULL;
    call_fail(call, json_get_text(m->params, "name"), why);
}

void mcp_stream_gone(struct mcp *mcp, const void *stream)
{
    struct mcp_call *next = NULL;
    for (struct mcp_call *call = mcp->calls; call; call = next) {
        next = call->next;
        if (call->stream != stream || call->ask.parked)
            continue;
        call->stream = NULL;
        call_cancel(call);
    }
}

void mcp_answer_broken(struct mcp *mcp, void *stream, const char *id, const struct err *e)
{
    mcp->stream = stream;
    mcp_answer_error(mcp, id, e->code, e->msg, NULL);
    mcp->stream = NULL;
}

void mcp_stop_listening(struct mcp *mcp)
{
    struct mcp_call *next = NULL;
    for (struct mcp_call *call = mcp->calls; call; call = next) {
        next = call->next;
        if (!call->listening)
            continue;
        drop_buf struct buf out = BUF_INIT(SMALL_ANSWER_MAX);
        struct jsonw w = JSONW(&out);
        rpc_result_begin(&w, call->id);
        put_result_stamp(&w, mcp, call->era);
        rpc_end(&w);
        call_send_answer(call, &out, 0);
        call_drop(call);
    }
}

bool mcp_has_envelope(const struct rpc_message *m)
{
    const struct json *meta = json_get(m->params, "_meta");
    return json_get_text(meta, MCP_VERSION_KEY) &&
           json_is_object(json_get(meta, META "clientCapabilities"));
}

bool mcp_handshake_serves(const char *version)
{
    int i = 0;
    while (i < HANDSHAKE_COUNT && strcmp(handshake_versions[i], version) != 0)
        i++;
    return i < HANDSHAKE_COUNT;
}

const char *mcp_version(const struct mcp *mcp)
{
    return mcp->handshake_version;
}

/* The revisions that had batches: each message of one is answered by itself. */
static bool takes_batches(const struct mcp *mcp)
{
    return mcp->handshake_version && strcmp(mcp->handshake_version, "2025-06-18") < 0;
}

static bool is_mcp_batch(const char *text, size_t len)
{
    size_t i = 0;
    while (i < len && (text[i] == ' ' || text[i] == '\t'))
        i++;
    return i < len && text[i] == '[';
}

static void on_batch(struct mcp *mcp, char *text, size_t len)
{
    struct err e = ERR_NONE;
    drop_json struct json *batch = json_parse(text, len, JSON_REQUEST, &e);
    if (!batch || json_count(batch) == 0) {
        mcp_answer_error(mcp, "null", batch ? RPC_INVALID_REQUEST : RPC_PARSE_ERROR,
                         batch ? "Invalid Request: an empty batch" : e.msg, NULL);
        return;
    }
    for (const struct json *m = json_first(batch); m; m = json_next(m)) {
        drop_str char *one = json_print(m);
        if (one)
            mcp_message(mcp, one, strlen(one));
    }
}

void mcp_message(struct mcp *mcp, char *text, size_t len)
{
    if (takes_batches(mcp) && is_mcp_batch(text, len)) {
        on_batch(mcp, text, len);
        return;
    }
    static const struct mcp_caller owner = {.may_register = true, .may_approve = true};
    struct rpc_message m;
    struct err e = ERR_NONE;
    if (rpc_parse(text, len, JSON_REQUEST, &m, &e) < 0)
        mcp_answer_broken(mcp, NULL, m.id, &e);
    else
        mcp_dispatch(mcp, NULL, &owner, &m);
    rpc_message_done(&m);
}

void mcp_too_long(struct mcp *mcp, const char *id, size_t limit)
{
    drop_str char *text =
        xasprintf("Invalid Request: a message may have %zu bytes, and this one was "
                  "dropped; put larger data into a file of the workspace",
                  limit);
    mcp_answer_error(mcp, id, RPC_INVALID_REQUEST, text, NULL);
}
