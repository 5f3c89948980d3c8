/* SPDX-License-Identifier: Apache-2.0 */
#include "front/http/http_head.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/text/hexdigit.h"
#include "base/text/utf8.h"

/* --- target ----------------------------------------------------------------------------------- */

/* In place: what is decoded is never longer. */
static int decode_path(char *text, size_t n, bool dot, struct err *e)
{
    size_t to = 0;
    for (size_t i = 0; i < n; i++, to++) {
        int c = (unsigned char)text[i];
        if (c == '%') {
            int high = i + 2 < n ? hexdigit(text[i + 1]) : -1;
            int low = high >= 0 ? hexdigit(text[i + 2]) : -1;
            if (low < 0)
                return err_set(e, -EINVAL, "the path has a %% that is no escape");
            c = high << 4 | low;
            i += 2;
        }
        if (c < 32 || c == 127)
            return err_set(e, -EINVAL, "the path has a control character");
        text[to] = (char)c;
    }
    text[to] = '\0';
    if (!utf8_valid(text, to))
        return err_set(e, -EINVAL, "the path is not UTF-8");
    if ((strcmp(text, ".") == 0 && !dot) || strcmp(text, "..") == 0)
        return err_set(e, -EINVAL, "the path has a segment \"%s\"", text);
    return 0;
}

int http_target_parse(const char *raw, bool dot, struct http_target *ret, struct err *e)
{
    struct http_target t = {0};
    if (raw[0] != '/')
        return err_set(e, -EINVAL, "the request's target is not a path");
    const size_t length = strcspn(raw, "?#");
    const char *at = raw, *const end = raw + length;
    t.path = xcalloc(2, length + 1); /* behind it the segments, each with a 0 for its slash */
    char *path = t.path, *segment = t.path + length + 1;
    int r = 0;
    while (at < end) {
        at++; /* the slash */
        const char *slash = memchr(at, '/', (size_t)(end - at));
        size_t n = (size_t)((slash ? slash : end) - at);
        memcpy(segment, at, n);
        segment[n] = '\0';
        if (t.n == HTTP_SEGMENTS_MAX)
            r = err_set(e, -EINVAL, "the path has more than %d segments", HTTP_SEGMENTS_MAX);
        else
            r = decode_path(segment, n, dot && !slash, e);
        if (r < 0)
            break;
        size_t decoded = strlen(segment);
        t.slash_inside |= memchr(segment, '/', decoded) != NULL;
        *path++ = '/';
        memcpy(path, segment, decoded);
        path += decoded;
        t.segments[t.n++] = segment;
        segment += n + 1;
        at += n;
    }
    *path = '\0';
    if (r < 0)
        http_target_done(&t);
    else
        *ret = t;
    return r;
}

void http_target_done(struct http_target *t)
{
    xfree(t->path);
    *t = (struct http_target){0};
}

/* --- routes ----------------------------------------------------------------------------------- */

void http_match_done(struct http_match *m)
{
    for (size_t i = 0; i < m->n; i++)
        xfree(m->values[i]);
    m->n = 0;
}

static void add_param(struct http_match *m, const char *name, char *value)
{
    if (m->n == HTTP_PARAMS_MAX) {
        xfree(value);
        return;
    }
    m->names[m->n] = name;
    m->values[m->n++] = value;
}

static char *join_path(const struct http_target *t, size_t from)
{
    struct buf whole = BUF_INIT(strlen(t->path) + 1);
    for (size_t i = from; i < t->n; i++) {
        if (i > from)
            (void)buf_addc(&whole, '/');
        (void)buf_adds(&whole, t->segments[i]);
    }
    char *text = buf_take(&whole);
    return text ? text : xstrdup("");
}

static bool path_matches(const char *pattern, const struct http_target *t, struct http_match *m)
{
    size_t i = 0;
    for (const char *at = pattern; *at == '/'; i++) {
        at++;
        size_t n = strcspn(at, "/");
        if (n >= 3 && at[0] == '{' && at[n - 2] == '*') {
            if (t->slash_inside || i >= t->n || t->segments[i][0] == '\0')
                return false;
            add_param(m, at + 1, join_path(t, i));
            return true;
        }
        if (i >= t->n)
            return false;
        if (at[0] == '{') {
            if (t->segments[i][0] == '\0')
                return false;
            add_param(m, at + 1, xstrdup(t->segments[i]));
        } else if (strlen(t->segments[i]) != n || memcmp(t->segments[i], at, n) != 0) {
            return false;
        }
        at += n;
    }
    return i == t->n;
}

int http_find_route(const struct http_route *routes, size_t n, const char *method,
                    const struct http_target *target, struct http_match *ret, struct buf *allow)
{
    bool head = strcmp(method, "HEAD") == 0, found = false;
    for (size_t i = 0; i < n; i++) {
        struct http_match m = {.route = &routes[i]};
        if (!path_matches(routes[i].path, target, &m)) {
            http_match_done(&m);
            continue;
        }
        if (strcmp(routes[i].method, head ? "GET" : method) == 0) {
            *ret = m;
            return 0;
        }
        http_match_done(&m);
        (void)buf_addf(allow, "%s%s", found ? ", " : "", routes[i].method);
        found = true;
    }
    return found ? -EPERM : -ENOENT;
}

/* --- names ------------------------------------------------------------------------------------ */

static bool is_loopback_host(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0;
}

static bool is_in(const char *name, size_t n, const char *const *list)
{
    for (; list && *list; list++) {
        if (strlen(*list) == n && strncasecmp(*list, name, n) == 0)
            return true;
    }
    return false;
}

bool http_host_right(const char *header, const char *bound, const char *const *hosts)
{
    bool loopback = is_loopback_host(bound);
    if (!loopback && !(hosts && *hosts))
        return true;
    if (!header)
        return false;
    size_t n = header[0] == '[' ? strcspn(header, "]") + 1 : strcspn(header, ":");
    if (n > strlen(header) || strspn(header + n, ":0123456789") != strlen(header + n))
        return false;
    static const char *const always[] = {"localhost", "127.0.0.1", "[::1]", NULL};
    const char *const itself[] = {bound, NULL};
    return is_in(header, n, hosts) ||
           (loopback && (is_in(header, n, always) || is_in(header, n, itself)));
}

bool http_origin_right(const char *header, const char *const *origins)
{
    if (!header)
        return true;
    return is_in("*", 1, origins) || is_in(header, strlen(header), origins);
}

bool http_origin_is_own(const char *origin, const char *host, const char *bound,
                        const char *const *hosts)
{
    static const char *const schemes[] = {"http://", "https://"};
    bool host_was_checked = is_loopback_host(bound) || (hosts && *hosts);
    for (size_t i = 0; origin && host && host_was_checked && i < 2; i++) {
        size_t n = strlen(schemes[i]);
        if (strncasecmp(origin, schemes[i], n) == 0 && strcasecmp(origin + n, host) == 0)
            return true;
    }
    return false;
}

bool http_type_is(const char *header, const char *type)
{
    if (!header)
        return false;
    size_t n = strcspn(header, "; \t");
    return n == strlen(type) && strncasecmp(header, type, n) == 0;
}

bool http_list_has(const char *list, const char *token, bool exact_case)
{
    size_t length = strlen(token);
    while (list && *list) {
        list += strspn(list, ", \t");
        size_t n = strcspn(list, ",");
        const char *next = list + n;
        while (n > 0 && (list[n - 1] == ' ' || list[n - 1] == '\t'))
            n--;
        if (n == length && (exact_case ? strncmp : strncasecmp)(list, token, n) == 0)
            return true;
        list = next;
    }
    return false;
}

const char *http_reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {416, "Range Not Satisfiable"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {426, "Upgrade Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {507, "Insufficient Storage"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (reasons[i].status == status)
            return reasons[i].text;
    }
    return "Error";
}
