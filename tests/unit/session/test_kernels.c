/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <stdio.h>
#include <string.h>

#include "fakes/fake_kernel.h"
#include "session/kernels/kernels.h"

static struct loop *loop;
static struct session_config config;
static struct session *session;
static struct kernels *kernels;
static char told[400]; /* ids, as `changed` told them */

static void ignore_log(enum log_level level, const char *text)
{
    (void)level, (void)text;
}

static void on_changed(void *ctx, const char *id)
{
    (void)ctx;
    size_t n = strlen(told);
    (void)snprintf(told + n, sizeof told - n, "%s;", id);
}

static void turn(void)
{
    for (int i = 0; i < 4; i++)
        loop_turn(loop, 0);
}

static void open_kernels(void)
{
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    config =
        (struct session_config){.kernel = {.loop = loop}, .workspace = "/tmp", .log = ignore_log};
    TEST_ASSERT(session_open(&config, &session, &e) == 0);
    kernels = kernels_open(&(struct kernels_config){
        .session_config = &config, .session = session, .changed = on_changed});
    fake_kernel_ready(); /* the session's */
    turn();
    told[0] = '\0';
}

static void close_kernels(void)
{
    kernels = kernels_close(kernels);
    session = session_free(session);
    loop = loop_free(loop);
}

static int launch_with(const char *id, const char *env, const char *cwd)
{
    struct err e = ERR_NONE;
    drop_json struct json *tree = env ? json_parse_copy(env, strlen(env), JSON_STRICT, &e) : NULL;
    return kernels_launch(kernels, id, tree, cwd, &e);
}

static int launch(const char *id)
{
    return launch_with(id, NULL, NULL);
}

static void come_up(void)
{
    fake_kernel_ready();
    fake_kernel_done("{\"status\":\"ok\"}");
    turn();
}

static struct kernels_item look(const char *id)
{
    struct kernels_item item = {.why = "there is none"};
    TEST_CHECK(kernels_find(kernels, id, &item));
    return item;
}

/* All ids in their order, the session's as "session". */
static const char *list(void)
{
    static char ids[400];
    struct kernels_item item;
    ids[0] = '\0';
    for (size_t at = 0; kernels_next(kernels, &at, &item);) {
        size_t n = strlen(ids);
        (void)snprintf(ids + n, sizeof ids - n, "%s;", item.of_session ? "session" : item.id);
    }
    return ids;
}

static void session_id(char ret[KERNELS_ID_MAX + 1])
{
    struct kernels_item item = {.id = ""};
    size_t at = 0;
    TEST_ASSERT(kernels_next(kernels, &at, &item) && item.of_session);
    (void)snprintf(ret, KERNELS_ID_MAX + 1, "%s", item.id);
}

/* --- launching ------------------------------------------------------------------------------ */

static void a_kernel_is_ready_when_it_has_taken_its_variables_and_directory(void)
{
    open_kernels();
    TEST_CHECK(launch_with("a1", "{\"KERNEL_A\":\"it's \\\"x\\\"\",\"PATH\":\"no\",\"KERNEL_B\":7}",
                           "/tmp/it's") == 0);
    TEST_CHECK(look("a1").state == KERNELS_STARTING && kernels_running(kernels) == 1);
    fake_kernel_ready();
    TEST_CHECK(strcmp(fake.code, "__import__('os').environ.update("
                                 "{\"KERNEL_A\":\"it's \\\"x\\\"\"})\n"
                                 "__import__('sys').path.append(__import__('os').getcwd())\n"
                                 "__import__('os').chdir(\"/tmp/it's\")\n") == 0);
    TEST_MSG("%s", fake.code);
    TEST_CHECK(look("a1").state == KERNELS_STARTING && strcmp(told, "") == 0);
    fake_kernel_done("{\"status\":\"ok\"}");
    TEST_CHECK(look("a1").state == KERNELS_READY && strcmp(told, "a1;") == 0);
    TEST_CHECK(look("a1").connection != NULL);
    close_kernels();
}

static void a_kernel_that_does_not_take_them_is_ended_and_says_why(void)
{
    open_kernels();
    TEST_CHECK(launch_with("a1", NULL, "/nowhere") == 0);
    fake_kernel_ready();
    fake_kernel_done("{\"status\":\"error\",\"ename\":\"OSError\",\"evalue\":\"no /nowhere\"}");
    struct kernels_item item = look("a1");
    TEST_CHECK(item.state == KERNELS_ENDED && item.status == -9 && !item.connection);
    TEST_CHECK(strcmp(item.why, "no /nowhere") == 0 && strcmp(told, "a1;") == 0);
    TEST_CHECK(fake.kills == 1 && kernels_running(kernels) == 0);
    close_kernels();
}

static void a_kernel_that_does_not_start_leaves_nothing(void)
{
    open_kernels();
    fake.fail_start = true;
    TEST_CHECK(launch("a1") == -ENOENT);
    TEST_CHECK(strcmp(list(), "session;") == 0);
    fake.fail_start = false;
    TEST_CHECK(launch("a1") == 0);
    close_kernels();
}

static void an_id_is_short_hexadecimal_and_used_once(void)
{
    open_kernels();
    char of_session[KERNELS_ID_MAX + 1], id[KERNELS_ID_MAX + 2];
    memset(id, 'a', sizeof id);
    id[KERNELS_ID_MAX + 1] = '\0';
    session_id(of_session);
    TEST_CHECK(launch("") == -EINVAL && launch("../x") == -EINVAL && launch("a b") == -EINVAL);
    TEST_CHECK(launch(id) == -EINVAL);
    id[KERNELS_ID_MAX] = '\0';
    TEST_CHECK(launch(id) == 0 && launch(id) == -EEXIST && launch(of_session) == -EEXIST);
    close_kernels();
}

static void there_is_a_limit_to_their_number(void)
{
    open_kernels();
    char id[20];
    for (int i = 0; i < KERNELS_MAX; i++) {
        (void)snprintf(id, sizeof id, "%x", i);
        TEST_CHECK(launch(id) == 0);
    }
    TEST_CHECK(launch("fff") == -EAGAIN && kernels_running(kernels) == KERNELS_MAX);
    kernels_forget(kernels, "7");
    TEST_CHECK(launch("fff") == 0);
    close_kernels();
    TEST_CHECK(fake.kills == KERNELS_MAX + 2); /* the forgotten one and the session's, too */
}

/* --- ending --------------------------------------------------------------------------------- */

static void a_kernel_that_died_stays_until_it_is_forgotten_or_launched_again(void)
{
    open_kernels();
    TEST_CHECK(launch("a1") == 0);
    come_up();
    fake_kernel_dies("killed by signal 9", "words");
    struct kernels_item item = look("a1");
    TEST_CHECK(item.state == KERNELS_ENDED && item.status == 0 && !item.connection);
    TEST_CHECK(strcmp(item.why, "killed by signal 9") == 0 && strcmp(told, "a1;a1;") == 0);
    TEST_CHECK(launch("a1") == 0 && look("a1").state == KERNELS_STARTING);
    fake_kernel_dies("again", "");
    TEST_CHECK(strcmp(list(), "session;a1;") == 0);
    kernels_forget(kernels, "a1");
    TEST_CHECK(strcmp(list(), "session;") == 0);
    kernels_forget(kernels, "a1"); /* which is not there: nothing */
    close_kernels();
}

static void a_sweep_takes_those_that_have_ended(void)
{
    open_kernels();
    TEST_CHECK(launch("a1") == 0 && launch("a2") == 0 && launch("a3") == 0);
    struct err e = ERR_NONE;
    TEST_CHECK(kernels_kill(kernels, "a2", &e) == 0 && look("a2").status == -9);
    TEST_CHECK(kernels_kill(kernels, "a2", &e) == 0); /* a second time: nothing more */
    TEST_CHECK(strcmp(told, "a2;") == 0);
    kernels_sweep(kernels);
    TEST_CHECK(strcmp(list(), "session;a3;a1;") == 0);
    close_kernels();
}

static void a_restart_gives_another_kernel_with_the_same_variables(void)
{
    open_kernels();
    TEST_CHECK(launch_with("a1", "{\"KERNEL_A\":\"x\"}", NULL) == 0);
    come_up();
    struct err e = ERR_NONE;
    int starts = fake.starts;
    fake.code[0] = '\0';
    TEST_CHECK(kernels_restart(kernels, "a1", &e) == 0);
    TEST_CHECK(fake.starts == starts + 1 && fake.kills == 1 &&
               look("a1").state == KERNELS_STARTING);
    come_up();
    TEST_CHECK(strcmp(fake.code, "__import__('os').environ.update({\"KERNEL_A\":\"x\"})\n") == 0);
    TEST_CHECK(look("a1").state == KERNELS_READY && strcmp(told, "a1;a1;") == 0);
    fake.fail_start = true;
    TEST_CHECK(kernels_restart(kernels, "a1", &e) == -ENOENT);
    TEST_CHECK(strcmp(list(), "session;") == 0);
    close_kernels();
}

static void what_is_not_there_is_told(void)
{
    open_kernels();
    struct err e = ERR_NONE;
    struct kernels_item item;
    TEST_CHECK(!kernels_find(kernels, "a1", &item));
    TEST_CHECK(kernels_interrupt(kernels, "a1", &e) == -ENOENT);
    TEST_CHECK(kernels_kill(kernels, "a1", &e) == -ENOENT);
    TEST_CHECK(kernels_restart(kernels, "a1", &e) == -ENOENT);
    TEST_CHECK(strcmp(e.msg, "there is no kernel a1") == 0);
    close_kernels();
}

/* --- running -------------------------------------------------------------------------------- */

static void an_interrupt_and_a_missed_heartbeat_reach_the_kernel(void)
{
    open_kernels();
    struct err e = ERR_NONE;
    TEST_CHECK(launch("a1") == 0);
    come_up();
    TEST_CHECK(kernels_interrupt(kernels, "a1", &e) == 0 && fake.interrupts == 1);
    fake_kernel_heartbeat(false);
    TEST_CHECK(fake.resumes == 1);
    fake_kernel_heartbeat(true);
    TEST_CHECK(fake.resumes == 1);
    close_kernels();
}

/* --- the session's -------------------------------------------------------------------------- */

static void the_sessions_kernel_has_one_id_whatever_kernel_it_has(void)
{
    open_kernels();
    char id[KERNELS_ID_MAX + 1];
    struct err e = ERR_NONE;
    session_id(id);
    TEST_CHECK(strlen(id) == 36 && look(id).state == KERNELS_READY);
    TEST_CHECK(kernels_running(kernels) == 0);
    int starts = fake.starts;
    TEST_CHECK(kernels_kill(kernels, id, &e) == 0);    /* which is a reset */
    TEST_CHECK(kernels_restart(kernels, id, &e) == 0); /* that has been asked for already */
    TEST_CHECK(look(id).state == KERNELS_STARTING);
    turn();
    TEST_CHECK(fake.starts == starts + 1);
    fake_kernel_ready();
    turn();
    TEST_CHECK(look(id).state == KERNELS_READY && look(id).of_session);
    TEST_CHECK(strncmp(told, id, strlen(id)) == 0);
    TEST_MSG("%s", told);
    kernels_forget(kernels, id); /* has no effect on it */
    TEST_CHECK(look(id).state == KERNELS_READY);
    close_kernels();
}

static void a_session_without_a_kernel_is_not_listed(void)
{
    open_kernels();
    char id[KERNELS_ID_MAX + 1];
    struct kernels_item item;
    session_id(id);
    TEST_CHECK(launch("a1") == 0 && launch("a2") == 0);
    struct kernel *others = fake.current;
    fake.current = fake.first;
    fake_kernel_dies("it went away", "");
    fake.current = others;
    TEST_CHECK(!kernels_find(kernels, id, &item));
    TEST_CHECK(strcmp(list(), "a2;a1;") == 0);
    TEST_MSG("%s", list());
    close_kernels();
}

TEST_LIST = {
    {"a_kernel_is_ready_when_it_has_taken_its_variables_and_directory",
     a_kernel_is_ready_when_it_has_taken_its_variables_and_directory},
    {"a_kernel_that_does_not_take_them_is_ended_and_says_why",
     a_kernel_that_does_not_take_them_is_ended_and_says_why},
    {"a_kernel_that_does_not_start_leaves_nothing", a_kernel_that_does_not_start_leaves_nothing},
    {"an_id_is_short_hexadecimal_and_used_once", an_id_is_short_hexadecimal_and_used_once},
    {"there_is_a_limit_to_their_number", there_is_a_limit_to_their_number},
    {"a_kernel_that_died_stays_until_it_is_forgotten_or_launched_again",
     a_kernel_that_died_stays_until_it_is_forgotten_or_launched_again},
    {"a_sweep_takes_those_that_have_ended", a_sweep_takes_those_that_have_ended},
    {"a_restart_gives_another_kernel_with_the_same_variables",
     a_restart_gives_another_kernel_with_the_same_variables},
    {"what_is_not_there_is_told", what_is_not_there_is_told},
    {"an_interrupt_and_a_missed_heartbeat_reach_the_kernel",
     an_interrupt_and_a_missed_heartbeat_reach_the_kernel},
    {"the_sessions_kernel_has_one_id_whatever_kernel_it_has",
     the_sessions_kernel_has_one_id_whatever_kernel_it_has},
    {"a_session_without_a_kernel_is_not_listed", a_session_without_a_kernel_is_not_listed},
    {NULL, NULL},
};
