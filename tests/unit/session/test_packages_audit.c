/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs of the system play pip: true, false, and one that takes its time. */
#include <acutest.h>

#include <string.h>

#include "base/clock.h"
#include "session/packages/packages.h"
#include "unit/audittest.h"
#include "unit/become_shim.h"
#include "unit/guard.h"

static struct loop *loop;
static struct spawner *spawner;
static struct packages_config config;
static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
static int ends;

static void on_finished(void *ctx, const char *output, const struct err *why)
{
    (void)ctx, (void)output, (void)why;
    ends++;
}

static const struct install_events events = {.finished = on_finished};

static void open_all(void)
{
    open_audit();
    TEST_ASSERT(loop_new(&loop, NULL) == 0 && spawner_new(loop, &spawner, NULL) == 0);
    config = (struct packages_config){
        .spawner = spawner, .python = "true", .envp = env, .workspace = "/", .audit = audit};
    ends = 0;
}

static void close_all(void)
{
    spawner = spawner_free(spawner, GUARD_MS);
    loop = loop_free(loop);
    close_audit();
}

static void install(const char *pip, const char *package)
{
    struct install *job;
    struct err e = ERR_NONE;
    int before = ends;
    int64_t until = clock_ms() + GUARD_MS;
    config.python = pip;
    TEST_ASSERT_(install_start(&config, package, &events, NULL, &job, &e) == 0, "%s", e.msg);
    while (ends == before && clock_ms() < until)
        loop_turn(loop, 100);
    TEST_CHECK(ends == before + 1);
}

static void an_install_is_told_before_and_after_without_secrets(void)
{
    open_all();
    const char *before = log_set_request("req-1");
    install("true", "numpy>=2");
    (void)log_set_request(before);
    install("false", "git+https://user:secret@host/x");
    check_trail("start\n"
                "package_install request_id=req-1 package=numpy>=2\n"
                "package_installed request_id=req-1 package=numpy>=2 outcome=ok\n"
                "package_install package=git+https://***@host/x\n"
                "package_installed package=git+https://***@host/x outcome=error\n");
    close_all();
}

static void one_that_is_given_up_is_told_and_one_that_is_refused_is_not(void)
{
    struct install *job;
    open_all();
    TEST_ASSERT(install_start(&config, "x", &events, NULL, &job, NULL) == 0);
    job = install_cancel(job);
    TEST_CHECK(install_start(&config, "-r file", &events, NULL, &job, NULL) == -EINVAL);
    check_trail("start\npackage_install package=x\n"
                "package_installed package=x outcome=cancelled\n");
    close_all();
}

static void what_cannot_be_told_is_not_installed(void)
{
    struct install *job;
    struct err e = ERR_NONE;
    open_all();
    TEST_CHECK(truncate(audit_file, 1) == 0);
    TEST_CHECK(install_start(&config, "x", &events, NULL, &job, &e) == -EIO);
    TEST_CHECK(strstr(e.msg, "the audit log was changed from outside") != NULL);
    close_all();
}

TEST_LIST = {
    {"an install is told before and after, without secrets",
     an_install_is_told_before_and_after_without_secrets},
    {"one that is given up is told, and one that is refused is not",
     one_that_is_given_up_is_told_and_one_that_is_refused_is_not},
    {"what cannot be told is not installed", what_cannot_be_told_is_not_installed},
    {NULL, NULL},
};
