/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "fakes/fake_kernel.h"
#include "jupyter/pool.h"

#define OK_REPLY "{\"status\":\"ok\"}"

static int64_t now = 1000;
static struct loop *loop;
static struct kernel_config config;
static struct pool *pool;
static const struct kernel_events taker;
static bool ready;

static int64_t fake_clock(void)
{
    return now;
}

static void wait_ms(int64_t ms)
{
    now += ms;
    for (int i = 0; i < 3; i++)
        loop_turn(loop, 0);
}

static void begin(int size)
{
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    loop_set_clock(loop, fake_clock);
    config = (struct kernel_config){.loop = loop};
    pool = pool_open(&config, size);
}

static void end(void)
{
    pool = pool_close(pool);
    loop = loop_free(loop);
}

/* How many kernels have been started in a wait of `ms`. */
static int started_in(int64_t ms)
{
    int before = fake.starts;
    wait_ms(ms);
    return fake.starts - before;
}

static void a_spare_runs_an_empty_cell_before_it_is_ready(void)
{
    begin(1);
    TEST_CHECK(pool_take(pool, &taker, NULL, &ready) == NULL);
    TEST_CHECK(started_in(POOL_REFILL_MS - 1) == 0 && started_in(1) == 1);
    fake_kernel_ready();
    TEST_CHECK(strcmp(fake.code, "pass") == 0);
    fake_kernel_stream("x", true);
    fake_kernel_done(OK_REPLY);
    struct kernel *taken = pool_take(pool, &taker, NULL, &ready);
    TEST_CHECK(taken == fake.current && ready && !fake.finish_first);
    TEST_CHECK(started_in(POOL_REFILL_MS) == 1);
    (void)kernel_kill(taken);
    end();
    TEST_CHECK(fake.kills == 2);
}

static void one_that_is_not_ready_is_given_with_what_it_still_does(void)
{
    for (int warming = 0; warming < 2; warming++) {
        begin(1);
        wait_ms(POOL_REFILL_MS);
        if (warming)
            fake_kernel_ready();
        struct kernel *taken = pool_take(pool, &taker, NULL, &ready);
        TEST_CHECK(taken && !ready && fake.finish_first == (warming == 1));
        (void)kernel_kill(taken);
        end();
    }
}

static void the_best_spare_is_taken(void)
{
    begin(2);
    TEST_CHECK(started_in(POOL_REFILL_MS) == 2);
    struct kernel *second = fake.current;
    fake_kernel_ready();
    fake_kernel_done(OK_REPLY);
    TEST_CHECK(pool_take(pool, &taker, NULL, &ready) == second && ready);
    (void)kernel_kill(second);
    end();
}

static void one_that_dies_is_replaced_later_each_time(void)
{
    for (int in_its_first_cell = 0; in_its_first_cell < 2; in_its_first_cell++) {
        begin(1);
        int64_t delay = POOL_REFILL_MS;
        for (int i = 0; i < 12; i++) {
            TEST_CHECK_(started_in(delay - 1) == 0 && started_in(1) == 1, "%d ms", (int)delay);
            if (in_its_first_cell)
                fake_kernel_ready();
            fake_kernel_dies("it died", "");
            delay = delay * 2 < 60000 ? delay * 2 : 60000;
        }
        wait_ms(delay);
        fake_kernel_ready();
        fake_kernel_done(OK_REPLY); /* this one is well */
        fake_kernel_dies("it died", "");
        TEST_CHECK(started_in(2 * POOL_REFILL_MS) == 1);
        end();
    }
}

static void a_start_that_fails_is_tried_later_each_time(void)
{
    begin(3);
    fake.fail_start = true;
    TEST_CHECK(started_in(POOL_REFILL_MS) == 3);
    TEST_CHECK(started_in(2 * POOL_REFILL_MS - 1) == 0 && started_in(1) == 3);
    TEST_CHECK(started_in(4 * POOL_REFILL_MS - 1) == 0);
    fake.fail_start = false;
    TEST_CHECK(started_in(1) == 3);
    end();
}

static void one_that_is_stopped_is_resumed(void)
{
    begin(1);
    wait_ms(POOL_REFILL_MS);
    fake_kernel_heartbeat(true);
    TEST_CHECK(fake.resumes == 0);
    fake_kernel_heartbeat(false);
    TEST_CHECK(fake.resumes == 1);
    end();
}

static void a_pool_of_none_starts_none(void)
{
    begin(0);
    TEST_CHECK(started_in(100000) == 0 && pool_take(pool, &taker, NULL, &ready) == NULL);
    TEST_CHECK(started_in(100000) == 0);
    end();
}

TEST_LIST = {
    {"a spare runs an empty cell before it is ready",
     a_spare_runs_an_empty_cell_before_it_is_ready},
    {"one that is not ready is given with what it still does",
     one_that_is_not_ready_is_given_with_what_it_still_does},
    {"the best spare is taken", the_best_spare_is_taken},
    {"one that dies is replaced, later each time", one_that_dies_is_replaced_later_each_time},
    {"a start that fails is tried later each time", a_start_that_fails_is_tried_later_each_time},
    {"one that is stopped is resumed", one_that_is_stopped_is_resumed},
    {"a pool of none starts none", a_pool_of_none_starts_none},
    {NULL, NULL},
};
