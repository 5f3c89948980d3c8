/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/model/enums.h - enumerations: enum, and a choice between constants. */
#ifndef APIGEN_MODEL_ENUMS_H
#define APIGEN_MODEL_ENUMS_H

#include "apigen/model/model.h"

/* Its values (struct member, of which the names are not final); none: it is no enumeration. */
struct list enum_values(struct making *m, const struct view *v);
bool enum_has_null(const struct list *values);

/* Makes the values the members of a class. */
void enum_members(struct making *m, struct model *model, const struct view *v,
                  const struct list *values);

void *values_get(const struct values *values, const struct json *value); /* NULL: not in it */

bool json_same(const struct json *a, const struct json *b); /* of scalars */

#endif
