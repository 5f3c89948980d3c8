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
        {253402300799999, "9999-12-31T23:59:59.999Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[CLOCK_ISO_MAX];
        TEST_CHECK(strcmp(clock_iso(cases[i].ms, text), cases[i].text) == 0);
        TEST_MSG("%s, wanted %s", text, cases[i].text);
    }
}

TEST_LIST = {
    {"a_time_is_written_as_iso_8601", a_time_is_written_as_iso_8601},
    {NULL, NULL},
};
