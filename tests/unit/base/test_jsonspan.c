/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/jsonspan.h"

static const struct {
    const char *text, *name, *value; /* NULL: none */
} cases[] = {
    {"{\"a\":1}", "a", "1"},
    {" { \"a\" : 1.0 , \"b\":2}", "a", "1.0"},
    {"{\"a\":9007199254740993,\"b\":2 }", "b", "2"},
    {"{\"a\":{\"b\":1},\"b\":[1,{\"b\":2}]}", "b", "[1,{\"b\":2}]"},
    {"{\"a\":\"b\\\"},\",\"b\":\"x\\\\\"}", "b", "\"x\\\\\""},
    {"{\"a\":1,\"a\":2}", "a", "2"},
    {"{\"\\u0061\":1e400}", "a", "1e400"},
    {"{\"a\":{ \"x\" : [ ] }\n}", "a", "{ \"x\" : [ ] }"},
    {"{\"b\":{\"a\":1}}", "a", NULL},
    {"{}", "a", NULL},
    {"[\"a\",1]", "a", NULL},
    {"", "a", NULL},
    {"{\"a\"", "a", NULL},
    {"{\"a", "a", NULL},
    {"{\"a\\", "a", NULL},
};

static void a_member_is_found_as_it_was_written(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jsonspan got = {0};
        bool found =
            jsonspan_get(JSONSPAN(cases[i].text, strlen(cases[i].text)), cases[i].name, &got);
        TEST_CASE(cases[i].text);
        TEST_CHECK(found == (cases[i].value != NULL));
        if (found && cases[i].value)
            TEST_CHECK(got.n == strlen(cases[i].value) &&
                       memcmp(got.at, cases[i].value, got.n) == 0);
    }
}

static void elements_come_one_by_one(void)
{
    const char *text = " [ {\"a\":[1,2]}, 3.0 ,\"x,]\" ] ";
    const char *expected[] = {"{\"a\":[1,2]}", "3.0", "\"x,]\""};
    struct jsonspan got;
    size_t at = 0, n = 0;
    while (jsonspan_next(JSONSPAN(text, strlen(text)), &at, &got)) {
        TEST_ASSERT(n < 3);
        TEST_CHECK(got.n == strlen(expected[n]) && memcmp(got.at, expected[n], got.n) == 0);
        n++;
    }
    TEST_CHECK(n == 3);
    at = 0;
    TEST_CHECK(!jsonspan_next(JSONSPAN("[ ]", 3), &at, &got));
    TEST_CHECK(!jsonspan_next(JSONSPAN("{}", 2), &at, &got));
}

static void a_line_has_no_breaks(void)
{
    drop_str char *line = jsonspan_line(JSONSPAN("{\n\"a\":\r\n1}", 10));
    TEST_CHECK(strcmp(line, "{ \"a\":  1}") == 0);
}

TEST_LIST = {
    {"a member is found as it was written", a_member_is_found_as_it_was_written},
    {"elements come one by one", elements_come_one_by_one},
    {"a line has no breaks", a_line_has_no_breaks},
    {NULL, NULL},
};
