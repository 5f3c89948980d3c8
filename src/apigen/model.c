/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/model.h"

#include <string.h>

#include "apigen/enums.h"
#include "apigen/names.h"
#include "apigen/regex.h"
#include "apigen/scalar.h"

/* What a class made at this place is to be called. */
struct hint {
    const char *wire; /* after this property or reference */
    bool item;        /* an item of an array: the singular */
    const char *name; /* this and nothing else */
};

static struct type *make(struct making *m, const struct view *raw, const struct hint *hint);

static struct type *make_one(struct making *m, const struct json *schema, const struct hint *hint)
{
    struct view v = {.part = {schema}, .n = 1};
    return make(m, &v, hint);
}

/* --- names and classes ----------------------------------------------------------------------- */

static const char *class_name(struct making *m, const struct hint *hint, const char *suffix)
{
    if (hint->name)
        return hint->name;
    const char *name = name_class(&m->arena, hint->wire);
    if (hint->item)
        name = name_singular(&m->arena, name, suffix);
    const char *free_name = name;
    if (set_get(&m->names, name) == NAME_OF_LIBRARY)
        free_name = name = arena_textf(&m->arena, "%sModel", name);
    for (int i = 1; set_has(&m->names, free_name) || name_is_keyword(free_name); i++)
        free_name = arena_textf(&m->arena, "%s%d", name, i);
    return free_name;
}

static struct model *new_model(struct making *m, enum model_kind kind, const struct json *key,
                               const struct hint *hint)
{
    struct model *model = arena_get(&m->arena, sizeof(*model));
    model->kind = kind;
    model->key = key;
    model->name = class_name(m, hint, kind == M_ENUM ? "Enum" : "Item");
    set_put(&m->arena, &m->names, model->name, model);
    list_add(&m->arena, &m->models, model);
    return model;
}

static struct model *model_of(const struct making *m, const struct json *key)
{
    for (size_t i = m->models.n; key && i-- > 0;) {
        struct model *model = m->models.at[i];
        if (model->key == key)
            return model;
    }
    return NULL;
}

static struct type *type_of(struct making *m, struct model *model)
{
    struct type *t = type_new(m, T_CLASS);
    t->model = model;
    return t;
}

/* --- objects --------------------------------------------------------------------------------- */

static bool has_properties(const struct view *v)
{
    for (int i = 0; i < v->n; i++) {
        if (json_is_object(json_get(v->part[i], "properties")) &&
            json_first(json_get(v->part[i], "properties")))
            return true;
    }
    return false;
}

static void field_name(struct making *m, struct set *taken, struct field *f)
{
    const char *name = name_field(&m->arena, f->wire), *free_name = name;
    if (name_is_model_attribute(name) || name_is_builtin_type(name))
        free_name = arena_textf(&m->arena, "%s_", name);
    for (int i = 1; set_has(taken, free_name); i++)
        free_name = arena_textf(&m->arena, "%s_%d", name, i);
    set_put(&m->arena, taken, free_name, f);
    f->name = free_name;
}

/* A property as all the parts of the view define it. */
static void add_field(struct making *m, struct model *model, const struct view *v,
                      const char *property, struct set *taken)
{
    struct view raw = {.n = 0};
    for (int i = 0; i < v->n; i++) {
        const struct json *schema = json_get(json_get(v->part[i], "properties"), property);
        if (schema && (raw.n == 0 || json_is_object(schema)))
            raw.part[raw.n++] = schema;
    }
    struct field *f = arena_get(&m->arena, sizeof(*f));
    f->wire = property;
    f->required = view_requires(v, property);
    f->fallback = f->required ? NULL : view_get(&raw, "default");
    f->description = view_text(&raw, "description");
    field_name(m, taken, f);
    struct hint hint = {.wire = property};
    f->type = make(m, &raw, &hint);
    list_add(&m->arena, &model->fields, f);
}

static void add_fields(struct making *m, struct model *model, const struct view *v)
{
    struct set seen = {0}, taken = {0};
    for (int i = 0; i < v->n; i++) {
        const struct json *properties = json_get(v->part[i], "properties");
        for (const struct json *p = json_first(properties); p; p = json_next(p)) {
            if (!json_is_object(properties) || set_has(&seen, json_name(p)))
                continue;
            if (m->work > APIGEN_WORK_MAX) {
                m->cut = true;
                return;
            }
            set_put(&m->arena, &seen, json_name(p), model);
            add_field(m, model, v, json_name(p), &taken);
        }
    }
}

static struct model *make_object(struct making *m, const struct view *v, const struct json *key,
                                 const struct hint *hint)
{
    struct model *model = new_model(m, M_OBJECT, key, hint);
    model->extra = view_additional(v);
    if (json_is_object(model->extra) && json_first(model->extra)) {
        struct hint value = {.wire = hint->wire};
        model->extra_type = make_one(m, model->extra, &value);
    }
    add_fields(m, model, v);
    return model;
}

static struct type *dict_key(struct making *m, const char *pattern)
{
    struct type *key = type_new(m, T_STR);
    key->pattern = type_pattern(pattern);
    return key;
}

/* An object without properties of its own: a mapping. */
static struct type *make_dict(struct making *m, const struct view *v, const struct hint *hint)
{
    struct type *t = type_new(m, T_DICT), *value = NULL;
    const struct json *patterns = view_get(v, "patternProperties");
    const struct json *extra = view_additional(v), *names = view_get(v, "propertyNames");
    struct type *key = dict_key(m, json_get_text(names, "pattern"));
    if (json_is_object(patterns) && json_count(patterns) == 1 && !json_is_object(extra)) {
        key = dict_key(m, json_name(json_first(patterns)));
        value = make_one(m, json_first(patterns), hint);
    } else if (json_is_object(extra) && !patterns) {
        value = make_one(m, extra, hint);
    } else if (json_is_false(extra) && !patterns) {
        type_bound(t, B_MAX_LENGTH, 0);
    }
    if (!(t->bounds & 1U << B_MAX_LENGTH))
        type_length(t, v, "minProperties", "maxProperties");
    list_add(&m->arena, &t->args, key);
    list_add(&m->arena, &t->args, value ? value : type_new(m, T_ANY));
    return t;
}

/* --- arrays ---------------------------------------------------------------------------------- */

static void union_add(struct making *m, struct type *u, struct type *t);

static struct type *make_item(struct making *m, const struct json *schema, const struct hint *hint)
{
    struct hint item = {.wire = hint->wire, .item = true};
    return make_one(m, schema, &item);
}

/* Items by position: a tuple when the length is fixed, else a list of any of them. */
static void positional(struct making *m, struct type *t, const struct view *v,
                       const struct json *items, const struct json *rest, const struct hint *hint)
{
    double least = 0, most = -1, n = (double)json_count(items);
    (void)view_least(v, "minItems", &least);
    (void)view_most(v, "maxItems", &most);
    bool closed = json_is_false(rest) || most == n;
    bool fixed = view_get(v, "prefixItems") && least == n && closed && most == n;
    t->kind = fixed ? T_TUPLE : T_LIST;
    struct type *any_of = type_new(m, T_UNION);
    for (const struct json *item = json_first(items); item; item = json_next(item)) {
        struct type *member = make_item(m, item, hint);
        if (fixed)
            list_add(&m->arena, &t->args, member);
        else
            union_add(m, any_of, member);
    }
    if (fixed)
        return;
    if (json_is_object(rest))
        union_add(m, any_of, make_item(m, rest, hint));
    else if (!closed && view_get(v, "prefixItems"))
        any_of = type_new(m, T_ANY);
    list_add(&m->arena, &t->args, any_of);
    type_length(t, v, "minItems", "maxItems");
    if (json_is_false(rest) && (most < 0 || most > n))
        type_bound(t, B_MAX_LENGTH, n);
}

static struct type *make_array(struct making *m, const struct view *v, const struct hint *hint)
{
    struct type *t = type_new(m, T_LIST);
    const struct json *items = view_get(v, "items"), *prefix = view_get(v, "prefixItems");
    if (json_is_array(prefix) && json_first(prefix)) {
        positional(m, t, v, prefix, items, hint);
        return t;
    }
    if (json_is_array(items) && json_first(items)) {
        positional(m, t, v, items, view_get(v, "additionalItems"), hint);
        return t;
    }
    type_length(t, v, "minItems", "maxItems");
    if (json_is_false(items))
        type_bound(t, B_MAX_LENGTH, 0);
    list_add(&m->arena, &t->args, make_item(m, items, hint));
    return t;
}

/* --- choices --------------------------------------------------------------------------------- */

static bool same_type(const struct type *a, const struct type *b)
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

static void literal_add(struct making *m, struct type *literal, const struct type *more)
{
    for (size_t i = 0; i < more->values.n; i++) {
        bool known = false;
        for (size_t k = 0; k < literal->values.n && !known; k++)
            known = json_same(literal->values.at[k], more->values.at[i]);
        if (!known)
            list_add(&m->arena, &literal->values, more->values.at[i]);
    }
}

static void union_add(struct making *m, struct type *u, struct type *t)
{
    u->nullable |= t->nullable || t->kind == T_NONE;
    if (t->kind == T_NONE)
        return;
    if (t->kind == T_UNION) {
        for (size_t i = 0; i < t->args.n; i++)
            union_add(m, u, t->args.at[i]);
        return;
    }
    for (size_t i = 0; i < u->args.n; i++) {
        struct type *member = u->args.at[i];
        if (same_type(member, t)) {
            if (t->kind == T_LITERAL)
                literal_add(m, member, t);
            return;
        }
    }
    list_add(&m->arena, &u->args, t);
}

/* A union of one is that one, of nothing but null is None. */
static struct type *union_done(struct making *m, struct type *u)
{
    if (u->args.n > 1)
        return u;
    struct type *only = type_new(m, u->nullable ? T_NONE : T_ANY);
    if (u->args.n == 1) {
        *only = *(struct type *)u->args.at[0];
        only->nullable = u->nullable;
    }
    return only;
}

static struct type *make_choice(struct making *m, const struct view *v, const struct json *choice,
                                bool base, const struct hint *hint)
{
    struct type *u = type_new(m, T_UNION);
    struct hint member = {.wire = hint->name ? hint->name : hint->wire};
    for (const struct json *branch = json_first(choice); branch; branch = json_next(branch)) {
        if (json_is_false(branch))
            continue;
        struct type *t;
        if (base && v->n_spent < VIEW_PARTS) {
            struct view both = *v;
            both.spent[both.n_spent++] = choice;
            view_add(&m->arena, m->root, &both, branch);
            t = make(m, &both, &member);
        } else {
            t = make_one(m, branch, &member);
        }
        union_add(m, u, t);
    }
    return union_done(m, u);
}

/* --- references ------------------------------------------------------------------------------ */

static struct view view_of(struct making *m, const struct json *schema)
{
    struct view v = {.n = 0};
    view_add(&m->arena, m->root, &v, schema);
    return v;
}

static bool is_object_class(const struct view *v)
{
    return has_properties(v) && view_type(v, "object", true) && !view_choice(v) &&
           !view_get(v, "enum") && !view_get(v, "const") && !view_type(v, "string", false) &&
           !view_type(v, "array", false) && !view_type(v, "null", false);
}

/* The class of a schema that has a name: an object, an enum, or a root model around its type. */
static struct model *make_class(struct making *m, const struct json *schema,
                                const struct hint *hint)
{
    struct view v = view_of(m, schema);
    bool renamed = json_get_text(schema, "$ref") && !schema_says_more(schema, "$ref");
    if (is_object_class(&v) && !renamed && !v.over)
        return make_object(m, &v, schema, hint);
    struct list values = enum_values(m, &v);
    if (values.n > 0 && !renamed && !hint->name && !enum_is_compound(&values)) {
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

static struct type *make_ref(struct making *m, const char *ref)
{
    const char *name;
    const struct json *target = schema_target(&m->arena, m->root, ref, &name);
    if (!target)
        return type_new(m, T_ANY);
    struct model *model = model_of(m, target);
    if (!model) {
        struct hint hint = {.wire = name};
        model = make_class(m, target, &hint);
    }
    return type_of(m, model);
}

/* What an allOf refers to has its name before the class that is made of it. */
static void name_references(struct making *m, const struct view *v)
{
    for (int i = 0; i < v->n; i++) {
        for (const struct json *s = json_first(json_get(v->part[i], "allOf")); s; s = json_next(s)) {
            if (json_get_text(s, "$ref"))
                (void)make_ref(m, json_get_text(s, "$ref"));
        }
    }
}

/* --- any schema ------------------------------------------------------------------------------ */

/* The types of the view in the order of its own list; objects first and arrays last. */
static struct type *make_plain(struct making *m, const struct view *v, const struct json *key,
                               const struct hint *hint)
{
    struct type *u = type_new(m, T_UNION);
    const struct json *types = view_get(v, "type");
    bool typed = json_text(types) || json_is_array(types);
    bool properties = has_properties(v);
    if (view_type(v, "object", !typed && (properties || view_get(v, "additionalProperties") ||
                                          view_get(v, "patternProperties")))) {
        if (properties)
            union_add(m, u, type_of(m, make_object(m, v, key, hint)));
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

static struct type *make_literal(struct making *m, const struct json *value)
{
    struct type *t = type_new(m, T_ANY);
    double n = json_number(value);
    if (json_text(value) || json_is_bool(value) || (json_is_number(value) && n == (double)(long)n))
        t->kind = T_LITERAL;
    else if (json_is_number(value))
        t->kind = T_FLOAT;
    else if (json_is_null(value))
        t->kind = T_NONE;
    if (t->kind == T_LITERAL)
        list_add(&m->arena, &t->values, (void *)(uintptr_t)value);
    return t;
}

static bool only_annotated(const struct json *schema, const char *keyword)
{
    return json_get(schema, keyword) && !schema_says_more(schema, keyword);
}

/* Of one schema that is nothing but a reference, or an allOf of one. */
static struct type *make_alias(struct making *m, const struct json *schema,
                               const struct hint *hint)
{
    const struct json *all = json_get(schema, "allOf");
    struct type *t = NULL;
    if (json_get_text(schema, "$ref") && only_annotated(schema, "$ref"))
        t = make_ref(m, json_get_text(schema, "$ref"));
    else if (json_is_array(all) && json_count(all) == 1 && only_annotated(schema, "allOf"))
        t = make_one(m, json_first(all), hint);
    if (t && json_true(json_get(schema, "nullable"))) {
        struct type *copy = type_new(m, T_ANY);
        *copy = *t;
        copy->nullable = true;
        t = copy;
    }
    return t;
}

static struct type *make_merged(struct making *m, const struct view *raw, const struct hint *hint)
{
    struct view v = {.n_spent = raw->n_spent};
    memcpy(v.spent, raw->spent, sizeof(v.spent));
    for (int i = 0; i < raw->n; i++)
        view_add(&m->arena, m->root, &v, raw->part[i]);
    if (v.over) {
        m->cut = true;
        return type_new(m, T_ANY);
    }
    const struct json *key = raw->n == 1 ? raw->part[0] : NULL;
    if (view_get(&v, "const"))
        return make_literal(m, view_get(&v, "const"));
    struct list values = enum_values(m, &v);
    if (enum_is_compound(&values))
        return type_new(m, T_ANY);
    if (values.n > 0) {
        struct model *model = model_of(m, key);
        if (!model) {
            model = new_model(m, M_ENUM, key, hint);
            enum_members(m, model, &v, &values);
        }
        struct type *t = type_of(m, model);
        t->nullable = enum_has_null(&v) || view_type(&v, "null", false);
        return t;
    }
    if (enum_has_null(&v))
        return type_new(m, T_NONE);
    const struct json *choice = view_choice(&v);
    if (choice) {
        bool base = v.n > 1 || v.n_spent > 0 || has_properties(&v) ||
                    schema_says_more(v.part[0], json_get(v.part[0], "anyOf") == choice ? "anyOf"
                                                                                      : "oneOf");
        struct type *t = make_choice(m, &v, choice, base, hint);
        return t;
    }
    if (v.n > 1)
        name_references(m, &v);
    struct model *model = model_of(m, key);
    return model && model->kind == M_OBJECT ? type_of(m, model) : make_plain(m, &v, key, hint);
}

static struct type *make(struct making *m, const struct view *raw, const struct hint *hint)
{
    struct type *t = NULL;
    if (raw->n == 0 || !json_is_object(raw->part[0]))
        return type_new(m, T_ANY);
    if (++m->work > APIGEN_WORK_MAX || m->depth >= APIGEN_DEPTH_MAX) {
        m->cut = true;
        return type_new(m, T_ANY);
    }
    m->depth++;
    if (raw->n == 1)
        t = make_alias(m, raw->part[0], hint);
    if (!t)
        t = make_merged(m, raw, hint);
    m->depth--;
    return t;
}

struct model *model_make(struct making *m, const struct json *schema, const char *name)
{
    static const struct hint none = {.wire = ""};
    struct hint hint = none;
    hint.name = name;
    m->root = schema;
    struct view v = view_of(m, schema);
    bool empty = json_is_object(schema) && view_type(&v, "object", false) && !has_properties(&v) &&
                 !view_choice(&v) && !json_is_object(view_additional(&v));
    return empty ? make_object(m, &v, schema, &hint) : make_class(m, schema, &hint);
}
