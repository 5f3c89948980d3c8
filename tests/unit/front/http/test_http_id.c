/* SPDX-License-Identifier: Apache-2.0
 *
 * What a request is called: in its answer, and in the log while its handler runs. */
#include "unit/front/httptest.h"

#include <fcntl.h>

#include "base/alloc.h"
#include "base/log.h"
#include "front/http/http.h"

static struct http *http;
static struct http_request *held; /* of the last request of a stream */

static void answer(struct http_request *r, const char *text)
{
    static const struct http_header type = {"Content-Type", "text/plain"};
    http_answer(r, 200, &type, 1, text, strlen(text));
}

static void echo(void *ctx, struct http_request *r)
{
    (void)ctx;
    answer(r, "");
}

static void send_file(void *ctx, struct http_request *r)
{
    (void)ctx;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    http_answer_file(r, 200, NULL, 0, fd, 1, 3);
}

static void hold(void *ctx, struct http_request *r)
{
    (void)ctx;
    held = r;
}

static const char *seen_id; /* in the log, while a handler ran */

static void see_id(void *ctx, struct http_request *r)
{
    (void)ctx;
    static char copy[64];
    (void)snprintf(copy, sizeof copy, "%s", log_request() ? log_request() : "none");
    seen_id = copy;
    answer(r, http_id(r));
}

static struct http_prepared *prepared;

static void give_prepared(void *ctx, struct http_request *r)
{
    (void)ctx;
    http_answer_prepared(r, prepared);
}

static bool admit(void *ctx, struct http_request *r, const struct http_route *route)
{
    (void)ctx;
    if (route->tag > 0)
        http_problem(r, 403, NULL, 0, "not here");
    return route->tag == 0;
}

static const struct http_route routes[] = {
    {"GET", "/echo", HTTP_NO_BODY, 0, NULL, 0, echo},
    {"POST", "/json", HTTP_COLLECT, 1000, "application/json", 0, echo},
    {"GET", "/hold", HTTP_NO_BODY, 0, NULL, 0, hold},
    {"GET", "/see", HTTP_NO_BODY, 0, NULL, 0, see_id},
    {"GET", "/file", HTTP_NO_BODY, 0, NULL, 0, send_file},
    {"GET", "/secret", HTTP_NO_BODY, 0, NULL, 1, echo},
    {"GET", "/prepared", HTTP_NO_BODY, 0, NULL, 0, give_prepared},
};

static void open_it(void)
{
    open_loop();
    struct http_config config = {.loop = loop,
                                 .host = "localhost",
                                 .routes = routes,
                                 .n_routes = sizeof routes / sizeof *routes,
                                 .admit = admit};
    struct err e = ERR_NONE;
    TEST_CHECK(http_open(&config, &http, &e) == 0);
    TEST_MSG("%s", e.msg);
    port = http_port(http);
}

static void close_it(void)
{
    http = http_close(http);
    close_loop();
}

/* The id of the last answer, "" when it has none. */
static const char *answered_id(void)
{
    static char id[300];
    const char *at = strcasestr(buf_text(&got), "\r\nX-Request-Id: ");
    id[0] = '\0';
    if (at)
        (void)sscanf(at + 16, "%299[^\r]", id);
    return id;
}

static void ask_with_id(const char *id)
{
    drop_str char *text =
        xasprintf("GET /echo HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: %s\r\n\r\n", id);
    ask(text);
    check_head("HTTP/1.1 200 ");
}

static void a_request_has_the_id_that_it_brings_or_a_random_one(void)
{
    static char longest[130], too_long[131];
    memset(longest, 'a', 128);
    memset(too_long, 'a', 129);
    const char *const good[] = {"1", "7d0f-42.a_b~c:d+e/f=g@h", longest};
    const char *const bad[] = {"",         "a b",  "a\"b", "a,b",   "<x>",
                               "\xC3\xA9", "a\\b", "a\tb", too_long};
    char before[300] = "";
    open_it();
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ask_with_id(good[i]);
        TEST_CHECK_(strcmp(answered_id(), good[i]) == 0, "%s", answered_id());
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TEST_CASE_("%zu: %s", i, bad[i]);
        ask_with_id(bad[i]);
        TEST_CHECK_(strlen(answered_id()) == 32, "%s", answered_id());
        TEST_CHECK(strspn(answered_id(), "0123456789abcdef") == 32);
        TEST_CHECK(strcmp(answered_id(), before) != 0);
        (void)snprintf(before, sizeof before, "%s", answered_id());
    }
    ask("GET /echo HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a\r\nX-Request-Id: b\r\n\r\n");
    TEST_CHECK(strlen(answered_id()) == 32);
    close_it();
}

static void a_prepared_answer_has_the_id_of_a_request_that_brings_one(void)
{
    static const struct http_header type = {"Content-Type", "text/plain"};
    static const char no_id[] = "GET /prepared HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static const char *const with_id[] = {
        "GET /prepared HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: the-id\r\n\r\n",
        "GET /prepared HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a b\r\n\r\n"};
    static const size_t lengths[] = {6, 32};
    uint64_t received, sent;
    prepared = http_prepare(201, &type, 1, "well", 4, NULL);
    open_it();
    int fd = dial();
    for (size_t i = 0; i < 3; i++) { /* the same one, again and again */
        say(fd, no_id);
        TEST_CHECK(!hear(fd));
        check_head("HTTP/1.1 201 ");
        check_has("Content-Type: text/plain\r\n");
        TEST_CHECK(strcmp(answered_id(), "") == 0 && strcmp(body_of(), "well") == 0);
    }
    (void)fd_close(fd);
    for (size_t i = 0; i < 2; i++) {
        ask(with_id[i]);
        check_head("HTTP/1.1 201 ");
        check_has("Content-Type: text/plain\r\n");
        TEST_CHECK(strlen(answered_id()) == lengths[i] && strcmp(body_of(), "well") == 0);
    }
    http_traffic(http, &received, &sent);
    TEST_CHECK(sent == 20);
    close_it();
    prepared = http_prepared_free(prepared);
}

static void whatever_is_answered_has_the_id(void)
{
    static const char *const heads[] = {"GET /nothing", "GET /file",   "POST /json",
                                        "DELETE /echo", "GET /secret", "HEAD /echo"};
    open_it();
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        drop_str char *text = xasprintf("%s HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: the-id\r\n"
                                        "Content-Length: 0\r\n\r\n",
                                        heads[i]);
        TEST_CASE(heads[i]);
        ask(text);
        TEST_CHECK_(strcmp(answered_id(), "the-id") == 0, "%.300s", buf_text(&got));
    }
    int fd = dial(); /* a stream */
    say(fd, "GET /hold HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: late\r\n\r\n");
    turn();
    http_stream_begin(held, 200, NULL, 0, -1);
    http_stream_end(held);
    (void)hear(fd);
    TEST_CHECK(strcmp(answered_id(), "late") == 0);
    (void)fd_close(fd);
    close_it();
}

static void the_log_names_the_request_while_its_handler_runs_and_not_longer(void)
{
    open_it();
    ask("GET /see HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: mine\r\n\r\n");
    TEST_CHECK(strcmp(body_of(), "mine") == 0 && strcmp(seen_id, "mine") == 0);
    TEST_CHECK(log_request() == NULL);
    close_it();
}

#define TEST(name) {#name, name}
TEST_LIST = {
    TEST(a_request_has_the_id_that_it_brings_or_a_random_one),
    TEST(a_prepared_answer_has_the_id_of_a_request_that_brings_one),
    TEST(whatever_is_answered_has_the_id),
    TEST(the_log_names_the_request_while_its_handler_runs_and_not_longer),
    {NULL, NULL},
};
