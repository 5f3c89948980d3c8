/* SPDX-License-Identifier: Apache-2.0
 *
 * A child plays the broker: same uid, no capability. Its own children play who is confined: one
 * enters a Landlock domain, one a filter, and one waits behind a listener for a call that names
 * memory of its own. That one has to be dumpable, and is a copy of us for some milliseconds: probe
 * before there is anyone inside the sandbox. */
#include "sandbox/confine/level.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/service.h"
#include "base/unixsock.h"
#include "sandbox/landlock/landlock_abi.h"
#include "sandbox/landlock/ruleset.h"

enum {
    NEW_LISTENER = 1 << 3, /* SECCOMP_FILTER_FLAG_NEW_LISTENER */
    SEND_ALSO = 1 << 1,    /* SECCOMP_ADDFD_FLAG_SEND */
    WAIT_MS = 2000,
    WORD = 16,
    STATUS_OF_A_CRASH = EIO
};

/* The call that the one behind the listener makes; nobody else does meanwhile. */
#define ASKED_CALL SYS_mkdirat
static const char asked_word[WORD] = "is this legible";

struct tried { /* what the child tells */
    int landlock, filter, listener, memory, open, peer;
    int read_fast;
};

/* Runs `act` in a child, which answers 0 or an errno. */
static int in_child(int (*act)(void *ctx), void *ctx)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(act(ctx));
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_OF_A_CRASH;
}

/* --- who is confined -------------------------------------------------------------------------- */

static int enter_probe_landlock(void *ctx)
{
    (void)ctx;
    const struct landlock_rights rights = landlock_rights_of(landlock_abi());
    const struct landlock_wants wants = {.fs = LANDLOCK_MAKE_BLOCK, .scoped = rights.scoped};
    drop_fd int ruleset = landlock_create(&wants);
    drop_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (ruleset < 0 || root < 0 || landlock_add_path(ruleset, LANDLOCK_MAKE_BLOCK, root) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return errno;
    return landlock_restrict(ruleset, 0) < 0 ? errno : 0;
}

/* A listener or 0; -1 with errno. */
static int install_probe_filter(unsigned flags, uint32_t answer)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ASKED_CALL, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static int enter_filter(void *ctx)
{
    (void)ctx;
    if (install_probe_filter(0, SECCOMP_RET_ERRNO | EXDEV) < 0)
        return errno;
    return syscall(ASKED_CALL, -1, NULL, 0) < 0 && errno == EXDEV ? 0 : ENOSYS;
}

/* Asks for a descriptor by way of the listener, and looks at what it got. */
static int ask_for_listener(int sock)
{
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
        return errno;
    int listener = install_probe_filter(NEW_LISTENER, SECCOMP_RET_USER_NOTIF);
    if (listener < 0)
        return errno;
    int r = unixsock_send(sock, "", 1, &listener, 1, 0);
    if (r < 0)
        return -r;
    (void)close(listener);
    char word[WORD];
    memcpy(word, asked_word, sizeof word);
    long fd = syscall(ASKED_CALL, -1, word, 0);
    struct stat st;
    if (fd < 0)
        return errno;
    return fstat((int)fd, &st) == 0 && S_ISFIFO(st.st_mode) ? 0 : EBADF;
}

/* Whose number a socket tells that the parent has made: gVisor tells everybody his own. */
static int look_at_socket_peer(void *ctx)
{
    const int *end = ctx;
    struct ucred peer;
    socklen_t n = sizeof peer;
    if (getsockopt(*end, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
        return errno;
    return peer.pid == getppid() ? 0 : ESRCH;
}

/* --- who plays the broker --------------------------------------------------------------------- */

static int read_probe_memory(pid_t pid, uint64_t at)
{
    char path[64], word[WORD];
    (void)snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    ssize_t got = pread(fd, word, sizeof word, (off_t)at);
    const int code = errno;
    (void)close(fd);
    if (got < 0)
        return code;
    return got == WORD && memcmp(word, asked_word, WORD) == 0 ? 0 : EIO;
}

static bool read_fast(pid_t pid, uint64_t at)
{
    char word[WORD];
    const struct iovec here = {word, sizeof word};
    const struct iovec there = {(void *)(uintptr_t)at, sizeof word};
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == WORD &&
           memcmp(word, asked_word, WORD) == 0;
}

/* As the broker opens every path: nothing else resolves a name without its links. */
static int try_broker_open(void)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_DIRECTORY,
                                 .resolve = RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS};
    drop_fd int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how);
    return fd < 0 ? errno : 0;
}

static int try_notice_sizes(void)
{
    struct seccomp_notif_sizes sizes;
    return syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0 ? errno : 0;
}

/* The write end of a pipe, which looks like nothing that the other has by itself. */
static int give_listener(int listener, uint64_t id)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return errno;
    struct seccomp_notif_addfd gift = {.id = id, .flags = SEND_ALSO, .srcfd = (unsigned)ends[1]};
    int r = syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_ADDFD, &gift) < 0 ? errno : 0;
    (void)close(ends[0]);
    (void)close(ends[1]);
    return r;
}

static void serve_probe(int listener, struct tried *tried)
{
    struct seccomp_notif notice = {0};
    struct pollfd poller = {.fd = listener, .events = POLLIN};
    if (poll(&poller, 1, WAIT_MS) != 1 || !(poller.revents & POLLIN)) {
        tried->listener = ETIMEDOUT;
        return;
    }
    if (syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &notice) < 0) {
        tried->listener = errno;
        return;
    }
    const pid_t pid = (pid_t)notice.pid;
    tried->memory = read_probe_memory(pid, notice.data.args[1]);
    tried->read_fast = read_fast(pid, notice.data.args[1]);
    tried->listener = give_listener(listener, notice.id);
}

static void try_listener(struct tried *tried)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        tried->listener = errno;
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        _exit(ask_for_listener(ends[1]));
    }
    (void)close(ends[1]);
    char byte;
    int listener = -1;
    size_t count = 0;
    if (pid > 0 && unixsock_receive(ends[0], &byte, 1, &listener, 1, &count) == 0 && count == 1)
        serve_probe(listener, tried);
    (void)fd_close(listener); /* one who still waits gets ENOSYS */
    (void)close(ends[0]);
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        tried->listener = errno;
    else if (tried->listener == 0)
        tried->listener = WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_OF_A_CRASH;
}

static int try_peer(void)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return errno;
    int code = in_child(look_at_socket_peer, &ends[0]);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return code;
}

static int play_broker(void *ctx)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    int r = service_give_up();
    if (r < 0)
        return -r;
    if (syscall(SYS_capset, &head, none) < 0)
        return errno;
    struct tried tried = {0};
    tried.landlock = in_child(enter_probe_landlock, NULL);
    tried.filter = in_child(enter_filter, NULL);
    tried.open = try_broker_open();
    tried.listener = tried.filter != 0 ? tried.filter : try_notice_sizes();
    if (tried.listener == 0)
        try_listener(&tried);
    if (tried.listener != 0 && tried.memory == 0 && !tried.read_fast)
        tried.memory = tried.listener;              /* nobody asked, so nothing was read */
    if (tried.landlock != 0 && tried.listener != 0) /* a Linux has one of both, or is old */
        tried.peer = try_peer();
    const int *pipe_fd = ctx;
    return write(*pipe_fd, &tried, sizeof tried) == sizeof tried ? 0 : errno;
}

static int try_level(struct tried *tried)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return errno;
    int code = in_child(play_broker, &ends[1]);
    if (code == 0 && read(ends[0], tried, sizeof *tried) != sizeof *tried)
        code = EIO;
    (void)close(ends[0]);
    (void)close(ends[1]);
    return code;
}

void sandbox_probe(struct sandbox_probe *ret)
{
    struct tried tried = {0};
    int code = try_level(&tried);
    if (code != 0)
        tried = (struct tried){code, code, code, code, code, code, 0};
    const int abi = tried.landlock == 0 ? landlock_abi() : 0;
    *ret = (struct sandbox_probe){.landlock_abi = abi,
                                  .landlock_errno = tried.landlock,
                                  .filter_errno = tried.filter,
                                  .listener_errno = tried.listener,
                                  .memory_errno = tried.memory,
                                  .open_errno = tried.open,
                                  .scopes = abi >= LANDLOCK_ABI_SCOPES,
                                  .read_fast = tried.read_fast != 0,
                                  .peers = tried.peer == 0};
    const bool broker = tried.listener == 0 && tried.memory == 0 && tried.open == 0;
    if (tried.landlock == 0 && tried.filter == 0)
        ret->level = broker ? SANDBOX_FULL : SANDBOX_LANDLOCK;
}

/* --- people ----------------------------------------------------------------------------------- */

static const char *const level_names[SANDBOX_LEVEL__COUNT] = {
    [SANDBOX_NONE] = "none", [SANDBOX_LANDLOCK] = "landlock", [SANDBOX_FULL] = "full"};

const char *sandbox_level_name(enum sandbox_level level)
{
    return level_names[level];
}

int sandbox_level_of(const char *name)
{
    for (int i = 0; i < SANDBOX_LEVEL__COUNT; i++)
        if (strcmp(level_names[i], name) == 0)
            return i;
    return -EINVAL;
}

/* What each errno means of the call that it came from; without a row: the errno alone. */
static const struct reason {
    const char *what;
    int code;
    const char *why;
} reasons[] = {
    {"Landlock", ENOSYS, "the kernel was built without it, or a seccomp profile hides it"},
    {"Landlock", EOPNOTSUPP, "it is not among the security modules the kernel was started with"},
    {"Landlock", EPERM, "a seccomp profile refuses it"},
    {"Landlock", E2BIG, "16 domains are above this process"},
    {"seccomp filter", EPERM, "a seccomp profile refuses it"},
    {"seccomp filter", EINVAL, "the kernel was built without it"},
    {"seccomp listener", EBUSY, "another sandbox has one above this process"},
    {"seccomp listener", EINVAL, "the kernel is too old for it"},
    {"reading the memory of a child", EACCES, "ptrace is restricted on this host"},
    {"reading the memory of a child", EPERM, "ptrace is restricted on this host"},
    {"openat2", EPERM,
     "a seccomp profile refuses it: one that allows openat2 gives the level full"},
    {"openat2", ENOSYS,
     "the kernel is older than 5.6, or systemd's RestrictSUIDSGID= (with DynamicUser=, too) or a "
     "seccomp profile refuses it: without the one, and allowed in the other, the level is full"},
};

static void missing(struct buf *text, const char *what, int code)
{
    if (code == 0)
        return;
    (void)buf_addf(text, "; no %s: %s", what, strerror(code));
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].code == code && strcmp(reasons[i].what, what) == 0)
            (void)buf_addf(text, " (%s)", reasons[i].why);
}

void sandbox_probe_text(const struct sandbox_probe *probe, struct buf *text)
{
    (void)buf_addf(text, "level %s", sandbox_level_name(probe->level));
    if (probe->landlock_errno == 0)
        (void)buf_addf(text, "; Landlock ABI %d", probe->landlock_abi);
    if (probe->landlock_errno == 0 && !probe->scopes)
        (void)buf_addf(text, " (before %d: no scope for signals and abstract sockets)",
                       LANDLOCK_ABI_SCOPES);
    if (probe->filter_errno == 0)
        (void)buf_adds(text, probe->listener_errno == 0 ? "; seccomp filter and listener"
                                                        : "; seccomp filter");
    if (probe->listener_errno == 0 && probe->memory_errno == 0)
        (void)buf_adds(text, probe->read_fast ? "; memory by process_vm_readv"
                                              : "; memory by /proc/PID/mem");
    missing(text, "Landlock", probe->landlock_errno);
    missing(text, "seccomp filter", probe->filter_errno);
    if (probe->filter_errno == 0)
        missing(text, "seccomp listener", probe->listener_errno);
    if (probe->listener_errno == 0)
        missing(text, "reading the memory of a child", probe->memory_errno);
    missing(text, "openat2", probe->open_errno);
}
