/* SPDX-License-Identifier: Apache-2.0
 *
 * A conversation: each line of the input is a message of the client; a line "!" ends the open work,
 * "?" lets it print, "+" lets it ask for an approval, "*" lets a server ask, "-" takes the oldest
 * question back, ">" passes a second. In a message $STATE is the last requestState. Whatever is
 * sent back is one line of valid JSON, and nothing stays open when the client goes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "fakes/fake_session.h"
#include "front/mcp/mcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ASKED_MAX = 64, STATE_MAX = 200 };

static struct approvals *approvals;
static struct approval *asked[ASKED_MAX];
static char state[STATE_MAX];
static int64_t now;

static int64_t fake_clock(void)
{
    return now;
}

static void on_send(void *ctx, const struct mcp_out *out)
{
    (void)ctx;
    const char *message = out->text;
    size_t n = out->n;
    if (memchr(message, '\n', n))
        abort();
    drop_json struct json *tree = json_parse_copy(message, n, JSON_STRICT, NULL);
    if (!json_is_object(tree) || !json_get(tree, "jsonrpc"))
        abort();
    const char *last = json_get_text(json_get(tree, "result"), "requestState");
    if (last && strlen(last) < sizeof state)
        memcpy(state, last, strlen(last) + 1);
}

static void on_idle(void *ctx)
{
    (void)ctx;
}

static void on_answered(void *ctx, const char *result)
{
    drop_json struct json *tree = json_parse_copy(result, strlen(result), JSON_STRICT, NULL);
    if (!json_is_object(tree))
        abort();
    *(struct approval **)ctx = NULL;
}

static void on_decided(void *ctx, enum approval_verdict verdict, const char *why)
{
    (void)verdict, (void)why;
    *(struct approval **)ctx = NULL;
}

static void ask(bool form)
{
    struct approval **at = asked;
    while (at < asked + ASKED_MAX && *at)
        at++;
    if (at == asked + ASKED_MAX)
        return;
    struct approval_subject subject = {"default", "s", "x", "t", "{\"a\":\"\x1B\"}", "", ""};
    struct approval_question question = {"default", "s", "x",
                                         "{\"message\":\"m\",\"requestedSchema\":{}}"};
    int r = form ? approvals_elicit(approvals, &question, on_answered, at, at, NULL)
                 : approvals_ask(approvals, &subject, on_decided, at, at, NULL);
    if (r < 0)
        abort();
}

static void take_back(void)
{
    for (int i = 0; i < ASKED_MAX; i++) {
        if (asked[i]) {
            approval_withdraw(asked[i]);
            asked[i] = NULL;
            return;
        }
    }
}

static bool is_command(char c)
{
    switch (c) {
    case '!':
        fake_session_end_all();
        return true;
    case '?':
        fake_session_text_all("some \xE2\x82\xAC");
        return true;
    case '+':
    case '*':
        ask(c == '*');
        return true;
    case '-':
        take_back();
        return true;
    case '>':
        now += 1000;
        return true;
    default:
        return false;
    }
}

/* The message, with the last state in place of its name. */
static void say(struct mcp *mcp, const char *line, size_t n)
{
    static const char name[] = "$STATE";
    const char *at = memmem(line, n, name, sizeof name - 1);
    size_t before = at ? (size_t)(at - line) : n;
    drop_buf struct buf text = BUF_INIT(n + STATE_MAX);
    (void)buf_add(&text, line, before);
    if (at) {
        size_t after = before + sizeof name - 1;
        (void)buf_adds(&text, state);
        (void)buf_add(&text, line + after, n - after);
    }
    if (text.len > 0)
        mcp_message(mcp, text.data, text.len);
}

static void one_line(struct mcp *mcp, const char *line, size_t n)
{
    if (n != 1 || !is_command(*line))
        say(mcp, line, n);
}

/* Questions are gathered for a moment before they go out. */
static void pass_time(struct loop *loop)
{
    for (int i = 0; i < 4; i++) {
        loop_turn(loop, 0);
        now += 10;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct mcp_events events = {.send = on_send, .idle = on_idle};
    static struct loop *loop;
    if (!loop && loop_new(&loop, NULL) < 0)
        abort();
    loop_set_clock(loop, fake_clock);
    state[0] = '\0';
    struct approvals_config asking = {.loop = loop, .timeout_ms = 5000, .ask_by_default = true};
    if (approvals_open(&asking, &approvals, NULL) < 0)
        abort();
    struct mcp_config config = {
        .loop = loop, .version = "0", .approvals = approvals, .session_id = "default"};
    struct mcp *mcp = mcp_new(&config, &events, NULL);
    const char *at = (const char *)data, *end = at + size;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        one_line(mcp, at, (size_t)(stop - at));
        at = stop + 1;
        pass_time(loop);
    }
    (void)mcp_free(mcp);
    pass_time(loop);
    for (int i = 0; i < ASKED_MAX; i++) {
        if (asked[i]) /* the one who could have been asked is gone */
            abort();
    }
    approvals = approvals_close(approvals);
    fake_session_drop();
    return 0;
}
