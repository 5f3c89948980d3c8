/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/client/call.h - one call of a tool: from the wait for its server to its result, with what
 * the server asks meanwhile (private to tools/; tools_call_answer() and tools_call_cancel() of
 * tools.h are here).
 * Owner:   a call belongs to the list of its server, and ends with its last event or its cancel.
 * Events:  `done` and `input` come from a deferred call of the loop, so that whoever gets them may
 *          close everything; `progress` comes from the connection's event.
 * Inputs:  one is asked at a time. In the handshake era a request of the server goes to the newest
 *          call that is under way; in the modern era the call ends with "input_required" and is
 *          sent again with the answers, at most TOOLS_INPUT_ROUNDS_MAX times. */
#ifndef TOOLS_CLIENT_CALL_H
#define TOOLS_CLIENT_CALL_H

#include "tools/client/peer.h"
#include "tools/client/tool_list.h"
#include "tools/tools.h"

struct call_list { /* of one server, newest first */
    struct tools_call *first;
    /* The session of HTTP is over: the call was not carried out, it waits again. */
    void (*lost)(void *ctx);
    /* The last call left the list; the list may be freed. */
    void (*emptied)(void *ctx);
    void *ctx;
};

MUST_CHECK int call_make(struct call_list *list, const struct tools_config *config,
                         const char *tool, const char *arguments, const struct trace *trace,
                         const struct tools_call_events *events, void *ctx, struct tools_call **ret,
                         struct err *e);

/* Sends the calls that wait. */
void calls_begin(struct call_list *list, struct server_peer *peer, const struct tool_list *tools);

/* All of them; the connection of those under way is closed by the caller at once. */
void calls_fail(struct call_list *list, const struct err *why);

/* Like calls_fail(), but those that wait go on waiting. */
void calls_fail_sent(struct call_list *list, const struct err *why);

void calls_move_waiting(struct call_list *from, struct call_list *to);
bool calls_any_waiting(const struct call_list *list);
void calls_free(struct call_list *list); /* no event, no hook */

/* --- what the server says ------------------------------------------------------------------- */

void calls_progress(struct call_list *list, const struct json *params);
void calls_elicit(struct call_list *list, struct server_peer *peer, const char *id,
                  const struct json *params);
void calls_withdraw(struct call_list *list, const struct json *request_id);

#endif
