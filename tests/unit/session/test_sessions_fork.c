/* SPDX-License-Identifier: Apache-2.0
 *
 * Forks of real sessions whose kernels the test plays: whose turn it is, and what becomes of all
 * when one of them fails. */
#include <acutest.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "fakes/fake_kernel.h"
#include "session/executions/executions.h"
#include "session/kernels/sessions.h"

#define OK_REPLY "{\"status\":\"ok\"}"

static struct loop *loop;
static struct session_config config;
static struct sessions *sessions;
static struct session *parent;
static struct sessions_fork *forking;
static char told[400]; /* ids, or why not */
static int ends;       /* of cells */

static void ignore_log(enum log_level level, const char *text)
{
    (void)level, (void)text;
}

static void turn(void)
{
    for (int i = 0; i < 4; i++)
        loop_turn(loop, 0);
}

static void on_forked(void *ctx, const char *parent_id, const char *id)
{
    const size_t n = strlen(told);
    (void)ctx;
    (void)snprintf(told + n, sizeof told - n, "%s has %s;", parent_id, id);
}

static void ignore_end(void *ctx, const char *id)
{
    (void)ctx, (void)id;
}

static struct sessions_watcher watcher;

static void begin(void)
{
    struct err e = ERR_NONE;
    fake = (struct fake_kernel){0};
    told[0] = '\0';
    ends = 0;
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    config = (struct session_config){.kernel = {.loop = loop},
                                     .workspace = "/tmp",
                                     .interrupt_grace_ms = 5000,
                                     .event_memory = 4096,
                                     .log = ignore_log};
    const struct sessions_config of_all = {.base = &config, .max = 4};
    struct sessions_view view;
    TEST_ASSERT(sessions_open(&of_all, &sessions, &e) == 0);
    TEST_ASSERT(sessions_find(sessions, SESSIONS_DEFAULT, &view));
    parent = view.session;
    watcher = (struct sessions_watcher){.ended = ignore_end, .forked = on_forked};
    sessions_watch(sessions, &watcher);
    fake_kernel_ready();
    turn();
}

static void end(void)
{
    sessions = sessions_close(sessions);
    loop = loop_free(loop);
}

static void on_done(void *ctx, const char *const *ids, size_t count, const struct err *why)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        const size_t n = strlen(told);
        (void)snprintf(told + n, sizeof told - n, "%s;", ids[i]);
    }
    const size_t n = strlen(told);
    (void)snprintf(told + n, sizeof told - n, "%s", why ? why->msg : "done");
}

static int ask(const char *name, size_t count, bool wait, struct err *e)
{
    const struct sessions_fork_spec spec = {
        .id = SESSIONS_DEFAULT, .name = name, .count = count, .wait = wait, .done = on_done};
    return sessions_fork(sessions, &spec, &forking, e);
}

static void check_told(const char *want)
{
    TEST_CHECK(strcmp(told, want) == 0);
    TEST_MSG("told: %s", told);
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
    TEST_ASSERT(session_execute(parent, &request, &events, NULL, &cell, NULL) == 0);
    turn();
}

/* The branch that was made last forks and comes up. */
static void branch_comes_up(void)
{
    fake_kernel_forked();
    fake_kernel_ready();
    turn();
}

static void a_fork_is_there_when_it_is_ready_and_not_before(void)
{
    struct sessions_view view;
    begin();
    TEST_CHECK(ask("b", 1, false, NULL) == 0);
    turn();
    TEST_CHECK(fake.forks == 1 && !sessions_find(sessions, "b", &view));
    submit("1"); /* the parent's kernel is lent */
    TEST_CHECK(strcmp(fake.code, "1") != 0);
    fake_kernel_forked();
    turn();
    TEST_CHECK(strcmp(fake.code, "1") == 0 && fake.renewals == 1);
    check_told("default has b;");
    fake_kernel_ready();
    turn();
    check_told("default has b;b;done");
    TEST_CHECK(sessions_find(sessions, "b", &view) && fake.starts == 1);
    end();
}

static void it_waits_for_cells_only_where_that_is_asked(void)
{
    struct err e = ERR_NONE;
    begin();
    submit("1");
    TEST_CHECK(ask(NULL, 1, false, &e) == -EBUSY && strstr(e.msg, "\"wait\": true"));
    TEST_CHECK(ask("w", 1, true, &e) == 0);
    turn();
    TEST_CHECK(fake.forks == 0);
    fake_kernel_done(OK_REPLY);
    turn();
    TEST_CHECK(ends == 1 && fake.forks == 1);
    branch_comes_up();
    check_told("default has w;w;done");
    end();
}

static void when_one_of_several_fails_none_is_made(void)
{
    struct sessions_view view;
    begin();
    TEST_CHECK(ask("n", 3, false, NULL) == 0);
    turn();
    TEST_CHECK(fake.forks == 3 && sessions_count(sessions) == 4);
    fake_kernel_forked();
    fake_kernel_dies("a socket (descriptor 9)", "");
    turn();
    check_told("default has n-1;default has n-2;default has n-3;a socket (descriptor 9)");
    TEST_CHECK(sessions_count(sessions) == 1 && !sessions_find(sessions, "n-1", &view));
    TEST_CHECK(fake.kills == 2);
    submit("1"); /* the parent has its kernel again */
    TEST_CHECK(fake.starts == 1);
    end();
}

static void a_kernel_that_cannot_be_forked_says_so(void)
{
    begin();
    fake.fail_start = true;
    TEST_CHECK(ask("n", 2, false, NULL) == 0);
    turn();
    check_told("default has n-1;such kernels cannot be forked");
    TEST_CHECK(sessions_count(sessions) == 1);
    end();
}

static void two_forks_at_once_come_in_turn(void)
{
    begin();
    TEST_CHECK(ask("a", 1, true, NULL) == 0);
    TEST_CHECK(ask("b", 1, true, NULL) == 0);
    turn();
    TEST_CHECK(fake.forks == 1);
    branch_comes_up();
    TEST_CHECK(fake.forks == 2);
    branch_comes_up();
    check_told("default has a;default has b;a;doneb;done");
    end();
}

static void a_name_that_is_taken_meanwhile_and_the_limit_are_refused(void)
{
    struct err e = ERR_NONE;
    struct sessions_view view;
    begin();
    TEST_CHECK(ask("n", 4, false, &e) == -EAGAIN && strstr(e.msg, "--max-sessions"));
    submit("1");
    TEST_CHECK(ask("n", 1, true, NULL) == 0);
    TEST_CHECK(sessions_create(sessions, &(struct sessions_spec){.id = "n"}, &view, NULL) == 0);
    struct kernel *other = fake.current;
    fake.current = fake.first;
    fake_kernel_done(OK_REPLY);
    turn();
    TEST_CHECK(strstr(told, "n") && !strstr(told, "done") && fake.forks == 0);
    fake.current = other;
    end();
}

static void the_parents_end_and_the_servers_end_it(void)
{
    begin();
    TEST_CHECK(ask("b", 1, false, NULL) == 0);
    turn();
    struct kernel *branch = fake.current;
    fake.current = fake.first;
    fake_kernel_dies("killed", "");
    turn();
    TEST_CHECK(strstr(told, "the session default was not forked") && strstr(told, "killed"));
    TEST_CHECK(sessions_count(sessions) == 1);
    (void)branch;
    end();
    begin();
    TEST_CHECK(ask("b", 1, false, NULL) == 0);
    turn();
    sessions_stop(sessions, 0, NULL, NULL);
    check_told("default has b;the server is stopping");
    end();
}

static void a_fork_that_is_forgotten_goes_on(void)
{
    struct sessions_view view;
    begin();
    TEST_CHECK(ask("b", 1, false, NULL) == 0);
    turn();
    sessions_forget_fork(forking);
    branch_comes_up();
    check_told("default has b;");
    TEST_CHECK(sessions_find(sessions, "b", &view));
    end();
}

TEST_LIST = {
    {"a_fork_is_there_when_it_is_ready_and_not_before",
     a_fork_is_there_when_it_is_ready_and_not_before},
    {"it_waits_for_cells_only_where_that_is_asked", it_waits_for_cells_only_where_that_is_asked},
    {"when_one_of_several_fails_none_is_made", when_one_of_several_fails_none_is_made},
    {"a_kernel_that_cannot_be_forked_says_so", a_kernel_that_cannot_be_forked_says_so},
    {"two_forks_at_once_come_in_turn", two_forks_at_once_come_in_turn},
    {"a_name_that_is_taken_meanwhile_and_the_limit_are_refused",
     a_name_that_is_taken_meanwhile_and_the_limit_are_refused},
    {"the_parents_end_and_the_servers_end_it", the_parents_end_and_the_servers_end_it},
    {"a_fork_that_is_forgotten_goes_on", a_fork_that_is_forgotten_goes_on},
    {NULL, NULL},
};
