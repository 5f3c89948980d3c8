/* SPDX-License-Identifier: Apache-2.0
 *
 * The shim as the broker of its child. The test plays the server and is the process outside. The
 * children's standard output is a pipe, whose end of file says that nothing of the tree is left. */
#include <acutest.h>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/unixsock.h"
#include "sandbox/confine/confine.h"
#include "sandbox/confine/spec.h"
#include "sandbox/shim/shim.h"
#include "unit/guard.h"

enum { NEW_LISTENER = 1 << 3 };

struct stage {
    pid_t shim;
    int control, output;
};

struct told { /* a report and its text */
    struct shim_report report;
    char text[SHIM_TEXT_MAX + 1];
};

static char place[64]; /* the working directory of sandboxed children */

static const char settings[] =
    "{\"network\": {\"allowedDomains\": [], \"deniedDomains\": []},"
    " \"filesystem\": {\"denyRead\": [\".env\"], \"allowWrite\": [\".\"], \"denyWrite\": []}}";

static struct sandbox_spec sandbox(void)
{
    char name[17];
    random_hex(name, 8);
    (void)snprintf(place, sizeof place, "/tmp/shim-walls-%s", name);
    TEST_ASSERT(mkdir(place, 0700) == 0 && chdir(place) == 0);
    drop_fd int fd = open(".env", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    TEST_ASSERT(fd >= 0 && fd_write(fd, "secret\n", 7) == 0);
    return (struct sandbox_spec){
        .settings = settings, .cwd = place, .home = place, .level = SANDBOX_FULL};
}

static void clean(void)
{
    static const char *const names[] = {".env", "made", "probe"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unlink(names[i]);
    TEST_CHECK(rmdir(place) == 0);
}

/* A listener above the shim, as another sandbox would have one. */
static void put_listener_above(void)
{
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, NEW_LISTENER, &program) < 0)
        _exit(99);
}

static void settle(const int *sockets, const int *pipes)
{
    for (int fd = 3; fd < 64; fd++)
        if (fd != sockets[1] && fd != pipes[1])
            (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)dup2(pipes[1], STDOUT_FILENO);
    (void)close(pipes[1]);
    (void)close(pipes[0]);
    (void)close(sockets[0]);
}

static struct stage open_stage(int sockets[2], int pipes[2])
{
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
    TEST_ASSERT(pipe2(pipes, O_CLOEXEC) == 0);
    return (struct stage){.control = sockets[0], .output = pipes[0]};
}

static struct stage start(const struct sandbox_spec *spec, const char *script, bool nested)
{
    int sockets[2], pipes[2], fd = -1;
    struct stage st = open_stage(sockets, pipes);
    TEST_ASSERT(sandbox_spec_write(spec, &fd, NULL) == 0);
    st.shim = fork();
    if (st.shim == 0) {
        settle(sockets, pipes);
        if (nested)
            put_listener_above();
        char control[16], number[16];
        (void)snprintf(control, sizeof control, "%d", sockets[1]);
        (void)snprintf(number, sizeof number, "%d", fd);
        const char *words[] = {"shim",    control, "--sandbox", number, "--",
                               "/bin/sh", "-c",    script,      NULL};
        _exit(shim_main(8, (char **)(uintptr_t)words));
    }
    (void)close(sockets[1]);
    (void)close(pipes[1]);
    (void)close(fd);
    return st;
}

static struct told next(const struct stage *st)
{
    struct told told = {0};
    struct pollfd p = {st->control, POLLIN, 0};
    if (!TEST_CHECK_(poll(&p, 1, GUARD_MS) == 1, "no report in time"))
        return told;
    struct iovec parts[] = {{&told.report, sizeof told.report}, {told.text, SHIM_TEXT_MAX}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    (void)recvmsg(st->control, &message, 0);
    return told;
}

/* The next report of that kind; others are passed over. */
static struct told wait_for(const struct stage *st, enum shim_kind kind)
{
    struct told told = next(st);
    while (told.report.kind != 0 && told.report.kind != kind)
        told = next(st);
    TEST_CHECK_(told.report.kind == kind, "the shim ended before a report of kind %d", (int)kind);
    return told;
}

/* All that the tree writes until it has ended. */
static const char *read_output(const struct stage *st)
{
    static char text[8192];
    size_t n = 0;
    struct pollfd p = {st->output, POLLIN, 0};
    while (poll(&p, 1, GUARD_MS) == 1) {
        ssize_t got = read(st->output, text + n, sizeof text - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    text[n] = '\0';
    return text;
}

static void end(const struct stage *st, int status)
{
    int got = -1;
    TEST_CHECK(waitpid(st->shim, &got, 0) == st->shim && WIFEXITED(got));
    TEST_CHECK_(WEXITSTATUS(got) == status, "the shim's status is %d", WEXITSTATUS(got));
    (void)close(st->control);
    (void)close(st->output);
}

static const char *run(const struct sandbox_spec *spec, const char *script)
{
    struct stage st = start(spec, script, false);
    const char *text = read_output(&st);
    end(&st, 0);
    return text;
}

/* --- what holds ------------------------------------------------------------------------------- */

static void a_neighbour_is_out_of_reach_behind_the_walls_alone(void)
{
    char script[200];
    pid_t neighbour = fork();
    if (neighbour == 0) {
        (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        for (;;)
            (void)poll(NULL, 0, -1);
    }
    (void)snprintf(script, sizeof script,
                   "kill -CONT %d 2>&- && echo signalled; kill -CONT $$ && echo itself; "
                   "cat /proc/%d/environ >/dev/null 2>&1 && echo read",
                   (int)neighbour, (int)neighbour);
    const char *text = run(&sandbox_walls, script);
    TEST_CHECK_(strcmp(text, "itself\n") == 0, "%s", text);
    (void)kill(neighbour, SIGKILL);
    (void)waitpid(neighbour, NULL, 0);
}

static void settings_hold_and_refusals_are_told(void)
{
    struct sandbox_spec spec = sandbox();
    struct stage st = start(&spec, "echo x > made && echo wrote; cat .env; exit 4", false);
    struct told started = {0}, refused = {0}, told; /* the first two in either order */
    for (told = next(&st); told.report.kind != 0 && told.report.kind != SHIM_EXITED;
         told = next(&st))
        *(told.report.kind == SHIM_STARTED ? &started : &refused) = told;
    TEST_CHECK(started.report.a > 0);
    TEST_CHECK(refused.report.kind == SHIM_REFUSED && refused.report.a > 0);
    TEST_CHECK(refused.report.b == 0);
    TEST_CHECK_(strstr(refused.text, "call=open") && strstr(refused.text, "/.env"), "%s",
                refused.text);
    TEST_CHECK(told.report.a == 4 && told.report.b == 0);
    const char *text = read_output(&st);
    TEST_CHECK_(strcmp(text, "wrote\n") == 0, "%s", text);
    end(&st, 0);
    clean();
}

static void a_flood_of_refusals_is_counted_and_not_told(void)
{
    struct sandbox_spec spec = sandbox();
    struct stage st = start(&spec,
                            "i=0; while [ $i -lt 300 ]; do { read x < .env; } 2>&-; i=$((i+1)); "
                            "done; sleep 1; { read x < .env; } 2>&-; exit 0",
                            false);
    int reports = 0, untold = 0;
    for (struct told told = next(&st); told.report.kind != 0; told = next(&st)) {
        reports += told.report.kind == SHIM_REFUSED;
        untold += told.report.kind == SHIM_REFUSED ? told.report.b : 0;
    }
    TEST_CHECK_(reports + untold == 301, "%d told, %d not", reports, untold);
    TEST_CHECK_(reports >= SHIM_REFUSALS_BURST && reports < 150, "%d told", reports);
    (void)read_output(&st);
    end(&st, 0);
    clean();
}

/* --- other settings for a running child ------------------------------------------------------- */

static const char more_settings[] =
    "{\"network\": {\"allowedDomains\": [], \"deniedDomains\": []},"
    " \"filesystem\": {\"denyRead\": [], \"allowWrite\": [\".\"], \"denyWrite\": []}}";
static const char less_settings[] =
    "{\"network\": {\"allowedDomains\": [], \"deniedDomains\": []},"
    " \"filesystem\": {\"denyRead\": [\".env\"], \"allowWrite\": [], \"denyWrite\": []}}";
static const char wrong_settings[] = "{\"filesystem\": {\"allowWrites\": []}}";

/* What the shim answers. */
static struct told change(const struct stage *st, struct sandbox_spec spec, const char *text)
{
    const char order = SHIM_CONFINE;
    drop_fd int fd = -1;
    spec.settings = text;
    TEST_ASSERT(sandbox_spec_write(&spec, &fd, NULL) == 0);
    TEST_ASSERT(unixsock_send(st->control, &order, 1, &fd, 1, 0) == 0);
    return wait_for(st, SHIM_CONFINED);
}

/* The child looks once for each line that it is given. */
static void make_it_look(int fifo)
{
    TEST_CHECK(write(fifo, "\n", 1) == 1);
}

static const char *next_line(const struct stage *st)
{
    static char line[256];
    size_t n = 0;
    struct pollfd p = {st->output, POLLIN, 0};
    while (n < sizeof line - 1 && poll(&p, 1, GUARD_MS) == 1 &&
           read(st->output, line + n, 1) == 1 && line[n] != '\n')
        n++;
    line[n] = '\0';
    return line;
}

static void a_running_child_gets_other_settings_and_keeps_them_when_a_change_is_refused(void)
{
    struct sandbox_spec spec = sandbox();
    TEST_ASSERT(mkfifo("probe", 0600) == 0);
    struct stage st = start(
        &spec, "exec 3<probe; while read x <&3; do cat .env 2>&- || echo refused; done", false);
    drop_fd int fifo = open("probe", O_WRONLY | O_CLOEXEC);
    (void)wait_for(&st, SHIM_STARTED);
    make_it_look(fifo);
    TEST_CHECK(strcmp(next_line(&st), "refused") == 0);
    TEST_CHECK(change(&st, spec, more_settings).report.a == 0);
    make_it_look(fifo);
    TEST_CHECK(strcmp(next_line(&st), "secret") == 0);
    struct told told = change(&st, spec, wrong_settings);
    TEST_CHECK_(told.report.a == EINVAL && strstr(told.text, "allowWrites"), "%s", told.text);
    told = change(&st, spec, less_settings);
    TEST_CHECK_(told.report.a == EBUSY && strstr(told.text, "allowWrite without: .:"), "%s",
                told.text);
    make_it_look(fifo);
    TEST_CHECK(strcmp(next_line(&st), "secret") == 0);
    TEST_CHECK(change(&st, spec, settings).report.a == 0);
    make_it_look(fifo);
    TEST_CHECK(strcmp(next_line(&st), "refused") == 0);
    fifo = fd_close(fifo);
    (void)read_output(&st);
    end(&st, 0);
    clean();
}

static void a_child_without_a_broker_has_nothing_to_change(void)
{
    struct sandbox_spec spec = sandbox();
    struct stage st = start(&sandbox_walls, "sleep 60", false);
    (void)wait_for(&st, SHIM_STARTED);
    struct told told = change(&st, spec, more_settings);
    TEST_CHECK_(told.report.a == EBUSY && strstr(told.text, "new kernel"), "%s", told.text);
    char order = SHIM_KILL;
    TEST_CHECK(send(st.control, &order, 1, MSG_NOSIGNAL) == 1);
    (void)read_output(&st);
    end(&st, 0);
    clean();
}

/* --- what fails ------------------------------------------------------------------------------- */

static void nothing_runs_without_its_sandbox(void)
{
    struct sandbox_spec spec = sandbox();
    spec.settings = "{\"filesystem\": {\"allowWrites\": []}}";
    struct stage st = start(&spec, "echo ran", false);
    struct told told = next(&st);
    TEST_CHECK(told.report.kind == SHIM_FAILED && told.report.b == SHIM_STEP_SANDBOX);
    TEST_CHECK_(strstr(told.text, "allowWrites") != NULL, "%s", told.text);
    TEST_CHECK(strcmp(read_output(&st), "") == 0);
    end(&st, 1);
    clean();
}

static void a_listener_above_is_named(void)
{
    struct sandbox_spec spec = sandbox();
    struct stage st = start(&spec, "echo ran", true);
    struct told told = next(&st);
    TEST_CHECK(told.report.kind == SHIM_FAILED && told.report.a == EBUSY);
    TEST_CHECK_(strstr(told.text, "another listener") != NULL, "%s", told.text);
    TEST_CHECK(strcmp(read_output(&st), "") == 0);
    end(&st, 1);
    spec.level = SANDBOX_LANDLOCK; /* what is left there */
    st = start(&spec, "echo x > made && echo wrote; cat .env 2>&-; exit 0", true);
    TEST_CHECK(wait_for(&st, SHIM_EXITED).report.a == 0);
    TEST_CHECK(strcmp(read_output(&st), "") == 0); /* beside a denied name nothing can be made */
    end(&st, 0);
    clean();
}

/* Not its child, which dies with the shim, but one that has moved away from it. */
static void who_is_left_without_a_broker_opens_nothing(void)
{
    struct sandbox_spec spec = sandbox();
    struct stage st = start(&spec,
                            "(trap '' HUP TERM; echo up; while { echo > probe; } 2>&-; do :; done; "
                            "echo closed) & wait",
                            false);
    TEST_CHECK(wait_for(&st, SHIM_STARTED).report.a > 0);
    char byte;
    TEST_CHECK(read(st.output, &byte, 1) == 1); /* "up" */
    TEST_CHECK(kill(st.shim, SIGKILL) == 0);
    const char *text = read_output(&st);
    TEST_CHECK_(strstr(text, "closed") != NULL, "%s", text);
    TEST_CHECK(waitpid(st.shim, NULL, 0) == st.shim);
    clean();
}

/* Without a broker every call that would be notified fails; what goes on was never notified. */
static const char *read_without_broker(const char *text)
{
    struct sandbox_spec spec = sandbox();
    spec.settings = text;
    struct stage st = start(&spec,
                            "(trap '' HUP TERM; echo up; while { echo > probe; } 2>&-; do :; done; "
                            "{ read x </etc/passwd; } 2>&- && echo read || echo closed) & wait",
                            false);
    (void)wait_for(&st, SHIM_STARTED);
    char byte;
    TEST_CHECK(read(st.output, &byte, 1) == 1);
    TEST_CHECK(kill(st.shim, SIGKILL) == 0);
    const char *output = read_output(&st);
    TEST_CHECK(waitpid(st.shim, NULL, 0) == st.shim);
    (void)close(st.control);
    (void)close(st.output);
    clean();
    return output;
}

static void opens_for_reading_are_notified_only_where_a_rule_needs_it(void)
{
    const char *text = read_without_broker(more_settings);
    TEST_CHECK_(strstr(text, "read\n") != NULL, "%s", text);
    text = read_without_broker(settings);
    TEST_CHECK_(strstr(text, "closed\n") != NULL, "%s", text);
}

/* --- budgets ---------------------------------------------------------------------------------- */

static void too_many_tasks_are_refused_and_told(void)
{
    struct sandbox_spec spec = sandbox_walls;
    spec.limits.tasks = 6;
    struct stage st = start(&spec,
                            "for i in 1 2 3 4 5 6 7 8 9; do (sleep 5) & done 2>&1 || echo refused; "
                            "sleep 1; exit 0",
                            false);
    struct told told = wait_for(&st, SHIM_LIMIT);
    TEST_CHECK(told.report.a == SHIM_LIMIT_TASKS);
    TEST_CHECK_(strstr(told.text, "6 tasks") != NULL, "%s", told.text);
    char order = SHIM_KILL; /* a shell that cannot fork may have ended by now */
    (void)send(st.control, &order, 1, MSG_NOSIGNAL);
    (void)read_output(&st);
    end(&st, 0);
}

static void a_tree_that_is_too_large_is_killed_and_it_is_told(void)
{
    struct sandbox_spec spec = sandbox_walls;
    spec.limits.memory = 64 << 20;
    struct stage st = start(&spec, "head -c 400M /dev/zero | tail | sleep 60", false);
    struct told told = wait_for(&st, SHIM_LIMIT);
    TEST_CHECK(told.report.a == SHIM_LIMIT_MEMORY);
    TEST_CHECK_(strstr(told.text, "64 MiB") != NULL, "%s", told.text);
    told = wait_for(&st, SHIM_EXITED);
    TEST_CHECK(told.report.b == SIGKILL);
    TEST_CHECK(strcmp(read_output(&st), "") == 0);
    end(&st, 0);
    spec.limits.memory = 1 << 30;
    TEST_CHECK(strstr(run(&spec, "head -c 100M /dev/zero | tail | wc -c"), "104857600") != NULL);
}

static void descriptors_and_file_sizes_are_limited(void)
{
    struct sandbox_spec spec = sandbox_walls;
    const char *script = "echo $(ulimit -n) $(ulimit -f)";
    spec.limits.files = 60;
    spec.limits.file_size = 1 << 20;
    TEST_CHECK(strcmp(run(&spec, script), "60 2048\n") == 0);
    TEST_CHECK(strcmp(run(&sandbox_walls, script), "60 2048\n") != 0);
}

static void a_child_that_has_used_its_processor_time_is_killed_and_it_is_told(void)
{
    struct sandbox_spec spec = sandbox_walls;
    spec.limits.cpu = 1;
    struct stage st = start(&spec, "while :; do :; done", false);
    struct told told = wait_for(&st, SHIM_LIMIT);
    TEST_CHECK(told.report.a == SHIM_LIMIT_CPU);
    TEST_CHECK_(strstr(told.text, "1 s processor time") != NULL, "%s", told.text);
    told = wait_for(&st, SHIM_EXITED);
    TEST_CHECK(told.report.b == SIGKILL);
    end(&st, 0);
    st = start(&spec, "kill -9 $$", false); /* for another reason: nothing is said of the limit */
    (void)wait_for(&st, SHIM_STARTED);
    told = next(&st);
    TEST_CHECK(told.report.kind == SHIM_EXITED && told.report.b == SIGKILL);
    end(&st, 0);
}

/* None of them reaches the limit alone. */
static void the_processor_time_of_children_counts(void)
{
    static const char *const scripts[] = {
        "for i in $(seq 20); do sh -c \"$1\"; done; sleep 600",      /* which it waits for */
        "for i in $(seq 20); do (sh -c \"$1\" &) ; done; sleep 600", /* which nobody does */
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct sandbox_spec spec = sandbox_walls;
        spec.limits.cpu = 2;
        TEST_CASE(scripts[i]);
        drop_str char *script = xasprintf(
            "set -- 'n=0; while [ $n -lt 1000000 ]; do n=$((n+1)); done'; %s", scripts[i]);
        struct stage st = start(&spec, script, false);
        struct told told = wait_for(&st, SHIM_LIMIT);
        TEST_CHECK(told.report.a == SHIM_LIMIT_CPU);
        TEST_CHECK_(strstr(told.text, "2 s processor time") != NULL, "%s", told.text);
        told = wait_for(&st, SHIM_EXITED);
        TEST_CHECK(told.report.b == SIGKILL);
        end(&st, 0);
    }
}

/* --- a child that is there already ------------------------------------------------------------ */

static void be_adopted(int sock, const char *script)
{
    int step = 0;
    (void)setsid();
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    if (confine_self(sock, &step) < 0)
        _exit(98);
    (void)execl("/bin/sh", "sh", "-c", script, (char *)NULL);
    _exit(97);
}

static struct stage adopt(const struct sandbox_spec *spec, const char *script)
{
    int sockets[2], pipes[2], pair[2], fd = -1;
    struct stage st = open_stage(sockets, pipes);
    TEST_ASSERT(sandbox_spec_write(spec, &fd, NULL) == 0);
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    st.shim = fork();
    if (st.shim == 0) {
        settle(sockets, pipes);
        pid_t pid = fork();
        if (pid == 0) {
            (void)close(pair[0]);
            be_adopted(pair[1], script);
        }
        (void)close(pair[1]);
        char control[16], adopted[16], number[16], confine[16];
        (void)snprintf(control, sizeof control, "%d", sockets[1]);
        (void)snprintf(adopted, sizeof adopted, "%d", (int)pid);
        (void)snprintf(number, sizeof number, "%d", fd);
        (void)snprintf(confine, sizeof confine, "%d", pair[0]);
        const char *words[] = {"shim", control,     "--adopt", adopted, "--sandbox",
                               number, "--confine", confine,   NULL};
        _exit(shim_main(8, (char **)(uintptr_t)words));
    }
    int mine[] = {sockets[1], pipes[1], pair[0], pair[1], fd};
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++)
        (void)close(mine[i]);
    return st;
}

static void an_adopted_child_is_behind_the_same_walls(void)
{
    struct sandbox_spec spec = sandbox();
    struct stage st = adopt(&spec, "echo x > made && echo wrote; cat .env; exit 6");
    TEST_CHECK(wait_for(&st, SHIM_STARTED).report.a > 0);
    TEST_CHECK(wait_for(&st, SHIM_EXITED).report.a == 6);
    const char *text = read_output(&st);
    TEST_CHECK_(strcmp(text, "wrote\n") == 0, "%s", text);
    end(&st, 0);
    clean();
}

static void an_adopted_child_that_is_not_confined_does_not_run(void)
{
    struct sandbox_spec spec = sandbox();
    spec.settings = "{}nonsense";
    struct stage st = adopt(&spec, "echo ran");
    struct told told = next(&st);
    TEST_CHECK(told.report.kind == SHIM_FAILED && told.report.b == SHIM_STEP_SANDBOX);
    TEST_CHECK(strcmp(read_output(&st), "") == 0);
    end(&st, 1);
    clean();
}

TEST_LIST = {
    {"a_neighbour_is_out_of_reach_behind_the_walls_alone",
     a_neighbour_is_out_of_reach_behind_the_walls_alone},
    {"settings_hold_and_refusals_are_told", settings_hold_and_refusals_are_told},
    {"a_flood_of_refusals_is_counted_and_not_told", a_flood_of_refusals_is_counted_and_not_told},
    {"a_running_child_gets_other_settings_and_keeps_them_when_a_change_is_refused",
     a_running_child_gets_other_settings_and_keeps_them_when_a_change_is_refused},
    {"a_child_without_a_broker_has_nothing_to_change",
     a_child_without_a_broker_has_nothing_to_change},
    {"nothing_runs_without_its_sandbox", nothing_runs_without_its_sandbox},
    {"a_listener_above_is_named", a_listener_above_is_named},
    {"who_is_left_without_a_broker_opens_nothing", who_is_left_without_a_broker_opens_nothing},
    {"opens_for_reading_are_notified_only_where_a_rule_needs_it",
     opens_for_reading_are_notified_only_where_a_rule_needs_it},
    {"too_many_tasks_are_refused_and_told", too_many_tasks_are_refused_and_told},
    {"a_tree_that_is_too_large_is_killed_and_it_is_told",
     a_tree_that_is_too_large_is_killed_and_it_is_told},
    {"descriptors_and_file_sizes_are_limited", descriptors_and_file_sizes_are_limited},
    {"a_child_that_has_used_its_processor_time_is_killed_and_it_is_told",
     a_child_that_has_used_its_processor_time_is_killed_and_it_is_told},
    {"the_processor_time_of_children_counts", the_processor_time_of_children_counts},
    {"an_adopted_child_is_behind_the_same_walls", an_adopted_child_is_behind_the_same_walls},
    {"an_adopted_child_that_is_not_confined_does_not_run",
     an_adopted_child_that_is_not_confined_does_not_run},
    {NULL, NULL},
};
