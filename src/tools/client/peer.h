/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/client/peer.h - JSON-RPC with one MCP server over a transport: requests with their answers
 * in either direction, notifications (private to tools/).
 * Owner:   peer_close() closes the transport and drops what is open; no event comes after it. It
 *          may be called inside any event, which then has to return at once.
 * Calls:   loop thread only; nothing blocks. Events come from the loop, never from inside a call.
 * Numbers: results are kept as text beside the tree (base/json/jsonspan.h).
 * Trust:   what is no JSON-RPC is logged and passed over; texts of errors are scrubbed. */
#ifndef TOOLS_CLIENT_PEER_H
#define TOOLS_CLIENT_PEER_H

#include "base/json/json.h"
#include "base/json/jsonspan.h"
#include "base/json/jsonw.h"
#include "loop/gate.h"
#include "tools/tools.h"
#include "tools/transport/params.h"
#include "tools/transport/transport.h"

#define PEER_TEXT_MAX TRANSPORT_MESSAGE_MAX

enum peer_outcome {
    PEER_RESULT,
    PEER_ERROR,   /* of JSON-RPC */
    PEER_REFUSED, /* of HTTP: no message will come */
    PEER_SILENT,  /* not in the time that was given */
};

struct peer_answer { /* borrowed for the call */
    enum peer_outcome outcome;
    const struct json *result; /* PEER_RESULT: its tree … */
    struct jsonspan text;      /* … and its text */
    struct json **tree;        /* owner of the tree: may be taken, leaving NULL */
    int code;                  /* PEER_ERROR: of JSON-RPC */
    const struct json *data;   /* PEER_ERROR: of JSON-RPC, or NULL */
    int status;                /* PEER_REFUSED: of HTTP, 0: no answer came */
    const struct err *why;     /* all but PEER_RESULT */
};
typedef void (*peer_answer_fn)(void *ctx, struct peer_answer *answer);

struct peer_events {
    /* Must be answered, by peer_reply() or peer_refuse(); `id` as written, copied when kept. */
    void (*request)(void *ctx, const char *id, const char *method, const struct json *params);
    void (*notification)(void *ctx, const char *method, const struct json *params);
    /* The last event; open requests get no answer any more. */
    void (*closed)(void *ctx, const struct err *why);
};

struct peer_config { /* copied; what it points to is borrowed */
    const struct tools_config *tools;
    const char *name; /* the server's, for logs */
    const struct params *params;
    const struct sandbox_spec *sandbox; /* of a program; NULL: nothing */
    enum params_kind kind;              /* of the transport: SSE is also tried for HTTP */
    struct http_client *http;
    struct gate *gate; /* of what it has logged; NULL: none */
};

struct server_peer;
MUST_CHECK int peer_open(const struct peer_config *config, const struct peer_events *events,
                         void *ctx, struct server_peer **ret, struct err *e);
struct server_peer *peer_close(struct server_peer *peer); /* NULL in, NULL out */
void peer_set_events(struct server_peer *peer, const struct peer_events *events, void *ctx);

/* What HTTP repeats in headers from now on. NULL: no version yet. */
void peer_set_version(struct server_peer *peer, const char *version, bool modern);
bool peer_is_modern(const struct server_peer *peer);
bool peer_is_program(const struct server_peer *peer);

struct peer_question { /* borrowed for the call */
    const char *method;
    const char *name; /* Mcp-Name, or NULL */
    const struct transport_header *headers;
    size_t n_headers;
    const char *traceparent, *tracestate; /* of HTTP; NULL or "": none */
    const char *params;                   /* JSON text of an object on one line, or NULL */
    int64_t timeout_ms;                   /* 0: none */
};

struct peer_request;
MUST_CHECK int peer_ask(struct server_peer *peer, const struct peer_question *question,
                        peer_answer_fn answered, void *ctx, struct peer_request **ret,
                        struct err *e);
long peer_next_id(const struct server_peer *peer); /* what the next request will have */
long peer_request_id(const struct peer_request *request);

/* Nobody waits for it any more. tell: the server hears so (handshake era, and programs). */
void peer_forget(struct server_peer *peer, struct peer_request *request, bool tell);

MUST_CHECK int peer_tell(struct server_peer *peer, const char *method, const char *params,
                         struct err *e);

/* Answers to the server; `result` is JSON text on one line. What cannot be sent is dropped. */
void peer_reply(struct server_peer *peer, const char *id, const char *result);
void peer_refuse(struct server_peer *peer, const char *id, int code, const char *message);

#endif
