/* SPDX-License-Identifier: Apache-2.0
 *
 * Order: block all signals, become who adopts orphans, make the child, drop what only that needed.
 * From then on this process must not fail any more: it only waits on a signalfd. Polling for
 * zombies every so often would do as well and be worse; a handler would race with the loop. */
#include "entrypoint/init.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/process/exec.h"
#include "entrypoint/last_words.h"
#include "entrypoint/options.h"
#include "jupyter/oom.h"
#include "sandbox/proc/proctree.h"

#define ROOM "init"
#define SELF "/proc/self/exe"

enum { NO_DEADLINE = -1, FAILED_STATUS = 1, SIGNAL_STATUS = 128, CAUSE_MAX = 600 };

struct init {
    struct init_plan *plan;
    int signals;
    pid_t main;
    bool foreground;  /* the main child has the terminal */
    int stops;        /* TERM and INT so far */
    int64_t deadline; /* of the grace; NO_DEADLINE */
    bool ended;       /* the main child has been reaped, with: */
    int status;
    long oom_kills;     /* when it was started */
    const char *killed; /* why we have killed it; "": we have not */
};

void init_plan_words(int argc, char **words, char *server, struct init_plan *ret)
{
    static char program[] = "ipybox";
    bool for_server = argc == 0 || words[0][0] == '-';
    ret->self = for_server || options_is_command(words[0]);
    char **argv = xcalloc((size_t)argc + 3, sizeof *argv);
    int n = 0;
    if (ret->self)
        argv[n++] = program;
    if (for_server)
        argv[n++] = server;
    for (int i = 0; i < argc; i++)
        argv[n++] = words[i];
    ret->argv = argv;
}

/* ---- the main child ---- */

static _Noreturn void fail_main_child(const struct init_plan *plan, int status, const char *what,
                                      const char *why)
{
    char text[CAUSE_MAX];
    (void)snprintf(text, sizeof text, "%s: %s", what, why);
    (void)dprintf(STDERR_FILENO, "ipybox: %s\n", text);
    last_words_write(plan->last_words, text);
    _exit(status);
}

static void reset_child_signals(void)
{
    const struct sigaction dfl = {.sa_handler = SIG_DFL};
    for (int sig = 1; sig < NSIG; sig++)
        (void)sigaction(sig, &dfl, NULL); /* refused for KILL, STOP and the libc's own */
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static size_t put_in_order(int *fds, size_t count, int fd)
{
    size_t at = count;
    for (; at > 0 && fds[at - 1] > fd; at--)
        fds[at] = fds[at - 1];
    fds[at] = fd;
    return count + 1;
}

/* What a server gets; another program has what the engine gives it. */
static int execute_as(const struct init_plan *plan, const char *program)
{
    int kept[AHEAD_MAX + 1];
    size_t count = 0;
    if (!plan->last_words)
        return exec_with_all(program, plan->argv);
    if (plan->passed > 0)
        count = put_in_order(kept, count, plan->passed);
    for (size_t i = 0; i < plan->ahead.count; i++)
        count = put_in_order(kept, count, plan->ahead.fds[i]);
    const struct exec_call exec = {
        .program = program, .argv = plan->argv, .envp = environ, .kept = kept, .kept_count = count};
    return exec_alone(&exec);
}

/* Our path, so that ps shows our name; what the kernel holds when the file has been replaced. */
static int execute_self(const struct init_plan *plan)
{
    char path[512];
    ssize_t n = readlink(SELF, path, sizeof path - 1);
    if (n > 0) {
        path[n] = '\0';
        (void)execute_as(plan, path);
    }
    return execute_as(plan, SELF);
}

/* The terminal's keys (Ctrl-C, Ctrl-Z) are for the main child. TTOU, which this raises from the
 * background, is still blocked. */
static void take_foreground(void)
{
    (void)setpgid(0, 0);
    (void)tcsetpgrp(STDIN_FILENO, getpgrp());
}

static int become_identity(const struct identity *id, pid_t init, struct err *e)
{
    return id->service ? identity_hand_over(id, init, e) : identity_apply_in_child(id, e);
}

static _Noreturn void become_main(const struct init *s, pid_t init)
{
    const struct init_plan *plan = s->plan;
    struct err e = ERR_NONE;
    if (s->foreground)
        take_foreground();
    if (plan->identity && become_identity(plan->identity, init, &e) < 0)
        fail_main_child(plan, INIT_STATUS_NOT_RUNNABLE, "cannot change to the user of the cells",
                        e.msg);
    /* After the change of identity, which clears it. PID 1's end is everybody's end anyway. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != init)
        fail_main_child(plan, INIT_STATUS_NOT_RUNNABLE, plan->argv[0], "its parent is gone");
    reset_child_signals();
    if (plan->passed > 0)
        (void)fcntl(plan->passed, F_SETFD, 0);
    ahead_pass(&plan->ahead);
    int code = -(plan->self ? execute_self(plan) : execute_as(plan, plan->argv[0]));
    fail_main_child(plan, code == ENOENT ? INIT_STATUS_NOT_FOUND : INIT_STATUS_NOT_RUNNABLE,
                    plan->argv[0], code == ENOENT ? "no such program" : strerror(code));
}

/* ---- start ---- */

/* All but those that a fault of our own raises: blocked they would kill anyway, only later. */
static void fill_init_signals(sigset_t *set)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigfillset(set);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(set, faults[i]);
}

static int set_up_init(struct init *s, struct err *e)
{
    sigset_t set;
    fill_init_signals(&set);
    if (sigprocmask(SIG_SETMASK, &set, NULL) < 0)
        return err_set(e, -errno, "sigprocmask: %s", strerror(errno));
    (void)signal(SIGCHLD, SIG_DFL); /* ignored, exit statuses would be lost */
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signals < 0)
        return err_set(e, -errno, "signalfd: %s", strerror(errno));
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return err_set(e, -errno, "PR_SET_CHILD_SUBREAPER: %s", strerror(errno));
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) /* secrets went through our environment */
        return err_set(e, -errno, "PR_SET_DUMPABLE: %s", strerror(errno));
    s->foreground = tcgetpgrp(STDIN_FILENO) >= 0; /* our controlling terminal is there */
    return 0;
}

static int start_main_child(struct init *s, struct err *e)
{
    const struct identity *id = s->plan->identity;
    int r = id ? identity_confine_init(id, false, e) : 0;
    if (r < 0)
        return r;
    pid_t self = getpid();
    s->main = fork();
    if (s->main == 0)
        become_main(s, self);
    if (s->main < 0)
        return err_set(e, -errno, "fork: %s", strerror(errno));
    if (s->plan->passed > 0) /* with the server its sockets end */
        (void)close(s->plan->passed);
    ahead_close(&s->plan->ahead);
    r = id ? identity_confine_init(id, true, e) : 0;
    if (r < 0)
        (void)kill(s->main, SIGKILL);
    return r;
}

/* ---- the loop: from here on nothing may fail ---- */

static void kill_main(struct init *s, const char *why)
{
    s->killed = why;
    s->deadline = NO_DEADLINE;
    (void)kill(s->main, SIGKILL);
}

static void on_stop(struct init *s, int sig)
{
    if (++s->stops > 1) {
        log_warning(ROOM, "second signal: killing");
        kill_main(s, ": a second signal to stop");
        return;
    }
    s->deadline = clock_ms() + s->plan->stop_grace_ms;
    (void)kill(s->main, sig);
}

static void on_other(struct init *s, int sig)
{
    (void)kill(s->main, sig);
}

/* Orphans of the whole container come to us, so every child is reaped, whoever it is. One CHLD may
 * stand for many. */
static void on_child(struct init *s, int sig)
{
    (void)sig;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0;) {
        if (pid == s->main) {
            s->ended = true;
            s->status = status;
        }
    }
}

/* What is not in the table is swallowed: TSTP, TTIN and TTOU would stop the container's reaper,
 * CONT and URG mean nothing to it, PIPE and ALRM are nobody's here, real-time signals are between
 * programs that know each other. */
static const struct {
    int sig;
    void (*act)(struct init *s, int sig);
} actions[] = {
    {SIGCHLD, on_child},  /* ours alone */
    {SIGTERM, on_stop},   /* docker stop, Kubernetes */
    {SIGINT, on_stop},    /* Ctrl-C, passed on by docker run */
    {SIGHUP, on_other},   /* the terminal went; a command may want to read its settings again */
    {SIGQUIT, on_other},  /* the main child's to understand; if it dies of it, so do we */
    {SIGUSR1, on_other},  /* for the main child's own purposes */
    {SIGUSR2, on_other},  /* likewise */
    {SIGWINCH, on_other}, /* a new size of the terminal, for a shell below docker run -t */
};

static void on_init_signals(struct init *s)
{
    struct signalfd_siginfo info;
    while (!s->ended && read(s->signals, &info, sizeof info) == (ssize_t)sizeof info)
        for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
            if ((int)info.ssi_signo == actions[i].sig)
                actions[i].act(s, actions[i].sig);
}

static int init_time_left(const struct init *s)
{
    if (s->deadline == NO_DEADLINE)
        return -1;
    int64_t left = s->deadline - clock_ms();
    return left > 0 ? (int)left : 0;
}

static void run_main_child(struct init *s)
{
    while (!s->ended) {
        struct pollfd fd = {s->signals, POLLIN, 0};
        int left = init_time_left(s);
        if (!log_flush() && (left < 0 || left > LOG_RETRY_MS))
            left = LOG_RETRY_MS;
        (void)poll(&fd, 1, left);
        on_init_signals(s);
        if (!s->ended && s->deadline != NO_DEADLINE && init_time_left(s) == 0) {
            log_warning(ROOM, "not ended within %d ms: killing", (int)s->plan->stop_grace_ms);
            kill_main(s, ": it had not ended within the grace (--stop-grace)");
        }
    }
}

/* Linux counts what it kills for want of memory, and does not say which: kernels are among them. */
static void tell_cause(const struct init *s)
{
    char text[CAUSE_MAX], memory[CAUSE_MAX / 4] = "";
    if (!s->plan->last_words || !WIFSIGNALED(s->status))
        return;
    int sig = WTERMSIG(s->status);
    long kills = oom_kills() - s->oom_kills;
    if (sig == SIGKILL && kills > 0 && !*s->killed)
        (void)snprintf(memory, sizeof memory,
                       ": since its start %ld processes of the container were killed for want of "
                       "memory",
                       kills);
    (void)snprintf(text, sizeof text, "the server was ended by signal %d (%s)%s%s", sig,
                   strsignal(sig), s->killed, memory);
    log_error(ROOM, "%s", text);
    last_words_write(s->plan->last_words, text);
}

static int exit_status(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNAL_STATUS + WTERMSIG(status);
}

int init_main(struct init_plan *plan)
{
    struct init s = {.plan = plan, .deadline = NO_DEADLINE, .killed = "", .oom_kills = oom_kills()};
    struct err e = ERR_NONE;
    if (set_up_init(&s, &e) < 0 || start_main_child(&s, &e) < 0) {
        log_error(ROOM, "cannot start: %s", e.msg);
        last_words_write(plan->last_words, e.msg);
        return FAILED_STATUS;
    }
    run_main_child(&s);
    if (s.foreground) /* for a shell that started us; TTOU is blocked */
        (void)tcsetpgrp(STDIN_FILENO, getpgrp());
    int r = proctree_end(s.stops > 1 ? 0 : plan->leftover_grace_ms);
    if (r < 0)
        log_warning(ROOM, "cannot list the remaining processes: %s", strerror(-r));
    tell_cause(&s);
    log_close(LOG_CLOSE_MS);
    return exit_status(s.status);
}
