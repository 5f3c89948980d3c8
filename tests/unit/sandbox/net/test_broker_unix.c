/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/sandbox/nettest.h"

#include <sys/un.h>

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

#define T(name) {#name, name}

TEST_LIST = {
    T(a_unix_socket_is_reached_by_its_canonical_name),
    T(a_socket_in_a_private_directory_has_the_name_that_it_was_given),
    T(without_any_listed_there_are_no_unix_sockets),
    {NULL, NULL},
};
