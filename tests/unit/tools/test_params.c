/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tools/transport/params.h"

static struct json *parse(const char *text)
{
    struct json *j = json_parse_copy(text, strlen(text), JSON_STRICT, NULL);
    TEST_ASSERT(j != NULL);
    return j;
}

static const char *lookup(const char *name)
{
    return strcmp(name, "TOKEN") == 0   ? "s3cr3t\"x"
           : strcmp(name, "PORT") == 0  ? "81"
           : strcmp(name, "AGAIN") == 0 ? "${TOKEN}"
           : strcmp(name, "EMPTY") == 0 ? ""
                                        : NULL;
}

static const char *const environment[] = {"PATH=/bin", "HOME=/home", NULL};
static const struct params_source source = {.lookup = lookup, .envp = environment, .cwd = "/space"};

static void check_error(const char *text, const char *expected)
{
    drop_json struct json *j = parse(text);
    struct params params;
    struct err e = ERR_NONE;
    int r = params_check(j, &e);
    if (r == 0) {
        r = params_read(j, &source, &params, &e);
        if (r == 0)
            params_done(&params);
    }
    TEST_CASE(text);
    TEST_CHECK(r == (expected ? -EINVAL : 0));
    TEST_CHECK(expected ? strstr(e.msg, expected) != NULL : r == 0);
    TEST_MSG("actual: %s", e.msg);
}

static void wrong_parameters_are_refused_with_their_place(void)
{
    static const char *const cases[][2] = {
        {"{}", "\"command\" (of a program to start) or \"url\""},
        {"[]", "an object is needed"},
        {"{\"args\":[]}", "\"command\""},
        {"{\"command\":\"a\",\"url\":\"b\"}", "exclude each other"},
        {"{\"command\":1}", "server_params.command: a string"},
        {"{\"command\":\"\"}", "server_params.command: a string"},
        {"{\"command\":null}", "server_params.command: a string"},
        {"{\"command\":\"a\",\"args\":\"x\"}", "server_params.args: an array"},
        {"{\"command\":\"a\",\"args\":[\"x\",2]}", "server_params.args[1]: a string"},
        {"{\"command\":\"a\",\"env\":{\"A\":1}}", "server_params.env.A: a string"},
        {"{\"command\":\"a\",\"headers\":{}}", "server_params.headers: not known here"},
        {"{\"command\":\"a\",\"arg\":[]}", "server_params.arg: not known here"},
        {"{\"url\":\"http://h/mcp\",\"env\":{}}", "server_params.env: not known here"},
        {"{\"url\":\"http://h/x\"}", "http://h/x does not tell the transport"},
        {"{\"url\":\"http://h/x\",\"type\":\"ftp\"}", "server_params.type"},
        {"{\"url\":\"http://${PORT}/x\"}", "http://${PORT}/x does not tell the transport"},
        {"{\"command\":\"${NONE}\"}", "the variable NONE is not set: set it in the environment"},
        {"{\"command\":\"${B}\",\"args\":[\"${A}${B}\"],\"env\":{\"X\":\"${AB}\"}}",
         "the variables B, A, AB are not set"},
        {"{\"url\":\"${NONE}/x\",\"type\":\"sse\"}", "NONE is not set"},
        {"{\"command\":\"a\",\"encoding\":\"utf-8\",\"timeout\":3,\"type\":\"stdio\"}", NULL},
        {"{\"url\":\"http://h/mcp\",\"timeout\":3,\"sse_read_timeout\":4}", NULL},
        {"{\"command\":\"a\",\"args\":null,\"env\":null,\"cwd\":null}", NULL},
        {"{\"command\":\"${}$x${a-b}\"}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_error(cases[i][0], cases[i][1]);
}

static void a_program_gets_the_environment_and_its_own(void)
{
    drop_json struct json *j =
        parse("{\"command\":\"run\",\"args\":[\"-t\",\"a${TOKEN}b${AGAIN}\"],"
              "\"env\":{\"PATH\":\"/x:${PORT}\",\"T\":\"${TOKEN}\"},"
              "\"cwd\":\"sub\"}");
    struct params params;
    TEST_ASSERT(params_check(j, NULL) == 0 && params_read(j, &source, &params, NULL) == 0);
    TEST_CHECK(params.kind == PARAMS_STDIO);
    TEST_CHECK(strcmp(params.argv[0], "run") == 0 && params.argv[3] == NULL);
    TEST_CHECK(strcmp(params.argv[2], "as3cr3t\"xb${TOKEN}") == 0);
    TEST_CHECK(strcmp(params.envp[0], "HOME=/home") == 0);
    TEST_CHECK(strcmp(params.envp[1], "PATH=/x:81") == 0);
    TEST_CHECK(strcmp(params.envp[2], "T=s3cr3t\"x") == 0 && params.envp[3] == NULL);
    TEST_CHECK(strcmp(params.cwd, "/space/sub") == 0);
    params_done(&params);
}

static void the_transport_is_told_or_guessed(void)
{
    static const struct {
        const char *text;
        enum params_kind kind;
    } cases[] = {
        {"{\"url\":\"http://h/mcp\"}", PARAMS_HTTP},
        {"{\"url\":\"http://h/mcp/sse\"}", PARAMS_HTTP},
        {"{\"url\":\"http://h/sse\"}", PARAMS_SSE},
        {"{\"url\":\"http://h/mcp\",\"type\":\"sse\"}", PARAMS_SSE},
        {"{\"url\":\"http://h/x\",\"type\":\"http\"}", PARAMS_HTTP},
        {"{\"url\":\"http://h/x\",\"type\":\"streamable_http\"}", PARAMS_HTTP},
        {"{\"url\":\"http://h/x\",\"type\":\"streamable-http\"}", PARAMS_HTTP},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_json struct json *j = parse(cases[i].text);
        struct params params;
        TEST_CASE(cases[i].text);
        TEST_ASSERT(params_check(j, NULL) == 0 && params_read(j, &source, &params, NULL) == 0);
        TEST_CHECK(params.kind == cases[i].kind);
        params_done(&params);
    }
}

static void headers_are_expanded(void)
{
    drop_json struct json *j = parse("{\"url\":\"http://h:${PORT}/mcp\","
                                     "\"headers\":{\"Authorization\":\"Bearer ${TOKEN}\"}}");
    struct params params;
    TEST_ASSERT(params_check(j, NULL) == 0 && params_read(j, &source, &params, NULL) == 0);
    TEST_CHECK(strcmp(params.url, "http://h:81/mcp") == 0);
    TEST_CHECK(params.n_headers == 1);
    TEST_CHECK(strcmp(params.headers[0].value, "Bearer s3cr3t\"x") == 0);
    params_done(&params);
}

static void secrets_are_scrubbed(void)
{
    static const char *const cases[][2] = {
        {"no: s3cr3t\"x!", "no: ***!"},
        {"s3cr3t\"xs3cr3t\"x", "******"},
        {"{\"t\":\"s3cr3t\\\"x\"}", "{\"t\":\"***\"}"},
        {"cut s3cr3t", "cut ***"},
        {"cut s3c", "cut s3c"},
        {"port 81", "port 81"},
        {"", ""},
    };
    drop_json struct json *j = parse("{\"command\":\"${TOKEN}\",\"args\":[\"${PORT}${EMPTY}\"]}");
    struct params params;
    TEST_ASSERT(params_read(j, &source, &params, NULL) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_buf struct buf text = BUF_INIT(1000);
        (void)buf_adds(&text, cases[i][0]);
        params_scrub(&params, &text);
        TEST_CHECK(strcmp(buf_text(&text), cases[i][1]) == 0);
        TEST_MSG("actual: %s", buf_text(&text));
    }
    struct err e = ERR_NONE;
    (void)err_set(&e, -EIO, "x s3cr3t\"x y");
    params_scrub_err(&params, &e);
    TEST_CHECK(strcmp(e.msg, "x *** y") == 0 && e.code == -EIO);
    params_done(&params);
}

static void what_is_shown_has_no_values(void)
{
    static const char *const cases[][2] = {
        {"{\"command\":\"npx\",\"args\":[\"-y\",\"a b\",\"it's\",\"\",\"${TOKEN}\"]}",
         "npx -y 'a b' 'it'\\''s' '' ${TOKEN}"},
        {"{\"url\":\"http://h/mcp?k=${TOKEN}\"}", "http://h/mcp?k=${TOKEN}"},
    };
    for (size_t i = 0; i < 2; i++) {
        drop_json struct json *j = parse(cases[i][0]);
        drop_str char *shown = params_shown(j);
        TEST_CHECK(strcmp(shown, cases[i][1]) == 0);
        TEST_MSG("actual: %s", shown);
    }
}

static void the_same_is_the_same_in_any_order(void)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"{\"command\":\"a\",\"args\":[\"1\"]}", "{\"args\":[\"1\"],\"command\":\"a\"}", true},
        {"{\"command\":\"a\"}", "{\"command\":\"b\"}", false},
        {"{\"command\":\"a\"}", "{\"command\":\"a\",\"args\":[]}", false},
        {"{\"a\":[\"1\",\"2\"]}", "{\"a\":[\"2\",\"1\"]}", false},
        {"{\"a\":1}", "{\"a\":\"1\"}", false},
        {"{\"a\":1}", "{\"a\":1.0}", true},
        {"{\"a\":null}", "{\"a\":false}", false},
        {"{\"a\":true}", "{\"a\":false}", false},
        {"{\"a\":1}", "{\"b\":1}", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_json struct json *a = parse(cases[i].a);
        drop_json struct json *b = parse(cases[i].b);
        TEST_CASE(cases[i].b);
        TEST_CHECK(params_same(a, b) == cases[i].same);
    }
}

static void a_name_is_an_identifier(void)
{
    static const char *const good[] = {"a", "_", "github", "my_server2", "match", "GitHub", "none"};
    static const char *const bad[] = {"", "2a", "None", "a-b", "a.b", "class", "é", "a b", "../x"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        TEST_CHECK(params_check_name(good[i], NULL) == 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        TEST_CHECK(params_check_name(bad[i], NULL) == -EINVAL);
    char name[66] = "";
    memset(name, 'a', 64);
    TEST_CHECK(params_check_name(name, NULL) == 0);
    name[64] = 'a';
    TEST_CHECK(params_check_name(name, NULL) == -EINVAL);
}

TEST_LIST = {
    {"wrong parameters are refused with their place",
     wrong_parameters_are_refused_with_their_place},
    {"a program gets the environment and its own", a_program_gets_the_environment_and_its_own},
    {"the transport is told or guessed", the_transport_is_told_or_guessed},
    {"headers are expanded", headers_are_expanded},
    {"secrets are scrubbed", secrets_are_scrubbed},
    {"what is shown has no values", what_is_shown_has_no_values},
    {"the same is the same in any order", the_same_is_the_same_in_any_order},
    {"a name is an identifier", a_name_is_an_identifier},
    {NULL, NULL},
};
