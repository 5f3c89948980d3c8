/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands against a server that says what the test wants. */
#include <acutest.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "entrypoint/cli/cli.h"
#include "entrypoint/cli/cli_held.h"
#include "entrypoint/identity/apisocket.h"

#define OK "HTTP/1.0 200 OK\r\n\r\n"
#define STREAM OK "event: execution\ndata: {\"id\":\"x1\",\"session\":\"default\"}\n\n"
#define END(status) "id: 9\nevent: end\ndata: {\"cell\":1,\"status\":\"" status "\"}\n\n"

static char dir[64], path[96], asked[8192], out[8192], errors[8192];

/* Not root's: as anything that code in a kernel can put there. */
static int listen_here(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    uid_t before = geteuid();
    (void)snprintf(dir, sizeof dir, "/tmp/test-cli-XXXXXX");
    TEST_ASSERT(mkdtemp(dir) != NULL);
    (void)snprintf(path, sizeof path, "%s/" API_SOCKET, dir);
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    (void)setenv("IPYBOX_RUNTIME_DIR", dir, 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TEST_ASSERT(bind(fd, (struct sockaddr *)&at, sizeof at) == 0);
    if (before == 0)
        TEST_ASSERT(seteuid(1000) == 0);
    TEST_ASSERT(listen(fd, 8) == 0);
    TEST_ASSERT(prctl(PR_SET_NAME, "ipybox") == 0); /* as the server that is looked for */
    TEST_ASSERT(seteuid(before) == 0);
    return fd;
}

static void take(int fd, char *into, size_t size)
{
    size_t n = 0;
    for (ssize_t some; (some = read(fd, into + n, size - 1 - n)) > 0;)
        n += (size_t)some;
    into[n] = '\0';
    (void)close(fd);
}

/* Answers one request after the other, and passes on what was asked. */
static _Noreturn void serve(int server, const char *const *answers, int log)
{
    static char request[4096];
    for (; *answers; answers++) {
        int fd = accept4(server, NULL, NULL, SOCK_CLOEXEC);
        ssize_t n = read(fd, request, sizeof request);
        if (n > 0)
            (void)!write(log, request, (size_t)n);
        (void)!write(fd, *answers, strlen(*answers));
        (void)close(fd);
    }
    _exit(0);
}

static int run(enum role role, const char *const *words, const char *const *answers)
{
    int server = listen_here(), log[2], ends[2][2], status = -1, argc = 0;
    char *argv[8] = {NULL};
    struct options o;
    struct err e = ERR_NONE;
    for (; words[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    TEST_ASSERT_(options_parse(role, argc, argv, &o, &e) == 0, "%s", e.msg);
    TEST_ASSERT(pipe2(log, O_CLOEXEC) == 0);
    pid_t serving = fork();
    if (serving == 0)
        serve(server, answers, log[1]);
    TEST_ASSERT(pipe2(ends[0], O_CLOEXEC) == 0 && pipe2(ends[1], O_CLOEXEC) == 0);
    pid_t running = fork();
    if (running == 0) {
        (void)dup2(ends[0][1], STDOUT_FILENO);
        (void)dup2(ends[1][1], STDERR_FILENO);
        (void)close(server);
        _exit(cli_main(role, &o));
    }
    (void)close(server), (void)close(log[1]), (void)close(ends[0][1]), (void)close(ends[1][1]);
    take(ends[0][0], out, sizeof out);
    take(ends[1][0], errors, sizeof errors);
    TEST_CHECK(waitpid(running, &status, 0) == running && WIFEXITED(status));
    (void)kill(serving, SIGKILL);
    (void)waitpid(serving, NULL, 0);
    take(log[0], asked, sizeof asked);
    TEST_CHECK(unlink(path) == 0 && rmdir(dir) == 0);
    return WEXITSTATUS(status);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void check_is(const char *actual, const char *expected)
{
    TEST_CHECK(strcmp(actual, expected) == 0);
    TEST_MSG("expected: %s\nactual: %s", expected, actual);
}

static void check_in(const char *actual, const char *expected)
{
    TEST_CHECK(strstr(actual, expected) != NULL);
    TEST_MSG("expected: %s\nactual: %s", expected, actual);
}

static void exec_prints_what_the_cell_prints(void)
{
    int status = run(
        ROLE_EXEC, WORDS("--session", "a b", "--timeout", "7", "print(\"1\")"),
        WORDS(STREAM "id: 2\nevent: begin\ndata: {\"cell\":1,\"time_ms\":1}\n\n"
                     "id: 3\nevent: stdout\ndata: {\"cell\":1,\"text\":\"one\\ntw\"}\n\n:\n\n"
                     "id: 4\nevent: stderr\ndata: {\"cell\":1,\"text\":\"warning\\n\"}\n\n"
                     "id: 5\nevent: stdout\ndata: {\"cell\":1,\"text\":\"o\\u0000\\n\"}\n\n"
                     "id: 6\nevent: result\ndata: {\"cell\":1,\"data\":{\"text/plain\":\"42\"}}\n\n"
                     "event: gap\ndata: {\"missed\":3}\n\n" END("ok"),
              OK "{\"files\":[{\"path\":\"images/1.png\"}],\"notice\":\"a new kernel\"}"));
    TEST_CHECK_(status == 0, "%d", status);
    check_is(out, "one\ntwo"); /* and a NUL, */
    check_is(out + strlen(out) + 1, "\n42\n");
    check_in(errors, "warning\nipybox exec: 3 events are lost");
    check_in(errors, "ipybox exec: saved images/1.png\nipybox exec: a new kernel\n");
    check_in(asked, "POST /v1/sessions/a%20b/executions HTTP/1.0\r\nAccept: text/event-stream\r\n");
    check_in(asked, "\r\n\r\n{\"code\":\"print(\\\"1\\\")\",\"timeout_ms\":7000}");
    check_in(asked, "GET /v1/sessions/a%20b/executions/x1 HTTP/1.0\r\n");
}

#define EVENT(type, data) "event: " type "\ndata: " data "\n\n"
#define OUT(text) EVENT("stdout", "{\"text\":\"" text "\"}")
#define SHOWN(type, text, id)                                                                      \
    EVENT(type,                                                                                    \
          "{\"data\":{\"text/plain\":\"" text "\"},\"transient\":{\"display_id\":\"" id "\"}}")
#define CLEAR(wait) EVENT("clear", "{\"wait\":" wait "}")

static void exec_prints_the_last_state(void)
{
    static const struct {
        const char *name, *events, *out;
    } cases[] = {
        {"an update changes its place",
         OUT("a\\n") SHOWN("display", "0 %", "p") OUT("b\\n") SHOWN("update", "100 %", "p"),
         "a\n100 %\nb\n"},
        {"every place of an id",
         SHOWN("display", "1", "p") SHOWN("result", "1", "p") SHOWN("update", "2", "p"), "2\n2\n"},
        {"an update of nothing here", OUT("a\\n") SHOWN("update", "2", "q"), "a\n"},
        {"what is cleared at once is gone",
         CLEAR("false") OUT("a\\n") SHOWN("display", "1", "p") CLEAR("false") OUT("b\\n"), "b\n"},
        {"a wait without anything behind it clears nothing",
         CLEAR("true") OUT("1\\n") CLEAR("true") OUT("2\\n") CLEAR("true"), "2\n"},
        {"what was written before anything was held stays", OUT("0\\n") CLEAR("true") OUT("1\\n"),
         "0\n1\n"},
        {"a cleared display is updated no more",
         SHOWN("display", "1", "p") CLEAR("false") SHOWN("update", "2", "p") OUT("x"), "x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_str char *stream = xasprintf(STREAM "%s" END("ok"), cases[i].events);
        TEST_CASE(cases[i].name);
        TEST_CHECK(run(ROLE_EXEC, WORDS("x"), WORDS(stream, OK "{}")) == 0);
        check_is(out, cases[i].out);
    }
}

static void much_that_is_held_is_written_and_its_display_once_more_at_the_end(void)
{
    static char bulk[CLI_HELD_MAX + 100];
    struct cli_held h = {0};
    memset(bulk, 'x', sizeof bulk - 1);
    int file = memfd_create("out", MFD_CLOEXEC), before = dup(STDOUT_FILENO);
    TEST_ASSERT(file >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    cli_held_display(&h, "p", "0\n");
    cli_held_text(&h, bulk);
    cli_held_text(&h, "\n");
    cli_held_update(&h, "p", "1\n");
    cli_held_update(&h, "p", "2\n");
    cli_held_end(&h);
    TEST_ASSERT(dup2(before, STDOUT_FILENO) >= 0);
    struct stat st;
    TEST_CHECK(fstat(file, &st) == 0 && (size_t)st.st_size == 2 + sizeof bulk - 1 + 1 + 2);
    char end[4] = "";
    TEST_CHECK(pread(file, end, 3, st.st_size - 3) == 3 && strcmp(end, "\n2\n") == 0);
    (void)close(file), (void)close(before);
}

static void how_the_cell_ended_is_the_status(void)
{
    static const struct {
        const char *stream;
        int status;
    } cases[] = {{STREAM END("ok"), 0},
                 {STREAM END("error"), 1},
                 {STREAM END("timeout"), 124},
                 {STREAM END("cancelled"), 130},
                 {STREAM END("lost"), 125},
                 {STREAM "event: closed\ndata: {\"reason\":\"the session has ended\"}\n\n", 125},
                 {STREAM, 125},
                 {"", 125},
                 {"HTTP/1.0 429 Too Many Requests\r\n\r\n{\"detail\":\"the queue is full\"}", 125},
                 {"HTTP/1.0 503 Service Unavailable\r\n\r\n{}", 125},
                 {"HTTP/1.0 404 Not Found\r\n\r\n{\"detail\":\"there is no session\"}", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("%zu", i);
        int status = run(ROLE_EXEC, WORDS("1"),
                         WORDS(cases[i].stream, OK "{\"error\":{\"traceback\":\"Traceback\"}}"));
        TEST_CHECK_(status == cases[i].status, "%d", status);
        if (status == 1)
            check_is(errors, "Traceback\n");
        else if (status == 2)
            check_in(errors, "ipybox exec: the"); /* the problem's detail */
    }
}

static void without_a_server_there_is_no_result(void)
{
    (void)setenv("IPYBOX_RUNTIME_DIR", "/nonexistent", 1);
    struct options o = {.session = "default", .words = {"1"}, .n_words = 1};
    TEST_CHECK(cli_main(ROLE_EXEC, &o) == 125);
    TEST_CHECK(cli_main(ROLE_SESSIONS, &o) == 1);
    TEST_CHECK(cli_main(ROLE_LOGS, &o) == 1);
    o.n_words = 0;
    TEST_CHECK(cli_main(ROLE_EXEC, &o) == 2);
}

#define ONE                                                                                        \
    "{\"sessions\":[{\"id\":\"default\",\"state\":\"idle\",\"queued\":2,\"timeout_ms\":5000,"      \
    "\"idle_timeout_ms\":0,\"cwd\":\"/w\"}]}"

static void sessions_are_a_table_or_json(void)
{
    TEST_CHECK(run(ROLE_SESSIONS, WORDS(NULL), WORDS(OK ONE)) == 0);
    check_is(out, "ID       STATE  CELLS  TIMEOUT  ENDS AFTER  CWD\n"
                  "default  idle   2      5 s      -           /w\n");
    TEST_CHECK(run(ROLE_SESSIONS, WORDS("--json"), WORDS(OK ONE)) == 0);
    check_is(out, ONE "\n");
    const char *cut = "HTTP/1.0 200 OK\r\nContent-Length: 999\r\n\r\n" ONE;
    TEST_CHECK(run(ROLE_SESSIONS, WORDS("--json"), WORDS(cut)) == 1);
    check_in(errors, "the server ended the connection");
}

#define EVENTS                                                                                     \
    OK "id: 1\nevent: stdout\ndata: {\"cell\":3,\"time_ms\":1700000000123,"                        \
       "\"text\":\"a\\u001b[2J\\nb\\n\"}\n\n"                                                      \
       "id: 2\nevent: end\ndata: {\"cell\":3,\"time_ms\":1700000000124,\"status\":\"ok\"}\n\n"     \
       "id: 3\nevent: stdout\ndata: {\"cell\":4,\"time_ms\":1,\"text\":\"later\"}\n\n"

static void logs_are_lines_that_cannot_steer_a_terminal(void)
{
    const char *const answers[] = {OK "{\"last_event\":2}", EVENTS, NULL};
    TEST_CHECK(run(ROLE_LOGS, WORDS("--session", "s"), answers) == 0);
    check_is(out, "2023-11-14T22:13:20.123Z cell 3 stdout a\\u001b[2J\n"
                  "2023-11-14T22:13:20.123Z cell 3 stdout b\n"
                  "2023-11-14T22:13:20.124Z cell 3 end ok\n");
    check_in(asked, "GET /v1/sessions/s/events HTTP/1.0\r\nAccept: text/event-stream\r\n");
    TEST_CHECK(run(ROLE_LOGS, WORDS("--json"), answers) == 0);
    check_in(out, "{\"event\":\"end\",\"id\":2,\"cell\":3,\"time_ms\":1700000000124,"
                  "\"status\":\"ok\"}\n");
    TEST_CHECK(run(ROLE_LOGS, WORDS("--follow"), answers) == 1); /* the server ended it */
    check_in(out, "cell 4 stdout later\n");
    TEST_CHECK(run(ROLE_LOGS, WORDS(NULL), WORDS(OK "{\"last_event\":0}")) == 0);
    check_is(out, "");
}

static void nothing_is_approved_where_root_does_not_listen(void)
{
    const char *const answers[] = {OK "{\"approvals\":[]}", NULL};
    TEST_CHECK(run(ROLE_APPROVE, WORDS(NULL), answers) == 1);
    check_in(errors, "code in kernels has the same uid");
    check_in(errors, "IPYBOX_APPROVER_TOKEN");
    check_is(out, "");
    check_is(asked, ""); /* it has been told nothing */
    TEST_CHECK(run(ROLE_APPROVE, WORDS("id", "yes"), answers) == 1);
    check_is(asked, "");
}

/* What is asked of the server, and what is shown: tests/container/sandbox/84-policy.bats. */
static void no_sandbox_is_changed_where_root_does_not_listen(void)
{
    TEST_CHECK(run(ROLE_POLICY, WORDS(NULL), WORDS(OK "{\"source\":\"server\"}")) == 1);
    check_in(errors, "code in kernels has the same uid");
    check_in(errors, "with IPYBOX_TOKEN");
    check_is(out, "");
    check_is(asked, "");
    TEST_CHECK(run(ROLE_POLICY, WORDS("--reset"), WORDS(OK)) == 2);
    TEST_CHECK(run(ROLE_POLICY, WORDS("/nowhere.json"), WORDS(OK)) == 1);
    check_in(errors, "/nowhere.json: No such file");
    check_is(asked, "");
}

static void what_cannot_be_meant_is_refused(void)
{
    static const char *const wrong[][5] = {{"id"},
                                           {"id", "maybe"},
                                           {"id", "no", "--remember=5"},
                                           {"--remember-calls=5"},
                                           {"id", "yes", "--json"},
                                           {"--answer={}"},
                                           {"id", "yes", "no"},
                                           {"id", "no", "a=b"},
                                           {"id", "a=b", "no"},
                                           {"id", "cancel", "--answer={}"},
                                           {"id", "a=b", "--answer={}"},
                                           {"id", "--answer={}", "--follow"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        TEST_CASE_("%zu", i);
        TEST_CHECK(run(ROLE_APPROVE, wrong[i], WORDS(OK)) == 2);
        check_is(asked, "");
    }
}

TEST_LIST = {
    {"exec_prints_what_the_cell_prints", exec_prints_what_the_cell_prints},
    {"exec_prints_the_last_state", exec_prints_the_last_state},
    {"much_that_is_held_is_written_and_its_display_once_more_at_the_end",
     much_that_is_held_is_written_and_its_display_once_more_at_the_end},
    {"how_the_cell_ended_is_the_status", how_the_cell_ended_is_the_status},
    {"without_a_server_there_is_no_result", without_a_server_there_is_no_result},
    {"sessions_are_a_table_or_json", sessions_are_a_table_or_json},
    {"logs_are_lines_that_cannot_steer_a_terminal", logs_are_lines_that_cannot_steer_a_terminal},
    {"nothing_is_approved_where_root_does_not_listen",
     nothing_is_approved_where_root_does_not_listen},
    {"no_sandbox_is_changed_where_root_does_not_listen",
     no_sandbox_is_changed_where_root_does_not_listen},
    {"what_cannot_be_meant_is_refused", what_cannot_be_meant_is_refused},
    {NULL, NULL},
};
