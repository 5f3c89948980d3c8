/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/client/client.h - one connection to one MCP server: finds its era, lists its tools, then
 * carries calls and notifications (private to tools/; the calls are call.h).
 * Owner:   its server in tools.c. client_close() gives it up, no event comes after it; `ended` is
 *          the last event, the client is gone with it.
 * Changes: a server that says that its tools changed is asked again, at most every
 *          CLIENT_LIST_AGAIN_MS.
 * Secrets: it holds the expanded parameters; what it reports is scrubbed.
 * Calls:   loop thread only; events come from the loop, never from inside a call. */
#ifndef TOOLS_CLIENT_CLIENT_H
#define TOOLS_CLIENT_CLIENT_H

#include "tools/client/call.h"
#include "tools/client/era.h"
#include "tools/launch/launch.h"

#define CLIENT_LIST_AGAIN_MS 2000

struct client_config { /* copied; what it points to is borrowed */
    const struct tools_config *tools;
    const char *name;
    struct call_list *calls; /* of the server */
    enum era known;          /* what was found before */
    struct http_client *http;
    struct gate *gate; /* of what is logged of it; NULL: none */
    const struct place_specs *specs;
};

struct client_events {
    /* The tools, for the first time (now calls can be sent) or after they changed; owned by the
     * callee. */
    void (*listed)(void *ctx, struct tool_list *list);
    /* It could not be reached, or ended. The calls under way are the callee's to fail. */
    void (*ended)(void *ctx, const struct err *why);
};

struct server_client;
MUST_CHECK int client_open(const struct client_config *config, const struct json *params,
                           const struct client_events *events, void *ctx,
                           struct server_client **ret, struct err *e);
struct server_client *client_close(struct server_client *client); /* NULL in, NULL out */

struct server_peer *client_peer(const struct server_client *client); /* NULL: not connected yet */
enum era client_era(const struct server_client *client);
const struct server_launch *client_launch(const struct server_client *client);

#endif
