/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/utf8.h"

#include "base/text/bytes8.h"

static bool continuation(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

size_t utf8_char(const char *text, size_t n, uint32_t *ret_codepoint)
{
    const unsigned char *s = (const unsigned char *)text;
    if (n == 0)
        return 0;
    uint32_t c = s[0];
    size_t len = c < 0x80                ? 1
                 : c >= 0xC2 && c < 0xE0 ? 2
                 : c >= 0xE0 && c < 0xF0 ? 3
                 : c >= 0xF0 && c < 0xF5 ? 4
                                         : 0;
    if (len == 0 || len > n)
        return 0;
    uint32_t point = len == 1 ? c : c & (0x7FU >> len);
    for (size_t i = 1; i < len; i++) {
        if (!continuation(s[i]))
            return 0;
        point = point << 6 | (s[i] & 0x3FU);
    }
    bool overlong = (len == 3 && point < 0x800) || (len == 4 && point < 0x10000);
    if (overlong || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
        return 0;
    if (ret_codepoint)
        *ret_codepoint = point;
    return len;
}

/* Eight ASCII bytes at a time: output is mostly ASCII, and there can be a gigabyte of it. */
static size_t ascii_prefix(const char *s, size_t n)
{
    size_t i = 0;
    while (i + 8 <= n && !bytes8_not_ascii(bytes8_load(s + i)))
        i += 8;
    while (i < n && (unsigned char)s[i] < 0x80)
        i++;
    return i;
}

size_t utf8_valid_prefix(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n) {
        i += ascii_prefix(s + i, n - i);
        if (i == n)
            break;
        size_t len = utf8_char(s + i, n - i, NULL);
        if (len == 0)
            break;
        i += len;
    }
    return i;
}

bool utf8_valid(const char *s, size_t n)
{
    return utf8_valid_prefix(s, n) == n;
}

size_t utf8_count(const char *s, size_t n)
{
    size_t count = n, i = 0;
    for (; i + 8 <= n; i += 8) { /* continuations: the highest bit is set, the next one is not */
        const uint64_t word = bytes8_load(s + i);
        const uint64_t marks = word & ~word << 1 & BYTES8_HIGH;
        count -= (size_t)((marks >> 7) * BYTES8_EACH >> 56);
    }
    for (; i < n; i++)
        count -= continuation((unsigned char)s[i]);
    return count;
}

size_t utf8_offset(const char *s, size_t n, size_t chars)
{
    size_t i = 0;
    while (i < n) {
        if (!continuation((unsigned char)s[i]) && chars-- == 0)
            break;
        i++;
    }
    return i;
}

bool utf8_is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

size_t utf8_space_prefix(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint32_t point = 0;
        size_t len = utf8_char(s + i, n - i, &point);
        if (len == 0 || !utf8_is_space(point))
            break;
        i += len;
    }
    return i;
}

size_t utf8_space_suffix(const char *s, size_t n)
{
    size_t end = n;
    while (end > 0) {
        size_t start = end - 1;
        while (start > 0 && continuation((unsigned char)s[start]))
            start--;
        uint32_t point = 0;
        if (utf8_char(s + start, end - start, &point) != end - start || !utf8_is_space(point))
            break;
        end = start;
    }
    return n - end;
}

size_t utf8_put(char out[4], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)((0xF00U >> len & 0xFFU) | c);
    return len;
}
