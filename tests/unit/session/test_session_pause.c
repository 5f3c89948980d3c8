/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "fakes/fake_kernel.h"
#include "session/queue/session.h"

static int64_t now = 1000;
static struct loop *loop;
static struct session_config config;
static struct session *session;

static int64_t fake_clock(void)
{
    return now;
}

static void ignore_log(enum log_level level, const char *text)
{
    (void)level, (void)text;
}

static void pass(int64_t ms)
{
    now += ms;
    for (int i = 0; i < 3; i++)
        loop_turn(loop, 0);
}

static void on_finished(void *ctx, const struct cell_result *r)
{
    *(enum cell_status *)ctx = r->status;
}

static void run(char *code, enum cell_status *end)
{
    static const struct cell_events events = {.finished = on_finished};
    const struct cell_request request = {.code = {code, strlen(code)}, .timeout_ms = 1000};
    struct cell *cell = NULL;
    TEST_ASSERT(session_execute(session, &request, &events, end, &cell, NULL) == 0);
    pass(0);
}

static void a_paused_session_stands_still(void)
{
    enum cell_status first = CELL_OK, second = CELL_OK;
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    loop_set_clock(loop, fake_clock);
    config = (struct session_config){.kernel = {.loop = loop},
                                     .workspace = "/tmp",
                                     .interrupt_grace_ms = 5000,
                                     .log = ignore_log};
    TEST_ASSERT(session_open(&config, &session, NULL) == 0);
    session_pause(session, true); /* its kernel comes up first */
    TEST_CHECK(fake.freezes == 0);
    fake_kernel_ready();
    pass(0);
    TEST_CHECK(fake.freezes == 1);
    run("1", &first);
    TEST_CHECK(fake.code[0] == '\0');
    fake_kernel_heartbeat(false); /* which is no wonder */
    TEST_CHECK(fake.resumes == 0);
    session_pause(session, false);
    pass(0);
    TEST_CHECK(fake.resumes == 1 && strcmp(fake.code, "1") == 0);
    pass(400);
    session_hold(session, true);
    session_pause(session, true);
    session_hold(session, false);
    run("2", &second);
    pass(1000000);
    TEST_CHECK(fake.freezes == 2 && fake.interrupts == 0);
    session_pause(session, false);
    pass(599);
    TEST_CHECK(fake.interrupts == 0); /* what was left of its time is left */
    pass(1);
    TEST_CHECK(fake.interrupts == 1);
    fake_kernel_done("{\"status\":\"error\"}");
    pass(0);
    TEST_CHECK(first == CELL_TIMEOUT && strcmp(fake.code, "2") == 0);
    session = session_free(session);
    loop = loop_free(loop);
}

TEST_LIST = {
    {"a_paused_session_stands_still", a_paused_session_stands_still},
    {NULL, NULL},
};
