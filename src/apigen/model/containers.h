/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/model/containers.h - objects and arrays: classes, mappings, lists and tuples. */
#ifndef APIGEN_MODEL_CONTAINERS_H
#define APIGEN_MODEL_CONTAINERS_H

#include "apigen/model/make.h"

bool has_properties(const struct view *v);
struct model *make_object(struct model_making *m, const struct view *v, const struct json *key,
                          const struct hint *hint);

/* An object without properties of its own. */
struct model_type *make_dict(struct model_making *m, const struct view *v, const struct hint *hint);
struct model_type *make_array(struct model_making *m, const struct view *v,
                              const struct hint *hint);

#endif
