/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/pyliteral.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/json/jsonw.h"
#include "base/text/hexdigit.h"
#include "base/text/utf8.h"

struct literal {
    const char *at, *end;
    struct jsonw w;
    int depth;
    size_t text_max;
};

size_t pyliteral_blanks(const char *text, size_t n)
{
    size_t i = 0;
    bool in_comment = false;
    for (; i < n && (in_comment || strchr(" \t\r\n\f#", text[i])) && text[i]; i++)
        in_comment = text[i] == '#' || (in_comment && text[i] != '\n');
    return i;
}

static void skip_blanks(struct literal *l)
{
    l->at += pyliteral_blanks(l->at, (size_t)(l->end - l->at));
}

static bool take_literal_char(struct literal *l, char c)
{
    skip_blanks(l);
    if (l->at == l->end || *l->at != c)
        return false;
    l->at++;
    return true;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* digits: of \x, \u or \U. False: they are not there, or no character. */
static bool take_code(struct literal *l, int digits, uint32_t *ret)
{
    uint32_t code = 0;
    for (int i = 0; i < digits; i++) {
        int digit = l->at < l->end ? hexdigit(*l->at++) : -1;
        if (digit < 0)
            return false;
        code = code << 4 | (uint32_t)digit;
    }
    *ret = code;
    return code != 0 && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
}

/* Behind a backslash. Python keeps one before a letter that means nothing. */
static bool take_literal_escape(struct literal *l, struct buf *out)
{
    static const char names[] = "\\'\"abfnrtv", values[] = "\\'\"\a\b\f\n\r\t\v";
    const char c = l->at < l->end ? *l->at++ : '\0';
    const char *known = c ? strchr(names, c) : NULL;
    const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (known)
        return buf_addc(out, values[known - names]) == 0;
    if (c == '\n')
        return true;
    if (digits == 0 || c == '\0')
        return false;
    char bytes[4];
    uint32_t code = 0;
    return take_code(l, digits, &code) && buf_add(out, bytes, utf8_put(bytes, code)) == 0;
}

static bool take_literal_text(struct literal *l, struct buf *out)
{
    const char quote = *l->at++;
    while (l->at < l->end && *l->at != quote) {
        const char c = *l->at++;
        if (c == '\n' || c == '\0' || (c == '\\' && !take_literal_escape(l, out)))
            return false;
        if (c != '\\' && buf_addc(out, c) < 0)
            return false;
    }
    if (l->at == l->end)
        return false;
    l->at++;
    return l->at == l->end || (*l->at != '\'' && *l->at != '"'); /* """…""", or two in a row */
}

static bool is_quote(const struct literal *l)
{
    return l->at < l->end && (*l->at == '\'' || *l->at == '"');
}

static bool text_value(struct literal *l)
{
    drop_buf struct buf text = BUF_INIT(l->text_max);
    if (!take_literal_text(l, &text))
        return false;
    jsonw_text_n(&l->w, buf_text(&text), text.len);
    return true;
}

/* --- the others ------------------------------------------------------------------------------- */

static bool value(struct literal *l);

static bool word_value(struct literal *l)
{
    static const char *const words[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i][0]);
        if ((size_t)(l->end - l->at) < n || memcmp(l->at, words[i][0], n) != 0)
            continue;
        l->at += n;
        jsonw_raw(&l->w, words[i][1]);
        return true;
    }
    return false;
}

static size_t digits_at(const char *at, const char *end)
{
    size_t n = 0;
    while (at + n < end && at[n] >= '0' && at[n] <= '9')
        n++;
    return n;
}

/* As JSON writes it, too: no leading zeros, digits around the point. */
static bool number_value(struct literal *l)
{
    char text[64];
    const char *at = l->at + (*l->at == '-');
    size_t whole = digits_at(at, l->end);
    if (whole == 0 || (whole > 1 && *at == '0'))
        return false;
    at += whole;
    if (at < l->end && *at == '.') {
        size_t behind = digits_at(at + 1, l->end);
        if (behind == 0)
            return false;
        at += 1 + behind;
    }
    const size_t n = (size_t)(at - l->at);
    if (n >= sizeof text || (at < l->end && strchr("_.eEjJxXoObB", *at)))
        return false;
    memcpy(text, l->at, n);
    text[n] = '\0';
    jsonw_raw(&l->w, text);
    l->at = at;
    return true;
}

static bool list_value(struct literal *l)
{
    l->at++;
    jsonw_array(&l->w);
    while (!take_literal_char(l, ']')) {
        if (!value(l))
            return false;
        if (!take_literal_char(l, ',') && (l->at == l->end || *l->at != ']'))
            return false;
    }
    jsonw_end(&l->w);
    return true;
}

static bool take_name(struct literal *l)
{
    drop_buf struct buf name = BUF_INIT(l->text_max);
    skip_blanks(l);
    if (!is_quote(l) || !take_literal_text(l, &name) || !take_literal_char(l, ':'))
        return false;
    jsonw_name(&l->w, buf_text(&name));
    return true;
}

static bool dict_value(struct literal *l)
{
    l->at++;
    jsonw_object(&l->w);
    while (!take_literal_char(l, '}')) {
        if (!take_name(l) || !value(l))
            return false;
        if (!take_literal_char(l, ',') && (l->at == l->end || *l->at != '}'))
            return false;
    }
    jsonw_end(&l->w);
    return true;
}

static bool value(struct literal *l)
{
    skip_blanks(l);
    if (l->at == l->end || l->depth == PYLITERAL_DEPTH)
        return false;
    l->depth++;
    bool good = is_quote(l)     ? text_value(l)
                : *l->at == '[' ? list_value(l)
                : *l->at == '{' ? dict_value(l)
                                : word_value(l) || ((*l->at == '-' || digits_at(l->at, l->end)) &&
                                                    number_value(l));
    l->depth--;
    return good;
}

int pyliteral_parse(const char *text, size_t n, struct buf *json, size_t *ret_taken, struct err *e)
{
    struct literal l = {.at = text, .end = text + n, .w = JSONW(json), .text_max = n};
    if (!value(&l))
        return json->failed
                   ? json->failed
                   : err_set(e, -EINVAL, "no literal of Python at byte %zu", (size_t)(l.at - text));
    if (json->failed)
        return err_set(e, json->failed, "a literal of Python: too long");
    *ret_taken = (size_t)(l.at - text);
    return 0;
}
