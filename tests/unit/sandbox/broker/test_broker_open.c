/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/sandbox/brokertest.h"

#include <linux/openat2.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "fakes/fake_net.h"
#include "sandbox/broker/broker_internal.h"

/* What the C library makes of open(2). */
#if defined(__GLIBC__) || !defined(SYS_open)
#define OPEN "openat"
#else
#define OPEN "open"
#endif

static const struct lists env_denied = {.deny_read = "[\".env\",\"**/*.key\"]"};

static void make_workspace(void)
{
    make_place_anew();
    write_file("@w/a.txt", "a");
    write_file("@w/.env", "secret");
    write_file("@/outside", "outside");
    make_dir("@w/sub");
    write_file("@w/sub/b.txt", "b");
    make_link("@w/to-a", "@w/a.txt");
    make_link("@w/to-env", "@w/.env");
    make_link("@w/to-new", "@w/new-by-link");
    make_link("@w/to-out", "@/made-outside");
}

/* --- allowed and refused ---------------------------------------------------------------------- */

static void read_some(void)
{
    HOLDS(has_text("a.txt", "a"));
    HOLDS(has_text("sub/b.txt", "b"));
    HOLDS(has_text("sub/../a.txt", "a"));
    HOLDS(has_text(full("@w/a.txt"), "a"));
    HOLDS(has_text("to-a", "a"));
    GETS(opens("/etc/passwd", O_RDONLY), 0);
    GETS(opens(".", O_RDONLY | O_DIRECTORY), 0);
    GETS(opens(".env", O_RDONLY), EPERM);
    GETS(opens("sub/../.env", O_RDONLY), EPERM);
    GETS(opens(full("@w/.env"), O_RDONLY), EPERM);
    GETS(opens("to-env", O_RDONLY), EPERM);
    GETS(opens(".env", O_RDWR), EPERM);
    GETS(opens(".env", O_WRONLY), EPERM);
    GETS(opens("missing", O_RDONLY), ENOENT);
    GETS(opens("a.txt/x", O_RDONLY), ENOTDIR);
    struct stat st;
    GETS(stat(".env", &st), 0);
    GETS(access(".env", R_OK), 0);
}

static void a_denied_file_is_refused_by_every_name_and_its_neighbours_are_not(void)
{
    make_workspace();
    act(&env_denied, read_some);
    TEST_CHECK(was_refused(OPEN, "@w/.env"));
    act_alone(&env_denied, read_some);
}

static void a_refusal_that_the_settings_ignore_is_one_and_is_not_told(void)
{
    static const struct lists ignoring = {
        .deny_read = "[\".env\"]",
        .top = ",\"ignoreViolations\":{\"broker_open\":[\"/.env\"],\"*\":[\"/outside\"]}"};
    make_workspace();
    act(&ignoring, read_some);
    TEST_CHECK(refusals.count == 0);
    static const struct lists others = {.deny_read = "[\".env\"]",
                                        .top = ",\"ignoreViolations\":{\"another\":[\"/.env\"]}"};
    act(&others, read_some);
    TEST_CHECK(was_refused(OPEN, "@w/.env"));
}

static void write_some(void)
{
    GETS(opens("a.txt", O_WRONLY), 0);
    GETS(opens("a.txt", O_RDWR | O_TRUNC), 0);
    HOLDS(has_text("a.txt", ""));
    GETS(opens("new.txt", O_WRONLY | O_CREAT), 0);
    GETS(opens("sub/new.txt", O_WRONLY | O_CREAT | O_EXCL), 0);
    GETS(opens("sub/new.txt", O_WRONLY | O_CREAT | O_EXCL), EEXIST);
    GETS(opens(full("@/outside"), O_RDONLY), 0);
    GETS(opens(full("@/outside"), O_WRONLY), EPERM);
    GETS(opens(full("@/outside"), O_RDONLY | O_TRUNC), EPERM);
    GETS(opens(full("@/outside"), O_RDONLY | O_CREAT), 0);
    GETS(opens(full("@/new"), O_WRONLY | O_CREAT), EPERM);
    GETS(opens("/dev/null", O_WRONLY), 0);
    GETS(opens("/etc/passwd", O_RDWR), EPERM);
    GETS(opens(".", O_WRONLY), EISDIR);
    GETS(opens(".", O_RDWR | O_CREAT), EISDIR);
    HOLDS(has_text(full("@/outside"), "outside"));
}

static void writes_are_allowed_in_the_workspace_alone(void)
{
    make_workspace();
    act(&env_denied, write_some);
    TEST_CHECK(was_refused(OPEN, "@/outside") && was_refused(OPEN, "@/new"));
    make_workspace();
    act_alone(&env_denied, write_some);
}

static void create_some(void)
{
    GETS(opens("x.key", O_WRONLY | O_CREAT), EPERM);
    GETS(opens("sub/x.key", O_WRONLY | O_CREAT), EPERM);
    GETS(opens("x.ken", O_WRONLY | O_CREAT), 0);
    GETS(opens("x.key", O_RDONLY), ENOENT);
    GETS(opens("later.key", O_RDONLY), EPERM);
}

static void names_that_reads_are_denied_for_cannot_be_made_or_read_when_they_come_later(void)
{
    make_workspace();
    write_file("@w/later.key", "secret");
    act(&env_denied, create_some);
    TEST_CHECK(was_refused(OPEN, "@w/sub/x.key"));
}

/* --- flags ------------------------------------------------------------------------------------ */

static int mode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) < 0 ? -1 : (int)(st.st_mode & 07777);
}

static void create_with_modes(void)
{
    GETS(close(open("m1", O_WRONLY | O_CREAT | O_CLOEXEC, 0666)), 0);
    HOLDS(mode_of("m1") == 0644);
    (void)umask(077);
    GETS(close(open("m2", O_WRONLY | O_CREAT | O_CLOEXEC, 0666)), 0);
    HOLDS(mode_of("m2") == 0600);
    (void)umask(0);
    GETS(close(open("m3", O_WRONLY | O_CREAT | O_CLOEXEC, 06777)), 0);
    HOLDS(mode_of("m3") == 0777);
    GETS(close(open("sub/m4", O_WRONLY | O_CREAT | O_CLOEXEC, 06755)), 0);
    HOLDS(mode_of("sub/m4") == 0755);
    GETS(close(open("m5", O_RDWR | O_CREAT | O_CLOEXEC, 0400)), 0);
    HOLDS(mode_of("m5") == 0400);
}

static void the_callers_umask_counts_and_setuid_bits_do_not(void)
{
    make_workspace();
    act(&env_denied, create_with_modes);
}

static void open_with_flags(void)
{
    GETS(opens("to-a", O_RDONLY | O_NOFOLLOW), ELOOP);
    GETS(opens("a.txt", O_RDONLY | O_NOFOLLOW), 0);
    GETS(opens("a.txt", O_RDONLY | O_DIRECTORY), ENOTDIR);
    GETS(opens("a.txt/", O_RDONLY), ENOTDIR);
    GETS(opens("sub/", O_RDONLY), 0);
    GETS(opens("new/", O_WRONLY | O_CREAT), EISDIR);
    GETS(opens("", O_RDONLY), ENOENT);
    GETS(opens("to-a", O_WRONLY | O_CREAT | O_EXCL), EEXIST);
    GETS(opens("to-new", O_WRONLY | O_CREAT | O_EXCL), EEXIST);
    GETS(opens("to-new", O_WRONLY | O_CREAT | O_NOFOLLOW), ELOOP);
    GETS(opens("to-new", O_RDONLY), ENOENT);
    GETS(opens("to-new", O_WRONLY | O_CREAT), 0);
    HOLDS(mode_of("new-by-link") == 0644);
    GETS(opens("to-out", O_WRONLY | O_CREAT), EPERM);
    int fd = open("a.txt", O_WRONLY | O_APPEND | O_CLOEXEC);
    HOLDS(fd >= 0 && (fcntl(fd, F_GETFL) & (O_APPEND | O_NONBLOCK)) == O_APPEND);
    HOLDS(fcntl(fd, F_GETFD) == FD_CLOEXEC);
    HOLDS(write(fd, "b", 1) == 1 && has_text("a.txt", "ab"));
    GETS(close(fd), 0);
    fd = open("a.txt", O_RDONLY | O_NONBLOCK); /* and not close-on-exec */
    HOLDS(fd >= 0 && fcntl(fd, F_GETFL) & O_NONBLOCK && fcntl(fd, F_GETFD) == 0);
    GETS(close(fd), 0);
    fd = open(".env", O_PATH | O_CLOEXEC);
    HOLDS(fd >= 0);
    char text[64];
    (void)snprintf(text, sizeof text, "/proc/self/fd/%d", fd);
    GETS(opens(text, O_RDONLY), EPERM);
    HOLDS(read(fd, text, 1) < 0 && errno == EBADF);
}

static void flags_mean_what_they_mean_without_a_broker(void)
{
    make_workspace();
    act(&env_denied, open_with_flags);
    TEST_CHECK(access(full("@/made-outside"), F_OK) < 0);
    make_workspace();
    act_alone(&env_denied, open_with_flags);
}

static void use_tmpfile(void)
{
    int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    char text[64];
    HOLDS(fd >= 0 && write(fd, "t", 1) == 1);
    struct stat st;
    HOLDS(fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0644);
    (void)snprintf(text, sizeof text, "/proc/self/fd/%d", fd);
    HOLDS(has_text(text, "t"));
    GETS(linkat(AT_FDCWD, text, AT_FDCWD, "named", AT_SYMLINK_FOLLOW), 0);
    HOLDS(has_text("named", "t"));
    GETS(opens(full("@/"), O_TMPFILE | O_RDWR), EPERM);
}

static void files_without_a_name_are_made_where_names_may_be(void)
{
    make_workspace();
    act(&env_denied, use_tmpfile);
}

static void open_with_bad_arguments(void)
{
    char longer[PATH_MAX + 10];
    memset(longer, 'x', sizeof longer);
    longer[PATH_MAX + 9] = '\0';
    GETS(opens(longer, O_RDONLY), ENAMETOOLONG);
    longer[NAME_MAX + 1] = '\0';
    GETS(opens(longer, O_RDONLY), ENAMETOOLONG);
    GETS(opens(longer, O_WRONLY | O_CREAT), ENAMETOOLONG);
    longer[NAME_MAX] = '\0';
    GETS(opens(longer, O_WRONLY | O_CREAT), 0);
    GETS((int)syscall(SYS_openat, AT_FDCWD, (char *)8, O_RDONLY, 0), EFAULT);
    GETS(openat(1234, "a.txt", O_RDONLY | O_CLOEXEC), EBADF);
    GETS(openat(-7, "a.txt", O_RDONLY | O_CLOEXEC), EBADF);
    /* The last bytes of the last page that is there. */
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)munmap(page + 4096, 4096);
    char *name = page + 4096 - sizeof "a.txt";
    memcpy(name, "a.txt", sizeof "a.txt");
    GETS(opens(name, O_RDONLY), 0);
    page[4095] = 'x';
    GETS((int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY, 0), EFAULT);
    /* And a path across a page's end. */
    page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page + 4094, "a.txt", sizeof "a.txt");
    GETS(opens(page + 4094, O_RDONLY), 0);
    struct rlimit few = {.rlim_cur = 3, .rlim_max = 3};
    GETS(setrlimit(RLIMIT_NOFILE, &few), 0);
    GETS(opens("a.txt", O_RDONLY), EMFILE);
}

static void bad_arguments_get_the_errors_of_the_kernel(void)
{
    make_workspace();
    act(&env_denied, open_with_bad_arguments);
}

static int openat2_of(const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
    struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    return fd < 0 ? -1 : close(fd);
}

static void use_openat2(void)
{
    GETS(openat2_of("a.txt", O_RDONLY | O_CLOEXEC, 0, 0), 0);
    GETS(openat2_of(".env", O_RDONLY | O_CLOEXEC, 0, 0), EPERM);
    GETS(openat2_of("to-a", O_RDONLY | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS), ELOOP);
    GETS(openat2_of("../outside", O_RDONLY | O_CLOEXEC, 0, 0), 0);
    GETS(openat2_of("../outside", O_RDONLY | O_CLOEXEC, 0, RESOLVE_BENEATH), EXDEV);
    GETS(openat2_of("/a.txt", O_RDONLY | O_CLOEXEC, 0, RESOLVE_IN_ROOT), 0);
    GETS(openat2_of("/.env", O_RDONLY | O_CLOEXEC, 0, RESOLVE_IN_ROOT), EPERM);
    GETS(openat2_of("/in", O_WRONLY | O_CREAT | O_CLOEXEC, 0666, RESOLVE_IN_ROOT), 0);
    HOLDS(mode_of("in") == 0644);
    GETS(openat2_of("../out", O_WRONLY | O_CREAT | O_CLOEXEC, 0666, RESOLVE_BENEATH), EXDEV);
    GETS(openat2_of("sub/n", O_WRONLY | O_CREAT | O_CLOEXEC, 04777, 0), 0);
    HOLDS(mode_of("sub/n") == 0755);
    GETS(openat2_of("a.txt", O_RDONLY | O_CLOEXEC, 0777, 0), EINVAL);
    GETS(openat2_of("a.txt", 1ULL << 40, 0, 0), EINVAL);
    GETS(openat2_of("a.txt", O_PATH | O_CLOEXEC, 0, 0), ENOSYS);
    char more[64] = {0};
    GETS((int)syscall(SYS_openat2, AT_FDCWD, "a.txt", more, sizeof more), 0);
    more[60] = 1;
    GETS((int)syscall(SYS_openat2, AT_FDCWD, "a.txt", more, sizeof more), E2BIG);
    GETS((int)syscall(SYS_openat2, AT_FDCWD, "a.txt", more, 8), EINVAL);
}

static void openat2_keeps_its_promises_and_ours(void)
{
    make_workspace();
    act(&env_denied, use_openat2);
}

/* --- the process file system ------------------------------------------------------------------ */

static void look_at_oneself(void)
{
    char text[4096] = "", want[64];
    int fd = open("a.txt", O_RDONLY | O_CLOEXEC), other = open("/proc/self/stat", O_RDONLY);
    HOLDS(read(other, text, sizeof text - 1) > 0 && strtol(text, NULL, 10) == getpid());
    (void)snprintf(want, sizeof want, "/proc/self/fd/%d", fd);
    HOLDS(has_text(want, "a"));
    (void)snprintf(want, sizeof want, "/dev/fd/%d", fd);
    HOLDS(has_text(want, "a"));
    (void)snprintf(want, sizeof want, "/proc/thread-self/fd/%d", fd);
    HOLDS(has_text(want, "a"));
    GETS(symlink("/proc/self", "me"), 0);
    (void)snprintf(want, sizeof want, "me/fd/%d", fd);
    HOLDS(has_text(want, "a"));
    (void)snprintf(want, sizeof want, "me/../%d/fd/%d", getpid(), fd);
    HOLDS(has_text(want, "a"));
    HOLDS(has_text("/proc/self/cwd/a.txt", "a"));
    GETS(opens("/proc/self/cwd/.env", O_RDONLY), EPERM);
    GETS(opens("me/cwd/.env", O_RDONLY), EPERM);
    GETS(opens("/proc/self/root/../proc/self/fd/1000", O_RDONLY), ENOENT);
    GETS(opens("me/environ", O_RDONLY), 0);
}

static void names_of_oneself_mean_the_caller(void)
{
    make_workspace();
    act(&env_denied, look_at_oneself);
    (void)unlink(full("@w/me"));
    act_alone(&env_denied, look_at_oneself);
}

/* The broker's descriptors: its listener is among the first. */
static void look_at_the_broker(void)
{
    char text[64];
    static const char *const links[] = {"fd/3", "fd/4", "fd/5",    "cwd/a.txt", "root/etc/passwd",
                                        "mem",  "exe",  "environ", "maps"};
    (void)snprintf(text, sizeof text, "/proc/%d", getppid());
    GETS(symlink(text, "it"), 0);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        (void)snprintf(text, sizeof text, "it/%s", links[i]);
        if (opens(text, O_RDONLY) == 0 || errno == ENOENT)
            complain("%s: %s", text, strerror(errno));
    }
    for (int fd = 3; fd < 64; fd++) {
        (void)snprintf(text, sizeof text, "/proc/self/fd/%d", fd);
        if (fcntl(fd, F_GETFD) < 0)
            GETS(opens(text, O_RDONLY), ENOENT);
    }
}

static void nothing_of_the_broker_or_another_process_is_reached_through_links(void)
{
    make_workspace();
    act(&env_denied, look_at_the_broker);
    (void)unlink(full("@w/it"));
    act_alone(&env_denied, look_at_the_broker);
}

static void use_standard_input(void)
{
    int fd = open("a.txt", O_RDONLY | O_CLOEXEC), ends[2];
    HOLDS(dup2(fd, 0) == 0 && has_text("/dev/stdin", "a"));
    GETS(pipe2(ends, O_CLOEXEC), 0);
    HOLDS(write(ends[1], "p", 1) == 1 && dup2(ends[0], 0) == 0);
    char byte = 0;
    fd = open("/dev/stdin", O_RDONLY | O_CLOEXEC);
    HOLDS(fd >= 0 && read(fd, &byte, 1) == 1 && byte == 'p');
    fd = open("out", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    HOLDS(dup2(fd, 5) == 5);
    GETS(opens("/dev/fd/5", O_WRONLY | O_CREAT | O_TRUNC), 0);
    fd = memfd_create("mine", MFD_CLOEXEC);
    HOLDS(dup2(fd, 6) == 6);
    GETS(opens("/proc/self/fd/6", O_RDWR), 0);
}

static void inherited_descriptors_open_again_by_their_names(void)
{
    make_workspace();
    act(&env_denied, use_standard_input);
}

/* --- what may block --------------------------------------------------------------------------- */

static void rendezvous(void)
{
    GETS(mkfifo("fifo", 0600), 0);
    GETS(opens("fifo", O_WRONLY | O_NONBLOCK), ENXIO);
    GETS(opens("fifo", O_RDONLY | O_NONBLOCK), 0);
    enum { PAIRS = 6 }; /* more than the broker has threads */
    char name[16];
    for (int i = 0; i < PAIRS; i++) {
        (void)snprintf(name, sizeof name, "fifo%d", i);
        GETS(mkfifo(name, 0600), 0);
        if (fork() == 0) {
            int fd = open(name, O_WRONLY | O_CLOEXEC);
            GETS(fd, 0);
            HOLDS(write(fd, "f", 1) == 1);
            _exit(0);
        }
    }
    GETS(opens("a.txt", O_RDONLY), 0); /* while all these wait */
    for (int i = 0; i < PAIRS; i++) {
        (void)snprintf(name, sizeof name, "fifo%d", i);
        HOLDS(has_text(name, "f"));
    }
    for (int i = 0, status; i < PAIRS; i++)
        HOLDS(wait(&status) > 0 && status == 0);
}

static void fifos_meet_however_many_wait(void)
{
    make_workspace();
    act(&env_denied, rendezvous);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
    (void)sig;
    alarms++;
}

static void be_interrupted(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval soon = {.it_value = {.tv_usec = 50000}, .it_interval = {.tv_usec = 50000}};
    GETS(mkfifo("fifo", 0600), 0);
    GETS(sigaction(SIGALRM, &action, NULL), 0);
    GETS(setitimer(ITIMER_REAL, &soon, NULL), 0);
    GETS(opens("fifo", O_RDONLY), EINTR);
    HOLDS(alarms >= 1);
    /* With SA_RESTART it goes on waiting, until somebody comes. */
    action.sa_flags = SA_RESTART;
    GETS(sigaction(SIGALRM, &action, NULL), 0);
    alarms = 0;
    pid_t other = fork();
    if (other == 0) {
        (void)poll(NULL, 0, 200);
        _exit(opens("fifo", O_WRONLY) == 0 ? 0 : 1);
    }
    GETS(opens("fifo", O_RDONLY), 0);
    HOLDS(alarms >= 1);
}

static void a_signal_ends_a_blocking_open_as_it_would_without_a_broker(void)
{
    make_workspace();
    act(&env_denied, be_interrupted);
}

static void die_waiting(void)
{
    GETS(setpgid(0, 0), 0); /* what is killed in the end is ours alone */
    GETS(mkfifo("fifo", 0600), 0);
    for (int i = 0; i < 4; i++) {
        pid_t other = fork();
        if (other == 0)
            _exit(opens("fifo", O_RDONLY) == 0);
        (void)poll(NULL, 0, 20);
        GETS(kill(other, SIGKILL), 0);
        HOLDS(waitpid(other, NULL, 0) == other);
    }
    if (fork() == 0)
        _exit(opens("fifo", O_RDONLY) == 0);
    (void)poll(NULL, 0, 20); /* it is left behind and killed by the test's end */
    HOLDS(kill(0, SIGTERM) == 0);
}

static void who_dies_waiting_leaves_no_thread_behind(void)
{
    make_workspace();
    struct stage stage = {.lists = &env_denied, .child = die_waiting};
    start_stage(&stage);
    (void)stage;
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        continue;
    broker = broker_free(broker); /* returns when all its threads have ended */
    TEST_CHECK(shared->complaints == 0);
    stage_ruleset = ruleset_free(stage_ruleset);
    stage_policy = policy_free(stage_policy);
    (void)prctl(PR_SET_DUMPABLE, 1);
}

/* The holder of a lease is asked, by SIGIO, to give it back, and has 45 seconds for it. */
static void hold_a_lease(void)
{
    sigset_t io;
    (void)sigemptyset(&io);
    (void)sigaddset(&io, SIGIO);
    (void)sigprocmask(SIG_BLOCK, &io, NULL);
    int fd = open("a.txt", O_RDWR | O_CLOEXEC);
    GETS(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
    enum { OTHERS = 4 }; /* more than the broker has threads */
    for (int i = 0; i < OTHERS; i++)
        if (fork() == 0) {
            if (i % 2)
                GETS(opens("a.txt", O_RDONLY), 0);
            else
                GETS(truncate("a.txt", 3), 0);
            _exit(0);
        }
    struct timespec most = {.tv_sec = 20};
    GETS(sigtimedwait(&io, NULL, &most), 0); /* the first of them waits */
    GETS(opens("sub/b.txt", O_RDONLY), 0);
    GETS(opens("a.txt", O_RDONLY | O_NONBLOCK), EAGAIN);
    GETS(fcntl(fd, F_SETLEASE, F_UNLCK), 0);
    for (int i = 0; i < OTHERS; i++)
        HOLDS(wait(NULL) > 0);
}

static void a_lease_makes_nobody_wait_but_who_opens_that_file(void)
{
    make_workspace();
    act(&env_denied, hold_a_lease);
}

/* --- the rest --------------------------------------------------------------------------------- */

static void read_hosts(void)
{
    HOLDS(has_text("/etc/hosts", FAKE_NET_TEXT));
    GETS(symlink("/etc/hosts", "hosts"), 0);
    HOLDS(has_text("hosts", FAKE_NET_TEXT));
    GETS(opens("/etc/hosts", O_RDWR), EPERM);
    HOLDS(has_text("a.txt", "a"));
}

static void virtual_files_stand_in_for_those_of_their_names(void)
{
    make_workspace();
    struct lists lists = env_denied;
    lists.network = "\"allowedDomains\":[\"example.com\"],\"deniedDomains\":[]";
    act(&lists, read_hosts);
}

static void permit_less(void)
{
    broker->reads_memory = false;
    broker->gives_at_once = false;
}

static void old_kernels_and_strict_profiles_are_served_by_older_means(void)
{
    make_workspace();
    struct stage stage = {.lists = &env_denied, .ready = permit_less, .child = read_some};
    start_stage(&stage);
    end_stage();
    stage.child = open_with_bad_arguments;
    start_stage(&stage);
    end_stage();
    stage.child = create_with_modes;
    start_stage(&stage);
    end_stage();
}

static void hide_memory(void)
{
    GETS(prctl(PR_SET_DUMPABLE, 0), 0);
    HOLDS(has_text("a.txt", "a"));
    GETS(opens(".env", O_RDONLY), EPERM);
}

static void who_wants_to_hide_its_memory_is_read_all_the_same(void)
{
    make_workspace();
    act(&env_denied, hide_memory);
}

static void run_programs(void)
{
    static const char script[] =
        "set -e; test \"$(cat a.txt)\" = a; echo b >>a.txt; mkdir -p x/y; echo c | tee x/y/z; "
        "test \"$(cat <x/y/z)\" = c; mv x w; rm -r w; ! cat .env 2>err; "
        "grep -q 'Operation not permitted' err; ls -la >list; grep -q .env list; ! rm -f .env";
    drop_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(null, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", script, (char *)NULL);
    complain("exec: %s", strerror(errno));
}

static void programs_run(void)
{
    make_workspace();
    act(&env_denied, run_programs); /* its exit status is looked at */
}

static void replace_directory(void)
{
    GETS(unlink("sub/b.txt"), 0);
    GETS(rmdir("sub"), 0);
    GETS(mkdir("sub", 0755), 0);
    GETS(opens("sub/new", O_WRONLY | O_CREAT), 0);
    GETS(opens("sub/new", O_RDONLY), 0);
    GETS(mkdir("sub/deeper", 0755), 0);
    GETS(unlink("sub/new"), 0);
}

static void a_directory_that_was_made_again_works_like_the_old_one(void)
{
    static const struct lists lists = {.deny_read = "[\".env\"]"}; /* so "sub" is the ruleset's */
    make_workspace();
    act(&lists, replace_directory);
}

static void *use_files(void *ctx)
{
    char name[16];
    (void)snprintf(name, sizeof name, "t%d", *(int *)ctx);
    for (int i = 0; i < 200; i++) {
        GETS(opens(name, O_WRONLY | O_CREAT), 0);
        GETS(unlink(name), 0);
        GETS(opens(".env", O_RDONLY), EPERM);
    }
    return NULL;
}

static void use_files_in_threads(void)
{
    pthread_t threads[4];
    int numbers[4] = {0, 1, 2, 3};
    for (int i = 0; i < 4; i++)
        HOLDS(pthread_create(&threads[i], NULL, use_files, &numbers[i]) == 0);
    for (int i = 0; i < 4; i++)
        (void)pthread_join(threads[i], NULL);
}

static void many_threads_are_served(void)
{
    make_workspace();
    act(&env_denied, use_files_in_threads);
    TEST_CHECK(refusals.count == 800);
}

static void a_broker_that_could_do_more_than_its_child_does_not_start(void)
{
    struct broker_config config = {.listener = -1};
    struct broker *unused = NULL;
    struct err e = ERR_NONE;
    (void)umask(022);
    TEST_CHECK(broker_start(&config, &unused, &e) == -EPERM && strstr(e.msg, "dumpable"));
    TEST_ASSERT(prctl(PR_SET_DUMPABLE, 0) == 0);
    TEST_CHECK(broker_start(&config, &unused, &e) == -EPERM && strstr(e.msg, "umask"));
    (void)prctl(PR_SET_DUMPABLE, 1);
}

TEST_LIST = {
    {"a denied file is refused by every name, and its neighbours are not",
     a_denied_file_is_refused_by_every_name_and_its_neighbours_are_not},
    {"a refusal that the settings ignore is one, and is not told",
     a_refusal_that_the_settings_ignore_is_one_and_is_not_told},
    {"writes are allowed in the workspace alone", writes_are_allowed_in_the_workspace_alone},
    {"names that reads are denied for cannot be made, or read when they come later",
     names_that_reads_are_denied_for_cannot_be_made_or_read_when_they_come_later},
    {"the caller's umask counts and setuid bits do not",
     the_callers_umask_counts_and_setuid_bits_do_not},
    {"flags mean what they mean without a broker", flags_mean_what_they_mean_without_a_broker},
    {"files without a name are made where names may be",
     files_without_a_name_are_made_where_names_may_be},
    {"bad arguments get the errors of the kernel", bad_arguments_get_the_errors_of_the_kernel},
    {"openat2 keeps its promises and ours", openat2_keeps_its_promises_and_ours},
    {"names of oneself mean the caller", names_of_oneself_mean_the_caller},
    {"nothing of the broker or another process is reached through links",
     nothing_of_the_broker_or_another_process_is_reached_through_links},
    {"inherited descriptors open again by their names",
     inherited_descriptors_open_again_by_their_names},
    {"FIFOs meet, however many wait", fifos_meet_however_many_wait},
    {"a signal ends a blocking open as it would without a broker",
     a_signal_ends_a_blocking_open_as_it_would_without_a_broker},
    {"who dies waiting leaves no thread behind", who_dies_waiting_leaves_no_thread_behind},
    {"a lease makes nobody wait but who opens that file",
     a_lease_makes_nobody_wait_but_who_opens_that_file},
    {"virtual files stand in for those of their names",
     virtual_files_stand_in_for_those_of_their_names},
    {"old kernels and strict profiles are served by older means",
     old_kernels_and_strict_profiles_are_served_by_older_means},
    {"who wants to hide its memory is read all the same",
     who_wants_to_hide_its_memory_is_read_all_the_same},
    {"programs run", programs_run},
    {"a directory that was made again works like the old one",
     a_directory_that_was_made_again_works_like_the_old_one},
    {"many threads are served", many_threads_are_served},
    {"a broker that could do more than its child does not start",
     a_broker_that_could_do_more_than_its_child_does_not_start},
    {NULL, NULL},
};
