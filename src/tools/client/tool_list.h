/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/client/tool_list.h - the tools of one server, fetched page by page with tools/list (private
 * to tools/).
 * Kept:    names as they are, schemas as they are; a tool without a name, or with that of one
 *          before it, is left out with a warning. So is one that can only be called as a task, and,
 *          on HTTP of 2026-07-28, one whose "x-mcp-header" is wrong.
 * Limits:  TOOLS_PER_SERVER_MAX tools, TOOL_LIST_BYTES_MAX of text: more is an error. A cursor
 *          that comes again ends the list.
 * Digest:  SHA-256 over {"description", "inputSchema", "name", "outputSchema"} with the members of
 *          every object in order: it stays when a server writes the same in another order.
 * Time:    a page is read in slices of TOOL_LIST_SLICE_MS, one each turn of the loop.
 * Owner:   a list is given to the caller; a fetch is given up by tool_fetch_drop(). */
#ifndef TOOLS_CLIENT_TOOL_LIST_H
#define TOOLS_CLIENT_TOOL_LIST_H

#include "tools/client/peer.h"

#define TOOL_LIST_BYTES_MAX TRANSPORT_MESSAGE_MAX
#define TOOL_LIST_SLICE_MS 5

struct tool_list {
    struct tools_tool *tools;
    uint64_t *hashes; /* of the tools' names */
    size_t n, size;
    struct json **pages; /* what the tools point into */
    size_t n_pages;
    size_t bytes;
    size_t holders; /* beside its owner: the last one frees it */
};

struct tool_list *tool_list_free(struct tool_list *list); /* NULL in, NULL out */
void tool_list_hold(struct tool_list *list);              /* until one more tool_list_free() */
const struct tools_tool *tool_list_find(const struct tool_list *list, const char *name);

struct tool_fetch;
struct tool_fetch_events {
    /* The last event: the list, which is owned by the callee now, or NULL and why not. */
    void (*done)(void *ctx, struct tool_list *list, const struct err *why);
};

/* has_tools: the server says that it has some; else that it does not know the method is fine. */
MUST_CHECK int tool_fetch_start(struct server_peer *peer, const struct tools_config *config,
                                const char *server, struct gate *gate, bool has_tools,
                                const struct tool_fetch_events *events, void *ctx,
                                struct tool_fetch **ret, struct err *e);

/* The peer is gone, and with it the request. */
struct tool_fetch *tool_fetch_drop(struct tool_fetch *fetch);

#endif
