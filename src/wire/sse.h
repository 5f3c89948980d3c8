/* SPDX-License-Identifier: Apache-2.0
 *
 * wire/sse.h - event streams (server-sent events) as they come, in pieces of any size, without I/O.
 * Memory:  the data of one event, at most `data.cap` bytes; everything else is of fixed size: lines
 *          that say nothing here, however long, are passed over as they come.
 * Time:    linear in the bytes, whatever they are.
 * Source:  WHATWG HTML, "Server-sent events", section "Interpreting an event stream". */
#ifndef WIRE_SSE_H
#define WIRE_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define SSE_TYPE_MAX 32
#define SSE_ID_MAX 1024
#define SSE_RETRY_MAX_MS 3600000

struct sse {
    struct buf data;
    char id[SSE_ID_MAX + 1]; /* of the last event that had one; "": none. Has no line break */
    int64_t retry_ms;        /* -1: the stream did not say */
    /* private */
    char type[SSE_TYPE_MAX + 1];
    char new_id[SSE_ID_MAX + 1];
    char name[8]; /* of the line's field, as far as it can be one that counts */
    size_t name_len, value_len;
    int field, bom;
    bool has_data, has_id, returned, in_value, skip_space, after_cr;
    int64_t number;
};

struct sse_event {
    const char *type; /* "message" unless it is named */
    char *data;       /* may be changed; "" when it only says where the stream is */
    size_t n;
};

#define SSE_INIT(limit) (struct sse){.data = BUF_INIT(limit), .retry_ms = -1}
void sse_done(struct sse *s); /* afterwards it is as after SSE_INIT */

/* A new connection to the same stream: what was half read is forgotten, id and retry are kept. */
void sse_restart(struct sse *s);

/* Takes bytes from *bytes, *n. 1: an event is complete, lent until the next call. 0: all bytes are
 * taken. -EMSGSIZE: an event is over the limit, -ENOMEM: there is no room for it; nothing can be
 * read after that but with sse_restart(). */
MUST_CHECK int sse_next(struct sse *s, const char **bytes, size_t *n, struct sse_event *ret);

#endif
