/* SPDX-License-Identifier: Apache-2.0 */
#include "output/traceback.h"

#include <string.h>

#include "base/alloc.h"

void failure_init(struct cell_failure *f, size_t traceback_max)
{
    *f = (struct cell_failure){.traceback = BUF_INIT(traceback_max)};
}

void failure_clear(struct cell_failure *f)
{
    xfree(f->ename);
    xfree(f->evalue);
    f->ename = f->evalue = NULL;
    buf_clear(&f->traceback);
}

void failure_done(struct cell_failure *f)
{
    failure_clear(f);
    buf_done(&f->traceback);
}

/* Length of a terminal escape sequence at s (ECMA-48 CSI), 0 when there is none. */
static size_t escape_length(const char *s)
{
    if (s[0] != '\033' || s[1] != '[')
        return 0;
    size_t n = 2;
    while (s[n] >= 0x20 && s[n] < 0x40)
        n++;
    return s[n] ? n + 1 : n;
}

/* The text between quotes at s, up to the first quote that `end` follows. Returns where the text
 * ends, NULL when there is none on this line; *ret_next is behind `end`. */
static const char *quoted(const char *s, const char *end, const char **ret_next)
{
    if (*s != '\'' && *s != '"')
        return NULL;
    for (const char *p = s + 2; *p && p[-1] != '\n'; p++) {
        if ((*p == '\'' || *p == '"') && strncmp(p + 1, end, strlen(end)) == 0) {
            *ret_next = p + 1 + strlen(end);
            return p;
        }
    }
    return NULL;
}

static const char *skip(const char *s, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(s, prefix, n) == 0 ? s + n : NULL;
}

/* get_ipython().system('x') and .getoutput('x') → !x. Returns what is behind it, or NULL. */
static const char *put_shell_call(struct buf *out, const char *s)
{
    const char *args = skip(s, "get_ipython().system(");
    if (!args)
        args = skip(s, "get_ipython().getoutput(");
    const char *next = NULL, *end = args ? quoted(args, ")", &next) : NULL;
    if (!end)
        return NULL;
    (void)buf_addc(out, '!');
    (void)buf_add(out, args + 1, (size_t)(end - args - 1));
    return next;
}

/* get_ipython().run_cell_magic('bash', 'line', 'cell') → %%bash, a line break, cell. */
static const char *put_magic_call(struct buf *out, const char *s)
{
    const char *name = skip(s, "get_ipython().run_cell_magic(");
    const char *line = NULL, *cell = NULL, *next = NULL;
    const char *name_end = name ? quoted(name, ", ", &line) : NULL;
    if (!name_end || (*line != '\'' && *line != '"'))
        return NULL;
    const char *line_end = strpbrk(line + 1, "'\"");
    cell = line_end ? skip(line_end + 1, ", ") : NULL;
    const char *cell_end = cell ? quoted(cell, ")", &next) : NULL;
    if (!cell_end)
        return NULL;
    (void)buf_adds(out, "%%");
    (void)buf_add(out, name + 1, (size_t)(name_end - name - 1));
    (void)buf_addc(out, '\n');
    (void)buf_add(out, cell + 1, (size_t)(cell_end - cell - 1));
    return next;
}

static void add_traceback_entry(struct buf *out, const char *s)
{
    while (*s) {
        size_t escape = escape_length(s);
        if (escape > 0) {
            s += escape;
            continue;
        }
        const char *next = *s == 'g' ? put_shell_call(out, s) : NULL;
        if (!next && *s == 'g')
            next = put_magic_call(out, s);
        if (next) {
            s = next;
            continue;
        }
        (void)buf_addc(out, *s++);
    }
}

void failure_set(struct cell_failure *f, const struct json *content)
{
    failure_clear(f);
    const char *ename = json_get_text(content, "ename");
    const char *evalue = json_get_text(content, "evalue");
    f->ename = xstrdup(ename ? ename : "Unknown Error");
    f->evalue = xstrdup(evalue ? evalue : "");
    const struct json *entry = json_first(json_get(content, "traceback"));
    for (bool first = true; entry; entry = json_next(entry), first = false) {
        if (!first)
            (void)buf_addc(&f->traceback, '\n');
        if (json_text(entry))
            add_traceback_entry(&f->traceback, json_text(entry));
    }
    f->traceback.failed = 0; /* one over the limit is shown as far as it fits */
}
