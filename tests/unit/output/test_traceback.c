/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "output/traceback.h"

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

TEST_LIST = {
    {"entries_are_joined_by_line_breaks", entries_are_joined_by_line_breaks},
    {"colours_are_dropped", colours_are_dropped},
    {"shell_calls_are_written_as_the_user_wrote_them",
     shell_calls_are_written_as_the_user_wrote_them},
    {"missing_members_have_a_name_all_the_same", missing_members_have_a_name_all_the_same},
    {"a_traceback_over_the_limit_is_kept_as_far_as_it_fits",
     a_traceback_over_the_limit_is_kept_as_far_as_it_fits},
    {NULL, NULL},
};
