/* SPDX-License-Identifier: Apache-2.0
 *
 * Each case is a child that has descriptors which are not close-on-exec, as libraries open them,
 * and executes a shell that tells which of them it has. */
#include <acutest.h>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/exec.h"

enum { HIGH = 900, FAILED = 99 };

static const int strays[] = {3, 4, 5, 6, 9, 40, HIGH};
static char *const look[] = {(char[]){"sh"}, (char[]){"-c"},
                             (char[]){"for n in 0 1 2 3 4 5 6 7 8 9 40 900; do "
                                      "if [ -e /proc/self/fd/$n ]; then echo -n \"$n \"; fi; done"},
                             NULL};

static void answer_with(int number, int error)
{
    const struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof steps / sizeof *steps, (struct sock_filter *)steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(FAILED);
}

static void open_strays(int output)
{
    int epoll = epoll_create1(0);
    if (output < 0 || dup2(output, STDOUT_FILENO) < 0)
        _exit(FAILED);
    epoll = fcntl(epoll, F_DUPFD, HIGH + 1);
    for (size_t i = 0; i < sizeof strays / sizeof *strays; i++)
        if (dup2(epoll, strays[i]) < 0)
            _exit(FAILED);
}

/* What of the descriptors the executed program has. `refused`: these calls do not exist. */
static const char *seen_with(const int *kept, size_t count, const int *refused, size_t refusals)
{
    static char text[256];
    int ends[2], status = 0;
    TEST_ASSERT(pipe(ends) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        open_strays(ends[1]);
        for (size_t i = 0; i < refusals; i++)
            answer_with(refused[i], ENOSYS);
        const struct exec_call exec = {
            .program = "sh", .argv = look, .envp = environ, .kept = kept, .kept_count = count};
        _exit(exec_alone(&exec) < 0 ? FAILED : 0);
    }
    (void)close(ends[1]);
    size_t n = 0;
    for (ssize_t r; (r = read(ends[0], text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)r;
    text[n] = '\0';
    (void)close(ends[0]);
    TEST_CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
               WEXITSTATUS(status) != FAILED);
    return text;
}

static void check_seen(const int *refused, size_t refusals)
{
    const int some[] = {4, 6, 40}, edges[] = {3, HIGH};
    const char *seen = seen_with(NULL, 0, refused, refusals);
    TEST_CHECK(strcmp(seen, "0 1 2 ") == 0);
    TEST_MSG("%s", seen);
    seen = seen_with(some, 3, refused, refusals);
    TEST_CHECK(strcmp(seen, "0 1 2 4 6 40 ") == 0);
    TEST_MSG("%s", seen);
    seen = seen_with(edges, 2, refused, refusals);
    TEST_CHECK(strcmp(seen, "0 1 2 3 900 ") == 0);
    TEST_MSG("%s", seen);
}

static void what_is_not_named_is_not_inherited(void)
{
    check_seen(NULL, 0);
}

static void nor_where_ranges_cannot_be_closed(void)
{
    check_seen((const int[]){SYS_close_range}, 1);
}

static void nor_where_open_descriptors_cannot_be_listed_either(void)
{
    check_seen((const int[]){SYS_close_range, SYS_getdents64}, 2);
}

static void a_failed_exec_closes_nothing(void)
{
    int ends[2];
    TEST_ASSERT(pipe(ends) == 0);
    const struct exec_call exec = {.program = "/is/not/there", .argv = look, .envp = environ};
    TEST_CHECK(exec_alone(&exec) == -ENOENT);
    TEST_CHECK(write(ends[1], "x", 1) == 1);
    TEST_CHECK(fcntl(ends[0], F_GETFD) == FD_CLOEXEC && fcntl(0, F_GETFD) == 0);
}

static void what_is_kept_must_be_in_order(void)
{
    TEST_CHECK(exec_keep((const int[]){5, 4}, 2) == -EINVAL);
    TEST_CHECK(exec_keep((const int[]){2}, 1) == -EINVAL);
    TEST_CHECK(exec_keep((const int[]){4, 4}, 2) == -EINVAL);
}

static void a_users_own_program_has_what_it_was_left(void)
{
    int ends[2], status = 0;
    char text[64] = "";
    TEST_ASSERT(pipe(ends) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        open_strays(ends[1]);
        if (exec_keep(NULL, 0) < 0 || fcntl(5, F_SETFD, 0) < 0)
            _exit(FAILED);
        _exit(exec_with_all("sh", look) < 0 ? FAILED : 0);
    }
    TEST_CHECK(waitpid(pid, &status, 0) == pid && read(ends[0], text, sizeof text - 1) > 0);
    TEST_CHECK(strcmp(text, "0 1 2 5 ") == 0);
    TEST_MSG("%s", text);
}

TEST_LIST = {
    {"what_is_not_named_is_not_inherited", what_is_not_named_is_not_inherited},
    {"nor_where_ranges_cannot_be_closed", nor_where_ranges_cannot_be_closed},
    {"nor_where_open_descriptors_cannot_be_listed_either",
     nor_where_open_descriptors_cannot_be_listed_either},
    {"a_failed_exec_closes_nothing", a_failed_exec_closes_nothing},
    {"what_is_kept_must_be_in_order", what_is_kept_must_be_in_order},
    {"a_users_own_program_has_what_it_was_left", a_users_own_program_has_what_it_was_left},
    {NULL, NULL},
};
