/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "base/text/utf8.h"
#include "fakes/fake_kernel.h"
#include "session/queue/session.h"

static struct loop *loop;
static struct session *session;
static struct session_config config;

static void ignore_log(enum log_level level, const char *text)
{
    (void)level, (void)text;
}

static void open_session(void)
{
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    config = (struct session_config){.kernel = {.loop = loop},
                                     .workspace = "/proc/nowhere", /* no files */
                                     .interrupt_grace_ms = 5000,
                                     .output_file_limit = 1000,
                                     .log = ignore_log};
    TEST_ASSERT(session_open(&config, &session, NULL) == 0);
    fake_kernel_ready();
}

static void close_session(void)
{
    session = session_free(session);
    loop = loop_free(loop);
}

static size_t chars(const char *text)
{
    return utf8_count(text, strlen(text));
}

/* How many characters a cell ended with. */
struct end {
    size_t text, error, late;
};

static void on_finished(void *ctx, const struct cell_result *r)
{
    *(struct end *)ctx =
        (struct end){r->output->text_chars,
                     chars(r->ename) + chars(r->evalue) + chars(r->traceback), chars(r->late)};
}

static void run(struct end *end)
{
    static const struct cell_events events = {.finished = on_finished};
    struct cell *cell = NULL;
    struct cell_request request = {.code = {"x", 1}, .timeout_ms = 1000, .max_chars = 5000};
    TEST_ASSERT(session_execute(session, &request, &events, end, &cell, NULL) == 0);
    for (int i = 0; i < 3; i++)
        loop_turn(loop, 0);
}

static void check(bool late, bool text, bool error, struct end least)
{
    static const char ok[] = "{\"status\":\"ok\"}", failed[] = "{\"status\":\"error\"}";
    struct end end = {0};
    char many[20001];
    memset(many, 'x', sizeof many);
    many[20000] = '\0';
    TEST_CASE_("late %d, text %d, error %d", late, text, error);
    open_session();
    if (late)
        fake_kernel_stream(many, false);
    run(&end);
    if (text)
        fake_kernel_stream(many, true);
    if (error)
        fake_kernel_error("ValueError", many);
    fake_kernel_done(error ? failed : ok);
    TEST_CHECK(end.text >= least.text && end.error >= least.error && end.late >= least.late);
    TEST_CHECK(end.text + end.error + end.late <= 5000 + (late ? 40 : 0)); /* what was dropped */
    TEST_MSG("text %zu, error %zu, late %zu", end.text, end.error, end.late);
    close_session();
}

static void what_an_answer_has_shares_its_characters(void)
{
    check(false, true, false, (struct end){.text = 4900});
    check(false, false, true, (struct end){.error = 4500});
    check(false, true, true, (struct end){.text = 1800, .error = 2500});
    check(true, false, false, (struct end){.late = 900});
    check(true, true, false, (struct end){.text = 3500, .late = 900});
    check(true, true, true, (struct end){.text = 1400, .error = 2000, .late = 900});
}

TEST_LIST = {
    {"what_an_answer_has_shares_its_characters", what_an_answer_has_shares_its_characters},
    {NULL, NULL},
};
