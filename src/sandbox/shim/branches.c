/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/shim/branches.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/unixsock.h"
#include "sandbox/limits/budget.h"
#include "sandbox/limits/open_resources.h"
#include "sandbox/shim/branch_line.h"
#include "sandbox/shim/shim_tell.h"

enum {
    END_MS = 2000,
    SECOND_US = 1000000,
    NEVER = -1,
    WHOLE_GROUP = 1 << 2, /* PIDFD_SIGNAL_PROCESS_GROUP: older than what a branch needs */
};

struct branch {
    int control; /* the server's */
    int line;    /* to it, and its root's */
    int root_fd; /* -1 until the root has said that it is there */
    int kernel_fd;
    pid_t root, kernel;
    uint64_t group, from; /* whose memory counts together; the group of the one that forked it */
    bool asleep;
    struct budget *memory;
    int64_t next_look; /* at what it uses; NEVER */
    bool over;
    struct teller teller;
};

bool branches_any(const struct branches *all)
{
    return all->count > 0;
}

/* --- ending ----------------------------------------------------------------------------------- */

static struct branch *free_branch(struct branch *branch)
{
    (void)fd_close(branch->control);
    (void)fd_close(branch->line);
    (void)fd_close(branch->root_fd);
    (void)fd_close(branch->kernel_fd);
    if (branch->root > 0)
        proctree_remove_root(branch->root);
    branch->memory = budget_free(branch->memory);
    xfree(branch);
    return NULL;
}

static int signal_root(const struct branch *branch, int sig)
{
    return (int)syscall(SYS_pidfd_send_signal, branch->root_fd, sig, NULL, 0);
}

/* Its tree first, then the root, which so long keeps the tree together. */
static void end_branch_tree(struct branch *branch)
{
    if (branch->root_fd < 0)
        return;
    (void)signal_root(branch, SIGSTOP); /* it may be no root of ours: it makes no more */
    proctree_enter(branch->root);
    (void)proctree_end_entered(END_MS);
    proctree_enter(0);
    (void)signal_root(branch, SIGKILL);
}

static void finish_branch(struct branch *branch, int code, int sig)
{
    end_branch_tree(branch);
    if (branch->root > 0)
        teller_report(&branch->teller, SHIM_EXITED, code, sig, NULL);
    branch->over = true;
}

static void fail_branch(struct branch *branch, int code, const char *why)
{
    end_branch_tree(branch);
    teller_report(&branch->teller, SHIM_FAILED, code, SHIM_STEP_BRANCH, why);
    branch->over = true;
}

static void kill_branch_for(const struct branches *all, struct branch *branch,
                            enum shim_limit limit, const char *what, unsigned long long most,
                            const char *option)
{
    char text[200];
    (void)snprintf(text, sizeof text, "the limit of %llu %s (--%s-%s) was reached", most, what,
                   all->options, option);
    teller_report(&branch->teller, SHIM_LIMIT, (int32_t)limit, 0, text);
    finish_branch(branch, -1, SIGKILL);
}

/* --- beginning -------------------------------------------------------------------------------- */

static struct branch *new_branch(struct branches *all, uint64_t from, int control)
{
    struct branch *branch = NEW(struct branch);
    *branch = (struct branch){
        .control = control, .line = -1, .root_fd = -1, .kernel_fd = -1, .next_look = NEVER};
    branch->from = from;
    branch->group = ++all->groups;
    teller_init(&branch->teller, control);
    return branch;
}

/* The pair of its line; the other end goes to the kernel with what the branch is given. */
static int pass_fork_on(struct branch *branch, int line, const int *given)
{
    int pair[2], fds[BRANCH_GIVEN];
    const int on = 1;
    const struct fork_line order = {.version = BRANCH_VERSION};
    if (line < 0)
        return -ENOTSUP;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    branch->line = pair[0];
    (void)setsockopt(branch->line, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    memcpy(fds, given, (BRANCH_GIVEN - 1) * sizeof *given);
    fds[BRANCH_GIVEN - 1] = pair[1];
    int r = unixsock_send(line, &order, sizeof order, fds, BRANCH_GIVEN, MSG_DONTWAIT);
    (void)fd_close(pair[1]);
    return r;
}

static void fork_from(struct branches *all, uint64_t from, int line, int *fds, size_t count)
{
    if (count != BRANCH_ASKED || all->count == BRANCHES_MAX) {
        for (size_t i = 0; i < count; i++)
            fds[i] = fd_close(fds[i]); /* the end of its control socket tells the server */
        return;
    }
    struct branch *branch = new_branch(all, from, fds[0]);
    int r = pass_fork_on(branch, line, fds + 1);
    for (size_t i = 1; i < count; i++)
        fds[i] = fd_close(fds[i]);
    all->items[all->count++] = branch;
    if (r < 0)
        fail_branch(branch, r == -ENOTSUP || r == -EPIPE ? EDOM : EBUSY,
                    r == -ENOTSUP || r == -EPIPE
                        ? "this kernel was started as a program, and not forked from the template"
                        : strerror(-r));
}

void branches_fork(struct branches *all, int line, int *fds, size_t count)
{
    fork_from(all, 0, line, fds, count);
}

/* What it says is its kernel is its child, or nobody would know whom we signal. */
static int take_branch_kernel(struct branch *branch, pid_t root, pid_t kernel)
{
    if (kernel <= 1)
        return -EPERM;
    branch->kernel_fd = (int)syscall(SYS_pidfd_open, kernel, 0);
    if (branch->kernel_fd < 0)
        return -errno;
    if (proctree_parent(kernel) != root ||
        syscall(SYS_pidfd_send_signal, branch->kernel_fd, 0, NULL, 0) < 0)
        return -EPERM;
    branch->kernel = kernel;
    return 0;
}

/* Whoever says that it is the root is below us, or it is not. */
static int take_root(const struct branches *all, struct branch *branch, pid_t root, pid_t kernel)
{
    branch->root_fd = (int)syscall(SYS_pidfd_open, root, 0);
    if (branch->root_fd < 0)
        return -errno;
    int r = root != all->child && proctree_is_below(root) ? 0 : -EPERM;
    if (r == 0)
        r = take_branch_kernel(branch, root, kernel);
    if (r == 0)
        r = proctree_add_root(root);
    if (r < 0) {
        branch->root_fd = fd_close(branch->root_fd);
        return r;
    }
    branch->root = root;
    proctree_enter(root);
    if (all->limits.memory > 0)
        branch->memory = budget_open(all->limits.memory);
    proctree_enter(0);
    if (branch->memory || all->limits.cpu > 0)
        branch->next_look = clock_ms();
    teller_report(&branch->teller, SHIM_STARTED, kernel, 0, NULL);
    return 0;
}

/* --- living ----------------------------------------------------------------------------------- */

static void on_branch_word(const struct branches *all, struct branch *branch)
{
    struct branch_word word;
    pid_t sender = 0;
    int r = branch_line_receive(branch->line, &word, &sender);
    if (r == -EAGAIN)
        return;
    if (r < 0 && branch->root == 0) {
        fail_branch(branch, EBUSY, "the kernel did not fork");
    } else if (r < 0) {
        finish_branch(branch, -1, SIGKILL);
    } else if (word.kind == BRANCH_FAILED && branch->root == 0) {
        fail_branch(branch, word.a == EDOM ? EDOM : EBUSY, word.text);
    } else if (word.kind == BRANCH_ROOT && branch->root == 0) {
        r = take_root(all, branch, sender, word.a);
        if (r < 0)
            fail_branch(branch, EBUSY, "the kernel named processes that are not its own");
    } else if (word.kind == BRANCH_ENDED && sender == branch->root) {
        finish_branch(branch, word.a, word.b);
    }
}

/* Its group, while the kernel leads it; else the kernel alone. */
static void signal_branch(const struct branch *branch, int sig)
{
    const unsigned whom = getpgid(branch->kernel) == branch->kernel ? WHOLE_GROUP : 0;
    if (branch->kernel_fd >= 0)
        (void)syscall(SYS_pidfd_send_signal, branch->kernel_fd, sig, NULL, whom);
}

static void change_sleep(struct branch *branch, bool sleep)
{
    branch->asleep = sleep;
    if (sleep)
        branch->group = branch->from;
    else if (branch->next_look != NEVER)
        branch->next_look = clock_ms();
}

static void on_branch_tree(struct branch *branch, enum shim_order order)
{
    if (branch->root == 0)
        return;
    proctree_enter(branch->root);
    if (order == SHIM_SLEEP || order == SHIM_WAKE)
        change_sleep(branch, order == SHIM_SLEEP);
    if (order == SHIM_FREEZE || order == SHIM_SLEEP) {
        (void)signal_root(branch, SIGSTOP);
        (void)proctree_freeze();
    } else if (order == SHIM_RESUME || order == SHIM_WAKE) {
        (void)proctree_thaw();
        (void)signal_root(branch, SIGCONT);
    } else if (order == SHIM_MEASURE) {
        teller_report(&branch->teller, SHIM_USES, (int32_t)(budget_part() >> SHIM_USES_SHIFT), 0,
                      NULL);
    } else {
        teller_report(&branch->teller, SHIM_HOLDS, open_resources_any(branch->kernel), 0, NULL);
    }
    proctree_enter(0);
}

static void on_branch_control(struct branches *all, struct branch *branch)
{
    char order;
    int fds[UNIXSOCK_FDS_MAX];
    size_t count = 0;
    if (unixsock_receive(branch->control, &order, 1, fds, UNIXSOCK_FDS_MAX, &count) < 0)
        order = SHIM_KILL;
    if (order == SHIM_FORK) {
        fork_from(all, branch->group, branch->line, fds, count);
        return;
    }
    while (count > 0)
        (void)fd_close(fds[--count]);
    switch ((enum shim_order)order) {
    case SHIM_INTERRUPT:
    case SHIM_TERMINATE:
        signal_branch(branch, order == SHIM_INTERRUPT ? SIGINT : SIGTERM);
        break;
    case SHIM_FREEZE:
    case SHIM_RESUME:
    case SHIM_LOOK:
    case SHIM_SLEEP:
    case SHIM_WAKE:
    case SHIM_MEASURE:
        on_branch_tree(branch, (enum shim_order)order);
        break;
    case SHIM_CONFINE:
        teller_report(&branch->teller, SHIM_CONFINED, EBUSY, 0,
                      "a branch has the sandbox of the session that it was forked from");
        break;
    case SHIM_KILL:
    case SHIM_FORK:
    default:
        finish_branch(branch, -1, SIGKILL);
    }
}

/* --- memory ----------------------------------------------------------------------------------- */

static bool sleeps_in(const struct branch *branch, uint64_t group)
{
    return branch->asleep && !branch->over && branch->group == group;
}

static bool is_somebody_awake(const struct branches *all, uint64_t group)
{
    if (group == 0 && all->child > 0)
        return true;
    for (size_t i = 0; i < all->count; i++) {
        const struct branch *branch = all->items[i];
        if (branch->group == group && !branch->asleep && !branch->over)
            return true;
    }
    return false;
}

/* The items are in the order of their coming. */
static void end_oldest_sleeper(const struct branches *all, uint64_t group)
{
    char text[200];
    size_t i = 0;
    while (!sleeps_in(all->items[i], group))
        i++;
    (void)snprintf(text, sizeof text,
                   "memory is short: the session's kernel and the states that are kept of it have "
                   "reached the limit of %llu MiB (--%s-memory)",
                   (unsigned long long)(all->limits.memory >> 20), all->options);
    teller_report(&all->items[i]->teller, SHIM_LIMIT, SHIM_LIMIT_MEMORY, 0, text);
    finish_branch(all->items[i], -1, SIGKILL);
}

static bool group_exceeds(const struct branches *all, uint64_t group, pid_t root,
                          struct budget *memory)
{
    for (;;) {
        pid_t sleeping[BRANCHES_MAX];
        size_t count = 0;
        for (size_t i = 0; i < all->count; i++)
            if (sleeps_in(all->items[i], group) && all->items[i]->root != root)
                sleeping[count++] = all->items[i]->root;
        proctree_enter(root);
        proctree_join(sleeping, count);
        const bool over = budget_exceeded(memory);
        proctree_join(NULL, 0);
        proctree_enter(0);
        if (!over || count == 0)
            return over;
        end_oldest_sleeper(all, group);
    }
}

bool branches_exceed(struct branches *all, struct budget *memory)
{
    return group_exceeds(all, 0, 0, memory);
}

static bool exceeds_memory(const struct branches *all, const struct branch *branch)
{
    if (!branch->memory)
        return false;
    if (!branch->asleep)
        return group_exceeds(all, branch->group, branch->root, branch->memory);
    if (is_somebody_awake(all, branch->group))
        return false;
    proctree_enter(branch->root);
    const bool over = budget_exceeded(branch->memory);
    proctree_enter(0);
    return over;
}

static void look_at_branch(const struct branches *all, struct branch *branch)
{
    const struct sandbox_limits *most = &all->limits;
    const bool memory = exceeds_memory(all, branch);
    proctree_enter(branch->root);
    const bool cpu =
        !branch->asleep && most->cpu > 0 && budget_cpu_us() >= most->cpu * (int64_t)SECOND_US;
    proctree_enter(0);
    branch->next_look =
        clock_ms() +
        (branch->memory && !branch->asleep ? budget_pause_ms(branch->memory) : SHIM_LOOK_MS);
    if (memory)
        kill_branch_for(all, branch, SHIM_LIMIT_MEMORY, "MiB memory",
                        (unsigned long long)(most->memory >> 20), "memory");
    else if (cpu)
        kill_branch_for(all, branch, SHIM_LIMIT_CPU, "s processor time",
                        (unsigned long long)most->cpu, "cpu");
}

/* --- all of them ------------------------------------------------------------------------------ */

size_t branches_poll(const struct branches *all, struct pollfd *fds)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct branch *branch = all->items[i];
        struct pollfd *at = fds + i * BRANCH_POLLED;
        at[0] = (struct pollfd){branch->control, POLLIN, 0};
        at[1] = (struct pollfd){branch->line, POLLIN, 0};
        at[2] = (struct pollfd){branch->root_fd, POLLIN, 0};
    }
    return all->count * BRANCH_POLLED;
}

int64_t branches_next_look(const struct branches *all)
{
    int64_t next = NEVER;
    for (size_t i = 0; i < all->count; i++) {
        const int64_t at = all->items[i]->next_look;
        if (at != NEVER && (next == NEVER || at < next))
            next = at;
    }
    return next;
}

static bool drop_branches_over(struct branches *all)
{
    size_t left = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (all->items[i]->over)
            (void)free_branch(all->items[i]);
        else
            all->items[left++] = all->items[i];
    }
    bool any = left < all->count;
    all->count = left;
    return any;
}

bool branches_act(struct branches *all, const struct pollfd *fds)
{
    const size_t polled = all->count; /* a fork adds to them */
    for (size_t i = 0; i < polled; i++) {
        struct branch *branch = all->items[i];
        const struct pollfd *at = fds + i * BRANCH_POLLED;
        if (!branch->over && at[1].revents)
            on_branch_word(all, branch);
        if (!branch->over && at[2].revents)
            finish_branch(branch, -1, SIGKILL);
        if (!branch->over && at[0].revents)
            on_branch_control(all, branch);
        if (!branch->over && branch->next_look != NEVER && clock_ms() >= branch->next_look)
            look_at_branch(all, branch);
    }
    return drop_branches_over(all);
}

void branches_end(struct branches *all)
{
    for (size_t i = 0; i < all->count; i++) {
        finish_branch(all->items[i], -1, SIGKILL);
        (void)free_branch(all->items[i]);
    }
    all->count = 0;
}
