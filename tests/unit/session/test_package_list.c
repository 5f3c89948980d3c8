/* SPDX-License-Identifier: Apache-2.0
 *
 * What lists the packages is played here. */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "session/packages/package_list.h"

static struct {
    const struct child_events *events;
    void *ctx;
    bool fails;
    int ends;
} python;

int child_start(struct spawner *spawner, const struct child_spec *spec,
                const struct child_events *events, void *ctx, struct child **ret, struct err *e)
{
    (void)spawner;
    if (python.fails)
        return err_set(e, -EAGAIN, "no process");
    TEST_CHECK(spec->piped); /* warnings stand apart from the list */
    python.events = events;
    python.ctx = ctx;
    *ret = (struct child *)&python;
    return 0;
}

struct child *child_end(struct child *child)
{
    python.ends += child != NULL;
    return NULL;
}

static struct {
    char text[200], why[400];
    int finished;
} heard;

static void on_finished(void *ctx, const struct json *list, const struct err *why)
{
    (void)ctx;
    drop_str char *text = list ? json_print(list) : NULL;
    heard.finished++;
    (void)snprintf(heard.text, sizeof heard.text, "%s", text ? text : "");
    (void)snprintf(heard.why, sizeof heard.why, "%s", why ? why->msg : "");
}

static const struct package_list_events events = {.finished = on_finished};
static const struct packages_config config = {.python = "python3", .workspace = "/w"};

static struct package_list *start(void)
{
    struct package_list *list = NULL;
    memset(&heard, 0, sizeof heard);
    TEST_ASSERT(package_list_start(&config, &events, NULL, &list, NULL) == 0);
    return list;
}

static void say(const char *text)
{
    python.events->output(python.ctx, text, strlen(text));
}

static void end(int code)
{
    python.events->ended(python.ctx, &(struct child_exit){.code = code}, NULL);
    TEST_CHECK(heard.finished == 1);
}

static void a_list_comes_in_pieces_and_ends_with_its_process(void)
{
    (void)start();
    say("[{\"name\":\"numpy\",");
    python.events->errors(python.ctx, "a warning", 9);
    python.events->writable(python.ctx);
    say("\"version\":\"2\"}]\n");
    TEST_CHECK(heard.finished == 0);
    end(0);
    TEST_CHECK(strcmp(heard.text, "[{\"name\":\"numpy\",\"version\":\"2\"}]") == 0 && !*heard.why);
}

static void what_is_no_list_is_an_error_with_the_first_words(void)
{
    (void)start();
    python.events->errors(python.ctx, "Traceback", 9);
    end(1);
    TEST_CHECK(strcmp(heard.why, "Python told no list of packages: Traceback") == 0);
    (void)start();
    say("{\"name\":1}");
    end(0);
    TEST_CHECK(strstr(heard.why, "no list of packages") != NULL);
    (void)start();
    python.events->ended(python.ctx, NULL, &(struct err){.code = -ENOENT, .msg = "not there"});
    TEST_CHECK(strcmp(heard.why, "Python: not there") == 0);
}

static void a_list_without_end_is_not_kept(void)
{
    static char much[1 << 20];
    memset(much, ' ', sizeof much - 1);
    (void)start();
    for (size_t i = 0; i < 1 + PACKAGE_LIST_BYTES_MAX / (sizeof much - 1); i++)
        say(much);
    say("[]");
    end(0);
    TEST_CHECK(strcmp(heard.why, "the list is longer than 4 MiB") == 0);
}

static void one_that_is_given_up_ends_its_process_and_is_silent(void)
{
    python.ends = 0;
    TEST_CHECK(package_list_cancel(start()) == NULL);
    TEST_CHECK(python.ends == 1 && heard.finished == 0);
    TEST_CHECK(package_list_cancel(NULL) == NULL);
}

static void one_that_cannot_be_started_is_an_error(void)
{
    struct package_list *list = NULL;
    struct err e = ERR_NONE;
    python.fails = true;
    TEST_CHECK(package_list_start(&config, &events, NULL, &list, &e) == -EAGAIN && !list);
}

#define TEST(name) {#name, name}
TEST_LIST = {
    TEST(a_list_comes_in_pieces_and_ends_with_its_process),
    TEST(what_is_no_list_is_an_error_with_the_first_words),
    TEST(a_list_without_end_is_not_kept),
    TEST(one_that_is_given_up_ends_its_process_and_is_silent),
    TEST(one_that_cannot_be_started_is_an_error),
    {NULL, NULL},
};
