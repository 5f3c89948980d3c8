/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/emit/summary.h"

#include <string.h>

#include "apigen/model/names.h"
#include "base/alloc.h"

enum { VALUES_SHOWN = 8, TYPE_DEPTH_MAX = 4 };

static void put_brief(struct buf *out, const struct model_type *t, int depth);

static void put_brief_args(struct buf *out, const char *generic, const char *between,
                           const struct model_type *t, int depth)
{
    (void)buf_adds(out, generic);
    for (size_t i = 0; i < t->args.n; i++) {
        (void)buf_adds(out, i ? between : "");
        put_brief(out, t->args.at[i], depth + 1);
    }
    (void)buf_adds(out, *generic ? "]" : "");
}

static void put_brief_values(struct buf *out, const struct arena_list *values)
{
    for (size_t i = 0; i < values->n && i < VALUES_SHOWN; i++) {
        (void)buf_adds(out, i ? " | " : "");
        put_json(out, values->at[i]);
    }
    (void)buf_adds(out, values->n > VALUES_SHOWN ? " | …" : "");
}

static void put_brief_enum(struct buf *out, const struct model *model)
{
    for (size_t i = 0; i < model->members.n && i < VALUES_SHOWN; i++) {
        (void)buf_adds(out, i ? " | " : "");
        put_json(out, ((const struct model_member *)model->members.at[i])->value);
    }
    (void)buf_adds(out, model->members.n > VALUES_SHOWN ? " | …" : "");
}

/* Without bounds: what does not keep them is told when it is called. */
static void put_brief(struct buf *out, const struct model_type *t, int depth)
{
    static const char *const names[] = {
        [T_ANY] = "Any",     [T_NONE] = "None", [T_BOOL] = "bool", [T_INT] = "int",
        [T_FLOAT] = "float", [T_STR] = "str",   [T_CLASS] = NULL,
    };
    if (depth > TYPE_DEPTH_MAX)
        (void)buf_adds(out, "…");
    else if (t->kind == T_LITERAL)
        put_brief_values(out, &t->values);
    else if (t->kind == T_CLASS && t->model->kind == M_ENUM)
        put_brief_enum(out, t->model);
    else if (t->kind == T_CLASS)
        (void)buf_adds(out, t->model->name);
    else if (t->kind == T_FORMAT)
        (void)buf_adds(out, t->format->name[0] == '_' ? t->format->name + 1 : t->format->name);
    else if (t->kind == T_LIST)
        put_brief_args(out, "list[", ", ", t, depth);
    else if (t->kind == T_DICT)
        put_brief_args(out, "dict[", ", ", t, depth);
    else if (t->kind == T_TUPLE)
        put_brief_args(out, "tuple[", ", ", t, depth);
    else if (t->kind == T_UNION)
        put_brief_args(out, "", " | ", t, depth);
    else
        (void)buf_adds(out, names[t->kind]);
    if (depth <= TYPE_DEPTH_MAX && t->nullable && t->kind != T_NONE)
        (void)buf_adds(out, " | None");
}

static void put_brief_argument(struct buf *out, const struct model_field *f)
{
    (void)buf_addf(out, "%s: ", f->name);
    put_brief(out, f->type, 0);
    if (f->required)
        return;
    (void)buf_adds(out, " = ");
    if (!f->fallback || json_is_null(f->fallback))
        (void)buf_adds(out, "None");
    else if (json_is_object(f->fallback) || json_is_array(f->fallback))
        (void)buf_adds(out, json_first(f->fallback)      ? "…"
                            : json_is_array(f->fallback) ? "[]"
                                                         : "{}");
    else
        put_json(out, f->fallback);
}

static void put_arguments(struct buf *out, const struct model *params)
{
    size_t begin = out->len, n = 0;
    if (params->kind != M_OBJECT) {
        (void)buf_adds(out, "params: Params");
        return;
    }
    for (int required = 1; required >= 0; required--) {
        for (size_t i = 0; i < params->fields.n; i++) {
            const struct model_field *f = params->fields.at[i];
            if (f->required != (bool)required)
                continue;
            (void)buf_adds(out, n++ ? ", " : "");
            if (out->len - begin > SUMMARY_CALL_MAX) {
                (void)buf_adds(out, "…");
                return;
            }
            put_brief_argument(out, f);
        }
    }
    if (params->open || (params->extra && !json_is_false(params->extra)))
        (void)buf_adds(out, n ? ", **more" : "**more");
}

/* As far as the first full stop with a space after it, the first line break, or the limit. */
static size_t sentence_length(const char *text)
{
    size_t n = 0;
    while (text[n] && !strchr("\r\n", text[n]) && n < SUMMARY_TEXT_MAX) {
        n++;
        if (text[n - 1] == '.' && (text[n] == ' ' || text[n] == '\0'))
            return n;
    }
    while (n > 0 && n == SUMMARY_TEXT_MAX && ((unsigned char)text[n] & 0xC0) == 0x80)
        n--; /* no part of a character */
    return n;
}

void put_summary(struct buf *out, const char *module, const struct model *params,
                 const char *result, const char *description)
{
    (void)buf_addf(out, "%s(", module);
    put_arguments(out, params);
    (void)buf_addf(out, ") -> %s", result);
    const char *text = description ? description + strspn(description, " \t\r\n") : "";
    size_t n = sentence_length(text);
    if (n > 0)
        (void)buf_addf(out, ": %.*s%s", (int)n, text, n >= SUMMARY_TEXT_MAX ? "…" : "");
    (void)buf_addc(out, '\n');
}
