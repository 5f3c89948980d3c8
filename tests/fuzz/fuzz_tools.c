/* SPDX-License-Identifier: Apache-2.0
 *
 * What an MCP server says, line by line, at every stage of a connection: `!N` is a refusal of the
 * request N, `#` the end of the connection, `.` time that passes, `+` a call, `-` a reset; any
 * other line is a message of the server that was started last. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "fakes/fake_transport.h"
#include "tools/tools.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CALLS_MAX = 8, STARTS_MAX = FAKE_TRANSPORTS_MAX - 4 };

static struct loop *loop;
static struct tools *tools;
static int64_t now;
static struct tools_call *calls[CALLS_MAX];

static int64_t fake_now(void)
{
    return now;
}

static bool can_elicit(void *ctx)
{
    (void)ctx;
    return true;
}

static const char *lookup(const char *name)
{
    (void)name;
    return "secret";
}

static void on_registered(void *ctx, const struct tools_server *server, const struct err *why)
{
    (void)ctx;
    if (!server == !why)
        abort();
}

static void on_progress(void *ctx, double progress, double total, const char *message)
{
    (void)ctx;
    (void)progress;
    (void)total;
    (void)message;
}

static void on_input(void *ctx, uint64_t key, const struct json *params)
{
    struct tools_call **slot = ctx;
    (void)params;
    tools_call_answer(*slot, key, "{\"action\":\"accept\",\"content\":{}}");
}

static void on_done(void *ctx, const struct tools_result *result, const struct err *why)
{
    struct tools_call **slot = ctx;
    if (!*slot || !result == !why)
        abort();
    *slot = NULL;
}

static void call(void)
{
    static const struct tools_call_events events = {
        .progress = on_progress, .input = on_input, .done = on_done};
    for (size_t i = 0; i < CALLS_MAX; i++) {
        if (calls[i])
            continue;
        if (tools_call_start(tools, "s", "t", "{\"n\":1}", NULL, &events, &calls[i], &calls[i],
                             NULL) < 0)
            calls[i] = NULL;
        return;
    }
    tools_call_cancel(calls[0]);
    calls[0] = NULL;
}

static void run_line(const char *line)
{
    int newest = fake_transports.n - 1;
    if (newest > STARTS_MAX)
        return;
    if (*line == '+')
        call();
    else if (*line == '-')
        tools_reset(tools);
    else if (*line == '.')
        now += 5001;
    else if (*line == '#')
        fake_transport_close(newest, "the server ended; secret");
    else if (*line == '!')
        fake_transport_refuse(newest, line + 1, 404);
    else
        fake_transport_say(newest, line);
    for (int i = 0; i < 3; i++)
        loop_turn(loop, 0);
}

static void register_it(bool program)
{
    static const char *const params[] = {"{\"url\":\"http://h/mcp?${A}\"}",
                                         "{\"command\":\"${A}\"}"};
    drop_json struct json *j =
        json_parse_copy(params[program], strlen(params[program]), JSON_STRICT, NULL);
    struct tools_job *job;
    if (tools_register(tools, "s", j, on_registered, NULL, &job, NULL) < 0)
        abort();
    loop_turn(loop, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const envp[] = {NULL};
    now = 1000;
    if (loop_new(&loop, NULL) < 0)
        abort();
    loop_set_clock(loop, fake_now);
    struct tools_config config = {.loop = loop,
                                  .envp = envp,
                                  .workspace = "/w",
                                  .root = "/w",
                                  .version = "1",
                                  .connect_timeout_ms = 30000,
                                  .lookup = lookup,
                                  .can_elicit = can_elicit};
    if (tools_open(&config, &tools, NULL) < 0)
        abort();
    register_it(size == 0 || (data[0] & 1));
    drop_str char *text = xstrndup((const char *)data, size);
    for (char *at = text, *end; *at != '\0'; at = end) {
        end = at + strcspn(at, "\n");
        if (*end == '\n')
            *end++ = '\0';
        run_line(at);
    }
    tools = tools_close(tools);
    memset(calls, 0, sizeof calls);
    loop = loop_free(loop);
    fake_transports_reset();
    return 0;
}
