/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fake_client.h"

#define TEST_NO_MAIN
#include <acutest.h>
#include <string.h>

#include "base/alloc.h"

int64_t now = 1000;
struct loop *loop;
struct approvals *all;
struct mcp_config config;
struct mcp *mcp;
char sent[65536]; /* the messages since the last say(), one per line */
int messages;
const char *asking = "default";

static int64_t fake_clock(void)
{
    return now;
}

static void on_send(void *ctx, const struct mcp_out *out)
{
    (void)ctx;
    const char *message = out->text;
    size_t n = out->n;
    TEST_CHECK(memchr(message, '\n', n) == NULL);
    drop_json struct json *tree = json_parse_copy(message, n, JSON_STRICT, NULL);
    TEST_CHECK(json_is_object(tree));
    TEST_ASSERT(strlen(sent) + n + 2 < sizeof sent);
    strncat(sent, message, n);
    strcat(sent, "\n");
    messages++;
}

static void on_idle(void *ctx)
{
    (void)ctx;
}

void listen_anew(void)
{
    sent[0] = '\0';
    messages = 0;
}

void turn(void)
{
    for (int i = 0; i < 4; i++)
        loop_turn(loop, 0);
}

void pass_ms(int64_t ms)
{
    now += ms;
    turn();
}

void say(const char *text)
{
    listen_anew();
    drop_str char *copy = xstrdup(text);
    mcp_message(mcp, copy, strlen(copy));
    turn();
}

void open_anew(void)
{
    static const struct mcp_events events = {.send = on_send, .idle = on_idle};
    mcp = mcp_new(&config, &events, NULL);
}

void open_with(int64_t timeout_ms)
{
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    loop_set_clock(loop, fake_clock);
    struct approvals_config approvals = {
        .loop = loop, .timeout_ms = timeout_ms, .ask_by_default = true};
    TEST_ASSERT(approvals_open(&approvals, &all, &e) == 0);
    config = (struct mcp_config){
        .loop = loop, .version = "1.2.3", .approvals = all, .session_id = "default"};
    open_anew();
}

void initialize(const char *version, const char *capabilities)
{
    drop_str char *text = xasprintf("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
                                    "\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":%s}}",
                                    version, capabilities);
    say(text);
}

void close_all(void)
{
    mcp = mcp_free(mcp);
    all = approvals_close(all);
    fake_session_drop();
    loop = loop_free(loop);
}

void expect(const char *part)
{
    TEST_CHECK(strstr(sent, part) != NULL);
    TEST_MSG("wanted %s", part);
    TEST_MSG("in     %s", sent);
}

void expect_not(const char *part)
{
    TEST_CHECK(strstr(sent, part) == NULL);
    TEST_MSG("not wanted %s", part);
    TEST_MSG("in         %s", sent);
}

void finish(const char *text)
{
    struct output o;
    output_init(&o, "/tmp", 5000, 0);
    output_text(&o, text, strlen(text));
    output_finish(&o, SIZE_MAX);
    listen_anew();
    fake_session_finish(&(struct cell_result){.status = CELL_OK, .output = &o});
    output_done(&o);
    turn();
}

/* --- the code that asks ---------------------------------------------------------------------- */

static void on_decided(void *ctx, enum approval_verdict verdict, const char *why)
{
    struct caller *caller = ctx;
    caller->ends++;
    caller->verdict = verdict;
    strncpy(caller->why, why, sizeof caller->why - 1);
}

static void on_answered(void *ctx, const char *result)
{
    struct caller *caller = ctx;
    caller->ends++;
    strncpy(caller->result, result, sizeof caller->result - 1);
}

void ask_at_once(struct caller *caller, const char *tool)
{
    struct err e = ERR_NONE;
    struct approval_subject subject = {.session = asking,
                                       .server = "git",
                                       .shown = "npx git-mcp",
                                       .tool = tool,
                                       .arguments = "{\"a\":\"\\u001b\"}",
                                       .digest = "d"};
    *caller = (struct caller){0};
    TEST_ASSERT(approvals_ask(all, &subject, on_decided, caller, &caller->approval, &e) == 0);
}

void ask(struct caller *caller, const char *tool)
{
    listen_anew();
    ask_at_once(caller, tool);
    turn();
    pass_ms(20);
}

void elicit(struct caller *caller, const char *form)
{
    struct err e = ERR_NONE;
    struct approval_question question = {
        .session = "default", .server = "git", .shown = "npx git-mcp", .form = form};
    listen_anew();
    *caller = (struct caller){0};
    TEST_ASSERT(approvals_elicit(all, &question, on_answered, caller, &caller->approval, &e) == 0);
    turn();
    pass_ms(20);
}

void expect_end(const struct caller *caller, enum approval_verdict verdict)
{
    TEST_CHECK(caller->ends == 1 && caller->verdict == verdict);
    TEST_MSG("%d events, verdict %d \"%s\", wanted %d", caller->ends, caller->verdict, caller->why,
             verdict);
}

void run_cell(int id)
{
    drop_str char *text = xasprintf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\","
                                    "\"params\":{\"name\":\"execute_ipython_cell\"," CODE "}}",
                                    id);
    say(text);
}

void answer(const char *id, const char *result)
{
    drop_str char *text =
        xasprintf("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":%s}", id, result);
    say(text);
}
