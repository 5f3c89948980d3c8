/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/diagnose/doctor.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/random.h"
#include "entrypoint/diagnose/doctor_box.h"
#include "entrypoint/options.h"
#include "entrypoint/sandbox/confined.h"
#include "sandbox/preload/opens_mark.h"
#include "sandbox/proc/proctree.h"

enum { FAILED_STATUS = 1, BACKLOG = 4, RING_ENTRIES = 2, CRASHED = 255 };

/* The place where it is tried: a workspace with a denied file, and things that are outside. */
struct check_ground {
    char *dir, *workspace, *denied, *link, *outside, *target;
    pid_t neighbour; /* a process of the same user that is not in the sandbox */
    int tcp, udp, abstract;
    int terminal; /* the other end of one, of which `typed` is the path */
    char typed[32];
    struct sockaddr_in tcp_at, udp_at;
    struct sockaddr_un abstract_at;
    socklen_t abstract_size;
    int results[2]; /* a pipe */
    struct guard *guard;
};

/* --- what is tried: 0 when it worked, else -1 with errno -------------------------------------- */

static int try_open(const char *path, int flags)
{
    drop_fd int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW * (flags & O_CREAT ? 1 : 0), 0600);
    char byte;
    return fd < 0 || ((flags & O_ACCMODE) == O_RDONLY && read(fd, &byte, 1) < 0) ? -1 : 0;
}

static int read_plain(const struct check_ground *g)
{
    (void)g;
    return try_open("plain.txt", O_RDONLY);
}

static int write_inside(const struct check_ground *g)
{
    (void)g;
    return try_open("new.txt", O_WRONLY | O_CREAT);
}

static int fork_one(const struct check_ground *g)
{
    (void)g;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid < 0 || waitpid(pid, NULL, 0) != pid ? -1 : 0;
}

static int read_denied_file(const struct check_ground *g)
{
    return try_open(g->denied, O_RDONLY);
}

static int read_by_link(const struct check_ground *g)
{
    return try_open(g->link, O_RDONLY);
}

static int read_by_new_link(const struct check_ground *g)
{
    return link(g->denied, "hard.txt") < 0 ? -1 : try_open("hard.txt", O_RDONLY);
}

static int read_after_rename(const struct check_ground *g)
{
    return rename(g->denied, "moved.txt") < 0 ? -1 : try_open("moved.txt", O_RDONLY);
}

static int read_past_broker(const struct check_ground *g)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, g->denied, O_RDONLY | O_CLOEXEC, 0, OPENS_MARK_5TH,
                          OPENS_MARK_6TH);
    return fd < 0 ? -1 : close(fd);
}

static int write_outside(const struct check_ground *g)
{
    return try_open(g->outside, O_WRONLY | O_CREAT);
}

static int overwrite_outside(const struct check_ground *g)
{
    return try_open(g->target, O_WRONLY | O_TRUNC);
}

static int truncate_outside(const struct check_ground *g)
{
    return truncate(g->target, 0);
}

static int chmod_outside(const struct check_ground *g)
{
    return chmod(g->target, 0777);
}

static int try_check_connect(int family, int type, const void *at, socklen_t size)
{
    drop_fd int fd = socket(family, type | SOCK_CLOEXEC, 0);
    return fd < 0 ? -1 : connect(fd, at, size);
}

static int connect_tcp(const struct check_ground *g)
{
    return try_check_connect(AF_INET, SOCK_STREAM, &g->tcp_at, sizeof g->tcp_at);
}

static int send_udp(const struct check_ground *g)
{
    return try_check_connect(AF_INET, SOCK_DGRAM, &g->udp_at, sizeof g->udp_at);
}

static int connect_abstract(const struct check_ground *g)
{
    return try_check_connect(AF_UNIX, SOCK_STREAM, &g->abstract_at, g->abstract_size);
}

static int make_raw(const struct check_ground *g)
{
    (void)g;
    drop_fd int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
    return fd < 0 ? -1 : 0;
}

static int make_vsock(const struct check_ground *g)
{
    (void)g;
    drop_fd int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? -1 : 0;
}

static int signal_neighbour(const struct check_ground *g)
{
    return kill(g->neighbour, SIGCONT);
}

static int trace_neighbour(const struct check_ground *g)
{
    return ptrace(PTRACE_SEIZE, g->neighbour, NULL, NULL) < 0 ? -1 : 0;
}

static int read_environment(const struct check_ground *g)
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)g->neighbour);
    return try_open(path, O_RDONLY);
}

static int read_others_memory(const struct check_ground *g)
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/%d/mem", (int)g->neighbour);
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -1 : 0;
}

static int limit_neighbour(const struct check_ground *g)
{
    struct rlimit now;
    return (int)syscall(SYS_prlimit64, g->neighbour, RLIMIT_NOFILE, NULL, &now);
}

static int slow_neighbour(const struct check_ground *g)
{
    return setpriority(PRIO_PROCESS, (id_t)g->neighbour, 19);
}

static int make_ring(const struct check_ground *g)
{
    (void)g;
    char params[256] = {0};
    return (int)syscall(SYS_io_uring_setup, RING_ENTRIES, params);
}

static int make_namespace(const struct check_ground *g)
{
    (void)g;
    return unshare(CLONE_NEWUSER);
}

static int mount_one(const struct check_ground *g)
{
    return mount("none", g->dir, "tmpfs", 0, NULL);
}

static int make_key(const struct check_ground *g)
{
    (void)g;
    return (int)syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1);
}

static int load_bpf(const struct check_ground *g)
{
    (void)g;
    char attr[128] = {0};
    return (int)syscall(SYS_bpf, 0, attr, sizeof attr);
}

static int watch_faults(const struct check_ground *g)
{
    (void)g;
    return (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1);
}

static int type_for_others(const struct check_ground *g)
{
    (void)g;
    return ioctl(STDIN_FILENO, TIOCSTI, "x");
}

static int open_check_terminal(const struct check_ground *g)
{
    drop_fd int fd = open(g->typed, O_RDWR | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? -1 : 0;
}

/* The other end of a new terminal, whose path this is; -1 with errno. */
static int make_terminal(char *path, size_t size)
{
    drop_fd int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    int locked = 0, number = 0;
    if (fd < 0 || ioctl(fd, TIOCSPTLCK, &locked) < 0 ||
        syscall(SYS_ioctl, fd, TIOCGPTN, &number) < 0) /* no int, as one C library wants it */
        return -1;
    (void)snprintf(path, size, "/dev/pts/%d", number);
    return fd_take(&fd);
}

static int open_own_terminal(const struct check_ground *g)
{
    struct check_ground own = *g;
    drop_fd int fd = make_terminal(own.typed, sizeof own.typed);
    return fd < 0 ? -1 : open_check_terminal(&own);
}

static const struct attempt {
    const char *what;
    int (*act)(const struct check_ground *g);
    bool wanted; /* it must work: a wall that lets nothing through proves nothing */
} attempts[] = {
    {"read a file of the workspace", read_plain, true},
    {"write a file in the workspace", write_inside, true},
    {"start a process", fork_one, true},
    {"open a terminal of its own", open_own_terminal, true},
    {"read a denied file", read_denied_file, false},
    {"read it by a symbolic link", read_by_link, false},
    {"read it by a new hard link", read_by_new_link, false},
    {"read it under another name", read_after_rename, false},
    {"read it past the broker", read_past_broker, false},
    {"make a file outside", write_outside, false},
    {"write over a file outside", overwrite_outside, false},
    {"truncate a file outside", truncate_outside, false},
    {"change the mode of a file outside", chmod_outside, false},
    {"connect to an address", connect_tcp, false},
    {"send datagrams", send_udp, false},
    {"make a raw socket", make_raw, false},
    {"make a socket to the host", make_vsock, false},
    {"connect to an abstract socket", connect_abstract, false},
    {"signal a process outside", signal_neighbour, false},
    {"trace a process outside", trace_neighbour, false},
    {"read its environment", read_environment, false},
    {"read its memory", read_others_memory, false},
    {"read its limits", limit_neighbour, false},
    {"change its priority", slow_neighbour, false},
    {"make an io_uring", make_ring, false},
    {"make a namespace", make_namespace, false},
    {"mount a file system", mount_one, false},
    {"reach the user's keys", make_key, false},
    {"load a BPF object", load_bpf, false},
    {"catch page faults", watch_faults, false},
    {"type into a terminal", type_for_others, false},
    {"open a terminal outside", open_check_terminal, false},
};

enum { ATTEMPTS = sizeof attempts / sizeof *attempts };

/* In the sandbox: each in a process of its own. */
static int try_all(void *ctx)
{
    struct check_ground *g = ctx;
    if (chdir(g->workspace) < 0 || close(g->terminal) < 0) /* who holds it is inside */
        return errno;
    for (int i = 0; i < ATTEMPTS; i++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0)
            _exit(attempts[i].act(g) < 0 ? errno : 0);
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            return errno;
        unsigned char answer = WIFEXITED(status) ? (unsigned char)WEXITSTATUS(status) : CRASHED;
        if (write(g->results[1], &answer, 1) != 1)
            return errno;
    }
    return 0;
}

/* --- the ground ------------------------------------------------------------------------------- */

static int make_file(const char *path, struct err *e)
{
    drop_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : fd_write(fd, "secret\n", 7);
    return r < 0 ? err_set(e, r, "%s: %s", path, strerror(-r)) : 0;
}

static int make_files(struct check_ground *g, struct err *e)
{
    char name[17], tmp[PATH_MAX];
    const char *base = getenv("TMPDIR");
    random_hex(name, 8);
    if (!realpath(base && *base ? base : "/tmp", tmp))
        return err_set(e, -errno, "a directory for temporary files: %s", strerror(errno));
    g->dir = xasprintf("%s/ipybox-doctor-%s", tmp, name);
    g->workspace = xasprintf("%s/workspace", g->dir);
    g->denied = xasprintf("%s/.env", g->workspace);
    g->link = xasprintf("%s/link.txt", g->workspace);
    g->outside = xasprintf("%s/new.txt", g->dir);
    g->target = xasprintf("%s/target.txt", g->dir);
    drop_str char *plain = xasprintf("%s/plain.txt", g->workspace);
    if (mkdir(g->dir, 0700) < 0 || mkdir(g->workspace, 0700) < 0 || symlink(".env", g->link) < 0)
        return err_set(e, -errno, "%s: %s", g->dir, strerror(errno));
    int r = make_file(g->denied, e);
    if (r == 0)
        r = make_file(plain, e);
    return r == 0 ? make_file(g->target, e) : r;
}

static int listen_for_check(int type, struct sockaddr_in *at)
{
    drop_fd int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof *at;
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (fd < 0 || bind(fd, (const struct sockaddr *)(void *)at, sizeof *at) < 0 ||
        (type == SOCK_STREAM && listen(fd, BACKLOG) < 0) ||
        getsockname(fd, (struct sockaddr *)(void *)at, &size) < 0)
        return -1;
    return fd_take(&fd);
}

static int listen_abstract(struct check_ground *g)
{
    drop_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int n = snprintf(g->abstract_at.sun_path + 1, sizeof g->abstract_at.sun_path - 1, "%s", g->dir);
    g->abstract_at.sun_family = AF_UNIX;
    g->abstract_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    if (fd < 0 ||
        bind(fd, (const struct sockaddr *)(void *)&g->abstract_at, g->abstract_size) < 0 ||
        listen(fd, BACKLOG) < 0)
        return -1;
    return fd_take(&fd);
}

static int open_doors(struct check_ground *g, struct err *e)
{
    g->tcp = listen_for_check(SOCK_STREAM, &g->tcp_at);
    g->udp = listen_for_check(SOCK_DGRAM, &g->udp_at);
    g->abstract = listen_abstract(g);
    if (g->tcp < 0 || g->udp < 0 || g->abstract < 0)
        return err_set(e, -errno, "sockets to try: %s", strerror(errno));
    if (pipe2(g->results, O_CLOEXEC) < 0)
        return err_set(e, -errno, "pipe2: %s", strerror(errno));
    g->neighbour = fork();
    if (g->neighbour == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* one that any process of the user may trace */
        for (;;)
            (void)poll(NULL, 0, -1);
    }
    if (g->neighbour < 0)
        return err_set(e, -errno, "fork: %s", strerror(errno));
    /* After the fork, since to the broker its own children are inside. */
    g->terminal = make_terminal(g->typed, sizeof g->typed);
    return g->terminal < 0 ? err_set(e, -errno, "a terminal to try: %s", strerror(errno)) : 0;
}

static void clear_ground(struct check_ground *g)
{
    static const char *const inside[] = {".env",    "link.txt", "plain.txt",
                                         "new.txt", "hard.txt", "moved.txt"};
    for (size_t i = 0; g->workspace && i < sizeof inside / sizeof *inside; i++) {
        drop_str char *path = xasprintf("%s/%s", g->workspace, inside[i]);
        (void)unlink(path);
    }
    char *paths[] = {g->outside, g->target, g->workspace, g->dir};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (paths[i])
            (void)remove(paths[i]);
    char *owned[] = {g->dir, g->workspace, g->denied, g->link, g->outside, g->target};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        xfree(owned[i]);
}

/* --- the report ------------------------------------------------------------------------------- */

static bool notify_check(const struct attempt *attempt, int answer)
{
    bool well = answer != CRASHED && attempt->wanted == (answer == 0);
    const char *how = answer == 0         ? attempt->wanted ? "works" : "is open"
                      : answer == CRASHED ? "crashed"
                                          : strerror(answer);
    (void)dprintf(STDOUT_FILENO, "%-6s %s: %s\n", well ? "ok" : "FAILED", attempt->what, how);
    return well;
}

static int read_answers(const struct check_ground *g)
{
    int failed = 0;
    for (int i = 0; i < ATTEMPTS; i++) {
        unsigned char answer = 0;
        if (read(g->results[0], &answer, 1) != 1) {
            (void)dprintf(STDOUT_FILENO, "FAILED %s: the child ended\n", attempts[i].what);
            return FAILED_STATUS;
        }
        failed += !notify_check(&attempts[i], answer);
    }
    (void)dprintf(STDOUT_FILENO, "%d of %d as they should be\n", ATTEMPTS - failed, ATTEMPTS);
    return failed ? FAILED_STATUS : 0;
}

static int try_here(struct check_ground *g, const struct sandbox_probe *probe, struct err *e)
{
    pid_t pid = 0;
    sigset_t mask;
    struct sandbox_spec spec = {.settings = sandbox_settings_default, .level = probe->level};
    int r = make_files(g, e);
    spec.cwd = spec.home = g->workspace;
    if (r == 0)
        r = open_doors(g, e);
    if (r == 0)
        r = guard_open(&spec, &g->guard, e);
    (void)sigprocmask(SIG_BLOCK, NULL, &mask);
    const struct confined confined = {.guard = g->guard, .run = try_all, .ctx = g, .mask = &mask};
    if (r == 0)
        r = confined_start(&confined, &pid, e);
    if (r < 0)
        return r;
    (void)close(g->results[1]);
    return read_answers(g);
}

int doctor_main(int argc, char **argv, int open)
{
    if (argc > 0) {
        (void)dprintf(STDERR_FILENO, "ipybox doctor: no word is expected, not '%s'\n", argv[0]);
        return OPTIONS_USAGE_STATUS;
    }
    drop_buf struct buf level = BUF_INIT(4096);
    static struct check_ground g; /* the broker's threads know its guard to the end */
    struct sandbox_probe probe;
    struct err e = ERR_NONE;
    sandbox_probe(&probe);
    sandbox_probe_text(&probe, &level);
    (void)dprintf(STDOUT_FILENO, "%s\n", buf_text(&level));
    if (probe.filter_errno)
        return FAILED_STATUS;
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    int r = try_here(&g, &probe, &e);
    if (r < 0)
        (void)dprintf(STDERR_FILENO, "ipybox doctor: %s\n", e.msg);
    (void)proctree_end(0);
    clear_ground(&g);
    return doctor_box() + open > 0 || r != 0 ? FAILED_STATUS : 0;
}
