/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/front/apitest.h"

#include "fakes/fake_packages.h"
#include "fakes/fake_toolplane.h"

#define APPROVER "Authorization: Bearer p\r\n"
#define EXECUTOR "Authorization: Bearer e\r\n"
#define ADMIN "Authorization: Bearer a\r\n"

static enum approval_verdict verdict;
static int decided;

static void on_decided(void *ctx, enum approval_verdict v, const char *why)
{
    (void)ctx, (void)why;
    verdict = v;
    decided++;
}

static void ask_for(const char *session)
{
    struct approval_subject subject = {.session = session,
                                       .server = "git",
                                       .shown = "git-server --all",
                                       .tool = "push",
                                       .arguments = "{\"force\":1.0}",
                                       .digest = "d"};
    struct approval *approval;
    struct err e = ERR_NONE;
    TEST_ASSERT(approvals_ask(approvals, &subject, on_decided, NULL, &approval, &e) == 0);
    turn();
}

static void open_with_tokens(bool alone)
{
    api_config = (struct api_config){
        .admin_token = "a", .execute_token = "e", .approver_token = "p", .alone = alone};
    api_config.toolplane = (struct toolplane *)&fake_toolplane;
    decided = 0;
    open_ready();
}

/* The id of the first approval in the last answer. */
static const char *id_of(void)
{
    static char id[64];
    const char *at = strstr(buf_text(&got), "\"id\":\"");
    TEST_ASSERT(at != NULL);
    (void)snprintf(id, sizeof id, "%.*s", (int)strcspn(at + 6, "\""), at + 6);
    return id;
}

static void a_question_is_listed_and_decided(void)
{
    open_with_tokens(true);
    ask_for("default");
    TEST_CHECK(decided == 0);
    call_with("GET /v1/approvals", APPROVER, "");
    check_head("HTTP/1.1 200 ");
    check_has("\"server\":\"git\",\"shown\":\"git-server --all\",\"tool\":\"push\","
              "\"arguments\":{\"force\":1.0}");
    check_has("\"mine\":true");
    drop_str char *line = xasprintf("POST /v1/approvals/%s", id_of());
    call_with(line, EXECUTOR, "{\"decision\":\"accept\"}");
    check_head("HTTP/1.1 403 ");
    call_with(line, APPROVER, "{\"decision\":\"maybe\"}");
    check_head("HTTP/1.1 400 ");
    TEST_CHECK(decided == 0);
    call_with(line, APPROVER, "{\"decision\":\"accept\",\"remember_calls\":1}");
    check_head("HTTP/1.1 204 ");
    TEST_CHECK(decided == 1 && verdict == APPROVAL_ACCEPTED);
    call_with(line, APPROVER, "{\"decision\":\"accept\"}");
    check_head("HTTP/1.1 404 ");
    ask_for("default"); /* it was remembered for one more */
    TEST_CHECK(decided == 2 && verdict == APPROVAL_ACCEPTED);
    ask_for("default");
    TEST_CHECK(decided == 2);
    call_with("GET /v1/approvals", ADMIN, "");
    drop_str char *other = xasprintf("POST /v1/approvals/%s", id_of());
    call_with(other, ADMIN, "{\"decision\":\"reject\"}");
    TEST_CHECK(decided == 3 && verdict == APPROVAL_REJECTED);
    TEST_CHECK(metrics.verdicts[APPROVAL_ACCEPTED] == 2 &&
               metrics.verdicts[APPROVAL_REJECTED] == 1);
    close_api();
}

static void a_question_is_an_event_of_the_cell_that_waits(void)
{
    open_with_tokens(true);
    int fd = send_with("POST /v1/sessions/default/executions",
                       EXECUTOR "Accept: text/event-stream\r\n", "{\"code\":\"x\"}");
    ask_for("default");
    (void)hear(fd);
    check_has("event: approval\ndata: {\"cell\":1,");
    check_has("\"state\":\"asked\"");
    check_has("\"tool\":\"push\"");
    call_with("GET /v1/approvals", APPROVER, "");
    drop_str char *line = xasprintf("POST /v1/approvals/%s", id_of());
    call_with(line, APPROVER, "{\"decision\":\"reject\"}");
    fake_kernel_done(OK_REPLY);
    finish(fd);
    check_has("\"state\":\"settled\"");
    check_has("\"outcome\":\"rejected\"");
    close_api();
}

static void a_session_has_a_time_of_its_own_for_answers(void)
{
    open_with_tokens(true);
    call_with("POST /v1/sessions", EXECUTOR, "{\"id\":\"short\",\"approval_timeout_ms\":1500}");
    check_head("HTTP/1.1 201 ");
    call_with("POST /v1/sessions", EXECUTOR, "{\"id\":\"never\",\"approval_timeout_ms\":0}");
    check_head("HTTP/1.1 201 ");
    call_with("POST /v1/sessions", EXECUTOR, "{\"approval_timeout_ms\":-1}");
    check_head("HTTP/1.1 400 ");
    check_has("approval_timeout_ms");
    ask_for("short");
    ask_for("never");
    ask_for("default");
    pass(1499);
    TEST_CHECK(decided == 0);
    pass(1);
    TEST_CHECK(decided == 1 && verdict == APPROVAL_EXPIRED);
    pass(600000);
    TEST_CHECK(decided == 2 && verdict == APPROVAL_EXPIRED); /* the default one */
    pass(600000);
    TEST_CHECK(decided == 2);
    close_api();
}

/* Beside another door: a question that nobody looks at fails, as it would without HTTP. */
static void the_seat_is_taken_while_somebody_looks(void)
{
    open_with_tokens(false);
    ask_for("default");
    TEST_CHECK(decided == 1 && verdict == APPROVAL_FAILED);
    call_with("GET /v1/approvals", APPROVER, "");
    ask_for("default");
    TEST_CHECK(decided == 1);
    pass(59000);
    TEST_CHECK(decided == 1);
    pass(1000);
    TEST_CHECK(decided == 2 && verdict == APPROVAL_FAILED);
    close_api();
}

static void without_a_token_nobody_approves_or_registers(void)
{
    api_config = (struct api_config){.alone = true};
    decided = 0;
    open_ready();
    ask_for("default");
    TEST_CHECK(decided == 1 && verdict == APPROVAL_FAILED);
    call("GET /v1/approvals", "");
    check_head("HTTP/1.1 401 ");
    call("POST /v1/mcp-servers", "{\"name\":\"demo\",\"params\":{}}");
    check_head("HTTP/1.1 401 ");
    TEST_CHECK(fake_toolplane.registrations == 0);
    close_api();
}

static void servers_are_registered_listed_and_removed(void)
{
    static char module[] = "add";
    char *modules[] = {module};
    fake_toolplane_clear();
    open_with_tokens(true);
    call_with("POST /v1/mcp-servers", EXECUTOR, "{\"name\":\"demo\",\"params\":{}}");
    check_head("HTTP/1.1 403 ");
    call_with("POST /v1/mcp-servers", ADMIN, "{\"name\":\"demo\"}");
    check_head("HTTP/1.1 400 ");
    TEST_CHECK(fake_toolplane.registrations == 0);
    int fd = send_with("POST /v1/mcp-servers", ADMIN,
                       "{\"name\":\"demo\",\"params\":{\"command\":\"x\"}}");
    TEST_CHECK(strcmp(fake_toolplane.params, "{\"command\":\"x\"}") == 0);
    fake_toolplane_registered(modules, 1, NULL);
    finish(fd);
    check_head("HTTP/1.1 201 ");
    check_has("{\"name\":\"demo\",\"modules\":[\"add\"]}");
    fd = send_with("POST /v1/mcp-servers", ADMIN, "{\"name\":\"demo\",\"params\":{}}");
    struct err why = ERR_NONE;
    (void)err_set(&why, -ECHILD, "it ended with status 3");
    fake_toolplane_registered(NULL, 0, &why);
    finish(fd);
    check_head("HTTP/1.1 502 ");
    check_has("it ended with status 3");
    call_with("GET /v1/mcp-servers", EXECUTOR, "");
    check_has("{\"servers\":[{\"name\":\"demo\",\"shown\":\"python3 demo.py\","
              "\"state\":\"stopped\",\"tool_count\":1}]}");
    fake_toolplane.failed = "it ended";
    call_with("GET /v1/mcp-servers", EXECUTOR, "");
    check_has("{\"name\":\"broken\",\"shown\":\"\",\"state\":\"failed\",\"error\":\"it ended\",");
    fake_toolplane.failed = NULL;
    call_with("GET /v1/mcp-servers/demo", EXECUTOR, "");
    check_has("\"tools\":[{\"name\":\"add\",\"description\":\"adds\",\"digest\":\"0abc\"}]");
    check_has_not("secret");
    fake_toolplane.launched = true;
    call_with("GET /v1/mcp-servers", EXECUTOR, "");
    check_has("\"tool_count\":1,\"uses_cells\":false,\"program\":\"/usr/bin/python3\","
              "\"cwd\":\"/own/demo\",\"note\":\"how it is started\"}");
    call_with("DELETE /v1/mcp-servers/other", ADMIN, "");
    check_head("HTTP/1.1 404 ");
    call_with("DELETE /v1/mcp-servers/demo", ADMIN, "");
    check_head("HTTP/1.1 204 ");
    TEST_CHECK(fake_toolplane.removals == 1);
    close_api();
}

static void a_client_that_leaves_ends_its_registration(void)
{
    fake_toolplane_clear();
    open_with_tokens(true);
    int fd = send_with("POST /v1/mcp-servers", ADMIN, "{\"name\":\"demo\",\"params\":{}}");
    (void)fd_close(fd);
    turn();
    TEST_CHECK(fake_toolplane.cancels == 1);
    close_api();
}

static void a_package_is_installed_whole_or_as_a_stream(void)
{
    fake_packages = (struct fake_packages){0};
    open_with_tokens(true);
    int fd = send_with("POST /v1/packages", EXECUTOR, "{\"package\":\"requests\"}");
    TEST_CHECK(strcmp(fake_packages.package, "requests") == 0);
    fake_packages_text("Collecting");
    fake_packages_finish("Collecting requests", NULL);
    finish(fd);
    check_head("HTTP/1.1 200 ");
    check_has("\r\n\r\n{\"status\":\"ok\",\"output\":\"Collecting requests\"}");
    fd = send_with("POST /v1/packages", EXECUTOR "Accept: text/event-stream\r\n",
                   "{\"package\":\"none\"}");
    fake_packages_text("Looking");
    fake_packages_progress(1024, 4096, "Downloading");
    (void)hear(fd);
    check_has("event: text\ndata: {\"text\":\"Looking\"}\n\n");
    check_has("event: progress\ndata: {\"progress\":1024,\"total\":4096,"
              "\"message\":\"Downloading\"}\n\n");
    fake_packages_finish("Looking\nERROR: no such\n", "pip ended with status 1");
    finish(fd);
    check_has("event: end\ndata: {\"status\":\"error\",\"reason\":\"pip ended with status 1\","
              "\"output\":\"ERROR: no such\",\"output_file\":\"" API_WORKSPACE "/outputs/");
    call_with("POST /v1/packages", EXECUTOR, "{\"package\":\"--index-url\"}");
    check_head("HTTP/1.1 400 ");
    check_has("\"detail\":\"package: an option\""); /* by the name that it has here */
    call_with("POST /v1/packages", APPROVER, "{\"package\":\"x\"}");
    check_head("HTTP/1.1 403 ");
    TEST_CHECK(fake_packages.starts == 2);
    close_api();
}

static void the_end_of_an_installation_is_told_to_a_slow_reader_too(void)
{
    static char large[60000];
    drop_buf struct buf all = BUF_INIT((size_t)64 << 20);
    fake_packages = (struct fake_packages){0};
    open_with_tokens(true);
    int fd = send_with("POST /v1/packages", EXECUTOR "Accept: text/event-stream\r\n",
                       "{\"package\":\"x\"}");
    memset(large, 'x', sizeof large - 1);
    for (int i = 0; i < 400; i++) {
        fake_packages_text(large);
        loop_turn(loop, 0);
    }
    fake_packages_finish(large, NULL);
    for (int i = 0; i < 2000 && !memmem(buf_text(&all), all.len, "\r\n0\r\n\r\n", 7); i++) {
        (void)hear(fd);
        (void)buf_add(&all, got.data, got.len);
    }
    TEST_CHECK(strstr(buf_text(&all), "event: end\ndata: {\"status\":\"ok\"") != NULL);
    (void)fd_close(fd);
    turn();
    close_api();
}

static void only_so_many_packages_at_once_and_who_leaves_ends_his(void)
{
    int fds[4];
    fake_packages = (struct fake_packages){0};
    open_with_tokens(true);
    for (size_t i = 0; i < 4; i++)
        fds[i] = send_with("POST /v1/packages", EXECUTOR, "{\"package\":\"x\"}");
    call_with("POST /v1/packages", EXECUTOR, "{\"package\":\"x\"}");
    check_head("HTTP/1.1 429 ");
    check_has("4 packages are being installed");
    (void)fd_close(fds[0]);
    turn();
    TEST_CHECK(fake_packages.cancels == 1);
    fds[0] = send_with("POST /v1/packages", EXECUTOR, "{\"package\":\"x\"}");
    TEST_CHECK(fake_packages.starts == 5);
    close_api();
    TEST_CHECK(fake_packages.cancels == 5);
    for (size_t i = 0; i < 4; i++)
        (void)fd_close(fds[i]);
}

static void packages_are_listed_and_what_lists_them_is_not_believed(void)
{
    fake_packages = (struct fake_packages){0};
    open_with_tokens(true);
    int fd = send_with("GET /v1/packages", EXECUTOR, "");
    TEST_CHECK(fake_packages.lists == 1);
    fake_packages_listed("[{\"name\":\"numpy\",\"version\":\"2.1\",\"path\":\"/x\"},1,"
                         "{\"name\":\"half\"},{\"name\":\"a\\nb\",\"version\":\"1\"}]");
    finish(fd);
    check_head("HTTP/1.1 200 ");
    check_has("\r\n\r\n{\"packages\":[{\"name\":\"numpy\",\"version\":\"2.1\"},"
              "{\"name\":\"a\\nb\",\"version\":\"1\"}]}");
    fd = send_with("GET /v1/packages", EXECUTOR, "");
    fake_packages_listed(NULL);
    finish(fd);
    check_head("HTTP/1.1 500 ");
    check_has("\"detail\":\"Python told no list\"");
    call_with("GET /v1/packages", APPROVER, "");
    check_head("HTTP/1.1 403 ");
    fd = send_with("GET /v1/packages", EXECUTOR, "");
    (void)fd_close(fd);
    turn();
    TEST_CHECK(fake_packages.lists == 3 && fake_packages.cancels == 1);
    close_api();
}

static void a_session_can_be_stricter_than_the_policy(void)
{
    open_with_tokens(true);
    call_with("POST /v1/sessions", EXECUTOR, "{\"approval\":\"never\"}");
    check_head("HTTP/1.1 400 ");
    call_with("POST /v1/sessions", EXECUTOR, "{\"id\":\"s\",\"approval\":\"deny\"}");
    check_head("HTTP/1.1 201 ");
    ask_for("s");
    TEST_CHECK(decided == 1 && verdict == APPROVAL_REJECTED);
    ask_for("default");
    TEST_CHECK(decided == 1);
    call_with("DELETE /v1/sessions/s", EXECUTOR, "");
    ask_for("s"); /* another session of this name would not inherit it */
    TEST_CHECK(decided == 1);
    close_api();
}

static void a_tool_tells_its_progress_to_the_session_that_called_it(void)
{
    struct toolplane_progress p = {.session = "default",
                                   .server = "demo",
                                   .tool = "long",
                                   .call = 3,
                                   .progress = 1.5,
                                   .total = 4,
                                   .message = "half \"way\""};
    open_with_tokens(true);
    int fd = send_with("POST /v1/sessions/default/executions",
                       EXECUTOR "Accept: text/event-stream\r\n", "{\"code\":\"x\"}");
    (void)hear(fd);
    fake_toolplane_progress(&p);
    (void)hear(fd);
    check_has("event: progress\ndata: {\"cell\":1,");
    check_has("\"call\":3,\"server\":\"demo\",\"tool\":\"long\",\"progress\":1.5,\"total\":4,"
              "\"message\":\"half \\\"way\\\"\"}\n\n");
    p.total = -1;
    p.message = "";
    fake_toolplane_progress(&p);
    (void)hear(fd);
    check_has("\"progress\":1.5}\n\n");
    p.session = "elsewhere";
    fake_toolplane_progress(&p);
    (void)hear(fd);
    check_has_not("progress");
    fake_kernel_done(OK_REPLY);
    finish(fd);
    close_api();
    fake_toolplane_progress(&p); /* nobody is there any more */
}

static void tools_are_found_by_words(void)
{
    fake_toolplane_clear();
    open_with_tokens(true);
    call_with("GET /v1/tools?search=add", EXECUTOR, "");
    check_has("{\"tools\":[{\"server\":\"demo\",\"name\":\"add\",\"module\":\"add\","
              "\"line\":\"add(**more) -> str: adds\"}]}");
    call_with("GET /v1/tools?search=add&server=git", EXECUTOR, "");
    check_has("{\"tools\":[]}");
    call_with("GET /v1/tools?search=add&limit=0", EXECUTOR, "");
    check_head("HTTP/1.1 400 ");
    check_has("limit must be a number from 1 to 100");
    call_with("GET /v1/tools", APPROVER, "");
    check_head("HTTP/1.1 403 ");
    close_api();
}

static void one_tool_is_shown_whole(void)
{
    fake_toolplane_clear();
    open_with_tokens(true);
    call_with("GET /v1/mcp-servers/demo/tools/add", EXECUTOR, "");
    check_has("{\"name\":\"add\",\"description\":\"adds\",\"digest\":\"0abc\"}");
    call_with("GET /v1/mcp-servers/demo/tools/sub", EXECUTOR, "");
    check_head("HTTP/1.1 404 ");
    check_has("the MCP server demo has no tool sub");
    call_with("GET /v1/mcp-servers/other/tools/add", EXECUTOR, "");
    check_head("HTTP/1.1 404 ");
    close_api();
}

TEST_LIST = {
    {"a_session_can_be_stricter_than_the_policy", a_session_can_be_stricter_than_the_policy},
    {"a_package_is_installed_whole_or_as_a_stream", a_package_is_installed_whole_or_as_a_stream},
    {"the_end_of_an_installation_is_told_to_a_slow_reader_too",
     the_end_of_an_installation_is_told_to_a_slow_reader_too},
    {"only_so_many_packages_at_once_and_who_leaves_ends_his",
     only_so_many_packages_at_once_and_who_leaves_ends_his},
    {"packages_are_listed_and_what_lists_them_is_not_believed",
     packages_are_listed_and_what_lists_them_is_not_believed},
    {"a_question_is_listed_and_decided", a_question_is_listed_and_decided},
    {"a_session_has_a_time_of_its_own_for_answers", a_session_has_a_time_of_its_own_for_answers},
    {"a_question_is_an_event_of_the_cell_that_waits",
     a_question_is_an_event_of_the_cell_that_waits},
    {"the_seat_is_taken_while_somebody_looks", the_seat_is_taken_while_somebody_looks},
    {"without_a_token_nobody_approves_or_registers", without_a_token_nobody_approves_or_registers},
    {"servers_are_registered_listed_and_removed", servers_are_registered_listed_and_removed},
    {"a_client_that_leaves_ends_its_registration", a_client_that_leaves_ends_its_registration},
    {"a_tool_tells_its_progress_to_the_session_that_called_it",
     a_tool_tells_its_progress_to_the_session_that_called_it},
    {"tools_are_found_by_words", tools_are_found_by_words},
    {"one_tool_is_shown_whole", one_tool_is_shown_whole},
    {NULL, NULL},
};
