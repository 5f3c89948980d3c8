/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/jsoncanon.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "base/text/hexdigit.h"
#include "base/text/utf8.h"
#include "base/text/visible.h"

enum {
    SHOWN_MAX = 80,
    HIGH_FROM = 0xD800,
    LOW_FROM = 0xDC00,
    LOW_TO = 0xDFFF,
    BMP_END = 0x10000,
};

struct canon {
    const char *at, *end; /* of a text that json.h takes */
    struct buf *out;
    struct err *e;
};

struct name {
    const char *at; /* without quotes, in this form */
    size_t n;
};

static int put_canon_value(struct canon *c);

static void skip_canon_blanks(struct canon *c)
{
    while (c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at)
        c->at++;
}

/* --- strings --------------------------------------------------------------------------------- */

static void put_canon_char(struct buf *out, uint32_t c)
{
    static const char plain[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    const char *short_form = c > 0 && c < 0x80 ? strchr(plain, (int)c) : NULL;
    char bytes[4];
    if (short_form && *short_form)
        (void)buf_addf(out, "\\%c", letters[short_form - plain]);
    else if (!visible_hides(c) && (c < HIGH_FROM || c > LOW_TO))
        (void)buf_add(out, bytes, utf8_put(bytes, c));
    else if (c < BMP_END)
        (void)buf_addf(out, "\\u%04x", c);
    else
        (void)buf_addf(out, "\\u%04x\\u%04x", HIGH_FROM + ((c - BMP_END) >> 10),
                       LOW_FROM + ((c - BMP_END) & 0x3FF));
}

/* Behind "\u"; two of them may be one character. */
static uint32_t take_hex(struct canon *c)
{
    int high = c->end - c->at >= 4 ? hexdigits4(c->at) : -1;
    c->at += high < 0 ? 0 : 4;
    bool pair = high >= HIGH_FROM && high < LOW_FROM && c->end - c->at >= 6 && c->at[0] == '\\' &&
                c->at[1] == 'u';
    int low = pair ? hexdigits4(c->at + 2) : -1;
    if (low < LOW_FROM || low > LOW_TO)
        return high < 0 ? 0xFFFD : (uint32_t)high;
    c->at += 6;
    return BMP_END + (((uint32_t)high - HIGH_FROM) << 10) + ((uint32_t)low - LOW_FROM);
}

static uint32_t take_escape(struct canon *c)
{
    static const char letters[] = "bfnrt", plain[] = "\b\f\n\r\t";
    char letter = c->at < c->end ? *c->at++ : '\\';
    const char *known = strchr(letters, letter);
    if (letter == 'u')
        return take_hex(c);
    return (unsigned char)(known && *known ? plain[known - letters] : letter);
}

static void put_canon_string(struct canon *c)
{
    c->at++;
    (void)buf_addc(c->out, '"');
    while (c->at < c->end && *c->at != '"') {
        uint32_t point = 0;
        size_t width = utf8_char(c->at, (size_t)(c->end - c->at), &point);
        c->at += width ? width : 1;
        if (point == '\\')
            point = take_escape(c);
        put_canon_char(c->out, width ? point : 0xFFFD);
    }
    c->at += c->at < c->end;
    (void)buf_addc(c->out, '"');
}

/* --- objects and arrays ---------------------------------------------------------------------- */

static int by_member_name(const void *a, const void *b)
{
    const struct name *na = a, *nb = b;
    int r = memcmp(na->at, nb->at, na->n < nb->n ? na->n : nb->n);
    return r ? r : (na->n > nb->n) - (na->n < nb->n);
}

/* `places`: where names begin in the output, and where they end, one after the other. */
static int check_names(const struct canon *c, const size_t *places, size_t n)
{
    struct name *names = try_realloc(NULL, (n + 1) * sizeof *names);
    if (!names)
        return err_set(c->e, -ENOMEM, "no memory for the names of an object");
    for (size_t i = 0; i < n; i++)
        names[i] = (struct name){c->out->data + places[2 * i], places[2 * i + 1] - places[2 * i]};
    qsort(names, n, sizeof *names, by_member_name);
    int r = 0;
    for (size_t i = 1; r == 0 && i < n; i++) {
        if (by_member_name(&names[i - 1], &names[i]) == 0)
            r = err_set(c->e, -EINVAL, "the name \"%.*s\" stands twice in one object",
                        (int)(names[i].n < SHOWN_MAX ? names[i].n : SHOWN_MAX), names[i].at);
    }
    xfree(names);
    return r;
}

static int put_canon_member(struct canon *c, struct buf *places)
{
    size_t place[2] = {c->out->len + 1, 0};
    put_canon_string(c);
    place[1] = c->out->len - 1;
    skip_canon_blanks(c);
    c->at += c->at < c->end; /* ':' */
    (void)buf_addc(c->out, ':');
    if (buf_add(places, (const char *)place, sizeof place) < 0)
        return err_set(c->e, -ENOMEM, "no memory for the names of an object");
    return put_canon_value(c);
}

static int put_canon_list(struct canon *c, char close)
{
    drop_buf struct buf places = BUF_INIT((size_t)JSON_VALUES_MAX * 2 * sizeof(size_t));
    int r = 0;
    (void)buf_addc(c->out, *c->at++);
    skip_canon_blanks(c);
    while (r == 0 && c->at < c->end && *c->at != close && !c->out->failed) {
        r = close == '}' ? put_canon_member(c, &places) : put_canon_value(c);
        skip_canon_blanks(c);
        if (r == 0 && c->at < c->end && *c->at == ',') {
            (void)buf_addc(c->out, *c->at++);
            skip_canon_blanks(c);
        }
    }
    c->at += c->at < c->end;
    (void)buf_addc(c->out, close);
    if (r < 0 || c->out->failed || places.len == 0)
        return r;
    return check_names(c, (const size_t *)(const void *)places.data,
                       places.len / (2 * sizeof(size_t)));
}

static int put_canon_value(struct canon *c)
{
    skip_canon_blanks(c);
    if (c->at < c->end && *c->at == '"')
        put_canon_string(c);
    else if (c->at < c->end && (*c->at == '{' || *c->at == '['))
        return put_canon_list(c, *c->at == '{' ? '}' : ']');
    else
        while (c->at < c->end && !strchr(" \t\r\n,]}", *c->at))
            (void)buf_addc(c->out, *c->at++);
    return 0;
}

int jsoncanon(const char *text, size_t n, struct buf *out, struct err *e)
{
    drop_json struct json *tree = json_parse_copy(text, n, JSON_STRICT, e);
    struct canon c = {.at = text, .end = text + n, .out = out, .e = e};
    if (!tree)
        return e && e->code ? e->code : -EBADMSG;
    int r = put_canon_value(&c);
    if (r == 0 && out->failed)
        r = err_set(e, out->failed, "no room for a JSON text of %zu bytes", n);
    return r;
}
