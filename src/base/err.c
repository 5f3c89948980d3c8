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
