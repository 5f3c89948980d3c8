/* SPDX-License-Identifier: Apache-2.0
 *
 * Real trees. Every process below a test holds the write end of one pipe, so "nothing is left" is
 * "the read end says end of file". */
#include <acutest.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "sandbox/proc/proctree.h"
#include "unit/guard.h"

static int life[2];

static void become_reaper(void)
{
    TEST_ASSERT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    TEST_ASSERT(pipe2(life, O_CLOEXEC | O_NONBLOCK) == 0);
}

/* Waits until `n` processes have said that they are set up. */
static void wait_ready(int n)
{
    char c;
    for (int64_t until = clock_ms() + GUARD_MS; n > 0 && clock_ms() < until;) {
        struct pollfd p = {life[0], POLLIN, 0};
        (void)poll(&p, 1, 100);
        while (n > 0 && read(life[0], &c, 1) == 1)
            n--;
    }
    TEST_CHECK_(n == 0, "%d processes never came up", n);
}

static void say_ready(void)
{
    (void)!write(life[1], "r", 1);
}

static _Noreturn void live_on(void)
{
    say_ready();
    for (;;)
        (void)pause();
}

static bool all_gone(void)
{
    char c;
    (void)close(life[1]);
    ssize_t n;
    while ((n = read(life[0], &c, 1)) > 0)
        ;
    return n == 0;
}

static void fork_daemon(void (*body)(void))
{
    if (fork() > 0)
        return;
    (void)setsid();
    if (fork() > 0)
        _exit(0);
    (void)setsid();
    body();
    _exit(0);
}

static void stand_still(void)
{
    say_ready();
    (void)raise(SIGSTOP);
    for (;;)
        (void)pause();
}

static void be_stubborn(void)
{
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGINT, SIG_IGN);
    live_on();
}

static const struct {
    const char *name, *text;
    int result;
    struct proctree_stat stat;
} texts[] = {
    {"plain", "12 (cat) S 3 4 5 0 -1", 0, {'S', 3, 4, 5, 0}},
    {"a name with a parenthesis", "12 (a) R 1 (b) T 7 8 9 0 -1", 0, {'T', 7, 8, 9, 0}},
    {"a name that forges fields", "12 () S 1 1 1) Z 2 2 2 0", 0, {'Z', 2, 2, 2, 0}},
    {"a newline in the name", "12 (a\nb) D 2 0 0 0", 0, {'D', 2, 0, 0, 0}},
    {"a terminal", "12 (cat) S 3 4 5 34817 6", 0, {'S', 3, 4, 5, 34817}},
    {"negative terminal group", "1 (x) S 0 -1 -1 0", 0, {'S', 0, -1, -1, 0}},
    {"empty", "", -EBADMSG, {0}},
    {"no parenthesis", "12 cat S 3 4 5", -EBADMSG, {0}},
    {"cut after the name", "12 (cat)", -EBADMSG, {0}},
    {"cut after the state", "12 (cat) S", -EBADMSG, {0}},
    {"cut after two numbers", "12 (cat) S 3 4", -EBADMSG, {0}},
    {"cut before the terminal", "12 (cat) S 3 4 5", -EBADMSG, {0}},
    {"no number", "12 (cat) S x 4 5", -EBADMSG, {0}},
    {"a number too large", "12 (cat) S 99999999999 4 5", -EBADMSG, {0}},
};

static void stat_texts_are_parsed_or_refused(void)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct proctree_stat got = {0};
        TEST_CASE(texts[i].name);
        TEST_CHECK(proctree_parse(texts[i].text, &got) == texts[i].result);
        TEST_CHECK(memcmp(&got, &texts[i].stat, sizeof got) == 0);
    }
}

static void without_children_the_end_comes_at_once(void)
{
    become_reaper();
    int64_t from = clock_ms();
    TEST_CHECK(proctree_end(60000) == 0);
    TEST_CHECK(clock_ms() - from < 30000);
}

static void daemons_stopped_and_stubborn_processes_all_end(void)
{
    become_reaper();
    for (int i = 0; i < 3; i++) {
        fork_daemon(live_on);
        fork_daemon(be_stubborn);
        fork_daemon(stand_still);
    }
    wait_ready(9);
    TEST_CHECK(proctree_end(50) == 0);
    TEST_CHECK(all_gone());
    TEST_CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void *stay_alone(void *ctx)
{
    (void)ctx;
    live_on();
}

/* Its process looks like a zombie from then on. */
static void leave_it_to_a_thread(void)
{
    pthread_t thread;
    (void)signal(SIGTERM, SIG_IGN);
    if (pthread_create(&thread, NULL, stay_alone, NULL) == 0)
        pthread_exit(NULL);
    _exit(9);
}

/* Those under a number that is not their process's. */
static void count_threads(void *ctx, pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    char text[4096] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0) {
        const char *group = strstr(text, "\nTgid:");
        *(int *)ctx += group && strtol(group + 6, NULL, 10) != pid;
    }
    if (fd >= 0)
        (void)close(fd);
}

static void count_process(void *ctx, pid_t pid)
{
    (void)pid;
    ++*(int *)ctx;
}

static void wait_until_zombies(int wanted)
{
    int n = 0;
    for (int64_t until = clock_ms() + GUARD_MS; n < wanted && clock_ms() < until;) {
        siginfo_t info = {0}; /* it does not count as ended */
        TEST_CHECK(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0);
        n = 0;
        (void)proctree_each(count_threads, &n);
    }
    TEST_CHECK(n == wanted);
}

static void a_process_whose_first_thread_has_ended_is_found_and_ends(void)
{
    become_reaper();
    if (fork() == 0) {
        (void)setsid();
        leave_it_to_a_thread();
    }
    if (fork() == 0)
        leave_it_to_a_thread();
    wait_ready(2);
    wait_until_zombies(2);
    int n = 0;
    TEST_CHECK(proctree_each(count_process, &n) == 0 && n == 2);
    TEST_CHECK(proctree_end(0) == 0);
    TEST_CHECK(all_gone());
}

static void a_polite_tree_ends_within_the_grace_by_term(void)
{
    become_reaper();
    pid_t pid = fork();
    if (pid == 0)
        live_on();
    fork_daemon(live_on);
    wait_ready(2);
    int status = -1;
    TEST_CHECK(proctree_end_and_note(GUARD_MS, pid, &status) == 0);
    TEST_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    TEST_CHECK(all_gone());
}

static void a_stopped_child_may_act_on_the_term(void)
{
    become_reaper();
    pid_t pid = fork();
    if (pid == 0)
        stand_still();
    wait_ready(1);
    siginfo_t info;
    TEST_CHECK(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT) == 0);
    int status = -1;
    TEST_CHECK(proctree_end_and_note(10000, pid, &status) == 0);
    TEST_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void the_status_of_one_child_is_kept(void)
{
    become_reaper();
    pid_t pid = fork();
    if (pid == 0)
        _exit(37);
    siginfo_t info;
    TEST_CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
    int status = -1;
    TEST_CHECK(proctree_end_and_note(1000, pid, &status) == 0);
    TEST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 37);
}

static void a_signal_reaches_every_descendant_once(void)
{
    become_reaper();
    for (int i = 0; i < 4; i++)
        fork_daemon(live_on);
    wait_ready(4);
    for (int i = 0; i < 4; i++)
        TEST_CHECK(waitpid(-1, NULL, 0) > 0); /* who forked them: they themselves live on */
    TEST_CHECK(proctree_signal(SIGCONT) == 4);
    TEST_CHECK(proctree_end(0) == 0);
    TEST_CHECK(proctree_signal(SIGCONT) == 0);
}

/* parent: the test. Below it a bystander in the same group, and the one who ends its tree. */
static void parents_and_siblings_are_left_alone(void)
{
    become_reaper();
    pid_t bystander = fork();
    if (bystander == 0)
        live_on();
    wait_ready(1);
    pid_t ender = fork();
    if (ender == 0) {
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        if (fork() == 0)
            live_on();
        fork_daemon(live_on);
        wait_ready(2);
        _exit(proctree_end(0) == 0 ? 0 : 1);
    }
    int status = -1;
    TEST_CHECK(waitpid(ender, &status, 0) == ender && status == 0);
    TEST_CHECK(waitpid(bystander, NULL, WNOHANG) == 0);
    TEST_CHECK(proctree_end(0) == 0);
}

/* Deeper than what is remembered of one walk. They share their memory: the system forks slower the
 * deeper it is. The last ones have lower numbers than their parents, as when numbers have wrapped
 * round, so that they are met first; who may not choose numbers has them in their order. */
enum { DEPTH = 1500, LAST = 100, LINK_STACK = 16384 };
static char (*stacks)[LINK_STACK];

static void number_next(const char *number)
{
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!write(fd, number, strlen(number));
    (void)close(fd);
}

static int be_link(void *ctx)
{
    const int left = (int)(intptr_t)ctx;
    if (left == LAST)
        number_next("1000");
    if (left > 1)
        (void)clone(be_link, stacks[left - 1], CLONE_VM | SIGCHLD, (void *)(intptr_t)(left - 1));
    say_ready();
    for (;;)
        (void)pause();
    return 0;
}

static void a_deep_chain_of_parents_ends(void)
{
    become_reaper();
    stacks = mmap(NULL, (DEPTH + 1) * sizeof *stacks, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    TEST_ASSERT(stacks != MAP_FAILED);
    number_next("20000");
    if (fork() == 0)
        (void)be_link((void *)(intptr_t)DEPTH);
    wait_ready(DEPTH);
    int n = 0;
    TEST_CHECK(proctree_each(count_process, &n) == 0 && n == DEPTH);
    TEST_CHECK(proctree_signal(SIGCONT) == DEPTH);
    TEST_CHECK(proctree_end(0) == 0);
    TEST_CHECK(all_gone());
}

struct bomb {
    int64_t until; /* bounded in time ... */
    int left;      /* ... and in forks */
};

static bool may_fork(struct bomb *b)
{
    return clock_ms() < b->until && __atomic_sub_fetch(&b->left, 1, __ATOMIC_SEQ_CST) > 0;
}

static struct bomb *new_bomb(int forks)
{
    struct bomb *b =
        mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    TEST_ASSERT(b != MAP_FAILED);
    *b = (struct bomb){clock_ms() + GUARD_MS, forks};
    return b;
}

/* Forks, lets the child go on and dies: hops from PID to PID. */
static void hop(struct bomb *b, bool sessions)
{
    say_ready();
    while (may_fork(b)) {
        pid_t pid = fork();
        if (pid > 0)
            _exit(0);
        if (pid == 0 && sessions)
            (void)setsid();
    }
    _exit(0);
}

static void a_process_that_hops_from_pid_to_pid_is_caught(void)
{
    become_reaper();
    struct bomb *b = new_bomb(2000000);
    for (int i = 0; i < 2; i++) {
        if (fork() == 0) {
            (void)setsid();
            hop(b, i == 1);
        }
    }
    wait_ready(2);
    TEST_CHECK(proctree_end(0) == 0);
    TEST_CHECK(all_gone());
    TEST_CHECK(b->left > 0 && clock_ms() < b->until); /* it was ended, and did not end */
}

static void swell(struct bomb *b)
{
    (void)signal(SIGTERM, SIG_IGN);
    say_ready();
    while (may_fork(b)) {
        if (fork() == 0)
            (void)setsid();
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    for (;;)
        (void)pause();
}

static void a_fork_bomb_ends(void)
{
    become_reaper();
    struct bomb *b = new_bomb(1500);
    if (fork() == 0)
        swell(b);
    wait_ready(1);
    TEST_CHECK(proctree_end(20) == 0);
    TEST_CHECK(all_gone());
}

/* --- roots ------------------------------------------------------------------------------------ */

static void note_pid(void *ctx, pid_t pid)
{
    pid_t *pids = ctx;
    while (*pids)
        pids++;
    *pids = pid;
}

/* A root and a child of it in a session of its own. */
static pid_t fork_root(void)
{
    const pid_t root = fork();
    if (root == 0) {
        (void)setsid();
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        if (fork() == 0) {
            (void)setsid();
            live_on();
        }
        live_on();
    }
    wait_ready(2);
    TEST_CHECK(proctree_add_root(root) == 0);
    return root;
}

static void what_is_below_a_root_is_looked_at_where_it_is_entered(void)
{
    become_reaper();
    const pid_t root = fork_root();
    TEST_CHECK(proctree_add_root(root) == -EEXIST);
    pid_t found[8] = {0};
    TEST_CHECK(proctree_each(note_pid, found) == 0 && found[0] == 0);
    proctree_enter(root);
    TEST_CHECK(proctree_entered() == root);
    TEST_CHECK(proctree_each(note_pid, found) == 0);
    TEST_CHECK(found[0] > 1 && found[0] != root && found[1] == root && found[2] == 0);
    TEST_CHECK(proctree_parent(found[0]) == root && proctree_parent(root) == getpid());
    TEST_CHECK(proctree_is_below(found[0]) && !proctree_is_below(getppid()));
    TEST_CHECK(proctree_signal(SIGCONT) == 1); /* the root itself is not signalled */
    proctree_enter(0);
    proctree_remove_root(root);
    TEST_CHECK(proctree_signal(SIGCONT) == 2);
    TEST_CHECK(proctree_end(0) == 0 && all_gone());
}

static void our_tree_ends_and_those_of_roots_live_on(void)
{
    become_reaper();
    const pid_t root = fork_root();
    struct bomb *b = new_bomb(2000000);
    for (int i = 0; i < 2; i++) {
        if (fork() == 0) {
            (void)setsid();
            hop(b, i == 1);
        }
    }
    wait_ready(2);
    TEST_CHECK(proctree_end(50) == 0);
    const int left = b->left;
    TEST_CHECK(left > 0 && clock_ms() < b->until && kill(root, 0) == 0);
    (void)poll(NULL, 0, 100);
    TEST_CHECK_(b->left == left, "it hops on");
    TEST_CHECK(waitpid(root, NULL, WNOHANG) == 0);
    proctree_remove_root(root);
    TEST_CHECK(proctree_end(0) == 0 && all_gone());
}

static void what_is_below_an_entered_root_ends_however_it_hops(void)
{
    become_reaper();
    struct bomb *b = new_bomb(2000000);
    const pid_t root = fork();
    if (root == 0) {
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        (void)setsid();
        if (fork() == 0)
            hop(b, true);
        live_on();
    }
    wait_ready(2);
    TEST_CHECK(proctree_add_root(root) == 0);
    TEST_CHECK(kill(root, SIGSTOP) == 0);
    proctree_enter(root);
    TEST_CHECK(proctree_end_entered(15000));
    const int left = b->left;
    (void)poll(NULL, 0, 100);
    TEST_CHECK(left > 0 && b->left == left);
    proctree_enter(0);
    proctree_remove_root(root);
    TEST_CHECK(proctree_end(0) == 0 && all_gone());
}

TEST_LIST = {
    {"stat_texts_are_parsed_or_refused", stat_texts_are_parsed_or_refused},
    {"without_children_the_end_comes_at_once", without_children_the_end_comes_at_once},
    {"daemons_stopped_and_stubborn_processes_all_end",
     daemons_stopped_and_stubborn_processes_all_end},
    {"a_process_whose_first_thread_has_ended_is_found_and_ends",
     a_process_whose_first_thread_has_ended_is_found_and_ends},
    {"a_polite_tree_ends_within_the_grace_by_term", a_polite_tree_ends_within_the_grace_by_term},
    {"a_stopped_child_may_act_on_the_term", a_stopped_child_may_act_on_the_term},
    {"the_status_of_one_child_is_kept", the_status_of_one_child_is_kept},
    {"a_signal_reaches_every_descendant_once", a_signal_reaches_every_descendant_once},
    {"parents_and_siblings_are_left_alone", parents_and_siblings_are_left_alone},
    {"a_deep_chain_of_parents_ends", a_deep_chain_of_parents_ends},
    {"a_process_that_hops_from_pid_to_pid_is_caught",
     a_process_that_hops_from_pid_to_pid_is_caught},
    {"a_fork_bomb_ends", a_fork_bomb_ends},
    {"what_is_below_a_root_is_looked_at_where_it_is_entered",
     what_is_below_a_root_is_looked_at_where_it_is_entered},
    {"our_tree_ends_and_those_of_roots_live_on", our_tree_ends_and_those_of_roots_live_on},
    {"what_is_below_an_entered_root_ends_however_it_hops",
     what_is_below_an_entered_root_ends_however_it_hops},
    {NULL, NULL},
};
