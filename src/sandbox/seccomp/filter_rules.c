/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/seccomp/filter_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "sandbox/preload/opens_mark.h"
#include "sandbox/seccomp/syscalls.h"

#define ALLOW SECCOMP_RET_ALLOW
#define ASK SECCOMP_RET_USER_NOTIF
#define REFUSE(code) (SECCOMP_RET_ERRNO | (code))

#define EQUAL(arg, value) {TEST_EQUAL, arg, value, 0}
#define MASKED(arg, mask, value) {TEST_EQUAL, arg, value, mask}
#define OTHER(arg, value) {TEST_OTHER, arg, value, 0}
#define ANY_BIT(arg, bits) {TEST_ANY_BIT, arg, bits, 0}

#define ROW(name, when, answer)                                                                    \
    {                                                                                              \
        SYS_##name, WHEN_##when, answer,                                                           \
        {{0}}                                                                                      \
    }
#define NEVER(name) ROW(name, ALWAYS, REFUSE(EPERM))
#define ABSENT(name) ROW(name, ALWAYS, REFUSE(ENOSYS))
#define SIGNAL(name) ROW(name, SIGNALS, ASK), ROW(name, NO_SIGNALS, REFUSE(EPERM))
#define IF(name, when, answer, ...)                                                                \
    {                                                                                              \
        SYS_##name, WHEN_##when, answer,                                                           \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define NUMBER(number, when, answer)                                                               \
    {                                                                                              \
        number, WHEN_##when, answer,                                                               \
        {{0}}                                                                                      \
    }

/* An open for which the file need not be writable has none of these. */
#define OPEN_WRITES ((uint32_t)(O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))

/* An open of a terminal has one of these, unless it is for reading alone. */
#define OPEN_TERMINAL ((uint32_t)(O_WRONLY | O_RDWR | O_NOCTTY))

#define NEW_NAMESPACES                                                                             \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)

/* Of younger headers than some. */
#define FILE_ENABLE_VERITY 0x40806685U  /* FS_IOC_ENABLE_VERITY */
#define FILE_SET_ENCRYPTION 0x800c6613U /* FS_IOC_SET_ENCRYPTION_POLICY */

enum { /* of headers that contradict each other between the C libraries */
       SOCKET_TYPE = 0xf,
       TCP_OPTION_FASTOPEN_CONNECT = 30,
       IPV6_OLD_PACKET_OPTIONS = 6, /* IPV6_2292PKTOPTIONS: several at once */
       PRIORITY_OF_USER = 2,        /* setpriority(PRIO_USER) */
       IO_PRIORITY_OF_USER = 3,
       TTY_PUSH_BYTE = 0x5412, /* TIOCSTI */
       TTY_LINUX = 0x541C,     /* TIOCLINUX */
       TTY_OPEN_PEER = 0x5441, /* TIOCGPTPEER */
       IOCTL_KIND = 0xff00,    /* _IOC_TYPE */
       IOCTL_OF_BTRFS = 0x9400,
       IOCTL_OF_BCACHEFS = 0xbc00,
       FILE_SET_OWNER = 8,     /* F_SETOWN */
       FILE_SET_OWNER_EX = 15, /* F_SETOWN_EX */
       SOCKET_SET_OWNER = 0x8901,
       SOCKET_SET_GROUP = 0x8902,
       MESSAGE_FASTOPEN = 0x20000000
};

const struct filter_rule filter_rules[] = {
    /* Files. Calls that are made most often stand first. */
    IF(openat, MARKS, ALLOW, EQUAL(4, OPENS_MARK_5TH), EQUAL(5, OPENS_MARK_6TH),
       MASKED(2, ~(uint32_t)OPENS_FLAGS, 0)),
    ROW(openat, READS, ASK),
    IF(openat, TERMINALS, ASK, ANY_BIT(2, OPEN_TERMINAL), MASKED(2, O_EXCL, 0)),
    IF(openat, LISTS, ASK, ANY_BIT(2, O_DIRECTORY)),
    IF(openat, WRITES_ONLY, ASK, ANY_BIT(2, OPEN_WRITES)),
    IF(openat, OLD_FLOOR, REFUSE(EPERM), MASKED(2, O_ACCMODE, O_RDONLY), ANY_BIT(2, O_TRUNC)),
    ROW(openat2, MOVES, ASK),
    ROW(openat2, OLD_FLOOR, REFUSE(ENOSYS)), /* its flags are in memory */
    ROW(mkdirat, WRITES, ASK),
    ROW(unlinkat, MOVES, ASK),
    ROW(renameat2, MOVES, ASK),
    ROW(linkat, MOVES, ASK),
    ROW(symlinkat, WRITES, ASK),
    ROW(mknodat, WRITES, ASK),
    ROW(truncate, WRITES, ASK),
    ROW(truncate, OLD_FLOOR, REFUSE(EPERM)),
    ROW(fchmod, ATTRIBUTES, ASK),
    ROW(fchmodat, ATTRIBUTES, ASK),
    NUMBER(CALL_FCHMODAT2, ATTRIBUTES, ASK),
    ROW(fchown, ATTRIBUTES, ASK),
    ROW(fchownat, ATTRIBUTES, ASK),
    ROW(utimensat, ATTRIBUTES, ASK),
    ROW(setxattr, ATTRIBUTES, ASK),
    ROW(lsetxattr, ATTRIBUTES, ASK),
    ROW(fsetxattr, ATTRIBUTES, ASK),
    ROW(removexattr, ATTRIBUTES, ASK),
    ROW(lremovexattr, ATTRIBUTES, ASK),
    ROW(fremovexattr, ATTRIBUTES, ASK),
    NUMBER(CALL_SETXATTRAT, ALWAYS, REFUSE(ENOSYS)),
    NUMBER(CALL_GETXATTRAT, ALWAYS, REFUSE(ENOSYS)),
    NUMBER(CALL_LISTXATTRAT, ALWAYS, REFUSE(ENOSYS)),
    NUMBER(CALL_REMOVEXATTRAT, ALWAYS, REFUSE(ENOSYS)),
    NUMBER(CALL_FILE_GETATTR, ALWAYS, REFUSE(ENOSYS)),
    NUMBER(CALL_FILE_SETATTR, ALWAYS, REFUSE(ENOSYS)),
    ROW(vmsplice, MEMORY, REFUSE(EPERM)),     /* memory that is in a pipe alone */
    ROW(fallocate, DISK, REFUSE(EOPNOTSUPP)), /* space that nobody has written */
    NEVER(open_by_handle_at),
    NEVER(fanotify_init),
    NEVER(mq_open),
    NEVER(mq_unlink),

    /* Sockets. A refusal looks like that of a system without the thing, where there are such. */
    /* What waits in them of senders that are closed, nobody can see. */
    IF(socket, MEMORY, REFUSE(EPERM), EQUAL(0, AF_UNIX), MASKED(1, SOCKET_TYPE, SOCK_DGRAM)),
    IF(socket, MEMORY, REFUSE(EPERM), EQUAL(0, AF_UNIX), MASKED(1, SOCKET_TYPE, SOCK_RAW)),
    IF(socket, UNIX, ASK, EQUAL(0, AF_UNIX), MASKED(1, SOCKET_TYPE, SOCK_STREAM)),
    IF(socket, UNIX, ASK, EQUAL(0, AF_UNIX), MASKED(1, SOCKET_TYPE, SOCK_SEQPACKET)),
    IF(socket, RULED_NET, REFUSE(EPERM), EQUAL(0, AF_UNIX)), /* a datagram's address is in memory */
    IF(socket, NET, ASK, EQUAL(0, AF_INET), MASKED(1, SOCKET_TYPE, SOCK_STREAM), EQUAL(2, 0)),
    IF(socket, NET, ASK, EQUAL(0, AF_INET), MASKED(1, SOCKET_TYPE, SOCK_STREAM),
       EQUAL(2, IPPROTO_TCP)),
    IF(socket, NET, REFUSE(EPROTONOSUPPORT), EQUAL(0, AF_INET),
       MASKED(1, SOCKET_TYPE, SOCK_STREAM)),
    IF(socket, RULED_NET, REFUSE(EACCES), EQUAL(0, AF_INET)),
    IF(socket, NET, ASK, EQUAL(0, AF_INET6), MASKED(1, SOCKET_TYPE, SOCK_STREAM), EQUAL(2, 0)),
    IF(socket, NET, ASK, EQUAL(0, AF_INET6), MASKED(1, SOCKET_TYPE, SOCK_STREAM),
       EQUAL(2, IPPROTO_TCP)),
    IF(socket, NET, REFUSE(EPROTONOSUPPORT), EQUAL(0, AF_INET6),
       MASKED(1, SOCKET_TYPE, SOCK_STREAM)),
    IF(socket, RULED_NET, REFUSE(EACCES), EQUAL(0, AF_INET6)),
    IF(socket, OPEN_NET, ALLOW, EQUAL(0, AF_UNIX)),
    IF(socket, OPEN_NET, ALLOW, EQUAL(0, AF_INET)),
    IF(socket, OPEN_NET, ALLOW, EQUAL(0, AF_INET6)),
    IF(socket, ALWAYS, ALLOW, EQUAL(0, AF_NETLINK), EQUAL(2, 0)), /* NETLINK_ROUTE */
    ROW(socket, ALWAYS, REFUSE(EAFNOSUPPORT)),
    IF(socketpair, MEMORY, REFUSE(EPERM), MASKED(1, SOCKET_TYPE, SOCK_DGRAM)),
    IF(socketpair, MEMORY, REFUSE(EPERM), MASKED(1, SOCKET_TYPE, SOCK_RAW)),
    IF(socketpair, RULED_NET, ALLOW, MASKED(1, SOCKET_TYPE, SOCK_STREAM)),
    IF(socketpair, RULED_NET, ALLOW, MASKED(1, SOCKET_TYPE, SOCK_SEQPACKET)),
    ROW(socketpair, RULED_NET, REFUSE(EPERM)),
    ROW(connect, SOCKETS, ASK),
    ROW(bind, SOCKETS, ASK),
    ROW(listen, SOCKETS, ASK),
    IF(sendto, RULED_NET, REFUSE(EOPNOTSUPP), ANY_BIT(3, MESSAGE_FASTOPEN)),
    IF(sendmsg, RULED_NET, REFUSE(EOPNOTSUPP), ANY_BIT(2, MESSAGE_FASTOPEN)),
    IF(sendmmsg, RULED_NET, REFUSE(EOPNOTSUPP), ANY_BIT(3, MESSAGE_FASTOPEN)),
    IF(setsockopt, RULED_NET, REFUSE(EOPNOTSUPP), EQUAL(1, IPPROTO_TCP),
       EQUAL(2, TCP_OPTION_FASTOPEN_CONNECT)),
    /* A route of one's own sends the packets of an allowed connection to any host first. */
    IF(setsockopt, RULED_NET, REFUSE(EPERM), EQUAL(1, IPPROTO_IP), EQUAL(2, IP_OPTIONS)),
    IF(setsockopt, RULED_NET, REFUSE(EPERM), EQUAL(1, IPPROTO_IPV6), EQUAL(2, IPV6_RTHDR)),
    IF(setsockopt, RULED_NET, REFUSE(EPERM), EQUAL(1, IPPROTO_IPV6),
       EQUAL(2, IPV6_OLD_PACKET_OPTIONS)),

    /* Other processes. */
    IF(clone, ALWAYS, REFUSE(EPERM), ANY_BIT(0, NEW_NAMESPACES)),
    /* A thread with descriptors of its own, which /proc/PID/fd does not show. */
    IF(clone, ALWAYS, REFUSE(EPERM), MASKED(0, CLONE_THREAD | CLONE_FILES, CLONE_THREAD)),
    ROW(clone, TASKS, ASK),
    /* So it would become one. The answer is that of a kernel without the flag. */
    IF(close_range, ALWAYS, REFUSE(EINVAL), ANY_BIT(2, CLOSE_RANGE_UNSHARE)),
    ROW(clone3, ALWAYS, REFUSE(ENOSYS)), /* its flags are in memory; libraries fall back to clone */
    SIGNAL(kill),
    SIGNAL(tkill),
    SIGNAL(tgkill),
    SIGNAL(pidfd_send_signal),
    SIGNAL(rt_sigqueueinfo),
    SIGNAL(rt_tgsigqueueinfo),
    IF(fcntl, SIGNALS_ANY, REFUSE(EPERM), EQUAL(1, FILE_SET_OWNER)), /* SIGIO to anyone */
    IF(fcntl, SIGNALS_ANY, REFUSE(EPERM), EQUAL(1, FILE_SET_OWNER_EX)),
    NEVER(kcmp),
    NEVER(pidfd_getfd),
    NEVER(move_pages),
    NEVER(migrate_pages),
    /* Another's priority and limits are open to the same uid, so only one's own: 0. A thread's
     * number is no less foreign to a filter than a process's. */
    IF(prlimit64, ALWAYS, REFUSE(EPERM), OTHER(0, 0)),
    IF(sched_setaffinity, ALWAYS, REFUSE(EPERM), OTHER(0, 0)),
    /* libzmq for one sets the policy of its own threads, by number, to what it is. A broker knows
     * whose thread that is. */
    IF(sched_setscheduler, BROKER, ASK, EQUAL(1, SCHED_OTHER), OTHER(0, 0)),
    IF(sched_setscheduler, ALWAYS, ALLOW, EQUAL(1, SCHED_OTHER)),
    IF(sched_setscheduler, ALWAYS, REFUSE(EPERM), OTHER(0, 0)),
    IF(sched_setparam, ALWAYS, REFUSE(EPERM), OTHER(0, 0)),
    IF(sched_setattr, ALWAYS, REFUSE(EPERM), OTHER(0, 0)),
    IF(setpriority, ALWAYS, REFUSE(EPERM), OTHER(1, 0)),
    IF(setpriority, ALWAYS, REFUSE(EPERM), EQUAL(0, PRIORITY_OF_USER)),
    IF(ioprio_set, ALWAYS, REFUSE(EPERM), OTHER(1, 0)),
    IF(ioprio_set, ALWAYS, REFUSE(EPERM), EQUAL(0, IO_PRIORITY_OF_USER)),
    /* One that is not dumpable cannot be read by its broker. The answer is success. */
    IF(prctl, READ, REFUSE(0), EQUAL(0, PR_SET_DUMPABLE)),

    /* Memory and queues that belong to a uid and not to a sandbox. */
    ABSENT(shmget),
    ABSENT(shmat),
    ABSENT(shmctl),
    ABSENT(msgget),
    ABSENT(msgsnd),
    ABSENT(msgrcv),
    ABSENT(msgctl),
    ABSENT(semget),
    ABSENT(semop),
    ABSENT(semtimedop),
    ABSENT(semctl),
    NEVER(keyctl),
    NEVER(add_key),
    NEVER(request_key),

    /* Devices: what puts words into another's terminal, or flags on a file that outlive us. */
    IF(ioctl, ALWAYS, REFUSE(EPERM), EQUAL(1, TTY_PUSH_BYTE)),
    IF(ioctl, ALWAYS, REFUSE(EPERM), EQUAL(1, TTY_LINUX)),
    IF(ioctl, TERMINALS, ASK, EQUAL(1, TTY_OPEN_PEER)), /* to Landlock it is an open */
    IF(ioctl, ALWAYS, REFUSE(EPERM), EQUAL(1, FS_IOC_SETFLAGS)),
    IF(ioctl, ALWAYS, REFUSE(EPERM), EQUAL(1, FS_IOC_FSSETXATTR)),
    IF(ioctl, ALWAYS, REFUSE(EPERM), EQUAL(1, FILE_ENABLE_VERITY)),
    IF(ioctl, ALWAYS, REFUSE(EPERM), EQUAL(1, FILE_SET_ENCRYPTION)),
    /* Subvolumes and snapshots: names, and copies of files under others, of which Landlock does not
     * hear. Sharing the bytes of open files has numbers among them. */
    IF(ioctl, ALWAYS, ALLOW, EQUAL(1, FICLONE)),
    IF(ioctl, ALWAYS, ALLOW, EQUAL(1, FICLONERANGE)),
    IF(ioctl, ALWAYS, ALLOW, EQUAL(1, FIDEDUPERANGE)),
    IF(ioctl, ALWAYS, REFUSE(EPERM), MASKED(1, IOCTL_KIND, IOCTL_OF_BTRFS)),
    IF(ioctl, ALWAYS, REFUSE(EPERM), MASKED(1, IOCTL_KIND, IOCTL_OF_BCACHEFS)),
    IF(ioctl, SIGNALS_ANY, REFUSE(EPERM), EQUAL(1, SOCKET_SET_OWNER)),
    IF(ioctl, SIGNALS_ANY, REFUSE(EPERM), EQUAL(1, SOCKET_SET_GROUP)),

    /* Calls beside the table of files: what they do, no rule here sees. */
    NEVER(io_uring_setup),
    NEVER(io_uring_enter),
    NEVER(io_uring_register),

    /* The system. */
    NEVER(mount),
    NEVER(umount2),
    NEVER(pivot_root),
    NEVER(chroot),
    NEVER(unshare),
    NEVER(setns),
    NEVER(open_tree),
    NEVER(move_mount),
    NEVER(fsopen),
    NEVER(fsconfig),
    NEVER(fsmount),
    NEVER(fspick),
    NEVER(mount_setattr),
    NUMBER(CALL_OPEN_TREE_ATTR, ALWAYS, REFUSE(EPERM)),
    NEVER(swapon),
    NEVER(swapoff),
    NEVER(acct),
    NEVER(quotactl),
    NUMBER(CALL_QUOTACTL_FD, ALWAYS, REFUSE(EPERM)),
    NEVER(bpf),
    NEVER(userfaultfd),
    NEVER(perf_event_open),
    NEVER(lookup_dcookie),
    NEVER(init_module),
    NEVER(finit_module),
    NEVER(delete_module),
    NEVER(kexec_load),
    NEVER(kexec_file_load),
    NEVER(reboot),
    NEVER(syslog),

#ifdef __x86_64__
    /* Calls that later architectures no longer have. */
    ROW(open, READS, ASK),
    IF(open, TERMINALS, ASK, ANY_BIT(1, OPEN_TERMINAL), MASKED(1, O_EXCL, 0)),
    IF(open, LISTS, ASK, ANY_BIT(1, O_DIRECTORY)),
    IF(open, WRITES_ONLY, ASK, ANY_BIT(1, OPEN_WRITES)),
    IF(open, OLD_FLOOR, REFUSE(EPERM), MASKED(1, O_ACCMODE, O_RDONLY), ANY_BIT(1, O_TRUNC)),
    ROW(creat, MOVES, ASK),
    ROW(mkdir, WRITES, ASK),
    ROW(rmdir, MOVES, ASK),
    ROW(unlink, MOVES, ASK),
    ROW(rename, MOVES, ASK),
    ROW(link, MOVES, ASK),
    ROW(symlink, WRITES, ASK),
    ROW(mknod, WRITES, ASK),
    ROW(chmod, ATTRIBUTES, ASK),
    ROW(chown, ATTRIBUTES, ASK),
    ROW(lchown, ATTRIBUTES, ASK),
    ROW(utime, ATTRIBUTES, ASK),
    ROW(utimes, ATTRIBUTES, ASK),
    ROW(futimesat, ATTRIBUTES, ASK),
    ROW(fork, TASKS, ASK),
    ROW(vfork, TASKS, ASK),
    ABSENT(uselib),
#endif
#ifdef SYS_renameat
    ROW(renameat, MOVES, ASK),
#endif
};

const size_t filter_rule_count = sizeof filter_rules / sizeof *filter_rules;
