/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp/mcp_ask.h - approvals, and questions of servers, asked from the MCP client by
 * elicitation (private to front/).
 * Handshake: a live elicitation/create request; the call goes on waiting.
 * Modern:    the server may not ask by itself. The call that waits ends with "input_required" and
 *            is parked: its cell goes on waiting in the kernel. The client comes again with the
 *            same tool and arguments, its answers and the requestState, and gets the parked call
 *            under its new id. Who does not come in time has denied; the cell goes on, and what it
 *            writes comes with the next cell's result.
 * State:     an unguessable handle with an HMAC over it, its end, the tool and the arguments. Each
 *            is good once; a wrong one changes nothing.
 * Roles:     only a caller that may approve is asked, and heard: over HTTP who has a token for it.
 * Owner:     one `struct asker` per mcp, NULL when there are no approvals; every function here does
 *            nothing then.
 * Source:    modelcontextprotocol.io specification, elicitation of 2025-06-18 to 2026-07-28, and
 *            multi round-trip requests of 2026-07-28. */
#ifndef FRONT_MCP_MCP_ASK_H
#define FRONT_MCP_MCP_ASK_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/hmac.h"
#include "base/json/json.h"
#include "base/json/jsonw.h"
#include "loop/loop.h"
#include "wire/jsonrpc.h"

#define ASK_GATHER_MS 20           /* questions of parallel calls go out together */
#define ASK_PARKED_MS (600 * 1000) /* a parked call waits so long when approvals have no end */
#define ASK_ROUNDS_MAX 10          /* SDKs repeat a call so often */
#define ASK_HANDLE_BYTES 16

struct mcp;
struct mcp_call;

struct call_ask {                     /* inside every call */
    bool can;                         /* modern: this request may be answered with a question */
    bool parked;                      /* answered with one; waits for the client to come again */
    unsigned char digest[HMAC_BYTES]; /* of the tool and its arguments */
    char handle[2 * ASK_HANDLE_BYTES + 1];
    int rounds; /* how often it was parked */
    int64_t until_ms;
    struct loop_timer
        timer;       /* until the questions go out, then until the parked call is given up */
    struct buf kept; /* the answer that came while it was parked */
};

struct asker *asker_open(struct mcp *mcp);
struct asker *asker_close(struct asker *asker); /* before the calls; NULL in, NULL out */

/* capabilities of initialize; NULL when there are none. */
void ask_handshake(struct mcp *mcp, const struct json *capabilities);

/* A tools/call has been made a call. */
void ask_call_begins(struct mcp_call *call, const struct json *params);

/* A tools/call with a requestState: gives it the parked call. False: the state is not good. */
bool ask_retry(struct mcp *mcp, const struct rpc_message *m);

/* Of a call that is a task: its questions are shown by tasks/get and answered by tasks/update. */
bool ask_waits(const struct mcp_call *call); /* one is open */
void ask_put_requests(const struct mcp_call *call, struct jsonw *w);
void ask_take_responses(struct mcp_call *call, const struct json *responses);

void ask_response(struct mcp *mcp, const struct rpc_message *m); /* maybe to a question */
void ask_call_cancelled(struct mcp_call *call);                  /* its questions are refused */
void ask_call_ends(struct mcp_call *call);
void ask_keep_answer(struct mcp_call *call, struct buf *answer); /* of a parked call; moved */

#endif
