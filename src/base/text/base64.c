/* SPDX-License-Identifier: Apache-2.0
 *
 * Own code, although mbedTLS is linked: that reads 60 KB in a millisecond, in constant time as
 * private keys need it, and a picture of some MB would hold the loop (docs/decisions/0038). */
#include "base/text/base64.h"

#include <stdint.h>
#include <sys/types.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum { DIGITS = 64, SPACE = DIGITS, PAD, NONE };

static const unsigned char values[128] = {
    NONE, NONE, NONE,  NONE, NONE, NONE, NONE, NONE, NONE, SPACE, SPACE, SPACE, SPACE, SPACE, NONE,
    NONE, NONE, NONE,  NONE, NONE, NONE, NONE, NONE, NONE, NONE,  NONE,  NONE,  NONE,  NONE,  NONE,
    NONE, NONE, SPACE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,  NONE,  NONE,  NONE,  62,    NONE,
    NONE, NONE, 63,    52,   53,   54,   55,   56,   57,   58,    59,    60,    61,    NONE,  NONE,
    NONE, PAD,  NONE,  NONE, NONE, 0,    1,    2,    3,    4,     5,     6,     7,     8,     9,
    10,   11,   12,    13,   14,   15,   16,   17,   18,   19,    20,    21,    22,    23,    24,
    25,   NONE, NONE,  NONE, NONE, NONE, NONE, 26,   27,   28,    29,    30,    31,    32,    33,
    34,   35,   36,    37,   38,   39,   40,   41,   42,   43,    44,    45,    46,    47,    48,
    49,   50,   51,    NONE, NONE, NONE, NONE, NONE,
};

static unsigned value_of(char c)
{
    return (unsigned char)c < sizeof values ? values[(unsigned char)c] : NONE;
}

/* The whole groups of four digits at the beginning: returns how many there are. */
static size_t decode_groups(char *to, const char *text, size_t n)
{
    size_t groups = 0;
    for (; n >= 4; n -= 4, text += 4, groups++) {
        unsigned a = value_of(text[0]), b = value_of(text[1]);
        unsigned c = value_of(text[2]), d = value_of(text[3]);
        if ((a | b | c | d) >= DIGITS)
            break;
        *to++ = (char)(a << 2 | b >> 4);
        *to++ = (char)(b << 4 | c >> 2);
        *to++ = (char)(c << 6 | d);
    }
    return groups;
}

/* Writes the bytes of the digits to `to`; returns how many they are; -1: it is not base64. */
static ssize_t decode_base64(char *to, const char *text, size_t n)
{
    const char *start = to;
    uint32_t bits = 0;
    unsigned digits = 0, padding = 0; /* of the present group of four */
    for (size_t i = 0; i < n; i++) {
        size_t groups = digits == 0 ? decode_groups(to, text + i, n - i) : 0;
        to += groups * 3;
        i += groups * 4;
        unsigned value = i < n ? value_of(text[i]) : SPACE;
        if (value == SPACE)
            continue;
        if (value == NONE || (value == PAD ? digits < 2 : padding > 0) || digits + padding == 4)
            return -1;
        bits = bits << 6 | (value == PAD ? 0 : value);
        *(value == PAD ? &padding : &digits) += 1;
        if (digits + padding < 4)
            continue;
        for (unsigned at = 0; at < 3 - padding; at++)
            *to++ = (char)(bits >> (16 - 8 * at));
        digits = padding ? digits : 0; /* nothing may follow a padded group */
    }
    return (digits + padding) % 4 == 0 ? to - start : -1;
}

int base64_decode(struct buf *out, const char *text, size_t n)
{
    size_t digits = 0;
    for (size_t i = 0; i < n; i++)
        digits += value_of(text[i]) < DIGITS;
    int r = buf_reserve(out, digits / 4 * 3 + digits % 4 * 3 / 4);
    if (r < 0)
        return r;
    ssize_t size = decode_base64(out->data + out->len, text, n);
    if (size > 0)
        out->len += (size_t)size;
    out->data[out->len] = '\0';
    return size < 0 ? -EBADMSG : 0;
}

int base64url_decode(struct buf *out, const char *text, size_t n)
{
    static const unsigned mute[4] = {0, 0, 15, 3}; /* bits of the last digit that say nothing */
    drop_buf struct buf usual = BUF_INIT(n + 2);
    unsigned value = 0;
    for (size_t i = 0; i < n; i++) {
        char c = (char)(text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i]);
        value = c == text[i] && (c == '+' || c == '/') ? NONE : value_of(c);
        if (value >= DIGITS)
            return -EBADMSG;
        (void)buf_addc(&usual, c);
    }
    if (n % 4 == 1 || (value & mute[n % 4]) != 0)
        return -EBADMSG;
    while (usual.len % 4 > 0 && !usual.failed)
        (void)buf_addc(&usual, '=');
    return usual.failed ? usual.failed : base64_decode(out, buf_text(&usual), usual.len);
}

int base64_encode(struct buf *out, const void *bytes, size_t n)
{
    const unsigned char *in = bytes;
    int r = buf_reserve(out, (n + 2) / 3 * 4);
    if (r < 0)
        return r;
    char *to = out->data + out->len;
    for (size_t i = 0; i < n; i += 3, to += 4) {
        size_t left = n - i;
        uint32_t group = (uint32_t)in[i] << 16;
        group |= left > 1 ? (uint32_t)in[i + 1] << 8 : 0;
        group |= left > 2 ? in[i + 2] : 0;
        to[0] = alphabet[group >> 18];
        to[1] = alphabet[group >> 12 & 63];
        to[2] = left > 1 ? alphabet[group >> 6 & 63] : '=';
        to[3] = left > 2 ? alphabet[group & 63] : '=';
    }
    *to = '\0';
    out->len = (size_t)(to - out->data);
    return 0;
}
