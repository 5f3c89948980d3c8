/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <sys/syscall.h>

#include "sandbox/broker/broker_internal.h"

struct call_name {
    int call;
    const char *name;
};

static const struct call_name names[] = {
    {SYS_openat, "openat"},
    {SYS_openat2, "openat2"},
    {SYS_mkdirat, "mkdirat"},
    {SYS_unlinkat, "unlinkat"},
#ifdef SYS_renameat
    {SYS_renameat, "renameat"},
#endif
    {SYS_renameat2, "renameat2"},
    {SYS_linkat, "linkat"},
    {SYS_symlinkat, "symlinkat"},
    {SYS_mknodat, "mknodat"},
    {SYS_truncate, "truncate"},
    {SYS_fchmod, "fchmod"},
    {SYS_fchmodat, "fchmodat"},
    {SYS_fchmodat2, "fchmodat2"},
    {SYS_fchown, "fchown"},
    {SYS_fchownat, "fchownat"},
    {SYS_utimensat, "utimensat"},
    {SYS_setxattr, "setxattr"},
    {SYS_lsetxattr, "lsetxattr"},
    {SYS_fsetxattr, "fsetxattr"},
    {SYS_removexattr, "removexattr"},
    {SYS_lremovexattr, "lremovexattr"},
    {SYS_fremovexattr, "fremovexattr"},
    {SYS_ioctl, "ioctl"},
    {SYS_clone, "clone"},
    {SYS_socket, "socket"},
    {SYS_connect, "connect"},
    {SYS_bind, "bind"},
    {SYS_listen, "listen"},
    {SYS_sched_setscheduler, "sched_setscheduler"},
    {SYS_kill, "kill"},
    {SYS_tkill, "tkill"},
    {SYS_tgkill, "tgkill"},
    {SYS_rt_sigqueueinfo, "rt_sigqueueinfo"},
    {SYS_rt_tgsigqueueinfo, "rt_tgsigqueueinfo"},
    {SYS_pidfd_send_signal, "pidfd_send_signal"},
#ifdef SYS_open /* the calls that younger architectures do without */
    {SYS_open, "open"},
    {SYS_creat, "creat"},
    {SYS_mkdir, "mkdir"},
    {SYS_rmdir, "rmdir"},
    {SYS_unlink, "unlink"},
    {SYS_rename, "rename"},
    {SYS_link, "link"},
    {SYS_symlink, "symlink"},
    {SYS_mknod, "mknod"},
    {SYS_chmod, "chmod"},
    {SYS_chown, "chown"},
    {SYS_lchown, "lchown"},
    {SYS_utime, "utime"},
    {SYS_utimes, "utimes"},
    {SYS_futimesat, "futimesat"},
    {SYS_fork, "fork"},
    {SYS_vfork, "vfork"},
#endif
};

const char *broker_call_name(int call)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].call == call)
            return names[i].name;
    return "system call";
}
