/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "front/mcp/form.h"

static int fits(const char *properties, const char *required, const char *content, struct err *e)
{
    drop_str char *text = xasprintf("{\"message\":\"?\",\"requestedSchema\":{\"type\":\"object\","
                                    "\"properties\":%s,\"required\":%s}}",
                                    properties, required);
    drop_json struct json *form = json_parse_copy(text, strlen(text), JSON_STRICT, NULL);
    drop_json struct json *tree = json_parse_copy(content, strlen(content), JSON_STRICT, NULL);
    TEST_ASSERT_(form && tree, "%s %s", text, content);
    TEST_CHECK_(form_check(form, e) == 0, "%s: %s", text, e->msg);
    return form_fits(form, tree, e);
}

/* One field "a" of that schema. */
struct one {
    const char *schema, *value;
    const char *why; /* NULL: it fits */
};

static void check_one(const struct one *c)
{
    struct err e = ERR_NONE;
    drop_str char *properties = xasprintf("{\"a\":%s}", c->schema);
    drop_str char *content = xasprintf("{\"a\":%s}", c->value);
    int r = fits(properties, "[]", content, &e);
    TEST_CHECK_(c->why ? r == -EINVAL && strstr(e.msg, c->why) : r == 0, "%s in %s: %s", c->value,
                c->schema, e.msg);
    if (c->why)
        TEST_CHECK_(strstr(e.msg, "content.a: ") != NULL, "%s", e.msg);
}

#define DATED(format) "{\"type\":\"string\",\"format\":\"" format "\"}"
#define CHOICE "{\"type\":\"string\",\"enum\":[\"x\",\"y\"]}"
#define TITLED "{\"type\":\"string\",\"oneOf\":[{\"const\":\"x\",\"title\":\"X\"}]}"
#define LONG "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}"

static void a_string_fits_its_lengths_its_choices_and_its_format(void)
{
    static const struct one cases[] = {
        {"{\"type\":\"string\"}", "\"\"", NULL},
        {"{\"type\":\"string\"}", "1", "a string is needed"},
        {LONG, "\"\xc3\xbc\xc3\xbc\"", NULL},
        {LONG, "\"x\"", "it has 1 characters; 2 to 3"},
        {LONG, "\"xxxx\"", "it has 4"},
        {CHOICE, "\"y\"", NULL},
        {CHOICE, "\"z\"", "not one of the choices"},
        {TITLED, "\"x\"", NULL},
        {TITLED, "\"X\"", "not one of the choices"},
        {DATED("email"), "\"a@b\"", NULL},
        {DATED("email"), "\"a@b@c\"", "this is no email"},
        {DATED("email"), "\"@b\"", "this is no email"},
        {DATED("uri"), "\"https://a/\"", NULL},
        {DATED("uri"), "\"a b:c\"", "this is no uri"},
        {DATED("uri"), "\"/a\"", "this is no uri"},
        {DATED("date"), "\"2026-01-31\"", NULL},
        {DATED("date"), "\"2026-1-31\"", "this is no date"},
        {DATED("date"), "\"2026-01-31T\"", "this is no date"},
        {DATED("date-time"), "\"2026-01-31T10:00:00Z\"", NULL},
        {DATED("date-time"), "\"2026-01-31T10:00:00.25+01:00\"", NULL},
        {DATED("date-time"), "\"2026-01-31T10:00:00\"", "this is no date-time"},
        {DATED("date-time"), "\"2026-01-31\"", "this is no date-time"},
        {DATED("colour"), "\"any\"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_one(&cases[i]);
}

#define BOUNDED "\"minimum\":-1,\"maximum\":2}"

static void numbers_fit_their_bounds(void)
{
    static const struct one cases[] = {
        {"{\"type\":\"number\"," BOUNDED, "1.5", NULL},
        {"{\"type\":\"number\"," BOUNDED, "-1", NULL},
        {"{\"type\":\"number\"," BOUNDED, "-1.5", "must be at least -1"},
        {"{\"type\":\"number\"," BOUNDED, "2.5", "must be at most 2"},
        {"{\"type\":\"number\"}", "\"1\"", "a number is needed"},
        {"{\"type\":\"integer\"," BOUNDED, "2", NULL},
        {"{\"type\":\"integer\"," BOUNDED, "3", "must be at most 2"},
        {"{\"type\":\"integer\"}", "1.5", "a whole number is needed"},
        {"{\"type\":\"integer\"}", "1e300", NULL},
        {"{\"type\":\"integer\"}", "true", "a number is needed"},
        {"{\"type\":\"boolean\"}", "false", NULL},
        {"{\"type\":\"boolean\"}", "0", "true or false"},
        {"{\"type\":\"boolean\"}", "null", "true or false"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_one(&cases[i]);
}

#define LIST                                                                                       \
    "{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,\"items\":{\"type\":\"string\","            \
    "\"enum\":[\"x\",\"y\",\"z\"]}}"
#define TITLED_LIST "{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"x\",\"title\":\"X\"}]}}"

static void several_choices_fit(void)
{
    static const struct one cases[] = {
        {LIST, "[\"x\",\"y\"]", NULL},
        {LIST, "[]", "too few or too many"},
        {LIST, "[\"x\",\"y\",\"z\"]", "too few or too many"},
        {LIST, "[\"w\"]", "an entry is not one of the choices"},
        {LIST, "[1]", "not one of the choices"},
        {LIST, "\"x\"", "an array is needed"},
        {TITLED_LIST, "[\"x\"]", NULL},
        {TITLED_LIST, "[\"X\"]", "not one of the choices"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_one(&cases[i]);
}

static void what_is_required_is_there_and_nothing_unknown(void)
{
    static const char properties[] = "{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"boolean\"}}";
    struct err e = ERR_NONE;
    TEST_CHECK(fits(properties, "[\"a\"]", "{\"a\":\"\"}", &e) == 0);
    TEST_CHECK(fits(properties, "[\"a\"]", "{\"b\":true}", &e) == -EINVAL);
    TEST_CHECK(strcmp(e.msg, "content.a: it is required") == 0);
    TEST_CHECK(fits(properties, "[]", "{\"c\":1}", &e) == -EINVAL);
    TEST_CHECK(strcmp(e.msg, "content.c: the form has no such field") == 0);
    TEST_CHECK(fits("{}", "[]", "{}", &e) == 0);
}

static void only_flat_forms_are_asked(void)
{
    static const struct {
        const char *form;
        bool right;
    } cases[] = {
        {"{\"message\":\"m\",\"requestedSchema\":{\"properties\":{}}}", true},
        {"{\"mode\":\"form\",\"message\":\"m\",\"requestedSchema\":{\"properties\":{}}}", true},
        {"{\"mode\":\"url\",\"message\":\"m\",\"requestedSchema\":{\"properties\":{}}}", false},
        {"{\"requestedSchema\":{\"properties\":{}}}", false},
        {"{\"message\":\"m\"}", false},
        {"{\"message\":\"m\",\"requestedSchema\":{\"properties\":{\"a\":{\"type\":\"object\"}}}}",
         false},
        {"{\"message\":\"m\",\"requestedSchema\":{\"properties\":{\"a\":{}}}}", false},
        {"{\"message\":\"m\",\"requestedSchema\":{\"properties\":{\"a\":{\"type\":\"array\","
         "\"items\":{\"type\":\"object\"}}}}}",
         false},
        {"[]", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_json struct json *form =
            json_parse_copy(cases[i].form, strlen(cases[i].form), JSON_STRICT, NULL);
        TEST_CHECK_((form_check(form, NULL) == 0) == cases[i].right, "%s", cases[i].form);
    }
}

TEST_LIST = {
    {"a_string_fits_its_lengths_its_choices_and_its_format",
     a_string_fits_its_lengths_its_choices_and_its_format},
    {"numbers_fit_their_bounds", numbers_fit_their_bounds},
    {"several_choices_fit", several_choices_fit},
    {"what_is_required_is_there_and_nothing_unknown",
     what_is_required_is_there_and_nothing_unknown},
    {"only_flat_forms_are_asked", only_flat_forms_are_asked},
    {NULL, NULL},
};
