/* SPDX-License-Identifier: Apache-2.0
 *
 * base/json/jsoncanon.h - one spelling of a JSON text: what a human is shown, and what is sent
 * then.
 * Form:    no white space; strings without an escape that is not needed ("\u0041" is "A"), with one
 *          for each character that hides or steers (visible.h); numbers and the order of members
 *          as they are written.
 * Refused: an object with the same name twice, at any depth: one reader takes the first of them,
 *          another the last.
 * Cost:    a few passes; the names of one object at a time are sorted. */
#ifndef BASE_JSON_JSONCANON_H
#define BASE_JSON_JSONCANON_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends. -EBADMSG and the like: not JSON (json.h); -EINVAL: a name stands twice; else what
 * became of the buffer. */
MUST_CHECK int jsoncanon(const char *text, size_t n, struct buf *out, struct err *e);

#endif
