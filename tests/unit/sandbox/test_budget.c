/* SPDX-License-Identifier: Apache-2.0
 *
 * What a child holds, seen by the process above it. Each child says when it is ready and then waits
 * for its end. */
#include <acutest.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/random.h"
#include "sandbox/budget.h"
#include "sandbox/holdings.h"
#include "sandbox/maps.h"
#include "sandbox/proctree.h"

#define MIB ((uint64_t)1 << 20)

enum { CHUNK = 1 << 20, HELD_MIB = 256, PAGE = 4096 };

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
static struct holdings held(void)
{
    struct holdings h = HOLDINGS_NONE;
    holdings_take(&h);
    const struct holdings sums = {.memory = h.memory, .unnamed = h.unnamed, .unseen = h.unseen};
    holdings_done(&h);
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
    struct holdings h = HOLDINGS_NONE;
    holdings_take(&h);
    TEST_CHECK(h.count == 501 && h.memory == MIB);
    holdings_done(&h);
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
    {"a_removed_file_counts_while_it_is_open_and_others_do_not",
     a_removed_file_counts_while_it_is_open_and_others_do_not},
    {"as_many_as_there_are", as_many_as_there_are},
    {"lines_of_mappings_are_read_and_others_are_not",
     lines_of_mappings_are_read_and_others_are_not},
    {NULL, NULL},
};
