/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals, where Landlock has no scope for them (before ABI 6): they go to processes of the sandbox
 * and to no other of the same uid. The numbers come in registers, so the kernel may go on; what is
 * left is a process that ends between our look and the signal while another gets its number.
 * And sched_setscheduler() of a thread by its number, which only a thread of the same process may
 * make: no wall of the kernel's keeps it from others of the same uid. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/service.h"
#include "sandbox/broker/broker_internal.h"

static void refuse_process(struct notice *notice, pid_t pid)
{
    char text[32];
    (void)snprintf(text, sizeof text, "process %d", (int)pid);
    notice_refuse(notice, text);
}

/* Every process that there is (-1) is more than ours; so is a group that we are in. */
static void signal_process_group(struct notice *notice, pid_t group)
{
    pid_t leader = group == 0 ? getpgid(notice->pid) : -group;
    bool ours =
        group != -1 && leader > 0 && leader != getpgrp() && (group == 0 || tasks_are_ours(leader));
    if (ours)
        notice->go_on = true;
    else
        refuse_process(notice, group);
}

static void signal_asked(struct notice *notice)
{
    pid_t pid = (pid_t)notice->args[0];
    if (pid <= 0 && notice->call == SYS_kill)
        signal_process_group(notice, pid);
    else if (pid <= 0 || tasks_are_ours(pid)) /* the kernel has an error for numbers below 1 */
        notice->go_on = true;
    else if (kill(pid, 0) < 0 && errno == ESRCH)
        notice->error = ESRCH;
    else
        refuse_process(notice, pid);
}

static void scheduler_asked(struct notice *notice)
{
    char path[64];
    const pid_t thread = (pid_t)notice->args[0];
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d", (int)notice->pid, (int)thread);
    if (thread <= 0 || may_access(path, F_OK)) /* the kernel has an error for numbers below 0 */
        notice->go_on = true;
    else if (kill(thread, 0) < 0 && errno == ESRCH)
        notice->error = ESRCH;
    else
        refuse_process(notice, thread);
}

notice_fn broker_signals_call(int call)
{
    switch (call) {
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo:
        return signal_asked;
    case SYS_sched_setscheduler:
        return scheduler_asked;
    case SYS_pidfd_send_signal: /* its descriptor may lead elsewhere by then; nobody needs it */
    default:
        return NULL;
    }
}
