/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "fakes/fake_kernels.h"
#include "front/gateway/supervise.h"

#define CONN "{\"key\":\"k\"}"

static struct loop *loop;
static struct supervise *supervise;

static void open_it(void)
{
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    supervise = supervise_open(loop);
    supervise_set_kernels(supervise, (struct kernels *)(void *)&fake_kernels);
}

static void close_it(void)
{
    supervise = supervise_close(supervise);
    loop = loop_free(loop);
}

static void turn(void)
{
    for (int i = 0; i < 4; i++)
        loop_turn(loop, 0);
}

static int connect_client(void)
{
    int pair[2];
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    int fd = pair[0];
    TEST_ASSERT(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    supervise_add(supervise, pair[1]);
    return fd;
}

static void say(int fd, const char *text)
{
    TEST_ASSERT(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    turn();
}

static void expect(int fd, const char *expected)
{
    char got[8192];
    ssize_t n = read(fd, got, sizeof got - 1);
    got[n > 0 ? n : 0] = '\0';
    TEST_CHECK(strcmp(got, expected) == 0);
    TEST_MSG("expected: %s", expected);
    TEST_MSG("actual:   %s", got);
}

static void expect_calls(const char *expected)
{
    TEST_CHECK(strcmp(fake_kernels.calls, expected) == 0);
    TEST_MSG("expected: %s", expected);
    TEST_MSG("actual:   %s", fake_kernels.calls);
    fake_kernels.calls[0] = '\0';
}

static void a_launch_is_answered_when_the_kernel_is_ready(void)
{
    open_it();
    int fd = connect_client();
    fake_kernels.items[0] = (struct kernels_item){.id = "a1", .connection = CONN};
    say(fd, "{\"op\":\"launch\",\"id\":\"a1\",\"env\":{\"KERNEL_A\":\"1\"},\"cwd\":\"/x\"}\n"
            "{\"op\":\"poll\",\"id\":\"a1\"}\n");
    expect_calls("launch a1 /x 1; ");
    expect(fd, "");
    supervise_changed(supervise, "b2");
    expect(fd, "");
    fake_kernels.items[0].state = KERNELS_READY;
    supervise_changed(supervise, "a1");
    expect(fd, "{\"conn\":" CONN "}\n{\"rc\":null}\n");
    (void)fd_close(fd);
    close_it();
}

static void a_launch_that_fails_says_why(void)
{
    open_it();
    int fd = connect_client();
    fake_kernels.refuse = -EEXIST;
    say(fd, "{\"op\":\"launch\",\"id\":\"a1\"}\n");
    expect(fd, "{\"error\":\"refused\"}\n");
    fake_kernels.items[0] = (struct kernels_item){.id = "a1"};
    say(fd, "{\"op\":\"launch\",\"id\":\"a1\"}\n");
    fake_kernels.items[0].state = KERNELS_ENDED;
    fake_kernels.items[0].why = "no memory";
    supervise_changed(supervise, "a1");
    expect(fd, "{\"error\":\"no memory\"}\n");
    (void)fd_close(fd);
    close_it();
}

static void poll_and_wait_tell_the_status(void)
{
    open_it();
    int fd = connect_client();
    say(fd, "{\"op\":\"poll\",\"id\":\"none\"}\n");
    expect(fd, "{\"rc\":0}\n");
    fake_kernels.items[0] = (struct kernels_item){.id = "a1", .state = KERNELS_READY};
    say(fd, "{\"op\":\"wait\",\"id\":\"a1\"}\n");
    expect(fd, "");
    fake_kernels.items[0].state = KERNELS_ENDED;
    fake_kernels.items[0].status = -9;
    supervise_changed(supervise, "a1");
    expect(fd, "{\"rc\":-9}\n");
    (void)fd_close(fd);
    close_it();
}

static void signals_interrupt_and_kill(void)
{
    open_it();
    int fd = connect_client();
    say(fd,
        "{\"op\":\"signal\",\"id\":\"a\",\"sig\":2}\n{\"op\":\"signal\",\"id\":\"a\",\"sig\":15}\n"
        "{\"op\":\"signal\",\"id\":\"a\",\"sig\":9}\n{\"op\":\"signal\",\"id\":\"a\",\"sig\":0}\n");
    expect(fd, "{}\n{}\n{}\n{}\n");
    expect_calls("interrupt a; kill a; kill a; ");
    say(fd, "{\"op\":\"signal\",\"id\":\"a\",\"sig\":1e99}\n");
    expect(fd, "{\"error\":\"sig: one of 0, 2, 9, 15 is needed\"}\n");
    fake_kernels.refuse = -ENOENT;
    say(fd, "{\"op\":\"signal\",\"id\":\"a\",\"sig\":2}\n");
    expect(fd, "{}\n");
    (void)fd_close(fd);
    close_it();
}

static void a_list_has_all_that_run(void)
{
    open_it();
    int fd = connect_client();
    fake_kernels.items[0] = (struct kernels_item){
        .id = "s", .of_session = true, .state = KERNELS_READY, .connection = CONN};
    fake_kernels.items[1] = (struct kernels_item){.id = "x", .state = KERNELS_ENDED};
    fake_kernels.items[2] = (struct kernels_item){.id = "g", .connection = CONN};
    say(fd, "{\"op\":\"list\"}\n");
    expect(fd,
           "{\"kernels\":[{\"id\":\"s\",\"owner\":\"session\",\"state\":\"ready\",\"conn\":" CONN
           "},{\"id\":\"g\",\"owner\":\"gateway\",\"state\":\"starting\",\"conn\":" CONN "}]}\n");
    (void)fd_close(fd);
    close_it();
}

static void who_watches_is_told_of_changes(void)
{
    open_it();
    int fd = connect_client(), other = connect_client();
    say(fd, "{\"op\":\"watch\"}\n");
    expect(fd, "{}\n");
    supervise_changed(supervise, "a1");
    expect(fd, "{\"changed\":\"a1\"}\n");
    expect(other, "");
    (void)fd_close(fd);
    (void)fd_close(other);
    turn();
    supervise_changed(supervise, "a1");
    close_it();
}

static void what_is_no_request_is_an_error(void)
{
    static const struct {
        const char *line, *answer;
    } cases[] = {
        {"{}\n", "{\"error\":\"op: a string is needed\"}\n"},
        {"[]\n", "{\"error\":\"op: a string is needed\"}\n"},
        {"{\"op\":\"fly\"}\n", "{\"error\":\"there is no op fly\"}\n"},
        {"{\"op\":\"kill\"}\n", "{\"error\":\"id: a string is needed\"}\n"},
        {"{\"op\":\"kill\",\"id\":7}\n", "{\"error\":\"id: a string is needed\"}\n"},
    };
    open_it();
    int fd = connect_client();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        say(fd, cases[i].line);
        expect(fd, cases[i].answer);
    }
    say(fd, "{\"op\":");
    expect(fd, "");
    say(fd, "\"forget\",\"id\":\"a\"}\n");
    expect(fd, "{}\n");
    expect_calls("forget a; ");
    (void)fd_close(fd);
    close_it();
}

static void an_endless_line_ends_the_connection(void)
{
    open_it();
    int fd = connect_client();
    char bytes[65536];
    memset(bytes, ' ', sizeof bytes);
    ssize_t n = 0;
    for (int i = 0; i < 200 && n >= 0; i++) {
        n = send(fd, bytes, sizeof bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            n = 0;
        turn();
    }
    TEST_CHECK(n < 0);
    (void)fd_close(fd);
    close_it();
}

static void without_kernels_every_request_is_refused(void)
{
    open_it();
    supervise_set_kernels(supervise, NULL);
    int fd = connect_client();
    say(fd, "{\"op\":\"list\"}\n");
    expect(fd, "{\"error\":\"the server is stopping\"}\n");
    (void)fd_close(fd);
    close_it();
}

#define TEST(name) {#name, name}
TEST_LIST = {
    TEST(a_launch_is_answered_when_the_kernel_is_ready),
    TEST(a_launch_that_fails_says_why),
    TEST(poll_and_wait_tell_the_status),
    TEST(signals_interrupt_and_kill),
    TEST(a_list_has_all_that_run),
    TEST(who_watches_is_told_of_changes),
    TEST(what_is_no_request_is_an_error),
    TEST(an_endless_line_ends_the_connection),
    TEST(without_kernels_every_request_is_refused),
    {NULL, NULL},
};
