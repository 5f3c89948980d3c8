/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose terminals are opened in a sandbox: with settings, and behind the walls alone. The test is
 * the process outside, whose terminal this is about. */
#include "unit/sandbox/brokertest.h"

#include <sys/ioctl.h>

static const struct lists env_denied = {.deny_read = "[\".env\"]"};
static const struct lists nothing_denied = {0};

/* Of the process outside. */
static int outside, outside_slave;
static char outside_path[32];

static int make_terminal(char path[static 32])
{
    int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), locked = 0, number = -1;
    if (fd < 0 || ioctl(fd, TIOCSPTLCK, &locked) < 0 || ioctl(fd, TIOCGPTN, &number) < 0)
        return -1;
    (void)snprintf(path, 32, "/dev/pts/%d", number);
    return fd;
}

static void play(const struct lists *lists, bool walls, void (*fn)(void))
{
    struct stage stage = {.lists = lists, .walls = walls, .child = fn};
    make_place_anew();
    write_file("@w/.env", "secret");
    outside = make_terminal(outside_path);
    TEST_ASSERT(outside >= 0);
    outside_slave = open(outside_path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    TEST_ASSERT(outside_slave >= 0);
    start_stage(&stage);
    end_stage();
    (void)close(outside_slave);
    (void)close(outside);
}

static void play_everywhere(void (*fn)(void))
{
    play(&env_denied, false, fn);
    play(&nothing_denied, false, fn);
    play(&nothing_denied, true, fn);
}

static bool is_refused(const char *path, int flags)
{
    return opens(path, flags) < 0 && (errno == EPERM || errno == EACCES);
}

/* What a fork has inherited is not what is asked here. */
static void forget_outside(void)
{
    (void)close(outside);
    (void)close(outside_slave);
}

static void open_by_all_ways(void)
{
    char by_self[64], by_number[64];
    forget_outside();
    HOLDS(is_refused(outside_path, O_RDWR | O_NOCTTY));
    HOLDS(is_refused(outside_path, O_RDWR));
    HOLDS(is_refused(outside_path, O_WRONLY));
    HOLDS(is_refused(outside_path, O_WRONLY | O_CREAT | O_APPEND));
    HOLDS(is_refused(outside_path, O_RDONLY));
    HOLDS(is_refused(outside_path, O_RDONLY | O_NOCTTY | O_NONBLOCK));
    HOLDS(symlink(outside_path, "link") == 0);
    HOLDS(is_refused("link", O_RDWR));
    (void)unlink("link");
    int dir = open("/dev/pts", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = openat(dir, outside_path + strlen("/dev/pts/"), O_RDWR | O_CLOEXEC);
    HOLDS(fd < 0 && (errno == EPERM || errno == EACCES));
    fd = open(outside_path, O_PATH | O_CLOEXEC);
    HOLDS(fd >= 0);
    (void)snprintf(by_self, sizeof by_self, "/dev/fd/%d", fd);
    (void)snprintf(by_number, sizeof by_number, "/proc/%d/fd/%d", (int)getpid(), fd);
    HOLDS(is_refused(by_self, O_RDWR));
    HOLDS(is_refused(by_number, O_WRONLY | O_NOCTTY));
    HOLDS(is_refused(by_number, O_RDONLY));
    HOLDS(ioctl(fd, TIOCGPTPEER, O_RDWR) < 0);
}

static void the_terminal_of_a_process_outside_is_not_opened(void)
{
    play_everywhere(open_by_all_ways);
}

static bool carries(int master, int slave)
{
    char text[8] = "";
    return write(slave, "x", 1) == 1 && read(master, text, sizeof text) == 1 && text[0] == 'x';
}

static int in_another(int (*fn)(const char *path), int master, const char *path)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(master);
        _exit(fn(path));
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int open_it(const char *path)
{
    return opens(path, O_RDWR) < 0 ? errno : 0;
}

/* As login_tty() of the C libraries, with a terminal that the broker has opened. */
static int take_control(const char *path)
{
    drop_fd int fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (setsid() < 0 || ioctl(fd, TIOCSCTTY, 0) < 0)
        return errno;
    return opens("/dev/tty", O_RDWR) < 0 ? errno : open_it(path);
}

static void use_own(void)
{
    char path[32], by_self[64];
    forget_outside();
    int master = make_terminal(path);
    HOLDS(master >= 0);
    int slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    HOLDS(slave >= 0 && carries(master, slave));
    (void)snprintf(by_self, sizeof by_self, "/proc/self/fd/%d", slave);
    GETS(opens(by_self, O_WRONLY), 0);
    GETS(opens(path, O_WRONLY | O_CREAT | O_TRUNC), 0); /* as a shell's > */
    GETS(opens(path, O_RDONLY | O_NOCTTY), 0);
    int peer = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    HOLDS(peer >= 0 && carries(master, peer) && fcntl(peer, F_GETFD) == FD_CLOEXEC);
    peer = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
    HOLDS(peer >= 0 && fcntl(peer, F_GETFD) == 0);
    HOLDS(in_another(open_it, master, path) == 0);
    HOLDS(in_another(take_control, master, path) == 0);
    HOLDS(is_refused(outside_path, O_RDWR));
}

static void a_terminal_that_was_made_inside_is_opened_by_all_inside(void)
{
    play_everywhere(use_own);
}

static void use_ends(void)
{
    char path[32];
    int locked = 1;
    forget_outside();
    int master = make_terminal(path);
    HOLDS(master >= 0 && ioctl(master, TIOCSPTLCK, &locked) == 0);
    GETS(ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY), EIO); /* as the kernel has it */
    int object = open(path, O_PATH | O_CLOEXEC);
    (void)close(master);
    GETS(ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY), EBADF);
    GETS(ioctl(object, TIOCGPTPEER, O_RDWR | O_NOCTTY), EBADF);
    drop_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    GETS(ioctl(null, TIOCGPTPEER, O_RDWR | O_NOCTTY), ENOTTY);
    char by_self[64];
    (void)snprintf(by_self, sizeof by_self, "/proc/self/fd/%d", object);
    HOLDS(opens(by_self, O_RDWR) < 0); /* nobody holds the other end */
}

static void what_is_no_terminal_gets_the_kernels_answer(void)
{
    play_everywhere(use_ends);
}

static void use_controlling(void)
{
    (void)close(outside);
    HOLDS(is_refused(outside_path, O_RDWR | O_NOCTTY));
    HOLDS(setsid() > 0);
    GETS(ioctl(outside_slave, TIOCSCTTY, 0), 0);
    GETS(opens("/dev/tty", O_RDWR), 0);
    GETS(opens(outside_path, O_RDWR | O_NOCTTY), 0);
    HOLDS(setsid() < 0);
    (void)signal(SIGHUP, SIG_IGN);
    GETS(ioctl(outside_slave, TIOCNOTTY), 0);
    HOLDS(is_refused(outside_path, O_RDWR | O_NOCTTY));
}

static void the_terminal_that_controls_the_caller_is_its_own(void)
{
    play_everywhere(use_controlling);
}

static void write_files(void)
{
    forget_outside();
    GETS(opens("new", O_WRONLY | O_CREAT), 0);
    GETS(opens("new", O_RDWR), 0);
    GETS(opens("/dev/null", O_RDWR), 0);
    GETS(opens("/dev/full", O_WRONLY), 0);
    GETS(opens("missing", O_RDWR), ENOENT);
    GETS(opens("/proc/self/fd/0", O_RDWR | O_PATH), 0);
    HOLDS(rename("new", "newer") == 0 && unlink("newer") == 0);
    HOLDS(opens("/dev", O_RDONLY | O_DIRECTORY) == 0 && opens("/", O_RDONLY | O_DIRECTORY) == 0);
}

static void files_and_devices_are_opened_as_ever(void)
{
    play_everywhere(write_files);
}

TEST_LIST = {
    {"the terminal of a process outside is not opened",
     the_terminal_of_a_process_outside_is_not_opened},
    {"a terminal that was made inside is opened by all inside",
     a_terminal_that_was_made_inside_is_opened_by_all_inside},
    {"what is no terminal gets the kernel's answer", what_is_no_terminal_gets_the_kernels_answer},
    {"the terminal that controls the caller is its own",
     the_terminal_that_controls_the_caller_is_its_own},
    {"files and devices are opened as ever", files_and_devices_are_opened_as_ever},
    {NULL, NULL},
};
