/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/front/apitest.h"

#define KEY "X-API-KEY: admin\r\n"
#define BASE "{\"templateID\":\"base\",\"timeout\":60"
#define CODE_PORT "E2b-Sandbox-Port: 49999\r\n"

static char id[64], access_token[64], traffic_token[64];

static void open_e2b(void)
{
    with_e2b = true;
    api_config.admin_token = "admin";
    api_config.execute_token = "execute";
    open_ready();
}

static void close_e2b(void)
{
    close_api();
    api_config.admin_token = api_config.execute_token = NULL;
    with_e2b = false;
}

/* A member of the last answer. */
static void take_member(const char *name, char ret[static 64])
{
    drop_str char *start = xasprintf("\"%s\":\"", name);
    const char *at = strstr(buf_text(&got), start);
    TEST_ASSERT_(at != NULL, "%s in %s", name, buf_text(&got));
    at += strlen(start);
    (void)snprintf(ret, 64, "%.*s", (int)strcspn(at, "\""), at);
}

/* Its kernel is the one that is played from now on. */
static void make_sandbox(const char *more)
{
    drop_str char *body = xasprintf(BASE "%s}", more);
    call_with("POST /v2/sandboxes", KEY, body);
    check_head("HTTP/1.1 201 ");
    take_member("sandboxID", id);
    take_member("envdAccessToken", access_token);
    take_member("trafficAccessToken", traffic_token);
    fake_kernel_ready();
    turn();
}

static int send_to_sandbox(const char *line, const char *token, const char *body)
{
    drop_str char *head = xasprintf(CODE_PORT "E2b-Sandbox-Id: %s\r\n%s", id, token);
    return send_with(line, head, body);
}

static void call_sandbox(const char *line, const char *token, const char *body)
{
    finish(send_to_sandbox(line, token, body));
}

static const char *with_token(void)
{
    static char head[128];
    (void)snprintf(head, sizeof head, "X-Access-Token: %s\r\n", access_token);
    return head;
}

/* --- the control plane ------------------------------------------------------------------------ */

static void only_the_key_reaches_the_control_plane(void)
{
    static const char *const wrong[] = {"",
                                        "X-API-KEY: execute\r\n",
                                        "X-API-KEY: \r\n",
                                        "X-API-KEY: admin\r\nX-API-KEY: admin\r\n",
                                        "Authorization: Bearer admin\r\n",
                                        "Authorization: Bearer execute\r\n"};
    open_e2b();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        TEST_CASE(wrong[i]);
        call_with("POST /sandboxes", wrong[i], BASE "}");
        check_head("HTTP/1.1 401 ");
        check_has("{\"code\":401,\"message\":\"bring IPYBOX_TOKEN as X-API-KEY");
    }
    TEST_CHECK(sessions_count(sessions) == 1);
    close_e2b();
}

static void what_is_wrong_is_said_in_the_wires_own_form(void)
{
    static const struct {
        const char *line, *body, *head, *text;
    } cases[] = {
        {"POST /v2/sandboxes", "{", "400", "the body: "},
        {"POST /v2/sandboxes", "[1]", "400", "an object is needed"},
        {"POST /sandboxes", "", "400", "templateID: a string is needed"},
        {"POST /sandboxes", "{\"templateID\":1}", "400", "templateID: a string is needed"},
        {"POST /sandboxes", "{\"templateID\":\"\"}", "400", "templateID: 1 to 200"},
        {"POST /sandboxes", "{\"templateID\":\"x\",\"timeout\":-1}", "400", "timeout: whole"},
        {"POST /sandboxes", "{\"templateID\":\"x\",\"timeout\":1e99}", "400", "timeout: whole"},
        {"POST /sandboxes", "{\"templateID\":\"x\",\"timeout\":0}", "400", "at least a second"},
        {"POST /sandboxes", BASE ",\"metadata\":[]}", "400", "metadata: an object"},
        {"POST /sandboxes", BASE ",\"metadata\":{\"a\":1}}", "400", "metadata.a: a string"},
        {"POST /sandboxes", BASE ",\"envVars\":{\"A=\":\"\"}}", "400", "env.A=: "},
        {"POST /sandboxes", BASE ",\"autoPauseMemory\":false}", "400", "autoPauseMemory: a pause"},
        {"POST /sandboxes", BASE ",\"volumeMounts\":[{}]}", "400", "volumes are not served"},
        {"POST /sandboxes", BASE ",\"network\":{\"allowOut\":[\"x\"]}}", "400", "network: only"},
        {"GET /sandboxes/nosuch", "", "404", "there is no sandbox nosuch"},
        {"GET /sandboxes/default", "", "404", "there is no sandbox default"},
        {"DELETE /sandboxes/default", "", "404", "there is no sandbox default"},
        {"POST /v2/sandboxes/nosuch/connect", "{}", "404", "there is no sandbox nosuch"},
        {"GET /v2/sandboxes?limit=0", "", "400", "limit: a number from 1 to 100"},
        {"GET /v2/sandboxes?nextToken=x", "", "400", "nextToken: a number"},
        {"PATCH /sandboxes", "{}", "405", "PATCH is not allowed"},
    };
    open_e2b();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_str char *head = xasprintf("HTTP/1.1 %s ", cases[i].head);
        drop_str char *start = xasprintf("{\"code\":%s,\"message\":\"", cases[i].head);
        TEST_CASE(cases[i].text);
        call_with(cases[i].line, KEY, cases[i].body);
        check_head(head);
        check_has(start);
        check_has(cases[i].text);
    }
    TEST_CHECK(sessions_count(sessions) == 1);
    close_e2b();
}

static void sandboxes_are_made_listed_and_ended(void)
{
    char first[64];
    open_e2b();
    make_sandbox(",\"metadata\":{\"a b\":\"1\"}");
    memcpy(first, id, sizeof first);
    make_sandbox("");
    call_with("POST /sandboxes", KEY, BASE "}");
    check_head("HTTP/1.1 429 ");
    TEST_CHECK(strcmp(header_of("Should-Retry"), "false") == 0);
    call_with("GET /v2/sandboxes?limit=1", KEY, "");
    check_has(id);
    check_has_not(first);
    drop_str char *next = xasprintf("GET /v2/sandboxes?nextToken=%s", header_of("x-next-token"));
    call_with(next, KEY, "");
    check_has(first);
    check_has_not("x-next-token");
    call_with("GET /sandboxes?metadata=a%2520b%3D1", KEY, "");
    check_has(first);
    check_has_not(id);
    drop_str char *line = xasprintf("DELETE /sandboxes/%s", first);
    call_with(line, KEY, "");
    check_head("HTTP/1.1 204 ");
    call_with(line, KEY, "");
    check_head("HTTP/1.1 404 ");
    close_e2b();
}

static void a_key_of_idempotency_makes_one_sandbox(void)
{
    char first[64];
    open_e2b();
    for (int i = 0; i < 2; i++) {
        call_with("POST /v2/sandboxes", KEY "Idempotency-Key: k\r\n", BASE "}");
        check_head("HTTP/1.1 201 ");
        take_member("sandboxID", i == 0 ? first : id);
    }
    TEST_CHECK(strcmp(first, id) == 0);
    TEST_CHECK(sessions_count(sessions) == 2);
    close_e2b();
}

/* The answer's head to a call for the sandbox of `id`. */
static void control(const char *call, const char *body, const char *head)
{
    const char *verb = strchr(call, ' ') + 1;
    drop_str char *line = xasprintf("%.*s/sandboxes/%s%s", (int)(verb - call), call, id, verb);
    drop_str char *first = xasprintf("HTTP/1.1 %s ", head);
    TEST_CASE(call);
    call_with(line, KEY, body);
    check_head(first);
}

static void call_health(void)
{
    drop_str char *head = xasprintf("E2b-Sandbox-Id: %s\r\nE2b-Sandbox-Port: 49983\r\n", id);
    call_with("GET /health", head, "");
}

static void a_sandbox_stands_still_while_it_is_paused(void)
{
    open_e2b();
    make_sandbox("");
    control("POST /pause", "{\"memory\":false}", "400");
    control("POST /resume", "{}", "409");
    TEST_CHECK(fake.freezes == 0);
    control("POST /pause", "{}", "204");
    TEST_CHECK(fake.freezes == 1);
    control("POST /pause", "{}", "409");
    control("POST /timeout", "{\"timeout\":10}", "409");
    control("GET ", "", "200");
    check_has("\"state\":\"paused\"");
    call_with("GET /v2/sandboxes?state=running", KEY, "");
    check_has_not(id);
    call_with("GET /v2/sandboxes?state=paused", KEY, "");
    check_has(id);
    call_sandbox("POST /execute", with_token(), "{\"code\":\"1\"}");
    check_head("HTTP/1.1 502 ");
    call_health();
    check_head("HTTP/1.1 502 ");
    pass(SESSIONS_MS_MAX / 2);
    int before = fake.resumes;
    control("POST /connect", "{\"timeout\":20}", "201");
    TEST_CHECK(fake.resumes == before + 1);
    control("GET ", "", "200");
    check_has("\"state\":\"running\"");
    pass(21000);
    control("GET ", "", "404");
    close_e2b();
}

static void a_timeout_may_pause_and_a_request_may_wake(void)
{
    open_e2b();
    make_sandbox(",\"timeout\":60,\"autoPause\":true,\"autoResume\":{\"enabled\":true}");
    control("GET ", "", "200");
    check_has("\"lifecycle\":{\"autoResume\":true,\"onTimeout\":\"pause\"}");
    pass(61000);
    control("GET ", "", "200");
    check_has("\"state\":\"paused\"");
    call_health(); /* which wakes none */
    check_head("HTTP/1.1 502 ");
    call_sandbox("GET /contexts", "", "");
    check_head("HTTP/1.1 401 ");
    control("GET ", "", "200");
    check_has("\"state\":\"paused\"");
    call_sandbox("GET /contexts", with_token(), "");
    check_head("HTTP/1.1 200 ");
    control("GET ", "", "200");
    check_has("\"state\":\"running\"");
    pass(61000); /* and again */
    control("GET ", "", "200");
    check_has("\"state\":\"paused\"");
    pass(SESSIONS_MS_MAX + 1000); /* nobody comes for it */
    control("GET ", "", "404");
    close_e2b();
}

/* --- forks ------------------------------------------------------------------------------------ */

static int send_fork(const char *body)
{
    drop_str char *line = xasprintf("POST /sandboxes/%s/fork", id);
    int fd = send_with(line, KEY, body);
    turn();
    return fd;
}

/* The branch that was made last forks and comes up. */
static void branch_comes_up(void)
{
    fake_kernel_forked();
    fake_kernel_ready();
    turn();
}

static void a_fork_is_a_sandbox_that_begins_as_another(void)
{
    char parent[64], parent_token[64];
    open_e2b();
    make_sandbox(",\"metadata\":{\"who\":\"me\"},\"autoPause\":true");
    memcpy(parent, id, sizeof parent);
    memcpy(parent_token, access_token, sizeof parent_token);
    int fd = send_fork("{\"timeout\":30}");
    TEST_CHECK(fake.forks == 1);
    call_with("GET /v2/sandboxes", KEY, "");
    TEST_CHECK(strstr(body_of(), "},{") == NULL); /* not before it is ready */
    branch_comes_up();
    finish(fd);
    check_head("HTTP/1.1 201 ");
    check_has("[{\"sandbox\":{\"templateID\":\"base\",");
    take_member("sandboxID", id);
    take_member("envdAccessToken", access_token);
    take_member("trafficAccessToken", traffic_token);
    TEST_CHECK(strcmp(id, parent) != 0 && strcmp(access_token, parent_token) != 0);
    control("GET ", "", "200");
    check_has("\"metadata\":{\"who\":\"me\"}");
    check_has("\"onTimeout\":\"pause\"");
    drop_str char *other = xasprintf("X-Access-Token: %s\r\n", parent_token);
    call_sandbox("GET /contexts", other, "");
    check_head("HTTP/1.1 401 ");
    call_sandbox("GET /contexts", with_token(), "");
    check_has(id);
    pass(31000);
    control("GET ", "", "200");
    check_has("\"state\":\"paused\"");
    memcpy(id, parent, sizeof id);
    control("GET ", "", "200");
    check_has("\"state\":\"running\"");
    close_e2b();
}

static void a_fork_that_cannot_be_had_is_refused_and_leaves_nothing(void)
{
    open_e2b();
    make_sandbox("");
    control("POST /fork", "{\"count\":0}", "400");
    check_has("count: a whole number from 1 to 20 is needed");
    control("POST /fork", "{\"count\":21}", "400");
    control("POST /fork", "{\"count\":1.5}", "400");
    control("POST /fork", "{\"count\":\"2\"}", "400");
    control("POST /fork", "{\"timeout\":0}", "400");
    control("POST /fork", "{\"timeout\":-1}", "400");
    control("POST /fork", "[]", "400");
    control("POST /fork", "{\"count\":2}", "429");
    fake.fail_start = true;
    control("POST /fork", "{}", "400");
    fake.fail_start = false;
    control("POST /pause", "{}", "204");
    control("POST /fork", "{}", "409");
    control("POST /resume", "{}", "201");
    control("POST /snapshots", "{\"name\":\"s\"}", "501");
    check_has("snapshots are not served");
    call_with("GET /snapshots", KEY, "");
    check_has("[]");
    call_with("DELETE /templates/s:default", KEY, "");
    check_head("HTTP/1.1 404 ");
    call_with("POST /sandboxes/none/fork", KEY, "{}");
    check_head("HTTP/1.1 404 ");
    call_with("POST /sandboxes/none/fork", "", "{}");
    check_head("HTTP/1.1 401 ");
    TEST_CHECK(sessions_count(sessions) == 2);

    int fd = send_fork("{}");
    fake_kernel_dies("a fork would lack this: a socket (descriptor 9)", "");
    turn();
    finish(fd);
    check_has("\"code\":");
    check_has("socket");
    TEST_CHECK(sessions_count(sessions) == 2);

    fd = send_fork("{}"); /* the client leaves */
    (void)fd_close(fd);
    turn();
    branch_comes_up();
    TEST_CHECK(sessions_count(sessions) == 2);
    close_e2b();
}

static void a_fork_has_the_contexts_and_their_names(void)
{
    char context[64], parent[64];
    max_sessions = 5;
    open_e2b();
    make_sandbox("");
    memcpy(parent, id, sizeof parent);
    call_sandbox("POST /contexts", with_token(), "{\"language\":\"bash\"}");
    take_member("id", context);
    fake_kernel_ready();
    turn();
    int fd = send_fork("");
    branch_comes_up(); /* the sandbox's own session, */
    branch_comes_up(); /* and the context's */
    finish(fd);
    check_head("HTTP/1.1 201 ");
    TEST_CHECK(fake.forks == 2);
    take_member("sandboxID", id);
    take_member("envdAccessToken", access_token);
    call_sandbox("GET /contexts", with_token(), "");
    check_has(context);
    check_has("\"language\":\"bash\"");
    drop_str char *line = xasprintf("DELETE /contexts/%s", context);
    call_sandbox(line, with_token(), "");
    check_head("HTTP/1.1 204 ");
    call_sandbox("GET /contexts", with_token(), "");
    check_has_not(context);
    TEST_CHECK(sessions_count(sessions) == 4);

    /* none of it is there when the context cannot be forked */
    control("DELETE ", "", "204");
    memcpy(id, parent, sizeof id);
    fd = send_fork("{}");
    fake.fail_start = true;
    branch_comes_up();
    turn();
    finish(fd);
    check_head("HTTP/1.1 400 ");
    TEST_CHECK(sessions_count(sessions) == 3);
    fake.fail_start = false;
    max_sessions = 3;
    close_e2b();
}

static void there_are_figures_of_the_container(void)
{
    open_e2b();
    make_sandbox("");
    control("GET /metrics", "", "200");
    check_has("[{\"timestamp\":\"");
    check_has("\"diskTotal\":");
    control("GET /metrics?end=10", "", "200");
    check_has("\r\n\r\n[]");
    close_e2b();
}

static void a_timeout_ends_a_sandbox_and_its_contexts(void)
{
    open_e2b();
    make_sandbox("");
    call_sandbox("POST /contexts", with_token(), "{}");
    check_head("HTTP/1.1 200 ");
    TEST_CHECK(sessions_count(sessions) == 3);
    pass(59000);
    TEST_CHECK(sessions_count(sessions) == 3);
    drop_str char *line = xasprintf("POST /sandboxes/%s/timeout", id);
    call_with(line, KEY, "{\"timeout\":10}");
    check_head("HTTP/1.1 204 ");
    pass(9000);
    TEST_CHECK(sessions_count(sessions) == 3);
    pass(1000);
    turn();
    TEST_CHECK(sessions_count(sessions) == 1);
    call_sandbox("GET /contexts", with_token(), "");
    check_head("HTTP/1.1 502 ");
    check_has("The sandbox was not found");
    close_e2b();
}

/* --- the code interpreter --------------------------------------------------------------------- */

static void a_sandbox_takes_its_own_tokens_alone(void)
{
    char other[64], head[128];
    open_e2b();
    make_sandbox("");
    memcpy(other, access_token, sizeof other);
    make_sandbox("");
    (void)snprintf(head, sizeof head, "X-Access-Token: %s\r\n", other);
    const char *const wrong[] = {"",
                                 head,
                                 KEY,
                                 "Authorization: Bearer admin\r\n",
                                 "Authorization: Bearer execute\r\n",
                                 "X-Access-Token: \r\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        TEST_CASE(wrong[i]);
        call_sandbox("POST /execute", wrong[i], "{\"code\":\"1\"}");
        check_head("HTTP/1.1 401 ");
        check_has("{\"code\":401,\"message\":\"unauthorized access");
    }
    TEST_CHECK(*fake.code == '\0');
    (void)snprintf(head, sizeof head, "E2B-Traffic-Access-Token: %s\r\n", traffic_token);
    call_sandbox("GET /contexts", head, "");
    check_head("HTTP/1.1 200 ");
    check_has(id);
    (void)snprintf(id, sizeof id, "nosuch");
    call_sandbox("GET /contexts", head, "");
    check_head("HTTP/1.1 502 ");
    close_e2b();
}

static void ask_host(const char *host, const char *path)
{
    int fd = dial();
    drop_str char *text =
        xasprintf("GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", path, host, with_token());
    say(fd, text);
    finish(fd);
}

static void a_sandbox_and_its_port_are_found_by_the_host(void)
{
    api_host = "0.0.0.0";
    open_e2b();
    make_sandbox("");
    drop_str char *code = xasprintf("49999-%s.box.example:8080", id);
    drop_str char *envd = xasprintf("49983-%s.box.example", id);
    drop_str char *other = xasprintf("3000-%s.box.example", id);
    ask_host(code, "/contexts");
    check_has(id);
    ask_host(code, "/health");
    check_has("\"OK\"");
    ask_host(envd, "/health");
    check_head("HTTP/1.1 204 ");
    ask_host("49983-nosuch.box.example", "/health");
    check_head("HTTP/1.1 502 ");
    ask_host(other, "/contexts");
    check_has("{\"code\":404,");
    ask_host("api.box.example", "/contexts"); /* it is the one that the token is of */
    check_has(id);
    api_host = "localhost";
    close_e2b();
}

static void what_is_wrong_with_code_is_said(void)
{
    static const struct {
        const char *body, *head, *text;
    } cases[] = {
        {"{}", "400", "code: a string is needed"},
        {"{\"code\":1}", "400", "code: a string is needed"},
        {"{\"code\":\"\",\"language\":\"r\"}", "400", "r is not served here; python and bash are"},
        {"{\"code\":\"\",\"context_id\":\"x\"}", "404", "Context x not found"},
        {"{\"code\":\"\",\"context_id\":\"default\"}", "404", "Context default not found"},
        {"{\"code\":\"\",\"context_id\":\"x\",\"language\":\"bash\"}", "400", "Only one of"},
        {"{\"code\":\"\",\"env_vars\":[]}", "400", "env_vars: an object"},
        {"{\"code\":\"\",\"env_vars\":{\"A=\":\"\"}}", "400", "no name of a variable"},
        {"{\"code\":\"\",\"env_vars\":{\"A\":\"\\u0000\"}}", "400", "without NUL"},
    };
    open_e2b();
    make_sandbox("");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_str char *start = xasprintf("{\"code\":%s,\"message\":\"", cases[i].head);
        TEST_CASE(cases[i].text);
        call_sandbox("POST /execute", with_token(), cases[i].body);
        check_has(start);
        check_has(cases[i].text);
    }
    TEST_CHECK(*fake.code == '\0');
    close_e2b();
}

static void events_of_a_cell_are_lines(void)
{
    open_e2b();
    make_sandbox("");
    int fd = send_to_sandbox("POST /execute", with_token(), "{\"code\":\"x\",\"context_id\":null}");
    turn();
    TEST_CHECK(strcmp(fake.code, "x") == 0);
    fake_kernel_stream("hi\n", true);
    fake_kernel_message(JUPYTER_EXECUTE_RESULT, "{\"data\":{\"text/plain\":\"'s'\",\"image/png\":"
                                                "\"AA\",\"a/b\":{\"c\":1}},\"metadata\":{}}");
    fake_kernel_error("ValueError", "boom");
    fake_kernel_done("{\"status\":\"error\"}");
    finish(fd);
    check_head("HTTP/1.1 200 ");
    check_has("{\"type\":\"number_of_executions\",\"execution_count\":1}\n");
    check_has("{\"type\":\"stdout\",\"text\":\"hi\\n\",\"timestamp\":");
    check_has("{\"type\":\"result\",\"text\":\"s\",\"png\":\"AA\",\"extra\":{\"a/b\":{\"c\":1}},"
              "\"is_main_result\":true}\n");
    check_has("{\"type\":\"error\",\"name\":\"ValueError\",\"value\":\"boom\",\"traceback\":");
    check_has("{\"type\":\"end_of_execution\"}\n");
    check_has_not("unexpected_end");
    close_e2b();
}

static void a_kernel_that_dies_is_an_unexpected_end(void)
{
    open_e2b();
    make_sandbox("");
    int fd = send_to_sandbox("POST /execute", with_token(), "{\"code\":\"x\"}");
    turn();
    fake_kernel_dies("it was killed", "last words");
    finish(fd);
    check_has("{\"type\":\"error\",\"name\":\"KernelDied\",");
    check_has("{\"type\":\"unexpected_end_of_execution\"}\n{\"type\":\"end_of_execution\"}\n");
    close_e2b();
}

static void a_client_that_leaves_interrupts_its_code_alone(void)
{
    open_e2b();
    make_sandbox("");
    int fd = send_to_sandbox("POST /execute", with_token(), "{\"code\":\"x\"}");
    fake_kernel_input();
    TEST_CHECK(fake.interrupts == 0);
    (void)fd_close(fd);
    turn();
    TEST_CHECK(fake.interrupts == 1);
    close_e2b();
}

static void the_end_of_a_sandbox_ends_its_streams(void)
{
    open_e2b();
    make_sandbox("");
    int fd = send_to_sandbox("POST /execute", with_token(), "{\"code\":\"x\"}");
    fake_kernel_input();
    drop_str char *line = xasprintf("DELETE /sandboxes/%s", id);
    call_with(line, KEY, "");
    check_head("HTTP/1.1 204 ");
    finish(fd);
    check_has("{\"type\":\"error\",\"name\":\"SandboxEnded\",");
    check_has("{\"type\":\"end_of_execution\"}\n");
    TEST_CHECK(sessions_count(sessions) == 1);
    close_e2b();
}

/* --- without a token -------------------------------------------------------------------------- */

static void clients_of_debug_need_no_key_where_there_is_none(void)
{
    with_e2b = true;
    open_ready();
    call_with("GET /contexts", "E2b-Sandbox-Id: debug_sandbox_id\r\n" CODE_PORT, "");
    check_head("HTTP/1.1 200 ");
    check_has("\"id\":\"debug_sandbox_id\"");
    close_e2b();
    open_e2b();
    call_with("GET /contexts", "E2b-Sandbox-Id: debug_sandbox_id\r\n" CODE_PORT, "");
    check_head("HTTP/1.1 502 ");
    TEST_CHECK(sessions_count(sessions) == 1);
    close_e2b();
}

/* The HTTP API is as it was. */
static void other_paths_are_the_apis(void)
{
    open_e2b();
    call("GET /metrics", "");
    check_has("ipybox_build_info");
    call_with("GET /v1/sessions", "Authorization: Bearer execute\r\n", "");
    check_head("HTTP/1.1 200 ");
    call("GET /nothing", "");
    check_has("application/problem+json");
    close_e2b();
}

TEST_LIST = {
    {"only_the_key_reaches_the_control_plane", only_the_key_reaches_the_control_plane},
    {"what_is_wrong_is_said_in_the_wires_own_form", what_is_wrong_is_said_in_the_wires_own_form},
    {"sandboxes_are_made_listed_and_ended", sandboxes_are_made_listed_and_ended},
    {"a_key_of_idempotency_makes_one_sandbox", a_key_of_idempotency_makes_one_sandbox},
    {"a_sandbox_stands_still_while_it_is_paused", a_sandbox_stands_still_while_it_is_paused},
    {"a_timeout_may_pause_and_a_request_may_wake", a_timeout_may_pause_and_a_request_may_wake},
    {"a_fork_is_a_sandbox_that_begins_as_another", a_fork_is_a_sandbox_that_begins_as_another},
    {"a_fork_that_cannot_be_had_is_refused_and_leaves_nothing",
     a_fork_that_cannot_be_had_is_refused_and_leaves_nothing},
    {"a_fork_has_the_contexts_and_their_names", a_fork_has_the_contexts_and_their_names},
    {"there_are_figures_of_the_container", there_are_figures_of_the_container},
    {"a_timeout_ends_a_sandbox_and_its_contexts", a_timeout_ends_a_sandbox_and_its_contexts},
    {"a_sandbox_takes_its_own_tokens_alone", a_sandbox_takes_its_own_tokens_alone},
    {"a_sandbox_and_its_port_are_found_by_the_host", a_sandbox_and_its_port_are_found_by_the_host},
    {"what_is_wrong_with_code_is_said", what_is_wrong_with_code_is_said},
    {"events_of_a_cell_are_lines", events_of_a_cell_are_lines},
    {"a_kernel_that_dies_is_an_unexpected_end", a_kernel_that_dies_is_an_unexpected_end},
    {"a_client_that_leaves_interrupts_its_code_alone",
     a_client_that_leaves_interrupts_its_code_alone},
    {"the_end_of_a_sandbox_ends_its_streams", the_end_of_a_sandbox_ends_its_streams},
    {"clients_of_debug_need_no_key_where_there_is_none",
     clients_of_debug_need_no_key_where_there_is_none},
    {"other_paths_are_the_apis", other_paths_are_the_apis},
    {NULL, NULL},
};
