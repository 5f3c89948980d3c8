/* SPDX-License-Identifier: Apache-2.0
 *
 * base/buf.h - a growing byte buffer that cannot be made without naming its limit.
 * Owns:    one heap block; data[len] is always 0 once something was added.
 * Limits:  growing over `cap` answers -EMSGSIZE and leaves the contents as they were; no memory
 *          answers -ENOMEM likewise. Errors are sticky in `failed`, so a series of appends needs
 *          one check at its end. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct buf {
    char *data;
    size_t len;
    size_t size; /* bytes allocated */
    size_t cap;  /* most bytes of content */
    int failed;  /* 0 or the first negative errno */
};

#define BUF_INIT(limit)                                                                            \
    (struct buf)                                                                                   \
    {                                                                                              \
        .cap = (limit)                                                                             \
    }
#define drop_buf __attribute__((cleanup(buf_done)))

void buf_done(struct buf *b); /* frees the block; the buffer is empty and usable again */

int buf_reserve(struct buf *b, size_t more); /* room for `more` bytes behind len */
int buf_add(struct buf *b, const void *bytes, size_t n);
int buf_adds(struct buf *b, const char *text);
int buf_addc(struct buf *b, char c);
int buf_addf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);

void buf_cut_front(struct buf *b, size_t n); /* drops the first n bytes */
void buf_clear(struct buf *b);               /* len = 0, keeps the block */
void buf_reuse(struct buf *b, size_t kept);  /* the same, but frees a block of more than `kept` */
const char *buf_text(const struct buf *b);   /* "" when nothing was added */

/* Moves the block out; the caller frees it with xfree(). NULL when the buffer failed. */
char *buf_take(struct buf *b);

#endif
