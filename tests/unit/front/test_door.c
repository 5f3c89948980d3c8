/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "front/door.h"

static char trail[256];
static int64_t fake_now = 1000;
static struct loop *loop;
static struct doors *doors;
static bool second_fails, second_is_unused;

static int64_t fake_clock(void)
{
    return fake_now;
}

static void note(const char *what)
{
    (void)strncat(trail, what, sizeof trail - strlen(trail) - 1);
}

static void expect(const char *want)
{
    TEST_CHECK_(strcmp(trail, want) == 0, "\"%s\" and not \"%s\"", trail, want);
    trail[0] = '\0';
}

static int open_first(void *ctx, struct err *e)
{
    (void)ctx, (void)e;
    note("open 1;");
    return 0;
}

static void stop_first(void *ctx)
{
    (void)ctx;
    note("stop 1;");
}

static void drain_first(void *ctx)
{
    (void)ctx;
    note("drain 1;");
}

static void close_first(void *ctx)
{
    (void)ctx;
    note("close 1;");
}

static int open_second(void *ctx, struct err *e)
{
    (void)ctx;
    note("open 2;");
    if (second_fails)
        return err_set(e, -EADDRINUSE, "the second: in use");
    return second_is_unused ? DOOR_UNUSED : 0;
}

static void stop_second(void *ctx)
{
    (void)ctx;
    note("stop 2;");
}

static void drain_second(void *ctx)
{
    (void)ctx;
    note("drain 2;");
}

static void close_second(void *ctx)
{
    (void)ctx;
    note("close 2;");
}

static int open_third(void *ctx, struct err *e)
{
    (void)ctx, (void)e;
    note("open 3;");
    return 0;
}

static void stop_third(void *ctx)
{
    (void)ctx;
    note("stop 3;");
}

static void close_third(void *ctx)
{
    (void)ctx;
    note("close 3;");
}

static const struct door first = {"first", open_first, stop_first, drain_first, close_first};
static const struct door second = {"second", open_second, stop_second, drain_second, close_second};
static const struct door third = {"third", open_third, NULL, NULL, close_third};
static const struct door step = {"step", NULL, stop_third, NULL, NULL};
static const struct door *const list[] = {&first, &second, &third, NULL};

static void on_drained(void *ctx)
{
    (void)ctx;
    note("drained;");
}

static void on_late(void *ctx, const char *names)
{
    (void)ctx;
    note("late: ");
    note(names);
    note(";");
}

static int open_doors(struct err *e)
{
    static const struct doors_events events = {.drained = on_drained, .late = on_late};
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    loop_set_clock(loop, fake_clock);
    return doors_open(loop, list, &events, NULL, &doors, e);
}

static void close_doors(void)
{
    doors = doors_close(doors);
    loop = loop_free(loop);
}

static void pass_time(int64_t ms)
{
    fake_now += ms;
    loop_turn(loop, 0);
}

static void doors_open_in_order_and_close_in_reverse_order(void)
{
    TEST_ASSERT(open_doors(NULL) == 0);
    expect("open 1;open 2;open 3;");
    close_doors();
    expect("close 3;close 2;close 1;");
}

static void a_door_that_fails_closes_those_before_it_in_reverse_order(void)
{
    static const struct door *const late_failure[] = {&first, &third, &second, NULL};
    static const struct doors_events events = {.drained = on_drained, .late = on_late};
    struct err e = ERR_NONE;
    second_fails = true;
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    TEST_CHECK(doors_open(loop, late_failure, &events, NULL, &doors, &e) == -EADDRINUSE);
    TEST_CHECK(doors == NULL && strcmp(e.msg, "the second: in use") == 0);
    expect("open 1;open 3;open 2;close 3;close 1;");
    close_doors();
    expect("");
}

static void the_doors_after_one_that_fails_are_not_opened(void)
{
    second_fails = true;
    TEST_CHECK(open_doors(NULL) == -EADDRINUSE);
    expect("open 1;open 2;close 1;");
    close_doors();
}

static void a_door_that_is_not_asked_for_is_left_alone(void)
{
    second_is_unused = true;
    TEST_ASSERT(open_doors(NULL) == 0);
    doors_stop(doors, 1000);
    doors_drain(doors);
    doors_ended(doors, &first);
    expect("open 1;open 2;open 3;stop 1;drain 1;drained;");
    close_doors();
    expect("close 3;close 1;");
}

static void a_step_between_two_doors_has_its_place_in_the_order(void)
{
    static const struct door *const with_step[] = {&first, &step, &second, NULL};
    static const struct doors_events events = {.drained = on_drained, .late = on_late};
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    TEST_ASSERT(doors_open(loop, with_step, &events, NULL, &doors, NULL) == 0);
    expect("open 1;open 2;");
    doors_stop(doors, 1000);
    expect("stop 2;stop 3;stop 1;");
    doors_drain(doors);
    doors_ended(doors, &first);
    doors_ended(doors, &second);
    expect("drain 2;drain 1;drained;");
    close_doors();
    expect("close 2;close 1;");
}

static void drain_waits_for_all_doors(void)
{
    TEST_ASSERT(open_doors(NULL) == 0);
    doors_stop(doors, 1000);
    expect("open 1;open 2;open 3;stop 2;stop 1;");
    doors_drain(doors);
    expect("drain 2;drain 1;");
    doors_ended(doors, &second);
    doors_ended(doors, &second);
    expect("");
    doors_ended(doors, &first);
    expect("drained;");
    doors_drain(doors);
    doors_ended(doors, &first);
    expect("");
    close_doors();
    expect("close 3;close 2;close 1;");
}

static void a_door_may_end_before_it_is_drained(void)
{
    TEST_ASSERT(open_doors(NULL) == 0);
    doors_ended(doors, &first);
    doors_ended(doors, &second);
    expect("open 1;open 2;open 3;");
    doors_drain(doors);
    expect("drained;");
    close_doors();
}

static void the_deadline_names_the_doors_that_have_not_ended(void)
{
    TEST_ASSERT(open_doors(NULL) == 0);
    doors_stop(doors, 1000);
    doors_drain(doors);
    doors_ended(doors, &first);
    trail[0] = '\0';
    pass_time(999);
    expect("");
    pass_time(1);
    expect("late: second;");
    pass_time(5000);
    expect("");
    close_doors();
}

static void a_second_stop_sets_the_deadline_anew(void)
{
    TEST_ASSERT(open_doors(NULL) == 0);
    doors_stop(doors, 60000);
    doors_stop(doors, 1000);
    expect("open 1;open 2;open 3;stop 2;stop 1;stop 2;stop 1;");
    pass_time(1000);
    expect("late: ;");
    close_doors();
}

static void the_deadline_ends_with_the_doors(void)
{
    TEST_ASSERT(open_doors(NULL) == 0);
    doors_stop(doors, 1000);
    trail[0] = '\0';
    doors = doors_close(doors);
    expect("close 3;close 2;close 1;");
    pass_time(2000);
    expect("");
    close_doors();
}

#define TEST(name) {#name, name}
TEST_LIST = {
    TEST(doors_open_in_order_and_close_in_reverse_order),
    TEST(a_door_that_fails_closes_those_before_it_in_reverse_order),
    TEST(the_doors_after_one_that_fails_are_not_opened),
    TEST(a_door_that_is_not_asked_for_is_left_alone),
    TEST(a_step_between_two_doors_has_its_place_in_the_order),
    TEST(drain_waits_for_all_doors),
    TEST(a_door_may_end_before_it_is_drained),
    TEST(the_deadline_names_the_doors_that_have_not_ended),
    TEST(a_second_stop_sets_the_deadline_anew),
    TEST(the_deadline_ends_with_the_doors),
    {NULL, NULL},
};
