/* SPDX-License-Identifier: Apache-2.0
 *
 * Why STOP before KILL: a process that dies wakes its parent, which may fork another one; a tree
 * that stands still cannot grow. A signal that is pending makes fork(2) start over, so a process
 * counts as frozen from the moment the signal was sent. Why groups: kill(2) on a group is atomic
 * against fork, which catches a process that hops from PID to PID faster than /proc is read. A
 * group is taken only from a session that is not ours: such a session was made below us and all of
 * its members are ours (as PID 1 also orphans of `docker exec` come to us; a container that is
 * ending ends these too). */
#include "sandbox/proc/proctree.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

enum {
    PAUSE_MS = 5,       /* longest wait between two looks */
    FREEZE_ROUNDS = 8,  /* then KILL anyway: frozen or not, the next round goes on */
    WALK_MAX = 1 << 22, /* parent links followed for one process: as many as the kernel has PIDs */
    PATH_KEPT = 1024,   /* of these, the last ones get a verdict */
    STOPPED_FIRST = 64,
    VERDICTS = 4096, /* remembered per scan; a power of two */
};

struct verdict {
    pid_t pid; /* 0: empty */
    bool ours;
};

struct proc_scan {
    DIR *dir;
    int fd; /* of dir */
    pid_t self, session;
    pid_t last_group; /* the group killed last: once is enough */
    struct verdict verdicts[VERDICTS];
};

/* Too large for a stack, and there is one thread that calls. */
static struct proc_scan the_scan;

static bool read_stat_number(const char **at, pid_t *ret)
{
    char *end;
    errno = 0;
    long n = strtol(*at, &end, 10);
    if (errno || end == *at || n < INT32_MIN || n > INT32_MAX)
        return false;
    *ret = (pid_t)n;
    *at = end;
    return true;
}

int proctree_parse(const char *text, struct proctree_stat *ret)
{
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || !isalpha((unsigned char)at[2]))
        return -EBADMSG;
    struct proctree_stat s = {.state = at[2]};
    at += 3;
    if (!read_stat_number(&at, &s.ppid) || !read_stat_number(&at, &s.pgrp) ||
        !read_stat_number(&at, &s.session) || !read_stat_number(&at, &s.terminal))
        return -EBADMSG;
    *ret = s;
    return 0;
}

static int read_stat(int proc_fd, pid_t pid, struct proctree_stat *ret)
{
    char path[32], text[512];
    (void)snprintf(path, sizeof path, "%d/stat", (int)pid);
    drop_fd int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, text, sizeof text - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    return proctree_parse(text, ret);
}

static bool is_dead(char state)
{
    return state == 'Z' || state == 'X';
}

/* /proc may show another PID namespace than ours: its numbers would name strangers. */
static int check_proc(int proc_fd, pid_t self)
{
    char text[32], want[32];
    ssize_t n = readlinkat(proc_fd, "self", text, sizeof text - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    (void)snprintf(want, sizeof want, "%d", (int)self);
    return strcmp(text, want) == 0 ? 0 : -EXDEV;
}

static void scan_close(struct proc_scan *s)
{
    if (s->dir)
        (void)closedir(s->dir);
    s->dir = NULL;
}

static int scan_open(struct proc_scan *s)
{
    s->dir = opendir("/proc");
    if (!s->dir)
        return -errno;
    s->fd = dirfd(s->dir);
    s->self = getpid();
    s->session = getsid(0);
    s->last_group = 0;
    memset(s->verdicts, 0, sizeof s->verdicts);
    int r = check_proc(s->fd, s->self);
    if (r < 0)
        scan_close(s);
    return r;
}

static struct verdict *verdict_of(struct proc_scan *s, pid_t pid)
{
    return &s->verdicts[(unsigned)pid & (VERDICTS - 1)];
}

/* `path` is a ring: of a longer one the beginning is overwritten. */
static bool remember_process(struct proc_scan *s, const pid_t *path, int n, bool ours)
{
    for (int i = 0; i < n && i < PATH_KEPT; i++)
        *verdict_of(s, path[i]) = (struct verdict){path[i], ours};
    return ours;
}

/* Does the chain of parents from `pid` lead to us, however long it is? Unknown (a link just
 * vanished) is "no": an orphan has come to us by the next round. */
static bool leads_to_us(struct proc_scan *s, pid_t pid)
{
    struct proctree_stat st;
    pid_t path[PATH_KEPT];
    for (int n = 0; n < WALK_MAX; n++) {
        if (pid == s->self)
            return remember_process(s, path, n, true);
        if (pid <= 1)
            return remember_process(s, path, n, false);
        const struct verdict *known = verdict_of(s, pid);
        if (known->pid == pid)
            return remember_process(s, path, n, known->ours);
        if (read_stat(s->fd, pid, &st) < 0)
            return false;
        path[n % PATH_KEPT] = pid;
        pid = st.ppid;
    }
    return false;
}

/* A thread that lives, of a process whose first one has ended: that one looks like a zombie until
 * the last has ended too. 0: there is none. */
static pid_t living_thread(const struct proc_scan *s, pid_t pid)
{
    char path[32];
    const struct dirent *entry;
    struct proctree_stat stat;
    pid_t found = 0;
    (void)snprintf(path, sizeof path, "%d/task", (int)pid);
    drop_fd int fd = openat(s->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        return 0;
    (void)fd_take(&fd);
    while (!found && (entry = readdir(dir))) {
        char *end;
        pid_t thread = (pid_t)strtol(entry->d_name, &end, 10);
        if (*end == '\0' && thread != pid && read_stat(s->fd, thread, &stat) == 0 &&
            !is_dead(stat.state))
            found = thread;
    }
    (void)closedir(dir);
    return found;
}

/* The next descendant that has not ended; 0 at the end of the scan. */
static pid_t scan_next(struct proc_scan *s, struct proctree_stat *ret)
{
    const struct dirent *entry;
    while ((entry = readdir(s->dir))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid == s->self || read_stat(s->fd, pid, ret) < 0)
            continue;
        if (!leads_to_us(s, ret->ppid) || (is_dead(ret->state) && living_thread(s, pid) == 0))
            continue;
        *verdict_of(s, pid) = (struct verdict){pid, true};
        return pid;
    }
    return 0;
}

/* Signals one descendant. Between the look and the signal it may have ended and its PID may have
 * gone to a stranger: a pidfd is taken first and the parent link, which was found to be ours, is
 * read again after that. Without pidfds (old kernel, no descriptor free) the second look stays. */
static bool signal_one(struct proc_scan *s, pid_t pid, pid_t ppid, int sig)
{
    drop_fd int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0 && errno == ESRCH)
        return false;
    struct proctree_stat again;
    if (read_stat(s->fd, pid, &again) < 0 || (again.ppid != ppid && again.ppid != s->self))
        return false;
    if (fd >= 0 && syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) == 0)
        return true;
    if (fd >= 0 && errno == ESRCH)
        return false;
    return kill(pid, sig) == 0;
}

static void kill_group(struct proc_scan *s, const struct proctree_stat *st)
{
    if (st->pgrp <= 1 || st->session <= 1 || st->session == s->session || st->pgrp == s->last_group)
        return;
    s->last_group = st->pgrp;
    (void)kill(-st->pgrp, SIGKILL);
}

int proctree_signal(int sig)
{
    struct proc_scan *s = &the_scan;
    struct proctree_stat st;
    int r = scan_open(s), n = 0;
    if (r < 0)
        return r;
    for (pid_t pid; (pid = scan_next(s, &st)) > 0;) {
        if (sig == SIGKILL)
            kill_group(s, &st);
        if (signal_one(s, pid, st.ppid, sig))
            n++;
    }
    scan_close(s);
    return n;
}

int proctree_each(void (*fn)(void *ctx, pid_t pid), void *ctx)
{
    struct proc_scan *s = &the_scan;
    struct proctree_stat st;
    int r = scan_open(s);
    if (r < 0)
        return r;
    for (pid_t pid; (pid = scan_next(s, &st)) > 0;) {
        pid_t thread = is_dead(st.state) ? living_thread(s, pid) : pid;
        if (thread > 0)
            fn(ctx, thread);
    }
    scan_close(s);
    return 0;
}

/* One STOP round. Returns how many were still on the run, or a negative errno. A process in state
 * D (as a parent in vfork is) stops or dies before it runs any code again. */
static int freeze_round(void)
{
    struct proc_scan *s = &the_scan;
    struct proctree_stat st;
    int r = scan_open(s), n = 0;
    if (r < 0)
        return r;
    for (pid_t pid; (pid = scan_next(s, &st)) > 0;) {
        if (st.state == 'T' || st.state == 't')
            continue;
        if (signal_one(s, pid, st.ppid, SIGSTOP) && st.state != 'D')
            n++;
    }
    scan_close(s);
    return n;
}

int proctree_freeze(void)
{
    int r = 1;
    for (int i = 0; i < FREEZE_ROUNDS && r > 0; i++)
        r = freeze_round();
    return r < 0 ? r : 0;
}

struct stopped { /* processes in the order of /proc, which is that of their birth */
    pid_t *pids;
    size_t n, room;
};

static void note_stopped(void *ctx, pid_t pid)
{
    struct stopped *list = ctx;
    if (list->n == list->room) {
        list->room = list->room ? 2 * list->room : STOPPED_FIRST;
        list->pids = xrealloc(list->pids, list->room * sizeof *list->pids);
    }
    list->pids[list->n++] = pid;
}

/* A number that went to a stranger meanwhile brings one that runs a signal without an effect. */
int proctree_thaw(void)
{
    struct stopped list = {0};
    int r = proctree_each(note_stopped, &list);
    while (list.n > 0)
        (void)kill(list.pids[--list.n], SIGCONT);
    xfree(list.pids);
    return r;
}

struct reap {
    pid_t noted;
    int *ret_status;
};

/* Reaps what has ended. False: no child is left. __WALL: also children of clone(2) that end with
 * another signal than CHLD. */
static bool reap_all(const struct reap *reap)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG | __WALL);
        if (pid == 0)
            return true;
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            return errno != ECHILD;
        if (pid == reap->noted && reap->ret_status)
            *reap->ret_status = status;
    }
}

/* Until a child ends, at most PAUSE_MS. CHLD is blocked by our caller and taken here. */
static void pause_for_child(void)
{
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    const struct timespec most = {.tv_nsec = PAUSE_MS * 1000000L};
    (void)sigtimedwait(&chld, NULL, &most);
}

/* Only these say that looking again is useless. */
static bool is_final(int r)
{
    return r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -EPERM || r == -EXDEV;
}

static bool end_gently(int64_t grace_ms, const struct reap *reap)
{
    int64_t until = clock_ms() + grace_ms;
    if (grace_ms <= 0)
        return reap_all(reap);
    (void)proctree_signal(SIGTERM);
    (void)proctree_signal(SIGCONT);
    while (reap_all(reap)) {
        if (clock_ms() >= until)
            return true;
        pause_for_child();
    }
    return false;
}

static int end_by_force(const struct reap *reap)
{
    for (;;) {
        (void)proctree_freeze();
        int r = proctree_signal(SIGKILL);
        if (!reap_all(reap))
            return 0;
        if (is_final(r))
            return r;
        pause_for_child();
        if (!reap_all(reap))
            return 0;
    }
}

int proctree_end_and_note(int64_t grace_ms, pid_t pid, int *ret_status)
{
    const struct reap reap = {pid, ret_status};
    sigset_t chld, old;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &chld, &old);
    int r = end_gently(grace_ms, &reap) ? end_by_force(&reap) : 0;
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    return r;
}

int proctree_end(int64_t grace_ms)
{
    return proctree_end_and_note(grace_ms, 0, NULL);
}
