/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/model/unions.h"

#include "apigen/model/enums.h"
#include "apigen/model/scalar.h"

static bool same_type(const struct model_type *a, const struct model_type *b)
{
    if (a->kind != b->kind || a->bounds != b->bounds || a->pattern != b->pattern ||
        a->format != b->format || a->model != b->model || a->args.n != b->args.n)
        return false;
    for (int i = 0; i < B__COUNT; i++) {
        if (a->bound[i] != b->bound[i])
            return false;
    }
    for (size_t i = 0; i < a->args.n; i++) {
        if (!same_type(a->args.at[i], b->args.at[i]))
            return false;
    }
    return true;
}

static void literal_add(struct model_making *m, struct model_type *literal,
                        const struct model_type *more)
{
    for (size_t i = 0; i < more->values.n; i++) {
        bool known = false;
        for (size_t k = 0; k < literal->values.n && !known; k++)
            known = json_same(literal->values.at[k], more->values.at[i]);
        if (!known)
            list_add(&m->arena, &literal->values, more->values.at[i]);
    }
}

void union_add(struct model_making *m, struct model_type *u, struct model_type *t)
{
    u->nullable |= t->nullable || t->kind == T_NONE;
    if (t->kind == T_NONE)
        return;
    if (t->kind == T_UNION) {
        for (size_t i = 0; i < t->args.n; i++)
            union_add(m, u, t->args.at[i]);
        return;
    }
    if (t->nullable) { /* the union says it, once */
        struct model_type *bare = type_new(m, T_ANY);
        *bare = *t;
        bare->nullable = false;
        t = bare;
    }
    for (size_t i = 0; i < u->args.n; i++) {
        struct model_type *member = u->args.at[i];
        if (same_type(member, t)) {
            if (t->kind == T_LITERAL)
                literal_add(m, member, t);
            return;
        }
    }
    m->cut |= u->args.n >= APIGEN_UNION_MAX;
    if (u->args.n < APIGEN_UNION_MAX)
        list_add(&m->arena, &u->args, t);
    else
        u->kind = T_ANY;
}

struct model_type *union_done(struct model_making *m, struct model_type *u)
{
    if (u->kind == T_ANY)
        return type_new(m, T_ANY);
    if (u->args.n > 1)
        return u;
    struct model_type *only = type_new(m, u->nullable ? T_NONE : T_ANY);
    if (u->args.n == 1) {
        *only = *(struct model_type *)u->args.at[0];
        only->nullable = u->nullable;
    }
    return only;
}
