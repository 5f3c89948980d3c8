/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is who: the server execs this process; it forks the child (or adopts one), then only polls
 * its control socket, a signalfd and, until the child has exec'ed, the pipe on which a failed start
 * is told. There is one thread and nothing was allocated when it forks. Where the child has a
 * broker, its threads come after that; all that is here stays in the first one. */
#include "sandbox/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/process/exec.h"
#include "base/unixsock.h"
#include "sandbox/confine/confine.h"
#include "sandbox/confine/guard.h"
#include "sandbox/limits/budget.h"
#include "sandbox/limits/diskbudget.h"
#include "sandbox/limits/open_resources.h"
#include "sandbox/proc/proctree.h"
#include "sandbox/shim/branches.h"
#include "sandbox/shim/shim_tell.h"
#include "sandbox/shim/spawn.h"

enum {
    USAGE_STATUS = 2,
    NO_DEADLINE = -1,
    SECOND_US = 1000000,
    ROUNDED = 10,
    TICKS_US = 300000,
    BLOCK = 512,
    SHORT_TURN_NS = 100000,
    OWN_POLLED = 5,
    POLLED_MAX = OWN_POLLED + BRANCHES_MAX * BRANCH_POLLED,
};

struct shim_failure { /* what goes through the start pipe */
    int32_t code, step;
};

struct shim {
    int control, signals;
    int start;        /* read end of the start pipe; -1 once the start is decided */
    pid_t child;      /* 0: reaped or never made */
    pid_t group;      /* that it began in */
    bool program;     /* what it leaves behind goes on */
    bool alone;       /* nothing was left below us when we looked last */
    int64_t deadline; /* when an outside TERM becomes a KILL; NO_DEADLINE */
    bool kill;        /* end everything */
    int spec;         /* -1: the child has no walls */
    int given;        /* descriptors of the child, from CHILD_FIRST_FD on */
    int confine;      /* our end of the pair with the child; -1 once it is behind its walls, */
    int line;         /* and then this, until the child closes its end */
    struct branches branches;
    bool strays; /* a branch has ended: something of it may be among what is the child's */
    struct guard *guard;
    struct sandbox_limits limits;
    char options[16];        /* as in the spec: how those of the limits are called */
    struct budget *memory;   /* NULL: there is no limit */
    struct diskbudget *disk; /* likewise */
    int64_t next_look;       /* at what it uses; NO_DEADLINE: there is no limit of that */
    int64_t next_memory;     /* likewise */
    long task_refusals;
    int64_t cpu_us;    /* of the child, when it has ended */
    int64_t reaped_us; /* of all that were reaped here, and of their children */
    bool cpu_told;
    struct teller teller;
};

const char *shim_step_name(int step)
{
    static const char *const names[SHIM_STEP__COUNT] = {
        [SHIM_STEP_SETUP] = "setup",   [SHIM_STEP_FORK] = "fork",
        [SHIM_STEP_SETSID] = "setsid", [SHIM_STEP_PARENT] = "parent",
        [SHIM_STEP_LIMITS] = "limits", [SHIM_STEP_EXEC] = "exec",
        [SHIM_STEP_ADOPT] = "adopt",   [SHIM_STEP_SANDBOX] = "sandbox",
        [SHIM_STEP_BRANCH] = "branch",
    };
    return step > 0 && step < SHIM_STEP__COUNT ? names[step] : "unknown step";
}

static void report_shim(const struct shim *s, enum shim_kind kind, int32_t a, int32_t b)
{
    teller_report(&s->teller, kind, a, b, NULL);
}

static int has_shim_failed(const struct shim *s, int code, enum shim_step step)
{
    report_shim(s, SHIM_FAILED, code, (int32_t)step);
    return -code;
}

static int failed_sandbox(const struct shim *s, const struct err *why)
{
    teller_report(&s->teller, SHIM_FAILED, -why->code, SHIM_STEP_SANDBOX, why->msg);
    return why->code;
}

/* All but those that a fault of our own raises: blocked they would kill anyway, only later. */
static void fill_shim_signals(sigset_t *set)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigfillset(set);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(set, faults[i]);
}

static int set_up_shim(struct shim *s)
{
    sigset_t set;
    fill_shim_signals(&set);
    if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
        return has_shim_failed(s, errno, SHIM_STEP_SETUP);
    (void)signal(SIGCHLD, SIG_DFL); /* ignored, the child's status would be lost */
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
        fcntl(s->control, F_SETFD, FD_CLOEXEC) < 0 ||
        (s->spec >= 0 && fcntl(s->spec, F_SETFD, FD_CLOEXEC) < 0) ||
        (s->confine >= 0 && fcntl(s->confine, F_SETFD, FD_CLOEXEC) < 0))
        return has_shim_failed(s, errno, SHIM_STEP_SETUP);
    (void)setpgid(0, 0); /* a session leader already has a group of its own */
    return 0;
}

/* From here to exec the child runs system calls on prepared data only. */
static void fail_shim_child(int pipe_fd, enum shim_step step)
{
    const struct shim_failure f = {errno, (int32_t)step};
    (void)!write(pipe_fd, &f, sizeof f);
    _exit(127);
}

/* A disposition "ignored" outlives exec (Python for one ignores SIGPIPE), so does the mask. */
static void reset_shim_signals(void)
{
    struct sigaction dfl = {.sa_handler = SIG_DFL};
    for (int sig = 1; sig < NSIG; sig++)
        (void)sigaction(sig, &dfl, NULL); /* refused for KILL, STOP and the libc's own */
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

struct start { /* what the child needs */
    pid_t shim;
    int pipe_fd;
    int confine; /* its end; -1: no walls */
    int ours;    /* the other one */
    int given;
    char **words;
};

/* Nothing of ours, and nothing of the server's that has got as far as here. */
static int execute_alone(const struct start *start)
{
    int kept[CHILD_FDS_MAX];
    for (int i = 0; i < start->given; i++)
        kept[i] = CHILD_FIRST_FD + i;
    const struct exec_call exec = {.program = start->words[0],
                                   .argv = start->words,
                                   .envp = environ,
                                   .kept = kept,
                                   .kept_count = (size_t)start->given};
    return exec_alone(&exec);
}

static void become_child(const struct start *start)
{
    int pipe_fd = start->pipe_fd, step;
    (void)fd_close(start->ours);             /* or it would not see that we have gone */
    (void)ioctl(STDIN_FILENO, TIOCSCTTY, 0); /* a terminal that it was given controls it */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != start->shim)
        fail_shim_child(pipe_fd, SHIM_STEP_PARENT);
    const struct rlimit no_core = {0, 0};
    if (setrlimit(RLIMIT_CORE, &no_core) < 0)
        fail_shim_child(pipe_fd, SHIM_STEP_LIMITS);
    reset_shim_signals();
    if (start->confine >= 0 && confine_self(start->confine, &step) < 0)
        _exit(127); /* the shim was told */
    errno = -execute_alone(start);
    fail_shim_child(pipe_fd, SHIM_STEP_EXEC);
}

static pid_t fork_leader(const struct start *start)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (setsid() < 0)
            fail_shim_child(start->pipe_fd, SHIM_STEP_SETSID);
        become_child(start);
    }
    return pid;
}

/* Its leader makes it our child, which is not its own, and is gone before it runs. */
static pid_t fork_member(const struct start *start, pid_t *ret_group)
{
    int ends[2];
    pid_t pid = -1;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    *ret_group = fork();
    if (*ret_group == 0) {
        if (setsid() < 0)
            fail_shim_child(start->pipe_fd, SHIM_STEP_SETSID);
        pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0)
            become_child(start);
        (void)!write(ends[1], &pid, sizeof pid);
        _exit(0);
    }
    (void)fd_close(ends[1]);
    const bool told = read(ends[0], &pid, sizeof pid) == (ssize_t)sizeof pid && pid > 0;
    (void)fd_close(ends[0]);
    errno = EAGAIN;
    return told ? pid : -1;
}

static int start_child(struct shim *s, char **words)
{
    int ends[2], pair[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) < 0 ||
        (s->spec >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0))
        return has_shim_failed(s, errno, SHIM_STEP_SETUP);
    const struct start start = {getpid(), ends[1], pair[1], pair[0], s->given, words};
    const bool member = s->program && !isatty(STDIN_FILENO);
    pid_t pid = member ? fork_member(&start, &s->group) : fork_leader(&start);
    int code = errno;
    (void)fd_close(ends[1]);
    (void)fd_close(pair[1]);
    s->start = ends[0];
    s->confine = pair[0];
    if (pid < 0)
        return has_shim_failed(s, code, SHIM_STEP_FORK);
    s->child = pid;
    s->group = member ? s->group : pid;
    return 0;
}

static int adopt_child(struct shim *s, pid_t pid)
{
    siginfo_t info;
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
        return has_shim_failed(s, errno, SHIM_STEP_ADOPT);
    s->child = s->group = pid;
    if (s->spec < 0)
        report_shim(s, SHIM_STARTED, pid, 0);
    return 0;
}

/* Closes [from, to]; without close_range(2) what the limit lets be open. */
static void close_between(int from, int to)
{
    if (from > to || syscall(SYS_close_range, (unsigned)from, (unsigned)to, 0) == 0)
        return;
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = from; fd <= to && fd < most; fd++)
        (void)close(fd);
}

/* The descriptors that were for the child only. */
static void drop_descriptors(const struct shim *s)
{
    int keep[] = {s->control, s->signals, s->start, s->spec, s->confine};
    int from = STDERR_FILENO + 1;
    for (;;) {
        int next = INT32_MAX;
        for (size_t i = 0; i < sizeof keep / sizeof *keep; i++)
            if (keep[i] >= from && keep[i] < next)
                next = keep[i];
        close_between(from, next == INT32_MAX ? next : next - 1);
        if (next == INT32_MAX)
            break;
        from = next + 1;
    }
    drop_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (null < 0)
            (void)close(fd);
        else
            (void)dup2(null, fd);
    }
}

/* --- walls ---------------------------------------------------------------------------------- */

struct sched_attr_v0 { /* of sched_setattr(2) */
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice, deadline, period; /* of nanoseconds */
};

/* Short turns come soon, also where all processors are busy; what is older than Linux 6.12 does not
 * care. */
static struct budget *open_memory(uint64_t most)
{
    const struct sched_attr_v0 attr = {.size = sizeof attr, .slice = SHORT_TURN_NS};
    (void)syscall(SYS_sched_setattr, 0, &attr, 0);
    return budget_open(most);
}

static int make_shim_walls(struct shim *s, struct err *e)
{
    struct sandbox_spec *spec = NULL;
    int r = guard_settle(e);
    if (r == 0)
        r = sandbox_spec_read(s->spec, &spec, e);
    if (r < 0)
        return r;
    s->limits = spec->limits;
    (void)snprintf(s->options, sizeof s->options, "%s", spec->options ? spec->options : "kernel");
    r = guard_open(spec, &s->guard, e);
    if (r == 0 && s->limits.memory > 0)
        s->memory = open_memory(s->limits.memory);
    if (r == 0 && s->limits.disk > 0)
        s->disk = diskbudget_open(s->limits.disk, spec->disk_places);
    (void)sandbox_spec_free(spec);
    return r < 0 ? r : guard_offer(s->guard, s->confine, e);
}

static int offer_walls(struct shim *s)
{
    struct err e = ERR_NONE;
    if (s->spec < 0)
        return 0;
    int r = make_shim_walls(s, &e);
    s->spec = fd_close(s->spec);
    return r < 0 ? failed_sandbox(s, &e) : 0;
}

/* The child has answered, or has gone. */
static int on_shim_confined(struct shim *s)
{
    struct err e = ERR_NONE;
    if (guard_accept(s->guard, s->confine, 0, teller_refused, &s->teller, &e) < 0)
        return failed_sandbox(s, &e);
    s->line = fd_take(&s->confine);
    s->branches.limits = s->limits;
    s->branches.options = s->options;
    s->branches.child = s->child;
    if (!guard_has_broker(s->guard))
        s->guard = guard_free(s->guard);
    if (s->limits.tasks > 0 || s->limits.cpu > 0 || s->disk)
        s->next_look = clock_ms() + SHIM_LOOK_MS;
    if (s->memory)
        s->next_memory = clock_ms();
    if (s->start < 0)
        report_shim(s, SHIM_STARTED, s->child, 0);
    return 0;
}

/* The running child keeps its ruleset and its filter; its broker gets another policy. */
static void change_settings(const struct shim *s, int fd)
{
    struct err e = ERR_NONE;
    struct sandbox_spec *spec = NULL;
    int r = s->guard
                ? sandbox_spec_read(fd, &spec, &e)
                : err_set(&e, -EBUSY,
                          "without a broker this change takes a new kernel: reset the session");
    if (r == 0)
        r = guard_change(s->guard, spec, &e);
    (void)sandbox_spec_free(spec);
    teller_report(&s->teller, SHIM_CONFINED, -r, 0, e.msg);
}

/* Once, however often it was met since the last look. */
static void notify_tasks(struct shim *s)
{
    char text[200];
    long refusals = s->guard ? guard_task_refusals(s->guard) : 0;
    if (refusals <= s->task_refusals)
        return;
    (void)snprintf(text, sizeof text, "the limit of %d tasks (--%s-tasks) was reached",
                   s->limits.tasks, s->options);
    teller_report(&s->teller, SHIM_LIMIT, SHIM_LIMIT_TASKS, 0, text);
    s->task_refusals = refusals;
}

static void kill_for(struct shim *s, enum shim_limit limit, uint64_t most, const char *what,
                     const char *option)
{
    char text[200];
    (void)snprintf(text, sizeof text, "the limit of %llu MiB %s (--%s-%s) was reached",
                   (unsigned long long)(most >> 20), what, s->options, option);
    teller_report(&s->teller, SHIM_LIMIT, (int32_t)limit, 0, text);
    s->kill = true;
}

static void notify_memory(struct shim *s)
{
    static const char full[] =
        "hardly anything was left of the container's memory, and this kernel used a part of it";
    if (!budget_container_full(s->memory)) {
        kill_for(s, SHIM_LIMIT_MEMORY, s->limits.memory, "memory", "memory");
        return;
    }
    teller_report(&s->teller, SHIM_LIMIT, SHIM_LIMIT_MEMORY, 0, full);
    s->kill = true;
}

static void notify_cpu(struct shim *s)
{
    char text[200];
    (void)snprintf(text, sizeof text, "the limit of %d s processor time (--%s-cpu) was reached",
                   s->limits.cpu, s->options);
    teller_report(&s->teller, SHIM_LIMIT, SHIM_LIMIT_CPU, 0, text);
    s->cpu_told = true;
}

static bool cpu_exceeded(const struct shim *s)
{
    return s->limits.cpu > 0 &&
           s->reaped_us + budget_cpu_us() >= s->limits.cpu * (int64_t)SECOND_US;
}

/* The first KILL comes before all order: what goes on growing is stopped by nothing else. */
static void look_at_memory(struct shim *s)
{
    if (branches_exceed(&s->branches, s->memory)) {
        notify_memory(s);
        (void)proctree_signal(SIGKILL);
    }
    s->next_memory = clock_ms() + budget_pause_ms(s->memory);
}

/* A tree that uses too much is ended. */
static void look_at_budgets(struct shim *s)
{
    const struct sandbox_limits *most = &s->limits;
    const int64_t from = clock_of_thread_ns(); /* a look that had to wait costs no more for it */
    notify_tasks(s);
    if (s->disk && diskbudget_exceeded(s->disk, clock_ms()))
        kill_for(s, SHIM_LIMIT_DISK, most->disk, "disk space", "disk");
    if (!s->kill && cpu_exceeded(s) && cpu_exceeded(s)) { /* no end of a process in between */
        notify_cpu(s);
        s->kill = true;
    }
    const int64_t pause = (clock_of_thread_ns() - from) / 1000000 * SHIM_LOOK_SHARE;
    s->next_look = clock_ms() + (pause > SHIM_LOOK_MS ? pause : SHIM_LOOK_MS);
}

/* --- the child's life ----------------------------------------------------------------------- */

/* The start pipe has a failure, or has ended because exec succeeded. */
static int on_start(struct shim *s)
{
    struct shim_failure f;
    ssize_t n = read(s->start, &f, sizeof f);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    s->start = fd_close(s->start);
    if (n == (ssize_t)sizeof f)
        return has_shim_failed(s, f.code, (enum shim_step)f.step);
    report_shim(s, SHIM_STARTED, s->child, 0);
    return 0;
}

/* A group that it has left may have ended, and its number may be a stranger's. */
static void signal_shim_group(const struct shim *s, int sig)
{
    if (s->child > 0 && s->start < 0) /* before exec the group is not made for sure */
        (void)kill(getpgid(s->child) == s->group ? -s->group : s->child, sig);
    else if (s->program && s->child == 0 && s->start < 0)
        (void)proctree_signal(sig);
}

static void on_shim_control(struct shim *s)
{
    char order;
    int fds[UNIXSOCK_FDS_MAX] = {-1};
    size_t count = 0;
    if (unixsock_receive(s->control, &order, 1, fds, UNIXSOCK_FDS_MAX, &count) < 0)
        order = SHIM_KILL;
    if (order == SHIM_FORK) {
        branches_fork(&s->branches, s->child > 0 && s->disk == NULL ? s->line : -1, fds, count);
        return;
    }
    while (count > 1)
        (void)fd_close(fds[--count]);
    drop_fd int fd = count > 0 ? fds[0] : -1;
    switch ((enum shim_order)order) {
    case SHIM_INTERRUPT:
        signal_shim_group(s, SIGINT);
        break;
    case SHIM_TERMINATE:
        signal_shim_group(s, SIGTERM);
        break;
    case SHIM_FREEZE:
        (void)proctree_freeze();
        break;
    case SHIM_RESUME:
        (void)proctree_thaw();
        break;
    case SHIM_CONFINE:
        change_settings(s, fd);
        break;
    case SHIM_LOOK:
        report_shim(s, SHIM_HOLDS, s->child <= 0 || open_resources_any(s->child), 0);
        break;
    case SHIM_FORK:
    case SHIM_SLEEP:
    case SHIM_WAKE:
    case SHIM_MEASURE:
    case SHIM_KILL:
    default: /* a server that speaks otherwise is not ours */
        s->kill = true;
    }
}

static void on_shim_signals(struct shim *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGTERM && s->deadline == NO_DEADLINE) {
            signal_shim_group(s, SIGTERM);
            s->deadline = clock_ms() + SHIM_TERM_GRACE_MS;
        }
    }
}

/* Reaps what has ended. True: the child is among them. */
static bool reap_shim_children(struct shim *s, int *ret_status)
{
    int status;
    bool ended = false;
    struct rusage used;
    pid_t pid;
    while ((pid = wait4(-1, &status, WNOHANG | __WALL, &used)) > 0) {
        const int64_t us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * SECOND_US +
                           used.ru_utime.tv_usec + used.ru_stime.tv_usec;
        s->reaped_us += us;
        if (s->disk)
            diskbudget_reaped(s->disk, (uint64_t)used.ru_oublock * BLOCK);
        if (pid != s->child)
            continue;
        s->cpu_us = us;
        *ret_status = status;
        s->child = 0;
        ended = true;
    }
    s->alone = pid < 0;
    return ended;
}

static bool is_shim_due(int64_t when)
{
    return when != NO_DEADLINE && clock_ms() >= when;
}

static int shim_time_left(const struct shim *s)
{
    int64_t next = s->deadline;
    const int64_t branches = branches_next_look(&s->branches);
    if (branches != NO_DEADLINE && (next == NO_DEADLINE || branches < next))
        next = branches;
    if (s->next_look != NO_DEADLINE && (next == NO_DEADLINE || s->next_look < next))
        next = s->next_look;
    if (s->next_memory != NO_DEADLINE && (next == NO_DEADLINE || s->next_memory < next))
        next = s->next_memory;
    if (next == NO_DEADLINE)
        return -1;
    int64_t left = next - clock_ms();
    return left > 0 ? (int)left : 0;
}

/* What has come up. Negative: the child never started. */
static int act_on_shim_event(struct shim *s, const struct pollfd *fds)
{
    int r = 0;
    if (fds[3].revents)
        r = on_shim_confined(s);
    else if (fds[2].revents)
        r = on_start(s);
    if (r < 0)
        return r;
    if (fds[0].revents)
        on_shim_control(s);
    if (fds[1].revents)
        on_shim_signals(s);
    if (fds[4].revents) /* it says nothing by itself */
        s->line = fd_close(s->line);
    if (is_shim_due(s->next_memory))
        look_at_memory(s);
    if (!s->kill && is_shim_due(s->next_look))
        look_at_budgets(s);
    if (is_shim_due(s->deadline))
        s->kill = true;
    return 0;
}

static bool is_starting(const struct shim *s)
{
    return s->start >= 0 || s->confine >= 0;
}

/* One turn. Negative: the child never started. */
static int wait_for_shim_event(struct shim *s)
{
    /* -1 is passed over. How the confinement ended decides before the pipe does. */
    struct pollfd fds[POLLED_MAX] = {{s->control, POLLIN, 0},
                                     {s->signals, POLLIN, 0},
                                     {s->confine < 0 ? s->start : -1, POLLIN, 0},
                                     {s->confine, POLLIN, 0},
                                     {s->line, POLLIN, 0}};
    const size_t n = OWN_POLLED + branches_poll(&s->branches, fds + OWN_POLLED);
    if (poll(fds, n, shim_time_left(s)) < 0 && errno != EINTR)
        s->kill = true;
    if (s->kill)
        return 0;
    s->strays |= branches_act(&s->branches, fds + OWN_POLLED);
    return act_on_shim_event(s, fds);
}

/* Until the child has ended or must end. 0, or negative: it never started. */
static int watch_shim(struct shim *s, int *ret_status)
{
    while (!(!is_starting(s) && reap_shim_children(s, ret_status)) && !s->kill) {
        int r = wait_for_shim_event(s);
        if (r < 0)
            return r;
    }
    return 0;
}

/* What a program has left goes on until nothing is left. */
static void watch_shim_rest(struct shim *s)
{
    int status;
    while (!s->kill && (reap_shim_children(s, &status), !s->alone))
        (void)wait_for_shim_event(s);
}

/* The kernel of the machine kills without a word, and counts in ticks, a little otherwise. */
static void notify_killed_for_cpu(struct shim *s, int status)
{
    const int64_t most = s->limits.cpu * (int64_t)SECOND_US;
    const int64_t slack = most / ROUNDED > TICKS_US ? most / ROUNDED : TICKS_US;
    if (most > 0 && s->cpu_us >= most - slack && WIFSIGNALED(status) &&
        WTERMSIG(status) == SIGKILL && !s->cpu_told)
        notify_cpu(s);
}

static void report_exit(struct shim *s, int status)
{
    notify_tasks(s);
    notify_killed_for_cpu(s, status);
    const bool ended = WIFEXITED(status);
    teller_report(&s->teller, SHIM_EXITED, ended ? WEXITSTATUS(status) : -1,
                  ended ? 0 : WTERMSIG(status),
                  s->program && !s->kill && !s->alone ? "left" : NULL);
}

/* The broker of the branches is here, and they are below us. The child has gone with all that was
 * its own; the server hears no more of it. */
static void watch_branches(struct shim *s)
{
    int status;
    s->control = fd_close(s->control);
    s->branches.child = 0;
    s->line = fd_close(s->line);
    s->next_look = s->next_memory = NO_DEADLINE;
    s->kill = false;
    while (branches_any(&s->branches) && !s->kill) {
        (void)wait_for_shim_event(s);
        if (s->strays)
            (void)proctree_end(0);
        s->strays = false;
        (void)reap_shim_children(s, &status);
    }
    branches_end(&s->branches);
    (void)proctree_end(0);
}

static int supervise_shim_child(struct shim *s)
{
    int status = SIGKILL; /* as a wait status: killed; stays when an order to kill came first */
    if (watch_shim(s, &status) < 0) {
        (void)proctree_end(0);
        return 1;
    }
    if (s->program && !s->kill && !s->alone) {
        report_exit(s, status);
        watch_shim_rest(s);
        (void)proctree_end(0);
        return 0;
    }
    pid_t child = s->child;
    if (child > 0) /* its end may have begun: the server hears of it first, by its pipes */
        s->cpu_us = clock_of_process_ns(child) / 1000;
    (void)proctree_end_and_note(0, child, &status);
    report_exit(s, status); /* now that the ports and files of its descendants are free too */
    s->child = 0;
    if (branches_any(&s->branches))
        watch_branches(s);
    return 0;
}

/* A number of digits only, as the words of a role are. */
static int parse_number(const char *text)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    return errno || end == text || *end || n < 0 || n > INT32_MAX ? -1 : (int)n;
}

static bool is_control(int fd)
{
    int type = 0;
    socklen_t size = sizeof type;
    return fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_SEQPACKET;
}

/* The words behind CONTROL_FD. False: they are not of either form. */
static bool parse_words(struct shim *s, int argc, char **argv, pid_t *ret_adopt, char ***ret_words)
{
    int at = 0;
    if (argc >= 2 && strcmp(argv[0], "--adopt") == 0) {
        *ret_adopt = parse_number(argv[1]);
        at = 2;
    } else if (argc >= 1 && strcmp(argv[0], "--program") == 0) {
        s->program = true;
        at = 1;
    }
    if (argc - at >= 2 && strcmp(argv[at], "--sandbox") == 0) {
        s->spec = parse_number(argv[at + 1]);
        if (s->spec < 0)
            return false;
        at += 2;
    }
    if (argc - at >= 2 && strcmp(argv[at], "--given") == 0) {
        s->given = parse_number(argv[at + 1]);
        if (s->given < 0 || s->given > CHILD_FDS_MAX)
            return false;
        at += 2;
    }
    if (*ret_adopt > 0 && s->spec >= 0 && argc - at == 2 && strcmp(argv[at], "--confine") == 0) {
        s->confine = parse_number(argv[at + 1]);
        return is_control(s->confine);
    }
    if (*ret_adopt != 0)
        return *ret_adopt > 0 && s->spec < 0 && argc == at;
    *ret_words = argv + at + 1;
    return argc - at >= 2 && strcmp(argv[at], "--") == 0;
}

int shim_main(int argc, char **argv)
{
    static struct shim s; /* the broker's threads know it to the end */
    s = (struct shim){.signals = -1,
                      .start = -1,
                      .deadline = NO_DEADLINE,
                      .spec = -1,
                      .confine = -1,
                      .line = -1,
                      .next_look = NO_DEADLINE,
                      .next_memory = NO_DEADLINE};
    char **words = NULL;
    pid_t adopt = 0;
    s.control = argc >= 2 ? parse_number(argv[1]) : -1;
    if (!is_control(s.control) || !parse_words(&s, argc - 2, argv + 2, &adopt, &words)) {
        (void)dprintf(STDERR_FILENO, "ipybox shim: this role is started by the server only\n");
        return USAGE_STATUS;
    }
    teller_init(&s.teller, s.control);
    if (set_up_shim(&s) < 0 || (adopt ? adopt_child(&s, adopt) : start_child(&s, words)) < 0)
        return 1;
    drop_descriptors(&s);
    if (offer_walls(&s) < 0) {
        (void)proctree_end(0);
        return 1;
    }
    return supervise_shim_child(&s);
}
