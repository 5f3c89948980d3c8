/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/client/era.h"

#include <string.h>

#include "base/alloc.h"
#include "wire/jsonrpc.h"

enum { PARAMS_MAX = 16 << 10, URI_MAX = 8 << 10 };

static const char *const handshake_versions[] = {"2024-11-05", "2025-03-26", "2025-06-18",
                                                 ERA_OFFERED_VERSION};

struct era_finder {
    struct peer_config config;
    const struct era_events *events;
    void *ctx;
    struct server_peer *peer;
    struct loop_defer again; /* next step of the ladder, or a failure */
    void (*step)(struct era_finder *finder);
    int probes;
    bool probed_here; /* this process got server/discover */
    bool respawned;
    struct err why; /* what HTTP said to initialize, while the event stream is tried */
};

/* --- what the client says about itself ------------------------------------------------------- */

/* The client's capabilities as the value that is due. */
static void put_own_capabilities(struct jsonw *w, const struct tools_config *config)
{
    jsonw_object(w);
    if (config->can_elicit && config->can_elicit(config->ctx)) {
        jsonw_set_object(w, "elicitation");
        jsonw_set_object(w, "form");
        jsonw_end(w);
        jsonw_end(w);
    }
    if (config->root) {
        jsonw_set_object(w, "roots");
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void put_client_info(struct jsonw *w, const struct tools_config *config)
{
    jsonw_object(w);
    jsonw_set_text(w, "name", "ipybox");
    jsonw_set_text(w, "version", config->version);
    jsonw_end(w);
}

void era_put_envelope(struct jsonw *w, const struct tools_config *config)
{
    jsonw_set_text(w, "io.modelcontextprotocol/protocolVersion", ERA_MODERN_VERSION);
    jsonw_name(w, "io.modelcontextprotocol/clientInfo");
    put_client_info(w, config);
    jsonw_name(w, "io.modelcontextprotocol/clientCapabilities");
    put_own_capabilities(w, config);
}

void era_put_roots(struct jsonw *w, const struct tools_config *config)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    drop_buf struct buf uri = BUF_INIT(URI_MAX);
    (void)buf_adds(&uri, "file://");
    for (const char *c = config->root; *c != '\0'; c++)
        (void)buf_addf(&uri, strchr(plain, *c) ? "%c" : "%%%02X", (unsigned char)*c);
    jsonw_object(w);
    jsonw_set_array(w, "roots");
    jsonw_object(w);
    jsonw_set_text(w, "uri", buf_text(&uri));
    jsonw_set_text(w, "name", "workspace");
    jsonw_end(w);
    jsonw_end(w);
    jsonw_end(w);
}

bool era_serve(const struct tools_config *config, struct server_peer *peer, const char *id,
               const char *method)
{
    if (strcmp(method, "elicitation/create") == 0)
        return false;
    if (strcmp(method, "ping") == 0) {
        peer_reply(peer, id, "{}");
    } else if (strcmp(method, "roots/list") == 0 && config->root) {
        drop_buf struct buf roots = BUF_INIT(PARAMS_MAX);
        struct jsonw w = JSONW(&roots);
        era_put_roots(&w, config);
        peer_reply(peer, id, buf_text(&roots));
    } else {
        peer_refuse(peer, id, RPC_METHOD_NOT_FOUND, "Method not found");
    }
    return true;
}

/* --- events while nothing is decided --------------------------------------------------------- */

static void drop_era(struct era_finder *finder)
{
    loop_defer_stop(finder->config.tools->loop, &finder->again);
    (void)peer_close(finder->peer);
    xfree(finder);
}

static void fail_era(struct era_finder *finder, const struct err *why)
{
    const struct era_events *events = finder->events;
    void *ctx = finder->ctx;
    struct err copy = *why;
    drop_era(finder);
    events->failed(ctx, &copy);
}

static void run_era_step(void *ctx)
{
    struct era_finder *finder = ctx;
    finder->step(finder);
}

static void found(struct era_finder *finder, const struct json *result, enum era era)
{
    const struct json *tools = json_get(json_get(result, "capabilities"), "tools");
    struct era_found what = {.era = era,
                             .list_changed = json_true(json_get(tools, "listChanged")),
                             .has_tools = json_is_object(tools)};
    const struct era_events *events = finder->events;
    void *ctx = finder->ctx;
    struct server_peer *peer = finder->peer;
    finder->peer = NULL;
    drop_era(finder);
    events->found(ctx, peer, &what);
}

static void on_era_request(void *ctx, const char *id, const char *method, const struct json *params)
{
    struct era_finder *finder = ctx;
    (void)params;
    if (!era_serve(finder->config.tools, finder->peer, id, method))
        peer_refuse(finder->peer, id, RPC_METHOD_NOT_FOUND, "Method not found");
}

static void on_era_notification(void *ctx, const char *method, const struct json *params)
{
    (void)ctx;
    (void)method;
    (void)params;
}

static void initialize_server(struct era_finder *finder);

static int open_peer(struct era_finder *finder, struct err *e);

static void reopen(struct era_finder *finder)
{
    struct err why = ERR_NONE;
    finder->peer = peer_close(finder->peer);
    finder->probed_here = false;
    if (open_peer(finder, &why) < 0)
        fail_era(finder, &why);
    else
        initialize_server(finder);
}

static void on_era_closed(void *ctx, const struct err *why)
{
    struct era_finder *finder = ctx;
    bool ended = finder->config.kind == PARAMS_STDIO && why->code == -EPIPE;
    if (ended && finder->probed_here && !finder->respawned) {
        finder->respawned = true; /* it may have ended because of the probe */
        reopen(finder);
        return;
    }
    fail_era(finder, finder->why.code ? &finder->why : why);
}

static int open_peer(struct era_finder *finder, struct err *e)
{
    static const struct peer_events events = {
        .request = on_era_request, .notification = on_era_notification, .closed = on_era_closed};
    return peer_open(&finder->config, &events, finder, &finder->peer, e);
}

/* --- the handshake --------------------------------------------------------------------------- */

static void probe_era(struct era_finder *finder);

static bool is_handshake_version(const char *version)
{
    for (size_t i = 0; i < sizeof handshake_versions / sizeof *handshake_versions; i++) {
        if (version && strcmp(version, handshake_versions[i]) == 0)
            return true;
    }
    return false;
}

static void accept_handshake(struct era_finder *finder, const struct json *result)
{
    const char *version = json_get_text(result, "protocolVersion");
    struct err why = ERR_NONE;
    if (!is_handshake_version(version)) {
        (void)err_set(&why, -EPROTO, "initialize: version \"%.40s\" is not supported",
                      version ? version : "");
        fail_era(finder, &why);
        return;
    }
    peer_set_version(finder->peer, version, false);
    if (peer_tell(finder->peer, "notifications/initialized", NULL, &why) < 0)
        fail_era(finder, &why);
    else
        found(finder, result, finder->config.kind == PARAMS_SSE ? ERA_SSE : ERA_HANDSHAKE);
}

static bool is_unknown_to_http(const struct peer_answer *a)
{
    return a->outcome == PEER_REFUSED && (a->status == 400 || a->status == 404 || a->status == 405);
}

static void on_initialized(void *ctx, struct peer_answer *a)
{
    struct era_finder *finder = ctx;
    if (a->outcome == PEER_RESULT) {
        accept_handshake(finder, a->result);
        return;
    }
    if (a->outcome == PEER_ERROR && a->code == RPC_UNSUPPORTED_VERSION && finder->probes == 1) {
        probe_era(finder); /* it was slow, and the first probe has decided */
        return;
    }
    struct err why = *a->why;
    (void)err_wrap(&why, "initialize");
    if (finder->config.kind == PARAMS_HTTP && is_unknown_to_http(a)) {
        finder->why = why;
        finder->config.kind = PARAMS_SSE;
        reopen(finder);
        return;
    }
    fail_era(finder, finder->why.code ? &finder->why : &why);
}

static void ask_era(struct era_finder *finder, const struct peer_question *question,
                    peer_answer_fn answered)
{
    struct peer_request *request;
    struct err why = ERR_NONE;
    int r = peer_ask(finder->peer, question, answered, finder, &request, &why);
    if (r < 0 && !(r == -EPIPE && peer_is_program(finder->peer))) /* its end will say more */
        fail_era(finder, &why);
}

static void initialize_server(struct era_finder *finder)
{
    drop_buf struct buf params = BUF_INIT(PARAMS_MAX);
    struct jsonw w = JSONW(&params);
    jsonw_object(&w);
    jsonw_set_text(&w, "protocolVersion", ERA_OFFERED_VERSION);
    jsonw_name(&w, "capabilities");
    put_own_capabilities(&w, finder->config.tools);
    jsonw_name(&w, "clientInfo");
    put_client_info(&w, finder->config.tools);
    jsonw_end(&w);
    peer_set_version(finder->peer, NULL, false);
    ask_era(finder, &(struct peer_question){.method = "initialize", .params = buf_text(&params)},
            on_initialized);
}

/* --- the probe ------------------------------------------------------------------------------- */

enum era_verdict { SAYS_MODERN, SAYS_HANDSHAKE, SAYS_NEITHER };

static enum era_verdict judge_era(const struct json *versions)
{
    bool handshake = false, any = false;
    for (const struct json *v = json_first(versions); v; v = json_next(v)) {
        const char *version = json_text(v);
        if (version && strcmp(version, ERA_MODERN_VERSION) == 0)
            return SAYS_MODERN;
        handshake |= is_handshake_version(version);
        any = true;
    }
    return handshake || !any ? SAYS_HANDSHAKE : SAYS_NEITHER;
}

static void on_unsupported(struct era_finder *finder, const struct peer_answer *a)
{
    enum era_verdict says = judge_era(json_get(a->data, "supported"));
    if (says == SAYS_MODERN && finder->probes == 1) {
        probe_era(finder);
    } else if (says == SAYS_HANDSHAKE) {
        initialize_server(finder);
    } else {
        struct err why = *a->why;
        (void)err_wrap(&why, "no common version of the protocol");
        fail_era(finder, &why);
    }
}

static bool is_no_evidence(const struct peer_answer *a)
{
    return a->outcome == PEER_REFUSED &&
           (a->status == 0 || a->status == 401 || a->status == 403 || a->status >= 500);
}

static void on_discovered(void *ctx, struct peer_answer *a)
{
    struct era_finder *finder = ctx;
    if (a->outcome == PEER_RESULT &&
        judge_era(json_get(a->result, "supportedVersions")) == SAYS_MODERN)
        found(finder, a->result, ERA_MODERN);
    else if (a->outcome == PEER_ERROR && a->code == RPC_UNSUPPORTED_VERSION)
        on_unsupported(finder, a);
    else if (is_no_evidence(a))
        fail_era(finder, a->why);
    else
        initialize_server(finder);
}

static void probe_era(struct era_finder *finder)
{
    int64_t half = finder->config.tools->connect_timeout_ms / 2;
    drop_buf struct buf params = BUF_INIT(PARAMS_MAX);
    struct jsonw w = JSONW(&params);
    jsonw_object(&w);
    jsonw_set_object(&w, "_meta");
    era_put_envelope(&w, finder->config.tools);
    jsonw_end(&w);
    jsonw_end(&w);
    finder->probes++;
    finder->probed_here = true;
    peer_set_version(finder->peer, ERA_MODERN_VERSION, true);
    /* Half of the time is left for a server that does not answer what it does not know. */
    ask_era(finder,
            &(struct peer_question){.method = "server/discover",
                                    .params = buf_text(&params),
                                    .timeout_ms =
                                        half > 0 && half < ERA_PROBE_MS ? half : ERA_PROBE_MS},
            on_discovered);
}

/* --- */

int era_find(const struct peer_config *config, enum era known, const struct era_events *events,
             void *ctx, struct era_finder **ret, struct err *e)
{
    struct era_finder *finder = NEW(struct era_finder);
    finder->config = *config;
    finder->events = events;
    finder->ctx = ctx;
    if (known == ERA_SSE)
        finder->config.kind = PARAMS_SSE;
    int r = open_peer(finder, e);
    if (r < 0) {
        drop_era(finder);
        return r;
    }
    bool handshake = finder->config.kind == PARAMS_SSE || known == ERA_HANDSHAKE;
    finder->step = handshake ? initialize_server : probe_era;
    loop_defer(config->tools->loop, &finder->again, run_era_step, finder);
    *ret = finder;
    return 0;
}

struct era_finder *era_stop(struct era_finder *finder)
{
    if (finder)
        drop_era(finder);
    return NULL;
}
