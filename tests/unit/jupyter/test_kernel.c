/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel whose process and channels are played: what a kernel that is hostile, slow or dying can
 * say, in any order. */
#include <acutest.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "fakes/fake_link.h"
#include "fakes/fake_spawn.h"
#include "jupyter/kernel.h"

#define OURS "ours"
#define OK_REPLY "{\"status\":\"ok\"}"
#define IDLE "{\"execution_state\":\"idle\"}"

static int64_t now = 1000;
static struct loop *loop;
static struct kernel *kernel;
static struct kernel_config config;
static char told[1000]; /* "ready;done:ok;message:current;ended:WHY;" … */
static bool retire_in_done, kill_in_confined, execute_in_done;

static int64_t fake_clock(void)
{
    return now;
}

static void note(const char *what, const char *more)
{
    size_t n = strlen(told);
    (void)snprintf(told + n, sizeof told - n, "%s%s%s;", what, *more ? ":" : "", more);
}

static void on_ready(void *ctx)
{
    (void)ctx;
    note("ready", "");
}

static void on_message(void *ctx, const struct jupyter_msg *m, bool current)
{
    (void)ctx, (void)m;
    note("message", current ? "current" : "late");
}

static void on_external(void *ctx, const struct jupyter_msg *m)
{
    (void)ctx, (void)m;
    note("external", "");
}

static void on_released(void *ctx)
{
    (void)ctx;
    note("released", "");
}

static void on_gone(void *ctx)
{
    (void)ctx;
    note("gone", "");
}

static const struct kernel_leave leave = {.released = on_released, .gone = on_gone};

static int execute(void)
{
    return kernel_execute(kernel, (struct slice){(char[]){"1"}, 1}, KERNEL_CELL, NULL);
}

static void on_done(void *ctx, const struct json *reply)
{
    (void)ctx;
    const char *status = reply ? json_get_text(reply, "status") : "no reply";
    note("done", status ? status : "?");
    if (execute_in_done)
        note("execute", execute() == 0 ? "taken" : "refused");
    if (retire_in_done)
        kernel = kernel_retire(kernel, &leave, NULL);
}

static void on_beat(void *ctx, bool alive)
{
    (void)ctx;
    note(alive ? "alive" : "silent", "");
}

static void on_ended(void *ctx, const struct err *why, const char *last_words)
{
    (void)ctx;
    kernel = NULL;
    note("ended", why->msg);
    if (*last_words)
        note("words", last_words);
}

static void on_confined(void *ctx, const struct err *why)
{
    (void)ctx;
    note("confined", why ? why->msg : "");
    if (kill_in_confined)
        kernel = kernel_kill(kernel);
}

static const struct kernel_events events = {.ready = on_ready,
                                            .message = on_message,
                                            .external = on_external,
                                            .done = on_done,
                                            .heartbeat = on_beat,
                                            .ended = on_ended};

static void start(void)
{
    static const char *const environment[] = {NULL};
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    loop_set_clock(loop, fake_clock);
    config = (struct kernel_config){.loop = loop,
                                    .channels = "/nowhere",
                                    .python = "python3",
                                    .envp = environment,
                                    .cwd = "/",
                                    .start_timeout_ms = 5000};
    TEST_ASSERT(kernel_start(&config, &events, NULL, &kernel, NULL) == 0);
}

static void begin(void)
{
    start();
    fake_link_say(LINK_SHELL, JUPYTER_KERNEL_INFO_REPLY, "r0", OURS, "{}");
    fake_link_say(LINK_IOPUB, JUPYTER_STATUS, "r0", OURS, IDLE);
    told[0] = '\0';
}

static void say_reply(void)
{
    fake_link_say(LINK_SHELL, JUPYTER_EXECUTE_REPLY, "r1", OURS, OK_REPLY);
}

static void say_idle(void)
{
    fake_link_say(LINK_IOPUB, JUPYTER_STATUS, "r1", OURS, IDLE);
}

static void print_text(const char *parent, const char *session)
{
    fake_link_say(LINK_IOPUB, JUPYTER_STREAM, parent, session,
                  "{\"name\":\"stdout\",\"text\":\"x\"}");
}

static void wait_ms(int64_t ms)
{
    now += ms;
    for (int i = 0; i < 3; i++)
        loop_turn(loop, 0);
}

static void end(void)
{
    kernel = kernel_kill(kernel);
    loop = loop_free(loop);
}

#define TOLD(text) TEST_CHECK_(strcmp(told, (text)) == 0, "%s", told)

static void it_is_ready_when_it_has_answered_and_published(void)
{
    start();
    TEST_CHECK(kernel_execute(kernel, (struct slice){(char[]){"1"}, 1}, KERNEL_CELL, NULL) ==
               -EBUSY);
    fake_link_say(LINK_SHELL, JUPYTER_KERNEL_INFO_REPLY, "r0", OURS, "{}");
    TOLD("");
    wait_ms(50);
    TEST_CHECK_(strcmp(fake_link.sent, "kernel_info_request\nkernel_info_request\n") == 0, "%s",
                fake_link.sent);
    fake_link_say(LINK_IOPUB, JUPYTER_STATUS, "r0", OURS, IDLE);
    TOLD(""); /* the second request is not answered yet */
    fake_link_say(LINK_SHELL, JUPYTER_KERNEL_INFO_REPLY, "r0", OURS, "{}");
    TOLD("ready;");
    TEST_CHECK(!fake_link.has_fds);
    wait_ms(10000);
    TOLD("ready;");
    end();
}

static void one_that_does_not_come_up_has_ended(void)
{
    start();
    fake_spawn.events->output(fake_spawn.ctx, "why", 3);
    wait_ms(5000);
    TOLD("ended:the kernel did not come up within 5 s;words:why;");
    end();
}

static void a_cell_is_done_with_reply_and_idle_in_any_order(void)
{
    for (int order = 0; order < 2; order++) {
        begin();
        TEST_CHECK(execute() == 0 && execute() == -EBUSY);
        (order ? say_idle : say_reply)();
        TOLD("");
        print_text("r1", OURS);
        (order ? say_reply : say_idle)();
        TOLD("message:current;done:ok;");
        print_text("r1", OURS); /* a thread of it goes on */
        say_reply();
        say_idle();
        TOLD("message:current;done:ok;message:late;");
        TEST_CHECK(execute() == 0);
        end();
    }
}

static void messages_of_others_end_no_cell(void)
{
    begin();
    TEST_CHECK(execute() == 0);
    fake_link_say(LINK_SHELL, JUPYTER_EXECUTE_REPLY, "r7", OURS, OK_REPLY);
    fake_link_say(LINK_IOPUB, JUPYTER_STATUS, "r7", OURS, IDLE);
    fake_link_say(LINK_IOPUB, JUPYTER_STATUS, "r1", OURS, "{\"execution_state\":7}");
    fake_link_say(LINK_IOPUB, JUPYTER_STATUS, "r1", OURS, "[]");
    print_text("r1", "somebody");
    fake_link_say(LINK_STDIN, JUPYTER_INPUT_REQUEST, "r1", OURS, "{}");
    TOLD("external;");
    end();
}

static void a_lost_reply_is_not_waited_for_however_often_it_is_idle(void)
{
    begin();
    TEST_CHECK(execute() == 0);
    say_idle();
    for (int i = 0; i < 29; i++) {
        wait_ms(100);
        say_idle();
    }
    TOLD("");
    wait_ms(100);
    TOLD("done:no reply;");
    end();
}

static void a_cell_that_answered_when_its_process_died_is_done_and_no_other_begins(void)
{
    begin();
    execute_in_done = true;
    TEST_CHECK(execute() == 0);
    fake_spawn_end(1, 0);
    say_reply();
    print_text("r1", OURS);
    say_idle();
    TOLD("message:current;");
    TEST_CHECK(execute() == -EBUSY);
    wait_ms(200);
    print_text("r1", OURS);
    wait_ms(200);
    wait_ms(200);
    TOLD("message:current;message:current;done:ok;execute:refused;"
         "ended:the kernel's process exited with status 1;");
    end();
}

static void an_owner_may_give_it_up_when_that_cell_is_done(void)
{
    begin();
    retire_in_done = true;
    TEST_CHECK(execute() == 0);
    fake_spawn_end(0, 0);
    say_reply();
    say_idle();
    wait_ms(200);
    wait_ms(200);
    TOLD("done:ok;released;gone;");
    TEST_CHECK(!fake_link.open);
    end();
}

static void the_last_output_of_a_crash_is_read_first(void)
{
    begin();
    TEST_CHECK(execute() == 0);
    fake_spawn_end(-1, 11);
    print_text("r1", OURS);
    TOLD("message:current;");
    for (int i = 0; i < 20; i++) { /* it cannot put off its end */
        wait_ms(150);
        if (kernel)
            print_text("r1", OURS);
    }
    TEST_CHECK_(strstr(told, "ended:the kernel's process was killed by signal 11") != NULL, "%s",
                told);
    end();
}

static void a_change_of_the_sandbox_is_answered_when_the_kernel_ends(void)
{
    for (int kills = 0; kills < 2; kills++) {
        begin();
        kill_in_confined = kills;
        TEST_CHECK(kernel_confine(kernel, "{}", on_confined, NULL, NULL) == 0);
        TEST_CHECK(kernel_confine(kernel, "{}", on_confined, NULL, NULL) == -EBUSY);
        fake_spawn_end(3, 0);
        wait_ms(200);
        TOLD(kills ? "confined:the kernel has ended before its sandbox was changed;"
                   : "confined:the kernel has ended before its sandbox was changed;"
                     "ended:the kernel's process exited with status 3;");
        end();
    }
}

static void an_idle_one_is_asked_to_go_and_a_busy_one_is_killed(void)
{
    begin();
    kernel = kernel_retire(kernel, &leave, NULL);
    TEST_CHECK(strstr(fake_link.sent, "shutdown_request") && !strstr(fake_spawn.orders, "kill"));
    say_idle();
    TOLD("");
    fake_spawn.events->holds(fake_spawn.ctx, true);
    fake_spawn.events->holds(fake_spawn.ctx, false);
    TOLD("released;");
    fake_spawn_end(0, 0);
    TOLD("released;gone;");
    end();
    begin();
    fake_spawn.orders[0] = '\0';
    TEST_CHECK(execute() == 0);
    kernel = kernel_retire(kernel, &leave, NULL);
    TEST_CHECK_(strcmp(fake_spawn.orders, "kill") == 0, "%s", fake_spawn.orders);
    fake_spawn_end(-1, 9);
    wait_ms(400);
    TOLD("released;gone;");
    end();
}

static void one_that_does_not_go_is_killed_and_then_left(void)
{
    begin();
    fake_spawn.orders[0] = '\0';
    kernel = kernel_retire(kernel, &leave, NULL);
    wait_ms(KERNEL_RETIRE_MS);
    TEST_CHECK_(strcmp(fake_spawn.orders, "kill") == 0, "%s", fake_spawn.orders);
    TOLD("");
    wait_ms(3000);
    TOLD("released;gone;");
    end();
}

static void an_interrupt_wakes_an_event_loop_that_waits(void)
{
    begin();
    fake_spawn.orders[0] = fake_link.sent[0] = '\0';
    kernel_interrupt(kernel);
    TEST_CHECK(strcmp(fake_spawn.orders, "interrupt") == 0 && fake_link.sent[0] == '\0');
    TEST_CHECK(execute() == 0);
    kernel_interrupt(kernel);
    TEST_CHECK_(strcmp(fake_link.sent, "execute_request\nkernel_info_request\n") == 0, "%s",
                fake_link.sent);
    end();
}

static void the_cell_of_an_owner_before_is_told_as_ready(void)
{
    begin();
    TEST_CHECK(execute() == 0);
    kernel_rebind(kernel, &events, NULL, true);
    print_text("r1", OURS);
    say_reply();
    say_idle();
    TOLD("ready;");
    end();
}

static void on_answer(void *ctx, const struct json *content, const struct err *why)
{
    (void)ctx;
    note("answer", content ? "told" : why->code == -ETIMEDOUT ? "late" : why->msg);
}

static int ask(enum question_kind kind, struct kernel_question **ret)
{
    return kernel_ask(kernel, kind, (struct slice){(char[]){"{}"}, 2}, on_answer, NULL, ret, NULL);
}

static void a_question_is_answered_by_its_own_reply(void)
{
    struct kernel_question *question;
    begin();
    TEST_CHECK(ask(QUESTION_COMPLETE, &question) == 0);
    TEST_CHECK(ask(QUESTION_VARIABLES, &question) == 0);
    fake_link_say(LINK_SHELL, JUPYTER_COMPLETE_REPLY, "r2", OURS, "{}"); /* the other's id */
    fake_link_say(LINK_SHELL, JUPYTER_INSPECT_REPLY, "r1", OURS, "{}");
    TOLD("");
    fake_link_say(LINK_CONTROL, JUPYTER_VARIABLES_REPLY, "r2", OURS, "{}");
    fake_link_say(LINK_SHELL, JUPYTER_COMPLETE_REPLY, "r1", OURS, "{}");
    fake_link_say(LINK_SHELL, JUPYTER_COMPLETE_REPLY, "r1", OURS, "{}");
    TOLD("answer:told;answer:told;");
    end();
}

static void while_a_cell_runs_only_its_variables_are_asked_for(void)
{
    struct kernel_question *question;
    begin();
    TEST_CHECK(execute() == 0);
    TEST_CHECK(ask(QUESTION_INSPECT, &question) == -EBUSY);
    TEST_CHECK(ask(QUESTION_VARIABLES, &question) == 0);
    question_forget(question);
    say_reply();
    say_idle();
    TOLD("done:ok;");
    end();
}

static void a_question_about_code_that_takes_long_is_interrupted(void)
{
    struct kernel_question *question;
    begin();
    fake_spawn.orders[0] = '\0';
    TEST_CHECK(ask(QUESTION_VARIABLES, &question) == 0);
    wait_ms(QUESTION_MS);
    TEST_CHECK(fake_spawn.orders[0] == '\0');
    TEST_CHECK(ask(QUESTION_COMPLETE, &question) == 0);
    wait_ms(QUESTION_MS);
    TEST_CHECK_(strcmp(fake_spawn.orders, "interrupt") == 0, "%s", fake_spawn.orders);
    TOLD("answer:late;answer:late;");
    end();
}

static void a_kernel_that_goes_owes_no_answer(void)
{
    struct kernel_question *question;
    begin();
    for (int i = 0; i < QUESTIONS_MAX; i++)
        TEST_CHECK(ask(QUESTION_VARIABLES, &question) == 0);
    TEST_CHECK(ask(QUESTION_VARIABLES, &question) == -EAGAIN);
    for (int i = 0; i < QUESTIONS_MAX - 1; i++)
        fake_link_say(LINK_CONTROL, JUPYTER_VARIABLES_REPLY,
                      (char[][4]){"r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10",
                                  "r11", "r12", "r13", "r14", "r15"}[i],
                      OURS, "{}");
    told[0] = '\0';
    kernel = kernel_retire(kernel, &leave, NULL);
    TOLD("answer:the kernel has ended;");
    end();
}

TEST_LIST = {
    {"a question is answered by its own reply", a_question_is_answered_by_its_own_reply},
    {"while a cell runs only its variables are asked for",
     while_a_cell_runs_only_its_variables_are_asked_for},
    {"a question about code that takes long is interrupted",
     a_question_about_code_that_takes_long_is_interrupted},
    {"a kernel that goes owes no answer", a_kernel_that_goes_owes_no_answer},
    {"it is ready when it has answered and published",
     it_is_ready_when_it_has_answered_and_published},
    {"one that does not come up has ended", one_that_does_not_come_up_has_ended},
    {"a cell is done with reply and idle in any order",
     a_cell_is_done_with_reply_and_idle_in_any_order},
    {"messages of others end no cell", messages_of_others_end_no_cell},
    {"a lost reply is not waited for, however often it is idle",
     a_lost_reply_is_not_waited_for_however_often_it_is_idle},
    {"a cell that answered when its process died is done, and no other begins",
     a_cell_that_answered_when_its_process_died_is_done_and_no_other_begins},
    {"an owner may give it up when that cell is done",
     an_owner_may_give_it_up_when_that_cell_is_done},
    {"the last output of a crash is read first", the_last_output_of_a_crash_is_read_first},
    {"a change of the sandbox is answered when the kernel ends",
     a_change_of_the_sandbox_is_answered_when_the_kernel_ends},
    {"an idle one is asked to go and a busy one is killed",
     an_idle_one_is_asked_to_go_and_a_busy_one_is_killed},
    {"one that does not go is killed, and then left", one_that_does_not_go_is_killed_and_then_left},
    {"an interrupt wakes an event loop that waits", an_interrupt_wakes_an_event_loop_that_waits},
    {"the cell of an owner before is told as ready", the_cell_of_an_owner_before_is_told_as_ready},
    {NULL, NULL},
};
