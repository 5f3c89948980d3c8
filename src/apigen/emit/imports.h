/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/emit/imports.h - the names that a module imports, kept free of other definitions. */
#ifndef APIGEN_EMIT_IMPORTS_H
#define APIGEN_EMIT_IMPORTS_H

#include "apigen/model/model.h"
#include "base/buf.h"

/* Before emit_model(): gives fields whose name an annotation of their class needs another one, and
 * takes out patterns that do not go with others of their class. */
void imports_prepare(struct model_making *m);

/* What the written classes and the functions use. */
void put_imports(struct model_making *m, struct buf *out);

#endif
