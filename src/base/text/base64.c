/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/base64.h"

#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The digit's value, or -1. */
static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Counts the digits of a well-formed text; -EBADMSG when it is none. */
static int count_digits(const char *text, size_t n, size_t *ret)
{
    size_t digits = 0;
    size_t padding = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_space(text[i]))
            continue;
        bool digit = value_of(text[i]) >= 0;
        if (digit ? padding > 0 : text[i] != '=')
            return -EBADMSG;
        digits += digit;
        padding += !digit;
    }
    if ((digits + padding) % 4 != 0 || padding > 2)
        return -EBADMSG;
    *ret = digits;
    return 0;
}

int base64_decode(struct buf *out, const char *text, size_t n)
{
    size_t digits = 0;
    int r = count_digits(text, n, &digits);
    if (r == 0)
        r = buf_reserve(out, digits / 4 * 3 + digits % 4 * 3 / 4);
    if (r < 0)
        return r;
    uint32_t bits = 0; /* the last eight are whole when `have` >= 8 */
    unsigned have = 0;
    for (size_t i = 0; i < n; i++) {
        int value = value_of(text[i]);
        if (value < 0)
            continue;
        bits = bits << 6 | (uint32_t)value;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out->data[out->len++] = (char)(bits >> have & 0xFF);
        }
    }
    out->data[out->len] = '\0';
    return 0;
}

int base64_encode(struct buf *out, const void *bytes, size_t n)
{
    const unsigned char *in = bytes;
    int r = buf_reserve(out, (n + 2) / 3 * 4);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t group = (uint32_t)in[i] << 16;
        group |= left > 1 ? (uint32_t)in[i + 1] << 8 : 0;
        group |= left > 2 ? in[i + 2] : 0;
        char *to = out->data + out->len;
        to[0] = alphabet[group >> 18];
        to[1] = alphabet[group >> 12 & 63];
        to[2] = '=';
        to[3] = '=';
        if (left > 1)
            to[2] = alphabet[group >> 6 & 63];
        if (left > 2)
            to[3] = alphabet[group & 63];
        out->len += 4;
    }
    out->data[out->len] = '\0';
    return 0;
}
