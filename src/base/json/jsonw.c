/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/jsonw.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text/utf8.h"

static void separate(struct jsonw *w)
{
    if (w->named)
        w->named = false;
    else if (w->depth > 0 && w->more[w->depth - 1])
        (void)buf_addc(w->out, ',');
    if (w->depth > 0)
        w->more[w->depth - 1] = true;
}

static void open_level(struct jsonw *w, char bracket)
{
    separate(w);
    assert(w->depth < JSONW_DEPTH);
    w->more[w->depth] = false;
    w->closer[w->depth++] = bracket == '{' ? '}' : ']';
    (void)buf_addc(w->out, bracket);
}

void jsonw_object(struct jsonw *w)
{
    open_level(w, '{');
}

void jsonw_array(struct jsonw *w)
{
    open_level(w, '[');
}

void jsonw_end(struct jsonw *w)
{
    assert(w->depth > 0);
    (void)buf_addc(w->out, w->closer[--w->depth]);
}

void jsonw_name(struct jsonw *w, const char *name)
{
    jsonw_text(w, name);
    (void)buf_addc(w->out, ':');
    w->named = true;
}

/* Bytes at the start of s that stand for themselves inside a JSON string. */
static size_t plain_prefix(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n) {
        unsigned char c = (unsigned char)s[i];
        if (c < 0x20 || c == '"' || c == '\\' || c >= 0x80)
            break;
        i++;
    }
    return i;
}

/* One character that needs care; returns the bytes it took. */
static size_t put_special(struct buf *out, const char *s, size_t n)
{
    unsigned char c = (unsigned char)s[0];
    if (c >= 0x80) {
        size_t len = utf8_char(s, n, NULL);
        if (len > 0) {
            (void)buf_add(out, s, len);
            return len;
        }
        bool nul = c == 0xC0 && n > 1 && (unsigned char)s[1] == 0x80;
        (void)buf_adds(out, nul ? "\\u0000" : "\xEF\xBF\xBD");
        return nul ? 2 : 1;
    }
    static const char names[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (size_t i = 0; i + 1 < sizeof names; i += 2) {
        if (names[i] == (char)c) {
            (void)buf_add(out, (char[]){'\\', names[i + 1]}, 2);
            return 1;
        }
    }
    (void)buf_addf(out, "\\u%04x", c);
    return 1;
}

void jsonw_text_begin(struct jsonw *w)
{
    separate(w);
    (void)buf_addc(w->out, '"');
}

void jsonw_text_part(struct jsonw *w, const char *text, size_t n)
{
    for (size_t i = 0; i < n && !w->out->failed;) {
        size_t plain = plain_prefix(text + i, n - i);
        (void)buf_add(w->out, text + i, plain);
        i += plain;
        if (i < n)
            i += put_special(w->out, text + i, n - i);
    }
}

void jsonw_text_end(struct jsonw *w)
{
    (void)buf_addc(w->out, '"');
}

void jsonw_text_n(struct jsonw *w, const char *text, size_t n)
{
    jsonw_text_begin(w);
    jsonw_text_part(w, text, n);
    jsonw_text_end(w);
}

void jsonw_text(struct jsonw *w, const char *text)
{
    if (text)
        jsonw_text_n(w, text, strlen(text));
    else
        jsonw_null(w);
}

void jsonw_raw_n(struct jsonw *w, const char *json, size_t n)
{
    separate(w);
    (void)buf_add(w->out, json, n);
}

void jsonw_raw(struct jsonw *w, const char *json)
{
    jsonw_raw_n(w, json, strlen(json));
}

void jsonw_int(struct jsonw *w, int64_t value)
{
    separate(w);
    (void)buf_addf(w->out, "%lld", (long long)value);
}

void jsonw_double(struct jsonw *w, double value)
{
    if (!isfinite(value)) {
        jsonw_null(w);
        return;
    }
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    jsonw_raw(w, text);
}

void jsonw_bool(struct jsonw *w, bool value)
{
    jsonw_raw(w, value ? "true" : "false");
}

void jsonw_null(struct jsonw *w)
{
    jsonw_raw(w, "null");
}

void jsonw_set_text(struct jsonw *w, const char *name, const char *text)
{
    jsonw_name(w, name);
    jsonw_text(w, text);
}

void jsonw_set_int(struct jsonw *w, const char *name, int64_t value)
{
    jsonw_name(w, name);
    jsonw_int(w, value);
}

void jsonw_set_time(struct jsonw *w, const char *name, int64_t real_ms)
{
    char text[CLOCK_ISO_MAX];
    jsonw_set_text(w, name, clock_iso(real_ms, text));
}

void jsonw_set_bool(struct jsonw *w, const char *name, bool value)
{
    jsonw_name(w, name);
    jsonw_bool(w, value);
}

void jsonw_set_raw(struct jsonw *w, const char *name, const char *json)
{
    jsonw_name(w, name);
    jsonw_raw(w, json);
}

void jsonw_set_object(struct jsonw *w, const char *name)
{
    jsonw_name(w, name);
    jsonw_object(w);
}

void jsonw_set_array(struct jsonw *w, const char *name)
{
    jsonw_name(w, name);
    jsonw_array(w);
}
