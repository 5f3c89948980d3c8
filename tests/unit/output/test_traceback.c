/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "output/traceback.h"

static char workspace[64];

static void make_workspace(void)
{
    (void)snprintf(workspace, sizeof workspace, "/tmp/ipybox-test-XXXXXX");
    TEST_ASSERT(mkdtemp(workspace) != NULL);
}

static void remove_workspace(void)
{
    drop_str char *outputs = xasprintf("%s/outputs", workspace);
    TEST_CHECK(rmdir(outputs) == 0 && rmdir(workspace) == 0);
}

static void check(const char *entries, const char *expected)
{
    drop_str char *text = xasprintf("{\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":%s}", entries);
    drop_json struct json *content = json_parse(text, strlen(text), JSON_REPAIR, NULL);
    TEST_ASSERT(content != NULL);
    struct cell_failure f;
    failure_init(&f, 1000);
    failure_set(&f, content);
    TEST_CHECK(strcmp(buf_text(&f.traceback), expected) == 0);
    TEST_MSG("got      %s", buf_text(&f.traceback));
    TEST_MSG("expected %s", expected);
    failure_done(&f);
}

static void entries_are_joined_by_line_breaks(void)
{
    check("[\"a\",\"b\",\"c\"]", "a\nb\nc");
    check("[]", "");
    check("[\"\",1,\"x\"]", "\n\nx");
}

static void colours_are_dropped(void)
{
    check("[\"\\u001b[31mred\\u001b[39;49;00m \\u001b[0;1mbold\"]", "red bold");
    check("[\"\\u001b\"]", "\033");
    check("[\"\\u001b[31\"]", "");
}

static void shell_calls_are_written_as_the_user_wrote_them(void)
{
    check("[\"1 get_ipython().system('ls -l')\"]", "1 !ls -l");
    check("[\"x = get_ipython().getoutput(\\\"pwd\\\")\"]", "x = !pwd");
    check("[\"get_ipython().system('a'); get_ipython().system('b')\"]", "!a; !b");
    check("[\"get_ipython().run_cell_magic('bash', '', 'echo (1)\\\\n')\"]", "%%bash\necho (1)\\n");
    check("[\"get_ipython().system(command)\"]", "get_ipython().system(command)");
    check("[\"get_ipython().system('open\"]", "get_ipython().system('open");
    check("[\"get_ipython().run_cell_magic('b\"]", "get_ipython().run_cell_magic('b");
}

static void missing_members_have_a_name_all_the_same(void)
{
    struct cell_failure f;
    failure_init(&f, 100);
    failure_set(&f, NULL);
    TEST_CHECK(strcmp(f.ename, "Unknown Error") == 0 && strcmp(f.evalue, "") == 0);
    failure_done(&f);
}

static void a_traceback_over_the_limit_is_kept_as_far_as_it_fits(void)
{
    struct cell_failure f;
    failure_init(&f, 5);
    char text[] = "{\"traceback\":[\"0123456789\",\"abc\"]}";
    drop_json struct json *content = json_parse(text, strlen(text), JSON_REPAIR, NULL);
    failure_set(&f, content);
    TEST_CHECK(strcmp(buf_text(&f.traceback), "01234") == 0);
    failure_done(&f);
}

static void set(struct cell_failure *f, const char *evalue, const char *entry)
{
    drop_str char *text = xasprintf(
        "{\"ename\":\"ValueError\",\"evalue\":\"%s\",\"traceback\":[\"%s\"]}", evalue, entry);
    drop_json struct json *content = json_parse(text, strlen(text), JSON_REPAIR, NULL);
    TEST_ASSERT(content != NULL);
    failure_init(f, 1 << 20);
    failure_set(f, content);
}

static void remove_file(const struct cell_failure *f, const char *expected_end)
{
    char bytes[20000] = "";
    FILE *file = f->file ? fopen(f->file, "re") : NULL;
    TEST_ASSERT(file != NULL);
    size_t n = fread(bytes, 1, sizeof bytes - 1, file);
    (void)fclose(file);
    TEST_CHECK(n >= strlen(expected_end) &&
               strcmp(bytes + n - strlen(expected_end), expected_end) == 0);
    (void)unlink(f->file);
}

static void an_error_that_fits_stays_as_it_is(void)
{
    struct cell_failure f;
    set(&f, "v", "line 1");
    failure_fit(&f, NULL, "/proc/nowhere", 100);
    TEST_CHECK(strcmp(f.evalue, "v") == 0 && strcmp(buf_text(&f.traceback), "line 1") == 0);
    TEST_CHECK(!f.file);
    failure_done(&f);
}

static void of_a_long_error_the_ends_are_kept_and_a_file_has_all(void)
{
    struct cell_failure f;
    char value[5001];
    memset(value, 'm', sizeof value);
    value[5000] = '\0';
    make_workspace();
    drop_str char *entry = xasprintf("first line\\nValueError: %s the end", value);
    set(&f, value, entry);
    failure_fit(&f, NULL, workspace, 1000);
    TEST_CHECK(failure_chars(&f) <= 1000);
    const char *text = buf_text(&f.traceback);
    TEST_CHECK(strncmp(text, "first line\nValueError: ", 23) == 0);
    TEST_CHECK(strcmp(text + strlen(text) - 10, "mm the end") == 0);
    TEST_CHECK(strstr(f.evalue, "characters are left out here") != NULL);
    remove_file(&f, "mm the end");
    failure_done(&f);
    set(&f, value, "x");
    failure_fit(&f, NULL, "/proc/nowhere", 1000); /* no file, and no error about it */
    TEST_CHECK(failure_chars(&f) <= 1000 && !f.file);
    failure_done(&f);
    remove_workspace();
}

static void what_the_kernel_left_out_is_in_the_file(void)
{
    struct cell_failure f;
    make_workspace();
    set(&f, "v", "short");
    failure_fit(&f, "every \033[31mframe\033[0m", workspace, 1000);
    TEST_CHECK(strcmp(buf_text(&f.traceback), "short") == 0);
    remove_file(&f, "every frame");
    failure_done(&f);
    remove_workspace();
}

TEST_LIST = {
    {"entries_are_joined_by_line_breaks", entries_are_joined_by_line_breaks},
    {"colours_are_dropped", colours_are_dropped},
    {"shell_calls_are_written_as_the_user_wrote_them",
     shell_calls_are_written_as_the_user_wrote_them},
    {"missing_members_have_a_name_all_the_same", missing_members_have_a_name_all_the_same},
    {"a_traceback_over_the_limit_is_kept_as_far_as_it_fits",
     a_traceback_over_the_limit_is_kept_as_far_as_it_fits},
    {"an_error_that_fits_stays_as_it_is", an_error_that_fits_stays_as_it_is},
    {"of_a_long_error_the_ends_are_kept_and_a_file_has_all",
     of_a_long_error_the_ends_are_kept_and_a_file_has_all},
    {"what_the_kernel_left_out_is_in_the_file", what_the_kernel_left_out_is_in_the_file},
    {NULL, NULL},
};
