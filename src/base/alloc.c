/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *need_memory(void *p)
{
    if (p)
        return p;
    static const char text[] = "ipybox: out of memory\n";
    (void)!write(2, text, sizeof text - 1);
    abort();
}

#ifdef IPYBOX_TESTS
static long calls_to_failure = -1; /* 0: none fails; -1: $FAIL_ALLOC was not looked at yet */

void try_realloc_fail_at(long n)
{
    calls_to_failure = n;
}

static int injected_failure(void)
{
    if (calls_to_failure < 0) {
        const char *n = getenv("FAIL_ALLOC");
        calls_to_failure = n ? strtol(n, NULL, 10) : 0;
    }
    return calls_to_failure > 0 && --calls_to_failure == 0;
}
#else
static int injected_failure(void)
{
    return 0;
}
#endif

/* Large blocks get huge pages where Linux has them for those who ask: to touch a page of 4 KiB for
 * the first time costs as much as to copy it several times, and large messages are copied often. */
static void *with_huge_pages(void *block, size_t size)
{
    enum { HUGE_PAGE = 2 << 20, PAGE = 4096 };
    if (block && size >= 2 * (size_t)HUGE_PAGE) {
        uintptr_t start = ((uintptr_t)block + PAGE - 1) & ~((uintptr_t)PAGE - 1);
        uintptr_t end = ((uintptr_t)block + size) & ~((uintptr_t)PAGE - 1);
        (void)madvise((void *)start, end - start, MADV_HUGEPAGE); /* not there: small pages do */
    }
    return block;
}

void *xcalloc(size_t n, size_t size)
{
    return need_memory(calloc(n, size));
}

void *xrealloc(void *p, size_t size)
{
    return need_memory(with_huge_pages(realloc(p, size), size));
}

void *try_realloc(void *p, size_t size)
{
    return injected_failure() ? NULL : with_huge_pages(realloc(p, size), size);
}

char *xstrdup(const char *s)
{
    if (!s)
        return NULL;
    size_t size = strlen(s) + 1;
    return memcpy(xrealloc(NULL, size), s, size);
}

char *xstrndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n); /* strndup() is held to strlen() by sanitizers */
    char *copy = xrealloc(NULL, len + 1);
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

char *xasprintf(const char *fmt, ...)
{
    char *s = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&s, fmt, ap);
    va_end(ap);
    return n < 0 ? need_memory(NULL) : s;
}

void xfree(void *p)
{
    free(p);
}

void drop_str_cleanup(char **p)
{
    free(*p);
}

int fd_close(int fd)
{
    if (fd >= 0) {
        int saved = errno;
        (void)close(fd);
        errno = saved;
    }
    return -1;
}

void drop_fd_cleanup(int *fd)
{
    *fd = fd_close(*fd);
}

int fd_take(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

int fd_write(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, bytes, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        bytes += done;
        n -= (size_t)done;
    }
    return 0;
}

char *str_take(char **p)
{
    char *taken = *p;
    *p = NULL;
    return taken;
}
