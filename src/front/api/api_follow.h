/* SPDX-License-Identifier: Apache-2.0
 *
 * front/api/api_follow.h - the way of events to one client, as Server-Sent Events or as messages of
 * a WebSocket (private to front/).
 * Owner:   embedded in what follows; follow_begin() gives it a request, follow_end() or `gone` is
 *          its end. follow_drop() after `gone` alone.
 * Slow:    at most HTTP_QUEUE_MAX wait for the client, or one event: then follow_send() says
 *          -EAGAIN and `writable` follows. The last event is always taken: follow_last().
 * Alive:   a comment every 15 s; WebSockets are pinged by ws.c.
 * Client:  what it sends over a WebSocket closes it (1008; a long message 1009): it is only told.
 * Form:    of a WebSocket's message: {"id": NUMBER, "event": TYPE, "data": {…}}; no id: no number.
 * Calls:   loop thread only; `gone` never from inside follow_begin(). */
#ifndef FRONT_API_API_FOLLOW_H
#define FRONT_API_API_FOLLOW_H

#include "front/http/http.h"

struct follow_events {
    void (*writable)(void *ctx);
    void (*gone)(void *ctx); /* the client has left, or broken the rules; the last */
};

struct follow {
    struct loop *loop;
    struct http_request *r; /* NULL: a WebSocket */
    struct ws *ws;
    bool blocked; /* until the client takes more */
    struct loop_timer alive;
    const struct follow_events *events;
    void *ctx;
};

enum follow_why { FOLLOW_DONE, FOLLOW_STOPPING }; /* close codes 1000 and 1001 */

/* location: of what is followed, or NULL. False: it has answered with an error. */
bool follow_begin(struct follow *f, struct loop *loop, struct http_request *r, const char *location,
                  const struct follow_events *events, void *ctx);

/* The beginning of an event; its data, a JSON object in one line, is appended by the caller.
 * number 0: it has none. */
void follow_put(const struct follow *f, struct buf *out, uint64_t number, const char *type);
/* 0: it is on its way, or too long to be sent at all. -EAGAIN: it is not. */
MUST_CHECK int follow_send(struct follow *f, struct buf *out);

/* The last event, its data one text: it is taken however much waits. follow_end() follows. */
void follow_last(struct follow *f, const char *type, const char *member, const char *value);
void follow_end(struct follow *f, enum follow_why why, const char *reason);
void follow_drop(struct follow *f);

#endif
