/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/model/scalar.h - types without parts: strings with their formats and patterns, numbers. */
#ifndef APIGEN_MODEL_SCALAR_H
#define APIGEN_MODEL_SCALAR_H

#include "apigen/model/model.h"

struct type *type_new(struct making *m, enum type_kind kind);
void type_bound(struct type *t, enum bound bound, double value);

struct type *type_string(struct making *m, const struct view *v);
struct type *type_integer(struct making *m, const struct view *v);
struct type *type_number(struct making *m, const struct view *v);

/* minItems, maxItems and the like as bounds of a length. */
void type_length(struct type *t, const struct view *v, const char *least, const char *most);

/* The pattern when a model can have it, else NULL. */
const char *type_pattern(const char *pattern);

#endif
