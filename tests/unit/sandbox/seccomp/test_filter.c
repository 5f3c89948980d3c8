/* SPDX-License-Identifier: Apache-2.0
 *
 * Every call of the table is made, without the filter and behind it. What is notified is seen as
 * ENOSYS, for nobody listens here. */
#include "unit/sandbox/wallstest.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "sandbox/seccomp/filter_rules.h"
#include "sandbox/seccomp/syscalls.h"

enum { ASKED = ENOSYS };

#define ALL_BITS 0xffffffffL
#define NOWHERE "/nonexistent/file"

struct one_call {
    const char *name;
    long number, args[6];
};

static struct one_call current;

static int make_call(void)
{
    const long *a = current.args;
    return call_result(syscall(current.number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

#define CALL(name, ...)                                                                            \
    {                                                                                              \
        #name, SYS_##name,                                                                         \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define TEXT(s) ((long)(uintptr_t)(s))

/* The wall makes the difference, or the act was forbidden before. */
static void check_pair(const struct one_call *call, const struct filter_wants *wants, int expected)
{
    TEST_CASE(call->name);
    current = *call;
    const struct wall wall = {wants, -1};
    int without = run(make_call, &no_wall);
    int with = run(make_call, &wall);
    TEST_CHECK(with == expected);
    TEST_MSG("behind the wall: %d (%s)", with, strerror(with));
    TEST_CHECK(without != expected || without == EPERM || without == ENOSYS);
    TEST_MSG("without: %d (%s)", without, strerror(without));
}

static const struct filter_wants walls_alone = {.open_network = true};

/* Arguments are such that the call fails or does nothing, even for who may. */
static const struct one_call never[] = {
    CALL(mount, 0),
    CALL(umount2, 0, ALL_BITS),
    CALL(pivot_root, 0),
    CALL(chroot, 0),
    CALL(unshare, 0),
    CALL(setns, -1),
    CALL(open_tree, -1, 0, ALL_BITS),
    CALL(move_mount, -1, 0, -1, 0, ALL_BITS),
    CALL(fsopen, 0, ALL_BITS),
    CALL(fsconfig, -1, ALL_BITS),
    CALL(fsmount, -1, ALL_BITS),
    CALL(fspick, -1, 0, ALL_BITS),
    CALL(mount_setattr, -1, 0, ALL_BITS),
    {"open_tree_attr", CALL_OPEN_TREE_ATTR, {-1, 0, ALL_BITS}},
    CALL(swapon, 0, ALL_BITS),
    CALL(swapoff, 0),
    CALL(acct, 1),
    CALL(quotactl, ALL_BITS),
    {"quotactl_fd", CALL_QUOTACTL_FD, {-1}},
    CALL(bpf, ALL_BITS),
    CALL(userfaultfd, ALL_BITS),
    CALL(perf_event_open, 0, 0, 0, 0, ALL_BITS),
    CALL(lookup_dcookie, 0),
    CALL(init_module, 0),
    CALL(finit_module, -1),
    CALL(delete_module, 0),
    CALL(kexec_load, 0, ALL_BITS, 0, ALL_BITS),
    CALL(kexec_file_load, -1, -1, 0, 0, ALL_BITS),
    CALL(reboot, 0),
    CALL(syslog, 99),
    CALL(io_uring_setup, 0),
    CALL(io_uring_enter, -1),
    CALL(io_uring_register, -1),
    CALL(keyctl, 9999),
    CALL(add_key, 0),
    CALL(request_key, 0),
    CALL(kcmp, -1, -1, ALL_BITS),
    CALL(pidfd_getfd, -1, -1, 1),
    CALL(move_pages, -1, 0, 0, 0, 0, ALL_BITS),
    CALL(migrate_pages, -1, ALL_BITS),
    CALL(open_by_handle_at, -1),
    CALL(fanotify_init, ALL_BITS),
    CALL(mq_open, 0),
    CALL(mq_unlink, 0),
};

static const struct one_call absent[] = {
    CALL(clone3, 0),
    CALL(shmget, IPC_PRIVATE, 0, 0),
    CALL(shmat, -1),
    CALL(shmctl, -1, ALL_BITS),
    CALL(msgget, 1, 0),
    CALL(msgsnd, -1, 0),
    CALL(msgrcv, -1, 0),
    CALL(msgctl, -1, ALL_BITS),
    CALL(semget, 1, -1),
    CALL(semop, -1, 0),
    CALL(semtimedop, -1, 0),
    CALL(semctl, -1, 0, ALL_BITS),
    {"setxattrat", CALL_SETXATTRAT, {-1}},
    {"getxattrat", CALL_GETXATTRAT, {-1}},
    {"listxattrat", CALL_LISTXATTRAT, {-1}},
    {"removexattrat", CALL_REMOVEXATTRAT, {-1}},
    {"file_getattr", CALL_FILE_GETATTR, {-1}},
    {"file_setattr", CALL_FILE_SETATTR, {-1}},
    {"a call to come", CALL_LAST_KNOWN + 1, {0}},
#ifdef __x86_64__
    CALL(uselib, 0),
    {"getpid of x32", 0x40000000 | SYS_getpid, {0}},
#endif
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* What the program answers, by the instructions it is made of: a call that is forbidden to us
 * without a filter too does not show it. */
static uint32_t judge(const struct sock_filter *at, const struct seccomp_data *data)
{
    uint32_t a = 0;
    for (;; at++) {
        bool yes = false;
        switch (at->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            memcpy(&a, (const char *)data + at->k, sizeof a);
            continue;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= at->k;
            continue;
        case BPF_RET | BPF_K:
            return at->k;
        case BPF_JMP | BPF_JEQ | BPF_K:
            yes = a == at->k;
            break;
        case BPF_JMP | BPF_JGT | BPF_K:
            yes = a > at->k;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            yes = (a & at->k) != 0;
            break;
        default:
            TEST_ASSERT_(false, "instruction %#x", at->code);
        }
        at += yes ? at->jt : at->jf;
    }
}

static void check_answers(const struct one_call *calls, size_t n, uint32_t expected)
{
    struct sock_filter *filter = NULL;
    unsigned short count = 0;
    TEST_ASSERT(filter_build(&walls_alone, &filter, &count, NULL) == 0);
    TEST_ASSERT(filter[1].code == (BPF_JMP | BPF_JEQ | BPF_K));
    for (size_t i = 0; i < n; i++) {
        struct seccomp_data data = {.nr = (int)calls[i].number, .arch = filter[1].k};
        for (size_t k = 0; k < COUNT(data.args); k++)
            data.args[k] = (uint64_t)calls[i].args[k];
        TEST_CHECK_(judge(filter, &data) == expected, "%s", calls[i].name);
        data.arch++;
        TEST_CHECK(judge(filter, &data) == SECCOMP_RET_KILL_PROCESS);
    }
    xfree(filter);
}

static const struct one_call usual_calls[] = {
    CALL(read, 0), CALL(execve, 0), CALL(exit_group, 0), CALL(ptrace, 0), CALL(kill, 1, SIGKILL),
};

static void what_no_sandbox_needs_is_refused_to_all(void)
{
    for (size_t i = 0; i < COUNT(never); i++)
        check_pair(&never[i], &walls_alone, EPERM);
    for (size_t i = 0; i < COUNT(absent); i++)
        check_pair(&absent[i], &walls_alone, ENOSYS);
    check_answers(never, COUNT(never), SECCOMP_RET_ERRNO | EPERM);
    check_answers(absent, COUNT(absent), SECCOMP_RET_ERRNO | ENOSYS);
    check_answers(usual_calls, COUNT(usual_calls), SECCOMP_RET_ALLOW);
}

/* --- notified calls --------------------------------------------------------------------------- */

static const uint64_t zeros[8]; /* an open_how for reading, a sched_param */

static const struct one_call changes[] = {
    CALL(mkdirat, AT_FDCWD, TEXT(NOWHERE)),
    CALL(symlinkat, TEXT("x"), AT_FDCWD, TEXT(NOWHERE)),
    CALL(mknodat, AT_FDCWD, TEXT(NOWHERE), S_IFREG),
    CALL(truncate, TEXT(NOWHERE)),
    CALL(fchmod, -1),
    CALL(fchmodat, AT_FDCWD, TEXT(NOWHERE)),
    {"fchmodat2", CALL_FCHMODAT2, {AT_FDCWD, TEXT(NOWHERE)}},
    CALL(fchown, -1),
    CALL(fchownat, AT_FDCWD, TEXT(NOWHERE)),
    CALL(utimensat, AT_FDCWD, TEXT(NOWHERE)),
    CALL(setxattr, TEXT(NOWHERE), TEXT("user.a"), TEXT("b"), 1),
    CALL(lsetxattr, TEXT(NOWHERE), TEXT("user.a"), TEXT("b"), 1),
    CALL(fsetxattr, -1, TEXT("user.a"), TEXT("b"), 1),
    CALL(removexattr, TEXT(NOWHERE), TEXT("user.a")),
    CALL(lremovexattr, TEXT(NOWHERE), TEXT("user.a")),
    CALL(fremovexattr, -1, TEXT("user.a")),
#ifdef __x86_64__
    CALL(mkdir, TEXT(NOWHERE)),
    CALL(symlink, TEXT("x"), TEXT(NOWHERE)),
    CALL(mknod, TEXT(NOWHERE), S_IFREG),
    CALL(chmod, TEXT(NOWHERE)),
    CALL(chown, TEXT(NOWHERE)),
    CALL(lchown, TEXT(NOWHERE)),
    CALL(utime, TEXT(NOWHERE)),
    CALL(utimes, TEXT(NOWHERE)),
    CALL(futimesat, AT_FDCWD, TEXT(NOWHERE)),
#endif
};

static const struct one_call moves[] = {
    CALL(openat2, AT_FDCWD, TEXT(NOWHERE), TEXT(zeros), 24),
    CALL(unlinkat, AT_FDCWD, TEXT(NOWHERE)),
    CALL(renameat2, AT_FDCWD, TEXT(NOWHERE), AT_FDCWD, TEXT(NOWHERE)),
    CALL(linkat, AT_FDCWD, TEXT(NOWHERE), AT_FDCWD, TEXT(NOWHERE)),
#ifdef __x86_64__
    CALL(creat, TEXT(NOWHERE)),
    CALL(rmdir, TEXT(NOWHERE)),
    CALL(unlink, TEXT(NOWHERE)),
    CALL(rename, TEXT(NOWHERE), TEXT(NOWHERE)),
    CALL(link, TEXT(NOWHERE), TEXT(NOWHERE)),
#endif
#ifdef SYS_renameat
    CALL(renameat, AT_FDCWD, TEXT(NOWHERE), AT_FDCWD, TEXT(NOWHERE)),
#endif
};

static const struct one_call opens_to_read[] = {
    CALL(openat, AT_FDCWD, TEXT(NOWHERE), O_RDONLY),
#ifdef __x86_64__
    CALL(open, TEXT(NOWHERE), O_RDONLY),
#endif
};

static const struct one_call opens_to_write[] = {
    CALL(openat, AT_FDCWD, TEXT(NOWHERE), O_WRONLY),
    CALL(openat, AT_FDCWD, TEXT(NOWHERE), O_RDWR),
    CALL(openat, AT_FDCWD, TEXT(NOWHERE), O_RDONLY | O_CREAT),
    CALL(openat, AT_FDCWD, TEXT(NOWHERE), O_RDONLY | O_TRUNC),
    CALL(openat, AT_FDCWD, TEXT(NOWHERE), O_TMPFILE | O_RDWR),
#ifdef __x86_64__
    CALL(open, TEXT(NOWHERE), O_WRONLY),
    CALL(open, TEXT(NOWHERE), O_RDONLY | O_TRUNC),
#endif
};

static void check_all(const struct one_call *calls, size_t n, const struct filter_wants *wants,
                      int expected)
{
    for (size_t i = 0; i < n; i++)
        check_pair(&calls[i], wants, expected);
}

static void check_passes(const struct one_call *calls, size_t n, const struct filter_wants *wants)
{
    const struct wall wall = {wants, -1};
    for (size_t i = 0; i < n; i++) {
        TEST_CASE(calls[i].name);
        current = calls[i];
        int without = run(make_call, &no_wall);
        int with = run(make_call, &wall);
        TEST_CHECK(without == with);
        TEST_MSG("without %d, with %d", without, with);
    }
}

static void with_write_rules_changes_are_asked_for_and_reads_are_not(void)
{
    const struct filter_wants wants = {.listener = true, .writes = true, .open_network = true};
    check_all(changes, COUNT(changes), &wants, ASKED);
    check_all(moves, COUNT(moves), &wants, ASKED);
    check_all(opens_to_write, COUNT(opens_to_write), &wants, ASKED);
    check_passes(opens_to_read, COUNT(opens_to_read), &wants);
}

static void with_read_rules_opens_are_asked_for_and_what_gives_files_other_names(void)
{
    const struct filter_wants wants = {.listener = true, .reads = true, .open_network = true};
    check_all(opens_to_read, COUNT(opens_to_read), &wants, ASKED);
    check_all(opens_to_write, COUNT(opens_to_write), &wants, ASKED);
    check_all(moves, COUNT(moves), &wants, ASKED);
    check_passes(changes, COUNT(changes), &wants);
}

static void without_a_broker_no_file_is_asked_for(void)
{
    const struct filter_wants wants = {.reads = true, .writes = true, .open_network = true};
    check_passes(changes, COUNT(changes), &wants);
    check_passes(moves, COUNT(moves), &wants);
    check_passes(opens_to_read, COUNT(opens_to_read), &wants);
    check_passes(opens_to_write, COUNT(opens_to_write), &wants);
}

/* --- sockets ---------------------------------------------------------------------------------- */

static const struct one_call tcp[] = {
    CALL(socket, AF_INET, SOCK_STREAM),
    CALL(socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP),
    CALL(socket, AF_INET6, SOCK_STREAM),
    CALL(socket, AF_INET6, SOCK_STREAM, IPPROTO_TCP),
};

static const struct one_call udp[] = {
    CALL(socket, AF_INET, SOCK_DGRAM),
    CALL(socket, AF_INET6, SOCK_DGRAM),
};

/* Not every kernel has these, nor lets everybody have them. */
static const struct one_call rare[] = {
    CALL(socket, AF_INET, SOCK_DGRAM, IPPROTO_ICMP),
    CALL(socket, AF_INET, SOCK_RAW, IPPROTO_TCP),
    CALL(socket, AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP),
};

static const struct one_call other_protocols[] = {
    CALL(socket, AF_INET, SOCK_STREAM, IPPROTO_MPTCP),
    CALL(socket, AF_INET6, SOCK_STREAM, IPPROTO_MPTCP),
};

static const struct one_call other_families[] = {
    CALL(socket, AF_PACKET, SOCK_RAW),
    CALL(socket, AF_VSOCK, SOCK_STREAM),
    CALL(socket, AF_ALG, SOCK_SEQPACKET),
    CALL(socket, AF_XDP, SOCK_RAW),
    CALL(socket, AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT),
    CALL(socket, AF_BLUETOOTH, SOCK_STREAM),
};

static const struct one_call route = CALL(socket, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

static const struct one_call unix_streams[] = {
    CALL(socket, AF_UNIX, SOCK_STREAM),
    CALL(socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC),
};

static const struct one_call unix_datagrams[] = {
    CALL(socket, AF_UNIX, SOCK_DGRAM),
    CALL(socket, AF_UNIX, SOCK_RAW), /* a datagram socket by another name */
};

static int sockets[2];

static const struct one_call pair_of_streams =
    CALL(socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, TEXT(sockets));
static const struct one_call pair_of_packets =
    CALL(socketpair, AF_UNIX, SOCK_SEQPACKET, 0, TEXT(sockets));
static const struct one_call pair_of_datagrams =
    CALL(socketpair, AF_UNIX, SOCK_DGRAM, 0, TEXT(sockets));
static const struct one_call pair_of_raw = CALL(socketpair, AF_UNIX, SOCK_RAW, 0, TEXT(sockets));

static const struct one_call naming[] = {
    CALL(connect, -1),
    CALL(bind, -1),
    CALL(listen, -1),
};

static void check_refused(const struct one_call *calls, size_t n, const struct filter_wants *wants,
                          int expected)
{
    const struct wall wall = {wants, -1};
    for (size_t i = 0; i < n; i++) {
        current = calls[i];
        TEST_CHECK(run(make_call, &wall) == expected);
    }
}

/* Some families are not in every kernel, and EAFNOSUPPORT then without a filter too. */
static void check_families(const struct filter_wants *wants)
{
    check_refused(other_families, COUNT(other_families), wants, EAFNOSUPPORT);
    current = (struct one_call)CALL(socket, AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT);
    TEST_CHECK(run(make_call, &no_wall) == 0);
    check_passes(&route, 1, wants);
}

static void check_datagrams_and_pairs(const struct filter_wants *wants)
{
    check_all(unix_datagrams, COUNT(unix_datagrams), wants, EPERM);
    check_all(&pair_of_datagrams, 1, wants, EPERM);
    check_all(&pair_of_raw, 1, wants, EPERM);
    check_passes(&pair_of_streams, 1, wants);
    check_passes(&pair_of_packets, 1, wants);
}

static void a_network_with_rules_is_tcp_and_asked_for(void)
{
    const struct filter_wants wants = {.listener = true, .network = true};
    check_all(tcp, COUNT(tcp), &wants, ASKED);
    check_all(udp, COUNT(udp), &wants, EACCES);
    check_refused(rare, COUNT(rare), &wants, EACCES);
    check_all(other_protocols, COUNT(other_protocols), &wants, EPROTONOSUPPORT);
    check_all(naming, COUNT(naming), &wants, ASKED);
    check_all(unix_streams, COUNT(unix_streams), &wants, EPERM);
    check_datagrams_and_pairs(&wants);
    check_families(&wants);
}

static void without_a_network_or_a_broker_every_internet_socket_is_refused(void)
{
    const struct filter_wants cases[] = {
        {.listener = true}, {.listener = false}, {.network = true, .unix_sockets = true}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        check_all(tcp, COUNT(tcp), &cases[i], EACCES);
        check_all(udp, COUNT(udp), &cases[i], EACCES);
        check_refused(rare, COUNT(rare), &cases[i], EACCES);
        check_all(other_protocols, COUNT(other_protocols), &cases[i], EACCES);
        check_all(unix_streams, COUNT(unix_streams), &cases[i], EPERM);
        check_passes(naming, COUNT(naming), &cases[i]);
        check_datagrams_and_pairs(&cases[i]);
        check_families(&cases[i]);
    }
}

static void unix_sockets_are_asked_for_where_a_path_is_allowed(void)
{
    const struct filter_wants wants = {.listener = true, .unix_sockets = true};
    check_all(unix_streams, COUNT(unix_streams), &wants, ASKED);
    check_all(naming, COUNT(naming), &wants, ASKED);
    check_all(tcp, COUNT(tcp), &wants, EACCES);
    check_datagrams_and_pairs(&wants);
}

static void an_open_network_has_the_walls_alone(void)
{
    const struct filter_wants wants = {.listener = true, .network = true, .open_network = true};
    check_passes(tcp, COUNT(tcp), &wants);
    check_passes(udp, COUNT(udp), &wants);
    check_passes(other_protocols, COUNT(other_protocols), &wants);
    check_passes(unix_streams, COUNT(unix_streams), &wants);
    check_passes(unix_datagrams, COUNT(unix_datagrams), &wants);
    check_passes(&pair_of_datagrams, 1, &wants);
    check_passes(naming, COUNT(naming), &wants);
    check_families(&wants);
}

static const struct one_call fast_opens[] = {
    CALL(sendto, -1, 0, 0, MSG_FASTOPEN | MSG_NOSIGNAL),
    CALL(sendmsg, -1, 0, MSG_FASTOPEN),
    CALL(sendmmsg, -1, 0, 0, MSG_FASTOPEN),
    CALL(setsockopt, -1, IPPROTO_TCP, TCP_FASTOPEN_CONNECT),
};

static const struct one_call routes[] = {
    CALL(setsockopt, -1, IPPROTO_IP, IP_OPTIONS),
    CALL(setsockopt, -1, IPPROTO_IPV6, IPV6_RTHDR),
    CALL(setsockopt, -1, IPPROTO_IPV6, IPV6_2292PKTOPTIONS),
};

static const struct one_call plain_sends[] = {
    CALL(sendto, -1, 0, 0, MSG_NOSIGNAL),
    CALL(sendmsg, -1, 0, MSG_NOSIGNAL),
    CALL(sendmmsg, -1, 0, 0, MSG_NOSIGNAL),
    CALL(setsockopt, -1, IPPROTO_TCP, TCP_NODELAY),
    CALL(setsockopt, -1, SOL_SOCKET, TCP_FASTOPEN_CONNECT),
    CALL(setsockopt, -1, IPPROTO_IP, IP_TOS),
};

static void a_connection_has_no_early_data_and_no_route_of_its_own(void)
{
    const struct filter_wants ruled = {.listener = true, .network = true};
    check_all(fast_opens, COUNT(fast_opens), &ruled, EOPNOTSUPP);
    check_passes(plain_sends, COUNT(plain_sends), &ruled);
    check_passes(fast_opens, COUNT(fast_opens), &walls_alone);
    check_all(routes, COUNT(routes), &ruled, EPERM);
    check_passes(routes, COUNT(routes), &walls_alone);
}

/* --- other processes -------------------------------------------------------------------------- */

static int clone_with(long flags)
{
    long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    return pid < 0 ? errno : waitpid((pid_t)pid, NULL, 0) < 0 ? errno : 0;
}

static long clone_flags;

static int clone_now(void)
{
    return clone_with(clone_flags);
}

static void a_process_is_made_but_no_namespace(void)
{
    static const long namespaces[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                      CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
    const struct wall wall = {&walls_alone, -1};
    for (size_t i = 0; i < COUNT(namespaces); i++) {
        clone_flags = namespaces[i];
        TEST_CHECK(run(clone_now, &wall) == EPERM);
    }
    clone_flags = 0;
    TEST_CHECK(run(clone_now, &wall) == 0);
}

#ifdef __x86_64__
static int fork_now(void)
{
    long pid = syscall(SYS_fork);
    if (pid == 0)
        _exit(0);
    return pid < 0 ? errno : 0;
}

static int vfork_now(void)
{
    pid_t pid = vfork(); /* NOLINT: a child that only ends */
    if (pid == 0)
        _exit(0);
    return pid < 0 ? errno : 0;
}
#endif

static void where_tasks_are_counted_each_is_asked_for(void)
{
    const struct filter_wants counted = {.listener = true, .tasks = true, .open_network = true};
    const struct wall with = {&counted, -1};
    const struct wall without = {&walls_alone, -1};
    clone_flags = 0;
    TEST_CHECK(run(clone_now, &with) == ASKED);
    TEST_CHECK(run(clone_now, &without) == 0);
    clone_flags = CLONE_NEWUSER;
    TEST_CHECK(run(clone_now, &with) == EPERM);
#ifdef __x86_64__
    TEST_CHECK(run(fork_now, &with) == ASKED);
    TEST_CHECK(run(fork_now, &without) == 0);
    TEST_CHECK(run(vfork_now, &with) == ASKED);
    TEST_CHECK(run(vfork_now, &without) == 0);
#endif
}

static const struct one_call signals[] = {
    CALL(kill, -2147483648L),    CALL(tkill, -1),          CALL(tgkill, -1, -1),
    CALL(pidfd_send_signal, -1), CALL(rt_sigqueueinfo, 0), CALL(rt_tgsigqueueinfo, -1, -1),
};

static const struct one_call owners[] = {
    CALL(fcntl, -1, 8 /* F_SETOWN */),
    CALL(fcntl, -1, 15 /* F_SETOWN_EX */),
    CALL(ioctl, -1, 0x8901 /* FIOSETOWN */),
    CALL(ioctl, -1, 0x8902 /* SIOCSPGRP */),
};

static void where_signals_have_no_scope_they_are_asked_for(void)
{
    const struct filter_wants asked = {.listener = true, .signals = true, .open_network = true};
    const struct filter_wants alone = {.signals = true, .open_network = true};
    check_all(signals, COUNT(signals), &asked, ASKED);
    check_all(signals, COUNT(signals), &alone, EPERM);
    check_all(owners, COUNT(owners), &asked, EPERM);
    check_all(owners, COUNT(owners), &alone, EPERM);
    check_passes(signals, COUNT(signals), &walls_alone);
    check_passes(owners, COUNT(owners), &walls_alone);
}

static const struct one_call foreign[] = {
    CALL(prlimit64, -1, RLIMIT_NOFILE),
    CALL(sched_setaffinity, 999999999),
    CALL(sched_setscheduler, 999999999, SCHED_BATCH, TEXT(zeros)),
    CALL(sched_setparam, 999999999, TEXT(zeros)),
    CALL(sched_setattr, 999999999),
    CALL(setpriority, PRIO_PROCESS, 999999999, 19),
    CALL(ioprio_set, 1 /* IOPRIO_WHO_PROCESS */, 999999999),
};

/* A thread of one's own, for all that the filter knows. */
static const struct one_call of_a_thread =
    CALL(sched_setscheduler, 999999999, SCHED_OTHER, TEXT(zeros));

static int be_modest(void)
{
    cpu_set_t cpus;
    struct rlimit limit;
    const struct sched_param normal = {0};
    if (sched_getaffinity(0, sizeof cpus, &cpus) < 0 ||
        sched_setaffinity(0, sizeof cpus, &cpus) < 0 || setpriority(PRIO_PROCESS, 0, 18) < 0 ||
        getrlimit(RLIMIT_NOFILE, &limit) < 0 || setrlimit(RLIMIT_NOFILE, &limit) < 0 ||
        syscall(SYS_sched_setscheduler, 0, SCHED_BATCH, &normal) < 0 ||
        syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &normal) < 0)
        return errno;
    return nice(1) == 19 ? 0 : EDOM;
}

static int slow_all_of_us(void)
{
    return call_result(syscall(SYS_setpriority, PRIO_USER, 0, 0));
}

static int idle(int who)
{
    return call_result(syscall(SYS_ioprio_set, who, 0, 2 << 13 | 4));
}

static int idle_all_of_us(void)
{
    return idle(3 /* IOPRIO_WHO_USER */);
}

static int idle_myself(void)
{
    return idle(1 /* IOPRIO_WHO_PROCESS */);
}

static void priorities_and_limits_are_changed_of_oneself_only(void)
{
    const struct wall wall = {&walls_alone, -1};
    const struct filter_wants brokered = {.listener = true, .open_network = true};
    check_all(foreign, COUNT(foreign), &walls_alone, EPERM);
    check_all(foreign, COUNT(foreign), &brokered, EPERM);
    check_all(&of_a_thread, 1, &brokered, ASKED);
    check_passes(&of_a_thread, 1, &walls_alone);
    TEST_CHECK(run(be_modest, &no_wall) == 0);
    TEST_CHECK(run(be_modest, &wall) == 0);
    TEST_CHECK(run(be_modest, &(struct wall){&brokered, -1}) == 0);
    TEST_CHECK(run(slow_all_of_us, &wall) == EPERM);
    TEST_CHECK(run(idle_myself, &wall) == 0);
    TEST_CHECK(run(idle_all_of_us, &wall) == EPERM);
}

static void terminals_and_flags_of_files_are_left_alone(void)
{
    static const struct one_call refused[] = {
        CALL(ioctl, -1, TIOCSTI),
        CALL(ioctl, -1, TIOCLINUX),
        CALL(ioctl, -1, FS_IOC_SETFLAGS),
        CALL(ioctl, -1, FS_IOC_FSSETXATTR),
        CALL(ioctl, -1, 0x40806685), /* FS_IOC_ENABLE_VERITY */
        CALL(ioctl, -1, 0x50009417), /* BTRFS_IOC_SNAP_CREATE_V2 */
        CALL(ioctl, -1, 0x4040bc10), /* BCH_IOCTL_SUBVOLUME_CREATE */
        {"ioctl with a high half", SYS_ioctl, {-1, (long)(0x100000000UL | TIOCSTI)}},
    };
    static const struct one_call usual[] = {CALL(ioctl, -1, TIOCGWINSZ), CALL(ioctl, -1, FICLONE)};
    check_all(refused, COUNT(refused), &walls_alone, EPERM);
    check_passes(usual, COUNT(usual), &walls_alone);
}

/* --- the program itself ----------------------------------------------------------------------- */

#ifdef __x86_64__
static int call_as_i386(void)
{
    long r = 20; /* getpid there, writev here */
    __asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
    return r > 0 ? 0 : ENOSYS;
}

static void a_call_of_another_architecture_ends_the_process(void)
{
    const struct wall wall = {&walls_alone, -1};
    int without = run(call_as_i386, &no_wall);
    TEST_CHECK(without == 0 || without == ENOSYS || without == ENDED_BY_SIGNAL + SIGSEGV);
    TEST_CHECK(run(call_as_i386, &wall) == ENDED_BY_SIGNAL + SIGSYS);
}
#endif

static void rows_of_one_call_stand_together(void)
{
    for (size_t i = 1; i < filter_rule_count; i++)
        for (size_t k = 0; k + 1 < i; k++)
            TEST_CHECK(filter_rules[k].call != filter_rules[i].call ||
                       filter_rules[i - 1].call == filter_rules[i].call);
}

static bool in_list(const struct one_call *calls, size_t n, long number)
{
    for (size_t i = 0; i < n; i++)
        if (calls[i].number == number)
            return true;
    return false;
}

static bool has_test(long number)
{
    static const long by_hand[] = {
        /* also in test_filter_counted.c */
        SYS_clone, SYS_prctl, SYS_socketpair, SYS_fallocate, SYS_close_range, SYS_vmsplice,
#ifdef __x86_64__
        SYS_fork,  SYS_vfork,
#endif
    };
    for (size_t i = 0; i < COUNT(by_hand); i++)
        if (by_hand[i] == number)
            return true;
    return in_list(never, COUNT(never), number) || in_list(absent, COUNT(absent), number) ||
           in_list(changes, COUNT(changes), number) || in_list(moves, COUNT(moves), number) ||
           in_list(opens_to_read, COUNT(opens_to_read), number) ||
           in_list(tcp, COUNT(tcp), number) || in_list(naming, COUNT(naming), number) ||
           in_list(fast_opens, COUNT(fast_opens), number) ||
           in_list(signals, COUNT(signals), number) || in_list(owners, COUNT(owners), number) ||
           in_list(foreign, COUNT(foreign), number);
}

static void every_call_of_the_table_has_a_test_here(void)
{
    for (size_t i = 0; i < filter_rule_count; i++) {
        TEST_CHECK(has_test(filter_rules[i].call));
        TEST_MSG("call %d", filter_rules[i].call);
    }
}

static void the_largest_program_fits(void)
{
    const struct filter_wants all = {.listener = true,
                                     .reads = true,
                                     .writes = true,
                                     .network = true,
                                     .unix_sockets = true,
                                     .tasks = true,
                                     .signals = true,
                                     .counted = true,
                                     .disk = true};
    struct sock_filter *filter = NULL;
    unsigned short count = 0;
    TEST_ASSERT(filter_build(&all, &filter, &count, NULL) == 0);
    TEST_CHECK(count > 100 && count < FILTER_MAX / 2);
    TEST_MSG("%d instructions", count);
    xfree(filter);
}

static void *nothing(void *arg)
{
    return arg;
}

static int live(void)
{
    pthread_t thread;
    pid_t pid = fork();
    if (pid == 0)
        _exit(3);
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 3)
        return errno ? errno : EDOM;
    return pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL) ? EDOM : 0;
}

static void ordinary_life_goes_on(void)
{
    TEST_CHECK(run(live, &(struct wall){&walls_alone, -1}) == 0);
    TEST_CHECK(run(live, &(struct wall){&(struct filter_wants){.writes = true}, -1}) == 0);
}

#define NAMED(function) {#function, function}

TEST_LIST = {NAMED(what_no_sandbox_needs_is_refused_to_all),
             NAMED(with_write_rules_changes_are_asked_for_and_reads_are_not),
             NAMED(with_read_rules_opens_are_asked_for_and_what_gives_files_other_names),
             NAMED(without_a_broker_no_file_is_asked_for),
             NAMED(a_network_with_rules_is_tcp_and_asked_for),
             NAMED(without_a_network_or_a_broker_every_internet_socket_is_refused),
             NAMED(unix_sockets_are_asked_for_where_a_path_is_allowed),
             NAMED(an_open_network_has_the_walls_alone),
             NAMED(a_connection_has_no_early_data_and_no_route_of_its_own),
             NAMED(a_process_is_made_but_no_namespace),
             NAMED(where_tasks_are_counted_each_is_asked_for),
             NAMED(where_signals_have_no_scope_they_are_asked_for),
             NAMED(priorities_and_limits_are_changed_of_oneself_only),
             NAMED(terminals_and_flags_of_files_are_left_alone),
#ifdef __x86_64__
             NAMED(a_call_of_another_architecture_ends_the_process),
#endif
             NAMED(rows_of_one_call_stand_together),
             NAMED(every_call_of_the_table_has_a_test_here),
             NAMED(the_largest_program_fits),
             NAMED(ordinary_life_goes_on),
             {NULL, NULL}};
