/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/dotenv.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text/utf8.h"

enum { SLOTS = 2 * DOTENV_NAMES_MAX };

/* A stretch of bytes in some text. */
struct span {
    size_t at, len;
};

struct variable {
    struct span name, value; /* in parser.values */
    bool has_value;
    uint32_t hash;
    size_t line;
};

struct parser {
    const struct dotenv_events *events;
    void *ctx;

    struct buf text; /* the file, with every line end as \n */
    size_t at, line;

    struct buf plain;  /* the value being read, quotes and escapes taken off */
    struct buf values; /* names and expanded values of all variables */
    struct variable variables[DOTENV_NAMES_MAX];
    size_t count;
    uint16_t slots[SLOTS]; /* hash table: index + 1 in variables, 0: free */
};

/* One line `NAME=value`, or a comment, or an empty one. */
struct binding {
    struct span name; /* in parser.text; empty: a comment */
    bool has_value;   /* then it is in parser.plain */
    size_t line;
};

static void warn_of_dotenv(const struct parser *p, size_t line, const char *what)
{
    if (p->events->warn)
        p->events->warn(p->ctx, line, what);
}

/* --- reading characters --------------------------------------------------------------------- */

/* The next byte, or 0 at the end (a NUL in the text is no syntax either). */
static char peek_dotenv(const struct parser *p)
{
    return p->at < p->text.len ? p->text.data[p->at] : '\0';
}

static void advance(struct parser *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p->line += p->text.data[p->at++] == '\n';
}

/* Length of the white space character at `at` of s, 0 when there is none. */
static size_t space_at(const char *s, size_t len, size_t at, bool newline_too)
{
    uint32_t c = 0;
    size_t n = utf8_char(s + at, len - at, &c);
    return n > 0 && utf8_is_space(c) && (newline_too || c != '\n') ? n : 0;
}

static size_t skip_dotenv_space(struct parser *p, bool newlines_too)
{
    size_t start = p->at;
    size_t n;
    while ((n = space_at(p->text.data, p->text.len, p->at, newlines_too)) > 0)
        advance(p, n);
    return p->at - start;
}

static size_t length_of_line(const struct parser *p)
{
    const char *from = p->text.data + p->at;
    const char *newline = memchr(from, '\n', p->text.len - p->at);
    return newline ? (size_t)(newline - from) : p->text.len - p->at;
}

/* --- the grammar; a function returns NULL or what is wrong ---------------------------------- */

static void read_export(struct parser *p)
{
    static const char word[] = "export";
    size_t n = sizeof word - 1;
    if (p->text.len - p->at <= n || memcmp(p->text.data + p->at, word, n) != 0)
        return;
    if (space_at(p->text.data, p->text.len, p->at + n, false) == 0)
        return;
    advance(p, n);
    (void)skip_dotenv_space(p, false);
}

static const char *read_quoted_name(struct parser *p, struct span *ret)
{
    const char *from = p->text.data + p->at + 1;
    const char *end = memchr(from, '\'', p->text.len - p->at - 1);
    if (!end || end == from)
        return "a name in quotes is empty or not closed";
    *ret = (struct span){p->at + 1, (size_t)(end - from)};
    advance(p, ret->len + 2);
    return NULL;
}

static const char *read_dotenv_name(struct parser *p, struct span *ret)
{
    if (peek_dotenv(p) == '#')
        return NULL;
    if (peek_dotenv(p) == '\'')
        return read_quoted_name(p, ret);
    size_t start = p->at;
    while (p->at < p->text.len && peek_dotenv(p) != '=' && peek_dotenv(p) != '#') {
        if (space_at(p->text.data, p->text.len, p->at, true) > 0)
            break;
        advance(p, 1);
    }
    *ret = (struct span){start, p->at - start};
    return ret->len > 0 ? NULL : "a name is missing";
}

static char unescape_value(char quote, char c)
{
    static const char from[] = "\\'\"abfnrtv";
    static const char to[] = "\\'\"\a\b\f\n\r\t\v";
    const char *found = memchr(from, c, quote == '"' ? sizeof from - 1 : 2);
    return found ? to[found - from] : '\0';
}

static const char *read_quoted_value(struct parser *p)
{
    char quote = peek_dotenv(p);
    size_t end = p->at + 1;
    while (end < p->text.len && p->text.data[end] != quote)
        end += p->text.data[end] == '\\' ? 2 : 1;
    if (end >= p->text.len)
        return "a quote is not closed";
    for (size_t i = p->at + 1; i < end; i++) {
        char c = p->text.data[i];
        char escaped = c == '\\' ? unescape_value(quote, p->text.data[i + 1]) : '\0';
        i += escaped != '\0';
        (void)buf_addc(&p->plain, escaped ? escaped : c);
    }
    advance(p, end + 1 - p->at);
    return NULL;
}

/* Bytes of a plain value before its inline comment: white space and then #. */
static size_t before_comment(const char *s, size_t len)
{
    size_t space_from = len;
    for (size_t i = 0; i < len;) {
        size_t n = space_at(s, len, i, true);
        if (n > 0 && space_from == len)
            space_from = i;
        else if (n == 0 && s[i] == '#' && space_from != len)
            return space_from;
        else if (n == 0)
            space_from = len;
        i += n ? n : 1;
    }
    return len;
}

static void read_plain_value(struct parser *p)
{
    size_t whole = length_of_line(p);
    const char *s = p->text.data + p->at;
    size_t n = before_comment(s, whole);
    (void)buf_add(&p->plain, s, n - utf8_space_suffix(s, n));
    advance(p, whole);
}

/* What stands behind the `=` and its white space (`spaces` bytes). */
static const char *read_dotenv_value(struct parser *p, size_t spaces)
{
    if (spaces > 0 && peek_dotenv(p) == '#')
        return NULL;
    if (peek_dotenv(p) == '\'' || peek_dotenv(p) == '"')
        return read_quoted_value(p);
    if (p->at < p->text.len && peek_dotenv(p) != '\n')
        read_plain_value(p);
    return NULL;
}

static const char *read_line_end(struct parser *p)
{
    (void)skip_dotenv_space(p, false);
    if (peek_dotenv(p) == '#')
        advance(p, length_of_line(p));
    if (p->at < p->text.len && peek_dotenv(p) != '\n')
        return "there is text behind the value";
    advance(p, p->at < p->text.len);
    return NULL;
}

static const char *read_binding(struct parser *p, struct binding *ret)
{
    *ret = (struct binding){0};
    buf_clear(&p->plain);
    (void)skip_dotenv_space(p, true);
    ret->line = p->line;
    if (p->at == p->text.len)
        return NULL;
    read_export(p);
    const char *wrong = read_dotenv_name(p, &ret->name);
    if (wrong)
        return wrong;
    (void)skip_dotenv_space(p, false);
    if (peek_dotenv(p) == '=') {
        advance(p, 1);
        ret->has_value = true;
        wrong = read_dotenv_value(p, skip_dotenv_space(p, false));
    }
    return wrong ? wrong : read_line_end(p);
}

/* --- the variables -------------------------------------------------------------------------- */

static uint32_t dotenv_hash_of(const char *s, size_t n)
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)s[i]) * 16777619U;
    return hash;
}

/* The slot of the name, or the free one where it belongs. */
static uint16_t *find_dotenv_slot(struct parser *p, const char *name, size_t len, uint32_t hash)
{
    size_t i = hash % SLOTS;
    for (; p->slots[i]; i = (i + 1) % SLOTS) {
        const struct variable *v = &p->variables[p->slots[i] - 1];
        if (v->hash == hash && v->name.len == len &&
            memcmp(p->values.data + v->name.at, name, len) == 0)
            break;
    }
    return &p->slots[i];
}

/* Appends bytes of p->values to its own end. */
static void add_copy(struct parser *p, struct span s)
{
    if (buf_reserve(&p->values, s.len) == 0)
        (void)buf_add(&p->values, p->values.data + s.at, s.len);
}

/* Appends what ${name} or ${name:-fallback} stands for; both are parts of p->plain. */
static void add_variable(struct parser *p, struct span name, struct span fallback)
{
    char *s = p->plain.data;
    const char *from_environment = NULL;
    if (!memchr(s + name.at, '\0', name.len)) {
        drop_str char *copy = xstrndup(s + name.at, name.len);
        from_environment = p->events->environment(p->ctx, copy);
    }
    if (from_environment) {
        (void)buf_adds(&p->values, from_environment);
        return;
    }
    uint16_t slot =
        *find_dotenv_slot(p, s + name.at, name.len, dotenv_hash_of(s + name.at, name.len));
    if (slot == 0)
        (void)buf_add(&p->values, s + fallback.at, fallback.len);
    else if (p->variables[slot - 1].has_value)
        add_copy(p, p->variables[slot - 1].value);
}

/* Finds the next `c` at or behind `from`; `len` when there is none. */
static size_t find_dotenv_variable(const char *s, size_t len, size_t from, char c)
{
    const char *found = from < len ? memchr(s + from, c, len - from) : NULL;
    return found ? (size_t)(found - s) : len;
}

/* Appends p->plain with its ${…} replaced. `brace` and `colon` are the next } and : and only move
 * forward, so a text full of unclosed ${ takes linear time. */
static void expand_value(struct parser *p)
{
    const char *s = p->plain.data;
    size_t len = p->plain.len;
    size_t brace = 0;
    size_t colon = 0;
    for (size_t i = 0; i < len && !p->values.failed;) {
        size_t dollar = find_dotenv_variable(s, len, i, '$');
        (void)buf_add(&p->values, s + i, dollar - i);
        i = dollar;
        if (i + 1 >= len || s[i + 1] != '{') {
            (void)buf_add(&p->values, s + i, i < len);
            i++;
            continue;
        }
        size_t name = i + 2;
        brace = brace < name ? find_dotenv_variable(s, len, name, '}') : brace;
        colon = colon < name ? find_dotenv_variable(s, len, name, ':') : colon;
        size_t name_end = brace < colon ? brace : colon;
        bool fallback = name_end == colon && colon + 1 < len && s[colon + 1] == '-';
        if (brace == len || (name_end == colon && !fallback)) {
            (void)buf_add(&p->values, s + i++, 1);
            continue;
        }
        size_t fallback_at = fallback ? colon + 2 : brace;
        add_variable(p, (struct span){name, name_end - name},
                     (struct span){fallback_at, brace - fallback_at});
        i = brace + 1;
    }
}

static int set_dotenv_variable(struct parser *p, const struct binding *b, struct err *e)
{
    const char *name = p->text.data + b->name.at;
    uint32_t hash = dotenv_hash_of(name, b->name.len);
    struct span value = {p->values.len, 0};
    if (b->has_value)
        expand_value(p);
    value.len = p->values.len - value.at;
    uint16_t *slot = find_dotenv_slot(p, name, b->name.len, hash);
    if (*slot == 0) {
        if (p->count == DOTENV_NAMES_MAX)
            return err_set(e, -E2BIG, "line %zu: more than %d names", b->line, DOTENV_NAMES_MAX);
        struct variable *v = &p->variables[p->count++];
        *slot = (uint16_t)p->count;
        v->name = (struct span){p->values.len, b->name.len};
        v->hash = hash;
        (void)buf_add(&p->values, name, b->name.len);
    }
    struct variable *v = &p->variables[*slot - 1];
    v->value = value;
    v->has_value = b->has_value;
    v->line = b->line;
    int failed = p->plain.failed ? p->plain.failed : p->values.failed;
    return failed ? err_set(e, failed, "line %zu: the values take too much memory", b->line) : 0;
}

static void report_variable(const struct parser *p, const struct variable *v)
{
    const char *name = p->values.data + v->name.at;
    const char *value = p->values.data + v->value.at;
    if (memchr(name, '\0', v->name.len) || memchr(name, '=', v->name.len)) {
        warn_of_dotenv(p, v->line, "a name with = or NUL cannot be set");
        return;
    }
    if (memchr(value, '\0', v->value.len)) {
        warn_of_dotenv(p, v->line, "a value with NUL cannot be set");
        return;
    }
    drop_str char *name_text = xstrndup(name, v->name.len);
    drop_str char *value_text = xstrndup(value, v->value.len);
    if (!p->events->environment(p->ctx, name_text))
        p->events->set(p->ctx, name_text, value_text);
}

/* Copies the file without its byte order mark and with \r\n and \r as \n. */
static int take_text(struct parser *p, const char *text, size_t len, struct err *e)
{
    if (len > DOTENV_MAX)
        return err_set(e, -EMSGSIZE, "%zu bytes are over the limit of %zu", len, DOTENV_MAX);
    size_t valid = utf8_valid_prefix(text, len);
    if (valid < len)
        return err_set(e, -EILSEQ, "byte %zu is not UTF-8", valid + 1);
    size_t start = len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    if (buf_reserve(&p->text, len) < 0)
        return err_set(e, p->text.failed, "no memory for %zu bytes", len);
    for (size_t i = start; i < len; i++) {
        if (text[i] == '\r' && i + 1 < len && text[i + 1] == '\n')
            continue;
        (void)buf_addc(&p->text, text[i] == '\r' ? '\n' : text[i]);
    }
    return 0;
}

static int parse_dotenv(struct parser *p, const char *text, size_t len, struct err *e)
{
    int r = take_text(p, text, len, e);
    while (r == 0 && p->at < p->text.len) {
        struct binding b;
        const char *wrong = read_binding(p, &b);
        if (wrong) {
            warn_of_dotenv(p, b.line, wrong);
            advance(p, length_of_line(p));
            advance(p, p->at < p->text.len);
        } else if (b.name.len > 0) {
            r = set_dotenv_variable(p, &b, e);
        }
    }
    for (size_t i = 0; r == 0 && i < p->count; i++) {
        if (p->variables[i].has_value)
            report_variable(p, &p->variables[i]);
    }
    return r;
}

int dotenv_parse(const char *text, size_t len, const struct dotenv_events *events, void *ctx,
                 struct err *e)
{
    struct parser *p = NEW(struct parser);
    p->events = events;
    p->ctx = ctx;
    p->line = 1;
    p->text = BUF_INIT(DOTENV_MAX);
    p->plain = BUF_INIT(DOTENV_MAX);
    p->values = BUF_INIT(DOTENV_EXPANDED_MAX);
    int r = parse_dotenv(p, text, len, e);
    buf_done(&p->text);
    buf_done(&p->plain);
    buf_done(&p->values);
    xfree(p);
    return r;
}
