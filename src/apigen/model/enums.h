/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/model/enums.h - enumerations: enum, and a choice between constants. */
#ifndef APIGEN_MODEL_ENUMS_H
#define APIGEN_MODEL_ENUMS_H

#include "apigen/model/model.h"

/* Its values (struct model_member, of which the names are not final); none: it is no enumeration.
 * */
struct arena_list enum_values(struct model_making *m, const struct view *v);
bool enum_has_null(const struct arena_list *values);

/* Makes the values the members of a class. */
void enum_members(struct model_making *m, struct model *model, const struct view *v,
                  const struct arena_list *values);

void *values_get(const struct values *values, const struct json *value); /* NULL: not in it */

bool json_same(const struct json *a, const struct json *b); /* of scalars */

#endif
