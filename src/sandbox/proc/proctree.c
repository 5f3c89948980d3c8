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
#include <poll.h>
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
    LIST_FIRST = 64,
    CHASES = 32,
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
    pid_t top;        /* below which we look: ourselves, or a root */
    pid_t last_group; /* the group killed last: once is enough */
    struct verdict verdicts[VERDICTS];
};

/* Too large for a stack, and there is one thread that calls. */
static struct proc_scan the_scan;

static struct {
    pid_t roots[PROCTREE_ROOTS_MAX];
    size_t count;
    pid_t entered; /* 0: none */
    const pid_t *joined;
    size_t joined_count;
} the_roots;

static bool is_root(pid_t pid)
{
    for (size_t i = 0; i < the_roots.count; i++)
        if (the_roots.roots[i] == pid)
            return true;
    return false;
}

int proctree_add_root(pid_t pid)
{
    if (is_root(pid))
        return -EEXIST;
    if (the_roots.count == PROCTREE_ROOTS_MAX)
        return -ENOSPC;
    the_roots.roots[the_roots.count++] = pid;
    return 0;
}

void proctree_remove_root(pid_t pid)
{
    for (size_t i = 0; i < the_roots.count; i++)
        if (the_roots.roots[i] == pid) {
            the_roots.roots[i] = the_roots.roots[--the_roots.count];
            return;
        }
}

void proctree_enter(pid_t root)
{
    the_roots.entered = root;
}

pid_t proctree_entered(void)
{
    return the_roots.entered;
}

void proctree_join(const pid_t *roots, size_t count)
{
    the_roots.joined = roots;
    the_roots.joined_count = count;
}

static bool has_joined(pid_t pid)
{
    for (size_t i = 0; i < the_roots.joined_count; i++)
        if (the_roots.joined[i] == pid)
            return true;
    return false;
}

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
    s->top = the_roots.entered ? the_roots.entered : s->self;
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

/* Does the chain of parents from `pid` lead to our top, however long it is? Unknown (a link just
 * vanished) is "no": an orphan has come to us by the next round. */
static bool leads_to_us(struct proc_scan *s, pid_t pid)
{
    struct proctree_stat st;
    pid_t path[PATH_KEPT];
    for (int n = 0; n < WALK_MAX; n++) {
        if (pid == s->top || has_joined(pid))
            return remember_process(s, path, n, true);
        if (pid <= 1 || pid == s->self || is_root(pid))
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
        if (pid == s->self || is_root(pid) || read_stat(s->fd, pid, ret) < 0)
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
    if (read_stat(s->fd, pid, &again) < 0 || (again.ppid != ppid && again.ppid != s->top))
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
    if (the_roots.entered)
        fn(ctx, the_roots.entered);
    for (size_t i = 0; i < the_roots.joined_count; i++)
        fn(ctx, the_roots.joined[i]);
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

struct pids {
    pid_t *pids;
    size_t n, room;
};

static void add_pid(struct pids *list, pid_t pid)
{
    if (list->n == list->room) {
        list->room = list->room ? 2 * list->room : LIST_FIRST;
        list->pids = xrealloc(list->pids, list->room * sizeof *list->pids);
    }
    list->pids[list->n++] = pid;
}

static void pids_free(struct pids *list)
{
    xfree(list->pids);
}

static void note_stopped(void *ctx, pid_t pid)
{
    add_pid(ctx, pid);
}

/* A number that went to a stranger meanwhile brings one that runs a signal without an effect. */
int proctree_thaw(void)
{
    struct pids list = {0}; /* in the order of /proc, which is that of their birth */
    int r = proctree_each(note_stopped, &list);
    while (list.n > 0)
        (void)kill(list.pids[--list.n], SIGCONT);
    pids_free(&list);
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

pid_t proctree_parent(pid_t pid)
{
    struct proctree_stat stat;
    drop_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return proc >= 0 && read_stat(proc, pid, &stat) == 0 ? stat.ppid : 0;
}

bool proctree_is_below(pid_t pid)
{
    struct proctree_stat stat;
    drop_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int n = 0; proc >= 0 && pid > 1 && n < WALK_MAX; n++) {
        if (read_stat(proc, pid, &stat) < 0)
            return false;
        pid = stat.ppid;
        if (pid == getpid())
            return true;
    }
    return false;
}

static int list_children_of_thread(pid_t pid, pid_t thread, struct pids *ret)
{
    char path[64];
    int child;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    while (fscanf(file, "%d", &child) == 1)
        add_pid(ret, child);
    (void)fclose(file);
    return 0;
}

/* The children of `pid`, in the order in which they came to it. Negative: this system has no such
 * lists. */
static int list_children(pid_t pid, struct pids *ret)
{
    char path[32];
    const struct dirent *entry;
    int r = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return -errno;
    while (r == 0 && (entry = readdir(tasks)))
        if (isdigit((unsigned char)entry->d_name[0]))
            r = list_children_of_thread(pid, (pid_t)strtol(entry->d_name, NULL, 10), ret);
    (void)closedir(tasks);
    return r;
}

static bool lives_below(const struct proc_scan *s, pid_t child, struct proctree_stat *ret)
{
    return !is_root(child) && read_stat(s->fd, child, ret) == 0 &&
           (!is_dead(ret->state) || living_thread(s, child) > 0);
}

/* Those that came last first: who hops from process to process is there. */
static pid_t find_living(const struct proc_scan *s, const struct pids *list,
                         struct proctree_stat *ret)
{
    for (size_t i = list->n; i > 0; i--)
        if (lives_below(s, list->pids[i - 1], ret))
            return list->pids[i - 1];
    return 0;
}

static bool pids_equal(const struct pids *a, const struct pids *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->pids, b->pids, a->n * sizeof *a->pids) == 0);
}

/* A child of `pid` that lives and is no root; 0: there is none, which holds for everybody below it
 * as well, since an orphan comes to it. Nobody reaps here meanwhile, so that the list only grows.
 * When all of a list are dead it is read again, since the last of them may have forked another one
 * after the first reading: if nobody has come by then, nobody is there who could. -EAGAIN: somebody
 * has; -ENOENT: this system has no such lists. */
static pid_t find_living_child(struct proc_scan *s, pid_t pid, struct proctree_stat *ret)
{
    struct pids before = {0}, now = {0};
    int r = list_children(pid, &before);
    if (r == 0)
        r = find_living(s, &before, ret);
    if (r == 0)
        r = list_children(pid, &now);
    if (r == 0 && !pids_equal(&before, &now))
        r = -EAGAIN;
    pids_free(&before);
    pids_free(&now);
    return r;
}

static bool has_living_child(pid_t pid)
{
    struct proc_scan *s = &the_scan;
    struct proctree_stat stat;
    if (scan_open(s) < 0)
        return true;
    pid_t found = find_living_child(s, pid, &stat);
    scan_close(s);
    return found != 0;
}

/* Reaps; false: nobody is left but roots and who is theirs. */
static bool anybody_left(const struct reap *reap)
{
    return reap_all(reap) && (the_roots.count == 0 || has_living_child(getpid()));
}

static bool end_gently(int64_t grace_ms, const struct reap *reap)
{
    int64_t until = clock_ms() + grace_ms;
    if (grace_ms <= 0)
        return anybody_left(reap);
    (void)proctree_signal(SIGTERM);
    (void)proctree_signal(SIGCONT);
    while (anybody_left(reap)) {
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
        if (!anybody_left(reap))
            return 0;
        if (is_final(r))
            return r;
        pause_for_child();
        if (!anybody_left(reap))
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

/* What is found is killed at once: a look at all of /proc takes longer, with the dead that nobody
 * reaps, than a process needs to fork another one and end. False: somebody may live. */
static bool end_children_of(pid_t root)
{
    struct proc_scan *s = &the_scan;
    struct proctree_stat stat;
    pid_t found = 1;
    if (scan_open(s) < 0)
        return false;
    for (int i = 0; i < CHASES && found != 0; i++) {
        found = find_living_child(s, root, &stat);
        if (found > 0) {
            kill_group(s, &stat);
            (void)signal_one(s, found, stat.ppid, SIGKILL);
        }
        s->last_group = 0;
    }
    scan_close(s);
    return found == 0;
}

bool proctree_end_entered(int64_t wait_ms)
{
    const int64_t until = clock_ms() + wait_ms;
    for (;;) {
        (void)proctree_freeze();
        (void)proctree_signal(SIGKILL);
        if (end_children_of(the_roots.entered))
            return true;
        if (clock_ms() >= until)
            return false;
        (void)poll(NULL, 0, 1);
    }
}
