/* SPDX-License-Identifier: Apache-2.0
 *
 * A library of its own, for LD_PRELOAD: where a program opens a file only to read it, the call
 * bears the mark (opens_mark.h), so that the filter lets it pass and the ruleset judges it. What
 * the ruleset refuses is asked again without the mark, of the broker. Outside of a sandbox nobody
 * looks at the mark.
 * Limits: no C library is linked and nothing but these functions is defined, for it is loaded into
 *         programs of any. Its opens are no cancellation points. What a C library opens for itself
 *         (fopen(), the dynamic linker) is not marked. */
#include <dirent.h>
#include <errno.h>
#include <linux/fcntl.h> /* not <fcntl.h>, where some of these functions are macros or inline */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "sandbox/preload/opens_mark.h"

long syscall(long number, ...);

/* Is it called as a file that the broker makes up (net_virtual_file())? */
static bool is_virtual(const char *path)
{
    static const char *const names[] = {"hosts", "resolv.conf"};
    const char *name = path;
    for (const char *at = path; *at; at++)
        if (*at == '/')
            name = at + 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = 0;
        while (names[i][n] && names[i][n] == name[n])
            n++;
        if (names[i][n] == name[n])
            return true;
    }
    return false;
}

/* The path is looked at when the kernel has read it: it may lead nowhere in memory. */
static int open_any(int dirfd, const char *path, int flags, unsigned mode)
{
    const int before = errno;
    int fd = -1, code = EACCES;
    if (!(flags & ~OPENS_FLAGS)) {
        fd = (int)syscall(SYS_openat, dirfd, path, flags, 0, OPENS_MARK_5TH, OPENS_MARK_6TH);
        code = fd < 0 ? errno : 0;
        if ((code == 0 || code == ENOENT) && is_virtual(path))
            code = EACCES;
    }
    if (code != EACCES && code != EPERM)
        return fd;
    if (fd >= 0)
        (void)syscall(SYS_close, fd);
    errno = before;
    return (int)syscall(SYS_openat, dirfd, path, flags, mode, 0L, 0L);
}

static bool makes(int flags)
{
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

/* --- what programs call ----------------------------------------------------------------------- */

int open(const char *path, int flags, ...);
int openat(int dirfd, const char *path, int flags, ...);
int __open_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const unsigned mode = makes(flags) ? va_arg(args, unsigned) : 0;
    va_end(args);
    return open_any(AT_FDCWD, path, flags, mode);
}

int openat(int dirfd, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const unsigned mode = makes(flags) ? va_arg(args, unsigned) : 0;
    va_end(args);
    return open_any(dirfd, path, flags, mode);
}

/* glibc's, for programs that are built with its checks: a file is not made without a mode. */
int __open_2(const char *path, int flags)
{
    if (makes(flags))
        __builtin_trap();
    return open_any(AT_FDCWD, path, flags, 0);
}

int __openat_2(int dirfd, const char *path, int flags)
{
    if (makes(flags))
        __builtin_trap();
    return open_any(dirfd, path, flags, 0);
}

/* Large files are files like all others to a kernel of 64 bits. */
__typeof__(open) open64 __attribute__((alias("open")));
__typeof__(openat) openat64 __attribute__((alias("openat")));
__typeof__(__open_2) __open64_2 __attribute__((alias("__open_2")));
__typeof__(__openat_2) __openat64_2 __attribute__((alias("__openat_2")));

DIR *opendir(const char *path)
{
    int fd = open_any(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir || fd < 0)
        return dir;
    const int code = errno;
    (void)syscall(SYS_close, fd);
    errno = code;
    return NULL;
}
