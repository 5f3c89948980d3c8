/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp/mcp.h - the Model Context Protocol over any transport, in both of its eras.
 * Eras:    2024-11-05 to 2025-11-25 by handshake; 2026-07-28 per request. Which one is decided for
 *          each message: a request that carries the version in its _meta is served statelessly,
 *          whatever came before; anything else follows the handshake's rules.
 * Owner:   one `struct mcp` per peer; it owns the calls in flight and cancels them when freed. Over
 *          HTTP a peer is a session of the handshake, or all who use one session statelessly.
 * Streams: where a transport has several ways back, each request brings its own: a pointer that the
 *          messages which belong to it are sent with.
 * Calls:   loop thread only; nothing blocks.
 * Source:  modelcontextprotocol.io specification, revisions 2024-11-05 … 2026-07-28. */
#ifndef FRONT_MCP_MCP_H
#define FRONT_MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>

#include "approval/toolplane.h"
#include "loop/loop.h"
#include "session/packages/packages.h"
#include "session/queue/session.h"
#include "wire/jsonrpc.h"

#define MCP_MODERN_VERSION "2026-07-28"
#define MCP_VERSION_KEY "io.modelcontextprotocol/protocolVersion" /* in _meta of modern requests */
#define MCP_CLIENT_KEY "io.modelcontextprotocol/clientInfo"       /* likewise */

struct mcp_config { /* borrowed */
    struct loop *loop;
    struct session *session;
    struct sessions *sessions; /* notebooks are read where `shared`, forks made; NULL: none's */
    struct packages_config packages;
    struct toolplane *toolplane;
    const char *version;         /* of this program */
    struct approvals *approvals; /* asked from this peer when it can be; NULL: there are none */
    const char *session_id;      /* the session's in approvals; NULL: asked for every one */
    bool shared;       /* by unrelated peers: ids count per stream; tools take a session's name */
    bool runs_nothing; /* it has no session; its client is asked nothing */
    bool search_tool;  /* search_tools is offered */
    bool rewinds;      /* rewind is: states of sessions are kept */
    bool forks;        /* fork and end_session are; every peer's tools take a session's name */
    bool native;       /* no container is around the server; the instructions say so */
    bool sandboxed;    /* kernels are, by default; likewise */
    bool answers_cancelled; /* with an error, where a stream waits for the answer; else: nothing */
    int64_t task_after_ms;  /* until a call may go on as a task; 0: TASK_AFTER_MS of mcp_call.h */
    const struct mcp_extension *extension; /* mcp_call.h; NULL: none */
};

struct mcp_out { /* one message, without a line break; borrowed for the call */
    const char *text;
    size_t n;
    void *stream;   /* of the request that it belongs to; NULL: of none */
    bool is_answer; /* to a request of the peer: exactly one for each that is not cancelled */
    int error;      /* of an answer: its code; 0: a result */
};

struct mcp_events {
    void (*send)(void *ctx, const struct mcp_out *message);
    void (*idle)(void *ctx); /* the last open request has been answered */
};

struct mcp_caller { /* who a message is from; all zero: nobody knows */
    struct request_context origin;
    bool may_register; /* MCP servers: programs beside the kernels, with the server's variables */
    bool may_approve;  /* be asked, and answer */
};

struct mcp;
struct mcp *mcp_new(const struct mcp_config *config, const struct mcp_events *events, void *ctx);
struct mcp *mcp_free(struct mcp *mcp); /* NULL in, NULL out */

/* One message of the peer that holds the other end of standard input and output: it may do
 * everything. The text is changed in the course. */
void mcp_message(struct mcp *mcp, char *text, size_t len);

/* One that was parsed, of anybody; stream: where what belongs to it goes. A traceparent in its
 * _meta stands before that of the caller. */
void mcp_dispatch(struct mcp *mcp, void *stream, const struct mcp_caller *caller,
                  const struct rpc_message *m);

/* Nobody hears this stream any more, which is as if its requests were cancelled. */
void mcp_stream_gone(struct mcp *mcp, const void *stream);

/* Answers a tools/call whose session cannot be had: a result that is an error. */
void mcp_refuse_call(struct mcp *mcp, void *stream, const struct rpc_message *m, const char *why);

/* Answers a message that could not be read, as rpc_parse() says. */
void mcp_answer_broken(struct mcp *mcp, void *stream, const char *id, const struct err *e);

/* Requests that wait for changes are answered: they are over. */
void mcp_stop_listening(struct mcp *mcp);

bool mcp_has_envelope(
    const struct rpc_message *m); /* of a modern request; the version may be any */
bool mcp_handshake_serves(const char *version);
const char *mcp_version(const struct mcp *mcp); /* that a handshake settled on, or NULL */

/* A message over `limit` bytes was dropped; id as written, or "". */
void mcp_too_long(struct mcp *mcp, const char *id, size_t limit);

/* Nothing can be heard from the peer any more: it is not asked, and what it was asked goes to the
 * next approver. Open requests go on. */
void mcp_input_ended(struct mcp *mcp);

bool mcp_is_idle(const struct mcp *mcp); /* parked and listening calls, and tasks, do not count */
bool mcp_has_task(const struct mcp *mcp, const char *id); /* it runs, or its end is kept */
bool mcp_has_calls(const struct mcp *mcp);

#endif
