/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/jsonscan.h"

#include <string.h>

static bool is_scan_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void capture(struct jsonscan *s, char c)
{
    if (s->id_len > JSONSCAN_ID_MAX)
        return; /* one byte over the limit marks it as too long */
    s->id[s->id_len++] = c;
    s->id[s->id_len] = '\0';
}

static void add_to_key(struct jsonscan *s, char c)
{
    if (s->key_len < sizeof s->key)
        s->key[s->key_len++] = c;
}

/* One character of a name at the top level. Of the escapes only \uXXXX can make an i or a d. */
static void read_key(struct jsonscan *s, char c, bool was_escaped)
{
    if (s->hex_left > 0) {
        bool decimal = c >= '0' && c <= '9';
        unsigned digit = decimal ? (unsigned)c - '0' : ((unsigned)c | 0x20) - 'a' + 10;
        s->hex = s->hex << 4 | (digit & 15);
        if (--s->hex_left == 0)
            add_to_key(s, s->hex < 0x80 ? (char)s->hex : '?');
    } else if (was_escaped && c == 'u') {
        s->hex_left = 4;
        s->hex = 0;
    } else if (was_escaped) {
        add_to_key(s, '?');
    } else if (c != '\\') {
        add_to_key(s, c);
    }
}

static void in_string(struct jsonscan *s, char c)
{
    bool was_escaped = s->escaped;
    bool closes = c == '"' && !was_escaped;
    s->escaped = c == '\\' && !was_escaped;
    if (s->capturing)
        capture(s, c);
    else if (!closes && s->depth == 1 && !s->expect_value)
        read_key(s, c, was_escaped);
    if (closes)
        s->in_string = false;
}

static void open_string(struct jsonscan *s)
{
    s->in_string = true;
    s->escaped = false;
    if (s->capturing)
        capture(s, '"');
    else if (s->depth == 1 && !s->expect_value)
        s->key_len = 0;
    s->hex_left = 0;
}

static void after_colon(struct jsonscan *s)
{
    if (s->depth != 1)
        return;
    s->expect_value = true;
    if (s->key_len == 2 && memcmp(s->key, "id", 2) == 0) {
        s->capturing = true; /* of two ids the last counts, as in most parsers */
        s->id_len = 0;
        s->id[0] = '\0';
    }
}

static void outside_string(struct jsonscan *s, char c)
{
    if (c == '"') {
        open_string(s);
        return;
    }
    if (c == '}' || c == ']')
        s->depth--;
    bool ends_value = (c == ',' && s->depth == 1) || ((c == '}' || c == ']') && s->depth == 0);
    if (ends_value) {
        s->capturing = false;
        s->expect_value = false;
        s->key_len = 0;
    } else if (s->capturing && !is_scan_space(c)) {
        capture(s, c);
    } else if (c == ':') {
        after_colon(s);
    }
    if (c == '{' || c == '[')
        s->depth++;
}

void jsonscan_feed(struct jsonscan *s, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s->in_string)
            in_string(s, bytes[i]);
        else
            outside_string(s, bytes[i]);
    }
}

const char *jsonscan_id(const struct jsonscan *s)
{
    return s->id_len <= JSONSCAN_ID_MAX ? s->id : "";
}
