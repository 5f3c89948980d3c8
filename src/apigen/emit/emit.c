/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/emit/emit.h"

#include <string.h>

#include "apigen/emit/defaults.h"
#include "apigen/emit/types.h"
#include "apigen/model/names.h"

enum { NESTING_MAX = 100 }; /* of classes: deeper ones stand behind the class that uses them */

static void put_enum(struct buf *out, const struct model *model)
{
    (void)buf_addf(out, "\n\nclass %s(%s):\n", model->name, model->integers ? "IntEnum" : "Enum");
    for (size_t i = 0; i < model->members.n; i++) {
        const struct model_member *member = model->members.at[i];
        (void)buf_addf(out, "    %s = ", member->name);
        put_json(out, member->value);
        (void)buf_addc(out, '\n');
    }
}

/* Fields may be given by their Python names, unless such a name is another's name in JSON. */
static bool names_may_be_used(struct model_making *m, const struct model *model)
{
    struct set wires = {0};
    bool differ = false;
    for (size_t i = 0; i < model->fields.n; i++) {
        struct model_field *f = model->fields.at[i];
        set_put(&m->arena, &wires, f->wire, f);
        differ |= strcmp(f->name, f->wire) != 0;
    }
    for (size_t i = 0; differ && i < model->fields.n; i++) {
        const struct model_field *f = model->fields.at[i], *other = set_get(&wires, f->name);
        differ = !other || other == f;
    }
    return differ;
}

/* A name for which pydantic gives a warning. */
static bool has_protected(const struct model *model)
{
    for (size_t i = 0; i < model->fields.n; i++) {
        const char *name = ((struct model_field *)model->fields.at[i])->name;
        if (strncmp(name, "model_", sizeof("model_") - 1) == 0)
            return true;
    }
    return false;
}

static void find_enum(void *ctx, struct model_type *t)
{
    bool *found = ctx;
    *found |= t->kind == T_CLASS && t->model->kind == M_ENUM;
}

/* pydantic takes its configuration as keywords of the class. */
static void put_config(struct model_making *m, struct buf *out, const struct model *model)
{
    bool enums = false;
    visit_model(model, find_enum, &enums);
    (void)buf_adds(out, enums ? ", use_enum_values=True" : "");
    if (model->extra || model->open)
        (void)buf_addf(out, ", extra=\"%s\"",
                       json_is_false(model->extra) && !model->open ? "forbid" : "allow");
    if (names_may_be_used(m, model))
        (void)buf_adds(out, ", populate_by_name=True");
    if (has_protected(model))
        (void)buf_adds(out, ", protected_namespaces=()");
    if (model_needs_python_re(model))
        (void)buf_adds(out, ", regex_engine=\"python-re\"");
}

static void put_enum_value(struct buf *out, const struct model_field *f)
{
    const struct json *value = f->fallback;
    const struct model_type *t = f->type;
    if (f->required)
        return;
    (void)buf_adds(out, " = ");
    if (!value || json_is_null(value)) {
        (void)buf_adds(out, "None");
    } else if (default_fit(t, value) == FIT_MODEL) {
        (void)buf_adds(out, "Field(");
        put_json(out, value);
        (void)buf_adds(out, ", validate_default=True)");
    } else if (default_fit(t, value) == FIT_NOT) {
        (void)buf_adds(out, "cast(Any, ");
        put_json(out, value);
        (void)buf_addc(out, ')');
    } else if (!json_is_array(value) && !json_is_object(value)) {
        put_default(out, t, value);
    } else if (!json_first(value)) {
        (void)buf_addf(out, "Field(default_factory=%s)", json_is_array(value) ? "list" : "dict");
    } else {
        (void)buf_adds(out, "Field(default_factory=lambda: ");
        put_default(out, t, value);
        (void)buf_addc(out, ')');
    }
}

/* What Annotated has beside the type. */
static void put_field_notes(struct buf *out, const struct model_field *f)
{
    bool alias = strcmp(f->name, f->wire) != 0, check = default_validates(f);
    if (alias || check) {
        (void)buf_adds(out, ", Field(");
        if (alias) {
            (void)buf_adds(out, "alias=");
            put_text(out, f->wire);
        }
        (void)buf_addf(out, "%s%s)", alias && check ? ", " : "",
                       check ? "validate_default=True" : "");
    }
    (void)buf_adds(out, may_be_null(f) ? ", \"nullable\"" : "");
}

static void put_model_field(struct buf *out, const struct model_field *f)
{
    bool noted = is_annotated(f);
    (void)buf_addf(out, "    %s: ", f->name);
    (void)buf_adds(out, noted ? "Annotated[" : "");
    put_type(out, f->type);
    (void)buf_adds(out, is_optional(f) ? " | None" : "");
    if (noted) {
        put_field_notes(out, f);
        (void)buf_addc(out, ']');
    }
    put_enum_value(out, f);
    (void)buf_addc(out, '\n');
    if (f->description && *f->description) {
        put_docstring(out, f->description, 4);
        (void)buf_addc(out, '\n');
    }
}

static void put_object(struct model_making *m, struct buf *out, const struct model *model)
{
    (void)buf_addf(out, "\n\nclass %s(BaseModel", model->name);
    put_config(m, out, model);
    (void)buf_adds(out, model->extra_type || model->fields.n ? "):\n" : "):\n    pass\n");
    if (model->extra_type) {
        (void)buf_adds(out, "    __pydantic_extra__: dict[str, ");
        put_type(out, model->extra_type);
        (void)buf_adds(out, "]\n");
    }
    for (size_t i = 0; i < model->fields.n; i++)
        put_model_field(out, model->fields.at[i]);
}

static void put_root(struct buf *out, const struct model *model)
{
    (void)buf_addf(out, "\n\nclass %s(RootModel[Any]):\n", model->name);
    if (model_needs_python_re(model))
        (void)buf_adds(out, "    model_config = {\"regex_engine\": \"python-re\"}\n");
    (void)buf_adds(out, "    root: ");
    put_type(out, model->root);
    (void)buf_addc(out, '\n');
    if (model->description && *model->description) {
        put_docstring(out, model->description, 4);
        (void)buf_addc(out, '\n');
    }
}

struct order {
    struct model_making *m;
    struct buf *out;
    struct model *of;
};

static void emit_one(struct model_making *m, struct buf *out, struct model *model);

static void emit_first(void *ctx, struct model_type *t)
{
    struct order *order = ctx;
    if (t->kind != T_CLASS)
        return;
    bool late = t->model->state == MODEL_NOT_BEGUN && order->m->depth == NESTING_MAX;
    if (late)
        list_add(&order->m->arena, &order->m->late, t->model);
    if (late || (t->model->state == MODEL_BEGUN && t->model != order->of))
        order->of->rebuild = true;
    if (!late)
        emit_one(order->m, order->out, t->model);
}

static void emit_one(struct model_making *m, struct buf *out, struct model *model)
{
    if (model->state != MODEL_NOT_BEGUN)
        return;
    model->state = MODEL_BEGUN;
    struct order order = {m, out, model};
    m->depth++;
    visit_model(model, emit_first, &order);
    m->depth--;
    if (model->kind == M_ENUM)
        put_enum(out, model);
    else if (model->kind == M_ROOT)
        put_root(out, model);
    else
        put_object(m, out, model);
    model->state = MODEL_WRITTEN;
}

void emit_model(struct model_making *m, struct buf *out, struct model *model)
{
    emit_one(m, out, model);
    for (size_t i = 0; i < m->late.n; i++) /* grows meanwhile */
        emit_one(m, out, m->late.at[i]);
}

void emit_rebuilds(const struct model_making *m, struct buf *out)
{
    const char *space = "\n\n";
    for (size_t i = 0; i < m->models.n; i++) {
        const struct model *model = m->models.at[i];
        if (!model->rebuild)
            continue;
        (void)buf_addf(out, "%s%s.model_rebuild()\n", space, model->name);
        space = "";
    }
}
