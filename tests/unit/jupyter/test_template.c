/* SPDX-License-Identifier: Apache-2.0
 *
 * The test is the template's process: it has the other end of its socket. */
#include <acutest.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "base/unixsock.h"
#include "fakes/fake_spawn.h"
#include "jupyter/link.h"
#include "jupyter/template.h"

enum { FIRST_MS = 500, LAST_MS = 60000, FDS = LINK_FDS + 2 };

static int64_t now = 1000;
static struct loop *loop;
static struct template_config config;
static struct template *template;
static char logged[4096];
static const struct child_events events;
static int given[LINK_FDS];

static int64_t fake_clock(void)
{
    return now;
}

static void wait_ms(int64_t ms)
{
    now += ms;
    for (int i = 0; i < 3; i++)
        loop_turn(loop, 0);
}

static void note(enum log_level level, const char *text)
{
    (void)level;
    const size_t at = strlen(logged);
    (void)snprintf(logged + at, sizeof logged - at, "%s\n", text);
}

static void begin(void)
{
    fake_spawn = (struct fake_spawn){.helper = -1, .helper_pid = getpid()};
    *logged = '\0';
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    loop_set_clock(loop, fake_clock);
    config = (struct template_config){.loop = loop, .python = "python3", .log = note};
    for (int i = 0; i < LINK_FDS; i++)
        given[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
    template = template_open(&config);
}

static void end(void)
{
    template = template_close(template);
    loop = loop_free(loop);
    fake_spawn.helper = fd_close(fake_spawn.helper);
    for (int i = 0; i < LINK_FDS; i++)
        (void)fd_close(given[i]);
}

static void say(const char *packet)
{
    TEST_ASSERT(send(fake_spawn.helper, packet, strlen(packet), 0) == (ssize_t)strlen(packet));
    wait_ms(0);
}

static void come_up(void)
{
    say("{\"ready\":true,\"packages\":[]}");
}

static void die(void)
{
    fake_spawn.helper = fd_close(fake_spawn.helper);
    wait_ms(0);
}

/* How many helpers have been started in a wait of `ms`. */
static int started_in(int64_t ms)
{
    int before = fake_spawn.helper_starts;
    wait_ms(ms);
    return fake_spawn.helper_starts - before;
}

static int ask_with(const char *connection_file, const char *const *envp)
{
    const struct template_kernel kernel = {
        .connection_file = connection_file, .cwd = "/", .envp = envp, .fds = given};
    struct child *child = NULL;
    struct err e = ERR_NONE;
    return template_fork(template, &kernel, &events, NULL, &child, &e);
}

static int ask(const char *connection_file)
{
    static const char *const env[] = {"A=b=c", NULL};
    return ask_with(connection_file, env);
}

static void close_all(const struct msghdr *m)
{
    const struct cmsghdr *head = CMSG_FIRSTHDR(m);
    TEST_ASSERT(head && head->cmsg_len == CMSG_LEN(FDS * sizeof(int)));
    int fds[FDS];
    memcpy(fds, CMSG_DATA(head), sizeof fds);
    for (size_t i = 0; i < FDS; i++)
        (void)close(fds[i]);
}

/* The next request on the template's socket, and that it has its descriptors; NULL: none. */
static struct json *next_request(void)
{
    static char text[128 * 1024];
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(UNIXSOCK_FDS_MAX * sizeof(int))];
    } rights;
    struct iovec part = {text, sizeof text};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights};
    const ssize_t n = recvmsg(fake_spawn.helper, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n <= 0)
        return NULL;
    close_all(&m);
    return json_parse(text, (size_t)n, JSON_STRICT, NULL);
}

static void expect_request(const char *connection_file)
{
    drop_json struct json *request = next_request();
    const struct json *kernel = json_get(request, "kernel");
    const char *file = json_get_text(kernel, "connection_file");
    TEST_CHECK(file && strcmp(file, connection_file) == 0);
    TEST_MSG("%s and not %s", file ? file : "nothing", connection_file);
    TEST_CHECK(strcmp(json_get_text(json_get(kernel, "env"), "A"), "b=c") == 0);
}

static void a_kernel_is_asked_for_once_it_is_ready(void)
{
    begin();
    TEST_CHECK(template_usable(template));
    come_up();
    TEST_CHECK(template_usable(template) && ask("/k1") == 0 && fake_spawn.adopts == 1);
    expect_request("/k1");
    TEST_CHECK(!next_request());
    end();
}

static void requests_that_wait_are_sent_in_their_order(void)
{
    begin();
    TEST_CHECK(ask("/k1") == 0 && ask("/k2") == 0 && ask("/k3") == 0);
    TEST_CHECK(!next_request());
    come_up();
    expect_request("/k1");
    expect_request("/k2");
    expect_request("/k3");
    end();
}

static void requests_that_wait_are_closed_when_it_dies(void)
{
    begin();
    TEST_CHECK(ask("/k1") == 0);
    die();
    TEST_CHECK(!template_usable(template));
    TEST_CHECK(started_in(FIRST_MS) == 1);
    come_up();
    TEST_CHECK(!next_request());
    end();
}

static void an_environment_that_is_too_large_is_refused(void)
{
    static char large[200 * 1024] = "A=";
    memset(large + 2, 'x', sizeof large - 3);
    const char *const env[] = {large, NULL};
    begin();
    TEST_CHECK(ask_with("/k1", env) == -EMSGSIZE && fake_spawn.adopts == 0);
    end();
}

static void one_that_dies_is_replaced_later_each_time(void)
{
    for (int ready = 0; ready < 2; ready++) {
        begin();
        int64_t delay = FIRST_MS;
        for (int i = 0; i < 12; i++) {
            if (ready)
                come_up();
            die();
            TEST_CHECK_(started_in(delay - 1) == 0 && started_in(1) == 1, "%d ms", (int)delay);
            delay = delay * 2 < LAST_MS ? delay * 2 : LAST_MS;
        }
        end();
    }
}

static void one_that_has_lived_for_a_minute_is_replaced_soon(void)
{
    begin();
    die();
    TEST_CHECK(started_in(FIRST_MS) == 1);
    come_up();
    wait_ms(LAST_MS - 1);
    die();
    TEST_CHECK(started_in(2 * FIRST_MS - 1) == 0 && started_in(1) == 1);
    come_up();
    wait_ms(LAST_MS);
    die();
    TEST_CHECK(started_in(FIRST_MS) == 1);
    end();
}

static void a_start_that_fails_is_tried_later_each_time(void)
{
    begin();
    die();
    fake_spawn.refuses = true;
    TEST_CHECK(started_in(FIRST_MS) == 1 && started_in(2 * FIRST_MS) == 1);
    TEST_CHECK(!template_usable(template) && strstr(logged, "no python"));
    fake_spawn.refuses = false;
    TEST_CHECK(started_in(4 * FIRST_MS - 1) == 0 && started_in(1) == 1);
    TEST_CHECK(template_usable(template));
    end();
}

static void one_that_hangs_in_an_import_is_killed(void)
{
    begin();
    TEST_CHECK(ask("/k1") == 0);
    wait_ms(TEMPLATE_START_MS - 1);
    TEST_CHECK(template_usable(template) && strcmp(fake_spawn.orders, "") == 0);
    wait_ms(1);
    TEST_CHECK(!template_usable(template) && strcmp(fake_spawn.orders, "kill helper") == 0);
    TEST_CHECK(strstr(logged, "did not come up in time") != NULL);
    TEST_CHECK(started_in(FIRST_MS) == 1);
    end();
    TEST_CHECK(strcmp(fake_spawn.orders, "kill helper kill helper") == 0); /* it still imports */
}

static void one_that_is_ready_is_left_to_end_by_itself(void)
{
    begin();
    come_up();
    end();
    TEST_CHECK(strcmp(fake_spawn.orders, "") == 0);
}

static void installed_packages_start_it_anew(void)
{
    char dir[] = "/tmp/template-XXXXXX", packet[200];
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    TEST_ASSERT(mkdtemp(dir) && utimensat(AT_FDCWD, dir, times, 0) == 0);
    (void)snprintf(packet, sizeof packet, "{\"ready\":true,\"packages\":[\"/nowhere\",\"%s\"]}",
                   dir);
    begin();
    say(packet);
    TEST_CHECK(template_usable(template) && !template_packages_changed(template));
    times[1].tv_sec++;
    TEST_ASSERT(utimensat(AT_FDCWD, dir, times, 0) == 0);
    TEST_CHECK(template_packages_changed(template) && !template_packages_changed(template));
    const int old = fake_spawn.helper;
    TEST_CHECK(!template_usable(template) && fake_spawn.helper_starts == 2);
    TEST_CHECK(template_usable(template)); /* a kernel may wait for the new one */
    (void)close(old);
    end();
    (void)rmdir(dir);
}

static void what_it_could_not_do_is_logged(void)
{
    begin();
    say("{\"ready\":true,\"packages\":[],\"failed\":{\"numpy\":\"no such module\"}}");
    say("{\"error\":\"fork: no memory\"}");
    TEST_CHECK(strstr(logged, "IPYBOX_PRELOAD: numpy: no such module") != NULL);
    TEST_CHECK(strstr(logged, "fork: no memory") != NULL);
    end();
}

static void nonsense_is_no_reason_to_be_ready(void)
{
    begin();
    say("[");
    say("{\"ready\":1}");
    TEST_CHECK(ask("/k1") == 0 && !next_request());
    end();
}

TEST_LIST = {
    {"a kernel is asked for once it is ready", a_kernel_is_asked_for_once_it_is_ready},
    {"requests that wait are sent in their order", requests_that_wait_are_sent_in_their_order},
    {"requests that wait are closed when it dies", requests_that_wait_are_closed_when_it_dies},
    {"an environment that is too large is refused", an_environment_that_is_too_large_is_refused},
    {"one that dies is replaced, later each time", one_that_dies_is_replaced_later_each_time},
    {"one that has lived for a minute is replaced soon",
     one_that_has_lived_for_a_minute_is_replaced_soon},
    {"a start that fails is tried later each time", a_start_that_fails_is_tried_later_each_time},
    {"one that hangs in an import is killed", one_that_hangs_in_an_import_is_killed},
    {"one that is ready is left to end by itself", one_that_is_ready_is_left_to_end_by_itself},
    {"installed packages start it anew", installed_packages_start_it_anew},
    {"what it could not do is logged", what_it_could_not_do_is_logged},
    {"nonsense is no reason to be ready", nonsense_is_no_reason_to_be_ready},
    {NULL, NULL},
};
