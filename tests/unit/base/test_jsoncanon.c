/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/json/json.h"
#include "base/json/jsoncanon.h"

static void a_text_has_one_spelling(void)
{
    static const struct {
        const char *text, *canonical;
    } cases[] = {
        {" { \"b\" : [ 1 , 2.50, -0e1 ] , \"a\" : null }\n", "{\"b\":[1,2.50,-0e1],\"a\":null}"},
        {"{\"\\u0041\\/\\u00e4\\\"\\n\":\"\\u000a\"}", "{\"A/\xc3\xa4\\\"\\n\":\"\\n\"}"},
        {"\"a\xe2\x80\xae\\u202Eb\"", "\"a\\u202e\\u202eb\""},
        {"\"\\ud83d\\ude00\xf3\xa0\x81\x81\"", "\"\xf0\x9f\x98\x80\\udb40\\udc41\""},
        {"\"\\u0000\\u001B\\\\u202e\"", "\"\\u0000\\u001b\\\\u202e\""},
        {"{}", "{}"},
        {" [ ] ", "[]"},
        {"12345678901234567890.10", "12345678901234567890.10"},
        {"{\"a\":{\"x\":1},\"b\":{\"x\":1}}", "{\"a\":{\"x\":1},\"b\":{\"x\":1}}"},
        {"[true,false,\"\"]", "[true,false,\"\"]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_buf struct buf out = BUF_INIT(1000), again = BUF_INIT(1000);
        struct err e = ERR_NONE;
        TEST_CASE(cases[i].text);
        TEST_CHECK(jsoncanon(cases[i].text, strlen(cases[i].text), &out, &e) == 0);
        TEST_CHECK_(strcmp(buf_text(&out), cases[i].canonical) == 0, "%s %s", buf_text(&out),
                    e.msg);
        TEST_CHECK(jsoncanon(buf_text(&out), out.len, &again, &e) == 0);
        TEST_CHECK(strcmp(buf_text(&again), buf_text(&out)) == 0);
        drop_json struct json *tree = json_parse_copy(out.data, out.len, JSON_STRICT, NULL);
        TEST_CHECK(tree != NULL);
    }
}

static void a_name_that_stands_twice_is_refused(void)
{
    static const char *const texts[] = {
        "{\"a\":1,\"b\":2,\"a\":1}",
        "{\"a\":1,\"\\u0061\":2}",
        "[{\"x\":{\"y\":[{\"k\":1,\"k\":1}]}}]",
        "{\"\":1,\"\":1}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        drop_buf struct buf out = BUF_INIT(1000);
        struct err e = ERR_NONE;
        TEST_CASE(texts[i]);
        TEST_CHECK(jsoncanon(texts[i], strlen(texts[i]), &out, &e) == -EINVAL);
        TEST_CHECK_(strstr(e.msg, "twice") != NULL, "%s", e.msg);
    }
}

static void what_is_not_json_or_has_no_room_is_refused(void)
{
    drop_buf struct buf out = BUF_INIT(1000), small = BUF_INIT(10);
    struct err e = ERR_NONE;
    TEST_CHECK(jsoncanon("{\"a\"", 4, &out, &e) < 0);
    TEST_CHECK(jsoncanon("", 0, &out, &e) < 0);
    TEST_CHECK(jsoncanon("{\"aaaaaaaaaaaaa\":1}", 19, &small, &e) == -EMSGSIZE);
}

TEST_LIST = {
    {"a text has one spelling", a_text_has_one_spelling},
    {"a name that stands twice is refused", a_name_that_stands_twice_is_refused},
    {"what is not JSON or has no room is refused", what_is_not_json_or_has_no_room_is_refused},
    {NULL, NULL},
};
