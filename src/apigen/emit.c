/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/emit.h"

#include <stdlib.h>
#include <string.h>

#include "apigen/enums.h"
#include "apigen/names.h"
#include "apigen/regex.h"

enum { NOT_BEGUN, BEGUN, WRITTEN };
enum { IMPORT_WIDTH = 88 }; /* over it import sorters want lines of their own */

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

static void put_type(struct buf *out, const struct type *t);

static void put_args(struct buf *out, const char *generic, const struct list *args)
{
    const char *between = generic ? ", " : " | ";
    (void)buf_addf(out, "%s%s", generic ? generic : "", generic ? "[" : "");
    for (size_t i = 0; i < args->n; i++) {
        (void)buf_adds(out, i ? between : "");
        put_type(out, args->at[i]);
    }
    (void)buf_adds(out, generic ? "]" : "");
}

static void put_literal(struct buf *out, const struct list *values)
{
    (void)buf_adds(out, "Literal[");
    for (size_t i = 0; i < values->n; i++) {
        (void)buf_adds(out, i ? ", " : "");
        put_json(out, values->at[i]);
    }
    (void)buf_addc(out, ']');
}

static void put_bare(struct buf *out, const struct type *t)
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
        put_args(out, t->generic ? t->generic : names[t->kind], &t->args);
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

static void put_bounds(struct buf *out, const struct type *t)
{
    const char *comma = "";
    for (int i = 0; i < B__COUNT; i++) {
        if (!(t->bounds & 1U << i))
            continue;
        (void)buf_addf(out, "%s%s=", comma, bound_names[i]);
        put_number(out, t->bound[i]);
        comma = ", ";
    }
    if (t->pattern) {
        (void)buf_addf(out, "%spattern=", comma);
        put_text(out, t->pattern);
    }
}

static void put_type(struct buf *out, const struct type *t)
{
    bool limited = t->bounds || t->pattern;
    (void)buf_adds(out, limited ? "Annotated[" : "");
    put_bare(out, t);
    if (limited) {
        (void)buf_adds(out, ", Field(");
        put_bounds(out, t);
        (void)buf_adds(out, ")]");
    }
    if (t->nullable && t->kind != T_NONE)
        (void)buf_adds(out, " | None");
}

/* --- what a class needs ---------------------------------------------------------------------- */

typedef void visit_fn(void *ctx, struct type *t);

static void visit(struct type *t, visit_fn *fn, void *ctx)
{
    fn(ctx, t);
    for (size_t i = 0; i < t->args.n; i++)
        visit(t->args.at[i], fn, ctx);
}

static void visit_model(const struct model *model, visit_fn *fn, void *ctx)
{
    for (size_t i = 0; i < model->fields.n; i++)
        visit(((struct field *)model->fields.at[i])->type, fn, ctx);
    if (model->root)
        visit(model->root, fn, ctx);
    if (model->extra_type)
        visit(model->extra_type, fn, ctx);
}

/* --- defaults -------------------------------------------------------------------------------- */

static const struct member *member_of(const struct type *t, const struct json *value)
{
    if (t->kind != T_CLASS || t->model->kind != M_ENUM)
        return NULL;
    for (size_t i = 0; i < t->model->members.n; i++) {
        const struct member *member = t->model->members.at[i];
        if (json_same(member->value, value))
            return member;
    }
    return NULL;
}

/* How the default of a type can be written. */
enum fit {
    FIT_PLAIN, /* as a literal that a type checker takes */
    FIT_ENUM,  /* the same with members of an enum, which are to become their values */
    FIT_MODEL, /* a dict that is to become a model */
    FIT_NOT,   /* it is not of the type: kept as it stands */
};

static enum fit worse(enum fit a, enum fit b)
{
    return a > b ? a : b;
}

static enum fit fit(const struct type *t, const struct json *value)
{
    enum fit all = FIT_PLAIN;
    bool number = json_is_number(value);
    if (json_is_null(value))
        return t->nullable || t->kind == T_NONE || t->kind == T_ANY ? FIT_PLAIN : FIT_NOT;
    switch (t->kind) {
    case T_ANY:
        return FIT_PLAIN;
    case T_STR:
        return json_text(value) ? FIT_PLAIN : FIT_NOT;
    case T_INT:
        return number && json_number(value) == (double)(int64_t)json_number(value) ? FIT_PLAIN
                                                                                    : FIT_NOT;
    case T_FLOAT:
        return number ? FIT_PLAIN : FIT_NOT;
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
        return member_of(t, value) ? FIT_ENUM : FIT_NOT;
    case T_NONE:
    case T_FORMAT:
    case T_TUPLE:
    case T_UNION:
        break;
    }
    return FIT_NOT;
}

/* FIT_PLAIN or FIT_ENUM. */
static void put_default(struct buf *out, const struct type *t, const struct json *value)
{
    const struct member *member = member_of(t, value);
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

/* --- imports --------------------------------------------------------------------------------- */

struct needs {
    struct making *m;
    struct set names;     /* that annotations use; the value is the module they come from */
    struct list in_order; /* the names that have one */
};

static void need(struct needs *n, const char *name, const char *from)
{
    static char nowhere[] = "";
    if (set_has(&n->names, name))
        return;
    set_put(&n->m->arena, &n->names, name, from ? (void *)(uintptr_t)from : nowhere);
    if (from)
        list_add(&n->m->arena, &n->in_order, (void *)(uintptr_t)name);
}

static void need_type(void *ctx, struct type *t)
{
    static const char *const generic[] = {
        [T_ANY] = "Any",
        [T_LITERAL] = "Literal",
        [T_CLASS] = NULL,
    };
    struct needs *n = ctx;
    if (generic[t->kind])
        need(n, generic[t->kind], "typing");
    if (t->generic)
        need(n, t->generic, "builtins");
    if (t->bounds || t->pattern) {
        need(n, "Annotated", "typing");
        need(n, "Field", "pydantic");
    }
    if (t->kind == T_FORMAT)
        need(n, t->format->name, t->format->import);
    if (t->kind == T_CLASS)
        need(n, t->model->name, NULL);
}

static bool defaults_to(const struct field *f, enum fit how)
{
    return f->fallback && !json_is_null(f->fallback) && fit(f->type, f->fallback) == how;
}

/* Its default is to become what the type says, as the members of an enum become their values. */
static bool validates(const struct field *f)
{
    return defaults_to(f, FIT_ENUM);
}

static bool is_optional(const struct field *f)
{
    return f->type->kind != T_NONE && !f->type->nullable && !f->required &&
           !(f->type->kind == T_LITERAL && f->fallback);
}

static void need_field(struct needs *n, const struct field *f)
{
    visit(f->type, need_type, n);
    if (strcmp(f->name, f->wire) != 0 || validates(f))
        need(n, "Annotated", "typing");
    if (strcmp(f->name, f->wire) != 0 || validates(f) || defaults_to(f, FIT_MODEL) ||
        ((json_is_array(f->fallback) || json_is_object(f->fallback)) && !defaults_to(f, FIT_NOT)))
        need(n, "Field", "pydantic");
    if (defaults_to(f, FIT_NOT)) {
        need(n, "Any", "typing");
        need(n, "cast", "typing");
    }
}

static void need_model(struct needs *n, const struct model *model)
{
    switch (model->kind) {
    case M_ENUM:
        need(n, model->integers ? "IntEnum" : "Enum", "enum");
        break;
    case M_ROOT:
        need(n, "RootModel", "pydantic");
        need(n, "Any", "typing");
        visit(model->root, need_type, n);
        break;
    case M_OBJECT:
        need(n, "BaseModel", "pydantic");
        need(n, "ConfigDict", "pydantic");
        if (model->extra_type) {
            visit(model->extra_type, need_type, n);
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
static void put_imports(struct needs *n, const char *module, struct buf *out)
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

void emit_imports(struct making *m, struct buf *out, bool output)
{
    static const char *const modules[] = {"builtins", "datetime", "decimal", "enum",
                                          "ipaddress", "pathlib", "typing",  "uuid"};
    struct needs n = {.m = m};
    for (size_t i = 0; i < m->models.n; i++) {
        const struct model *model = m->models.at[i];
        if (model->state != NOT_BEGUN)
            need_model(&n, model);
    }
    size_t before = out->len;
    for (size_t k = 0; k < sizeof(modules) / sizeof *modules; k++)
        put_imports(&n, modules[k], out);
    (void)buf_adds(out, out->len > before ? "\n" : "");
    put_imports(&n, "pydantic", out);
    (void)buf_addf(out, "\nfrom . import CLIENT%s\n", output ? ", ToolOutput" : "");
}

/* A field hides, in its class, what its name meant: annotations would then mean the field. */
static void free_names(struct making *m, struct model *model)
{
    struct needs n = {.m = m};
    need_model(&n, model);
    for (size_t i = 0; i < model->fields.n; i++) {
        struct field *f = model->fields.at[i];
        set_put(&m->arena, &n.names, arena_textf(&m->arena, "%s ", f->name), f);
    }
    for (size_t i = 0; i < model->fields.n; i++) {
        struct field *f = model->fields.at[i];
        const char *name = f->name;
        for (int k = 1; set_has(&n.names, f->name); k++) {
            f->name = arena_textf(&m->arena, "%s_%d", name, k);
            if (set_has(&n.names, arena_textf(&m->arena, "%s ", f->name)))
                f->name = name;
        }
    }
}

struct hidden { /* other names for what fields hide */
    const char *list, *tuple;
};

static void set_generic(void *ctx, struct type *t)
{
    const struct hidden *hidden = ctx;
    if (t->kind == T_LIST || t->kind == T_TUPLE)
        t->generic = t->kind == T_LIST ? hidden->list : hidden->tuple;
}

void emit_prepare(struct making *m)
{
    bool list = false, tuple = false;
    for (size_t i = 0; i < m->models.n; i++) {
        struct model *model = m->models.at[i];
        free_names(m, model);
        for (size_t k = 0; k < model->fields.n; k++) {
            const struct field *f = model->fields.at[k];
            list |= strcmp(f->name, "list") == 0;
            tuple |= strcmp(f->name, "tuple") == 0;
        }
    }
    const struct hidden hidden = {list ? "_list" : NULL, tuple ? "_tuple" : NULL};
    for (size_t i = 0; i < m->models.n; i++)
        visit_model(m->models.at[i], set_generic, (void *)(uintptr_t)&hidden);
}

/* --- classes --------------------------------------------------------------------------------- */

static void put_enum(struct buf *out, const struct model *model)
{
    (void)buf_addf(out, "\n\nclass %s(%s):\n", model->name, model->integers ? "IntEnum" : "Enum");
    for (size_t i = 0; i < model->members.n; i++) {
        const struct member *member = model->members.at[i];
        (void)buf_addf(out, "    %s = ", member->name);
        put_json(out, member->value);
        (void)buf_addc(out, '\n');
    }
}

static void need_python_re(void *ctx, struct type *t)
{
    bool *needed = ctx;
    *needed |= t->pattern && regex_kind(t->pattern) == REGEX_PYTHON;
}

static void put_config(struct buf *out, const struct model *model)
{
    bool aliases = false, python_re = false;
    for (size_t i = 0; i < model->fields.n; i++) {
        const struct field *f = model->fields.at[i];
        aliases |= strcmp(f->name, f->wire) != 0;
    }
    visit_model(model, need_python_re, &python_re);
    (void)buf_adds(out, "    model_config = ConfigDict(use_enum_values=True");
    if (model->extra)
        (void)buf_addf(out, ", extra=\"%s\"", json_is_false(model->extra) ? "forbid" : "allow");
    if (aliases)
        (void)buf_adds(out, ", populate_by_name=True");
    if (python_re)
        (void)buf_adds(out, ", regex_engine=\"python-re\"");
    (void)buf_adds(out, ")\n");
}

static void put_value(struct buf *out, const struct field *f)
{
    const struct json *value = f->fallback;
    const struct type *t = f->type;
    if (f->required)
        return;
    (void)buf_adds(out, " = ");
    if (!value || json_is_null(value)) {
        (void)buf_adds(out, "None");
    } else if (fit(t, value) == FIT_MODEL) {
        (void)buf_adds(out, "Field(");
        put_json(out, value);
        (void)buf_adds(out, ", validate_default=True)");
    } else if (fit(t, value) == FIT_NOT) {
        (void)buf_adds(out, "cast(Any, ");
        put_json(out, value);
        (void)buf_addc(out, ')');
    } else if (!json_is_array(value) && !json_is_object(value)) {
        put_default(out, t, value);
    } else if (!json_first(value)) {
        const char *list = t->generic ? t->generic : "list";
        (void)buf_addf(out, "Field(default_factory=%s)", json_is_array(value) ? list : "dict");
    } else {
        (void)buf_adds(out, "Field(default_factory=lambda: ");
        put_default(out, t, value);
        (void)buf_addc(out, ')');
    }
}

static void put_field(struct buf *out, const struct field *f)
{
    bool alias = strcmp(f->name, f->wire) != 0, check = validates(f);
    bool optional = is_optional(f);
    (void)buf_addf(out, "    %s: ", f->name);
    (void)buf_adds(out, alias || check ? "Annotated[" : "");
    put_type(out, f->type);
    (void)buf_adds(out, optional ? " | None" : "");
    if (alias || check) {
        (void)buf_adds(out, ", Field(");
        if (alias) {
            (void)buf_adds(out, "alias=");
            put_text(out, f->wire);
        }
        (void)buf_adds(out, check ? alias ? ", validate_default=True" : "validate_default=True"
                                  : "");
        (void)buf_adds(out, ")]");
    }
    put_value(out, f);
    (void)buf_addc(out, '\n');
    if (f->description && *f->description) {
        put_docstring(out, f->description, 4);
        (void)buf_addc(out, '\n');
    }
}

static void put_object(struct buf *out, const struct model *model)
{
    (void)buf_addf(out, "\n\nclass %s(BaseModel):\n", model->name);
    put_config(out, model);
    if (model->extra_type) {
        (void)buf_adds(out, "    __pydantic_extra__: dict[str, ");
        put_type(out, model->extra_type);
        (void)buf_adds(out, "]\n");
    }
    for (size_t i = 0; i < model->fields.n; i++)
        put_field(out, model->fields.at[i]);
}

static void put_root(struct buf *out, const struct model *model)
{
    bool python_re = false;
    visit_model(model, need_python_re, &python_re);
    (void)buf_addf(out, "\n\nclass %s(RootModel[Any]):\n", model->name);
    if (python_re)
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
    struct making *m;
    struct buf *out;
    struct model *of;
};

static void emit_first(void *ctx, struct type *t)
{
    struct order *order = ctx;
    if (t->kind != T_CLASS)
        return;
    if (t->model->state == BEGUN && t->model != order->of)
        order->of->rebuild = true;
    emit_model(order->m, order->out, t->model);
}

void emit_model(struct making *m, struct buf *out, struct model *model)
{
    if (model->state != NOT_BEGUN)
        return;
    model->state = BEGUN;
    struct order order = {m, out, model};
    visit_model(model, emit_first, &order);
    if (model->kind == M_ENUM)
        put_enum(out, model);
    else if (model->kind == M_ROOT)
        put_root(out, model);
    else
        put_object(out, model);
    model->state = WRITTEN;
}

void emit_rebuilds(const struct making *m, struct buf *out)
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
