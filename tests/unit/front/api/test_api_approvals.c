/* SPDX-License-Identifier: Apache-2.0
 *
 * What waits for a human, as a stream, and answers to the questions of servers. */
#include "unit/front/apitest.h"

#define APPROVER "Authorization: Bearer p\r\n"
#define EXECUTOR "Authorization: Bearer e\r\n"
#define SSE "Accept: text/event-stream\r\n"

static int decided, answered;
static char result[400];

static void on_decided(void *ctx, enum approval_verdict v, const char *why)
{
    (void)ctx, (void)v, (void)why;
    decided++;
}

static void on_answered(void *ctx, const char *text)
{
    (void)ctx;
    answered++;
    (void)snprintf(result, sizeof result, "%s", text);
}

static struct approval *ask_for(const char *tool)
{
    struct approval_subject subject = {.session = "default",
                                       .server = "git",
                                       .shown = "git-server",
                                       .tool = tool,
                                       .arguments = "{\"force\":true}",
                                       .digest = ""};
    struct approval *approval = NULL;
    TEST_ASSERT(approvals_ask(approvals, &subject, on_decided, NULL, &approval, NULL) == 0);
    turn();
    return approval;
}

#define NAME_FORM                                                                                  \
    "{\"message\":\"Who?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"name\":{"    \
    "\"type\":\"string\",\"minLength\":2}},\"required\":[\"name\"]}}"

static void question(const char *form)
{
    struct approval_question asked = {
        .session = "default", .server = "git", .shown = "git-server", .form = form};
    struct approval *approval;
    TEST_ASSERT(approvals_elicit(approvals, &asked, on_answered, NULL, &approval, NULL) == 0);
    turn();
}

static void open_with_tokens(bool alone)
{
    api_config = (struct api_config){.execute_token = "e", .approver_token = "p", .alone = alone};
    decided = answered = 0;
    result[0] = '\0';
    open_ready();
}

/* The line of a POST to the first id in the last answer. */
static char *post_line(void)
{
    const char *at = strstr(buf_text(&got), "\"id\":\"");
    TEST_ASSERT(at != NULL);
    return xasprintf("POST /v1/approvals/%.*s", (int)strcspn(at + 6, "\""), at + 6);
}

static int follow(void)
{
    int fd = send_with("GET /v1/approvals", APPROVER SSE, "");
    (void)hear(fd);
    check_head("HTTP/1.1 200 ");
    check_has("Content-Type: text/event-stream\r\n");
    return fd;
}

static void leave(int fd)
{
    (void)fd_close(fd);
    turn();
}

/* --- the stream ------------------------------------------------------------------------------- */

static void what_waits_comes_first_then_what_happens(void)
{
    open_with_tokens(true);
    (void)ask_for("push");
    int fd = follow();
    check_has("event: asked\ndata: {\"id\":\"");
    check_has("\"tool\":\"push\",\"arguments\":{\"force\":true},\"mine\":true,\"expires_in_ms\":");
    TEST_CHECK(strstr(buf_text(&got), "event: asked") < strstr(buf_text(&got), "event: listed"));
    drop_str char *first = post_line();
    (void)ask_for("pull");
    (void)hear(fd);
    check_has("event: asked\n");
    check_has("\"tool\":\"pull\"");
    check_has_not("push");
    call_with(first, APPROVER, "{\"decision\":\"reject\"}");
    (void)hear(fd);
    check_has("event: settled\ndata: {\"id\":\"");
    check_has(first + strlen("POST /v1/approvals/"));
    check_has("\"outcome\":\"rejected\"}\n\n");
    check_has_not("event: asked");
    leave(fd);
    close_api();
}

static void every_end_has_its_outcome(void)
{
    open_with_tokens(true);
    int fd = follow();
    struct approval *approval = ask_for("push");
    (void)hear(fd);
    approval_withdraw(approval);
    turn();
    (void)hear(fd);
    check_has("\"outcome\":\"withdrawn\"}");
    (void)ask_for("push");
    (void)hear(fd);
    drop_str char *line = post_line();
    call_with(line, APPROVER, "{\"decision\":\"accept\"}");
    (void)hear(fd);
    check_has("\"outcome\":\"accepted\"}");
    (void)ask_for("push");
    (void)hear(fd);
    pass(600000);
    (void)hear(fd);
    check_has("\"outcome\":\"expired\"}");
    question(NAME_FORM);
    (void)hear(fd);
    check_has("\"form\":" NAME_FORM);
    drop_str char *answer = post_line();
    call_with(answer, APPROVER, "{\"action\":\"decline\"}");
    (void)hear(fd);
    check_has("\"outcome\":\"answered\"}");
    leave(fd);
    close_api();
}

static void who_comes_back_is_told_all_that_waits_again(void)
{
    open_with_tokens(true);
    (void)ask_for("push");
    leave(follow());
    (void)ask_for("pull");
    leave(follow());
    check_has("\"push\"");
    check_has("\"pull\"");
    TEST_CHECK(decided == 0);
    close_api();
}

static void the_stream_is_the_approvers_alone(void)
{
    open_with_tokens(true);
    call_with("GET /v1/approvals", SSE, "");
    check_head("HTTP/1.1 401 ");
    call_with("GET /v1/approvals", EXECUTOR SSE, "");
    check_head("HTTP/1.1 403 ");
    leave(follow());
    close_api();
}

/* Beside another door: as long as a stream is open, and a while longer. */
static void a_stream_keeps_the_seat(void)
{
    open_with_tokens(false);
    int fd = follow();
    pass(70000);
    (void)ask_for("push");
    TEST_CHECK(decided == 0);
    leave(fd);
    pass(59000);
    TEST_CHECK(decided == 0);
    pass(1000);
    TEST_CHECK(decided == 1);
    (void)ask_for("push");
    TEST_CHECK(decided == 2);
    close_api();
}

static void a_slow_reader_is_told_all_in_the_end(void)
{
    static char large[60000];
    open_with_tokens(true);
    int fd = follow();
    memset(large, 'x', sizeof large - 1);
    struct approval *some[300];
    for (size_t i = 0; i < 300; i++) {
        (void)snprintf(large, 8, "tool%03zu", i);
        large[7] = 'x';
        some[i] = ask_for(large);
    }
    approval_withdraw(some[0]);
    approval_withdraw(some[299]);
    drop_buf struct buf everything = BUF_INIT((size_t)64 << 20);
    for (int i = 0; i < 2000 && !memmem(buf_text(&everything), everything.len, "tool298", 7); i++) {
        (void)hear(fd);
        (void)buf_add(&everything, got.data, got.len);
    }
    TEST_CHECK(strstr(buf_text(&everything), "\"outcome\":\"withdrawn\"") != NULL);
    TEST_CHECK(strstr(buf_text(&everything), "tool150x") != NULL);
    TEST_CHECK(strstr(buf_text(&everything), "tool299x") == NULL); /* it never was told to wait */
    leave(fd);
    close_api();
}

static void as_many_follow_as_there_may_be(void)
{
    int fds[8];
    open_with_tokens(true);
    for (size_t i = 0; i < 8; i++)
        fds[i] = follow();
    call_with("GET /v1/approvals", APPROVER SSE, "");
    check_head("HTTP/1.1 429 ");
    call_with("GET /v1/approvals", APPROVER, "");
    check_head("HTTP/1.1 200 ");
    for (size_t i = 0; i < 8; i++)
        leave(fds[i]);
    leave(follow());
    close_api();
}

static void ignore(void *ctx)
{
    (void)ctx;
}

static void the_stream_has_a_last_event(void)
{
    open_with_tokens(true);
    int fd = follow();
    api_drain(api, ignore, NULL);
    (void)hear(fd);
    check_has("event: closed\ndata: {\"reason\":\"the server is stopping\"}\n\n");
    check_has("0\r\n\r\n");
    leave(fd);
    close_api();
}

/* A question that is far longer than what may wait is all that waits for the reader. */
static void a_slow_reader_has_a_last_event_too(void)
{
    static char large[6 << 20];
    drop_buf struct buf all = BUF_INIT((size_t)64 << 20);
    open_with_tokens(true);
    int fd = follow();
    memset(large, 'x', sizeof large - 1);
    for (int i = 0; i < 4; i++)
        (void)ask_for(large);
    api_drain(api, ignore, NULL);
    for (int i = 0; i < 2000 && !memmem(buf_text(&all), all.len, "\r\n0\r\n\r\n", 7); i++) {
        (void)hear(fd);
        (void)buf_add(&all, got.data, got.len);
    }
    TEST_CHECK(all.len > sizeof large);
    TEST_CHECK(strstr(buf_text(&all), "event: closed\n") != NULL);
    leave(fd);
    call_with("GET /v1/approvals", APPROVER SSE, "");
    check_head("HTTP/1.1 503 ");
    close_api();
}

static void the_stream_is_there_as_a_socket(void)
{
    open_with_tokens(true);
    (void)ask_for("push");
    int fd = dial();
    say(fd, "GET /v1/approvals HTTP/1.1\r\n" WS_HEAD APPROVER "\r\n");
    (void)hear(fd);
    check_head("HTTP/1.1 101 ");
    check_has("{\"event\":\"asked\",\"data\":{\"id\":\"");
    check_has("{\"event\":\"listed\",\"data\":{}}");
    leave(fd);
    close_api();
}

/* --- questions -------------------------------------------------------------------------------- */

static void a_form_is_listed_and_filled_in(void)
{
    open_with_tokens(true);
    question(NAME_FORM);
    TEST_CHECK(answered == 0);
    call_with("GET /v1/approvals", APPROVER, "");
    check_has("\"form\":" NAME_FORM ",\"mine\":true");
    drop_str char *line = post_line();
    static const char *const wrong[] = {
        "{\"decision\":\"accept\"}",
        "{\"action\":\"accept\"}",
        "{\"action\":\"accept\",\"content\":{\"name\":\"x\"}}",
        "{\"action\":\"accept\",\"content\":{\"name\":\"xx\",\"more\":1}}",
        "{\"action\":\"accept\",\"content\":[]}",
        "{\"action\":\"decline\",\"content\":{}}",
        "{\"action\":\"maybe\"}",
        "{\"action\":\"accept\",\"decision\":\"accept\"}",
        "{\"content\":{\"name\":\"xx\"}}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        call_with(line, APPROVER, wrong[i]);
        check_head("HTTP/1.1 400 ");
        TEST_MSG("%s", wrong[i]);
        TEST_CHECK(answered == 0);
    }
    call_with(line, EXECUTOR, "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}");
    check_head("HTTP/1.1 403 ");
    call_with(line, APPROVER, "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}");
    check_head("HTTP/1.1 204 ");
    TEST_CHECK(answered == 1);
    TEST_CHECK(strcmp(result, "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}") == 0);
    TEST_MSG("%s", result);
    call_with(line, APPROVER, "{\"action\":\"cancel\"}");
    check_head("HTTP/1.1 404 ");
    close_api();
}

static void a_form_may_be_declined_or_cancelled(void)
{
    static const char *const actions[] = {"decline", "cancel"};
    open_with_tokens(true);
    for (size_t i = 0; i < 2; i++) {
        drop_str char *body = xasprintf("{\"action\":\"%s\"}", actions[i]);
        question(NAME_FORM);
        call_with("GET /v1/approvals", APPROVER, "");
        drop_str char *line = post_line();
        call_with(line, APPROVER, body);
        check_head("HTTP/1.1 204 ");
        TEST_CHECK_(strcmp(result, body) == 0, "%s", result);
    }
    close_api();
}

static void a_call_is_decided_and_not_answered(void)
{
    open_with_tokens(true);
    (void)ask_for("push");
    call_with("GET /v1/approvals", APPROVER, "");
    drop_str char *line = post_line();
    call_with(line, APPROVER, "{\"action\":\"accept\"}");
    check_head("HTTP/1.1 404 ");
    TEST_CHECK(decided == 0);
    call_with(line, APPROVER, "{\"decision\":\"accept\"}");
    check_head("HTTP/1.1 204 ");
    close_api();
}

static void a_form_that_is_not_flat_is_declined(void)
{
    open_with_tokens(true);
    question("{\"message\":\"?\",\"requestedSchema\":{\"properties\":{\"a\":{}}}}");
    TEST_CHECK(answered == 1 && strcmp(result, "{\"action\":\"decline\"}") == 0);
    close_api();
}

static int client_asked;
static char client_told[40];

static void on_client(void *ctx, const struct approval_view *view)
{
    (void)ctx, (void)view;
    client_asked++;
}

static void on_client_settled(void *ctx, const char *id, const char *outcome)
{
    (void)ctx, (void)id;
    (void)snprintf(client_told, sizeof client_told, "%s", outcome);
}

static struct approver *join_client(void)
{
    const struct approver_config config = {.rank = APPROVER_CLIENT,
                                           .session = "default",
                                           .ask = on_client,
                                           .settled = on_client_settled};
    client_asked = 0;
    client_told[0] = '\0';
    return approver_join(approvals, &config);
}

/* Serving alone: the client of the session first, and without it who comes to look. */
static void a_client_is_asked_while_nobody_looks(void)
{
    open_with_tokens(true);
    struct approver *client = join_client();
    (void)ask_for("push");
    TEST_CHECK(client_asked == 1 && decided == 0);
    client = approver_leave(client);
    turn();
    TEST_CHECK(decided == 0);
    call_with("GET /v1/approvals", APPROVER, "");
    check_has("\"mine\":true");
    drop_str char *line = post_line();
    call_with(line, APPROVER, "{\"decision\":\"accept\"}");
    check_head("HTTP/1.1 204 ");
    TEST_CHECK(decided == 1);
    close_api();
}

static void who_comes_to_look_takes_over_from_the_client(void)
{
    open_with_tokens(true);
    struct approver *client = join_client();
    (void)ask_for("push");
    int fd = follow();
    turn();
    (void)hear(fd);
    TEST_CHECK(strcmp(client_told, "moved") == 0);
    call_with("GET /v1/approvals", APPROVER, "");
    check_has("\"mine\":true");
    drop_str char *line = post_line();
    (void)ask_for("pull");
    TEST_CHECK(client_asked == 1); /* while somebody looks */
    leave(fd);
    pass(60000);
    TEST_CHECK(client_asked == 3); /* nobody looks any more: both are the client's */
    call_with(line, APPROVER, "{\"decision\":\"accept\"}");
    check_head("HTTP/1.1 204 "); /* who decides is there again */
    TEST_CHECK(decided == 1);
    (void)approver_leave(client);
    close_api();
}

/* A client with forms is nearer to its human; who leaves hands it on. */
static void a_client_with_forms_is_asked_first(void)
{
    open_with_tokens(true);
    const struct approver_config config = {
        .rank = APPROVER_CLIENT, .session = "default", .ask = on_client, .elicit = on_client};
    struct approver *client = approver_join(approvals, &config);
    client_asked = 0;
    question(NAME_FORM);
    TEST_CHECK(client_asked == 1);
    call_with("GET /v1/approvals", APPROVER, "");
    check_has("\"mine\":false");
    drop_str char *line = post_line();
    call_with(line, APPROVER, "{\"action\":\"decline\"}");
    check_head("HTTP/1.1 404 ");
    int fd = follow();
    client = approver_leave(client);
    turn();
    (void)hear(fd);
    check_has("\"mine\":true"); /* it is told again, now as the API's own */
    call_with(line, APPROVER, "{\"action\":\"decline\"}");
    check_head("HTTP/1.1 204 ");
    TEST_CHECK(answered == 1);
    leave(fd);
    close_api();
}

TEST_LIST = {
    {"what_waits_comes_first_then_what_happens", what_waits_comes_first_then_what_happens},
    {"every_end_has_its_outcome", every_end_has_its_outcome},
    {"who_comes_back_is_told_all_that_waits_again", who_comes_back_is_told_all_that_waits_again},
    {"the_stream_is_the_approvers_alone", the_stream_is_the_approvers_alone},
    {"a_stream_keeps_the_seat", a_stream_keeps_the_seat},
    {"a_slow_reader_is_told_all_in_the_end", a_slow_reader_is_told_all_in_the_end},
    {"as_many_follow_as_there_may_be", as_many_follow_as_there_may_be},
    {"the_stream_has_a_last_event", the_stream_has_a_last_event},
    {"a_slow_reader_has_a_last_event_too", a_slow_reader_has_a_last_event_too},
    {"the_stream_is_there_as_a_socket", the_stream_is_there_as_a_socket},
    {"a_form_is_listed_and_filled_in", a_form_is_listed_and_filled_in},
    {"a_form_may_be_declined_or_cancelled", a_form_may_be_declined_or_cancelled},
    {"a_call_is_decided_and_not_answered", a_call_is_decided_and_not_answered},
    {"a_form_that_is_not_flat_is_declined", a_form_that_is_not_flat_is_declined},
    {"a_client_is_asked_while_nobody_looks", a_client_is_asked_while_nobody_looks},
    {"who_comes_to_look_takes_over_from_the_client", who_comes_to_look_takes_over_from_the_client},
    {"a_client_with_forms_is_asked_first", a_client_with_forms_is_asked_first},
    {NULL, NULL},
};
