/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/python_check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"

enum { WORD_MAX = 64 };

struct reader {
    const char *text, *at;
    int open;             /* brackets */
    char first[WORD_MAX]; /* word of the statement */
    char last[WORD_MAX];  /* word before this place */
    bool fresh;           /* nothing of the statement was read */
    const char *wrong;
};

static bool listed(const char *word, const char *const *words)
{
    for (; *words; words++) {
        if (strcmp(word, *words) == 0)
            return true;
    }
    return false;
}

static void fail(struct reader *r, const char *why)
{
    static char message[200];
    int line = 1;
    for (const char *s = r->text; s < r->at; s++)
        line += *s == '\n';
    if (!r->wrong)
        (void)snprintf(message, sizeof(message), "line %d: %s (%.40s)", line, why, r->at);
    r->wrong = message;
}

static void skip_string(struct reader *r)
{
    bool doc = strncmp(r->at, "\"\"\"", 3) == 0;
    r->at += doc ? 3 : 1;
    while (!r->wrong && (doc ? strncmp(r->at, "\"\"\"", 3) != 0 : *r->at != '"')) {
        r->at += r->at[0] == '\\' && r->at[1];
        if (!*r->at || (*r->at == '\n' && !doc) ||
            ((unsigned char)*r->at < ' ' && !strchr("\n\t", *r->at)))
            fail(r, "the string does not end");
        else
            r->at++;
    }
    r->at += r->wrong ? 0 : doc ? 3 : 1;
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static void read_word(struct reader *r)
{
    static const char *const calls[] = {"Field",      "cast",         "functions", "model_rebuild",
                                        "ToolRunner", "lazy_package", NULL};
    static const char *const never[] = {"exec",   "eval", "import_module", "raise",  "with",
                                        "while",  "if",   "yield",         "global", "del",
                                        "assert", NULL};
    static const char *const dunders[] = {
        "__future__", "__pydantic_extra__", "__all__", "__getattr__",
        "__dir__",    "__name__",           "__doc__", NULL};
    char word[WORD_MAX] = "";
    size_t n = 0;
    for (; in_word(*r->at); r->at++) {
        if (n < WORD_MAX - 1)
            word[n++] = *r->at;
    }
    if (*r->at == '(' && !listed(word, calls) && strcmp(r->last, "class") != 0 &&
        strcmp(r->last, "import") != 0)
        fail(r, "a call of something else");
    if (listed(word, never) || (strncmp(word, "__", 2) == 0 && !listed(word, dunders)))
        fail(r, "a word that no module has");
    if (strcmp(word, "import") == 0 && strcmp(r->first, "from") != 0)
        fail(r, "another import");
    if (r->fresh)
        memcpy(r->first, word, sizeof(word));
    memcpy(r->last, word, sizeof(word));
    r->fresh = false;
}

static void read_token(struct reader *r)
{
    char c = *r->at;
    if (c == '#' && r->open == 0 && r->fresh) {
        while (*r->at && *r->at != '\n') {
            if ((unsigned char)*r->at < ' ')
                fail(r, "a control character");
            r->at++;
        }
    } else if (c == '"') {
        skip_string(r);
        r->fresh = false;
    } else if (in_word(c)) {
        read_word(r);
    } else if (c == '\n' || c == ' ') {
        r->fresh |= c == '\n' && r->open == 0;
        if (r->fresh)
            r->first[0] = r->last[0] = '\0';
        r->at++;
    } else if (strchr("()[]{}:=,.|*-+>", c)) {
        r->open += (strchr("([{", c) != NULL) - (strchr(")]}", c) != NULL);
        if (c == '(' || c == ',')
            r->last[0] = '\0';
        if (r->open < 0)
            fail(r, "a bracket too many");
        r->at++;
    } else {
        fail(r, "a character that no module has");
    }
}

/* PEP 263: a comment of the first two lines can say how the rest is to be read. */
static void check_encoding(struct reader *r)
{
    const char *line = r->text;
    for (int i = 0; i < 2; i++) {
        const char *end = strchr(line, '\n'), *coding = strstr(line, "coding");
        if (!end || (line[strspn(line, " \t\f")] == '#' && coding && coding < end)) {
            fail(r, "the first lines speak of an encoding");
            return;
        }
        line = end + 1;
    }
}

const char *python_check(const char *text)
{
    struct reader r = {.text = text, .at = text, .fresh = true};
    size_t n = strlen(text);
    if (!utf8_valid(text, n))
        fail(&r, "no UTF-8");
    check_encoding(&r);
    while (*r.at && !r.wrong)
        read_token(&r);
    if (!r.wrong && r.open != 0)
        fail(&r, "a bracket is left open");
    if (!r.wrong && (n == 0 || text[n - 1] != '\n'))
        fail(&r, "no line end");
    return r.wrong;
}
