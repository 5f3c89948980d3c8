/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/client/tool_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hmac.h"
#include "tools/client/era.h"
#include "tools/transport/param_headers.h"
#include "wire/jsonrpc.h"

enum { LOGGED_MAX = 200 };

struct tool_fetch {
    struct server_peer *peer;
    const struct tools_config *config;
    char *server;
    struct gate *gate; /* of warnings; NULL: none */
    bool has_tools;
    const struct tool_fetch_events *events;
    void *ctx;
    struct peer_request *request; /* NULL: answered */
    struct tool_list *list;
    const struct json *result; /* the page that is being read … */
    const struct json *rest;   /* … and its next tool */
    struct loop_defer slice;
    char *cursor;
};

/* --- the list -------------------------------------------------------------------------------- */

struct tool_list *tool_list_free(struct tool_list *list)
{
    if (!list || list->holders-- > 0)
        return NULL;
    for (size_t i = 0; i < list->n; i++)
        xfree((char *)(uintptr_t)list->tools[i].digest);
    for (size_t i = 0; i < list->n_pages; i++)
        (void)json_free(list->pages[i]);
    xfree(list->pages);
    xfree(list->hashes);
    xfree(list->tools);
    xfree(list);
    return NULL;
}

void tool_list_hold(struct tool_list *list)
{
    list->holders++;
}

static uint64_t tool_hash_of(const char *name)
{
    uint64_t hash = 14695981039346656037U; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211U;
    return hash;
}

const struct tools_tool *tool_list_find(const struct tool_list *list, const char *name)
{
    uint64_t hash = tool_hash_of(name);
    for (size_t i = 0; list && i < list->n; i++) {
        if (list->hashes[i] == hash && strcmp(list->tools[i].name, name) == 0)
            return &list->tools[i];
    }
    return NULL;
}

static int by_tool_name(const void *a, const void *b)
{
    const struct json *const *ja = a, *const *jb = b;
    return strcmp(json_name(*ja), json_name(*jb));
}

static void put_canonical(struct jsonw *w, const struct json *j);

static void put_sorted(struct jsonw *w, const struct json *object)
{
    size_t n = json_count(object), i = 0;
    const struct json **members = xcalloc(n + 1, sizeof *members);
    for (const struct json *v = json_first(object); v; v = json_next(v))
        members[i++] = v;
    qsort(members, n, sizeof(const struct json *), by_tool_name);
    jsonw_object(w);
    for (i = 0; i < n; i++) {
        jsonw_name(w, json_name(members[i]));
        put_canonical(w, members[i]);
    }
    jsonw_end(w);
    xfree(members);
}

/* As deep as the parser lets it be. */
static void put_canonical(struct jsonw *w, const struct json *j)
{
    if (json_is_object(j)) {
        put_sorted(w, j);
    } else if (json_is_array(j)) {
        jsonw_array(w);
        for (const struct json *v = json_first(j); v; v = json_next(v))
            put_canonical(w, v);
        jsonw_end(w);
    } else if (json_text(j)) {
        jsonw_text(w, json_text(j));
    } else if (json_is_number(j)) {
        jsonw_double(w, json_number(j));
    } else if (json_is_bool(j)) {
        jsonw_bool(w, json_true(j));
    } else {
        jsonw_null(w);
    }
}

static char *digest(const struct tools_tool *tool)
{
    drop_buf struct buf text = BUF_INIT(TOOL_LIST_BYTES_MAX * 6);
    struct jsonw w = JSONW(&text);
    jsonw_object(&w);
    jsonw_set_text(&w, "description", tool->description);
    jsonw_name(&w, "inputSchema");
    put_canonical(&w, tool->input);
    jsonw_set_text(&w, "name", tool->name);
    jsonw_name(&w, "outputSchema");
    put_canonical(&w, tool->output);
    jsonw_end(&w);
    char *hex = xcalloc(1, HMAC_HEX + 1);
    if (!text.failed) /* without memory: "", which is equal to no grant */
        sha256_hex(text.data, text.len, hex);
    return hex;
}

/* --- a page ---------------------------------------------------------------------------------- */

static void warn_of_tool(struct tool_fetch *fetch, const char *name, const char *what)
{
    if (!fetch->config->log || (fetch->gate && !gate_pass(fetch->gate, LOGGED_MAX)))
        return;
    drop_str char *line = xasprintf("%s: tool \"%.*s\" is left out: %s", fetch->server, LOGGED_MAX,
                                    name ? name : "", what);
    fetch->config->log(LOG_WARNING, line);
}

static const struct json *object_or_null(const struct json *j)
{
    return json_is_object(j) ? j : NULL;
}

/* Its calls answer with a task, which is asked for later: nobody here speaks of tasks. */
static bool needs_tasks(const struct json *tool)
{
    const char *tasks = json_get_text(json_get(tool, "execution"), "taskSupport");
    return tasks && strcmp(tasks, "required") == 0;
}

static void add_tool(struct tool_fetch *fetch, const struct json *j)
{
    struct tool_list *list = fetch->list;
    const char *name = json_get_text(j, "name"), *description = json_get_text(j, "description");
    struct tools_tool tool = {.name = name,
                              .description = description ? description : "",
                              .input = object_or_null(json_get(j, "inputSchema")),
                              .output = object_or_null(json_get(j, "outputSchema"))};
    struct err why = ERR_NONE;
    bool headers = peer_is_modern(fetch->peer) && !peer_is_program(fetch->peer);
    if (!name || *name == '\0') {
        warn_of_tool(fetch, name, "it has no name");
    } else if (tool_list_find(list, name)) {
        warn_of_tool(fetch, name, "another one has its name");
    } else if (needs_tasks(j)) {
        warn_of_tool(fetch, name, "it can only be called as a task");
    } else if (headers && param_headers_check(tool.input, &why) < 0) {
        warn_of_tool(fetch, name, why.msg);
    } else {
        if (list->n == list->size) {
            list->size = list->size ? 2 * list->size : 16;
            list->tools = xrealloc(list->tools, list->size * sizeof *list->tools);
            list->hashes = xrealloc(list->hashes, list->size * sizeof *list->hashes);
        }
        tool.digest = digest(&tool);
        list->hashes[list->n] = tool_hash_of(name);
        list->tools[list->n++] = tool;
    }
}

static int keep_page(struct tool_fetch *fetch, struct peer_answer *a, struct err *e)
{
    struct tool_list *list = fetch->list;
    const struct json *tools = json_get(a->result, "tools");
    if (!json_is_array(tools))
        return err_set(e, -EPROTO, "tools/list: an array of tools is missing");
    list->bytes += a->text.n;
    if (list->n + json_count(tools) > TOOLS_PER_SERVER_MAX)
        return err_set(e, -E2BIG, "tools/list: more than %d tools", TOOLS_PER_SERVER_MAX);
    if (list->bytes > TOOL_LIST_BYTES_MAX)
        return err_set(e, -E2BIG, "tools/list: more than %zu bytes", TOOL_LIST_BYTES_MAX);
    list->pages = xrealloc(list->pages, (list->n_pages + 1) * sizeof(struct json *));
    list->pages[list->n_pages++] = *a->tree;
    *a->tree = NULL;
    fetch->result = a->result;
    fetch->rest = json_first(tools);
    return 0;
}

/* --- fetching -------------------------------------------------------------------------------- */

static int ask_for_tools(struct tool_fetch *fetch, struct err *e);

static void finish_tool_list(struct tool_fetch *fetch, const struct err *why)
{
    struct tool_list *list = why ? NULL : fetch->list;
    const struct tool_fetch_events *events = fetch->events;
    void *ctx = fetch->ctx;
    fetch->list = why ? fetch->list : NULL;
    (void)tool_fetch_drop(fetch);
    events->done(ctx, list, why);
}

/* True when there is a page after the last one. A cursor that came before is a loop. */
static bool next_page(struct tool_fetch *fetch, const struct json *result)
{
    const struct tool_list *list = fetch->list;
    const char *cursor = json_get_text(result, "nextCursor");
    if (!cursor || list->n_pages > TOOLS_PER_SERVER_MAX)
        return false;
    for (size_t i = 0; i + 1 < list->n_pages; i++) {
        const char *before = json_get_text(json_get(list->pages[i], "result"), "nextCursor");
        if (before && strcmp(before, cursor) == 0)
            return false;
    }
    char *copy = xstrdup(cursor);
    xfree(fetch->cursor);
    fetch->cursor = copy;
    return true;
}

/* A page may have thousands of tools. */
static void read_some_tools(void *ctx)
{
    struct tool_fetch *fetch = ctx;
    struct err why = ERR_NONE;
    int64_t end_ns = clock_ns() + TOOL_LIST_SLICE_MS * 1000000LL;
    for (; fetch->rest && clock_ns() < end_ns; fetch->rest = json_next(fetch->rest))
        add_tool(fetch, fetch->rest);
    if (fetch->rest)
        loop_defer(fetch->config->loop, &fetch->slice, read_some_tools, fetch);
    else if (!next_page(fetch, fetch->result))
        finish_tool_list(fetch, NULL);
    else if (ask_for_tools(fetch, &why) < 0)
        finish_tool_list(fetch, &why);
}

static void on_page(void *ctx, struct peer_answer *a)
{
    struct tool_fetch *fetch = ctx;
    fetch->request = NULL;
    struct err why = ERR_NONE;
    int r = 0;
    if (a->outcome == PEER_RESULT)
        r = keep_page(fetch, a, &why);
    else if (a->outcome == PEER_ERROR && a->code == RPC_METHOD_NOT_FOUND && !fetch->has_tools)
        fetch->result = NULL; /* it has none */
    else
        r = err_set(&why, a->why->code, "tools/list: %s", a->why->msg);
    if (r < 0)
        finish_tool_list(fetch, &why);
    else
        read_some_tools(fetch);
}

static int ask_for_tools(struct tool_fetch *fetch, struct err *e)
{
    drop_buf struct buf params = BUF_INIT(PEER_TEXT_MAX);
    struct jsonw w = JSONW(&params);
    jsonw_object(&w);
    if (fetch->cursor)
        jsonw_set_text(&w, "cursor", fetch->cursor);
    if (peer_is_modern(fetch->peer)) {
        jsonw_set_object(&w, "_meta");
        era_put_envelope(&w, fetch->config);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    bool bare = !fetch->cursor && !peer_is_modern(fetch->peer);
    return peer_ask(
        fetch->peer,
        &(struct peer_question){.method = "tools/list", .params = bare ? NULL : buf_text(&params)},
        on_page, fetch, &fetch->request, e);
}

int tool_fetch_start(struct server_peer *peer, const struct tools_config *config,
                     const char *server, struct gate *gate, bool has_tools,
                     const struct tool_fetch_events *events, void *ctx, struct tool_fetch **ret,
                     struct err *e)
{
    struct tool_fetch *fetch = NEW(struct tool_fetch);
    fetch->peer = peer;
    fetch->config = config;
    fetch->server = xstrdup(server);
    fetch->gate = gate;
    fetch->has_tools = has_tools;
    fetch->events = events;
    fetch->ctx = ctx;
    fetch->list = NEW(struct tool_list);
    int r = ask_for_tools(fetch, e);
    if (r < 0) {
        (void)tool_fetch_drop(fetch);
        return r;
    }
    *ret = fetch;
    return 0;
}

struct tool_fetch *tool_fetch_drop(struct tool_fetch *fetch)
{
    if (!fetch)
        return NULL;
    loop_defer_stop(fetch->config->loop, &fetch->slice);
    fetch->list = tool_list_free(fetch->list);
    xfree(fetch->server);
    xfree(fetch->cursor);
    xfree(fetch);
    return NULL;
}
