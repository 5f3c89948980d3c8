/* SPDX-License-Identifier: Apache-2.0
 *
 * output/fit.h - a text in the room that there is: its beginning and its end.
 * Form:    what is left out is told where it stood, in a line of its own; the cuts are at line
 *          breaks where one is near. Below FIT_TAIL_MIN characters the beginning alone is kept,
 *          without a word: whoever asks for so little wants no more. */
#ifndef OUTPUT_FIT_H
#define OUTPUT_FIT_H

#include <stdint.h>

#include "base/buf.h"

#define FIT_TAIL_MIN ((size_t)200) /* characters */

/* How many characters of the end are kept at most. */
size_t fit_tail(size_t max_chars);

/* Appends text[0..n), valid UTF-8, as far as it fits. `missing`: characters that are in neither end
 * of the text, because nobody has kept them; then the end is fit_tail() long. Returns true when
 * something was left out. */
bool fit_text(struct buf *out, const char *text, size_t n, size_t max_chars, uint64_t missing);

#endif
