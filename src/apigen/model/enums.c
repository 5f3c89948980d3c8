/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/model/enums.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "apigen/model/names.h"

enum { KEY_SIZE = 40, NAME_MAX_BYTES = 400 };

bool json_same(const struct json *a, const struct json *b)
{
    if (json_text(a) && json_text(b))
        return strcmp(json_text(a), json_text(b)) == 0;
    if (json_is_number(a) && json_is_number(b))
        return json_number(a) == json_number(b);
    if (json_is_bool(a) && json_is_bool(b))
        return json_true(a) == json_true(b);
    return json_is_null(a) && json_is_null(b);
}

static bool all_constant(const struct json *choice)
{
    size_t n = 0;
    for (const struct json *branch = json_first(choice); branch; branch = json_next(branch), n++) {
        const struct json *value = json_get(branch, "const");
        if (!value || json_is_null(value))
            return false;
    }
    return n > 1;
}

/* Of what is no text; NULL: no scalar either. */
static const char *other_key(const struct json *value, char key[static KEY_SIZE])
{
    if (json_is_number(value))
        (void)snprintf(key, KEY_SIZE, "%.17g", json_number(value));
    else if (json_is_bool(value))
        return json_true(value) ? "True" : "False";
    return json_is_number(value) ? key : NULL;
}

void *values_get(const struct values *values, const struct json *value)
{
    char buffer[KEY_SIZE];
    if (json_text(value))
        return set_get(&values->texts, json_text(value));
    const char *key = other_key(value, buffer);
    return key ? set_get(&values->others, key) : NULL;
}

static void values_put(struct arena *a, struct values *values, const struct json *value, void *with)
{
    char buffer[KEY_SIZE];
    const char *key = other_key(value, buffer);
    if (json_text(value))
        set_put(a, &values->texts, json_text(value), with);
    else if (key)
        set_put(a, &values->others, arena_text(a, key, strlen(key)), with);
}

/* As a member, called `name` if that is a text. */
static void add_enum_value(struct model_making *m, struct arena_list *list,
                           const struct json *value, const struct json *name)
{
    if (!making_goes_on(m))
        return;
    struct model_member *member = arena_get(&m->arena, sizeof(*member));
    *member = (struct model_member){.value = value, .name = json_text(name)};
    list_add(&m->arena, list, member);
}

struct arena_list enum_values(struct model_making *m, const struct view *v)
{
    struct arena_list values = {0};
    const struct json *listed = view_get(v, "enum"), *choice = view_choice(v);
    const struct json *name = json_first(view_get(v, "x-enum-varnames"));
    for (const struct json *j = json_is_array(listed) ? json_first(listed) : NULL; j;
         j = json_next(j)) {
        add_enum_value(m, &values, j, name);
        name = json_next(name);
    }
    if (values.n == 0 && all_constant(choice)) {
        for (const struct json *j = json_first(choice); j; j = json_next(j))
            add_enum_value(m, &values, json_get(j, "const"), json_get(j, "title"));
    }
    return values;
}

bool enum_has_null(const struct arena_list *values)
{
    for (size_t i = 0; i < values->n; i++) {
        if (json_is_null(((struct model_member *)values->at[i])->value))
            return true;
    }
    return false;
}

/* What stands before a value that is no text: its type in the schema or, without one, in Python. */
static const char *enum_kind_of(const struct view *v, const struct json *value)
{
    const char *type = json_text(view_get(v, "type"));
    double n = json_number(value);
    if (type)
        return strcmp(type, "string") == 0 ? "" : type;
    if (!view_get(v, "enum"))
        return "";
    if (json_is_number(value))
        return n == floor(n) ? "int" : "float";
    return json_is_bool(value) ? "bool" : json_is_null(value) ? "NoneType" : "list";
}

static const char *member_name(struct model_making *m, const struct view *v,
                               const struct model_member *member, size_t i)
{
    const char *text = member->name ? member->name : json_text(member->value);
    if (text)
        return name_field(&m->arena, text);
    if (json_is_object(member->value))
        return arena_textf(&m->arena, "value_%zu", i);
    const char *kind = enum_kind_of(v, member->value);
    drop_buf struct buf value = BUF_INIT(NAME_MAX_BYTES);
    put_json(&value, member->value);
    return name_field(&m->arena,
                      arena_textf(&m->arena, "%s%s%s", kind, *kind ? "_" : "", buf_text(&value)));
}

void enum_members(struct model_making *m, struct model *model, const struct view *v,
                  const struct arena_list *values)
{
    struct naming names = {0};
    model->members = *values;
    model->integers = view_type(v, "integer", false);
    model->description = view_text(v, "description");
    for (size_t i = 0; i < values->n; i++) {
        struct model_member *member = values->at[i];
        const char *name = member_name(m, v, member, i);
        model->integers &= json_is_number(member->value);
        name = strcmp(name, "mro") == 0 ? "mro_" : name;
        member->name = naming_new(&m->arena, &names, name, "_", 1);
        if (!values_get(&model->values, member->value))
            values_put(&m->arena, &model->values, member->value, member);
    }
}
