/* SPDX-License-Identifier: Apache-2.0
 *
 * Both halves: the test plays the broker, a child goes behind the walls. */
#include "unit/guard.h"
#include "unit/sandbox/wallstest.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "sandbox/confine/confine.h"

struct child {
    pid_t pid;
    int sock; /* the broker's end */
};

/* What a child found out about itself once it may go on; it ends with it. */
typedef int (*look_fn)(void);

static struct child start(look_fn look)
{
    int ends[2];
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        int step = 0;
        if (confine_self(ends[1], &step) < 0)
            _exit(100 + step);
        _exit(look());
    }
    (void)close(ends[1]);
    return (struct child){pid, ends[0]};
}

static int end_of(struct child *child)
{
    int status = 0;
    (void)close(child->sock);
    TEST_ASSERT(waitpid(child->pid, &status, 0) == child->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : ENDED_BY_SIGNAL + WTERMSIG(status);
}

static int offer(const struct child *child, int ruleset, bool listener,
                 const struct confine_offer *limits)
{
    const struct filter_wants wants = {.listener = listener, .writes = true, .open_network = true};
    struct sock_filter *filter = NULL;
    unsigned short count = 0;
    struct err e = ERR_NONE;
    TEST_ASSERT(filter_build(&wants, &filter, &count, &e) == 0);
    int r = confine_send(child->sock, ruleset, filter, count, listener, limits, &e);
    TEST_CHECK_(r == 0, "%s", e.msg);
    xfree(filter);
    return r;
}

/* Through all steps to the look; what comes of it. */
static int confined(look_fn look, int ruleset, const struct confine_offer *limits)
{
    struct child child = start(look);
    struct err e = ERR_NONE;
    int listener = 0;
    (void)offer(&child, ruleset, false, limits);
    TEST_CHECK_(confine_receive(child.sock, GUARD_MS, &listener, &e) == 0, "%s", e.msg);
    TEST_CHECK(listener == -1);
    TEST_CHECK(confine_release(child.sock, &e) == 0);
    return end_of(&child);
}

static const struct confine_offer no_limits;

/* --- what it lost ----------------------------------------------------------------------------- */

static int look_at_privileges(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {{0}};
    (void)syscall(SYS_capget, &head, caps);
    bool none = true;
    for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        none = none && !caps[i].effective && !caps[i].permitted && !caps[i].inheritable;
    bool bounded = getuid() != 0; /* who has no capability cannot empty the set; nor use it */
    if (!bounded)
        bounded = prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) == 0 && prctl(PR_CAPBSET_READ, 0) == 0;
    bool ambient = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_NET_BIND_SERVICE, 0, 0) == 1;
    return none && bounded && !ambient && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : EPERM;
}

/* Ends with ENOSYS where semaphores are refused. */
static int use_semaphores(void)
{
    return call_result(syscall(SYS_semget, 1, -1, 0));
}

static int look_at_descriptors(void)
{
    int found = 0;
    for (int fd = 3; fd < 256; fd++)
        found += fcntl(fd, F_GETFD) >= 0;
    return found;
}

static void a_confined_process_has_no_privilege_and_a_filter(void)
{
    TEST_CHECK(confined(look_at_privileges, -1, &no_limits) == 0);
    TEST_CHECK(confined(use_semaphores, -1, &no_limits) == ENOSYS);
    TEST_CHECK(run(use_semaphores, &no_wall) != ENOSYS);
}

static int descriptors_before;

static void it_keeps_none_of_the_descriptors_it_got(void)
{
    descriptors_before = look_at_descriptors();
    /* its end of the pair is the one more; the test's own end is closed in it */
    TEST_CHECK(confined(look_at_descriptors, -1, &no_limits) == descriptors_before + 1);
}

/* --- limits ----------------------------------------------------------------------------------- */

static int look_at_limits(void)
{
    struct rlimit files, core;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    (void)getrlimit(RLIMIT_CORE, &core);
    files.rlim_cur = 51;
    files.rlim_max = 51;
    const struct rlimit more = files;
    bool fixed = setrlimit(RLIMIT_NOFILE, &more) < 0 && errno == EPERM;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur == 50 && files.rlim_max == 50 && core.rlim_max <= 1 && fixed ? 0 : EDOM;
}

static int look_at_a_limit_above_ours(void)
{
    struct rlimit files;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_max == 40 ? 0 : EDOM;
}

static void limits_are_lowered_for_good_and_never_raised(void)
{
    struct confine_offer limits = {.limit_count = 1};
    limits.limits[0].resource = RLIMIT_NOFILE;
    limits.limits[0].most = 50;
    TEST_CHECK(confined(look_at_limits, -1, &limits) == 0);
    const struct rlimit ours = {40, 40};
    TEST_ASSERT(setrlimit(RLIMIT_NOFILE, &ours) == 0);
    TEST_CHECK(confined(look_at_a_limit_above_ours, -1, &limits) == 0);
}

/* --- Landlock --------------------------------------------------------------------------------- */

static int look_at_floor(void)
{
    return kill(getppid(), 0) < 0 && errno == EPERM ? 0 : EDOM;
}

static int look_without_floor(void)
{
    return kill(getppid(), 0) == 0 ? 0 : errno;
}

static void the_ruleset_binds_the_child_and_not_us(void)
{
    struct landlock_ruleset *walls = NULL;
    TEST_ASSERT(ruleset_build_walls(false, &walls, NULL) == 0);
    TEST_CHECK(confined(look_at_floor, ruleset_fd(walls), &no_limits) == 0);
    TEST_CHECK(confined(look_without_floor, -1, &no_limits) == 0);
    TEST_CHECK(kill(getppid(), 0) == 0);
    walls = ruleset_free(walls);
}

/* --- the listener ----------------------------------------------------------------------------- */

static int look_at_broker(void)
{
    return chmod("/nonexistent", 0600) < 0 ? errno : 0;
}

static int look_at_nothing(void)
{
    return 0;
}

static void the_listener_arrives_and_its_calls_are_answered(void)
{
    struct child child = start(look_at_broker);
    struct err e = ERR_NONE;
    int listener = -1;
    (void)offer(&child, -1, true, &no_limits);
    TEST_CHECK_(confine_receive(child.sock, GUARD_MS, &listener, &e) == 0, "%s", e.msg);
    TEST_ASSERT(listener >= 0 && (fcntl(listener, F_GETFD) & FD_CLOEXEC));
    TEST_CHECK(confine_release(child.sock, &e) == 0);
    struct seccomp_notif notice = {0};
    TEST_ASSERT(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notice) == 0);
    TEST_CHECK((pid_t)notice.pid == child.pid);
    struct seccomp_notif_resp answer = {.id = notice.id, .error = -EXDEV};
    TEST_CHECK(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0);
    TEST_CHECK(end_of(&child) == EXDEV);
    (void)close(listener);
}

static void without_its_broker_what_is_asked_for_fails(void)
{
    struct child child = start(look_at_broker);
    struct err e = ERR_NONE;
    int listener = -1;
    (void)offer(&child, -1, true, &no_limits);
    TEST_CHECK(confine_receive(child.sock, GUARD_MS, &listener, &e) == 0);
    (void)close(listener);
    TEST_CHECK(confine_release(child.sock, &e) == 0);
    TEST_CHECK(end_of(&child) == ENOSYS);
}

/* Behind a listener of its own, a process tries to put one on its child. */
static int listener_below_a_listener(void)
{
    const struct filter_wants wants = {.listener = true, .open_network = true};
    if (enter_wall(&(struct wall){&wants, -1}) <= 0)
        return NO_WALL;
    struct child child = start(look_at_nothing);
    struct err e = ERR_NONE;
    int listener = -1;
    (void)offer(&child, -1, true, &no_limits);
    int r = confine_receive(child.sock, GUARD_MS, &listener, &e);
    bool told = strcmp(e.msg, "confine: seccomp: another listener is above this process") == 0;
    bool ended = end_of(&child) == 100 + CONFINE_SECCOMP;
    return told && ended && listener == -1 ? -r : EDOM;
}

static void a_second_listener_is_refused_by_name(void)
{
    TEST_CHECK(run(listener_below_a_listener, &no_wall) == EBUSY);
}

/* --- what goes wrong -------------------------------------------------------------------------- */

static void who_is_left_alone_does_not_run(void)
{
    struct child never_offered = start(look_at_nothing);
    TEST_CHECK(end_of(&never_offered) == 100 + CONFINE_OFFER);
    struct child never_released = start(look_at_nothing);
    (void)offer(&never_released, -1, false, &no_limits);
    int listener = -1;
    struct err e = ERR_NONE;
    TEST_CHECK(confine_receive(never_released.sock, GUARD_MS, &listener, &e) == 0);
    TEST_CHECK(end_of(&never_released) == 100 + CONFINE_GO);
}

static void an_offer_of_another_version_is_refused(void)
{
    struct child child = start(look_at_nothing);
    const struct confine_offer strange = {.version = CONFINE_VERSION + 1, .filter_count = 1};
    TEST_ASSERT(send(child.sock, &strange, sizeof strange, 0) == sizeof strange);
    struct err e = ERR_NONE;
    int listener = -1;
    TEST_CHECK(confine_receive(child.sock, GUARD_MS, &listener, &e) == -EPROTO);
    TEST_CHECK(strstr(e.msg, "offer") != NULL);
    TEST_CHECK(end_of(&child) == 100 + CONFINE_OFFER);
}

static void a_step_that_fails_is_named_with_its_reason(void)
{
    struct child child = start(look_at_nothing);
    struct err e = ERR_NONE;
    int listener = -1;
    drop_fd int no_ruleset = memfd_create("not a ruleset", MFD_CLOEXEC);
    (void)offer(&child, no_ruleset, false, &no_limits);
    TEST_CHECK(confine_receive(child.sock, GUARD_MS, &listener, &e) < 0);
    TEST_CHECK(strncmp(e.msg, "confine: landlock: ", 19) == 0);
    TEST_MSG("%s", e.msg);
    TEST_CHECK(end_of(&child) == 100 + CONFINE_LANDLOCK);
}

static void a_child_that_is_silent_or_gone_is_not_waited_for(void)
{
    int ends[2];
    struct err e = ERR_NONE;
    int listener = -1;
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    TEST_CHECK(confine_receive(ends[0], 1, &listener, &e) == -ETIMEDOUT);
    (void)close(ends[1]);
    TEST_CHECK(confine_receive(ends[0], GUARD_MS, &listener, &e) == -EPIPE);
    TEST_CHECK(confine_release(ends[0], &e) == -EPIPE);
    (void)close(ends[0]);
    TEST_CHECK(listener == -1);
}

static void every_step_has_a_name(void)
{
    for (int i = 1; i < CONFINE__COUNT; i++)
        TEST_CHECK(strcmp(confine_step_name(i), "unknown step") != 0);
    TEST_CHECK(strcmp(confine_step_name(0), "unknown step") == 0);
    TEST_CHECK(strcmp(confine_step_name(CONFINE__COUNT), "unknown step") == 0);
}

#define NAMED(function) {#function, function}

TEST_LIST = {NAMED(a_confined_process_has_no_privilege_and_a_filter),
             NAMED(it_keeps_none_of_the_descriptors_it_got),
             NAMED(limits_are_lowered_for_good_and_never_raised),
             NAMED(the_ruleset_binds_the_child_and_not_us),
             NAMED(the_listener_arrives_and_its_calls_are_answered),
             NAMED(without_its_broker_what_is_asked_for_fails),
             NAMED(a_second_listener_is_refused_by_name),
             NAMED(who_is_left_alone_does_not_run),
             NAMED(an_offer_of_another_version_is_refused),
             NAMED(a_step_that_fails_is_named_with_its_reason),
             NAMED(a_child_that_is_silent_or_gone_is_not_waited_for),
             NAMED(every_step_has_a_name),
             {NULL, NULL}};
