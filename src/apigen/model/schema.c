/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/model/schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/hexdigit.h"

enum { REF_HOPS = 32, ANCHOR_DEPTH = 16, LARGE = 32 };

/* --- references ------------------------------------------------------------------------------ */

/* One token of a pointer in a fragment: %XX, then ~1 and ~0 (RFC 6901, section 6). */
static char *token(struct arena *a, const char *from, size_t n)
{
    char *text = arena_text(a, from, n), *to = text;
    for (const char *s = text; *s; s++) {
        const int high = s[0] == '%' ? hexdigit(s[1]) : -1, low = high >= 0 ? hexdigit(s[2]) : -1;
        if (low >= 0 && (high || low)) {
            *to++ = (char)(high * 16 + low);
            s += 2;
        } else {
            *to++ = *s;
        }
    }
    *to = '\0';
    to = text;
    for (const char *s = text; *s; s++) {
        bool escape = s[0] == '~' && (s[1] == '0' || s[1] == '1');
        *to++ = !escape ? *s : s[1] == '0' ? '~' : '/';
        s += escape;
    }
    *to = '\0';
    return text;
}

struct target { /* of a reference, and what it is called there */
    const struct json *schema;
    const char *name;
};

/* Pointers into large objects would else be a way to make much work of little text. */
static const struct json *member(struct document *d, const struct json *object, const char *name)
{
    struct set *names = map_get(&d->members, object);
    if (!names) {
        if (!json_is_object(object) || json_count(object) < LARGE)
            return json_get(object, name);
        names = arena_get(d->arena, sizeof(*names));
        for (const struct json *v = json_first(object); v; v = json_next(v))
            set_put(d->arena, names, json_name(v), (void *)(uintptr_t)v);
        map_put(d->arena, &d->members, object, names);
    }
    return set_get(names, name);
}

static const struct json *step_schema(struct document *d, const struct json *at, const char *name)
{
    if (!json_is_array(at))
        return member(d, at, name);
    char *end = NULL;
    unsigned long i = strtoul(name, &end, 10);
    const struct json *item = *name && !*end ? json_first(at) : NULL;
    while (item && i-- > 0)
        item = json_next(item);
    return item;
}

/* The first of equal names counts. */
static void read_anchors(struct document *d, const struct json *at, int depth)
{
    const char *id = json_get_text(at, "$id");
    const char *names[] = {json_get_text(at, "$anchor"), id && id[0] == '#' ? id + 1 : NULL};
    for (int i = 0; i < 2; i++) {
        if (names[i] && !set_has(&d->anchors, names[i]))
            set_put(d->arena, &d->anchors, names[i], (void *)(uintptr_t)at);
    }
    for (const struct json *v = json_first(at); v && depth > 0; v = json_next(v))
        read_anchors(d, v, depth - 1);
}

static struct target anchored(struct document *d, const char *anchor)
{
    if (!d->anchors_read)
        read_anchors(d, d->root, ANCHOR_DEPTH);
    d->anchors_read = true;
    const struct json *at = set_get(&d->anchors, anchor);
    return (struct target){at, json_name(at) ? json_name(at) : anchor};
}

static struct target find_target(struct document *d, const char *ref)
{
    const char *id = json_get_text(d->root, "$id");
    size_t base = id ? strcspn(id, "#") : 0;
    if (base > 0 && strncmp(ref, id, base) == 0 && (ref[base] == '#' || ref[base] == '\0'))
        ref += base;
    if (ref[0] == '#')
        ref++;
    else if (*ref)
        return (struct target){NULL, ""};
    if (*ref && *ref != '/')
        return anchored(d, ref);
    struct target t = {d->root, ""};
    while (*ref == '/' && t.schema) {
        size_t n = strcspn(++ref, "/");
        t.name = token(d->arena, ref, n);
        t.schema = step_schema(d, t.schema, t.name);
        ref += n;
    }
    return t;
}

const struct json *schema_target(struct document *d, const char *ref, const char **ret_name)
{
    struct target *known = set_get(&d->targets, ref);
    if (!known) {
        known = arena_get(d->arena, sizeof(*known));
        *known = find_target(d, ref);
        set_put(d->arena, &d->targets, ref, known);
    }
    *ret_name = known->name;
    return known->schema;
}

/* --- what a schema says ---------------------------------------------------------------------- */

bool schema_says_more(const struct json *schema, const char *except)
{
    static const char *const keywords[] = {
        "$ref",
        "type",
        "properties",
        "required",
        "allOf",
        "anyOf",
        "oneOf",
        "additionalProperties",
        "enum",
        "const",
        "patternProperties",
        "unevaluatedProperties",
        "items",
        "prefixItems",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "pattern",
        "multipleOf",
        "minItems",
        "maxItems",
        "propertyNames",
        "minProperties",
        "maxProperties",
        "format",
    };
    for (size_t i = 0; i < sizeof(keywords) / sizeof *keywords; i++) {
        if (strcmp(keywords[i], except) != 0 && json_get(schema, keywords[i]))
            return true;
    }
    return false;
}

static void add_schema(struct document *d, struct view *v, const struct json *schema, int hops)
{
    for (int i = 0; i < v->n; i++) {
        if (v->part[i] == schema)
            return;
    }
    if (!json_is_object(schema))
        return;
    if (v->n == VIEW_PARTS || hops == 0) {
        v->over = true;
        return;
    }
    v->part[v->n++] = schema;
    const char *ref = json_get_text(schema, "$ref"), *name;
    if (ref)
        add_schema(d, v, schema_target(d, ref, &name), hops - 1);
    for (const struct json *s = json_first(json_get(schema, "allOf")); s && !v->over;
         s = json_next(s))
        add_schema(d, v, s, hops - 1);
}

void view_add(struct document *d, struct view *v, const struct json *schema)
{
    add_schema(d, v, schema, REF_HOPS);
}

const struct json *view_get(const struct view *v, const char *keyword)
{
    const struct json *found = NULL;
    for (int i = 0; i < v->n && !found; i++)
        found = json_get(v->part[i], keyword);
    return found;
}

const char *view_text(const struct view *v, const char *keyword)
{
    const char *found = NULL;
    for (int i = 0; i < v->n && !found; i++)
        found = json_get_text(v->part[i], keyword);
    return found;
}

static bool strictest(const struct view *v, const char *keyword, bool least, double *ret)
{
    bool found = false;
    for (int i = 0; i < v->n; i++) {
        const struct json *j = json_get(v->part[i], keyword);
        double value = json_number(j);
        if (!json_is_number(j))
            continue;
        if (!found || (least ? value > *ret : value < *ret))
            *ret = value;
        found = true;
    }
    return found;
}

bool view_least(const struct view *v, const char *keyword, double *ret)
{
    return strictest(v, keyword, true, ret);
}

bool view_most(const struct view *v, const char *keyword, double *ret)
{
    return strictest(v, keyword, false, ret);
}

const struct json *view_choice(const struct view *v)
{
    static const char *const keywords[] = {"anyOf", "oneOf"};
    for (int i = 0; i < v->n * 2; i++) {
        const struct json *choice = json_get(v->part[i / 2], keywords[i % 2]);
        bool spent = !json_is_array(choice) || !json_first(choice);
        for (int k = 0; k < v->n_expired && !spent; k++)
            spent = v->spent[k] == choice;
        if (!spent)
            return choice;
    }
    return NULL;
}

bool json_is_false(const struct json *j)
{
    return json_is_bool(j) && !json_true(j);
}

const struct json *view_additional(const struct view *v)
{
    const struct json *found = NULL;
    for (int i = 0; i < v->n; i++) {
        const struct json *here = json_get(v->part[i], "additionalProperties");
        if (!here)
            here = json_get(v->part[i], "unevaluatedProperties");
        if (here && (!found || json_is_false(here) || !json_is_object(found)))
            found = here;
        if (json_is_false(found))
            return found;
    }
    return found;
}

static bool names_type(const struct json *types, const char *type)
{
    if (json_text(types))
        return strcmp(json_text(types), type) == 0;
    for (const struct json *t = json_first(types); t; t = json_next(t)) {
        if (json_text(t) && strcmp(json_text(t), type) == 0)
            return true;
    }
    return false;
}

bool view_type(const struct view *v, const char *type, bool otherwise)
{
    bool said = false;
    for (int i = 0; i < v->n; i++) {
        const struct json *types = json_get(v->part[i], "type");
        bool wider = strcmp(type, "integer") == 0 && names_type(types, "number");
        bool null = strcmp(type, "null") == 0 && json_true(json_get(v->part[i], "nullable"));
        if (!json_text(types) && !json_is_array(types))
            continue;
        if (!names_type(types, type) && !null && !(wider && said))
            return false;
        said = true;
    }
    return said || otherwise;
}
