/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/front/apitest.h"

/* The question of a request, and what the kernel answers. */
static void asked_and_answered(const char *line, const char *body, const char *content, int code)
{
    int fd = send_with(line, "", body);
    for (int i = 0; i < 100 && !fake_kernel_is_asked(); i++)
        turn();
    TEST_ASSERT(fake_kernel_is_asked());
    fake_kernel_answers(content, code);
    finish(fd);
}

static void code_is_completed(void)
{
    open_ready();
    asked_and_answered(
        "POST /v1/sessions/default/complete", "{\"code\":\"\xC3\xBC = os.pa\",\"cursor\":9}",
        "{\"status\":\"ok\",\"cursor_start\":7,\"cursor_end\":9,\"matches\":"
        "[\"path\",\"pathsep\",7],\"metadata\":{\"_jupyter_types_experimental\":"
        "[{\"text\":\"path\",\"type\":\"module\"},{\"text\":\"x\",\"type\":\"y\"}]}}",
        0);
    TEST_CHECK_(strcmp(fake.asked, "0 {\"code\":\"\xC3\xBC = os.pa\",\"cursor_pos\":9}") == 0, "%s",
                fake.asked);
    check_head("HTTP/1.1 200 ");
    check_has("{\"start\":7,\"end\":9,\"matches\":[{\"text\":\"path\",\"type\":\"module\"},"
              "{\"text\":\"pathsep\"}]}");
    close_api();
}

static void places_that_a_kernel_makes_up_stay_in_the_code(void)
{
    open_ready();
    asked_and_answered("POST /v1/sessions/default/complete", "{\"code\":\"ab\"}",
                       "{\"cursor_start\":-5,\"cursor_end\":1e99,\"matches\":\"none\"}", 0);
    check_has("{\"start\":0,\"end\":2,\"matches\":[]}");
    close_api();
}

static void code_is_inspected(void)
{
    open_ready();
    asked_and_answered("POST /v1/sessions/default/inspect", "{\"code\":\"print\",\"cursor\":3}",
                       "{\"found\":true,\"data\":{\"text/plain\":\"Docs\",\"text/html\":\"<b>\"}}",
                       0);
    check_has("{\"found\":true,\"text\":\"Docs\"}");
    asked_and_answered("POST /v1/sessions/default/inspect", "{\"code\":\"print\"}",
                       "{\"found\":true,\"data\":[]}", 0);
    check_has("{\"found\":false,\"text\":\"\"}");
    close_api();
}

static void variables_are_texts_and_numbers_of_a_limited_length(void)
{
    drop_buf struct buf said = BUF_INIT(1 << 20);
    open_ready();
    (void)buf_adds(&said, "{\"variables\":[{\"name\":\"a\",\"type\":\"ndarray\",\"value\":\"\","
                          "\"shape\":\"2 x 3\",\"size\":48,\"more\":{}},{\"name\":7,\"size\":-1},"
                          "{\"name\":\"");
    for (int i = 0; i < 500; i++)
        (void)buf_adds(&said, "\xC3\xBC");
    (void)buf_adds(&said, "\"}");
    for (int i = 0; i < 300; i++)
        (void)buf_adds(&said, ",null");
    (void)buf_adds(&said, "]}");
    asked_and_answered("GET /v1/sessions/default/variables", "", buf_text(&said), 0);
    check_head("HTTP/1.1 200 ");
    check_has(
        "{\"name\":\"a\",\"type\":\"ndarray\",\"value\":\"\",\"shape\":\"2 x 3\",\"size\":48},"
        "{\"name\":\"\",\"type\":\"\",\"value\":\"\"},{\"name\":\"\xC3\xBC");
    check_has("\xC3\xBC\",\"type\":\"\",\"value\":\"\"},");
    check_has("\"more\":true}");
    TEST_CHECK(got.len < 20000);
    close_api();
}

static void a_kernel_that_says_nothing_is_told(void)
{
    open_ready();
    asked_and_answered("GET /v1/sessions/default/variables", "", NULL, -ETIMEDOUT);
    check_head("HTTP/1.1 504 ");
    asked_and_answered("GET /v1/sessions/default/variables", "", NULL, -EBUSY);
    check_head("HTTP/1.1 409 ");
    close_api();
}

static void of_code_nothing_is_asked_while_a_cell_runs(void)
{
    open_ready();
    call("POST /v1/sessions/default/executions", "{\"code\":\"x\",\"wait\":false}");
    call("POST /v1/sessions/default/complete", "{\"code\":\"o\"}");
    check_head("HTTP/1.1 409 ");
    check_has("a cell runs");
    asked_and_answered("GET /v1/sessions/default/variables", "", "{\"variables\":[]}", 0);
    check_has("{\"variables\":[],\"more\":false}");
    fake_kernel_done(OK_REPLY);
    close_api();
}

static void who_has_gone_is_not_answered(void)
{
    open_ready();
    int fd = send_with("POST /v1/sessions/default/complete", "", "{\"code\":\"o\"}");
    for (int i = 0; i < 100 && !fake_kernel_is_asked(); i++)
        turn();
    TEST_ASSERT(fake_kernel_is_asked());
    (void)fd_close(fd);
    for (int i = 0; i < 100 && fake_kernel_is_asked(); i++)
        turn();
    TEST_CHECK(!fake_kernel_is_asked());
    close_api();
}

static void what_is_no_question_is_refused(void)
{
    static const char *const bodies[] = {"{}",
                                         "{\"code\":7}",
                                         "{\"code\":\"ab\",\"cursor\":3}",
                                         "{\"code\":\"ab\",\"cursor\":-1}",
                                         "{\"code\":\"ab\",\"cursor\":0.5}",
                                         "{\"code\":\"ab\",\"more\":1}"};
    open_ready();
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        call("POST /v1/sessions/default/complete", bodies[i]);
        check_head("HTTP/1.1 400 ");
    }
    call("POST /v1/sessions/none/inspect", "{\"code\":\"\"}");
    check_head("HTTP/1.1 404 ");
    close_api();
}

static void without_a_kernel_nothing_is_asked(void)
{
    open_api();
    call("GET /v1/sessions/default/variables", "");
    check_head("HTTP/1.1 409 ");
    check_has("no kernel that is up");
    close_api();
}

TEST_LIST = {
    {"code is completed", code_is_completed},
    {"places that a kernel makes up stay in the code",
     places_that_a_kernel_makes_up_stay_in_the_code},
    {"code is inspected", code_is_inspected},
    {"variables are texts and numbers of a limited length",
     variables_are_texts_and_numbers_of_a_limited_length},
    {"a kernel that says nothing is told", a_kernel_that_says_nothing_is_told},
    {"of code nothing is asked while a cell runs", of_code_nothing_is_asked_while_a_cell_runs},
    {"who has gone is not answered", who_has_gone_is_not_answered},
    {"what is no question is refused", what_is_no_question_is_refused},
    {"without a kernel nothing is asked", without_a_kernel_nothing_is_asked},
    {NULL, NULL},
};
