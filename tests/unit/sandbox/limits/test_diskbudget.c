/* SPDX-License-Identifier: Apache-2.0
 *
 * A directory, a child that does there what it is told, and the budget above it. Between its acts
 * the child sleeps in read(2), as a kernel does. The budget's clock is ours: it goes on by LOOK_MS
 * with each look, however long the machine takes. So is the disk: it is filled by what is written
 * here, and not by what others do meanwhile. */
#include <acutest.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"
#include "sandbox/limits/diskbudget.h"
#include "sandbox/limits/diskuse.h"
#include "sandbox/proc/proctree.h"

#define MIB ((uint64_t)1 << 20)

enum { CHUNK = 1 << 20, LOOK_MS = 200, LOOKS_UNDER = 30, LOOKS_OVER = 300 };

struct stage {
    struct diskbudget *budget;
    pid_t pid;
    int orders, answers;
    int64_t now_ms; /* of the budget */
};

static int answers_of_child; /* in the child: where it says that something is done */

static char place[64];
static const char *const places[] = {place, NULL};

/* Bytes on our disk, written by whoever has this memory. */
static uint64_t *filled;

int fstatfs(int fd, struct statfs *fs)
{
    if (syscall(SYS_fstatfs, fd, fs) < 0)
        return -1;
    fs->f_bfree = fs->f_blocks - __atomic_load_n(filled, __ATOMIC_RELAXED) / (uint64_t)fs->f_bsize;
    return 0;
}

static void make_place(void)
{
    char name[17];
    random_hex(name, 8);
    (void)snprintf(place, sizeof place, "/var/tmp/disk-%s", name);
    filled = mmap(NULL, sizeof *filled, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    TEST_ASSERT(filled != MAP_FAILED);
    TEST_ASSERT(mkdir(place, 0700) == 0 && chdir(place) == 0);
}

static void run(const char *script)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    TEST_ASSERT(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void clean(void)
{
    char script[400];
    TEST_ASSERT(chdir("/") == 0);
    (void)snprintf(script, sizeof script, "chmod -R u+rwx %s; rm -rf %s %s.away", place, place,
                   place);
    run(script);
}

/* --- the child -------------------------------------------------------------------------------- */

static void write_mib(int fd, int mib)
{
    static char chunk[CHUNK];
    for (int i = 0; i < mib; i++)
        if (fd_write(fd, chunk, sizeof chunk) < 0)
            _exit(9);
    (void)__atomic_add_fetch(filled, (uint64_t)mib * MIB, __ATOMIC_RELAXED);
}

/* In place of what it has had. */
static void write_file(int mib)
{
    struct stat st;
    if (stat("file", &st) == 0)
        (void)__atomic_sub_fetch(filled, (uint64_t)st.st_size, __ATOMIC_RELAXED);
    drop_fd int fd = open("file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    write_mib(fd, mib);
}

static void write_small_files(int count)
{
    char name[32];
    for (int i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "small-%d", i);
        (void)fd_close(open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    }
}

static void write_hole(int mib)
{
    drop_fd int fd = open("hole", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (ftruncate(fd, mib * (off_t)MIB) < 0)
        _exit(9);
}

static void write_and_remove(int mib)
{
    int fd = open("removed", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    write_mib(fd, mib);
    (void)unlink("removed"); /* it stays open */
}

static void write_and_hide(int mib)
{
    (void)mkdir("closed", 0700);
    drop_fd int fd = open("closed/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    write_mib(fd, mib);
    (void)chmod("closed", 0);
}

static void write_deep(int mib)
{
    for (int i = 0; i < DISKUSE_DEPTH_MAX + 2; i++)
        if (mkdir("d", 0700) < 0 || chdir("d") < 0)
            _exit(9);
    write_file(mib);
    if (chdir(place) < 0)
        _exit(9);
}

static void write_and_map(int mib)
{
    int fd = open("mapped", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    write_mib(fd, mib);
    if (mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
        _exit(9);
    (void)unlink("mapped");
    (void)close(fd);
}

/* So much processor time, however little of it there is. */
static void run_on(int ms)
{
    for (int64_t until = clock_of_process_ns(0) + ms * 1000000LL; clock_of_process_ns(0) < until;)
        ;
}

static void write_from_a_child(int mib)
{
    (void)signal(SIGCHLD, SIG_IGN); /* nobody learns what it has written */
    pid_t pid = fork();
    if (pid == 0) {
        write_file(mib);
        _exit(0);
    }
    (void)waitpid(pid, NULL, 0);
    run_on(5); /* as a cell does; who sleeps through it is charged with what it says */
}

static void write_and_truncate(int mib)
{
    write_file(mib);
    write_file(0);
}

static void link_often(int count)
{
    char name[32];
    write_file(4);
    for (int i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "link-%d", i);
        if (link("file", name) < 0)
            _exit(9);
    }
}

static void tell_done(void)
{
    (void)!write(answers_of_child, "r", 1);
}

/* Where a walk that has just been there, or comes later, does not see it; and goes on. */
static void write_and_move_away(int mib)
{
    write_file(mib);
    char away[80];
    (void)snprintf(away, sizeof away, "%s.away", place);
    if (rename("file", away) < 0)
        _exit(9);
    tell_done();
    for (;;)
        run_on(1000);
}

static const struct act {
    char letter;
    void (*act)(int n);
} acts[] = {
    {'f', write_file},
    {'s', write_small_files},
    {'h', write_hole},
    {'r', write_and_remove},
    {'c', write_and_hide},
    {'d', write_deep},
    {'m', write_and_map},
    {'p', write_from_a_child},
    {'t', write_and_truncate},
    {'l', link_often},
    {'x', run_on},
    {'a', write_and_move_away},
};

static _Noreturn void obey(int orders, int answers)
{
    struct {
        char letter;
        int n;
    } order;
    answers_of_child = answers;
    while (read(orders, &order, sizeof order) == (ssize_t)sizeof order) {
        for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
            if (acts[i].letter == order.letter)
                acts[i].act(order.n);
        tell_done();
    }
    _exit(0);
}

static struct stage open_stage(uint64_t most)
{
    int orders[2], answers[2];
    TEST_ASSERT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    TEST_ASSERT(pipe2(orders, O_CLOEXEC) == 0 && pipe2(answers, O_CLOEXEC) == 0);
    struct stage st = {.orders = orders[1], .answers = answers[0]};
    st.pid = fork();
    if (st.pid == 0) {
        (void)close(orders[1]);
        obey(orders[0], answers[1]);
    }
    st.budget = diskbudget_open(most, places);
    return st;
}

static void tell(const struct stage *st, char letter, int n)
{
    const struct {
        char letter;
        int n;
    } order = {letter, n};
    TEST_ASSERT(write(st->orders, &order, sizeof order) == (ssize_t)sizeof order);
}

static void wait_until_done(const struct stage *st)
{
    char byte;
    TEST_ASSERT(read(st->answers, &byte, 1) == 1);
}

static void make(const struct stage *st, char letter, int n)
{
    tell(st, letter, n);
    wait_until_done(st);
}

static void end(const struct stage *st)
{
    TEST_CHECK(proctree_end(0) == 0);
    (void)close(st->orders);
    (void)close(st->answers);
    clean();
}

/* --- looks ------------------------------------------------------------------------------------ */

static bool is_ended_in(struct stage *st, int looks)
{
    for (; looks > 0; looks--) {
        while (diskbudget_is_walking(st->budget))
            (void)poll(NULL, 0, 1);
        st->now_ms += LOOK_MS;
        if (diskbudget_exceeded(st->budget, st->now_ms))
            return true;
    }
    return false;
}

/* As long as it takes to look at all that was done. */
static void check_under(struct stage *st)
{
    TEST_CHECK(!is_ended_in(st, LOOKS_UNDER));
}

static void check_over(struct stage *st)
{
    TEST_CHECK(is_ended_in(st, LOOKS_OVER));
}

/* Until it has run for so long since `from_ns`: who has done next to nothing is told apart. */
static int64_t wait_until_run(const struct stage *st, int64_t from_ns)
{
    while (clock_of_process_ns(st->pid) < from_ns + 5000000)
        (void)poll(NULL, 0, 1);
    return clock_of_process_ns(st->pid);
}

/* Twice the act, with a budget that is enough for the first time. */
static void check_pair(char letter, int n)
{
    make_place();
    struct stage st = open_stage(48 * MIB);
    make(&st, letter, n / 4);
    check_under(&st);
    end(&st);
    make_place();
    st = open_stage(48 * MIB);
    make(&st, letter, n);
    check_over(&st);
    end(&st);
}

static void files_count(void)
{
    check_pair('f', 80);
}

static void many_small_files_count(void)
{
    check_pair('s', 20000);
}

static void removed_files_count_while_they_are_open(void)
{
    check_pair('r', 80);
}

static void what_a_child_that_nobody_waits_for_has_written_counts(void)
{
    check_pair('p', 80);
}

static void check_bound(char letter)
{
    make_place();
    struct stage st = open_stage(8192 * MIB);
    make(&st, letter, 120);
    check_under(&st);
    end(&st);
    make_place();
    st = open_stage(48 * MIB);
    make(&st, letter, 120);
    check_over(&st);
    end(&st);
}

/* The bound is how much the disk has filled, so others that write there count. */
static void what_cannot_be_looked_at_is_bounded_by_the_disk(void)
{
    if (geteuid() != 0) /* root reads every directory */
        check_bound('c');
    check_bound('d');
    check_bound('m');
}

static void what_is_moved_behind_the_walker_is_found_by_the_disk(void)
{
    make_place();
    struct stage st = open_stage(48 * MIB);
    make(&st, 'a', 120);
    check_over(&st);
    end(&st);
}

static void holes_and_names_of_one_file_do_not_count(void)
{
    make_place();
    struct stage st = open_stage(48 * MIB);
    make(&st, 'h', 1 << 20);
    make(&st, 'l', 100);
    check_under(&st);
    end(&st);
}

static void what_is_given_back_does_not_count(void)
{
    make_place();
    struct stage st = open_stage(48 * MIB);
    for (int i = 0; i < 8; i++) {
        make(&st, 'f', 30);
        TEST_CHECK(!is_ended_in(&st, LOOKS_UNDER / 3));
        make(&st, 't', 1);
        TEST_CHECK(!is_ended_in(&st, LOOKS_UNDER / 3));
    }
    make(&st, 'f', 80);
    check_over(&st);
    end(&st);
}

static void what_was_there_before_does_not_count(void)
{
    make_place();
    write_file(80);
    struct stage st = open_stage(48 * MIB);
    make(&st, 'x', 200);
    check_under(&st);
    end(&st);
}

static void what_others_write_while_it_sleeps_does_not_count(void)
{
    make_place();
    struct stage st = open_stage(48 * MIB);
    make(&st, 'x', 100);
    TEST_CHECK(!is_ended_in(&st, LOOKS_UNDER)); /* and it is seen that it sleeps */
    write_file(80);
    check_under(&st);
    make(&st, 'x', 100);
    check_under(&st);
    make(&st, 'f', 140); /* in place of the 80 */
    check_over(&st);
    end(&st);
}

/* Also where the next walk is not due before it runs again. */
static void what_others_write_just_before_it_runs_does_not_count(void)
{
    make_place();
    struct stage st = open_stage(48 * MIB);
    make(&st, 'x', 100);
    TEST_CHECK(!is_ended_in(&st, 4)); /* a walk, so the next one is not due for a while */
    write_file(80);
    TEST_CHECK(!is_ended_in(&st, 2));
    make(&st, 'x', 100);
    check_under(&st);
    make(&st, 'f', 140); /* in place of the 80 */
    check_over(&st);
    end(&st);
}

static void what_others_write_while_it_runs_counts(void)
{
    make_place();
    struct stage st = open_stage(48 * MIB);
    int64_t used_ns = clock_of_process_ns(st.pid);
    tell(&st, 'x', 60000); /* until it is ended */
    used_ns = wait_until_run(&st, used_ns);
    TEST_CHECK(!is_ended_in(&st, 1));
    write_file(80);
    (void)wait_until_run(&st, used_ns);
    check_over(&st);
    end(&st);
}

TEST_LIST = {
    {"files_count", files_count},
    {"many_small_files_count", many_small_files_count},
    {"removed_files_count_while_they_are_open", removed_files_count_while_they_are_open},
    {"what_a_child_that_nobody_waits_for_has_written_counts",
     what_a_child_that_nobody_waits_for_has_written_counts},
    {"what_cannot_be_looked_at_is_bounded_by_the_disk",
     what_cannot_be_looked_at_is_bounded_by_the_disk},
    {"what_is_moved_behind_the_walker_is_found_by_the_disk",
     what_is_moved_behind_the_walker_is_found_by_the_disk},
    {"holes_and_names_of_one_file_do_not_count", holes_and_names_of_one_file_do_not_count},
    {"what_is_given_back_does_not_count", what_is_given_back_does_not_count},
    {"what_was_there_before_does_not_count", what_was_there_before_does_not_count},
    {"what_others_write_while_it_sleeps_does_not_count",
     what_others_write_while_it_sleeps_does_not_count},
    {"what_others_write_just_before_it_runs_does_not_count",
     what_others_write_just_before_it_runs_does_not_count},
    {"what_others_write_while_it_runs_counts", what_others_write_while_it_runs_counts},
    {NULL, NULL},
};
