/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "front/mcp/ask_text.h"

static void what_hides_or_steers_is_shown(void)
{
    static const char *const cases[][2] = {
        {"plain, \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80",
         "plain, \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
        {"\x1B[2Jgone", "\\u001b[2Jgone"},
        {"a\nb\tc\r", "a\\u000ab\\u0009c\\u000d"},
        {"\x7F\xC2\x85", "\\u007f\\u0085"},
        {"x\xE2\x80\xAEy", "x\\u202ey"},                    /* right-to-left override */
        {"x\xE2\x81\xA6y\xE2\x80\x8B", "x\\u2066y\\u200b"}, /* isolate, zero width */
        {"\xF3\xA0\x81\x81", "\\u{e0041}"},                 /* a tag */
        {"\xEF\xBB\xBF", "\\ufeff"},
        {"\xC0\x80", "\\u0000"},
        {"\xFF\xC0", "\\xff\\xc0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_buf struct buf out = BUF_INIT(1000);
        ask_put_visible(&out, cases[i][0], 0);
        TEST_CHECK(strcmp(buf_text(&out), cases[i][1]) == 0);
        TEST_MSG("case %zu: %s", i, buf_text(&out));
    }
    drop_buf struct buf out = BUF_INIT(1000);
    ask_put_visible(&out, "a\n```\n\tb\x1B", 4);
    TEST_CHECK(strcmp(buf_text(&out), "a\n    ```\n    \tb\\u001b") == 0);
}

static void json_is_indented_and_its_values_stay_as_they_are(void)
{
    static const char *const cases[][2] = {
        {"{}", "{}"},
        {" { } ", "{}"},
        {"{\"a\":1.50,\"b\":[]}", "{\n  \"a\": 1.50,\n  \"b\": []\n}"},
        {"{\"a\":[1,{\"b\":null}]}",
         "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ]\n}"},
        {"{\"a\":\"x\\\"y,{}\\\\\"}", "{\n  \"a\": \"x\\\"y,{}\\\\\"\n}"},
        {"{\"a\":\"\xE2\x80\xAE\"}", "{\n  \"a\": \"\\u202e\"\n}"},
        {"[\"\\u001b\"]", "[\n  \"\\u001b\"\n]"},
        {"]]}", "\n]\n]\n}"}, /* what is not JSON is shown all the same */
        {"\"open\\", "\"open\\"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_buf struct buf out = BUF_INIT(1000);
        ask_put_pretty(&out, cases[i][0]);
        TEST_CHECK(strcmp(buf_text(&out), cases[i][1]) == 0);
        TEST_MSG("case %zu: %s", i, buf_text(&out));
    }
}

static struct approval_view approval(const char *tool, const char *arguments, const char *note)
{
    return (struct approval_view){.id = "i",
                                  .subject = {.session = "s",
                                              .server = "git",
                                              .shown = "npx -y git-mcp",
                                              .tool = tool,
                                              .arguments = arguments,
                                              .digest = ""},
                                  .note = note};
}

static void an_approval_shows_all_of_it(void)
{
    drop_buf struct buf out = BUF_INIT(10000);
    struct approval_view view = approval("git_push", "{\"remote\":\"origin\"}", "");
    ask_put_approval(&out, &view, true);
    TEST_CHECK(
        strcmp(buf_text(&out),
               "{\"mode\":\"form\",\"message\":\"Code in the Python kernel wants to call a tool.\\n"
               "```\\nserver:    git\\nruns:      npx -y git-mcp\\ntool:      git_push\\n"
               "arguments: {\\n  \\\"remote\\\": \\\"origin\\\"\\n}\\n```\","
               "\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"decision\":{\"type\":"
               "\"string\",\"title\":\"Decision\",\"description\":\"Whether this call may be "
               "made\",\"enum\":[\"approve\",\"approve for this session\",\"reject\"]}},"
               "\"required\":[\"decision\"]}}") == 0);
    TEST_MSG("%s", buf_text(&out));
}

static void nothing_from_outside_ends_the_fence(void)
{
    drop_buf struct buf out = BUF_INIT(10000);
    struct approval_view view =
        approval("x\n```\nAll is well.", "{\"a\":\"\\n```\\n<!--\",\"```\":1}", "it has changed");
    ask_put_approval(&out, &view, false);
    drop_json struct json *tree = json_parse_copy(out.data, out.len, JSON_STRICT, NULL);
    const char *message = json_get_text(tree, "message");
    TEST_ASSERT(message != NULL && json_get(tree, "mode") == NULL);
    TEST_CHECK(strstr(message, "Attention: it has changed.\n") != NULL);
    int fences = 0;
    for (const char *at = message; (at = strstr(at, "\n```")) != NULL; at++)
        fences++;
    TEST_CHECK(fences == 2);
    TEST_CHECK(strstr(message, "x\\u000a```\\u000aAll is well.") != NULL);
}

static void a_form_of_a_server_is_passed_on_under_its_name(void)
{
    drop_buf struct buf out = BUF_INIT(10000);
    struct approval_view view = approval("", "", "");
    view.form =
        "{\"message\":\"Your name?\\n```\\u001b\",\"requestedSchema\":{\"type\":\"object\"},"
        "\"other\":1}";
    TEST_CHECK(ask_put_form(&out, &view, true, NULL) == 0);
    TEST_CHECK(strcmp(buf_text(&out),
                      "{\"mode\":\"form\",\"message\":\"An MCP server asks; what is entered goes "
                      "to it alone.\\n```\\nserver:  git\\nruns:    npx -y git-mcp\\nmessage: Your "
                      "name?\\n         ```\\\\u001b\\n```\",\"requestedSchema\":{\"type\":"
                      "\"object\"}}") == 0);
    TEST_MSG("%s", buf_text(&out));
    static const char *const bad[] = {
        "{\"message\":\"x\",\"mode\":\"url\",\"requestedSchema\":{}}",
        "{\"message\":\"x\"}",
        "{\"requestedSchema\":{}}",
        "[]",
        "no",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        view.form = bad[i];
        TEST_CHECK(ask_put_form(&out, &view, true, NULL) < 0);
    }
}

static void what_does_not_fit_is_an_error(void)
{
    drop_buf struct buf out = BUF_INIT(100);
    struct approval_view view = approval("t", "{}", "");
    ask_put_approval(&out, &view, true);
    TEST_CHECK(out.failed == -EMSGSIZE);
}

#define T(name) {#name, name}

TEST_LIST = {
    T(what_hides_or_steers_is_shown),
    T(json_is_indented_and_its_values_stay_as_they_are),
    T(an_approval_shows_all_of_it),
    T(nothing_from_outside_ends_the_fence),
    T(a_form_of_a_server_is_passed_on_under_its_name),
    T(what_does_not_fit_is_an_error),
    {NULL, NULL},
};
