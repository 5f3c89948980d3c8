/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp/form.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"

struct form_field {
    const char *name;
    const struct json *schema, *value;
};

static const struct json *properties_of(const struct json *form)
{
    return json_get(json_get(form, "requestedSchema"), "properties");
}

/* --- strings ---------------------------------------------------------------------------------- */

/* "dddd-dd-dd", d for a digit; any other character stands for itself. How many bytes; 0: not so. */
static size_t match_digits(const char *text, const char *shape)
{
    size_t n = 0;
    for (; shape[n]; n++) {
        if (shape[n] == 'd' ? !isdigit((unsigned char)text[n]) : text[n] != shape[n])
            return 0;
    }
    return n;
}

static bool is_date(const char *text)
{
    size_t n = match_digits(text, "dddd-dd-dd");
    return n > 0 && text[n] == '\0';
}

/* RFC 3339, as far as its form goes. */
static bool is_date_time(const char *text)
{
    size_t n = match_digits(text, "dddd-dd-dd");
    if (n == 0 || !strchr("Tt ", text[n]) || text[n] == '\0')
        return false;
    text += n + 1;
    n = match_digits(text, "dd:dd:dd");
    if (n == 0)
        return false;
    text += n;
    if (*text == '.')
        text += 1 + strspn(text + 1, "0123456789");
    if (*text == 'Z' || *text == 'z')
        return text[1] == '\0';
    return (match_digits(text, "+dd:dd") || match_digits(text, "-dd:dd")) && text[6] == '\0';
}

static bool is_email(const char *text)
{
    const char *at = strchr(text, '@');
    return at && at > text && at[1] && !strchr(at + 1, '@') && !strpbrk(text, " \t\r\n");
}

static bool is_uri(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    return isalpha((unsigned char)*text) && text[n] == ':' && text[n + 1] &&
           !strpbrk(text, " \t\r\n");
}

static bool has_format(const char *text, const char *format)
{
    static const struct {
        const char *name;
        bool (*is)(const char *text);
    } formats[] = {
        {"email", is_email}, {"uri", is_uri}, {"date", is_date}, {"date-time", is_date_time}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (format && strcmp(format, formats[i].name) == 0)
            return formats[i].is(text);
    }
    return true;
}

/* names: ["a", …]; titled: [{"const": "a", "title": …}, …]; each may be NULL. */
static bool is_choice(const char *text, const struct json *names, const struct json *titled)
{
    for (const struct json *one = json_first(names); one; one = json_next(one)) {
        if (json_text(one) && strcmp(json_text(one), text) == 0)
            return true;
    }
    for (const struct json *one = json_first(titled); one; one = json_next(one)) {
        const char *name = json_get_text(one, "const");
        if (name && strcmp(name, text) == 0)
            return true;
    }
    return !json_is_array(names) && !json_is_array(titled);
}

/* -1: there is none. */
static double bound(const struct json *schema, const char *name)
{
    const struct json *limit = json_get(schema, name);
    return json_is_number(limit) ? json_number(limit) : -1;
}

static int string_fits(const struct form_field *f, struct err *e)
{
    const char *text = json_text(f->value);
    if (!text)
        return err_set(e, -EINVAL, "content.%.80s: a string is needed", f->name);
    double n = (double)utf8_count(text, strlen(text));
    double least = bound(f->schema, "minLength"), most = bound(f->schema, "maxLength");
    if (n < least || (most >= 0 && n > most))
        return err_set(e, -EINVAL, "content.%.80s: it has %g characters; %g to %g are allowed",
                       f->name, n, least > 0 ? least : 0, most >= 0 ? most : 1e9);
    if (!is_choice(text, json_get(f->schema, "enum"), json_get(f->schema, "oneOf")))
        return err_set(e, -EINVAL, "content.%.80s: not one of the choices", f->name);
    const char *format = json_get_text(f->schema, "format");
    if (!has_format(text, format))
        return err_set(e, -EINVAL, "content.%.80s: this is no %.20s", f->name, format);
    return 0;
}

/* --- the other kinds -------------------------------------------------------------------------- */

static int number_fits(const struct form_field *f, struct err *e)
{
    const struct json *least = json_get(f->schema, "minimum");
    const struct json *most = json_get(f->schema, "maximum");
    double n = json_number(f->value);
    if (!json_is_number(f->value))
        return err_set(e, -EINVAL, "content.%.80s: a number is needed", f->name);
    if (json_is_number(least) && n < json_number(least))
        return err_set(e, -EINVAL, "content.%.80s: must be at least %g", f->name,
                       json_number(least));
    if (json_is_number(most) && n > json_number(most))
        return err_set(e, -EINVAL, "content.%.80s: must be at most %g", f->name, json_number(most));
    return 0;
}

static int integer_fits(const struct form_field *f, struct err *e)
{
    double n = json_number(f->value);
    bool whole = n > -1e18 && n < 1e18 ? (double)(int64_t)n >= n && (double)(int64_t)n <= n : true;
    if (json_is_number(f->value) && !whole)
        return err_set(e, -EINVAL, "content.%.80s: a whole number is needed", f->name);
    return number_fits(f, e);
}

static int boolean_fits(const struct form_field *f, struct err *e)
{
    return json_is_bool(f->value)
               ? 0
               : err_set(e, -EINVAL, "content.%.80s: true or false is needed", f->name);
}

static int array_fits(const struct form_field *f, struct err *e)
{
    const struct json *items = json_get(f->schema, "items");
    double n = (double)json_count(f->value), most = bound(f->schema, "maxItems");
    if (!json_is_array(f->value))
        return err_set(e, -EINVAL, "content.%.80s: an array is needed", f->name);
    if (n < bound(f->schema, "minItems") || (most >= 0 && n > most))
        return err_set(e, -EINVAL, "content.%.80s: %g entries are too few or too many", f->name, n);
    for (const struct json *one = json_first(f->value); one; one = json_next(one)) {
        if (!json_text(one) ||
            !is_choice(json_text(one), json_get(items, "enum"), json_get(items, "anyOf")))
            return err_set(e, -EINVAL, "content.%.80s: an entry is not one of the choices",
                           f->name);
    }
    return 0;
}

static const struct kind {
    const char *name;
    int (*fits)(const struct form_field *f, struct err *e);
} kinds[] = {{"string", string_fits},
             {"number", number_fits},
             {"integer", integer_fits},
             {"boolean", boolean_fits},
             {"array", array_fits}};

static const struct kind *form_kind_of(const struct json *schema)
{
    const char *type = json_get_text(schema, "type");
    for (size_t i = 0; type && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(type, kinds[i].name) == 0)
            return &kinds[i];
    }
    return NULL;
}

/* --- the whole -------------------------------------------------------------------------------- */

int form_check(const struct json *form, struct err *e)
{
    const char *mode = json_get_text(form, "mode");
    if ((mode && strcmp(mode, "form") != 0) || !json_get_text(form, "message") ||
        !json_is_object(properties_of(form)))
        return err_set(e, -EINVAL, "not a form: a message and a schema are needed");
    for (const struct json *p = json_first(properties_of(form)); p; p = json_next(p)) {
        const struct kind *kind = form_kind_of(p);
        if (!kind)
            return err_set(e, -EINVAL, "%.80s: a field of an unknown kind", json_name(p));
        const char *type = json_get_text(json_get(p, "items"), "type");
        if (kind->fits == array_fits && (!type || strcmp(type, "string") != 0) &&
            !json_is_array(json_get(json_get(p, "items"), "anyOf")))
            return err_set(e, -EINVAL, "%.80s: an array of something else", json_name(p));
    }
    return 0;
}

int form_field_fits(const struct json *form, const struct json *member, struct err *e)
{
    const char *name = json_name(member);
    struct form_field f = {name, json_get(properties_of(form), name), member};
    const struct kind *kind = form_kind_of(f.schema);
    return kind ? kind->fits(&f, e)
                : err_set(e, -EINVAL, "content.%.80s: the form has no such field", name);
}

static const struct json *needed_by(const struct json *form)
{
    return json_get(json_get(form, "requestedSchema"), "required");
}

int form_fits(const struct json *form, const struct json *content, struct err *e)
{
    for (const struct json *one = json_first(content); one; one = json_next(one)) {
        int r = form_field_fits(form, one, e);
        if (r < 0)
            return r;
    }
    for (const struct json *one = json_first(needed_by(form)); one; one = json_next(one)) {
        if (json_text(one) && !json_get(content, json_text(one)))
            return err_set(e, -EINVAL, "content.%.80s: it is required", json_text(one));
    }
    return 0;
}

/* --- fields, one by one ----------------------------------------------------------------------- */

/* Of equal names the last is the field. */
const struct json *form_next(const struct json *form, const struct json *field)
{
    const struct json *all = properties_of(form);
    field = field ? json_next(field) : json_first(all);
    while (field && json_get(all, json_name(field)) != field)
        field = json_next(field);
    return field;
}

bool form_needs(const struct json *form, const char *name)
{
    const struct json *one = json_first(needed_by(form));
    while (one && !(json_text(one) && strcmp(json_text(one), name) == 0))
        one = json_next(one);
    return one != NULL;
}

bool form_is(const struct json *field, const char *kind)
{
    const char *type = json_get_text(field, "type");
    return type && strcmp(type, kind) == 0;
}
