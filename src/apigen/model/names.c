/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/model/names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"

enum { COMMENT_MAX = 200 };

static bool listed(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

#define LISTED(name, names) listed(name, names, sizeof(names) / sizeof *(names))

bool name_is_keyword(const char *name)
{
    static const char *const keywords[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
    return LISTED(name, keywords);
}

/* Attributes of pydantic's BaseModel: a field of such a name would hide what the model needs. */
bool name_is_model_attribute(const char *name)
{
    static const char *const attributes[] = {"construct",
                                             "copy",
                                             "dict",
                                             "from_orm",
                                             "json",
                                             "model_computed_fields",
                                             "model_config",
                                             "model_construct",
                                             "model_copy",
                                             "model_dump",
                                             "model_dump_json",
                                             "model_extra",
                                             "model_fields",
                                             "model_fields_set",
                                             "model_json_schema",
                                             "model_parametrized_name",
                                             "model_post_init",
                                             "model_rebuild",
                                             "model_validate",
                                             "model_validate_json",
                                             "model_validate_strings",
                                             "parse_file",
                                             "parse_obj",
                                             "parse_raw",
                                             "schema",
                                             "schema_json",
                                             "update_forward_refs",
                                             "validate"};
    return LISTED(name, attributes);
}

/* --- characters ------------------------------------------------------------------------------ */

struct range {
    uint32_t from, to;
};

static bool inside(uint32_t c, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (c >= ranges[i].from && c <= ranges[i].to)
            return true;
    }
    return false;
}

#define INSIDE(c, ranges) inside(c, ranges, sizeof(ranges) / sizeof *(ranges))

/* Letters (XID_Start) that NFKC does not change; Python compares identifiers in that form. */
static bool is_letter(uint32_t c)
{
    static const struct range letters[] = {
        {'A', 'Z'},       {'a', 'z'},       {0xC0, 0xD6},     {0xD8, 0xF6},     {0xF8, 0x131},
        {0x134, 0x13E},   {0x141, 0x148},   {0x14A, 0x17E},   {0x180, 0x1C3},   {0x1CD, 0x1F0},
        {0x1F4, 0x24F},   {0x388, 0x38A},   {0x38E, 0x3A1},   {0x3A3, 0x3CE},   {0x400, 0x481},
        {0x531, 0x556},   {0x561, 0x586},   {0x5D0, 0x5EA},   {0x620, 0x64A},   {0x905, 0x939},
        {0xE01, 0xE30},   {0x10D0, 0x10FA}, {0x3041, 0x3096}, {0x30A1, 0x30FA}, {0x4E00, 0x9FFF},
        {0xAC00, 0xD7A3},
    };
    return INSIDE(c, letters);
}

static bool is_name_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

/* The capital of a letter that is_letter() knows, where Unicode has a simple one. */
static uint32_t capital(uint32_t c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 0xE0 && c <= 0xFE && c != 0xF7) ||
        (c >= 0x3B1 && c <= 0x3C9 && c != 0x3C2) || (c >= 0x430 && c <= 0x44F))
        return c - 0x20;
    if (c >= 0x450 && c <= 0x45F)
        return c - 0x50;
    bool odd = (c >= 0x100 && c <= 0x12F) || (c >= 0x14A && c <= 0x177);
    bool even = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E);
    return (odd && c % 2 == 1) || (even && c % 2 == 0) ? c - 1 : c;
}

/* What may stand in a literal, a docstring or a comment as it is. */
static bool is_plain_name(uint32_t c)
{
    static const struct range hidden[] = {
        {0, 0x1F},           {0x7F, 0xA0},     {0xAD, 0xAD},       {0x61C, 0x61C},
        {0x115F, 0x1160},    {0x17B4, 0x17B5}, {0x180B, 0x180F},   {0x200B, 0x200F},
        {0x2028, 0x202F},    {0x205F, 0x206F}, {0x3164, 0x3164},   {0xD800, 0xF8FF},
        {0xFDD0, 0xFDEF},    {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
        {0xFFF0, 0xFFFB},    {0xFFFE, 0xFFFF}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
        {0xE0000, 0x10FFFF},
    };
    return !INSIDE(c, hidden) && (c & 0xFFFE) != 0xFFFE;
}

/* The next character; NUL's inner form C0 80 is U+0000 and what is not UTF-8 is U+FFFD. */
static uint32_t next_name_character(const char **s)
{
    const char *at = *s;
    uint32_t c = 0xFFFD;
    size_t n = utf8_char(at, strnlen(at, 4), &c);
    if (n == 0 && (unsigned char)at[0] == 0xC0 && (unsigned char)at[1] == 0x80) {
        *s += 2;
        return 0;
    }
    *s += n ? n : 1;
    return n ? c : 0xFFFD;
}

/* --- identifiers ----------------------------------------------------------------------------- */

char *name_module(struct arena *a, const char *tool)
{
    char *name = arena_get(a, strlen(tool) + 1), *to = name;
    while (*tool) {
        uint32_t c = next_name_character(&tool);
        bool upper = c >= 'A' && c <= 'Z';
        bool keep = upper || (c >= 'a' && c <= 'z') || is_name_digit(c);
        *to++ = keep ? (char)(upper ? c + 32 : c) : '_';
    }
    return name;
}

static bool begins_word(const char *name, size_t i)
{
    bool upper = name[i] >= 'A' && name[i] <= 'Z';
    bool after = i > 0 && ((name[i - 1] >= 'a' && name[i - 1] <= 'z') ||
                           is_name_digit((unsigned char)name[i - 1]));
    bool capitals = i > 0 && name[i - 1] >= 'A' && name[i - 1] <= 'Z';
    bool lower = upper && name[i + 1] >= 'a' && name[i + 1] <= 'z';
    return upper && (after || (capitals && lower));
}

char *name_words(struct arena *a, const char *tool)
{
    char *words = arena_get(a, 2 * strlen(tool) + 1), *to = words;
    for (size_t i = 0; tool[i]; i++) {
        if (begins_word(tool, i))
            *to++ = '_';
        *to++ = tool[i];
    }
    return name_module(a, words);
}

static char *identifier(struct arena *a, const char *wire)
{
    char *name = arena_get(a, strlen(wire) + 1), *to = name;
    while (*wire) {
        uint32_t c = next_name_character(&wire);
        if (is_letter(c) || is_name_digit(c))
            to += utf8_put(to, c);
        else
            *to++ = '_';
    }
    return name;
}

char *name_field(struct arena *a, const char *wire)
{
    if (*wire == '#')
        wire++;
    char *name = identifier(a, *wire ? wire : "_");
    if (is_name_digit((unsigned char)name[0]))
        name = arena_textf(a, "field_%s", name);
    if (name[0] == '_')
        name = arena_textf(a, "field%s", name);
    if (name_is_keyword(name))
        name = arena_textf(a, "%s_", name);
    return name;
}

char *name_class(struct arena *a, const char *wire)
{
    char *name = name_field(a, wire);
    char *camel = arena_get(a, strlen(name) + 8), *to = camel;
    bool begin = true;
    for (const char *s = name; *s;) {
        uint32_t c = next_name_character(&s);
        if (c != '_')
            to += utf8_put(to, begin ? capital(c) : c);
        begin = c == '_';
    }
    return camel;
}

static bool ends(const char *text, const char *with)
{
    size_t n = strlen(text), m = strlen(with);
    return n > m && strcmp(text + n - m, with) == 0;
}

/* English well enough for the names of lists; in doubt the name gets the suffix. */
char *name_singular(struct arena *a, const char *name, const char *suffix)
{
    static const struct {
        const char *plural;
        size_t cut;
        const char *put;
    } rules[] = {
        {"hildren", 3, ""}, {"eople", 5, "erson"}, {"Data", 1, "um"}, {"data", 1, "um"},
        {"eries", 0, ""},   {"ovies", 1, ""},      {"ookies", 1, ""}, {"ies", 3, "y"},
        {"sses", 2, ""},    {"shes", 2, ""},       {"ches", 2, ""},   {"xes", 2, ""},
        {"eaves", 3, "f"},  {"News", 0, ""},       {"zzes", 2, ""},
    };
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof(rules) / sizeof *rules; i++) {
        if (ends(name, rules[i].plural) || strcmp(name, rules[i].plural) == 0)
            return arena_textf(a, "%.*s%s", (int)(n - rules[i].cut), name, rules[i].put);
    }
    if (n > 2 && name[n - 1] == 's' && name[n - 2] != 's' && !ends(name, "us"))
        return arena_text(a, name, n - 1);
    return arena_textf(a, "%s%s", name, suffix);
}

/* --- literals -------------------------------------------------------------------------------- */

static void put_name_escape(struct buf *out, uint32_t c)
{
    if (c == '\n')
        (void)buf_adds(out, "\\n");
    else if (c == '\r')
        (void)buf_adds(out, "\\r");
    else if (c == '\t')
        (void)buf_adds(out, "\\t");
    else if (c < 0x100)
        (void)buf_addf(out, "\\x%02x", (unsigned)c);
    else if (c < 0x10000)
        (void)buf_addf(out, "\\u%04x", (unsigned)c);
    else
        (void)buf_addf(out, "\\U%08x", (unsigned)c);
}

static void put_plain(struct buf *out, uint32_t c)
{
    char bytes[4];
    (void)buf_add(out, bytes, utf8_put(bytes, c));
}

void put_text(struct buf *out, const char *text)
{
    (void)buf_addc(out, '"');
    while (*text) {
        uint32_t c = next_name_character(&text);
        if (c == '"' || c == '\\')
            (void)buf_addc(out, '\\');
        if (is_plain_name(c))
            put_plain(out, c);
        else
            put_name_escape(out, c);
    }
    (void)buf_addc(out, '"');
}

void put_comment(struct buf *out, const char *text)
{
    for (int n = 0; *text && n < COMMENT_MAX; n++) {
        uint32_t c = next_name_character(&text);
        if (is_plain_name(c))
            put_plain(out, c);
        else
            put_name_escape(out, c);
    }
    if (*text)
        (void)buf_adds(out, " ...");
}

void put_docstring(struct buf *out, const char *text, int indent)
{
    (void)buf_addf(out, "%*s\"\"\"", indent, "");
    bool lines = strchr(text, '\n') != NULL, fresh = lines;
    if (lines)
        (void)buf_addc(out, '\n');
    while (*text) {
        uint32_t c = next_name_character(&text);
        if (fresh && c != '\n')
            (void)buf_addf(out, "%*s", indent, "");
        fresh = lines && c == '\n';
        bool quote = c == '"' && (*text == '"' || *text == '\0' || out->data[out->len - 1] == '"');
        if (quote || c == '\\')
            (void)buf_addc(out, '\\');
        if (c == '\n' || c == '\t' || is_plain_name(c))
            put_plain(out, c);
        else
            put_name_escape(out, c);
        if (out->failed)
            return;
    }
    if (lines)
        (void)buf_addf(out, "%s%*s", fresh ? "" : "\n", indent, "");
    (void)buf_adds(out, "\"\"\"");
}

void put_number(struct buf *out, double value)
{
    char text[400];
    if (value == floor(value) && fabs(value) < 1e21) {
        (void)buf_addf(out, "%.0f", value == 0 ? 0.0 : value);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) { /* the shortest that reads back */
        (void)snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    (void)buf_adds(out, text);
}

void put_json(struct buf *out, const struct json *j)
{
    if (json_text(j)) {
        put_text(out, json_text(j));
    } else if (json_is_number(j)) {
        put_number(out, json_number(j));
    } else if (json_is_bool(j)) {
        (void)buf_adds(out, json_true(j) ? "True" : "False");
    } else if (json_is_array(j) || json_is_object(j)) {
        bool object = json_is_object(j);
        (void)buf_addc(out, object ? '{' : '[');
        for (const struct json *v = json_first(j); v; v = json_next(v)) {
            if (object) {
                put_text(out, json_name(v));
                (void)buf_adds(out, ": ");
            }
            put_json(out, v);
            if (json_next(v))
                (void)buf_adds(out, ", ");
        }
        (void)buf_addc(out, object ? '}' : ']');
    } else {
        (void)buf_adds(out, "None");
    }
}
