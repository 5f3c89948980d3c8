/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "wire/pyliteral.h"

static void literals_become_json(void)
{
    static const char *const cases[][2] = {
        {"'a'", "\"a\""},
        {"  \"it's\" ,", "\"it's\""},
        {"'\\'\\\\\\n\\t\\x41\\u00fc\\U0001f40d'", "\"'\\\\\\n\\tA\xC3\xBC\xF0\x9F\x90\x8D\""},
        {"[1, -2.50, True, False, None]", "[1,-2.50,true,false,null]"},
        {"{'command': 'uvx', 'args': ['a', \"b\"], 'env': {}}",
         "{\"command\":\"uvx\",\"args\":[\"a\",\"b\"],\"env\":{}}"},
        {"{ # a comment, with a '\n    \"a\": [\n        1,\n    ],\n}", "{\"a\":[1]}"},
        {"'${KEY}\xC3\xBC'", "\"${KEY}\xC3\xBC\""},
        {"'a\\\nb'", "\"ab\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE(cases[i][0]);
        drop_buf struct buf json = BUF_INIT(1000);
        size_t taken = 0;
        struct err e = ERR_NONE;
        TEST_CHECK(pyliteral_parse(cases[i][0], strlen(cases[i][0]), &json, &taken, &e) == 0);
        TEST_CHECK_(strcmp(buf_text(&json), cases[i][1]) == 0, "%s: %s", buf_text(&json), e.msg);
        TEST_CHECK(taken > 0 && taken <= strlen(cases[i][0]));
    }
}

/* Whatever would have to be run, and what one cannot be sure of. */
static void nothing_else_is_taken(void)
{
    static const char *const bad[] = {
        "",
        "'a",
        "'a''b'",
        "\"\"\"a\"\"\"",
        "'a\nb'",
        "f'a'",
        "os.environ",
        "{1: 2}",
        "{'a' 1}",
        "{'a': 1 'b'",
        "[1 2]",
        "[1",
        "(1,)",
        "01",
        "1.",
        "0x1",
        "1e5",
        "1_0",
        "--1",
        "-",
        "'\\N{DASH}'",
        "'\\xg1'",
        "'\\ud800'",
        "'\\x00'",
        "'\\q'",
        "__import__('os')",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TEST_CASE(bad[i]);
        drop_buf struct buf json = BUF_INIT(1000);
        size_t taken = 0;
        TEST_CHECK(pyliteral_parse(bad[i], strlen(bad[i]), &json, &taken, NULL) < 0);
    }
    char deep[200];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    drop_buf struct buf json = BUF_INIT(1000), small = BUF_INIT(4);
    size_t taken = 0;
    TEST_CHECK(pyliteral_parse(deep, sizeof deep, &json, &taken, NULL) == -EINVAL);
    TEST_CHECK(pyliteral_parse("'abcdef'", 8, &small, &taken, NULL) < 0);
}

TEST_LIST = {
    {"literals_become_json", literals_become_json},
    {"nothing_else_is_taken", nothing_else_is_taken},
    {NULL, NULL},
};
