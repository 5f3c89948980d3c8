/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static int fail_buf(struct buf *b, int code)
{
    if (!b->failed)
        b->failed = code;
    return code;
}

void buf_done(struct buf *b)
{
    xfree(b->data);
    *b = BUF_INIT(b->cap);
}

int buf_reserve(struct buf *b, size_t more)
{
    if (b->failed)
        return b->failed;
    if (more > b->cap || b->len > b->cap - more)
        return fail_buf(b, -EMSGSIZE);
    size_t need = b->len + more + 1;
    if (need <= b->size)
        return 0;
    size_t size = b->size ? b->size : 64;
    while (size < need)
        size += size / 2 + 64;
    if (size > b->cap + 1)
        size = b->cap + 1;
    char *data = try_realloc(b->data, size);
    if (!data)
        return fail_buf(b, -ENOMEM);
    b->data = data;
    b->size = size;
    return 0;
}

int buf_add(struct buf *b, const void *bytes, size_t n)
{
    int r = buf_reserve(b, n);
    if (r < 0)
        return r;
    if (n)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
    return 0;
}

int buf_adds(struct buf *b, const char *text)
{
    return buf_add(b, text, strlen(text));
}

int buf_addc(struct buf *b, char c)
{
    return buf_add(b, &c, 1);
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    int r = n < 0 ? fail_buf(b, -EINVAL) : buf_reserve(b, (size_t)n);
    if (r == 0) {
        (void)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
    return r;
}

void buf_cut_front(struct buf *b, size_t n)
{
    if (n > b->len)
        n = b->len;
    if (n == 0)
        return;
    memmove(b->data, b->data + n, b->len - n);
    b->len -= n;
    b->data[b->len] = '\0';
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = 0;
    if (b->data)
        b->data[0] = '\0';
}

void buf_reuse(struct buf *b, size_t kept)
{
    if (b->size > kept)
        buf_done(b);
    else
        buf_clear(b);
}

const char *buf_text(const struct buf *b)
{
    return b->data ? b->data : "";
}

char *buf_take(struct buf *b)
{
    if (b->failed || buf_reserve(b, 0) < 0)
        return NULL;
    b->data[b->len] = '\0';
    char *data = b->data;
    *b = BUF_INIT(b->cap);
    return data;
}
