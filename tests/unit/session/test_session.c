/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "fakes/fake_kernel.h"
#include "session/queue/session.h"

static int64_t now = 1000;

static int64_t fake_clock(void)
{
    return now;
}

static struct loop *loop;
static struct session_config config;
static struct session *session;
static bool closed;

static void ignore_log(enum log_level level, const char *text)
{
    (void)level, (void)text;
}

static void open_session(void)
{
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    loop_set_clock(loop, fake_clock);
    config = (struct session_config){.kernel = {.loop = loop},
                                     .workspace = "/tmp",
                                     .interrupt_grace_ms = 5000,
                                     .output_file_limit = 1000,
                                     .log = ignore_log};
    TEST_ASSERT(session_open(&config, &session, &e) == 0);
}

static void close_session(void)
{
    session = session_free(session);
    loop = loop_free(loop);
}

static void open_pool_session(void)
{
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    loop_set_clock(loop, fake_clock);
    config =
        (struct session_config){.kernel = {.loop = loop}, .workspace = "/tmp", .log = ignore_log};
    config.pool = pool_open(&config.kernel, 1);
    TEST_ASSERT(session_open(&config, &session, &e) == 0);
    fake_kernel_ready();
}

static void close_pool_session(void)
{
    session = session_free(session);
    config.pool = pool_close(config.pool);
    loop = loop_free(loop);
}

static void turn(void)
{
    for (int i = 0; i < 3; i++)
        loop_turn(loop, 0);
}

static void pass(int64_t ms)
{
    now += ms;
    turn();
}

/* What a cell ended with, copied out. */
struct end {
    int count;
    enum cell_status status;
    bool kernel_replaced;
    char text[200], ename[50], evalue[50], traceback[200], reason[300], words[100], notice[600],
        late[200], progress[200];
};

static void on_text(void *ctx, const char *text, size_t n)
{
    struct end *end = ctx;
    strncat(end->progress, text, n);
}

static void copy(char *to, size_t size, const char *from)
{
    TEST_ASSERT(strlen(from) < size);
    memcpy(to, from, strlen(from) + 1);
}

static void on_finished(void *ctx, const struct cell_result *r)
{
    struct end *end = ctx;
    end->count++;
    end->status = r->status;
    end->kernel_replaced = r->kernel_replaced;
    copy(end->text, sizeof end->text, buf_text(&r->output->text));
    copy(end->ename, sizeof end->ename, r->ename);
    copy(end->evalue, sizeof end->evalue, r->evalue);
    copy(end->traceback, sizeof end->traceback, r->traceback);
    copy(end->reason, sizeof end->reason, r->reason);
    copy(end->words, sizeof end->words, r->last_words);
    copy(end->notice, sizeof end->notice, r->notice);
    copy(end->late, sizeof end->late, r->late);
}

static const struct cell_events events = {.text = on_text, .finished = on_finished};

static struct cell *run(const char *code, struct end *end)
{
    struct cell *cell = NULL;
    struct err e = ERR_NONE;
    struct cell_request request = {
        .code = {(char *)(size_t)code, strlen(code)}, .timeout_ms = 1000, .max_chars = 100};
    TEST_ASSERT(session_execute(session, &request, &events, end, &cell, &e) == 0);
    turn();
    return cell;
}

static void run_from(const char *request_id, struct end *end)
{
    struct cell *cell = NULL;
    struct request_context origin = {0};
    (void)snprintf(origin.request_id, sizeof origin.request_id, "%s", request_id);
    struct cell_request request = {
        .code = {"x", 1}, .timeout_ms = 1000, .max_chars = 100, .origin = &origin};
    TEST_ASSERT(session_execute(session, &request, &events, end, &cell, NULL) == 0);
    memset(&origin, 'z', sizeof origin); /* it was copied */
    turn();
}

static const char ok[] = "{\"status\":\"ok\"}";
static const char failed[] = "{\"status\":\"error\",\"ename\":\"X\",\"evalue\":\"y\"}";

static void the_running_cells_origin_is_the_sessions(void)
{
    struct end a = {0}, b = {0};
    open_session();
    TEST_CHECK(session_request_context(session) == NULL);
    run_from("req-a", &a);
    run_from("req-b", &b);
    fake_kernel_ready();
    turn();
    TEST_CHECK(strcmp(session_request_context(session)->request_id, "req-a") == 0);
    fake_kernel_done(ok);
    turn();
    TEST_CHECK(strcmp(session_request_context(session)->request_id, "req-b") == 0);
    fake_kernel_done(ok);
    turn();
    TEST_CHECK(session_request_context(session) == NULL);
    close_session();
}

static void a_cell_waits_for_the_kernel_and_gets_its_output(void)
{
    open_session();
    struct end end = {0};
    (void)run("print(1)", &end);
    TEST_CHECK(fake.starts == 1 && strcmp(fake.code, "") == 0);
    fake_kernel_ready();
    turn();
    TEST_CHECK(strcmp(fake.code, "print(1)") == 0);
    fake_kernel_stream("1\\n", true);
    TEST_CHECK(end.count == 0 && strcmp(end.progress, "1\n") == 0);
    fake_kernel_done(ok);
    TEST_CHECK(end.count == 1 && end.status == CELL_OK && strcmp(end.text, "1") == 0);
    close_session();
}

static void cells_run_one_after_the_other_in_their_order(void)
{
    open_session();
    fake_kernel_ready();
    struct end a = {0}, b = {0};
    (void)run("a", &a);
    (void)run("b", &b);
    TEST_CHECK(strcmp(fake.code, "a") == 0);
    fake_kernel_done(ok);
    turn();
    TEST_CHECK(a.count == 1 && b.count == 0 && strcmp(fake.code, "b") == 0);
    fake_kernel_done(ok);
    TEST_CHECK(b.count == 1);
    close_session();
}

static void an_exception_is_told_with_its_traceback_and_the_output_before_it(void)
{
    open_session();
    fake_kernel_ready();
    struct end end = {0};
    (void)run("x", &end);
    fake_kernel_stream("before", true);
    fake_kernel_error("NameError", "x");
    fake_kernel_done(failed);
    TEST_CHECK(end.status == CELL_ERROR && strcmp(end.text, "before") == 0);
    TEST_CHECK(strcmp(end.ename, "NameError") == 0 && strcmp(end.evalue, "x") == 0);
    TEST_CHECK(strcmp(end.traceback, "one\ntwo") == 0);
    close_session();
}

static void an_error_reply_without_an_error_message_is_told_all_the_same(void)
{
    open_session();
    fake_kernel_ready();
    struct end end = {0};
    (void)run("x", &end);
    fake_kernel_done(failed);
    TEST_CHECK(end.status == CELL_ERROR && strcmp(end.ename, "X") == 0);
    struct end none = {0};
    (void)run("y", &none);
    fake_kernel_done(ok);
    TEST_CHECK(none.status == CELL_OK && strcmp(none.ename, "") == 0); /* nothing is left over */
    close_session();
}

static void a_timeout_interrupts_and_the_kernel_stays(void)
{
    open_session();
    fake_kernel_ready();
    struct end end = {0}, next = {0};
    (void)run("sleep", &end);
    pass(999);
    TEST_CHECK(fake.interrupts == 0);
    pass(2);
    TEST_CHECK(fake.interrupts == 1 && end.count == 0);
    fake_kernel_error("KeyboardInterrupt", "");
    fake_kernel_done(failed);
    TEST_CHECK(end.status == CELL_TIMEOUT && !end.kernel_replaced);
    TEST_CHECK(strstr(end.reason, "keeps its state") != NULL);
    (void)run("next", &next);
    fake_kernel_done(ok);
    TEST_CHECK(next.status == CELL_OK && fake.starts == 1 && strcmp(next.notice, "") == 0);
    close_session();
}

static void an_interrupt_before_the_code_began_is_sent_again_when_it_does(void)
{
    open_session();
    fake_kernel_ready();
    struct end end = {0};
    struct cell *cell = run("x", &end);
    cell_cancel(cell);
    TEST_CHECK(fake.interrupts == 1);
    fake_kernel_input();
    TEST_CHECK(fake.interrupts == 2);
    fake_kernel_done(failed);
    TEST_CHECK(end.status == CELL_CANCELLED);
    cell = run("y", &end);
    fake_kernel_input();
    cell_cancel(cell);
    TEST_CHECK(fake.interrupts == 3);
    fake_kernel_done(failed);
    close_session();
}

static void a_cell_that_ignores_the_interrupt_loses_its_kernel_and_is_told(void)
{
    open_session();
    fake_kernel_ready();
    struct end end = {0}, next = {0};
    (void)run("loop", &end);
    pass(1001);
    pass(4999);
    TEST_CHECK(end.count == 0);
    pass(2);
    TEST_CHECK(end.count == 1 && end.status == CELL_TIMEOUT && end.kernel_replaced);
    TEST_CHECK(strstr(end.reason, "ignored the interrupt") != NULL);
    TEST_CHECK(fake.retires == 1 && fake.starts == 2);
    (void)run("next", &next);
    fake_kernel_ready();
    turn();
    fake_kernel_done(ok);
    TEST_CHECK(next.status == CELL_OK && strstr(next.notice, "before it ran into its time limit"));
    close_session();
}

static void the_time_in_the_queue_does_not_count(void)
{
    open_session();
    fake_kernel_ready();
    struct end a = {0}, b = {0};
    (void)run("a", &a);
    (void)run("b", &b);
    pass(900);
    fake_kernel_done(ok);
    turn();
    pass(900);
    TEST_CHECK(fake.interrupts == 0);
    fake_kernel_done(ok);
    TEST_CHECK(b.status == CELL_OK);
    close_session();
}

static void cancelling_interrupts_the_running_cell_and_takes_out_a_waiting_one(void)
{
    open_session();
    fake_kernel_ready();
    struct end a = {0}, b = {0}, c = {0};
    struct cell *running = run("a", &a);
    struct cell *waiting = run("b", &b);
    (void)run("c", &c);
    cell_cancel(waiting);
    TEST_CHECK(b.count == 1 && b.status == CELL_CANCELLED && fake.interrupts == 0);
    cell_cancel(running);
    cell_cancel(running); /* twice is once */
    TEST_CHECK(fake.interrupts == 1 && a.count == 0);
    fake_kernel_done(failed);
    TEST_CHECK(a.count == 1 && a.status == CELL_CANCELLED);
    turn();
    TEST_CHECK(strcmp(fake.code, "c") == 0);
    fake_kernel_done(ok);
    TEST_CHECK(c.status == CELL_OK);
    close_session();
}

static void a_cell_whose_kernel_dies_ends_with_the_cause_and_the_next_is_told(void)
{
    open_session();
    fake_kernel_ready();
    struct end end = {0}, next = {0}, third = {0};
    (void)run("crash", &end);
    fake_kernel_stream("last", true);
    fake_kernel_dies("killed by signal 11", "Fatal Python error");
    TEST_CHECK(end.count == 1 && end.status == CELL_LOST && strcmp(end.text, "last") == 0);
    TEST_CHECK(strcmp(end.reason, "killed by signal 11") == 0);
    TEST_CHECK(strcmp(end.words, "Fatal Python error") == 0);
    TEST_CHECK(fake.starts == 2);
    (void)run("next", &next);
    fake_kernel_ready();
    turn();
    fake_kernel_done(ok);
    TEST_CHECK(strstr(next.notice, "killed by signal 11") != NULL);
    (void)run("third", &third);
    fake_kernel_done(ok);
    TEST_CHECK(strcmp(third.notice, "") == 0);
    close_session();
}

static void a_kernel_that_dies_unused_is_not_started_again_until_it_is_needed(void)
{
    open_session();
    fake_kernel_ready();
    fake_kernel_dies("no luck", "");
    turn();
    TEST_CHECK(fake.starts == 1);
    struct end end = {0};
    (void)run("x", &end);
    TEST_CHECK(fake.starts == 2);
    fake_kernel_ready();
    turn();
    fake_kernel_done(ok);
    TEST_CHECK(end.status == CELL_OK);
    close_session();
}

static void when_no_kernel_comes_up_the_cells_are_refused_and_say_why(void)
{
    open_session();
    struct end a = {0}, b = {0}, c = {0};
    (void)run("a", &a);
    (void)run("b", &b);
    fake_kernel_dies("exited with status 1", "ImportError: zmq");
    TEST_CHECK(a.status == CELL_REFUSED && b.status == CELL_REFUSED);
    TEST_CHECK(strstr(a.reason, "status 1") && strstr(a.reason, "ImportError: zmq"));
    fake.fail_start = true;
    (void)run("c", &c);
    TEST_CHECK(c.count == 1 && c.status == CELL_REFUSED && strstr(c.reason, "no python"));
    close_session();
}

static void output_between_cells_comes_with_the_next_one(void)
{
    open_session();
    fake_kernel_ready();
    struct end a = {0}, b = {0}, c = {0};
    (void)run("a", &a);
    fake_kernel_done(ok);
    fake_kernel_stream("0%", false);
    fake_kernel_stream("\rlate", false);
    (void)run("b", &b);
    fake_kernel_stream(" more", false);
    fake_kernel_stream("own", true);
    fake_kernel_done(ok);
    TEST_CHECK(strcmp(b.text, "own") == 0 && strcmp(b.late, "late more") == 0);
    (void)run("c", &c);
    fake_kernel_done(ok);
    TEST_CHECK(strcmp(c.late, "") == 0);
    close_session();
}

static void exit_in_a_cell_replaces_the_kernel_before_the_next(void)
{
    open_session();
    fake_kernel_ready();
    struct end end = {0}, next = {0};
    (void)run("exit()", &end);
    fake_kernel_done("{\"status\":\"ok\",\"payload\":[{\"source\":\"ask_exit\"}]}");
    TEST_CHECK(end.status == CELL_OK && fake.retires == 1 && fake.starts == 2);
    (void)run("next", &next);
    fake_kernel_ready();
    turn();
    fake_kernel_done(ok);
    TEST_CHECK(strstr(next.notice, "exit()") != NULL);
    close_session();
}

static void pager_text_is_output(void)
{
    open_session();
    fake_kernel_ready();
    struct end end = {0};
    (void)run("len?", &end);
    fake_kernel_done(
        "{\"status\":\"ok\",\"payload\":[{\"source\":\"page\",\"data\":{\"text/plain\":"
        "\"Signature\"}}]}");
    TEST_CHECK(strcmp(end.text, "Signature") == 0);
    close_session();
}

static int resets;
static struct err reset_error;

static void on_reset(void *ctx, const struct err *why)
{
    (void)ctx;
    resets++;
    reset_error = why ? *why : ERR_NONE;
}

static void a_budget_that_a_cell_met_is_noted_once(void)
{
    open_session();
    fake_kernel_ready();
    struct end first = {0}, next = {0};
    (void)run("a", &first);
    fake_kernel_limited("the limit of 7 tasks was reached");
    fake_kernel_done(ok);
    TEST_CHECK(first.status == CELL_OK && strstr(first.notice, "the limit of 7 tasks") != NULL);
    turn();
    (void)run("b", &next);
    fake_kernel_done(ok);
    TEST_CHECK(next.status == CELL_OK && strcmp(next.notice, "") == 0);
    close_session();
}

static void a_reset_waits_for_its_turn_and_ends_with_the_new_kernel(void)
{
    open_session();
    fake_kernel_ready();
    struct end a = {0}, b = {0};
    struct cell *reset = NULL;
    struct err e = ERR_NONE;
    (void)run("a", &a);
    TEST_ASSERT(session_reset(session, on_reset, NULL, &reset, &e) == 0);
    (void)run("b", &b);
    TEST_CHECK(fake.retires == 0);
    fake_kernel_done(ok);
    turn();
    TEST_CHECK(fake.retires == 1 && fake.starts == 2 && resets == 0);
    fake_kernel_ready();
    TEST_CHECK(resets == 1 && reset_error.code == 0);
    turn();
    TEST_CHECK(strcmp(fake.code, "b") == 0);
    fake_kernel_done(ok);
    TEST_CHECK(b.status == CELL_OK && strcmp(b.notice, "") == 0);
    close_session();
}

static void a_reset_whose_kernel_does_not_come_up_fails(void)
{
    open_session();
    fake_kernel_ready();
    struct cell *reset = NULL;
    struct err e = ERR_NONE;
    TEST_ASSERT(session_reset(session, on_reset, NULL, &reset, &e) == 0);
    turn();
    fake_kernel_dies("exited with status 1", "");
    TEST_CHECK(resets == 1 && strstr(reset_error.msg, "status 1") != NULL);
    close_session();
}

static void a_forgotten_cell_tells_nobody(void)
{
    open_session();
    fake_kernel_ready();
    struct end end = {0};
    struct cell *cell = run("a", &end);
    cell_forget(cell);
    fake_kernel_stream("x", true);
    fake_kernel_done(ok);
    TEST_CHECK(end.count == 0 && strcmp(end.progress, "") == 0);
    close_session();
}

static void on_closed(void *ctx)
{
    (void)ctx;
    closed = true;
}

static void closing_lets_the_cells_finish_and_retires_the_kernel(void)
{
    open_session();
    fake_kernel_ready();
    fake.hold_retired = true;
    struct end a = {0}, b = {0};
    struct err e = ERR_NONE;
    struct cell *cell = NULL;
    (void)run("a", &a);
    (void)run("b", &b);
    session_close(session, 5000, on_closed, NULL);
    struct cell_request request = {.code = {"", 0}, .timeout_ms = 1};
    TEST_CHECK(session_execute(session, &request, &events, &a, &cell, &e) == -ESHUTDOWN);
    fake_kernel_done(ok);
    turn();
    fake_kernel_done(ok);
    TEST_CHECK(a.status == CELL_OK && b.status == CELL_OK);
    TEST_CHECK(fake.retires == 1 && !closed);
    fake_kernel_gone();
    TEST_CHECK(closed);
    close_session();
}

static void closing_ends_what_takes_longer_than_its_grace(void)
{
    open_session();
    fake_kernel_ready();
    struct end a = {0}, b = {0};
    (void)run("a", &a);
    (void)run("b", &b);
    session_close(session, 500, on_closed, NULL);
    pass(501);
    TEST_CHECK(a.status == CELL_STOPPED && b.status == CELL_REFUSED && closed);
    TEST_CHECK(strstr(a.reason, "stopping") && strstr(b.reason, "stopping"));
    TEST_CHECK(fake.kills == 1);
    close_session();
}

static void an_idle_session_closes_at_once(void)
{
    open_session();
    fake_kernel_ready();
    session_close(session, 5000, on_closed, NULL);
    TEST_CHECK(closed && fake.retires == 1);
    close_session();
}

static void a_spare_kernel_serves_a_reset_at_once_and_is_replaced_later(void)
{
    struct err e = ERR_NONE;
    open_pool_session();
    TEST_CHECK(fake.starts == 1);
    pass(POOL_REFILL_MS + 1);
    TEST_CHECK(fake.starts == 2);
    fake_kernel_ready();
    TEST_CHECK(strcmp(fake.code, "pass") == 0); /* it is warmed */
    fake_kernel_done(ok);
    struct cell *reset = NULL;
    TEST_ASSERT(session_reset(session, on_reset, NULL, &reset, &e) == 0);
    turn();
    TEST_CHECK(resets == 1 && fake.starts == 2 && !fake.finish_first);
    struct end end = {0};
    (void)run("after", &end);
    TEST_CHECK(strcmp(fake.code, "after") == 0);
    fake_kernel_done(ok);
    TEST_CHECK(end.status == CELL_OK && strcmp(end.notice, "") == 0);
    pass(POOL_REFILL_MS + 1);
    TEST_CHECK(fake.starts == 3);
    close_pool_session();
}

static void open_session_whose_reset_waits(void)
{
    struct err e = ERR_NONE;
    struct cell *reset = NULL;
    open_session();
    fake_kernel_ready();
    fake.hold_retired = true;
    TEST_ASSERT(session_reset(session, on_reset, NULL, &reset, &e) == 0);
    turn();
}

static void the_next_kernel_waits_for_what_the_one_before_holds(void)
{
    open_session_whose_reset_waits();
    TEST_CHECK(fake.looks == 0);
    fake_kernel_ready();
    bool ready = true;
    (void)session_kernel(session, &ready);
    TEST_CHECK(fake.retires == 1 && fake.looks == 1 && resets == 0 && !ready);
    fake_kernel_released();
    TEST_CHECK(resets == 1);
    fake_kernel_gone();
    TEST_CHECK(resets == 1);
    close_session();
}

static void a_kernel_that_dies_while_it_waits_is_a_reset_that_fails(void)
{
    open_session_whose_reset_waits();
    fake_kernel_ready();
    fake_kernel_dies("no reason", "");
    TEST_CHECK(resets == 1 && reset_error.code != 0);
    fake_kernel_released();
    fake_kernel_gone();
    close_session();
}

static void a_spare_that_is_not_ready_yet_is_waited_for(void)
{
    struct err e = ERR_NONE;
    open_pool_session();
    pass(POOL_REFILL_MS + 1);
    struct cell *reset = NULL;
    TEST_ASSERT(session_reset(session, on_reset, NULL, &reset, &e) == 0);
    turn();
    TEST_CHECK(resets == 0 && fake.starts == 2);
    fake_kernel_stream("of the warming", true); /* no cell is running: it disturbs nothing */
    fake_kernel_ready();
    TEST_CHECK(resets == 1);
    close_pool_session();
}

static void a_spare_that_dies_is_replaced_and_nobody_is_told(void)
{
    open_pool_session();
    pass(POOL_REFILL_MS + 1);
    fake_kernel_dies("no reason", "");
    pass(POOL_REFILL_MS * 2 + 1);
    TEST_CHECK(fake.starts == 3);
    close_pool_session();
}

static void the_queue_has_an_end(void)
{
    open_session();
    static struct end ends[SESSION_QUEUE_MAX + 1];
    struct err e = ERR_NONE;
    struct cell *cell = NULL;
    struct cell_request request = {.code = {"", 0}, .timeout_ms = 1};
    for (int i = 0; i < SESSION_QUEUE_MAX; i++)
        TEST_ASSERT(session_execute(session, &request, &events, &ends[i], &cell, &e) == 0);
    TEST_CHECK(session_execute(session, &request, &events, &ends[0], &cell, &e) == -EAGAIN);
    close_session();
    for (int i = 0; i < SESSION_QUEUE_MAX; i++)
        TEST_CHECK(ends[i].count == 1 && ends[i].status == CELL_REFUSED);
}

static void while_it_is_held_a_cell_has_all_the_time(void)
{
    open_session();
    fake_kernel_ready();
    turn();
    struct end end = {0};
    (void)run("ask()", &end);
    pass(400);
    session_hold(session, true);
    session_hold(session, true);
    pass(1000000);
    TEST_CHECK(fake.interrupts == 0);
    session_hold(session, false);
    pass(599);
    TEST_CHECK(fake.interrupts == 0);
    session_hold(session, true); /* what is left is kept to the millisecond */
    pass(5000);
    session_hold(session, false);
    TEST_CHECK(fake.interrupts == 0);
    pass(1);
    TEST_CHECK(fake.interrupts == 1);
    fake_kernel_done(failed);
    TEST_CHECK(end.count == 1 && end.status == CELL_TIMEOUT);
    close_session();
}

static void a_cell_that_begins_while_it_is_held_has_its_whole_time(void)
{
    open_session();
    fake_kernel_ready();
    turn();
    struct end first = {0}, second = {0};
    (void)run("1", &first);
    session_hold(session, true);
    fake_kernel_done(ok);
    (void)run("2", &second);
    TEST_CHECK(first.count == 1);
    pass(5000);
    TEST_CHECK(fake.interrupts == 0);
    session_hold(session, false);
    pass(999);
    TEST_CHECK(fake.interrupts == 0);
    pass(1);
    TEST_CHECK(fake.interrupts == 1);
    close_session();
}

static void the_grace_of_an_interrupt_goes_on_while_it_is_held(void)
{
    open_session();
    fake_kernel_ready();
    turn();
    struct end end = {0};
    struct cell *cell = run("1", &end);
    session_hold(session, true);
    cell_cancel(cell);
    pass(4000);
    session_hold(session, false);
    pass(999);
    TEST_CHECK(end.count == 0);
    pass(1);
    TEST_CHECK(end.count == 1 && end.status == CELL_CANCELLED && fake.retires == 1);
    close_session();
}

static void holding_an_idle_session_changes_nothing(void)
{
    open_session();
    session_hold(session, true);
    session_hold(session, false);
    fake_kernel_ready();
    turn();
    session_hold(session, true);
    session_hold(session, false);
    pass(5000);
    struct end end = {0};
    (void)run("1", &end);
    pass(1000);
    TEST_CHECK(fake.interrupts == 1);
    close_session();
}

static void what_an_abandoned_cell_wrote_comes_with_the_next(void)
{
    open_session();
    fake_kernel_ready();
    turn();
    struct end end = {0}, next = {0};
    struct cell *cell = run("1", &end);
    fake_kernel_stream("lost and ", true);
    cell_abandon(cell);
    fake_kernel_stream("found", true);
    fake_kernel_done(ok);
    TEST_CHECK(end.count == 0);
    (void)run("2", &next);
    fake_kernel_done(ok);
    TEST_CHECK(next.count == 1 && strcmp(next.late, "lost and found") == 0);
    TEST_CHECK(strcmp(next.text, "") == 0);
    struct cell *reset = NULL;
    TEST_CHECK(session_reset(session, on_reset, NULL, &reset, NULL) == 0);
    cell_abandon(reset);
    turn();
    fake_kernel_ready();
    turn();
    close_session();
}

#define T(name) {#name, name}

TEST_LIST = {
    T(the_running_cells_origin_is_the_sessions),
    T(a_cell_waits_for_the_kernel_and_gets_its_output),
    T(cells_run_one_after_the_other_in_their_order),
    T(an_exception_is_told_with_its_traceback_and_the_output_before_it),
    T(an_error_reply_without_an_error_message_is_told_all_the_same),
    T(a_timeout_interrupts_and_the_kernel_stays),
    T(an_interrupt_before_the_code_began_is_sent_again_when_it_does),
    T(a_cell_that_ignores_the_interrupt_loses_its_kernel_and_is_told),
    T(the_time_in_the_queue_does_not_count),
    T(cancelling_interrupts_the_running_cell_and_takes_out_a_waiting_one),
    T(a_cell_whose_kernel_dies_ends_with_the_cause_and_the_next_is_told),
    T(a_kernel_that_dies_unused_is_not_started_again_until_it_is_needed),
    T(when_no_kernel_comes_up_the_cells_are_refused_and_say_why),
    T(output_between_cells_comes_with_the_next_one),
    T(exit_in_a_cell_replaces_the_kernel_before_the_next),
    T(pager_text_is_output),
    T(a_budget_that_a_cell_met_is_noted_once),
    T(a_reset_waits_for_its_turn_and_ends_with_the_new_kernel),
    T(a_reset_whose_kernel_does_not_come_up_fails),
    T(a_forgotten_cell_tells_nobody),
    T(closing_lets_the_cells_finish_and_retires_the_kernel),
    T(closing_ends_what_takes_longer_than_its_grace),
    T(an_idle_session_closes_at_once),
    T(a_spare_kernel_serves_a_reset_at_once_and_is_replaced_later),
    T(the_next_kernel_waits_for_what_the_one_before_holds),
    T(a_kernel_that_dies_while_it_waits_is_a_reset_that_fails),
    T(a_spare_that_is_not_ready_yet_is_waited_for),
    T(a_spare_that_dies_is_replaced_and_nobody_is_told),
    T(the_queue_has_an_end),
    T(while_it_is_held_a_cell_has_all_the_time),
    T(a_cell_that_begins_while_it_is_held_has_its_whole_time),
    T(the_grace_of_an_interrupt_goes_on_while_it_is_held),
    T(holding_an_idle_session_changes_nothing),
    T(what_an_abandoned_cell_wrote_comes_with_the_next),
    {NULL, NULL},
};
