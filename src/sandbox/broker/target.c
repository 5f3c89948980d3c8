/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything here goes by the number of a thread. The thread waits for our answer, so the number
 * is its own for as long as the notice is alive: each function looks at that after it has read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/broker/broker_internal.h"
#include "sandbox/proc/proctree.h"

enum { PAGE = 4096, CHUNK = 256, STATUS_MAX = 4096 };

/* /proc/THREAD/what */
static int open_proc(const struct notice *notice, const char *what, int flags)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)notice->pid, what);
    int fd = open(path, flags | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static ssize_t move_by_file(const struct notice *notice, uint64_t address, void *bytes, size_t n,
                            bool write)
{
    drop_fd int fd = open_proc(notice, "mem", write ? O_WRONLY : O_RDONLY);
    if (fd < 0)
        return fd;
    ssize_t done =
        write ? pwrite(fd, bytes, n, (off_t)address) : pread(fd, bytes, n, (off_t)address);
    return done < 0 ? -EFAULT : done;
}

/* One call that Docker's older profiles refuse, or the file that they do not. */
static ssize_t read_target_bytes(const struct notice *notice, uint64_t address, void *bytes,
                                 size_t n)
{
    if (!__atomic_load_n(&notice->broker->reads_memory, __ATOMIC_RELAXED))
        return move_by_file(notice, address, bytes, n, false);
    struct iovec to = {bytes, n};
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process */
    struct iovec from = {(void *)(uintptr_t)address, n};
    ssize_t got = process_vm_readv(notice->pid, &to, 1, &from, 1, 0);
    if (got >= 0)
        return got;
    if (errno != EPERM && errno != ENOSYS)
        return -errno;
    got = move_by_file(notice, address, bytes, n, false);
    if (got > 0)
        __atomic_store_n(&notice->broker->reads_memory, false, __ATOMIC_RELAXED);
    return got;
}

static int still_there(const struct notice *notice, int r)
{
    return notice_alive(notice) ? r : -ESRCH;
}

int target_text(const struct notice *notice, uint64_t address, char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t n = PAGE - ((address + at) & (PAGE - 1)); /* the next page may not be there */
        n = n < CHUNK ? n : CHUNK;
        n = n < size - at ? n : size - at;
        ssize_t got = read_target_bytes(notice, address + at, text + at, n);
        if (got <= 0)
            return still_there(notice, -EFAULT);
        const char *end = memchr(text + at, '\0', (size_t)got);
        if (end)
            return still_there(notice, (int)(end - text));
        at += (size_t)got;
    }
    return still_there(notice, -ENAMETOOLONG);
}

int target_bytes(const struct notice *notice, uint64_t address, void *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t got = read_target_bytes(notice, address + at, (char *)bytes + at, n - at);
        if (got <= 0)
            return still_there(notice, -EFAULT);
        at += (size_t)got;
    }
    return still_there(notice, 0);
}

static void target_name_of(int dirfd, char name[static 24])
{
    if (dirfd == AT_FDCWD)
        (void)snprintf(name, 24, "cwd");
    else
        (void)snprintf(name, 24, "fd/%d", dirfd);
}

int target_proc(const struct notice *notice, const char *what)
{
    int fd = open_proc(notice, what, O_PATH);
    if (fd < 0)
        return still_there(notice, fd);
    if (notice_alive(notice))
        return fd;
    (void)close(fd);
    return -ESRCH;
}

int target_base(const struct notice *notice, int dirfd)
{
    char name[24];
    if (dirfd < 0 && dirfd != AT_FDCWD)
        return -EBADF;
    target_name_of(dirfd, name);
    int fd = target_proc(notice, name);
    return fd == -ENOENT ? -EBADF : fd;
}

static int read_link(const struct notice *notice, const char *name, char *text, size_t size)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)notice->pid, name);
    ssize_t n = readlink(path, text, size);
    int r = n < 0 ? (errno == ENOENT ? -EBADF : -errno) : 0;
    if (r == 0 && (size_t)n == size)
        r = -ENAMETOOLONG;
    if (r == 0)
        text[n] = '\0';
    return still_there(notice, r);
}

int target_base_path(const struct notice *notice, int dirfd, char path[static PATH_MAX])
{
    char name[24];
    target_name_of(dirfd, name);
    return read_link(notice, name, path, PATH_MAX);
}

int target_descriptor(const struct notice *notice, int fd, char link[static PATH_MAX])
{
    return fd < 0 ? -EBADF : target_base_path(notice, fd, link);
}

/* What /proc/THREAD/status says after "\nname:", or NULL. */
static const char *find_line(const char *status, const char *name)
{
    const char *line = strstr(status, name);
    return line ? line + strlen(name) : NULL;
}

static bool read_target_proc(const struct notice *notice, const char *what,
                             char text[static STATUS_MAX])
{
    drop_fd int fd = open_proc(notice, what, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, STATUS_MAX - 1);
    if (n < 0 || !notice_alive(notice))
        return false;
    text[n] = '\0';
    return true;
}

static uint64_t target_number_of(const char *status, const char *name, int base)
{
    const char *line = find_line(status, name);
    char *end;
    return line ? strtoull(line, &end, base) : 0;
}

unsigned target_umask(const struct notice *notice)
{
    char status[STATUS_MAX];
    if (!read_target_proc(notice, "status", status) || !find_line(status, "\nUmask:"))
        return 077;
    return (unsigned)target_number_of(status, "\nUmask:", 8) & 0777;
}

dev_t target_terminal(const struct notice *notice)
{
    char text[STATUS_MAX];
    struct proctree_stat stat;
    if (!read_target_proc(notice, "stat", text) || proctree_parse(text, &stat) < 0 ||
        stat.terminal <= 0)
        return 0;
    const unsigned number = (unsigned)stat.terminal;
    return makedev(number >> 8 & 0xfff, (number & 0xff) | (number >> 12 & 0xfff00));
}

pid_t target_process(const struct notice *notice)
{
    char status[STATUS_MAX];
    return read_target_proc(notice, "status", status)
               ? (pid_t)target_number_of(status, "\nTgid:", 10)
               : 0;
}

bool target_interrupted(const struct notice *notice)
{
    char status[STATUS_MAX];
    if (!read_target_proc(notice, "status", status))
        return false;
    uint64_t waits =
        target_number_of(status, "\nSigPnd:", 16) | target_number_of(status, "\nShdPnd:", 16);
    return (waits & ~target_number_of(status, "\nSigBlk:", 16)) != 0;
}
