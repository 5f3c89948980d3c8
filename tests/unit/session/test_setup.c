/* SPDX-License-Identifier: Apache-2.0
 *
 * What the code does to a kernel is tested with kernels, in tests/container/http/90-http.bats. */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "session/kernels/setup.h"

#define UPDATE "__import__('os').environ.update("
#define ZONE "__import__('time').tzset()\n"
#define PLACES                                                                                     \
    "__import__('sys').path[:0] = [path for path in "                                              \
    "__import__('os').environ['PYTHONPATH'].split(__import__('os').pathsep) if path]\n"

static void check(const char *env, const char *prefix, const char *cwd, const char *expected)
{
    struct err e = ERR_NONE;
    drop_json struct json *given = env ? json_parse_copy(env, strlen(env), JSON_STRICT, &e) : NULL;
    char *code = NULL;
    TEST_CASE(env ? env : "none");
    TEST_ASSERT(given || !env);
    TEST_ASSERT(setup_code(given, prefix, cwd, &code, &e) == 0);
    TEST_CHECK(strcmp(code, expected) == 0);
    TEST_MSG("got %s", code);
    xfree(code);
}

static void the_variables_are_those_of_the_prefix_that_are_text(void)
{
    check(NULL, "", NULL, UPDATE "{})\n");
    check("{\"A\":\"b\",\"N\":5}", "", NULL, UPDATE "{\"A\":\"b\"})\n");
    check("{\"A\":\"b\",\"KERNEL_C\":\"d\"}", "KERNEL_", "", UPDATE "{\"KERNEL_C\":\"d\"})\n");
}

static void a_directory_is_gone_to_and_the_one_before_stays_on_the_path(void)
{
    check("{}", "", "/a/b",
          UPDATE "{})\n"
                 "__import__('sys').path.append(__import__('os').getcwd())\n"
                 "__import__('os').chdir(\"/a/b\")\n");
}

static void a_time_zone_and_a_path_take_effect_where_they_are_given(void)
{
    check("{\"TZ\":\"Asia/Tokyo\"}", "", NULL, UPDATE "{\"TZ\":\"Asia/Tokyo\"})\n" ZONE);
    check("{\"PYTHONPATH\":\"/x:/y\"}", "", NULL, UPDATE "{\"PYTHONPATH\":\"/x:/y\"})\n" PLACES);
    check("{\"PYTHONPATH\":\"\",\"TZ\":\"\"}", "", NULL,
          UPDATE "{\"PYTHONPATH\":\"\",\"TZ\":\"\"})\n" ZONE PLACES);
    check("{\"TZ\":5,\"PYTHONPATH\":null}", "", NULL, UPDATE "{})\n");
    check("{\"TZ\":\"Asia/Tokyo\"}", "KERNEL_", NULL, UPDATE "{})\n");
}

static void an_environment_that_is_too_large_is_refused(void)
{
    struct err e = ERR_NONE;
    drop_buf struct buf text = BUF_INIT(SETUP_CODE_MAX * 2);
    char *code = NULL;
    (void)buf_adds(&text, "{\"A\":\"");
    TEST_ASSERT(buf_reserve(&text, SETUP_CODE_MAX) == 0);
    memset(text.data + text.len, 'x', SETUP_CODE_MAX);
    text.len += SETUP_CODE_MAX;
    (void)buf_adds(&text, "\"}");
    drop_json struct json *env = json_parse(text.data, text.len, JSON_STRICT, &e);
    TEST_ASSERT(env != NULL);
    TEST_CHECK(setup_code(env, "", NULL, &code, &e) == -EMSGSIZE && !code);
}

#define T(name) {#name, name}
TEST_LIST = {
    T(the_variables_are_those_of_the_prefix_that_are_text),
    T(a_directory_is_gone_to_and_the_one_before_stays_on_the_path),
    T(a_time_zone_and_a_path_take_effect_where_they_are_given),
    T(an_environment_that_is_too_large_is_refused),
    {NULL, NULL},
};
