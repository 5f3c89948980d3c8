/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/broker/broker.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/broker/broker_internal.h"

enum { COMMAND_SHOWN = 1024 };

/* Of later kernels than some headers. */
#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

/* ioctl(2): its request is an int in one C library and an unsigned long in the other. */
static int ask_listener(const struct broker *broker, unsigned long request, void *with)
{
    return (int)syscall(SYS_ioctl, broker->listener, request, with);
}

/* --- what the parts say ----------------------------------------------------------------------- */

const struct policy *notice_policy(const struct notice *notice)
{
    return policy_reference_policy(notice->reference);
}

bool notice_alive(const struct notice *notice)
{
    uint64_t id = notice->id;
    return ask_listener(notice->broker, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

void notice_answer(struct notice *notice)
{
    if (notice->answered)
        return;
    struct seccomp_notif_resp answer = {.id = notice->id};
    if (notice->go_on) {
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else {
        answer.error = -notice->error;
        answer.val = notice->error ? 0 : notice->value;
    }
    /* A caller that has died meanwhile needs no answer. */
    (void)ask_listener(notice->broker, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    notice->answered = true;
}

/* A thread that is about to answer waits for nobody but the kernel. If SIGURG cut that short, the
 * caller would get an answer without a descriptor. */
static void end_interrupts(const struct notice *notice)
{
    sigset_t all;
    (void)sigfillset(&all);
    if (notice->deferred)
        (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
}

void notice_give(struct notice *notice, int fd, bool cloexec)
{
    drop_fd int mine = fd;
    end_interrupts(notice);
    struct broker *broker = notice->broker;
    struct seccomp_notif_addfd add = {
        .id = notice->id, .srcfd = (uint32_t)mine, .newfd_flags = cloexec ? O_CLOEXEC : 0};
    bool at_once = __atomic_load_n(&broker->gives_at_once, __ATOMIC_RELAXED);
    if (at_once) {
        add.flags = SECCOMP_ADDFD_FLAG_SEND;
        if (ask_listener(broker, SECCOMP_IOCTL_NOTIF_ADDFD, &add) >= 0) {
            notice->answered = true;
            return;
        }
        if (errno != EINVAL) {
            notice->error = errno;
            return;
        }
        __atomic_store_n(&broker->gives_at_once, false, __ATOMIC_RELAXED);
        add.flags = 0;
    }
    int given = ask_listener(broker, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
    notice->error = given < 0 ? errno : 0;
    notice->value = given;
}

/* Its words with blanks between them, as far as they fit: what ignoreViolations speaks of. */
static void command_of(pid_t pid, char *text, size_t size)
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
    n = n < 0 ? 0 : n;
    for (ssize_t i = 0; i < n; i++)
        text[i] = text[i] == '\0' ? ' ' : text[i];
    text[n] = '\0';
}

void notice_refuse(struct notice *notice, const char *what)
{
    const struct broker_config *config = &notice->broker->config;
    struct refusal refusal = {notice->pid, broker_call_name(notice->call), what};
    char command[COMMAND_SHOWN] = "";
    notice->error = EPERM;
    const struct policy *policy = notice_policy(notice);
    if (policy && policy_has_ignored(policy))
        command_of(notice->pid, command, sizeof command);
    if (config->refused && !(policy && policy_ignores(policy, command, what)))
        config->refused(config->ctx, &refusal);
}

void notice_refuse_write(struct notice *notice, const char *what)
{
    int error = notice->broker->config.write_error;
    notice_refuse(notice, what);
    notice->error = error ? error : EPERM;
}

/* --- the threads ------------------------------------------------------------------------------ */

static notice_fn room_of(int call)
{
    notice_fn (*const rooms[])(int) = {broker_open_call,     broker_change_call,  broker_attr_call,
                                       broker_tasks_call,    broker_signals_call, broker_net_call,
                                       broker_terminals_call};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        notice_fn fn = rooms[i](call);
        if (fn)
            return fn;
    }
    return NULL;
}

static void handle(struct broker *broker, const struct seccomp_notif *received)
{
    struct notice notice = {.broker = broker,
                            .reference = policy_reference_take(broker),
                            .id = received->id,
                            .pid = (pid_t)received->pid,
                            .call = received->data.nr};
    for (int i = 0; i < 6; i++)
        notice.args[i] = received->data.args[i];
    notice_fn fn = room_of(notice.call);
    if (fn)
        fn(&notice);
    else
        notice_refuse(&notice, "not possible in this sandbox");
    notice_answer(&notice);
    policy_reference_drop(broker, notice.reference);
}

/* ENOENT: the caller died before we looked, or all have; then it would be so for ever. */
static bool is_broker_over(const struct broker *broker)
{
    struct pollfd p = {.fd = broker->listener, .events = POLLIN};
    return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR | POLLNVAL);
}

static void *answer_all_notifications(void *ctx)
{
    struct broker *broker = ctx;
    for (;;) {
        struct seccomp_notif received;
        memset(&received, 0, sizeof received); /* the kernel insists */
        if (ask_listener(broker, SECCOMP_IOCTL_NOTIF_RECV, &received) == 0)
            handle(broker, &received);
        else if (errno != EINTR && (errno != ENOENT || is_broker_over(broker)))
            return NULL;
    }
}

/* --- start and end ---------------------------------------------------------------------------- */

/* Landlock does not hold us: what the child must not do with its uid, we must not be able to do
 * with more than that. */
static int check_self(const struct broker_config *config, struct err *e)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[2];
    int subreaper = 0;
    if (prctl(PR_GET_DUMPABLE) != 0)
        return err_set(e, -EPERM, "a broker must not be dumpable");
    mode_t mask = umask(0);
    if (mask != 0)
        return err_set(e, -EPERM, "a broker must have umask 0, not %03o", (unsigned)mask);
    if (syscall(SYS_capget, &head, caps) < 0 || caps[0].permitted || caps[1].permitted)
        return err_set(e, -EPERM, "a broker must have no capability");
    (void)prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
    if (config->tasks_max > 0 && !subreaper && getpid() != 1)
        return err_set(e, -EPERM, "a broker that counts tasks must be a subreaper");
    return 0;
}

static int check_kernel(struct err *e)
{
    struct seccomp_notif_sizes sizes;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
        return err_set(e, -errno, "seccomp notifications: %s", strerror(errno));
    if (sizes.seccomp_notif > sizeof(struct seccomp_notif) ||
        sizes.seccomp_notif_resp > sizeof(struct seccomp_notif_resp))
        return err_set(e, -ENOTSUP, "seccomp notifications of another size than ours");
    return 0;
}

static struct broker *broker_new(const struct broker_config *config)
{
    struct broker *broker = NEW(struct broker);
    broker->config = *config;
    broker->listener = config->listener;
    policy_reference_first(broker, config->policy);
    broker->tasks = config->tasks_max > 0 ? tasks_new(config->tasks_max) : NULL;
    broker->gives_at_once = true;
    broker->reads_memory = true;
    broker->landlock_abi = landlock_abi();
    /* The caller runs on at once on our processor; older kernels do without. */
    (void)syscall(SYS_ioctl, broker->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
                  SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    return broker;
}

static int start_threads(struct broker *broker, struct err *e)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are the first thread's */
    int r = waiting_open(broker, e);
    for (int i = 0; r == 0 && i < BROKER_THREADS; i++) {
        r = pthread_create(&broker->threads[i], NULL, answer_all_notifications, broker);
        if (r != 0)
            r = err_set(e, -r, "a thread of the broker: %s", strerror(r));
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

int broker_start(const struct broker_config *config, struct broker **ret, struct err *e)
{
    int r = check_self(config, e);
    if (r == 0)
        r = check_kernel(e);
    if (r < 0)
        return r;
    struct broker *broker = broker_new(config);
    r = net_open(broker, &broker->net, e); /* with nothing allowed it says that no name exists */
    if (r == 0)
        r = start_threads(broker, e);
    if (r < 0)
        return r; /* its threads, if there are any, hold it: the child will not be let go */
    *ret = broker;
    return 0;
}

long broker_task_refusals(const struct broker *broker)
{
    return broker->tasks ? tasks_refusals(broker->tasks) : 0;
}

struct broker *broker_free(struct broker *broker)
{
    if (!broker)
        return NULL;
    for (int i = 0; i < BROKER_THREADS; i++)
        (void)pthread_join(broker->threads[i], NULL);
    waiting_free(broker);
    broker->net = net_free(broker->net);
    (void)fd_close(broker->listener);
    broker->tasks = tasks_free(broker->tasks);
    policy_reference_last(broker);
    xfree(broker);
    return NULL;
}
