/* SPDX-License-Identifier: Apache-2.0
 *
 * The test plays the server: a forked child runs shim_main() on one end of a socket pair. The
 * children's standard output is a pipe, whose end of file says that nothing of the tree is left. */
static void seal_descriptors(void);
#define TEST_INIT seal_descriptors()
#include <acutest.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "sandbox/shim/shim.h"
#include "sandbox/shim/spawn.h"
#include "unit/guard.h"

struct stage {
    pid_t shim;
    int control, output;
};

/* What the one who started the tests left open is not the children's. */
static void seal_descriptors(void)
{
    for (int fd = 3; fd < 1024; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void enter_stage(struct stage *st, int sockets[2], int pipes[2])
{
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
    TEST_ASSERT(pipe2(pipes, O_CLOEXEC) == 0);
    *st = (struct stage){.control = sockets[0], .output = pipes[0]};
}

/* In the forked child: the surroundings that the server gives a shim. */
static void settle(int sockets[2], int pipes[2])
{
    (void)close(sockets[0]);
    (void)close(pipes[0]);
    (void)dup2(pipes[1], STDOUT_FILENO);
    (void)close(pipes[1]);
}

/* `given`: how many descriptors go to the child; NULL: none. */
static struct stage start_giving(const char *given, const char *const words[])
{
    struct stage st;
    int sockets[2], pipes[2];
    enter_stage(&st, sockets, pipes);
    st.shim = fork();
    TEST_ASSERT(st.shim >= 0);
    if (st.shim == 0) {
        settle(sockets, pipes);
        char role[] = "shim", option[] = "--given", dashes[] = "--", control[16];
        (void)snprintf(control, sizeof control, "%d", sockets[1]);
        char *argv[16] = {role, control};
        int argc = 2;
        if (given) {
            argv[argc++] = option;
            argv[argc++] = (char *)(uintptr_t)given;
        }
        argv[argc++] = dashes;
        for (int i = 0; words[i]; i++)
            argv[argc++] = (char *)(uintptr_t)words[i];
        _exit(shim_main(argc, argv));
    }
    (void)close(sockets[1]);
    (void)close(pipes[1]);
    return st;
}

static struct stage start(const char *const words[])
{
    return start_giving(NULL, words);
}

static struct stage start_script(const char *script)
{
    const char *const words[] = {"/bin/sh", "-c", script, NULL};
    return start(words);
}

static bool readable(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    return poll(&p, 1, GUARD_MS) == 1;
}

/* The next report; kind 0 at end of file. */
static struct shim_report next_report(const struct stage *st)
{
    struct shim_report r = {0};
    if (!TEST_CHECK_(readable(st->control), "no report in time"))
        return r;
    ssize_t n = recv(st->control, &r, sizeof r, 0);
    TEST_CHECK(n == 0 || n == (ssize_t)sizeof r);
    return r;
}

static bool reports(const struct stage *st, enum shim_kind kind, int a, int b)
{
    struct shim_report r = next_report(st);
    bool ok = r.kind == kind && r.a == a && r.b == b;
    if (!ok)
        TEST_MSG("got kind %u, a %d, b %d", r.kind, r.a, r.b);
    return ok;
}

static pid_t started(const struct stage *st)
{
    struct shim_report r = next_report(st);
    TEST_CHECK(r.kind == SHIM_STARTED && r.a > 0);
    return r.a;
}

static void order(const struct stage *st, enum shim_order letter)
{
    char c = (char)letter;
    TEST_CHECK(send(st->control, &c, 1, MSG_NOSIGNAL) == 1);
}

/* Reads the tree's output until `text` has come. */
static bool prints(const struct stage *st, const char *text)
{
    char got[4096];
    size_t n = 0;
    got[0] = '\0';
    while (!strstr(got, text)) {
        ssize_t r = readable(st->output) ? read(st->output, got + n, sizeof got - 1 - n) : -1;
        if (r <= 0) {
            TEST_MSG("wanted %s, got %s", text, got);
            return false;
        }
        n += (size_t)r;
        got[n] = '\0';
    }
    return true;
}

/* The shim ended with this status and nothing of its tree is left. */
static void check_end(const struct stage *st, int exit_status)
{
    int status = -1;
    TEST_CHECK(waitpid(st->shim, &status, 0) == st->shim);
    TEST_CHECK_(WIFEXITED(status) && WEXITSTATUS(status) == exit_status, "wait status %d", status);
    char text[4096];
    ssize_t n;
    TEST_ASSERT(fcntl(st->output, F_SETFL, O_NONBLOCK) == 0);
    while ((n = read(st->output, text, sizeof text)) > 0)
        ;
    TEST_CHECK_(n == 0, "something of the tree still holds its output");
}

static void an_exit_status_is_reported(void)
{
    struct stage st = start_script("exit 37");
    TEST_CHECK(started(&st) > 0);
    TEST_CHECK(reports(&st, SHIM_EXITED, 37, 0));
    TEST_CHECK(reports(&st, 0, 0, 0));
    check_end(&st, 0);
}

static void a_deadly_signal_is_reported(void)
{
    struct stage st = start_script("kill -USR1 $$");
    TEST_CHECK(started(&st) > 0);
    TEST_CHECK(reports(&st, SHIM_EXITED, -1, SIGUSR1));
    check_end(&st, 0);
}

static void a_program_that_is_not_there_is_reported(void)
{
    const char *const words[] = {"/nonexistent/program", NULL};
    struct stage st = start(words);
    TEST_CHECK(reports(&st, SHIM_FAILED, ENOENT, SHIM_STEP_EXEC));
    TEST_CHECK(reports(&st, 0, 0, 0));
    check_end(&st, 1);
}

static void a_program_that_may_not_run_is_reported(void)
{
    const char *const words[] = {"/etc/passwd", NULL};
    struct stage st = start(words);
    TEST_CHECK(reports(&st, SHIM_FAILED, EACCES, SHIM_STEP_EXEC));
    check_end(&st, 1);
}

static void an_interrupt_reaches_the_childs_group(void)
{
    struct stage st = start_script("trap 'echo caught; exit 3' INT; echo up; "
                                   "while :; do sleep 0.05; done");
    TEST_CHECK(started(&st) > 0);
    TEST_CHECK(prints(&st, "up"));
    order(&st, SHIM_INTERRUPT);
    TEST_CHECK(prints(&st, "caught"));
    TEST_CHECK(reports(&st, SHIM_EXITED, 3, 0));
    check_end(&st, 0);
}

static void a_term_reaches_the_childs_group(void)
{
    struct stage st = start_script("echo up; exec sleep 100");
    TEST_CHECK(started(&st) > 0);
    TEST_CHECK(prints(&st, "up"));
    order(&st, SHIM_TERMINATE);
    TEST_CHECK(reports(&st, SHIM_EXITED, -1, SIGTERM));
    check_end(&st, 0);
}

static void a_stopped_child_is_resumed(void)
{
    struct stage st = start_script("echo up; kill -STOP $$; exit 5");
    pid_t pid = started(&st);
    TEST_CHECK(prints(&st, "up"));
    char path[64], text[256] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    for (int64_t until = clock_ms() + GUARD_MS; !strstr(text, ") T ") && clock_ms() < until;) {
        FILE *f = fopen(path, "re");
        TEST_ASSERT(f && fgets(text, sizeof text, f));
        (void)fclose(f);
    }
    order(&st, SHIM_RESUME);
    TEST_CHECK(reports(&st, SHIM_EXITED, 5, 0));
    check_end(&st, 0);
}

#define DAEMONS                                                                                    \
    "trap '' TERM INT HUP; (setsid sh -c 'setsid sleep 1000 & sleep 1000' &) ; "                   \
    "(setsid sh -c 'kill -STOP $$' &); echo up; "

static void kill_ends_the_whole_tree(void)
{
    struct stage st = start_script(DAEMONS "exec sleep 1000");
    TEST_CHECK(started(&st) > 0);
    TEST_CHECK(prints(&st, "up"));
    order(&st, SHIM_KILL);
    TEST_CHECK(reports(&st, SHIM_EXITED, -1, SIGKILL));
    check_end(&st, 0);
}

static void a_server_that_is_gone_ends_the_whole_tree(void)
{
    struct stage st = start_script(DAEMONS "exec sleep 1000");
    TEST_CHECK(started(&st) > 0);
    TEST_CHECK(prints(&st, "up"));
    TEST_CHECK(close(st.control) == 0);
    check_end(&st, 0);
}

static void a_closed_sending_side_still_hears_the_end(void)
{
    struct stage st = start_script("echo up; exec sleep 1000");
    TEST_CHECK(started(&st) > 0);
    TEST_CHECK(prints(&st, "up"));
    TEST_CHECK(shutdown(st.control, SHUT_WR) == 0);
    TEST_CHECK(reports(&st, SHIM_EXITED, -1, SIGKILL));
    check_end(&st, 0);
}

static void what_a_child_leaves_behind_ends_with_it(void)
{
    struct stage st = start_script(DAEMONS "exit 4");
    TEST_CHECK(started(&st) > 0);
    TEST_CHECK(reports(&st, SHIM_EXITED, 4, 0));
    check_end(&st, 0);
}

static void the_end_is_told_when_all_have_gone(void)
{
    struct stage st = start_script("trap '' TERM INT HUP; setsid sleep 1000 & echo $!; exit 4");
    char text[16] = "";
    TEST_CHECK(started(&st) > 0);
    TEST_CHECK(readable(st.output) && read(st.output, text, sizeof text - 1) > 0);
    const pid_t left = (pid_t)strtol(text, NULL, 10);
    TEST_CHECK(left > 0);
    TEST_CHECK(reports(&st, SHIM_EXITED, 4, 0));
    TEST_CHECK(kill(left, 0) < 0 && errno == ESRCH);
    check_end(&st, 0);
}

static void it_says_whether_the_tree_holds_anything(void)
{
    /* What the test itself was given, maybe files, is none of the child's. */
    static const char *const scripts[] = {
        "exec </dev/null 2>&1 3>&- 4>&- 5>&- 6>&-; echo up; while :; do :; done",
        "exec </dev/null 2>&1 3>&- 4>&- 5>&- 6>&-; sleep 1000 & echo up; exec sleep 1000",
        "exec 3< /etc/passwd; echo up; exec sleep 1000"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct stage st = start_script(scripts[i]);
        TEST_CASE(scripts[i]);
        TEST_CHECK(started(&st) > 0);
        TEST_CHECK(prints(&st, "up"));
        order(&st, SHIM_LOOK);
        TEST_CHECK(reports(&st, SHIM_HOLDS, i > 0, 0));
        order(&st, SHIM_KILL);
        TEST_CHECK(reports(&st, SHIM_EXITED, -1, SIGKILL));
        check_end(&st, 0);
    }
}

static void an_unknown_order_ends_the_tree(void)
{
    struct stage st = start_script("exec sleep 1000");
    TEST_CHECK(started(&st) > 0);
    TEST_CHECK(send(st.control, "?", 1, 0) == 1);
    TEST_CHECK(reports(&st, SHIM_EXITED, -1, SIGKILL));
    check_end(&st, 0);
}

static void stray_signals_do_not_end_the_shim(void)
{
    struct stage st = start_script("echo up; read x < /dev/zero; exec sleep 1000");
    TEST_CHECK(started(&st) > 0);
    static const int stray[] = {SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGTSTP, SIGPIPE, SIGALRM};
    for (size_t i = 0; i < sizeof stray / sizeof *stray; i++)
        TEST_CHECK(kill(st.shim, stray[i]) == 0);
    order(&st, SHIM_TERMINATE);
    TEST_CHECK(reports(&st, SHIM_EXITED, -1, SIGTERM));
    check_end(&st, 0);
}

static void a_term_from_outside_becomes_a_kill(void)
{
    struct stage st = start_script("trap '' TERM; echo up; while :; do sleep 0.1; done");
    TEST_CHECK(started(&st) > 0);
    TEST_CHECK(prints(&st, "up"));
    int64_t from = clock_ms();
    TEST_CHECK(kill(st.shim, SIGTERM) == 0);
    TEST_CHECK(reports(&st, SHIM_EXITED, -1, SIGKILL));
    TEST_CHECK(clock_ms() - from >= SHIM_TERM_GRACE_MS);
    check_end(&st, 0);
}

static void a_killed_shim_takes_the_child_with_it(void)
{
    struct stage st = start_script("echo up; exec sleep 1000");
    TEST_CHECK(started(&st) > 0);
    TEST_CHECK(prints(&st, "up"));
    TEST_CHECK(kill(st.shim, SIGKILL) == 0);
    TEST_CHECK(reports(&st, 0, 0, 0));
    TEST_CHECK(readable(st.output));
    char c;
    TEST_CHECK(read(st.output, &c, 1) == 0);
}

/* SIGPIPE ignored and everything blocked here, as in a Python server: not so in the child. */
static void the_child_starts_with_clean_signals_and_limits(void)
{
    sigset_t all;
    sigfillset(&all);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGINT, SIG_IGN);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    struct stage st = start_script("grep -E '^(SigBlk|SigIgn|NoNewPrivs)' /proc/self/status; "
                                   "echo core $(ulimit -c); echo fds $(ls /proc/self/fd); "
                                   "echo sid $(cut -d' ' -f6 /proc/$$/stat)=$$");
    char text[2048];
    size_t n = 0;
    while (readable(st.output)) {
        ssize_t r = read(st.output, text + n, sizeof text - 1 - n);
        if (r <= 0)
            break;
        n += (size_t)r;
    }
    text[n] = '\0';
    TEST_CHECK(strstr(text, "SigBlk:\t0000000000000000") != NULL);
    TEST_CHECK(strstr(text, "SigIgn:\t0000000000000000") != NULL);
    TEST_CHECK(strstr(text, "NoNewPrivs:\t1") != NULL);
    TEST_CHECK(strstr(text, "core 0\n") != NULL);
    TEST_CHECK(strstr(text, "fds 0 1 2 3\n") != NULL); /* 3 is the directory that ls reads */
    TEST_MSG("%s", text);
    pid_t pid = started(&st);
    char sid[64];
    (void)snprintf(sid, sizeof sid, "sid %d=%d\n", pid, pid);
    TEST_CHECK(strstr(text, sid) != NULL);
    TEST_MSG("%s", text);
}

static void the_shim_holds_none_of_the_childs_descriptors(void)
{
    int inherited[2];
    const char *const words[] = {"/bin/sh", "-c",
                                 "exec >&- 2>&-; for f in /proc/self/fd/*; do "
                                 "n=${f##*/}; [ $n -gt 2 ] && eval \"exec $n>&-\"; done; "
                                 "while :; do read x < /dev/zero; done",
                                 NULL};
    TEST_ASSERT(pipe2(inherited, O_CLOEXEC) == 0);
    TEST_ASSERT(dup2(inherited[1], CHILD_FIRST_FD + 1) >= 0); /* meant for the child */
    struct stage st = start_giving("2", words);
    (void)close(CHILD_FIRST_FD + 1);
    (void)close(inherited[1]);
    TEST_CHECK(started(&st) > 0);
    char c;
    TEST_CHECK(readable(st.output) && read(st.output, &c, 1) == 0);
    TEST_CHECK(readable(inherited[0]) && read(inherited[0], &c, 1) == 0);
    order(&st, SHIM_KILL);
    TEST_CHECK(reports(&st, SHIM_EXITED, -1, SIGKILL));
    check_end(&st, 0);
}

/* Whatever is open when the shim starts: it may have come from a library of the server's. */
static void the_child_has_the_descriptors_that_are_counted_and_no_others(void)
{
    static const int strays[] = {CHILD_FIRST_FD, CHILD_FIRST_FD + 1, CHILD_FIRST_FD + 2, 40, 900};
    const char *const words[] = {"/bin/sh", "-c",
                                 "r=; for n in 0 1 2 3 4 5 6 7 8 9 10 40 900; do "
                                 "[ -e /proc/self/fd/$n ] && r=\"$r$n \"; done; echo \"$r\"",
                                 NULL};
    static const char *const wanted[] = {"0 1 2 \n", "0 1 2 5 \n", "0 1 2 5 6 \n"};
    static const char *const given[] = {NULL, "1", "2"};
    for (size_t i = 0; i < sizeof strays / sizeof *strays; i++)
        TEST_ASSERT(dup2(STDERR_FILENO, strays[i]) == strays[i]);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        struct stage st = start_giving(given[i], words);
        char text[64] = "";
        TEST_CHECK(readable(st.output) && read(st.output, text, sizeof text - 1) > 0);
        TEST_CHECK(strcmp(text, wanted[i]) == 0);
        TEST_MSG("%s given: %s", given[i] ? given[i] : "none", text);
        TEST_CHECK(started(&st) > 0 && reports(&st, SHIM_EXITED, 0, 0));
        check_end(&st, 0);
    }
}

static struct stage adopt(const char *script, bool own_child)
{
    struct stage st;
    int sockets[2], pipes[2];
    enter_stage(&st, sockets, pipes);
    st.shim = fork();
    if (st.shim == 0) {
        settle(sockets, pipes);
        pid_t pid = own_child ? fork() : getppid();
        if (pid == 0) {
            (void)setsid();
            (void)execl("/bin/sh", "sh", "-c", script, (char *)NULL);
            _exit(127);
        }
        char role[] = "shim", option[] = "--adopt", control[16], adopted[16];
        (void)snprintf(control, sizeof control, "%d", sockets[1]);
        (void)snprintf(adopted, sizeof adopted, "%d", pid);
        char *argv[] = {role, control, option, adopted, NULL};
        _exit(shim_main(4, argv));
    }
    (void)close(sockets[1]);
    (void)close(pipes[1]);
    return st;
}

static void a_running_child_is_adopted(void)
{
    struct stage st = adopt("trap 'exit 9' INT; echo up; while :; do sleep 0.05; done", true);
    TEST_CHECK(started(&st) > 0);
    TEST_CHECK(prints(&st, "up"));
    order(&st, SHIM_INTERRUPT);
    TEST_CHECK(reports(&st, SHIM_EXITED, 9, 0));
    check_end(&st, 0);
}

static void a_child_that_ended_before_the_adoption_is_reported(void)
{
    struct stage st = adopt("exit 11", true);
    TEST_CHECK(started(&st) > 0);
    TEST_CHECK(reports(&st, SHIM_EXITED, 11, 0));
    check_end(&st, 0);
}

static void a_stranger_is_not_adopted(void)
{
    struct stage st = adopt("", false);
    TEST_CHECK(reports(&st, SHIM_FAILED, ECHILD, SHIM_STEP_ADOPT));
    check_end(&st, 1);
}

static void wrong_words_are_refused(void)
{
    static const char *const cases[][5] = {
        {"shim", NULL},
        {"shim", "0", "--", "true", NULL},
        {"shim", "x", "--", "true", NULL},
        {"shim", "99999", "--"},
        {"shim", "0", "true", NULL},
        {"shim", "0", "--adopt", "x", NULL},
        {"shim", "0", "--given", "7", "--"},
        {"shim", "0", "--given", "x", "--"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *argv[6] = {NULL};
        int argc = 0;
        for (; argc < 5 && cases[i][argc]; argc++)
            argv[argc] = (char *)(uintptr_t)cases[i][argc];
        TEST_CHECK(shim_main(argc, argv) == 2);
    }
}

TEST_LIST = {
    {"an_exit_status_is_reported", an_exit_status_is_reported},
    {"a_deadly_signal_is_reported", a_deadly_signal_is_reported},
    {"a_program_that_is_not_there_is_reported", a_program_that_is_not_there_is_reported},
    {"a_program_that_may_not_run_is_reported", a_program_that_may_not_run_is_reported},
    {"an_interrupt_reaches_the_childs_group", an_interrupt_reaches_the_childs_group},
    {"a_term_reaches_the_childs_group", a_term_reaches_the_childs_group},
    {"a_stopped_child_is_resumed", a_stopped_child_is_resumed},
    {"kill_ends_the_whole_tree", kill_ends_the_whole_tree},
    {"a_server_that_is_gone_ends_the_whole_tree", a_server_that_is_gone_ends_the_whole_tree},
    {"a_closed_sending_side_still_hears_the_end", a_closed_sending_side_still_hears_the_end},
    {"what_a_child_leaves_behind_ends_with_it", what_a_child_leaves_behind_ends_with_it},
    {"the_end_is_told_when_all_have_gone", the_end_is_told_when_all_have_gone},
    {"it_says_whether_the_tree_holds_anything", it_says_whether_the_tree_holds_anything},
    {"an_unknown_order_ends_the_tree", an_unknown_order_ends_the_tree},
    {"stray_signals_do_not_end_the_shim", stray_signals_do_not_end_the_shim},
    {"a_term_from_outside_becomes_a_kill", a_term_from_outside_becomes_a_kill},
    {"a_killed_shim_takes_the_child_with_it", a_killed_shim_takes_the_child_with_it},
    {"the_child_starts_with_clean_signals_and_limits",
     the_child_starts_with_clean_signals_and_limits},
    {"the_shim_holds_none_of_the_childs_descriptors",
     the_shim_holds_none_of_the_childs_descriptors},
    {"the_child_has_the_descriptors_that_are_counted_and_no_others",
     the_child_has_the_descriptors_that_are_counted_and_no_others},
    {"a_running_child_is_adopted", a_running_child_is_adopted},
    {"a_child_that_ended_before_the_adoption_is_reported",
     a_child_that_ended_before_the_adoption_is_reported},
    {"a_stranger_is_not_adopted", a_stranger_is_not_adopted},
    {"wrong_words_are_refused", wrong_words_are_refused},
    {NULL, NULL},
};
