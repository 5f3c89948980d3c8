/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/json.h"

#include <cjson/cJSON.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"
#include "base/text/bytes8.h"
#include "base/text/hexdigit.h"
#include "base/text/utf8.h"

enum { JSON_PRINT_MAX = 512 << 20 };

static const cJSON *in(const struct json *j)
{
    return (const cJSON *)(const void *)j;
}

static const struct json *out(const cJSON *j)
{
    return (const struct json *)(const void *)j;
}

/* --- preparing a text: what the parser would misread is put right or refused before it ------ */

struct prepare {
    const char *src, *end;
    char *dst; /* in the same text, never ahead of src */
    enum json_mode mode;
    bool in_string;
    int depth;
    size_t values;
};

static bool is_high(int unit)
{
    return unit >= 0xD800 && unit < 0xDC00;
}

static bool is_low(int unit)
{
    return unit >= 0xDC00 && unit < 0xE000;
}

static bool is_json_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_number_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void copy_prepared(struct prepare *p, size_t n)
{
    if (p->dst != p->src)
        memmove(p->dst, p->src, n);
    p->dst += n;
    p->src += n;
}

static void replace_json_text(struct prepare *p, size_t n, const char *by)
{
    size_t len = strlen(by);
    memcpy(p->dst, by, len);
    p->dst += len;
    p->src += n;
}

static bool is_special_number(uint64_t word)
{
    return (bytes8_below(word, 0x20) | bytes8_not_ascii(word) | bytes8_equal(word, '"') |
            bytes8_equal(word, '\\')) != 0;
}

/* Bytes of a string that stand for themselves; output is mostly that, so it goes in one piece. */
static size_t plain_json_length(const struct prepare *p)
{
    const char *s = p->src;
    while (p->end - s >= 8 && !is_special_number(bytes8_load(s)))
        s += 8;
    while (s < p->end && (unsigned char)*s >= 0x20 && (unsigned char)*s < 0x80 && *s != '"' &&
           *s != '\\')
        s++;
    return (size_t)(s - p->src);
}

/* \uXXXX: NUL and lone surrogates, which the parser does not keep, get their safe forms. Wrong
 * digits are refused here: the parser would take them for a NUL. */
static int prepare_unicode_escape(struct prepare *p, struct err *e)
{
    const char *s = p->src;
    size_t n = (size_t)(p->end - s);
    int unit = n >= 6 ? hexdigits4(s + 2) : -1;
    if (unit < 0)
        return err_set(e, -EBADMSG, "\\u without four digits");
    if (unit == 0)
        replace_json_text(p, 6, "\xC0\x80");
    else if (is_high(unit) && n >= 12 && s[6] == '\\' && s[7] == 'u' && is_low(hexdigits4(s + 8)))
        copy_prepared(p, 12);
    else if (is_high(unit) || is_low(unit))
        replace_json_text(p, 6, "\\ufffd");
    else
        copy_prepared(p, 6);
    return 0;
}

static int prepare_character(struct prepare *p, struct err *e)
{
    size_t width = utf8_char(p->src, (size_t)(p->end - p->src), NULL);
    if (width > 0)
        copy_prepared(p, width);
    else if (p->mode != JSON_REPAIR)
        return err_set(e, -EILSEQ, "not UTF-8");
    else
        replace_json_text(p, 1, "?");
    return 0;
}

static int prepare_in_string(struct prepare *p, struct err *e)
{
    size_t plain = plain_json_length(p);
    copy_prepared(p, plain);
    if (plain > 0)
        return 0;
    char c = *p->src;
    bool escape = c == '\\' && p->src + 1 < p->end && (unsigned char)p->src[1] < 0x80;
    if ((unsigned char)c < 0x20 && p->mode != JSON_REPAIR)
        return err_set(e, -EBADMSG, "control character in a string");
    if (c == '"')
        p->in_string = false;
    if (escape && p->src[1] == 'u')
        return prepare_unicode_escape(p, e);
    copy_prepared(p, escape ? 2 : 1);
    return 0;
}

static size_t count_number_digits(const char *s, const char *end)
{
    const char *from = s;
    while (s < end && is_number_digit(*s))
        s++;
    return (size_t)(s - from);
}

/* Length of the number at s as the grammar has it, 0: none. The parser would take 01 and 1. too. */
static size_t number_length(const char *s, const char *end)
{
    const char *at = s;
    at += *at == '-';
    size_t n = count_number_digits(at, end);
    if (n == 0 || (n > 1 && *at == '0'))
        return 0;
    at += n;
    if (at < end && *at == '.') {
        n = count_number_digits(++at, end);
        if (n == 0)
            return 0;
        at += n;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '-' || *at == '+');
        n = count_number_digits(at, end);
        if (n == 0)
            return 0;
        at += n;
    }
    return (size_t)(at - s);
}

static int prepare_outside(struct prepare *p, struct err *e)
{
    char c = *p->src;
    if (is_number_digit(c) || c == '-') {
        size_t n = number_length(p->src, p->end);
        copy_prepared(p, n);
        return n ? 0 : err_set(e, -EBADMSG, "not a number");
    }
    if ((unsigned char)c <= ' ' && !is_json_space(c))
        return err_set(e, -EBADMSG, "control character");
    if (c == '"')
        p->in_string = true;
    if ((c == '[' || c == '{') && ++p->depth > JSON_DEPTH_MAX)
        return err_set(e, -ELOOP, "nested deeper than %d levels", JSON_DEPTH_MAX);
    if (c == ']' || c == '}')
        p->depth--;
    size_t most = p->mode == JSON_REQUEST ? JSON_REQUEST_VALUES_MAX : JSON_VALUES_MAX;
    if ((c == '[' || c == '{' || c == ',') && ++p->values > most)
        return err_set(e, -E2BIG, "more than %zu values", most);
    copy_prepared(p, 1);
    return 0;
}

/* Rewrites the text in place; it only ever gets shorter. */
static int prepare_json(char *text, size_t *len, enum json_mode mode, struct err *e)
{
    struct prepare p = {.src = text, .end = text + *len, .dst = text, .mode = mode};
    while (p.src < p.end) {
        int r;
        if ((unsigned char)*p.src >= 0x80)
            r = prepare_character(&p, e);
        else
            r = p.in_string ? prepare_in_string(&p, e) : prepare_outside(&p, e);
        if (r < 0)
            return err_wrap(e, "JSON at byte %zu", (size_t)(p.src - text) + 1);
    }
    *len = (size_t)(p.dst - text);
    return 0;
}

/* --- the tree ------------------------------------------------------------------------------- */

static bool no_memory; /* an allocation failed since this was cleared */

static void *allocate(size_t size)
{
    void *p = try_realloc(NULL, size);
    no_memory |= !p;
    return p;
}

static void use_our_allocator(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){allocate, xfree});
    no_memory = false;
}

static bool only_space(const char *from, const char *end)
{
    while (from < end && is_json_space(*from))
        from++;
    return from >= end;
}

struct json *json_parse(char *text, size_t len, enum json_mode mode, struct err *e)
{
    struct err unread;
    e = e ? e : &unread;
    if (prepare_json(text, &len, mode, e) < 0)
        return NULL;
    const char *end = text;
    use_our_allocator();
    cJSON *j = cJSON_ParseWithLengthOpts(text, len, &end, 0);
    if (j && only_space(end, text + len))
        return (struct json *)(void *)j;
    cJSON_Delete(j);
    if (no_memory)
        (void)err_set(e, -ENOMEM, "no memory for %zu bytes of JSON", len);
    else
        (void)err_set(e, -EBADMSG, "not JSON at byte %zu", (size_t)(end - text) + 1);
    return NULL;
}

struct json *json_parse_copy(const char *text, size_t len, enum json_mode mode, struct err *e)
{
    drop_str char *copy = try_realloc(NULL, len + 1);
    if (!copy) {
        (void)err_set(e, -ENOMEM, "no memory for %zu bytes of JSON", len);
        return NULL;
    }
    memcpy(copy, text, len);
    return json_parse(copy, len, mode, e);
}

struct json *json_free(struct json *j)
{
    cJSON_Delete((cJSON *)(void *)j);
    return NULL;
}

void drop_json_cleanup(struct json **j)
{
    (void)json_free(*j);
}

const struct json *json_get(const struct json *object, const char *name)
{
    const struct json *found = NULL;
    for (const struct json *v = json_is_object(object) ? json_first(object) : NULL; v;
         v = json_next(v)) {
        if (strcmp(json_name(v), name) == 0)
            found = v;
    }
    return found;
}

const struct json *json_first(const struct json *j)
{
    return json_is_object(j) || json_is_array(j) ? out(in(j)->child) : NULL;
}

const struct json *json_next(const struct json *value)
{
    return value ? out(in(value)->next) : NULL;
}

const char *json_name(const struct json *value)
{
    return value ? in(value)->string : NULL;
}

size_t json_count(const struct json *j)
{
    size_t n = 0;
    for (const struct json *v = json_first(j); v; v = json_next(v))
        n++;
    return n;
}

bool json_is_object(const struct json *j)
{
    return j && cJSON_IsObject(in(j));
}

bool json_is_array(const struct json *j)
{
    return j && cJSON_IsArray(in(j));
}

bool json_is_number(const struct json *j)
{
    return j && cJSON_IsNumber(in(j));
}

bool json_is_bool(const struct json *j)
{
    return j && cJSON_IsBool(in(j));
}

bool json_is_null(const struct json *j)
{
    return j && cJSON_IsNull(in(j));
}

const char *json_text(const struct json *j)
{
    return j ? cJSON_GetStringValue(in(j)) : NULL;
}

double json_number(const struct json *j)
{
    return json_is_number(j) ? fmax(-DBL_MAX, fmin(in(j)->valuedouble, DBL_MAX)) : 0;
}

bool json_true(const struct json *j)
{
    return j && cJSON_IsTrue(in(j));
}

const char *json_get_text(const struct json *object, const char *name)
{
    return json_text(json_get(object, name));
}

int json_need_text(const struct json *object, const char *name, const char **ret, struct err *e)
{
    const char *text = json_get_text(object, name);
    if (!text)
        return err_set(e, -EINVAL, "%s: a string is needed", name);
    *ret = text;
    return 0;
}

static void put_prepared(struct jsonw *w, const struct json *j)
{
    if (json_text(j)) {
        jsonw_text(w, json_text(j));
    } else if (json_is_number(j)) {
        jsonw_double(w, json_number(j));
    } else if (json_is_object(j) || json_is_array(j)) {
        (json_is_object(j) ? jsonw_object : jsonw_array)(w);
        for (const struct json *child = json_first(j); child; child = json_next(child)) {
            if (json_name(child))
                jsonw_name(w, json_name(child));
            put_prepared(w, child);
        }
        jsonw_end(w);
    } else if (json_is_bool(j)) {
        jsonw_bool(w, json_true(j));
    } else {
        jsonw_null(w);
    }
}

/* Not the library's: it rounds numbers and would write C0 80 as it stands. */
char *json_print(const struct json *j)
{
    drop_buf struct buf text = BUF_INIT(JSON_PRINT_MAX);
    struct jsonw w = JSONW(&text);
    put_prepared(&w, j);
    return buf_take(&text);
}
