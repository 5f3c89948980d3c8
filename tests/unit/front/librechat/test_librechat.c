/* SPDX-License-Identifier: Apache-2.0
 *
 * Code whose tools are the client's: time, and clients that leave. The rest is
 * tests/peer/test_librechat.py's. */
#include "unit/front/apitest.h"

#define RUN LIBRECHAT_PREFIX "/exec/programmatic"
#define ORDER "{\"code\":\"await a()\",\"tools\":[{\"name\":\"a\"}],\"timeout\":1000}"
#define KEY "X-API-Key: admin\r\n"

static int answered; /* calls of tools that code has made */
static enum toolplane_failure failure;

static void on_tool_answered(void *ctx, enum toolplane_failure how,
                             const struct tools_result *result, const char *why)
{
    (void)ctx, (void)result, (void)why;
    answered++;
    failure = how;
}

static struct toolplane *plane;

static struct toolplane *open_plane(void)
{
    plane = toolplane_open(
        &(struct toolplane_config){.loop = loop, .packages_dir = API_WORKSPACE "/mcptools"});
    return plane;
}

static void open_librechat(void)
{
    answered = 0;
    api_config.admin_token = "admin";
    open_librechat_tools = open_plane;
    open_ready();
}

static void close_librechat(void)
{
    librechat_stop(librechat);
    turn();
    plane = toolplane_close(plane);
    close_api();
    api_config.admin_token = NULL;
    open_librechat_tools = NULL;
}

/* The request of a client, whose cell runs when this returns. */
static int begin_run(void)
{
    int fd = send_with("POST " RUN, KEY, ORDER);
    turn();
    fake_kernel_ready();
    turn();
    fake_kernel_done(OK_REPLY); /* the session's own setup */
    turn();
    TEST_CHECK(strstr(fake.code, "prepare(") != NULL);
    fake_kernel_done(OK_REPLY);
    turn();
    TEST_CHECK_(strcmp(fake.code, "await a()") == 0, "%s", fake.code);
    return fd;
}

/* What code in the client's session does. */
static void call_tool(void)
{
    static const struct toolplane_events events = {.done = on_tool_answered};
    struct sessions_view view = {.id = ""};
    struct toolplane_call *call;
    struct err e = ERR_NONE;
    size_t at = 0;
    while (sessions_next(sessions, &at, &view) && strcmp(view.id, SESSIONS_DEFAULT) == 0)
        ;
    const struct toolplane_request request = {.role = TOOLPLANE_KERNEL,
                                              .session = view.id,
                                              .server = "librechat",
                                              .tool = "a",
                                              .arguments = "{}"};
    TEST_ASSERT_(toolplane_call(plane, &request, &events, NULL, &call, &e) == 0, "%s", e.msg);
    pass(5);
}

static void a_client_that_never_returns_is_not_waited_for(void)
{
    open_librechat();
    int fd = begin_run();
    call_tool();
    finish(fd);
    check_has("\"status\":\"tool_call_required\"");
    TEST_CHECK(sessions_count(sessions) == 2 && answered == 0);
    pass(LIBRECHAT_WAIT_MS - 100);
    TEST_CHECK(sessions_count(sessions) == 2 && answered == 0);
    TEST_CHECK(fake.interrupts == 0); /* its own time stands still */
    pass(200);
    TEST_CHECK(answered == 1 && failure == TOOLPLANE_ERROR);
    pass(60000);
    TEST_CHECK_(sessions_count(sessions) == 1, "%zu", sessions_count(sessions));
    close_librechat();
}

static void code_that_runs_too_long_is_interrupted(void)
{
    open_librechat();
    int fd = begin_run();
    pass(900);
    TEST_CHECK(fake.interrupts == 0);
    pass(200);
    TEST_CHECK(fake.interrupts == 1);
    fake_kernel_done("{\"status\":\"error\",\"ename\":\"KeyboardInterrupt\",\"evalue\":\"\"}");
    turn();
    finish(fd);
    check_has("\"error\":\"Time limit exceeded\"");
    close_librechat();
}

static void a_client_that_leaves_ends_its_code(void)
{
    open_librechat();
    int fd = begin_run();
    (void)fd_close(fd);
    turn();
    pass(60000);
    TEST_CHECK_(sessions_count(sessions) == 1, "%zu", sessions_count(sessions));
    close_librechat();
}

static void what_waits_for_a_client_ends_with_the_server(void)
{
    open_librechat();
    int fd = begin_run();
    call_tool();
    finish(fd);
    librechat_stop(librechat);
    turn();
    TEST_CHECK(answered == 1 && failure == TOOLPLANE_ERROR);
    call_with("POST " RUN, KEY, ORDER);
    check_head("HTTP/1.1 503 ");
    close_librechat();
}

TEST_LIST = {
    {"a client that never returns is not waited for",
     a_client_that_never_returns_is_not_waited_for},
    {"code that runs too long is interrupted", code_that_runs_too_long_is_interrupted},
    {"a client that leaves ends its code", a_client_that_leaves_ends_its_code},
    {"what waits for a client ends with the server", what_waits_for_a_client_ends_with_the_server},
    {NULL, NULL}};
