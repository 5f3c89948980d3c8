/* SPDX-License-Identifier: Apache-2.0
 *
 * Which calls are notified where terminals are judged. That is seen as ENOSYS, for nobody listens
 * here. */
#include "unit/sandbox/wallstest.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>

enum { ASKED = ENOSYS };

static const char nowhere[] = "/nonexistent/file";

static const struct one_call {
    const char *name;
    bool asked;
    long number, flags;
} calls[] = {
    {"read and write", true, SYS_openat, O_RDWR},
    {"write, as a shell does", true, SYS_openat, O_WRONLY | O_CREAT | O_TRUNC},
    {"write at the end", true, SYS_openat, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC},
    {"read a terminal", true, SYS_openat, O_RDONLY | O_NOCTTY},
    {"read", false, SYS_openat, O_RDONLY | O_CLOEXEC},
    {"make a new file", false, SYS_openat, O_WRONLY | O_CREAT | O_EXCL},
#ifdef SYS_open
    {"the old call", true, SYS_open, O_RDWR},
    {"the old call to read", false, SYS_open, O_RDONLY},
#endif
    {"the other end's terminal", true, SYS_ioctl, TIOCGPTPEER},
    {"the other end's number", false, SYS_ioctl, TIOCGPTN},
};

static const struct one_call *current;

static int make_call(void)
{
    const long path = (long)(uintptr_t)nowhere, flags = current->flags;
    switch (current->number) {
    case SYS_openat:
        return call_result(syscall(SYS_openat, AT_FDCWD, path, flags, 0600, 0L, 0L));
    case SYS_ioctl:
        return call_result(syscall(SYS_ioctl, -1, flags, 0L));
    default:
        return call_result(syscall(current->number, path, flags, 0600));
    }
}

static void check(const struct filter_wants *wants, bool asks)
{
    const struct wall wall = {wants, -1};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        TEST_CASE(calls[i].name);
        current = &calls[i];
        const int without = run(make_call, &no_wall);
        TEST_CHECK(without == (current->number == SYS_ioctl ? EBADF : ENOENT));
        TEST_CHECK(run(make_call, &wall) == (asks && current->asked ? ASKED : without));
    }
}

static void what_may_open_a_terminal_is_asked_and_nothing_else(void)
{
    check(&(struct filter_wants){.listener = true, .terminals = true, .open_network = true}, true);
}

static void without_a_broker_or_without_the_wish_nothing_is_asked(void)
{
    check(&(struct filter_wants){.terminals = true, .open_network = true}, false);
    check(&(struct filter_wants){.listener = true, .open_network = true}, false);
}

TEST_LIST = {
    {"what may open a terminal is asked, and nothing else",
     what_may_open_a_terminal_is_asked_and_nothing_else},
    {"without a broker or without the wish nothing is asked",
     without_a_broker_or_without_the_wish_nothing_is_asked},
    {NULL, NULL},
};
