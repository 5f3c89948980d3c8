/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/sandbox/brokertest.h - acts of a confined child, with the test as its broker.
 * The child's acts answer 0 or an errno; GETS() and its kind compare and write what is wrong into
 * memory that both share, so that the test can say it. */
#ifndef BROKERTEST_H
#define BROKERTEST_H

#include "unit/guard.h"
#include "unit/sandbox/policytest.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "sandbox/broker/broker.h"
#include "sandbox/confine/confine.h"
#include "sandbox/seccomp/filter.h"

enum { COMPLAINTS_MAX = 16, REFUSALS_MAX = 32 };

struct shared {
    int complaints;
    char texts[COMPLAINTS_MAX][400];
    int numbers[8]; /* for what a test likes */
};

struct stage {
    const struct lists *lists;
    int tasks_max;
    int write_error;
    bool naive;    /* and without Landlock, which would refuse what naive lets go on */
    bool no_floor; /* the broker alone */
    bool signals;  /* are the broker's */
    bool network;  /* sockets are the broker's */
    bool walls;    /* no policy */
    const struct policy_place *place;
    const struct net_proxies *proxies;
    void (*ready)(void); /* the broker is there, the child not yet let go */
    void (*child)(void);
};

/* For how long an attack is made; 0 where IPYBOX_RACE_MS does not say it: then it is made so many
 * times, and a naive broker, which leaks by chance, is not attacked. */
static inline int64_t race_ms(void)
{
    const char *text = getenv("IPYBOX_RACE_MS");
    char *end;
    return text ? strtol(text, &end, 10) : 0;
}

static struct shared *shared;
static struct {
    int count;
    pid_t pid;
    char calls[REFUSALS_MAX][16], whats[REFUSALS_MAX][256];
} refusals;
static pthread_mutex_t refusals_lock = PTHREAD_MUTEX_INITIALIZER;
static struct broker *broker;
static pid_t child;

static PRINTF(1, 2) void complain(const char *fmt, ...)
{
    int n = __atomic_fetch_add(&shared->complaints, 1, __ATOMIC_RELAXED);
    va_list args;
    va_start(args, fmt);
    if (n < COMPLAINTS_MAX)
        (void)vsnprintf(shared->texts[n], sizeof shared->texts[n], fmt, args);
    va_end(args);
}

static inline void check_result(int line, const char *what, long got, int want)
{
    int code = got < 0 ? errno : 0;
    if (code != want)
        complain("line %d: %s: %s, not %s", line, what, strerror(code), strerror(want));
}

/* The one before, if there was one, goes. */
static inline void make_place_anew(void)
{
    if (*top)
        remove_place();
    make_place();
}

/* A call that answers -1 and errno; want is 0 or an errno. */
#define GETS(call, want) check_result(__LINE__, #call, (call), (want))
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            complain("line %d: %s", __LINE__, #condition);                                         \
    } while (0)

/* Opens and closes. */
static inline int opens(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0666);
    return fd < 0 ? -1 : close(fd);
}

static inline bool has_text(const char *path, const char *want)
{
    char text[256] = "";
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    return n >= 0 && strcmp(text, want) == 0;
}

static inline void write_file(const char *name, const char *text)
{
    make_file(name);
    drop_fd int fd = open(full(name), O_WRONLY | O_TRUNC | O_CLOEXEC);
    TEST_ASSERT(fd >= 0 && fd_write(fd, text, strlen(text)) == 0);
}

static void on_refused(void *ctx, const struct refusal *refusal)
{
    (void)ctx;
    (void)pthread_mutex_lock(&refusals_lock);
    int n = refusals.count++;
    if (n < REFUSALS_MAX) {
        refusals.pid = refusal->pid;
        (void)snprintf(refusals.calls[n], sizeof refusals.calls[n], "%s", refusal->call);
        (void)snprintf(refusals.whats[n], sizeof refusals.whats[n], "%.255s", refusal->what);
    }
    (void)pthread_mutex_unlock(&refusals_lock);
}

static inline bool was_refused(const char *call, const char *what)
{
    for (int i = 0; i < refusals.count && i < REFUSALS_MAX; i++)
        if (strcmp(refusals.calls[i], call) == 0 && strcmp(refusals.whats[i], full(what)) == 0)
            return true;
    return false;
}

/* What whoever becomes a broker does first. */
static void become_harmless(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};
    TEST_ASSERT(syscall(SYS_capset, &head, none) == 0);
    TEST_ASSERT(prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    (void)umask(0);
}

static void run_child(int sock, const struct stage *stage)
{
    int step = 0;
    (void)umask(022);
    (void)prctl(PR_SET_DUMPABLE, 1); /* as exec does: a broker reads its child's memory */
    if (chdir(full("@w")) < 0 || confine_self(sock, &step) < 0)
        complain("confine: %s", confine_step_name(step));
    else
        stage->child();
    _exit(0);
}

static void send_walls(int sock, const struct policy *policy,
                       const struct landlock_ruleset *ruleset, const struct stage *stage)
{
    const struct filter_wants walls = {.listener = true, .open_network = true, .terminals = true};
    struct filter_wants wants = {.listener = true,
                                 .reads = policy_denies_reads(policy) || stage->network,
                                 .marks = ruleset != NULL,
                                 .writes = true,
                                 .network = stage->network,
                                 .unix_sockets = stage->network,
                                 .tasks = stage->tasks_max > 0,
                                 .signals = stage->signals,
                                 .terminals = true};
    struct confine_offer offer = {0};
    struct sock_filter *filter = NULL;
    unsigned short count = 0;
    struct err e = ERR_NONE;
    TEST_ASSERT_(filter_build(stage->walls ? &walls : &wants, &filter, &count, &e) == 0, "%s",
                 e.msg);
    int rules = ruleset ? ruleset_fd(ruleset) : -1;
    TEST_ASSERT_(confine_send(sock, rules, filter, count, true, &offer, &e) == 0, "%s", e.msg);
    xfree(filter);
}

static struct policy *stage_policy;
static struct landlock_ruleset *stage_ruleset;

/* The child runs from here on. */
static void start_stage(const struct stage *stage)
{
    static const struct policy_place nowhere = {0};
    struct err e = ERR_NONE;
    int socks[2];
    become_harmless();
    memset(&refusals, 0, sizeof refusals);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    TEST_ASSERT(shared != MAP_FAILED);
    stage_policy = policy_of_place(stage->lists, stage->place ? stage->place : &nowhere);
    int r = stage->walls ? ruleset_build_walls(true, &stage_ruleset, &e)
                         : ruleset_build(stage_policy, true, &stage_ruleset, &e);
    TEST_ASSERT_(r == 0, "%s", e.msg);
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) == 0);
    child = fork();
    TEST_ASSERT(child >= 0);
    if (child == 0) {
        (void)close(socks[0]);
        run_child(socks[1], stage);
    }
    (void)close(socks[1]);
    const struct landlock_ruleset *ruleset = stage->naive || stage->no_floor ? NULL : stage_ruleset;
    send_walls(socks[0], stage_policy, ruleset, stage);
    struct broker_config config = {.policy = stage->walls ? NULL : stage_policy,
                                   .ruleset = ruleset,
                                   .tasks_max = stage->tasks_max,
                                   .write_error = stage->write_error,
                                   .naive = stage->naive,
                                   .proxies = stage->proxies,
                                   .refused = on_refused};
    TEST_ASSERT_(confine_receive(socks[0], GUARD_MS, &config.listener, &e) == 0, "%s", e.msg);
    TEST_ASSERT_(broker_start(&config, &broker, &e) == 0, "%s", e.msg);
    if (stage->ready)
        stage->ready();
    TEST_ASSERT_(confine_release(socks[0], &e) == 0, "%s", e.msg);
    (void)close(socks[0]);
}

/* Waits for the child and all that it left. */
static void end_stage(void)
{
    int status = 0;
    TEST_ASSERT(waitpid(child, &status, 0) == child);
    TEST_CHECK_(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %#x",
                (unsigned)status);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        continue;
    broker = broker_free(broker);
    for (int i = 0; i < shared->complaints && i < COMPLAINTS_MAX; i++)
        TEST_CHECK_(false, "%s", shared->texts[i]);
    stage_ruleset = ruleset_free(stage_ruleset);
    stage_policy = policy_free(stage_policy);
    (void)prctl(PR_SET_DUMPABLE, 1); /* the search for leaks traces us */
}

/* The same with the kernel's rules below the broker, and with the broker alone. */
static inline void act(const struct lists *lists, void (*fn)(void))
{
    struct stage stage = {.lists = lists, .child = fn};
    start_stage(&stage);
    end_stage();
}

static inline void act_alone(const struct lists *lists, void (*fn)(void))
{
    struct stage stage = {.lists = lists, .child = fn, .no_floor = true};
    start_stage(&stage);
    end_stage();
}

#endif
