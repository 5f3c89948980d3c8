/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/model/model.h"

#include <math.h>
#include <string.h>

#include "apigen/model/containers.h"
#include "apigen/model/enums.h"
#include "apigen/model/names.h"
#include "apigen/model/scalar.h"
#include "apigen/model/unions.h"

bool making_goes_on(struct model_making *m)
{
    m->cut |= ++m->work > m->work_max;
    return m->work <= m->work_max;
}

struct model_type *make_one(struct model_making *m, const struct json *schema,
                            const struct hint *hint)
{
    struct view v = {.part = {schema}, .n = 1};
    return make_type(m, &v, hint);
}

/* --- names and classes ----------------------------------------------------------------------- */

static const char *class_name(struct model_making *m, const struct hint *hint, const char *suffix)
{
    if (hint->name)
        return hint->name;
    const char *name = name_class(&m->arena, hint->wire);
    if (hint->item)
        name = name_singular(&m->arena, name, suffix);
    if (set_has(&m->library, name))
        name = arena_textf(&m->arena, "%sModel", name);
    if (name_is_keyword(name))
        naming_take(&m->arena, &m->names, name);
    if (hint->reference && naming_has(&m->names, name))
        name = arena_textf(&m->arena, "%sModel", name);
    return naming_new(&m->arena, &m->names, name, "", 1);
}

struct model *new_model(struct model_making *m, enum model_kind kind, const struct json *key,
                        const struct hint *hint)
{
    struct model *model = arena_get(&m->arena, sizeof(*model));
    model->kind = kind;
    model->key = key;
    model->name = class_name(m, hint, kind == M_ENUM ? "Enum" : "Item");
    if (key)
        map_put(&m->arena, &m->places, key, model);
    list_add(&m->arena, &m->models, model);
    return model;
}

static struct model *model_of(const struct model_making *m, const struct json *key)
{
    return key ? map_get(&m->places, key) : NULL;
}

static struct model_type *model_type_of(struct model_making *m, struct model *model)
{
    struct model_type *t = type_new(m, T_CLASS);
    t->model = model;
    return t;
}

static struct model_type *make_choice(struct model_making *m, const struct view *v,
                                      const struct json *choice, bool base, const struct hint *hint)
{
    struct model_type *u = type_new(m, T_UNION);
    struct hint member = {.wire = hint->name ? hint->name : hint->wire};
    for (const struct json *branch = json_first(choice); branch; branch = json_next(branch)) {
        if (json_is_false(branch) && making_goes_on(m))
            continue;
        struct model_type *t;
        if (base && v->n_expired < VIEW_PARTS) {
            struct view both = *v;
            both.spent[both.n_expired++] = choice;
            view_add(&m->document, &both, branch);
            t = make_type(m, &both, &member);
        } else {
            t = make_one(m, branch, &member);
        }
        union_add(m, u, t);
    }
    return union_done(m, u);
}

/* --- references ------------------------------------------------------------------------------ */

static struct view view_of(struct model_making *m, const struct json *schema)
{
    struct view v = {.n = 0};
    view_add(&m->document, &v, schema);
    return v;
}

static bool is_object_class(const struct view *v, bool root)
{
    return has_properties(v) && view_type(v, "object", true) && !view_choice(v) &&
           !view_get(v, "enum") && !view_get(v, "const") && !view_type(v, "string", false) &&
           !view_type(v, "array", false) && (root || !view_type(v, "null", false));
}

/* The class of a schema that has a name: an object, an enum, or a root model around its type. */
static struct model *make_class(struct model_making *m, const struct json *schema,
                                const struct hint *hint)
{
    struct view v = view_of(m, schema);
    bool renamed = json_get_text(schema, "$ref") && !schema_says_more(schema, "$ref");
    if (is_object_class(&v, hint->name) && !renamed && !v.over)
        return make_object(m, &v, schema, hint);
    struct arena_list values = enum_values(m, &v);
    if (values.n > 0 && !renamed && !hint->name) {
        struct model *model = new_model(m, M_ENUM, schema, hint);
        enum_members(m, model, &v, &values);
        return model;
    }
    struct model *model = new_model(m, M_ROOT, schema, hint);
    struct hint inner = {.wire = model->name};
    model->description = json_get_text(schema, "description");
    model->root = make_one(m, schema, &inner);
    return model;
}

static struct model_type *make_ref(struct model_making *m, const char *ref)
{
    const char *name;
    const struct json *target = schema_target(&m->document, ref, &name);
    if (!target)
        return type_new(m, T_ANY);
    struct model *model = model_of(m, target);
    if (!model) {
        struct hint hint = {.wire = name, .reference = true};
        model = make_class(m, target, &hint);
    }
    return model_type_of(m, model);
}

/* What an allOf refers to has its name before the class that is made of it. */
static void name_references(struct model_making *m, const struct view *v)
{
    for (int i = 0; i < v->n; i++) {
        for (const struct json *s = json_first(json_get(v->part[i], "allOf")); s;
             s = json_next(s)) {
            if (json_get_text(s, "$ref"))
                (void)make_ref(m, json_get_text(s, "$ref"));
        }
    }
}

/* --- any schema ------------------------------------------------------------------------------ */

/* The types of the view in the order of its own list; objects first and arrays last. */
static struct model_type *make_plain(struct model_making *m, const struct view *v,
                                     const struct json *key, const struct hint *hint)
{
    struct model_type *u = type_new(m, T_UNION);
    const struct json *types = view_get(v, "type");
    bool typed = json_text(types) || json_is_array(types);
    bool properties = has_properties(v);
    if (view_type(v, "object", !typed && (properties || view_get(v, "patternProperties")))) {
        if (properties)
            union_add(m, u, model_type_of(m, make_object(m, v, key, hint)));
        else
            union_add(m, u, make_dict(m, v, hint));
    }
    const struct json *t = json_is_array(types) ? json_first(types) : types;
    for (; t; t = json_is_array(types) ? json_next(t) : NULL) {
        const char *name = json_text(t) ? json_text(t) : "";
        if (strcmp(name, "string") == 0 && view_type(v, name, false))
            union_add(m, u, type_string(m, v));
        else if (strcmp(name, "integer") == 0 && view_type(v, name, false))
            union_add(m, u, type_integer(m, v));
        else if (strcmp(name, "number") == 0 && view_type(v, name, false))
            union_add(m, u, type_number(m, v));
        else if (strcmp(name, "boolean") == 0 && view_type(v, name, false))
            union_add(m, u, type_new(m, T_BOOL));
    }
    if (view_type(v, "array", !typed && (view_get(v, "items") || view_get(v, "prefixItems"))))
        union_add(m, u, make_array(m, v, hint));
    u->nullable |= view_type(v, "null", false) || json_true(view_get(v, "nullable"));
    return union_done(m, u);
}

static struct model_type *scalar_of(struct model_making *m, const struct json *value)
{
    double n = json_number(value);
    return type_new(m, json_text(value)                         ? T_STR
                       : json_is_bool(value)                    ? T_BOOL
                       : json_is_number(value) && n == floor(n) ? T_INT
                       : json_is_number(value)                  ? T_FLOAT
                       : json_is_null(value)                    ? T_NONE
                                                                : T_ANY);
}

static struct model_type *make_constant(struct model_making *m, const struct json *value,
                                        enum type_kind kind)
{
    struct model_type *t = type_new(m, kind), *u = type_new(m, T_UNION);
    for (const struct json *v = json_first(value); v && making_goes_on(m); v = json_next(v))
        union_add(m, u, scalar_of(m, v));
    if (kind == T_DICT)
        list_add(&m->arena, &t->args, type_new(m, T_STR));
    list_add(&m->arena, &t->args, union_done(m, u));
    return t;
}

/* A constant: of numbers with a fraction, arrays and objects only the type can be said. */
static struct model_type *make_literal(struct model_making *m, const struct json *value)
{
    bool object = json_is_object(value);
    double n = json_number(value);
    struct model_type *t = type_new(m, T_ANY);
    if (json_text(value) || json_is_bool(value) || (json_is_number(value) && n == floor(n)))
        t->kind = T_LITERAL;
    else if (json_is_number(value))
        t->kind = T_FLOAT;
    else if (json_is_null(value))
        t->kind = T_NONE;
    else if (making_goes_on(m) && json_first(value))
        return make_constant(m, value, object ? T_DICT : T_LIST);
    if (t->kind == T_LITERAL)
        list_add(&m->arena, &t->values, (void *)(uintptr_t)value);
    return t;
}

static bool only_annotated(const struct json *schema, const char *keyword)
{
    return json_get(schema, keyword) && !schema_says_more(schema, keyword);
}

/* Of one schema that is nothing but a reference, or an allOf of one. */
static struct model_type *make_alias(struct model_making *m, const struct json *schema,
                                     const struct hint *hint)
{
    const struct json *all = json_get(schema, "allOf");
    struct model_type *t = NULL;
    if (json_get_text(schema, "$ref") && only_annotated(schema, "$ref"))
        t = make_ref(m, json_get_text(schema, "$ref"));
    else if (json_is_array(all) && json_first(all) && !json_next(json_first(all)) &&
             only_annotated(schema, "allOf"))
        t = make_one(m, json_first(all), hint);
    if (t && json_true(json_get(schema, "nullable"))) {
        struct model_type *copy = type_new(m, T_ANY);
        *copy = *t;
        copy->nullable = true;
        t = copy;
    }
    return t;
}

static struct model_type *make_merged(struct model_making *m, const struct view *raw,
                                      const struct hint *hint)
{
    struct view v = {.n_expired = raw->n_expired};
    memcpy(v.spent, raw->spent, sizeof(v.spent));
    for (int i = 0; i < raw->n; i++)
        view_add(&m->document, &v, raw->part[i]);
    if (v.over) {
        m->cut = true;
        return type_new(m, T_ANY);
    }
    const struct json *key = raw->n == 1 ? raw->part[0] : NULL;
    if (view_get(&v, "const"))
        return make_literal(m, view_get(&v, "const"));
    struct arena_list values = enum_values(m, &v);
    if (values.n > 0) {
        struct model *model = model_of(m, key);
        if (!model) {
            model = new_model(m, M_ENUM, key, hint);
            enum_members(m, model, &v, &values);
        }
        struct model_type *t = model_type_of(m, model);
        t->nullable = enum_has_null(&values) || view_type(&v, "null", false);
        return t;
    }
    const struct json *choice = view_choice(&v);
    if (choice) {
        bool base =
            v.n > 1 || v.n_expired > 0 || has_properties(&v) ||
            schema_says_more(v.part[0], json_get(v.part[0], "anyOf") == choice ? "anyOf" : "oneOf");
        struct model_type *t = make_choice(m, &v, choice, base, hint);
        return t;
    }
    if (v.n > 1)
        name_references(m, &v);
    struct model *model = model_of(m, key);
    return model && model->kind == M_OBJECT ? model_type_of(m, model)
                                            : make_plain(m, &v, key, hint);
}

struct model_type *make_type(struct model_making *m, const struct view *raw,
                             const struct hint *hint)
{
    struct model_type *t = NULL;
    bool on = making_goes_on(m);
    if (raw->n == 0 || !json_is_object(raw->part[0]))
        return type_new(m, T_ANY);
    m->cut |= m->depth >= APIGEN_DEPTH_MAX;
    if (!on || m->depth >= APIGEN_DEPTH_MAX)
        return type_new(m, T_ANY);
    m->depth++;
    if (raw->n == 1)
        t = make_alias(m, raw->part[0], hint);
    if (!t)
        t = make_merged(m, raw, hint);
    m->depth--;
    return t;
}

struct model *model_make(struct model_making *m, const struct json *schema, const char *name)
{
    static const struct hint none = {.wire = ""};
    struct hint hint = none;
    hint.name = name;
    m->document = (struct document){.arena = &m->arena, .root = schema};
    struct view v = view_of(m, schema);
    bool empty = json_is_object(schema) && view_type(&v, "object", false) && !has_properties(&v) &&
                 !view_choice(&v) && !json_is_object(view_additional(&v)) &&
                 !json_first(view_get(&v, "patternProperties"));
    return empty ? make_object(m, &v, schema, &hint) : make_class(m, schema, &hint);
}
