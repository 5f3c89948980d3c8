/* SPDX-License-Identifier: Apache-2.0
 *
 * base/text/visible.h - characters that hide or steer: controls, directions, zero width, fillers,
 * tags, selectors, private use. Whoever shows a text from outside to a human shows them as \u202e.
 * */
#ifndef BASE_TEXT_VISIBLE_H
#define BASE_TEXT_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

bool visible_hides(uint32_t codepoint);

/* One character at s[0..n), n > 0, visibly; returns its bytes. What is no UTF-8 is \xNN. */
size_t visible_put(struct buf *out, const char *s, size_t n);

/* The text as a human may read it, on one line. */
void visible_put_text(struct buf *out, const char *text);

/* JSON text whose strings say the same with escapes in place of what hides. */
void visible_put_json(struct buf *out, const char *json, size_t n);

#endif
