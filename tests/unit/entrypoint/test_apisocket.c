/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "entrypoint/cli/find.h"
#include "entrypoint/identity/apisocket.h"

static char dir[64], path[96];

static void make_dir(void)
{
    (void)snprintf(dir, sizeof dir, "/tmp/test-apisocket-XXXXXX");
    TEST_ASSERT(mkdtemp(dir) != NULL);
    (void)snprintf(path, sizeof path, "%s/" API_SOCKET, dir);
    (void)setenv("IPYBOX_RUNTIME_DIR", dir, 1);
    TEST_ASSERT(prctl(PR_SET_NAME, "ipybox") == 0); /* as the server that is looked for */
}

static void remove_dir(void)
{
    apisocket_remove(dir);
    TEST_CHECK(rmdir(dir) == 0);
}

static uid_t listener_of(int fd)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t n = sizeof peer;
    TEST_CHECK(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0);
    return peer.uid;
}

static void check_found(int server)
{
    struct stat st;
    struct err e = ERR_NONE;
    TEST_CHECK(lstat(path, &st) == 0 && (st.st_mode & 07777) == 0600);
    TEST_CHECK(fcntl(server, F_GETFD) == FD_CLOEXEC);
    int client = find_server(API_SOCKET, &e);
    TEST_ASSERT_(client >= 0, "%s", e.msg);
    TEST_CHECK(listener_of(client) == geteuid());
    int accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
    TEST_CHECK(accepted >= 0);
    (void)close(accepted);
    (void)close(client);
}

static void the_server_makes_one_where_none_was_passed_on(void)
{
    int fd = -1;
    struct err e = ERR_NONE;
    make_dir();
    TEST_ASSERT_(apisocket_open(dir, apisocket_inherit(), &fd, &e) == 0, "%s", e.msg);
    check_found(fd);
    (void)close(fd);
    TEST_ASSERT(apisocket_open(dir, apisocket_inherit(), &fd, &e) ==
                0); /* in the place of a dead server's */
    check_found(fd);
    (void)close(fd);
    remove_dir();
}

static void process_1_makes_one_and_the_server_takes_it(void)
{
    const struct identity self = {.uid = geteuid(), .gid = getegid()};
    int made = -1, taken = -1;
    struct err e = ERR_NONE;
    make_dir();
    TEST_ASSERT_(apisocket_for_child(&self, &made, &e) == 0, "%s", e.msg);
    TEST_CHECK(getenv("IPYBOX_API_SOCKET") != NULL);
    TEST_ASSERT(fcntl(made, F_SETFD, 0) == 0); /* as init does in its child */
    TEST_ASSERT(apisocket_open(dir, apisocket_inherit(), &taken, &e) == 0);
    TEST_CHECK(taken == made && getenv("IPYBOX_API_SOCKET") == NULL);
    check_found(taken);
    TEST_CHECK(apisocket_for_child(&self, &made, &e) == -EADDRINUSE); /* another server is there */
    (void)close(taken);
    remove_dir();
}

static void what_is_no_socket_is_not_taken(void)
{
    static const char *const texts[] = {"", "x", "-1", "0", "1", "7x", "99999"};
    struct err e = ERR_NONE;
    make_dir();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int fd = -1;
        TEST_CASE(texts[i]);
        (void)setenv("IPYBOX_API_SOCKET", texts[i], 1);
        TEST_ASSERT(apisocket_open(dir, apisocket_inherit(), &fd, &e) == 0);
        check_found(fd);
        (void)close(fd);
    }
    remove_dir();
}

TEST_LIST = {
    {"the_server_makes_one_where_none_was_passed_on",
     the_server_makes_one_where_none_was_passed_on},
    {"process_1_makes_one_and_the_server_takes_it", process_1_makes_one_and_the_server_takes_it},
    {"what_is_no_socket_is_not_taken", what_is_no_socket_is_not_taken},
    {NULL, NULL},
};
