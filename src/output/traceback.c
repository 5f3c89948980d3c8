/* SPDX-License-Identifier: Apache-2.0 */
#include "output/traceback.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text/utf8.h"
#include "output/fit.h"
#include "output/output.h"
#include "output/savefile.h"

enum { ENAME_CHARS = 100, WHOLE_MAX = 16 << 20 };

void failure_init(struct cell_failure *f, size_t traceback_max)
{
    *f = (struct cell_failure){.traceback = BUF_INIT(traceback_max)};
}

void failure_clear(struct cell_failure *f)
{
    xfree(f->ename);
    xfree(f->evalue);
    xfree(f->file);
    f->ename = f->evalue = f->file = NULL;
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

/* --- in the room that there is ---------------------------------------------------------------- */

size_t failure_chars(const struct cell_failure *f)
{
    if (!f->ename)
        return 0;
    return utf8_count(f->ename, strlen(f->ename)) + utf8_count(f->evalue, strlen(f->evalue)) +
           utf8_count(buf_text(&f->traceback), f->traceback.len) + sizeof ": \n";
}

/* Without a file the answer is what there is. */
static void save_failure(struct cell_failure *f, const char *whole, const char *workspace)
{
    drop_buf struct buf text = BUF_INIT(WHOLE_MAX), bytes = BUF_INIT(WHOLE_MAX);
    if (whole)
        add_traceback_entry(&text, whole);
    else
        (void)buf_addf(&text, "%s: %s\n%s", f->ename, f->evalue, buf_text(&f->traceback));
    output_add_bytes(&bytes, buf_text(&text), text.len);
    struct err e = ERR_NONE;
    if (savefile_write(workspace, "outputs", "txt", buf_text(&bytes), bytes.len, &f->file, &e) < 0)
        f->file = NULL;
}

static void cut_text(char **text, size_t max_chars)
{
    drop_buf struct buf cut = BUF_INIT(strlen(*text) + 256);
    if (!fit_text(&cut, *text, strlen(*text), max_chars, 0))
        return;
    xfree(*text);
    *text = xstrdup(buf_text(&cut));
}

void failure_fit(struct cell_failure *f, const char *whole, const char *workspace, size_t max_chars)
{
    bool fits = failure_chars(f) <= max_chars;
    if (!f->ename || (fits && !whole))
        return;
    save_failure(f, whole, workspace);
    if (fits)
        return;
    size_t lines = utf8_count(buf_text(&f->traceback), f->traceback.len) + ENAME_CHARS;
    size_t most = max_chars / 5; /* it stands at the end of the lines, too */
    cut_text(&f->ename, ENAME_CHARS);
    cut_text(&f->evalue, lines < max_chars - most ? max_chars - lines : most);
    size_t rest = failure_chars(f) + ENAME_CHARS - lines;
    struct buf cut = BUF_INIT(f->traceback.cap + 256);
    (void)fit_text(&cut, buf_text(&f->traceback), f->traceback.len,
                   max_chars > rest ? max_chars - rest : 0, 0);
    buf_done(&f->traceback);
    cut.cap = cut.cap - 256;
    f->traceback = cut;
}
