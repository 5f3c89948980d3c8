/* SPDX-License-Identifier: Apache-2.0
 *
 * front/console/api_console.c: its files, who gets them, and the policies that go with them. */
#include "unit/front/apitest.h"

#include <sys/stat.h>

#define FOLDER "/tmp/test-front-console"

static void put_file(const char *name, const char *text)
{
    drop_str char *path = xasprintf("%s/%s", FOLDER, name);
    FILE *f = fopen(path, "we");
    TEST_ASSERT(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void open_console(const char *folder)
{
    (void)mkdir(FOLDER, 0700);
    (void)mkdir(FOLDER "/console", 0700);
    put_file("index.html", "the page");
    put_file("console/main.js", "the script");
    put_file("console/main.js.gz", "the packed script");
    put_file("console/frame.html", "the frame");
    put_file("console/other.js", "not the console's");
    (void)unlink(FOLDER "/console/main.css");
    TEST_ASSERT(symlink("other.js", FOLDER "/console/main.css") == 0);
    api_config = (struct api_config){.console = folder, .admin_token = "a"};
    open_ready();
}

static void close_console(void)
{
    close_api();
    api_config = (struct api_config){0};
}

static void the_page_is_given_to_everybody(void)
{
    open_console(FOLDER);
    call("GET /", "");
    check_head("HTTP/1.1 200 ");
    check_has("Content-Security-Policy: default-src 'none'; script-src 'self'; ");
    check_has("the page");
    check_has_not("Connection-Allowlist"); /* it asks this port */
    call("GET /console/main.js", "");
    check_has("Content-Type: text/javascript");
    check_has("\r\n\r\nthe script");
    close_console();
}

static void a_browser_gets_the_packed_file(void)
{
    open_console(FOLDER);
    call_with("GET /console/main.js", "Accept-Encoding: gzip, br\r\n", "");
    check_has("Content-Encoding: gzip");
    check_has("the packed script");
    call_with("GET /", "Accept-Encoding: gzip\r\n", ""); /* which is not there packed */
    check_has("the page");
    check_has_not("Content-Encoding");
    call_with("GET /console/main.js", "Accept-Encoding: gzip;q=0\r\n", "");
    check_has("\r\n\r\nthe script");
    close_console();
}

static void the_frame_has_no_origin_and_no_network(void)
{
    open_console(FOLDER);
    call("GET /console/frame.html", "");
    check_has("Content-Security-Policy: sandbox allow-scripts; default-src 'none'; ");
    check_has("Connection-Allowlist: ()\r\n");
    check_has_not("connect-src");
    check_has_not("allow-same-origin");
    close_console();
}

static void no_other_file_is_given(void)
{
    static const char *const wrong[] = {"GET /console/other.js",        "GET /console/main.css",
                                        "GET /console/index.html",      "GET /console/vega.js",
                                        "GET /console/..%2findex.html", "GET /console/main.js.gz"};
    open_console(FOLDER);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        TEST_CASE(wrong[i]);
        call(wrong[i], "");
        check_head("HTTP/1.1 40");
        check_has_not("not the console's");
    }
    close_console();
}

static void where_there_is_none_the_answer_says_so(void)
{
    open_console(NULL);
    call("GET /", "");
    check_head("HTTP/1.1 404 ");
    check_has("the console is not installed");
    close_console();
    open_console("/tmp/test-front-no-console");
    call("GET /", "");
    check_has("the console is not installed");
    close_console();
}

TEST_LIST = {
    {"the_page_is_given_to_everybody", the_page_is_given_to_everybody},
    {"a_browser_gets_the_packed_file", a_browser_gets_the_packed_file},
    {"the_frame_has_no_origin_and_no_network", the_frame_has_no_origin_and_no_network},
    {"no_other_file_is_given", no_other_file_is_given},
    {"where_there_is_none_the_answer_says_so", where_there_is_none_the_answer_says_so},
    {NULL, NULL},
};
