/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/emit/defaults.h - the defaults of fields, as far as they are of the field's type. */
#ifndef APIGEN_EMIT_DEFAULTS_H
#define APIGEN_EMIT_DEFAULTS_H

#include "apigen/model/model.h"
#include "base/buf.h"

/* How a default of the type can be written. */
enum fit {
    FIT_PLAIN, /* as a literal that a type checker takes */
    FIT_ENUM,  /* the same with members of an enum, which are to become their values */
    FIT_MODEL, /* a dict that is to become a model */
    FIT_NOT,   /* it is not of the type: kept as it stands */
};

enum fit default_fit(const struct model_type *t, const struct json *value);

/* FIT_PLAIN or FIT_ENUM. */
void put_default(struct buf *out, const struct model_type *t, const struct json *value);

bool defaults_to(const struct model_field *f, enum fit how); /* it has one, and not null */

/* Its default is to become what the type says, as the members of an enum become their values. */
bool default_validates(const struct model_field *f);

/* May be None though its type does not say so: it may be left out. */
bool is_optional(const struct model_field *f);

/* May be left out, and None is a value of its own beside that: said with "nullable" beside the
 * type, for the runtime sends a None only where the schema has it. */
bool may_be_null(const struct model_field *f);

bool is_annotated(const struct model_field *f); /* with more than its type */

#endif
