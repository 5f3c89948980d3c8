/* SPDX-License-Identifier: Apache-2.0
 *
 * The tool plane above played MCP servers (tests/fakes/fake_tools.c) and real approvals. */
#include "approval/toolplane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acutest.h"
#include "base/alloc.h"
#include "fakes/fake_tools.h"
#include "unit/audittest.h"

static struct {
    struct loop *loop;
    struct approvals *approvals;
    struct toolplane *plane;
    struct approver *approver;
    char asked[256]; /* the last question: SERVER.TOOL SHOWN ARGUMENTS */
    char id[APPROVALS_ID_MAX + 1];
    char dir[64];
    int done;
    enum toolplane_failure failure;
    char text[256];
    char modules[512];
} t;

static void on_ask(void *ctx, const struct approval_view *view)
{
    (void)ctx;
    (void)snprintf(t.id, sizeof t.id, "%s", view->id);
    (void)snprintf(t.asked, sizeof t.asked, "%s.%s %s %s", view->subject.server, view->subject.tool,
                   view->subject.shown, view->subject.arguments);
}

static void on_elicit(void *ctx, const struct approval_view *view)
{
    (void)ctx;
    (void)snprintf(t.id, sizeof t.id, "%s", view->id);
    (void)snprintf(t.asked, sizeof t.asked, "%s: %s", view->subject.server, view->form);
}

static void on_settled(void *ctx, const char *id, const char *outcome)
{
    (void)outcome;
    (void)ctx, (void)id;
}

static void turn(void)
{
    for (int i = 0; i < 4; i++)
        loop_turn(t.loop, 0);
}

static const struct request_context *of_cell; /* NULL: no cell runs */

static const struct request_context *context_of_cell(void *ctx, const char *session)
{
    (void)ctx;
    return strcmp(session, "default") == 0 ? of_cell : NULL;
}

static void start(bool ask)
{
    TEST_ASSERT(loop_new(&t.loop, NULL) == 0);
    struct approvals_config approvals = {.loop = t.loop, .ask_by_default = ask, .audit = audit};
    TEST_ASSERT(approvals_open(&approvals, &t.approvals, NULL) == 0);
    (void)snprintf(t.dir, sizeof t.dir, "/tmp/toolplane-XXXXXX");
    TEST_ASSERT(mkdtemp(t.dir) != NULL);
    t.plane = toolplane_open(&(struct toolplane_config){.loop = t.loop,
                                                        .approvals = t.approvals,
                                                        .packages_dir = t.dir,
                                                        .audit = audit,
                                                        .origin = context_of_cell});
    t.approver = approver_join(
        t.approvals,
        &(struct approver_config){.ask = on_ask, .elicit = on_elicit, .settled = on_settled});
    fake_tools.known = true;
    (void)snprintf(fake_tools.params, sizeof fake_tools.params, "{\"command\":\"x\"}");
}

static void stop(void)
{
    t.plane = toolplane_close(t.plane);
    t.approver = approver_leave(t.approver);
    t.approvals = approvals_close(t.approvals);
    t.loop = loop_free(t.loop);
    drop_str char *command = xasprintf("rm -rf %s", t.dir);
    TEST_CHECK(system(command) == 0);
}

static void on_done(void *ctx, enum toolplane_failure failure, const struct tools_result *result,
                    const char *why)
{
    (void)ctx;
    t.done++;
    t.failure = failure;
    drop_buf struct buf out = BUF_INIT(4096);
    struct jsonw w = JSONW(&out);
    if (result)
        toolplane_put_result(&w, result);
    (void)snprintf(t.text, sizeof t.text, "%s", failure == TOOLPLANE_OK ? buf_text(&out) : why);
}

static const struct toolplane_events events = {.done = on_done};

static int begin(enum toolplane_role role, const char *server, const char *params,
                 struct toolplane_call **ret, struct err *e)
{
    drop_json struct json *tree =
        params ? json_parse_copy(params, strlen(params), JSON_STRICT, NULL) : NULL;
    struct toolplane_request request = {.role = role,
                                        .session = "default",
                                        .server = server,
                                        .tool = "echo",
                                        .params = tree,
                                        .arguments = "{\"n\":12345678901234567890}"};
    return toolplane_call(t.plane, &request, &events, NULL, ret, e);
}

static void decide(bool accept)
{
    TEST_CHECK(approver_decide(t.approver, t.id, &(struct approval_decision){.accept = accept},
                               NULL) == 0);
    turn();
}

static void expect(enum toolplane_failure failure, const char *text)
{
    TEST_CHECK_(t.done == 1, "%d", t.done);
    TEST_CHECK_(t.failure == failure, "%d", (int)t.failure);
    TEST_CHECK_(strcmp(t.text, text) == 0, "%s", t.text);
    t.done = 0;
}

static void a_call_is_made_without_asking_when_nothing_says_otherwise(void)
{
    struct toolplane_call *call;
    start(false);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    turn();
    TEST_CHECK(strcmp(fake_tools.called, "demo echo {\"n\":12345678901234567890}") == 0);
    TEST_CHECK(t.done == 0);
    fake_tools_done("hi", false, NULL);
    expect(TOOLPLANE_OK, "\"hi\"");
    stop();
}

static void the_human_sees_what_will_run_and_decides(void)
{
    struct toolplane_call *call;
    start(true);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    turn();
    TEST_CHECK_(strcmp(t.asked, "demo.echo run demo {\"n\":12345678901234567890}") == 0, "%s",
                t.asked);
    TEST_CHECK(fake_tools.calls == 0);
    decide(false);
    expect(TOOLPLANE_REJECTED, "Approval request for demo.echo rejected");
    TEST_CHECK(fake_tools.calls == 0);

    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    turn();
    decide(true);
    TEST_CHECK(fake_tools.calls == 1);
    fake_tools_done("no such file", true, NULL);
    expect(TOOLPLANE_ERROR, "no such file");
    stop();
}

static int begin_as(const char *tool, const char *arguments, struct err *e)
{
    struct toolplane_call *call;
    struct toolplane_request request = {.role = TOOLPLANE_KERNEL,
                                        .session = "default",
                                        .server = "demo",
                                        .tool = tool,
                                        .arguments = arguments};
    return toolplane_call(t.plane, &request, &events, NULL, &call, e);
}

/* Rules go by names, and so does whoever is asked. */
static void a_tool_that_is_not_listed_is_refused_before_anybody_is_asked(void)
{
    static const char *const names[] = {"Echo", "echo ", "", "ec\xe2\x80\x8bho", "nope"};
    open_audit();
    start(true);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct err e = ERR_NONE;
        TEST_CASE(names[i]);
        TEST_CHECK(begin_as(names[i], "{}", &e) == -ENOENT);
        TEST_CHECK_(strstr(e.msg, "the MCP server demo lists no tool") != NULL, "%s", e.msg);
        TEST_CHECK(strstr(e.msg, "\xe2\x80\x8b") == NULL);
        turn();
    }
    TEST_CHECK_(t.asked[0] == '\0' && fake_tools.calls == 0, "%s", t.asked);
    read_trail();
    TEST_CHECK(strstr(audit_trail, "approval") == NULL);
    TEST_CHECK(strstr(audit_trail, "tool=nope outcome=refused\n") != NULL);
    stop();
    close_audit();
    audit = NULL;
}

static void a_name_that_stands_twice_in_arguments_is_refused(void)
{
    static const char *const texts[] = {"{\"path\":\"/a\",\"path\":\"/b\"}",
                                        "{\"x\":[{\"k\":1,\"\\u006b\":2}]}", "[]", "{"};
    start(true);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct err e = ERR_NONE;
        TEST_CASE(texts[i]);
        TEST_CHECK(begin_as("echo", texts[i], &e) == -EINVAL);
        TEST_CHECK_(strstr(e.msg, "the arguments of a tool: ") != NULL, "%s", e.msg);
    }
    turn();
    TEST_CHECK(t.asked[0] == '\0');
    stop();
}

static void what_is_asked_about_is_what_is_sent(void)
{
    static const char canonical[] = "{\"path\":\"/etc\\u202e\",\"n\":1.0}";
    start(true);
    TEST_CHECK(begin_as("echo", " { \"\\u0070ath\" : \"\\/etc\xe2\x80\xae\" , \"n\":1.0 }", NULL) ==
               0);
    turn();
    TEST_CHECK_(strstr(t.asked, canonical) != NULL, "%s", t.asked);
    decide(true);
    TEST_CHECK_(strstr(fake_tools.called, canonical) != NULL, "%s", fake_tools.called);
    stop();
}

static void nobody_to_ask_is_a_failure(void)
{
    struct toolplane_call *call;
    start(true);
    t.approver = approver_leave(t.approver);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    turn();
    expect(TOOLPLANE_ERROR,
           "Approval request for demo.echo failed: Approval channel not connected");
    stop();
}

static void a_kernel_starts_nothing(void)
{
    struct toolplane_call *call;
    struct err e = ERR_NONE;
    start(false);
    TEST_CHECK(begin(TOOLPLANE_KERNEL, "other", NULL, &call, &e) == -ENOENT);
    TEST_CHECK(begin(TOOLPLANE_KERNEL, "other", "{\"command\":\"sh\"}", &call, &e) == -ENOENT);
    TEST_CHECK_(strstr(e.msg, "other is not registered") != NULL, "%s", e.msg);
    TEST_CHECK(begin(TOOLPLANE_KERNEL, "demo", "{\"command\":\"sh\"}", &call, &e) == -EPERM);
    TEST_CHECK(begin(TOOLPLANE_KERNEL, "demo", "{\"command\":\"x\"}", &call, &e) == 0);
    TEST_CHECK(fake_tools.registrations == 0);
    stop();
}

static void an_application_brings_a_server_once_and_in_full_view(void)
{
    struct toolplane_call *call;
    struct err e = ERR_NONE;
    start(true);
    fake_tools.known = false;
    TEST_ASSERT(begin(TOOLPLANE_APPLICATION, "demo", "{\"command\":\"y\"}", &call, NULL) == 0);
    turn();
    TEST_CHECK_(strncmp(t.asked, "demo.echo shown y ", 18) == 0, "%s", t.asked);
    TEST_CHECK(fake_tools.registrations == 0);
    decide(true);
    TEST_CHECK(strcmp(fake_tools.registered, "demo {\"command\":\"y\"}") == 0);
    fake_tools_registered(NULL);
    turn();
    TEST_CHECK(fake_tools.calls == 1);
    fake_tools_done("hi", false, NULL);
    expect(TOOLPLANE_OK, "\"hi\"");
    TEST_CHECK(begin(TOOLPLANE_APPLICATION, "demo", "{\"command\":\"z\"}", &call, &e) == -EPERM);
    stop();
}

static void a_cancelled_call_is_given_up_wherever_it_is(void)
{
    struct toolplane_call *call;
    start(true);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    turn();
    toolplane_call_cancel(call);
    TEST_CHECK(approvals_waiting(t.approvals, "default") == 0);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    turn();
    decide(true);
    toolplane_call_cancel(call);
    TEST_CHECK(fake_tools.cancelled == 1);
    TEST_CHECK(t.done == 0);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0); /* close cancels it */
    stop();
}

static char told[4096]; /* "SESSION SERVER.TOOL CALL PROGRESS/TOTAL MESSAGE|" … */
static int64_t now = 1000;

static int64_t fake_clock(void)
{
    return now;
}

static void on_told(void *ctx, const struct toolplane_progress *p)
{
    (void)ctx;
    size_t n = strlen(told);
    (void)snprintf(told + n, sizeof told - n, "%s %s.%s %d %g/%g %s|", p->session, p->server,
                   p->tool, (int)p->call, p->progress, p->total, p->message);
}

static void expect_told(const char *text)
{
    TEST_CHECK_(strcmp(told, text) == 0, "%s", told);
    told[0] = '\0';
}

static void wait_ms(int64_t ms)
{
    now += ms;
    turn();
}

/* The first at once, then the newest of each step in time, the last before the end. */
static void progress_is_told_now_and_then(void)
{
    struct toolplane_call *call;
    start(false);
    loop_set_clock(t.loop, fake_clock);
    toolplane_watch(t.plane, on_told, NULL);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    turn();
    TEST_CHECK(fake_tools.progress_wanted);
    fake_tools_progress(1, -1, "one");
    expect_told("default demo.echo 1 1/-1 one|");
    for (int i = 2; i <= 1000; i++)
        fake_tools_progress(i, 1000.5, "more");
    wait_ms(TOOLPLANE_PROGRESS_MS - 1);
    expect_told("");
    wait_ms(1);
    expect_told("default demo.echo 1 1000/1000.5 more|");
    wait_ms(TOOLPLANE_PROGRESS_MS);
    expect_told("");
    fake_tools_progress(1001, -1, "");
    expect_told("default demo.echo 1 1001/-1 |");
    fake_tools_progress(1002, -1, "last");
    fake_tools_done("hi", false, NULL);
    expect_told("default demo.echo 1 1002/-1 last|");
    expect(TOOLPLANE_OK, "\"hi\"");
    wait_ms(TOOLPLANE_PROGRESS_MS);
    expect_told("");
    stop();
}

static void a_long_message_is_cut_and_a_call_may_end_in_between(void)
{
    static char large[100000];
    struct toolplane_call *call;
    start(false);
    loop_set_clock(t.loop, fake_clock);
    toolplane_watch(t.plane, on_told, NULL);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    turn();
    memset(large, 'x', sizeof large - 1);
    fake_tools_progress(1, -1, large);
    TEST_CHECK(strlen(told) < TOOLPLANE_PROGRESS_CHARS + 100);
    told[0] = '\0';
    fake_tools_progress(2, -1, "never told");
    toolplane_call_cancel(call);
    wait_ms(TOOLPLANE_PROGRESS_MS);
    expect_told("");
    stop();
}

static void without_a_watcher_no_progress_is_asked_for(void)
{
    struct toolplane_call *call;
    start(false);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    turn();
    TEST_CHECK(fake_tools.calls == 1 && !fake_tools.progress_wanted);
    toolplane_call_cancel(call);
    stop();
}

static void approval_alone_is_for_shell_commands(void)
{
    struct toolplane_call *call;
    struct err e = ERR_NONE;
    start(true);
    struct toolplane_request request = {
        .session = "default", .server = "ipybox", .tool = "shell", .arguments = "{\"cmd\":\"ls\"}"};
    TEST_ASSERT(toolplane_approve(t.plane, &request, &events, NULL, &call, NULL) == 0);
    turn();
    TEST_CHECK_(strstr(t.asked, "ipybox.shell") != NULL, "%s", t.asked);
    decide(true);
    expect(TOOLPLANE_OK, "");
    TEST_CHECK(fake_tools.calls == 0);
    request.server = "github";
    TEST_CHECK(toolplane_approve(t.plane, &request, &events, NULL, &call, &e) == -ENOENT);
    stop();
}

static void what_a_server_asks_goes_to_the_human(void)
{
    struct toolplane_call *call;
    start(false);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    turn();
    fake_tools_ask("{\"message\":\"Who?\"}");
    turn();
    TEST_CHECK_(strcmp(t.asked, "demo: {\"message\":\"Who?\"}") == 0, "%s", t.asked);
    TEST_CHECK(approver_answer(t.approver, t.id, "{\"action\":\"accept\"}", NULL) == 0);
    turn();
    TEST_CHECK_(strcmp(fake_tools.answer, "{\"action\":\"accept\"}") == 0, "%s", fake_tools.answer);
    fake_tools_done("hi", false, NULL);
    expect(TOOLPLANE_OK, "\"hi\"");
    stop();
}

static void on_registered(void *ctx, char *const *modules, size_t n, const struct err *why)
{
    (void)ctx;
    t.done++;
    t.modules[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        (void)strcat(t.modules, modules[i]);
        (void)strcat(t.modules, " ");
    }
    if (why)
        (void)snprintf(t.modules, sizeof t.modules, "%s", why->msg);
}

static void registration_writes_the_package(void)
{
    struct toolplane_job *job;
    struct err e = ERR_NONE;
    start(false);
    drop_json struct json *params = json_parse_copy("{}", 2, JSON_STRICT, NULL);
    TEST_ASSERT(toolplane_register(t.plane, "demo", params, on_registered, NULL, &job, NULL) == 0);
    fake_tools_registered(NULL);
    TEST_CHECK(t.done == 0);
    turn();
    TEST_CHECK_(strcmp(t.modules, "echo odd_name ") == 0, "%s", t.modules);
    drop_str char *path = xasprintf("%s/demo/odd_name.py", t.dir);
    TEST_CHECK(access(path, R_OK) == 0);

    TEST_ASSERT(toolplane_register(t.plane, "demo", params, on_registered, NULL, &job, NULL) == 0);
    fake_tools_registered("it does not start");
    TEST_CHECK_(strcmp(t.modules, "it does not start") == 0, "%s", t.modules);
    TEST_CHECK(access(path, R_OK) == 0);

    TEST_CHECK(toolplane_register(t.plane, "ipybox", params, on_registered, NULL, &job, &e) ==
               -EINVAL);
    TEST_ASSERT(toolplane_register(t.plane, "demo", params, on_registered, NULL, &job, NULL) == 0);
    toolplane_job_cancel(job);
    TEST_ASSERT(toolplane_register(t.plane, "demo", params, on_registered, NULL, &job, NULL) == 0);
    fake_tools_registered(NULL);
    toolplane_job_cancel(job); /* its package would be written in the next turn */
    turn();
    TEST_CHECK(t.done == 2);
    stop();
}

static void a_call_waits_for_a_registration_that_is_under_way(void)
{
    struct toolplane_job *job;
    struct toolplane_call *call, *import;
    start(false);
    fake_tools.known = false;
    drop_json struct json *params = json_parse_copy("{}", 2, JSON_STRICT, NULL);
    const struct toolplane_request request = {
        .session = "default", .server = "demo", .tool = "", .arguments = ""};
    TEST_ASSERT(toolplane_register(t.plane, "demo", params, on_registered, NULL, &job, NULL) == 0);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    TEST_ASSERT(toolplane_await(t.plane, &request, &events, NULL, &import, NULL) == 0);
    turn();
    TEST_CHECK(t.done == 0 && fake_tools.calls == 0);
    fake_tools.known = true;
    fake_tools_registered(NULL);
    turn();
    TEST_CHECK(fake_tools.calls == 1); /* the import is done, the call is sent, the package there */
    fake_tools_done("hi", false, NULL);
    TEST_CHECK_(t.done == 3 && strcmp(t.text, "\"hi\"") == 0, "%d %s", t.done, t.text);
    stop();
}

static void count_unready(void *ctx, const struct tools_server *server)
{
    int *n = ctx;
    *n += 1;
    TEST_CHECK_(strcmp(server->name, "demo") == 0, "%s", server->name);
}

static void a_failed_start_gives_its_reason_to_who_waits_and_to_who_comes_later(void)
{
    struct toolplane_job *job;
    struct toolplane_call *call;
    struct err e = ERR_NONE;
    int unready = 0;
    start(false);
    fake_tools.known = false;
    drop_json struct json *params = json_parse_copy("{}", 2, JSON_STRICT, NULL);
    TEST_ASSERT(toolplane_register(t.plane, "demo", params, on_registered, NULL, &job, NULL) == 0);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    toolplane_unready(t.plane, count_unready, &unready);
    TEST_CHECK(unready == 1);
    fake_tools_registered("it does not start: no such file");
    turn();
    TEST_CHECK_(t.failure == TOOLPLANE_ERROR && strstr(t.text, "no such file"), "%s", t.text);
    TEST_CHECK(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, &e) == -ENOENT);
    TEST_CHECK_(strstr(e.msg, "is not registered: it does not start: no such file") != NULL, "%s",
                e.msg);
    toolplane_unready(t.plane, count_unready, &unready);
    TEST_CHECK(unready == 2);
    TEST_CHECK(toolplane_remove(t.plane, "demo"));
    toolplane_unready(t.plane, count_unready, &unready);
    TEST_CHECK(unready == 2);

    TEST_ASSERT(toolplane_register(t.plane, "demo", params, on_registered, NULL, &job, NULL) == 0);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    toolplane_job_cancel(job);
    turn();
    TEST_CHECK_(strstr(t.text, "was given up") != NULL, "%s", t.text);
    stop();
}

#define ASKED "session=default server=demo tool=echo"

static void what_is_asked_and_called_is_told(void)
{
    struct toolplane_call *call;
    struct toolplane_job *job;
    open_audit();
    start(true);
    for (int i = 0; i < 2; i++) {
        TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
        turn();
        decide(i == 1);
    }
    fake_tools_done("hi", false, NULL);
    TEST_CHECK(begin(TOOLPLANE_KERNEL, "unknown", NULL, &call, NULL) == -ENOENT);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    turn();
    toolplane_call_cancel(call);
    turn();
    t.approver = approver_leave(t.approver);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    turn();
    drop_json struct json *params = json_parse_copy("{}", 2, JSON_STRICT, NULL);
    const char *before = log_set_request("req-1");
    TEST_ASSERT(toolplane_register(t.plane, "demo", params, on_registered, NULL, &job, NULL) == 0);
    (void)log_set_request(before);
    fake_tools_registered(NULL);
    turn();
    toolplane_remove(t.plane, "demo");
    check_trail("start\n"
                "approval " ASKED " by=channel outcome=rejected\n"
                "tool_call " ASKED " outcome=rejected\n"
                "approval " ASKED " by=channel outcome=accepted\n"
                "tool_call " ASKED " outcome=ok\n"
                "tool_call session=default server=unknown tool=echo outcome=refused\n"
                "tool_call " ASKED " outcome=cancelled\n"
                "approval " ASKED " outcome=failed\n"
                "tool_call " ASKED " outcome=error\n"
                "server_registered request_id=req-1 server=demo outcome=ok\n"
                "server_removed server=demo\n");
    stop();
    start(false);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    turn();
    read_trail();
    TEST_CHECK(strstr(audit_trail, "\napproval " ASKED " by=policy outcome=accepted\n") != NULL);
    stop();
    close_audit();
    audit = NULL;
}

static void what_cannot_be_told_is_not_called(void)
{
    struct toolplane_call *call;
    struct err e = ERR_NONE;
    open_audit();
    start(true);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, NULL) == 0);
    turn();
    TEST_CHECK(truncate(audit_file, 1) == 0);
    decide(true);
    expect(TOOLPLANE_ERROR, "Approval request for demo.echo failed: the audit log was changed from "
                            "outside, so ipybox starts no cell, call, install or file change: "
                            "find the cause and restart");
    TEST_CHECK(begin(TOOLPLANE_KERNEL, "demo", NULL, &call, &e) == -EIO);
    TEST_CHECK(fake_tools.calls == 0);
    stop();
    close_audit();
    audit = NULL;
}

static int begin_with(enum toolplane_role role, const struct request_context *origin)
{
    struct toolplane_call *call;
    struct toolplane_request request = {.role = role,
                                        .session = "default",
                                        .server = "demo",
                                        .tool = "echo",
                                        .arguments = "{}",
                                        .origin = origin};
    return toolplane_call(t.plane, &request, &events, NULL, &call, NULL);
}

/* Makes a call and says which request, and trace, it belongs to. */
static void check_call(enum toolplane_role role, const struct request_context *said,
                       const char *request, const char *trace)
{
    TEST_ASSERT(begin_with(role, said) == 0);
    turn();
    TEST_CHECK_(strcmp(fake_tools.trace.id, trace) == 0, "%s", fake_tools.trace.id);
    fake_tools_done("hi", false, NULL);
    t.done = 0;
    read_trail();
    const char *last = strstr(audit_trail, "tool_call"), *next = last;
    while (next && (next = strstr(next + 1, "tool_call")))
        last = next;
    drop_str char *expected = *request ? xasprintf(" request_id=%s", request) : xstrdup("request");
    TEST_CHECK_(last && (strstr(last, expected) != NULL) == (*request != '\0'), "%s", audit_trail);
}

static void a_kernels_call_belongs_to_the_running_cell_whatever_the_kernel_says(void)
{
    struct request_context cell = {.request_id = "req-cell"}, said = {.request_id = "req-said"};
    TEST_ASSERT(trace_parse("00-11111111111111111111111111111111-2222222222222222-01", NULL,
                            &cell.trace) == 0);
    TEST_ASSERT(trace_parse("00-33333333333333333333333333333333-4444444444444444-01", NULL,
                            &said.trace) == 0);
    open_audit();
    start(false);
    of_cell = &cell;
    check_call(TOOLPLANE_KERNEL, &said, "req-cell", "11111111111111111111111111111111");
    check_call(TOOLPLANE_APPLICATION, &said, "req-said", "33333333333333333333333333333333");
    check_call(TOOLPLANE_APPLICATION, NULL, "", "");
    of_cell = NULL;
    check_call(TOOLPLANE_KERNEL, &said, "", "");
    stop();
    close_audit();
    audit = NULL;
}

static void an_approval_names_the_request_of_the_call_and_that_of_the_decision(void)
{
    struct request_context cell = {.request_id = "req-cell"};
    open_audit();
    start(true);
    of_cell = &cell;
    TEST_ASSERT(begin_with(TOOLPLANE_KERNEL, NULL) == 0);
    turn();
    const char *before = log_set_request("req-approver");
    decide(true);
    (void)log_set_request(before);
    read_trail();
    bool named =
        strstr(audit_trail, "approval request_id=req-cell session=default server=demo tool=echo "
                            "by=channel decided_in=req-approver outcome=accepted") != NULL;
    TEST_CHECK_(named, "%s", audit_trail);
    of_cell = NULL;
    stop();
    close_audit();
    audit = NULL;
}

static struct toolplane_call *provided; /* NULL: none, or it was cancelled */
static char provided_text[256];

static void on_provided(void *ctx, struct toolplane_call *call, const char *tool,
                        const char *arguments)
{
    (void)ctx;
    provided = call;
    (void)snprintf(provided_text, sizeof provided_text, "%s %s", tool, arguments);
}

static void on_provided_cancelled(void *ctx, const struct toolplane_call *call)
{
    (void)ctx;
    TEST_CHECK(call == provided);
    provided = NULL;
}

static void a_session_has_a_server_that_its_client_answers_for(void)
{
    struct toolplane_provider provider = {.session = "default",
                                          .server = "mine",
                                          .called = on_provided,
                                          .cancelled = on_provided_cancelled};
    struct toolplane_call *call;
    struct err e = ERR_NONE;
    start(true);
    fake_tools.known = false;
    TEST_CHECK(begin(TOOLPLANE_KERNEL, "mine", NULL, &call, &e) == -ENOENT);
    toolplane_provide(t.plane, &provider);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "mine", NULL, &call, &e) == 0);
    TEST_CHECK(strcmp(provided_text, "echo {\"n\":12345678901234567890}") == 0);
    turn();
    TEST_CHECK(t.done == 0);
    toolplane_answer(provided, "{\"value\":1.10}", "");
    expect(TOOLPLANE_OK, "{\"value\":1.10}");
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "mine", NULL, &call, &e) == 0);
    toolplane_answer(provided, NULL, "it broke");
    expect(TOOLPLANE_ERROR, "it broke");
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "mine", NULL, &call, &e) == 0);
    toolplane_call_cancel(call);
    TEST_CHECK(provided == NULL);
    TEST_CHECK(begin(TOOLPLANE_APPLICATION, "mine", NULL, &call, &e) == -ENOENT);
    TEST_ASSERT(begin(TOOLPLANE_KERNEL, "mine", NULL, &call, &e) == 0);
    toolplane_unprovide(t.plane, &provider);
    turn();
    expect(TOOLPLANE_ERROR, "nobody answers the call any more");
    stop();
}

TEST_LIST = {
    {"a session has a server that its client answers for",
     a_session_has_a_server_that_its_client_answers_for},
    {"a call waits for a registration that is under way",
     a_call_waits_for_a_registration_that_is_under_way},
    {"a failed start gives its reason to who waits and to who comes later",
     a_failed_start_gives_its_reason_to_who_waits_and_to_who_comes_later},
    {"a tool that is not listed is refused before anybody is asked",
     a_tool_that_is_not_listed_is_refused_before_anybody_is_asked},
    {"a name that stands twice in arguments is refused",
     a_name_that_stands_twice_in_arguments_is_refused},
    {"what is asked about is what is sent", what_is_asked_about_is_what_is_sent},
    {"a kernel's call belongs to the running cell, whatever the kernel says",
     a_kernels_call_belongs_to_the_running_cell_whatever_the_kernel_says},
    {"an approval names the request of the call and that of the decision",
     an_approval_names_the_request_of_the_call_and_that_of_the_decision},
    {"a_call_is_made_without_asking_when_nothing_says_otherwise",
     a_call_is_made_without_asking_when_nothing_says_otherwise},
    {"the_human_sees_what_will_run_and_decides", the_human_sees_what_will_run_and_decides},
    {"nobody_to_ask_is_a_failure", nobody_to_ask_is_a_failure},
    {"a_kernel_starts_nothing", a_kernel_starts_nothing},
    {"an_application_brings_a_server_once_and_in_full_view",
     an_application_brings_a_server_once_and_in_full_view},
    {"a_cancelled_call_is_given_up_wherever_it_is", a_cancelled_call_is_given_up_wherever_it_is},
    {"progress_is_told_now_and_then", progress_is_told_now_and_then},
    {"a_long_message_is_cut_and_a_call_may_end_in_between",
     a_long_message_is_cut_and_a_call_may_end_in_between},
    {"without_a_watcher_no_progress_is_asked_for", without_a_watcher_no_progress_is_asked_for},
    {"approval_alone_is_for_shell_commands", approval_alone_is_for_shell_commands},
    {"what_a_server_asks_goes_to_the_human", what_a_server_asks_goes_to_the_human},
    {"registration_writes_the_package", registration_writes_the_package},
    {"what_is_asked_and_called_is_told", what_is_asked_and_called_is_told},
    {"what_cannot_be_told_is_not_called", what_cannot_be_told_is_not_called},
    {NULL, NULL},
};
