/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/model/scalar.h - types without parts: strings with their formats and patterns, numbers. */
#ifndef APIGEN_MODEL_SCALAR_H
#define APIGEN_MODEL_SCALAR_H

#include "apigen/model/model.h"

struct model_type *type_new(struct model_making *m, enum type_kind kind);
void type_bound(struct model_type *t, enum bound bound, double value);

struct model_type *type_string(struct model_making *m, const struct view *v);
struct model_type *type_integer(struct model_making *m, const struct view *v);
struct model_type *type_number(struct model_making *m, const struct view *v);

/* minItems, maxItems and the like as bounds of a length. */
void type_length(struct model_type *t, const struct view *v, const char *least, const char *most);

/* The pattern when a model can have it, else NULL. */
const char *type_pattern(const char *pattern);

#endif
