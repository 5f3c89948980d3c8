/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/front/httptest.h"

#include "base/json/json.h"
#include "fakes/fake_toolplane.h"
#include "front/http/http_auth.h"
#include "front/toolserver/toolserver.h"
#include "front/toolserver/toolserver_wire.h"

struct golden {
    const char *name, *method, *path, *type, *body;
    int status;
    const char *answer_type, *answer;
};

static const struct golden golden[] = {
#include "golden/toolserver/wire.inc"
};

#define GOLDEN_COUNT (sizeof golden / sizeof *golden)
#define HUMAN "Authorization: Bearer HUMAN\r\n"
#define AUTH(token) "Host: localhost\r\nAuthorization: Bearer " token "\r\n"

static struct toolserver *server;
static struct approvals *approvals;
static int verdicts[4];
static bool kernel_ended;
static char why[4][128];

static bool is_kernel(void *ctx, const char *token, const char **session)
{
    (void)ctx;
    *session = "s1";
    return !kernel_ended && strcmp(token, "KERN") == 0;
}

static bool opens, is_open; /* the next server is, and lets this connection in */

static bool is_open_to(void *ctx, int fd)
{
    (void)ctx;
    TEST_CHECK(fd > 2);
    return is_open;
}

static void open_it(void)
{
    static const char *const applications[] = {"APP", "BOTH", NULL};
    static const char *const approvers[] = {"HUMAN", "BOTH", NULL};
    open_loop();
    struct approvals_config asked = {.loop = loop, .ask_by_default = true};
    TEST_ASSERT(approvals_open(&asked, &approvals, NULL) == 0);
    struct toolserver_config config = {.loop = loop,
                                       .approvals = approvals,
                                       .host = "localhost",
                                       .instance = "here",
                                       .applications = applications,
                                       .approvers = approvers,
                                       .application_session = "main",
                                       .kernel_token = is_kernel,
                                       .open_to = opens ? is_open_to : NULL};
    TEST_ASSERT(toolserver_open(&config, &server, NULL) == 0);
    port = toolserver_port(server);
    memset(verdicts, -1, sizeof verdicts);
}

static void close_it(void)
{
    server = toolserver_close(server);
    TEST_CHECK(fake_toolplane.open == 0);
    approvals = approvals_close(approvals);
    fake_toolplane_clear();
    close_loop();
}

/* Sends the request and, when it has reached the tools, answers as they did for the golden one. */
static void play(const struct golden *g)
{
    drop_buf struct buf text = BUF_INIT(1 << 16);
    const char *body = g->body ? g->body : "";
    (void)buf_addf(&text, "%s %s HTTP/1.1\r\n" AUTH("APP"), g->method, g->path);
    if (*g->type)
        (void)buf_addf(&text, "Content-Type: %s\r\n", g->type);
    if (g->body)
        (void)buf_addf(&text, "Content-Length: %zu\r\n", strlen(body));
    (void)buf_addf(&text, "\r\n%s", body);
    int fd = dial();
    say(fd, text.data);
    drop_json struct json *expected =
        json_parse_copy(g->answer, strlen(g->answer), JSON_STRICT, NULL);
    const char *error = json_get_text(expected, "error"), *type = json_get_text(expected, "type");
    drop_str char *result = json_print(json_get(expected, "result"));
    fake_toolplane.result = result;
    if (fake_toolplane.open > 0)
        fake_toolplane_done(0,
                            type && strcmp(type, "rejected") == 0  ? TOOLPLANE_REJECTED
                            : type && strcmp(type, "timeout") == 0 ? TOOLPLANE_TIMEOUT
                            : error                                ? TOOLPLANE_ERROR
                                                                   : TOOLPLANE_OK,
                            error ? error : "");
    (void)hear(fd);
    fake_toolplane.result = NULL;
    (void)fd_close(fd);
    turn();
}

static void answers_are_those_of_the_old_server_byte_for_byte(void)
{
    char head[64];
    open_it();
    for (size_t i = 0; i < GOLDEN_COUNT; i++) {
        const struct golden *g = &golden[i];
        TEST_CASE(g->name);
        play(g);
        (void)snprintf(head, sizeof head, "HTTP/1.1 %d ", g->status);
        check_head(head);
        (void)snprintf(head, sizeof head, "Content-Type: %s\r\n", g->answer_type);
        check_has(head);
        TEST_CHECK(strcmp(body_of(), g->answer) == 0);
        TEST_MSG("expected: %s\nactual:   %s", g->answer, body_of());
    }
    TEST_CHECK(fake_toolplane.resets == 1);
    close_it();
}

static void answers_name_the_server_and_requests_may(void)
{
    open_it();
    ask("GET /nothing HTTP/1.1\r\n" AUTH("APP") "\r\n");
    check_head("HTTP/1.1 404 ");
    check_has("\r\nIpybox-Instance: here\r\n");
    ask("PUT /reset HTTP/1.1\r\n" AUTH("APP") "Ipybox-Instance: there\r\n\r\n");
    check_head("HTTP/1.1 421 ");
    check_has("\r\nIpybox-Owner: there\r\n");
    close_it();
}

static void arguments_are_handed_on_as_they_were_written(void)
{
    static const char body[] =
        "{\"server_name\":\"a\",\"tool_args\":{\"n\": 12345678901234567890123, \"f\": 1.0,\n"
        "\"u\":\"\\u00fc\"},\"tool_name\":\"t\",\"server_params\":{\"command\":\"x\"}}";
    open_it();
    int fd = dial();
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "POST /run HTTP/1.1\r\n" AUTH("KERN") "Content-Length: %zu\r\n\r\n%s",
                   strlen(body), body);
    say(fd, text);
    TEST_CHECK(fake_toolplane.calls == 1 && fake_toolplane.role == TOOLPLANE_KERNEL);
    TEST_CHECK(strcmp(fake_toolplane.session, "s1") == 0);
    TEST_CHECK(strcmp(fake_toolplane.arguments,
                      "{\"n\": 12345678901234567890123, \"f\": 1.0, \"u\":\"\\u00fc\"}") == 0);
    TEST_CHECK(strcmp(fake_toolplane.params, "{\"command\":\"x\"}") == 0);
    (void)fd_close(fd); /* its caller is gone: so is the call */
    turn();
    TEST_CHECK(fake_toolplane.cancels == 1 && fake_toolplane.open == 0);
    fake_toolplane.refuse = true;
    ask(text);
    TEST_CHECK(strcmp(body_of(), "{\"error\":\"refused\"}") == 0);
    fd = dial();
    say(fd, text);
    server = toolserver_close(server);
    TEST_CHECK(fake_toolplane.open == 0);
    (void)fd_close(fd);
    close_it();
}

#define NO_ARGS "{\"server_name\":\"a\",\"tool_name\":\"t\",\"server_params\":{},\"tool_args\":{}}"
#define CALL(path, token)                                                                          \
    "POST " path " HTTP/1.1\r\n" AUTH(token) "Content-Length: 69\r\n\r\n" NO_ARGS

static void every_token_has_its_roles(void)
{
    static const struct {
        const char *text;
        const char *head;
    } cases[] = {
        {"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200 "},
        {"PUT /reset HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 401 "},
        {"PUT /reset HTTP/1.1\r\n" AUTH("KERN") "\r\n", "HTTP/1.1 403 "},
        {"PUT /reset HTTP/1.1\r\n" AUTH("HUMAN") "\r\n", "HTTP/1.1 403 "},
        {"PUT /reset HTTP/1.1\r\n" AUTH("BOTH") "\r\n", "HTTP/1.1 200 "},
        {CALL("/run", "HUMAN"), "HTTP/1.1 403 "},
        {CALL("/run", "WRONG"), "HTTP/1.1 401 "},
        {CALL("/approve", "HUMAN"), "HTTP/1.1 403 "},
        {"GET /approval HTTP/1.1\r\n" WS_HEAD "\r\n", "HTTP/1.1 401 "},
        {"GET /approval HTTP/1.1\r\nAuthorization: Bearer KERN\r\n" WS_HEAD "\r\n",
         "HTTP/1.1 403 "},
        {"GET /approval HTTP/1.1\r\nAuthorization: Bearer APP\r\n" WS_HEAD "\r\n", "HTTP/1.1 403 "},
        {"GET /approval HTTP/1.1\r\nAuthorization: Bearer BOTH\r\n" WS_HEAD "\r\n",
         "HTTP/1.1 101 "},
        {"HEAD /approval HTTP/1.1\r\nAuthorization: Bearer HUMAN\r\n" WS_HEAD "\r\n",
         "HTTP/1.1 426 "},
        {"GET /approval HTTP/1.1\r\n" HUMAN "Origin: http://evil.example\r\n" WS_HEAD "\r\n",
         "HTTP/1.1 403 "},
        {"GET /approval?token=HUMAN HTTP/1.1\r\n" WS_HEAD "\r\n", "HTTP/1.1 401 "},
        {"GET /approval HTTP/1.1\r\n" HUMAN "Authorization: Bearer KERN\r\n" WS_HEAD "\r\n",
         "HTTP/1.1 401 "},
        {"GET /%61pproval HTTP/1.1\r\nAuthorization: Bearer KERN\r\n" WS_HEAD "\r\n",
         "HTTP/1.1 403 "},
        {"GET /approval/ HTTP/1.1\r\nAuthorization: Bearer KERN\r\n" WS_HEAD "\r\n",
         "HTTP/1.1 404 "},
        /* x:HUMAN, as clients send what stands in a URL */
        {"GET /approval HTTP/1.1\r\nAuthorization: Basic eDpIVU1BTg==\r\n" WS_HEAD "\r\n",
         "HTTP/1.1 101 "},
    };
    open_it();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE(cases[i].text);
        ask(cases[i].text);
        check_head(cases[i].head);
    }
    TEST_CHECK(fake_toolplane.calls == 0 && fake_toolplane.approvals == 0);
    ask("PUT /reset HTTP/1.1\r\nHost: localhost\r\n\r\n");
    check_has("WWW-Authenticate: Bearer ");
    check_has("{\"detail\":\"a token is needed: ");
    int fd = dial();
    say(fd, CALL("/approve", "KERN"));
    TEST_CHECK(fake_toolplane.approvals == 1 && fake_toolplane.role == TOOLPLANE_KERNEL);
    say(fd, "");
    (void)fd_close(fd);
    turn();
    close_it();
}

static void a_token_is_looked_at_again_when_the_body_is_there(void)
{
    static const char text[] = CALL("/run", "KERN");
    open_it();
    int fd = dial();
    say_n(fd, text, sizeof text - 2);
    kernel_ended = true;
    say(fd, "}");
    (void)hear(fd);
    check_head("HTTP/1.1 401 ");
    TEST_CHECK(fake_toolplane.calls == 0);
    (void)fd_close(fd);
    close_it();
}

static void no_answer_goes_to_a_caller_that_has_left(void)
{
    open_it();
    int fds[8];
    for (int i = 0; i < 8; i++) {
        fds[i] = dial();
        say(fds[i], CALL("/run", "KERN"));
        say(fds[i], "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n"); /* it comes early */
    }
    TEST_CHECK(fake_toolplane.open == 8);
    for (int i = 0; i < 8; i += 2) { /* a reset: an end of its side would not show behind that */
        struct linger linger = {.l_onoff = 1};
        (void)setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
        (void)fd_close(fds[i]);
    }
    fake_toolplane_done(3, TOOLPLANE_OK, ""); /* before the loop has seen it */
    turn();
    TEST_CHECK(fake_toolplane.open + (size_t)fake_toolplane.cancels == 7);
    while (fake_toolplane.open > 0)
        fake_toolplane_done(0, TOOLPLANE_ERROR, "late");
    for (int i = 1; i < 8; i += 2) {
        (void)hear(fds[i]);
        check_head("HTTP/1.1 200 ");
        check_has("{\"status\":\"ok\"}");
        (void)fd_close(fds[i]);
    }
    close_it();
}

/* --- the approval channel --------------------------------------------------------------------- */

static void on_decided(void *ctx, enum approval_verdict verdict, const char *reason)
{
    size_t i = (size_t)(uintptr_t)ctx;
    verdicts[i] = (int)verdict;
    (void)snprintf(why[i], sizeof why[i], "%s", reason);
}

static void want(size_t i, const char *arguments)
{
    struct approval *a = NULL;
    struct approval_subject subject = {.session = "s1",
                                       .server = "peer",
                                       .shown = "python",
                                       .tool = "texts",
                                       .arguments = arguments,
                                       .digest = ""};
    TEST_CHECK(approvals_ask(approvals, &subject, on_decided, (void *)(uintptr_t)i, &a, NULL) == 0);
    turn();
}

static int approver(void)
{
    int fd = dial();
    say(fd, "GET /approval HTTP/1.1\r\nAuthorization: Bearer HUMAN\r\n" WS_HEAD "\r\n");
    return fd;
}

static void reply(int fd, const char *id, const char *result)
{
    char text[256];
    int n = snprintf(text, sizeof text, "{\"jsonrpc\": \"2.0\", \"result\": %s, \"id\": \"%s\"}",
                     result, id);
    say_frame(fd, 0x81, text, (size_t)n);
}

/* The id in the request that was heard; the rest is as the old server wrote it. */
static void take_id(const char *arguments, char id[64])
{
    drop_buf struct buf expected = BUF_INIT(4096);
    const char *at = got.len > 0 ? memmem(got.data, got.len, "\"id\":\"", 6) : NULL;
    TEST_ASSERT(at != NULL); /* a frame's head may hold a 0 */
    (void)snprintf(id, 64, "%.*s", (int)strcspn(at + 6, "\""), at + 6);
    (void)buf_addf(
        &expected,
        "{\"jsonrpc\":\"2.0\",\"method\":\"approve\",\"params\":{\"server_name\":\"peer\","
        "\"tool_name\":\"texts\",\"tool_args\":%s,\"server_shown\":\"python\"},\"id\":\"%s\"}",
        arguments, id);
    check_has(expected.data);
}

static void an_approver_accepts_and_rejects(void)
{
    char id[64];
    open_it();
    int fd = approver();
    (void)hear(fd);
    check_head("HTTP/1.1 101 ");
    want(0, "{\"a\": \"\\u00fc\", \"b\": [1, 2.50, null], \"c\": {}}");
    (void)hear(fd);
    take_id("{\"a\":\"\303\274\",\"b\":[1,2.50,null],\"c\":{}}", id);
    reply(fd, id, "true");
    TEST_CHECK(verdicts[0] == APPROVAL_ACCEPTED);
    want(1, "{\"cmd\":\"echo \\\"\303\274\\\"\\n\"}");
    (void)hear(fd);
    take_id("{\"cmd\":\"echo \\\"\303\274\\\"\\n\"}", id);
    reply(fd, "another", "true");
    TEST_CHECK(verdicts[1] == -1);
    reply(fd, id, "false");
    TEST_CHECK(verdicts[1] == APPROVAL_REJECTED);
    reply(fd, id, "true"); /* too late, and no reason to close */
    want(2, "{}");
    TEST_CHECK(!hear(fd));
    check_has("texts");
    (void)fd_close(fd);
    turn();
    TEST_CHECK(verdicts[2] == APPROVAL_FAILED);
    TEST_CHECK(strcmp(why[2], "Approval channel disconnected") == 0);
    TEST_MSG("%s", why[2]);
    close_it();
}

static void junk_on_the_channel_closes_it_and_no_more(void)
{
    static const char *const junk[] = {"junk",
                                       "{}",
                                       "[1]",
                                       "{\"id\":1,\"result\":true}",
                                       "{\"id\":\"x\",\"result\":\"true\"}",
                                       "{\"id\":\"x\",\"result\":1}"};
    open_it();
    for (size_t i = 0; i < sizeof junk / sizeof *junk; i++) {
        TEST_CASE(junk[i]);
        int fd = approver();
        (void)hear(fd);
        check_head("HTTP/1.1 101 ");
        say_frame(fd, 0x81, junk[i], strlen(junk[i]));
        (void)hear(fd);
        TEST_CHECK(got.len > 4 && memcmp(got.data + 2, "\x03\xef", 2) == 0);
        (void)fd_close(fd);
        turn();
    }
    ask("GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
    check_head("HTTP/1.1 200 ");
    want(0, "{}");
    TEST_CHECK(verdicts[0] == APPROVAL_FAILED);
    TEST_CHECK(strcmp(why[0], "Approval channel not connected") == 0);
    close_it();
}

static void a_second_approver_waits_for_the_first_to_leave(void)
{
    open_it();
    int first = approver(), second = approver(), third = approver();
    (void)hear(first);
    check_head("HTTP/1.1 101 ");
    TEST_CHECK(!hear(second) && got.len == 0);
    (void)fd_close(first);
    turn();
    (void)hear(second);
    check_head("HTTP/1.1 101 ");
    TEST_CHECK(!hear(third) && got.len == 0);
    pass(TOOLSERVER_JOIN_MS);
    (void)hear(third);
    check_head("HTTP/1.1 403 ");
    check_has("Timed out waiting for previous connection to close");
    int fourth = approver();
    (void)fd_close(fourth); /* who waits may leave */
    turn();
    want(0, "{}");
    (void)hear(second);
    check_has("approve");
    (void)fd_close(second);
    (void)fd_close(third);
    close_it();
}

static void faults_are_found_where_python_finds_them(void)
{
    static const struct {
        const char *text;
        size_t at;
        const char *fault;
    } cases[] = {
        {"{\"a\": 01}", 7, "Expecting ',' delimiter"},
        {"[1, -]", 4, "Expecting value"},
        {"[1.]", 2, "Expecting ',' delimiter"},
        {"[[[[{\"a\":[tru]}]]]]", 10, "Expecting value"},
        {"\"\\", 0, "Unterminated string starting at"},
        {"{\"a\":1} x", 8, "Extra data"},
        {"{,}", 1, "Expecting property name enclosed in double quotes"},
        {"", 0, "Expecting value"},
        {"{", 1, "Expecting property name enclosed in double quotes"},
        {"[", 1, "Expecting value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t at = 99;
        TEST_CASE(cases[i].text);
        const char *fault = toolserver_json_fault(cases[i].text, strlen(cases[i].text), &at);
        TEST_CHECK(at == cases[i].at && strcmp(fault, cases[i].fault) == 0);
        TEST_MSG("%s at %zu", fault, at);
    }
    static char deep[100000];
    size_t at = 0;
    memset(deep, '[', sizeof deep);
    TEST_CHECK(toolserver_json_fault(deep, sizeof deep, &at) != NULL);
}

#define TEST(name) {#name, name}
static void an_open_server_asks_its_owner_about_who_brings_no_token(void)
{
    static const char call_text[] = "{\"server_name\":\"a\",\"tool_name\":\"t\","
                                    "\"tool_args\":{},\"server_params\":{\"command\":\"x\"}}";
    drop_str char *request =
        xasprintf("POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                  "Content-Length: %zu\r\n\r\n%s",
                  strlen(call_text), call_text);
    opens = is_open = true;
    open_it();
    int fd = dial();
    say(fd, request);
    TEST_CHECK(fake_toolplane.open == 1);
    TEST_CHECK(fake_toolplane.role == TOOLPLANE_APPLICATION);
    fake_toolplane_done(0, TOOLPLANE_OK, "");
    (void)hear(fd);
    check_head("HTTP/1.1 200 ");
    (void)fd_close(fd);
    fd = dial();
    say(fd, "PUT /reset HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer X\r\n\r\n");
    (void)hear(fd);
    check_head("HTTP/1.1 401 "); /* a wrong token is no better there */
    (void)fd_close(fd);
    fd = dial();
    say(fd, "PUT /reset HTTP/1.1\r\nHost: localhost\r\nX-Ipybox-Token: X\r\n\r\n");
    (void)hear(fd);
    check_head("HTTP/1.1 401 ");
    (void)fd_close(fd);
    fd = dial();
    say(fd, "PUT /reset HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n");
    (void)hear(fd);
    check_head("HTTP/1.1 403 "); /* nor is a web page in the user's browser */
    (void)fd_close(fd);
    is_open = false;
    fd = dial();
    say(fd, request);
    (void)hear(fd);
    check_head("HTTP/1.1 401 ");
    check_has("not for code in kernels");
    (void)fd_close(fd);
    fd = dial();
    say(fd, "PUT /reset HTTP/1.1\r\n" AUTH("APP") "\r\n");
    (void)hear(fd);
    check_head("HTTP/1.1 200 "); /* tokens go on working */
    (void)fd_close(fd);
    opens = false;
    close_it();
}

TEST_LIST = {
    {"answers name the server, and requests may", answers_name_the_server_and_requests_may},
    {"an_open_server_asks_its_owner_about_who_brings_no_token",
     an_open_server_asks_its_owner_about_who_brings_no_token},
    TEST(answers_are_those_of_the_old_server_byte_for_byte),
    TEST(arguments_are_handed_on_as_they_were_written),
    TEST(every_token_has_its_roles),
    TEST(a_token_is_looked_at_again_when_the_body_is_there),
    TEST(no_answer_goes_to_a_caller_that_has_left),
    TEST(an_approver_accepts_and_rejects),
    TEST(junk_on_the_channel_closes_it_and_no_more),
    TEST(a_second_approver_waits_for_the_first_to_leave),
    TEST(faults_are_found_where_python_finds_them),
    {NULL, NULL},
};
