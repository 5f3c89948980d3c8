/* SPDX-License-Identifier: Apache-2.0
 *
 * The mark between parts is CR LF "--" boundary. The first one has no CR LF before it, so reading
 * begins as if one had been read. Content that may be the beginning of a mark is held back: it is a
 * piece of the mark itself, so how far it goes (`matched`) says all of it. */
#include "wire/multipart.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"

enum multipart_state {
    IN_PREAMBLE, /* before the first mark: what is there is thrown away */
    IN_CONTENT,
    BEHIND_MARK, /* two bytes decide: CR LF, or -- of the last one */
    IN_HEAD,
    AT_END
};

enum { MARK_OVER = 4 }; /* CR LF - - */

struct multipart {
    const struct multipart_events *events;
    void *ctx;
    enum multipart_state state;
    char mark[MARK_OVER + MULTIPART_BOUNDARY_MAX + 1];
    size_t mark_len, matched;
    char behind[2];
    size_t behind_len, parts;
    struct buf head;
    int failed;
};

/* --- header values ---------------------------------------------------------------------------- */

static const char *skip_blank(const char *at)
{
    return at + strspn(at, " \t");
}

/* %22, %0D, %0A; a backslash before a quote or a backslash. */
static size_t unescape_quoted(const char *at, char *ret)
{
    static const struct {
        const char *text;
        char byte;
    } escapes[] = {{"%22", '"'}, {"%0D", '\r'}, {"%0A", '\n'}, {"\\\"", '"'}, {"\\\\", '\\'}};
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
        size_t n = strlen(escapes[i].text);
        if (strncasecmp(at, escapes[i].text, n) == 0) {
            *ret = escapes[i].byte;
            return n;
        }
    }
    *ret = *at;
    return 1;
}

/* A value, quoted or a token; *at ends behind it. False: too long, or its quote does not end. */
static bool take_value(const char **at, char *ret, size_t size)
{
    const char *p = *at;
    bool quoted = *p == '"';
    size_t n = 0;
    p += quoted;
    while (*p && (quoted ? *p != '"' : !strchr("; \t", *p))) {
        char byte = *p;
        p += quoted ? unescape_quoted(p, &byte) : 1;
        if (n + 1 >= size)
            return false;
        ret[n++] = byte;
    }
    ret[n] = '\0';
    if (quoted && *p != '"')
        return false;
    *at = p + quoted;
    return true;
}

/* The parameter of a header's value behind its first semicolon. 1: it is there; 0: it is not; or
 * -EBADMSG. */
static int find_parameter(const char *value, const char *name, char *ret, size_t size)
{
    char other[MULTIPART_NAME_MAX];
    const char *at = strchr(value, ';');
    int found = 0;
    while (at && *at == ';') {
        at = skip_blank(at + 1);
        size_t n = strcspn(at, "=; \t");
        bool is_it = n == strlen(name) && strncasecmp(at, name, n) == 0;
        at = skip_blank(at + n);
        if (*at != '=') {
            at = strchr(at, ';');
            continue;
        }
        at = skip_blank(at + 1);
        if (!take_value(&at, is_it ? ret : other, is_it ? size : sizeof other))
            return -EBADMSG;
        found |= is_it;
        at = skip_blank(at);
    }
    return found;
}

/* --- a part's head ---------------------------------------------------------------------------- */

static int check_disposition(const struct multipart *m, const char *value)
{
    static const char form_data[] = "form-data";
    char name[MULTIPART_NAME_MAX], filename[MULTIPART_NAME_MAX];
    size_t n = sizeof form_data - 1;
    if (strncasecmp(value, form_data, n) != 0 || !strchr("; \t", value[n]))
        return -EBADMSG;
    int named = find_parameter(value, "name", name, sizeof name);
    int is_file = find_parameter(value, "filename", filename, sizeof filename);
    if (named <= 0 || is_file < 0)
        return -EBADMSG;
    return m->events->begin(m->ctx, name, is_file ? filename : NULL);
}

/* The lines are complete: each ends with CR LF. */
static int read_part_head(struct multipart *m)
{
    static const char wanted[] = "content-disposition:";
    char *line = m->head.data;
    if (!line || memchr(line, '\0', m->head.len))
        return -EBADMSG;
    if (++m->parts > MULTIPART_PARTS_MAX)
        return -EMSGSIZE;
    for (char *end; (end = strstr(line, "\r\n")) != NULL; line = end + 2) {
        *end = '\0';
        if (strncasecmp(line, wanted, sizeof wanted - 1) == 0)
            return check_disposition(m, skip_blank(line + sizeof wanted - 1));
    }
    return -EBADMSG;
}

static int take_head_byte(struct multipart *m, char byte)
{
    int r = buf_addc(&m->head, byte);
    if (r < 0)
        return r;
    size_t n = m->head.len;
    bool empty = n == 2 && memcmp(m->head.data, "\r\n", 2) == 0;
    if (!empty && (n < 4 || memcmp(m->head.data + n - 4, "\r\n\r\n", 4) != 0))
        return 0;
    r = empty ? -EBADMSG : read_part_head(m);
    buf_clear(&m->head);
    m->state = IN_CONTENT;
    m->matched = 0;
    return r;
}

/* --- content and marks ------------------------------------------------------------------------ */

static int give_content(const struct multipart *m, const char *bytes, size_t n)
{
    return m->state == IN_CONTENT && n > 0 ? m->events->content(m->ctx, bytes, n) : 0;
}

static int on_mark(struct multipart *m)
{
    int r = m->state == IN_CONTENT ? m->events->end(m->ctx) : 0;
    m->state = BEHIND_MARK;
    m->behind_len = m->matched = 0;
    return r;
}

/* Only its first byte is a CR, so after a miss the mark can begin nowhere but at this byte. */
static int take_content(struct multipart *m, const char **bytes, size_t *n)
{
    int r = 0;
    while (m->matched > 0 && *n > 0 && r == 0) {
        if (**bytes != m->mark[m->matched]) {
            r = give_content(m, m->mark, m->matched);
            m->matched = 0;
            return r;
        }
        (*bytes)++, (*n)--;
        if (++m->matched == m->mark_len)
            return on_mark(m);
    }
    const char *cr = *n > 0 ? memchr(*bytes, '\r', *n) : NULL;
    size_t plain = cr ? (size_t)(cr - *bytes) : *n;
    r = give_content(m, *bytes, plain);
    m->matched = cr ? 1 : m->matched;
    *bytes += plain + (cr ? 1 : 0);
    *n -= plain + (cr ? 1 : 0);
    return r;
}

static int take_behind(struct multipart *m, char byte)
{
    if (m->behind_len == 0 && (byte == ' ' || byte == '\t'))
        return 0; /* RFC 2046 lets blanks stand here */
    m->behind[m->behind_len++] = byte;
    if (m->behind_len < 2)
        return 0;
    bool next = memcmp(m->behind, "\r\n", 2) == 0;
    if (!next && memcmp(m->behind, "--", 2) != 0)
        return -EBADMSG;
    m->state = next ? IN_HEAD : AT_END;
    return 0;
}

static int feed_some(struct multipart *m, const char **bytes, size_t *n)
{
    switch (m->state) {
    case IN_PREAMBLE:
    case IN_CONTENT:
        return take_content(m, bytes, n);
    case BEHIND_MARK:
        (*n)--;
        return take_behind(m, *(*bytes)++);
    case IN_HEAD:
        (*n)--;
        return take_head_byte(m, *(*bytes)++);
    case AT_END:
        *n = 0; /* an epilogue is nobody's */
        return 0;
    }
    return -EBADMSG;
}

int multipart_feed(struct multipart *m, const char *bytes, size_t n)
{
    while (n > 0 && m->failed == 0)
        m->failed = feed_some(m, &bytes, &n);
    return m->failed;
}

int multipart_end(const struct multipart *m)
{
    return m->failed ? m->failed : m->state == AT_END ? 0 : -EBADMSG;
}

int multipart_open(const char *content_type, const struct multipart_events *events, void *ctx,
                   struct multipart **ret)
{
    static const char type[] = "multipart/form-data";
    char boundary[MULTIPART_BOUNDARY_MAX + 1];
    if (strncasecmp(content_type, type, sizeof type - 1) != 0 ||
        !strchr("; \t", content_type[sizeof type - 1]) ||
        find_parameter(content_type, "boundary", boundary, sizeof boundary) <= 0 ||
        boundary[0] == '\0' || strpbrk(boundary, "\r\n"))
        return -EINVAL;
    struct multipart *m = NEW(struct multipart);
    *m = (struct multipart){.events = events, .ctx = ctx, .head = BUF_INIT(MULTIPART_HEAD_MAX)};
    memcpy(m->mark, "\r\n--", MARK_OVER);
    memcpy(m->mark + MARK_OVER, boundary, strlen(boundary) + 1);
    m->mark_len = MARK_OVER + strlen(boundary);
    m->matched = 2;
    *ret = m;
    return 0;
}

struct multipart *multipart_close(struct multipart *m)
{
    if (!m)
        return NULL;
    buf_done(&m->head);
    xfree(m);
    return NULL;
}
