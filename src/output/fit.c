/* SPDX-License-Identifier: Apache-2.0 */
#include "output/fit.h"

#include <string.h>

#include "base/text/utf8.h"

enum {
    MARK_CHARS = 64, /* of the line that tells what is left out */
    NEAR = 200,      /* bytes in which a line break is looked for */
};

size_t fit_tail(size_t max_chars)
{
    return max_chars < FIT_TAIL_MIN ? 0 : max_chars / 5 * 2;
}

/* The end of the last line that is whole. */
static size_t line_before(const char *text, size_t n)
{
    size_t from = n > NEAR ? n - NEAR : 0;
    const char *end = memrchr(text + from, '\n', n - from);
    return end && end > text ? (size_t)(end - text) : n;
}

/* The beginning of the first line that is whole. */
static size_t line_after(const char *text, size_t at, size_t n)
{
    const char *end = memchr(text + at, '\n', n - at < NEAR ? n - at : NEAR);
    return end && end + 1 < text + n ? (size_t)(end - text) + 1 : at;
}

bool fit_text(struct buf *out, const char *text, size_t n, size_t max_chars, uint64_t missing)
{
    size_t chars = utf8_count(text, n);
    if (missing == 0 && chars <= max_chars) {
        (void)buf_add(out, text, n);
        return false;
    }
    size_t tail = fit_tail(max_chars);
    if (tail == 0) {
        (void)buf_add(out, text, utf8_offset(text, n, max_chars));
        return true;
    }
    size_t head = utf8_offset(text, n, max_chars - tail - MARK_CHARS);
    head = line_before(text, head);
    size_t from = utf8_offset(text, n, chars > tail ? chars - tail : 0);
    from = line_after(text, from > head ? from : head, n);
    (void)buf_add(out, text, head);
    (void)buf_addf(out, "\n[… %llu characters are left out here …]\n",
                   (unsigned long long)(missing + utf8_count(text + head, from - head)));
    (void)buf_add(out, text + from, n - from);
    return true;
}
