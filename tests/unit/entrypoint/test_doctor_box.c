/* SPDX-License-Identifier: Apache-2.0
 *
 * Where somebody who is not root could put a file that root would take for a program. */
#include <acutest.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "entrypoint/diagnose/doctor_box.h"

static void folders_of_the_system_are_roots(void)
{
    static const char *const closed[] = {"/", "/usr/bin", "/usr/bin/env", "/usr/not/there"};
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        TEST_CHECK_(!doctor_can_plant(closed[i]), "%s", closed[i]);
}

static void what_is_relative_or_below_an_open_folder_can_be_planted(void)
{
    static const char *const open[] = {"", ".", "bin", "/tmp", "/tmp/not/there/yet"};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        TEST_CHECK_(doctor_can_plant(open[i]), "%s", open[i]);
}

static void a_closed_folder_below_an_open_one_is_open(void)
{
    char dir[] = "/tmp/ipybox-test-XXXXXX";
    TEST_ASSERT(mkdtemp(dir) != NULL);
    drop_str char *below = xasprintf("%s/bin", dir);
    TEST_ASSERT(mkdir(below, 0755) == 0);
    TEST_CHECK(doctor_can_plant(below));
    (void)rmdir(below);
    (void)rmdir(dir);
}

#define TEST(name) {#name, name}

TEST_LIST = {
    TEST(folders_of_the_system_are_roots),
    TEST(what_is_relative_or_below_an_open_folder_can_be_planted),
    TEST(a_closed_folder_below_an_open_one_is_open),
    {NULL, NULL},
};
