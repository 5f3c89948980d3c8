/* SPDX-License-Identifier: Apache-2.0
 *
 * What a session's notebook has of its cells; the test plays the kernel. */
#include <acutest.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "fakes/fake_kernel.h"
#include "session/history/notebook.h"
#include "session/history/script.h"
#include "session/queue/session.h"

#define OK_REPLY "{\"status\":\"ok\"}"

static struct loop *loop;
static struct session_config config;
static struct session *session;

static void ignore_log(enum log_level level, const char *text)
{
    (void)level, (void)text;
}

static void ignore_result(void *ctx, const struct cell_result *result)
{
    (void)ctx, (void)result;
}

static void turn(void)
{
    for (int i = 0; i < 3; i++)
        loop_turn(loop, 0);
}

static void open_with(size_t memory)
{
    struct err e = ERR_NONE;
    fake = (struct fake_kernel){0};
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    config = (struct session_config){.kernel = {.loop = loop},
                                     .workspace = "/tmp",
                                     .interrupt_grace_ms = 5000,
                                     .history_memory = memory,
                                     .gateway = true,
                                     .log = ignore_log};
    TEST_ASSERT(session_open(&config, &session, &e) == 0);
    fake_kernel_ready();
    turn();
}

static void open_session(void)
{
    open_with(1 << 20);
}

static void close_session(void)
{
    session = session_free(session);
    loop = loop_free(loop);
}

static void begin(const char *text)
{
    static const struct cell_events events = {.finished = ignore_result};
    struct cell *cell;
    struct err e = ERR_NONE;
    drop_str char *code = xstrdup(text);
    const struct cell_request request = {
        .code = {code, strlen(code)}, .timeout_ms = 60000, .max_chars = 1000};
    TEST_ASSERT(session_execute(session, &request, &events, NULL, &cell, &e) == 0);
    turn();
}

static void end(void)
{
    fake_kernel_done(OK_REPLY);
    turn();
}

static struct json *export(void)
{
    drop_buf struct buf text = BUF_INIT(NOTEBOOK_MAX);
    struct err e = ERR_NONE;
    notebook_put(&text, session_history(session), "s");
    struct json *notebook = json_parse_copy(buf_text(&text), text.len, JSON_STRICT, &e);
    TEST_ASSERT_(notebook != NULL, "%s: %s", e.msg, buf_text(&text));
    return notebook;
}

static const struct json *item(const struct json *list, size_t i)
{
    const struct json *one = json_first(list);
    while (one && i-- > 0)
        one = json_next(one);
    return one;
}

static const struct json *output_of(const struct json *notebook, size_t cell, size_t i)
{
    return item(json_get(item(json_get(notebook, "cells"), cell), "outputs"), i);
}

static void check_text(const struct json *object, const char *name, const char *wanted)
{
    const char *text = json_get_text(object, name);
    TEST_CHECK_(text && strcmp(text, wanted) == 0, "%s: %s, wanted %s", name,
                text ? text : "nothing", wanted);
}

static void a_cell_has_its_code_outputs_and_times(void)
{
    open_session();
    begin("x = 6*7\nx");
    fake_kernel_stream("a", true);
    fake_kernel_stream("b\n", true);
    fake_kernel_message(JUPYTER_STREAM, "{\"name\":\"stderr\",\"text\":\"c\"}");
    fake_kernel_message(JUPYTER_DISPLAY_DATA,
                        "{\"data\":{\"image/png\":\"iVBO\",\"bad/type\":5,\"application/json\":"
                        "[1]},\"metadata\":{},\"transient\":{}}");
    fake_kernel_message(JUPYTER_EXECUTE_RESULT,
                        "{\"data\":{\"text/plain\":\"42\"},\"metadata\":{},\"execution_count\":9}");
    end();
    drop_json struct json *notebook = export();
    const struct json *cell = item(json_get(notebook, "cells"), 0);
    TEST_CHECK(json_number(json_get(notebook, "nbformat_minor")) == 5);
    check_text(cell, "id", "cell-1");
    check_text(cell, "source", "x = 6*7\nx");
    check_text(output_of(notebook, 0, 0), "text", "ab\n");
    check_text(output_of(notebook, 0, 1), "name", "stderr");
    const struct json *data = json_get(output_of(notebook, 0, 2), "data");
    check_text(data, "image/png", "iVBO");
    TEST_CHECK(json_count(data) == 2); /* what nbformat does not know is left out */
    check_text(output_of(notebook, 0, 3), "output_type", "execute_result");
    TEST_CHECK(json_number(json_get(output_of(notebook, 0, 3), "execution_count")) == 1);
    const struct json *times = json_get(json_get(cell, "metadata"), "execution");
    TEST_CHECK(json_get_text(times, "iopub.execute_input") != NULL);
    TEST_CHECK(json_get_text(times, "shell.execute_reply") != NULL);
    close_session();
}

static void a_display_has_its_last_state_and_cleared_output_is_gone(void)
{
    open_session();
    begin("x");
    fake_kernel_stream("gone", true);
    fake_kernel_message(JUPYTER_CLEAR_OUTPUT, "{\"wait\":true}");
    fake_kernel_message(JUPYTER_DISPLAY_DATA,
                        "{\"data\":{\"text/plain\":\"1\"},\"transient\":{\"display_id\":\"d\"}}");
    fake_kernel_message(JUPYTER_UPDATE_DISPLAY_DATA,
                        "{\"data\":{\"text/plain\":\"2\"},\"transient\":{\"display_id\":\"d\"}}");
    end();
    drop_json struct json *notebook = export();
    check_text(json_get(output_of(notebook, 0, 0), "data"), "text/plain", "2");
    check_text(output_of(notebook, 0, 0), "output_type", "display_data");
    TEST_CHECK(output_of(notebook, 0, 1) == NULL);
    close_session();
}

static void an_error_is_tagged_so_that_the_notebook_runs_on(void)
{
    open_session();
    begin("1/0");
    fake_kernel_message(JUPYTER_ERROR,
                        "{\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[\"a\",\"b\"]}");
    fake_kernel_done("{\"status\":\"error\"}");
    turn();
    drop_json struct json *notebook = export();
    const struct json *metadata = json_get(item(json_get(notebook, "cells"), 0), "metadata");
    TEST_CHECK(strcmp(json_text(item(json_get(metadata, "tags"), 0)), "raises-exception") == 0);
    check_text(json_get(metadata, "ipybox"), "status", "error");
    check_text(output_of(notebook, 0, 0), "ename", "E");
    TEST_CHECK(json_count(json_get(output_of(notebook, 0, 0), "traceback")) == 2);
    close_session();
}

static void a_kernel_that_dies_is_told_in_its_cell_and_between_cells(void)
{
    open_session();
    begin("os._exit(3)");
    fake_kernel_dies("it ended with status 3", "");
    fake_kernel_ready();
    turn();
    begin("y");
    drop_json struct json *notebook = export();
    check_text(output_of(notebook, 0, 0), "ename", "KernelDied");
    check_text(item(json_get(notebook, "cells"), 1), "cell_type", "markdown");
    TEST_CHECK(strstr(json_get_text(item(json_get(notebook, "cells"), 1), "source"), "status 3") !=
               NULL);
    const struct json *running = item(json_get(notebook, "cells"), 2);
    check_text(json_get(json_get(running, "metadata"), "ipybox"), "status", "running");
    end();
    close_session();
}

static void what_comes_after_a_cell_is_still_its_own(void)
{
    open_session();
    begin("x");
    end();
    fake_kernel_stream("late", false);
    begin("y");
    end();
    drop_json struct json *notebook = export();
    check_text(output_of(notebook, 0, 0), "text", "late");
    TEST_CHECK(output_of(notebook, 1, 0) == NULL);
    close_session();
}

static void cells_of_the_gateway_stand_between_those_of_the_session(void)
{
    open_session();
    begin("x");
    end();
    fake_kernel_external(JUPYTER_STATUS, "r1", "{\"execution_state\":\"busy\"}");
    fake_kernel_external(JUPYTER_EXECUTE_INPUT, "r1", "{\"code\":\"6*7\",\"execution_count\":1}");
    fake_kernel_external(JUPYTER_STREAM, "r1", "{\"name\":\"stdout\",\"text\":\"out\"}");
    fake_kernel_external(JUPYTER_STATUS, "r1", "{\"execution_state\":\"idle\"}");
    begin("y");
    end();
    drop_json struct json *notebook = export();
    const struct json *cells = json_get(notebook, "cells");
    check_text(item(cells, 0), "source", "x");
    check_text(item(cells, 1), "source", "6*7");
    check_text(json_get(json_get(item(cells, 1), "metadata"), "ipybox"), "client", "gateway");
    check_text(output_of(notebook, 1, 0), "text", "out");
    check_text(item(cells, 2), "source", "y");
    close_session();
}

static void old_cells_go_and_the_notebook_says_how_many(void)
{
    open_with(8 << 10);
    for (int i = 0; i < 30; i++) {
        begin("x");
        fake_kernel_stream("a line of output that takes some room in the history\n", true);
        end();
    }
    drop_json struct json *notebook = export();
    const struct json *first = item(json_get(notebook, "cells"), 0);
    check_text(first, "cell_type", "markdown");
    int gone = 0;
    TEST_CHECK(sscanf(json_get_text(first, "source"), "[ipybox] %d entries", &gone) == 1);
    TEST_CHECK_((size_t)gone + json_count(json_get(notebook, "cells")) - 1 == 30, "%d gone", gone);
    close_session();
}

static void a_flood_takes_no_more_than_its_room(void)
{
    static char text[64 << 10];
    memset(text, 'x', sizeof text - 1);
    open_session();
    begin("x");
    for (int i = 0; i < 20; i++)
        fake_kernel_stream(text, true);
    end();
    drop_json struct json *notebook = export();
    TEST_CHECK(strlen(json_get_text(output_of(notebook, 0, 0), "text")) == NBCELL_TEXT_MAX);
    TEST_CHECK(strstr(json_get_text(output_of(notebook, 0, 1), "text"),
                      "bytes of output are not") != NULL);
    close_session();
}

static void outputs_that_do_not_fit_are_counted_and_the_others_stay(void)
{
    static char text[40000];
    drop_buf struct buf out = BUF_INIT(1 << 20);
    struct jsonw w = JSONW(&out);
    memset(text, 'x', sizeof text - 1);
    open_session();
    history_put_outputs(&w, session_history(session), HISTORY_SESSION, 20000);
    TEST_CHECK(strcmp(buf_text(&out), "[]") == 0);
    begin("x");
    fake_kernel_stream(text, true);
    fake_kernel_message(JUPYTER_EXECUTE_RESULT,
                        "{\"data\":{\"text/plain\":\"small\"},\"metadata\":{}}");
    end();
    buf_clear(&out);
    w = JSONW(&out);
    history_put_outputs(&w, session_history(session), HISTORY_SESSION, 20000);
    drop_json struct json *outputs = json_parse_copy(buf_text(&out), out.len, JSON_STRICT, NULL);
    TEST_CHECK(json_count(outputs) == 2);
    check_text(item(outputs, 0), "output_type", "omitted");
    TEST_CHECK(json_number(json_get(item(outputs, 0), "bytes")) == sizeof text - 1);
    check_text(json_get(item(outputs, 1), "data"), "text/plain", "small");
    close_session();
}

static void check_script(const char *code, const char *wanted)
{
    drop_buf struct buf out = BUF_INIT(1 << 20);
    script_put_code(&out, code, strlen(code));
    TEST_CHECK_(strcmp(buf_text(&out), wanted) == 0, "%s", code);
    TEST_MSG("got    %s", buf_text(&out));
    TEST_MSG("wanted %s", wanted);
}

static void what_only_ipython_reads_becomes_a_call_in_a_script(void)
{
    check_script("x = 1", "x = 1\n");
    check_script("!ls 'a'", "get_ipython().system('ls \\'a\\'')\n");
    check_script("if x:\n    %cd  /tmp", "if x:\n    get_ipython().run_line_magic('cd', '/tmp')\n");
    check_script("a = !ls", "a = get_ipython().getoutput('ls')\n");
    check_script("a, b = %time f()", "a, b = get_ipython().run_line_magic('time', 'f()')\n");
    check_script("%%bash -e\nls\ncd", "get_ipython().run_cell_magic('bash', '-e', 'ls\\ncd')\n");
    check_script("len?", "get_ipython().run_line_magic('pinfo', 'len')\n");
    check_script("f(a\n  % b)", "f(a\n  % b)\n");
    check_script("s = '''\n!no\n'''\n!yes", "s = '''\n!no\n'''\nget_ipython().system('yes')\n");
    check_script("x = a \\\n  % b", "x = a \\\n  % b\n");
    check_script("x != y # what?", "x != y # what?\n");
    check_script("x = '(' # (\n!a", "x = '(' # (\nget_ipython().system('a')\n");
}

TEST_LIST = {
    {"a_cell_has_its_code_outputs_and_times", a_cell_has_its_code_outputs_and_times},
    {"a_display_has_its_last_state_and_cleared_output_is_gone",
     a_display_has_its_last_state_and_cleared_output_is_gone},
    {"an_error_is_tagged_so_that_the_notebook_runs_on",
     an_error_is_tagged_so_that_the_notebook_runs_on},
    {"a_kernel_that_dies_is_told_in_its_cell_and_between_cells",
     a_kernel_that_dies_is_told_in_its_cell_and_between_cells},
    {"what_comes_after_a_cell_is_still_its_own", what_comes_after_a_cell_is_still_its_own},
    {"cells_of_the_gateway_stand_between_those_of_the_session",
     cells_of_the_gateway_stand_between_those_of_the_session},
    {"old_cells_go_and_the_notebook_says_how_many", old_cells_go_and_the_notebook_says_how_many},
    {"a_flood_takes_no_more_than_its_room", a_flood_takes_no_more_than_its_room},
    {"outputs_that_do_not_fit_are_counted_and_the_others_stay",
     outputs_that_do_not_fit_are_counted_and_the_others_stay},
    {"what_only_ipython_reads_becomes_a_call_in_a_script",
     what_only_ipython_reads_becomes_a_call_in_a_script},
    {NULL, NULL},
};
