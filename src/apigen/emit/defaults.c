/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/emit/defaults.h"

#include <math.h>
#include <string.h>

#include "apigen/model/enums.h"
#include "apigen/model/names.h"

enum { DEFAULT_MAX = 1000 }; /* values in a default; a larger one is not looked into */

static const double EXACT_MAX = 9007199254740992.0; /* a double counts up to here */

static const struct model_member *default_member_of(const struct model_type *t,
                                                    const struct json *value)
{
    if (t->kind != T_CLASS || t->model->kind != M_ENUM)
        return NULL;
    return values_get(&t->model->values, value);
}

static enum fit worse(enum fit a, enum fit b)
{
    return a > b ? a : b;
}

static bool is_exact_integer(const struct json *value)
{
    double n = json_number(value);
    return json_is_number(value) && n == floor(n) && fabs(n) <= EXACT_MAX;
}

static enum fit fit(const struct model_type *t, const struct json *value)
{
    enum fit all = FIT_PLAIN;
    if (json_is_null(value))
        return t->nullable || t->kind == T_NONE || t->kind == T_ANY ? FIT_PLAIN : FIT_NOT;
    switch (t->kind) {
    case T_ANY:
        return FIT_PLAIN;
    case T_STR:
        return json_text(value) ? FIT_PLAIN : FIT_NOT;
    case T_INT:
        return is_exact_integer(value) ? FIT_PLAIN : FIT_NOT;
    case T_FLOAT:
        return json_is_number(value) ? FIT_PLAIN : FIT_NOT;
    case T_BOOL:
        return json_is_bool(value) ? FIT_PLAIN : FIT_NOT;
    case T_LITERAL:
        for (size_t i = 0; i < t->values.n; i++) {
            if (json_same(t->values.at[i], value))
                return FIT_PLAIN;
        }
        return FIT_NOT;
    case T_LIST:
    case T_DICT:
        if (t->kind == T_LIST ? !json_is_array(value) : !json_is_object(value))
            return FIT_NOT;
        for (const struct json *v = json_first(value); v; v = json_next(v))
            all = worse(all, fit(t->args.at[t->args.n - 1], v));
        return all;
    case T_CLASS:
        if (t->model->kind == M_OBJECT)
            return FIT_MODEL;
        return default_member_of(t, value) ? FIT_ENUM : FIT_NOT;
    case T_NONE:
    case T_FORMAT:
    case T_TUPLE:
    case T_UNION:
        break;
    }
    return FIT_NOT;
}

/* How many values are in it, as far as `most`. */
static int count_defaults(const struct json *value, int most)
{
    int n = 1;
    for (const struct json *v = json_first(value); v && n < most; v = json_next(v))
        n += count_defaults(v, most - n);
    return n;
}

enum fit default_fit(const struct model_type *t, const struct json *value)
{
    return count_defaults(value, DEFAULT_MAX) < DEFAULT_MAX ? fit(t, value) : FIT_NOT;
}

void put_default(struct buf *out, const struct model_type *t, const struct json *value)
{
    const struct model_member *member = default_member_of(t, value);
    if (member) {
        (void)buf_addf(out, "%s.%s", t->model->name, member->name);
    } else if (t->kind == T_LIST || t->kind == T_DICT) {
        (void)buf_addc(out, t->kind == T_LIST ? '[' : '{');
        for (const struct json *v = json_first(value); v; v = json_next(v)) {
            if (t->kind == T_DICT) {
                put_text(out, json_name(v));
                (void)buf_adds(out, ": ");
            }
            put_default(out, t->args.at[t->args.n - 1], v);
            (void)buf_adds(out, json_next(v) ? ", " : "");
        }
        (void)buf_addc(out, t->kind == T_LIST ? ']' : '}');
    } else {
        put_json(out, value);
    }
}

bool defaults_to(const struct model_field *f, enum fit how)
{
    return f->fallback && !json_is_null(f->fallback) && default_fit(f->type, f->fallback) == how;
}

bool default_validates(const struct model_field *f)
{
    return defaults_to(f, FIT_ENUM);
}

bool is_optional(const struct model_field *f)
{
    return f->type->kind != T_NONE && !f->type->nullable && !f->required &&
           !(f->type->kind == T_LITERAL && f->fallback);
}

bool may_be_null(const struct model_field *f)
{
    return !f->required && f->type->nullable;
}

bool is_annotated(const struct model_field *f)
{
    return strcmp(f->name, f->wire) != 0 || default_validates(f) || may_be_null(f);
}
