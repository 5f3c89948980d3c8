/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/json/jsonscan.h"

#define DIGITS_64 "1234567890123456789012345678901234567890123456789012345678901234"

static const struct {
    const char *line, *id;
} cases[] = {
    {"{\"id\":1}", "1"},
    {"{\"id\":0}", "0"},
    {"{\"id\":-7,\"method\":\"x\"}", "-7"},
    {"{\"id\":123456789012345678901234567890}", "123456789012345678901234567890"},
    {"{\"id\":1.0}", "1.0"},
    {"{\"id\":1e3}", "1e3"},
    {"{\"id\":\"abc\"}", "\"abc\""},
    {"{\"id\":\"\"}", "\"\""},
    {"{\"id\":\"a\\\"b\\\\\",\"x\":1}", "\"a\\\"b\\\\\""},
    {"{\"id\":\"\\u0000\u00e9}],{\"}", "\"\\u0000\u00e9}],{\""},
    {"{\"id\":\"a b\"}", "\"a b\""},
    {"{\"id\":null}", "null"},
    {"{\"id\":true}", "true"},
    {" { \"id\" : 5 , \"a\" : 6 } ", "5"},
    {"\t{\r\"id\"\t:\r 5\t}", "5"},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"id\":9},\"id\":5}", "5"},
    {"{\"method\":\"m\",\"params\":{\"id\":9}}", ""},
    {"{\"params\":[{\"id\":9}],\"id\":\"last\"}", "\"last\""},
    {"{\"a\":\"id\",\"b\":3}", ""},
    {"{\"a\":\"\\\"id\\\":4\",\"b\":3}", ""},
    {"{\"id\":1,\"id\":2}", "2"},
    {"{\"id\":\"first\",\"x\":[1,2],\"id\":3}", "3"},
    {"{\"Id\":1}", ""},
    {"{\"id \":1}", ""},
    {"{\"idx\":1}", ""},
    {"{\"xid\":1}", ""},
    {"{\"i\":1,\"d\":2}", ""},
    {"{\"\":1}", ""},
    {"{\"\\u0069d\":1}", "1"},
    {"{\"\\u0069\\u0064\":1}", "1"},
    {"{\"i\\u0044\":1}", ""},
    {"{\"\\u00e9d\":1,\"\\u0069\":2}", ""},
    {"{\"\\id\":1}", ""},
    {"{\"\\\\id\":1}", ""},
    {"{\"id\\\"\":1}", ""},
    {"{\"\\u00\":1,\"id\":2}", "2"},
    {"{\"id\":{\"id\":[1, 2]},\"x\":1}", "{\"id\":[1,2]}"},
    {"{\"id\":[]}", "[]"},
    {"[{\"id\":1}]", ""},
    {"{}", ""},
    {"", ""},
    {"nonsense", ""},
    {"\"id\":1", ""},
    {"{\"id\"", ""},
    {"{\"id\":", ""},
    {"]]]{\"id\":1}", ""},
    {"{\"id\":" DIGITS_64 DIGITS_64 DIGITS_64 DIGITS_64 "}",
     DIGITS_64 DIGITS_64 DIGITS_64 DIGITS_64},
    {"{\"id\":" DIGITS_64 DIGITS_64 DIGITS_64 DIGITS_64 "5}", ""},
    {"{\"id\":\"" DIGITS_64 DIGITS_64 DIGITS_64 DIGITS_64 DIGITS_64 "\",\"a\":1}", ""},
    {"{\"id\":\"" DIGITS_64 DIGITS_64 DIGITS_64 DIGITS_64 DIGITS_64 "\",\"id\":8}", "8"},
};

static void the_id_is_found_as_it_was_written(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE(cases[i].line);
        struct jsonscan s = {0};
        jsonscan_feed(&s, cases[i].line, strlen(cases[i].line));
        TEST_CHECK_(strcmp(jsonscan_id(&s), cases[i].id) == 0, "%s", jsonscan_id(&s));
    }
}

static void a_line_cut_at_any_byte_gives_the_same(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t len = strlen(cases[i].line);
        TEST_CASE(cases[i].line);
        struct jsonscan bytewise = {0};
        for (size_t cut = 0; cut < len; cut++) {
            struct jsonscan s = {0};
            jsonscan_feed(&s, cases[i].line, cut);
            jsonscan_feed(&s, cases[i].line + cut, len - cut);
            TEST_CHECK_(strcmp(jsonscan_id(&s), cases[i].id) == 0, "cut at %zu", cut);
            jsonscan_feed(&bytewise, cases[i].line + cut, 1);
        }
        TEST_CHECK_(strcmp(jsonscan_id(&bytewise), cases[i].id) == 0, "byte by byte");
    }
}

static void an_id_behind_a_huge_value_is_found(void)
{
    struct jsonscan s = {0};
    jsonscan_feed(&s, "{\"code\":\"", 9);
    for (int i = 0; i < 1000000; i++)
        jsonscan_feed(&s, "\\\"id\\\":3,}{[x", 13);
    jsonscan_feed(&s, "\",\"id\":77}", 10);
    TEST_CHECK(strcmp(jsonscan_id(&s), "77") == 0);
}

static void brackets_without_end_do_no_harm(void)
{
    struct jsonscan s = {0};
    static char brackets[1 << 16];
    memset(brackets, '[', sizeof brackets);
    for (int i = 0; i < 1 << 10; i++)
        jsonscan_feed(&s, brackets, sizeof brackets);
    memset(brackets, ']', sizeof brackets);
    for (int i = 0; i < 1 << 11; i++)
        jsonscan_feed(&s, brackets, sizeof brackets);
    TEST_CHECK(strcmp(jsonscan_id(&s), "") == 0);
}

TEST_LIST = {
    {"the id is found as it was written", the_id_is_found_as_it_was_written},
    {"a line cut at any byte gives the same", a_line_cut_at_any_byte_gives_the_same},
    {"an id behind a huge value is found", an_id_behind_a_huge_value_is_found},
    {"brackets without end do no harm", brackets_without_end_do_no_harm},
    {NULL, NULL},
};
