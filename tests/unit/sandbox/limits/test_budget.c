/* SPDX-License-Identifier: Apache-2.0
 *
 * What a child holds, seen by the process above it. Each child says when it is ready and then waits
 * for its end. How much shared memory the container has is played: what is hidden here, and nothing
 * of what others do meanwhile. */
#include <acutest.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/unixsock.h"
#include "sandbox/limits/budget.h"
#include "sandbox/limits/shared.h"
#include "sandbox/limits/unnamed_memory.h"
#include "sandbox/proc/maps.h"
#include "sandbox/proc/proctree.h"
#include "unit/guard.h"

#define MIB ((uint64_t)1 << 20)

enum { CHUNK = 1 << 20, HELD_MIB = 256, PAGE = 4096 };

static uint64_t *hidden; /* bytes, by whoever has this memory; NULL: none */

void shared_open(struct shared *ret)
{
    *ret = (struct shared){0};
}

void shared_done(struct shared *shared)
{
    *shared = (struct shared){0};
}

uint64_t shared_bytes(const struct shared *shared)
{
    (void)shared;
    return hidden ? __atomic_load_n(hidden, __ATOMIC_RELAXED) : 0;
}

static int ready[2];

static pid_t child(void (*act)(void))
{
    TEST_ASSERT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    TEST_ASSERT(pipe2(ready, O_CLOEXEC) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        act();
        (void)!write(ready[1], "r", 1);
        for (;;)
            (void)pause();
    }
    char byte;
    (void)close(ready[1]);
    TEST_ASSERT(pid > 0 && read(ready[0], &byte, 1) == 1);
    (void)close(ready[0]);
    return pid;
}

static void end(void)
{
    TEST_CHECK(proctree_end(0) == 0);
}

static void fill(int fd, int mib)
{
    static char chunk[CHUNK];
    (void)memset(chunk, 'x', sizeof chunk);
    for (int i = 0; i < mib; i++)
        if (fd_write(fd, chunk, sizeof chunk) < 0)
            _exit(9);
}

static int memory_of(int mib)
{
    int fd = memfd_create("held", MFD_CLOEXEC);
    fill(fd, mib);
    return fd;
}

static void *map(int fd, int flags)
{
    void *at = mmap(NULL, HELD_MIB * MIB, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (at == MAP_FAILED)
        _exit(9);
    for (volatile char *page = at; page < (char *)at + HELD_MIB * MIB; page += PAGE)
        *page = 'y';
    return at;
}

/* The sums, without the table. */
static struct unnamed_memory held(void)
{
    struct unnamed_memory h = UNNAMED_MEMORY_NONE;
    unnamed_memory_take(&h);
    const struct unnamed_memory sums = {
        .memory = h.memory, .unnamed = h.unnamed, .unseen = h.unseen};
    unnamed_memory_done(&h);
    return sums;
}

/* --- memory ----------------------------------------------------------------------------------- */

static void hold_nothing(void)
{
}

static void hold_memory(void)
{
    (void)memory_of(HELD_MIB);
}

static void memory_that_nobody_maps_counts(void)
{
    (void)child(hold_nothing);
    TEST_CHECK(!budget_exceeds(200 * MIB));
    end();
    (void)child(hold_memory);
    TEST_CHECK(budget_exceeds(200 * MIB));
    end();
}

static void hold_memory_twice(void)
{
    int fd = memory_of(HELD_MIB);
    (void)fcntl(fd, F_DUPFD_CLOEXEC, 0);
    (void)map(fd, MAP_SHARED);
    if (fork() == 0)
        for (;;)
            (void)pause();
}

static void what_is_open_and_mapped_and_shared_counts_once(void)
{
    (void)child(hold_memory_twice);
    TEST_CHECK(budget_exceeds(200 * MIB));
    TEST_CHECK(!budget_exceeds(400 * MIB));
    end();
}

static void change_for_itself(void)
{
    (void)map(memory_of(HELD_MIB), MAP_PRIVATE);
}

static void a_private_copy_of_held_memory_counts_too(void)
{
    (void)child(change_for_itself);
    TEST_CHECK(budget_exceeds(400 * MIB));
    TEST_CHECK(!budget_exceeds(800 * MIB));
    end();
}

static char shared_name[64];

static void hold_shared_memory(void)
{
    fill(open(shared_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600), 24);
}

static void what_is_open_in_dev_shm_counts(void)
{
    char name[17];
    random_hex(name, 8);
    (void)snprintf(shared_name, sizeof shared_name, "/dev/shm/held-%s", name);
    (void)child(hold_shared_memory);
    TEST_CHECK(held().memory == 24 * MIB);
    (void)unlink(shared_name);
    TEST_CHECK(held().memory == 24 * MIB);
    end();
    TEST_CHECK(held().memory == 0);
}

static void *stay(void *ctx)
{
    (void)ctx;
    (void)memory_of(HELD_MIB);
    (void)!write(ready[1], "r", 1);
    for (;;)
        (void)pause();
    return NULL;
}

static void leave_it_to_a_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, stay, NULL) != 0)
        _exit(9);
    (void)pthread_detach(thread);
    pthread_exit(NULL);
}

static void a_process_whose_first_thread_has_ended_counts(void)
{
    (void)child(leave_it_to_a_thread);
    TEST_CHECK(budget_exceeds(200 * MIB));
    end();
}

/* --- memory of the system --------------------------------------------------------------------- */

enum { SENT_MIB = 64, MESSAGE = 65536 };

/* All that goes in; the other end is left open. */
static uint64_t fill_pair(int ends[2], size_t message)
{
    static char bytes[MESSAGE];
    const int size = 1 << 20; /* the system gives what it lets anybody have */
    uint64_t sent = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        _exit(9);
    (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    for (ssize_t n; (n = send(ends[0], bytes, message, MSG_NOSIGNAL)) > 0;)
        sent += (uint64_t)n;
    return sent;
}

static void send_much(void)
{
    int ends[2];
    for (uint64_t sent = 0; sent < SENT_MIB * MIB;)
        sent += fill_pair(ends, MESSAGE);
}

static void send_and_close(void)
{
    int ends[2];
    for (uint64_t sent = 0; sent < SENT_MIB * MIB; (void)close(ends[0]))
        sent += fill_pair(ends, MESSAGE);
}

static void send_sockets(void)
{
    int carrier[2], ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, carrier) < 0)
        _exit(9);
    for (uint64_t sent = 0; sent < SENT_MIB * MIB;) {
        sent += fill_pair(ends, MESSAGE);
        if (unixsock_send(carrier[0], "x", 1, ends, 2, 0) < 0)
            _exit(9);
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
}

static void fill_page_tables(void)
{
    const size_t step = 2 * MIB, size = SENT_MIB * MIB / PAGE * step;
    const volatile char *at =
        mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        _exit(9);
    (void)madvise((void *)(uintptr_t)at, size, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < size; i += step)
        (void)at[i];
}

static void make_pipes(void)
{
    int ends[2];
    struct rlimit most;
    (void)getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = most.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &most);
    for (int i = 0; i < SENT_MIB * 16; i++)
        if (pipe2(ends, O_CLOEXEC) < 0)
            _exit(9);
}

static void memory_that_the_system_has_for_them_counts(void)
{
    static void (*const acts[])(void) = {send_much, send_and_close, send_sockets, fill_page_tables,
                                         make_pipes};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        TEST_CASE_("%zu", i);
        (void)child(hold_nothing);
        TEST_CHECK(!budget_exceeds(48 * MIB));
        end();
        (void)child(acts[i]);
        TEST_CHECK(budget_exceeds(48 * MIB));
        end();
    }
}

/* --- memory that nobody shows ----------------------------------------------------------------- */

static int go[2];

static void hide_memory(int mib)
{
    int carrier[2], fd = memory_of(mib);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, carrier) < 0 ||
        unixsock_send(carrier[0], "x", 1, &fd, 1, 0) < 0)
        _exit(9);
    (void)close(fd);
}

static void map_one_page(int mib)
{
    int fd = memory_of(mib);
    if (mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
        _exit(9);
    (void)close(fd);
}

static void forget_pages(int mib)
{
    const size_t size = (size_t)mib * MIB;
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        _exit(9);
    (void)memset(at, 1, size);
    (void)madvise(at, size, MADV_DONTNEED);
}

static void (*hide)(int mib);

static void hide_when_told(void)
{
    char byte;
    (void)!write(ready[1], "r", 1);
    (void)!read(go[0], &byte, 1);
    for (int i = 0; i < HELD_MIB / 8; i++) {
        hide(8);
        (void)__atomic_add_fetch(hidden, 8 * MIB, __ATOMIC_RELAXED);
    }
}

static bool is_exceeded_in(struct budget *budget, int looks)
{
    for (; looks > 0; looks--) {
        if (budget_exceeded(budget))
            return true;
        (void)poll(NULL, 0, (int)budget_pause_ms(budget));
    }
    return false;
}

static bool becomes_exceeded(struct budget *budget)
{
    for (const int64_t until = clock_ms() + GUARD_MS; clock_ms() < until;)
        if (is_exceeded_in(budget, 1))
            return true;
    return false;
}

static void memory_that_no_process_shows_counts(void)
{
    static void (*const ways[])(int) = {hide_memory, map_one_page, forget_pages};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        TEST_CASE_("%zu", i);
        hide = ways[i];
        hidden =
            mmap(NULL, sizeof *hidden, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        TEST_ASSERT(hidden != MAP_FAILED);
        TEST_ASSERT(pipe2(go, O_CLOEXEC) == 0);
        struct budget *budget = budget_open(200 * MIB);
        (void)child(hide_when_told);
        TEST_CHECK(!budget_exceeded(budget));
        TEST_ASSERT(write(go[1], "g", 1) == 1);
        TEST_CHECK(becomes_exceeded(budget));
        (void)close(go[0]);
        (void)close(go[1]);
        end();
        (void)budget_free(budget);
    }
}

static void have_children_that_grow(void)
{
    char byte;
    (void)memset(map(-1, MAP_PRIVATE | MAP_ANONYMOUS), 1, HELD_MIB * MIB);
    for (int i = 0; i < 4; i++)
        if (fork() == 0)
            for (;;)
                (void)pause();
    (void)!write(ready[1], "r", 1);
    (void)!read(go[0], &byte, 1);
    (void)map(-1, MAP_PRIVATE | MAP_ANONYMOUS);
}

/* What they share is counted once, and does not delay the verdict on what comes. */
static void what_grows_beside_what_is_shared_counts_at_once(void)
{
    TEST_ASSERT(pipe2(go, O_CLOEXEC) == 0);
    struct budget *budget = budget_open(400 * MIB);
    (void)child(have_children_that_grow);
    TEST_CHECK(!is_exceeded_in(budget, 10));
    TEST_ASSERT(write(go[1], "g", 1) == 1);
    TEST_CHECK(becomes_exceeded(budget));
    (void)close(go[0]);
    (void)close(go[1]);
    end();
    (void)budget_free(budget);
}

static void the_pause_is_short_near_the_limit(void)
{
    struct budget *small = budget_open(64 * MIB), *large = budget_open(1024 * 1024 * MIB);
    (void)child(hold_nothing);
    /* A pause is as long as the look before it, at least: on a busy machine the shortest tells. */
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < 100 && shortest >= 20; i++) {
        TEST_CHECK(!budget_exceeded(small));
        const int64_t pause = budget_pause_ms(small);
        shortest = pause < shortest ? pause : shortest;
    }
    TEST_CHECK(shortest < 20);
    TEST_CHECK(!budget_exceeded(large));
    TEST_CHECK(budget_pause_ms(large) == BUDGET_WHOLE_MS);
    end();
    (void)budget_free(small);
    (void)budget_free(large);
}

/* --- files ------------------------------------------------------------------------------------ */

static bool removes;

static void hold_file(void)
{
    char name[17], path[64];
    random_hex(name, 8);
    (void)snprintf(path, sizeof path, "/var/tmp/held-%s", name);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    fill(fd, 8);
    (void)fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (ftruncate(fd, 1LL << 40) < 0) /* a hole */
        _exit(9);
    if (removes)
        (void)unlink(path);
    else if (rename(path, shared_name) < 0)
        _exit(9);
}

static void a_removed_file_counts_while_it_is_open_and_others_do_not(void)
{
    char name[17];
    random_hex(name, 8);
    (void)snprintf(shared_name, sizeof shared_name, "/var/tmp/held-%s", name);
    (void)child(hold_file);
    TEST_CHECK(held().unnamed == 0);
    end();
    (void)unlink(shared_name);
    removes = true;
    (void)child(hold_file);
    uint64_t bytes = held().unnamed;
    TEST_CHECK_(bytes >= 8 * MIB && bytes < 9 * MIB, "%llu", (unsigned long long)bytes);
    TEST_CHECK(!held().unseen);
    end();
    TEST_CHECK(held().unnamed == 0);
}

static void hold_many(void)
{
    for (int i = 0; i < 500; i++)
        (void)memory_of(0);
    (void)memory_of(1);
}

static void as_many_as_there_are(void)
{
    (void)child(hold_many);
    struct unnamed_memory h = UNNAMED_MEMORY_NONE;
    unnamed_memory_take(&h);
    TEST_CHECK(h.files.count == 501 && h.memory == MIB);
    unnamed_memory_done(&h);
    end();
}

/* --- lines ------------------------------------------------------------------------------------ */

static void lines_of_mappings_are_read_and_others_are_not(void)
{
    struct maps_line map;
    TEST_CHECK(maps_parse("7f00-7f10 r-xp 00000000 fd:01 1234    /usr/lib/a b.so\n", &map));
    TEST_CHECK(map.ino == 1234 && strcmp(map.name, "/usr/lib/a b.so\n") == 0);
    TEST_CHECK(maps_parse("7f00-7f10 rw-p 00000000 00:00 0 \n", &map) && map.ino == 0);
    static const char *const others[] = {"",
                                         "Pss:   4 kB\n",
                                         "7f00-7f10",
                                         "7f00-7f10 r 0 fd:01\n",
                                         "7f00-7f10 r 0 fd 1 x\n",
                                         "7f00-7f10 r 0 fd:1 x \n"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        TEST_CHECK_(!maps_parse(others[i], &map), "%s", others[i]);
}

TEST_LIST = {
    {"memory_that_nobody_maps_counts", memory_that_nobody_maps_counts},
    {"what_is_open_and_mapped_and_shared_counts_once",
     what_is_open_and_mapped_and_shared_counts_once},
    {"a_private_copy_of_held_memory_counts_too", a_private_copy_of_held_memory_counts_too},
    {"what_is_open_in_dev_shm_counts", what_is_open_in_dev_shm_counts},
    {"a_process_whose_first_thread_has_ended_counts",
     a_process_whose_first_thread_has_ended_counts},
    {"memory_that_the_system_has_for_them_counts", memory_that_the_system_has_for_them_counts},
    {"memory_that_no_process_shows_counts", memory_that_no_process_shows_counts},
    {"what_grows_beside_what_is_shared_counts_at_once",
     what_grows_beside_what_is_shared_counts_at_once},
    {"the_pause_is_short_near_the_limit", the_pause_is_short_near_the_limit},
    {"a_removed_file_counts_while_it_is_open_and_others_do_not",
     a_removed_file_counts_while_it_is_open_and_others_do_not},
    {"as_many_as_there_are", as_many_as_there_are},
    {"lines_of_mappings_are_read_and_others_are_not",
     lines_of_mappings_are_read_and_others_are_not},
    {NULL, NULL},
};
