/* SPDX-License-Identifier: Apache-2.0
 *
 * Another policy while calls are being judged. The child opens and connects from several threads,
 * the test swaps; that each policy is freed once, and not too early, is the sanitizer's to say. */
#include "unit/sandbox/nettest.h"

enum { SWAPS = 400, THREADS = 4 };

enum { STARTED, STOP, ALLOWED, REFUSED, STEP }; /* numbers of what both share */

static int number(int which)
{
    return __atomic_load_n(&shared->numbers[which], __ATOMIC_ACQUIRE);
}

static void set_number(int which, int value)
{
    __atomic_store_n(&shared->numbers[which], value, __ATOMIC_RELEASE);
}

static void wait_for_number(int which, int least)
{
    int64_t until = clock_ms() + GUARD_MS;
    while (number(which) < least && clock_ms() < until)
        (void)sched_yield();
    if (number(which) < least)
        complain("number %d stays below %d", which, least);
}

static struct policy *policy_with(const char *domains, const char *deny_read,
                                  const char *allow_write)
{
    drop_str char *text = xasprintf("\"allowedDomains\":[%s],\"deniedDomains\":[]", domains);
    const struct lists lists = {
        .network = text, .deny_read = deny_read, .allow_write = allow_write};
    return policy_of_place(&lists, &(struct policy_place){0});
}

/* --- under load ------------------------------------------------------------------------------- */

/* Either answer is right at any time, and no other. */
static void tell(int r, int refusal, const char *what)
{
    if (r < 0 && errno != refusal)
        complain("%s: %s", what, strerror(errno));
    (void)__atomic_fetch_add(&shared->numbers[r < 0 ? REFUSED : ALLOWED], 1, __ATOMIC_RELAXED);
}

static char in_home[2 * PATH_MAX]; /* full() is not for threads */

static void *open_and_connect(void *ctx)
{
    const bool *looks_up = ctx;
    (void)__atomic_fetch_add(&shared->numbers[STARTED], 1, __ATOMIC_RELAXED);
    while (number(STOP) == 0) {
        tell(opens("key", O_RDONLY), EPERM, "open");
        tell(opens(in_home, O_WRONLY), EPERM, "open to write");
        tell(reaches(INADDR_LOOPBACK, host_port), EACCES, "connect");
        uint32_t v4 = 0;
        if (*looks_up) /* a question whose answer was lost takes seconds: the others go on */
            (void)look_up("example.test", &v4);
    }
    return NULL;
}

static void work_until_told(void)
{
    pthread_t threads[THREADS];
    static bool looks_up[THREADS] = {true};
    (void)snprintf(in_home, sizeof in_home, "%s", full("@h/x"));
    for (int i = 0; i < THREADS; i++)
        HOLDS(pthread_create(&threads[i], NULL, open_and_connect, &looks_up[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
}

static void calls_of_many_threads_are_judged_by_the_one_or_the_other(void)
{
    static const struct lists lists = {.deny_read = "[\"key\"]"};
    open_internet();
    write_file("@w/key", "x");
    write_file("@h/x", "");
    struct stage stage = {
        .lists = &lists, .network = true, .ready = use_fake_names, .child = work_until_told};
    start_stage(&stage);
    wait_for_number(STARTED, THREADS);
    drop_str char *open = xasprintf("\"example.test\",\"127.0.0.1:%u\"", host_port);
    for (int i = 0; i < SWAPS; i++) {
        const int outcome = i % 2 ? REFUSED : ALLOWED, before = number(outcome);
        broker_set_policy(broker, i % 2 ? policy_with("", "[\"key\"]", "[\".\"]")
                                        : policy_with(open, "[]", "[\".\",\"~\"]"));
        for (const int64_t until = clock_ms() + GUARD_MS;
             number(outcome) <= before && clock_ms() < until; (void)sched_yield())
            (void)count_accepted(host); /* there has to be room for those who connect */
        wait_for_number(outcome, before + 1);
    }
    set_number(STOP, 1);
    end_stage();
    TEST_CHECK(count_accepted(secret) == 0);
}

/* --- what holds when -------------------------------------------------------------------------- */

static void follow_the_steps(void)
{
    drop_fd int begun = tcp();
    GETS(connect_v4(begun, INADDR_LOOPBACK, host_port), EACCES);
    GETS(opens("key", O_RDONLY), EPERM);
    set_number(STEP, 1);
    wait_for_number(STEP, 2);
    drop_fd int kept = tcp();
    GETS(connect_v4(kept, INADDR_LOOPBACK, host_port), 0);
    GETS(opens("key", O_RDONLY), 0);
    GETS(opens(full("@h/made"), O_WRONLY | O_CREAT), 0);
    GETS(rename(full("@h/made"), full("@h/moved")), 0);
    set_number(STEP, 3);
    wait_for_number(STEP, 4);
    GETS(reaches(INADDR_LOOPBACK, host_port), EACCES);
    GETS(opens("key", O_RDONLY), EPERM);
    GETS(opens(full("@h/moved"), O_WRONLY), EPERM);
    HOLDS(write(kept, "x", 1) == 1); /* it is open, and nobody is asked about it any more */
    set_number(STEP, 5);
}

static void the_next_call_is_judged_by_it_and_an_open_connection_stays(void)
{
    static const struct lists lists = {.deny_read = "[\"key\"]"};
    char byte = 0;
    open_internet();
    write_file("@w/key", "x");
    struct stage stage = {.lists = &lists, .network = true, .child = follow_the_steps};
    start_stage(&stage);
    drop_str char *open = xasprintf("\"127.0.0.1:%u\"", host_port);
    wait_for_number(STEP, 1);
    broker_set_policy(broker, policy_with(open, "[]", "[\".\",\"~\"]"));
    set_number(STEP, 2);
    wait_for_number(STEP, 3);
    drop_fd int accepted = accept4(host, NULL, NULL, SOCK_CLOEXEC);
    broker_set_policy(broker, policy_with("", "[\"key\"]", "[\".\"]"));
    set_number(STEP, 4);
    wait_for_number(STEP, 5);
    TEST_CHECK(read(accepted, &byte, 1) == 1 && byte == 'x');
    end_stage();
}

/* An open that waits has a policy of its own to hold on to, however many come and go meanwhile. */
static void open_a_fifo(void)
{
    wait_for_number(STEP, 1);
    GETS(opens("fifo", O_RDONLY), 0);
}

static nlink_t count_threads(void)
{
    struct stat st;
    TEST_ASSERT(stat("/proc/self/task", &st) == 0);
    return st.st_nlink;
}

static void a_call_that_waits_outlives_the_policy_it_was_judged_by(void)
{
    static const struct lists lists = {.deny_read = "[\"key\"]"};
    open_internet();
    TEST_ASSERT(mkfifo(full("@w/fifo"), 0600) == 0);
    struct stage stage = {.lists = &lists, .network = true, .no_floor = true, .child = open_a_fifo};
    start_stage(&stage);
    nlink_t before = count_threads();
    set_number(STEP, 1);
    int64_t until = clock_ms() + GUARD_MS;
    while (count_threads() == before && clock_ms() < until)
        (void)sched_yield();
    for (int i = 0; i < 20; i++)
        broker_set_policy(broker, policy_with("", "[\"key\",\"fifo\"]", "[]"));
    drop_fd int end = -1;
    while (end < 0) { /* ENXIO: nobody reads yet */
        end = open(full("@w/fifo"), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        (void)sched_yield();
    }
    end_stage();
}

TEST_LIST = {
    {"calls_of_many_threads_are_judged_by_the_one_or_the_other",
     calls_of_many_threads_are_judged_by_the_one_or_the_other},
    {"the_next_call_is_judged_by_it_and_an_open_connection_stays",
     the_next_call_is_judged_by_it_and_an_open_connection_stays},
    {"a_call_that_waits_outlives_the_policy_it_was_judged_by",
     a_call_that_waits_outlives_the_policy_it_was_judged_by},
    {NULL, NULL},
};
