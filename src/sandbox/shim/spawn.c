/* SPDX-License-Identifier: Apache-2.0
 *
 * A child is told by what its shim reports over the control socket, in order (on_report()).
 * Who completes it: notify_ended() tells `ended` once, for the first of: the start has failed, the
 * process has exited (what it wrote is read before), the shim was killed. It clears the events, so
 * nothing follows. child_end() clears them, too, and only shuts the socket: the shim reads its end
 * and kills the tree. A child is freed in one place, when the shim closes its socket
 * (reap_spawned()), which nobody waits for but spawner_free(). Events may end any child. */
#include "sandbox/shim/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/process/exec.h"
#include "base/unixsock.h"
#include "sandbox/shim/branch_line.h"
#include "sandbox/shim/shim.h"
#include "sandbox/shim/spawn_launch.h"

enum {
    LAST_FD = CHILD_FIRST_FD + CHILD_FDS_MAX - 1,
    OUTPUT_CHUNK = 64 * 1024,
    CHUNKS_PER_TURN = 4,
};

struct spawner {
    struct loop *loop;
    struct child *children;
    pid_t helper;                                 /* 0: none, or it was buried */
    void (*refused)(void *ctx, const char *text); /* NULL: nobody wants to know */
    void *refused_ctx;
    struct rlimit files; /* of open files, for children */
};

struct spawn_stream { /* our end of one of the child's pipes */
    int fd;           /* -1: there is none, or it was closed */
    struct loop_io *io;
    bool over; /* read to its end */
};

struct child {
    struct spawner *spawner;
    struct child *prev, *next;
    pid_t shim; /* 0: somebody else's child */
    int control;
    struct loop_io *control_io;
    struct spawn_stream input, output, errors; /* the first and the last of a piped child */
    bool terminal;                             /* output is its other end, and input a copy */
    bool paused;
    bool exited, told;          /* it has ended itself; `ended` was told */
    struct child_exit how;      /* then */
    struct loop_timer patience; /* of a gentle end */
    int64_t grace_ms;
    char *limit;                       /* the budget that ended it */
    const struct child_events *events; /* NULL once it was given up or has ended */
    void *ctx;
};

static void close_stream(struct spawn_stream *stream)
{
    stream->io = loop_io_del(stream->io);
    stream->fd = fd_close(stream->fd);
}

static void close_ends(const struct launch_ends *ends)
{
    (void)fd_close(ends->control);
    (void)fd_close(ends->input);
    (void)fd_close(ends->output);
    (void)fd_close(ends->errors);
    (void)fd_close(ends->spec);
    for (size_t i = 0; i < ends->fd_count; i++)
        (void)fd_close(ends->fds[i]);
}

/* A process that has a thousand children needs more than the usual 1024; children get what we were
 * started with, as programs that use select(2) do not survive more. */
static void take_open_files(struct rlimit *ret_before)
{
    (void)getrlimit(RLIMIT_NOFILE, ret_before);
    const struct rlimit most = {.rlim_cur = ret_before->rlim_max, .rlim_max = ret_before->rlim_max};
    (void)setrlimit(RLIMIT_NOFILE, &most);
}

int spawner_new(struct loop *loop, struct spawner **ret, struct err *e)
{
    int r = exec_keep(NULL, 0); /* also for programs that libraries might start */
    if (r < 0)
        return err_set(e, r, "close what is not a child's: %s", strerror(-r));
    struct spawner *spawner = NEW(struct spawner);
    spawner->loop = loop;
    take_open_files(&spawner->files);
    *ret = spawner;
    return 0;
}

static void unlink_child(struct child *child)
{
    list_remove(&child->spawner->children, child);
}

static void free_child(struct child *child)
{
    loop_timer_stop(child->spawner->loop, &child->patience);
    (void)loop_io_del(child->control_io);
    (void)fd_close(child->control);
    close_stream(&child->input);
    close_stream(&child->output);
    close_stream(&child->errors);
    xfree(child->limit);
    xfree(child);
}

/* The shim's end of the socket is closed: it is gone or in its last microseconds. */
static void reap_spawned(struct child *child)
{
    while (child->shim > 0 && waitpid(child->shim, NULL, 0) < 0 && errno == EINTR)
        ;
    unlink_child(child);
    free_child(child);
}

static void notify_ended(struct child *child, const struct child_exit *how, const struct err *why)
{
    const struct child_events *events = child->events;
    if (child->told)
        return;
    child->told = true;
    if (!how || !how->left)
        child->events = NULL;
    if (events)
        events->ended(child->ctx, how, why);
}

/* Does nobody have the output of what has exited open any more? */
static void check_program_over(struct child *child)
{
    if (!child->exited || !child->output.over || (child->errors.fd >= 0 && !child->errors.over))
        return;
    child->how.limit = child->limit;
    notify_ended(child, &child->how, NULL);
}

/* Hands on what is in the pipe, a bounded amount, until whoever gets it pauses; what an ended child
 * left is read all the same. True while there may be more. */
static bool read_spawn_stream(struct child *child, struct spawn_stream *stream)
{
    static char chunk[OUTPUT_CHUNK];
    for (int i = 0; i < CHUNKS_PER_TURN; i++) {
        ssize_t n = read(stream->fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n <= 0) { /* of a terminal that nobody has open any more: EIO */
            stream->io = loop_io_del(stream->io);
            stream->over = true;
            check_program_over(child);
            return false;
        }
        if (child->events && stream == &child->output)
            child->events->output(child->ctx, chunk, (size_t)n);
        else if (child->events)
            child->events->errors(child->ctx, chunk, (size_t)n);
        if (child->paused && !child->exited)
            break;
    }
    return true;
}

static void on_spawn_output(void *ctx, unsigned events)
{
    (void)events;
    struct child *child = ctx;
    (void)read_spawn_stream(child, &child->output);
}

static void on_spawn_errors(void *ctx, unsigned events)
{
    (void)events;
    struct child *child = ctx;
    (void)read_spawn_stream(child, &child->errors);
}

static void on_spawn_input(void *ctx, unsigned events)
{
    struct child *child = ctx;
    if (events & LOOP_HUP)
        close_stream(&child->input);
    else
        loop_io_set(child->input.io, 0);
    if (child->events)
        child->events->writable(child->ctx);
}

static void on_spawn_refused(const struct child *child, const struct shim_report *report,
                             const char *text)
{
    const struct spawner *spawner = child->spawner;
    drop_str char *more =
        report->b > 0 ? xasprintf(", and %d more before it", (int)report->b) : NULL;
    drop_str char *line = xasprintf("pid=%d %s%s", (int)report->a, text, more ? more : "");
    if (spawner->refused)
        spawner->refused(spawner->refused_ctx, line);
    if (child->events && child->events->refused)
        child->events->refused(child->ctx, line);
}

static void on_limit(struct child *child, const struct shim_report *report, const char *text)
{
    if (report->a != SHIM_LIMIT_TASKS) { /* it is killed: the reason of its end, which comes */
        xfree(child->limit);
        child->limit = xstrdup(text);
    } else if (child->events && child->events->limited) {
        child->events->limited(child->ctx, text);
    }
}

static void on_spawn_confined(struct child *child, const struct shim_report *report,
                              const char *text)
{
    struct err why = ERR_NONE;
    if (report->a != 0)
        (void)err_set(&why, -report->a, "%s", text);
    if (child->events && child->events->confined)
        child->events->confined(child->ctx, report->a != 0 ? &why : NULL);
}

static void read_rest(struct child *child, struct spawn_stream *stream)
{
    while (child->events && stream->fd >= 0 && !stream->over && read_spawn_stream(child, stream))
        ;
}

static void end_read(struct child *child)
{
    read_rest(child, &child->output);
    read_rest(child, &child->errors);
    child->how.limit = child->limit;
    notify_ended(child, &child->how, NULL);
}

static void on_exited(struct child *child, const struct shim_report *report, bool left)
{
    child->how = (struct child_exit){.code = report->a, .signal = report->b, .left = left};
    child->exited = true;
    if (left)
        check_program_over(child);
    else
        end_read(child);
}

static void on_shim_over(struct child *child)
{
    struct err why = ERR_NONE;
    (void)err_set(&why, -EPIPE, "its shim was killed");
    if (child->exited)
        end_read(child);
    notify_ended(child, NULL, &why);
    if (child->events)
        child->events->gone(child->ctx);
    reap_spawned(child);
}

static void on_report(struct child *child, const struct shim_report *report, const char *text)
{
    struct err why = ERR_NONE;
    switch (report->kind) {
    case SHIM_STARTED:
        if (child->events && child->events->started)
            child->events->started(child->ctx, report->a);
        return;
    case SHIM_FAILED:
        if (report->b == SHIM_STEP_BRANCH)
            (void)err_set(&why, -report->a, "%s", *text ? text : strerror(report->a));
        else
            (void)err_set(&why, -report->a, "cannot start (%s): %s", shim_step_name(report->b),
                          *text ? text : strerror(report->a));
        notify_ended(child, NULL, &why);
        return;
    case SHIM_EXITED:
        on_exited(child, report, *text != '\0');
        return;
    case SHIM_REFUSED:
        on_spawn_refused(child, report, text);
        return;
    case SHIM_LIMIT:
        on_limit(child, report, text);
        return;
    case SHIM_CONFINED:
        on_spawn_confined(child, report, text);
        return;
    case SHIM_HOLDS:
        if (child->events && child->events->holds)
            child->events->holds(child->ctx, report->a != 0);
        return;
    case SHIM_USES:
        if (child->events && child->events->measured)
            child->events->measured(child->ctx, (uint64_t)(uint32_t)report->a << SHIM_USES_SHIFT);
        return;
    }
}

static void on_spawn_control(void *ctx, unsigned events)
{
    (void)events;
    struct child *child = ctx;
    for (;;) {
        struct shim_report report;
        char text[SHIM_TEXT_MAX + 1];
        struct iovec parts[] = {{&report, sizeof report}, {text, SHIM_TEXT_MAX}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        ssize_t n = recvmsg(child->control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n >= (ssize_t)sizeof report) {
            text[(size_t)n - sizeof report] = '\0';
            on_report(child, &report, text);
            continue;
        }
        on_shim_over(child);
        return;
    }
}

int helper_start(struct spawner *spawner, const struct child_spec *spec, int fd, pid_t *ret_pid,
                 struct err *e)
{
    drop_fd int moved = fcntl(fd, F_DUPFD_CLOEXEC, LAUNCH_SPEC_FD + 1);
    const struct launch_ends ends = {
        .control = moved, .input = -1, .output = 2, .errors = -1, .spec = -1};
    int r = moved < 0 ? -errno : launch_helper(spec, &ends, &spawner->files, ret_pid);
    if (r < 0)
        return err_set(e, r, "start %s: %s", spec->argv[0], strerror(-r));
    spawner->helper = *ret_pid;
    return 0;
}

void helper_kill(struct spawner *spawner)
{
    if (spawner->helper > 0)
        (void)kill(spawner->helper, SIGKILL);
}

void spawner_on_refused(struct spawner *spawner, void (*refused)(void *ctx, const char *text),
                        void *ctx)
{
    spawner->refused = refused;
    spawner->refused_ctx = ctx;
}

void spawner_reap(struct spawner *spawner)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        if (spawner->helper == pid)
            spawner->helper = 0;
        for (struct child *child = spawner->children; child; child = child->next) {
            if (child->shim == pid)
                child->shim = 0; /* its socket tells the rest */
        }
    }
}

/* One that has a number of the child's would be written over before it is put in its place. */
static int move_up(int fd)
{
    if (fd < 0 || fd > LAST_FD)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, LAST_FD + 1);
    (void)fd_close(fd);
    return moved;
}

static struct child *new_child(struct spawner *spawner, int control)
{
    struct child *child = NEW(struct child);
    *child = (struct child){.spawner = spawner,
                            .control = control,
                            .input = {.fd = -1},
                            .output = {.fd = -1},
                            .errors = {.fd = -1}};
    list_push(&spawner->children, child);
    return child;
}

/* One pipe, read (0) or written (1) by us without waiting. */
static int open_pipe(int our_end, struct spawn_stream *ours, int *ret_theirs, struct err *e)
{
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return err_set(e, -errno, "pipe2: %s", strerror(errno));
    ours->fd = pipes[our_end];
    *ret_theirs = move_up(pipes[1 - our_end]);
    (void)fcntl(ours->fd, F_SETFL, O_NONBLOCK);
    return 0;
}

/* A terminal: its other end is ours, twice, as reading and writing are watched apart. */
static int open_terminal(struct child *child, const struct child_size *size, int *ret_theirs,
                         struct err *e)
{
    drop_fd int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (ours < 0 || grantpt(ours) < 0 || unlockpt(ours) < 0)
        return err_set(e, -errno, "a terminal: %s", strerror(errno));
    int theirs = ioctl(ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (theirs < 0)
        return err_set(e, -errno, "a terminal: %s", strerror(errno));
    *ret_theirs = move_up(theirs);
    child->input.fd = fcntl(ours, F_DUPFD_CLOEXEC, 0);
    child->output.fd = fd_take(&ours);
    child->terminal = true;
    return child_resize(child, size);
}

/* The pairs of a child: our ends go into the child that is returned, the others to *ret. */
static struct child *open_child(struct spawner *spawner, bool piped,
                                const struct child_size *terminal, struct launch_ends *ret,
                                struct err *e)
{
    int sockets[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
        (void)err_set(e, -errno, "socketpair: %s", strerror(errno));
        return NULL;
    }
    struct child *child = new_child(spawner, sockets[0]);
    *ret = (struct launch_ends){
        .control = move_up(sockets[1]), .input = -1, .output = -1, .errors = -1, .spec = -1};
    ret->terminal = terminal != NULL;
    int r = terminal ? open_terminal(child, terminal, &ret->output, e)
                     : open_pipe(0, &child->output, &ret->output, e);
    if (r == 0 && piped)
        r = open_pipe(1, &child->input, &ret->input, e);
    if (r == 0 && piped)
        r = open_pipe(0, &child->errors, &ret->errors, e);
    if (r == 0)
        return child;
    close_ends(ret);
    unlink_child(child);
    free_child(child);
    return NULL;
}

static int watch_all(struct child *child, struct err *e)
{
    struct loop *loop = child->spawner->loop;
    int r =
        loop_io_add(loop, child->control, LOOP_IN, on_spawn_control, child, &child->control_io, e);
    if (r == 0)
        r = loop_io_add(loop, child->output.fd, LOOP_IN, on_spawn_output, child, &child->output.io,
                        e);
    if (r == 0 && child->errors.fd >= 0)
        r = loop_io_add(loop, child->errors.fd, LOOP_IN, on_spawn_errors, child, &child->errors.io,
                        e);
    if (r == 0 && child->input.fd >= 0)
        r = loop_io_add(loop, child->input.fd, 0, on_spawn_input, child, &child->input.io, e);
    return r;
}

static int watch_spawned(struct child *child, const struct child_events *events, void *ctx,
                         struct err *e)
{
    int r = watch_all(child, e);
    if (r < 0) {
        (void)shutdown(child->control, SHUT_RDWR);
        reap_spawned(child);
        return r;
    }
    child->events = events;
    child->ctx = ctx;
    return 0;
}

static int give_spawn_descriptors(const struct child_spec *spec, struct launch_ends *ends,
                                  struct err *e)
{
    for (size_t i = 0; i < spec->fd_count; i++) {
        int fd = fcntl(spec->fds[i], F_DUPFD_CLOEXEC, LAST_FD + 1);
        if (fd < 0)
            return err_set(e, -errno, "descriptor %d: %s", spec->fds[i], strerror(errno));
        ends->fds[ends->fd_count++] = fd;
    }
    return 0;
}

int child_start(struct spawner *spawner, const struct child_spec *spec,
                const struct child_events *events, void *ctx, struct child **ret, struct err *e)
{
    struct launch_ends ends;
    struct child *child =
        open_child(spawner, spec->piped && !spec->terminal, spec->terminal, &ends, e);
    if (!child)
        return e ? e->code : -EMFILE;
    int r = give_spawn_descriptors(spec, &ends, e);
    if (r == 0 && spec->sandbox)
        r = sandbox_spec_write(spec->sandbox, &ends.spec, e);
    bool made = r == 0;
    ends.spec = move_up(ends.spec);
    if (made)
        r = launch_shim(spec, &ends, &spawner->files, &child->shim);
    close_ends(&ends);
    if (r < 0) {
        child->shim = 0;
        reap_spawned(child);
        return !made ? r
                     : err_set(e, r, "start %s in %s: %s", spec->argv[0],
                               spec->cwd ? spec->cwd : ".", strerror(-r));
    }
    r = watch_spawned(child, events, ctx, e);
    if (r == 0)
        *ret = child;
    return r;
}

int child_adopt(struct spawner *spawner, const struct child_events *events, void *ctx,
                struct child_ends *ret_ends, struct child **ret, struct err *e)
{
    struct launch_ends ends;
    struct child *child = open_child(spawner, false, NULL, &ends, e);
    if (!child)
        return e ? e->code : -EMFILE;
    int r = watch_spawned(child, events, ctx, e);
    if (r < 0) {
        close_ends(&ends);
        return r;
    }
    *ret_ends = (struct child_ends){.control = ends.control, .output = ends.output};
    *ret = child;
    return 0;
}

_Static_assert(CHILD_FDS_MAX + 3 == BRANCH_ASKED && BRANCH_ASKED <= UNIXSOCK_FDS_MAX, "all fit");

int child_branch(const struct child *parent, const int *fds, int orders,
                 const struct child_events *events, void *ctx, struct child **ret, struct err *e)
{
    const char order = SHIM_FORK;
    struct child_ends ends;
    struct child *child = NULL;
    int sent[BRANCH_ASKED];
    int r = child_adopt(parent->spawner, events, ctx, &ends, &child, e);
    if (r < 0)
        return r;
    sent[0] = ends.control;
    sent[1] = ends.output;
    memcpy(sent + 2, fds, CHILD_FDS_MAX * sizeof *fds);
    sent[BRANCH_ASKED - 1] = orders;
    r = unixsock_send(parent->control, &order, 1, sent, BRANCH_ASKED, MSG_DONTWAIT);
    (void)fd_close(ends.control);
    (void)fd_close(ends.output);
    if (r < 0) {
        (void)child_end(child);
        return err_set(e, r, "the kernel's shim: %s", strerror(-r));
    }
    *ret = child;
    return 0;
}

static void command(struct child *child, char letter)
{
    (void)send(child->control, &letter, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void child_interrupt(struct child *child)
{
    command(child, SHIM_INTERRUPT);
}

void child_terminate(struct child *child)
{
    command(child, SHIM_TERMINATE);
}

void child_freeze(struct child *child)
{
    command(child, SHIM_FREEZE);
}

void child_resume(struct child *child)
{
    command(child, SHIM_RESUME);
}

void child_look(struct child *child)
{
    command(child, SHIM_LOOK);
}

void child_sleep(struct child *child)
{
    command(child, SHIM_SLEEP);
}

void child_wake(struct child *child)
{
    command(child, SHIM_WAKE);
}

void child_measure(struct child *child)
{
    command(child, SHIM_MEASURE);
}

void child_kill(struct child *child)
{
    command(child, SHIM_KILL);
}

/* A stream that is not watched at all tells no hang-up either. */
static void pause_stream(struct child *child, struct spawn_stream *stream, loop_io_fn fn)
{
    if (child->paused)
        stream->io = loop_io_del(stream->io);
    else if (!stream->io && stream->fd >= 0 && !stream->over &&
             loop_io_add(child->spawner->loop, stream->fd, LOOP_IN, fn, child, &stream->io, NULL) <
                 0)
        command(child, SHIM_KILL); /* without a way to read it */
}

void child_pause(struct child *child, bool pause)
{
    if (child->paused == pause || !child->events)
        return;
    child->paused = pause;
    pause_stream(child, &child->output, on_spawn_output);
    pause_stream(child, &child->errors, on_spawn_errors);
}

int child_resize(const struct child *child, const struct child_size *size)
{
    const struct winsize now = {.ws_col = size->columns, .ws_row = size->rows};
    if (!child->terminal)
        return -ENOTTY;
    return ioctl(child->output.fd, TIOCSWINSZ, &now) < 0 ? -errno : 0;
}

void child_close_input(struct child *child)
{
    if (!child->terminal)
        close_stream(&child->input);
}

int child_confine(struct child *child, const struct sandbox_spec *spec, struct err *e)
{
    const char order = SHIM_CONFINE;
    drop_fd int fd = -1;
    int r = sandbox_spec_write(spec, &fd, e);
    if (r < 0)
        return r;
    r = unixsock_send(child->control, &order, 1, &fd, 1, MSG_DONTWAIT);
    return r < 0 ? err_set(e, r, "the kernel's shim: %s", strerror(-r)) : 0;
}

bool child_has_exited(const struct child *child)
{
    return child->exited;
}

struct child *child_end(struct child *child)
{
    if (!child)
        return NULL;
    child->events = NULL;
    loop_timer_stop(child->spawner->loop, &child->patience);
    child->output.io = loop_io_del(child->output.io);
    child->errors.io = loop_io_del(child->errors.io);
    (void)shutdown(child->control, SHUT_WR); /* the shim reads the end and kills the tree */
    return NULL;
}

static void on_second_grace_over(void *ctx)
{
    (void)child_end(ctx);
}

static void on_first_grace_over(void *ctx)
{
    struct child *child = ctx;
    child_terminate(child);
    loop_timer_set(child->spawner->loop, &child->patience, child->grace_ms, on_second_grace_over,
                   child);
}

struct child *child_end_gently(struct child *child, int64_t grace_ms)
{
    if (!child)
        return NULL;
    child->events = NULL;
    child->grace_ms = grace_ms;
    close_stream(&child->input);
    loop_timer_set(child->spawner->loop, &child->patience, grace_ms, on_first_grace_over, child);
    return NULL;
}

ssize_t child_write(struct child *child, const char *bytes, size_t n)
{
    if (child->input.fd < 0)
        return -EPIPE;
    ssize_t written = write(child->input.fd, bytes, n);
    if (written >= 0)
        return written;
    if (errno != EAGAIN && errno != EINTR) {
        close_stream(&child->input);
        return -EPIPE;
    }
    loop_io_set(child->input.io, LOOP_OUT);
    return -EAGAIN;
}

static bool shims_left(struct spawner *spawner)
{
    for (struct child *child = spawner->children, *next; child; child = next) {
        struct shim_report report;
        ssize_t n;
        next = child->next;
        while ((n = recv(child->control, &report, sizeof report, MSG_DONTWAIT)) > 0)
            ;
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            reap_spawned(child);
    }
    return spawner->children != NULL;
}

struct spawner *spawner_free(struct spawner *spawner, int64_t wait_ms)
{
    if (!spawner)
        return NULL;
    for (struct child *child = spawner->children; child; child = child->next)
        (void)child_end(child);
    int64_t until = clock_ms() + wait_ms;
    while (shims_left(spawner) && clock_ms() < until)
        (void)poll(NULL, 0, 2);
    while (spawner->children) { /* PID 1 finishes what could not be waited for */
        struct child *child = spawner->children;
        unlink_child(child);
        free_child(child);
    }
    xfree(spawner);
    return NULL;
}
