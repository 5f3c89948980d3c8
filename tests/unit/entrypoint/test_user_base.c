/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "entrypoint/identity/user_base.h"

static char space[64], outside[80];

/* /proc stands for a home where nothing can be made. */
static char *chosen(void)
{
    return user_base_choose("/proc", space);
}

static void begin(void)
{
    (void)unsetenv("PYTHONUSERBASE");
    (void)snprintf(space, sizeof space, "/tmp/test-user-base-XXXXXX");
    TEST_ASSERT(mkdtemp(space) != NULL);
    (void)snprintf(outside, sizeof outside, "%s-outside", space);
    TEST_ASSERT(mkdir(outside, 0700) == 0);
}

static void end(void)
{
    drop_str char *words = xasprintf("rm -r %s %s", space, outside);
    TEST_CHECK(system(words) == 0);
}

static void is(const char *want)
{
    drop_str char *got = chosen();
    TEST_CHECK_(strcmp(got, want) == 0, "%s, not %s", got, want);
}

static void the_workspace_has_them_where_home_cannot(void)
{
    begin();
    drop_str char *want = xasprintf("%s/.ipybox/python", space);
    struct stat st;
    is(want);
    TEST_CHECK(stat(want, &st) == 0 && S_ISDIR(st.st_mode));
    is(want); /* once more */
    end();
}

static void home_comes_first_and_what_is_given_before_it(void)
{
    begin();
    drop_str char *want = xasprintf("%s/.local", outside);
    drop_str char *in_home = user_base_choose(outside, space);
    TEST_CHECK_(strcmp(in_home, want) == 0, "%s", in_home);
    (void)setenv("PYTHONUSERBASE", "/given", 1);
    is("/given");
    end();
}

static void a_link_in_the_workspace_leads_nowhere(void)
{
    begin();
    drop_str char *link = xasprintf("%s/.ipybox", space);
    drop_str char *inner = xasprintf("%s/python", link);
    TEST_ASSERT(symlink(outside, link) == 0);
    is("/proc/.local");
    TEST_ASSERT(unlink(link) == 0 && mkdir(link, 0700) == 0 && symlink(outside, inner) == 0);
    is("/proc/.local");
    TEST_CHECK(rmdir(outside) == 0 && mkdir(outside, 0700) == 0); /* nothing was made there */
    TEST_ASSERT(unlink(inner) == 0 && close(creat(inner, 0600)) == 0);
    is("/proc/.local");
    end();
}

TEST_LIST = {
    {"the_workspace_has_them_where_home_cannot", the_workspace_has_them_where_home_cannot},
    {"home_comes_first_and_what_is_given_before_it", home_comes_first_and_what_is_given_before_it},
    {"a_link_in_the_workspace_leads_nowhere", a_link_in_the_workspace_leads_nowhere},
    {NULL, NULL},
};
