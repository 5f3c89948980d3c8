/* SPDX-License-Identifier: Apache-2.0
 *
 * How many tasks (threads of all processes) a sandbox has. Nobody tells us when one ends, so the
 * count only grows until it meets the limit; then the process table is read. What was allowed but
 * cannot be seen there yet counts as well: a caller that goes on with its clone takes some time. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/service.h"
#include "sandbox/broker/broker_internal.h"

enum {
    UNDER_WAY_MAX = 128,
    UNDER_WAY_MS = 1000, /* no clone takes longer, also of a thread that waits for a processor */
    DEPTH_MAX = 1 << 22, /* as many as the kernel has PIDs */
    FIELD_THREADS = 17,  /* of /proc/PID/stat, after the parent's */
};

struct task_grant { /* a clone that may go on still */
    pid_t thread;
    int64_t at; /* clock_ms() */
};

struct tasks {
    pthread_mutex_t lock;
    int most, count;
    long refusals;
    struct task_grant grants[UNDER_WAY_MAX];
    int under_way;
};

struct task_process {
    pid_t pid, parent;
    int threads;
};

struct table { /* in the order of their numbers, as /proc has them */
    struct task_process *items;
    size_t count, size;
};

struct tasks *tasks_new(int most)
{
    struct tasks *tasks = NEW(struct tasks);
    (void)pthread_mutex_init(&tasks->lock, NULL);
    tasks->most = most;
    tasks->count = most; /* unknown: the first one counts */
    return tasks;
}

struct tasks *tasks_free(struct tasks *tasks)
{
    if (tasks)
        (void)pthread_mutex_destroy(&tasks->lock);
    xfree(tasks);
    return NULL;
}

long tasks_refusals(const struct tasks *tasks)
{
    return __atomic_load_n(&tasks->refusals, __ATOMIC_RELAXED);
}

/* --- the process table ------------------------------------------------------------------------ */

/* Text of at most size - 1 bytes; false: there is no such file any more. */
static bool read_task_file(const char *path, char *text, size_t size)
{
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return true;
}

static bool read_process(pid_t pid, struct task_process *ret)
{
    char path[32], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (!read_task_file(path, text, sizeof text))
        return false;
    char *at = strrchr(text, ')'); /* the name may hold anything */
    if (!at || strlen(at) < 4)
        return false;
    at += 3;
    *ret = (struct task_process){.pid = pid, .parent = (pid_t)strtol(at, &at, 10)};
    for (int i = 1; i < FIELD_THREADS - 1; i++)
        (void)strtol(at, &at, 10);
    ret->threads = (int)strtol(at, &at, 10);
    if (ret->threads < 1)
        ret->threads = 1; /* a zombie has a number, which is what there is too little of */
    return true;
}

static bool add_process(struct table *table, const struct task_process *process)
{
    if (table->count == table->size) {
        size_t size = table->size ? table->size * 2 : 256;
        struct task_process *items = try_realloc(table->items, size * sizeof *items);
        if (!items)
            return false;
        table->items = items;
        table->size = size;
    }
    table->items[table->count++] = *process;
    return true;
}

static bool read_table(struct table *table)
{
    DIR *dir = opendir("/proc");
    if (!dir)
        return false;
    const struct dirent *entry;
    bool ok = true;
    while (ok && (entry = readdir(dir))) {
        char *end;
        struct task_process process;
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        pid_t pid = (pid_t)strtol(entry->d_name, &end, 10);
        if (read_process(pid, &process))
            ok = add_process(table, &process);
    }
    (void)closedir(dir);
    return ok;
}

static int by_pid(const void *a, const void *b)
{
    const struct task_process *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/* A parent that went while we read leaves no trace: its child may be ours, so it is. */
static bool is_below_task(const struct table *table, const struct task_process *process, pid_t top)
{
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        if (process->parent == top)
            return true;
        if (process->parent == 0 || process->pid == top)
            return false;
        struct task_process key = {.pid = process->parent};
        process = bsearch(&key, table->items, table->count, sizeof key, by_pid);
        if (!process)
            return true;
    }
    return true;
}

/* Tasks below us, or INT_MAX / 2 when that cannot be found out: then there is no more. */
static int count_below(void)
{
    struct table table = {0};
    int count = read_table(&table) ? 0 : INT_MAX / 2;
    if (table.count > 0)
        qsort(table.items, table.count, sizeof *table.items, by_pid);
    for (size_t i = 0; i < table.count && count < INT_MAX / 2; i++)
        if (is_below_task(&table, &table.items[i], getpid()))
            count += table.items[i].threads;
    xfree(table.items);
    return count;
}

bool tasks_are_ours(pid_t pid)
{
    struct task_process process = {.pid = pid};
    pid_t top = getpid();
    for (int depth = 0; depth < DEPTH_MAX && process.pid > 0 && process.pid != top; depth++) {
        if (!read_process(process.pid, &process))
            return false;
        if (process.parent == top)
            return true;
        process.pid = process.parent;
    }
    return false;
}

/* --- what is under way ------------------------------------------------------------------------ */

static bool is_cloning(long call)
{
#ifdef SYS_fork
    if (call == SYS_fork || call == SYS_vfork)
        return true;
#endif
    return call == SYS_clone;
}

/* Has the thread come out of the clone that it was granted? One on a processor does not say. */
static bool is_under_way(const struct task_grant *grant)
{
    char path[48], text[256], *end;
    (void)snprintf(path, sizeof path, "/proc/%d/syscall", (int)grant->thread);
    if (clock_ms() - grant->at > UNDER_WAY_MS)
        return false;
    if (!read_task_file(path, text, sizeof text))
        return may_access(path, F_OK);
    long call = strtol(text, &end, 10);
    return end == text || is_cloning(call);
}

static void forget_task(struct tasks *tasks, int i)
{
    tasks->grants[i] = tasks->grants[--tasks->under_way];
}

/* Whoever asks again has come out of the last one. */
static void forget_thread(struct tasks *tasks, pid_t thread)
{
    for (int i = 0; i < tasks->under_way; i++)
        if (tasks->grants[i].thread == thread) {
            forget_task(tasks, i);
            return;
        }
}

static void forget_landed(struct tasks *tasks)
{
    for (int i = tasks->under_way - 1; i >= 0; i--)
        if (!is_under_way(&tasks->grants[i]))
            forget_task(tasks, i);
}

/* --- the calls -------------------------------------------------------------------------------- */

static bool may_have_one_more(struct tasks *tasks, pid_t thread)
{
    forget_thread(tasks, thread);
    if (tasks->count >= tasks->most || tasks->under_way == UNDER_WAY_MAX) {
        forget_landed(tasks); /* before the look: what lands between is counted twice, not never */
        tasks->count = tasks->under_way + count_below();
    }
    if (tasks->count >= tasks->most || tasks->under_way == UNDER_WAY_MAX)
        return false;
    tasks->count++;
    tasks->grants[tasks->under_way++] = (struct task_grant){thread, clock_ms()};
    return true;
}

static void clone_asked(struct notice *notice)
{
    struct tasks *tasks = notice->broker->tasks;
    notice->go_on = true; /* its arguments are numbers in registers */
    if (!tasks)
        return;
    (void)pthread_mutex_lock(&tasks->lock);
    if (!may_have_one_more(tasks, notice->pid)) {
        (void)__atomic_add_fetch(&tasks->refusals, 1, __ATOMIC_RELAXED);
        notice->go_on = false;
        notice->error = EAGAIN;
    }
    (void)pthread_mutex_unlock(&tasks->lock);
}

notice_fn broker_tasks_call(int call)
{
    return is_cloning(call) ? clone_asked : NULL;
}
