/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/paths/glob.h"

#include <string.h>

#define SPECIAL "*?[]"

bool glob_is(const char *text)
{
    return strpbrk(text, SPECIAL) != NULL;
}

size_t glob_fixed(const char *pattern)
{
    size_t n = strcspn(pattern, SPECIAL);
    while (n > 0 && pattern[n - 1] != '/')
        n--;
    return n;
}

struct match {
    const char *p, *p_end; /* what is left of the pattern */
    const char *s, *s_end; /* and of the path */
    bool whole;            /* else a pattern that ends before a slash is enough */
    /* Where to go on when it fails: behind the last star of this component, and behind the last
     * double star. Whatever stands before these has found its first place, which leaves the most
     * to them. */
    const char *star_p, *star_s;
    const char *deep_p, *deep_s;
    bool deep_dirs;
};

/* Takes one character of a set, "[a-z]", and says whether it is in it. 0: it is no set. */
static size_t glob_set_length(const char *p, const char *end)
{
    const char *at = p + 1;
    if (at < end && (*at == '!' || *at == '^'))
        at++;
    if (at < end && *at == ']') /* the first is a member */
        at++;
    while (at < end && *at != ']' && *at != '/')
        at++;
    return at < end && *at == ']' ? (size_t)(at - p) + 1 : 0;
}

static bool set_has(const char *p, size_t n, unsigned char c)
{
    const char *at = p + 1, *end = p + n - 1;
    bool other = *at == '!' || *at == '^', found = false;
    at += other;
    while (at < end) {
        unsigned char low = (unsigned char)at[0], high = low;
        if (end - at >= 3 && at[1] == '-') {
            high = (unsigned char)at[2];
            at += 2;
        }
        found = found || (c >= low && c <= high);
        at++;
    }
    return found != other;
}

/* A character has more bytes than one when it is not ASCII. */
static void take_character(struct match *m)
{
    m->s++;
    while (m->s < m->s_end && ((unsigned char)*m->s & 0xC0) == 0x80)
        m->s++;
}

static bool take_one(struct match *m)
{
    if (m->s == m->s_end)
        return false;
    if (*m->p == '?' && *m->s != '/') {
        m->p++;
        take_character(m);
        return true;
    }
    size_t set = *m->p == '[' ? glob_set_length(m->p, m->p_end) : 0;
    if (set > 0) {
        if (*m->s == '/' || !set_has(m->p, set, (unsigned char)*m->s))
            return false;
        m->p += set;
        take_character(m);
        return true;
    }
    if (*m->p == '?' || *m->p != *m->s)
        return false;
    m->p++;
    m->s++;
    return true;
}

static void take_stars(struct match *m, const char *pattern)
{
    bool begins = m->p == pattern || m->p[-1] == '/';
    const char *stars = m->p;
    while (m->p < m->p_end && *m->p == '*')
        m->p++;
    if (m->p - stars == 1) {
        m->star_p = m->p;
        m->star_s = m->s;
        return;
    }
    m->deep_dirs = begins && m->p < m->p_end && *m->p == '/';
    m->p += m->deep_dirs;
    m->deep_p = m->p;
    m->deep_s = m->s;
    m->star_p = NULL;
}

static bool go_back(struct match *m)
{
    if (m->star_p && m->star_s < m->s_end && *m->star_s != '/') {
        m->p = m->star_p;
        m->s = ++m->star_s;
        return true;
    }
    m->star_p = NULL;
    if (!m->deep_p)
        return false;
    const char *next = m->deep_s;
    if (m->deep_dirs) {
        next = memchr(next, '/', (size_t)(m->s_end - next));
        if (!next)
            next = m->s_end;
    }
    if (next == m->s_end) {
        m->deep_p = NULL;
        return false;
    }
    m->deep_s = next + 1;
    m->p = m->deep_p;
    m->s = m->deep_s;
    return true;
}

static bool matches(const char *pattern, size_t pattern_n, const char *path, size_t n, bool whole)
{
    struct match m = {.p = pattern, .p_end = pattern + pattern_n};
    m.s = path;
    m.s_end = path + n;
    m.whole = whole;
    for (;;) {
        if (m.p == m.p_end && (m.s == m.s_end || (!whole && *m.s == '/')))
            return true;
        if (m.p < m.p_end && *m.p == '*')
            take_stars(&m, pattern);
        else if ((m.p == m.p_end || !take_one(&m)) && !go_back(&m))
            return false;
    }
}

bool glob_matches(const char *pattern, const char *path, size_t n)
{
    return matches(pattern, strlen(pattern), path, n, true);
}

bool glob_covers(const char *pattern, const char *path)
{
    return matches(pattern, strlen(pattern), path, strlen(path), false);
}

bool glob_reaches_below(const char *pattern, const char *dir)
{
    const char *p = pattern + strspn(pattern, "/"), *d = dir + strspn(dir, "/");
    while (*d) {
        size_t pn = strcspn(p, "/"), dn = strcspn(d, "/");
        if (pn == 0)
            return false; /* it matches the directory, or one above it */
        if (memmem(p, pn, "**", 2))
            return true;
        if (!matches(p, pn, d, dn, true))
            return false;
        p += pn + strspn(p + pn, "/");
        d += dn + strspn(d + dn, "/");
    }
    return *p != '\0';
}
