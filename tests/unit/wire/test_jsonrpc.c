/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "wire/jsonrpc.h"

static const struct {
    const char *text;
    int result; /* 0 or the code of the error */
    const char *id;
    enum rpc_kind kind;
} cases[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}", 0, "0", RPC_REQUEST},
    {"{\"method\":\"ping\",\"jsonrpc\":\"2.0\",\"id\":\"a\\u0041\"}", 0, "\"a\\u0041\"",
     RPC_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"method\":\"m\"}", 0, "9007199254740993",
     RPC_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":-5,\"method\":\"m\",\"params\":{\"id\":7}}", 0, "-5",
     RPC_REQUEST},
    {" {\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":null} ", 0, "", RPC_NOTIFICATION},
    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}", 0, "3", RPC_RESPONSE},
    {"{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":1}}", 0, "3", RPC_RESPONSE},
    {"", RPC_PARSE_ERROR, "null", RPC_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,", RPC_PARSE_ERROR, "null", RPC_REQUEST},
    {"{\"a\":\"\xFF\"}", RPC_PARSE_ERROR, "null", RPC_REQUEST},
    {"{} x", RPC_PARSE_ERROR, "null", RPC_REQUEST},
    {"7", RPC_INVALID_REQUEST, "null", RPC_REQUEST},
    {"[]", RPC_INVALID_REQUEST, "null", RPC_REQUEST},
    {"{\"id\":1,\"method\":\"m\"}", RPC_INVALID_REQUEST, "1", RPC_REQUEST},
    {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", RPC_INVALID_REQUEST, "1", RPC_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", RPC_INVALID_REQUEST, "null",
     RPC_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"m\"}", RPC_INVALID_REQUEST, "null", RPC_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"m\"}", RPC_INVALID_REQUEST, "null", RPC_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", RPC_INVALID_REQUEST, "1", RPC_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":1}", RPC_INVALID_REQUEST, "1", RPC_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[1]}", RPC_INVALID_PARAMS, "1",
     RPC_REQUEST},
    {"{\"jsonrpc\":\"2.0\",\"\\u0069d\":1,\"method\":\"m\"}", 0, "1", RPC_REQUEST},
};

static void messages_are_told_apart_and_errors_name_the_id(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("case %zu: %s", i, cases[i].text);
        drop_str char *text = xstrdup(cases[i].text);
        struct rpc_message m;
        struct err e = ERR_NONE;
        int r = rpc_parse(text, strlen(text), JSON_REQUEST, &m, &e);
        TEST_CHECK(r == cases[i].result);
        TEST_MSG("got %d: %s", r, e.msg);
        TEST_CHECK(strcmp(m.id, cases[i].id) == 0);
        TEST_MSG("id %s", m.id);
        TEST_CHECK(r < 0 || m.kind == cases[i].kind);
        rpc_message_done(&m);
    }
}

static void a_deeply_nested_message_is_refused(void)
{
    char text[2001];
    memset(text, '[', 2000);
    text[2000] = '\0';
    struct rpc_message m;
    struct err e = ERR_NONE;
    TEST_CHECK(rpc_parse(text, 2000, JSON_REQUEST, &m, &e) == RPC_PARSE_ERROR);
    TEST_CHECK(strstr(e.msg, "nested") != NULL);
    rpc_message_done(&m);
}

static void ids_are_the_same_however_they_are_written(void)
{
    TEST_CHECK(rpc_same_id("1", "1"));
    TEST_CHECK(!rpc_same_id("1", "\"1\""));
    TEST_CHECK(rpc_same_id("\"a\"", "\"\\u0061\""));
    TEST_CHECK(!rpc_same_id("\"a\"", "\"b\""));
    TEST_CHECK(!rpc_same_id("9007199254740993", "9007199254740992"));
}

static void messages_are_written_as_the_specification_says(void)
{
    drop_buf struct buf out = BUF_INIT(1000);
    struct jsonw w = JSONW(&out);
    rpc_result_begin(&w, "\"x\"");
    jsonw_set_int(&w, "n", 1);
    rpc_end(&w);
    TEST_CHECK(strcmp(buf_text(&out), "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{\"n\":1}}") ==
               0);
    buf_clear(&out);
    w = JSONW(&out);
    rpc_notification_begin(&w, "notifications/m");
    rpc_end(&w);
    TEST_CHECK(strcmp(buf_text(&out),
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/m\",\"params\":{}}") == 0);
    buf_clear(&out);
    rpc_put_error(&out, "", -32600, "no \"id\"", "{\"a\":1}");
    TEST_CHECK(strcmp(buf_text(&out), "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,"
                                      "\"message\":\"no \\\"id\\\"\",\"data\":{\"a\":1}}}") == 0);
}

TEST_LIST = {
    {"messages_are_told_apart_and_errors_name_the_id",
     messages_are_told_apart_and_errors_name_the_id},
    {"a_deeply_nested_message_is_refused", a_deeply_nested_message_is_refused},
    {"ids_are_the_same_however_they_are_written", ids_are_the_same_however_they_are_written},
    {"messages_are_written_as_the_specification_says",
     messages_are_written_as_the_specification_says},
    {NULL, NULL},
};
