/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/files/scratch.h - a real folder for a test: `top`/w is the workspace, `top`/secret
 * lies beside it and must never be reached. */
#ifndef UNIT_FILES_SCRATCH_H
#define UNIT_FILES_SCRATCH_H

#include <acutest.h>

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

static char top[] = "/tmp/ipybox-test-XXXXXX";
static int w = -1; /* the workspace */

static void put_at(int dir, const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    TEST_ASSERT(fd >= 0);
    TEST_CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    (void)fd_close(fd);
}

static int fds_before;

static int count_fds(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        (void)closedir(d);
    return n;
}

static void open_place(void)
{
    fds_before = count_fds();
    TEST_ASSERT(mkdtemp(top) != NULL);
    int dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    put_at(dir, "secret", "secret");
    TEST_CHECK(mkdirat(dir, "w", 0755) == 0);
    w = openat(dir, "w", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    TEST_ASSERT(w >= 0);
    (void)fd_close(dir);
}

static void empty_folder(int dir)
{
    DIR *d = fdopendir(dir);
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlinkat(dir, e->d_name, 0) == 0)
            continue;
        int below = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        (void)fchmod(below, 0700);
        if (below >= 0)
            empty_folder(below);
        (void)unlinkat(dir, e->d_name, AT_REMOVEDIR);
    }
    if (d)
        (void)closedir(d);
}

static void close_place(void)
{
    int dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    w = fd_close(w);
    empty_folder(dir);
    TEST_CHECK(rmdir(top) == 0);
    TEST_CHECK(count_fds() == fds_before);
    TEST_MSG("%d descriptors more", count_fds() - fds_before);
}

/* The file's text; "-": it is not there. */
static __attribute__((unused)) const char *text_at(int dir, const char *name)
{
    static char text[256];
    int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    (void)fd_close(fd);
    text[n > 0 ? n : 0] = '\0';
    return fd < 0 || n < 0 ? "-" : text;
}

static __attribute__((unused)) bool is_there(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static __attribute__((unused)) bool try_link(const char *text, const char *name)
{
    return symlinkat(text, w, name) == 0;
}

/* As a kernel without the call, or a container engine's filter. */
static __attribute__((unused)) void filter_call(unsigned number, unsigned error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    TEST_ASSERT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    TEST_ASSERT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static __attribute__((unused)) int count_names(int dir)
{
    int n = 0;
    DIR *d = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (d && readdir(d))
        n++;
    if (d)
        (void)closedir(d);
    return n - 2;
}

#endif
