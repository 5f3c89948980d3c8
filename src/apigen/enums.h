/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/enums.h - enumerations: enum, and a choice between constants. */
#ifndef APIGEN_ENUMS_H
#define APIGEN_ENUMS_H

#include "apigen/model.h"

/* The values that are not null (struct json); none: it is no enumeration. */
struct list enum_values(struct making *m, const struct view *v);
bool enum_is_compound(const struct list *values); /* an array or an object among them */
bool enum_has_null(const struct view *v);

void enum_members(struct making *m, struct model *model, const struct view *v,
                  const struct list *values);

void *values_get(const struct values *values, const struct json *value); /* NULL: not in it */

bool json_same(const struct json *a, const struct json *b); /* of scalars */

#endif
