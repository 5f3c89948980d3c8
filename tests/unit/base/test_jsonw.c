/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "base/json/jsonw.h"
#include "base/text/utf8.h"

static void commas_and_brackets_come_by_themselves(void)
{
    drop_buf struct buf b = BUF_INIT(1000);
    struct jsonw w = JSONW(&b);
    jsonw_object(&w);
    jsonw_set_int(&w, "a", -1);
    jsonw_set_array(&w, "b");
    jsonw_int(&w, INT64_MIN);
    jsonw_int(&w, INT64_MAX);
    jsonw_object(&w);
    jsonw_end(&w);
    jsonw_array(&w);
    jsonw_end(&w);
    jsonw_null(&w);
    jsonw_end(&w);
    jsonw_set_object(&w, "c");
    jsonw_set_bool(&w, "d", true);
    jsonw_set_text(&w, "e", NULL);
    jsonw_end(&w);
    jsonw_set_raw(&w, "f", "[1, 2]");
    jsonw_name(&w, "g");
    jsonw_bool(&w, false);
    jsonw_end(&w);
    TEST_CHECK(b.failed == 0);
    TEST_CHECK(strcmp(buf_text(&b), "{\"a\":-1,\"b\":[-9223372036854775808,9223372036854775807,{},"
                                    "[],null],\"c\":{\"d\":true,\"e\":null},\"f\":[1, 2],"
                                    "\"g\":false}") == 0);
}

static void texts_are_escaped_only_where_needed(void)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"", "\"\""},
        {"plain /", "\"plain /\""},
        {"\"\\\b\f\n\r\t", "\"\\\"\\\\\\b\\f\\n\\r\\t\""},
        {"\x01\x1F\x7F", "\"\\u0001\\u001f\x7F\""},
        {"\u00e9\u20ac\U0001f600\u2028", "\"\u00e9\u20ac\U0001f600\u2028\""},
        {"a\xC0\x80\x62", "\"a\\u0000b\""},
        {"\xC0\x80\xC0\x80", "\"\\u0000\\u0000\""},
        {"\xC0", "\"\xEF\xBF\xBD\""},
        {"\xC0\x81", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"a\xFF\x62", "\"a\xEF\xBF\xBD\x62\""},
        {"\xE2\x82", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE(cases[i].json);
        drop_buf struct buf b = BUF_INIT(1000);
        struct jsonw w = JSONW(&b);
        jsonw_text(&w, cases[i].text);
        TEST_CHECK_(strcmp(buf_text(&b), cases[i].json) == 0, "%s", buf_text(&b));
    }
}

static void a_real_nul_in_a_counted_text_is_escaped(void)
{
    drop_buf struct buf b = BUF_INIT(1000);
    struct jsonw w = JSONW(&b);
    jsonw_text_n(&w, "a\0b", 3);
    TEST_CHECK(strcmp(buf_text(&b), "\"a\\u0000b\"") == 0);
}

static void every_byte_gives_valid_json_that_reads_back(void)
{
    for (int c = 1; c < 256; c++) {
        char text[] = {'a', (char)c, 'b', '\0'};
        drop_buf struct buf b = BUF_INIT(1000);
        struct jsonw w = JSONW(&b);
        jsonw_text(&w, text);
        TEST_CASE_("byte %d", c);
        TEST_CHECK(utf8_valid(b.data, b.len));
        drop_json struct json *j = json_parse_copy(b.data, b.len, JSON_STRICT, NULL);
        TEST_CHECK(json_text(j) &&
                   strcmp(json_text(j), c < 0x80 ? text : "a\xEF\xBF\xBD\x62") == 0);
    }
}

static void a_text_may_come_in_pieces(void)
{
    drop_buf struct buf b = BUF_INIT(1000);
    struct jsonw w = JSONW(&b);
    jsonw_array(&w);
    jsonw_int(&w, 1);
    jsonw_text_begin(&w);
    jsonw_text_part(&w, "a\"", 2);
    jsonw_text_part(&w, "", 0);
    jsonw_text_part(&w, "\u00e9", 2);
    jsonw_text_end(&w);
    jsonw_text_begin(&w);
    jsonw_text_end(&w);
    jsonw_end(&w);
    TEST_CHECK(strcmp(buf_text(&b), "[1,\"a\\\"\u00e9\",\"\"]") == 0);
}

static void doubles_are_the_shortest_that_read_back(void)
{
    static const struct {
        double value;
        const char *json;
    } cases[] = {
        {0, "0"},
        {0.1, "0.1"},
        {1e300, "1e+300"},
        {-2.5, "-2.5"},
        {1.0 / 3, "0.3333333333333333"},
        {5e-324, "4.94065645841247e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {(double)NAN, "null"},
        {(double)INFINITY, "null"},
        {(double)-INFINITY, "null"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_buf struct buf b = BUF_INIT(100);
        struct jsonw w = JSONW(&b);
        jsonw_double(&w, cases[i].value);
        TEST_CHECK_(strcmp(buf_text(&b), cases[i].json) == 0, "%s is %s", cases[i].json,
                    buf_text(&b));
    }
}

static void what_does_not_fit_shows_at_the_end(void)
{
    for (size_t cap = 0; cap < 24; cap++) {
        drop_buf struct buf b = BUF_INIT(cap);
        struct jsonw w = JSONW(&b);
        jsonw_object(&w);
        jsonw_set_text(&w, "name", "va\n\u00e9\xFF");
        jsonw_end(&w);
        TEST_CASE_("cap %zu", cap);
        TEST_CHECK(b.failed == (cap < 20 ? -EMSGSIZE : 0));
        TEST_CHECK(b.len <= cap);
    }
}

static void a_hundred_levels_are_kept_apart(void)
{
    drop_buf struct buf b = BUF_INIT(1000);
    struct jsonw w = JSONW(&b);
    for (int i = 0; i < 100; i++) {
        if (i % 2 == 0) {
            jsonw_array(&w);
            continue;
        }
        jsonw_object(&w);
        jsonw_name(&w, "x");
    }
    jsonw_null(&w);
    for (int i = 0; i < 100; i++)
        jsonw_end(&w);
    drop_json struct json *j = json_parse_copy(b.data, b.len, JSON_STRICT, NULL);
    TEST_CHECK_(j != NULL, "%s", buf_text(&b));
}

TEST_LIST = {
    {"commas and brackets come by themselves", commas_and_brackets_come_by_themselves},
    {"texts are escaped only where needed", texts_are_escaped_only_where_needed},
    {"a real NUL in a counted text is escaped", a_real_nul_in_a_counted_text_is_escaped},
    {"every byte gives valid JSON that reads back", every_byte_gives_valid_json_that_reads_back},
    {"a text may come in pieces", a_text_may_come_in_pieces},
    {"doubles are the shortest that read back", doubles_are_the_shortest_that_read_back},
    {"what does not fit shows at the end", what_does_not_fit_shows_at_the_end},
    {"a hundred levels are kept apart", a_hundred_levels_are_kept_apart},
    {NULL, NULL},
};
