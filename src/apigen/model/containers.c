/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/model/containers.h"

#include <string.h>

#include "apigen/model/names.h"
#include "apigen/model/scalar.h"
#include "apigen/model/unions.h"

/* --- objects --------------------------------------------------------------------------------- */

bool has_properties(const struct view *v)
{
    for (int i = 0; i < v->n; i++) {
        if (json_is_object(json_get(v->part[i], "properties")) &&
            json_first(json_get(v->part[i], "properties")))
            return true;
    }
    return false;
}

static const char *field_name(struct model_making *m, struct naming *names, const char *wire)
{
    const char *name = name_field(&m->arena, wire);
    if (name_is_model_attribute(name)) {
        const char *other = arena_textf(&m->arena, "%s_", name);
        naming_take(&m->arena, names, name);
        if (!naming_has(names, other))
            name = other;
    }
    return naming_new(&m->arena, names, name, "_", 1);
}

/* A property, with all that the parts of a view say of it. */
struct property {
    const char *name;
    int part; /* that spoke last */
    struct view raw;
};

static void add_properties(struct model_making *m, const struct json *properties, int part,
                           struct set *seen, struct arena_list *ret)
{
    for (const struct json *p = json_first(properties); p; p = json_next(p)) {
        struct property *property = set_get(seen, json_name(p));
        if (!making_goes_on(m))
            return;
        if (!property) {
            property = arena_get(&m->arena, sizeof(*property));
            *property = (struct property){.name = json_name(p), .part = -1};
            set_put(&m->arena, seen, property->name, property);
            list_add(&m->arena, ret, property);
        }
        struct view *raw = &property->raw;
        if (property->part == part) /* of equal names the last counts */
            raw->part[raw->n - 1] = p;
        else if (raw->n == 0 || json_is_object(p))
            raw->part[raw->n++] = p;
        property->part = raw->n > 0 && raw->part[raw->n - 1] == p ? part : property->part;
    }
}

static struct set required_names(struct model_making *m, const struct view *v)
{
    struct set names = {0};
    for (int i = 0; i < v->n; i++) {
        const struct json *list = json_get(v->part[i], "required");
        for (const struct json *name = json_first(list); name; name = json_next(name)) {
            if (json_text(name) && making_goes_on(m))
                set_put(&m->arena, &names, json_text(name), NULL);
        }
    }
    return names;
}

static void add_field(struct model_making *m, struct model *model, const struct property *property,
                      bool required, struct naming *names)
{
    struct model_field *f = arena_get(&m->arena, sizeof(*f));
    struct hint hint = {.wire = property->name};
    f->wire = property->name;
    f->required = required;
    f->fallback = required ? NULL : view_get(&property->raw, "default");
    f->description = view_text(&property->raw, "description");
    f->name = field_name(m, names, f->wire);
    f->type = make_type(m, &property->raw, &hint);
    list_add(&m->arena, &model->fields, f);
}

static void add_fields(struct model_making *m, struct model *model, const struct view *v)
{
    struct set seen = {0}, required = required_names(m, v);
    struct arena_list properties = {0};
    struct naming names = {0};
    for (int i = 0; i < v->n; i++) {
        const struct json *here = json_get(v->part[i], "properties");
        if (json_is_object(here))
            add_properties(m, here, i, &seen, &properties);
    }
    for (size_t i = 0; i < properties.n; i++) {
        const struct property *property = properties.at[i];
        add_field(m, model, property, set_has(&required, property->name), &names);
    }
}

struct model *make_object(struct model_making *m, const struct view *v, const struct json *key,
                          const struct hint *hint)
{
    struct model *model = new_model(m, M_OBJECT, key, hint);
    model->extra = view_additional(v);
    if (json_is_object(model->extra) && json_first(model->extra)) {
        struct hint value = {.wire = hint->wire};
        model->extra_type = make_one(m, model->extra, &value);
    }
    add_fields(m, model, v);
    model->open = m->work > m->work_max;
    return model;
}

static bool only_one(const struct json *list)
{
    return json_first(list) && !json_next(json_first(list));
}

static struct model_type *dict_key(struct model_making *m, const char *pattern)
{
    struct model_type *key = type_new(m, T_STR);
    key->pattern = type_pattern(pattern);
    return key;
}

/* Of the names that propertyNames allows. */
static struct model_type *name_type(struct model_making *m, const struct json *names)
{
    const struct json *listed = json_get(names, "enum");
    const struct view v = {.part = {names}, .n = json_is_object(names)};
    struct model_type *literal = type_new(m, T_LITERAL), *key = type_new(m, T_STR);
    for (const struct json *j = json_first(listed); j && making_goes_on(m); j = json_next(j)) {
        if (json_text(j))
            list_add(&m->arena, &literal->values, (void *)(uintptr_t)j);
    }
    key->pattern = type_pattern(json_get_text(names, "pattern"));
    type_length(key, &v, "minLength", "maxLength");
    return literal->values.n > 0 ? literal : key;
}

struct model_type *make_dict(struct model_making *m, const struct view *v, const struct hint *hint)
{
    struct model_type *t = type_new(m, T_DICT), *value = NULL;
    const struct json *patterns = view_get(v, "patternProperties");
    const struct json *extra = view_additional(v), *names = view_get(v, "propertyNames");
    struct model_type *key = name_type(m, names);
    if (json_is_object(patterns) && only_one(patterns) && !json_is_object(extra)) {
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

static struct model_type *make_item(struct model_making *m, const struct json *schema,
                                    const struct hint *hint)
{
    struct hint item = {.wire = hint->wire, .item = true};
    return make_one(m, schema, &item);
}

/* Items by position: a tuple when the length is fixed, else a list of any of them. */
static void positional(struct model_making *m, struct model_type *t, const struct view *v,
                       const struct json *items, const struct json *rest, const struct hint *hint)
{
    double least = 0, most = -1, n = (double)json_count(items);
    (void)view_least(v, "minItems", &least);
    (void)view_most(v, "maxItems", &most);
    bool closed = json_is_false(rest) || most == n;
    bool fixed = view_get(v, "prefixItems") && least == n && closed && most == n;
    t->kind = fixed ? T_TUPLE : T_LIST;
    struct model_type *any_of = type_new(m, T_UNION);
    for (const struct json *item = json_first(items); item; item = json_next(item)) {
        struct model_type *member = make_item(m, item, hint);
        if (fixed)
            list_add(&m->arena, &t->args, member);
        else
            union_add(m, any_of, member);
    }
    if (fixed)
        return;
    if (json_is_object(rest))
        union_add(m, any_of, make_item(m, rest, hint));
    bool open = !json_is_object(rest) && !closed && view_get(v, "prefixItems");
    list_add(&m->arena, &t->args, open ? type_new(m, T_ANY) : union_done(m, any_of));
    type_length(t, v, "minItems", "maxItems");
    if (json_is_false(rest) && (most < 0 || most > n))
        type_bound(t, B_MAX_LENGTH, n);
}

struct model_type *make_array(struct model_making *m, const struct view *v, const struct hint *hint)
{
    struct model_type *t = type_new(m, T_LIST);
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
