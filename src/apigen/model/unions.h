/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/model/unions.h - types of which one may apply. */
#ifndef APIGEN_MODEL_UNIONS_H
#define APIGEN_MODEL_UNIONS_H

#include "apigen/model/model.h"

/* Each member once; null makes the union nullable, the members of a union become its own. */
void union_add(struct model_making *m, struct model_type *u, struct model_type *t);

/* A union of one is that one, of nothing but null is None. */
struct model_type *union_done(struct model_making *m, struct model_type *u);

#endif
