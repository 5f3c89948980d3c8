/* SPDX-License-Identifier: Apache-2.0
 *
 * wire/jupyter_msg.h - messages of the Jupyter wire protocol 5.4, without I/O.
 * Form:     [identities…] <IDS|MSG> hmac header parent_header metadata content [buffers…]
 * Trust:    the signature is compared, in constant time, before a byte is parsed, and a signature
 *           that was accepted before is refused: of the last JUPYTER_HISTORY messages of a key
 *           none can be played again. One key belongs to one kernel and serves all its channels.
 * Limits:   JUPYTER_FRAMES_MAX frames; header and parent JUPYTER_HEADER_MAX bytes each; metadata
 *           and content as below. A message whose header is right always arrives: metadata and
 *           content that cannot be kept (too large, too deep, not JSON) are NULL and content_error
 *           tells why, so that no reply is waited for in vain.
 * Texts:    bytes that are not UTF-8 become '?', U+0000 is C0 80 (base/json/json.h).
 * Not here: sockets (jupyter/zsock.h); what messages mean (jupyter/link.h). */
#ifndef WIRE_JUPYTER_MSG_H
#define WIRE_JUPYTER_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "base/text/slice.h"

#define JUPYTER_VERSION "5.4"
#define JUPYTER_FRAMES_MAX 1024
#define JUPYTER_HEADER_MAX ((size_t)64 << 10)
#define JUPYTER_METADATA_MAX ((size_t)16 << 20)
#define JUPYTER_CONTENT_MAX ((size_t)256 << 20)
#define JUPYTER_HISTORY 4096

enum jupyter_type {
    JUPYTER_OTHER, /* a type that has no name here: type_name has it */
    JUPYTER_STATUS,
    JUPYTER_STREAM,
    JUPYTER_DISPLAY_DATA,
    JUPYTER_UPDATE_DISPLAY_DATA,
    JUPYTER_EXECUTE_RESULT,
    JUPYTER_EXECUTE_INPUT,
    JUPYTER_ERROR,
    JUPYTER_CLEAR_OUTPUT,
    JUPYTER_IOPUB_WELCOME,
    JUPYTER_COMM_OPEN,
    JUPYTER_COMM_MSG,
    JUPYTER_COMM_CLOSE,
    JUPYTER_EXECUTE_REQUEST,
    JUPYTER_EXECUTE_REPLY,
    JUPYTER_KERNEL_INFO_REQUEST,
    JUPYTER_KERNEL_INFO_REPLY,
    JUPYTER_INTERRUPT_REQUEST,
    JUPYTER_INTERRUPT_REPLY,
    JUPYTER_SHUTDOWN_REQUEST,
    JUPYTER_SHUTDOWN_REPLY,
    JUPYTER_INPUT_REQUEST,
    JUPYTER_INPUT_REPLY,
    JUPYTER_COMPLETE_REQUEST,
    JUPYTER_COMPLETE_REPLY,
    JUPYTER_INSPECT_REQUEST,
    JUPYTER_INSPECT_REPLY,
    JUPYTER_VARIABLES_REQUEST, /* our own: Jupyter has none */
    JUPYTER_VARIABLES_REPLY,
    JUPYTER__COUNT
};

/* "execute_reply" …; NULL for JUPYTER_OTHER. */
const char *jupyter_type_name(enum jupyter_type type);

/* The key of a connection file, and the signatures that came under it. */
struct jupyter_key;
struct jupyter_key *jupyter_key_new(const char *key, size_t len);
struct jupyter_key *jupyter_key_free(struct jupyter_key *key); /* NULL in, NULL out */

/* A received message. All of it is borrowed: the texts from the trees below, the trees until
 * jupyter_msg_done(), identities and buffers from the frames that were decoded. */
struct jupyter_msg {
    enum jupyter_type type;
    const char *type_name;
    const char *msg_id;
    const char *parent_id; /* msg_id of the request this belongs to; "" when there is none */
    const struct json *header, *parent, *metadata, *content; /* objects, or NULL */
    int content_error; /* 0, or why content or metadata is NULL */
    const struct slice *identities, *buffers;
    size_t identity_count, buffer_count;
    struct json *trees[4]; /* owned: header, parent, metadata, content */
};

/* Decodes one message; the JSON frames are changed in the course. *ret is then owned and ended by
 * jupyter_msg_done(). -EBADMSG: not in the form; -EKEYREJECTED: unsigned or signed by another key;
 * -EALREADY: seen before; -EMSGSIZE: over a limit; -ELOOP, -ENOMEM: see json_parse(). */
MUST_CHECK int jupyter_msg_decode(struct slice *frames, size_t n, struct jupyter_key *key,
                                  struct jupyter_msg *ret, struct err *e);
void jupyter_msg_done(struct jupyter_msg *m);

/* A message to send. Texts are borrowed for the call. */
struct jupyter_head {
    enum jupyter_type type;
    const char *msg_id;   /* unique: random_hex() */
    const char *session;  /* one name for all that this client sends */
    const char *username; /* NULL: "ipybox" */
    const char *parent;   /* header of the message that is answered, as JSON; NULL: none */
    int64_t unix_us;      /* its date in microseconds since 1970; 0: now */
};

enum { JUPYTER_SENT_FRAMES = 6 };

/* An encoded message: frames[] to send in order. `content` and head->parent stay borrowed until
 * they are sent. */
struct jupyter_sent {
    struct slice frames[JUPYTER_SENT_FRAMES];
    struct buf text; /* owned: signature, header and parent */
};

/* `content` is the text of a JSON object. The frames are for reading only. */
MUST_CHECK int jupyter_msg_encode(struct jupyter_key *key, const struct jupyter_head *head,
                                  struct slice content, struct jupyter_sent *ret, struct err *e);
void jupyter_sent_done(struct jupyter_sent *sent);

/* Content of requests, appended to `out`, whose `failed` tells whether it fitted. */
struct jupyter_execute {
    struct slice code; /* UTF-8, U+0000 as C0 80 */
    bool silent;       /* no output of its own, no count, no history */
    bool store_history;
    bool tell_variables; /* our own kernel's reply has them as "variables" (variables.py) */
};
/* allow_stdin and stop_on_error are false: one request is sent at a time. */
void jupyter_put_execute(struct buf *out, const struct jupyter_execute *x);
void jupyter_put_shutdown(struct buf *out, bool restart); /* shutdown_request */

#endif
