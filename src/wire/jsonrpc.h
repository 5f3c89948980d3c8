/* SPDX-License-Identifier: Apache-2.0
 *
 * wire/jsonrpc.h - JSON-RPC 2.0 as MCP uses it: one message in, one message out, without I/O.
 * Ids:     kept and echoed exactly as they were written; strings and integers, nothing else.
 * Codes:   of the JSON-RPC specification and of MCP 2026-07-28. */
#ifndef WIRE_JSONRPC_H
#define WIRE_JSONRPC_H

#include "base/buf.h"
#include "base/json/json.h"
#include "base/json/jsonscan.h"
#include "base/json/jsonw.h"

enum rpc_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    RPC_CANCELLED = -32800,
    RPC_HEADER_MISMATCH = -32020,
    RPC_MISSING_CAPABILITY = -32021,
    RPC_UNSUPPORTED_VERSION = -32022,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

struct rpc_message {
    enum rpc_kind kind;
    char id[JSONSCAN_ID_MAX + 1]; /* as written; "" for a notification */
    const char *method;           /* borrowed from the tree; NULL for a response */
    const struct json *params;    /* an object, or NULL when absent */
    struct json *tree;            /* owned */
};

/* Reads one message; text is changed. On failure the negative rpc code is returned, the text for
 * it is in *e, and ret->id holds what should be answered: an id as written, or "null". */
MUST_CHECK int rpc_parse(char *text, size_t len, enum json_mode mode, struct rpc_message *ret,
                         struct err *e);
void rpc_message_done(struct rpc_message *m);

/* True when both are the same id, however each was written. */
bool rpc_same_id(const char *a, const char *b);

/* Messages out: what is between begin and end is the value of "result" or "params". */
void rpc_result_begin(struct jsonw *w, const char *id);
void rpc_notification_begin(struct jsonw *w, const char *method);
void rpc_end(struct jsonw *w);

/* A whole error response; `data` is JSON text or NULL. */
void rpc_put_error(struct buf *out, const char *id, int code, const char *message,
                   const char *data);

#endif
