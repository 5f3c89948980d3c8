/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "base/json/jsonstr.h"

static void simple_strings_are_taken(void)
{
    static const char *const cases[][2] = {
        {"\"", ""},
        {"plain\" rest", "plain"},
        {"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\\u0041\\u00e9\\u20AC\\u001b[0m\"", "A\u00e9\u20ac\033[0m"},
        {"\u00e9\u20ac\U0001f600\x7F\"", "\u00e9\u20ac\U0001f600\x7F"},
        {"eight by\\\\\"", "eight by\\"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = cases[i][0], *end = at + strlen(at);
        drop_str char *text = jsonstr_take(&at, end);
        TEST_CHECK_(text && strcmp(text, cases[i][1]) == 0, "%s", cases[i][0]);
        TEST_CHECK(at > cases[i][0] && at[-1] == '"');
    }
}

static void others_are_left_to_the_parser(void)
{
    static const char *const cases[] = {
        "",
        "no end",
        "no end\\\"",
        "\\",
        "\\u0000\"",
        "\\ud83d\\ude00\"",
        "\\udc00\"",
        "\\u12\"",
        "\\u12g4\"",
        "\\x41\"",
        "\\\xC3\xA9\"",
        "a\nb\"",
        "\xFF\"",
        "\xC3\"",
        "\xC0\x80\"",
        "\xC3\\u0041\"",
        "\\u00e9\x80\"",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = cases[i];
        drop_str char *text = jsonstr_take(&at, cases[i] + strlen(cases[i]));
        TEST_CHECK_(!text && at == cases[i], "%s", cases[i]);
    }
}

static void each_byte_at_each_place_arrives_or_is_left(void)
{
    for (unsigned place = 0; place < 24; place++)
        for (unsigned byte = 1; byte < 0x80; byte++) {
            char literal[] = "xxxxxxxxxxxxxxxxxxxxxxxx\"";
            literal[place] = (char)byte;
            const char *at = literal;
            drop_str char *text = jsonstr_take(&at, literal + 25);
            if (byte == '"') {
                TEST_CHECK(text && strlen(text) == place);
            } else {
                const bool simple = byte >= 0x20 && byte != '\\';
                TEST_CHECK_((text != NULL) == simple, "%u at %u", byte, place);
                TEST_CHECK(!text || strncmp(text, literal, 24) == 0);
            }
        }
}

/* --- in an object that is long enough --------------------------------------------------------- */

static struct json *parse_long(const char *before, const char *after)
{
    struct buf b = BUF_INIT(1 << 20);
    (void)buf_adds(&b, before);
    for (int i = 0; i < 1000; i++)
        (void)buf_adds(&b, "padding ");
    (void)buf_adds(&b, after);
    struct json *j = json_parse(b.data, b.len, JSON_STRICT, NULL);
    buf_done(&b);
    return j;
}

static void a_long_object_is_read_like_any(void)
{
    drop_json struct json *j =
        parse_long(" { \"a\" : \"one\\n\",\"b\":\"", "\" , \"a\":\"t\\u0077o\" }\n");
    TEST_CHECK(json_count(j) == 3);
    TEST_CHECK(strlen(json_text(json_get(j, "b"))) == 8000);
    TEST_CHECK(strcmp(json_text(json_get(j, "a")), "two") == 0); /* the last counts */
    drop_json struct json *nested =
        parse_long("{\"a\": \"", "\", \"b\": [1, {\"c\": \"\\u0000\"}]}");
    TEST_CHECK(json_count(json_get(nested, "b")) == 2);
    drop_json struct json *many = parse_long("{\"a\": \"", "\", \"b\": \"\", \"\": \"c\"}");
    TEST_CHECK(json_count(many) == 3 && strcmp(json_text(json_get(many, "")), "c") == 0);
}

static void what_is_no_json_is_refused_in_a_long_object_too(void)
{
    static const char *const ends[] = {
        "\"",         "\",}",           "\"} x",        "\"}}",     "\" \"b\": \"\"}",
        "\", \"b\"}", "\", \"b\": }",   "\", b: \"\"}", "\\u12\"}", "\n\"}",
        "\xFF\"}",    "\", \"b\": \"}", "\"]",          "",
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        drop_json struct json *j = parse_long("{\"a\": \"", ends[i]);
        TEST_CHECK_(!j, "%s", ends[i]);
    }
}

TEST_LIST = {
    {"simple_strings_are_taken", simple_strings_are_taken},
    {"others_are_left_to_the_parser", others_are_left_to_the_parser},
    {"each_byte_at_each_place_arrives_or_is_left", each_byte_at_each_place_arrives_or_is_left},
    {"a_long_object_is_read_like_any", a_long_object_is_read_like_any},
    {"what_is_no_json_is_refused_in_a_long_object_too",
     what_is_no_json_is_refused_in_a_long_object_too},
    {NULL, NULL},
};
