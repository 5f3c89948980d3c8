/* SPDX-License-Identifier: Apache-2.0
 *
 * base/text/utf8.h - UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, <= U+10FFFF.
 * One exception, named where it matters: inside the program U+0000 is the two bytes C0 80 (as in
 * Java), so that texts with NUL characters live in C strings; json.h makes that form, jsonw.h and
 * json_print() unmake it. */
#ifndef BASE_TEXT_UTF8_H
#define BASE_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length (1 to 4) of the valid character at s, or 0: invalid or cut off at s+n. */
size_t utf8_char(const char *s, size_t n, uint32_t *ret_codepoint);

bool utf8_valid(const char *s, size_t n);

/* Bytes before the first invalid byte; n when all is valid. */
size_t utf8_valid_prefix(const char *s, size_t n);

/* Characters in valid UTF-8 (also of the C0 80 form). */
size_t utf8_count(const char *s, size_t n);

/* Bytes that the first `chars` characters of valid UTF-8 take, at most n. */
size_t utf8_offset(const char *s, size_t n, size_t chars);

/* What Python's str.isspace() says, which str.strip() goes by. */
bool utf8_is_space(uint32_t codepoint);

/* Bytes of white space at the start / at the end. */
size_t utf8_space_prefix(const char *s, size_t n);
size_t utf8_space_suffix(const char *s, size_t n);

/* Writes the character's 1 to 4 bytes, returns how many. */
size_t utf8_put(char out[4], uint32_t codepoint);

#endif
