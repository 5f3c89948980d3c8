/* SPDX-License-Identifier: Apache-2.0 */
#include "session/history/script.h"

#include <string.h>

#include "base/text/slice.h"

/* Where in Python the end of a line is. */
struct syntax {
    int depth;         /* brackets that are open */
    char quote;        /* of the string that is open; 0: none */
    bool is_triple;    /* it ends with three of them */
    bool is_continued; /* a backslash stood before the line break */
};

/* --- strings and brackets --------------------------------------------------------------------- */

static bool is_tripled(const char *at, const char *end, char quote)
{
    return end - at >= 3 && at[0] == quote && at[1] == quote && at[2] == quote;
}

/* Inside a string: how many bytes to go on by. */
static size_t skip_in_string(struct syntax *p, const char *at, const char *end)
{
    if (*at == '\\')
        return end - at > 1 ? 2 : 1;
    if (p->is_triple ? !is_tripled(at, end, p->quote) : *at != p->quote)
        return 1;
    p->quote = '\0';
    return p->is_triple ? 3 : 1;
}

static size_t skip_in_code(struct syntax *p, const char *at, const char *end)
{
    if (*at == '#')
        return (size_t)(end - at);
    if (*at == '"' || *at == '\'') {
        p->quote = *at;
        p->is_triple = is_tripled(at, end, *at);
        return p->is_triple ? 3 : 1;
    }
    if (strchr("([{", *at))
        p->depth++;
    else if (strchr(")]}", *at) && p->depth > 0)
        p->depth--;
    return 1;
}

/* Goes over one line, without its break. */
static void pass_line(struct syntax *p, const char *at, const char *end)
{
    p->is_continued = end > at && end[-1] == '\\';
    while (at < end)
        at += p->quote ? skip_in_string(p, at, end) : skip_in_code(p, at, end);
    if (p->quote && !p->is_triple && !p->is_continued)
        p->quote = '\0'; /* a mistake in the cell must not hide the rest of it */
}

/* --- what only IPython reads ------------------------------------------------------------------ */

static void put_quoted(struct buf *out, const char *text, size_t n)
{
    (void)buf_addc(out, '\'');
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\n')
            (void)buf_adds(out, "\\n");
        else if (text[i] == '\r')
            (void)buf_adds(out, "\\r");
        else if (text[i] == '\'' || text[i] == '\\')
            (void)buf_addf(out, "\\%c", text[i]);
        else
            (void)buf_addc(out, text[i]);
    }
    (void)buf_addc(out, '\'');
}

static size_t word_length(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && text[i] != ' ' && text[i] != '\t')
        i++;
    return i;
}

static size_t space_length(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && (text[i] == ' ' || text[i] == '\t'))
        i++;
    return i;
}

/* call('NAME', 'the rest of the line' */
static void put_magic_words(struct buf *out, const char *call, const char *text, size_t n)
{
    size_t name = word_length(text, n), space = space_length(text + name, n - name);
    (void)buf_addf(out, "get_ipython().%s(", call);
    put_quoted(out, text, name);
    (void)buf_adds(out, ", ");
    put_quoted(out, text + name + space, n - name - space);
}

static void put_system(struct buf *out, const char *call, const char *text, size_t n)
{
    size_t space = space_length(text, n);
    (void)buf_addf(out, "get_ipython().%s(", call);
    put_quoted(out, text + space, n - space);
}

/* True: the rest of a statement was one, and stands there as a call. */
static bool put_escape(struct buf *out, const char *text, size_t n, bool is_value)
{
    if (n > 2 && text[0] == '!' && text[1] == '!')
        put_system(out, "getoutput", text + 2, n - 2);
    else if (n > 1 && text[0] == '!')
        put_system(out, is_value ? "getoutput" : "system", text + 1, n - 1);
    else if (n > 1 && text[0] == '%' && text[1] != ' ' && text[1] != '=')
        put_magic_words(out, "run_line_magic", text + 1, n - 1);
    else
        return false;
    (void)buf_addc(out, ')');
    return true;
}

static bool put_help(struct buf *out, const char *text, size_t n)
{
    size_t front = 0, back = 0;
    while (front < n && front < 2 && text[front] == '?')
        front++;
    while (back < n - front && back < 2 && text[n - 1 - back] == '?')
        back++;
    if (front + back == 0 || front + back == n || memchr(text, '#', n) || memchr(text, '"', n) ||
        memchr(text, '\'', n))
        return false;
    (void)buf_addf(out, "get_ipython().run_line_magic('pinfo%s', ",
                   front > 1 || back > 1 ? "2" : "");
    put_quoted(out, text + front, n - front - back);
    (void)buf_addc(out, ')');
    return true;
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80 || strchr("_., \t", c);
}

/* NAME = !command, NAME = %magic: the bytes before the value; 0: it is none. */
static size_t assignment_length(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && is_name_byte(text[i]))
        i++;
    if (i == 0 || i >= n || text[i] != '=')
        return 0;
    i++;
    return i + space_length(text + i, n - i);
}

static void put_statement(struct buf *out, const char *text, size_t n)
{
    size_t indent = space_length(text, n), head;
    const char *rest = text + indent;
    const size_t left = n - indent;
    (void)buf_add(out, text, indent);
    if (put_escape(out, rest, left, false) || put_help(out, rest, left))
        return;
    head = assignment_length(rest, left);
    (void)buf_add(out, rest, head);
    if (head > 0 && put_escape(out, rest + head, left - head, true))
        return;
    (void)buf_add(out, rest + head, left - head);
}

/* --- a cell ----------------------------------------------------------------------------------- */

static size_t line_length(const char *text, size_t n)
{
    const char *end = n > 0 ? memchr(text, '\n', n) : NULL;
    return end ? (size_t)(end - text) : n;
}

static void put_cell_magic(struct buf *out, const char *code, size_t n)
{
    size_t line = line_length(code, n), rest = line < n ? line + 1 : n;
    put_magic_words(out, "run_cell_magic", code + 2, line - 2);
    (void)buf_adds(out, ", ");
    put_quoted(out, code + rest, n - rest);
    (void)buf_adds(out, ")\n");
}

static bool begins_statement(const struct syntax *p)
{
    return !p->quote && p->depth == 0 && !p->is_continued;
}

void script_put_code(struct buf *out, const char *code, size_t n)
{
    struct syntax place = {0};
    if (n > 2 && code[0] == '%' && code[1] == '%') {
        put_cell_magic(out, code, n);
        return;
    }
    while (n > 0) {
        size_t line = line_length(code, n), whole = line < n ? line + 1 : line;
        size_t before = out->len;
        if (begins_statement(&place))
            put_statement(out, code, line);
        else
            (void)buf_add(out, code, line);
        if (out->failed)
            return;
        pass_line(&place, out->data + before, out->data + out->len);
        (void)buf_addc(out, '\n');
        code += whole;
        n -= whole;
    }
}
