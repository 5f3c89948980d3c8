/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/jsonstr.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/text/bytes8.h"
#include "base/text/hexdigit.h"
#include "base/text/utf8.h"

static bool is_special_character(uint64_t word)
{
    return (bytes8_below(word, 0x20) | bytes8_equal(word, '"') | bytes8_equal(word, '\\')) != 0;
}

static size_t plain_string_length(const char *s, const char *end)
{
    const char *from = s;
    while (end - s >= 8 && !is_special_character(bytes8_load(s)))
        s += 8;
    while (s < end && (unsigned char)*s >= 0x20 && *s != '"' && *s != '\\')
        s++;
    return (size_t)(s - from);
}

/* The closing quote; NULL: none. */
static const char *find_end(const char *s, const char *end)
{
    while (s < end) {
        s += plain_string_length(s, end);
        if (s < end && *s == '"')
            return s;
        if (end - s < 2 || *s != '\\')
            return NULL;
        s += 2;
    }
    return NULL;
}

int jsonstr_hex4(const char *s)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        const int digit = hexdigit(s[i]);
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* What the escape at s stands for is written to `out`, *ret_n bytes. Returns its own length; 0: it
 * is not a simple one. */
static size_t unescape_json_string(char out[4], size_t *ret_n, const char *s, const char *end)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char letter = s[1];
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (found) {
        *out = meanings[found - letters];
        *ret_n = 1;
        return 2;
    }
    const int point = letter == 'u' && end - s >= 6 ? jsonstr_hex4(s + 2) : -1;
    if (point <= 0 || (point >= 0xD800 && point < 0xE000))
        return 0;
    *ret_n = utf8_put(out, (uint32_t)point);
    return 6;
}

/* To `text`, which has room. False: an escape is not simple. */
static bool decode_json_string(char *text, size_t *ret_n, const char *s, const char *end)
{
    size_t n = 0;
    for (;;) {
        size_t more = plain_string_length(s, end);
        memcpy(text + n, s, more);
        n += more;
        s += more;
        *ret_n = n;
        if (s == end)
            return true;
        const size_t width = unescape_json_string(text + n, &more, s, end);
        if (width == 0)
            return false;
        n += more;
        s += width;
    }
}

char *jsonstr_take(const char **at, const char *end)
{
    const char *stop = find_end(*at, end);
    if (!stop)
        return NULL;
    drop_str char *text = try_realloc(NULL, (size_t)(stop - *at) + 1);
    size_t n = 0;
    if (!text || !decode_json_string(text, &n, *at, stop) || !utf8_valid(text, n))
        return NULL;
    text[n] = '\0';
    *at = stop + 1;
    return str_take(&text);
}
