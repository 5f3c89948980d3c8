/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/model/make.h - the interfaces between the parts that make types of a schema. */
#ifndef APIGEN_MODEL_MAKE_H
#define APIGEN_MODEL_MAKE_H

#include "apigen/model/model.h"

/* The name for a class that is made at this place. */
struct hint {
    const char *wire; /* after this property or reference */
    bool item;        /* an item of an array: the singular */
    bool reference;   /* taken names get …Model */
    const char *name; /* this and nothing else */
};

/* The type of all that the view says; of one schema. */
struct model_type *make_type(struct model_making *m, const struct view *raw,
                             const struct hint *hint);
struct model_type *make_one(struct model_making *m, const struct json *schema,
                            const struct hint *hint);

/* A class without contents, its name taken. */
struct model *new_model(struct model_making *m, enum model_kind kind, const struct json *key,
                        const struct hint *hint);

#endif
