/* SPDX-License-Identifier: Apache-2.0
 *
 * What the filter refuses so that others can look into a process: a broker, and budgets. */
#include "unit/sandbox/wallstest.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>

static const struct filter_wants walls_alone = {.open_network = true};
static const struct filter_wants brokered = {.listener = true, .open_network = true};
static const struct filter_wants counted = {.counted = true, .open_network = true};
static const struct filter_wants disk = {.counted = true, .disk = true, .open_network = true};

static int run_behind(act_fn act, const struct filter_wants *wants)
{
    return run(act, &(struct wall){wants, -1});
}

static int hide(void)
{
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? errno : prctl(PR_GET_DUMPABLE) + 100;
}

static void a_process_cannot_hide_its_memory_from_broker_and_budget(void)
{
    TEST_CHECK(run_behind(hide, &walls_alone) == 100);
    TEST_CHECK(run_behind(hide, &brokered) == 101);
    TEST_CHECK(run_behind(hide, &counted) == 101);
}

static long clone_flags;

/* The kernel refuses both otherwise: a thread shares its memory. */
static int clone_now(void)
{
    return call_result(syscall(SYS_clone, clone_flags | SIGCHLD, 0, 0, 0, 0));
}

static void a_thread_shares_its_descriptors(void)
{
    clone_flags = CLONE_THREAD;
    TEST_CHECK(run(clone_now, &no_wall) == EINVAL);
    TEST_CHECK(run_behind(clone_now, &walls_alone) == EPERM);
    clone_flags = CLONE_THREAD | CLONE_FILES;
    TEST_CHECK(run_behind(clone_now, &walls_alone) == EINVAL);
}

static unsigned close_flags;

static int close_nothing(void)
{
    return call_result(syscall(SYS_close_range, ~0U - 1, ~0U, close_flags));
}

static void no_thread_takes_descriptors_of_its_own_by_closing_some(void)
{
    close_flags = CLOSE_RANGE_UNSHARE;
    TEST_CHECK(run(close_nothing, &no_wall) == 0);
    TEST_CHECK(run_behind(close_nothing, &walls_alone) == EINVAL);
    close_flags |= CLOSE_RANGE_CLOEXEC;
    TEST_CHECK(run_behind(close_nothing, &walls_alone) == EINVAL);
    close_flags = CLOSE_RANGE_CLOEXEC;
    TEST_CHECK(run_behind(close_nothing, &walls_alone) == 0);
    close_flags = 0;
    TEST_CHECK(run_behind(close_nothing, &walls_alone) == 0);
}

static int reserve(void)
{
    return call_result(syscall(SYS_fallocate, -1, 0, 0L, 1L));
}

static void where_disk_space_is_counted_none_is_taken_without_writing(void)
{
    TEST_CHECK(run_behind(reserve, &disk) == EOPNOTSUPP);
    TEST_CHECK(run_behind(reserve, &counted) == EBADF);
}

static const struct filter_wants memory = {.counted = true, .memory = true, .open_network = true};

static int socket_type;

static int make_socket(void)
{
    return call_result(socket(AF_UNIX, socket_type | SOCK_CLOEXEC, 0));
}

static int make_pair(void)
{
    int ends[2];
    return call_result(socketpair(AF_UNIX, socket_type | SOCK_CLOEXEC, 0, ends));
}

static int splice_nothing(void)
{
    return call_result(syscall(SYS_vmsplice, -1, NULL, 0, 0));
}

static void where_memory_is_counted_none_is_put_where_nobody_sees_it(void)
{
    TEST_CHECK(run_behind(splice_nothing, &memory) == EPERM);
    TEST_CHECK(run_behind(splice_nothing, &counted) == EBADF);
    static const int plain[] = {SOCK_STREAM, SOCK_SEQPACKET}, others[] = {SOCK_DGRAM, SOCK_RAW};
    for (int i = 0; i < 2; i++) {
        socket_type = plain[i];
        TEST_CHECK(run_behind(make_socket, &memory) == 0 && run_behind(make_pair, &memory) == 0);
        socket_type = others[i];
        TEST_CHECK(run_behind(make_socket, &memory) == EPERM);
        TEST_CHECK(run_behind(make_pair, &memory) == EPERM);
        TEST_CHECK(run_behind(make_socket, &counted) == 0);
    }
}

TEST_LIST = {
    {"a_process_cannot_hide_its_memory_from_broker_and_budget",
     a_process_cannot_hide_its_memory_from_broker_and_budget},
    {"a_thread_shares_its_descriptors", a_thread_shares_its_descriptors},
    {"no_thread_takes_descriptors_of_its_own_by_closing_some",
     no_thread_takes_descriptors_of_its_own_by_closing_some},
    {"where_disk_space_is_counted_none_is_taken_without_writing",
     where_disk_space_is_counted_none_is_taken_without_writing},
    {"where_memory_is_counted_none_is_put_where_nobody_sees_it",
     where_memory_is_counted_none_is_put_where_nobody_sees_it},
    {NULL, NULL},
};
