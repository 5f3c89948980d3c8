/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/emit/types.h"

#include <float.h>
#include <math.h>

#include "apigen/model/names.h"
#include "apigen/model/regex.h"

static const char *const bound_names[B__COUNT] = {
    [B_GE] = "ge",
    [B_GT] = "gt",
    [B_LE] = "le",
    [B_LT] = "lt",
    [B_MULTIPLE] = "multiple_of",
    [B_MIN_LENGTH] = "min_length",
    [B_MAX_LENGTH] = "max_length",
};

/* --- types ----------------------------------------------------------------------------------- */

static void put_args(struct buf *out, const char *generic, const struct arena_list *args)
{
    const char *between = generic ? ", " : " | ";
    (void)buf_addf(out, "%s%s", generic ? generic : "", generic ? "[" : "");
    for (size_t i = 0; i < args->n; i++) {
        (void)buf_adds(out, i ? between : "");
        put_type(out, args->at[i]);
    }
    (void)buf_adds(out, generic ? "]" : "");
}

static void put_literal(struct buf *out, const struct arena_list *values)
{
    (void)buf_adds(out, "Literal[");
    for (size_t i = 0; i < values->n; i++) {
        (void)buf_adds(out, i ? ", " : "");
        put_json(out, values->at[i]);
    }
    (void)buf_addc(out, ']');
}

static void put_bare(struct buf *out, const struct model_type *t)
{
    static const char *const names[] = {
        [T_ANY] = "Any",     [T_NONE] = "None", [T_BOOL] = "bool", [T_INT] = "int",
        [T_FLOAT] = "float", [T_STR] = "str",   [T_LIST] = "list", [T_DICT] = "dict",
        [T_TUPLE] = "tuple", [T_UNION] = NULL,
    };
    switch (t->kind) {
    case T_FORMAT:
        (void)buf_adds(out, t->format->name);
        break;
    case T_CLASS:
        (void)buf_adds(out, t->model->name);
        break;
    case T_LITERAL:
        put_literal(out, &t->values);
        break;
    case T_LIST:
    case T_DICT:
    case T_TUPLE:
    case T_UNION:
        put_args(out, names[t->kind], &t->args);
        break;
    case T_ANY:
    case T_NONE:
    case T_BOOL:
    case T_INT:
    case T_FLOAT:
    case T_STR:
        (void)buf_adds(out, names[t->kind]);
    }
}

/* Beyond 2^53 a double may be off by some: the bound is then wider, except that of all 64-bit
 * integers, which is known. */
static void put_integer_bound(struct buf *out, int bound, double value)
{
    bool inexact = fabs(value) >= 0x1p53 && value != -0x1p63;
    if (bound == B_LE && value == 0x1p63)
        (void)buf_addf(out, "%lld", (long long)INT64_MAX);
    else if (inexact && bound <= B_LT)
        (void)buf_addf(out, "%.0f", nextafter(value, bound <= B_GT ? -DBL_MAX : DBL_MAX));
    else
        (void)buf_addf(out, "%.0f", value == 0 ? 0.0 : value);
}

static void put_type_bounds(struct buf *out, const struct model_type *t)
{
    const char *comma = "";
    for (int i = 0; i < B__COUNT; i++) {
        if (!(t->bounds & 1U << i))
            continue;
        (void)buf_addf(out, "%s%s=", comma, bound_names[i]);
        if (t->kind == T_INT)
            put_integer_bound(out, i, t->bound[i]);
        else
            put_number(out, t->bound[i]);
        comma = ", ";
    }
    if (t->pattern) {
        (void)buf_addf(out, "%spattern=", comma);
        put_text(out, t->pattern);
    }
}

void put_type(struct buf *out, const struct model_type *t)
{
    bool limited = t->bounds || t->pattern;
    (void)buf_adds(out, limited ? "Annotated[" : "");
    put_bare(out, t);
    if (limited) {
        (void)buf_adds(out, ", Field(");
        put_type_bounds(out, t);
        (void)buf_adds(out, ")]");
    }
    if (t->nullable && t->kind != T_NONE)
        (void)buf_adds(out, " | None");
}

/* --- what a class needs ---------------------------------------------------------------------- */

void visit_types(struct model_type *t, visit_fn *fn, void *ctx)
{
    fn(ctx, t);
    for (size_t i = 0; i < t->args.n; i++)
        visit_types(t->args.at[i], fn, ctx);
}

void visit_model(const struct model *model, visit_fn *fn, void *ctx)
{
    for (size_t i = 0; i < model->fields.n; i++)
        visit_types(((struct model_field *)model->fields.at[i])->type, fn, ctx);
    if (model->root)
        visit_types(model->root, fn, ctx);
    if (model->extra_type)
        visit_types(model->extra_type, fn, ctx);
}

static void need_python_re(void *ctx, struct model_type *t)
{
    bool *needed = ctx;
    *needed |= t->pattern && regex_kind(t->pattern) == REGEX_PYTHON;
}

bool model_needs_python_re(const struct model *model)
{
    bool needed = false;
    visit_model(model, need_python_re, &needed);
    return needed;
}
