/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "front/gateway/sorter.h"

enum { QUIET_MS = 60 };

static struct loop *loop;
static struct sorter *sorter;
static int64_t fake_now = 1000;
static int given_gateway, given_other, last_fd = -1;
static struct sockaddr_in last_from;

static int64_t fake_clock(void)
{
    return fake_now;
}

static void note(int *count, int fd, const struct sockaddr *from, socklen_t n)
{
    ++*count;
    last_fd = fd_close(last_fd);
    last_fd = fd;
    TEST_ASSERT(n == sizeof last_from);
    memcpy(&last_from, from, n);
}

static void on_gateways(void *ctx, int fd, const struct sockaddr *from, socklen_t n)
{
    (void)ctx;
    note(&given_gateway, fd, from, n);
}

static void on_others(void *ctx, int fd, const struct sockaddr *from, socklen_t n)
{
    (void)ctx;
    note(&given_other, fd, from, n);
}

static void open_it(void)
{
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    loop_set_clock(loop, fake_clock);
    sorter = sorter_new(&(struct sorter_config){
        .loop = loop, .base = "", .gateway = on_gateways, .other = on_others});
}

static void close_it(void)
{
    sorter = sorter_free(sorter);
    last_fd = fd_close(last_fd);
    loop = loop_free(loop);
}

/* The client's end; the other one is the sorter's. `begun`: sent before it is added. */
static int connect_with(const char *begun)
{
    static const struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = 4711};
    int pair[2];
    TEST_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
    TEST_ASSERT(send(pair[0], begun, strlen(begun), MSG_NOSIGNAL) == (ssize_t)strlen(begun));
    sorter_add(sorter, pair[1], (const struct sockaddr *)(const void *)&from, sizeof from);
    return pair[0];
}

static void say(int fd, const char *text)
{
    TEST_ASSERT(send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text));
}

static void pass_time(int64_t ms)
{
    fake_now += ms;
    loop_turn(loop, 0);
}

static void expect_given(int to_gateway, int to_other, int waiting)
{
    TEST_CHECK_(given_gateway == to_gateway && given_other == to_other &&
                    sorter_waiting(sorter) == (size_t)waiting,
                "%d to the gateway, %d to the other, %zu wait", given_gateway, given_other,
                sorter_waiting(sorter));
}

static bool is_closed(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno == ECONNRESET); /* what it had said was not read */
}

/* --- the first line ------------------------------------------------------------------------- */

#define G SORTER_GATEWAY
#define O SORTER_OTHER
#define U SORTER_UNCLEAR

static const struct {
    const char *bytes, *base;
    enum sorter_whose whose;
} lines[] = {
    {"GET /api HTTP/1.1\r\n", "", G},
    {"GET /api\r\n", "", G},
    {"POST /api/kernels HTTP/1.1\r\n", "", G},
    {"GET /api/kernels/1/channels?token=x HTTP/1.1\r\n", "", G},
    {"GET /api?token=x HTTP/1.1\r\n", "", G},
    {"GET /kernelspecs/python3/logo.svg HTTP/1.1\r\n", "", G},
    {"\r\nGET /api/kernels HTTP/1.1\r\n", "", G},
    {"OPTIONS /api/kernels HTTP/1.1\r\n", "", G},
    {"GET http://host:8888/api/kernels HTTP/1.1\r\n", "", G},
    {"GET HTTP://h/api HTTP/1.1\r\n", "", G},
    {"GET /base/api/kernels HTTP/1.1\r\n", "/base", G},
    {"GET /base/api/kernels HTTP/1.1\r\n", "base/", G},
    {"GET /a/b/api HTTP/1.1\r\n", "/a/b/", G},
    {"GET /api/kernels HTTP/1.1\r\n", "/", G},
    {"GET /api/kernels HTTP/1.1\r\n", "/base", O},
    {"GET /basement/api HTTP/1.1\r\n", "/base", O},
    {"GET / HTTP/1.1\r\n", "", O},
    {"GET / HTTP/1.1\r\n", "/base", O},
    {"POST /execute HTTP/1.1\r\n", "", O},
    {"GET /apiary HTTP/1.1\r\n", "", O},
    {"GET /api\0 HTTP/1.1\r\n", "", U},
    {"GET /API/kernels HTTP/1.1\r\n", "", O},
    {"GET /%61pi/kernels HTTP/1.1\r\n", "", O},
    {"GET //api HTTP/1.1\r\n", "", O},
    {"GET /x/../api HTTP/1.1\r\n", "", O},
    {"GET /list/api HTTP/1.1\r\n", "", O},
    {"GET http://host/execute HTTP/1.1\r\n", "", O},
    {"GET http://host HTTP/1.1\r\n", "", O},
    {"GET https://host/api HTTP/1.1\r\n", "", O},
    {"OPTIONS * HTTP/1.1\r\n", "", O},
    {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "", O},
    {"\x16\x03\x01\x02", "", O},
    {"SSH-2.0-x\r\n", "", O},
    {" /api", "", O},
    {"GET  /api HTTP/1.1\r\n", "", O},
    {"AMETHODTHATISTOOLONG /api", "", O},
    {"", "", U},
    {"\r\n", "", U},
    {"PO", "", U},
    {"GET ", "", U},
    {"GET /ap", "", U},
    {"GET /api", "", U},
    {"GET /kernelspec", "", U},
    {"GET /bas", "/base", U},
    {"GET http:/", "", U},
    {"GET http://host", "", U},
};

static void the_path_of_the_first_line_says_whose_it_is(void)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t n = strlen(lines[i].bytes);
        TEST_CASE(lines[i].bytes);
        TEST_CHECK(sorter_whose(lines[i].bytes, n, lines[i].base) == lines[i].whose);
    }
    TEST_CHECK(sorter_whose("\0\0\0\0", 4, "") == O);
    TEST_CHECK(sorter_whose("GET /api\0x", 10, "") == O);
}

static void more_bytes_change_no_answer(void)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        enum sorter_whose before = U;
        TEST_CASE(lines[i].bytes);
        for (size_t n = 0; n <= strlen(lines[i].bytes); n++) {
            drop_str char *part = xstrndup(lines[i].bytes, n); /* so that ASan sees the bounds */
            enum sorter_whose whose = sorter_whose(part, n, lines[i].base);
            TEST_CHECK(before == U || whose == before);
            before = whose;
        }
    }
}

static void a_first_line_without_an_end_is_the_others(void)
{
    char line[SORTER_LINE_MAX + 8];
    memset(line, '\n', sizeof line);
    TEST_CHECK(sorter_whose(line, SORTER_LINE_MAX - 1, "") == U);
    TEST_CHECK(sorter_whose(line, SORTER_LINE_MAX, "") == O);
    memcpy(line, "GET http://", 11);
    memset(line + 11, 'h', sizeof line - 11);
    TEST_CHECK(sorter_whose(line, SORTER_LINE_MAX - 1, "") == U);
    TEST_CHECK(sorter_whose(line, sizeof line, "") == O);
}

/* --- connections ---------------------------------------------------------------------------- */

static void a_connection_is_given_away_as_it_came(void)
{
    char bytes[64];
    open_it();
    int first = connect_with("POST /execute HTTP/1.1\r\n");
    expect_given(0, 1, 0);
    TEST_CHECK(last_from.sin_port == 4711);
    TEST_CHECK(recv(last_fd, bytes, sizeof bytes, 0) == 24);
    TEST_CHECK(memcmp(bytes, "POST /execute HTTP/1.1\r\n", 24) == 0);
    int second = connect_with("");
    expect_given(0, 1, 1);
    say(second, "GET /api HTTP/1.1\r\n");
    pass_time(0);
    expect_given(1, 1, 0);
    TEST_CHECK(recv(last_fd, bytes, sizeof bytes, 0) == 19);
    (void)fd_close(first);
    (void)fd_close(second);
    close_it();
}

static void a_line_in_pieces_is_waited_for_without_spinning(void)
{
    static const char *const pieces[] = {"G", "ET", " ", "/", "a", "pi"};
    open_it();
    int client = connect_with("");
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        say(client, pieces[i]);
        pass_time(200);
        expect_given(0, 0, 1);
    }
    int64_t before = clock_ms();
    loop_turn(loop, QUIET_MS); /* which is not ended by bytes that were looked at */
    TEST_CHECK(clock_ms() - before >= QUIET_MS / 2);
    say(client, "/");
    expect_given(0, 0, 1);
    pass_time(200);
    expect_given(1, 0, 0);
    (void)fd_close(client);
    close_it();
}

static void who_does_not_say_it_is_closed(void)
{
    open_it();
    int silent = connect_with(""), slow = connect_with("GET /a");
    pass_time(SORTER_MS - 1);
    expect_given(0, 0, 2);
    TEST_CHECK(!is_closed(silent) && !is_closed(slow));
    pass_time(1);
    expect_given(0, 0, 0);
    TEST_CHECK(is_closed(silent) && is_closed(slow));
    (void)fd_close(silent);
    (void)fd_close(slow);
    close_it();
}

static void a_client_that_goes_away_is_forgotten(void)
{
    open_it();
    int client = connect_with("");
    (void)fd_close(client);
    pass_time(0);
    expect_given(0, 0, 0);
    client = connect_with("GE");
    (void)fd_close(client); /* what it has said is still there to be read */
    pass_time(SORTER_MS);
    expect_given(0, 0, 0);
    close_it();
}

/* What it has said is still there to be read, and the hang-up is told as long as it is watched. */
static void a_client_that_goes_away_in_a_line_costs_no_turns(void)
{
    open_it();
    int client = connect_with("GET /a");
    (void)fd_close(client);
    pass_time(0);
    expect_given(0, 0, 0);
    int64_t before = clock_ms();
    loop_turn(loop, QUIET_MS);
    TEST_CHECK(clock_ms() - before >= QUIET_MS / 2);
    close_it();
}

static void the_oldest_makes_room_for_one_that_speaks(void)
{
    int clients[SORTER_MAX + 1];
    open_it();
    for (int i = 0; i < SORTER_MAX; i++)
        clients[i] = connect_with(i % 2 ? "GET / " : "");
    expect_given(0, SORTER_MAX / 2, SORTER_MAX / 2);
    for (int i = 0; i < SORTER_MAX; i += 2)
        say(clients[i], "GET /a");
    for (int i = 1; i < SORTER_MAX; i += 2) {
        (void)fd_close(clients[i]);
        clients[i] = connect_with("");
    }
    expect_given(0, SORTER_MAX / 2, SORTER_MAX);
    clients[SORTER_MAX] = connect_with("");
    expect_given(0, SORTER_MAX / 2, SORTER_MAX);
    TEST_CHECK(is_closed(clients[0]) && !is_closed(clients[2]));
    for (int i = 0; i <= SORTER_MAX; i++)
        (void)fd_close(clients[i]);
    close_it();
}

#define TEST(name) {#name, name}
TEST_LIST = {
    TEST(the_path_of_the_first_line_says_whose_it_is),
    TEST(more_bytes_change_no_answer),
    TEST(a_first_line_without_an_end_is_the_others),
    TEST(a_connection_is_given_away_as_it_came),
    TEST(a_line_in_pieces_is_waited_for_without_spinning),
    TEST(who_does_not_say_it_is_closed),
    TEST(a_client_that_goes_away_is_forgotten),
    TEST(a_client_that_goes_away_in_a_line_costs_no_turns),
    TEST(the_oldest_makes_room_for_one_that_speaks),
    {NULL, NULL},
};
