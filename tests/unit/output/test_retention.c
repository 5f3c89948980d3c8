/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "output/retention.h"

static char workspace[64];
static struct output_file file;
static struct output output;

/* A file of ten bytes that is so many seconds old. */
static void put(const char *name, long age_s)
{
    drop_str char *path = xasprintf("%s/%s", workspace, name);
    drop_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const struct timespec times[2] = {{.tv_sec = time(NULL) - age_s},
                                      {.tv_sec = time(NULL) - age_s}};
    TEST_ASSERT(fd >= 0 && fd_write(fd, "0123456789", 10) == 0);
    TEST_CHECK(futimens(fd, times) == 0);
}

static bool is_there(const char *name)
{
    struct stat st;
    drop_str char *path = xasprintf("%s/%s", workspace, name);
    return lstat(path, &st) == 0;
}

static void open_workspace(void)
{
    (void)snprintf(workspace, sizeof workspace, "/tmp/ipybox-test-XXXXXX");
    TEST_ASSERT(mkdtemp(workspace) != NULL);
    drop_str char *images = xasprintf("%s/images", workspace);
    drop_str char *outputs = xasprintf("%s/outputs", workspace);
    TEST_ASSERT(mkdir(images, 0700) == 0 && mkdir(outputs, 0700) == 0);
    put("images/00000001.png", 400);
    put("outputs/00000002.txt", 300);
    put("images/00000003.png", 200);
    put("images/mine.png", 9000);
    put("outputs/0000000.txt", 9000);
    file = (struct output_file){.path = xasprintf("%s/images/00000004.png", workspace)};
    put("images/00000004.png", 500); /* whatever its time, it is the cell's */
    output = (struct output){.workspace = workspace, .files = &file, .file_count = 1};
}

static void close_workspace(void)
{
    drop_str char *command = xasprintf("rm -rf %s", workspace);
    TEST_CHECK(system(command) == 0);
    xfree(file.path);
}

static void check_apply(const struct retention *r, size_t files)
{
    TEST_CHECK(retention_is_due(r, &output));
    struct retention_result gone = retention_apply(r, &output);
    TEST_CHECK_(gone.files == files && gone.bytes == 10 * files, "%zu files", gone.files);
    TEST_CHECK(is_there("images/mine.png") && is_there("outputs/0000000.txt"));
    TEST_CHECK(is_there("images/00000004.png"));
}

static void the_oldest_go_until_there_are_few_enough(void)
{
    open_workspace();
    check_apply(&(struct retention){.files = 2}, 2);
    TEST_CHECK(!is_there("images/00000001.png") && !is_there("outputs/00000002.txt"));
    TEST_CHECK(is_there("images/00000003.png"));
    check_apply(&(struct retention){.files = 2}, 0);
    close_workspace();
}

static void the_oldest_go_until_they_are_small_enough(void)
{
    open_workspace();
    check_apply(&(struct retention){.bytes = 35}, 1);
    TEST_CHECK(!is_there("images/00000001.png") && is_there("outputs/00000002.txt"));
    close_workspace();
}

static void what_is_too_old_goes(void)
{
    open_workspace();
    check_apply(&(struct retention){.age_s = 250}, 2);
    TEST_CHECK(is_there("images/00000003.png"));
    close_workspace();
}

static void nothing_is_deleted_through_a_link(void)
{
    open_workspace();
    drop_str char *outputs = xasprintf("%s/outputs", workspace);
    drop_str char *other = xasprintf("%s/other", workspace);
    TEST_ASSERT(rename(outputs, other) == 0 && symlink("other", outputs) == 0);
    put("other/0000000.txt", 1);
    TEST_CHECK(retention_apply(&(struct retention){.files = 1}, &output).files == 2);
    TEST_CHECK(is_there("other/00000002.txt"));
    close_workspace();
}

static void without_a_limit_or_a_new_file_there_is_nothing_to_do(void)
{
    open_workspace();
    TEST_CHECK(!retention_is_due(&(struct retention){0}, &output));
    output.file_count = 0;
    TEST_CHECK(!retention_is_due(&(struct retention){.files = 1}, &output));
    close_workspace();
}

TEST_LIST = {
    {"the_oldest_go_until_there_are_few_enough", the_oldest_go_until_there_are_few_enough},
    {"the_oldest_go_until_they_are_small_enough", the_oldest_go_until_they_are_small_enough},
    {"what_is_too_old_goes", what_is_too_old_goes},
    {"nothing_is_deleted_through_a_link", nothing_is_deleted_through_a_link},
    {"without_a_limit_or_a_new_file_there_is_nothing_to_do",
     without_a_limit_or_a_new_file_there_is_nothing_to_do},
    {NULL, NULL},
};
