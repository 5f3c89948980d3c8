/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/emit/types.h - types as annotations, and a walk over those of a class. */
#ifndef APIGEN_EMIT_TYPES_H
#define APIGEN_EMIT_TYPES_H

#include "apigen/model/model.h"
#include "base/buf.h"

void put_type(struct buf *out, const struct model_type *t);

typedef void visit_fn(void *ctx, struct model_type *t);

/* The type and all that it is made of; classes are not entered. */
void visit_types(struct model_type *t, visit_fn *fn, void *ctx);
void visit_model(const struct model *model, visit_fn *fn, void *ctx);

/* One engine is for a whole class: with such a pattern, those for Rust's alone cannot be kept. */
bool model_needs_python_re(const struct model *model);

#endif
