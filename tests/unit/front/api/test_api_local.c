/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/front/apitest.h"

#include <stdlib.h>
#include <sys/un.h>

#include "front/api/api_internal.h"

static char dir[64], path[96];
static bool with_port;

static int listen_here(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(dir, sizeof dir, "/tmp/test-api-local-XXXXXX");
    TEST_ASSERT(mkdtemp(dir) != NULL);
    (void)snprintf(path, sizeof path, "%s/api.sock", dir);
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    TEST_ASSERT(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 8) == 0);
    return fd;
}

static void open_local(void)
{
    struct err e = ERR_NONE;
    api_config = (struct api_config){.admin_token = "a", .execute_token = "e"};
    api_config.approver_token = "p";
    open_ready(); /* with a port alone; then again, with the socket */
    api = api_close(api);
    api_config.host = with_port ? "localhost" : NULL;
    TEST_ASSERT(api_open(&api_config, &api, &e) == 0);
    TEST_ASSERT(api_listen(api, listen_here(), &e) == 0);
}

static void close_local(void)
{
    close_api();
    TEST_CHECK(unlink(path) == 0 && rmdir(dir) == 0);
}

static void call_local(const char *line, const char *more, const char *body)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TEST_ASSERT(connect(fd, (const struct sockaddr *)&to, sizeof to) == 0);
    turn();
    drop_str char *text =
        xasprintf("%s HTTP/1.0\r\n%s%sContent-Length: %zu\r\n\r\n%s", line,
                  *body ? "Content-Type: application/json\r\n" : "", more, strlen(body), body);
    say(fd, text);
    finish(fd);
}

static void root_may_everything_unless_the_server_is_root(void)
{
    enum { E = 1U << API_EXECUTE, ALL = E | 1U << API_APPROVE | 1U << API_ADMIN };
    TEST_CHECK(api_peer_roles(0, 1000) == ALL);
    TEST_CHECK(api_peer_roles(1000, 1000) == E);
    TEST_CHECK(api_peer_roles(0, 0) == E);
    TEST_CHECK(api_peer_roles(1001, 1000) == 0);
    TEST_CHECK(api_peer_roles(1000, 0) == 0);
    TEST_CHECK(api_peer_roles(65534, 0) == 0);
}

static void the_servers_own_uid_may_execute_and_no_more(void)
{
    open_local();
    call_local("GET /v1/sessions", "", "");
    check_head("HTTP/1.1 200 ");
    check_has("\"id\":\"default\"");
    call_local("POST /v1/sessions", "", "{\"id\":\"mine\"}");
    check_head("HTTP/1.1 201 ");
    call_local("GET /v1/approvals", "", "");
    check_head("HTTP/1.1 403 ");
    check_has(geteuid() == 0 ? "the server and code in kernels are both root"
                             : "only root may do that");
    call_local("POST /v1/approvals/x", "", "{\"decision\":\"accept\"}");
    check_head("HTTP/1.1 403 ");
    call_local("POST /v1/mcp-servers", "", "{\"name\":\"x\",\"params\":{}}");
    check_head("HTTP/1.1 403 ");
    call_local("GET /v1/approvals", "Authorization: Bearer wrong\r\n", "");
    check_head("HTTP/1.1 403 ");
    close_local();
}

static void a_token_is_worth_the_same_there(void)
{
    open_local();
    call_local("GET /v1/approvals", "Authorization: Bearer p\r\n", "");
    check_head("HTTP/1.1 200 ");
    call_local("GET /v1/approvals", "Authorization: Bearer e\r\n", "");
    check_head("HTTP/1.1 403 ");
    close_local();
}

static void any_host_will_do_but_an_origin_will_not(void)
{
    open_local();
    call_local("GET /livez", "Host: elsewhere.example\r\n", "");
    check_head("HTTP/1.1 200 ");
    call_local("GET /livez", "Origin: http://elsewhere.example\r\n", "");
    check_head("HTTP/1.1 403 ");
    close_local();
}

static void the_port_and_the_socket_are_two_doors_of_one_api(void)
{
    with_port = true;
    open_local();
    port = api_port(api);
    TEST_CHECK(port > 0);
    call_local("POST /v1/sessions", "", "{\"id\":\"shared\"}");
    check_head("HTTP/1.1 201 ");
    call_with("GET /v1/sessions/shared", "Authorization: Bearer e\r\n", "");
    check_head("HTTP/1.1 200 ");
    call("GET /v1/sessions/shared", ""); /* who has no token on the port may nothing */
    check_head("HTTP/1.1 401 ");
    close_local();
    with_port = false;
    open_local();
    TEST_CHECK(api_port(api) == 0);
    close_local();
}

TEST_LIST = {
    {"root_may_everything_unless_the_server_is_root",
     root_may_everything_unless_the_server_is_root},
    {"the_servers_own_uid_may_execute_and_no_more", the_servers_own_uid_may_execute_and_no_more},
    {"a_token_is_worth_the_same_there", a_token_is_worth_the_same_there},
    {"any_host_will_do_but_an_origin_will_not", any_host_will_do_but_an_origin_will_not},
    {"the_port_and_the_socket_are_two_doors_of_one_api",
     the_port_and_the_socket_are_two_doors_of_one_api},
    {NULL, NULL},
};
