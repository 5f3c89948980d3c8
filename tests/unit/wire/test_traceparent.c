/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "wire/traceparent.h"

#define ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"
#define GOOD "00-" ID "-" SPAN "-01"

static void a_good_one_is_read_and_written_with_another_span(void)
{
    struct trace trace = {0};
    char text[TRACEPARENT_LEN + 1];
    TEST_CHECK(!trace_is_set(&trace));
    TEST_ASSERT(trace_parse(GOOD, "rojo=00f067aa0ba902b7", &trace) == 0);
    TEST_CHECK(trace_is_set(&trace));
    TEST_CHECK(strcmp(trace.id, ID) == 0 && strcmp(trace.span, SPAN) == 0 && trace.flags == 1);
    TEST_CHECK(strcmp(trace.state, "rojo=00f067aa0ba902b7") == 0);
    trace_write(&trace, "b7ad6b7169203331", text);
    TEST_CHECK_(strcmp(text, "00-" ID "-b7ad6b7169203331-01") == 0, "%s", text);
}

static void what_is_not_in_form_is_refused_and_leaves_nothing(void)
{
    static const char *const bad[] = {
        NULL,
        "",
        "00",
        "00-" ID "-" SPAN,
        "00-" ID "-" SPAN "-0",
        "00-" ID "-" SPAN "-01-",
        "00-" ID "-" SPAN "-01-more",
        "00-" ID "-" SPAN "-011",
        "01-" ID "-" SPAN "-01more",
        "ff-" ID "-" SPAN "-01",
        "0g-" ID "-" SPAN "-01",
        "00-00000000000000000000000000000000-" SPAN "-01",
        "00-" ID "-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01",
        "00_" ID "-" SPAN "-01",
        "00-" ID "_" SPAN "-01",
        "00-" ID "-" SPAN "_01",
        "00-" ID "-" SPAN "-0\n",
        " 00-" ID "-" SPAN "-01",
        "00-" ID "-" SPAN "-01 ",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct trace trace = {0};
        TEST_CASE_("%zu: %s", i, bad[i] ? bad[i] : "nothing");
        TEST_CHECK(trace_parse(bad[i], "a=b", &trace) == -EINVAL);
        TEST_CHECK(!trace_is_set(&trace) && trace.state[0] == '\0');
    }
}

static void a_later_version_is_read_as_far_as_it_is_known(void)
{
    static const char *const later[] = {"01-" ID "-" SPAN "-01", "cc-" ID "-" SPAN "-01-what-else"};
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        struct trace trace;
        char text[TRACEPARENT_LEN + 1];
        TEST_CASE(later[i]);
        TEST_ASSERT(trace_parse(later[i], NULL, &trace) == 0);
        trace_write(&trace, SPAN, text);
        TEST_CHECK_(strcmp(text, GOOD) == 0, "%s", text);
    }
}

static void only_known_flags_are_passed_on(void)
{
    static const struct {
        const char *flags;
        unsigned kept;
    } cases[] = {{"00", 0}, {"01", 1}, {"02", 2}, {"03", 3}, {"ff", 3}, {"fc", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace trace;
        char text[] = GOOD;
        memcpy(text + TRACEPARENT_LEN - 2, cases[i].flags, 2);
        TEST_CASE(cases[i].flags);
        TEST_ASSERT(trace_parse(text, NULL, &trace) == 0);
        TEST_CHECK(trace.flags == cases[i].kept);
    }
}

static void a_bad_tracestate_is_left_out_and_the_parent_stays(void)
{
    static char long_one[TRACESTATE_MAX + 2], many[200], value[300];
    memset(long_one, ' ', TRACESTATE_MAX + 1);
    for (int i = 0; i < 33; i++)
        strcat(many, i == 0 ? "a=b" : ",a=b");
    strcpy(value, "a=");
    memset(value + 2, 'v', 257);
    const struct {
        const char *state;
        bool kept;
    } cases[] = {
        {"a=b", true},
        {"a=b,c@d=e f , ,x_1-*/=~", true},
        {"\ta=b\t", true},
        {"", true},
        {"a", false},
        {"=b", false},
        {"a=", false},
        {"A=b", false},
        {"@a=b", false},
        {"a=b=c", false},
        {"a=b\r\nEvil: yes", false},
        {"a=\xC3\xA9", false},
        {long_one, false},
        {many, false},
        {value, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace trace = {0};
        TEST_CASE_("%zu: %.40s", i, cases[i].state);
        TEST_ASSERT(trace_parse(GOOD, cases[i].state, &trace) == 0);
        TEST_CHECK(strcmp(trace.state, cases[i].kept ? cases[i].state : "") == 0);
    }
}

TEST_LIST = {
    {"a good one is read, and written with another span",
     a_good_one_is_read_and_written_with_another_span},
    {"what is not in form is refused and leaves nothing",
     what_is_not_in_form_is_refused_and_leaves_nothing},
    {"a later version is read as far as it is known",
     a_later_version_is_read_as_far_as_it_is_known},
    {"only known flags are passed on", only_known_flags_are_passed_on},
    {"a bad tracestate is left out, and the parent stays",
     a_bad_tracestate_is_left_out_and_the_parent_stays},
    {NULL, NULL},
};
