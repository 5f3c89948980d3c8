/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "loop/gate.h"
#include "loop/loop.h"

static int64_t fake_now = 1000;

static int64_t fake_clock(void)
{
    return fake_now;
}

static struct loop *new_loop(void)
{
    struct loop *loop = NULL;
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    loop_set_clock(loop, fake_clock);
    return loop;
}

static char trail[64];

static void mark(void *ctx)
{
    (void)strncat(trail, ctx, sizeof trail - strlen(trail) - 1);
}

static void timers_fire_in_the_order_of_their_time(void)
{
    struct loop *loop = new_loop();
    struct loop_timer a = {0}, b = {0}, c = {0};
    loop_timer_set(loop, &c, 30, mark, (char[]){"c"});
    loop_timer_set(loop, &a, 10, mark, (char[]){"a"});
    loop_timer_set(loop, &b, 10, mark, (char[]){"b"});
    loop_turn(loop, 0);
    TEST_CHECK(strcmp(trail, "") == 0);
    fake_now += 10;
    loop_turn(loop, 0);
    TEST_CHECK(strcmp(trail, "ab") == 0);
    fake_now += 100;
    loop_turn(loop, 0);
    TEST_CHECK(strcmp(trail, "abc") == 0);
    (void)loop_free(loop);
}

static void a_timer_that_is_set_again_fires_once_at_the_new_time(void)
{
    struct loop *loop = new_loop();
    struct loop_timer a = {0};
    loop_timer_set(loop, &a, 10, mark, (char[]){"x"});
    loop_timer_set(loop, &a, 50, mark, (char[]){"y"});
    fake_now += 20;
    loop_turn(loop, 0);
    TEST_CHECK(strcmp(trail, "") == 0);
    fake_now += 40;
    loop_turn(loop, 0);
    loop_turn(loop, 0);
    TEST_CHECK(strcmp(trail, "y") == 0);
    TEST_CHECK(!a.armed);
    (void)loop_free(loop);
}

struct numbered {
    struct loop_timer timer;
    int64_t due;
    size_t fired; /* as the how manyth; 0: not */
};

static size_t fired;

static void count(void *ctx)
{
    struct numbered *n = ctx;
    n->fired = ++fired;
}

/* Like any shuffle, but always the same. */
static size_t next_random(void)
{
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

static void many_timers_keep_their_order_while_others_are_stopped_and_set_again(void)
{
    enum { MANY = 1000 };
    struct loop *loop = new_loop();
    struct numbered *all = xcalloc(MANY, sizeof *all);
    size_t armed = 0;
    for (size_t i = 0; i < MANY; i++)
        loop_timer_set(loop, &all[i].timer, (int64_t)(next_random() % 100), count, &all[i]);
    for (size_t i = 0; i < MANY; i++) {
        struct numbered *n = &all[next_random() % MANY];
        loop_timer_stop(loop, &n->timer);
        if (i % 3 > 0)
            loop_timer_set(loop, &n->timer, (int64_t)(next_random() % 100), count, n);
    }
    for (size_t i = 0; i < MANY; i++) {
        all[i].due = all[i].timer.armed ? all[i].timer.due : -1;
        armed += all[i].timer.armed;
    }
    for (; fired < armed && fake_now < 10000; fake_now++) {
        size_t before = fired;
        loop_turn(loop, 0);
        for (size_t i = 0; i < MANY; i++)
            if (all[i].fired > before)
                TEST_CHECK(all[i].due == fake_now);
    }
    TEST_CHECK(fired == armed && armed > MANY / 2);
    for (size_t i = 0; i < MANY; i++)
        TEST_CHECK((all[i].fired > 0) == (all[i].due >= 0));
    xfree(all);
    (void)loop_free(loop);
}

struct pair {
    struct loop *loop;
    struct loop_timer *other;
};

static void stop_other(void *ctx)
{
    struct pair *pair = ctx;
    loop_timer_stop(pair->loop, pair->other);
    mark((char[]){"s"});
}

static void a_timer_stopped_by_another_in_the_same_turn_stays_silent(void)
{
    struct loop *loop = new_loop();
    struct loop_timer a = {0}, b = {0};
    struct pair pair = {loop, &b};
    loop_timer_set(loop, &a, 1, stop_other, &pair);
    loop_timer_set(loop, &b, 2, mark, (char[]){"b"});
    fake_now += 10;
    loop_turn(loop, 0);
    loop_turn(loop, 0);
    TEST_CHECK(strcmp(trail, "s") == 0);
    (void)loop_free(loop);
}

struct again {
    struct loop *loop;
    struct loop_defer defer;
    int calls;
};

static void defer_again(void *ctx)
{
    struct again *again = ctx;
    again->calls++;
    loop_defer(again->loop, &again->defer, defer_again, again);
}

static void a_deferred_call_that_defers_itself_waits_for_the_next_turn(void)
{
    struct loop *loop = new_loop();
    struct again again = {.loop = loop};
    loop_defer(loop, &again.defer, defer_again, &again);
    loop_turn(loop, 0);
    TEST_CHECK(again.calls == 1);
    loop_turn(loop, -1); /* does not block: something is deferred */
    TEST_CHECK(again.calls == 2);
    loop_defer_stop(loop, &again.defer);
    loop_turn(loop, 0);
    TEST_CHECK(again.calls == 2);
    (void)loop_free(loop);
}

static void deferred_calls_can_be_stopped_wherever_they_stand_in_the_queue(void)
{
    for (int gone = 0; gone < 3; gone++) {
        struct loop *loop = new_loop();
        struct loop_defer d[3] = {0};
        static char names[][2] = {"0", "1", "2"};
        trail[0] = '\0';
        for (int i = 0; i < 3; i++)
            loop_defer(loop, &d[i], mark, names[i]);
        loop_defer_stop(loop, &d[gone]);
        loop_turn(loop, 0);
        TEST_CHECK(strlen(trail) == 2 && !strchr(trail, '0' + gone));
        loop_defer(loop, &d[gone], mark, names[gone]);
        loop_turn(loop, 0);
        TEST_CHECK(strlen(trail) == 3);
        (void)loop_free(loop);
    }
}

struct reader {
    int fd;
    struct loop_io *io;
    int calls;
    unsigned seen;
    bool delete_itself;
};

static void on_readable(void *ctx, unsigned events)
{
    struct reader *reader = ctx;
    reader->calls++;
    reader->seen |= events;
    if (reader->delete_itself)
        reader->io = loop_io_del(reader->io);
}

static void a_descriptor_is_told_about_until_it_is_read_or_deleted(void)
{
    struct loop *loop = new_loop();
    struct err e = ERR_NONE;
    int fds[2];
    TEST_ASSERT(pipe2(fds, O_CLOEXEC) == 0);
    struct reader reader = {.fd = fds[0]};
    TEST_ASSERT(loop_io_add(loop, fds[0], LOOP_IN, on_readable, &reader, &reader.io, &e) == 0);
    loop_turn(loop, 0);
    TEST_CHECK(reader.calls == 0);
    TEST_CHECK(write(fds[1], "x", 1) == 1);
    loop_turn(loop, 0);
    loop_turn(loop, 0);
    TEST_CHECK(reader.calls == 2 && reader.seen == LOOP_IN);
    loop_io_set(reader.io, 0);
    loop_turn(loop, 0);
    TEST_CHECK(reader.calls == 2);
    loop_io_set(reader.io, LOOP_IN);
    reader.delete_itself = true;
    loop_turn(loop, 0);
    loop_turn(loop, 0);
    TEST_CHECK(reader.calls == 3);
    (void)close(fds[0]);
    (void)close(fds[1]);
    (void)loop_free(loop);
}

static void a_hang_up_is_told_although_nothing_was_asked_for(void)
{
    struct loop *loop = new_loop();
    struct err e = ERR_NONE;
    int fds[2];
    TEST_ASSERT(pipe2(fds, O_CLOEXEC) == 0);
    struct reader reader = {.fd = fds[0], .delete_itself = true};
    TEST_ASSERT(loop_io_add(loop, fds[0], 0, on_readable, &reader, &reader.io, &e) == 0);
    (void)close(fds[1]);
    loop_turn(loop, 0);
    TEST_CHECK(reader.calls == 1 && reader.seen == LOOP_HUP);
    (void)close(fds[0]);
    (void)loop_free(loop);
}

static struct reader *victim;

static void delete_the_other(void *ctx, unsigned events)
{
    struct reader *reader = ctx;
    (void)events;
    reader->calls++;
    victim->io = loop_io_del(victim->io);
    reader->io = loop_io_del(reader->io);
}

static void a_descriptor_deleted_by_another_in_the_same_turn_is_not_told(void)
{
    struct loop *loop = new_loop();
    struct err e = ERR_NONE;
    int fds[2], more[2];
    TEST_ASSERT(pipe2(fds, O_CLOEXEC) == 0 && pipe2(more, O_CLOEXEC) == 0);
    struct reader a = {.fd = fds[0]}, b = {.fd = more[0]};
    victim = &b;
    TEST_ASSERT(loop_io_add(loop, fds[0], LOOP_IN, delete_the_other, &a, &a.io, &e) == 0);
    TEST_ASSERT(loop_io_add(loop, more[0], LOOP_IN, on_readable, &b, &b.io, &e) == 0);
    TEST_CHECK(write(fds[1], "x", 1) == 1 && write(more[1], "x", 1) == 1);
    loop_turn(loop, 0);
    loop_turn(loop, 0);
    TEST_CHECK(a.calls == 1);
    TEST_CHECK(b.calls <= 1); /* epoll's order decides; after its deletion it is silent */
    (void)loop_free(loop);
}

static void a_regular_file_is_refused_with_eperm(void)
{
    struct loop *loop = new_loop();
    struct err e = ERR_NONE;
    struct reader reader = {0};
    drop_fd int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    TEST_CHECK(loop_io_add(loop, fd, LOOP_IN, on_readable, &reader, &reader.io, &e) == -EPERM);
    (void)loop_free(loop);
}

static int last_signal;

static void on_signal(void *ctx, int signal)
{
    (void)ctx;
    last_signal = signal;
}

static void a_signal_arrives_as_a_call(void)
{
    struct loop *loop = new_loop();
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_signals(loop, (int[]){SIGUSR1, SIGTERM}, 2, on_signal, NULL, &e) == 0);
    TEST_CHECK(raise(SIGTERM) == 0);
    loop_turn(loop, 0);
    TEST_CHECK(last_signal == SIGTERM);
    (void)loop_free(loop);
}

static void work(void *ctx)
{
    int64_t *ms = ctx, from = clock_of_thread_ns();
    while (clock_of_thread_ns() - from < *ms * 1000000)
        ;
}

static void the_longest_turn_is_known_by_its_processor_time(void)
{
    struct loop *loop = new_loop();
    struct loop_defer defer = {0};
    int64_t ms = 30;
    loop_turn(loop, 0);
    TEST_CHECK(loop_turns(loop)->long_cpu == 0);
    loop_defer(loop, &defer, work, &ms);
    loop_turn(loop, 0);
    loop_turn(loop, 0);
    const struct loop_turns *t = loop_turns(loop);
    TEST_CHECK(t->turns == 3 && t->long_cpu == 1 && t->long_wall >= 1);
    TEST_CHECK(t->max_cpu_ns >= 30 * 1000000 && t->max_wall_ns >= t->max_cpu_ns);
    (void)loop_free(loop);
}

static struct gate_loss lost;
static int64_t gate_now;

static int64_t gate_clock(void)
{
    return gate_now;
}

static void on_lost(void *ctx, const struct gate_loss *loss)
{
    (void)ctx;
    lost = *loss;
}

static void a_flood_passes_the_gate_in_part_and_the_rest_is_counted(void)
{
    struct loop *loop = new_loop();
    struct gate gate;
    uint64_t passed = 0;
    loop_set_clock(loop, gate_clock);
    gate_init(&gate, loop, on_lost, NULL);
    for (int i = 0; i < 10000; i++)
        passed += gate_pass(&gate, 10);
    TEST_CHECK_(passed == GATE_LINES, "%llu", (unsigned long long)passed);
    TEST_CHECK(lost.lines == 0);
    gate_now = GATE_TELL_MS;
    loop_turn(loop, 0);
    TEST_CHECK(lost.lines == 10000 - GATE_LINES && lost.bytes == 10 * lost.lines);
    TEST_CHECK(lost.ms == GATE_TELL_MS);
    for (passed = 0; gate_pass(&gate, 10);)
        passed++;
    TEST_CHECK(passed == GATE_TELL_MS / 1000 * GATE_LINES_PER_S);
    gate_done(&gate);
    TEST_CHECK(lost.lines == 1);
    (void)loop_free(loop);
}

static void few_long_lines_are_a_flood_too(void)
{
    struct loop *loop = new_loop();
    struct gate gate;
    int64_t passed = 0;
    gate_now = 0;
    loop_set_clock(loop, gate_clock);
    gate_init(&gate, loop, on_lost, NULL);
    for (int i = 0; i < 300; i++)
        passed += gate_pass(&gate, 4000) ? 4000 : 0;
    TEST_CHECK(passed > GATE_BYTES - 4000 && passed <= GATE_BYTES);
    gate_done(&gate);
    TEST_CHECK(lost.lines > 200);
    (void)loop_free(loop);
}

TEST_LIST = {
    {"the_longest_turn_is_known_by_its_processor_time",
     the_longest_turn_is_known_by_its_processor_time},
    {"a_flood_passes_the_gate_in_part_and_the_rest_is_counted",
     a_flood_passes_the_gate_in_part_and_the_rest_is_counted},
    {"few_long_lines_are_a_flood_too", few_long_lines_are_a_flood_too},
    {"timers_fire_in_the_order_of_their_time", timers_fire_in_the_order_of_their_time},
    {"many_timers_keep_their_order_while_others_are_stopped_and_set_again",
     many_timers_keep_their_order_while_others_are_stopped_and_set_again},
    {"a_timer_that_is_set_again_fires_once_at_the_new_time",
     a_timer_that_is_set_again_fires_once_at_the_new_time},
    {"a_timer_stopped_by_another_in_the_same_turn_stays_silent",
     a_timer_stopped_by_another_in_the_same_turn_stays_silent},
    {"a_deferred_call_that_defers_itself_waits_for_the_next_turn",
     a_deferred_call_that_defers_itself_waits_for_the_next_turn},
    {"deferred_calls_can_be_stopped_wherever_they_stand_in_the_queue",
     deferred_calls_can_be_stopped_wherever_they_stand_in_the_queue},
    {"a_descriptor_is_told_about_until_it_is_read_or_deleted",
     a_descriptor_is_told_about_until_it_is_read_or_deleted},
    {"a_hang_up_is_told_although_nothing_was_asked_for",
     a_hang_up_is_told_although_nothing_was_asked_for},
    {"a_descriptor_deleted_by_another_in_the_same_turn_is_not_told",
     a_descriptor_deleted_by_another_in_the_same_turn_is_not_told},
    {"a_regular_file_is_refused_with_eperm", a_regular_file_is_refused_with_eperm},
    {"a_signal_arrives_as_a_call", a_signal_arrives_as_a_call},
    {NULL, NULL},
};
