/* SPDX-License-Identifier: Apache-2.0
 *
 * base/text/hexdigit.h - one hexadecimal digit, in either case. */
#ifndef BASE_TEXT_HEXDIGIT_H
#define BASE_TEXT_HEXDIGIT_H

/* Its value; -1: it is none. */
static inline int hexdigit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The value of four digits, all of which can be read; -1: they are not hexadecimal. */
static inline int hexdigits4(const char *s)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        const int digit = hexdigit(s[i]);
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

#endif
