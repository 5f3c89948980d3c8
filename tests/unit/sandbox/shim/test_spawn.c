/* SPDX-License-Identifier: Apache-2.0
 *
 * The spawner runs /proc/self/exe as shim: here that is this test, which turns into one when it is
 * started so, before the test framework looks at its words. */
#include <acutest.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/become_shim.h"
#include "unit/guard.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "sandbox/shim/spawn.h"

static struct loop *loop;
static struct spawner *spawner;
static int64_t fake_now;
static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "X=from spec", NULL};

struct seen {
    char output[65536];
    size_t len;
    char errors[256];
    int writable;
    int ends;
    struct child_exit how;
    struct err why;
};

static void on_output(void *ctx, const char *bytes, size_t n)
{
    struct seen *seen = ctx;
    n = n < sizeof seen->output - seen->len - 1 ? n : sizeof seen->output - seen->len - 1;
    memcpy(seen->output + seen->len, bytes, n);
    seen->len += n;
}

static void on_ended(void *ctx, const struct child_exit *how, const struct err *why)
{
    struct seen *seen = ctx;
    seen->ends++;
    if (how)
        seen->how = *how;
    if (why)
        seen->why = *why;
}

static void on_errors(void *ctx, const char *bytes, size_t n)
{
    struct seen *seen = ctx;
    size_t at = strlen(seen->errors);
    TEST_ASSERT(n < sizeof seen->errors - at);
    memcpy(seen->errors + at, bytes, n);
}

static void on_writable(void *ctx)
{
    struct seen *seen = ctx;
    seen->writable++;
}

static const struct child_events events = {
    .output = on_output, .errors = on_errors, .writable = on_writable, .ended = on_ended};

static void open_spawner(void)
{
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, &e) == 0 && spawner_new(loop, &spawner, &e) == 0);
}

static void close_spawner(void)
{
    spawner = spawner_free(spawner, 5000);
    loop = loop_free(loop);
    fake_now = 0;
    TEST_CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); /* nothing is left to bury */
}

static struct child *start_it(const char *script, const char *cwd, bool piped, struct seen *seen)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    struct child_spec spec = {.argv = argv, .envp = env, .cwd = cwd, .piped = piped};
    struct child *child = NULL;
    struct err e = ERR_NONE;
    TEST_ASSERT_(child_start(spawner, &spec, &events, seen, &child, &e) == 0, "%s", e.msg);
    return child;
}

static struct child *start(const char *script, const char *cwd, struct seen *seen)
{
    return start_it(script, cwd, false, seen);
}

static void wait_for_end(const struct seen *seen)
{
    int64_t until = clock_ms() + GUARD_MS;
    while (!seen->ends && clock_ms() < until)
        loop_turn(loop, 100);
    TEST_CHECK(seen->ends == 1);
}

static void wait_for_output(const struct seen *seen, const char *text)
{
    int64_t until = clock_ms() + GUARD_MS;
    while (!strstr(seen->output, text) && clock_ms() < until)
        loop_turn(loop, 100);
    TEST_CHECK(strstr(seen->output, text) != NULL);
}

static void a_child_has_exactly_what_it_was_given(void)
{
    open_spawner();
    struct seen seen = {0};
    (void)start("echo \"$X|$HOME|$(pwd)|$(readlink /proc/self/fd/0)\"; ls /proc/self/fd | wc -l; "
                "echo err >&2; exit 7",
                "/usr", &seen);
    wait_for_end(&seen);
    TEST_CHECK(seen.how.code == 7 && seen.how.signal == 0);
    /* ls has 0, 1, 2 and the directory it reads: no descriptor of ours got through */
    TEST_CHECK(strcmp(seen.output, "from spec||/usr|/dev/null\n4\nerr\n") == 0);
    TEST_MSG("%s", seen.output);
    close_spawner();
}

static void the_spawner_has_as_many_open_files_as_may_be_and_children_what_it_was_given(void)
{
    struct rlimit before, now;
    TEST_ASSERT(getrlimit(RLIMIT_NOFILE, &before) == 0);
    const struct rlimit few = {.rlim_cur = 256, .rlim_max = before.rlim_max};
    TEST_ASSERT(setrlimit(RLIMIT_NOFILE, &few) == 0);
    open_spawner();
    struct seen seen = {0};
    (void)start("ulimit -Sn", "/", &seen);
    wait_for_end(&seen);
    TEST_CHECK(strcmp(seen.output, "256\n") == 0);
    TEST_MSG("%s", seen.output);
    TEST_CHECK(getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == before.rlim_max);
    close_spawner();
    (void)setrlimit(RLIMIT_NOFILE, &before);
}

/* As a server with a uid of its own (base/service.h) starts its children. */
static int start_as_service(void)
{
    if (setresgid(4711, 4711, 4711) < 0 || setresuid(731, 4711, 731) < 0)
        return 1;
    open_spawner();
    struct seen seen = {0};
    (void)start("grep Uid: /proc/self/status /proc/$PPID/status | cut -d : -f 3; "
                "kill -0 $(awk '/PPid/ {print $2}' /proc/$PPID/status) 2>&1 | grep -c permitted",
                "/", &seen);
    wait_for_end(&seen);
    close_spawner();
    const char *wanted = "\t4711\t4711\t4711\t4711\n\t4711\t4711\t4711\t4711\n1\n";
    if (strcmp(seen.output, wanted) == 0)
        return getuid() == 731 && geteuid() == 4711 ? 0 : 2;
    (void)dprintf(STDERR_FILENO, "%s%s\n", seen.output, seen.why.msg);
    return 3;
}

static void no_child_has_the_uid_that_is_the_servers_own(void)
{
    int status = -1;
    if (geteuid() != 0) {
        TEST_MSG("needs root: passed over");
        return;
    }
    pid_t pid = fork();
    if (pid == 0)
        _exit(start_as_service());
    TEST_CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    TEST_CHECK_(WEXITSTATUS(status) == 0, "%d", WEXITSTATUS(status));
}

static void all_output_comes_before_the_end_is_told(void)
{
    for (int i = 0; i < 20; i++) {
        open_spawner();
        struct seen seen = {0};
        (void)start("seq 1 5000", "/", &seen);
        wait_for_end(&seen);
        TEST_CHECK(seen.len == 23893 && strcmp(seen.output + seen.len - 5, "5000\n") == 0);
        close_spawner();
    }
}

static struct child *start_in_terminal(const char *script, struct seen *seen)
{
    const char *argv[] = {"bash", "-c", script, NULL};
    const struct child_size size = {.columns = 81, .rows = 25};
    struct child_spec spec = {.argv = argv, .envp = env, .cwd = "/", .terminal = &size};
    struct child *child = NULL;
    struct err e = ERR_NONE;
    TEST_ASSERT_(child_start(spawner, &spec, &events, seen, &child, &e) == 0, "%s", e.msg);
    return child;
}

static void a_terminal_controls_its_child_and_is_resized(void)
{
    open_spawner();
    struct seen seen = {0};
    struct child *child =
        start_in_terminal("test -t 0 && test -t 2 && stty size </dev/tty; trap 'stty size' WINCH; "
                          "echo ready; read line; echo \"got $line\"; exit 4",
                          &seen);
    wait_for_output(&seen, "25 81\r\nready");
    const struct child_size size = {.columns = 100, .rows = 30};
    TEST_CHECK(child_resize(child, &size) == 0);
    TEST_CHECK(child_write(child, "a word\n", 7) == 7);
    wait_for_end(&seen);
    TEST_CHECK(seen.how.code == 4 && strstr(seen.output, "30 100") &&
               strstr(seen.output, "got a word"));
    TEST_MSG("%s", seen.output);
    close_spawner();
}

static void control_c_in_a_terminal_interrupts(void)
{
    open_spawner();
    struct seen seen = {0};
    struct child *child = start_in_terminal("echo ready; exec sleep 100", &seen);
    wait_for_output(&seen, "ready");
    TEST_CHECK(child_write(child, "\3", 1) == 1);
    wait_for_end(&seen);
    TEST_CHECK(seen.how.signal == SIGINT);
    close_spawner();
}

static void a_paused_child_waits_and_loses_nothing(void)
{
    open_spawner();
    struct seen seen = {0};
    struct child *child = start("seq 1 40000", "/", &seen);
    child_pause(child, true);
    for (int i = 0; i < 20; i++)
        loop_turn(loop, 5);
    size_t before = seen.len;
    child_pause(child, false);
    wait_for_end(&seen);
    TEST_CHECK(before == 0 && seen.len == sizeof seen.output - 1); /* all that there is room for */
    TEST_MSG("%zu, %zu", before, seen.len);
    close_spawner();
}

static void a_child_has_the_descriptors_that_it_was_given(void)
{
    const char *argv[] = {"sh", "-c", "cat /proc/self/fd/[5-9] /proc/self/fd/10", NULL};
    const char *const words[CHILD_FDS_MAX] = {"one ", "two ", "three ", "four ", "five ", "six "};
    int fds[CHILD_FDS_MAX];
    for (int i = CHILD_FDS_MAX - 1; i >= 0;
         i--) { /* some have the numbers of others in the child */
        fds[i] = memfd_create(words[i], MFD_CLOEXEC);
        TEST_ASSERT(write(fds[i], words[i], strlen(words[i])) > 0);
    }
    open_spawner();
    struct seen seen = {0};
    struct child_spec spec = {
        .argv = argv, .envp = env, .cwd = "/", .fds = fds, .fd_count = CHILD_FDS_MAX};
    struct child *child = NULL;
    struct err e = ERR_NONE;
    TEST_ASSERT_(child_start(spawner, &spec, &events, &seen, &child, &e) == 0, "%s", e.msg);
    wait_for_end(&seen);
    TEST_CHECK(seen.how.code == 0 && strcmp(seen.output, "one two three four five six ") == 0);
    TEST_MSG("%s", seen.output);
    for (int i = 0; i < CHILD_FDS_MAX; i++)
        TEST_CHECK(close(fds[i]) == 0);
    close_spawner();
}

#define LISTS "for n in /proc/self/fd/*; do [ -e $n ] && printf '%s ' ${n##*/}; done"

/* As libzmq and others do while the server runs: in the numbers of what a child is given, and far
 * above. */
static void open_as_libraries_do(void)
{
    static const int numbers[] = {3, 4, 5, 6, 7, 10, 11, 900};
    int epoll = epoll_create1(0);
    TEST_ASSERT(epoll >= 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (fcntl(numbers[i], F_GETFD) < 0)
            TEST_ASSERT(dup2(epoll, numbers[i]) == numbers[i]);
}

static void check_descriptors(const struct child_spec *spec, const char *wanted)
{
    struct seen seen = {0};
    struct child *child = NULL;
    struct err e = ERR_NONE;
    TEST_ASSERT_(child_start(spawner, spec, &events, &seen, &child, &e) == 0, "%s", e.msg);
    wait_for_end(&seen);
    TEST_CHECK(strcmp(seen.output, wanted) == 0);
    TEST_MSG("program %d, piped %d, terminal %d, %zu given: %s %s", spec->program, spec->piped,
             spec->terminal != NULL, spec->fd_count, seen.output, seen.why.msg);
}

static void what_libraries_have_open_reaches_no_child(void)
{
    const char *argv[] = {"sh", "-c", LISTS, NULL};
    const struct child_size size = {.columns = 80, .rows = 24};
    int given[2] = {memfd_create("one", MFD_CLOEXEC), memfd_create("two", MFD_CLOEXEC)};
    open_spawner();
    open_as_libraries_do();
    const struct child_spec plain = {.argv = argv, .envp = env, .cwd = "/"};
    struct child_spec spec = plain;
    check_descriptors(&spec, "0 1 2 ");
    spec.piped = true;
    check_descriptors(&spec, "0 1 2 ");
    spec.program = true;
    check_descriptors(&spec, "0 1 2 ");
    spec.terminal = &size;
    check_descriptors(&spec, "0 1 2 ");
    spec = plain;
    spec.fds = given;
    spec.fd_count = 2;
    check_descriptors(&spec, "0 1 2 5 6 ");
    spec.fd_count = 1;
    check_descriptors(&spec, "0 1 2 5 ");
    close_spawner();
}

static void what_libraries_have_open_reaches_no_helper(void)
{
    open_spawner();
    open_as_libraries_do();
    int sockets[2];
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
    const char *argv[] = {"sh", "-c", "a=$(" LISTS "); echo \"$a\" >&3", NULL};
    struct child_spec spec = {.argv = argv, .envp = env, .cwd = "/"};
    pid_t pid = 0;
    struct err e = ERR_NONE;
    TEST_ASSERT_(helper_start(spawner, &spec, sockets[1], &pid, &e) == 0, "%s", e.msg);
    (void)close(sockets[1]);
    char text[64] = "";
    TEST_CHECK(recv(sockets[0], text, sizeof text - 1, 0) > 0);
    TEST_CHECK(strcmp(text, "0 1 2 3 \n") == 0);
    TEST_MSG("%s", text);
    TEST_CHECK(waitpid(pid, NULL, 0) == pid);
    (void)close(sockets[0]);
    close_spawner();
}

static void what_cannot_be_started_says_why(void)
{
    open_spawner();
    struct seen seen = {0};
    const char *argv[] = {"no-such-program", NULL};
    struct child_spec spec = {.argv = argv, .envp = env, .cwd = "/"};
    struct child *child = NULL;
    struct err e = ERR_NONE;
    TEST_ASSERT(child_start(spawner, &spec, &events, &seen, &child, &e) == 0);
    wait_for_end(&seen);
    TEST_CHECK(seen.why.code == -ENOENT && strstr(seen.why.msg, "exec") != NULL);
    TEST_MSG("%s", seen.why.msg);
    spec.cwd = "/no/such/place";
    TEST_CHECK(child_start(spawner, &spec, &events, &seen, &child, &e) == -ENOENT);
    TEST_CHECK(strstr(e.msg, "/no/such/place") != NULL);
    close_spawner();
}

static void signals_reach_the_child_and_its_end_names_them(void)
{
    open_spawner();
    struct seen a = {0}, b = {0};
    struct child *interrupted =
        start("trap 'echo caught; exit 3' INT; echo up; sleep 60 & wait", "/", &a);
    struct child *terminated = start("echo up; exec sleep 60", "/", &b);
    wait_for_output(&a, "up");
    wait_for_output(&b, "up");
    child_interrupt(interrupted);
    child_terminate(terminated);
    wait_for_end(&a);
    wait_for_end(&b);
    TEST_CHECK(a.how.code == 3 && strstr(a.output, "caught") != NULL);
    TEST_CHECK(b.how.signal == SIGTERM && b.how.code == -1);
    close_spawner();
}

static bool runs(long pid)
{
    return kill((pid_t)pid, 0) == 0;
}

static void a_child_that_is_given_up_is_gone_with_all_that_it_started(void)
{
    open_spawner();
    struct seen seen = {0};
    struct child *child = start("setsid sleep 300 & echo $!; echo end; sleep 300", "/", &seen);
    wait_for_output(&seen, "end");
    long daemon = atol(seen.output);
    TEST_CHECK(daemon > 0 && runs(daemon));
    (void)child_end(child);
    (void)child_end(NULL);
    int64_t until = clock_ms() + GUARD_MS;
    while (runs(daemon) && clock_ms() < until)
        loop_turn(loop, 20);
    TEST_CHECK(!runs(daemon) && seen.ends == 0); /* and nobody is told */
    close_spawner();
}

static void closing_the_spawner_ends_what_still_runs(void)
{
    open_spawner();
    struct seen seen = {0};
    (void)start("echo $$; echo end; sleep 300", "/", &seen);
    wait_for_output(&seen, "end");
    long pid = atol(seen.output);
    close_spawner();
    TEST_CHECK(!runs(pid) && seen.ends == 0);
}

static void an_adopted_child_whose_ends_are_closed_has_ended(void)
{
    open_spawner();
    struct seen seen = {0};
    struct child_ends ends;
    struct child *child = NULL;
    struct err e = ERR_NONE;
    TEST_ASSERT(child_adopt(spawner, &events, &seen, &ends, &child, &e) == 0);
    TEST_CHECK(write(ends.output, "words", 5) == 5);
    struct shim_report report = {.kind = SHIM_EXITED, .a = 4};
    TEST_CHECK(send(ends.control, &report, sizeof report, 0) == (ssize_t)sizeof report);
    (void)close(ends.output);
    (void)close(ends.control);
    wait_for_end(&seen);
    TEST_CHECK(seen.how.code == 4 && strcmp(seen.output, "words") == 0);
    struct seen other = {0};
    TEST_ASSERT(child_adopt(spawner, &events, &other, &ends, &child, &e) == 0);
    (void)close(ends.output);
    (void)close(ends.control);
    wait_for_end(&other);
    TEST_CHECK(other.why.code == -EPIPE);
    close_spawner();
}

static void a_helper_has_its_socket_and_orphans_are_buried(void)
{
    open_spawner();
    TEST_ASSERT(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    int sockets[2];
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
    const char *argv[] = {"sh", "-c", "(sleep 0.1 & echo orphan >&3); read line <&3", NULL};
    struct child_spec spec = {.argv = argv, .envp = env, .cwd = "/"};
    pid_t pid = 0;
    struct err e = ERR_NONE;
    TEST_ASSERT_(helper_start(spawner, &spec, sockets[1], &pid, &e) == 0, "%s", e.msg);
    (void)close(sockets[1]);
    char text[16] = "";
    TEST_CHECK(recv(sockets[0], text, sizeof text - 1, 0) == 7 && strcmp(text, "orphan\n") == 0);
    (void)close(sockets[0]); /* the end of its input */
    int64_t until = clock_ms() + GUARD_MS;
    while (clock_ms() < until && (waitpid(-1, NULL, WNOHANG | 0) >= 0 || errno != ECHILD)) {
        spawner_reap(spawner);
        loop_turn(loop, 10);
    }
    close_spawner();
}

static void a_helper_that_does_not_look_at_its_socket_is_killed(void)
{
    open_spawner();
    helper_kill(spawner); /* there is none */
    int sockets[2];
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
    const char *argv[] = {"sleep", "1000", NULL};
    struct child_spec spec = {.argv = argv, .envp = env, .cwd = "/"};
    pid_t pid = 0;
    struct err e = ERR_NONE;
    TEST_ASSERT_(helper_start(spawner, &spec, sockets[1], &pid, &e) == 0, "%s", e.msg);
    (void)close(sockets[0]);
    (void)close(sockets[1]);
    TEST_CHECK(kill(pid, 0) == 0);
    helper_kill(spawner);
    int64_t until = clock_ms() + GUARD_MS;
    while (kill(pid, 0) == 0 && clock_ms() < until) {
        spawner_reap(spawner);
        loop_turn(loop, 10);
    }
    TEST_CHECK(kill(pid, 0) < 0 && errno == ESRCH);
    helper_kill(spawner); /* its number may be somebody else's by now */
    close_spawner();
}

static void a_piped_child_reads_what_is_written_and_its_errors_are_apart(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    open_spawner();
    struct seen seen = {0};
    struct child *child =
        start_it("read x; echo \"got $x\"; echo err >&2; ls /proc/self/fd | wc -l;"
                 "exec 0</dev/null; echo closed; sleep 60",
                 "/", true, &seen);
    TEST_CHECK(child_write(child, "wor", 3) == 3 && child_write(child, "ds\n", 3) == 3);
    wait_for_output(&seen, "closed");
    TEST_CHECK(strcmp(seen.output, "got words\n4\nclosed\n") == 0);
    TEST_MSG("%s", seen.output);
    while (!strstr(seen.errors, "err\n"))
        loop_turn(loop, 100);
    while (!seen.writable)
        loop_turn(loop, 100);
    TEST_CHECK(child_write(child, "x", 1) == -EPIPE);
    (void)child_end(child);
    close_spawner();
}

static void who_does_not_read_makes_the_writer_wait(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    open_spawner();
    struct seen seen = {0};
    struct child *child = start_it("read x; cat | wc -c", "/", true, &seen);
    static const char zeros[4096] = {'\n'};
    size_t sum = 0;
    ssize_t n = 0;
    while (sum < 300000) {
        n = child_write(child, zeros, sizeof zeros);
        sum += n > 0 ? (size_t)n : 0;
        int before = seen.writable;
        for (int64_t until = clock_ms() + GUARD_MS; n < 0 && seen.writable == before;) {
            TEST_ASSERT(n == -EAGAIN && clock_ms() < until);
            loop_turn(loop, 100);
        }
    }
    (void)child_end_gently(child, 60000); /* the end of its input ends it */
    close_spawner();
}

static int64_t fake_clock(void)
{
    return fake_now;
}

static void who_ignores_the_end_of_its_input_gets_term_then_kill(void)
{
    open_spawner();
    loop_set_clock(loop, fake_clock);
    char dir[] = "/tmp/spawn-XXXXXX";
    TEST_ASSERT(mkdtemp(dir) != NULL);
    struct seen seen = {0};
    struct child *child = start_it("trap 'echo > term' TERM; echo $$; echo up; cat; "
                                   "while :; do sleep 0.05; done",
                                   dir, true, &seen);
    wait_for_output(&seen, "up");
    long pid = atol(seen.output);
    (void)child_end_gently(child, 1000);
    char mark[64];
    (void)snprintf(mark, sizeof mark, "%s/term", dir);
    loop_turn(loop, 50);
    TEST_CHECK(access(mark, F_OK) < 0 && runs(pid));
    fake_now += 1000;
    int64_t until = clock_ms() + GUARD_MS;
    while (access(mark, F_OK) < 0 && clock_ms() < until)
        loop_turn(loop, 20);
    TEST_CHECK(access(mark, F_OK) == 0 && runs(pid));
    fake_now += 1000;
    while (runs(pid) && clock_ms() < until)
        loop_turn(loop, 20);
    TEST_CHECK(!runs(pid) && seen.ends == 0);
    (void)unlink(mark);
    (void)rmdir(dir);
    close_spawner();
}

#define T(name) {#name, name}

TEST_LIST = {
    {"a_terminal_controls_its_child_and_is_resized", a_terminal_controls_its_child_and_is_resized},
    {"control_c_in_a_terminal_interrupts", control_c_in_a_terminal_interrupts},
    {"a_paused_child_waits_and_loses_nothing", a_paused_child_waits_and_loses_nothing},
    T(a_child_has_exactly_what_it_was_given),
    T(the_spawner_has_as_many_open_files_as_may_be_and_children_what_it_was_given),
    T(no_child_has_the_uid_that_is_the_servers_own),
    T(all_output_comes_before_the_end_is_told),
    T(a_child_has_the_descriptors_that_it_was_given),
    T(what_libraries_have_open_reaches_no_child),
    T(what_libraries_have_open_reaches_no_helper),
    T(what_cannot_be_started_says_why),
    T(signals_reach_the_child_and_its_end_names_them),
    T(a_child_that_is_given_up_is_gone_with_all_that_it_started),
    T(closing_the_spawner_ends_what_still_runs),
    T(an_adopted_child_whose_ends_are_closed_has_ended),
    T(a_helper_has_its_socket_and_orphans_are_buried),
    T(a_helper_that_does_not_look_at_its_socket_is_killed),
    T(a_piped_child_reads_what_is_written_and_its_errors_are_apart),
    T(who_does_not_read_makes_the_writer_wait),
    T(who_ignores_the_end_of_its_input_gets_term_then_kill),
    {NULL, NULL},
};
