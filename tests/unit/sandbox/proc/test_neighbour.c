/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/proc/neighbour.h"
#include "sandbox/proc/procfile.h"

static int listener, answers[2], orders[2];
static struct sockaddr_in place;

/* A server that says of each connection, as often as it is asked, whether its other end is free. */
static pid_t start_server(void)
{
    socklen_t n = sizeof place;
    place = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TEST_ASSERT(bind(listener, (struct sockaddr *)&place, n) == 0 && listen(listener, 8) == 0);
    TEST_ASSERT(getsockname(listener, (struct sockaddr *)&place, &n) == 0);
    TEST_ASSERT(pipe2(answers, O_CLOEXEC) == 0 && pipe2(orders, O_CLOEXEC) == 0);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    struct socket_holder last = {0};
    for (;;) {
        char order;
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        while (read(orders[0], &order, 1) == 1 && order == '?') {
            const char said = neighbour_is_free(fd, &last) ? '+' : '-';
            if (write(answers[1], &said, 1) != 1)
                _exit(1);
        }
        (void)close(fd);
    }
}

static void end_server(pid_t server)
{
    (void)kill(server, SIGKILL);
    TEST_CHECK(waitpid(server, NULL, 0) == server);
    (void)close(listener);
}

static int connect_to_server(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&place, sizeof place) < 0)
        _exit(1);
    return fd;
}

static char ask_server(void)
{
    char said = 0;
    if (write(orders[1], "?", 1) != 1 || read(answers[0], &said, 1) != 1)
        _exit(1);
    return said;
}

static void next_connection(int fd)
{
    (void)close(fd);
    TEST_ASSERT(write(orders[1], ".", 1) == 1);
}

static void a_program_of_the_user_is_free(void)
{
    pid_t server = start_server();
    int fd = connect_to_server();
    TEST_CHECK(ask_server() == '+');
    TEST_CHECK(ask_server() == '+'); /* from memory */
    next_connection(fd);
    fd = connect_to_server();
    TEST_CHECK(ask_server() == '+');
    next_connection(fd);
    end_server(server);
}

/* As every sandbox is, whoever has made it. */
static void what_has_given_up_privileges_is_not(void)
{
    pid_t server = start_server(), other = fork();
    if (other == 0) {
        int own = connect_to_server();
        bool right = ask_server() == '+';
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        right = right && ask_server() == '-'; /* also where it was free before */
        (void)close(own);
        _exit(right ? 0 : 1);
    }
    int status = -1;
    TEST_CHECK(waitpid(other, &status, 0) == other && status == 0);
    end_server(server);
}

/* CAP_SYS_PTRACE, which root of a container lacks. */
static bool may_look_into_all(void)
{
    static const char label[] = "\nCapEff:\t";
    char text[4096];
    TEST_ASSERT(procfile_read(AT_FDCWD, "/proc/self/status", text, sizeof text));
    const char *at = strstr(text, label);
    return at && (strtoull(at + strlen(label), NULL, 16) >> CAP_SYS_PTRACE & 1) != 0;
}

static void what_lets_nobody_look_into_it_is_not(void)
{
    const char wanted = may_look_into_all() ? '+' : '-';
    pid_t server = start_server(), other = fork();
    if (other == 0) {
        (void)prctl(PR_SET_DUMPABLE, 0);
        (void)connect_to_server();
        _exit(ask_server() == wanted ? 0 : 1);
    }
    int status = -1;
    TEST_CHECK(waitpid(other, &status, 0) == other && status == 0);
    end_server(server);
}

static void an_end_that_nobody_holds_is_not(void)
{
    pid_t server = start_server();
    int fd = connect_to_server();
    (void)close(fd);
    TEST_CHECK(ask_server() == '-');
    end_server(server);
}

/* Here the test is the server: what it starts is below it, and so are orphans. */
static void what_is_below_is_not(void)
{
    struct socket_holder last = {0};
    pid_t server = start_server();
    end_server(server);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    place.sin_port = 0;
    socklen_t n = sizeof place;
    TEST_ASSERT(bind(listener, (struct sockaddr *)&place, n) == 0 && listen(listener, 8) == 0);
    TEST_ASSERT(getsockname(listener, (struct sockaddr *)&place, &n) == 0);
    TEST_ASSERT(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            char end;
            (void)setsid();
            _exit(read(connect_to_server(), &end, 1) < 0); /* until the server closes it */
        }
        _exit(0);
    }
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    TEST_CHECK(waitpid(child, NULL, 0) == child);
    TEST_CHECK(!neighbour_is_free(fd, &last));
    int own = connect_to_server(), accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    TEST_CHECK(!neighbour_is_free(accepted, &last)); /* the server itself */
    (void)close(own);
    (void)close(accepted);
    int pair[2];
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    TEST_CHECK(!neighbour_is_free(pair[0], &last));
    (void)close(fd);
    TEST_CHECK(waitpid(-1, NULL, 0) > 0); /* the orphan */
}

TEST_LIST = {
    {"a_program_of_the_user_is_free", a_program_of_the_user_is_free},
    {"what_has_given_up_privileges_is_not", what_has_given_up_privileges_is_not},
    {"what_lets_nobody_look_into_it_is_not", what_lets_nobody_look_into_it_is_not},
    {"an_end_that_nobody_holds_is_not", an_end_that_nobody_holds_is_not},
    {"what_is_below_is_not", what_is_below_is_not},
    {NULL, NULL},
};
