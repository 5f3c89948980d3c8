/* SPDX-License-Identifier: Apache-2.0
 *
 * States of a session whose kernels the test plays: when one is made, what becomes of it, and how
 * the session goes back. */
#include <acutest.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "fakes/fake_kernel.h"
#include "session/queue/session_checkpoints.h"

#define OK_REPLY "{\"status\":\"ok\"}"

static struct loop *loop;
static struct session_config config;
static struct session *session;
static struct rewind *rewinding;
static char told[600]; /* how rewinds have ended */
static int told_code;  /* of the last */
static int ends;       /* of cells */
static int measured;
static int64_t now;

static int64_t fake_clock(void)
{
    return now;
}

static void ignore_log(enum log_level level, const char *text)
{
    (void)level, (void)text;
}

static void turn(void)
{
    for (int i = 0; i < 4; i++)
        loop_turn(loop, 0);
}

static void begin(size_t checkpoints)
{
    struct err e = ERR_NONE;
    fake = (struct fake_kernel){0};
    told[0] = '\0';
    ends = measured = 0;
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    now = 1000;
    loop_set_clock(loop, fake_clock);
    config = (struct session_config){.kernel = {.loop = loop},
                                     .id = "mine",
                                     .workspace = "/tmp",
                                     .interrupt_grace_ms = 5000,
                                     .event_memory = 4096,
                                     .checkpoints = checkpoints,
                                     .log = ignore_log};
    TEST_ASSERT(session_open(&config, &session, &e) == 0);
    fake_kernel_ready();
    turn();
}

static void end(void)
{
    session = session_free(session);
    loop = loop_free(loop);
}

static void on_finished(void *ctx, const struct cell_result *result)
{
    (void)ctx, (void)result;
    ends++;
}

static void submit(char *code)
{
    static const struct cell_events events = {.finished = on_finished};
    const struct cell_request request = {.code = {code, strlen(code)}, .timeout_ms = 1000};
    struct cell *cell = NULL;
    TEST_ASSERT(session_execute(session, &request, &events, NULL, &cell, NULL) == 0);
    turn();
}

/* A cell from its begin to its end, with a state before it. Returns the kernel of that state. */
static struct kernel *run(char *code)
{
    struct kernel *main = fake.current;
    submit(code);
    struct kernel *branch = fake.current;
    TEST_ASSERT(branch != main);
    fake_kernel_forked();
    turn();
    TEST_CHECK(strcmp(fake.code, code) == 0);
    fake_kernel_ready();
    fake.current = main;
    fake_kernel_done(OK_REPLY);
    turn();
    return branch;
}

static void on_rewound(void *ctx, const struct err *why)
{
    const size_t n = strlen(told);
    (void)ctx;
    (void)snprintf(told + n, sizeof told - n, "%s;", why ? why->msg : "done");
    told_code = why ? why->code : 0;
}

static int back_to(uint64_t cell, struct err *e)
{
    int r = session_rewind(session, cell, false, on_rewound, NULL, &rewinding, e);
    turn();
    return r;
}

/* "1 2! 3": oldest first, "!" is one that is missing */
static void check_kept(const char *want)
{
    char text[200] = "";
    struct session_checkpoint point;
    size_t count = 0;
    while (session_checkpoint_at(session, count, &point))
        count++;
    for (size_t at = count, n = 0; at-- > 0; n = strlen(text)) {
        TEST_ASSERT(session_checkpoint_at(session, at, &point));
        (void)snprintf(text + n, sizeof text - n, "%s%llu%s", n ? " " : "",
                       (unsigned long long)point.cell, point.missing ? "!" : "");
    }
    TEST_CHECK(strcmp(text, want) == 0);
    TEST_MSG("kept: %s", text);
}

static void check_told(const char *want)
{
    TEST_CHECK(strcmp(told, want) == 0);
    TEST_MSG("told: %s", told);
}

static void without_the_option_nothing_is_forked(void)
{
    struct err e = ERR_NONE;
    begin(0);
    submit("1");
    TEST_CHECK(fake.forks == 0 && strcmp(fake.code, "1") == 0);
    fake_kernel_done(OK_REPLY);
    turn();
    TEST_CHECK(back_to(1, &e) == -EDOM && strstr(e.msg, "--checkpoints"));
    session_note_call(session, "demo", "add");
    TEST_CHECK(session_call_at(session, 0) == NULL);
    end();
}

static void a_cell_begins_when_the_fork_has_left_and_the_fork_sleeps_when_it_is_there(void)
{
    begin(2);
    submit("1");
    TEST_CHECK(fake.forks == 1 && fake.same_session && *fake.code == '\0');
    TEST_CHECK(strcmp(fake.owner, "mine") == 0);
    fake_kernel_forked();
    turn();
    TEST_CHECK(strcmp(fake.code, "1") == 0 && fake.sleeps == 0 && fake.renewals == 0);
    fake_kernel_ready();
    TEST_CHECK(fake.sleeps == 1);
    check_kept("1");
    end();
}

static void the_newest_are_kept(void)
{
    begin(2);
    (void)run("1");
    (void)run("2");
    (void)run("3");
    check_kept("2 3");
    TEST_CHECK(fake.forks == 3 && fake.retires == 1 && ends == 3);
    end();
}

static void a_rewind_wakes_the_state_and_ends_what_is_behind_it(void)
{
    begin(3);
    (void)run("1");
    struct kernel *second = run("2");
    (void)run("3");
    struct err e = ERR_NONE;
    TEST_CHECK(back_to(2, &e) == 0);
    TEST_CHECK(fake.wakes == 1 && fake.current == second);
    TEST_CHECK(fake.retires == 2); /* the kernel, and the state before 3 */
    check_told("done;");
    check_kept("1");
    TEST_CHECK(back_to(2, &e) == 0); /* again, as after an answer that was lost */
    check_told("done;done;");
    TEST_CHECK(fake.wakes == 1);
    (void)run("4"); /* a number is given once */
    check_kept("1 4");
    TEST_CHECK(back_to(2, &e) == -ESTALE);
    TEST_CHECK(strcmp(e.msg, "the state before cell 2 is not kept; kept are the states before the "
                             "cells 1, 4") == 0);
    TEST_MSG("%s", e.msg);
    TEST_CHECK(back_to(1, &e) == 0 && fake.wakes == 2);
    check_kept("");
    end();
}

static void a_refused_fork_is_named_and_the_cell_runs(void)
{
    struct err e = ERR_NONE;
    begin(2);
    struct kernel *main = fake.current;
    submit("1");
    fake_kernel_dies("a socket (descriptor 9)", "");
    turn();
    TEST_CHECK(strcmp(fake.code, "1") == 0 && session_cell(session) == 1);
    check_kept("1!");
    fake.current = main;
    fake_kernel_done(OK_REPLY);
    turn();
    TEST_CHECK(back_to(1, &e) == -ESTALE &&
               strstr(e.msg, ": a socket (descriptor 9); none is kept"));
    fake.fail_start = true;
    submit("2");
    TEST_CHECK(strcmp(fake.code, "2") == 0);
    check_kept("1! 2!");
    end();
}

static void a_fork_that_does_not_come_holds_no_cell_for_long(void)
{
    begin(1);
    submit("1");
    TEST_CHECK(*fake.code == '\0');
    now += SESSION_FORK_MS + 1;
    turn();
    TEST_CHECK(strcmp(fake.code, "1") == 0 && fake.retires == 1);
    check_kept("1!");
    end();
}

static void a_busy_session_is_not_rewound_unless_that_waits(void)
{
    struct err e = ERR_NONE;
    begin(2);
    struct kernel *main = fake.current;
    (void)run("1");
    submit("2");
    fake_kernel_forked();
    fake_kernel_ready();
    turn();
    TEST_CHECK(back_to(1, &e) == -EBUSY && strstr(e.msg, "\"wait\": true"));
    TEST_CHECK(session_rewind(session, 1, true, on_rewound, NULL, &rewinding, &e) == 0);
    turn();
    check_told("");
    fake.current = main;
    fake_kernel_done(OK_REPLY);
    turn();
    check_told("done;");
    check_kept("");
    end();
}

static void a_kernel_that_does_not_start_fails_the_rewinds_that_wait(void)
{
    struct err e = ERR_NONE;
    begin(2);
    struct kernel *main = fake.current;
    (void)run("1");
    submit("2");
    fake_kernel_forked();
    fake_kernel_ready();
    turn();
    TEST_CHECK(session_rewind(session, 1, true, on_rewound, NULL, &rewinding, &e) == 0);
    fake.current = main;
    fake_kernel_dies("killed", "");
    turn();
    fake_kernel_dies("killed again", "");
    turn();
    check_told("the session was not rewound: no kernel could be started: killed again;");
    TEST_CHECK(told_code == -EBUSY);
    end();
}

static void a_state_that_is_coming_up_is_waited_for(void)
{
    struct err e = ERR_NONE;
    begin(2);
    struct kernel *main = fake.current;
    submit("1");
    struct kernel *branch = fake.current;
    fake_kernel_forked();
    turn();
    fake.current = main;
    fake_kernel_done(OK_REPLY);
    turn();
    TEST_CHECK(back_to(1, &e) == 0);
    check_told("");
    fake.current = branch;
    fake_kernel_ready();
    turn();
    check_told("done;");
    end();
}

static void a_state_that_ends_while_it_is_waited_for_fails_the_rewind_alone(void)
{
    struct err e = ERR_NONE;
    begin(2);
    struct kernel *main = fake.current;
    submit("1");
    struct kernel *branch = fake.current;
    fake_kernel_forked();
    turn();
    fake.current = main;
    fake_kernel_done(OK_REPLY);
    turn();
    TEST_CHECK(back_to(1, &e) == 0);
    fake.current = branch;
    fake_kernel_dies("killed", "");
    turn();
    check_told("the state before cell 1 is not kept: killed; none is kept;");
    TEST_CHECK(told_code == -ESTALE);
    check_kept("1!");
    fake.current = main;
    (void)run("2");
    end();
}

static void states_outlive_a_kernel_that_dies(void)
{
    struct err e = ERR_NONE;
    begin(2);
    (void)run("1");
    fake_kernel_dies("killed by signal 9", "");
    turn();
    TEST_CHECK(fake.starts == 2);
    fake_kernel_ready();
    turn();
    TEST_CHECK(back_to(1, &e) == 0);
    check_told("done;");
    TEST_CHECK(fake.wakes == 1);
    end();
}

static void a_reset_ends_them(void)
{
    struct err e = ERR_NONE;
    struct cell *cell = NULL;
    begin(2);
    (void)run("1");
    TEST_CHECK(session_reset(session, on_rewound, NULL, &cell, &e) == 0);
    turn();
    fake_kernel_ready();
    turn();
    check_told("done;");
    check_kept("");
    TEST_CHECK(back_to(1, &e) == -ESTALE && strstr(e.msg, "none is kept"));
    end();
}

static void a_change_of_the_sandbox_ends_them(void)
{
    struct err e = ERR_NONE;
    begin(2);
    (void)run("1");
    TEST_CHECK(session_confine(session, "{}", on_rewound, NULL, &e) == 0);
    check_kept("");
    fake_kernel_confined(0, NULL);
    end();
}

static void one_that_is_killed_says_why(void)
{
    begin(2);
    struct kernel *main = fake.current;
    struct kernel *first = run("1");
    fake.current = first;
    fake_kernel_dies("memory is short", "");
    check_kept("1!");
    fake.current = main;
    end();
}

static void on_measured(void *ctx)
{
    (void)ctx;
    measured++;
}

static void their_memory_is_asked_for(void)
{
    struct session_measure measure;
    struct session_checkpoint point;
    begin(2);
    TEST_CHECK(!session_measure(session, &measure, on_measured, NULL));
    struct kernel *main = fake.current, *first = run("1"), *second = run("2");
    TEST_CHECK(session_measure(session, &measure, on_measured, NULL) && fake.measures == 2);
    fake.current = first;
    fake_kernel_measured(5000);
    TEST_CHECK(measured == 0);
    fake.current = second;
    fake_kernel_dies("gone", "");
    TEST_CHECK(measured == 1 && session_checkpoint_at(session, 1, &point) && point.memory == 5000);
    fake.current = main;
    end();
}

static void tool_calls_are_remembered_by_cell(void)
{
    begin(1);
    submit("1");
    fake_kernel_forked();
    turn();
    for (int i = 0; i < SESSION_CALLS_MAX + 2; i++)
        session_note_call(session, "demo", i == SESSION_CALLS_MAX + 1 ? "last" : "add");
    TEST_CHECK(session_calls_dropped(session) == 2);
    const struct session_call *call = session_call_at(session, SESSION_CALLS_MAX - 1);
    TEST_CHECK(call && call->cell == 1 && strcmp(call->name, "demo.last") == 0);
    TEST_CHECK(!session_call_at(session, SESSION_CALLS_MAX));
    end();
}

static void the_end_of_the_session_ends_a_rewind_that_waits(void)
{
    struct err e = ERR_NONE;
    begin(2);
    struct kernel *main = fake.current;
    submit("1");
    fake_kernel_forked();
    turn();
    fake.current = main;
    fake_kernel_done(OK_REPLY);
    turn();
    TEST_CHECK(back_to(1, &e) == 0);
    end();
    check_told("the session was not rewound: the server has stopped;");
}

TEST_LIST = {
    {"without_the_option_nothing_is_forked", without_the_option_nothing_is_forked},
    {"a_cell_begins_when_the_fork_has_left_and_the_fork_sleeps_when_it_is_there",
     a_cell_begins_when_the_fork_has_left_and_the_fork_sleeps_when_it_is_there},
    {"the_newest_are_kept", the_newest_are_kept},
    {"a_rewind_wakes_the_state_and_ends_what_is_behind_it",
     a_rewind_wakes_the_state_and_ends_what_is_behind_it},
    {"a_refused_fork_is_named_and_the_cell_runs", a_refused_fork_is_named_and_the_cell_runs},
    {"a_fork_that_does_not_come_holds_no_cell_for_long",
     a_fork_that_does_not_come_holds_no_cell_for_long},
    {"a_busy_session_is_not_rewound_unless_that_waits",
     a_busy_session_is_not_rewound_unless_that_waits},
    {"a_kernel_that_does_not_start_fails_the_rewinds_that_wait",
     a_kernel_that_does_not_start_fails_the_rewinds_that_wait},
    {"a_state_that_is_coming_up_is_waited_for", a_state_that_is_coming_up_is_waited_for},
    {"a_state_that_ends_while_it_is_waited_for_fails_the_rewind_alone",
     a_state_that_ends_while_it_is_waited_for_fails_the_rewind_alone},
    {"states_outlive_a_kernel_that_dies", states_outlive_a_kernel_that_dies},
    {"a_reset_ends_them", a_reset_ends_them},
    {"a_change_of_the_sandbox_ends_them", a_change_of_the_sandbox_ends_them},
    {"one_that_is_killed_says_why", one_that_is_killed_says_why},
    {"their_memory_is_asked_for", their_memory_is_asked_for},
    {"tool_calls_are_remembered_by_cell", tool_calls_are_remembered_by_cell},
    {"the_end_of_the_session_ends_a_rewind_that_waits",
     the_end_of_the_session_ends_a_rewind_that_waits},
    {NULL, NULL},
};
