/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "fakes/fake_toolplane.h"
#include "front/toolserver/toolsock.h"

#define HELLO "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\",\"params\":{\"token\":\"a\"}}\n"
#define HELLO_B "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\",\"params\":{\"token\":\"b\"}}\n"
#define WELCOME "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n"
#define ASK(id, method, args)                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method                                      \
    "\",\"params\":{\"server_name\":\"x\",\"tool_name\":\"t\",\"tool_args\":" args "}}\n"
#define RUN(id) ASK(id, "run", "{}")
#define RESULT(id, text) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" text "}\n"
#define ERROR(id, code, text)                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"" text "\"}}\n"

static struct loop *loop;
static struct toolsock *sock;
static char dir[] = "/tmp/toolsock-XXXXXX";
static char path[64];
static int64_t fake_now = 1000;

static int64_t fake_clock(void)
{
    return fake_now;
}

static bool who(void *ctx, const char *token, const char **session)
{
    (void)ctx;
    *session = strcmp(token, "a") == 0 ? "session a" : "session b";
    return strcmp(token, "a") == 0 || strcmp(token, "b") == 0;
}

static void open_with(const char *may_reset)
{
    TEST_ASSERT(mkdtemp(dir) != NULL);
    (void)snprintf(path, sizeof path, "%s/tools.sock", dir);
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    loop_set_clock(loop, fake_clock);
    struct toolsock_config config = {
        .loop = loop, .path = path, .may_reset = may_reset, .who = who};
    TEST_ASSERT(toolsock_open(&config, &sock, NULL) == 0);
}

static void open_it(void)
{
    open_with(NULL);
}

static void close_it(void)
{
    sock = toolsock_close(sock);
    loop = loop_free(loop);
    TEST_CHECK(fake_toolplane.open == 0);
    fake_toolplane_clear();
    TEST_CHECK(rmdir(dir) == 0);
}

static void turn(void)
{
    for (int i = 0; i < 4; i++)
        loop_turn(loop, 0);
}

static int try_to_connect(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    TEST_ASSERT(connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to) == 0);
    turn();
    return fd;
}

static void say(int fd, const char *text)
{
    TEST_ASSERT(send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
    turn();
}

static void expect(int fd, const char *expected)
{
    char got[8192];
    turn();
    ssize_t n = read(fd, got, sizeof got - 1);
    got[n > 0 ? n : 0] = '\0';
    TEST_CHECK(strcmp(got, expected) == 0);
    TEST_MSG("expected: %s", expected);
    TEST_MSG("actual:   %s", got);
}

static bool is_closed(int fd)
{
    char byte;
    turn();
    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

static int connect_as(const char *hello)
{
    int fd = try_to_connect();
    say(fd, hello);
    expect(fd, WELCOME);
    return fd;
}

static void a_call_is_answered_with_its_result(void)
{
    open_it();
    int fd = connect_as(HELLO);
    say(fd, ASK("7", "run", "{ \"n\": 12345678901234567890.10, \"b\": [1 ] }"));
    TEST_CHECK(fake_toolplane.calls == 1);
    TEST_CHECK(fake_toolplane.role == TOOLPLANE_KERNEL);
    TEST_CHECK(strcmp(fake_toolplane.session, "session a") == 0);
    TEST_CHECK(strcmp(fake_toolplane.server, "x") == 0);
    TEST_CHECK(strcmp(fake_toolplane.tool, "t") == 0);
    TEST_CHECK(strcmp(fake_toolplane.params, "") == 0);
    TEST_CHECK(
        strcmp(fake_toolplane.arguments, "{ \"n\": 12345678901234567890.10, \"b\": [1 ] }") == 0);
    fake_toolplane.result = "{\"x\":12345678901234567890.10}";
    fake_toolplane_done(0, TOOLPLANE_OK, "");
    expect(fd, RESULT("7", "{\"result\":{\"x\":12345678901234567890.10}}"));
    fake_toolplane.result = NULL;
    fake_toolplane.content = "[{\"type\":\"image\"}]";
    say(fd, RUN("\"id\""));
    fake_toolplane_done(0, TOOLPLANE_OK, "");
    expect(fd, RESULT("\"id\"", "{\"result\":null,\"content\":[{\"type\":\"image\"}]}"));
    (void)fd_close(fd);
    close_it();
}

static void parameters_of_the_server_go_along(void)
{
    open_it();
    int fd = connect_as(HELLO_B);
    say(fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run\",\"params\":{\"server_name\":\"x\","
            "\"tool_name\":\"t\",\"tool_args\":{},\"server_params\":{\"command\":\"c\"}}}\n");
    TEST_CHECK(strcmp(fake_toolplane.params, "{\"command\":\"c\"}") == 0);
    TEST_CHECK(strcmp(fake_toolplane.session, "session b") == 0);
    (void)fd_close(fd);
    close_it();
}

static void failures_have_their_kind(void)
{
    open_it();
    int fd = connect_as(HELLO);
    say(fd, RUN("1"));
    fake_toolplane_done(0, TOOLPLANE_ERROR, "it broke");
    expect(fd, RESULT("1", "{\"error\":\"it broke\"}"));
    say(fd, RUN("2"));
    fake_toolplane_done(0, TOOLPLANE_REJECTED, "no");
    expect(fd, RESULT("2", "{\"error\":\"no\",\"type\":\"rejected\"}"));
    say(fd, RUN("3"));
    fake_toolplane_done(0, TOOLPLANE_TIMEOUT, "late");
    expect(fd, RESULT("3", "{\"error\":\"late\",\"type\":\"timeout\"}"));
    fake_toolplane.refuse = true;
    say(fd, RUN("4"));
    expect(fd, RESULT("4", "{\"error\":\"refused\"}"));
    (void)fd_close(fd);
    close_it();
}

static void approval_is_asked_for(void)
{
    open_it();
    int fd = connect_as(HELLO);
    say(fd, ASK("1", "approve", "{\"cmd\":\"ls\"}"));
    TEST_CHECK(fake_toolplane.approvals == 1);
    fake_toolplane_done(0, TOOLPLANE_OK, "");
    expect(fd, RESULT("1", "{\"approved\":true}"));
    say(fd, ASK("2", "approve", "{}"));
    fake_toolplane_done(0, TOOLPLANE_REJECTED, "no");
    expect(fd, RESULT("2", "{\"approved\":false,\"error\":\"no\",\"type\":\"rejected\"}"));
    fake_toolplane.refuse = true;
    say(fd, ASK("3", "approve", "{}"));
    expect(fd, RESULT("3", "{\"approved\":false,\"error\":\"refused\"}"));
    (void)fd_close(fd);
    close_it();
}

static void servers_are_told_with_their_states(void)
{
    open_it();
    int fd = connect_as(HELLO);
    fake_toolplane.failed = "it ended";
    say(fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"servers\",\"params\":{}}\n");
    expect(fd, RESULT("1", "{\"servers\":[{\"name\":\"demo\",\"state\":\"stopped\",\"tools\":1},"
                           "{\"name\":\"broken\",\"state\":\"failed\",\"tools\":0,"
                           "\"error\":\"it ended\"}]}"));
    fake_toolplane.failed = NULL;
    (void)fd_close(fd);
    close_it();
}

static void a_start_is_awaited(void)
{
    static const char await[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"await\","
                                "\"params\":{\"server_name\":\"demo\"}}\n";
    open_it();
    int fd = connect_as(HELLO);
    say(fd, await);
    TEST_CHECK(fake_toolplane.open == 1 && strcmp(fake_toolplane.server, "demo") == 0);
    fake_toolplane_done(0, TOOLPLANE_OK, "");
    expect(fd, RESULT("1", "{\"started\":true}"));
    say(fd, await);
    fake_toolplane_done(0, TOOLPLANE_ERROR, "it ended");
    expect(fd, RESULT("1", "{\"started\":false,\"error\":\"it ended\"}"));
    (void)fd_close(fd);
    close_it();
}

static void answers_come_in_any_order(void)
{
    open_it();
    int fd = connect_as(HELLO);
    say(fd, RUN("1") RUN("2") RUN("3"));
    fake_toolplane_done(1, TOOLPLANE_ERROR, "second");
    fake_toolplane_done(0, TOOLPLANE_ERROR, "third");
    fake_toolplane_done(0, TOOLPLANE_ERROR, "first");
    expect(fd, RESULT("2", "{\"error\":\"second\"}") RESULT("3", "{\"error\":\"third\"}")
                   RESULT("1", "{\"error\":\"first\"}"));
    (void)fd_close(fd);
    close_it();
}

static void a_cancelled_call_is_not_answered(void)
{
    open_it();
    int fd = connect_as(HELLO);
    say(fd, RUN("1") RUN("\"a\"") RUN("2"));
    say(fd, "{\"jsonrpc\":\"2.0\",\"method\":\"cancel\",\"params\":{\"id\":\"\\u0061\"}}\n"
            "{\"jsonrpc\":\"2.0\",\"method\":\"cancel\",\"params\":{\"id\":9}}\n"
            "{\"jsonrpc\":\"2.0\",\"method\":\"cancel\"}\n");
    TEST_CHECK(fake_toolplane.cancels == 1);
    TEST_CHECK(fake_toolplane.open == 2);
    expect(fd, "");
    (void)fd_close(fd);
    turn();
    TEST_CHECK(fake_toolplane.cancels == 3);
    close_it();
}

static void servers_are_stopped_where_code_may(void)
{
    open_it();
    int fd = connect_as(HELLO);
    say(fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"reset\"}\n");
    expect(fd, ERROR("1", "-32001",
                     "code of this session may not stop the MCP servers, which all sessions "
                     "share"));
    TEST_CHECK(fake_toolplane.resets == 0);
    (void)fd_close(fd);
    close_it();
    memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
    open_with("session a");
    fd = connect_as(HELLO);
    say(fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"reset\"}\n");
    expect(fd, RESULT("1", "{}"));
    TEST_CHECK(fake_toolplane.resets == 1);
    (void)fd_close(fd);
    fd = connect_as(HELLO_B);
    say(fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"reset\"}\n");
    expect(fd, ERROR("1", "-32001",
                     "code of this session may not stop the MCP servers, which all sessions share: "
                     "only that of the session session a"));
    TEST_CHECK(fake_toolplane.resets == 1);
    (void)fd_close(fd);
    close_it();
}

static void only_a_token_lets_in(void)
{
    open_it();
    int fd = try_to_connect();
    say(fd, RUN("1") HELLO RUN("2"));
    expect(fd, ERROR("1", "-32001", "hello must come first"));
    TEST_CHECK(is_closed(fd));
    (void)fd_close(fd);
    fd = try_to_connect();
    say(fd, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\",\"params\":{\"token\":\"c\"}}\n");
    expect(fd, ERROR("0", "-32001", "the token is not that of a kernel"));
    TEST_CHECK(is_closed(fd));
    (void)fd_close(fd);
    fd = try_to_connect();
    say(fd, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\"}\n");
    expect(fd, ERROR("0", "-32001", "the token is not that of a kernel"));
    TEST_CHECK(is_closed(fd));
    TEST_CHECK(fake_toolplane.calls == 0);
    (void)fd_close(fd);
    close_it();
}

static void who_says_nothing_is_sent_away(void)
{
    open_it();
    int quiet = try_to_connect(), known = connect_as(HELLO);
    fake_now += TOOLSOCK_HELLO_MS - 1;
    turn();
    TEST_CHECK(!is_closed(quiet));
    fake_now += 1;
    turn();
    TEST_CHECK(is_closed(quiet));
    TEST_CHECK(!is_closed(known));
    (void)fd_close(quiet);
    (void)fd_close(known);
    close_it();
}

static void strangers_make_room_for_new_ones(void)
{
    open_it();
    int fds[TOOLSOCK_STRANGERS_MAX], known = connect_as(HELLO);
    for (size_t i = 0; i < TOOLSOCK_STRANGERS_MAX; i++)
        fds[i] = try_to_connect();
    int last = connect_as(HELLO_B);
    TEST_CHECK(is_closed(fds[0]));
    TEST_CHECK(!is_closed(fds[1]));
    TEST_CHECK(!is_closed(known));
    for (size_t i = 0; i < TOOLSOCK_STRANGERS_MAX; i++)
        (void)fd_close(fds[i]);
    (void)fd_close(known);
    (void)fd_close(last);
    close_it();
}

static void a_token_has_its_share_of_connections(void)
{
    open_it();
    int fds[TOOLSOCK_PER_TOKEN_MAX];
    for (size_t i = 0; i < TOOLSOCK_PER_TOKEN_MAX; i++)
        fds[i] = connect_as(HELLO);
    int more = try_to_connect();
    say(more, HELLO);
    expect(more, ERROR("0", "-32002", "too many connections of this kernel"));
    TEST_CHECK(is_closed(more));
    int other = connect_as(HELLO_B);
    (void)fd_close(fds[0]);
    turn();
    fds[0] = connect_as(HELLO);
    for (size_t i = 0; i < TOOLSOCK_PER_TOKEN_MAX; i++)
        (void)fd_close(fds[i]);
    (void)fd_close(more);
    (void)fd_close(other);
    close_it();
}

static void broken_lines_are_answered(void)
{
    open_it();
    int fd = connect_as(HELLO);
    say(fd, "{\n");
    char got[512];
    TEST_CHECK(read(fd, got, sizeof got) > 0);
    TEST_CHECK(strncmp(got, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,", 50) ==
               0);
    say(fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"fly\"}\n");
    expect(fd, ERROR("1", "-32601", "Method not found"));
    say(fd, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"run\"}\n");
    expect(fd, ERROR("2", "-32602", "server_name: a string is needed"));
    say(fd, ASK("3", "run", "[1]"));
    expect(fd, ERROR("3", "-32602", "tool_args: an object is needed"));
    say(fd, HELLO);
    expect(fd, ERROR("0", "-32600", "Invalid Request: a second hello"));
    say(fd, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}\n"
            "{\"jsonrpc\":\"2.0\",\"method\":\"run\"}\n");
    expect(fd, "");
    TEST_CHECK(fake_toolplane.calls == 0);
    say(fd, RUN("5"));
    TEST_CHECK(fake_toolplane.calls == 1);
    (void)fd_close(fd);
    close_it();
}

static void bytes_that_are_no_json_go_nowhere(void)
{
    open_it();
    int fd = connect_as(HELLO);
    char lines[] = ASK("1", "run", "{\"a\":\"#\"}") ASK("2", "run", "{\"a\":#}");
    static const char odd[] = {'\0', '\r', '\1', '\xff'};
    for (size_t i = 0; i < sizeof odd; i++) {
        char said[sizeof lines];
        memcpy(said, lines, sizeof lines);
        for (char *c = said; (c = memchr(c, '#', sizeof said - (size_t)(c - said))) != NULL;)
            *c = odd[i];
        TEST_ASSERT(send(fd, said, sizeof said - 1, 0) == sizeof said - 1);
        turn();
        TEST_CHECK(fake_toolplane.calls == 0);
        TEST_MSG("%d: %s", odd[i], fake_toolplane.arguments);
    }
    (void)fd_close(fd);
    close_it();
}

/* Writes n times the byte, as much at a time as the other end takes. */
static void pour(int fd, char byte, size_t n)
{
    char bytes[65536];
    memset(bytes, byte, sizeof bytes);
    while (n > 0) {
        ssize_t r = send(fd, bytes, n < sizeof bytes ? n : sizeof bytes, MSG_NOSIGNAL);
        if (r < 0 && errno != EAGAIN)
            return;
        n -= r > 0 ? (size_t)r : 0;
        loop_turn(loop, 0);
    }
}

static void lines_have_a_limit(void)
{
    open_it();
    int fd = try_to_connect();
    pour(fd, 'x', TOOLSOCK_HELLO_MAX + 1);
    expect(fd, ERROR("null", "-32002", "the line is too long"));
    TEST_CHECK(is_closed(fd));
    (void)fd_close(fd);
    fd = connect_as(HELLO);
    pour(fd, 'x', TOOLSOCK_LINE_MAX + 1);
    expect(fd, ERROR("null", "-32002", "the line is too long"));
    TEST_CHECK(is_closed(fd));
    (void)fd_close(fd);
    close_it();
}

static void a_long_line_arrives(void)
{
    open_it();
    int fd = connect_as(HELLO);
    say(fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run\",\"params\":{\"server_name\":\"x\","
            "\"tool_name\":\"t\",\"tool_args\":{\"a\":\"");
    pour(fd, 'x', 8 << 20);
    say(fd, "\"}}}\n");
    TEST_CHECK(fake_toolplane.calls == 1);
    TEST_CHECK(strlen(fake_toolplane.arguments) == (8 << 20) + 8);
    (void)fd_close(fd);
    close_it();
}

static void a_token_has_its_share_of_memory(void)
{
    open_it();
    int fds[5], other = connect_as(HELLO_B);
    size_t closed = 0;
    for (size_t i = 0; i < 5; i++) {
        fds[i] = connect_as(HELLO);
        pour(fds[i], 'x', TOOLSOCK_LINE_MAX - 1);
    }
    for (size_t i = 0; i < 5; i++) {
        char byte;
        closed += recv(fds[i], &byte, 1, MSG_DONTWAIT) == 1;
        (void)fd_close(fds[i]);
    }
    TEST_CHECK(closed == 1);
    say(other, RUN("1"));
    TEST_CHECK(fake_toolplane.calls == 1);
    (void)fd_close(other);
    close_it();
}

static void a_connection_has_its_share_of_calls(void)
{
    open_it();
    int fd = connect_as(HELLO);
    for (size_t i = 0; i < TOOLSOCK_CALLS_MAX; i++)
        say(fd, RUN("1"));
    expect(fd, "");
    say(fd, RUN("2"));
    expect(fd, ERROR("2", "-32002", "too many calls at a time on this connection"));
    fake_toolplane_done(0, TOOLPLANE_ERROR, "e");
    expect(fd, RESULT("1", "{\"error\":\"e\"}"));
    say(fd, RUN("3"));
    expect(fd, "");
    (void)fd_close(fd);
    close_it();
}

static void who_does_not_read_is_not_read(void)
{
    open_it();
    int slow = connect_as(HELLO), other = connect_as(HELLO);
    drop_str char *text = xcalloc(1, TOOLSOCK_BACKLOG + 3);
    memset(text, 'x', TOOLSOCK_BACKLOG + 2);
    text[0] = text[TOOLSOCK_BACKLOG + 1] = '"';
    fake_toolplane.result = text;
    say(slow, RUN("1") RUN("2"));
    fake_toolplane_done(0, TOOLPLANE_OK, "");
    fake_toolplane_done(0, TOOLPLANE_OK, "");
    say(slow, RUN("3"));
    TEST_CHECK(fake_toolplane.calls == 2);
    say(other, RUN("4"));
    TEST_CHECK(fake_toolplane.calls == 3);
    char bytes[65536];
    size_t got = 0;
    for (ssize_t n; (n = read(slow, bytes, sizeof bytes)) > 0; got += (size_t)n)
        turn();
    TEST_CHECK(got > 2 * TOOLSOCK_BACKLOG);
    TEST_CHECK(fake_toolplane.calls == 4);
    (void)fd_close(slow);
    (void)fd_close(other);
    close_it();
}

static void an_answer_that_is_too_long_is_replaced(void)
{
    open_it();
    int fd = connect_as(HELLO);
    drop_str char *text = xcalloc(1, TOOLSOCK_LINE_MAX + 1);
    memset(text, '1', TOOLSOCK_LINE_MAX);
    fake_toolplane.result = text;
    say(fd, RUN("1"));
    fake_toolplane_done(0, TOOLPLANE_OK, "");
    expect(fd, RESULT("1", "{\"error\":\"the answer was dropped: it is over 64 MiB long\"}"));
    (void)fd_close(fd);
    close_it();
}

static void without_descriptors_it_waits(void)
{
    open_it();
    struct rlimit before, few = {.rlim_cur = 0};
    TEST_ASSERT(getrlimit(RLIMIT_NOFILE, &before) == 0);
    few.rlim_max = before.rlim_max;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    TEST_ASSERT(setrlimit(RLIMIT_NOFILE, &few) == 0);
    TEST_ASSERT(connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to) == 0);
    turn();
    TEST_ASSERT(setrlimit(RLIMIT_NOFILE, &before) == 0);
    say(fd, HELLO);
    expect(fd, "");
    fake_now += 1000;
    expect(fd, WELCOME);
    (void)fd_close(fd);
    close_it();
}

static void a_revoked_token_ends_its_connections(void)
{
    open_it();
    int a = connect_as(HELLO), b = connect_as(HELLO_B);
    say(a, RUN("1"));
    toolsock_revoke(sock, "a");
    TEST_CHECK(fake_toolplane.cancels == 1);
    TEST_CHECK(is_closed(a));
    TEST_CHECK(!is_closed(b));
    (void)fd_close(a);
    (void)fd_close(b);
    close_it();
}

static void closing_cancels(void)
{
    open_it();
    int fd = connect_as(HELLO);
    say(fd, RUN("1"));
    sock = toolsock_close(sock);
    TEST_CHECK(fake_toolplane.cancels == 1);
    TEST_CHECK(is_closed(fd));
    (void)fd_close(fd);
    close_it();
}

TEST_LIST = {
    {"a call is answered with its result", a_call_is_answered_with_its_result},
    {"parameters of the server go along", parameters_of_the_server_go_along},
    {"failures have their kind", failures_have_their_kind},
    {"approval is asked for", approval_is_asked_for},
    {"servers are told with their states", servers_are_told_with_their_states},
    {"a start is awaited", a_start_is_awaited},
    {"answers come in any order", answers_come_in_any_order},
    {"a cancelled call is not answered", a_cancelled_call_is_not_answered},
    {"servers are stopped where code may", servers_are_stopped_where_code_may},
    {"only a token lets in", only_a_token_lets_in},
    {"who says nothing is sent away", who_says_nothing_is_sent_away},
    {"strangers make room for new ones", strangers_make_room_for_new_ones},
    {"a token has its share of connections", a_token_has_its_share_of_connections},
    {"broken lines are answered", broken_lines_are_answered},
    {"bytes that are no JSON go nowhere", bytes_that_are_no_json_go_nowhere},
    {"lines have a limit", lines_have_a_limit},
    {"a long line arrives", a_long_line_arrives},
    {"a token has its share of memory", a_token_has_its_share_of_memory},
    {"a connection has its share of calls", a_connection_has_its_share_of_calls},
    {"who does not read is not read", who_does_not_read_is_not_read},
    {"an answer that is too long is replaced", an_answer_that_is_too_long_is_replaced},
    {"without descriptors it waits", without_descriptors_it_waits},
    {"a revoked token ends its connections", a_revoked_token_ends_its_connections},
    {"closing cancels", closing_cancels},
    {NULL, NULL},
};
