/* SPDX-License-Identifier: Apache-2.0
 *
 * base/json/jsonstr.h - a JSON string whose text is what most strings are, however long, in two
 * quick passes (RFC 8259 section 7).
 * Caller:  json.c. */
#ifndef BASE_JSON_JSONSTR_H
#define BASE_JSON_JSONSTR_H

/* *at: behind the opening quote; then behind the closing one. Returns the text, the caller's.
 * NULL, and *at as it was: there is no end before `end`, no memory, or something in it that the
 * parser must look at: bytes that are not UTF-8, raw control characters, the escape of a NUL or of
 * a surrogate, or one that is none. */
char *jsonstr_take(const char **at, const char *end);

/* What four digits say, all of which can be read; -1: they are not hexadecimal. */
int jsonstr_hex4(const char *s);

#endif
