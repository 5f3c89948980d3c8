/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/files/place.h - a real folder for a test: `top`/w is the workspace, `top`/secret lies
 * beside it and must never be reached. */
#ifndef UNIT_FILES_PLACE_H
#define UNIT_FILES_PLACE_H

#include <acutest.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
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

static void open_place(void)
{
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
