/* SPDX-License-Identifier: Apache-2.0
 *
 * wire/connectrpc.h - the envelopes of Connect's streams (connectrpc.com/docs/protocol), without
 * I/O: a byte of flags, four of length, most significant first, and a message.
 * Memory:  of one message, at most `message.cap` bytes; its block is kept for the next one.
 * Not:     compression. A frame that says it is compressed is an error, as none was agreed on. */
#ifndef WIRE_CONNECTRPC_H
#define WIRE_CONNECTRPC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define CONNECT_HEAD 5
#define CONNECT_LAST 0x02 /* the flag of a stream's last frame */

struct connect_reader {
    struct buf message;
    /* private */
    unsigned char head[CONNECT_HEAD];
    size_t head_len;
    int failed;
    bool returned;
};

struct connect_frame {
    bool last;  /* the message is the stream's end, as the peer has it */
    char *data; /* may be changed; NUL-terminated */
    size_t n;
};

#define CONNECT_READER(limit)                                                                      \
    (struct connect_reader)                                                                        \
    {                                                                                              \
        .message = BUF_INIT(limit)                                                                 \
    }
void connect_done(struct connect_reader *c);

/* Takes bytes from *bytes, *n. 1: a frame is complete, lent until the next call. 0: all bytes are
 * taken. -EMSGSIZE: its message is over the limit, -ENOMEM, -EPROTO: flags that are not agreed on;
 * nothing can be read after that. */
MUST_CHECK int connect_next(struct connect_reader *c, const char **bytes, size_t *n,
                            struct connect_frame *ret);

/* The bytes are over. -EPIPE: in the middle of a frame. */
MUST_CHECK int connect_end(const struct connect_reader *c);

/* A frame is what is added to `out` in between: *ret_at is where it begins. */
void connect_begin(struct buf *out, size_t *ret_at);
void connect_finish(struct buf *out, size_t at, unsigned char flags);

/* Codes of errors by their errno, as JSON names them, with the HTTP status of an answer that is no
 * stream; what is not in the table is "internal" and 500. */
struct connect_code {
    int error; /* an errno */
    int status;
    const char *name;
};
const struct connect_code *connect_code_of(int error);

/* Appends {"code": …, "message": …}. */
void connect_put_error(struct buf *out, const char *code, const char *message);

#endif
