/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/visible.h"

#include <string.h>

#include "base/text/utf8.h"

enum { BMP_END = 0x10000 };

/* Unicode's categories Cc, Cf, Co, Zl and Zp, and what else has no glyph or changes that of its
 * neighbour. */
static const struct {
    uint32_t from, to;
} hidden[] = {
    {0x00, 0x1F},        {0x7F, 0x9F},       /* control characters */
    {0xAD, 0xAD},        {0x34F, 0x34F},     /* soft hyphen, grapheme joiner */
    {0x600, 0x605},      {0x61C, 0x61C},     /* Arabic number signs, letter mark */
    {0x6DD, 0x6DD},      {0x70F, 0x70F},     /* end of ayah, Syriac mark */
    {0x890, 0x891},      {0x8E2, 0x8E2},     /* Arabic signs above numbers */
    {0x115F, 0x1160},    {0x17B4, 0x17B5},   /* fillers, invisible vowels */
    {0x180B, 0x180F},    {0x200B, 0x200F},   /* Mongolian selectors, zero width */
    {0x2028, 0x202E},    {0x2060, 0x206F},   /* directions, joiners, isolates */
    {0x2800, 0x2800},    {0x3164, 0x3164},   /* blank Braille, filler */
    {0xE000, 0xF8FF},    {0xFE00, 0xFE0F},   /* private use, selectors */
    {0xFEFF, 0xFEFF},    {0xFFA0, 0xFFA0},   /* byte order mark, filler */
    {0xFFF0, 0xFFFB},    {0x110BD, 0x110BD}, /* specials, Kaithi signs */
    {0x110CD, 0x110CD},  {0x13430, 0x1343F}, /* hieroglyphs' format */
    {0x1BCA0, 0x1BCA3},  {0x1D173, 0x1D17A}, /* shorthand, musical format */
    {0xE0000, 0x10FFFF},                     /* tags, selectors, private use */
};

bool visible_hides(uint32_t c)
{
    size_t from = 0, to = sizeof hidden / sizeof *hidden;
    while (from < to) {
        size_t middle = (from + to) / 2;
        if (c > hidden[middle].to)
            from = middle + 1;
        else
            to = middle;
    }
    return from < sizeof hidden / sizeof *hidden && c >= hidden[from].from;
}

size_t visible_put(struct buf *out, const char *s, size_t n)
{
    uint32_t c = 0;
    size_t width = utf8_char(s, n, &c);
    if (width == 0 && n > 1 && (unsigned char)s[0] == 0xC0 && (unsigned char)s[1] == 0x80) {
        (void)buf_adds(out, "\\u0000"); /* see utf8.h */
        return 2;
    }
    if (width == 0) {
        (void)buf_addf(out, "\\x%02x", (unsigned char)*s);
        return 1;
    }
    if (!visible_hides(c))
        (void)buf_add(out, s, width);
    else
        (void)buf_addf(out, c >= BMP_END ? "\\u{%x}" : "\\u%04x", c);
    return width;
}

void visible_put_text(struct buf *out, const char *text)
{
    size_t n = strlen(text);
    while (n > 0 && !out->failed) {
        size_t width = visible_put(out, text, n);
        text += width;
        n -= width;
    }
}

/* Outside of strings JSON has nothing beyond ASCII, and inside no control character as it is. */
void visible_put_json(struct buf *out, const char *json, size_t n)
{
    for (size_t i = 0; i < n && !out->failed;) {
        uint32_t c = 0;
        size_t width = utf8_char(json + i, n - i, &c);
        if (width < 2 || !visible_hides(c))
            (void)buf_add(out, json + i, width ? width : 1);
        else if (c < BMP_END)
            (void)buf_addf(out, "\\u%04x", c);
        else
            (void)buf_addf(out, "\\u%04x\\u%04x", 0xD800 + ((c - BMP_END) >> 10),
                           0xDC00 + ((c - BMP_END) & 0x3FF));
        i += width ? width : 1;
    }
}
