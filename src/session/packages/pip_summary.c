/* SPDX-License-Identifier: Apache-2.0 */
#include "session/packages/pip_summary.h"

#include <string.h>

#include "base/text/utf8.h"
#include "output/fit.h"

enum { THERE_SHOWN = 5, LINES_MAX = 1 << 20, LINE_CHARS = 400 };

static const char installed[] = "Successfully installed ",
                  there[] = "Requirement already satisfied: ";

static bool starts(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

static bool is_problem(const char *line)
{
    line += strspn(line, " ");
    return starts(line, "ERROR: ") || starts(line, "error: ") || starts(line, "WARNING: ");
}

/* "a 1 requires b>=2, but you have b 1 which is incompatible." after an ERROR that says only that
 * there are such. */
static bool is_conflict(const char *line, size_t n)
{
    return memmem(line, n, " requires ", 10) && (memmem(line, n, ", but you have ", 15) ||
                                                 memmem(line, n, ", which is not installed", 24));
}

/* Lines are valid UTF-8 as far as pip's output is; what is not goes to the file alone. Of a long
 * one, as the list of all versions, the ends are shown. */
static void put_line(struct buf *out, const char *line, size_t n)
{
    n = utf8_valid_prefix(line, n);
    size_t chars = utf8_count(line, n);
    if (chars <= LINE_CHARS) {
        (void)buf_addf(out, "%.*s\n", (int)n, line);
        return;
    }
    size_t head = utf8_offset(line, n, LINE_CHARS / 2);
    size_t tail = utf8_offset(line, n, chars - LINE_CHARS / 4);
    (void)buf_addf(out, "%.*s … %.*s\n", (int)head, line, (int)(n - tail), line + tail);
}

/* "Requirement already satisfied: numpy>=2 in /home/… (2.1)" without the place, which is long. */
static void put_there(struct buf *out, const char *line, size_t n)
{
    const char *name = line + sizeof there - 1, *end = line + n;
    const char *place = memmem(name, (size_t)(end - name), " in ", 4);
    const char *version = memrchr(line, '(', n);
    if (!place || !version || version < place) {
        put_line(out, line, n);
        return;
    }
    (void)buf_addf(out, "Already installed: %.*s %.*s\n", (int)(place - name), name,
                   (int)(end - version), version);
}

static void put_pip_success(struct buf *out, const char *output)
{
    drop_buf struct buf problems = BUF_INIT(LINES_MAX), had = BUF_INIT(LINES_MAX);
    size_t found = 0, known = 0;
    for (const char *line = output; *line;) {
        size_t n = strcspn(line, "\n");
        if (starts(line, installed)) {
            put_line(out, line, n);
            found++;
        } else if (is_problem(line) || is_conflict(line, n)) {
            put_line(&problems, line, n);
        } else if (starts(line, there) && known++ < THERE_SHOWN) {
            put_there(&had, line, n);
        }
        line += n + (line[n] == '\n');
    }
    if (found == 0)
        (void)buf_add(out, buf_text(&had), had.len);
    (void)buf_add(out, buf_text(&problems), problems.len);
}

/* From the first error on: what follows explains it. */
static void put_pip_failure(struct buf *out, const char *output)
{
    const char *line = output;
    while (*line && !is_problem(line)) {
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    for (line = *line ? line : output; *line;) {
        size_t n = strcspn(line, "\n");
        put_line(out, line, n);
        line += n + (line[n] == '\n');
    }
}

bool pip_summary(struct buf *out, const char *output, bool failed, size_t max_chars)
{
    drop_buf struct buf text = BUF_INIT(2 * LINES_MAX + 2 * strlen(output));
    (failed ? put_pip_failure : put_pip_success)(&text, output);
    if (text.len == 0)
        put_line(&text, output, strlen(output));
    while (text.len > 0 && text.data[text.len - 1] == '\n')
        text.data[--text.len] = '\0';
    size_t whole = strlen(output);
    while (whole > 0 && output[whole - 1] == '\n')
        whole--;
    return fit_text(out, buf_text(&text), text.len, max_chars, 0) || text.len != whole;
}
