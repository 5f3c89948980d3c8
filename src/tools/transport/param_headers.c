/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/transport/param_headers.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"

#define ANNOTATION "x-mcp-header"

static bool is_token(const char *name)
{
    static const char letters[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return name && *name != '\0' && name[strspn(name, letters)] == '\0';
}

static bool is_primitive(const struct json *schema)
{
    static const char *const types[] = {"string", "integer", "number", "boolean"};
    const char *type = json_get_text(schema, "type");
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++) {
        if (strcmp(type, types[i]) == 0)
            return true;
    }
    return false;
}

struct header_names {
    const char *list[PARAM_HEADERS_MAX];
    size_t n;
};

static int note(struct header_names *names, const struct json *schema, struct err *e)
{
    const char *name = json_get_text(schema, ANNOTATION);
    if (!is_token(name))
        return err_set(e, -EINVAL, ANNOTATION ": not the name of a header");
    if (!is_primitive(schema))
        return err_set(e, -EINVAL, ANNOTATION " \"%s\": not of a string, number or boolean", name);
    for (size_t i = 0; i < names->n; i++) {
        if (strcasecmp(names->list[i], name) == 0)
            return err_set(e, -EINVAL, ANNOTATION " \"%s\": twice", name);
    }
    if (names->n == PARAM_HEADERS_MAX)
        return err_set(e, -EINVAL, ANNOTATION ": more than %d", PARAM_HEADERS_MAX);
    names->list[names->n++] = name;
    return 0;
}

static int check_header_name(struct header_names *names, const struct json *schema, bool reachable,
                             struct err *e);

static int check_all(struct header_names *names, const struct json *members, bool reachable,
                     struct err *e)
{
    int r = 0;
    for (const struct json *v = json_first(members); v && r == 0; v = json_next(v))
        r = check_header_name(names, v, reachable, e);
    return r;
}

/* Walks everything, so that an annotation out of reach is found, too; a schema's depth is bounded
 * by JSON_DEPTH_MAX. */
static int check_header_name(struct header_names *names, const struct json *schema, bool reachable,
                             struct err *e)
{
    int r = 0;
    if (json_is_array(schema))
        return check_all(names, schema, false, e);
    for (const struct json *v = json_first(schema); v && r == 0; v = json_next(v)) {
        const char *key = json_name(v);
        if (strcmp(key, ANNOTATION) == 0)
            r = reachable ? note(names, schema, e)
                          : err_set(e, -EINVAL, ANNOTATION ": not reached by properties alone");
        else if (strcmp(key, "properties") == 0)
            r = check_all(names, v, reachable, e);
        else if (strcmp(key, "default") != 0 && strcmp(key, "examples") != 0 &&
                 strcmp(key, "enum") != 0 && strcmp(key, "const") != 0)
            r = check_header_name(names, v, false, e);
    }
    return r;
}

int param_headers_check(const struct json *schema, struct err *e)
{
    struct header_names names = {.n = 0};
    return check_header_name(&names, schema, true, e);
}

static void put_param_header(struct param_headers *ret, const char *name, struct jsonspan value)
{
    drop_json struct json *j = json_parse_copy(value.at, value.n, JSON_REPAIR, NULL);
    if (!j || json_is_null(j) || json_is_object(j) || json_is_array(j) ||
        ret->n == PARAM_HEADERS_MAX)
        return;
    const char *text = json_text(j);
    ret->list[ret->n++] =
        (struct transport_header){.name = xasprintf("Mcp-Param-%s", name),
                                  .value = text ? xstrdup(text) : xstrndup(value.at, value.n)};
}

static void collect_headers(struct param_headers *ret, const struct json *schema,
                            struct jsonspan object)
{
    const struct json *properties = json_get(schema, "properties");
    for (const struct json *p = json_first(properties); p; p = json_next(p)) {
        struct jsonspan value;
        const char *name = json_get_text(p, ANNOTATION);
        if (!json_name(p) || !jsonspan_get(object, json_name(p), &value))
            continue;
        if (name)
            put_param_header(ret, name, value);
        else if (json_is_object(json_get(p, "properties")))
            collect_headers(ret, p, value);
    }
}

void param_headers_read(const struct json *schema, const char *arguments, struct param_headers *ret)
{
    ret->n = 0;
    collect_headers(ret, schema, JSONSPAN(arguments, strlen(arguments)));
}

void param_headers_done(struct param_headers *headers)
{
    for (size_t i = 0; i < headers->n; i++) {
        xfree((char *)(uintptr_t)headers->list[i].name);
        xfree((char *)(uintptr_t)headers->list[i].value);
    }
    headers->n = 0;
}
