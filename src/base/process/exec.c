/* SPDX-License-Identifier: Apache-2.0 */
#include "base/process/exec.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIRST = STDERR_FILENO + 1, NAMES_BYTES = 2048, SCAN_MAX = 1 << 20 };

struct fd_name { /* of getdents64(2) */
    uint64_t inode;
    int64_t next;
    unsigned short size;
    unsigned char type;
    char text[];
};

static bool is_kept(int fd, const int *kept, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (kept[i] == fd)
            return true;
    return fd < FIRST;
}

static void close_at_exec(int fd, const int *kept, size_t count)
{
    const int flags = is_kept(fd, kept, count) ? -1 : fcntl(fd, F_GETFD);
    if (flags >= 0) /* else it is not open */
        (void)fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

/* -1: it is no number. */
static int fd_of_name(const char *text)
{
    long n = 0;
    for (; *text >= '0' && *text <= '9' && n <= INT_MAX; text++)
        n = n * 10 + (*text - '0');
    return *text || n > INT_MAX ? -1 : (int)n;
}

/* By the list of those that are open. False: there is none. */
static bool close_listed(const int *kept, size_t count)
{
    alignas(struct fd_name) char names[NAMES_BYTES];
    const int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n = -1;
    while (dir >= 0 && (n = syscall(SYS_getdents64, dir, names, sizeof names)) > 0) {
        for (long at = 0; at < n;) {
            const struct fd_name *name = (const struct fd_name *)(const void *)(names + at);
            const int fd = name->text[0] == '.' ? -1 : fd_of_name(name->text);
            at += name->size;
            if (fd >= 0)
                close_at_exec(fd, kept, count);
        }
    }
    if (dir >= 0)
        (void)close(dir);
    return n == 0;
}

/* A Linux before 5.11, gVisor, or a filter that does not know the call. */
static void close_one_by_one(const int *kept, size_t count)
{
    struct rlimit limit = {.rlim_max = SCAN_MAX};
    if (close_listed(kept, count))
        return;
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    const int end = limit.rlim_max < SCAN_MAX ? (int)limit.rlim_max : SCAN_MAX;
    for (int fd = FIRST; fd < end; fd++)
        close_at_exec(fd, kept, count);
}

static bool close_range_at_exec(unsigned from, unsigned to)
{
    return from > to || syscall(SYS_close_range, from, to, CLOSE_RANGE_CLOEXEC) == 0;
}

int exec_keep(const int *kept, size_t count)
{
    unsigned from = FIRST;
    bool closed = true;
    for (size_t i = 0; i < count; i++) {
        if (kept[i] < (int)from)
            return -EINVAL;
        closed = closed && close_range_at_exec(from, (unsigned)kept[i] - 1);
        from = (unsigned)kept[i] + 1;
    }
    if (!closed || !close_range_at_exec(from, UINT_MAX))
        close_one_by_one(kept, count);
    return 0;
}

int exec_alone(const struct exec_call *call)
{
    const int r = exec_keep(call->kept, call->kept_count);
    if (r < 0)
        return r;
    (void)execvpe(call->program, call->argv, call->envp);
    return -errno;
}

int exec_with_all(const char *program, char *const *argv)
{
    (void)execvp(program, argv);
    return -errno;
}
