/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "entrypoint/cli/find.h"
#include "entrypoint/diagnose/health.h"

static char dir[64], path[96], out[512];

static int open_server(void)
{
    (void)snprintf(dir, sizeof dir, "/tmp/test-health-XXXXXX");
    TEST_ASSERT(mkdtemp(dir) != NULL);
    (void)snprintf(path, sizeof path, "%s/control.sock", dir);
    (void)setenv("IPYBOX_RUNTIME_DIR", dir, 1);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TEST_ASSERT(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    TEST_ASSERT(listen(fd, 1) == 0);
    TEST_ASSERT(prctl(PR_SET_NAME, "ipybox") == 0); /* as the server that is looked for */
    return fd;
}

static void remove_server(void)
{
    TEST_CHECK(unlink(path) == 0 && rmdir(dir) == 0);
}

/* Answers one question with `text`; NULL: never. Returns health's status; its words are in out. */
static int ask(const char *text)
{
    int server = open_server(), ends[2], status = -1;
    TEST_ASSERT(pipe2(ends, O_CLOEXEC) == 0);
    pid_t answering = fork();
    if (answering == 0) {
        int fd = accept(server, NULL, NULL);
        if (!text)
            (void)pause();
        _exit(write(fd, text, strlen(text)) < 0);
    }
    pid_t asking = fork();
    if (asking == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
        _exit(health_main());
    }
    (void)close(ends[1]);
    TEST_CHECK(waitpid(asking, &status, 0) == asking && WIFEXITED(status));
    ssize_t n = read(ends[0], out, sizeof out - 1);
    out[n > 0 ? n : 0] = '\0';
    (void)kill(answering, SIGKILL);
    (void)waitpid(answering, NULL, 0);
    remove_server();
    return WEXITSTATUS(status);
}

static void a_server_that_is_well_is_status_0(void)
{
    TEST_CHECK(ask("{\"status\":\"ok\",\"kernels\":1}\n") == 0);
    TEST_CHECK_(strcmp(out, "{\"status\":\"ok\",\"kernels\":1}\n") == 0, "%s", out);
    TEST_CHECK(ask("{\"status\":\"ok\"}") == 0); /* the end of the line may be the end */
}

static void a_server_that_is_not_well_is_status_1(void)
{
    TEST_CHECK(ask("{\"status\":\"stopping\"}\n") == 1);
    TEST_CHECK_(strstr(out, "{\"status\":\"stopping\"}\nipybox health: ") == out, "%s", out);
}

static void a_server_that_says_nothing_is_status_1(void)
{
    TEST_CHECK(ask("") == 1 && strstr(out, "closed without an answer") != NULL);
    int64_t from = clock_ms();
    TEST_CHECK(ask(NULL) == 1 && strstr(out, "did not answer within 2000 ms") != NULL);
    TEST_CHECK(clock_ms() - from < 5000);
}

static void another_process_is_not_believed(void)
{
    int server = open_server(), ready[2];
    TEST_ASSERT(pipe2(ready, O_CLOEXEC) == 0);
    pid_t taker = 0, middle = fork();
    if (middle == 0) { /* a child's child of the server, as all code is, takes the name */
        (void)unlink(path);
        if (fork() == 0) {
            struct sockaddr_un address = {.sun_family = AF_UNIX};
            (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
            int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
            pid_t self = getpid();
            if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 1) == 0 &&
                write(ready[1], &self, sizeof self) > 0)
                (void)pause();
            _exit(1);
        }
        (void)pause();
    }
    TEST_ASSERT(read(ready[0], &taker, sizeof taker) == (ssize_t)sizeof taker);
    struct err e = ERR_NONE;
    TEST_CHECK(find_server("control.sock", &e) == -EPERM);
    TEST_CHECK_(strstr(e.msg, "which is not the server") != NULL, "%s", e.msg);
    (void)close(server);
    remove_server();
    TEST_CHECK(kill(taker, SIGKILL) == 0 && kill(middle, SIGKILL) == 0);
    TEST_CHECK(waitpid(middle, NULL, 0) == middle);
}

static void no_server_is_status_1(void)
{
    int server = open_server();
    (void)close(server);
    TEST_CHECK(health_main() == 1); /* refused: what a dead server leaves */
    remove_server();
    TEST_CHECK(health_main() == 1);
    (void)unsetenv("IPYBOX_RUNTIME_DIR");
    (void)health_main(); /* looks at every base; what it finds there is not ours */
}

static void a_container_that_runs_another_program_needs_no_server(void)
{
#define LINE(text, result)                                                                         \
    {                                                                                              \
        text, sizeof text, result                                                                  \
    }
    static const struct {
        const char *words;
        size_t n;
        bool result;
    } cases[] = {
        LINE("/usr/local/bin/ipybox\0init\0bash", true),
        LINE("ipybox\0init\0bash\0-c\0serve", true),
        LINE("/sbin/docker-init\0--\0/usr/local/bin/ipybox\0init\0sleep\0"
             "9",
             true),
        LINE("ipybox\0init\0doctor", true),
        LINE("ipybox\0init", false),
        LINE("ipybox\0init\0--sandbox", false),
        LINE("ipybox\0init\0server", false),
        LINE("ipybox\0init\0serve\0--http\0"
             "80",
             false),
        LINE("ipybox\0init\0serve-all", false),
        LINE("ipybox\0serve", false),
        LINE("/sbin/init\0bash", false),
        LINE("bash", false),
        LINE("", false),
    };
#undef LINE
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE(cases[i].words);
        TEST_CHECK(health_has_no_server(cases[i].words, cases[i].n) == cases[i].result);
    }
    TEST_CHECK(!health_has_no_server("", 0) && !health_has_no_server("ipybox", 6));
}

TEST_LIST = {
    {"a_container_that_runs_another_program_needs_no_server",
     a_container_that_runs_another_program_needs_no_server},
    {"a_server_that_is_well_is_status_0", a_server_that_is_well_is_status_0},
    {"a_server_that_is_not_well_is_status_1", a_server_that_is_not_well_is_status_1},
    {"a_server_that_says_nothing_is_status_1", a_server_that_says_nothing_is_status_1},
    {"another_process_is_not_believed", another_process_is_not_believed},
    {"no_server_is_status_1", no_server_is_status_1},
    {NULL, NULL},
};
