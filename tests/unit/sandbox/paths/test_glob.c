/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sandbox/paths/glob.h"

struct glob_case {
    const char *pattern, *path;
    bool whole, covers;
};

static void a_pattern_matches_names_and_covers_what_is_below(void)
{
    static const struct glob_case cases[] = {
        {"/a/*", "/a/b", true, true},
        {"/a/*", "/a/.b", true, true},
        {"/a/*", "/a/b/c", false, true},
        {"/a/*", "/a", false, false},
        {"/a/*.c", "/a/b.c", true, true},
        {"/a/*.c", "/a/b.cc", false, false},
        {"/a/*.c", "/a/b.c/d", false, true},
        {"/a/x*y*z", "/a/xyyzz", true, true},
        {"/a/x*y*z", "/a/xy/z", false, false},
        {"/a/?", "/a/b", true, true},
        {"/a/?", "/a/\xC3\xBC", true, true},
        {"/a/?", "/a/", false, false},
        {"/a?b", "/a/b", false, false},
        {"/a/[b-d]x", "/a/cx", true, true},
        {"/a/[b-d]x", "/a/ex", false, false},
        {"/a/[!b-d]x", "/a/ex", true, true},
        {"/a/[^b-d]x", "/a/cx", false, false},
        {"/a[!b]c", "/a/c", false, false},
        {"/a/[]x]", "/a/]", true, true},
        {"/a/[-x]", "/a/-", true, true},
        {"/a/[x", "/a/[x", true, true},
        {"/a/[x", "/a/x", false, false},
        {"/a/**/b", "/a/b", true, true},
        {"/a/**/b", "/a/c/d/b", true, true},
        {"/a/**/b", "/a/c/d/b/e", false, true},
        {"/a/**/b", "/a/cb", false, false},
        {"/a/**/b", "/ab", false, false},
        {"/a/**/b/**/c", "/a/b/b/x/c", true, true},
        {"/a/**/b/c", "/a/b/b/c", true, true},
        {"/a/**/*.c", "/a/x/y.c", true, true},
        {"/**/x", "/x", true, true},
        {"/a/b**c", "/a/bx/yc", true, true},
        {"/a/b**", "/a/bx/yc", true, true},
        {"/a/***/c", "/a/x/y/c", true, true},
        {"/a/**", "/a/x", true, true},
        {"/a/**", "/a", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct glob_case *c = &cases[i];
        TEST_CHECK_(glob_matches(c->pattern, c->path, strlen(c->path)) == c->whole, "%s matches %s",
                    c->pattern, c->path);
        TEST_CHECK_(glob_covers(c->pattern, c->path) == c->covers, "%s covers %s", c->pattern,
                    c->path);
    }
}

struct below_case {
    const char *pattern, *dir;
    bool below;
};

static void a_pattern_reaches_below_the_directories_on_its_way(void)
{
    static const struct below_case cases[] = {
        {"/a/*/c", "/", true},         {"/a/*/c", "/a", true},      {"/a/*/c", "/a/x", true},
        {"/a/*/c", "/a/x/c", false},   {"/a/*/c", "/a/x/y", false}, {"/a/*/c", "/b", false},
        {"/a/*/c", "/a/x/c/d", false}, {"/a/**/c", "/a", true},     {"/a/**/c", "/a/x/y/z", true},
        {"/a/**/c", "/b", false},      {"/a/b**c", "/a/x", true},   {"/a/[b]/c", "/a/b", true},
        {"/a/[b]/c", "/a/c", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        TEST_CHECK_(glob_reaches_below(cases[i].pattern, cases[i].dir) == cases[i].below,
                    "%s below %s", cases[i].pattern, cases[i].dir);
}

static void what_stands_before_a_pattern_is_whole_components(void)
{
    TEST_CHECK(glob_fixed("/a/b*c") == 3);
    TEST_CHECK(glob_fixed("/*") == 1);
    TEST_CHECK(glob_fixed("/a/b/") == 5);
    TEST_CHECK(glob_is("a?") && glob_is("]") && !glob_is("a/b"));
}

/* Backtracking over every star would take longer than anyone waits. */
static void many_stars_and_a_hostile_path_end_soon(void)
{
    char path[4000] = "/";
    for (size_t i = 1; i < sizeof path - 1; i++)
        path[i] = i % 200 == 0 ? '/' : 'a';
    int64_t start = clock_of_thread_ns();
    TEST_CHECK(!glob_covers("/**/a*a*a*a*a*a*a*b/**/a*a*a*b", path));
    TEST_CHECK(!glob_covers("/a**a**a**a**a**a**b", path));
    TEST_CHECK(clock_of_thread_ns() - start < 10000000000); /* of the processor */
}

#define T(name) {#name, name}

TEST_LIST = {
    T(a_pattern_matches_names_and_covers_what_is_below),
    T(a_pattern_reaches_below_the_directories_on_its_way),
    T(what_stands_before_a_pattern_is_whole_components),
    T(many_stars_and_a_hostile_path_end_soon),
    {NULL, NULL},
};
