/* SPDX-License-Identifier: Apache-2.0
 *
 * What could be read in two ways is not read at all. */
#include "unit/front/httptest.h"

#include "front/http/http.h"

static struct http *http;

static void echo(void *ctx, struct http_request *r)
{
    (void)ctx;
    drop_buf struct buf text = BUF_INIT(1 << 20);
    const char *q = http_query(r, "q"), *x = http_header(r, "X-Test");
    (void)buf_addf(&text, "q=%s x=%s body=", q ? q : "-", x ? x : "-");
    (void)buf_add(&text, buf_text(http_body(r)), http_body(r)->len);
    http_answer(r, 200, NULL, 0, buf_text(&text), text.len);
}

static const struct http_route routes[] = {
    {"GET", "/echo", HTTP_NO_BODY, 0, NULL, 0, echo},
    {"POST", "/echo", HTTP_COLLECT, 1000, NULL, 0, echo},
};

static void open_it(void)
{
    open_loop();
    struct http_config config = {.loop = loop,
                                 .host = "localhost",
                                 .routes = routes,
                                 .n_routes = sizeof routes / sizeof *routes};
    TEST_ASSERT(http_open(&config, &http, NULL) == 0);
    port = http_port(http);
}

static void close_it(void)
{
    http = http_close(http);
    close_loop();
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define POST(path, length, more)                                                                   \
    "POST " path " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " length "\r\n" more "\r\n"

static void what_is_no_http_ends_its_connection_alone(void)
{
    static const char *const junk[] = {
        "\x16\x03\x01\x02",
        "GET\r\n\r\n",
        "GET /echo HTTP/9.9\r\n\r\n",
        POST("/echo", "5", "Content-Length: 6\r\n") "hello!",
        POST("/echo", "-5", ""),
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "GET /echo HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /echo HTTP/1.1\r\n folded\r\n\r\n",
    };
    open_it();
    for (size_t i = 0; i < sizeof junk / sizeof *junk; i++) {
        TEST_CASE(junk[i]);
        ask(junk[i]);
        check_has_not("HTTP/1.1 200 ");
    }
    ask(GET("/echo"));
    check_head("HTTP/1.1 200 ");
    close_it();
}

#define POST_HEAD "POST /echo HTTP/1.1\r\nHost: localhost\r\n"
#define CHUNKED POST_HEAD "Transfer-Encoding: chunked\r\n\r\n"

static void no_request_hides_in_another(void)
{
    static const char *const heads[] = {
        POST_HEAD "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST_HEAD "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        POST_HEAD "Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
        POST_HEAD "Content-Length: 0\r\ncontent-length: 44\r\n\r\n",
        POST_HEAD "Content-Length: 0, 0\r\n\r\n",
        POST_HEAD "Content-Length: +0\r\n\r\n",
        POST_HEAD "Content-Length: 0x0\r\n\r\n",
        POST_HEAD "Content-Length:\r\n\r\n",
        POST_HEAD "Content-Length : 44\r\n\r\n",
        POST_HEAD "Content-Length: 18446744073709551616\r\n\r\n",
        POST_HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST_HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        POST_HEAD "Transfer-Encoding: identity\r\n\r\n",
        POST_HEAD "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n",
        POST_HEAD "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        POST_HEAD "X: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST_HEAD "X: a\nContent-Length: 44\r\n\r\n",
        POST_HEAD "X: a\rContent-Length: 44\r\n\r\n",
        "POST /echo HTTP/1.1\nHost: localhost\n\n",
        "POST /echo HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        "POST /echo HTTP/1.1\r\n\r\n",
        "POST /echo  HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "POST\t/echo HTTP/1.1\r\nHost: localhost\r\n\r\n",
        CHUNKED "0\n\n",
        CHUNKED "-0\r\n\r\n",
        CHUNKED "0x0\r\n\r\n",
        CHUNKED "1\r\nab0\r\n\r\n",
        CHUNKED "FFFFFFFFFFFFFFFFF\r\n",
        CHUNKED "\r\n0\r\n\r\n",
    };
    open_it();
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        drop_buf struct buf text = BUF_INIT(4096);
        TEST_CASE(heads[i]);
        (void)buf_adds(&text, heads[i]);
        (void)buf_adds(&text, GET("/echo?q=hidden"));
        int fd = dial();
        say_n(fd, text.data, text.len);
        TEST_CHECK(hear(fd));
        check_has_not("hidden");
        check_has_not("HTTP/1.1 200 ");
        (void)fd_close(fd);
        turn();
    }
    static const char nul[] = POST_HEAD "X: a\0b\r\n\r\n";
    int fd = dial();
    say_n(fd, nul, sizeof nul - 1);
    TEST_CHECK(hear(fd));
    check_head("HTTP/1.1 400 ");
    (void)fd_close(fd);
    fd = dial(); /* where one ends the next begins */
    say(fd, CHUNKED "3;x=y\r\nabc\r\n0\r\nX-Test: trailer\r\n\r\n" GET("/echo?q=next"));
    TEST_CHECK(!hear(fd));
    check_has("x=- body=abc");
    check_has("q=next");
    (void)fd_close(fd);
    close_it();
}

#define TEST(name) {#name, name}
TEST_LIST = {
    TEST(what_is_no_http_ends_its_connection_alone),
    TEST(no_request_hides_in_another),
    {NULL, NULL},
};
