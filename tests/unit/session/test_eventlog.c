/* SPDX-License-Identifier: Apache-2.0 */
#include "session/events/eventlog.h"

#include <stdio.h>
#include <string.h>

#include "unit/as_service.h"

static struct loop *loop;
static struct eventlog *log_;

static void start(size_t memory, const char *spill_dir, uint64_t spill)
{
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    log_ = eventlog_open(&(struct eventlog_config){
        .loop = loop, .memory_max = memory, .spill_dir = spill_dir, .spill_max = spill});
}

static void stop(void)
{
    log_ = eventlog_close(log_);
    loop = loop_free(loop);
}

static void add(const char *text)
{
    eventlog_add(
        log_, &(struct logged){.kind = LOGGED_STDOUT, .cell = 3, .data = text, .n = strlen(text)});
}

static void expect(uint64_t after, uint64_t number, const char *text)
{
    struct logged event;
    uint64_t missed;
    TEST_ASSERT(eventlog_next(log_, after, &event, &missed) == 0);
    TEST_CHECK_(event.number == number, "%d", (int)event.number);
    TEST_CHECK(missed == number - after - 1);
    TEST_CHECK_(event.n == strlen(text) && memcmp(event.data, text, event.n) == 0, "%.*s",
                (int)event.n, event.data);
}

static void events_are_numbered_and_read_from_any_number(void)
{
    struct logged event;
    uint64_t missed;
    start(1 << 20, NULL, 0);
    TEST_CHECK(eventlog_next(log_, 0, &event, &missed) == -EAGAIN);
    add("one");
    add("");
    eventlog_add(log_, &(struct logged){.kind = LOGGED_END, .late = true, .data = "{}", .n = 2});
    expect(0, 1, "one");
    expect(1, 2, "");
    expect(2, 3, "{}");
    expect(0, 1, "one");
    TEST_ASSERT(eventlog_next(log_, 2, &event, &missed) == 0);
    TEST_CHECK(event.kind == LOGGED_END && event.late && event.cell == 0 && event.time_ms > 0);
    TEST_CHECK(eventlog_next(log_, 3, &event, &missed) == -EAGAIN);
    TEST_CHECK(eventlog_last(log_) == 3);
    stop();
}

static void what_falls_out_of_memory_is_read_from_the_file(void)
{
    char text[64];
    start(4096, "/tmp", 1 << 20);
    for (int i = 1; i <= 1000; i++) {
        (void)snprintf(text, sizeof text, "event %d", i);
        add(text);
    }
    for (int i = 1; i <= 1000; i++) {
        (void)snprintf(text, sizeof text, "event %d", i);
        expect((uint64_t)i - 1, (uint64_t)i, text);
    }
    expect(499, 500, "event 500");
    expect(9, 10, "event 10");
    stop();
}

static void the_oldest_are_given_up_and_the_reader_is_told(void)
{
    char text[64];
    struct logged event;
    uint64_t missed;
    start(4096, "/tmp", 16384);
    for (int i = 1; i <= 2000; i++) {
        (void)snprintf(text, sizeof text, "event %d", i);
        add(text);
    }
    TEST_ASSERT(eventlog_next(log_, 0, &event, &missed) == 0);
    TEST_CHECK_(missed > 1000 && missed < 1990, "%d", (int)missed);
    uint64_t number = event.number;
    for (; number < 2000; number++) {
        TEST_ASSERT(eventlog_next(log_, number, &event, &missed) == 0);
        TEST_CHECK(missed == 0 && event.number == number + 1);
    }
    stop();
}

static void without_a_place_to_spill_memory_is_all(void)
{
    struct logged event;
    uint64_t missed;
    start(4096, "/nonexistent", 1 << 20);
    for (int i = 0; i < 1000; i++)
        add("x");
    TEST_ASSERT(eventlog_next(log_, 0, &event, &missed) == 0);
    TEST_CHECK(missed > 900);
    stop();
}

static void a_file_for_readers_begins_with_the_first_one(void)
{
    struct logged event;
    uint64_t missed;
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    log_ = eventlog_open(&(struct eventlog_config){.loop = loop,
                                                   .memory_max = 4096,
                                                   .spill_dir = "/tmp",
                                                   .spill_max = 1 << 20,
                                                   .spill_for_readers = true});
    for (int i = 0; i < 1000; i++)
        add("x");
    TEST_ASSERT(eventlog_next(log_, 0, &event, &missed) == 0); /* finds what memory has */
    TEST_CHECK(missed > 900);
    for (int i = 0; i < 1000; i++)
        add("x");
    TEST_ASSERT(eventlog_next(log_, 0, &event, &missed) == 0);
    TEST_CHECK(missed > 900 && missed < 1000);
    for (uint64_t number = event.number; number < 2000; number++) {
        TEST_ASSERT(eventlog_next(log_, number, &event, &missed) == 0);
        TEST_CHECK(missed == 0 && event.number == number + 1);
    }
    stop();
}

static void what_is_too_large_is_cut_or_says_so(void)
{
    static char large[3000], first[2048], rest[953];
    memset(large, 'x', sizeof large - 1);
    start(4096, NULL, 0);
    memset(first, 'x', sizeof first - 1);
    memset(rest, 'x', sizeof rest - 1);
    memcpy(large + sizeof first - 1, "\303\274", 2); /* is not cut in two */
    memcpy(rest, "\303\274", 2);
    add(large);
    expect(0, 1, first);
    expect(1, 2, rest);
    eventlog_add(log_,
                 &(struct logged){.kind = LOGGED_DISPLAY, .data = large, .n = sizeof large - 1});
    expect(2, 3, "{\"omitted\":2999}");
    stop();
}

static void count(void *ctx)
{
    ++*(int *)ctx;
}

static void watchers_are_told_once_in_a_turn(void)
{
    int a = 0, b = 0;
    struct eventlog_watcher first = {0}, second = {0};
    start(4096, NULL, 0);
    eventlog_watch(log_, &first, count, &a);
    eventlog_watch(log_, &second, count, &b);
    add("x");
    add("y");
    loop_turn(loop, 0);
    TEST_CHECK(a == 1 && b == 1);
    eventlog_unwatch(log_, &first);
    eventlog_unwatch(log_, &first);
    add("z");
    loop_turn(loop, 0);
    TEST_CHECK(a == 1 && b == 2);
    stop();
}

static void spill_as_service(const char *dir)
{
    char own[64], text[64];
    struct logged event;
    uint64_t missed = 1;
    make_of_service(dir, own, sizeof own);
    HOLDS(loop_new(&loop, NULL) == 0);
    log_ = eventlog_open(&(struct eventlog_config){
        .loop = loop, .memory_max = 4096, .spill_dir = own, .spill_max = 1 << 20});
    for (int i = 1; i <= 1000; i++) {
        (void)snprintf(text, sizeof text, "event %d", i);
        add(text);
    }
    HOLDS(eventlog_next(log_, 0, &event, &missed) == 0 && event.number == 1 && missed == 0);
    stop();
    remove_of_service(own);
}

static void a_server_spills_where_its_own_uid_may_write(void)
{
    as_service(spill_as_service);
}

static void numbers_of_another_life_are_not_known(void)
{
    uint64_t last[2];
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        struct logged event;
        uint64_t missed = 7;
        log_ = eventlog_open(
            &(struct eventlog_config){.loop = loop, .memory_max = 4096, .apart = true});
        TEST_CHECK(eventlog_last(log_) == 0 && eventlog_knows(log_, 0));
        TEST_CHECK(eventlog_next(log_, 0, &event, &missed) == -EAGAIN);
        add("a");
        add("b");
        last[i] = eventlog_last(log_);
        TEST_CHECK(last[i] % EVENTLOG_LIFE == 2 && last[i] < (UINT64_C(1) << 53));
        TEST_CHECK(eventlog_knows(log_, last[i]) && eventlog_knows(log_, last[i] - 2));
        TEST_CHECK(!eventlog_knows(log_, last[i] + 1) && !eventlog_knows(log_, 1));
        TEST_CHECK(eventlog_next(log_, 0, &event, &missed) == 0);
        TEST_CHECK(event.number == last[i] - 1 && missed == 0);
        if (i == 1)
            TEST_CHECK(!eventlog_knows(log_, last[0])); /* but once in 67 million times */
        log_ = eventlog_close(log_);
    }
    loop = loop_free(loop);
}

TEST_LIST = {
    {"numbers_of_another_life_are_not_known", numbers_of_another_life_are_not_known},
    {"events_are_numbered_and_read_from_any_number", events_are_numbered_and_read_from_any_number},
    {"what_falls_out_of_memory_is_read_from_the_file",
     what_falls_out_of_memory_is_read_from_the_file},
    {"the_oldest_are_given_up_and_the_reader_is_told",
     the_oldest_are_given_up_and_the_reader_is_told},
    {"without_a_place_to_spill_memory_is_all", without_a_place_to_spill_memory_is_all},
    {"a_file_for_readers_begins_with_the_first_one", a_file_for_readers_begins_with_the_first_one},
    {"what_is_too_large_is_cut_or_says_so", what_is_too_large_is_cut_or_says_so},
    {"watchers_are_told_once_in_a_turn", watchers_are_told_once_in_a_turn},
    {"a_server_spills_where_its_own_uid_may_write", a_server_spills_where_its_own_uid_may_write},
    {NULL, NULL},
};
