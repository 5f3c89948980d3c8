/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/emit.h - the classes of a module as Python text. */
#ifndef APIGEN_EMIT_H
#define APIGEN_EMIT_H

#include "apigen/model.h"
#include "base/buf.h"

/* Gives fields whose name an annotation of their class needs another one; before emit_*. */
void emit_prepare(struct making *m);

/* What the written classes and the functions use; `output`: ToolOutput too. */
void emit_imports(struct making *m, struct buf *out, bool output);
void emit_model(struct making *m, struct buf *out, struct model *model); /* and what it needs */
void emit_rebuilds(const struct making *m, struct buf *out);

#endif
