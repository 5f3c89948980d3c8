/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/enums.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "apigen/names.h"

enum { KEY_SIZE = 40 };

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

/* Each value once. */
static void add_value(struct making *m, struct list *list, struct values *known,
                      const struct json *value)
{
    if (values_get(known, value) || !making_goes_on(m))
        return;
    values_put(&m->arena, known, value, known);
    list_add(&m->arena, list, (void *)(uintptr_t)value);
}

struct list enum_values(struct making *m, const struct view *v)
{
    struct list values = {0};
    struct values known = {0};
    const struct json *listed = view_get(v, "enum"), *choice = view_choice(v);
    for (const struct json *j = json_is_array(listed) ? json_first(listed) : NULL; j;
         j = json_next(j)) {
        if (!json_is_null(j))
            add_value(m, &values, &known, j);
    }
    if (values.n == 0 && all_constant(choice)) {
        for (const struct json *j = json_first(choice); j; j = json_next(j))
            add_value(m, &values, &known, json_get(j, "const"));
    }
    return values;
}

bool enum_is_compound(const struct list *values)
{
    for (size_t i = 0; i < values->n; i++) {
        if (json_is_array(values->at[i]) || json_is_object(values->at[i]))
            return true;
    }
    return false;
}

bool enum_has_null(const struct view *v)
{
    const struct json *listed = view_get(v, "enum");
    for (const struct json *j = json_is_array(listed) ? json_first(listed) : NULL; j;
         j = json_next(j)) {
        if (json_is_null(j))
            return true;
    }
    return false;
}

static const char *member_name(struct making *m, const struct json *value, bool integers)
{
    const char *text = json_text(value);
    if (text)
        return name_field(&m->arena, text);
    if (json_is_bool(value))
        return json_true(value) ? "bool_True" : "bool_False";
    struct buf number = BUF_INIT(512);
    put_number(&number, json_number(value));
    bool whole = json_number(value) == floor(json_number(value));
    const char *kind = integers ? "integer" : whole ? "int" : "float";
    const char *name = arena_textf(&m->arena, "%s_%s", kind, buf_text(&number));
    buf_done(&number);
    return name_field(&m->arena, name);
}

void enum_members(struct making *m, struct model *model, const struct view *v,
                  const struct list *values)
{
    struct naming names = {0};
    model->integers = view_type(v, "integer", false);
    model->description = view_text(v, "description");
    for (size_t i = 0; i < values->n; i++) {
        const struct json *value = values->at[i];
        model->integers &= json_is_number(value);
    }
    for (size_t i = 0; i < values->n; i++) {
        struct member *member = arena_get(&m->arena, sizeof(*member));
        member->value = values->at[i];
        const char *name = member_name(m, member->value, model->integers);
        if (strcmp(name, "mro") == 0)
            name = "mro_";
        member->name = naming_new(&m->arena, &names, name, "_", 1);
        list_add(&m->arena, &model->members, member);
        values_put(&m->arena, &model->values, member->value, member);
    }
}
