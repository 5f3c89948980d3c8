/* SPDX-License-Identifier: Apache-2.0
 *
 * Code whose tools are the client's: time, and clients that leave. Users that tokens name, and what
 * is whose. The rest is tests/peer/test_librechat.py's. */
#include "unit/front/apitest.h"

#include "base/clock.h"
#include "unit/wire/jwtsign.h"

#define RUN LIBRECHAT_PREFIX "/exec/programmatic"
#define ORDER "{\"code\":\"await a()\",\"tools\":[{\"name\":\"a\"}],\"timeout\":1000}"
#define KEY "X-API-Key: admin\r\n"

static int answered; /* calls of tools that code has made */
static enum toolplane_failure failure;

static void on_tool_answered(void *ctx, enum toolplane_failure how,
                             const struct tools_result *result, const char *why)
{
    (void)ctx, (void)result, (void)why;
    answered++;
    failure = how;
}

static struct toolplane *plane;

static struct toolplane *open_plane(void)
{
    plane = toolplane_open(
        &(struct toolplane_config){.loop = loop, .packages_dir = API_WORKSPACE "/mcptools"});
    return plane;
}

static void open_librechat(void)
{
    answered = 0;
    api_config.admin_token = "admin";
    open_librechat_tools = open_plane;
    open_ready();
}

static void close_librechat(void)
{
    librechat_stop(librechat);
    turn();
    plane = toolplane_close(plane);
    close_api();
    api_config.admin_token = NULL;
    open_librechat_tools = NULL;
}

/* The request of a client, whose cell runs when this returns. */
static int begin_run_of(const char *who)
{
    int fd = send_with("POST " RUN, who, ORDER);
    turn();
    fake_kernel_ready();
    turn();
    fake_kernel_done(OK_REPLY); /* the session's own setup */
    turn();
    TEST_CHECK(strstr(fake.code, "prepare(") != NULL);
    fake_kernel_done(OK_REPLY);
    turn();
    TEST_CHECK_(strcmp(fake.code, "await a()") == 0, "%s", fake.code);
    return fd;
}

static int begin_run(void)
{
    return begin_run_of(KEY);
}

/* What code in the client's session does. */
static void call_tool(void)
{
    static const struct toolplane_events events = {.done = on_tool_answered};
    struct sessions_view view = {.id = ""};
    struct toolplane_call *call;
    struct err e = ERR_NONE;
    size_t at = 0;
    while (sessions_next(sessions, &at, &view) && strcmp(view.id, SESSIONS_DEFAULT) == 0)
        ;
    const struct toolplane_request request = {.role = TOOLPLANE_KERNEL,
                                              .session = view.id,
                                              .server = "librechat",
                                              .tool = "a",
                                              .arguments = "{}"};
    TEST_ASSERT_(toolplane_call(plane, &request, &events, NULL, &call, &e) == 0, "%s", e.msg);
    pass(5);
}

static void a_client_that_never_returns_is_not_waited_for(void)
{
    open_librechat();
    int fd = begin_run();
    call_tool();
    finish(fd);
    check_has("\"status\":\"tool_call_required\"");
    TEST_CHECK(sessions_count(sessions) == 2 && answered == 0);
    pass(LIBRECHAT_WAIT_MS - 100);
    TEST_CHECK(sessions_count(sessions) == 2 && answered == 0);
    TEST_CHECK(fake.interrupts == 0); /* its own time stands still */
    pass(200);
    TEST_CHECK(answered == 1 && failure == TOOLPLANE_ERROR);
    pass(60000);
    TEST_CHECK_(sessions_count(sessions) == 1, "%zu", sessions_count(sessions));
    close_librechat();
}

static void code_that_runs_too_long_is_interrupted(void)
{
    open_librechat();
    int fd = begin_run();
    pass(900);
    TEST_CHECK(fake.interrupts == 0);
    pass(200);
    TEST_CHECK(fake.interrupts == 1);
    fake_kernel_done("{\"status\":\"error\",\"ename\":\"KeyboardInterrupt\",\"evalue\":\"\"}");
    turn();
    finish(fd);
    check_has("\"error\":\"Time limit exceeded\"");
    close_librechat();
}

static void a_client_that_leaves_ends_its_code(void)
{
    open_librechat();
    int fd = begin_run();
    (void)fd_close(fd);
    turn();
    pass(60000);
    TEST_CHECK_(sessions_count(sessions) == 1, "%zu", sessions_count(sessions));
    close_librechat();
}

static void what_waits_for_a_client_ends_with_the_server(void)
{
    open_librechat();
    int fd = begin_run();
    call_tool();
    finish(fd);
    librechat_stop(librechat);
    turn();
    TEST_CHECK(answered == 1 && failure == TOOLPLANE_ERROR);
    call_with("POST " RUN, KEY, ORDER);
    check_head("HTTP/1.1 503 ");
    close_librechat();
}

/* --- users ------------------------------------------------------------------------------------ */

static char *public_key;

static void open_for_users(void)
{
    librechat_keys = public_key = jwk_of(1, NULL);
    open_librechat();
}

static void close_for_users(void)
{
    close_librechat();
    xfree(public_key);
    librechat_keys = NULL;
}

/* The header of a user's token. */
static char *bearer_of(const char *tenant, const char *user)
{
    const long long now = clock_real_ms() / 1000;
    drop_str char *claims =
        xasprintf("{\"iss\":\"librechat\",\"aud\":\"codeapi\",\"sub\":\"%s\",\"tenant_id\":\"%s\","
                  "\"iat\":%lld,"
                  "\"nbf\":%lld,\"exp\":%lld}",
                  user, tenant, now, now, now + 300);
    drop_str char *token = sign(1, EDDSA, claims);
    return xasprintf("Authorization: Bearer %s\r\n", token);
}

/* The session of a file that was uploaded with these fields. */
static char *upload_as(const char *who, const char *kind, const char *id, const char *version)
{
    drop_str char *body = xasprintf(
        "--b\r\nContent-Disposition: form-data; name=\"kind\"\r\n\r\n%s\r\n"
        "--b\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n%s\r\n"
        "--b\r\nContent-Disposition: form-data; name=\"version\"\r\n\r\n%s\r\n"
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nx\r\n"
        "--b--\r\n",
        kind, id, version);
    int fd = dial();
    drop_str char *text =
        xasprintf("POST " LIBRECHAT_PREFIX "/upload HTTP/1.1\r\nHost: localhost\r\n"
                  "Content-Type: multipart/form-data; boundary=b\r\n%s"
                  "Content-Length: %zu\r\n\r\n%s",
                  who, strlen(body), body);
    say(fd, text);
    finish(fd);
    check_head("HTTP/1.1 200 ");
    const char *found = strstr(buf_text(&got), "\"storage_session_id\":\"");
    TEST_ASSERT(found != NULL);
    found += strlen("\"storage_session_id\":\"");
    return xstrndup(found, strcspn(found, "\""));
}

static void check_seen(const char *who, const char *session, const char *query, bool seen)
{
    drop_str char *line = xasprintf("GET " LIBRECHAT_PREFIX "/files/%s%s", session, query);
    call_with(line, who, "");
    check_head(seen ? "HTTP/1.1 200 " : "HTTP/1.1 404 ");
}

static void the_sessions_of_a_user_are_nobody_elses(void)
{
    open_for_users();
    drop_str char *one = bearer_of("t", "one"), *two = bearer_of("t", "two");
    drop_str char *namesake = bearer_of("other", "one");
    drop_str char *mine = upload_as(one, "user", "", ""), *keys = upload_as(KEY, "user", "", "");
    check_seen(one, mine, "", true);
    check_seen(one, mine, "?kind=user&id=two", true); /* who it is, the token alone says */
    check_seen(two, mine, "", false);
    check_seen(two, mine, "?kind=user&id=one", false);
    check_seen(two, mine, "?kind=agent&id=one", false);
    check_seen(namesake, mine, "", false);
    check_seen(KEY, mine, "", false);
    check_seen(KEY, keys, "", true);
    check_seen(one, keys, "", false);
    close_for_users();
}

static void the_sessions_of_an_agent_or_a_skill_are_the_tenants(void)
{
    open_for_users();
    drop_str char *one = bearer_of("t", "one"), *two = bearer_of("t", "two");
    drop_str char *other = bearer_of("other", "one");
    drop_str char *agents = upload_as(one, "agent", "a1", ""),
                  *skills = upload_as(one, "skill", "s1", "2");
    check_seen(two, agents, "?kind=agent&id=a1", true);
    check_seen(two, agents, "?kind=agent&id=a2", false);
    check_seen(two, agents, "", false);
    check_seen(other, agents, "?kind=agent&id=a1", false);
    check_seen(two, skills, "?kind=skill&id=s1&version=2", true);
    check_seen(two, skills, "?kind=skill&id=s1&version=3", false);
    check_seen(two, skills, "?kind=agent&id=s1&version=2", false);
    close_for_users();
}

static void the_code_of_a_user_is_nobody_elses(void)
{
    open_for_users();
    drop_str char *one = bearer_of("t", "one"), *two = bearer_of("t", "two");
    drop_str char *named = xasprintf("%sX-LibreChat-Code-Request-ID: r1\r\n", one);
    int fd = begin_run_of(named);
    call_tool();
    finish(fd);
    const char *token = strstr(buf_text(&got), "\"continuation_token\":\"");
    TEST_ASSERT(token != NULL);
    drop_str char *more = xasprintf("{\"continuation_token\":\"%.32s\",\"tool_results\":[]}",
                                    token + strlen("\"continuation_token\":\""));
    call_with("POST " RUN, two, more);
    check_has("no code waits for it");
    call_with("POST " RUN, one, more);
    check_has("a result for each of 1 calls");
    call_with("POST " RUN "/cancel", two, "{\"request_id\":\"r1\"}");
    check_head("HTTP/1.1 404 ");
    call_with("POST " RUN "/cancel", one, "{\"request_id\":\"r1\"}");
    check_head("HTTP/1.1 200 ");
    close_for_users();
}

static void who_brings_no_right_token_is_told_why(void)
{
    open_for_users();
    drop_str char *claims = xasprintf("{\"iss\":\"librechat\"}"), *bad = sign(1, EDDSA, claims);
    drop_str char *forged = sign(2, EDDSA, claims);
    drop_str char *a = xasprintf("Authorization: Bearer %s\r\n", bad);
    drop_str char *b = xasprintf("Authorization: Bearer %s\r\n", forged);
    drop_str char *c = xasprintf("X-API-Key: %s\r\n", bad);
    const struct {
        const char *head, *why;
    } cases[] = {{"", "bring a token of LibreChat (JWT) as Authorization: Bearer, or IPYBOX_TOKEN"},
                 {a, "the token (JWT): its audience (aud) is not codeapi"},
                 {b, "the token (JWT): its signature is wrong"},
                 {c, "bring IPYBOX_TOKEN as X-API-Key"},
                 {"Authorization: Bearer wrong\r\n", "bring a token of LibreChat"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        call_with("GET " LIBRECHAT_PREFIX "/files/x", cases[i].head, "");
        check_head("HTTP/1.1 401 ");
        check_has(cases[i].why);
        check_has("\"error\":\"unauthorized\"");
    }
    close_for_users();
}

TEST_LIST = {
    {"the sessions of a user are nobody else's", the_sessions_of_a_user_are_nobody_elses},
    {"the sessions of an agent or a skill are the tenant's",
     the_sessions_of_an_agent_or_a_skill_are_the_tenants},
    {"the code of a user is nobody else's", the_code_of_a_user_is_nobody_elses},
    {"who brings no right token is told why", who_brings_no_right_token_is_told_why},
    {"a client that never returns is not waited for",
     a_client_that_never_returns_is_not_waited_for},
    {"code that runs too long is interrupted", code_that_runs_too_long_is_interrupted},
    {"a client that leaves ends its code", a_client_that_leaves_ends_its_code},
    {"what waits for a client ends with the server", what_waits_for_a_client_ends_with_the_server},
    {NULL, NULL}};
