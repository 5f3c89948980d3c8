/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/clock.h"

static void a_time_is_written_as_iso_8601(void)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {1785232800123, "2026-07-28T10:00:00.123Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {-1000, "1969-12-31T23:59:59.000Z"},
        {1785232800999, "2026-07-28T10:00:00.999Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
        {253402300800000, "9999-12-31T23:59:59.999Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
        {-62135596800000, "0001-01-01T00:00:00.000Z"},
        {-62135596800001, "0001-01-01T00:00:00.000Z"},
        {INT64_MIN, "0001-01-01T00:00:00.000Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[CLOCK_ISO_MAX];
        TEST_CHECK(strcmp(clock_iso(cases[i].ms, text), cases[i].text) == 0);
        TEST_MSG("%s, wanted %s", text, cases[i].text);
    }
}

static void a_time_has_as_many_digits_as_are_wanted(void)
{
    static const struct {
        struct timespec t;
        int digits;
        const char *text;
    } cases[] = {
        {{0, 999999999}, 3, "1970-01-01T00:00:00.999Z"}, /* the next second has not begun */
        {{0, 999999999}, 6, "1970-01-01T00:00:00.999999Z"},
        {{0, 999999999}, 9, "1970-01-01T00:00:00.999999999Z"},
        {{-1, 1}, 9, "1969-12-31T23:59:59.000000001Z"},
        {{951782400, 0}, 6, "2000-02-29T00:00:00.000000Z"},
        {{253402300799, 1}, 9, "9999-12-31T23:59:59.000000001Z"},
        {{253402300800, 1}, 9, "9999-12-31T23:59:59.999999999Z"},
        {{-62135596801, 5}, 9, "0001-01-01T00:00:00.000000000Z"},
        {{INT64_MAX, 0}, 9, "9999-12-31T23:59:59.999999999Z"},
        {{INT64_MIN, 0}, 9, "0001-01-01T00:00:00.000000000Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[CLOCK_ISO_MAX];
        const char *got = clock_iso_of(&cases[i].t, cases[i].digits, text);
        TEST_CHECK(strcmp(got, cases[i].text) == 0);
        TEST_MSG("%s, wanted %s", got, cases[i].text);
    }
}

static void microseconds_become_a_time(void)
{
    static const int64_t cases[] = {0,  1,        999999,  1000000, 1795248005000042,
                                    -1, -1000000, -1000001};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct timespec t = clock_timespec_of(cases[i]);
        TEST_CHECK(t.tv_nsec >= 0 && t.tv_nsec < 1000000000 && t.tv_nsec % 1000 == 0);
        TEST_CHECK((int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 == cases[i]);
    }
}

TEST_LIST = {
    {"a_time_has_as_many_digits_as_are_wanted", a_time_has_as_many_digits_as_are_wanted},
    {"microseconds_become_a_time", microseconds_become_a_time},
    {"a_time_is_written_as_iso_8601", a_time_is_written_as_iso_8601},
    {NULL, NULL},
};
