/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/emit/emit.h - the classes of a module as Python text. */
#ifndef APIGEN_EMIT_EMIT_H
#define APIGEN_EMIT_EMIT_H

#include "apigen/model/model.h"
#include "base/buf.h"

void emit_model(struct model_making *m, struct buf *out,
                struct model *model); /* and what it needs */
void emit_rebuilds(const struct model_making *m, struct buf *out);

#endif
