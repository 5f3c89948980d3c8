/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/model/scalar.h"

#include <math.h>
#include <string.h>

#include "apigen/model/regex.h"

static const double COUNT_MAX = 9e15; /* beyond it a double is no count any more */

struct model_type *type_new(struct model_making *m, enum type_kind kind)
{
    struct model_type *t = arena_get(&m->arena, sizeof(*t));
    t->kind = kind;
    return t;
}

void type_bound(struct model_type *t, enum bound bound, double value)
{
    t->bounds |= 1U << bound;
    t->bound[bound] = value;
}

void type_length(struct model_type *t, const struct view *v, const char *least, const char *most)
{
    double n;
    if (view_least(v, least, &n) && n > 0 && n < COUNT_MAX && n == floor(n))
        type_bound(t, B_MIN_LENGTH, n);
    if (view_most(v, most, &n) && n >= 0 && n < COUNT_MAX && n == floor(n))
        type_bound(t, B_MAX_LENGTH, n);
}

const char *type_pattern(const char *pattern)
{
    return pattern && regex_kind(pattern) != REGEX_NONE ? pattern : NULL;
}

/* email and password are plain strings: the one would need a package that is not there, the other
 * would be sent as asterisks. */
static const struct format *find_format(const char *name)
{
    static const struct format formats[] = {
        {"date-time", "AwareDatetime", "pydantic"},
        {"date-time-local", "NaiveDatetime", "pydantic"},
        {"date", "_date", "datetime"},
        {"time", "_time", "datetime"},
        {"time-local", "_time", "datetime"},
        {"duration", "_timedelta", "datetime"},
        {"uri", "AnyUrl", "pydantic"},
        {"uuid", "_UUID", "uuid"},
        {"uuid1", "UUID1", "pydantic"},
        {"uuid2", "_UUID", "uuid"},
        {"uuid3", "UUID3", "pydantic"},
        {"uuid4", "UUID4", "pydantic"},
        {"uuid5", "UUID5", "pydantic"},
        {"ipv4", "IPv4Address", "ipaddress"},
        {"ipv4-network", "IPv4Network", "ipaddress"},
        {"ipv6", "IPv6Address", "ipaddress"},
        {"ipv6-network", "IPv6Network", "ipaddress"},
        {"byte", "Base64Str", "pydantic"},
        {"binary", "bytes", NULL},
        {"decimal", "_Decimal", "decimal"},
        {"path", "_Path", "pathlib"},
    };
    for (size_t i = 0; name && i < sizeof(formats) / sizeof *formats; i++) {
        if (strcmp(formats[i].format, name) == 0)
            return &formats[i];
    }
    return NULL;
}

struct model_type *type_string(struct model_making *m, const struct view *v)
{
    static const char hostname[] = "^(([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\\-]{0,61}[a-zA-Z0-9])\\.)*"
                                   "([A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9\\-]{0,61}[A-Za-z0-9])$";
    const char *name = view_text(v, "format");
    const struct format *format = find_format(name);
    struct model_type *t = type_new(m, format ? T_FORMAT : T_STR);
    bool bytes = name && strcmp(name, "binary") == 0, host = name && strcmp(name, "hostname") == 0;
    t->format = format;
    if (!format)
        t->pattern = host ? hostname : type_pattern(view_text(v, "pattern"));
    if (bytes || (!format && !host))
        type_length(t, v, "minLength", "maxLength");
    return t;
}

/* draft-04 had exclusiveMinimum as a boolean beside minimum. */
static bool made_exclusive(const struct view *v, const char *keyword)
{
    return json_true(view_get(v, keyword));
}

struct model_type *type_integer(struct model_making *m, const struct view *v)
{
    struct model_type *t = type_new(m, T_INT);
    double n;
    if (view_least(v, "minimum", &n))
        type_bound(t, made_exclusive(v, "exclusiveMinimum") ? B_GT : B_GE, ceil(n));
    if (view_most(v, "maximum", &n))
        type_bound(t, made_exclusive(v, "exclusiveMaximum") ? B_LT : B_LE, floor(n));
    if (view_least(v, "exclusiveMinimum", &n))
        type_bound(t, B_GT, floor(n));
    if (view_most(v, "exclusiveMaximum", &n))
        type_bound(t, B_LT, ceil(n));
    if (view_least(v, "multipleOf", &n) && n >= 1 && n < COUNT_MAX && n == floor(n))
        type_bound(t, B_MULTIPLE, n);
    return t;
}

struct model_type *type_number(struct model_making *m, const struct view *v)
{
    struct model_type *t = type_new(m, T_FLOAT);
    double n;
    if (view_least(v, "minimum", &n))
        type_bound(t, made_exclusive(v, "exclusiveMinimum") ? B_GT : B_GE, n);
    if (view_most(v, "maximum", &n))
        type_bound(t, made_exclusive(v, "exclusiveMaximum") ? B_LT : B_LE, n);
    if (view_least(v, "exclusiveMinimum", &n))
        type_bound(t, B_GT, n);
    if (view_most(v, "exclusiveMaximum", &n))
        type_bound(t, B_LT, n);
    if (view_least(v, "multipleOf", &n) && n > 0)
        type_bound(t, B_MULTIPLE, n);
    return t;
}
