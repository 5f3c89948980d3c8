/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections of a confined child. "The internet" is a listener of this test on 127.0.0.1, which
 * some names resolve to; beside it is one that is not listed, and must not be reached. */
#include "brokertest.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/time.h>
#include <sys/un.h>

#include "sandbox/loopback.h"
#include "sandbox/net_parts.h"

enum { FLIP_MS = 1500, SOCKETS = 700, QUICK_MS = 3000, TEXT = 4096 };

static int host, secret; /* listeners: one that is allowed, one that is not */
static uint16_t host_port, secret_port;
static char network[TEXT];

static int fake_resolve(const char *name, int family, struct address *ret, int max)
{
    (void)family, (void)max;
    ret[0] = address_of_v4(INADDR_LOOPBACK, 0);
    if (strcmp(name, "example.test") == 0 || strcmp(name, "a.wild.test") == 0)
        return 1;
    if (strcmp(name, "inner.test") == 0) {
        ret[0] = address_of_v4(INADDR_LOOPBACK + 2, 0);
        return 1;
    }
    if (strcmp(name, "two.test") == 0) { /* nobody listens at the first */
        ret[0] = address_of_v4(INADDR_LOOPBACK + 3, 0);
        ret[1] = address_of_v4(INADDR_LOOPBACK, 0);
        return 2;
    }
    return -EHOSTUNREACH;
}

static void use_fake_names(void)
{
    broker->net->resolve = fake_resolve;
}

static void open_internet(void)
{
    struct err e = ERR_NONE;
    make_place();
    TEST_ASSERT(loopback_listen(&host, &host_port, &e) == 0);
    TEST_ASSERT(loopback_listen(&secret, &secret_port, &e) == 0);
}

static int count_accepted(int listener)
{
    int n = 0, fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        (void)close(fd);
        n++;
    }
    return n;
}

/* Names, and the two addresses that they may lead to. */
static const char *some_names(void)
{
    static char text[256];
    (void)snprintf(text, sizeof text,
                   "\"example.test\",\"*.wild.test\",\"inner.test\",\"two.test\","
                   "\"127.0.0.1:%u\",\"127.0.0.4:%u\"",
                   host_port, host_port);
    return text;
}

static void stage_of(const char *domains, const char *more, struct stage stage, void (*fn)(void))
{
    static struct lists lists;
    (void)snprintf(network, sizeof network, "\"allowedDomains\":[%s],\"deniedDomains\":[]%s%s",
                   domains, *more ? "," : "", more);
    lists = (struct lists){.network = network};
    stage.lists = &lists;
    stage.network = true;
    stage.ready = use_fake_names;
    stage.child = fn;
    start_stage(&stage);
}

static void act_net(const char *domains, const char *more, void (*fn)(void))
{
    stage_of(domains, more, (struct stage){.naive = false}, fn);
    end_stage();
}

/* --- what the child does ---------------------------------------------------------------------- */

static int tcp(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        complain("socket: %s", strerror(errno));
    return fd;
}

static int connect_v4(int fd, uint32_t v4, uint16_t port)
{
    struct address to = address_of_v4(v4, port);
    return connect(fd, &to.any, to.len);
}

static int reaches(uint32_t v4, uint16_t port)
{
    drop_fd int fd = tcp();
    return connect_v4(fd, v4, port);
}

/* getaddrinfo()'s code; the first address. */
static int look_up(const char *name, uint32_t *ret)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int r = getaddrinfo(name, NULL, &hints, &found);
    for (const struct addrinfo *at = found; r == 0 && at; at = at->ai_next) {
        struct address address;
        if (address_read(at->ai_addr, at->ai_addrlen, &address) == 0)
            (void)address_v4(&address, ret);
    }
    if (found)
        freeaddrinfo(found);
    return r;
}

static int reaches_name(const char *name, uint16_t port)
{
    uint32_t v4 = 0;
    int r = look_up(name, &v4);
    if (r != 0)
        complain("%s: %s", name, gai_strerror(r));
    return reaches(v4, port);
}

static void try_names(void)
{
    uint32_t v4 = 0;
    GETS(reaches_name("example.test", host_port), 0);
    GETS(reaches_name("EXAMPLE.test", host_port), 0);
    GETS(reaches_name("a.wild.test", host_port), 0);
    GETS(reaches_name("two.test", host_port), 0);
    GETS(reaches_name("example.test", secret_port), EACCES); /* to an address that is not listed */
    GETS(reaches_name("inner.test", host_port), EACCES);
    GETS(reaches_name("b.wild.test", host_port), EHOSTUNREACH);
    HOLDS(look_up("example.test", &v4) == 0 && v4 >> 17 == 0xC6120000 >> 17);
    int64_t start = clock_ms();
    HOLDS(look_up("wild.test", &v4) == EAI_NONAME);
    HOLDS(look_up("example.org", &v4) == EAI_NONAME);
    HOLDS(look_up("127.0.0.1.example.org", &v4) == EAI_NONAME);
    HOLDS(clock_ms() - start < QUICK_MS);
}

static void an_allowed_name_is_connected_to_and_another_does_not_exist(void)
{
    open_internet();
    act_net(some_names(), "", try_names);
    TEST_CHECK(count_accepted(host) == 4 && count_accepted(secret) == 0);
    char text[64];
    (void)snprintf(text, sizeof text, "inner.test:%u (an inner address)", host_port);
    TEST_CHECK(was_refused("connect", text));
}

static void find_nothing(void)
{
    uint32_t v4 = 0;
    int64_t start = clock_ms();
    HOLDS(look_up("example.org", &v4) == EAI_NONAME);
    HOLDS(look_up("localhost", &v4) == 0 && v4 == INADDR_LOOPBACK);
    HOLDS(clock_ms() - start < QUICK_MS);
    GETS(reaches(INADDR_LOOPBACK, host_port), EACCES);
    GETS(reaches(0xC0000201, 80), EACCES);
}

static void with_nothing_allowed_no_name_exists_and_nothing_is_reached(void)
{
    open_internet();
    act_net("", "", find_nothing);
    TEST_CHECK(count_accepted(host) == 0);
}

static void try_addresses(void)
{
    GETS(reaches(INADDR_LOOPBACK, host_port), 0);
    GETS(reaches(INADDR_ANY, host_port), 0); /* the same to the kernel */
    GETS(reaches(INADDR_LOOPBACK, secret_port), EACCES);
    GETS(reaches(INADDR_ANY, secret_port), EACCES);
    GETS(reaches(0xC0000201, 80), EACCES);
    GETS(reaches(0xA9FEA9FE, 80), EACCES);
    GETS(reaches(0xC6120001, host_port), EACCES); /* stands for no name yet */
    drop_fd int six = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct address to, four = address_of_v4(INADDR_LOOPBACK, secret_port);
    HOLDS(address_for(&four, AF_INET6, &to) == 0);
    GETS(connect(six, &to.any, to.len), EACCES);
    address_set_port(&to, host_port);
    GETS(connect(six, &to.any, to.len), 0);
    drop_fd int wrong = tcp();
    GETS(connect(wrong, &to.any, to.len), EAFNOSUPPORT);
    GETS(connect(wrong, &to.any, 3), EINVAL);
    GETS(connect(wrong, NULL, sizeof to.in), EFAULT);
    GETS(connect(0, &four.any, four.len), ENOTSOCK);
    GETS(connect(-1, &four.any, four.len), EBADF);
}

static void an_address_is_reached_only_if_it_is_listed(void)
{
    open_internet();
    act_net(some_names(), "", try_addresses);
    TEST_CHECK(count_accepted(host) == 3 && count_accepted(secret) == 0);
    char text[64];
    (void)snprintf(text, sizeof text, "127.0.0.1:%u", secret_port);
    TEST_CHECK(was_refused("connect", text) && was_refused("connect", "192.0.2.1:80"));
}

static void ask_a_server(void)
{
    const char query[] = "\0\x1e\x12\x34\1\0\0\1\0\0\0\0\0\0\7example\4test\0\0\1\0\1";
    char answer[64];
    drop_fd int fd = tcp();
    GETS(connect_v4(fd, 0xC0000209, 53), 0);
    HOLDS(send(fd, query, sizeof query - 1, 0) == sizeof query - 1);
    HOLDS(recv(fd, answer, sizeof answer, 0) == 48 && answer[5] == '\x80' && answer[9] == 1);
    GETS(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), EACCES);
    GETS(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP), EACCES);
}

static void every_name_server_is_our_own(void)
{
    open_internet();
    act_net(some_names(), "", ask_a_server);
}

/* --- sockets stay what they are --------------------------------------------------------------- */

static void connect_without_waiting(void)
{
    int size = 70000, before = 0, after = 0, error = -1, on = 1;
    socklen_t len = sizeof size;
    drop_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP);
    HOLDS((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0);
    GETS(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
    GETS(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
    GETS(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &before, &len), 0);
    int r = connect_v4(fd, INADDR_LOOPBACK, host_port);
    HOLDS(r == 0 || errno == EINPROGRESS);
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    HOLDS(poll(&p, 1, QUICK_MS) == 1);
    GETS(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
    GETS(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &after, &len), 0);
    HOLDS(error == 0 && after == before);
    struct address peer = {.len = sizeof peer.room};
    GETS(getpeername(fd, &peer.any, &peer.len), 0);
    HOLDS(address_port(&peer) == host_port);
    GETS(connect_v4(fd, INADDR_LOOPBACK, host_port), EISCONN);
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    GETS(connect(fd, &none, sizeof none), 0);
    HOLDS((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0 && getpeername(fd, &peer.any, &peer.len) < 0);
}

static void options_and_flags_survive_a_connection(void)
{
    open_internet();
    act_net(some_names(), "", connect_without_waiting);
}

static void end_at_once(void)
{
    char byte;
    drop_fd int fd = tcp();
    GETS(connect_v4(fd, INADDR_LOOPBACK, host_port), 0);
    HOLDS(send(fd, "x", 1, 0) == 1);
    GETS(shutdown(fd, SHUT_WR), 0);
    HOLDS(recv(fd, &byte, 1, 0) == 0);
}

/* A second descriptor of ours would keep it open. */
static void a_connection_ends_when_the_child_ends_it(void)
{
    open_internet();
    stage_of(some_names(), "", (struct stage){.naive = false}, end_at_once);
    struct pollfd p = {.fd = host, .events = POLLIN};
    TEST_ASSERT(poll(&p, 1, QUICK_MS) == 1);
    int fd = accept4(host, NULL, NULL, SOCK_CLOEXEC);
    char bytes[8];
    TEST_CHECK(recv(fd, bytes, sizeof bytes, MSG_WAITALL) == 1); /* and then the end */
    (void)close(fd);
    end_stage();
}

static void use_many(void)
{
    static int fds[SOCKETS];
    for (int i = 0; i < SOCKETS; i++)
        fds[i] = tcp();
    for (int i = 0; i < SOCKETS; i++)
        GETS(connect_v4(fds[i], INADDR_LOOPBACK, secret_port), EACCES);
    GETS(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    GETS(connect_v4(fds[1], INADDR_LOOPBACK, host_port), 0); /* was given up long ago */
    HOLDS(send(fds[1], "x", 1, 0) == 1);
    for (int i = 0; i < SOCKETS; i++)
        (void)close(fds[i]);
    for (int i = 0; i < 10 * SOCKETS; i++)
        GETS(reaches(INADDR_LOOPBACK, secret_port), EACCES);
    GETS(reaches(INADDR_LOOPBACK, host_port), 0);
}

static void refused_sockets_do_not_use_up_the_broker(void)
{
    open_internet();
    act_net(some_names(), "", use_many);
    TEST_CHECK(count_accepted(host) == 2 && count_accepted(secret) == 0);
}

static void on_alarm(int number)
{
    (void)number;
}

static void wait_in_vain(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    const struct itimerval soon = {.it_value.tv_usec = 200000};
    int64_t start = clock_ms();
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &soon, NULL);
    GETS(reaches(INADDR_LOOPBACK, host_port), EINTR);
    HOLDS(clock_ms() - start < QUICK_MS);
}

/* As the kernel has it: the handler says whether the call goes on. */
static void wait_with_patience(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval often = {.it_value.tv_usec = 100000, .it_interval.tv_usec = 100000};
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    GETS(reaches(INADDR_LOOPBACK, host_port), 0);
}

static void a_waiting_that_a_signal_may_not_end_goes_on(void)
{
    open_internet();
    TEST_ASSERT(listen(host, 0) == 0);
    int full = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TEST_ASSERT(connect_v4(full, INADDR_LOOPBACK, host_port) == 0);
    stage_of(some_names(), "", (struct stage){.naive = false}, wait_with_patience);
    int status, waited = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        struct pollfd nothing = {.fd = -1};
        (void)poll(&nothing, 1, 50);
        if (++waited == 10) /* half a second, some signals */
            (void)count_accepted(host);
    }
    TEST_CHECK(waited >= 10);
    (void)close(full);
    child = fork(); /* end_stage() waits for one */
    if (child == 0)
        _exit(0);
    end_stage();
}

static void a_signal_ends_the_waiting_for_a_connection(void)
{
    open_internet();
    TEST_ASSERT(listen(host, 0) == 0); /* one waits to be accepted; the next ones get no answer */
    int full = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TEST_ASSERT(connect_v4(full, INADDR_LOOPBACK, host_port) == 0);
    act_net(some_names(), "", wait_in_vain);
    (void)close(full);
}

/* --- the loopback ----------------------------------------------------------------------------- */

#define BINDING "\"allowLocalBinding\":true"

static int bind_v4(int fd, uint32_t v4, uint16_t port)
{
    struct address to = address_of_v4(v4, port);
    return bind(fd, &to.any, to.len);
}

static struct address name_of(int fd)
{
    struct address at = {.len = sizeof at.room};
    GETS(getsockname(fd, &at.any, &at.len), 0);
    return at;
}

static void serve_itself(void)
{
    drop_fd int server = tcp(), unbound = tcp();
    GETS(bind_v4(server, INADDR_ANY, 0), 0);
    struct address at = name_of(server);
    HOLDS(address_is_loopback(&at));
    GETS(listen(server, 5), 0);
    GETS(reaches(INADDR_LOOPBACK, address_port(&at)), 0);
    drop_fd int accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
    HOLDS(accepted >= 0);
    GETS(listen(unbound, 5), 0);
    struct address chosen = name_of(unbound);
    HOLDS(address_is_loopback(&chosen) && address_port(&chosen) != 0);
    GETS(reaches(INADDR_LOOPBACK, address_port(&chosen)), 0);
    drop_fd int outside = tcp();
    GETS(bind_v4(outside, 0xC0000201, 0), EACCES);

    drop_fd int both = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct address any = {.in6.sin6_family = AF_INET6, .len = sizeof any.in6};
    GETS(bind(both, &any.any, any.len), 0);
    GETS(listen(both, 1), 0);
    any = name_of(both);
    HOLDS(address_is_loopback(&any));
    GETS(reaches(INADDR_LOOPBACK, address_port(&any)), 0);
    drop_fd int six = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct address one = {.in6.sin6_family = AF_INET6, .len = sizeof one.in6};
    one.in6.sin6_addr = (struct in6_addr)IN6ADDR_LOOPBACK_INIT;
    address_set_port(&one, secret_port);
    GETS(connect(six, &one.any, one.len), EACCES);
    address_set_port(&one, address_port(&any));
    GETS(connect(six, &one.any, one.len), 0);
}

static void a_server_of_the_sandbox_is_reached_by_itself(void)
{
    open_internet();
    act_net("", BINDING, serve_itself);
}

static void bind_nothing(void)
{
    drop_fd int fd = tcp();
    GETS(bind_v4(fd, INADDR_LOOPBACK, 0), EACCES);
    GETS(listen(fd, 1), EACCES);
}

static void without_local_binding_nothing_is_bound(void)
{
    open_internet();
    act_net("", "", bind_nothing);
}

/* The port of another's server, on the address beside it, opens no way to that server. */
static void listen_beside(void)
{
    drop_fd int fd = tcp();
    GETS(bind_v4(fd, INADDR_LOOPBACK, secret_port), EADDRINUSE);
    GETS(bind_v4(fd, INADDR_LOOPBACK + 1, secret_port), 0);
    GETS(listen(fd, 1), 0);
    GETS(reaches(INADDR_LOOPBACK + 1, secret_port), 0);
    GETS(reaches(INADDR_LOOPBACK, secret_port), EACCES);
    GETS(reaches(INADDR_ANY, secret_port), EACCES);
}

static void a_port_beside_that_of_another_service_does_not_lead_there(void)
{
    open_internet();
    act_net("", BINDING, listen_beside);
    TEST_CHECK(count_accepted(secret) == 0);
}

static void let_go(void)
{
    int fd = tcp();
    GETS(bind_v4(fd, INADDR_LOOPBACK, 0), 0);
    struct address at = name_of(fd);
    (void)close(fd);
    fd = tcp();
    GETS(bind_v4(fd, INADDR_LOOPBACK, address_port(&at)), 0); /* free again */
    GETS(listen(fd, 1), 0);
    GETS(reaches(INADDR_LOOPBACK, address_port(&at)), 0);
    (void)close(fd);
    shared->numbers[0] = address_port(&at);
    GETS(reaches(INADDR_LOOPBACK, address_port(&at)), EACCES); /* not ours any more */
}

static void a_port_that_was_closed_is_free_and_not_the_sandboxs(void)
{
    open_internet();
    act_net("", BINDING, let_go);
}

static void use_the_place(void)
{
    GETS(reaches(INADDR_LOOPBACK, host_port), 0);
    GETS(reaches(INADDR_LOOPBACK, secret_port), EACCES);
}

static void a_port_of_the_place_is_reached(void)
{
    open_internet();
    const uint16_t ports[] = {host_port, 0};
    const struct policy_place place = {.loopback_ports = ports};
    stage_of("", "", (struct stage){.place = &place}, use_the_place);
    end_stage();
    TEST_CHECK(count_accepted(host) == 1 && count_accepted(secret) == 0);
}

/* --- Unix sockets ----------------------------------------------------------------------------- */

static int unix_call(int (*call)(int, const struct sockaddr *, socklen_t), int fd, const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    memcpy(to.sun_path, path, n);
    if (path[0] == '@')
        to.sun_path[0] = '\0';
    return call(fd, (const struct sockaddr *)&to,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}

static int unix_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int unix_reaches(const char *path)
{
    drop_fd int fd = unix_socket();
    return fd < 0 ? -1 : unix_call(connect, fd, path);
}

static int unix_listen(const char *name)
{
    int fd = unix_socket();
    (void)unlink(full(name));
    TEST_ASSERT(unix_call(bind, fd, full(name)) == 0 && listen(fd, 100) == 0);
    return fd;
}

static void try_unix(void)
{
    GETS(unix_reaches(full("@/open")), 0);
    GETS(unix_reaches("../open"), 0);
    GETS(unix_reaches(full("@/to-open")), 0);
    GETS(unix_reaches(full("@/closed")), EPERM);
    GETS(unix_reaches(full("@w/to-closed")), EPERM);
    GETS(unix_reaches(full("@/missing")), ENOENT);
    GETS(unix_reaches("@abstract"), EPERM);
    GETS(socket(AF_UNIX, SOCK_DGRAM, 0), EPERM);

    drop_fd int server = unix_socket();
    struct stat st;
    GETS(unix_call(bind, server, "server"), 0);
    GETS(stat("server", &st), 0);
    HOLDS(S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0755);
    GETS(listen(server, 5), 0);
    GETS(unix_reaches("server"), 0);
    drop_fd int accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
    HOLDS(accepted >= 0);

    drop_fd int other = unix_socket();
    GETS(unix_call(bind, other, full("@w/other")), EPERM); /* may be written, is not listed */
    GETS(unix_call(bind, other, full("@/open2")), EPERM);  /* the other way round */
    GETS(unix_call(bind, other, "@abstract"), EPERM);
}

static void a_unix_socket_is_reached_by_its_canonical_name(void)
{
    open_internet();
    drop_fd int open_one = unix_listen("@/open"), closed = unix_listen("@/closed");
    make_link("@/to-open", "@/open");
    make_link("@w/to-closed", "@/closed");
    drop_str char *more = xasprintf("\"allowUnixSockets\":[\"%s\",\"%s\",\"%s\"]", full("@/open"),
                                    full("@/open2"), full("@w/server"));
    act_net("", more, try_unix);
    TEST_CHECK(fcntl(closed, F_SETFL, O_NONBLOCK) == 0 && count_accepted(closed) == 0);
    TEST_CHECK(fcntl(open_one, F_SETFL, O_NONBLOCK) == 0 && count_accepted(open_one) == 3);
    TEST_CHECK(was_refused("connect", "@/closed"));
}

static void serve_in_private(void)
{
    struct sockaddr_un at = {0};
    socklen_t len = sizeof at;
    drop_fd int server = unix_socket();
    GETS(unix_call(bind, server, full("@/private/1")), 0);
    GETS(getsockname(server, (struct sockaddr *)&at, &len), 0);
    HOLDS(strcmp(at.sun_path, full("@/private/1")) == 0);
    GETS(unix_reaches(full("@/private/1")), ECONNREFUSED);
    GETS(listen(server, 5), 0);
    GETS(unix_reaches(full("@/private/1")), 0);
    GETS(unix_call(bind, server, full("@/private/2")), EINVAL);
}

static void a_socket_in_a_private_directory_has_the_name_that_it_was_given(void)
{
    open_internet();
    make_dir("@/private");
    const char *const dirs[] = {full("@/private"), NULL};
    const struct policy_place place = {.private_dirs = dirs};
    stage_of("", "", (struct stage){.place = &place}, serve_in_private);
    end_stage();
}

static void have_none(void)
{
    GETS(unix_socket(), EPERM);
    int pair[2];
    GETS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
}

static void without_any_listed_there_are_no_unix_sockets(void)
{
    open_internet();
    act_net("", "", have_none);
}

/* --- attacks ---------------------------------------------------------------------------------- */

static struct address flipped;
static bool flipping;

static void *flip(void *ctx)
{
    (void)ctx;
    const uint16_t good = htons(host_port), bad = htons(secret_port);
    while (__atomic_load_n(&flipping, __ATOMIC_RELAXED)) {
        __atomic_store_n(&flipped.in.sin_port, good, __ATOMIC_RELAXED);
        __atomic_store_n(&flipped.in.sin_port, bad, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void connect_to_a_changing_address(void)
{
    pthread_t thread;
    int64_t until = clock_ms() + FLIP_MS;
    flipped = address_of_v4(INADDR_LOOPBACK, host_port);
    flipping = true;
    if (pthread_create(&thread, NULL, flip, NULL) != 0)
        complain("no thread");
    while (clock_ms() < until) {
        drop_fd int fd = tcp();
        int r = connect(fd, &flipped.any, flipped.len);
        shared->numbers[r == 0 ? 0 : errno == EACCES ? 1 : 2]++;
        struct linger at_once = {.l_onoff = 1};
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    __atomic_store_n(&flipping, false, __ATOMIC_RELAXED);
    (void)pthread_join(thread, NULL);
}

static int leaks_of_flips(bool naive)
{
    int leaks = 0, status;
    open_internet();
    stage_of(some_names(), "", (struct stage){.naive = naive}, connect_to_a_changing_address);
    while (waitpid(child, &status, WNOHANG) == 0) {
        (void)count_accepted(host);
        leaks += count_accepted(secret);
    }
    leaks += count_accepted(secret);
    TEST_CHECK(shared->numbers[0] > 0 && shared->numbers[1] > 0);
    TEST_MSG("%d connected, %d refused, %d other", shared->numbers[0], shared->numbers[1],
             shared->numbers[2]);
    child = fork(); /* end_stage() waits for one */
    if (child == 0)
        _exit(0);
    end_stage();
    return leaks;
}

static void an_address_that_changes_while_it_is_judged_leads_nowhere(void)
{
    TEST_CHECK(leaks_of_flips(false) == 0);
}

static void the_attack_on_addresses_works_on_a_naive_broker(void)
{
    TEST_CHECK(leaks_of_flips(true) > 0);
}

/* --- proxies ---------------------------------------------------------------------------------- */

static struct net_proxies proxies;

static void use_proxies(void)
{
    char answer[256] = "";
    drop_fd int fd = tcp(), other = tcp();
    drop_str char *good = xasprintf("CONNECT example.test:%u HTTP/1.1\r\n\r\n", host_port);
    drop_str char *bad = xasprintf("CONNECT 127.0.0.1:%u HTTP/1.1\r\n\r\n", secret_port);
    GETS(connect_v4(fd, INADDR_LOOPBACK, proxies.http_port), 0);
    HOLDS(send(fd, good, strlen(good), 0) > 0);
    HOLDS(recv(fd, answer, sizeof answer - 1, 0) > 12 && strncmp(answer + 9, "200", 3) == 0);
    GETS(connect_v4(other, INADDR_LOOPBACK, proxies.http_port), 0);
    HOLDS(send(other, bad, strlen(bad), 0) > 0);
    HOLDS(recv(other, answer, sizeof answer - 1, 0) > 12 && strncmp(answer + 9, "403", 3) == 0);
    GETS(reaches(INADDR_LOOPBACK, proxies.socks_port), 0);
    GETS(reaches(INADDR_LOOPBACK, secret_port), EACCES);
}

static void the_proxies_of_the_broker_follow_the_same_rules(void)
{
    struct err e = ERR_NONE;
    open_internet();
    TEST_ASSERT(net_proxies_listen(&proxies, &e) == 0);
    stage_of(some_names(), "", (struct stage){.proxies = &proxies}, use_proxies);
    end_stage();
    TEST_CHECK(count_accepted(host) == 1 && count_accepted(secret) == 0);
    char text[64];
    (void)snprintf(text, sizeof text, "127.0.0.1:%u", secret_port);
    TEST_CHECK(was_refused("proxy", text) && was_refused("connect", text));
}

static void use_external_proxies(void)
{
    uint32_t v4 = 0;
    GETS(reaches(INADDR_LOOPBACK, host_port), 0);
    GETS(reaches(INADDR_LOOPBACK, secret_port), EACCES);
    HOLDS(look_up("example.test", &v4) == EAI_NONAME);
    GETS(reaches(0xC0000201, 80), EACCES);
}

static bool has_word(const struct words *words, const char *want)
{
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->items[i], want) == 0)
            return true;
    return false;
}

static void with_proxies_of_others_nothing_else_is_reached(void)
{
    open_internet();
    drop_str char *more = xasprintf("\"httpProxyPort\":%u", host_port);
    stage_of("\"example.test\",\"192.0.2.1\"", more, (struct stage){.naive = false},
             use_external_proxies);
    struct words words = {0};
    drop_str char *variable = xasprintf("https_proxy=http://localhost:%u", host_port);
    net_environment(stage_policy, NULL, &words);
    TEST_CHECK(has_word(&words, variable));
    TEST_CHECK(has_word(&words, "NO_PROXY=localhost,127.0.0.1,::1,*.local,.local"));
    words_done(&words);
    end_stage();
    TEST_CHECK(count_accepted(host) == 1 && count_accepted(secret) == 0);
}

static void without_proxies_no_variable_of_theirs_is_set(void)
{
    make_place();
    struct policy *policy = POLICY(.network = "\"allowedDomains\":[],\"deniedDomains\":[]");
    struct words words = {0};
    net_environment(policy, NULL, &words);
    TEST_CHECK(words.count == 1 && strncmp(words.items[0], "RES_OPTIONS=use-vc", 18) == 0);
    words_done(&words);
    const struct net_proxies ours = {.http_port = 81, .socks_port = 82};
    net_environment(policy, &ours, &words);
    TEST_CHECK(has_word(&words, "HTTP_PROXY=http://localhost:81"));
    TEST_CHECK(has_word(&words, "ALL_PROXY=socks5h://localhost:82"));
    TEST_CHECK(has_word(&words, "DOCKER_HTTP_PROXY=http://localhost:81"));
    TEST_CHECK(has_word(&words, "CLOUDSDK_PROXY_PORT=81"));
    words_done(&words);
    policy = policy_free(policy);
}

#define T(name) {#name, name}

TEST_LIST = {
    T(an_allowed_name_is_connected_to_and_another_does_not_exist),
    T(with_nothing_allowed_no_name_exists_and_nothing_is_reached),
    T(an_address_is_reached_only_if_it_is_listed),
    T(every_name_server_is_our_own),
    T(options_and_flags_survive_a_connection),
    T(a_connection_ends_when_the_child_ends_it),
    T(refused_sockets_do_not_use_up_the_broker),
    T(a_signal_ends_the_waiting_for_a_connection),
    T(a_waiting_that_a_signal_may_not_end_goes_on),
    T(a_server_of_the_sandbox_is_reached_by_itself),
    T(without_local_binding_nothing_is_bound),
    T(a_port_beside_that_of_another_service_does_not_lead_there),
    T(a_port_that_was_closed_is_free_and_not_the_sandboxs),
    T(a_port_of_the_place_is_reached),
    T(a_unix_socket_is_reached_by_its_canonical_name),
    T(a_socket_in_a_private_directory_has_the_name_that_it_was_given),
    T(without_any_listed_there_are_no_unix_sockets),
    T(an_address_that_changes_while_it_is_judged_leads_nowhere),
    T(the_attack_on_addresses_works_on_a_naive_broker),
    T(the_proxies_of_the_broker_follow_the_same_rules),
    T(with_proxies_of_others_nothing_else_is_reached),
    T(without_proxies_no_variable_of_theirs_is_set),
    {NULL, NULL},
};
