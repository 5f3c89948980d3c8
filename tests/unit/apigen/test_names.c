/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/model/names.h"

#include <stdio.h>
#include <string.h>

#include "acutest.h"

struct pair {
    const char *in, *out;
};

typedef char *name_fn(struct arena *a, const char *text);

static void check_names(name_fn *fn, const struct pair *pairs, size_t n)
{
    struct arena a = {0};
    for (size_t i = 0; i < n; i++) {
        const char *found = fn(&a, pairs[i].in);
        TEST_CHECK_(strcmp(found, pairs[i].out) == 0, "%s: %s", pairs[i].in, pairs[i].out);
        TEST_MSG("found %s", found);
    }
    arena_done(&a);
}

#define CHECK_NAMES(fn, pairs) check_names(fn, pairs, sizeof(pairs) / sizeof *(pairs))

static void a_module_has_the_tool_s_name_in_lower_case(void)
{
    static const struct pair pairs[] = {
        {"get_file", "get_file"},
        {"Get-File", "get_file"},
        {"elicit (form)", "elicit__form_"},
        {"a.b/c", "a_b_c"},
        {"caf\xc3\xa9", "caf_"},
        {"x\xf0\x9f\x98\x80y", "x_y"},
        {"../../etc", "______etc"},
        {"a\xc0\x80z", "a_z"}, /* NUL */
        {"\xff\xfe", "__"},    /* no UTF-8 */
        {"", ""},
    };
    CHECK_NAMES(name_module, pairs);
}

static void a_field_is_an_identifier(void)
{
    static const struct pair pairs[] = {
        {"path", "path"},
        {"x-y", "x_y"},
        {"2nd", "field_2nd"},
        {"_id", "field_id"},
        {"__class__", "field__class__"},
        {"", "field_"},
        {"@type", "field_type"},
        {"$ref", "field_ref"},
        {"class", "class_"},
        {"None", "None_"},
        {"async", "async_"},
        {"match", "match"}, /* a soft keyword may be a name */
        {"gr\xc3\xb6\xc3\x9f"
         "e",
         "gr\xc3\xb6\xc3\x9f"
         "e"},
        {"\xe6\x97\xa5\xe6\x9c\xac", "\xe6\x97\xa5\xe6\x9c\xac"},
        {"\xef\xac\x81", "field_"}, /* the ligature fi is two letters to Python */
        {"a\xe2\x80\xa8"
         "b",
         "a_b"}, /* line separator */
        {"a\nimport os", "a_import_os"},
    };
    CHECK_NAMES(name_field, pairs);
}

static void a_class_is_in_camel_case(void)
{
    static const struct pair pairs[] = {
        {"sort", "Sort"},
        {"pull_request", "PullRequest"},
        {"perPage", "PerPage"},
        {"HTTPHeader", "HTTPHeader"},
        {"x-rate-limit", "XRateLimit"},
        {"class", "Class"},
        {"2nd", "Field2nd"},
        {"\xc3\xa9tat", "\xc3\x89tat"},
        {"\xd0\xb4\xd0\xb0", "\xd0\x94\xd0\xb0"},
    };
    CHECK_NAMES(name_class, pairs);
}

static void an_item_is_called_by_the_singular(void)
{
    static const struct pair pairs[] = {
        {"Files", "File"},        {"Entities", "Entity"}, {"Boxes", "Box"},
        {"Classes", "Class"},     {"Branches", "Branch"}, {"Children", "Child"},
        {"People", "Person"},     {"Data", "Datum"},      {"Series", "Series"},
        {"Movies", "Movie"},      {"Leaves", "Leaf"},     {"News", "News"},
        {"Status", "StatusItem"}, {"List", "ListItem"},   {"Address", "AddressItem"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof(pairs) / sizeof *pairs; i++) {
        const char *found = name_singular(&a, pairs[i].in, "Item");
        TEST_CHECK_(strcmp(found, pairs[i].out) == 0, "%s: %s", pairs[i].in, pairs[i].out);
        TEST_MSG("found %s", found);
    }
    arena_done(&a);
}

/* --- literals -------------------------------------------------------------------------------- */

static void expect(struct buf *out, const char *text)
{
    TEST_CHECK_(strcmp(buf_text(out), text) == 0, "%s", text);
    TEST_MSG("found %s", buf_text(out));
    buf_done(out);
}

static void a_text_is_one_literal(void)
{
    static const struct pair pairs[] = {
        {"plain", "\"plain\""},
        {"\"", "\"\\\"\""},
        {"\\", "\"\\\\\""},
        {"\\N{BELL}", "\"\\\\N{BELL}\""},
        {"a\nb\tc\r", "\"a\\nb\\tc\\r\""},
        {"\xc0\x80", "\"\\x00\""},
        {"\x1b[31m\x7f", "\"\\x1b[31m\\x7f\""},
        {"\xe2\x80\xa8\xe2\x80\xae\xe2\x80\x8b", "\"\\u2028\\u202e\\u200b\""},
        {"\xf3\xa0\x81\x81", "\"\\U000e0041\""},
        {"\xc3\xa9 \xf0\x9f\x98\x80", "\"\xc3\xa9 \xf0\x9f\x98\x80\""},
        {"{x} %s '", "\"{x} %s '\""},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof *pairs; i++) {
        struct buf out = BUF_INIT(1000);
        put_text(&out, pairs[i].in);
        expect(&out, pairs[i].out);
    }
}

static void a_description_does_not_end_its_docstring(void)
{
    static const struct pair pairs[] = {
        {"plain", "  \"\"\"plain\"\"\""},
        {"\"\"\"\nimport os", "  \"\"\"\n  \\\"\\\"\\\"\n  import os\n  \"\"\""},
        {"ends with \"", "  \"\"\"ends with \\\"\"\"\""},
        {"\"begins", "  \"\"\"\\\"begins\"\"\""},
        {"a \"word\" in it", "  \"\"\"a \"word\" in it\"\"\""},
        {"\\", "  \"\"\"\\\\\"\"\""},
        {"\\\"\"\"", "  \"\"\"\\\\\\\"\\\"\\\"\"\"\""},
        {"\\N{DIGIT ONE} \\x41", "  \"\"\"\\\\N{DIGIT ONE} \\\\x41\"\"\""},
        {"one\n\n  two\n", "  \"\"\"\n  one\n\n    two\n  \"\"\""},
        {"\xc0\x80\r\f", "  \"\"\"\\x00\\r\\x0c\"\"\""},
        {"a\xe2\x80\xa9"
         "b\xe2\x80\xae",
         "  \"\"\"a\\u2029b\\u202e\"\"\""},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof *pairs; i++) {
        struct buf out = BUF_INIT(1000);
        put_docstring(&out, pairs[i].in, 2);
        expect(&out, pairs[i].out);
    }
}

static void a_long_description_stops_at_the_limit(void)
{
    struct buf text = BUF_INIT(1 << 20), out = BUF_INIT(1000);
    for (int i = 0; i < 100000; i++)
        (void)buf_adds(&text, "\"\"\"");
    put_docstring(&out, buf_text(&text), 4);
    TEST_CHECK(out.failed == -EMSGSIZE);
    TEST_CHECK(out.len <= 1000);
    buf_done(&text);
    buf_done(&out);
}

static void a_comment_stays_on_its_line(void)
{
    struct buf out = BUF_INIT(4000), text = BUF_INIT(4000);
    put_comment(&out, "a\nimport os\r\xe2\x80\xa8");
    expect(&out, "a\\nimport os\\r\\u2028");
    for (int i = 0; i < 1000; i++)
        (void)buf_addc(&text, 'x');
    put_comment(&out, buf_text(&text));
    TEST_CHECK(out.len < 300 && strstr(buf_text(&out), " ..."));
    buf_done(&out);
    buf_done(&text);
}

static void a_number_is_written_as_short_as_it_reads_back(void)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0, "0"},          {-0.0, "0"},
                {30, "30"},        {-1.5, "-1.5"},
                {0.1, "0.1"},      {1e20, "100000000000000000000"},
                {1e300, "1e+300"}, {1.0 / 3, "0.3333333333333333"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof *rows; i++) {
        struct buf out = BUF_INIT(1000);
        put_number(&out, rows[i].value);
        expect(&out, rows[i].text);
    }
}

static void a_value_is_a_literal(void)
{
    static const char text[] = "{\"a\":[1,2.5,null,true,false,\"x\\\"\"],\"\":{}}";
    drop_json struct json *j = json_parse_copy(text, sizeof text - 1, JSON_STRICT, NULL);
    struct buf out = BUF_INIT(1000);
    put_json(&out, j);
    expect(&out, "{\"a\": [1, 2.5, None, True, False, \"x\\\"\"], \"\": {}}");
}

TEST_LIST = {
    {"a module has the tool's name in lower case", a_module_has_the_tool_s_name_in_lower_case},
    {"a field is an identifier", a_field_is_an_identifier},
    {"a class is in camel case", a_class_is_in_camel_case},
    {"an item is called by the singular", an_item_is_called_by_the_singular},
    {"a text is one literal", a_text_is_one_literal},
    {"a description does not end its docstring", a_description_does_not_end_its_docstring},
    {"a long description stops at the limit", a_long_description_stops_at_the_limit},
    {"a comment stays on its line", a_comment_stays_on_its_line},
    {"a number is written as short as it reads back",
     a_number_is_written_as_short_as_it_reads_back},
    {"a value is a literal", a_value_is_a_literal},
    {NULL, NULL},
};
