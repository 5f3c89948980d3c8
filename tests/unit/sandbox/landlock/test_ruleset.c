/* SPDX-License-Identifier: Apache-2.0
 *
 * In a directory of its own, which stands for "@": what a policy allows and denies, done in a
 * child without the ruleset and on it. There is no broker: a refusal is the kernel's. */
#include "unit/sandbox/wallstest.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/clock.h"
#include "sandbox/landlock/ruleset.h"

static char top[64];
static struct policy *policy;
static struct landlock_ruleset *ground;
static bool brokered;

static const char *at(const char *path)
{
    static char full[4][PATH_MAX];
    static unsigned next;
    char *text = full[next++ % 4];
    (void)snprintf(text, PATH_MAX, "%s%s", path[0] == '@' ? top : "",
                   path[0] == '@' ? path + 1 : path);
    return text;
}

static void make_top(void)
{
    (void)snprintf(top, sizeof top, "/tmp/ruleset-XXXXXX");
    TEST_ASSERT(mkdtemp(top) != NULL);
}

static void make_dir(const char *path)
{
    TEST_ASSERT(mkdir(at(path), 0755) == 0);
}

static int put(const char *path, int flags, mode_t mode)
{
    drop_fd int fd = open(at(path), O_WRONLY | O_CLOEXEC | flags, mode);
    if (fd < 0)
        return errno;
    return write(fd, "#!/bin/true\n", 12) == 12 ? 0 : errno;
}

static void make_file(const char *path)
{
    TEST_ASSERT(put(path, O_CREAT | O_EXCL, 0755) == 0);
}

static void remove_top(void)
{
    char *command = xasprintf("chmod -R u+rwx %s; rm -rf %s", top, top);
    TEST_CHECK(system(command) == 0); /* NOLINT: a path of our own */
    xfree(command);
}

/* Lists of entries with "@", each with a blank at its end. */
static void add_words(struct words *words, const char *list)
{
    while (*list) {
        size_t n = strcspn(list, " ");
        char *word = xstrndup(list, n);
        words_add(words, at(word));
        xfree(word);
        list += n + (list[n] == ' ');
    }
}

static void build(const char *deny_read, const char *allow_write, const char *deny_write)
{
    struct sandbox_settings settings = {0};
    add_words(&settings.deny_read, deny_read);
    add_words(&settings.allow_write, allow_write);
    add_words(&settings.deny_write, deny_write);
    struct policy_place place = {.cwd = at("@/cwd"), .home = at("@/home")};
    (void)mkdir(at("@/cwd"), 0755);
    (void)mkdir(at("@/home"), 0755);
    struct err e = ERR_NONE;
    TEST_ASSERT_(policy_new(&settings, &place, &policy, &e) == 0, "%s", e.msg);
    TEST_ASSERT_(ruleset_build(policy, brokered, &ground, &e) == 0, "%s", e.msg);
    words_done(&settings.deny_read);
    words_done(&settings.allow_write);
    words_done(&settings.deny_write);
}

static void end(void)
{
    ground = ruleset_free(ground);
    policy = policy_free(policy);
    remove_top();
}

/* --- acts: what one child does with these paths ----------------------------------------------- */

static const char *from, *to;

static int do_read(void)
{
    drop_fd int fd = open(at(from), O_RDONLY | O_CLOEXEC);
    char byte;
    return fd < 0 || (read(fd, &byte, 1) < 0 && errno != EISDIR) ? errno : 0;
}

static int do_write(void)
{
    return put(from, 0, 0);
}

static int do_create(void)
{
    return put(from, O_CREAT | O_EXCL, 0644);
}

static int do_truncate(void)
{
    return call_result(truncate(at(from), 3));
}

static int do_rename(void)
{
    return call_result(rename(at(from), at(to)));
}

static int do_link(void)
{
    return call_result(link(at(from), at(to)));
}

static int do_unlink(void)
{
    return call_result(unlink(at(from)));
}

static int do_mkdir(void)
{
    return call_result(mkdir(at(from), 0755));
}

static int do_execute(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl(at(from), from, (char *)NULL);
        _exit(errno);
    }
    int status = 0;
    return pid < 0 || waitpid(pid, &status, 0) < 0 ? errno : WEXITSTATUS(status);
}

static int behind(act_fn act, const char *path, const char *other)
{
    from = path;
    to = other;
    return run(act, &(struct wall){NULL, ruleset_fd(ground)});
}

static int before(act_fn act, const char *path, const char *other)
{
    from = path;
    to = other;
    return run(act, &no_wall);
}

#define CAN(act, path) TEST_CHECK_(behind(act, path, NULL) == 0, #act " %s", path)
#define CANNOT(act, path) TEST_CHECK_(behind(act, path, NULL) == EACCES, #act " %s", path)
#define COULD(act, path) TEST_CHECK_(before(act, path, NULL) == 0, #act " %s", path)

/* --- reading ---------------------------------------------------------------------------------- */

static void make_readables(void)
{
    make_top();
    make_dir("@/w");
    make_dir("@/w/sub");
    make_dir("@/w/more");
    make_dir("@/w/secret");
    make_file("@/w/.env");
    make_file("@/w/a.txt");
    make_file("@/w/sub/b.txt");
    make_file("@/w/secret/key");
    TEST_ASSERT(symlink(".env", at("@/w/link")) == 0);
}

static void what_is_denied_cannot_be_read_and_all_beside_it_can(void)
{
    make_readables();
    build("@/w/.env @/w/secret ", "/ ", "");
    COULD(do_read, "@/w/.env");
    CANNOT(do_read, "@/w/.env");
    CANNOT(do_read, "@/w/link");
    COULD(do_read, "@/w/secret/key");
    CANNOT(do_read, "@/w/secret/key");
    CAN(do_read, "@/w/a.txt");
    CAN(do_read, "@/w/sub");
    CAN(do_read, "@/w/sub/b.txt");
    CAN(do_read, "/etc/passwd");
    CAN(do_read, "/proc/self/status");
    CAN(do_read, "/dev/null");
    end();
}

static void what_is_made_later_beside_a_denied_file_is_the_brokers(void)
{
    make_readables();
    build("@/w/.env ", "/ ", "");
    make_file("@/w/later.txt");
    make_file("@/w/sub/later.txt");
    CANNOT(do_read, "@/w/later.txt");
    CAN(do_read, "@/w/sub/later.txt");
    TEST_CHECK(ruleset_grants_read(ground, at("@/w/sub/later.txt")));
    TEST_CHECK(ruleset_grants_read(ground, at("@/w/sub")));
    TEST_CHECK(!ruleset_grants_read(ground, at("@/w/later.txt")));
    TEST_CHECK(!ruleset_grants_read(ground, at("@/w/a.txt"))); /* another may take its place */
    TEST_CHECK(!ruleset_grants_read(ground, at("@/w/.env")));
    TEST_CHECK(!ruleset_grants_read(ground, at("@/w")));
    TEST_CHECK(!ruleset_grants_read(ground, "/"));
    TEST_CHECK(!ruleset_grants_read(ground, at("@/w/subject")));
    TEST_CHECK(ruleset_grants_read(ground, "/usr/bin/env"));
    end();
}

static void what_may_not_be_read_does_not_move_to_where_it_may(void)
{
    make_readables();
    build("@/w/secret ", "/ ", "");
    TEST_CHECK(behind(do_rename, "@/w/secret/key", "@/w/sub/key") == EACCES);
    TEST_CHECK(behind(do_link, "@/w/secret/key", "@/w/sub/key") == EXDEV);
    TEST_CHECK(behind(do_rename, "@/w/sub/b.txt", "@/w/more/b.txt") == 0);
    TEST_CHECK(before(do_rename, "@/w/secret/key", "@/w/sub/key") == 0);
    end();
}

static void without_read_rules_everything_is_read(void)
{
    make_readables();
    build("", "@/w ", "");
    TEST_CHECK(ruleset_grants_read(ground, "/any/where"));
    CAN(do_read, "@/w/.env");
    make_file("@/later.txt");
    CAN(do_read, "@/later.txt");
    end();
}

/* --- writing ---------------------------------------------------------------------------------- */

static void make_writables(void)
{
    make_top();
    make_dir("@/in");
    make_dir("@/in/one");
    make_dir("@/in/two");
    make_dir("@/other");
    make_dir("@/out");
    make_file("@/in/one/f");
    make_file("@/in/two/g");
    make_file("@/out/f");
    make_file("@/alone");
}

static void files_are_changed_where_it_is_allowed_and_nowhere_else(void)
{
    make_writables();
    build("", "@/in @/alone @/missing ", "");
    COULD(do_write, "@/out/f");
    CANNOT(do_write, "@/out/f");
    COULD(do_truncate, "@/out/f");
    CANNOT(do_truncate, "@/out/f");
    COULD(do_create, "@/out/new");
    CANNOT(do_create, "@/out/newer");
    COULD(do_mkdir, "@/out/dir");
    CANNOT(do_mkdir, "@/out/dirs");
    CANNOT(do_unlink, "@/out/f");
    CANNOT(do_write, "/etc/hostname");
    CAN(do_write, "@/in/one/f");
    CAN(do_truncate, "@/in/one/f");
    CAN(do_create, "@/in/one/new");
    CAN(do_mkdir, "@/in/dir");
    CAN(do_create, "@/in/dir/new");
    CAN(do_unlink, "@/in/one/new");
    CAN(do_write, "@/alone");
    CANNOT(do_create, "@/missing");
    TEST_CHECK(ruleset_grants_write(ground, at("@/in/dir/x")));
    TEST_CHECK(!ruleset_grants_write(ground, at("@/alone")));
    TEST_CHECK(!ruleset_grants_write(ground, at("@/missing")));
    TEST_CHECK(!ruleset_grants_write(ground, at("@/out/f")));
    end();
}

static void files_move_between_directories_that_may_be_written(void)
{
    make_writables();
    build("", "@/in @/other ", "");
    TEST_CHECK(behind(do_rename, "@/in/one/f", "@/in/two/f") == 0);
    TEST_CHECK(behind(do_rename, "@/in/two/f", "@/other/f") == 0);
    TEST_CHECK(behind(do_link, "@/other/f", "@/in/one/f") == 0);
    TEST_CHECK(behind(do_link, "@/out/f", "@/in/one/stolen") == EXDEV);
    TEST_CHECK(behind(do_rename, "@/out/f", "@/in/one/stolen") == EACCES);
    TEST_CHECK(behind(do_rename, "@/in/one/f", "@/out/given") == EACCES);
    TEST_CHECK(before(do_link, "@/out/f", "@/in/one/stolen") == 0);
    end();
}

static void a_denied_write_inside_an_allowed_one_holds(void)
{
    make_writables();
    build("", "@/in ", "@/in/one ");
    CANNOT(do_write, "@/in/one/f");
    CANNOT(do_create, "@/in/one/new");
    CAN(do_write, "@/in/two/g");
    CAN(do_create, "@/in/two/new");
    CANNOT(do_create, "@/in/new"); /* it lies beside the denied one: the broker's */
    TEST_CHECK(behind(do_rename, "@/in/one", "@/in/three") == EACCES);
    TEST_CHECK(before(do_rename, "@/in/one", "@/in/three") == 0);
    TEST_CHECK(!ruleset_grants_write(ground, at("@/in")));
    TEST_CHECK(ruleset_grants_write(ground, at("@/in/two/new")));
    end();
}

static void what_is_not_to_be_read_is_not_written(void)
{
    make_writables();
    build("@/in/one ", "@/in ", "");
    CANNOT(do_write, "@/in/one/f");
    CAN(do_write, "@/in/two/g");
    end();
}

static int use_devices(void)
{
    from = "/dev/null";
    drop_fd int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    int number = -1, unlocked = 0;
    char name[32];
    if (do_write() || master < 0 || ioctl(master, TIOCGPTN, &number) < 0 ||
        ioctl(master, TIOCSPTLCK, &unlocked) < 0)
        return errno ? errno : EDOM;
    (void)snprintf(name, sizeof name, "/dev/pts/%d", number);
    drop_fd int terminal = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct winsize size;
    return terminal < 0 || ioctl(terminal, TIOCGWINSZ, &size) < 0 ? errno : 0;
}

static void terminals_and_the_usual_devices_work(void)
{
    make_writables();
    build("@/in/one ", "@/in ", "");
    TEST_CHECK(before(use_devices, "@", NULL) == 0);
    TEST_CHECK(behind(use_devices, "@", NULL) == 0);
    TEST_CHECK(ruleset_grants_write(ground, "/dev/null"));
    TEST_CHECK(!ruleset_grants_write(ground, "/dev/sda"));
    end();
}

static void programs_are_executed_but_those_made_later_beside_a_file_that_is_not_read(void)
{
    make_writables();
    make_file("@/in/one/early");
    build("@/in/one/f ", "@/in ", "");
    CAN(do_execute, "/bin/true");
    CAN(do_execute, "@/out/f");
    CAN(do_execute, "@/in/two/g");
    CAN(do_execute, "@/in/one/early");
    make_file("@/in/one/late"); /* to execute a file, the kernel reads it, and no rule says so */
    COULD(do_execute, "@/in/one/late");
    CANNOT(do_execute, "@/in/one/late");
    end();
}

static void with_a_broker_only_programs_are_read_beside_a_file_that_is_not(void)
{
    make_writables();
    make_file("@/in/one/program");
    make_file("@/in/one/text");
    TEST_ASSERT(chmod(at("@/in/one/text"), 0644) == 0);
    build("@/in/one/f ", "@/in ", "");
    CAN(do_read, "@/in/one/text");
    CAN(do_read, "@/in/one/program");
    ground = ruleset_free(ground);
    policy = policy_free(policy);
    brokered = true;
    build("@/in/one/f ", "@/in ", "");
    COULD(do_read, "@/in/one/text");
    CANNOT(do_read, "@/in/one/text");
    CAN(do_read, "@/in/one/program");
    CAN(do_execute, "@/in/one/program");
    CAN(do_read, "@/in/two/g");
    CAN(do_write, "@/in/one/text");
    end();
}

static void a_way_that_cannot_be_listed_does_not_hide_what_is_named(void)
{
    make_writables();
    TEST_ASSERT(chmod(at("@/in"), 0111) == 0);
    build("", "@/in/two ", "");
    CAN(do_create, "@/in/two/new");
    CANNOT(do_create, "@/out/new");
    end();
}

static void ten_thousand_directories_beside_a_denied_file_take_no_long_time(void)
{
    make_top();
    make_dir("@/w");
    make_file("@/w/.env");
    for (int i = 0; i < 10000; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "@/w/%d", i);
        make_dir(path);
    }
    int64_t start = clock_of_thread_ns();
    build("@/w/.env ", "@/w ", "");
    int64_t took = (clock_of_thread_ns() - start) / 1000000;
    TEST_CHECK(ruleset_grants_read(ground, at("@/w/9999/x")));
    TEST_CHECK(ruleset_grants_write(ground, at("@/w/9999/x")));
    TEST_CHECK(took < 10000); /* of the processor, every check of the compiler on */
    (void)fprintf(stderr, "# 10000 directories: %d ms\n", (int)took);
    end();
}

static void a_glob_through_everything_ends(void)
{
    make_readables();
    build("/**/.env ", "/**/out ", "");
    CANNOT(do_read, "@/w/.env");
    end();
}

/* --- other processes -------------------------------------------------------------------------- */

static pid_t victim;

static int do_signal(void)
{
    return call_result(kill(victim, 0));
}

static int do_trace(void)
{
    if (ptrace(PTRACE_ATTACH, victim, 0, 0) < 0)
        return errno;
    (void)waitpid(victim, NULL, 0);
    (void)ptrace(PTRACE_DETACH, victim, 0, 0);
    return 0;
}

static int do_peek(void)
{
    static char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)victim);
    from = path;
    return do_read();
}

static void wait_for_the_end(void)
{
    for (;;)
        (void)pause();
}

static pid_t start_victim(void)
{
    int ready[2];
    char byte;
    if (pipe2(ready, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0 && drop_capabilities() == 0) { /* or it is above those who try */
        (void)!write(ready[1], "", 1);
        wait_for_the_end();
    }
    (void)close(ready[1]);
    if (pid > 0)
        (void)!read(ready[0], &byte, 1);
    (void)close(ready[0]);
    return pid;
}

static void end_victim(void)
{
    (void)kill(victim, SIGKILL);
    (void)waitpid(victim, NULL, 0);
}

/* With another inside: it is started behind the wall. */
static int with_own_victim(act_fn act)
{
    victim = start_victim();
    int r = victim < 0 ? errno : act();
    end_victim();
    return r;
}

static int signal_inside(void)
{
    return with_own_victim(do_signal);
}

static int trace_inside(void)
{
    return with_own_victim(do_trace);
}

static int peek_inside(void)
{
    return with_own_victim(do_peek);
}

static socklen_t abstract_name(struct sockaddr_un *name)
{
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "%s", top);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int do_connect(void)
{
    struct sockaddr_un name;
    socklen_t n = abstract_name(&name);
    drop_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return call_result(connect(fd, (struct sockaddr *)&name, n));
}

static int listen_abstract(void)
{
    struct sockaddr_un name;
    socklen_t n = abstract_name(&name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&name, n) < 0 || listen(fd, 8) < 0)
        return -1;
    return fd;
}

static int connect_inside(void)
{
    drop_fd int fd = listen_abstract();
    return fd < 0 ? errno : do_connect();
}

static void check_the_edge(void)
{
    victim = start_victim();
    TEST_CHECK(before(do_signal, "", NULL) == 0);
    TEST_CHECK(behind(do_signal, "", NULL) == EPERM);
    TEST_CHECK(before(do_trace, "", NULL) == 0);
    TEST_CHECK(behind(do_trace, "", NULL) == EPERM);
    TEST_CHECK(before(do_peek, "", NULL) == 0);
    TEST_CHECK(behind(do_peek, "", NULL) == EACCES);
    end_victim();
    TEST_CHECK(behind(signal_inside, "", NULL) == 0);
    TEST_CHECK(behind(trace_inside, "", NULL) == 0);
    TEST_CHECK(behind(peek_inside, "", NULL) == 0);
    TEST_CHECK(behind(connect_inside, "", NULL) == 0);
    int fd = listen_abstract();
    TEST_CHECK(before(do_connect, "", NULL) == 0);
    TEST_CHECK(behind(do_connect, "", NULL) == EPERM);
    (void)close(fd);
}

static void nothing_outside_is_traced_signalled_or_reached_by_an_abstract_name(void)
{
    make_writables();
    build("", "@/in ", "");
    check_the_edge();
    end();
}

static void check_that_files_are_free(void)
{
    CAN(do_read, "@/out/f");
    CAN(do_write, "@/out/f");
    CAN(do_create, "@/out/new");
    CAN(do_execute, "@/out/f");
    CAN(do_truncate, "@/out/f");
    TEST_CHECK(behind(do_rename, "@/in/one/f", "@/out/moved") == 0);
    TEST_CHECK(behind(do_link, "@/out/moved", "@/in/one/f") == 0);
}

static void the_walls_alone_have_the_same_edge_and_no_rule_for_files(void)
{
    make_writables();
    TEST_ASSERT(ruleset_build_walls(false, &ground, NULL) == 0);
    check_the_edge();
    check_that_files_are_free();
    TEST_CHECK(behind(use_devices, "@", NULL) == 0);
    TEST_CHECK(ruleset_grants_read(ground, "/x") && ruleset_grants_write(ground, "/x"));
    end();
}

static int make_terminal(void)
{
    drop_fd int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? errno : 0;
}

static int open_terminal(void)
{
    drop_fd int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    int locked = 0, number = 0;
    char path[32];
    if (fd < 0 || ioctl(fd, TIOCSPTLCK, &locked) < 0 || ioctl(fd, TIOCGPTN, &number) < 0)
        return EIO;
    (void)snprintf(path, sizeof path, "/dev/pts/%d", number);
    drop_fd int slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    return slave < 0 ? errno : 0;
}

static int open_peer(void)
{
    drop_fd int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    int locked = 0;
    if (fd < 0 || ioctl(fd, TIOCSPTLCK, &locked) < 0)
        return EIO;
    drop_fd int slave = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    return slave < 0 ? errno : 0;
}

static void with_a_broker_terminals_are_its_own_to_open(void)
{
    static const char *const denied[] = {"@/in/one/f ", ""}; /* without the latter nothing is */
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
        make_writables();
        brokered = true;
        build(denied[i], "@/in ", "");
        CAN(make_terminal, "");
        CAN(do_write, "/dev/null");
        CAN(do_read, "/dev/zero");
        TEST_CHECK(behind(open_terminal, "", NULL) == EACCES);
        TEST_CHECK(behind(open_peer, "", NULL) == EACCES);
        TEST_CHECK(!ruleset_grants_read(ground, "/dev/pts/0"));
        TEST_CHECK(!ruleset_grants_write(ground, "/dev/pts/0"));
        TEST_CHECK(ruleset_grants_read(ground, "/usr/x") &&
                   ruleset_grants_write(ground, "/dev/null"));
        end();
    }
}

static void the_walls_with_terminals_refuse_these_and_nothing_else(void)
{
    make_writables();
    TEST_ASSERT(ruleset_build_walls(true, &ground, NULL) == 0);
    check_the_edge();
    check_that_files_are_free();
    CAN(do_read, "/");
    CAN(do_read, "/dev");
    CAN(do_read, "/dev/zero");
    CAN(do_write, "/dev/null");
    CAN(make_terminal, "");
    TEST_CHECK(before(open_terminal, "", NULL) == 0 && before(open_peer, "", NULL) == 0);
    TEST_CHECK(behind(open_terminal, "", NULL) == EACCES);
    TEST_CHECK(behind(open_peer, "", NULL) == EACCES);
    TEST_CHECK(ruleset_grants_write(ground, "/tmp/x") && ruleset_grants_read(ground, "/dev/null"));
    TEST_CHECK(!ruleset_grants_read(ground, "/dev/pts/0"));
    TEST_CHECK(!ruleset_grants_write(ground, "/dev/console"));
    end();
}

static void a_policy_without_rules_for_files_has_none_here(void)
{
    make_writables();
    build("", "/ ", "");
    TEST_CHECK(ruleset_grants_read(ground, "/x"));
    CAN(do_write, "@/out/f");
    check_the_edge();
    end();
}

#define NAMED(function) {#function, function}

TEST_LIST = {NAMED(what_is_denied_cannot_be_read_and_all_beside_it_can),
             NAMED(what_is_made_later_beside_a_denied_file_is_the_brokers),
             NAMED(what_may_not_be_read_does_not_move_to_where_it_may),
             NAMED(without_read_rules_everything_is_read),
             NAMED(files_are_changed_where_it_is_allowed_and_nowhere_else),
             NAMED(files_move_between_directories_that_may_be_written),
             NAMED(a_denied_write_inside_an_allowed_one_holds),
             NAMED(what_is_not_to_be_read_is_not_written),
             NAMED(terminals_and_the_usual_devices_work),
             NAMED(programs_are_executed_but_those_made_later_beside_a_file_that_is_not_read),
             NAMED(with_a_broker_only_programs_are_read_beside_a_file_that_is_not),
             NAMED(a_way_that_cannot_be_listed_does_not_hide_what_is_named),
             NAMED(ten_thousand_directories_beside_a_denied_file_take_no_long_time),
             NAMED(a_glob_through_everything_ends),
             NAMED(nothing_outside_is_traced_signalled_or_reached_by_an_abstract_name),
             NAMED(the_walls_alone_have_the_same_edge_and_no_rule_for_files),
             NAMED(with_a_broker_terminals_are_its_own_to_open),
             NAMED(the_walls_with_terminals_refuse_these_and_nothing_else),
             NAMED(a_policy_without_rules_for_files_has_none_here),
             {NULL, NULL}};
