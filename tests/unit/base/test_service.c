/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

#include "unit/as_service.h"

static uid_t owner_of_new(const char *dir)
{
    char path[128];
    struct stat st = {.st_uid = (uid_t)-1};
    (void)snprintf(path, sizeof path, "%s/new", dir);
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    HOLDS(fd >= 0 && fstat(fd, &st) == 0 && close(fd) == 0 && unlink(path) == 0);
    return st.st_uid;
}

static uid_t owner_of_new_inside(const char *dir)
{
    drop_service struct service service = service_enter();
    return owner_of_new(dir);
}

static void without_a_service_uid_nothing_happens(void)
{
    char dir[] = "/tmp/test-service-XXXXXX";
    TEST_ASSERT(mkdtemp(dir) != NULL);
    TEST_CHECK(!service_there() && service_give_up() == 0);
    TEST_CHECK(owner_of_new_inside(dir) == geteuid() && owner_of_new(dir) == geteuid());
    TEST_CHECK(rmdir(dir) == 0 && !does_not_hold);
}

static void make_files(const char *dir)
{
    HOLDS(service_there());
    for (int i = 0; i < 2; i++) {
        HOLDS(owner_of_new(dir) == OWNER);
        HOLDS(owner_of_new_inside(dir) == SERVICE);
    }
    HOLDS(owner_of_new(dir) == OWNER && geteuid() == OWNER && getuid() == SERVICE);
}

static void in_a_block_files_are_the_services_and_outside_the_owners(void)
{
    as_service(make_files);
}

static int fail_inside(void)
{
    drop_service struct service service = service_enter();
    errno = EXDEV;
    return -1;
}

static void enter_and_look(const char *dir)
{
    int sig = 0;
    (void)dir;
    HOLDS(prctl(PR_SET_PDEATHSIG, SIGUSR2, 0, 0, 0) == 0);
    HOLDS(fail_inside() == -1 && errno == EXDEV);
    HOLDS(prctl(PR_GET_PDEATHSIG, &sig, 0, 0, 0) == 0 && sig == SIGUSR2);
    HOLDS(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
}

static void a_block_keeps_errno_and_the_signal_at_the_parents_death(void)
{
    as_service(enter_and_look);
}

static void ask_for_access(const char *dir)
{
    char own[128];
    (void)snprintf(own, sizeof own, "%s/own", dir);
    HOLDS(mkdir(own, 0700) == 0);
    HOLDS(may_access(own, W_OK | X_OK));
    struct service service = service_enter();
    HOLDS(!may_access(own, W_OK) && errno == EACCES);
    service_leave(&service);
    HOLDS(may_access(own, W_OK) && rmdir(own) == 0);
}

static void access_is_asked_as_files_are_opened(void)
{
    as_service(ask_for_access);
}

/* What somebody with the owner's uid can do to a process: bits of what worked. */
enum { SIGNALS = 1, TRACES = 2, LIMITS = 4 };

static int attack(pid_t pid)
{
    struct rlimit limit;
    int done = kill(pid, 0) == 0 ? SIGNALS : 0;
    if (prlimit(pid, RLIMIT_NOFILE, NULL, &limit) == 0)
        done |= LIMITS;
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0)
        done |= TRACES;
    return done;
}

/* A process with these ids and one with all of the owner's that attacks it. */
static int attack_on(uid_t service)
{
    int ready[2], status = -1;
    TEST_ASSERT(pipe(ready) == 0);
    pid_t target = fork();
    if (target == 0) {
        if (!become(service, OWNER))
            _exit(1);
        (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* the ids alone shall decide */
        (void)!write(ready[1], "", 1);
        for (;;)
            (void)pause();
    }
    char byte;
    TEST_CHECK(read(ready[0], &byte, 1) == 1);
    pid_t attacker = fork();
    if (attacker == 0) {
        _exit(become(OWNER, OWNER) ? attack(target) : -1);
    }
    TEST_CHECK(waitpid(attacker, &status, 0) == attacker && WIFEXITED(status));
    TEST_CHECK(kill(target, SIGKILL) == 0 && waitpid(target, NULL, 0) == target);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return WEXITSTATUS(status);
}

static void the_owner_cannot_reach_the_process_and_could_without_the_uid(void)
{
    if (!is_root())
        return;
    TEST_CHECK_(attack_on(SERVICE) == 0, "%d", attack_on(SERVICE));
    int open_to_all = attack_on(OWNER);
    TEST_CHECK_((open_to_all | TRACES) == (SIGNALS | TRACES | LIMITS), "%d", open_to_all);
}

static void give_up_in_a_child(const char *dir)
{
    uid_t ids[3];
    int status = -1;
    (void)dir;
    pid_t child = fork();
    if (child == 0) {
        bool given = service_give_up() == 0 && getresuid(&ids[0], &ids[1], &ids[2]) == 0;
        for (int i = 0; i < 3; i++)
            given &= ids[i] == OWNER;
        given &= setresuid((uid_t)-1, SERVICE, (uid_t)-1) < 0 && !service_there();
        _exit(given ? 0 : 1);
    }
    HOLDS(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    HOLDS(service_there()); /* it was the child's own */
}

static void who_gives_it_up_cannot_have_it_back(void)
{
    as_service(give_up_in_a_child);
}

#define TEST(name) {#name, name}

TEST_LIST = {
    TEST(without_a_service_uid_nothing_happens),
    TEST(in_a_block_files_are_the_services_and_outside_the_owners),
    TEST(a_block_keeps_errno_and_the_signal_at_the_parents_death),
    TEST(access_is_asked_as_files_are_opened),
    TEST(the_owner_cannot_reach_the_process_and_could_without_the_uid),
    TEST(who_gives_it_up_cannot_have_it_back),
    {NULL, NULL},
};
