/* SPDX-License-Identifier: Apache-2.0
 *
 * Executions of real sessions whose kernels the test plays. No transport is linked to them. */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "fakes/fake_kernel.h"
#include "session/events/eventlog.h"
#include "session/executions/executions.h"
#include "session/executions/reader.h"
#include "session/kernels/sessions.h"

#define OK_REPLY "{\"status\":\"ok\"}"
#define DIGEST "d1"

enum { MEMORY = 4096 }; /* bytes of events that are kept */

static int64_t now = 1000;

static int64_t fake_clock(void)
{
    return now;
}

static struct loop *loop;
static struct session_config config;
static struct sessions *sessions;
static struct sessions_view view;
static struct executions *all;

static void ignore_log(enum log_level level, const char *text)
{
    (void)level, (void)text;
}

static void turn(void)
{
    for (int i = 0; i < 3; i++)
        loop_turn(loop, 0);
}

static void open_sessions(void)
{
    struct err e = ERR_NONE;
    fake = (struct fake_kernel){0};
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    loop_set_clock(loop, fake_clock);
    config = (struct session_config){.kernel = {.loop = loop},
                                     .workspace = "/tmp",
                                     .interrupt_grace_ms = 5000,
                                     .event_memory = MEMORY,
                                     .log = ignore_log};
    struct sessions_config of_all = {.base = &config, .max = 3};
    TEST_ASSERT(sessions_open(&of_all, &sessions, &e) == 0);
    TEST_ASSERT(sessions_find(sessions, SESSIONS_DEFAULT, &view));
    all = view.executions;
    fake_kernel_ready();
    turn();
}

static void close_sessions(void)
{
    sessions = sessions_close(sessions);
    loop = loop_free(loop);
}

static int try_submit(const char *text, const char *key, struct execution **ret)
{
    struct err e = ERR_NONE;
    drop_str char *code = xstrdup(text);
    const struct execution_order order = {
        .cell = {.code = {code, strlen(code)}, .timeout_ms = 60000, .max_chars = 1000},
        .key = key,
        .digest = DIGEST};
    int r = executions_submit(all, &order, ret, &e);
    turn();
    return r;
}

static struct execution *submit(const char *code, const char *key)
{
    struct execution *x = NULL;
    TEST_ASSERT(try_submit(code, key, &x) == 0);
    return x;
}

static struct execution *run(const char *text, const char *key)
{
    struct execution *x = submit("x", key);
    if (*text)
        fake_kernel_stream(text, true);
    fake_kernel_done(OK_REPLY);
    turn();
    return x;
}

static void count(void *ctx)
{
    ++*(int *)ctx;
}

/* --- results and watchers --------------------------------------------------------------------- */

static void an_execution_is_queued_runs_and_ends_with_its_result(void)
{
    struct execution_watcher watcher;
    int changes = 0;
    open_sessions();
    struct execution *first = submit("x", NULL), *x = submit("y", NULL);
    TEST_CHECK(first->state == EXECUTION_RUNNING && x->state == EXECUTION_QUEUED);
    execution_watch(x, &watcher, count, &changes);
    fake_kernel_done(OK_REPLY);
    turn();
    TEST_CHECK(x->state == EXECUTION_RUNNING && changes == 1 && x->number > 0);
    fake_kernel_stream("one\n", true);
    fake_kernel_message(JUPYTER_STREAM, "{\"name\":\"stderr\",\"text\":\"two\\n\"}");
    fake_kernel_message(JUPYTER_DISPLAY_DATA, "{\"data\":{\"text/html\":\"<b>\"}}");
    fake_kernel_message(JUPYTER_EXECUTE_RESULT, "{\"data\":{\"text/plain\":\"3\"}}");
    now += 50;
    turn();
    fake_kernel_error("E", "v");
    fake_kernel_done("{\"status\":\"error\"}");
    turn();
    TEST_CHECK(x->state == EXECUTION_ENDED && changes == 2);
    TEST_CHECK(x->result.status == CELL_ERROR && x->result.duration_ms == 50);
    TEST_CHECK(strcmp(buf_text(&x->result.out), "one\n") == 0);
    TEST_CHECK(strcmp(buf_text(&x->result.err), "two\n") == 0);
    TEST_CHECK(strstr(buf_text(&x->result.outputs), "{\"type\":\"display\",\"data\":") != NULL);
    TEST_CHECK(strstr(buf_text(&x->result.outputs), "},{\"type\":\"result\",\"data\":") != NULL);
    TEST_CHECK(strcmp(x->result.ename, "E") == 0 && strcmp(x->result.evalue, "v") == 0);
    TEST_CHECK(executions_find(all, x->id) == x && executions_first(all) == first);
    execution_unwatch(&watcher);
    close_sessions();
}

static void streams_and_displays_are_cut_at_their_limits(void)
{
    open_sessions();
    struct execution *x = submit("x", NULL);
    drop_str char *text = xasprintf("%0*d", (int)EXECUTION_STREAM_MAX - 1, 0);
    fake_kernel_stream(text, true);
    fake_kernel_stream("\xC3\xA4", true); /* one byte is left, the character has two */
    fake_kernel_stream("b", true);
    drop_str char *large =
        xasprintf("{\"data\":{\"text/html\":\"%0*d\"}}", (int)EXECUTION_OUTPUTS_MAX, 0);
    fake_kernel_message(JUPYTER_DISPLAY_DATA, large);
    fake_kernel_message(JUPYTER_DISPLAY_DATA, "{\"data\":{}}");
    fake_kernel_done(OK_REPLY);
    turn();
    TEST_CHECK(x->result.out.len == EXECUTION_STREAM_MAX - 1 && x->result.streams_truncated);
    TEST_CHECK(x->result.outputs_omitted == 1);
    TEST_CHECK(strcmp(buf_text(&x->result.outputs), "{\"type\":\"display\",\"data\":{}}") == 0);
    close_sessions();
}

static struct execution_watcher watchers[3];

static void leave_all(void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 3; i++)
        execution_unwatch(&watchers[i]);
}

static void watchers_may_leave_while_they_are_told(void)
{
    int told = 0;
    open_sessions();
    struct execution *x = submit("x", NULL);
    execution_watch(x, &watchers[0], count, &told);
    execution_watch(x, &watchers[1], leave_all, NULL);
    execution_watch(x, &watchers[2], count, &told);
    fake_kernel_done(OK_REPLY);
    turn();
    TEST_CHECK(told == 1); /* the newest is told first; the oldest has been taken away */
    TEST_CHECK(!x->watchers);
    close_sessions();
}

static void cancel(void *ctx)
{
    execution_cancel(ctx);
}

static void a_watcher_may_cancel_another_execution(void)
{
    struct execution_watcher of_first, of_second;
    int told = 0;
    open_sessions();
    struct execution *first = submit("x", NULL), *second = submit("y", NULL);
    execution_watch(first, &of_first, cancel, second);
    execution_watch(second, &of_second, count, &told);
    fake_kernel_done(OK_REPLY);
    turn();
    TEST_CHECK(first->state == EXECUTION_ENDED);
    TEST_CHECK(second->state == EXECUTION_ENDED && second->result.status == CELL_CANCELLED);
    TEST_CHECK(told == 1 && second->number == 0 && second->result.duration_ms == -1);
    execution_unwatch(&of_first);
    execution_unwatch(&of_second);
    close_sessions();
}

static void who_leaves_cancels_if_it_was_ordered_so(void)
{
    struct err e = ERR_NONE;
    char code[] = "x";
    struct execution *x, *other;
    open_sessions();
    struct execution_order order = {.cell = {.code = {code, 1}, .timeout_ms = 60000},
                                    .digest = DIGEST};
    TEST_ASSERT(executions_submit(all, &order, &x, &e) == 0);
    order.cancel_when_left = true;
    TEST_ASSERT(executions_submit(all, &order, &other, &e) == 0);
    turn();
    execution_left(x);
    execution_left(other);
    turn();
    TEST_CHECK(x->state == EXECUTION_RUNNING && fake.interrupts == 0);
    TEST_CHECK(other->state == EXECUTION_ENDED && other->result.status == CELL_CANCELLED);
    close_sessions();
}

/* --- limits and keys -------------------------------------------------------------------------- */

static void a_key_brings_its_execution_again(void)
{
    struct execution *found = NULL;
    char id[2 * EXECUTION_ID_BYTES + 1];
    open_sessions();
    TEST_CHECK(executions_look_up(all, "k", DIGEST, &found, id) == EXECUTIONS_NEW);
    struct execution *x = submit("x", "k");
    TEST_CHECK(executions_look_up(all, "k", DIGEST, &found, id) == EXECUTIONS_SAME && found == x);
    TEST_CHECK(executions_look_up(all, "k", "d2", &found, id) == EXECUTIONS_OTHER);
    fake_kernel_done(OK_REPLY);
    turn();
    TEST_CHECK(executions_look_up(all, "k", DIGEST, &found, id) == EXECUTIONS_SAME && found == x);
    close_sessions();
}

static void the_oldest_results_go_and_their_keys_stay(void)
{
    struct execution *found = NULL;
    struct execution_watcher watcher;
    int changes = 0;
    char id[2 * EXECUTION_ID_BYTES + 1], first_id[sizeof id];
    open_sessions();
    struct execution *first = run("", "first");
    memcpy(first_id, first->id, sizeof first_id);
    struct execution *watched = run("", "watched");
    execution_watch(watched, &watcher, count, &changes);
    for (int i = 0; i < EXECUTIONS_KEPT; i++)
        (void)run("", NULL);
    TEST_CHECK(executions_find(all, first_id) == NULL);
    TEST_CHECK(executions_find(all, watched->id) == watched);
    TEST_CHECK(executions_look_up(all, "first", DIGEST, &found, id) == EXECUTIONS_EXPIRED);
    TEST_CHECK(strcmp(id, first_id) == 0);
    TEST_CHECK(executions_look_up(all, "first", "d2", &found, id) == EXECUTIONS_OTHER);
    execution_unwatch(&watcher);
    (void)run("", NULL);
    TEST_CHECK(executions_look_up(all, "watched", DIGEST, &found, id) == EXECUTIONS_EXPIRED);
    close_sessions();
}

static void large_results_make_room_for_new_ones_but_the_newest_stays(void)
{
    open_sessions();
    drop_str char *large = xasprintf("%0*d", (int)EXECUTION_STREAM_MAX, 0);
    struct execution *newest = NULL;
    size_t n = 0;
    for (size_t i = 0; i < 2 * EXECUTIONS_BYTES_MAX / EXECUTION_STREAM_MAX; i++)
        newest = run(large, NULL);
    for (const struct execution *x = executions_first(all); x; x = x->next)
        n++;
    TEST_CHECK(n > 0 && n <= EXECUTIONS_BYTES_MAX / EXECUTION_STREAM_MAX);
    TEST_CHECK(executions_find(all, newest->id) == newest);
    close_sessions();
}

static void as_many_keys_as_there_is_room_for_are_remembered(void)
{
    struct execution *found = NULL;
    char id[2 * EXECUTION_ID_BYTES + 1];
    open_sessions();
    for (int i = 0; i < EXECUTIONS_KEYS_MAX + EXECUTIONS_KEPT + 1; i++) {
        drop_str char *key = xasprintf("k%d", i);
        (void)run("", key);
    }
    TEST_CHECK(executions_look_up(all, "k0", DIGEST, &found, id) == EXECUTIONS_NEW);
    TEST_CHECK(executions_look_up(all, "k1", DIGEST, &found, id) == EXECUTIONS_EXPIRED);
    close_sessions();
}

static void code_that_waits_has_a_limit_for_all_sessions_together(void)
{
    struct err e = ERR_NONE;
    struct execution *x, *more;
    struct sessions_view second;
    open_sessions();
    const size_t half = EXECUTIONS_PENDING_MAX / 2;
    drop_str char *code = xasprintf("%0*d", (int)half, 0);
    TEST_CHECK(try_submit(code, NULL, &x) == 0);
    TEST_ASSERT(sessions_create(sessions, &(struct sessions_spec){.id = "b"}, &second, &e) == 0);
    all = second.executions;
    TEST_CHECK(try_submit(code, NULL, &more) == 0);
    TEST_CHECK(try_submit("x", NULL, &more) == -EAGAIN);
    execution_cancel(more);
    turn();
    TEST_CHECK(try_submit("x", NULL, &more) == 0);
    close_sessions();
}

/* --- readers ---------------------------------------------------------------------------------- */

static int mores;

/* Takes what comes until there is nothing more; the kinds as letters. */
static const char *read_all(struct execution_reader *r)
{
    static const char letters[] = {
        [READER_NOTHING] = '-', [READER_RESET] = 'R',  [READER_GAP] = 'G',
        [READER_EVENT] = 'e',   [READER_PASSED] = 'p', [READER_OVER] = 'O'};
    static char seen[256];
    size_t n = 0;
    for (; n + 1 < sizeof seen;) {
        const struct reader_item item = reader_next(r);
        seen[n++] = letters[item.kind];
        if (item.kind == READER_NOTHING || item.kind == READER_OVER)
            break;
        reader_took(r, &item);
    }
    seen[n] = '\0';
    return seen;
}

static void check_read(struct execution_reader *r, const char *wanted)
{
    const char *seen = read_all(r);
    TEST_CHECK_(strcmp(seen, wanted) == 0, "%s, not %s", seen, wanted);
}

static void a_reader_has_the_events_of_its_execution_alone(void)
{
    struct execution_reader r;
    open_sessions();
    (void)submit("x", NULL);
    struct execution *second = submit("y", NULL);
    reader_open(&r, view.session, second, 0, count, &mores);
    fake_kernel_stream("of x", true);
    check_read(&r, "-"); /* it waits in the queue */
    fake_kernel_done(OK_REPLY);
    turn();
    check_read(&r, "e-"); /* its begin */
    mores = 0;
    fake_kernel_stream("of y", true);
    turn();
    TEST_CHECK(mores == 1);
    check_read(&r, "e-");
    fake_kernel_done(OK_REPLY);
    turn();
    check_read(&r, "eO");
    TEST_CHECK(r.has_end);
    reader_close(&r);
    close_sessions();
}

static void what_was_not_taken_is_shown_again(void)
{
    struct execution_reader r;
    open_sessions();
    struct execution *x = run("one", NULL);
    reader_open(&r, view.session, x, 0, count, &mores);
    const struct reader_item first = reader_next(&r), again = reader_next(&r);
    TEST_CHECK(first.kind == READER_EVENT && again.event.number == first.event.number);
    reader_took(&r, &again);
    TEST_CHECK(reader_next(&r).event.number == first.event.number + 1);
    reader_close(&r);
    close_sessions();
}

static void who_comes_back_gets_what_it_has_missed(void)
{
    struct execution_reader r;
    open_sessions();
    struct execution *x = run("one", NULL);
    reader_open(&r, view.session, x, x->first_event, count, &mores);
    check_read(&r, "eeO");
    reader_close(&r);
    reader_open(&r, view.session, x, x->last_event, count, &mores);
    check_read(&r, "O");
    reader_close(&r);
    close_sessions();
}

static void an_execution_that_never_ran_is_over_without_an_end(void)
{
    struct execution_reader r;
    open_sessions();
    (void)submit("x", NULL);
    struct execution *x = submit("y", NULL);
    reader_open(&r, view.session, x, 0, count, &mores);
    execution_cancel(x);
    turn();
    check_read(&r, "O");
    TEST_CHECK(!r.has_end);
    reader_close(&r);
    close_sessions();
}

static void who_does_not_read_is_told_of_a_gap_once(void)
{
    struct execution_reader r;
    open_sessions();
    reader_open(&r, view.session, NULL, 0, count, &mores);
    (void)submit("x", NULL);
    drop_str char *text = xasprintf("%0*d", MEMORY / 4, 0);
    for (int i = 0; i < 8; i++)
        fake_kernel_stream(text, true);
    turn();
    const struct reader_item gap = reader_next(&r);
    TEST_CHECK(gap.kind == READER_GAP && gap.missed > 0);
    reader_took(&r, &gap);
    TEST_CHECK(reader_next(&r).kind == READER_EVENT);
    reader_close(&r);
    close_sessions();
}

static void a_number_of_another_life_is_a_reset(void)
{
    struct execution_reader r;
    open_sessions();
    struct execution *x = run("one", NULL);
    reader_open(&r, view.session, NULL, 123456, count, &mores);
    const struct reader_item item = reader_next(&r);
    TEST_CHECK(item.kind == READER_RESET && item.after == 123456);
    reader_took(&r, &item);
    TEST_CHECK(reader_next(&r).event.number == 1); /* all that is kept */
    reader_close(&r);
    reader_open(&r, view.session, x, 123456, count, &mores);
    check_read(&r, "ReeeO");
    reader_close(&r);
    close_sessions();
}

/* --- the session ------------------------------------------------------------------------------ */

static void ignore_reset(void *ctx, const struct err *why)
{
    (void)ctx, (void)why;
}

static void results_and_keys_outlive_a_reset_of_the_session(void)
{
    struct err e = ERR_NONE;
    struct cell *reset;
    struct execution *found = NULL;
    char id[2 * EXECUTION_ID_BYTES + 1];
    open_sessions();
    struct execution *x = run("one", "k");
    TEST_ASSERT(session_reset(view.session, ignore_reset, NULL, &reset, &e) == 0);
    turn();
    fake_kernel_ready();
    turn();
    TEST_CHECK(executions_look_up(all, "k", DIGEST, &found, id) == EXECUTIONS_SAME && found == x);
    TEST_CHECK(strcmp(buf_text(&x->result.out), "one") == 0);
    close_sessions();
}

static struct execution_reader followed;
static struct execution *of_session;
static bool was_over;

static void on_ended(void *ctx, const char *id)
{
    (void)ctx, (void)id;
    const char *seen = read_all(&followed);
    was_over = seen[strlen(seen) - 1] == 'O' && of_session->result.status == CELL_STOPPED;
    reader_close(&followed);
}

static void a_session_that_ends_ends_its_executions_before_who_follows_them_is_told(void)
{
    struct err e = ERR_NONE;
    struct sessions_watcher watcher = {.ended = on_ended};
    open_sessions();
    TEST_ASSERT(sessions_create(sessions, &(struct sessions_spec){.id = "b"}, &view, &e) == 0);
    all = view.executions;
    fake_kernel_ready();
    turn();
    sessions_watch(sessions, &watcher);
    of_session = submit("x", NULL);
    reader_open(&followed, view.session, of_session, 0, count, &mores);
    TEST_ASSERT(sessions_end(sessions, "b", &e) == 0);
    turn();
    TEST_CHECK(was_over);
    TEST_CHECK(!sessions_find(sessions, "b", &view));
    sessions_unwatch(sessions, &watcher);
    close_sessions();
}

TEST_LIST = {
    {"an_execution_is_queued_runs_and_ends_with_its_result",
     an_execution_is_queued_runs_and_ends_with_its_result},
    {"streams_and_displays_are_cut_at_their_limits", streams_and_displays_are_cut_at_their_limits},
    {"watchers_may_leave_while_they_are_told", watchers_may_leave_while_they_are_told},
    {"a_watcher_may_cancel_another_execution", a_watcher_may_cancel_another_execution},
    {"who_leaves_cancels_if_it_was_ordered_so", who_leaves_cancels_if_it_was_ordered_so},
    {"a_key_brings_its_execution_again", a_key_brings_its_execution_again},
    {"the_oldest_results_go_and_their_keys_stay", the_oldest_results_go_and_their_keys_stay},
    {"large_results_make_room_for_new_ones_but_the_newest_stays",
     large_results_make_room_for_new_ones_but_the_newest_stays},
    {"as_many_keys_as_there_is_room_for_are_remembered",
     as_many_keys_as_there_is_room_for_are_remembered},
    {"code_that_waits_has_a_limit_for_all_sessions_together",
     code_that_waits_has_a_limit_for_all_sessions_together},
    {"a_reader_has_the_events_of_its_execution_alone",
     a_reader_has_the_events_of_its_execution_alone},
    {"what_was_not_taken_is_shown_again", what_was_not_taken_is_shown_again},
    {"who_comes_back_gets_what_it_has_missed", who_comes_back_gets_what_it_has_missed},
    {"an_execution_that_never_ran_is_over_without_an_end",
     an_execution_that_never_ran_is_over_without_an_end},
    {"who_does_not_read_is_told_of_a_gap_once", who_does_not_read_is_told_of_a_gap_once},
    {"a_number_of_another_life_is_a_reset", a_number_of_another_life_is_a_reset},
    {"results_and_keys_outlive_a_reset_of_the_session",
     results_and_keys_outlive_a_reset_of_the_session},
    {"a_session_that_ends_ends_its_executions_before_who_follows_them_is_told",
     a_session_that_ends_ends_its_executions_before_who_follows_them_is_told},
    {NULL, NULL},
};
