/* SPDX-License-Identifier: Apache-2.0
 *
 * base/text/base64.h - base64 of RFC 4648 section 4 (alphabet with + and /), whole texts at a
 * time, and the reading of base64url.
 * Decode:  white space is skipped anywhere (kernels break the text of images into lines); padding
 *          is needed; any other byte is refused.
 * Limits:  the buffer's; on failure nothing has been appended. */
#ifndef BASE_TEXT_BASE64_H
#define BASE_TEXT_BASE64_H

#include <stddef.h>

#include "base/buf.h"

/* Appends the bytes that `text` stands for. -EBADMSG: not base64; else what buf_reserve() says. */
MUST_CHECK int base64_decode(struct buf *out, const char *text, size_t n);

/* base64url of section 5 (alphabet with - and _), of which each sequence of bytes has one text: no
 * padding, no white space, no bits that say nothing. */
MUST_CHECK int base64url_decode(struct buf *out, const char *text, size_t n);

MUST_CHECK int base64_encode(struct buf *out, const void *bytes, size_t n);

#endif
