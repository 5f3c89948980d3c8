/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/budget.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/holdings.h"
#include "sandbox/maps.h"
#include "sandbox/proctree.h"

enum { FILE_TEXT_MAX = 4096, KIB = 1024, SECOND_US = 1000000 };

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

/* --- processor time --------------------------------------------------------------------------- */

/* Fields 14 to 17 of /proc/PID/stat, see proc(5). The name ends at the last ')'. */
static int64_t times_of(const char *stat)
{
    const char *at = strrchr(stat, ')');
    int64_t ticks = 0;
    for (int field = 2; at && field < 14; field++)
        at = strchr(at + 1, ' ');
    for (int i = 0; at && i < 4; i++) {
        char *end;
        ticks += strtoll(at, &end, 10);
        at = end;
    }
    return ticks;
}

static void add_ticks(void *ctx, pid_t pid)
{
    int64_t *ticks = ctx;
    char path[32], text[FILE_TEXT_MAX];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (n <= 0)
        return;
    text[n] = '\0';
    *ticks += times_of(text);
}

int64_t budget_cpu_us(void)
{
    int64_t ticks = 0;
    (void)proctree_each(add_ticks, &ticks);
    return ticks * (SECOND_US / sysconf(_SC_CLK_TCK));
}

/* --- mapping by mapping ----------------------------------------------------------------------- */

struct mappings {
    const struct holdings *holdings; /* counted already */
    const struct sum *fallback;
    uint64_t bytes;
};

/* Of a file that counts as a whole, what a process has changed for itself is beside it. */
static void add_line(struct mappings *m, const char *line, bool *counted)
{
    struct maps_line map;
    if (maps_parse(line, &map)) {
        *counted = map.ino != 0 && holdings_has(m->holdings, map.dev, map.ino);
        return;
    }
    const char *label = *counted ? "Anonymous:" : "Pss:";
    if (strncmp(line, label, strlen(label)) == 0)
        m->bytes += number_at(line + strlen(label)) * KIB;
}

static void add_mappings(void *ctx, pid_t pid)
{
    struct mappings *m = ctx;
    char path[32], line[FILE_TEXT_MAX];
    bool counted = false, whole = true; /* of a longer line the beginning is enough */
    (void)snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
    FILE *file = fopen(path, "re");
    const uint64_t before = m->bytes;
    while (file && fgets(line, sizeof line, file)) {
        if (whole)
            add_line(m, line, &counted);
        whole = strchr(line, '\n') != NULL;
    }
    if (file)
        (void)fclose(file);
    if (m->bytes > before)
        return;
    struct sum other = *m->fallback;
    add(&other, pid);
    m->bytes += other.bytes;
}

bool budget_exceeds(uint64_t bytes)
{
    const struct sum resident = {
        .file = "statm", .label = " ", .unit = (uint64_t)sysconf(_SC_PAGESIZE)};
    struct sum cheap = resident;
    drop_holdings struct holdings holdings = HOLDINGS_NONE;
    (void)proctree_each(add, &cheap);
    holdings_take(&holdings);
    if (cheap.bytes + holdings.memory <= bytes)
        return false;
    if (holdings.memory > 0) {
        struct mappings all = {.holdings = &holdings, .fallback = &resident};
        (void)proctree_each(add_mappings, &all);
        return all.bytes + holdings.memory > bytes;
    }
    struct sum exact = {
        .fallback = &resident, .file = "smaps_rollup", .label = "\nPss:", .unit = KIB};
    (void)proctree_each(add, &exact);
    return exact.bytes > bytes;
}
