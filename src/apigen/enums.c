/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/enums.h"

#include <math.h>
#include <string.h>

#include "apigen/names.h"

enum { SEARCHED = 256 };

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

/* Each value once; long lists are not searched for the sake of that. */
static void add_value(struct making *m, struct list *values, const struct json *value)
{
    for (size_t i = 0; i < values->n && i < SEARCHED; i++) {
        if (json_same(values->at[i], value))
            return;
    }
    list_add(&m->arena, values, (void *)(uintptr_t)value);
}

struct list enum_values(struct making *m, const struct view *v)
{
    struct list values = {0};
    const struct json *listed = view_get(v, "enum"), *choice = view_choice(v);
    for (const struct json *j = json_is_array(listed) ? json_first(listed) : NULL; j;
         j = json_next(j)) {
        if (!json_is_null(j))
            add_value(m, &values, j);
    }
    if (values.n == 0 && all_constant(choice)) {
        for (const struct json *j = json_first(choice); j; j = json_next(j))
            add_value(m, &values, json_get(j, "const"));
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
    struct set taken = {0};
    model->integers = view_type(v, "integer", false);
    model->description = view_text(v, "description");
    for (size_t i = 0; i < values->n; i++) {
        const struct json *value = values->at[i];
        model->integers &= json_is_number(value);
    }
    set_put(&m->arena, &taken, "mro", model);
    for (size_t i = 0; i < values->n; i++) {
        struct member *member = arena_get(&m->arena, sizeof(*member));
        member->value = values->at[i];
        const char *name = member_name(m, member->value, model->integers);
        if (strcmp(name, "mro") == 0)
            name = "mro_";
        member->name = name;
        for (int k = 1; set_has(&taken, member->name); k++)
            member->name = arena_textf(&m->arena, "%s_%d", name, k);
        set_put(&m->arena, &taken, member->name, member);
        list_add(&m->arena, &model->members, member);
    }
}
