/* SPDX-License-Identifier: Apache-2.0
 *
 * tools/transport/transport.h - how messages reach one MCP server: a program's standard streams,
 * Streamable HTTP, or the HTTP+SSE of 2024-11-05 (private to tools/).
 * Owner:   the client (client.h) of that server; close gives it up: no event comes after it.
 * Calls:   loop thread only; nothing blocks. Events come from the loop, never from inside a call.
 * Limits:  a message over TRANSPORT_MESSAGE_MAX bytes ends the transport with an error that names
 *          the limit; what waits for a slow server is bounded by TRANSPORT_BACKLOG_MAX.
 * Secrets: headers, environment and expanded URLs appear in no error and no log.
 * Source:  modelcontextprotocol.io, "Transports", revisions 2024-11-05 to 2026-07-28. */
#ifndef TOOLS_TRANSPORT_TRANSPORT_H
#define TOOLS_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "loop/loop.h"
#include "sandbox/shim/spawn.h"

#define TRANSPORT_MESSAGE_MAX ((size_t)64 << 20)
#define TRANSPORT_BACKLOG_MAX ((size_t)128 << 20)
#define TRANSPORT_STDERR_KEPT ((size_t)4 << 10) /* bytes of a program's last words */

struct transport_header {
    const char *name, *value;
};

struct transport_message { /* borrowed for the call */
    const char *text;      /* one JSON-RPC message, without a line break */
    size_t n;
    const char *id; /* of a request, as written; NULL: a notification or a response */
    /* What HTTP repeats in headers: */
    const char *version; /* protocol version in force; NULL: none yet (initialize) */
    const char *method;  /* NULL: a response */
    const char *name;    /* Mcp-Name, or NULL */
    bool modern;         /* 2026-07-28: Mcp-Method and Mcp-Name are sent, sessions are not */
    const struct transport_header *params; /* Mcp-Param-*, unencoded */
    size_t n_params;
    const char *traceparent, *tracestate; /* NULL or "": none */
};

struct transport_events {
    /* One message of the server; the text may be changed. It begins and ends as an object does,
     * or as an array of objects (a batch of 2025-03-26); that it is JSON is for the receiver to
     * find out. */
    void (*message)(void *ctx, char *text, size_t n);
    /* HTTP: this request will get no message: its answer was an error without a JSON-RPC body, or
     * ended early. status: of HTTP, 0 when no answer came at all, or when the request was taken and
     * what is left of a broken answer cannot be had. */
    void (*refused)(void *ctx, const char *id, int status, const struct err *why);
    /* The last event: a program ended, the event stream of 2024-11-05 broke, a message was too
     * long. why says so in a sentence; of what a program said last on standard error, at most
     * TRANSPORT_STDERR_KEPT bytes, it has as much of the end as it has room for. */
    void (*closed)(void *ctx, const struct err *why);
};

struct transport;
struct transport_ops {
    /* -EAGAIN: too much waits already; -EPIPE: it is closed. */
    int (*send)(struct transport *t, const struct transport_message *m, struct err *e);
    /* Nobody waits for the answer to this request any more: on HTTP its connection is closed. */
    void (*forget)(struct transport *t, const char *id);
    /* In order: a program gets the end of its input, after a grace TERM, then KILL (in the
     * background); an HTTP session a DELETE. */
    void (*close)(struct transport *t);
};

struct transport { /* the first member of each kind */
    const struct transport_ops *ops;
};

/* --- a program: messages are lines of its standard input and output ------------------------- */

struct transport_stdio_config { /* copied */
    struct loop *loop;
    struct spawner *spawner;
    const char *const *argv;
    const char *const *envp;
    const char *cwd;
    const struct sandbox_spec *sandbox; /* NULL: none */
    int64_t close_grace_ms; /* from the end of its input to TERM, and from TERM to KILL */
    /* Each line of its standard error, and what is no message on its standard output; at most 4 KiB
     * at once, unescaped. It must not close the transport. NULL: nobody wants them. */
    void (*log)(void *log_ctx, const char *line);
    void *log_ctx;
};
/* Starts the program; `closed` reports that it cannot be run. */
MUST_CHECK int transport_stdio_open(const struct transport_stdio_config *config,
                                    const struct transport_events *events, void *ctx,
                                    struct transport **ret, struct err *e);

/* --- HTTP ------------------------------------------------------------------------------------ */

struct http_client; /* http_client.h */

struct transport_http_config { /* copied */
    struct http_client *http;
    const char *url;
    const struct transport_header *headers; /* of the server's registration */
    size_t n_headers;
    int64_t connect_timeout_ms;
};

/* Streamable HTTP, both eras: it keeps the session id that an answer to initialize brings, opens
 * the GET stream after notifications/initialized was sent (405 is fine), and resumes a broken
 * event stream with Last-Event-ID. */
MUST_CHECK int transport_http_open(const struct transport_http_config *config,
                                   const struct transport_events *events, void *ctx,
                                   struct transport **ret, struct err *e);

/* 2024-11-05: what is sent before the "endpoint" event came waits for it. */
MUST_CHECK int transport_sse_open(const struct transport_http_config *config,
                                  const struct transport_events *events, void *ctx,
                                  struct transport **ret, struct err *e);

#endif
