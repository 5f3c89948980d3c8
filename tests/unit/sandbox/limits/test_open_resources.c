/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/limits/open_resources.h"

static void nothing(void)
{
}

static void devices_and_pipes(void)
{
    int ends[2];
    if (pipe(ends) < 0 || open("/dev/urandom", O_RDONLY) < 0 || open("/dev/null", O_RDWR) < 0)
        _exit(1);
}

static void unix_sockets(void)
{
    int ends[2];
    const struct sockaddr_un name = {.sun_family = AF_UNIX}; /* a name of the system's choice */
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 ||
        bind(listener, (const struct sockaddr *)&name, sizeof name.sun_family) < 0 ||
        listen(listener, 1) < 0)
        _exit(1);
}

static void a_file(void)
{
    if (open("/etc/passwd", O_RDONLY) < 0)
        _exit(1);
}

static void a_directory(void)
{
    if (open("/", O_RDONLY) < 0)
        _exit(1);
}

static void a_port_of(int type)
{
    const struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, type, 0);
    if (bind(fd, (const struct sockaddr *)&name, sizeof name) < 0 ||
        (type == SOCK_STREAM && listen(fd, 1) < 0))
        _exit(1);
}

static void a_port(void)
{
    a_port_of(SOCK_STREAM);
}

static void a_port_of_udp(void)
{
    a_port_of(SOCK_DGRAM);
}

static void a_socket_of_another_family(void)
{
    if (socket(AF_NETLINK, SOCK_RAW, 0) < 0)
        _exit(1);
}

static void a_child(void)
{
    if (fork() == 0)
        (void)pause();
}

static void an_orphan(void)
{
    if (fork() == 0) {
        if (fork() == 0)
            (void)pause();
        _exit(0);
    }
    (void)wait(NULL);
}

static void many_sockets(void)
{
    int ends[2];
    for (int i = 0; i < 300; i++)
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
            _exit(1);
}

static const struct {
    const char *name;
    void (*take)(void);
    bool any;
} cases[] = {
    {"nothing", nothing, false},
    {"devices and pipes", devices_and_pipes, false},
    {"unix sockets", unix_sockets, false},
    {"a file", a_file, true},
    {"a directory", a_directory, true},
    {"a port", a_port, true},
    {"a port of UDP", a_port_of_udp, true},
    {"a socket of another family", a_socket_of_another_family, true},
    {"a child", a_child, true},
    {"an orphan", an_orphan, true},
    {"more sockets than are looked at", many_sockets, true},
};

static pid_t start(void (*take)(void))
{
    int ends[2];
    char byte;
    TEST_ASSERT(pipe2(ends, O_CLOEXEC) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)setsid();
        (void)close(ends[0]);
        for (int fd = 0; fd < ends[1]; fd++)
            (void)close(fd);
        take();
        (void)!write(ends[1], "", 1);
        (void)pause();
        _exit(0);
    }
    (void)close(ends[1]);
    TEST_CHECK(read(ends[0], &byte, 1) == 1);
    (void)close(ends[0]);
    return pid;
}

static void end(pid_t pid)
{
    (void)kill(-pid, SIGKILL);
    while (wait(NULL) > 0)
        ;
}

static void what_a_process_holds_is_a_claim_and_what_every_kernel_has_is_none(void)
{
    TEST_ASSERT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE(cases[i].name);
        pid_t pid = start(cases[i].take);
        TEST_CHECK(open_resources_any(pid) == cases[i].any);
        end(pid);
    }
}

static void who_cannot_be_looked_at_has_a_claim(void)
{
    TEST_CHECK(open_resources_any(1 << 30));
}

TEST_LIST = {{"what_a_process_holds_is_a_claim_and_what_every_kernel_has_is_none",
              what_a_process_holds_is_a_claim_and_what_every_kernel_has_is_none},
             {"who_cannot_be_looked_at_has_a_claim", who_cannot_be_looked_at_has_a_claim},
             {NULL, NULL}};
