/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/catalog/catalog.h - finds tools by words, over all registered servers, and shows each in
 * one line: how it is called and the first sentence of its description (apigen/emit/summary.h).
 * Ranking: rank.h; mcptools.search() of the kernel ranks alike (ipybox_tools/ranking.py).
 * Limits:  CATALOG_TOOLS_MAX tools are looked at.
 * Time:    some 5 ms for 1,000 tools; nothing is kept between two searches. */
#ifndef TOOLS_CATALOG_CATALOG_H
#define TOOLS_CATALOG_CATALOG_H

#include "apigen/apigen.h"
#include "base/buf.h"
#include "tools/tools.h"

#define CATALOG_TOOLS_MAX 20000
#define CATALOG_LIMIT_MAX 100

struct catalog_hit { /* borrowed for the call */
    const char *server;
    const struct tools_tool *tool;
    const char *module; /* its name in mcptools.SERVER */
    const char *line;   /* without its end */
};

/* Calls `found` for the tools that fit best, the best first, at most `limit` of them. A query
 * without a word finds the first tools of all. server: only this one's; NULL: all. */
void catalog_search(const struct tools *tools, const char *server, const char *query, size_t limit,
                    void (*found)(void *ctx, const struct catalog_hit *hit), void *ctx);

/* The first `limit` tools of a server, a line each with its end. */
void catalog_put_lines(struct buf *out, const struct tools_server *server, size_t limit);

/* What apigen makes a package of; the caller frees it (xfree). */
struct apigen_tool *catalog_apigen_tools(const struct tools_server *server);

#endif
