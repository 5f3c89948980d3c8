/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/model/regex.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_MAX = 4096, DEPTH_MAX = 32, REPEAT_MAX = 1000, NAMES_MAX = 16 };

struct regex_reader {
    const char *at;
    int depth;
    int groups;                   /* closed so far: what a back reference may name */
    long size;                    /* a bound on what the repeats unfold to */
    bool python;                  /* look-around or a back reference was seen */
    bool rust;                    /* what only Rust's engine takes */
    const char *names[NAMES_MAX]; /* of groups */
    int n_names;
    bool look_behind; /* inside one: Python's wants a fixed width */
};

static bool alternatives(struct regex_reader *r);

static bool is_regex_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool in_name(char c, const char *letters)
{
    return is_regex_digit(c) || (c && strchr(letters, c));
}

static bool hex_digits(struct regex_reader *r, int n)
{
    for (int i = 0; i < n; i++, r->at++) {
        if (!*r->at || !strchr("0123456789abcdefABCDEF", *r->at))
            return false;
    }
    return true;
}

/* {L}: a property of characters in Unicode. */
static bool property(struct regex_reader *r)
{
    static const char *const known[] = {
        "L",        "Lu",       "Ll",     "Lt",     "Lm",     "Lo",       "M",
        "Mn",       "Mc",       "N",      "Nd",     "Nl",     "No",       "P",
        "Pc",       "Pd",       "Ps",     "Pe",     "Po",     "S",        "Sm",
        "Sc",       "Sk",       "So",     "Z",      "Zs",     "Zl",       "Zp",
        "C",        "Cc",       "Cf",     "Latin",  "Greek",  "Cyrillic", "Han",
        "Hiragana", "Katakana", "Arabic", "Hebrew", "Hangul", "Thai",     "Alphabetic"};
    size_t n = r->at[0] == '{' ? strcspn(r->at + 1, "}") : 0;
    for (size_t i = 0; n > 0 && r->at[n + 1] && i < sizeof(known) / sizeof *known; i++) {
        if (strlen(known[i]) == n && strncmp(known[i], r->at + 1, n) == 0) {
            r->at += n + 2;
            r->rust = true;
            return true;
        }
    }
    return false;
}

/* Behind a backslash; `*ret_class`: it stands for several characters, so it ends no range. */
static bool read_regex_escape(struct regex_reader *r, bool in_set, bool *ret_class)
{
    char c = *r->at++;
    *ret_class = c && strchr("dDwWsSpP", c);
    if (c == 'p' || c == 'P')
        return property(r);
    if (c == 'x')
        return hex_digits(r, 2);
    if (c == 'u') { /* a surrogate is no character */
        const char *digits = r->at;
        return hex_digits(r, 4) && !(digits[0] == 'd' || digits[0] == 'D');
    }
    if (!in_set && c >= '1' && c <= '9') {
        r->python = true;
        return c - '0' <= r->groups && !is_regex_digit(*r->at);
    }
    if (!in_set && (c == 'b' || c == 'B'))
        return true;
    return *ret_class || (c && strchr("tnrfv^$\\.*+?()[]{}|/-#&~ @!%,:;<=>\"'`_", c) && c != '<' &&
                          c != '>' && c != '_');
}

/* A member of a [set]; `*ret_class` as above, `*ret_char` the character when it is a plain one. */
static bool set_member(struct regex_reader *r, bool *ret_class, int *ret_char)
{
    char c = *r->at;
    *ret_class = false;
    *ret_char = -1;
    if (c == '\\') {
        r->at++;
        *ret_char = (unsigned char)*r->at;
        if (!*ret_char || strchr("tnrfvxu", (char)*ret_char))
            *ret_char = -1;
        return read_regex_escape(r, true, ret_class);
    }
    if (!c)
        return false;
    bool doubled = strchr("-&~|", c) && r->at[1] == c; /* set operations of either engine */
    if (c == '[' || (doubled && c != '-') || (doubled && r->at[2] != ']'))
        return false;
    *ret_char = (unsigned char)c;
    r->at++;
    return true;
}

static bool read_regex_set(struct regex_reader *r)
{
    if (*r->at == '^')
        r->at++;
    if (*r->at == ']')
        return false;
    while (*r->at != ']') {
        bool from_class, to_class;
        int from, to;
        if (!set_member(r, &from_class, &from))
            return false;
        if (r->at[0] != '-' || r->at[1] == ']')
            continue;
        r->at++;
        if (from_class || !set_member(r, &to_class, &to) || to_class)
            return false;
        bool wide = from >= 0x80 || to >= 0x80; /* of several bytes: not compared here */
        if (wide || from < 0 || to < 0 || from > to)
            return false;
    }
    r->at++;
    return true;
}

/* name>, which no other group has. */
static bool group_name(struct regex_reader *r)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const char *name = r->at;
    r->at += strspn(r->at, letters);
    bool begins = r->at > name;
    while (in_name(*r->at, letters))
        r->at++;
    size_t n = (size_t)(r->at - name) + 1;
    for (int i = 0; i < r->n_names; i++)
        begins &= strncmp(r->names[i], name, n) != 0;
    if (!begins || *r->at++ != '>' || r->n_names == NAMES_MAX)
        return false;
    r->names[r->n_names++] = name;
    return true;
}

static bool group(struct regex_reader *r)
{
    bool capture = true, behind = r->look_behind;
    if (*r->at == '?') {
        capture = false;
        r->at++;
        bool look = *r->at == '=' || *r->at == '!', named = false;
        if (r->at[0] == '<' && (r->at[1] == '=' || r->at[1] == '!')) {
            look = r->look_behind = true;
            r->at++;
        } else if (*r->at == '<' || (r->at[0] == 'P' && r->at[1] == '<')) {
            r->rust |= *r->at == '<';
            r->at += *r->at == '<' ? 1 : 2;
            named = capture = group_name(r);
            if (!named)
                return false;
        }
        if (!look && !named && *r->at != ':')
            return false;
        r->python |= look;
        r->at += !named;
    }
    if (++r->depth > DEPTH_MAX || !alternatives(r) || *r->at != ')')
        return false;
    r->at++;
    r->depth--;
    r->groups += capture;
    r->look_behind = behind;
    return true;
}

static bool read_regex_number(struct regex_reader *r, long *ret)
{
    if (!is_regex_digit(*r->at))
        return false;
    *ret = 0;
    while (is_regex_digit(*r->at) && *ret <= REPEAT_MAX)
        *ret = *ret * 10 + (*r->at++ - '0');
    return *ret <= REPEAT_MAX;
}

/* *, +, ? or {n,m} behind something of `size`; none is fine. */
static bool repeat(struct regex_reader *r, bool repeatable, long size)
{
    long least = 0, most = 1;
    char c = *r->at;
    if (c != '*' && c != '+' && c != '?' && c != '{')
        return true;
    if (!repeatable || r->look_behind)
        return false;
    r->at++;
    if (c == '{') {
        if (!read_regex_number(r, &least))
            return false;
        most = least;
        if (*r->at == ',') {
            r->at++;
            most = *r->at == '}' ? least + 1 : -1;
            if (most < 0 && !read_regex_number(r, &most))
                return false;
        }
        if (*r->at++ != '}' || most < least)
            return false;
    }
    if (*r->at == '?') {
        r->at++;
    } else if (*r->at == '+') { /* to Rust's engine a repeat of the repeat */
        r->rust = true;
        r->at++;
    }
    r->size += size * most;
    return r->size <= REPEAT_MAX * 10 && !(*r->at && strchr("*+?{", *r->at));
}

static bool atom(struct regex_reader *r, bool *ret_repeatable)
{
    char c = *r->at++;
    bool class;
    *ret_repeatable = c != '^' && c != '$';
    switch (c) {
    case '\\':
        *ret_repeatable = *r->at != 'b' && *r->at != 'B';
        return read_regex_escape(r, false, &class);
    case '[':
        return read_regex_set(r);
    case '(':
        *ret_repeatable = !(r->at[0] == '?' && r->at[1] != ':');
        return group(r);
    case '*':
    case '+':
    case '?':
    case '{':
    case '}':
    case ']':
        return false;
    default:
        while ((*r->at & 0xC0) == 0x80) /* the rest of a character */
            r->at++;
        return (unsigned char)c != 0xC0; /* NUL */
    }
}

static bool alternatives(struct regex_reader *r)
{
    while (*r->at && *r->at != ')') {
        if (*r->at == '|') {
            if (r->look_behind)
                return false;
            r->at++;
            continue;
        }
        long before = r->size++;
        bool repeatable;
        if (!atom(r, &repeatable) || !repeat(r, repeatable, r->size - before))
            return false;
    }
    return true;
}

enum regex_kind regex_kind(const char *pattern)
{
    struct regex_reader r = {.at = pattern};
    if (strlen(pattern) > PATTERN_MAX || !alternatives(&r) || *r.at)
        return REGEX_NONE;
    if (r.python)
        return r.rust ? REGEX_NONE : REGEX_PYTHON;
    return r.rust ? REGEX_RUST : REGEX_PLAIN;
}
