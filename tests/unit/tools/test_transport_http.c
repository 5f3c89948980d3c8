/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "fakes/fake_http.h"
#include "tools/transport/http_client.h"
#include "tools/transport/transport.h"
#include "unit/guard.h"

enum { STEPS_MAX = 8 };

static struct loop *loop;
static struct http_client *client;
static struct fake_http *server;
static struct transport *transport;
static struct fake_conn *last;

/* What the transport told and what the server was asked, in the order of time. */
static struct buf told = {.cap = 65536}, asked = {.cap = 65536};
static size_t longest;
static struct err why;
static bool close_at_message, forget_at_message;

/* Answers in the order of requests; without one the test answers by itself. */
static const char *answers[STEPS_MAX];
static size_t n_asked;

static void note_header(struct fake_conn *c, const char *name, const char *shown)
{
    const char *value = fake_header(c, name);
    if (value)
        (void)buf_addf(&asked, " %s=%s", shown, value);
}

static void on_request(struct fake_conn *c, const struct fake_request *r)
{
    last = c;
    (void)buf_addf(&asked, "%s %s %s", r->method, r->path, r->n_body < 200 ? r->body : "large");
    note_header(c, "Mcp-Session-Id", "session");
    note_header(c, "MCP-Protocol-Version", "version");
    note_header(c, "Mcp-Method", "method");
    note_header(c, "Mcp-Name", "name");
    note_header(c, "Mcp-Param-Region", "region");
    note_header(c, "Last-Event-ID", "last");
    note_header(c, "Authorization", "auth");
    note_header(c, "traceparent", "trace");
    note_header(c, "tracestate", "state");
    (void)buf_adds(&asked, ";\n");
    const char *answer = n_asked < STEPS_MAX ? answers[n_asked] : NULL;
    n_asked++;
    if (answer)
        fake_say(c, answer);
}

static void on_message(void *ctx, char *text, size_t n)
{
    (void)ctx;
    TEST_CHECK(strlen(text) == n);
    longest = n > longest ? n : longest;
    (void)buf_addf(&told, "<%s>", n < 200 ? text : "large");
    if (forget_at_message)
        transport->ops->forget(transport, "1");
    if (close_at_message) {
        transport->ops->close(transport);
        transport = NULL;
    }
}

static void on_refused(void *ctx, const char *id, int status, const struct err *e)
{
    (void)ctx;
    TEST_CHECK(!strstr(e->msg, "secret"));
    (void)buf_addf(&told, "refused %s %d;", id, status);
    why = *e;
}

static void on_closed(void *ctx, const struct err *e)
{
    (void)ctx;
    TEST_CHECK(!strstr(e->msg, "secret"));
    (void)buf_adds(&told, "closed;");
    why = *e;
}

static const struct transport_events events = {
    .message = on_message, .refused = on_refused, .closed = on_closed};

static void open_kind(const char *path, bool sse)
{
    (void)unsetenv("http_proxy");
    (void)unsetenv("all_proxy");
    (void)unsetenv("ALL_PROXY");
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, &e) == 0 && http_client_open(loop, NULL, &client, &e) == 0);
    server = fake_http_open(loop, on_request);
    drop_str char *url = xasprintf("http://127.0.0.1:%d%s", fake_http_port(server), path);
    const struct transport_header headers[] = {{"Authorization", "secret"},
                                               {"content-type", "text/secret"}};
    struct transport_http_config config = {
        .http = client, .url = url, .headers = headers, .n_headers = 2, .connect_timeout_ms = 5000};
    int r =
        (sse ? transport_sse_open : transport_http_open)(&config, &events, NULL, &transport, &e);
    TEST_ASSERT_(r == 0, "%s", e.msg);
}

static void open_it(void)
{
    open_kind("/mcp", false);
}

static void close_it(void)
{
    if (transport)
        transport->ops->close(transport);
    client = http_client_close(client);
    server = fake_http_close(server);
    loop = loop_free(loop);
    buf_done(&told);
    buf_done(&asked);
}

static void send_it(const char *text, const char *id, const char *method, const char *version)
{
    struct transport_message m = {
        .text = text, .n = strlen(text), .id = id, .method = method, .version = version};
    struct err e = ERR_NONE;
    TEST_CHECK_(transport->ops->send(transport, &m, &e) == 0, "%s", e.msg);
}

static void send_call(const char *id)
{
    send_it("{}", id, "tools/call", "2025-11-25");
}

static void wait_for(const struct buf *in, const char *text)
{
    int64_t until = clock_ms() + GUARD_MS;
    while (!strstr(buf_text(in), text) && clock_ms() < until)
        loop_turn(loop, 100);
    TEST_CHECK(strstr(buf_text(in), text) != NULL);
    TEST_MSG("%s is not in %s", text, buf_text(in));
}

static void expect(const struct buf *in, const char *text)
{
    TEST_CHECK(strcmp(buf_text(in), text) == 0);
    TEST_MSG("expected %s", text);
    TEST_MSG("actual   %s", buf_text(in));
}

#define JSON(status, length, body)                                                                 \
    "HTTP/1.1 " status                                                                             \
    "\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: " #length                \
    "\r\n\r\n" body
#define EMPTY(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\n\r\n"
#define EVENTS(body)                                                                               \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" body

/* --- Streamable HTTP ------------------------------------------------------------------------- */

static void an_answer_may_be_json(void)
{
    answers[0] = JSON("200 OK", 19, "{\"id\":1,\"result\":1}");
    open_it();
    send_call("1");
    wait_for(&told, ">");
    expect(&told, "<{\"id\":1,\"result\":1}>");
    expect(&asked, "POST /mcp {} version=2025-11-25 auth=secret;\n");
    close_it();
}

static void a_trace_is_in_headers(void)
{
    struct transport_message m = {.text = "{}",
                                  .n = 2,
                                  .id = "1",
                                  .method = "tools/call",
                                  .traceparent = "00-a-b-01",
                                  .tracestate = "k=v"};
    struct err e = ERR_NONE;
    answers[0] = answers[1] = JSON("200 OK", 19, "{\"id\":1,\"result\":1}");
    open_it();
    TEST_CHECK_(transport->ops->send(transport, &m, &e) == 0, "%s", e.msg);
    wait_for(&told, ">");
    expect(&asked, "POST /mcp {} auth=secret trace=00-a-b-01 state=k=v;\n");
    m.traceparent = m.tracestate = "";
    TEST_CHECK_(transport->ops->send(transport, &m, &e) == 0, "%s", e.msg);
    wait_for(&told, "><");
    TEST_CHECK(strstr(buf_text(&asked), "\nPOST /mcp {} auth=secret;\n") != NULL);
    close_it();
}

static void a_session_lasts_from_initialize_to_close(void)
{
    answers[0] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s1\r\n"
                 "Content-Length: 19\r\n\r\n{\"id\":0,\"result\":1}";
    answers[2] = EMPTY("405 No"); /* of the GET, or of the call: both come after the 202 */
    answers[3] = EMPTY("405 No");
    open_it();
    send_it("{\"i\":1}", "0", "initialize", NULL);
    wait_for(&told, ">");
    send_it("{\"n\":1}", NULL, "notifications/initialized", "2025-11-25");
    send_it("{\"c\":1}", "1", "tools/list", "2025-11-25");
    wait_for(&asked, "\"n\"");
    for (int i = 0; i < 10; i++)
        loop_turn(loop, 5);
    TEST_CHECK(!strstr(asked.data, "\"c\"") && !strstr(asked.data, "GET")); /* they wait for it */
    fake_say(last, EMPTY("202 Accepted"));
    wait_for(&asked, "\"c\"");
    wait_for(&asked, "GET");
    wait_for(&told, "refused 1 405");
    transport->ops->close(transport);
    transport = NULL;
    wait_for(&asked, "DELETE /mcp  session=s1 version=2025-11-25 auth=secret;\n");
    TEST_CHECK(strncmp(asked.data, "POST /mcp {\"i\":1} auth=secret;\n", 31) == 0);
    TEST_CHECK(strstr(asked.data, "POST /mcp {\"c\":1} session=s1 version=2025-11-25 auth") !=
               NULL);
    TEST_CHECK(strstr(asked.data, "GET /mcp  session=s1 version=2025-11-25 auth") != NULL);
    expect(&told, "<{\"id\":0,\"result\":1}>refused 1 405;");
    close_it();
}

static void a_session_that_has_ended_is_a_404(void)
{
    answers[0] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s1\r\n"
                 "Content-Length: 19\r\n\r\n{\"id\":0,\"result\":1}";
    answers[1] =
        JSON("404 Not Found", 48, "{\"id\":null,\"error\":{\"code\":-32600,\"message\":\"\"}}");
    answers[2] = answers[0];
    open_it();
    send_it("{}", "0", "initialize", NULL);
    wait_for(&told, ">");
    send_call("1");
    wait_for(&told, "refused 1 404;");
    TEST_CHECK(strstr(why.msg, "session") != NULL);
    send_it("{}", "2", "initialize", NULL);
    wait_for(&asked, "POST /mcp {} session=s1 version=2025-11-25 auth=secret;\n"
                     "POST /mcp {} auth=secret;\n");
    close_it();
}

static void an_answer_may_be_an_event_stream(void)
{
    answers[0] =
        EVENTS("id: a\nretry: 100\ndata:\n\nevent: message\r\ndata: {\"method\":\"x\",\"id\":1}"
               "\r\n\r\nevent: other\ndata: {}\n\ndata: junk\n\n: ping\n\n"
               "data: {\"id\":1,\"result\":{}}\n\n");
    open_it();
    send_call("1");
    wait_for(&told, "result");
    expect(&told, "<{\"method\":\"x\",\"id\":1}><{\"id\":1,\"result\":{}}>");
    for (int i = 0; i < 10; i++)
        loop_turn(loop, 5);
    fake_end(last);
    for (int i = 0; i < 60; i++)
        loop_turn(loop, 5);
    TEST_CHECK(n_asked == 1); /* what is answered is not resumed */
    close_it();
}

static void a_broken_stream_is_resumed(void)
{
    answers[0] = EVENTS("id: a\nretry: 100\ndata:\n\n");
    answers[1] = EVENTS("id: b\ndata: {\"method\":\"x\"}\n\n");
    open_it();
    send_call("1");
    wait_for(&asked, "POST");
    loop_turn(loop, 20);
    fake_end(last);
    wait_for(&asked, "last=a");
    wait_for(&told, "x");
    answers[2] = EVENTS("data: {\"id\":1,\"result\":{}}\n\n");
    fake_end(last);
    wait_for(&asked, "last=b");
    wait_for(&told, "result");
    expect(&told, "<{\"method\":\"x\"}><{\"id\":1,\"result\":{}}>");
    close_it();
}

static void what_cannot_be_resumed_is_refused(void)
{
    answers[0] = EVENTS("data: {\"method\":\"x\"}\n\n");
    answers[1] = EVENTS("id: a\nretry: 1\ndata:\n\n");
    answers[2] = EMPTY("405 No");
    open_it();
    send_call("1");
    wait_for(&told, "x");
    fake_end(last);
    wait_for(&told, "refused 1 200;");
    TEST_CHECK(strstr(why.msg, "ended its answer") != NULL);
    send_call("2");
    wait_for(&asked, "\nPOST");
    loop_turn(loop, 20);
    fake_end(last);
    wait_for(&told, "refused 2 0;");
    close_it();
}

static void resuming_has_an_end(void)
{
    open_it();
    for (size_t i = 0; i < STEPS_MAX; i++)
        answers[i] = EVENTS("");
    answers[0] = EVENTS("id: a\nretry: 1\ndata:\n\n");
    send_call("1");
    int64_t until = clock_ms() + GUARD_MS;
    size_t seen = 0;
    while (!strstr(buf_text(&told), "refused") && clock_ms() < until) {
        loop_turn(loop, 10);
        if (n_asked > seen) {
            seen = n_asked;
            fake_end(last);
        }
    }
    expect(&told, "refused 1 200;");
    TEST_CHECK(n_asked == 7); /* the request, one after something came, five that brought nothing */
    TEST_MSG("%zu", n_asked);
    close_it();
}

static void an_error_of_json_rpc_is_a_message_whatever_its_id(void)
{
    answers[0] =
        JSON("400 Bad Request", 50, "{\"id\":null,\"error\":{\"code\":-32000,\"message\":\"no\"}}");
    answers[1] = JSON("200 OK", 50, "{\"id\":null,\"error\":{\"code\":-32000,\"message\":\"no\"}}");
    answers[2] =
        JSON("404 Not Found", 51, "{\"id\":3,\"error\":{\"code\":-32601,\"message\":\"method\"}}");
    open_it();
    send_call("\"a\"");
    wait_for(&told, ">");
    expect(&told,
           "<{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32000,\"message\":\"no\"}}>");
    send_call("2");
    wait_for(&told, "\"id\":2,");
    send_call("3");
    wait_for(&told, "-32601");
    close_it();
}

static void other_answers_are_refused_with_their_status(void)
{
    static const struct {
        const char *answer, *told, *why;
    } cases[] = {
        {EMPTY("401 Unauthorized"), "refused 1 401;", "credentials"},
        {EMPTY("401 No\r\nWWW-Authenticate: Bearer error=\"x\", error_description=\"it is old\""),
         "refused 1 401;", "): it is old"},
        {JSON("401 No", 61,
              "{\"error\":\"invalid_token\",\"error_description\":\"no such token\"}"),
         "refused 1 401;", "): no such token"},
        {JSON("403 Forbidden", 50, "{\"id\":1,\"error\":{\"code\":-32000,\"message\":\"nope!\"}}"),
         "refused 1 403;", "nope!"},
        {EMPTY("500 Oops"), "refused 1 500;", "status 500"},
        {EMPTY("302 Found\r\nLocation: http://secret/"), "refused 1 302;", "redirect"},
        {EMPTY("307 Temporary Redirect\r\nLocation: http://other.example:1/secret"),
         "refused 1 307;", "http://other.example:1, which is another origin"},
        {EMPTY("202 Accepted"), "refused 1 202;", "no message"},
        {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi",
         "refused 1 200;", "no message"},
        {JSON("200 OK", 4, "junk"), "refused 1 200;", "invalid answer"},
        {JSON("200 OK", 9, "{\"id\":77}"), "<{\"id\":77}>refused 1 200;", "invalid answer"},
        {JSON("404 Not Found", 4, "junk"), "refused 1 404;", "404"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        answers[0] = cases[i].answer;
        n_asked = 0;
        open_it();
        send_call("1");
        wait_for(&told, "refused");
        expect(&told, cases[i].told);
        TEST_CHECK(strstr(why.msg, cases[i].why) && strstr(why.msg, "127.0.0.1"));
        TEST_MSG("%s", why.msg);
        close_it();
    }
}

static void who_cannot_be_reached_is_refused_without_a_status(void)
{
    open_it();
    server = fake_http_close(server);
    send_call("1");
    wait_for(&told, "refused 1 0;");
    TEST_CHECK(why.code == -ECONNREFUSED);
    server = fake_http_open(loop, on_request);
    close_it();
}

static void the_modern_era_mirrors_and_has_no_session(void)
{
    answers[0] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s1\r\n"
                 "Content-Length: 19\r\n\r\n{\"id\":0,\"result\":1}";
    answers[1] = EVENTS("id: a\ndata: {\"method\":\"x\"}\n\n");
    open_it();
    struct transport_header param = {"Mcp-Param-Region", " west"};
    struct transport_message m = {.text = "{}",
                                  .n = 2,
                                  .id = "0",
                                  .version = "2026-07-28",
                                  .method = "tools/call",
                                  .name = "gr\xC3\xBC\xC3\x9F",
                                  .modern = true,
                                  .params = &param,
                                  .n_params = 1};
    TEST_CHECK(transport->ops->send(transport, &m, NULL) == 0);
    wait_for(&told, ">");
    expect(&asked, "POST /mcp {} version=2026-07-28 method=tools/call name==?base64?Z3LDvMOf?= "
                   "region==?base64?IHdlc3Q=?= auth=secret;\n");
    m.id = "1";
    m.name = "plain name";
    TEST_CHECK(transport->ops->send(transport, &m, NULL) == 0);
    wait_for(&asked, "name=plain name ");
    wait_for(&told, "x");
    fake_end(last);
    wait_for(&told, "refused 1 200;"); /* not resumed */
    TEST_CHECK(!strstr(asked.data, "session") && !strstr(asked.data, "GET"));
    close_it();
    TEST_CHECK(n_asked == 2);
}

static void forgetting_closes_the_connection(void)
{
    open_it();
    send_call("1");
    wait_for(&asked, "POST");
    transport->ops->forget(transport, "2");
    transport->ops->forget(transport, "1");
    int64_t until = clock_ms() + GUARD_MS;
    while (fake_http_open_connections(server) > 0 && clock_ms() < until)
        loop_turn(loop, 20);
    TEST_CHECK(fake_http_open_connections(server) == 0);
    expect(&told, "");
    close_it();
}

static void it_may_be_closed_or_a_request_forgotten_inside_an_event(void)
{
    answers[0] = answers[1] = EVENTS("data: {\"a\":1}\n\ndata: {\"b\":1}\n\n");
    open_it();
    forget_at_message = true;
    send_call("1");
    wait_for(&told, "a");
    close_at_message = true;
    send_call("2");
    wait_for(&told, "><");
    expect(&told, "<{\"a\":1}><{\"a\":1}>");
    close_it();
}

static void the_stream_of_the_server_is_listened_to(void)
{
    answers[0] = EMPTY("202 Accepted");
    answers[1] = EVENTS("id: 5\nretry: 100\ndata: {\"method\":\"ping\",\"id\":1}\n\n");
    open_it();
    send_it("{}", NULL, "notifications/initialized", "2025-11-25");
    wait_for(&told, "ping");
    fake_end(last);
    wait_for(&asked, "last=5");
    close_it();
}

static void large_messages_pass_and_over_the_limit_are_refused(void)
{
    enum { LARGE = 10 << 20 };
    open_it();
    char *text = xcalloc(LARGE + 1, 1);
    memset(text, 'x', LARGE);
    memcpy(text, "{\"id\":1,\"a\":\"", 13);
    memcpy(text + LARGE - 2, "\"}", 2);
    send_it(text, "1", "tools/call", NULL);
    wait_for(&asked, "large");
    fake_say(last, EVENTS("data: "));
    fake_say_n(last, text, LARGE);
    fake_say(last, "\n\n");
    wait_for(&told, "large");
    TEST_CHECK(longest == LARGE);
    send_call("2");
    wait_for(&asked, "{}");
    fake_say(last, EVENTS("data: "));
    for (int i = 0; i < 7; i++)
        fake_say_n(last, text, LARGE);
    wait_for(&told, "refused 2 200;");
    TEST_CHECK(why.code == -EMSGSIZE && strstr(why.msg, "64 MiB"));
    xfree(text);
    close_it();
}

static void what_waits_for_a_slow_server_is_bounded(void)
{
    open_it();
    size_t n = TRANSPORT_MESSAGE_MAX;
    char *text = xcalloc(n + 1, 1);
    memset(text, ' ', n);
    struct transport_message m = {.text = text, .n = n, .id = "1", .method = "x"};
    TEST_CHECK(transport->ops->send(transport, &m, NULL) == 0);
    m.id = "2";
    TEST_CHECK(transport->ops->send(transport, &m, NULL) == 0);
    m.id = "3";
    m.n = 1;
    TEST_CHECK(transport->ops->send(transport, &m, NULL) == -EAGAIN);
    transport->ops->forget(transport, "1");
    TEST_CHECK(transport->ops->send(transport, &m, NULL) == 0);
    m.n = n + 1;
    TEST_CHECK(transport->ops->send(transport, &m, NULL) == -EMSGSIZE);
    xfree(text);
    close_it();
}

/* --- HTTP+SSE of 2024-11-05 ------------------------------------------------------------------ */

static void messages_are_posted_to_the_endpoint(void)
{
    answers[1] = answers[2] = answers[3] = EMPTY("202 Accepted");
    open_kind("/sse?k=secret", true);
    send_it("{\"i\":1}", "0", "initialize", NULL);
    send_it("{\"n\":1}", NULL, "notifications/initialized", NULL);
    send_it("{\"c\":1}", "1", "tools/list", NULL);
    wait_for(&asked, "GET /sse?k=secret  auth=secret;\n");
    struct fake_conn *stream = last;
    fake_say(stream, EVENTS("event: endpoint\ndata: /messages/?session_id=1\n\n"));
    wait_for(&asked, "\"c\"");
    expect(&asked, "GET /sse?k=secret  auth=secret;\n"
                   "POST /messages/?session_id=1 {\"i\":1} auth=secret;\n"
                   "POST /messages/?session_id=1 {\"n\":1} auth=secret;\n"
                   "POST /messages/?session_id=1 {\"c\":1} auth=secret;\n");
    fake_say(stream, "event: message\r\ndata: {\"id\":0,\"result\":1}\r\n\r\n");
    wait_for(&told, ">");
    answers[4] = EMPTY("500 Oops");
    send_call("2");
    wait_for(&told, "refused 2 500;");
    fake_end(stream);
    wait_for(&told, "closed;");
    TEST_CHECK(strstr(why.msg, "ended") != NULL);
    struct transport_message m = {.text = "{}", .n = 2};
    TEST_CHECK(transport->ops->send(transport, &m, NULL) == -EPIPE);
    close_it();
}

static void an_endpoint_elsewhere_closes_it(void)
{
    answers[0] = EVENTS("event: endpoint\ndata: http://evil.example/secret\n\n");
    open_kind("/sse", true);
    send_call("1");
    wait_for(&told, "closed;");
    TEST_CHECK(why.code == -EACCES);
    expect(&asked, "GET /sse  auth=secret;\n");
    close_it();
}

static void what_is_no_stream_closes_it(void)
{
    answers[0] = EMPTY("404 Not Found");
    open_kind("/sse", true);
    wait_for(&told, "closed;");
    TEST_CHECK(strstr(why.msg, "404") != NULL);
    close_it();
    buf_clear(&told);
    n_asked = 0;
    answers[0] = JSON("200 OK", 2, "{}");
    open_kind("/sse", true);
    wait_for(&told, "closed;");
    TEST_CHECK(strstr(why.msg, "no event stream") != NULL);
    close_it();
}

static void the_older_transport_may_be_closed_inside_an_event(void)
{
    answers[0] = EVENTS("event: endpoint\ndata: /m\n\ndata: {\"a\":1}\n\ndata: {\"b\":1}\n\n");
    close_at_message = true;
    open_kind("/sse", true);
    wait_for(&told, "a");
    loop_turn(loop, 10);
    expect(&told, "<{\"a\":1}>");
    close_it();
}

#define T(name) {#name, name}

TEST_LIST = {
    T(an_answer_may_be_json),
    T(a_trace_is_in_headers),
    T(a_session_lasts_from_initialize_to_close),
    T(a_session_that_has_ended_is_a_404),
    T(an_answer_may_be_an_event_stream),
    T(a_broken_stream_is_resumed),
    T(what_cannot_be_resumed_is_refused),
    T(resuming_has_an_end),
    T(an_error_of_json_rpc_is_a_message_whatever_its_id),
    T(other_answers_are_refused_with_their_status),
    T(who_cannot_be_reached_is_refused_without_a_status),
    T(the_modern_era_mirrors_and_has_no_session),
    T(forgetting_closes_the_connection),
    T(it_may_be_closed_or_a_request_forgotten_inside_an_event),
    T(the_stream_of_the_server_is_listened_to),
    T(large_messages_pass_and_over_the_limit_are_refused),
    T(what_waits_for_a_slow_server_is_bounded),
    T(messages_are_posted_to_the_endpoint),
    T(an_endpoint_elsewhere_closes_it),
    T(what_is_no_stream_closes_it),
    T(the_older_transport_may_be_closed_inside_an_event),
    {NULL, NULL},
};
