/* SPDX-License-Identifier: Apache-2.0
 *
 * The door of agent-sandbox over a real session, a real workspace and real programs; the kernel is
 * played. What its clients do is tests/peer/test_agentsandbox*.py's. */
#include <acutest.h>

#include "unit/become_shim.h"
#include "unit/files/scratch.h"
#include "unit/front/httptest.h"
#include "unit/guard.h"

#include "base/clock.h"
#include "fakes/fake_kernel.h"
#include "front/agentsandbox/agentsandbox_internal.h"
#include "front/grpc/protobuf.h"
#include "front/http/listener.h"

static struct session_config session_config;
static struct sessions *sessions;
static struct spawner *spawner;
static struct agentsandbox *door;
static char workspace[64];
static int fds_open, runtime_port, rest_port, calls_port;
static bool without_token, is_given;

static void log_nothing(enum log_level level, const char *text)
{
    (void)level, (void)text;
}

/* A port that is ours until the test ends: what holds it does not listen. */
static int own_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    const int on = 1, held = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TEST_ASSERT(setsockopt(held, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    TEST_ASSERT(bind(held, (struct sockaddr *)(void *)&at, n) == 0);
    TEST_ASSERT(getsockname(held, (struct sockaddr *)(void *)&at, &n) == 0);
    return ntohs(at.sin_port);
}

static void open_all(void)
{
    static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
    struct err e = ERR_NONE;
    open_place();
    open_loop();
    (void)umask(022);
    fake = (struct fake_kernel){0};
    (void)snprintf(workspace, sizeof workspace, "%s/w", top);
    TEST_ASSERT(spawner_new(loop, &spawner, &e) == 0);
    session_config = (struct session_config){
        .kernel = {.loop = loop, .spawner = spawner, .envp = env, .cwd = workspace},
        .workspace = workspace,
        .interrupt_grace_ms = 5000,
        .event_memory = 1 << 20,
        .history_memory = 1 << 20,
        .log = log_nothing};
    const struct sessions_config all = {.base = &session_config, .max = 3};
    TEST_ASSERT(sessions_open(&all, &sessions, &e) == 0);
    runtime_port = own_port();
    rest_port = own_port();
    calls_port = own_port();
    const struct agentsandbox_config config = {.loop = loop,
                                               .sessions = sessions,
                                               .workspace = workspace,
                                               .host = "127.0.0.1",
                                               .port = runtime_port,
                                               .given = is_given,
                                               .rest_port = rest_port,
                                               .grpc_port = calls_port,
                                               .instance = "here",
                                               .token = without_token ? NULL : "secret"};
    TEST_ASSERT_(agentsandbox_open(&config, &door, &e) == 0, "%s", e.msg);
    TEST_CHECK(h2_port(grpc_h2(door->grpc)) == calls_port);
    turn();
    fds_open = count_fds();
}

static void close_all(void)
{
    for (int64_t until = clock_ms() + GUARD_MS; count_fds() > fds_open && clock_ms() < until;)
        turn();
    TEST_CHECK(count_fds() <= fds_open); /* of requests and commands none is left */
    TEST_MSG("%d descriptors more", count_fds() - fds_open);
    TEST_CHECK(door->outputs == 0 && h2_busy(grpc_h2(door->grpc)) == 0);
    door = agentsandbox_close(door);
    sessions = sessions_close(sessions);
    spawner = spawner_free(spawner, 5000);
    close_loop();
    fds_before = count_fds() - 1; /* that of the workspace; libwebsockets keeps one for itself */
    close_place();
}

/* --- HTTP ------------------------------------------------------------------------------------- */

/* What the answer begins with, and holds. */
static void expect_of(int at, const char *line, const char *head, const char *body,
                      const char *status, const char *holds)
{
    port = at;
    drop_str char *text =
        xasprintf("%s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %zu\r\n\r\n%s", line,
                  without_token ? head : "X-Ipybox-Token: secret\r\n", strlen(body), body);
    drop_str char *first = xasprintf("HTTP/1.1 %s ", status);
    int fd = dial();
    say(fd, text);
    buf_clear(&got);
    for (int64_t until = clock_ms() + GUARD_MS; got.len == 0 && clock_ms() < until;)
        (void)hear(fd);
    (void)fd_close(fd);
    turn();
    TEST_CASE(line);
    check_head(first);
    check_has(holds);
}

#define RUNTIME(line, body, status, holds) expect_of(runtime_port, line, "", body, status, holds)
#define REST(line, body, status, holds) expect_of(rest_port, line, "", body, status, holds)

static void each_contract_has_its_port_and_its_errors(void)
{
    open_all();
    RUNTIME("GET /", "", "200", "{\"status\":\"ok\",\"message\":\"Sandbox Runtime is active.\"}");
    RUNTIME("GET /v1/health", "", "404", "{\"message\":");
    RUNTIME("GET /none", "", "404", "\r\nIpybox-Instance: here\r\n");
    REST("GET /v1/health", "", "200", "{\"status\":\"ok\",\"uptime_seconds\":0}");
    REST("GET /v1/metadata", "", "200", "{\"env\":{}}");
    REST("POST /execute", "{}", "404", "{\"code\":\"NOT_FOUND\",\"message\":");
    REST("POST /v1/files/a", "", "405", "{\"code\":\"UNIMPLEMENTED\"");
    close_all();
}

static void on_accepted(void *ctx, int fd, const struct sockaddr *from, socklen_t n)
{
    (void)ctx;
    agentsandbox_take(door, fd, from, n);
}

static void another_door_may_listen_at_the_runtimes_port(void)
{
    struct listener *listener = NULL;
    struct err e = ERR_NONE;
    is_given = true;
    open_all();
    int r = listener_open(loop, "127.0.0.1", runtime_port, NULL, on_accepted, NULL, &listener, &e);
    TEST_ASSERT_(r == 0, "%s", e.msg);
    fds_open = count_fds();
    RUNTIME("GET /", "", "200", "Sandbox Runtime is active.");
    RUNTIME("POST /execute", "{\"command\":\"echo $((6*7))\"}", "200", "{\"stdout\":\"42\\n\"");
    REST("GET /v1/health", "", "200", "{\"status\":\"ok\"");
    listener = listener_close(listener);
    close_all();
}

static void what_execute_is_asked_for_is_read_closely(void)
{
    static const char *const wrong[] = {
        "",
        "nope",
        "[]",
        "{}",
        "{\"command\":1}",
        "{\"command\":\"a\",\"timeout_seconds\":\"5\"}",
        "{\"command\":\"a\",\"timeout_seconds\":0}",
        "{\"command\":\"a\",\"timeout_seconds\":1e300}",
        "{\"command\":\"a\\u0000b\"}",
    };
    open_all();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        RUNTIME("POST /execute", wrong[i], "400", "{\"message\":");
    RUNTIME("POST /execute", "{\"command\":\"echo a; echo b >&2; exit 3\"}", "200",
            "{\"stdout\":\"a\\n\",\"stderr\":\"b\\n\",\"exit_code\":3}");
    RUNTIME("POST /execute", "{\"command\":\"pwd\",\"timeout_seconds\":null}", "200", "/w\\n");
    RUNTIME("POST /execute", "{\"command\":\"kill -9 $$\"}", "200", "\"exit_code\":-9");
    RUNTIME("POST /execute", "{\"command\":\"printf 'a\\\\377'\"}", "200", "a\xEF\xBF\xBD");
    close_all();
}

static void a_client_that_leaves_ends_its_command(void)
{
    open_all();
    struct sessions_view view;
    TEST_ASSERT(sessions_find(sessions, SESSIONS_DEFAULT, &view));
    port = runtime_port;
    int fd = dial();
    say(fd, "POST /execute HTTP/1.1\r\nHost: localhost\r\nX-Ipybox-Token: secret\r\n"
            "Content-Length: 24\r\n\r\n{\"command\":\"sleep 9876\"}");
    for (int64_t until = clock_ms() + GUARD_MS;
         commands_running(view.commands) == 0 && clock_ms() < until;)
        turn();
    TEST_CHECK(commands_running(view.commands) == 1);
    (void)fd_close(fd);
    for (int64_t until = clock_ms() + GUARD_MS;
         commands_running(view.commands) > 0 && clock_ms() < until;)
        turn();
    TEST_CHECK(commands_running(view.commands) == 0);
    close_all();
}

static void paths_are_of_the_workspace_however_they_are_written(void)
{
    open_all();
    REST("PUT /v1/files/a%2Fb%20c.txt?mode=0640", "one", "204", "");
    REST("GET /v1/files/a/b%20c.txt", "", "200", "one");
    REST("GET /v1/files//a/./b%20c.txt", "", "400", "has a segment");
    RUNTIME("GET /download/%2Fa%2Fb%20c.txt", "", "200", "one");
    RUNTIME("GET /exists/a%2Fnone", "", "200", "{\"path\":\"a/none\",\"exists\":false}");
    RUNTIME("GET /list/.", "", "200", "[{\"name\":\"a\",\"size\":");
    REST("GET /v1/files/a", "", "200", "\"mode\":\"0640\"");
    REST("GET /v1/files/a", "", "200", "Z\",\"mode\"");
    REST("GET /v1/files/..%2Fsecret", "", "403", "PERMISSION_DENIED");
    REST("PUT /v1/files/..%2Fsecret", "x", "403", "PERMISSION_DENIED");
    REST("PUT /v1/files/a", "x", "409", "FAILED_PRECONDITION");
    REST("PUT /v1/files/x?mode=9999", "x", "400", "mode: 0 and three octal digits");
    REST("DELETE /v1/files/a", "", "409", "FAILED_PRECONDITION");
    REST("DELETE /v1/files/%2F?recursive=true", "", "403", "the workspace itself stays");
    REST("DELETE /v1/files/a?recursive=true", "", "204", "");
    RUNTIME("POST /upload", "x", "400", "multipart/form-data is needed");
    close_all();
}

static void without_a_token_only_health_is_free(void)
{
    static const char *const free_ones[] = {"GET /", "GET /list/.", "POST /execute"};
    open_all();
    without_token = true; /* of the requests; the door has one */
    for (size_t i = 0; i < 3; i++)
        expect_of(runtime_port, free_ones[i], "", "", i == 0 ? "200" : "401", "");
    expect_of(rest_port, "GET /v1/files/a", "X-Ipybox-Token: secre\r\n", "", "401",
              "UNAUTHENTICATED");
    expect_of(rest_port, "GET /v1/metadata", "Authorization: Bearer secret\r\n", "", "200", "");
    without_token = false;
    close_all();
}

static void a_server_that_stops_starts_nothing(void)
{
    open_all();
    agentsandbox_stop(door);
    RUNTIME("GET /", "", "503", "the server is stopping");
    REST("GET /v1/health", "", "503", "UNAVAILABLE");
    RUNTIME("POST /execute", "{\"command\":\"true\"}", "503", "the server is stopping");
    close_all();
}

/* --- HTTP/2, byte by byte --------------------------------------------------------------------- */

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

enum { DATA = 0, HEADERS = 1, RESET = 3, SETTINGS = 4, GOAWAY = 7, END_STREAM = 1, END_HEAD = 4 };

static void put_frame(struct buf *to, int kind, int flags, uint32_t stream, const char *body,
                      size_t n)
{
    const unsigned char head[] = {0,
                                  (unsigned char)(n >> 8),
                                  (unsigned char)n,
                                  (unsigned char)kind,
                                  (unsigned char)flags,
                                  0,
                                  0,
                                  0,
                                  (unsigned char)stream};
    (void)buf_add(to, head, sizeof head);
    (void)buf_add(to, body, n);
}

/* A literal that is not put into the table. */
static void put_field_of(struct buf *to, const char *name, const char *value)
{
    (void)buf_addc(to, 0);
    (void)buf_addc(to, (char)strlen(name));
    (void)buf_adds(to, name);
    (void)buf_addc(to, (char)strlen(value));
    (void)buf_adds(to, value);
}

static void put_head(struct buf *to, uint32_t stream, const char *method, const char *token)
{
    drop_buf struct buf fields = BUF_INIT(4096);
    drop_str char *path = xasprintf("/process.v1.ProcessService/%s", method);
    put_field_of(&fields, ":method", "POST");
    put_field_of(&fields, ":scheme", "http");
    put_field_of(&fields, ":path", path);
    put_field_of(&fields, ":authority", "here");
    put_field_of(&fields, "content-type", "application/grpc");
    put_field_of(&fields, "x-ipybox-token", token);
    put_frame(to, HEADERS, END_HEAD, stream, fields.data, fields.len);
}

static void put_call(struct buf *to, uint32_t stream, const char *method, const char *script)
{
    const char *const words[] = {"/bin/sh", "-c", script};
    drop_buf struct buf inner = BUF_INIT(4096), message = BUF_INIT(4096), body = BUF_INIT(4096);
    for (size_t i = 0; i < 3; i++)
        protobuf_put_bytes(&inner, 1, words[i], strlen(words[i]));
    protobuf_put_bytes(&message, 1, inner.data, inner.len);
    (void)buf_add(&body, "\0\0\0\0", 4);
    (void)buf_addc(&body, (char)message.len);
    (void)buf_add(&body, message.data, message.len);
    put_head(to, stream, method, "secret");
    put_frame(to, DATA, END_STREAM, stream, body.data, body.len);
}

static int dial_h2(const char *settings, size_t n)
{
    drop_buf struct buf text = BUF_INIT(1 << 16);
    port = calls_port;
    int fd = dial();
    (void)buf_adds(&text, PREFACE);
    put_frame(&text, SETTINGS, 0, 0, settings, n);
    say_n(fd, text.data, text.len);
    return fd;
}

/* Whether a frame of this kind has come in what was heard. */
static bool heard_frame(const struct buf *all, int kind)
{
    for (size_t at = 0; at + 9 <= all->len;) {
        const unsigned char *head = (const unsigned char *)all->data + at;
        if (head[3] == kind)
            return true;
        at += 9U + ((size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2]);
    }
    return false;
}

static bool hears_until(int fd, int kind, const char *text)
{
    drop_buf struct buf all = BUF_INIT(1 << 24);
    bool found = false;
    for (int64_t until = clock_ms() + GUARD_MS; !found && clock_ms() < until;) {
        (void)hear(fd);
        (void)buf_add(&all, buf_text(&got), got.len);
        found = heard_frame(&all, kind) &&
                (!*text || memmem(all.data, all.len, text, strlen(text)) != NULL);
    }
    return found;
}

static bool is_ended(int fd)
{
    bool ended = false;
    for (int i = 0; i < 10 && !ended; i++)
        ended = hear(fd);
    (void)fd_close(fd);
    return ended;
}

static void a_command_is_answered_by_grpc(void)
{
    drop_buf struct buf text = BUF_INIT(1 << 16);
    open_all();
    int fd = dial_h2("", 0);
    put_call(&text, 1, "Execute", "echo over here; exit 5");
    say_n(fd, text.data, text.len);
    /* exit_code = 5, stdout */
    TEST_CHECK(hears_until(fd, HEADERS, "\x08\x05\x12\x0aover here\n"));
    (void)fd_close(fd);
    close_all();
}

static void who_does_not_finish_a_head_is_not_waited_for(void)
{
    drop_buf struct buf text = BUF_INIT(1 << 16);
    open_all();
    int silent = dial_h2("", 0), half = dial_h2("", 0);
    put_head(&text, 1, "Start", "secret");
    say_n(half, text.data, 20);
    pass(H2_HEAD_MS - 100);
    TEST_CHECK(!hear(silent) && !hear(half));
    pass(200);
    TEST_CHECK(is_ended(silent) && is_ended(half));
    close_all();
}

static void a_body_that_does_not_come_is_given_up(void)
{
    drop_buf struct buf text = BUF_INIT(1 << 16);
    open_all();
    int fd = dial_h2("", 0);
    put_head(&text, 1, "Start", "secret");
    put_frame(&text, DATA, 0, 1, "\0\0\0", 3);
    say_n(fd, text.data, text.len);
    TEST_CHECK(h2_busy(grpc_h2(door->grpc)) == 1);
    pass(H2_REQUEST_MS + 100);
    TEST_CHECK(h2_busy(grpc_h2(door->grpc)) == 0);
    TEST_CHECK(hears_until(fd, RESET, ""));
    pass(H2_IDLE_MS + 100);
    TEST_CHECK(is_ended(fd));
    close_all();
}

static void an_answer_that_nobody_takes_is_given_up(void)
{
    static const char closed[] = {0, 4, 0, 0, 0, 0}; /* INITIAL_WINDOW_SIZE is 0 */
    drop_buf struct buf text = BUF_INIT(1 << 16);
    struct sessions_view view;
    open_all();
    TEST_ASSERT(sessions_find(sessions, SESSIONS_DEFAULT, &view));
    int fd = dial_h2(closed, sizeof closed);
    put_call(&text, 1, "Start", "yes");
    put_call(&text, 3, "Execute", "echo x");
    say_n(fd, text.data, text.len);
    for (int64_t until = clock_ms() + GUARD_MS;
         commands_running(view.commands) != 1 && clock_ms() < until;)
        turn();
    for (int i = 0; i < 100; i++)
        turn(); /* `yes` says what it can */
    TEST_CHECK(commands_running(view.commands) == 1);
    pass(H2_STALL_MS + 100);
    for (int64_t until = clock_ms() + GUARD_MS;
         commands_running(view.commands) > 0 && clock_ms() < until;)
        turn();
    TEST_CHECK(commands_running(view.commands) == 0);
    TEST_CHECK(hears_until(fd, RESET, ""));
    (void)fd_close(fd);
    close_all();
}

static void a_call_without_a_token_is_refused_before_its_body(void)
{
    drop_buf struct buf text = BUF_INIT(1 << 16);
    open_all();
    int fd = dial_h2("", 0);
    put_head(&text, 1, "Start", "wrong");
    say_n(fd, text.data, text.len);
    TEST_CHECK(hears_until(fd, HEADERS, ""));
    turn();
    TEST_CHECK(h2_busy(grpc_h2(door->grpc)) == 0);
    (void)fd_close(fd);
    close_all();
}

static void http1_is_told_what_is_spoken_here(void)
{
    open_all();
    port = calls_port;
    ask("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    check_has("this port speaks gRPC: HTTP/2 without TLS, from the start");
    close_all();
}

TEST_LIST = {
    {"each contract has its port and its errors", each_contract_has_its_port_and_its_errors},
    {"another door may listen at the runtime's port", another_door_may_listen_at_the_runtimes_port},
    {"what execute is asked for is read closely", what_execute_is_asked_for_is_read_closely},
    {"a client that leaves ends its command", a_client_that_leaves_ends_its_command},
    {"paths are of the workspace however they are written",
     paths_are_of_the_workspace_however_they_are_written},
    {"without a token only health is free", without_a_token_only_health_is_free},
    {"a server that stops starts nothing", a_server_that_stops_starts_nothing},
    {"a command is answered by grpc", a_command_is_answered_by_grpc},
    {"who does not finish a head is not waited for", who_does_not_finish_a_head_is_not_waited_for},
    {"a body that does not come is given up", a_body_that_does_not_come_is_given_up},
    {"an answer that nobody takes is given up", an_answer_that_nobody_takes_is_given_up},
    {"a call without a token is refused before its body",
     a_call_without_a_token_is_refused_before_its_body},
    {"http1 is told what is spoken here", http1_is_told_what_is_spoken_here},
    {NULL, NULL},
};
