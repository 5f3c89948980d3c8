/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/front/apitest.h"

static void run_cell(void)
{
    open_ready();
    int fd = send_with("POST /v1/sessions/default/executions", "", "{\"code\":\"%time 6*7\"}");
    (void)hear(fd);
    fake_kernel_stream("printed", true);
    fake_kernel_done(OK_REPLY);
    (void)hear(fd);
    (void)fd_close(fd);
    turn();
}

static void a_session_is_had_as_a_notebook(void)
{
    run_cell();
    call("GET /v1/sessions/default/notebook", "");
    check_head("HTTP/1.1 200 ");
    check_has("Content-Type: application/x-ipynb+json\r\n");
    check_has("filename=\"default.ipynb\"");
    check_has("\"source\":\"%time 6*7\"");
    check_has("\"text\":\"printed\"");
    close_api();
}

static void a_session_is_had_as_a_script(void)
{
    run_cell();
    call("GET /v1/sessions/default/notebook?format=py", "");
    check_head("HTTP/1.1 200 ");
    check_has("filename=\"default.py\"");
    check_has("get_ipython().run_line_magic('time', '6*7')\n");
    check_has_not("printed");
    close_api();
}

static void another_format_and_another_session_are_refused(void)
{
    run_cell();
    call("GET /v1/sessions/default/notebook?format=pdf", "");
    check_head("HTTP/1.1 400 ");
    call("GET /v1/sessions/none/notebook", "");
    check_head("HTTP/1.1 404 ");
    close_api();
}

TEST_LIST = {
    {"a_session_is_had_as_a_notebook", a_session_is_had_as_a_notebook},
    {"a_session_is_had_as_a_script", a_session_is_had_as_a_script},
    {"another_format_and_another_session_are_refused",
     another_format_and_another_session_are_refused},
    {NULL, NULL},
};
