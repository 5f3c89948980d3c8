/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is who: the server execs this process; it forks the child (or adopts one), then only polls
 * its control socket, a signalfd and, until the child has exec'ed, the pipe on which a failed start
 * is told. One thread, no allocation, so fork is safe and memory stays at a few pages. */
#include "sandbox/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sandbox/proctree.h"

enum { USAGE_STATUS = 2, NO_DEADLINE = -1 };

struct failure { /* what goes through the start pipe */
    int32_t code, step;
};

struct shim {
    int control, signals;
    int start;        /* read end of the start pipe; -1 once the start is decided */
    pid_t child;      /* 0: reaped or never made */
    int64_t deadline; /* when an outside TERM becomes a KILL; NO_DEADLINE */
    bool kill;        /* end everything */
};

const char *shim_step_name(int step)
{
    static const char *const names[SHIM_STEP__COUNT] = {
        [SHIM_STEP_SETUP] = "setup",   [SHIM_STEP_FORK] = "fork",     [SHIM_STEP_SETSID] = "setsid",
        [SHIM_STEP_PARENT] = "parent", [SHIM_STEP_LIMITS] = "limits", [SHIM_STEP_EXEC] = "exec",
        [SHIM_STEP_ADOPT] = "adopt",
    };
    return step > 0 && step < SHIM_STEP__COUNT ? names[step] : "unknown step";
}

/* The server may be gone; end of file tells us so in its turn. */
static void report(const struct shim *s, enum shim_kind kind, int32_t a, int32_t b)
{
    const struct shim_report r = {.kind = kind, .a = a, .b = b};
    (void)send(s->control, &r, sizeof r, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int failed(const struct shim *s, int code, enum shim_step step)
{
    report(s, SHIM_FAILED, code, (int32_t)step);
    return -code;
}

/* All but those that a fault of our own raises: blocked they would kill anyway, only later. */
static void fill_blocked(sigset_t *set)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigfillset(set);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(set, faults[i]);
}

static int setup(struct shim *s)
{
    sigset_t set;
    fill_blocked(&set);
    if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
        return failed(s, errno, SHIM_STEP_SETUP);
    (void)signal(SIGCHLD, SIG_DFL); /* ignored, the child's status would be lost */
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
        fcntl(s->control, F_SETFD, FD_CLOEXEC) < 0)
        return failed(s, errno, SHIM_STEP_SETUP);
    (void)setpgid(0, 0); /* a session leader already has a group of its own */
    return 0;
}

/* From here to exec the child runs system calls on prepared data only. */
static void child_fail(int pipe_fd, enum shim_step step)
{
    const struct failure f = {errno, (int32_t)step};
    (void)!write(pipe_fd, &f, sizeof f);
    _exit(127);
}

/* A disposition "ignored" outlives exec (Python for one ignores SIGPIPE), so does the mask. */
static void reset_signals(void)
{
    struct sigaction dfl = {.sa_handler = SIG_DFL};
    for (int sig = 1; sig < NSIG; sig++)
        (void)sigaction(sig, &dfl, NULL); /* refused for KILL, STOP and the libc's own */
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void become_child(pid_t shim, int pipe_fd, char **words)
{
    if (setsid() < 0)
        child_fail(pipe_fd, SHIM_STEP_SETSID);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != shim)
        child_fail(pipe_fd, SHIM_STEP_PARENT);
    const struct rlimit no_core = {0, 0};
    if (setrlimit(RLIMIT_CORE, &no_core) < 0)
        child_fail(pipe_fd, SHIM_STEP_LIMITS);
    reset_signals();
    (void)execvp(words[0], words);
    child_fail(pipe_fd, SHIM_STEP_EXEC);
}

static int start_child(struct shim *s, char **words)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return failed(s, errno, SHIM_STEP_SETUP);
    pid_t self = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become_child(self, ends[1], words);
    int code = errno;
    (void)fd_close(ends[1]);
    s->start = ends[0];
    if (pid < 0)
        return failed(s, code, SHIM_STEP_FORK);
    s->child = pid;
    return 0;
}

static int adopt_child(struct shim *s, pid_t pid)
{
    siginfo_t info;
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
        return failed(s, errno, SHIM_STEP_ADOPT);
    s->child = pid;
    report(s, SHIM_STARTED, pid, 0);
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
    int keep[] = {s->control, s->signals, s->start};
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

/* The start pipe has a failure, or has ended because exec succeeded. */
static int on_start(struct shim *s)
{
    struct failure f;
    ssize_t n = read(s->start, &f, sizeof f);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    s->start = fd_close(s->start);
    if (n == (ssize_t)sizeof f)
        return failed(s, f.code, (enum shim_step)f.step);
    report(s, SHIM_STARTED, s->child, 0);
    return 0;
}

static void signal_group(const struct shim *s, int sig)
{
    if (s->child > 0 && s->start < 0) /* before exec the group is not made for sure */
        (void)kill(-s->child, sig);
}

static void on_control(struct shim *s)
{
    char order = SHIM_KILL;
    ssize_t n = recv(s->control, &order, 1, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    switch (n <= 0 ? SHIM_KILL : (enum shim_order)order) {
    case SHIM_INTERRUPT:
        signal_group(s, SIGINT);
        break;
    case SHIM_TERMINATE:
        signal_group(s, SIGTERM);
        break;
    case SHIM_RESUME:
        (void)proctree_signal(SIGCONT);
        break;
    case SHIM_KILL:
    default: /* a server that speaks otherwise is not ours */
        s->kill = true;
    }
}

static void on_signals(struct shim *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGTERM && s->deadline == NO_DEADLINE) {
            signal_group(s, SIGTERM);
            s->deadline = clock_ms() + SHIM_TERM_GRACE_MS;
        }
    }
}

/* Reaps what has ended. True: the child is among them. */
static bool reap(struct shim *s, int *ret_status)
{
    int status;
    bool ended = false;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0;) {
        if (pid != s->child)
            continue;
        *ret_status = status;
        s->child = 0;
        ended = true;
    }
    return ended;
}

static int time_left(const struct shim *s)
{
    if (s->deadline == NO_DEADLINE)
        return -1;
    int64_t left = s->deadline - clock_ms();
    return left > 0 ? (int)left : 0;
}

/* Until the child has ended or must end. 0, or negative: it never started. */
static int watch(struct shim *s, int *ret_status)
{
    while (!(s->start < 0 && reap(s, ret_status)) && !s->kill) {
        struct pollfd fds[] = {{s->control, POLLIN, 0},
                               {s->signals, POLLIN, 0},
                               {s->start, POLLIN, 0}}; /* -1 is passed over */
        if (poll(fds, 3, time_left(s)) < 0 && errno != EINTR)
            s->kill = true;
        if (fds[2].revents) {
            int r = on_start(s);
            if (r < 0)
                return r;
        }
        if (fds[0].revents)
            on_control(s);
        if (fds[1].revents)
            on_signals(s);
        if (s->deadline != NO_DEADLINE && time_left(s) == 0)
            s->kill = true;
    }
    return 0;
}

static void report_exit(const struct shim *s, int status)
{
    if (WIFEXITED(status))
        report(s, SHIM_EXITED, WEXITSTATUS(status), 0);
    else
        report(s, SHIM_EXITED, -1, WTERMSIG(status));
}

static int supervise(struct shim *s)
{
    int status = SIGKILL; /* as a wait status: killed; stays when an order to kill came first */
    if (watch(s, &status) < 0) {
        (void)proctree_end(0);
        return 1;
    }
    if (s->child == 0)
        report_exit(s, status);
    pid_t child = s->child;
    (void)proctree_end_and_note(0, child, &status);
    if (child > 0)
        report_exit(s, status);
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

int shim_main(int argc, char **argv)
{
    struct shim s = {.signals = -1, .start = -1, .deadline = NO_DEADLINE};
    bool adopt = argc == 4 && strcmp(argv[2], "--adopt") == 0;
    bool start = argc >= 4 && strcmp(argv[2], "--") == 0;
    s.control = argc >= 2 ? parse_number(argv[1]) : -1;
    pid_t pid = adopt ? parse_number(argv[3]) : 0;
    if ((!adopt && !start) || (adopt && pid <= 0) || !is_control(s.control)) {
        (void)dprintf(STDERR_FILENO, "ipybox shim: this role is started by the server only\n");
        return USAGE_STATUS;
    }
    if (setup(&s) < 0 || (adopt ? adopt_child(&s, pid) : start_child(&s, argv + 3)) < 0)
        return 1;
    drop_descriptors(&s);
    return supervise(&s);
}
