/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/base64.h"

#include <mbedtls/base64.h>
#include <string.h>

/* Copies what is no white space, of which mbedTLS would not allow all; returns how much it is. */
static size_t squeeze(char *to, const char *text, size_t n)
{
    static const char space[] = {' ', '\t', '\n', '\v', '\f', '\r'};
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        if (!memchr(space, text[i], sizeof space))
            to[len++] = text[i];
    }
    return len;
}

int base64_decode(struct buf *out, const char *text, size_t n)
{
    drop_buf struct buf digits = BUF_INIT(n + 1);
    int r = buf_reserve(&digits, n);
    if (r < 0)
        return r;
    size_t len = squeeze(digits.data, text, n), size = 0;
    const unsigned char *in = (const unsigned char *)digits.data;
    r = mbedtls_base64_decode(NULL, 0, &size, in, len);
    if (r == MBEDTLS_ERR_BASE64_INVALID_CHARACTER)
        return -EBADMSG;
    r = buf_reserve(out, size);
    if (r < 0)
        return r;
    unsigned char *to = (unsigned char *)out->data + out->len;
    if (mbedtls_base64_decode(to, size, &size, in, len) != 0)
        return -EBADMSG;
    out->len += size;
    out->data[out->len] = '\0';
    return 0;
}

int base64_encode(struct buf *out, const void *bytes, size_t n)
{
    size_t size = (n + 2) / 3 * 4;
    int r = buf_reserve(out, size);
    if (r < 0)
        return r;
    unsigned char *to = (unsigned char *)out->data + out->len;
    if (mbedtls_base64_encode(to, size + 1, &size, bytes, n) != 0)
        return -EMSGSIZE;
    out->len += size;
    out->data[out->len] = '\0';
    return 0;
}
