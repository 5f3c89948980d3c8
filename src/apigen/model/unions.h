/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/model/unions.h - types of which one may apply. */
#ifndef APIGEN_MODEL_UNIONS_H
#define APIGEN_MODEL_UNIONS_H

#include "apigen/model/model.h"

/* Each member once; null makes the union nullable, the members of a union become its own. */
void union_add(struct making *m, struct type *u, struct type *t);

/* A union of one is that one, of nothing but null is None. */
struct type *union_done(struct making *m, struct type *u);

#endif
