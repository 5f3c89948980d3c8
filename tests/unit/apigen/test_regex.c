/* SPDX-License-Identifier: Apache-2.0 */
#include "apigen/model/regex.h"

#include <stdio.h>
#include <string.h>

#include "acutest.h"

static void check(enum regex_kind kind, const char *const *patterns)
{
    for (; *patterns; patterns++)
        TEST_CHECK_(regex_kind(*patterns) == kind, "%s is %d", *patterns, regex_kind(*patterns));
}

static void what_both_engines_take_is_passed_on(void)
{
    static const char *const patterns[] = {"",
                                           "^[a-z0-9_-]+$",
                                           "^\\d{4}-\\d{2}-\\d{2}$",
                                           "a|b|",
                                           "(a|b)*c?",
                                           "(?:x){2,3}?",
                                           "[^/]+/[^/]+",
                                           "\\u00e9\\x41",
                                           "^\\/api\\/",
                                           "[\\w.-]+@[\\w-]+",
                                           "\\bword\\B",
                                           ".{1,}",
                                           "gr\xc3\xb6\xc3\x9f"
                                           "er",
                                           "(?P<n>x)",
                                           "a\nb",
                                           "[--]",
                                           "[a-]",
                                           "[-a]",
                                           "[.*+?^$]",
                                           NULL};
    check(REGEX_PLAIN, patterns);
}

static void what_only_rust_s_engine_takes_is_told_apart(void)
{
    static const char *const patterns[] = {"^(?<year>\\d+)-(?<day>\\d+)$", "^\\p{L}+\\P{Nd}$",
                                           "^a++$", "[\\p{Greek}x]", NULL};
    check(REGEX_RUST, patterns);
}

static void look_around_and_references_are_python_s(void)
{
    static const char *const patterns[] = {"^(?!-)[a-z-]+$", "(?=.*\\d).+", "(a)\\1",
                                           "(?<=x)y",        "(?<!ab)c",    NULL};
    check(REGEX_PYTHON, patterns);
}

static void what_no_engine_is_known_to_take_is_left_out(void)
{
    static const char *const patterns[] = {"[",        "]",           "(",
                                           ")",        "*",           "a**",
                                           "a{2,1}",   "a{1001}",     "a{,3}",
                                           "{",        "}",           "[]",
                                           "[]]",      "[^]",         "[z-a]",
                                           "[a-\\d]",  "[[:alpha:]]", "[a&&b]",
                                           "\\",       "\\cA",        "\\z",
                                           "\\u12",    "\\ud800",     "\\xg0",
                                           "(?i)x",    "(?#c)",       "(?<n>a)(?<n>b)",
                                           "(?<1>a)",  "(?<>a)",      "(?<n",
                                           "\\1(a)",   "(a)\\2",      "\\p{Foo}",
                                           "\\p",      "\\p{",        "\\pL",
                                           "(?<=a+)b", "(?<=a|b)c",   "^*",
                                           "(?=a)*",   "(?=a)\\p{L}", "a\xc0\x80",
                                           NULL};
    check(REGEX_NONE, patterns);
}

static void size_and_depth_are_limited(void)
{
    char deep[200], long_one[5001];
    memset(deep, '(', 100);
    memset(deep + 100, ')', 99);
    deep[199] = '\0';
    TEST_CHECK(regex_kind(deep) == REGEX_NONE);
    memset(long_one, 'a', 5000);
    long_one[5000] = '\0';
    TEST_CHECK(regex_kind(long_one) == REGEX_NONE);
    TEST_CHECK(regex_kind("((a{100}){100}){100}") == REGEX_NONE);
    TEST_CHECK(regex_kind("(a{20}){20}") == REGEX_PLAIN);
}

TEST_LIST = {
    {"what both engines take is passed on", what_both_engines_take_is_passed_on},
    {"what only Rust's engine takes is told apart", what_only_rust_s_engine_takes_is_told_apart},
    {"look-around and references are Python's", look_around_and_references_are_python_s},
    {"what no engine is known to take is left out", what_no_engine_is_known_to_take_is_left_out},
    {"size and depth are limited", size_and_depth_are_limited},
    {NULL, NULL},
};
