/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/sandbox/nettest.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/time.h>

enum { FLIPS = 2000, SOCKETS = 700 };

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
    HOLDS(look_up("wild.test", &v4) == EAI_NONAME); /* and not EAI_AGAIN, after waiting in vain */
    HOLDS(look_up("example.org", &v4) == EAI_NONAME);
    HOLDS(look_up("127.0.0.1.example.org", &v4) == EAI_NONAME);
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
    HOLDS(look_up("example.org", &v4) == EAI_NONAME);
    HOLDS(look_up("localhost", &v4) == 0 && v4 == INADDR_LOOPBACK);
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
    HOLDS(poll(&p, 1, GUARD_MS) == 1);
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
    TEST_ASSERT(poll(&p, 1, GUARD_MS) == 1);
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

static int count_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 2048; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void refused_sockets_do_not_use_up_the_broker(void)
{
    open_internet();
    stage_of(some_names(), "", (struct stage){.naive = false}, use_many);
    TEST_ASSERT(waitpid(child, NULL, 0) == child);
    TEST_CHECK(count_descriptors() < SOCKETS_HELD_MAX + 64);
    end_waited_stage();
    TEST_CHECK(count_accepted(host) == 2 && count_accepted(secret) == 0);
}

static void on_alarm(int number)
{
    (void)number;
}

static void wait_in_vain(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    /* again and again: the first may come before the call that it is to end */
    const struct itimerval soon = {.it_value.tv_usec = 200000, .it_interval.tv_usec = 200000};
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &soon, NULL);
    GETS(reaches(INADDR_LOOPBACK, host_port), EINTR);
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
    end_waited_stage();
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

/* The kernel knows more than one listener for 0.0.0.0 and ::, and chooses by what the caller is
 * bound to. */
static void ask_for_any_from_beside(void)
{
    drop_fd int fd = tcp();
    GETS(bind_v4(fd, INADDR_LOOPBACK + 10, 0), 0);
    GETS(connect_v4(fd, INADDR_ANY, host_port), 0);
    struct address peer = {.len = sizeof peer.room};
    GETS(getpeername(fd, &peer.any, &peer.len), 0);
    uint32_t v4 = 0;
    HOLDS(address_v4(&peer, &v4) && v4 == INADDR_LOOPBACK);
}

static void all_addresses_lead_to_the_one_that_was_judged(void)
{
    open_internet();
    drop_fd int beside = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    TEST_ASSERT(bind_v4(beside, INADDR_LOOPBACK + 10, host_port) == 0 && listen(beside, 8) == 0);
    act_net(some_names(), BINDING, ask_for_any_from_beside);
    TEST_CHECK(count_accepted(host) == 1 && count_accepted(beside) == 0);
}

static struct address six_of(struct in6_addr in, uint16_t port)
{
    struct address six = {.in6 = {.sin6_family = AF_INET6, .sin6_addr = in}, .len = sizeof six.in6};
    address_set_port(&six, port);
    return six;
}

static void ask_for_any_from_the_other_family(void)
{
    const int on = 1;
    drop_fd int server = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    drop_fd int caller = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    drop_fd int plain = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct address own = six_of((struct in6_addr)IN6ADDR_LOOPBACK_INIT, secret_port);
    const struct address any = six_of((struct in6_addr)IN6ADDR_ANY_INIT, secret_port);
    const struct address four = address_of_v4(INADDR_LOOPBACK, 0);
    struct address mapped;
    GETS(setsockopt(server, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on), 0);
    if (bind(server, &own.any, own.len) < 0 && errno == EADDRNOTAVAIL)
        return; /* a machine without IPv6 */
    GETS(listen(server, 1), 0);
    HOLDS(address_for(&four, AF_INET6, &mapped) == 0);
    GETS(bind(caller, &mapped.any, mapped.len), 0);
    HOLDS(connect(caller, &any.any, any.len) < 0);
    GETS(connect(plain, &any.any, any.len), 0);
}

static void all_addresses_of_one_family_do_not_lead_to_the_other(void)
{
    open_internet();
    act_net("", BINDING, ask_for_any_from_the_other_family);
    TEST_CHECK(count_accepted(secret) == 0);
}

static void let_go(void)
{
    int fd = tcp();
    GETS(bind_v4(fd, INADDR_LOOPBACK, 0), 0);
    struct address at = name_of(fd);
    (void)close(fd);
    fd = tcp();
    int r = -1; /* free again, once the broker's thread has let go of it too */
    for (const int64_t until = clock_ms() + GUARD_MS; r < 0 && clock_ms() < until;)
        r = bind_v4(fd, INADDR_LOOPBACK, address_port(&at));
    GETS(r, 0);
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

/* It goes on holding what listens no more, and with port 0 the kernel gives the port away. */
static void shut_down_and_ask(int fd, const struct address *to)
{
    GETS(shutdown(fd, SHUT_WR), 0); /* means nothing to a listener */
    drop_fd int before = socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    GETS(connect(before, &to->any, to->len), 0);
    GETS(shutdown(fd, SHUT_RDWR), 0);
    for (int i = 0; i < 2; i++) {
        drop_fd int after = socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        GETS(connect(after, &to->any, to->len), EACCES);
    }
}

static void listen_no_more(void)
{
    drop_fd int fd = tcp();
    GETS(bind_v4(fd, INADDR_LOOPBACK, 0), 0);
    GETS(listen(fd, 1), 0);
    struct address at = name_of(fd);
    shut_down_and_ask(fd, &at);
    drop_fd int six = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at = six_of((struct in6_addr)IN6ADDR_LOOPBACK_INIT, 0);
    if (bind(six, &at.any, at.len) < 0 && errno == EADDRNOTAVAIL)
        return; /* a machine without IPv6 */
    GETS(listen(six, 1), 0);
    at = name_of(six);
    shut_down_and_ask(six, &at);
}

static void a_listener_that_was_shut_down_is_the_sandboxs_no_more(void)
{
    open_internet();
    act_net("", BINDING, listen_no_more);
}

static void share_a_port(void)
{
    enum { SERVERS = 3 };
    const int on = 1;
    int fds[SERVERS];
    struct address at = address_of_v4(INADDR_LOOPBACK, 0);
    for (int i = 0; i < SERVERS; i++) {
        fds[i] = tcp();
        GETS(setsockopt(fds[i], SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
        GETS(bind(fds[i], &at.any, at.len), 0);
        GETS(listen(fds[i], 64), 0);
        at = name_of(fds[0]);
    }
    for (int i = 0; i < SERVERS; i++) { /* whichever goes first */
        GETS(reaches(INADDR_LOOPBACK, address_port(&at)), 0);
        (void)(i & 1 ? close(fds[i]) : shutdown(fds[i], SHUT_RDWR));
    }
    GETS(reaches(INADDR_LOOPBACK, address_port(&at)), EACCES);
}

static void listeners_that_share_a_port_are_reached_as_long_as_one_is_left(void)
{
    open_internet();
    act_net("", BINDING, share_a_port);
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

static void try_until_allowed(void)
{
    int64_t until = clock_ms() + GUARD_MS;
    GETS(reaches(INADDR_LOOPBACK, host_port), EACCES);
    shared->numbers[0] = 1;
    while (reaches(INADDR_LOOPBACK, host_port) < 0 && clock_ms() < until)
        continue;
    GETS(reaches(INADDR_LOOPBACK, host_port), 0);
}

static void another_policy_holds_from_the_next_call_on(void)
{
    open_internet();
    stage_of("", "", (struct stage){.naive = false}, try_until_allowed);
    const struct policy_place place = {.loopback_ports = (const uint16_t[]){host_port, 0}};
    const struct lists lists = {.network = network};
    struct policy *other = policy_of_place(&lists, &place);
    while (__atomic_load_n(&shared->numbers[0], __ATOMIC_RELAXED) == 0)
        continue;
    broker_set_policy(broker, other);
    end_stage();
    TEST_CHECK(count_accepted(host) >= 1);
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

/* numbers[3]: leaks, of which the naive broker has to have one. */
static bool wants_leak;

/* Longer where the machine left no time to see all. */
static bool has_flipped(int flips, int64_t ms)
{
    const int *n = shared->numbers;
    if (n[0] == 0 || n[1] == 0)
        return false;
    if (wants_leak)
        return __atomic_load_n(&n[3], __ATOMIC_RELAXED) > 0;
    return race_ms() > 0 ? ms >= race_ms() : flips >= FLIPS;
}

static void connect_to_a_changing_address(void)
{
    pthread_t thread;
    const int64_t from = clock_ms();
    int64_t ms = 0;
    flipped = address_of_v4(INADDR_LOOPBACK, host_port);
    flipping = true;
    if (pthread_create(&thread, NULL, flip, NULL) != 0)
        complain("no thread");
    for (int flips = 0; ms < GUARD_MS && !has_flipped(flips, ms); flips++) {
        drop_fd int fd = tcp();
        int r = connect(fd, &flipped.any, flipped.len);
        shared->numbers[r == 0 ? 0 : errno == EACCES ? 1 : 2]++;
        struct linger at_once = {.l_onoff = 1};
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        ms = clock_ms() - from;
    }
    __atomic_store_n(&flipping, false, __ATOMIC_RELAXED);
    (void)pthread_join(thread, NULL);
}

static int leaks_of_flips(bool naive)
{
    int leaks = 0, status;
    wants_leak = naive;
    open_internet();
    stage_of(some_names(), "", (struct stage){.naive = naive}, connect_to_a_changing_address);
    while (waitpid(child, &status, WNOHANG) == 0) {
        (void)count_accepted(host);
        leaks += count_accepted(secret);
        __atomic_store_n(&shared->numbers[3], leaks, __ATOMIC_RELAXED);
    }
    leaks += count_accepted(secret);
    TEST_CHECK(shared->numbers[0] > 0 && shared->numbers[1] > 0);
    TEST_MSG("%d connected, %d refused, %d other", shared->numbers[0], shared->numbers[1],
             shared->numbers[2]);
    end_waited_stage();
    return leaks;
}

static void an_address_that_changes_while_it_is_judged_leads_nowhere(void)
{
    TEST_CHECK(leaks_of_flips(false) == 0);
    if (race_ms() > 0) /* the attack works */
        TEST_CHECK(leaks_of_flips(true) > 0);
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
    T(all_addresses_lead_to_the_one_that_was_judged),
    T(all_addresses_of_one_family_do_not_lead_to_the_other),
    T(a_port_that_was_closed_is_free_and_not_the_sandboxs),
    T(a_listener_that_was_shut_down_is_the_sandboxs_no_more),
    T(listeners_that_share_a_port_are_reached_as_long_as_one_is_left),
    T(a_port_of_the_place_is_reached),
    T(another_policy_holds_from_the_next_call_on),
    T(an_address_that_changes_while_it_is_judged_leads_nowhere),
    {NULL, NULL},
};
