/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages beside results: who is told of them, what they are, and the data that they get. */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "fakes/fake_client.h"
#include "front/apps/app_cell.h"
#include "front/apps/apps.h"

#define UI "\"io.modelcontextprotocol/ui\""
#define SHOWS                                                                                      \
    "{\"extensions\":{" UI ":{\"mimeTypes\":[\"text/html;profile=mcp-app\"]}},\"elicitation\":{}}"
#define REQUEST(id, method, params)                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"" method "\",\"params\":{" params "}}"
#define READ(id, uri) REQUEST(id, "resources/read", "\"uri\":\"" uri "\"")
#define OWN_APPROVALS "ipybox://session/approvals.json"

static void open_shown(void)
{
    open_with(60000);
    initialize("2025-11-25", SHOWS);
}

/* --- who is told ------------------------------------------------------------------------------ */

static bool shows(const char *capabilities)
{
    drop_json struct json *tree =
        json_parse_copy(capabilities, strlen(capabilities), JSON_STRICT, NULL);
    TEST_ASSERT(tree != NULL);
    return apps_are_shown(tree);
}

static void a_client_shows_pages_when_it_names_their_type(void)
{
    static const char *const not[] = {
        "{}",
        "[]",
        "null",
        "{\"extensions\":[]}",
        "{\"extensions\":{\"io.modelcontextprotocol/ui\":{}}}",
        "{\"extensions\":{\"io.modelcontextprotocol/ui\":true}}",
        "{\"extensions\":{\"io.modelcontextprotocol/ui\":{\"mimeTypes\":7}}}",
        "{\"extensions\":{\"io.modelcontextprotocol/ui\":{\"mimeTypes\":[1,null,\"text/html\"]}}}",
        "{\"experimental\":{\"io.modelcontextprotocol/ui\":{}}}",
    };
    for (size_t i = 0; i < sizeof not / sizeof *not; i++)
        TEST_CHECK_(!shows(not[i]), "%s", not[i]);
    TEST_CHECK(!apps_are_shown(NULL));
    TEST_CHECK(shows(SHOWS));
    TEST_CHECK(shows("{\"extensions\":{\"io.modelcontextprotocol/ui\":{\"mimeTypes\":"
                     "[0,\"a/b\",\"text/html;profile=mcp-app\"]}}}"));
}

static void a_client_of_the_handshake_is_told_when_it_has_said_so(void)
{
    open_shown();
    expect("\"extensions\":{\"io.modelcontextprotocol/ui\":{\"mimeTypes\":"
           "[\"text/html;profile=mcp-app\"]}}");
    expect_not("/tasks");
    say(REQUEST(1, "tools/list", ""));
    expect("\"openWorldHint\":true},\"_meta\":{\"ui\":{\"resourceUri\":\"ui://ipybox/cell\"}}},{"
           "\"name\":\"install_package\"");
    say(REQUEST(2, "resources/list", ""));
    expect("\"uri\":\"ui://ipybox/cell\"");
    expect("\"uri\":\"ui://ipybox/approvals\"");
    expect("\"uri\":\"" OWN_APPROVALS "\"");
    initialize("2025-11-25", "{}");
    expect_not("extensions");
    say(REQUEST(3, "tools/list", ""));
    expect_not("_meta");
    say(REQUEST(4, "resources/list", ""));
    expect_not("ui://");
    expect_not(OWN_APPROVALS);
    close_all();
}

static void a_modern_client_is_told_by_what_each_request_says(void)
{
    open_with(0);
    say(REQUEST(1, "server/discover", META_WITH(SHOWS)));
    expect("\"extensions\":{\"io.modelcontextprotocol/tasks\":{},\"io.modelcontextprotocol/ui\":{");
    say(REQUEST(2, "tools/list", META_WITH(SHOWS)));
    expect("\"resourceUri\":\"ui://ipybox/cell\"");
    expect("\"cacheScope\":\"private\"");
    say(REQUEST(3, "tools/list", META));
    expect_not("resourceUri");
    say(REQUEST(4, "server/discover", META));
    expect_not("/ui\"");
    close_all();
}

/* --- the pages -------------------------------------------------------------------------------- */

static void a_page_is_whole_in_one_text_and_asks_for_nothing_from_elsewhere(void)
{
    static const char *const uris[] = {"ui://ipybox/cell", "ui://ipybox/approvals"};
    for (size_t i = 0; i < 2; i++) {
        drop_buf struct buf out = BUF_INIT(1 << 20);
        struct jsonw w = JSONW(&out);
        TEST_ASSERT(apps_put_page(&w, uris[i]));
        drop_json struct json *page = json_parse_copy(buf_text(&out), out.len, JSON_STRICT, NULL);
        const char *html = json_get_text(page, "text");
        const struct json *csp = json_get(json_get(json_get(page, "_meta"), "ui"), "csp");
        TEST_CHECK(strcmp(json_get_text(page, "uri"), uris[i]) == 0);
        TEST_CHECK(strcmp(json_get_text(page, "mimeType"), APPS_TYPE) == 0);
        TEST_CHECK(json_count(csp) == 4);
        for (const struct json *list = json_first(csp); list; list = json_next(list))
            TEST_CHECK(json_count(list) == 0);
        TEST_CHECK(strncmp(html, "<!doctype html>\n<html lang=\"en\">", 31) == 0);
        TEST_CHECK(strstr(html, "default-src 'none'; script-src 'sha256-") != NULL);
        TEST_CHECK(!strstr(html, "http://") && !strstr(html, "https://"));
        TEST_CHECK(!strstr(html, " src=") && !strstr(html, " href="));
        TEST_CHECK(!strstr(html, "innerHTML") && !strstr(html, "eval("));
        TEST_CHECK_(strlen(html) < 20000, "%zu bytes", strlen(html));
    }
}

static void pages_are_read_and_others_are_not_found(void)
{
    open_shown();
    say(READ(1, "ui://ipybox/cell"));
    expect("\"mimeType\":\"text/html;profile=mcp-app\"");
    say(READ(2, "ui://ipybox/other"));
    expect("\"code\":-32002,\"message\":\"Resource not found\"");
    say(READ(3, "ui://ipybox/cell/"));
    expect("\"code\":-32002");
    say(READ(4, "ui://"));
    expect("\"code\":-32002");
    say(REQUEST(5, "resources/read", "\"uri\":[\"ui://ipybox/cell\"]"));
    expect("\"code\":-32602");
    close_all();
}

/* --- the data of a cell ----------------------------------------------------------------------- */

static struct json *page_data(const struct cell_result *result, const struct history *history)
{
    drop_buf struct buf out = BUF_INIT(APP_CELL_MAX);
    struct jsonw w = JSONW(&out);
    app_cell_put(&w, result, history);
    TEST_ASSERT(!out.failed);
    struct json *tree = json_parse_copy(buf_text(&out), out.len, JSON_STRICT, NULL);
    TEST_ASSERT(tree != NULL);
    return tree;
}

static struct json *data_of_variables(const char *variables)
{
    drop_json struct json *tree = json_parse_copy(variables, strlen(variables), JSON_STRICT, NULL);
    struct output o;
    output_init(&o, "/tmp", 100, 0);
    struct json *data = page_data(
        &(struct cell_result){.status = CELL_OK, .reason = "", .output = &o, .variables = tree},
        NULL);
    output_done(&o);
    return data;
}

static void hostile_variables_keep_their_form(void)
{
    static const char *const none[] = {"7", "null", "\"x\"", "[]", "[1,null,[]]", "[{\"name\":1}]"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        drop_json struct json *data = data_of_variables(none[i]);
        TEST_CHECK_(json_count(json_get(data, "variables")) == 0, "%s", none[i]);
    }
    drop_json struct json *data =
        data_of_variables("[{\"name\":\"x\",\"type\":[],\"other\":1,\"value\":\"\\u0000<b>\"}]");
    const struct json *x = json_first(json_get(data, "variables"));
    TEST_CHECK(json_count(x) == 3 && strcmp(json_get_text(x, "name"), "x") == 0);
    TEST_CHECK(strcmp(json_get_text(x, "type"), "") == 0);
    TEST_CHECK(strcmp(json_get_text(x, "value"), "\xC0\x80<b>") == 0);
}

static void a_flood_of_variables_is_cut(void)
{
    drop_buf struct buf text = BUF_INIT(1 << 20);
    (void)buf_addc(&text, '[');
    for (int i = 0; i < 300; i++) {
        (void)buf_addf(&text, "%s{\"name\":\"", i ? "," : "");
        for (int n = 0; n < 150; n++)
            (void)buf_adds(&text, "\xC3\xA4");
        (void)buf_adds(&text, "\"}");
    }
    (void)buf_addc(&text, ']');
    drop_json struct json *data = data_of_variables(buf_text(&text));
    const struct json *variables = json_get(data, "variables");
    TEST_CHECK(json_count(variables) == APP_VARIABLES_MAX);
    TEST_CHECK(strlen(json_get_text(json_first(variables), "name")) == 2 * APP_TEXT_MAX);
}

static void a_result_has_data_for_its_page_and_its_content_is_the_same(void)
{
    open_shown();
    run_cell(1);
    TEST_CHECK(fake.request.tell_variables);
    finish("2\n");
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
           "\"2\"}],\"isError\":false,\"_meta\":{\"ipybox/cell\":{\"status\":\"ok\",\"files\":[]}}"
           "}}\n");
    say(REQUEST(2, "tools/call", "\"name\":\"execute_ipython_cell\"," CODE "," META_WITH(SHOWS)));
    finish("2\n");
    expect(
        "\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":"
        "\"ipybox\",\"version\":\"1.2.3\"},\"ipybox/cell\":{");
    say(REQUEST(3, "tools/call", "\"name\":\"execute_ipython_cell\"," CODE "," META));
    TEST_CHECK(!fake.request.tell_variables);
    finish("2\n");
    expect_not("ipybox/cell");
    close_all();
}

/* --- what waits for a human ------------------------------------------------------------------- */

static void what_waits_is_read_in_full_and_answered_by_nobody_who_reads(void)
{
    struct caller caller;
    open_shown();
    say(READ(1, OWN_APPROVALS));
    expect("\"text\":\"{\\\"approvals\\\":[],\\\"omitted\\\":0}\"");
    run_cell(2);
    ask(&caller, "push");
    say(READ(3, "ipybox://sessions/default/approvals.json"));
    expect(
        "{\\\"server\\\":\\\"git\\\",\\\"runs\\\":\\\"npx git-mcp\\\",\\\"tool\\\":\\\"push\\\","
        "\\\"arguments\\\":\\\"{\\\\n  \\\\\\\"a\\\\\\\": \\\\\\\"\\\\\\\\u001b\\\\\\\"\\\\n}\\\"");
    expect("\\\"asked\\\":\\\"client\\\",\\\"expires_in_ms\\\":59980");
    say(READ(4, OWN_APPROVALS));
    expect("\\\"tool\\\":\\\"push\\\"");
    TEST_CHECK(caller.ends == 0);
    answer("ipybox-1", APPROVE);
    expect_end(&caller, APPROVAL_ACCEPTED);
    say(READ(5, OWN_APPROVALS));
    expect("[],\\\"omitted\\\":0");
    close_all();
}

static void a_question_of_a_server_is_shown_by_its_message(void)
{
    struct caller caller;
    open_shown();
    run_cell(1);
    elicit(&caller, "{\"message\":\"Who\\u202eare you?\",\"requestedSchema\":{\"type\":\"object\","
                    "\"properties\":{}}}");
    say(READ(2, OWN_APPROVALS));
    expect("\\\"message\\\":\\\"Who\\\\\\\\u202eare you?\\\"");
    expect_not("\\\"tool\\\"");
    close_all();
}

static void what_waits_in_other_sessions_is_not_found(void)
{
    open_shown();
    say(READ(1, "ipybox://sessions/other/approvals.json"));
    expect("\"message\":\"Resource not found\"");
    say(READ(2, "ipybox://session/approvals.json/"));
    expect("\"message\":\"Resource not found\"");
    close_all();
}

static void who_may_not_approve_is_not_shown_what_waits(void)
{
    static const struct mcp_caller executer = {.may_approve = false};
    static const char read[] = READ(7, OWN_APPROVALS);
    struct rpc_message m;
    struct err e = ERR_NONE;
    struct caller caller;
    open_shown();
    run_cell(1);
    ask(&caller, "push");
    drop_str char *text = xstrdup(read);
    TEST_ASSERT(rpc_parse(text, strlen(text), JSON_REQUEST, &m, &e) == 0);
    listen_anew();
    mcp_dispatch(mcp, NULL, &executer, &m);
    rpc_message_done(&m);
    expect("\"code\":-32602");
    expect("IPYBOX_TOKEN");
    expect_not("push");
    close_all();
}

#define T(test) {#test, test}
TEST_LIST = {
    T(a_client_shows_pages_when_it_names_their_type),
    T(a_client_of_the_handshake_is_told_when_it_has_said_so),
    T(a_modern_client_is_told_by_what_each_request_says),
    T(a_page_is_whole_in_one_text_and_asks_for_nothing_from_elsewhere),
    T(pages_are_read_and_others_are_not_found),
    T(hostile_variables_keep_their_form),
    T(a_flood_of_variables_is_cut),
    T(a_result_has_data_for_its_page_and_its_content_is_the_same),
    T(what_waits_is_read_in_full_and_answered_by_nobody_who_reads),
    T(a_question_of_a_server_is_shown_by_its_message),
    T(what_waits_in_other_sessions_is_not_found),
    T(who_may_not_approve_is_not_shown_what_waits),
    {NULL, NULL},
};
