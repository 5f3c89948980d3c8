/* SPDX-License-Identifier: Apache-2.0
 *
 * wire/pyliteral.h - a value as Python writes it (repr(), or a formatter's spelling), as JSON.
 * Grammar:  texts in one pair of ' or " with the escapes of Python, decimal numbers, True, False,
 *           None, lists, and dicts whose keys are texts; blanks, line breaks, comments and trailing
 *           commas between. Nothing that would have to be run.
 * Limits:   PYLITERAL_DEPTH; the cap of the buffer. Time is linear in the text. */
#ifndef WIRE_PYLITERAL_H
#define WIRE_PYLITERAL_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define PYLITERAL_DEPTH 32

/* The value at the front of UTF-8 text, after blanks. *ret_taken: the bytes up to its end. -EINVAL:
 * it is none of these. */
MUST_CHECK int pyliteral_parse(const char *text, size_t n, struct buf *json, size_t *ret_taken,
                               struct err *e);

/* How many bytes of blanks, line breaks and comments are at the front. */
size_t pyliteral_blanks(const char *text, size_t n);

#endif
