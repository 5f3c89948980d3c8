/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/cli/cli_form.h"

#include <string.h>

#include "base/alloc.h"
#include "front/mcp/ask_text.h"
#include "front/mcp/form.h"

enum { INDENT = 4 };

void cli_form_put_value(struct buf *out, const struct json *value)
{
    drop_str char *text = json_print(value);
    ask_put_visible(out, text ? text : "?", 0);
}

static void put_choices(struct buf *out, const struct json *names, const struct json *titled)
{
    const char *before = "";
    for (const struct json *one = json_first(names); one; one = json_next(one)) {
        (void)buf_adds(out, before);
        ask_put_visible(out, json_text(one) ? json_text(one) : "?", 0);
        before = ", ";
    }
    for (const struct json *one = json_first(titled); one; one = json_next(one)) {
        const char *name = json_get_text(one, "const"), *title = json_get_text(one, "title");
        (void)buf_adds(out, before);
        ask_put_visible(out, name ? name : "?", 0);
        if (title) {
            (void)buf_adds(out, " (");
            ask_put_visible(out, title, 0);
            (void)buf_addc(out, ')');
        }
        before = ", ";
    }
}

static void put_field_bounds(struct buf *out, const struct json *field, const char *least_name,
                             const char *most_name, const char *unit)
{
    const struct json *least = json_get(field, least_name), *most = json_get(field, most_name);
    if (json_is_number(least)) {
        (void)buf_adds(out, ", at least ");
        cli_form_put_value(out, least);
    }
    if (json_is_number(most)) {
        (void)buf_adds(out, ", at most ");
        cli_form_put_value(out, most);
    }
    if (json_is_number(least) || json_is_number(most))
        (void)buf_adds(out, unit);
}

static void put_string_kind(struct buf *out, const struct json *field)
{
    const struct json *names = json_get(field, "enum"), *titled = json_get(field, "oneOf");
    const char *format = json_get_text(field, "format");
    (void)buf_adds(out, json_is_array(names) || json_is_array(titled) ? "one of " : "text");
    put_choices(out, names, titled);
    if (format) {
        (void)buf_adds(out, ", in the form ");
        ask_put_visible(out, format, 0);
    }
    put_field_bounds(out, field, "minLength", "maxLength", " characters");
}

static void put_list_kind(struct buf *out, const struct json *field)
{
    const struct json *items = json_get(field, "items");
    const struct json *names = json_get(items, "enum"), *titled = json_get(items, "anyOf");
    (void)buf_adds(out, json_is_array(names) || json_is_array(titled) ? "any of " : "texts");
    put_choices(out, names, titled);
    put_field_bounds(out, field, "minItems", "maxItems", " of them");
}

static void put_kind(struct buf *out, const struct json *field)
{
    if (form_is(field, "string")) {
        put_string_kind(out, field);
    } else if (form_is(field, "array")) {
        put_list_kind(out, field);
    } else if (form_is(field, "boolean")) {
        (void)buf_adds(out, "yes or no");
    } else {
        (void)buf_adds(out, form_is(field, "integer") ? "a whole number" : "a number");
        put_field_bounds(out, field, "minimum", "maximum", "");
    }
}

static void put_label(struct buf *out, const struct json *field, const char *member)
{
    const char *text = json_get_text(field, member);
    if (!text || !*text)
        return;
    (void)buf_addf(out, "\n%*s", 2 * INDENT, "");
    ask_put_visible(out, text, 2 * INDENT);
}

static void put_form_field(struct buf *out, const struct json *form, const struct json *field)
{
    (void)buf_addf(out, "%*s", INDENT, "");
    ask_put_visible(out, json_name(field), 0);
    (void)buf_adds(out, ": ");
    put_kind(out, field);
    if (form_needs(form, json_name(field)))
        (void)buf_adds(out, "; needed");
    if (json_get(field, "default")) {
        (void)buf_adds(out, "; default ");
        cli_form_put_value(out, json_get(field, "default"));
    }
    put_label(out, field, "title");
    put_label(out, field, "description");
    (void)buf_addc(out, '\n');
}

void cli_form_put(struct buf *out, const struct json *form)
{
    const char *message = json_get_text(form, "message");
    (void)buf_addf(out, "  asks\n%*s", INDENT, "");
    ask_put_visible(out, message ? message : "", INDENT);
    (void)buf_addc(out, '\n');
    if (form_next(form, NULL))
        (void)buf_adds(out, "  fields\n");
    for (const struct json *f = form_next(form, NULL); f; f = form_next(form, f))
        put_form_field(out, form, f);
}
