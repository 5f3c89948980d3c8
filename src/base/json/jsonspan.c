/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/jsonspan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json/json.h"

static size_t skip_span_space(struct jsonspan in, size_t i)
{
    while (i < in.n &&
           (in.at[i] == ' ' || in.at[i] == '\t' || in.at[i] == '\r' || in.at[i] == '\n'))
        i++;
    return i;
}

/* The place behind the string that begins at i. */
static size_t skip_string(struct jsonspan in, size_t i)
{
    for (i++; i < in.n && in.at[i] != '"'; i++)
        i += in.at[i] == '\\';
    return i < in.n ? i + 1 : in.n;
}

/* The place behind the value that begins at i. */
static size_t skip_value(struct jsonspan in, size_t i)
{
    size_t depth = 0;
    while (i < in.n) {
        char c = in.at[i];
        if (c == '"') {
            i = skip_string(in, i);
            continue;
        }
        if (c == '{' || c == '[')
            depth++;
        if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            break;
        if (c == '}' || c == ']')
            depth--;
        i++;
    }
    return i;
}

static struct jsonspan cut_span(struct jsonspan in, size_t from, size_t to)
{
    while (to > from && (unsigned char)in.at[to - 1] <= ' ')
        to--;
    return JSONSPAN(in.at + from, to - from);
}

/* `written` has its quotes. */
static bool is_span_name(struct jsonspan written, const char *name)
{
    if (!memchr(written.at, '\\', written.n)) {
        size_t n = strlen(name);
        return written.n == n + 2 && memcmp(written.at + 1, name, n) == 0;
    }
    drop_json struct json *j = json_parse_copy(written.at, written.n, JSON_REPAIR, NULL);
    const char *text = json_text(j);
    return text && strcmp(text, name) == 0;
}

bool jsonspan_get(struct jsonspan object, const char *name, struct jsonspan *ret)
{
    bool found = false;
    size_t i = skip_span_space(object, 0);
    if (i >= object.n || object.at[i] != '{')
        return false;
    i = skip_span_space(object, i + 1);
    while (i < object.n && object.at[i] == '"') {
        size_t name_end = skip_string(object, i);
        struct jsonspan written = JSONSPAN(object.at + i, name_end - i);
        size_t value = skip_span_space(object, name_end);
        if (value >= object.n || object.at[value] != ':')
            break;
        value = skip_span_space(object, value + 1);
        size_t end = skip_value(object, value);
        if (is_span_name(written, name)) {
            *ret = cut_span(object, value, end);
            found = true;
        }
        i = skip_span_space(object, end);
        if (i >= object.n || object.at[i] != ',')
            break;
        i = skip_span_space(object, i + 1);
    }
    return found;
}

bool jsonspan_next(struct jsonspan array, size_t *at, struct jsonspan *ret)
{
    size_t i = skip_span_space(array, *at);
    if (i >= array.n || array.at[i] != (*at == 0 ? '[' : ','))
        return false;
    i = skip_span_space(array, i + 1);
    if (i >= array.n || array.at[i] == ']')
        return false;
    size_t end = skip_value(array, i);
    *ret = cut_span(array, i, end);
    *at = end;
    return true;
}

char *jsonspan_line(struct jsonspan span)
{
    char *line = try_realloc(NULL, span.n + 1);
    if (!line)
        return NULL;
    memcpy(line, span.at, span.n);
    line[span.n] = '\0';
    for (char *c = line; (c = strpbrk(c, "\r\n")) != NULL;)
        *c = ' ';
    return line;
}
