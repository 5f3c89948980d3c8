/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "entrypoint/server/server_capacity.h"

#define MIB ((uint64_t)1 << 20)

static const struct capacity none = {UINT64_MAX, UINT64_MAX, UINT64_MAX};

static void without_limits_there_is_room_for_all(void)
{
    char text[CAPACITY_TEXT];
    TEST_CHECK(capacity_keeps(&none, 1000, text));
}

static void the_limit_that_is_met_first_is_named_with_its_remedy(void)
{
    char text[CAPACITY_TEXT];
    struct capacity c = {.files = 4096, .tasks = 32768, .memory = UINT64_MAX};
    TEST_CHECK(!capacity_keeps(&c, 1000, text));
    TEST_CHECK(strcmp(text, "--max-sessions 1000: there is room for some 285: a session takes 14 "
                            "open files, and 4096 are there (RLIMIT_NOFILE, docker run --ulimit "
                            "nofile)") == 0);
    TEST_MSG("%s", text);
    c = (struct capacity){.files = 4096, .tasks = 1024, .memory = 8192 * MIB};
    TEST_CHECK(!capacity_keeps(&c, 100, text) && strstr(text, "room for some 89: ") &&
               strstr(text, "processes and threads, and 1024 are there (pids.max"));
    c = (struct capacity){.files = UINT64_MAX, .tasks = UINT64_MAX, .memory = 512 * MIB};
    TEST_CHECK(!capacity_keeps(&c, 100, text) &&
               strstr(text, "room for some 48: a session takes 9 MiB of memory, and 512 are"));
    TEST_MSG("%s", text);
}

static void what_is_just_enough_is_kept(void)
{
    char text[CAPACITY_TEXT];
    struct capacity c = none;
    c.files = CAPACITY_BASE_FILES + 1000 * CAPACITY_FILES;
    TEST_CHECK(capacity_keeps(&c, 1000, text) && !capacity_keeps(&c, 1001, text));
    c.files = CAPACITY_BASE_FILES - 1;
    TEST_CHECK(!capacity_keeps(&c, 1, text) && strstr(text, "room for some 0: "));
}

static void this_machine_has_some_of_each(void)
{
    struct capacity c = {0};
    capacity_read("", &c);
    TEST_CHECK(c.files >= 64 && c.tasks >= 64 && c.memory >= 64 * MIB);
}

TEST_LIST = {
    {"without_limits_there_is_room_for_all", without_limits_there_is_room_for_all},
    {"the_limit_that_is_met_first_is_named_with_its_remedy",
     the_limit_that_is_met_first_is_named_with_its_remedy},
    {"what_is_just_enough_is_kept", what_is_just_enough_is_kept},
    {"this_machine_has_some_of_each", this_machine_has_some_of_each},
    {NULL, NULL},
};
