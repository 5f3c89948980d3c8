/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/sandbox/brokertest.h"

#include <poll.h>
#include <sched.h>

enum { MOST = 12 };

static const struct lists plain = {0};

static int *count_of(int which)
{
    return &shared->numbers[which];
}

/* A child that lives until its parent lets it go. */
static pid_t linger(const int gate[2])
{
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        (void)close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
    }
    return pid;
}

static void fork_to_the_limit(void)
{
    int gate[2], n = 0;
    GETS(pipe2(gate, O_CLOEXEC), 0);
    for (int round = 0; round < 3; round++) {
        pid_t pid;
        while ((pid = linger(gate)) > 0)
            n++;
        HOLDS(errno == EAGAIN);
        HOLDS(n == MOST - 1); /* with us that makes MOST */
        GETS(fork(), EAGAIN);
        (void)close(gate[1]); /* they go, so as many may come again */
        for (int i = 0; i < n; i++)
            HOLDS(wait(NULL) > 0);
        n = 0;
        (void)close(gate[0]);
        GETS(pipe2(gate, O_CLOEXEC), 0);
    }
}

static void as_many_processes_as_allowed_can_be_and_not_one_more(void)
{
    make_place();
    struct stage stage = {.lists = &plain, .tasks_max = MOST, .child = fork_to_the_limit};
    start_stage(&stage);
    int status = 0;
    TEST_ASSERT(waitpid(child, &status, 0) == child && status == 0);
    TEST_CHECK_(broker_task_refusals(broker) == 6, "%ld", broker_task_refusals(broker));
    broker = broker_free(broker);
    for (int i = 0; i < shared->complaints && i < COMPLAINTS_MAX; i++)
        TEST_CHECK_(false, "%s", shared->texts[i]);
    (void)prctl(PR_SET_DUMPABLE, 1);
    stage_ruleset = ruleset_free(stage_ruleset);
    stage_policy = policy_free(stage_policy);
}

static void *wait_at_gate(void *ctx)
{
    char byte;
    (void)!read(*(int *)ctx, &byte, 1);
    return NULL;
}

static void thread_to_the_limit(void)
{
    int gate[2], n = 0;
    pthread_t threads[MOST + 1];
    GETS(pipe2(gate, O_CLOEXEC), 0);
    while (n <= MOST && pthread_create(&threads[n], NULL, wait_at_gate, &gate[0]) == 0)
        n++;
    HOLDS(n == MOST - 1);
    (void)close(gate[1]);
    for (int i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
    /* Who was waited for may still be on its way out. */
    int r = EAGAIN;
    for (int64_t until = clock_ms() + GUARD_MS; r == EAGAIN && clock_ms() < until;)
        r = pthread_create(&threads[0], NULL, wait_at_gate, &gate[0]);
    HOLDS(r == 0);
    (void)pthread_join(threads[0], NULL);
}

static void threads_count_like_processes(void)
{
    make_place();
    struct stage stage = {.lists = &plain, .tasks_max = MOST, .child = thread_to_the_limit};
    start_stage(&stage);
    end_stage();
}

static void fork_again_and_again(void)
{
    for (int i = 0; i < 20 * MOST; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        GETS(pid, 0);
        if (pid > 0)
            HOLDS(waitpid(pid, NULL, 0) == pid);
    }
}

static void what_has_ended_does_not_count(void)
{
    make_place();
    struct stage stage = {.lists = &plain, .tasks_max = MOST, .child = fork_again_and_again};
    start_stage(&stage);
    end_stage();
}

/* Every process forks without end; the parents go, so that the children come to the broker. */
static void bomb(void)
{
    while (__atomic_load_n(count_of(0), __ATOMIC_ACQUIRE) == 0)
        if (fork() > 0 && (clock_ms() & 1))
            break;
}

/* The tasks of the tree, counted by somebody else. */
static int count_children(void)
{
    char path[64], text[4096] = "";
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);
    int count = 0;
    for (ssize_t i = 0; i < n; i++)
        count += text[i] == ' ';
    return count;
}

/* False: none is left. */
static bool look_at_bomb(int *most)
{
    const int now = count_children();
    pid_t pid;
    *most = now > *most ? now : *most;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        continue;
    return pid == 0;
}

static void a_fork_bomb_is_held_and_cleared(void)
{
    enum { REFUSALS = 50 };
    make_place();
    struct stage stage = {.lists = &plain, .tasks_max = MOST, .child = bomb};
    start_stage(&stage);
    int most = 0;
    /* At the limit all try in vain; when they may stop the parents go first, and children come. */
    for (const int64_t until = clock_ms() + GUARD_MS;
         (most < 2 || broker_task_refusals(broker) < REFUSALS) && clock_ms() < until;)
        (void)look_at_bomb(&most);
    __atomic_store_n(count_of(0), 1, __ATOMIC_RELEASE);
    while (look_at_bomb(&most))
        continue;
    TEST_CHECK_(most > 1 && most <= MOST, "%d", most);
    TEST_CHECK(broker_task_refusals(broker) >= REFUSALS);
    broker = broker_free(broker);
    (void)prctl(PR_SET_DUMPABLE, 1);
    stage_ruleset = ruleset_free(stage_ruleset);
    stage_policy = policy_free(stage_policy);
}

/* Several threads at the limit at the same time. */
static pthread_barrier_t all_there; /* a thread cannot be made at the limit */

static void *fork_in_thread(void *ctx)
{
    const int *gate = ctx;
    (void)pthread_barrier_wait(&all_there);
    for (int i = 0; i < 10; i++)
        if (linger(gate) > 0)
            (void)__atomic_add_fetch(count_of(0), 1, __ATOMIC_RELAXED);
    return NULL;
}

static void fork_in_threads(void)
{
    enum { THREADS = 4 };
    int gate[2];
    pthread_t threads[THREADS];
    GETS(pipe2(gate, O_CLOEXEC), 0);
    HOLDS(pthread_barrier_init(&all_there, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++)
        HOLDS(pthread_create(&threads[i], NULL, fork_in_thread, gate) == 0);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    /* All that were forked are alive still, and the threads were tasks for a time. */
    HOLDS(*count_of(0) <= MOST - 1 && *count_of(0) >= MOST - 1 - 2 * THREADS);
    (void)close(gate[1]);
    while (wait(NULL) > 0)
        continue;
}

static void who_forks_at_the_same_time_does_not_get_past_the_limit(void)
{
    make_place();
    struct stage stage = {.lists = &plain, .tasks_max = MOST, .child = fork_in_threads};
    for (int i = 0; i < 10; i++) {
        start_stage(&stage);
        end_stage();
    }
}

static void use_vfork(void)
{
    pid_t pid = vfork();
    if (pid == 0)
        _exit(7);
    int status = 0;
    HOLDS(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
}

static void vfork_works(void)
{
    make_place();
    struct stage stage = {.lists = &plain, .tasks_max = MOST, .child = use_vfork};
    start_stage(&stage);
    end_stage();
}

static void send_signals(void)
{
    int gate[2];
    GETS(pipe2(gate, O_CLOEXEC), 0);
    pid_t pid = linger(gate);
    GETS(kill(pid, 0), 0);
    GETS(kill(getppid(), 0), EPERM);
    GETS(kill(getppid(), SIGKILL), EPERM);
    GETS((int)syscall(SYS_tkill, getppid(), SIGKILL), EPERM);
    GETS((int)syscall(SYS_tgkill, getppid(), getppid(), SIGKILL), EPERM);
    GETS(kill(1, 0), EPERM);
    GETS(kill(-1, 0), EPERM);
    GETS(kill(0, 0), EPERM); /* the test's own group */
    GETS(kill(-getpgrp(), 0), EPERM);
    GETS(kill(4000000, 0), ESRCH);
    GETS(setpgid(0, 0), 0);
    GETS(kill(0, 0), 0);
    GETS(kill(-getpid(), 0), 0);
    GETS(kill(getpid(), 0), 0);
    GETS(raise(0), 0);
    GETS(kill(pid, SIGKILL), 0);
    HOLDS(waitpid(pid, NULL, 0) == pid);
}

static void signals_reach_the_sandbox_alone_where_landlock_has_no_scope_for_them(void)
{
    make_place();
    struct stage stage = {
        .lists = &plain, .signals = true, .no_floor = true, .child = send_signals};
    start_stage(&stage);
    end_stage();
    TEST_CHECK(refusals.count == 8 && strncmp(refusals.whats[0], "process ", 8) == 0);
}

/* By the call: musl has functions that refuse by themselves. */
static int be_ordinary(pid_t thread)
{
    const int normal = 0; /* a sched_param */
    return (int)syscall(SYS_sched_setscheduler, thread, SCHED_OTHER, &normal);
}

static void *take_both(void *ctx)
{
    (void)ctx;
    GETS(be_ordinary((pid_t)syscall(SYS_gettid)), 0);
    GETS(be_ordinary(getpid()), 0); /* the first thread */
    return NULL;
}

static void order_threads(void)
{
    int gate[2];
    pthread_t thread;
    GETS(pipe2(gate, O_CLOEXEC), 0);
    const pid_t other = linger(gate);
    GETS(be_ordinary(0), 0);
    GETS(be_ordinary(getpid()), 0);
    GETS(be_ordinary(getppid()), EPERM);
    GETS(be_ordinary(other), EPERM);
    GETS(be_ordinary(4000000), ESRCH);
    GETS(be_ordinary(-1), EINVAL);
    HOLDS(pthread_create(&thread, NULL, take_both, NULL) == 0);
    (void)pthread_join(thread, NULL);
    (void)close(gate[1]);
    HOLDS(waitpid(other, NULL, 0) == other);
}

static void the_scheduling_of_ones_own_threads_is_set_and_of_no_other(void)
{
    make_place();
    struct stage stage = {.lists = &plain, .child = order_threads};
    start_stage(&stage);
    end_stage();
    char text[32];
    (void)snprintf(text, sizeof text, "process %d", (int)getpid());
    TEST_CHECK(refusals.count == 2 && strcmp(refusals.calls[0], "sched_setschedu") == 0 &&
               strcmp(refusals.whats[0], text) == 0);
}

TEST_LIST = {
    {"as many processes as allowed can be, and not one more",
     as_many_processes_as_allowed_can_be_and_not_one_more},
    {"threads count like processes", threads_count_like_processes},
    {"what has ended does not count", what_has_ended_does_not_count},
    {"a fork bomb is held and cleared", a_fork_bomb_is_held_and_cleared},
    {"who forks at the same time does not get past the limit",
     who_forks_at_the_same_time_does_not_get_past_the_limit},
    {"vfork works", vfork_works},
    {"signals reach the sandbox alone, where Landlock has no scope for them",
     signals_reach_the_sandbox_alone_where_landlock_has_no_scope_for_them},
    {"the scheduling of one's own threads is set, and of no other",
     the_scheduling_of_ones_own_threads_is_set_and_of_no_other},
    {NULL, NULL},
};
