/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/budget.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/proctree.h"

enum { FILE_TEXT_MAX = 4096, KIB = 1024 };

struct sum {
    const char *file, *label; /* the number behind the first `label` counts, */
    uint64_t unit;            /* so many bytes each */
    uint64_t bytes;
    const struct sum *fallback; /* NULL: none */
};

static uint64_t number_at(const char *text)
{
    char *end; /* blanks before it are passed over */
    unsigned long long n = strtoull(text, &end, 10);
    return end > text ? n : 0;
}

static void add(void *ctx, pid_t pid)
{
    struct sum *sum = ctx;
    char path[40], text[FILE_TEXT_MAX];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, sum->file);
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0 && sum->fallback) { /* a process that does not let itself be looked at */
        struct sum other = *sum->fallback;
        add(&other, pid);
        sum->bytes += other.bytes;
    }
    if (n <= 0)
        return;
    text[n] = '\0';
    const char *at = strstr(text, sum->label);
    if (at)
        sum->bytes += number_at(at + strlen(sum->label)) * sum->unit;
}

bool budget_exceeds(uint64_t bytes)
{
    struct sum cheap = {.file = "statm", .label = " ", .unit = (uint64_t)sysconf(_SC_PAGESIZE)};
    (void)proctree_each(add, &cheap);
    if (cheap.bytes <= bytes)
        return false;
    cheap.bytes = 0;
    struct sum exact = {.fallback = &cheap, .file = "smaps_rollup", .label = "\nPss:", .unit = KIB};
    (void)proctree_each(add, &exact);
    return exact.bytes > bytes;
}
