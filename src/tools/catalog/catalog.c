/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/catalog/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tools/catalog/rank.h"

enum { LINE_MAX = 4096 };

static size_t count_tools(const struct tools *tools)
{
    struct tools_server server;
    size_t at = 0, n = 0;
    while (tools_next(tools, &at, &server))
        n += server.n_tools;
    return n < CATALOG_TOOLS_MAX ? n : CATALOG_TOOLS_MAX;
}

static size_t weigh_tools(const struct tools *tools, const char *only, const struct rank_query *q,
                          struct rank_tool *ret, size_t max)
{
    struct tools_server server;
    size_t n = 0;
    for (size_t at = 0; tools_next(tools, &at, &server);) {
        if (only && strcmp(only, server.name) != 0)
            continue;
        for (size_t i = 0; i < server.n_tools && n < max; i++, n++) {
            ret[n] = (struct rank_tool){.server = at - 1, .tool = i};
            rank_weigh(q, server.name, &server.tools[i], &ret[n]);
        }
    }
    return n;
}

/* --- lines ------------------------------------------------------------------------------------ */

struct apigen_tool *catalog_apigen_tools(const struct tools_server *server)
{
    struct apigen_tool *tools = xcalloc(server->n_tools + 1, sizeof *tools);
    for (size_t i = 0; i < server->n_tools; i++) {
        const struct tools_tool *tool = &server->tools[i];
        tools[i] = (struct apigen_tool){.name = tool->name,
                                        .description = tool->description,
                                        .input = tool->input,
                                        .output = tool->output};
    }
    return tools;
}

static void tell_hit(const struct tools *tools, const struct rank_tool *hit,
                     void (*found)(void *ctx, const struct catalog_hit *hit), void *ctx)
{
    struct tools_server server;
    size_t at = hit->server;
    if (!tools_next(tools, &at, &server))
        return;
    struct apigen_tool *list = catalog_apigen_tools(&server);
    struct apigen_work *work = apigen_begin(server.name, list, server.n_tools);
    drop_buf struct buf line = BUF_INIT(LINE_MAX);
    apigen_put_summary(work, hit->tool, &line);
    drop_str char *text = xstrdup(buf_text(&line));
    text[strcspn(text, "\n")] = '\0';
    found(ctx, &(struct catalog_hit){.server = server.name,
                                     .tool = &server.tools[hit->tool],
                                     .module = apigen_modules(work)[hit->tool],
                                     .line = text});
    (void)apigen_end(work);
    xfree(list);
}

void catalog_put_lines(struct buf *out, const struct tools_server *server, size_t limit)
{
    struct apigen_tool *list = catalog_apigen_tools(server);
    struct apigen_work *work = apigen_begin(server->name, list, server->n_tools);
    for (size_t i = 0; i < server->n_tools && i < limit; i++)
        apigen_put_summary(work, i, out);
    (void)apigen_end(work);
    xfree(list);
}

void catalog_search(const struct tools *tools, const char *server, const char *query, size_t limit,
                    void (*found)(void *ctx, const struct catalog_hit *hit), void *ctx)
{
    struct rank_query q;
    rank_read_query(&q, query);
    size_t max = count_tools(tools);
    struct rank_tool *all = xcalloc(max + 1, sizeof *all);
    size_t n = weigh_tools(tools, server, &q, all, max);
    rank_sort(&q, all, n);
    for (size_t i = 0; i < n && i < limit && i < CATALOG_LIMIT_MAX; i++)
        if (q.n == 0 || all[i].score > 0)
            tell_hit(tools, &all[i], found, ctx);
    xfree(all);
}
