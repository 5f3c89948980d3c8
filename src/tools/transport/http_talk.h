/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/transport/http_talk.h - what both HTTP transports say and hear in the same way: lists of
 * headers, and sentences about answers that bring no message (private to tools/). */
#ifndef TOOLS_TRANSPORT_HTTP_TALK_H
#define TOOLS_TRANSPORT_HTTP_TALK_H

#include "base/buf.h"
#include "tools/transport/http_client.h"
#include "tools/transport/transport.h"

#define HTTP_ERROR_BODY_MAX ((size_t)1 << 20) /* of an answer that is an error */

/* A server: where it is and the headers of its registration. */
struct http_peer {
    struct http_client *http;
    char *url;
    char host[HTTP_HOST_MAX]; /* for sentences */
    struct http_client_header *headers;
    size_t n_headers;
    int64_t connect_timeout_ms;
};
MUST_CHECK int http_peer_init(struct http_peer *peer, const struct transport_http_config *config,
                              struct err *e);
void http_peer_done(struct http_peer *peer);

struct http_headers { /* all zero: none */
    struct http_client_header *list;
    size_t n;
};
void http_headers_add(struct http_headers *h, const char *name, const char *value);

/* A value that a header cannot hold as it is, is written as =?base64?…?= (MCP 2026-07-28). */
void http_headers_add_encoded(struct http_headers *h, const char *name, const char *value);

/* Where a message belongs; it stands before what the registration says. */
void http_headers_add_trace(struct http_headers *h, const struct transport_message *m);

/* Those of the registration, but for what is there already and what the client itself decides. */
void http_headers_add_peer(struct http_headers *h, const struct http_peer *peer);
void http_headers_done(struct http_headers *h);

enum http_kind { HTTP_KIND_OTHER, HTTP_KIND_JSON, HTTP_KIND_EVENTS };
enum http_kind http_kind_of(struct http_client_request *request); /* by its Content-Type */

/* The JSON-RPC error in `body`, if there is one, as an answer to `id` (its own may be null) in out.
 * body is parsed as a copy. */
bool http_error_as_answer(const char *body, size_t n, const char *id, struct buf *out);

/* Why a status is no answer; with what the body says about it when that is a JSON-RPC error.
 * Inside an event of the request. */
void http_explain_status(const struct http_peer *peer, struct http_client_request *request,
                         int status, const struct buf *body, struct err *ret);

/* Why a message of the peer cannot be taken: -EMSGSIZE or -ENOMEM. */
void http_explain_message(const struct http_peer *peer, int code, struct err *ret);

#endif
