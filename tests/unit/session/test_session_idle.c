/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that runs no cell for so long ends, where the configuration says so. */
#include <acutest.h>

#include <string.h>

#include "fakes/fake_kernel.h"
#include "session/queue/session.h"

enum { IDLE_MS = 60000 };

static int64_t now = 1000;
static struct loop *loop;
static struct session_config config;
static struct session *session;
static int told; /* by session_watch() */
static char notice[600];

static const char ok[] = "{\"status\":\"ok\"}";

static int64_t fake_clock(void)
{
    return now;
}

static void ignore_log(enum log_level level, const char *text)
{
    (void)level, (void)text;
}

static void on_other_kernel(void *ctx)
{
    (void)ctx;
    told++;
}

static void open_session(int64_t idle_ms)
{
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    loop_set_clock(loop, fake_clock);
    config = (struct session_config){.kernel = {.loop = loop},
                                     .workspace = "/tmp",
                                     .interrupt_grace_ms = 5000,
                                     .kernel_idle_ms = idle_ms,
                                     .gateway = true,
                                     .log = ignore_log};
    TEST_ASSERT(session_open(&config, &session, &e) == 0);
    fake_kernel_ready();
    session_watch(session, on_other_kernel, NULL);
}

static void close_session(void)
{
    session = session_free(session);
    loop = loop_free(loop);
}

static void pass(int64_t ms)
{
    now += ms;
    for (int i = 0; i < 3; i++)
        loop_turn(loop, 0);
}

static void on_finished(void *ctx, const struct cell_result *r)
{
    int *count = ctx;
    ++*count;
    (void)snprintf(notice, sizeof notice, "%s", r->notice);
}

static const struct cell_events events = {.finished = on_finished};

static void run(int *count)
{
    struct cell *cell = NULL;
    struct cell_request request = {
        .code = {(char[]){"x = 1"}, 5}, .timeout_ms = 10 * IDLE_MS, .max_chars = 100};
    TEST_ASSERT(session_execute(session, &request, &events, count, &cell, NULL) == 0);
    pass(0);
}

static void an_idle_kernel_ends_and_the_next_answer_says_that_its_variables_are_gone(void)
{
    int count = 0;
    open_session(IDLE_MS);
    run(&count);
    fake_kernel_done(ok);
    TEST_CHECK(count == 1 && strcmp(notice, "") == 0);
    pass(IDLE_MS - 1);
    TEST_CHECK(fake.retires == 0);
    pass(1);
    TEST_CHECK(fake.retires == 1 && fake.starts == 1 && told == 1);
    bool ready = true;
    TEST_CHECK(session_kernel(session, &ready) == NULL && !ready);
    pass(10 * IDLE_MS); /* nobody asks for another one */
    TEST_CHECK(fake.starts == 1);
    run(&count);
    TEST_CHECK(fake.starts == 2);
    fake_kernel_ready();
    pass(0);
    fake_kernel_done(ok);
    TEST_CHECK(count == 2 &&
               strcmp(notice, "This cell ran in a new kernel: the one before was idle for longer "
                              "than --kernel-idle-timeout. Variables and imports made before are "
                              "gone.") == 0);
    TEST_MSG("%s", notice);
    close_session();
}

static void who_has_run_nothing_is_told_nothing(void)
{
    int count = 0;
    open_session(IDLE_MS);
    pass(IDLE_MS);
    TEST_CHECK(fake.retires == 1);
    run(&count);
    fake_kernel_ready();
    pass(0);
    fake_kernel_done(ok);
    TEST_CHECK(count == 1 && strcmp(notice, "") == 0);
    close_session();
}

static void a_kernel_that_runs_a_cell_is_not_idle(void)
{
    int count = 0;
    open_session(IDLE_MS);
    pass(IDLE_MS - 1);
    run(&count);
    pass(3 * IDLE_MS);
    TEST_CHECK(fake.retires == 0 && count == 0);
    fake_kernel_done(ok); /* from now on */
    pass(IDLE_MS - 1);
    TEST_CHECK(fake.retires == 0 && count == 1);
    fake_kernel_external(JUPYTER_STATUS, "r", "{\"execution_state\":\"busy\"}");
    fake_kernel_external(JUPYTER_EXECUTE_INPUT, "r", "{\"code\":\"x\"}");
    pass(3 * IDLE_MS); /* of a client of the gateway */
    TEST_CHECK(fake.retires == 0);
    fake_kernel_external(JUPYTER_STATUS, "r", "{\"execution_state\":\"idle\"}");
    pass(IDLE_MS);
    TEST_CHECK(fake.retires == 1);
    close_session();
}

static void without_the_option_a_kernel_stays(void)
{
    open_session(0);
    pass(1000 * (int64_t)IDLE_MS);
    TEST_CHECK(fake.retires == 0 && told == 0);
    close_session();
}

#define T(name) {#name, name}

TEST_LIST = {
    T(an_idle_kernel_ends_and_the_next_answer_says_that_its_variables_are_gone),
    T(who_has_run_nothing_is_told_nothing),
    T(a_kernel_that_runs_a_cell_is_not_idle),
    T(without_the_option_a_kernel_stays),
    {NULL, NULL},
};
