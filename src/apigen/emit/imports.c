/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/emit/imports.h"

#include <stdlib.h>
#include <string.h>

#include "apigen/emit/defaults.h"
#include "apigen/emit/types.h"
#include "apigen/model/regex.h"

enum { IMPORT_WIDTH = 88 }; /* over it import sorters want lines of their own */
enum { RENAMES_MAX = 4 };   /* an alias makes Annotated and Field needed, then all is stable */

struct needs {
    struct model_making *m;
    struct set names;           /* that annotations use; the value is the module they come from */
    struct arena_list in_order; /* the names that have one */
};

static void need_import(struct needs *n, const char *name, const char *from)
{
    static char nowhere[] = "";
    if (set_has(&n->names, name))
        return;
    set_put(&n->m->arena, &n->names, name, from ? (void *)(uintptr_t)from : nowhere);
    if (from)
        list_add(&n->m->arena, &n->in_order, (void *)(uintptr_t)name);
}

static void need_type(void *ctx, struct model_type *t)
{
    static const char *const builtin[] = {
        [T_BOOL] = "bool", [T_INT] = "int",     [T_FLOAT] = "float", [T_STR] = "str",
        [T_LIST] = "list", [T_TUPLE] = "tuple", [T_DICT] = "dict",   [T_CLASS] = NULL,
    };
    struct needs *n = ctx;
    if (t->kind == T_ANY || t->kind == T_LITERAL)
        need_import(n, t->kind == T_ANY ? "Any" : "Literal", "typing");
    if (builtin[t->kind])
        need_import(n, builtin[t->kind], NULL);
    if (t->bounds || t->pattern) {
        need_import(n, "Annotated", "typing");
        need_import(n, "Field", "pydantic");
    }
    if (t->kind == T_FORMAT)
        need_import(n, t->format->name, t->format->import);
    if (t->kind == T_CLASS)
        need_import(n, t->model->name, NULL);
}
static void need_field(struct needs *n, const struct model_field *f)
{
    visit_types(f->type, need_type, n);
    if (is_annotated(f))
        need_import(n, "Annotated", "typing");
    if (strcmp(f->name, f->wire) != 0 || default_validates(f) || defaults_to(f, FIT_MODEL) ||
        ((json_is_array(f->fallback) || json_is_object(f->fallback)) && !defaults_to(f, FIT_NOT)))
        need_import(n, "Field", "pydantic");
    if (defaults_to(f, FIT_NOT)) {
        need_import(n, "Any", "typing");
        need_import(n, "cast", "typing");
    }
}

static void need_model(struct needs *n, const struct model *model)
{
    switch (model->kind) {
    case M_ENUM:
        need_import(n, model->integers ? "IntEnum" : "Enum", "enum");
        break;
    case M_ROOT:
        need_import(n, "RootModel", "pydantic");
        need_import(n, "Any", "typing");
        visit_types(model->root, need_type, n);
        break;
    case M_OBJECT:
        need_import(n, "BaseModel", "pydantic");
        if (model->extra_type) {
            need_import(n, "dict", NULL);
            need_import(n, "str", NULL);
            visit_types(model->extra_type, need_type, n);
        }
        for (size_t i = 0; i < model->fields.n; i++)
            need_field(n, model->fields.at[i]);
    }
}

/* Capitals only, then classes, then the rest, as import sorters have it. */
static int sort_class(const char *name)
{
    bool lower = false;
    for (const char *s = name; *s; s++)
        lower |= *s >= 'a' && *s <= 'z';
    return !lower ? 0 : name[0] >= 'A' && name[0] <= 'Z' ? 1 : 2;
}

static int compare_names(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int order = sort_class(x) - sort_class(y);
    return order ? order : strcmp(x, y);
}

static void put_import(struct buf *out, const char *module, char **names, size_t n)
{
    size_t width = strlen(module) + sizeof("from  import ") - 1;
    for (size_t i = 0; i < n; i++)
        width += strlen(names[i]) + (i ? 2 : 0);
    bool wide = width > IMPORT_WIDTH;
    (void)buf_addf(out, "from %s import %s", module, wide ? "(\n" : "");
    for (size_t i = 0; i < n; i++)
        (void)buf_addf(out, wide ? "    %s,\n" : "%s%s", wide || i == 0 ? names[i] : ", ",
                       wide || i == 0 ? "" : names[i]);
    (void)buf_adds(out, wide ? ")\n" : "\n");
}

/* A name that begins with '_' is another's, imported under it: nothing can hide it. */
static void put_module_imports(struct needs *n, const char *module, struct buf *out)
{
    char **names = arena_get(&n->m->arena, (n->in_order.n + 1) * sizeof(*names));
    size_t count = 0;
    for (size_t i = 0; i < n->in_order.n; i++) {
        char *name = n->in_order.at[i];
        if (strcmp(set_get(&n->names, name), module) == 0)
            names[count++] = name;
    }
    qsort(names, count, sizeof(*names), compare_names);
    size_t plain = 0;
    for (size_t i = 0; i < count; i++) {
        if (names[i][0] == '_')
            (void)buf_addf(out, "from %s import %s as %s\n", module, names[i] + 1, names[i]);
        else
            names[plain++] = names[i];
    }
    if (plain > 0)
        put_import(out, module, names, plain);
}

void put_imports(struct model_making *m, struct buf *out)
{
    static const char *const modules[] = {"builtins",  "datetime", "decimal", "enum",
                                          "ipaddress", "pathlib",  "typing",  "uuid"};
    struct needs n = {.m = m};
    for (size_t i = 0; i < m->models.n; i++) {
        const struct model *model = m->models.at[i];
        if (model->state != MODEL_NOT_BEGUN)
            need_model(&n, model);
    }
    size_t before = out->len;
    for (size_t k = 0; k < sizeof(modules) / sizeof *modules; k++)
        put_module_imports(&n, modules[k], out);
    (void)buf_adds(out, out->len > before ? "\n" : "");
    put_module_imports(&n, "pydantic", out);
    (void)buf_adds(out, "\nfrom . import CLIENT\n");
}

/* Of the fields that hide what an annotation means: another name. True when there was one. */
static bool rename_fields(struct model_making *m, struct model *model)
{
    struct needs n = {.m = m};
    struct naming names = {0};
    bool renamed = false;
    need_model(&n, model);
    for (size_t i = 0; i < model->fields.n; i++)
        naming_take(&m->arena, &names, ((struct model_field *)model->fields.at[i])->name);
    for (size_t i = 0; i < model->fields.n; i++) {
        struct model_field *f = model->fields.at[i];
        if (!set_has(&n.names, f->name))
            continue;
        const char *plain = f->name, *other = arena_textf(&m->arena, "%s_", plain);
        bool lower = plain[0] >= 'a' && plain[0] <= 'z' && !naming_has(&names, other);
        if (lower) {
            f->name = other;
            naming_take(&m->arena, &names, other);
        }
        while (set_has(&n.names, f->name))
            f->name = naming_new(&m->arena, &names, plain, "_", 1);
        renamed = true;
    }
    return renamed;
}

/* A field hides, in its class, what its name meant: annotations would then mean the field. Another
 * name needs an alias, which needs names in its turn. */
static void free_names(struct model_making *m, struct model *model)
{
    for (int pass = 0; pass < RENAMES_MAX && rename_fields(m, model); pass++)
        continue;
}

static void drop_rust(void *ctx, struct model_type *t)
{
    (void)ctx;
    if (t->pattern && regex_kind(t->pattern) == REGEX_RUST)
        t->pattern = NULL;
}

void imports_prepare(struct model_making *m)
{
    for (size_t i = 0; i < m->models.n; i++) {
        struct model *model = m->models.at[i];
        if (model_needs_python_re(model))
            visit_model(model, drop_rust, NULL);
        free_names(m, model);
    }
}
