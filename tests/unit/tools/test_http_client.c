/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "fakes/fake_http.h"
#include "tools/transport/http_client.h"
#include "unit/guard.h"

static struct loop *loop;
static struct http_client *client;
static struct fake_http *server;
static struct fake_conn *last; /* whose request came last */
static char url[256];
static struct buf asked = {.cap = 65536}, got = {.cap = 65536};
static size_t sum;
static int status, dones;
static struct err why;
static struct http_client_request *end_in_body, *end_in_done;
static const char *answer_head, *answer_body;

static void on_request(struct fake_conn *c, const struct fake_request *r)
{
    last = c;
    const char *x = fake_header(c, "X-Thing");
    (void)buf_addf(&asked, "%s %s %zu %s;", r->method, r->path, r->n_body, x ? x : "-");
    if (answer_head)
        fake_answer(c, answer_head, answer_body);
}

static void on_head(void *ctx, int code)
{
    (void)ctx;
    status = code;
}

static void on_body(void *ctx, const char *bytes, size_t n)
{
    (void)ctx;
    TEST_CHECK(n <= 2 * HTTP_WINDOW);
    sum += n;
    if (n < 1000)
        (void)buf_add(&got, bytes, n);
    end_in_body = http_request_end(end_in_body);
}

static void on_done(void *ctx, const struct err *e)
{
    (void)ctx;
    dones++;
    why = e ? *e : ERR_NONE;
    end_in_done = http_request_end(end_in_done);
}

static const struct http_client_events events = {.head = on_head, .body = on_body, .done = on_done};

static void open_it(void)
{
    for (const char *const *v = (const char *const[]){"http_proxy", "all_proxy", "ALL_PROXY", NULL};
         *v; v++)
        (void)unsetenv(*v);
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, &e) == 0 && http_client_open(loop, NULL, &client, &e) == 0);
    server = fake_http_open(loop, on_request);
    (void)snprintf(url, sizeof url, "http://user:secret@127.0.0.1:%d/mcp?key=secret",
                   fake_http_port(server));
}

static void close_it(void)
{
    client = http_client_close(client);
    server = fake_http_close(server);
    loop = loop_free(loop);
    buf_done(&asked);
    buf_done(&got);
}

static struct http_client_request *start(enum http_method method, const char *body,
                                         int64_t timeout_ms)
{
    static const struct http_client_header headers[] = {{"X-Thing", "1"}, {"X-Empty", ""}};
    struct http_request_spec spec = {.method = method,
                                     .url = url,
                                     .headers = headers,
                                     .n_headers = 2,
                                     .body = body,
                                     .n_body = body ? strlen(body) : 0,
                                     .connect_timeout_ms = 5000,
                                     .timeout_ms = timeout_ms};
    struct http_client_request *r = NULL;
    struct err e = ERR_NONE;
    TEST_ASSERT_(http_request_start(client, &spec, &events, NULL, &r, &e) == 0, "%s", e.msg);
    return r;
}

static void wait_until(int done_count, size_t at_least)
{
    int64_t until = clock_ms() + GUARD_MS;
    while ((dones < done_count || sum < at_least) && clock_ms() < until)
        loop_turn(loop, 100);
    TEST_CHECK(dones == done_count && sum >= at_least);
}

static void wait_for_request(const char *text)
{
    int64_t until = clock_ms() + GUARD_MS;
    while (!strstr(buf_text(&asked), text) && clock_ms() < until)
        loop_turn(loop, 100);
    TEST_CHECK(strstr(buf_text(&asked), text) != NULL);
    TEST_MSG("%s", buf_text(&asked));
}

static void a_request_is_sent_and_its_answer_told(void)
{
    open_it();
    answer_head = "202 Accepted\r\nX-Answer: yes";
    answer_body = "hello";
    struct http_client_request *r = start(HTTP_POST, "{}", 0);
    wait_until(1, 5);
    TEST_CHECK(status == 202 && why.code == 0 && strcmp(got.data, "hello") == 0);
    TEST_CHECK(strcmp(http_request_header(r, "x-answer"), "yes") == 0);
    TEST_CHECK(http_request_header(r, "X-Other") == NULL);
    TEST_CHECK(strcmp(asked.data, "POST /mcp?key=secret 2 1;") == 0);
    (void)http_request_end(r);
    r = start(HTTP_DELETE, NULL, 0);
    wait_until(2, 10);
    (void)http_request_end(r);
    TEST_CHECK(fake_http_connections(server) == 1); /* it was kept */
    wait_for_request("DELETE /mcp?key=secret 0 1;");
    close_it();
}

static void an_answer_may_come_in_pieces_and_a_silent_one_is_waited_for(void)
{
    open_it();
    struct http_client_request *r = start(HTTP_GET, NULL, 0);
    wait_for_request("GET");
    fake_say(last, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    wait_until(0, 3);
    TEST_CHECK(status == 200);
    fake_say(last, "2\r\nde\r\n0\r\n\r\n");
    wait_until(1, 5);
    TEST_CHECK(why.code == 0 && strcmp(got.data, "abcde") == 0);
    (void)http_request_end(r);
    close_it();
}

static void a_broken_answer_is_an_error_without_a_secret(void)
{
    open_it();
    struct http_client_request *r = start(HTTP_GET, NULL, 0);
    wait_for_request("GET");
    fake_say(last, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    fake_end(last);
    wait_until(1, 3);
    TEST_CHECK(why.code == -ECONNRESET && strstr(why.msg, "127.0.0.1:") &&
               !strstr(why.msg, "secret"));
    TEST_MSG("%s", why.msg);
    (void)http_request_end(r);
    answer_head = "200 OK";
    r = start(HTTP_GET, NULL, 0);
    close_it(); /* with what is under way */
}

static void who_does_not_answer_is_given_up_when_that_was_asked_for(void)
{
    open_it();
    struct http_client_request *r = start(HTTP_GET, NULL, 50);
    wait_until(1, 0);
    TEST_CHECK(why.code == -ETIMEDOUT && !strstr(why.msg, "secret"));
    (void)http_request_end(r);
    close_it();
}

static void who_is_not_there_is_named(void)
{
    open_it();
    server = fake_http_close(server);
    struct http_client_request *r = start(HTTP_GET, NULL, 0);
    wait_until(1, 0);
    TEST_CHECK(why.code == -ECONNREFUSED &&
               strncmp(why.msg, "cannot connect to 127.0.0.1:", 28) == 0);
    TEST_MSG("%s", why.msg);
    (void)http_request_end(r);
    server = fake_http_open(loop, on_request);
    close_it();
}

static void ending_a_request_closes_its_connection(void)
{
    open_it();
    struct http_client_request *r = start(HTTP_POST, "{}", 0);
    wait_for_request("POST");
    (void)http_request_end(r);
    (void)http_request_end(NULL);
    int64_t until = clock_ms() + GUARD_MS;
    while (fake_http_open_connections(server) > 0 && clock_ms() < until)
        loop_turn(loop, 20);
    TEST_CHECK(fake_http_open_connections(server) == 0 && dones == 0);
    end_in_body = start(HTTP_POST, "{}", 0);
    wait_for_request("POST /mcp?key=secret 2 1;POST");
    fake_say(last, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    wait_until(0, 3);
    end_in_done = start(HTTP_POST, "{}", 0);
    answer_head = "200 OK";
    answer_body = "";
    wait_until(1, 3);
    close_it();
}

static void nobody_has_to_wait_for_an_answer(void)
{
    open_it();
    answer_head = "200 OK";
    answer_body = "x";
    struct http_request_spec spec = {.method = HTTP_DELETE, .url = url, .connect_timeout_ms = 5000};
    struct http_client_request *r = end_in_done;
    TEST_CHECK(http_request_start(client, &spec, NULL, NULL, &r, NULL) == 0 && r == NULL);
    wait_for_request("DELETE");
    for (int i = 0; i < 5; i++)
        loop_turn(loop, 10);
    close_it();
}

static void a_held_request_waits_for_its_word(void)
{
    open_it();
    answer_head = "200 OK";
    answer_body = "x";
    struct http_request_spec spec = {.method = HTTP_GET, .connect_timeout_ms = 5000, .held = true};
    struct http_client_request *r = NULL;
    TEST_ASSERT(http_request_start(client, &spec, &events, NULL, &r, NULL) == 0);
    loop_turn(loop, 10);
    TEST_CHECK(asked.len == 0);
    TEST_CHECK(http_request_go(r, url, NULL) == 0);
    wait_until(1, 1);
    (void)http_request_end(r);
    close_it();
}

static void a_large_answer_is_told_in_pieces(void)
{
    enum { LARGE = 30 << 20 };
    open_it();
    struct http_client_request *r = start(HTTP_GET, NULL, 0);
    wait_for_request("GET");
    char *bytes = xcalloc(LARGE, 1);
    char head[64];
    (void)snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", LARGE);
    fake_say(last, head);
    fake_say_n(last, bytes, LARGE);
    wait_until(1, LARGE);
    TEST_CHECK(sum == LARGE && why.code == 0);
    xfree(bytes);
    (void)http_request_end(r);
    close_it();
}

/* Answered once, with this head; then the answer is 200. */
static void check_redirect(enum http_method method, const char *head, const char *expected,
                           const char *words)
{
    char text[256];
    buf_clear(&asked);
    dones = 0;
    answer_head = head;
    answer_body = "gone";
    struct http_client_request *r = start(method, method == HTTP_POST ? "{}" : NULL, 0);
    if (!words) {
        wait_for_request("/mcp");
        answer_head = "200 OK";
        answer_body = "ok";
    }
    wait_until(1, 0);
    TEST_CASE(head);
    TEST_CHECK(why.code == 0 && status == (words ? atoi(head) : 200));
    TEST_CHECK(strstr(buf_text(&asked), expected) != NULL);
    TEST_MSG("%s", buf_text(&asked));
    http_request_redirect(r, text, sizeof text);
    TEST_CHECK(!words || strstr(text, words));
    TEST_CHECK(!strstr(text, "secret"));
    TEST_MSG("%s", text);
    (void)http_request_end(r);
}

static void redirects_are_followed_within_the_origin(void)
{
    open_it();
    char same[200], other[200];
    (void)snprintf(same, sizeof same, "308 Permanent Redirect\r\nLocation: http://127.0.0.1:%d/new",
                   fake_http_port(server));
    (void)snprintf(other, sizeof other, "307 Temporary Redirect\r\nLocation: http://127.0.0.2:%d/x",
                   fake_http_port(server));
    check_redirect(HTTP_POST, "307 Temporary Redirect\r\nLocation: /mcp/", "POST /mcp/ 2 1;", NULL);
    check_redirect(HTTP_POST, same, "POST /new 2 1;", NULL);
    check_redirect(HTTP_DELETE, "307 Temporary Redirect\r\nLocation: b", "DELETE /b 0 1;", NULL);
    check_redirect(HTTP_GET, "302 Found\r\nLocation: /sse/", "GET /sse/ 0 1;", NULL);
    check_redirect(HTTP_POST, "302 Found\r\nLocation: /sse/", "2 1;", "not followed");
    check_redirect(HTTP_POST, "307 Temporary Redirect", "2 1;", "not followed");
    check_redirect(HTTP_POST, other, "2 1;", "to http://127.0.0.2:");
    check_redirect(HTTP_POST, "307 Temporary Redirect\r\nLocation: https://u:secret@h/secret",
                   "2 1;", "to https://h, which is another origin");
    check_redirect(HTTP_POST, "307 Temporary Redirect\r\nLocation: file:///secret", "2 1;",
                   "not followed");
    close_it();
}

static void redirects_and_headers_have_an_end(void)
{
    open_it();
    check_redirect(HTTP_POST, "307 Temporary Redirect\r\nLocation: /again", "2 1;",
                   "more than 5 redirects");
    int n = 0;
    for (const char *at = buf_text(&asked); (at = strstr(at, "POST ")); at++)
        n++;
    TEST_CHECK(n == 1 + HTTP_REDIRECTS_MAX);
    struct http_client_request *r = NULL;
    char *large = xcalloc(1, 1 << 20);
    (void)snprintf(large, 64, "200 OK\r\nX-Large: ");
    memset(large + strlen(large), 'x', (1 << 20) - 64);
    answer_head = large;
    dones = 0;
    r = start(HTTP_POST, "{}", 0);
    wait_until(1, 0);
    TEST_CHECK(why.code < 0);
    TEST_MSG("%s", why.msg);
    xfree(large);
    (void)http_request_end(r);
    close_it();
}

static void what_cannot_be_a_request_is_refused(void)
{
    open_it();
    struct http_client_header header = {"X-Bad", "a\r\nEvil: secret"};
    struct http_request_spec spec = {
        .method = HTTP_GET, .url = url, .headers = &header, .n_headers = 1};
    struct http_client_request *r = NULL;
    struct err e = ERR_NONE;
    TEST_CHECK(http_request_start(client, &spec, &events, NULL, &r, &e) == -EINVAL);
    TEST_CHECK(!strstr(e.msg, "secret") && strstr(e.msg, "X-Bad"));
    header = (struct http_client_header){"Bad Name", "x"};
    TEST_CHECK(http_request_start(client, &spec, &events, NULL, &r, &e) == -EINVAL);
    spec.n_headers = 0;
    spec.url = "file:///etc/passwd";
    TEST_CHECK(http_request_start(client, &spec, &events, NULL, &r, &e) == -EINVAL);
    spec.url = "not a url secret";
    TEST_CHECK(http_request_start(client, &spec, &events, NULL, &r, &e) == -EINVAL);
    TEST_CHECK(!strstr(e.msg, "secret") && r == NULL);
    close_it();
}

static void urls_are_resolved_within_their_origin(void)
{
    static const struct {
        const char *base, *to, *expected;
    } cases[] = {
        {"http://a:1/sse?x=1", "/messages/?session_id=2", "http://a:1/messages/?session_id=2"},
        {"http://a/x/sse", "messages", "http://a/x/messages"},
        {"http://a/sse", "http://a:80/m", "http://a:80/m"},
        {"https://a/sse", "https://A/m", "https://A/m"},
        {"http://a/sse", "http://b/m", NULL},
        {"http://a/sse", "//b/m", NULL},
        {"http://a/sse", "https://a/m", NULL},
        {"http://a/sse", "http://a:81/m", NULL},
        {"http://a/sse", "file:///m", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_str char *text = NULL;
        int r = http_url_resolve(cases[i].base, cases[i].to, &text, NULL);
        TEST_CHECK(cases[i].expected ? r == 0 && strcmp(text, cases[i].expected) == 0 : r < 0);
        TEST_MSG("%s %s: %d %s", cases[i].base, cases[i].to, r, text ? text : "");
    }
    char host[HTTP_HOST_MAX];
    TEST_CHECK(http_url_host("https://u:p@h.example:8/x?y#z", host, NULL) == 0 &&
               strcmp(host, "h.example:8") == 0);
}

#define T(name) {#name, name}

TEST_LIST = {
    T(a_request_is_sent_and_its_answer_told),
    T(an_answer_may_come_in_pieces_and_a_silent_one_is_waited_for),
    T(a_broken_answer_is_an_error_without_a_secret),
    T(who_does_not_answer_is_given_up_when_that_was_asked_for),
    T(who_is_not_there_is_named),
    T(ending_a_request_closes_its_connection),
    T(nobody_has_to_wait_for_an_answer),
    T(a_held_request_waits_for_its_word),
    T(a_large_answer_is_told_in_pieces),
    T(redirects_are_followed_within_the_origin),
    T(redirects_and_headers_have_an_end),
    T(what_cannot_be_a_request_is_refused),
    T(urls_are_resolved_within_their_origin),
    {NULL, NULL},
};
