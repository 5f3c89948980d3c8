/* SPDX-License-Identifier: Apache-2.0
 *
 * init_main() in a forked child, as a subreaper; and as PID 1 where a PID namespace can be had.
 * Everything below it holds the write end of one pipe: its end of file says that all have gone. */
static void seal_descriptors(void);
#define TEST_INIT seal_descriptors()
#include <acutest.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "entrypoint/init.h"
#include "unit/guard.h"

/* What the one who started the tests left open is not the children's. */
static void seal_descriptors(void)
{
    for (int fd = 3; fd < 1024; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

struct stage {
    pid_t init;
    int output;
};

static const char *last_words; /* of the next; NULL: it is no server */
static int passed;             /* to the next */

static int run_words(const char *const words[], const struct identity *id, int64_t grace_ms)
{
    struct init_plan plan = {.identity = id,
                             .stop_grace_ms = grace_ms,
                             .leftover_grace_ms = 50,
                             .passed = passed,
                             .last_words = last_words};
    if (passed > 0)
        plan.ahead = (struct ahead){.fds = {passed + 3, passed - 3}, .count = 2};
    char *argv[8] = {NULL};
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    static char server[] = "server";
    init_plan_words(argc, argv, server, &plan);
    return init_main(&plan);
}

static struct stage start_words(const char *const words[], const struct identity *id,
                                int64_t grace_ms)
{
    struct stage st;
    int ends[2];
    TEST_ASSERT(pipe2(ends, O_CLOEXEC) == 0);
    st.init = fork();
    TEST_ASSERT(st.init >= 0);
    if (st.init == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        _exit(run_words(words, id, grace_ms));
    }
    (void)close(ends[1]);
    st.output = ends[0];
    return st;
}

static struct stage start(const char *script, int64_t grace_ms)
{
    const char *const words[] = {"sh", "-c", script, NULL};
    return start_words(words, NULL, grace_ms);
}

static bool prints(const struct stage *st, const char *text)
{
    static char got[8192];
    size_t n = 0;
    got[0] = '\0';
    while (!strstr(got, text)) {
        struct pollfd p = {st->output, POLLIN, 0};
        ssize_t r = poll(&p, 1, GUARD_MS) == 1 ? read(st->output, got + n, 8191 - n) : -1;
        if (r <= 0) {
            TEST_MSG("wanted %s, got %s", text, got);
            return false;
        }
        n += (size_t)r;
        got[n] = '\0';
    }
    return true;
}

static void check_end(const struct stage *st, int wanted)
{
    int status = -1;
    TEST_CHECK(waitpid(st->init, &status, 0) == st->init);
    TEST_CHECK_(WIFEXITED(status) && WEXITSTATUS(status) == wanted, "wait status %x", status);
    char text[4096];
    ssize_t n;
    TEST_ASSERT(fcntl(st->output, F_SETFL, O_NONBLOCK) == 0);
    while ((n = read(st->output, text, sizeof text)) > 0)
        ;
    TEST_CHECK_(n == 0, "something of the tree still holds its output");
}

static void the_words_say_what_runs(void)
{
    static const struct {
        const char *words[3];
        bool self;
        const char *argv[5];
    } cases[] = {
        {{NULL}, true, {"ipybox", "server"}},
        {{"--workspace", "x"}, true, {"ipybox", "server", "--workspace", "x"}},
        {{"health"}, true, {"ipybox", "health"}},
        {{"server", "--help"}, true, {"ipybox", "server", "--help"}},
        {{"bash", "-c"}, false, {"bash", "-c"}},
        {{"healthy"}, false, {"healthy"}},
        {{""}, false, {""}},
    };
    static char server[] = "server";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct init_plan plan = {.self = !cases[i].self};
        char *words[4] = {NULL};
        int argc = 0;
        for (; argc < 3 && cases[i].words[argc]; argc++)
            words[argc] = (char *)(uintptr_t)cases[i].words[argc];
        init_plan_words(argc, words, server, &plan);
        TEST_CASE(argc ? words[0] : "none");
        TEST_CHECK(plan.self == cases[i].self);
        int n = 0;
        for (; cases[i].argv[n]; n++)
            TEST_CHECK(plan.argv[n] && strcmp(plan.argv[n], cases[i].argv[n]) == 0);
        TEST_CHECK(plan.argv[n] == NULL);
        xfree(plan.argv);
    }
}

static void the_exit_status_is_the_main_childs(void)
{
    struct stage st = start("exit 37", 5000);
    check_end(&st, 37);
    st = start("kill -USR1 $$", 5000);
    check_end(&st, 128 + SIGUSR1);
}

static void a_program_that_is_not_there_or_cannot_run_is_told(void)
{
    const char *const missing[] = {"no-such-program-here", NULL};
    const char *const no_program[] = {"/etc/passwd", NULL};
    struct stage st = start_words(missing, NULL, 5000);
    check_end(&st, 127);
    st = start_words(no_program, NULL, 5000);
    check_end(&st, 126);
}

static void signals_are_passed_on(void)
{
    static const struct {
        int sig;
        const char *name;
    } cases[] = {{SIGHUP, "HUP"},   {SIGQUIT, "QUIT"},   {SIGUSR1, "USR1"},
                 {SIGUSR2, "USR2"}, {SIGWINCH, "WINCH"}, {SIGTERM, "TERM"}};
    struct stage st = start("for s in HUP QUIT USR1 USR2 WINCH; do trap \"echo got $s\" $s; done; "
                            "trap 'echo got TERM; exit 4' TERM; echo up; "
                            "while :; do sleep 0.02; done",
                            10000);
    TEST_CHECK(prints(&st, "up"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[32];
        (void)snprintf(want, sizeof want, "got %s\n", cases[i].name);
        TEST_CHECK(kill(st.init, cases[i].sig) == 0);
        TEST_CHECK(prints(&st, want));
    }
    check_end(&st, 4);
}

static void other_signals_are_swallowed(void)
{
    static const int others[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGALRM, SIGCONT, SIGURG};
    struct stage st = start("echo up; sleep 0.3; exit 6", 10000);
    TEST_CHECK(prints(&st, "up"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        TEST_CHECK(kill(st.init, others[i]) == 0);
    check_end(&st, 6);
}

static void the_end_of_the_grace_kills(void)
{
    struct stage st =
        start("trap 'echo got TERM' TERM; echo up; while :; do sleep 0.02; done", 3000);
    TEST_CHECK(prints(&st, "up"));
    int64_t from = clock_ms();
    TEST_CHECK(kill(st.init, SIGTERM) == 0);
    TEST_CHECK(prints(&st, "got TERM"));
    check_end(&st, 128 + SIGKILL);
    TEST_CHECK(clock_ms() - from >= 3000);
}

static void a_second_signal_kills_at_once(void)
{
    struct stage st =
        start("trap 'echo got INT' INT; echo up; while :; do sleep 0.02; done", 600000);
    TEST_CHECK(prints(&st, "up"));
    TEST_CHECK(kill(st.init, SIGINT) == 0);
    TEST_CHECK(prints(&st, "got INT"));
    TEST_CHECK(kill(st.init, SIGTERM) == 0);
    check_end(&st, 128 + SIGKILL);
}

static void what_is_left_behind_ends_with_the_main_child(void)
{
    struct stage st = start("trap '' TERM HUP INT; (setsid sh -c 'sleep 1000 & sleep 1000' &); "
                            "(setsid sh -c 'kill -STOP $$' &); exit 3",
                            5000);
    check_end(&st, 3);
}

static void orphans_are_reaped_while_the_main_child_runs(void)
{
    struct stage st = start("for i in 1 2 3 4 5; do (sh -c 'sleep 0.05 & :' &); done; sleep 0.5; "
                            "i=0; n=0; while [ $n -ne 1 ] && [ $i -lt 150 ]; do i=$((i+1)); "
                            "n=$(grep -l \"^PPid:.$PPID\\$\" /proc/[0-9]*/status 2>/dev/null | "
                            "wc -l); sleep 0.1; done; echo $n",
                            5000);
    TEST_CHECK(prints(&st, "1\n")); /* the main child alone */
    check_end(&st, 0);
}

static void the_main_child_starts_with_clean_signals(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    struct stage st = start("grep -E '^Sig(Blk|Ign)' /proc/self/status; echo done", 5000);
    TEST_CHECK(prints(&st, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\ndone"));
    check_end(&st, 0);
}

static void a_killed_init_takes_the_main_child_with_it(void)
{
    struct stage st = start("echo up; exec sleep 1000", 5000);
    TEST_CHECK(prints(&st, "up"));
    TEST_CHECK(kill(st.init, SIGKILL) == 0);
    struct pollfd p = {st.output, POLLIN, 0};
    char c;
    TEST_CHECK(poll(&p, 1, GUARD_MS) == 1 && read(st.output, &c, 1) == 0);
}

static void the_main_child_is_who_the_identity_says(void)
{
    if (geteuid() != 0) {
        TEST_MSG("needs root: passed over");
        return;
    }
    static const struct identity id = {.uid = 4711, .gid = 4712, .change = true};
    const char *const words[] = {
        "sh", "-c", "echo $(id -u):$(id -g); grep Cap /proc/$PPID/status; sleep 1000", NULL};
    struct stage st = start_words(words, &id, 5000);
    TEST_CHECK(prints(&st, "4711:4712\n"));
    TEST_CHECK(kill(st.init, SIGTERM) == 0); /* it may signal somebody else's process */
    check_end(&st, 128 + SIGTERM);
}

static int as_pid_1(void)
{
    const char *const words[] = {
        "sh", "-c", "(sleep 0.05 &); (setsid sleep 1000 &) ; echo \"parent $PPID\"; exit 9", NULL};
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("proc", "/proc", "proc", 0, NULL) < 0)
        return 77;
    return getpid() == 1 ? run_words(words, NULL, 5000) : 78;
}

/* One process above, which alone has children in the namespace. */
static int above_pid_1(void)
{
    int status = -1;
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0)
        return 77;
    pid_t pid = fork();
    if (pid == 0)
        _exit(as_pid_1());
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 79;
}

static void it_works_as_pid_1(void)
{
    struct stage st;
    int ends[2], status = -1;
    TEST_ASSERT(pipe2(ends, O_CLOEXEC) == 0);
    st.init = fork();
    if (st.init == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[1]);
        _exit(above_pid_1());
    }
    (void)close(ends[1]);
    st.output = ends[0];
    TEST_CHECK(waitpid(st.init, &status, 0) == st.init && WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        TEST_MSG("no PID namespaces here: passed over");
        return;
    }
    TEST_CHECK_(WEXITSTATUS(status) == 9, "%d", WEXITSTATUS(status));
    TEST_CHECK(prints(&st, "parent 1\n"));
}

#define TEST(name) {#name, name}

static void check_last_words(const char *path, const char *script, const char *wanted)
{
    char text[512] = "";
    TEST_CASE(script);
    struct stage st = start(script, 5000);
    int status = -1;
    TEST_CHECK(waitpid(st.init, &status, 0) == st.init && WIFEXITED(status));
    FILE *file = fopen(path, "re");
    TEST_ASSERT(file != NULL);
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    (void)fclose(file);
    (void)close(st.output);
    TEST_CHECK_(strncmp(text, wanted, strlen(wanted)) == 0 && !*text == !*wanted, "%s", text);
}

static void the_end_of_a_server_by_a_signal_leaves_its_cause(void)
{
    char path[] = "/tmp/test-init-last-XXXXXX";
    int fd = mkstemp(path);
    TEST_ASSERT(fd >= 0 &&
                write(fd, "old, and longer than what comes after it: 12345678", 50) == 50);
    (void)close(fd);
    last_words = path;
    check_last_words(path, "exit 3", "old, ");
    check_last_words(path, "kill -KILL $$", "the server was ended by signal 9 (Killed)");
    check_last_words(path, "kill -SEGV $$",
                     "the server was ended by signal 11 (Segmentation fault)\n");
    check_last_words(path, "exec /nowhere/x", "the server was ended by signal 11");
    TEST_ASSERT(unlink(path) == 0);
    struct stage st = start("kill -KILL $$", 5000); /* it is not made */
    check_end(&st, 128 + SIGKILL);
    TEST_CHECK(access(path, F_OK) < 0);
    last_words = NULL;
}

static void a_server_that_cannot_be_run_leaves_the_reason(void)
{
    char path[] = "/tmp/test-init-last-XXXXXX", text[128] = "";
    int fd = mkstemp(path);
    TEST_ASSERT(fd >= 0);
    last_words = path;
    const char *const words[] = {"/nowhere/x", NULL};
    struct stage st = start_words(words, NULL, 5000);
    check_end(&st, 127);
    TEST_CHECK(read(fd, text, sizeof text - 1) > 0);
    TEST_CHECK_(strcmp(text, "/nowhere/x: no such program\n") == 0, "%s", text);
    (void)close(fd);
    (void)unlink(path);
    last_words = NULL;
}

static void check_main_child_has(const char *wanted)
{
    struct stage st = start("r=; for n in 0 1 2 3 4 5 6 7 8 9 10 47 50 53 60; do "
                            "[ -e /proc/self/fd/$n ] && r=\"$r$n \"; done; echo \"($r)\"",
                            5000);
    TEST_CHECK(prints(&st, wanted));
    check_end(&st, 0);
}

/* Whatever the engine, or a library of ours, has left open. */
static void a_server_has_the_sockets_that_it_is_passed_and_a_program_what_it_was_left(void)
{
    static const int strays[] = {4, 9, 60};
    char path[] = "/tmp/test-init-last-XXXXXX";
    int fd = mkstemp(path);
    TEST_ASSERT(fd >= 0 && close(fd) == 0);
    for (size_t i = 0; i < sizeof strays / sizeof *strays; i++)
        TEST_ASSERT(dup2(STDIN_FILENO, strays[i]) == strays[i]);
    check_main_child_has("(0 1 2 4 9 60 )");
    passed = 50;
    for (int i = -3; i <= 3; i += 3)
        TEST_ASSERT(dup3(STDIN_FILENO, passed + i, O_CLOEXEC) > 0);
    last_words = path;
    check_main_child_has("(0 1 2 47 50 53 )");
    passed = 0;
    check_main_child_has("(0 1 2 )");
    last_words = NULL;
    TEST_CHECK(unlink(path) == 0);
}

TEST_LIST = {
    {"the_end_of_a_server_by_a_signal_leaves_its_cause",
     the_end_of_a_server_by_a_signal_leaves_its_cause},
    {"a_server_that_cannot_be_run_leaves_the_reason",
     a_server_that_cannot_be_run_leaves_the_reason},
    TEST(a_server_has_the_sockets_that_it_is_passed_and_a_program_what_it_was_left),
    TEST(the_words_say_what_runs),
    TEST(the_exit_status_is_the_main_childs),
    TEST(a_program_that_is_not_there_or_cannot_run_is_told),
    TEST(signals_are_passed_on),
    TEST(other_signals_are_swallowed),
    TEST(the_end_of_the_grace_kills),
    TEST(a_second_signal_kills_at_once),
    TEST(what_is_left_behind_ends_with_the_main_child),
    TEST(orphans_are_reaped_while_the_main_child_runs),
    TEST(the_main_child_starts_with_clean_signals),
    TEST(a_killed_init_takes_the_main_child_with_it),
    TEST(the_main_child_is_who_the_identity_says),
    TEST(it_works_as_pid_1),
    {NULL, NULL},
};
