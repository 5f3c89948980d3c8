/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp/mcp_search.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"

enum { TOOLS_FOUND = 10 };

const char search_tools_json[] =
    "{\"name\":\"search_tools\",\"title\":\"Find tools of MCP servers\","
    "\"description\":\"Find tools of the registered MCP servers, which code calls as functions of "
    "the package mcptools.\\n\\n"
    "Returns the 10 that fit the words best, a line each: SERVER.TOOL(arguments) -> result: what "
    "it does. With SERVER.TOOL as the words, returns that tool with its whole schema.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"query\":{\"type\":\"string\",\"title\":\"Query\","
    "\"description\":\"Words in any order, such as 'create issue', or SERVER.TOOL\"}},"
    "\"required\":[\"query\"]},"
    "\"annotations\":{\"title\":\"Find tools of MCP servers\",\"readOnlyHint\":true,"
    "\"destructiveHint\":false,\"idempotentHint\":true,\"openWorldHint\":false}}";

struct search {
    struct buf text;
    const char *tool; /* that is asked for by name; NULL: none is */
};

static void put_schema(struct buf *out, const char *name, const struct json *schema)
{
    drop_str char *text = schema ? json_print(schema) : NULL;
    if (text)
        (void)buf_addf(out, "%s: %s\n", name, text);
}

static void put_found(void *ctx, const struct catalog_hit *hit)
{
    struct search *search = ctx;
    bool named = search->tool && (strcmp(hit->module, search->tool) == 0 ||
                                  strcmp(hit->tool->name, search->tool) == 0);
    if (search->tool && !named)
        return;
    (void)buf_addf(&search->text, "%s.%s\n", hit->server, hit->line);
    if (!named)
        return;
    (void)buf_addf(&search->text, "\n%s\n\n", hit->tool->description);
    put_schema(&search->text, "arguments", hit->tool->input);
    put_schema(&search->text, "result", hit->tool->output);
    search->tool = ""; /* there is one of that name */
}

int search_tools_tool(struct mcp_call *call, const struct json *arguments, struct err *e)
{
    const struct toolplane *plane = call->mcp->config->toolplane;
    const char *query = NULL;
    int r = json_need_text(arguments, "query", &query, e);
    if (r < 0)
        return r;
    struct search search = {.text = BUF_INIT(MCP_ANSWER_MAX)};
    const char *dot = strchr(query, '.');
    if (dot && !strpbrk(query, " \t\r\n")) {
        drop_str char *server = xasprintf("%.*s", (int)(dot - query), query);
        search.tool = dot + 1;
        toolplane_search(plane, server, dot + 1, CATALOG_LIMIT_MAX, put_found, &search);
        search.tool = NULL;
    }
    if (search.text.len == 0)
        toolplane_search(plane, NULL, query, TOOLS_FOUND, put_found, &search);
    if (search.text.len == 0)
        (void)buf_adds(&search.text, "No registered tool has one of these words.");
    struct buf out;
    struct jsonw w;
    call_answer_begin(call, &out, &w);
    put_text_block(&w, buf_text(&search.text), search.text.len);
    call_answer_end(call, &out, &w, false);
    buf_done(&search.text);
    return 0;
}
