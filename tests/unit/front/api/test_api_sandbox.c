/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may give a session which sandbox, what becomes of it, and when it is said to hold. The test
 * plays the kernel, and with it the broker. */
#include "unit/front/apitest.h"

#include "unit/audittest.h"

#define SANDBOX "/v1/sessions/default/sandbox"
#define ADMIN "Authorization: Bearer a\r\n"
#define EXECUTE "Authorization: Bearer e\r\n"
#define APPROVE "Authorization: Bearer p\r\n"
#define NETWORK(domains) "\"network\":{\"allowedDomains\":[" domains "],\"deniedDomains\":[]}"
#define FILES "\"filesystem\":{\"denyRead\":[],\"allowWrite\":[\".\"],\"denyWrite\":[]}"
#define SERVERS "{" NETWORK("") "," FILES "}"
#define MINE "{" NETWORK("\"example.org\"") "," FILES "}"
#define CHANGE "{\"settings\":" MINE "}"
#define RESET "{\"settings\":" MINE ",\"reset\":true}"

static struct sandbox_spec servers = {
    .settings = SERVERS, .cwd = "/tmp", .home = "/tmp", .level = SANDBOX_FULL};

static void open_sandboxed(void)
{
    open_audit();
    audit_of_sessions = audit;
    api_config = (struct api_config){.admin_token = "a",
                                     .execute_token = "e",
                                     .approver_token = "p",
                                     .sandbox_level = "full",
                                     .sandboxed = true};
    open_api_behind(servers.settings ? &servers : NULL);
    fake_kernel_ready();
    turn();
}

static void close_all(void)
{
    close_api();
    close_audit();
    audit_of_sessions = NULL;
    api_config = (struct api_config){0};
}

static void check_settings(const char *domains, const char *source)
{
    drop_str char *text = xasprintf("\"allowedDomains\":[%s]", domains);
    drop_str char *owner = xasprintf("\"source\":\"%s\"", source);
    call_with("GET " SANDBOX, ADMIN, "");
    check_head("HTTP/1.1 200 ");
    check_has(text);
    check_has(owner);
    check_has("\"level\":\"full\"");
    check_has("\"meaning\":\"");
}

static void only_an_administrator_sees_and_changes_it(void)
{
    static const char *const others[] = {EXECUTE, APPROVE};
    open_sandboxed();
    for (size_t i = 0; i < 2; i++) {
        call_with("GET " SANDBOX, others[i], "");
        check_head("HTTP/1.1 403 ");
        call_with("PUT " SANDBOX, others[i], CHANGE);
        check_head("HTTP/1.1 403 ");
    }
    call_with("PUT " SANDBOX, "", CHANGE);
    check_head("HTTP/1.1 401 ");
    TEST_CHECK(strcmp(fake.settings, "") == 0);
    check_settings("", "server");
    close_all();
}

static void nobody_is_an_administrator_without_a_token(void)
{
    open_sandboxed();
    api = api_close(api);
    api_config.admin_token = api_config.execute_token = NULL;
    struct err e = ERR_NONE;
    TEST_ASSERT(api_open(&api_config, &api, &e) == 0);
    port = api_port(api);
    call("GET /v1/sessions", "");
    check_head("HTTP/1.1 200 ");
    call("PUT " SANDBOX, CHANGE);
    check_head("HTTP/1.1 401 ");
    call("POST /v1/sessions", "{\"sandbox\":" MINE "}");
    check_head("HTTP/1.1 403 ");
    TEST_CHECK(strcmp(fake.settings, "") == 0);
    close_all();
}

static void it_is_answered_when_the_broker_has_answered(void)
{
    open_sandboxed();
    int fd = send_with("PUT " SANDBOX, ADMIN, CHANGE);
    turn();
    TEST_CHECK(strcmp(fake.settings, MINE) == 0);
    check_settings("", "server"); /* which holds until then */
    fake_kernel_confined(0, NULL);
    finish(fd);
    check_head("HTTP/1.1 200 ");
    check_has("\"source\":\"session\"");
    check_settings("\"example.org\"", "session");
    TEST_CHECK(fake.starts == 1);
    read_trail();
    TEST_CHECK_(strstr(audit_trail, "sandbox_changed session=default door=http "
                                    "address=127.0.0.1 role=admin outcome=live") != NULL,
                "%s", audit_trail);
    TEST_CHECK(!strstr(audit_trail, "example.org"));
    close_all();
}

static void refused_calls_are_told_the_oldest_first_and_the_last_32_alone(void)
{
    open_sandboxed();
    call_with("GET " SANDBOX, ADMIN, "");
    check_has("\"refused\":[]");
    char long_path[2000];
    memset(long_path, 'l', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    fake_kernel_refused(long_path);
    fake_kernel_refused("pid=7 call=openat path=/\"\xff\x1b");
    for (int i = 0; i < 30; i++)
        fake_kernel_refused("pid=7 call=openat path=/x");
    call_with("GET " SANDBOX, ADMIN, "");
    check_has("\"what\":\"llll");
    check_has("path=/\\\"\xef\xbf\xbd\\u001b\"");
    TEST_CHECK(got.len < 8000);
    fake_kernel_refused("pid=7 call=unlinkat path=/y");
    call_with("GET " SANDBOX, ADMIN, "");
    check_has_not("llll");
    check_has("call=unlinkat path=/y\"}]");
    close_all();
}

static void what_the_broker_refuses_leaves_all_as_it_was(void)
{
    open_sandboxed();
    int fd = send_with("PUT " SANDBOX, ADMIN, CHANGE);
    turn();
    fake_kernel_confined(-EBUSY, "filesystem.denyRead: it takes a new kernel: reset the session");
    finish(fd);
    check_head("HTTP/1.1 409 ");
    check_has("it takes a new kernel: reset the session");
    check_settings("", "server");
    read_trail();
    TEST_CHECK_(strstr(audit_trail, "outcome=refused") != NULL, "%s", audit_trail);
    close_all();
}

static void bad_settings_reach_no_kernel_and_their_key_is_named(void)
{
    static const char *const bad[][2] = {
        {"{}", "settings: an object is needed"},
        {"{\"settings\":[]}", "settings: an object is needed"},
        {"{\"settings\":{\"filesystem\":{\"allowWrites\":[]}}}", "allowWrites"},
        {"{\"settings\":{" NETWORK("\"*.com\"") "," FILES "}}", "network.allowedDomains[0]"},
        {"{\"settings\":" MINE ",\"reset\":1}", "reset: true or false"},
        {"{\"settings\":" MINE ",\"more\":1}", "more: there is no such member"},
    };
    open_sandboxed();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TEST_CASE(bad[i][0]);
        call_with("PUT " SANDBOX, ADMIN, bad[i][0]);
        check_head("HTTP/1.1 400 ");
        check_has(bad[i][1]);
    }
    TEST_CASE("the same for all");
    call_with("PUT " SANDBOX, ADMIN,
              "{\"settings\":{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[],"
              "\"httpProxyPort\":3128}," FILES "}}");
    check_head("HTTP/1.1 422 ");
    check_has("network.httpProxyPort");
    TEST_CASE("");
    call_with("PUT /v1/sessions/none/sandbox", ADMIN, CHANGE);
    check_head("HTTP/1.1 404 ");
    TEST_CHECK(strcmp(fake.settings, "") == 0);
    check_settings("", "server");
    close_all();
}

static void with_reset_a_new_kernel_has_them_in_turn_with_the_cells(void)
{
    open_sandboxed();
    int cell = send_with("POST /v1/sessions/default/executions", EXECUTE, "{\"code\":\"1\"}");
    turn();
    int fd = send_with("PUT " SANDBOX, ADMIN, RESET);
    turn();
    TEST_CHECK(fake.starts == 1 && strcmp(fake.settings, "") == 0);
    check_settings("", "server");
    fake_kernel_done(OK_REPLY);
    finish(cell);
    TEST_CHECK(fake.starts == 2 && strcmp(fake.started_with, MINE) == 0);
    fake_kernel_ready();
    finish(fd);
    check_head("HTTP/1.1 200 ");
    read_trail();
    TEST_CHECK_(strstr(audit_trail, "outcome=reset") != NULL, "%s", audit_trail);
    call_with("POST /v1/sessions/default/reset", EXECUTE, ""); /* and every kernel after it */
    TEST_CHECK(fake.starts == 3 && strcmp(fake.started_with, MINE) == 0);
    close_all();
}

static void a_new_kernel_that_does_not_come_up_leaves_the_settings_as_they_were(void)
{
    open_sandboxed();
    fake.fail_start = true;
    call_with("PUT " SANDBOX, ADMIN, RESET);
    check_head("HTTP/1.1 503 ");
    check_has("no python");
    check_settings("", "server");
    fake.fail_start = false;
    int cell = send_with("POST /v1/sessions/default/executions", EXECUTE, "{\"code\":\"1\"}");
    turn();
    TEST_CHECK(fake.starts == 3 && strcmp(fake.started_with, SERVERS) == 0);
    (void)fd_close(cell);
    close_all();
}

static void a_kernel_that_is_not_up_yet_is_started_anew_with_them(void)
{
    open_sandboxed();
    call_with("POST /v1/sessions", EXECUTE, "{\"id\":\"other\"}");
    TEST_CHECK(fake.starts == 2 && strcmp(fake.started_with, SERVERS) == 0);
    call_with("PUT /v1/sessions/other/sandbox", ADMIN, CHANGE);
    check_head("HTTP/1.1 200 ");
    TEST_CHECK(fake.starts == 3 && fake.kills == 1 && strcmp(fake.started_with, MINE) == 0);
    TEST_CHECK(strcmp(fake.settings, "") == 0);
    check_settings("", "server"); /* of the other session */
    close_all();
}

static void a_kernel_that_ends_meanwhile_keeps_the_session_as_it_was(void)
{
    open_sandboxed();
    int cell = send_with("POST /v1/sessions/default/executions", EXECUTE, "{\"code\":\"1\"}");
    int fd = send_with("PUT " SANDBOX, ADMIN, CHANGE);
    turn();
    fake_kernel_dies("it was killed", "");
    finish(fd);
    check_head("HTTP/1.1 409 ");
    finish(cell);
    TEST_CHECK(fake.starts == 2 && strcmp(fake.started_with, SERVERS) == 0);
    check_settings("", "server");
    close_all();
}

static void one_change_at_a_time_and_who_asked_may_go(void)
{
    open_sandboxed();
    int fd = send_with("PUT " SANDBOX, ADMIN, CHANGE);
    turn();
    call_with("PUT " SANDBOX, ADMIN, CHANGE);
    check_head("HTTP/1.1 409 ");
    check_has("another change");
    (void)fd_close(fd);
    turn();
    fake_kernel_confined(0, NULL);
    check_settings("\"example.org\"", "session");
    fd = send_with("PUT " SANDBOX, ADMIN, CHANGE);
    turn();
    api = api_close(api); /* what is under way comes to nobody */
    fake_kernel_confined(0, NULL);
    (void)fd_close(fd);
    close_all();
}

static void a_new_session_has_settings_of_its_own_if_an_administrator_says_so(void)
{
    open_sandboxed();
    call_with("POST /v1/sessions", EXECUTE, "{\"id\":\"mine\",\"sandbox\":" MINE "}");
    check_head("HTTP/1.1 403 ");
    check_has("sandbox: only IPYBOX_TOKEN");
    TEST_CHECK(fake.starts == 1);
    call_with("POST /v1/sessions", ADMIN, "{\"id\":\"mine\",\"sandbox\":{\"network\":1}}");
    check_head("HTTP/1.1 400 ");
    TEST_CHECK(fake.starts == 1);
    call_with("POST /v1/sessions", ADMIN, "{\"id\":\"mine\",\"sandbox\":" MINE "}");
    check_head("HTTP/1.1 201 ");
    TEST_CHECK(fake.starts == 2 && strcmp(fake.started_with, MINE) == 0);
    call_with("GET /v1/sessions/mine/sandbox", ADMIN, "");
    check_has("\"source\":\"session\"");
    read_trail();
    TEST_CHECK_(strstr(audit_trail, "sandbox_changed session=mine door=http address=127.0.0.1 "
                                    "role=admin outcome=created") != NULL,
                "%s", audit_trail);
    close_all();
}

static bool are_tight(const struct sandbox_limits *l)
{
    return l->tasks == 50 && l->files == 9 && l->file_size == 8 && l->memory == 1 << 20 &&
           l->disk == 7 && l->cpu == 60;
}

/* By any who may make sessions: they are tighter, never wider. */
static void the_limits_of_a_session_are_the_servers_or_tighter(void)
{
    static const char *const bad[] = {
        "{\"limits\":1}",
        "{\"limits\":{\"memory\":0}}",
        "{\"limits\":{\"memory\":1.5}}",
        "{\"limits\":{\"tasks\":4294967296}}",
        "{\"limits\":{\"cpu\":\"1\"}}",
        "{\"limits\":{\"files\":1}}",
    };
    servers.limits = (struct sandbox_limits){.memory = 1 << 30, .cpu = 60};
    open_sandboxed();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TEST_CASE(bad[i]);
        call_with("POST /v1/sessions", EXECUTE, bad[i]);
        check_head("HTTP/1.1 400 ");
        check_has("limits");
    }
    call_with("POST /v1/sessions", ADMIN, "{\"limits\":{\"memory\":1073741825}}");
    check_head("HTTP/1.1 422 ");
    check_has("limits.memory: must be at most 1073741824 (--kernel-memory)");
    TEST_CHECK(fake.starts == 1);
    call_with("POST /v1/sessions", EXECUTE,
              "{\"id\":\"tight\",\"limits\":{\"memory\":1048576,\"cpu\":null,\"tasks\":50,"
              "\"open_files\":9,\"file_size\":8,\"disk\":7}}");
    check_head("HTTP/1.1 201 ");
    check_has("\"limits\":{\"memory\":1048576,\"disk\":7,\"tasks\":50,\"open_files\":9,"
              "\"file_size\":8,\"cpu\":60}");
    TEST_CHECK(fake.starts == 2 && are_tight(&fake.limits));
    call_with("PUT /v1/sessions/tight/sandbox", ADMIN, CHANGE);
    TEST_CHECK(fake.starts == 3 && strcmp(fake.started_with, MINE) == 0);
    TEST_CHECK(are_tight(&fake.limits));
    call_with("GET /v1/sessions/default", EXECUTE, "");
    check_has("\"limits\":{\"memory\":1073741824,\"cpu\":60}");
    close_all();
    servers.limits = (struct sandbox_limits){0};
}

static void limits_that_the_machine_cannot_hold_are_refused(void)
{
    servers.level = SANDBOX_LANDLOCK;
    open_sandboxed();
    call_with("POST /v1/sessions", EXECUTE, "{\"limits\":{\"tasks\":50}}");
    check_head("HTTP/1.1 422 ");
    check_has("level full, this machine has the level landlock");
    close_all();
    servers = (struct sandbox_spec){0};
    open_sandboxed();
    call_with("POST /v1/sessions", EXECUTE, "{\"limits\":{\"memory\":50}}");
    check_head("HTTP/1.1 422 ");
    check_has("ipybox doctor");
    close_all();
}

static void without_a_sandbox_there_is_nothing_to_change(void)
{
    servers.settings = NULL;
    open_sandboxed();
    call_with("GET " SANDBOX, ADMIN, "");
    check_head("HTTP/1.1 409 ");
    call_with("PUT " SANDBOX, ADMIN, RESET);
    check_head("HTTP/1.1 409 ");
    check_has("without --sandbox");
    TEST_CHECK(fake.starts == 1);
    close_all();
}

static const char *const offered_env[] = {"SANDBOX_RUNTIME=1", NULL};
static struct session_walls offered = {.spec = &servers, .envp = offered_env};
static int offers;

static int offer(void *ctx, const struct session_walls **ret, struct err *e)
{
    (void)ctx;
    offers++;
    *ret = &offered;
    return offered.spec ? 0 : err_set(e, -ENOTSUP, "level none");
}

/* A server without --sandbox, on a machine that has one. */
static void open_offering(const struct sandbox_spec *walls)
{
    offers = 0;
    servers.settings = SERVERS;
    open_audit();
    audit_of_sessions = audit;
    api_config = (struct api_config){.admin_token = "a", .execute_token = "e"};
    api_config.sandbox_level = "full";
    open_api_behind(walls);
    session_config.offer = offer;
    fake_kernel_ready();
    turn();
}

static void a_session_can_have_a_sandbox_where_the_others_have_none(void)
{
    static const struct sandbox_spec walls = {.level = SANDBOX_FULL, .limits = {.cpu = 60}};
    open_offering(&walls);
    call_with("POST /v1/sessions", ADMIN, "{\"id\":\"mine\",\"sandbox\":" MINE "}");
    check_head("HTTP/1.1 201 ");
    check_has("\"limits\":{\"cpu\":60}");
    TEST_CHECK(fake.starts == 2 && strcmp(fake.started_with, MINE) == 0);
    TEST_CHECK(strcmp(fake.environment, "SANDBOX_RUNTIME=1") == 0);
    fake_kernel_ready();
    turn();
    call_with("GET /v1/sessions/mine/sandbox", ADMIN, "");
    check_has("\"source\":\"session\"");
    call_with("PUT /v1/sessions/mine/sandbox", ADMIN, "{\"settings\":" SERVERS ",\"reset\":true}");
    TEST_CHECK(strcmp(fake.started_with, SERVERS) == 0);
    call_with("DELETE /v1/sessions/mine", ADMIN, "");
    call_with("POST /v1/sessions", EXECUTE, "{\"id\":\"usual\",\"sandbox\":true}");
    check_head("HTTP/1.1 201 ");
    TEST_CHECK(strcmp(fake.started_with, sandbox_settings_default) == 0);
    call_with("POST /v1/sessions", ADMIN, "{\"id\":\"none\"}");
    TEST_CHECK(strcmp(fake.started_with, "") == 0 && strcmp(fake.environment, "") == 0);
    call_with("PUT /v1/sessions/none/sandbox", ADMIN, RESET);
    check_head("HTTP/1.1 409 ");
    close_all();
}

static void true_is_the_servers_sandbox_where_it_has_one(void)
{
    servers.settings = SERVERS;
    open_sandboxed();
    call_with("POST /v1/sessions", EXECUTE, "{\"id\":\"mine\",\"sandbox\":true}");
    check_head("HTTP/1.1 201 ");
    TEST_CHECK(strcmp(fake.started_with, SERVERS) == 0);
    call_with("POST /v1/sessions", EXECUTE, "{\"id\":\"no\",\"sandbox\":false}");
    check_head("HTTP/1.1 403 ");
    close_all();
}

static void what_the_machine_does_not_grant_is_refused(void)
{
    static const struct sandbox_spec walls = {.level = SANDBOX_FULL};
    open_offering(NULL);
    call_with("POST /v1/sessions", EXECUTE, "{\"sandbox\":true}");
    check_head("HTTP/1.1 422 ");
    check_has("ipybox doctor");
    TEST_CHECK(offers == 0 && fake.starts == 1);
    close_all();
    offered.spec = NULL;
    open_offering(&walls);
    call_with("POST /v1/sessions", EXECUTE, "{\"sandbox\":true}");
    check_head("HTTP/1.1 409 ");
    check_has("level none");
    TEST_CHECK(fake.starts == 1);
    offered.spec = &servers;
    close_all();
}

TEST_LIST = {
    {"a_session_can_have_a_sandbox_where_the_others_have_none",
     a_session_can_have_a_sandbox_where_the_others_have_none},
    {"true_is_the_servers_sandbox_where_it_has_one", true_is_the_servers_sandbox_where_it_has_one},
    {"what_the_machine_does_not_grant_is_refused", what_the_machine_does_not_grant_is_refused},
    {"only_an_administrator_sees_and_changes_it", only_an_administrator_sees_and_changes_it},
    {"nobody_is_an_administrator_without_a_token", nobody_is_an_administrator_without_a_token},
    {"it_is_answered_when_the_broker_has_answered", it_is_answered_when_the_broker_has_answered},
    {"refused_calls_are_told_the_oldest_first_and_the_last_32_alone",
     refused_calls_are_told_the_oldest_first_and_the_last_32_alone},
    {"what_the_broker_refuses_leaves_all_as_it_was", what_the_broker_refuses_leaves_all_as_it_was},
    {"bad_settings_reach_no_kernel_and_their_key_is_named",
     bad_settings_reach_no_kernel_and_their_key_is_named},
    {"with_reset_a_new_kernel_has_them_in_turn_with_the_cells",
     with_reset_a_new_kernel_has_them_in_turn_with_the_cells},
    {"a_new_kernel_that_does_not_come_up_leaves_the_settings_as_they_were",
     a_new_kernel_that_does_not_come_up_leaves_the_settings_as_they_were},
    {"a_kernel_that_is_not_up_yet_is_started_anew_with_them",
     a_kernel_that_is_not_up_yet_is_started_anew_with_them},
    {"a_kernel_that_ends_meanwhile_keeps_the_session_as_it_was",
     a_kernel_that_ends_meanwhile_keeps_the_session_as_it_was},
    {"one_change_at_a_time_and_who_asked_may_go", one_change_at_a_time_and_who_asked_may_go},
    {"a_new_session_has_settings_of_its_own_if_an_administrator_says_so",
     a_new_session_has_settings_of_its_own_if_an_administrator_says_so},
    {"the_limits_of_a_session_are_the_servers_or_tighter",
     the_limits_of_a_session_are_the_servers_or_tighter},
    {"limits_that_the_machine_cannot_hold_are_refused",
     limits_that_the_machine_cannot_hold_are_refused},
    {"without_a_sandbox_there_is_nothing_to_change", without_a_sandbox_there_is_nothing_to_change},
    {NULL, NULL},
};
