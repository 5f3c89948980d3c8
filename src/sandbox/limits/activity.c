/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/limits/activity.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sandbox/proc/procfile.h"
#include "sandbox/proc/proctree.h"

enum {
    TEXT_MAX = 1024,
    CLIMB_MAX = 64,
    IDLE_NS = 2000000, /* so much, and */
    IDLE_SHARE = 5000, /* this part of the time, is no work */
};

static ssize_t read_activity(pid_t pid, const char *name, char text[static TEXT_MAX])
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);
    text[n > 0 ? n : 0] = '\0';
    return n;
}

/* Exact to the nanosecond, and of all threads, also those that have ended. */
static void add_own_activity(void *ctx, pid_t pid)
{
    struct activity_own *own = ctx;
    const int64_t used_ns = clock_of_process_ns(pid);
    if (used_ns < 0)
        return;
    own->used_ns += used_ns;
    own->who = (own->who ^ (uint64_t)pid) * 0x9E3779B97F4A7C15U;
    own->who ^= own->who >> 29;
}

/* --- our own ---------------------------------------------------------------------------------- */

struct activity_own activity_own(void)
{
    struct activity_own own = {0};
    (void)proctree_each(add_own_activity, &own);
    own.at_ns = clock_ns();
    return own;
}

bool activity_has_run(const struct activity_own *before, const struct activity_own *now)
{
    const int64_t idle = IDLE_NS + (now->at_ns - before->at_ns) / IDLE_SHARE;
    const int64_t used = now->used_ns - before->used_ns;
    return now->who != before->who || used > idle || used < -idle;
}

static uint64_t activity_field(const char *text, const char *label)
{
    const char *at = strstr(text, label);
    char *end;
    const uint64_t n = at ? strtoull(at + strlen(label), &end, 10) : 0;
    return at && end > at + strlen(label) ? n : 0;
}

/* What goes through calls counts wherever it went, what goes through memory only to disks. False:
 * it does not tell. */
static bool written_by(pid_t pid, uint64_t *sum)
{
    char text[TEXT_MAX];
    if (read_activity(pid, "io", text) <= 0)
        return false;
    const uint64_t calls = activity_field(text, "wchar: "),
                   disk = activity_field(text, "\nwrite_bytes: ");
    *sum += calls > disk ? calls : disk;
    return true;
}

/* Fields 10 and 11 of /proc/PID/stat: pages that came to it and to children that it waited for. */
static uint64_t touched_by(pid_t pid)
{
    char text[TEXT_MAX];
    const char *at = read_activity(pid, "stat", text) > 0 ? strrchr(text, ')') : NULL;
    for (int field = 2; at && field < 10; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return 0;
    const uint64_t own = procfile_number(at, &at);
    return (own + procfile_number(at, NULL)) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void add_written(void *ctx, pid_t pid)
{
    struct activity *a = ctx;
    a->touched += touched_by(pid);
    a->untold |= !written_by(pid, &a->written);
}

/* --- others ----------------------------------------------------------------------------------- */

static bool is_shim_of_kernel(pid_t pid)
{
    static const char words[] = "ipybox\0shim";
    char text[TEXT_MAX];
    ssize_t n = read_activity(pid, "cmdline", text);
    if (n <= (ssize_t)sizeof words)
        return false;
    const char *slash = memrchr(text, '/', strlen(text));
    const char *name = slash ? slash + 1 : text;
    if ((size_t)(text + n - name) <= sizeof words || memcmp(name, words, sizeof words) != 0)
        return false;
    for (const char *word = name; word < text + n; word += strlen(word) + 1)
        if (strcmp(word, "--adopt") == 0 || strcmp(word, "ipybox_kernel") == 0)
            return true;
    return false;
}

struct kin { /* ourselves and who is above us */
    pid_t self, parent, grandparent;
};

static bool is_one_of_processes(const struct kin *kin, pid_t pid)
{
    return pid > 1 && (pid == kin->parent || pid == kin->grandparent);
}

/* 0: it has gone, or nobody is above it. */
static pid_t parent_of(pid_t pid)
{
    char text[TEXT_MAX];
    struct proctree_stat stat;
    return read_activity(pid, "stat", text) > 0 && proctree_parse(text, &stat) == 0 ? stat.ppid : 0;
}

/* Below the same server, which is the parent of a shim or, with a template between, of that. */
static bool is_kin(const struct kin *kin, pid_t shim)
{
    const pid_t parent = parent_of(shim);
    return is_one_of_processes(kin, parent) || is_one_of_processes(kin, parent_of(parent));
}

/* 0: it is not of another kernel. */
static pid_t shim_above(const struct kin *kin, pid_t pid)
{
    for (int i = 0; i < CLIMB_MAX && pid > 1; i++) {
        pid = parent_of(pid);
        if (pid == kin->self)
            return 0;
        if (is_shim_of_kernel(pid))
            return is_kin(kin, pid) ? pid : 0;
    }
    return 0;
}

static bool has_other(const struct activity *a, pid_t shim)
{
    for (size_t i = 0; i < a->other_count && i < ACTIVITY_OTHERS_MAX; i++)
        if (a->others[i] == shim)
            return true;
    return false;
}

static void add_other(struct activity *a, pid_t shim)
{
    if (has_other(a, shim))
        return;
    if (a->other_count < ACTIVITY_OTHERS_MAX)
        a->others[a->other_count] = shim;
    if (a->other_count <= ACTIVITY_OTHERS_MAX)
        a->other_count++;
}

bool activity_has_lost(const struct activity *before, const struct activity *now)
{
    for (size_t i = 0; i < before->other_count; i++)
        if (i == ACTIVITY_OTHERS_MAX || !has_other(now, before->others[i]))
            return true;
    return false;
}

static void look_at_others(struct activity *a)
{
    const struct dirent *entry;
    const struct kin kin = {getpid(), getppid(), parent_of(getppid())};
    DIR *dir = opendir("/proc");
    while (dir && (entry = readdir(dir))) {
        char *end;
        pid_t pid = (pid_t)strtol(entry->d_name, &end, 10);
        pid_t shim = *end == '\0' && pid > 0 ? shim_above(&kin, pid) : 0;
        if (shim == 0)
            continue;
        add_other(a, shim);
        a->others_touched += touched_by(pid);
        (void)written_by(pid, &a->others_written);
    }
    if (dir)
        (void)closedir(dir);
}

void activity_take(struct activity *ret)
{
    *ret = (struct activity){0};
    (void)proctree_each(add_written, ret);
    look_at_others(ret);
    ret->own = activity_own();
}
