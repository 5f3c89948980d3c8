/* SPDX-License-Identifier: Apache-2.0 */
#include "front/toolserver/toolserver_wire.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/json/jsonspan.h"
#include "base/json/jsonw.h"
#include "base/text/utf8.h"

enum { NESTING_MAX = 1000, MEMBERS = 4 };

/* --- the place of a fault --------------------------------------------------------------------- */

struct wire_scan {
    const char *text;
    size_t n, i;
    const char *fault; /* NULL: none so far */
    size_t at;
};

static bool fail_wire(struct wire_scan *s, const char *fault, size_t at)
{
    s->fault = fault;
    s->at = at;
    return false;
}

static char peek_wire(const struct wire_scan *s)
{
    return s->i < s->n ? s->text[s->i] : '\0';
}

static void skip_wire_space(struct wire_scan *s)
{
    while (s->i < s->n && strchr(" \t\r\n", s->text[s->i]) && s->text[s->i])
        s->i++;
}

static bool scan_escape(struct wire_scan *s, size_t begin)
{
    size_t slash = s->i++;
    if (s->i >= s->n)
        return fail_wire(s, "Unterminated string starting at", begin);
    char c = s->text[s->i];
    if (c != 'u')
        return c && strchr("\"\\/bfnrt", c) ? true : fail_wire(s, "Invalid \\escape", slash);
    for (size_t i = 1; i <= 4; i++) {
        if (s->i + i >= s->n || !strchr("0123456789abcdefABCDEF", s->text[s->i + i]))
            return fail_wire(s, "Invalid \\uXXXX escape", s->i);
    }
    s->i += 4;
    return true;
}

static bool scan_string(struct wire_scan *s)
{
    size_t begin = s->i++;
    for (; s->i < s->n; s->i++) {
        unsigned char c = (unsigned char)s->text[s->i];
        if (c == '"') {
            s->i++;
            return true;
        }
        if (c < ' ')
            return fail_wire(s, "Invalid control character at", s->i);
        if (c == '\\' && !scan_escape(s, begin))
            return false;
    }
    return fail_wire(s, "Unterminated string starting at", begin);
}

static size_t skip_wire_digits(const struct wire_scan *s, size_t i)
{
    size_t n = 0;
    while (i + n < s->n && s->text[i + n] >= '0' && s->text[i + n] <= '9')
        n++;
    return n;
}

static bool scan_number(struct wire_scan *s)
{
    size_t i = s->i + (peek_wire(s) == '-'), whole = skip_wire_digits(s, i);
    if (whole == 0)
        return fail_wire(s, "Expecting value", s->i);
    i += s->text[i] == '0' ? 1 : whole;
    if (i < s->n && s->text[i] == '.' && skip_wire_digits(s, i + 1) > 0)
        i += 1 + skip_wire_digits(s, i + 1);
    if (i < s->n && (s->text[i] | 32) == 'e') {
        size_t sign = i + 1 < s->n && strchr("+-", s->text[i + 1]) ? 1 : 0;
        if (skip_wire_digits(s, i + 1 + sign) > 0)
            i += 1 + sign + skip_wire_digits(s, i + 1 + sign);
    }
    s->i = i;
    return true;
}

static bool scan_simple(struct wire_scan *s)
{
    static const char *const words[] = {"null", "true", "false", "NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (s->n - s->i >= n && memcmp(s->text + s->i, words[i], n) == 0) {
            s->i += n;
            return true;
        }
    }
    return peek_wire(s) == '"' ? scan_string(s) : scan_number(s);
}

static bool scan_name(struct wire_scan *s)
{
    if (peek_wire(s) != '"')
        return fail_wire(s, "Expecting property name enclosed in double quotes", s->i);
    if (!scan_string(s))
        return false;
    skip_wire_space(s);
    if (peek_wire(s) != ':')
        return fail_wire(s, "Expecting ':' delimiter", s->i);
    s->i++;
    skip_wire_space(s);
    return true;
}

/* Closes what ends here, and goes to the next value that is still due. Returns whether one is. */
static bool scan_after(struct wire_scan *s, char *closers, size_t *depth)
{
    while (*depth > 0) {
        skip_wire_space(s);
        if (peek_wire(s) == closers[*depth - 1]) {
            s->i++;
            --*depth;
            continue;
        }
        if (peek_wire(s) != ',')
            return fail_wire(s, "Expecting ',' delimiter", s->i);
        s->i++;
        skip_wire_space(s);
        return closers[*depth - 1] == ']' || scan_name(s);
    }
    return false;
}

static void scan_all(struct wire_scan *s)
{
    char closers[NESTING_MAX];
    size_t depth = 0;
    for (bool more = true; more;) {
        char c = peek_wire(s);
        if (c != '{' && c != '[') {
            more = scan_simple(s) && scan_after(s, closers, &depth);
            continue;
        }
        if (depth == NESTING_MAX) {
            (void)fail_wire(s, "Expecting value", s->i);
            return;
        }
        closers[depth++] = c == '{' ? '}' : ']';
        s->i++;
        skip_wire_space(s);
        if (peek_wire(s) == closers[depth - 1])
            more = scan_after(s, closers, &depth);
        else
            more = c == '[' || scan_name(s);
    }
}

const char *toolserver_json_fault(const char *text, size_t n, size_t *at)
{
    struct wire_scan s = {.text = text, .n = n};
    skip_wire_space(&s);
    scan_all(&s);
    if (!s.fault) {
        skip_wire_space(&s);
        (void)fail_wire(&s, s.i < n ? "Extra data" : "Expecting value", s.i);
    }
    *at = utf8_count(text, s.at);
    return s.fault;
}

/* --- answers ---------------------------------------------------------------------------------- */

static size_t wire_string_end(const char *json, size_t n, size_t i)
{
    for (i++; i < n && json[i] != '"'; i++)
        i += json[i] == '\\';
    return i < n ? i + 1 : n;
}

void toolserver_compact(struct buf *out, const char *json, size_t n)
{
    for (size_t i = 0; i < n;) {
        if (json[i] == '"') {
            size_t end = wire_string_end(json, n, i);
            if (!memchr(json + i, '\\', end - i)) {
                (void)buf_add(out, json + i, end - i);
                i = end;
                continue;
            }
            drop_json struct json *text = json_parse_copy(json + i, end - i, JSON_REPAIR, NULL);
            struct jsonw w = JSONW(out);
            jsonw_text(&w, json_text(text));
            i = end;
        } else if (strchr(" \t\r\n", json[i])) {
            i++;
        } else {
            (void)buf_addc(out, json[i++]);
        }
    }
}

static void put_fault(struct jsonw *w, const char *type, const char *member, const char *msg)
{
    jsonw_object(w);
    jsonw_set_text(w, "type", type);
    jsonw_set_array(w, "loc");
    jsonw_text(w, "body");
    if (member)
        jsonw_text(w, member);
    jsonw_end(w);
    jsonw_set_text(w, "msg", msg);
    jsonw_name(w, "input");
}

static void begin_detail(struct jsonw *w)
{
    jsonw_object(w);
    jsonw_set_array(w, "detail");
}

static void end_detail(struct jsonw *w)
{
    jsonw_end(w);
    jsonw_end(w);
}

static int refuse_body(struct buf *out, const char *type, const char *msg, const char *input)
{
    struct jsonw w = JSONW(out);
    begin_detail(&w);
    put_fault(&w, type, NULL, msg);
    jsonw_raw(&w, input);
    jsonw_end(&w);
    end_detail(&w);
    return 422;
}

static int refuse_json(struct buf *out, const char *body, size_t n)
{
    struct jsonw w = JSONW(out);
    size_t at = 0;
    const char *fault = toolserver_json_fault(body, n, &at);
    begin_detail(&w);
    jsonw_object(&w);
    jsonw_set_text(&w, "type", "json_invalid");
    jsonw_set_array(&w, "loc");
    jsonw_text(&w, "body");
    jsonw_int(&w, (int64_t)at);
    jsonw_end(&w);
    jsonw_set_text(&w, "msg", "JSON decode error");
    jsonw_set_object(&w, "input");
    jsonw_end(&w);
    jsonw_set_object(&w, "ctx");
    jsonw_set_text(&w, "error", fault);
    jsonw_end(&w);
    jsonw_end(&w);
    end_detail(&w);
    return 422;
}

static int refuse_kind(struct buf *out, const char *input)
{
    return refuse_body(out, "model_attributes_type",
                       "Input should be a valid dictionary or object to extract fields from",
                       input);
}

static bool is_json(const char *content_type)
{
    if (!content_type || !*content_type)
        return true;
    size_t n = strcspn(content_type, "; \t");
    return (n == 16 && strncasecmp(content_type, "application/json", n) == 0) ||
           (n > 17 && strncasecmp(content_type, "application/", 12) == 0 &&
            strncasecmp(content_type + n - 5, "+json", 5) == 0);
}

struct wire_member {
    const char *name;
    bool is_text; /* otherwise an object */
    bool only_run;
};

static const struct wire_member members[MEMBERS] = {{"server_name", true, false},
                                                    {"server_params", false, true},
                                                    {"tool_name", true, false},
                                                    {"tool_args", false, false}};

/* Every fault of every member. Returns how many there are. */
static int judge_wire_member(const struct json *tree, struct jsonspan whole, bool with_params,
                             struct buf *compact, struct jsonw *w)
{
    int faults = 0;
    for (size_t i = 0; i < MEMBERS; i++) {
        const struct wire_member *m = &members[i];
        const struct json *value = json_get(tree, m->name);
        struct jsonspan span = whole;
        if ((m->only_run && !with_params) ||
            (value && (m->is_text ? json_text(value) != NULL : json_is_object(value))))
            continue;
        if (!value)
            put_fault(w, "missing", m->name, "Field required");
        else if (m->is_text)
            put_fault(w, "string_type", m->name, "Input should be a valid string");
        else
            put_fault(w, "dict_type", m->name, "Input should be a valid dictionary");
        if (value)
            (void)jsonspan_get(whole, m->name, &span);
        buf_clear(compact);
        toolserver_compact(compact, span.at, span.n);
        jsonw_raw(w, buf_text(compact));
        jsonw_end(w);
        faults++;
    }
    return faults;
}

static int read_wire_members(struct json *tree, struct jsonspan whole, bool with_params,
                             struct toolserver_query *q, struct buf *out)
{
    drop_buf struct buf compact = BUF_INIT(2 * whole.n + 64), detail = BUF_INIT(out->cap);
    struct jsonw w = JSONW(&detail);
    struct jsonspan arguments = {0};
    begin_detail(&w);
    int faults = judge_wire_member(tree, whole, with_params, &compact, &w);
    end_detail(&w);
    if (faults > 0) {
        (void)buf_add(out, buf_text(&detail), detail.len);
        return 422;
    }
    *q = (struct toolserver_query){.tree = tree,
                                   .server = json_get_text(tree, "server_name"),
                                   .tool = json_get_text(tree, "tool_name"),
                                   .params = json_get(tree, "server_params")};
    if (jsonspan_get(whole, "tool_args", &arguments))
        q->arguments = jsonspan_line(arguments);
    if (!q->arguments)
        return 503;
    return 0;
}

int toolserver_read(const char *body, size_t n, const char *content_type, bool with_params,
                    struct toolserver_query *ret, struct buf *out)
{
    if (n == 0)
        return refuse_body(out, "missing", "Field required", "null");
    drop_buf struct buf compact = BUF_INIT(6 * n + 64);
    if (!is_json(content_type)) {
        struct jsonw w = JSONW(&compact);
        jsonw_text_n(&w, body, n);
        return refuse_kind(out, buf_text(&compact));
    }
    struct err e = ERR_NONE;
    drop_json struct json *tree = json_parse_copy(body, n, JSON_STRICT, &e);
    if (!tree && e.code == -EBADMSG)
        return refuse_json(out, body, n);
    if (!tree) {
        (void)buf_adds(out, "{\"detail\":\"There was an error parsing the body\"}");
        return 400;
    }
    if (!json_is_object(tree)) {
        toolserver_compact(&compact, body, n);
        return refuse_kind(out, buf_text(&compact));
    }
    int status = read_wire_members(tree, JSONSPAN(body, n), with_params, ret, out);
    if (status == 0)
        tree = NULL; /* the query has it */
    return status;
}

void toolserver_query_done(struct toolserver_query *q)
{
    q->tree = json_free(q->tree);
    xfree(q->arguments);
    q->arguments = NULL;
}
