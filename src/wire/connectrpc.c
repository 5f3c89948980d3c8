/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/connectrpc.h"

#include <stdint.h>
#include <string.h>

#include "base/json/jsonw.h"

enum { BLOCK_KEPT_BYTES = 64 * 1024 };

void connect_done(struct connect_reader *c)
{
    buf_done(&c->message);
    *c = CONNECT_READER(c->message.cap);
}

static size_t frame_length(const struct connect_reader *c)
{
    const unsigned char *h = c->head;
    return (size_t)h[1] << 24 | (size_t)h[2] << 16 | (size_t)h[3] << 8 | h[4];
}

static void clear_frame(struct connect_reader *c)
{
    if (c->message.size > BLOCK_KEPT_BYTES)
        buf_done(&c->message);
    else
        buf_clear(&c->message);
    c->head_len = 0;
    c->returned = false;
}

static int check_head(const struct connect_reader *c)
{
    if ((c->head[0] & ~CONNECT_LAST) != 0)
        return -EPROTO;
    return frame_length(c) > c->message.cap ? -EMSGSIZE : 0;
}

static int take_head(struct connect_reader *c, const char **bytes, size_t *n)
{
    while (c->head_len < CONNECT_HEAD && *n > 0) {
        c->head[c->head_len++] = (unsigned char)**bytes;
        (*bytes)++, (*n)--;
    }
    return c->head_len == CONNECT_HEAD ? check_head(c) : 0;
}

/* 1: the message is whole. Room is made for what has come, never for what is announced. */
static int take_message(struct connect_reader *c, const char **bytes, size_t *n)
{
    size_t missing = frame_length(c) - c->message.len, part = *n < missing ? *n : missing;
    int r = buf_add(&c->message, *bytes, part);
    if (r < 0)
        return r;
    *bytes += part;
    *n -= part;
    return part == missing ? 1 : 0;
}

int connect_next(struct connect_reader *c, const char **bytes, size_t *n, struct connect_frame *ret)
{
    if (c->failed)
        return c->failed;
    if (c->returned)
        clear_frame(c);
    int r = take_head(c, bytes, n);
    if (r == 0 && c->head_len == CONNECT_HEAD)
        r = take_message(c, bytes, n);
    if (r < 0)
        c->failed = r;
    if (r <= 0)
        return r;
    c->returned = true;
    *ret = (struct connect_frame){
        .last = (c->head[0] & CONNECT_LAST) != 0, .data = c->message.data, .n = c->message.len};
    return 1;
}

int connect_end(const struct connect_reader *c)
{
    if (c->failed)
        return c->failed;
    return c->head_len > 0 && !c->returned ? -EPIPE : 0;
}

void connect_begin(struct buf *out, size_t *ret_at)
{
    static const char room[CONNECT_HEAD] = {0};
    *ret_at = out->len;
    (void)buf_add(out, room, sizeof room);
}

void connect_finish(struct buf *out, size_t at, unsigned char flags)
{
    if (out->failed)
        return;
    size_t n = out->len - at - CONNECT_HEAD;
    const unsigned char head[CONNECT_HEAD] = {flags, (unsigned char)(n >> 24),
                                              (unsigned char)(n >> 16), (unsigned char)(n >> 8),
                                              (unsigned char)n};
    memcpy(out->data + at, head, sizeof head);
}

const struct connect_code *connect_code_of(int error)
{
    static const struct connect_code codes[] = {
        {EINVAL, 400, "invalid_argument"},
        {ENAMETOOLONG, 400, "invalid_argument"},
        {EMSGSIZE, 400, "invalid_argument"},
        {EPROTO, 400, "invalid_argument"},
        {ENOTDIR, 400, "invalid_argument"},
        {EISDIR, 400, "invalid_argument"},
        {ENOENT, 404, "not_found"},
        {ESRCH, 404, "not_found"},
        {EEXIST, 409, "already_exists"},
        {ENOKEY, 401, "unauthenticated"},
        {EACCES, 403, "permission_denied"},
        {EPERM, 403, "permission_denied"},
        {EXDEV, 403, "permission_denied"},
        {ELOOP, 403, "permission_denied"},
        {EROFS, 403, "permission_denied"},
        {EAGAIN, 429, "resource_exhausted"},
        {ENOSPC, 429, "resource_exhausted"},
        {EDQUOT, 429, "resource_exhausted"},
        {ENOTEMPTY, 400, "failed_precondition"},
        {EBUSY, 400, "failed_precondition"},
        {EPIPE, 400, "failed_precondition"},
        {ESTALE, 400, "failed_precondition"},
        {ENOSYS, 501, "unimplemented"},
        {ESHUTDOWN, 503, "unavailable"},
        {ETIMEDOUT, 504, "deadline_exceeded"},
    };
    static const struct connect_code internal = {0, 500, "internal"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].error == error)
            return &codes[i];
    return &internal;
}

void connect_put_error(struct buf *out, const char *code, const char *message)
{
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    jsonw_set_text(&w, "code", code);
    jsonw_set_text(&w, "message", message);
    jsonw_end(&w);
}
