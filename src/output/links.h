/* SPDX-License-Identifier: Apache-2.0
 *
 * output/links.h - the files of a cell's displays, as its answer names them. */
#ifndef OUTPUT_LINKS_H
#define OUTPUT_LINKS_H

#include "output/output.h"

/* How many characters all of them take. */
size_t links_chars(const struct output *o);

/* Appends them, in max_chars characters: of more a file in outputs/ is made, which lists all. */
void links_put(struct buf *out, const struct output *o, size_t max_chars);

#endif
