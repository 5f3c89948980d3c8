/* SPDX-License-Identifier: Apache-2.0
 *
 * What pip says and how it ends; pip is played here. */
#include <acutest.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "session/packages/packages.h"

static struct {
    const struct child_events *events;
    void *ctx;
    int starts;
    char words[400]; /* of the last start */
} pip;

int child_start(struct spawner *spawner, const struct child_spec *spec,
                const struct child_events *events, void *ctx, struct child **ret, struct err *e)
{
    (void)spawner, (void)e;
    pip.events = events;
    pip.ctx = ctx;
    pip.starts++;
    pip.words[0] = '\0';
    for (const char *const *word = spec->argv; *word; word++) {
        strcat(pip.words, *word);
        strcat(pip.words, " ");
    }
    *ret = (struct child *)&pip;
    return 0;
}

struct child *child_end(struct child *child)
{
    (void)child;
    return NULL;
}

static struct {
    struct buf text;
    char steps[400], output[400], why[400];
    int ends;
} heard = {.text = {.cap = 4096}};

static void on_text(void *ctx, const char *text, size_t n)
{
    (void)ctx;
    (void)buf_add(&heard.text, text, n);
}

static void on_progress(void *ctx, double progress, double total, const char *what)
{
    (void)ctx;
    size_t n = strlen(heard.steps);
    (void)snprintf(heard.steps + n, sizeof heard.steps - n, "%g/%g %s|", progress, total, what);
}

static void on_finished(void *ctx, const char *output, const struct err *why)
{
    (void)ctx;
    heard.ends++;
    (void)snprintf(heard.output, sizeof heard.output, "%s", output);
    (void)snprintf(heard.why, sizeof heard.why, "%s", why ? why->msg : "");
}

static const struct install_events with_steps = {on_text, on_progress, on_finished};
static const struct install_events without = {.text = on_text, .finished = on_finished};
static const struct packages_config config = {.python = "python3", .workspace = "/w"};

static struct install *start(const struct install_events *events)
{
    struct install *install = NULL;
    TEST_ASSERT(install_start(&config, "numpy", events, NULL, &install, NULL) == 0);
    return install;
}

static void says(const char *text)
{
    pip.events->output(pip.ctx, text, strlen(text));
}

static void ends(int code)
{
    pip.events->ended(pip.ctx, &(struct child_exit){.code = code}, NULL);
}

static void close_all(void)
{
    buf_done(&heard.text);
}

static void steps_are_told_and_are_no_output(void)
{
    (void)start(&with_steps);
    TEST_CHECK_(strstr(pip.words, " --progress-bar=raw numpy ") != NULL, "%s", pip.words);
    says("Collecting numpy\nDownloading numpy.whl (16 MB)\nProgress 0 of 16000\nProg");
    says("ress 8000 of 16000\n");
    says("Progress 16000 of 16000\nInstalling collected packages: numpy\n");
    ends(0);
    static const char rest[] = "Collecting numpy\nDownloading numpy.whl (16 MB)\n"
                               "Installing collected packages: numpy\n";
    TEST_CHECK_(strcmp(buf_text(&heard.text), rest) == 0, "%s", buf_text(&heard.text));
    TEST_CHECK(heard.ends == 1 && strcmp(heard.output, rest) == 0 && *heard.why == '\0');
    TEST_CHECK_(strcmp(heard.steps, "0/16000 Downloading numpy.whl (16 MB)|"
                                    "8000/16000 Downloading numpy.whl (16 MB)|"
                                    "16000/16000 Downloading numpy.whl (16 MB)|") == 0,
                "%s", heard.steps);
    close_all();
}

static void what_only_looks_like_a_step_is_output(void)
{
    static const char text[] = "Progress of man\nProgram\nPro\n\nProgress 12345678901234567890"
                               "123456789012345678901234567890123456789012345678901234567890\n"
                               "in Progress 1 of 2\nProgress";
    (void)start(&with_steps);
    for (const char *p = text; *p; p++)
        says((char[]){*p, '\0'});
    ends(0);
    TEST_CHECK_(strcmp(heard.output, text) == 0, "%s", heard.output);
    TEST_CHECK_(strcmp(buf_text(&heard.text), text) == 0, "%s", buf_text(&heard.text));
    TEST_CHECK_(*heard.steps == '\0', "%s", heard.steps);
    close_all();
}

static void a_total_may_be_unknown(void)
{
    (void)start(&with_steps);
    says("Progress 5 of None\n");
    ends(0);
    TEST_CHECK_(strcmp(heard.steps, "5/-1 |") == 0, "%s", heard.steps);
    close_all();
}

/* --python may have an older pip. */
static void a_pip_without_steps_is_run_again(void)
{
    (void)start(&with_steps);
    says("pip: error: invalid choice: 'raw' (choose from 'on', 'off')\n");
    ends(2);
    TEST_CHECK(heard.ends == 0 && pip.starts == 2);
    TEST_CHECK_(!strstr(pip.words, "progress") && strstr(pip.words, " numpy "), "%s", pip.words);
    says("Progress 1 of 2\n");
    ends(2);
    TEST_CHECK(heard.ends == 1 && pip.starts == 2 && *heard.steps == '\0');
    TEST_CHECK(strcmp(heard.output, "Progress 1 of 2\n") == 0);
    TEST_CHECK(strcmp(heard.why, "pip ended with status 2") == 0);
    close_all();
}

static void nobody_is_told_who_does_not_want_to_know(void)
{
    (void)start(&without);
    TEST_CHECK(!strstr(pip.words, "progress"));
    says("Progress 1 of 2\n");
    ends(0);
    TEST_CHECK(strcmp(heard.output, "Progress 1 of 2\n") == 0);
    (void)install_cancel(start(&with_steps));
    close_all();
}

TEST_LIST = {
    {"steps_are_told_and_are_no_output", steps_are_told_and_are_no_output},
    {"what_only_looks_like_a_step_is_output", what_only_looks_like_a_step_is_output},
    {"a_total_may_be_unknown", a_total_may_be_unknown},
    {"a_pip_without_steps_is_run_again", a_pip_without_steps_is_run_again},
    {"nobody_is_told_who_does_not_want_to_know", nobody_is_told_who_does_not_want_to_know},
    {NULL, NULL},
};
