/* SPDX-License-Identifier: Apache-2.0
 *
 * front/mcp/mcp_stream.h - the ways back of MCP over HTTP: what answers a POST, or a GET that
 * listens (private to front/).
 * Answer:  a POST with one request is answered by JSON as long as nothing had to be sent before;
 *          then, and after MCP_STREAM_ALIVE_MS of silence, by an event stream. A batch always gets
 *          a stream.
 * Kept:    the streams of a session have numbers, and their events ids "STREAM.EVENT". A stream
 *          goes on when its connection breaks; who comes back with the last id gets what follows
 *          it. For that MCP_STREAM_KEEP_MAX bytes of a session's events are kept; the oldest go
 *          first, but none that a connected client has not got yet.
 * Not kept: a stream ends with its connection, which its owner is told.
 * Source:  modelcontextprotocol.io specification, Streamable HTTP of 2025-03-26 to 2026-07-28. */
#ifndef FRONT_MCP_MCP_STREAM_H
#define FRONT_MCP_MCP_STREAM_H

#include "front/http/http.h"
#include "front/mcp/mcp.h"

#define MCP_STREAM_ALIVE_MS 15000
#define MCP_STREAM_KEEP_MAX ((size_t)4 << 20)
#define MCP_STREAMS_KEEP_MAX 64 /* likewise of streams that are over */

struct mcp_stream;

struct mcp_streams_config { /* borrowed */
    struct loop *loop;
    bool kept;
    /* Not kept: the connection of a stream is gone, and the stream with it. */
    void (*gone)(void *ctx, struct mcp_stream *stream);
    /* A connection has come or gone. May be NULL. */
    void (*used)(void *ctx);
    void *ctx;
};

struct mcp_streams {
    const struct mcp_streams_config *config;
    const char *session_id; /* a header of every answer; NULL: none */
    bool primes;            /* streams begin with an event that has an id and nothing else */
    struct mcp_stream *first, *last;
    uint64_t count;
    size_t streams;
    size_t bytes;     /* of kept events */
    size_t connected; /* requests that wait or listen */
};

void mcp_streams_init(struct mcp_streams *all, const struct mcp_streams_config *config);
/* Requests that wait are answered with this status (a problem), streams end. */
void mcp_streams_done(struct mcp_streams *all, int status, const char *why);

/* For the requests of this POST. */
struct mcp_stream *mcp_stream_open(struct mcp_streams *all, struct http_request *r);

/* One more answer is to come; the last of them ends the stream. */
void mcp_stream_expect(struct mcp_stream *stream);
/* What mcp_stream_expect() said will not come. Without any answer and any message: 202. */
void mcp_stream_expect_less(struct mcp_stream *stream);

void mcp_stream_send(struct mcp_stream *stream, const struct mcp_out *message);

/* What belongs to no request: kept until a GET listens. */
void mcp_streams_send(struct mcp_streams *all, const struct mcp_out *message);

/* Answers a GET: NULL listens to what belongs to no request, replacing the previous listener;
 * else the stream of this event goes on behind it. -ENOENT: it is not kept (any more). */
MUST_CHECK int mcp_streams_attach(struct mcp_streams *all, struct http_request *r,
                                  const char *last_event_id);

void mcp_streams_stop_listening(struct mcp_streams *all);

#endif
