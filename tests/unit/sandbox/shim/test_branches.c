/* SPDX-License-Identifier: Apache-2.0
 *
 * The test plays the shim and the server: it gives the orders and reads the reports. A kernel is a
 * forked child that holds the other end of the line; when an order to fork comes it does what the
 * test says, mostly what a true one does (ipybox_kernel/branch.py). */
#include <acutest.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/unixsock.h"
#include "sandbox/limits/budget.h"
#include "sandbox/shim/branch_line.h"
#include "sandbox/shim/branches.h"
#include "unit/guard.h"

enum { QUIET_MS = 300, MANY = 64 << 20 };

static struct branches all;
static int kernel_line; /* our end of the line to the kernel */
static pid_t kernel;
static int control;                  /* the server's end of the branch's control socket */
static char text[SHIM_TEXT_MAX + 1]; /* of the last report */

/* --- the kernel's half ------------------------------------------------------------------------ */

static int line; /* of the branch: its kernel's end */

static void say(enum branch_kind kind, int a, int b, const char *why)
{
    struct branch_word word = {.kind = (uint32_t)kind, .a = a, .b = b};
    (void)snprintf(word.text, sizeof word.text, "%s", why);
    (void)!send(line, &word, sizeof word, MSG_NOSIGNAL);
}

static _Noreturn void live_on(void)
{
    for (;;)
        (void)pause();
}

/* In a process of its own that is nobody's child but the shim's. As in forks.c orphans come to the
 * root before there can be any. */
static void with_root(void (*branch)(void))
{
    if (fork() > 0)
        return;
    if (fork() > 0)
        _exit(0);
    (void)setsid();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    const pid_t child = fork();
    if (child == 0) {
        (void)setsid();
        branch();
    }
    char role[] = "branch", number[16], pid[16];
    char *argv[] = {role, number, pid, NULL};
    (void)snprintf(number, sizeof number, "%d", line);
    (void)snprintf(pid, sizeof pid, "%d", (int)child);
    _exit(branch_main(3, argv));
}

static _Noreturn void be_kernel(int sock, void (*act)(void))
{
    struct fork_line order;
    int fds[BRANCH_GIVEN];
    size_t count = 0;
    while (unixsock_receive(sock, &order, sizeof order, fds, BRANCH_GIVEN, &count) == 0) {
        if (count != BRANCH_GIVEN || order.version != BRANCH_VERSION)
            _exit(1);
        line = fds[BRANCH_GIVEN - 1];
        act();
        while (count > 0)
            (void)fd_close(fds[--count]);
    }
    _exit(0);
}

/* --- the shim's half -------------------------------------------------------------------------- */

static void start_kernel(void (*act)(void))
{
    int pair[2];
    TEST_ASSERT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    kernel = fork();
    TEST_ASSERT(kernel >= 0);
    if (kernel == 0) {
        (void)close(pair[0]);
        be_kernel(pair[1], act);
    }
    (void)close(pair[1]);
    kernel_line = pair[0];
    all = (struct branches){.options = "kernel", .child = kernel};
}

static int ask_fork(size_t count)
{
    int pair[2], fds[BRANCH_ASKED];
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    fds[0] = pair[1];
    for (size_t i = 1; i < count; i++)
        fds[i] = dup(STDIN_FILENO);
    branches_fork(&all, kernel_line, fds, count);
    return pair[0];
}

/* Lets the branches act until one of them has something to tell; kind 0 at end of file. */
static struct shim_report next_report(void)
{
    struct shim_report report = {0};
    for (const int64_t until = clock_ms() + GUARD_MS;;) {
        struct pollfd fds[1 + BRANCHES_MAX * BRANCH_POLLED] = {{control, POLLIN, 0}};
        const size_t n = branches_poll(&all, fds + 1);
        (void)poll(fds, n + 1, 10);
        (void)branches_act(&all, fds + 1);
        struct iovec parts[] = {{&report, sizeof report}, {text, SHIM_TEXT_MAX}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        const ssize_t got_bytes = recvmsg(control, &message, MSG_DONTWAIT);
        if (got_bytes >= 0) {
            text[got_bytes > (ssize_t)sizeof report ? got_bytes - (ssize_t)sizeof report : 0] =
                '\0';
            return report;
        }
        if (!TEST_CHECK_(clock_ms() < until, "no report in time"))
            return report;
    }
}

static bool reports(enum shim_kind kind, int a, int b)
{
    const struct shim_report r = next_report();
    TEST_MSG("kind %u, a %d, b %d, %s", r.kind, r.a, r.b, text);
    return r.kind == kind && r.a == a && r.b == b;
}

static pid_t started(void)
{
    const struct shim_report r = next_report();
    TEST_CHECK_(r.kind == SHIM_STARTED && r.a > 1, "kind %u, a %d, %s", r.kind, r.a, text);
    return r.a;
}

static void order(enum shim_order letter)
{
    const char c = (char)letter;
    TEST_CHECK(send(control, &c, 1, MSG_NOSIGNAL) == 1);
}

static bool lives(pid_t pid)
{
    return kill(pid, 0) == 0;
}

/* Zombies are ours to reap, or the root's. */
static void check_gone(pid_t pid)
{
    for (const int64_t until = clock_ms() + GUARD_MS; lives(pid) && clock_ms() < until;) {
        while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
            ;
        (void)poll(NULL, 0, 1);
    }
    TEST_CHECK(!lives(pid));
}

static void end_all(void)
{
    branches_end(&all);
    TEST_CHECK(!branches_any(&all));
    (void)close(control);
    (void)close(kernel_line);
    TEST_CHECK(proctree_end(0) == 0);
    TEST_CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void begin(void (*act)(void))
{
    start_kernel(act);
    control = ask_fork(BRANCH_ASKED);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void fork_living(void)
{
    with_root(live_on);
}

static void a_branch_starts_and_ends_when_it_is_told_to(void)
{
    begin(fork_living);
    pid_t pid = started();
    TEST_CHECK(lives(pid) && branches_any(&all));
    order(SHIM_KILL);
    TEST_CHECK(reports(SHIM_EXITED, -1, SIGKILL));
    TEST_CHECK(reports(0, 0, 0));
    check_gone(pid);
    TEST_CHECK(!branches_any(&all) && lives(kernel));
    end_all();
}

static void the_end_of_the_servers_socket_ends_a_branch(void)
{
    begin(fork_living);
    pid_t pid = started();
    (void)close(control);
    control = ask_fork(BRANCH_ASKED);
    (void)started();
    check_gone(pid);
    end_all();
}

static void on_polite(int sig)
{
    _exit(sig == SIGTERM ? 7 : 8);
}

static void fork_polite(void)
{
    (void)signal(SIGTERM, on_polite);
    (void)signal(SIGINT, on_polite);
    with_root(live_on);
}

static void how_a_branch_exits_is_reported(void)
{
    begin(fork_polite);
    (void)started();
    order(SHIM_TERMINATE);
    TEST_CHECK(reports(SHIM_EXITED, 7, 0));
    (void)close(control);
    control = ask_fork(BRANCH_ASKED);
    TEST_CHECK(kill(started(), SIGUSR1) == 0);
    TEST_CHECK(reports(SHIM_EXITED, -1, SIGUSR1));
    end_all();
}

static _Noreturn void leave_group(void)
{
    if (fork() == 0) {
        (void)signal(SIGINT, SIG_IGN);
        live_on(); /* the group stays, without its leader */
    }
    const pid_t other = fork();
    if (other == 0) {
        (void)setpgid(0, 0);
        live_on();
    }
    while (setpgid(other, other) < 0 && errno != EACCES)
        ;
    live_on();
}

static void fork_leaving(void)
{
    (void)signal(SIGINT, on_polite);
    with_root(leave_group);
}

static void an_interrupt_reaches_a_kernel_and_its_group(void)
{
    begin(fork_polite);
    (void)started();
    order(SHIM_INTERRUPT);
    TEST_CHECK(reports(SHIM_EXITED, 8, 0));
    (void)close(control);
    end_all();
    begin(fork_leaving);
    (void)started();
    order(SHIM_INTERRUPT);
    TEST_CHECK(reports(SHIM_EXITED, 8, 0));
    end_all();
}

static pid_t *hopped; /* the one that lives now */

/* A chain of processes each of which ends when it has forked the next. */
static _Noreturn void hop(void)
{
    if (fork() == 0) {
        const int64_t until = clock_ms() + 2 * GUARD_MS;
        (void)setsid();
        while (clock_ms() < until) {
            *hopped = getpid();
            if (fork() > 0)
                _exit(0);
        }
        _exit(0);
    }
    live_on();
}

static void fork_hopping(void)
{
    with_root(hop);
}

static void what_hops_from_pid_to_pid_ends_with_its_branch(void)
{
    hopped = mmap(NULL, sizeof *hopped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    TEST_ASSERT(hopped != MAP_FAILED);
    begin(fork_hopping);
    (void)started();
    while (*hopped == 0)
        (void)poll(NULL, 0, 1);
    order(SHIM_KILL);
    TEST_CHECK(reports(SHIM_EXITED, -1, SIGKILL));
    const pid_t last = *hopped;
    (void)poll(NULL, 0, QUIET_MS);
    TEST_CHECK_(*hopped == last, "it hopped on");
    end_all();
}

static void refuse(void)
{
    say(BRANCH_FAILED, 0, 0, "no");
}

static void refuse_always(void)
{
    say(BRANCH_FAILED, EDOM, 0, "never");
}

static void go_away(void)
{
    _exit(0);
}

static bool fails(int code, const char *why)
{
    const struct shim_report r = next_report();
    TEST_MSG("kind %u, a %d, b %d, %s", r.kind, r.a, r.b, text);
    return r.kind == SHIM_FAILED && r.a == code && r.b == SHIM_STEP_BRANCH &&
           strcmp(text, why) == 0;
}

static void a_kernel_that_does_not_fork_is_reported(void)
{
    begin(refuse);
    TEST_CHECK(fails(EBUSY, "no"));
    (void)close(control);
    end_all();
    begin(refuse_always);
    TEST_CHECK(fails(EDOM, "never"));
    (void)close(control);
    end_all();
    begin(go_away);
    TEST_CHECK(fails(EBUSY, "the kernel did not fork"));
    end_all();
}

static void an_order_that_is_not_whole_is_the_end_of_its_socket(void)
{
    start_kernel(fork_living);
    control = ask_fork(BRANCH_ASKED - 1);
    TEST_CHECK(reports(0, 0, 0));
    TEST_CHECK(!branches_any(&all));
    end_all();
}

/* --- sleep ------------------------------------------------------------------------------------ */

static char state_of(pid_t pid)
{
    char path[40], stat[200] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    TEST_ASSERT(file && fgets(stat, sizeof stat, file));
    (void)fclose(file);
    return strrchr(stat, ')')[2];
}

/* The answer comes when all orders before it were done. */
static void measure(void)
{
    order(SHIM_MEASURE);
    const struct shim_report r = next_report();
    TEST_CHECK_(r.kind == SHIM_USES && r.a > 0, "kind %u, a %d", r.kind, r.a);
}

/* A signal has been sent: it is seen when the process has had its turn. */
static void wait_until_stopped(pid_t pid, bool wanted)
{
    const int64_t until = clock_ms() + GUARD_MS;
    while ((state_of(pid) == 'T') != wanted && clock_ms() < until)
        (void)poll(NULL, 0, 1);
    TEST_CHECK((state_of(pid) == 'T') == wanted);
}

static void a_branch_that_sleeps_stands_still_until_it_wakes(void)
{
    begin(fork_living);
    const pid_t pid = started();
    order(SHIM_SLEEP);
    measure();
    wait_until_stopped(pid, true);
    TEST_CHECK(state_of(kernel) != 'T');
    order(SHIM_WAKE);
    measure();
    wait_until_stopped(pid, false);
    order(SHIM_SLEEP);
    order(SHIM_KILL);
    TEST_CHECK(reports(SHIM_EXITED, -1, SIGKILL));
    check_gone(pid);
    end_all();
}

static _Noreturn void hold_much(void)
{
    volatile char *much = xcalloc(1, MANY);
    for (size_t at = 0; at < MANY; at += 1024)
        much[at] = (char)(at >> 10);
    live_on();
}

static void fork_large(void)
{
    with_root(hold_much);
}

static void wait_until_large(void)
{
    struct shim_report r = {0};
    while (((uint64_t)r.a << SHIM_USES_SHIFT) < MANY) {
        order(SHIM_MEASURE);
        r = next_report();
        TEST_ASSERT(r.kind == SHIM_USES);
    }
}

static void ends_for_memory(int of, pid_t pid)
{
    control = of;
    TEST_CHECK(reports(SHIM_LIMIT, SHIM_LIMIT_MEMORY, 0));
    TEST_CHECK(strncmp(text, "memory is short", 15) == 0);
    TEST_CHECK(reports(SHIM_EXITED, -1, SIGKILL));
    check_gone(pid);
}

static void who_sleeps_counts_with_its_kernel_and_the_oldest_ends_first(void)
{
    int controls[3];
    pid_t pids[3];
    char peeked;
    start_kernel(fork_large);
    for (int i = 0; i < 3; i++) { /* the last is awake */
        control = controls[i] = ask_fork(BRANCH_ASKED);
        pids[i] = started();
        wait_until_large();
        if (i < 2)
            order(SHIM_SLEEP);
        measure();
    }
    struct budget *memory = budget_open(MANY + MANY / 2);
    do /* an exact look comes now and then */
        TEST_CHECK(!branches_exceed(&all, memory));
    while (recv(controls[0], &peeked, 1, MSG_PEEK | MSG_DONTWAIT) < 0);
    memory = budget_free(memory);
    ends_for_memory(controls[0], pids[0]);
    TEST_CHECK(state_of(pids[1]) == 'T' && state_of(pids[2]) != 'T');
    memory = budget_open(1);
    while (!branches_exceed(&all, memory))
        (void)poll(NULL, 0, 1);
    memory = budget_free(memory);
    ends_for_memory(controls[1], pids[1]);
    TEST_CHECK(state_of(pids[2]) != 'T' && lives(kernel));
    (void)close(controls[0]);
    (void)close(controls[1]);
    control = controls[2];
    end_all();
}

/* --- lies ------------------------------------------------------------------------------------- */

static pid_t bystander;

static void lie_about_kernel(void) /* which is no child of whoever says it */
{
    say(BRANCH_ROOT, (int)bystander, 0, "");
}

static void lie_of_child(void) /* the kernel itself as a root */
{
    const pid_t pid = fork();
    if (pid == 0)
        live_on();
    say(BRANCH_ROOT, (int)pid, 0, "");
}

static void lie_without_kernel(void)
{
    say(BRANCH_ROOT, -1, 0, "");
}

static void a_root_that_is_none_fails_and_nobody_is_signalled(void)
{
    static void (*const lies[])(void) = {lie_about_kernel, lie_of_child, lie_without_kernel};
    bystander = fork();
    if (bystander == 0)
        live_on();
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        begin(lies[i]);
        TEST_CHECK(fails(EBUSY, "the kernel named processes that are not its own"));
        TEST_CHECK(lives(bystander) && lives(kernel));
        TEST_CHECK(waitpid(bystander, NULL, WNOHANG) == 0);
        (void)close(control);
        (void)kill(kernel, SIGKILL);
        branches_end(&all);
        (void)close(kernel_line);
    }
    TEST_CHECK(proctree_end(0) == 0);
}

static bool *may_lie;

/* The end of a branch is told by its root alone. */
static void end_of_another(void)
{
    with_root(live_on);
    while (!*may_lie)
        (void)poll(NULL, 0, 1);
    for (int i = 0; i < 100; i++)
        say(BRANCH_ENDED, 0, 0, "");
    say(BRANCH_FAILED, 0, 0, "late");
    say(BRANCH_ROOT, (int)getpid(), 0, "");
    *may_lie = false;
}

static void forged_ends_and_a_flood_change_nothing(void)
{
    may_lie = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    TEST_ASSERT(may_lie != MAP_FAILED);
    begin(end_of_another);
    const pid_t pid = started();
    *may_lie = true;
    for (int i = 0; *may_lie || i < 110; i++) {
        order(SHIM_LOOK);
        TEST_CHECK(next_report().kind == SHIM_HOLDS);
    }
    TEST_CHECK(lives(pid));
    order(SHIM_KILL);
    TEST_CHECK(reports(SHIM_EXITED, -1, SIGKILL));
    end_all();
}

/* --- budgets ---------------------------------------------------------------------------------- */

static _Noreturn void take_much(void)
{
    void *much = mmap(NULL, MANY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (much != MAP_FAILED)
        memset(much, 1, MANY);
    live_on();
}

static void fork_taking(void)
{
    with_root(take_much);
}

static void a_branch_over_its_budget_is_ended_and_named(void)
{
    start_kernel(fork_taking);
    all.limits.memory = MANY / 2;
    control = ask_fork(BRANCH_ASKED);
    (void)started();
    const struct shim_report r = next_report();
    TEST_CHECK(r.kind == SHIM_LIMIT && r.a == SHIM_LIMIT_MEMORY);
    TEST_CHECK(strstr(text, "--kernel-memory") != NULL);
    TEST_CHECK(reports(SHIM_EXITED, -1, SIGKILL));
    TEST_CHECK(lives(kernel));
    end_all();
}

TEST_LIST = {
    {"a_branch_that_sleeps_stands_still_until_it_wakes",
     a_branch_that_sleeps_stands_still_until_it_wakes},
    {"who_sleeps_counts_with_its_kernel_and_the_oldest_ends_first",
     who_sleeps_counts_with_its_kernel_and_the_oldest_ends_first},
    {"a_branch_starts_and_ends_when_it_is_told_to", a_branch_starts_and_ends_when_it_is_told_to},
    {"the_end_of_the_servers_socket_ends_a_branch", the_end_of_the_servers_socket_ends_a_branch},
    {"how_a_branch_exits_is_reported", how_a_branch_exits_is_reported},
    {"an_interrupt_reaches_a_kernel_and_its_group", an_interrupt_reaches_a_kernel_and_its_group},
    {"what_hops_from_pid_to_pid_ends_with_its_branch",
     what_hops_from_pid_to_pid_ends_with_its_branch},
    {"a_kernel_that_does_not_fork_is_reported", a_kernel_that_does_not_fork_is_reported},
    {"an_order_that_is_not_whole_is_the_end_of_its_socket",
     an_order_that_is_not_whole_is_the_end_of_its_socket},
    {"a_root_that_is_none_fails_and_nobody_is_signalled",
     a_root_that_is_none_fails_and_nobody_is_signalled},
    {"forged_ends_and_a_flood_change_nothing", forged_ends_and_a_flood_change_nothing},
    {"a_branch_over_its_budget_is_ended_and_named", a_branch_over_its_budget_is_ended_and_named},
    {NULL, NULL},
};
