/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"

/* vsnprintf may cut a UTF-8 character in two: drop the half that is left. */
static void trim_partial_character(char *text, size_t size, int wanted)
{
    if (wanted < 0 || (size_t)wanted < size)
        return;
    size_t n = strlen(text);
    size_t back = n;
    while (back > 0 && ((unsigned char)text[back - 1] & 0xC0) == 0x80)
        back--;
    if (back > 0 && utf8_char(text + back - 1, n - (back - 1), NULL) != n - (back - 1))
        text[back - 1] = '\0';
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
    if (!e)
        return code;
    va_list ap;
    va_start(ap, fmt);
    char text[sizeof e->msg];
    int n = vsnprintf(text, sizeof text, fmt, ap); /* an argument may be e->msg itself */
    va_end(ap);
    trim_partial_character(text, sizeof text, n);
    e->code = code;
    memcpy(e->msg, text, sizeof text);
    return code;
}

/* Where the last `room` bytes begin, or the first line or character in them. */
static const char *find_last_words(const char *words, size_t n, size_t room)
{
    const char *at = words + n - room, *line = memchr(at, '\n', room);
    if (line && line < at + room / 2)
        return line + 1;
    while (((unsigned char)*at & 0xC0) == 0x80)
        at++;
    return at;
}

int err_set_words(struct err *e, int code, const char *sentence, const char *words)
{
    static const char cut[] = "…";
    size_t n = strlen(words), taken = strlen(sentence) + sizeof cut;
    size_t room = sizeof e->msg > taken ? sizeof e->msg - taken : 0;
    n -= utf8_space_suffix(words, n);
    const char *at = n > room ? find_last_words(words, n, room) : words;
    return err_set(e, code, "%s%s%.*s", sentence, at > words ? cut : "", (int)(words + n - at), at);
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    if (!e)
        return -EINVAL;
    char context[sizeof e->msg];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(context, sizeof context, fmt, ap);
    va_end(ap);
    trim_partial_character(context, sizeof context, n);
    return err_set(e, e->code, "%s: %s", context, e->msg);
}
