/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/tools/play.h - what the tests of tools.h have in common: a set of servers over fake
 * transports, under a clock of their own. */
#ifndef TESTS_UNIT_TOOLS_PLAY_H
#define TESTS_UNIT_TOOLS_PLAY_H

#include <acutest.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "fakes/fake_transport.h"
#include "tools/tools.h"

#define TOOL(name)                                                                                 \
    "{\"name\":\"" name "\",\"description\":\"D\",\"inputSchema\":{\"type\":\"object\"}}"
#define DISCOVERED                                                                                 \
    "\"result\":{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"              \
    "\"capabilities\":{\"tools\":{}}}"
#define INITIALIZED                                                                                \
    "\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},"              \
    "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}"
#define UNKNOWN "\"error\":{\"code\":-32601,\"message\":\"Method not found\"}"
#define LISTED "\"result\":{\"tools\":[" TOOL("add") "," TOOL("odd (name)") "]}"
#define PROGRAM "{\"command\":\"run\"}"
#define SITE "{\"url\":\"http://h/mcp\"}"

static struct loop *loop;
static struct tools *tools;
static int64_t now;
static bool elicits;
static char logged[4096];

static struct {
    int registered, done;
    char why[400]; /* of either */
    size_t n_tools;
    char structured[256], text[256];
    bool is_error;
    int inputs;
    uint64_t key;
    char input[512];
    double progress, total;
    char message[64];
    struct tools_job *job;
} seen;

static inline int64_t fake_now(void)
{
    return now;
}

static inline const char *look_up(const char *name)
{
    return strcmp(name, "TOKEN") == 0 ? "hush-hush" : NULL;
}

static inline bool may_elicit(void *ctx)
{
    (void)ctx;
    return elicits;
}

static inline void note_log(enum log_level level, const char *text)
{
    size_t n = strlen(logged);
    (void)snprintf(logged + n, sizeof logged - n, "%d %s\n", (int)level, text);
}

static inline void open_it_with(const char *root)
{
    static const char *const envp[] = {"PATH=/bin", NULL};
    fake_transports_reset();
    memset(&seen, 0, sizeof seen);
    logged[0] = '\0';
    now = 1000;
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    loop_set_clock(loop, fake_now);
    struct tools_config config = {.loop = loop,
                                  .envp = envp,
                                  .workspace = "/w s",
                                  .root = root,
                                  .version = "9.9",
                                  .connect_timeout_ms = 30000,
                                  .lookup = look_up,
                                  .log = note_log,
                                  .can_elicit = may_elicit};
    TEST_ASSERT(tools_open(&config, &tools, NULL) == 0);
}

static inline void open_it(void)
{
    elicits = false;
    open_it_with(NULL);
}

static inline void close_it(void)
{
    tools = tools_close(tools);
    for (int i = 0; i < fake_transports.n; i++)
        TEST_CHECK(!fake_transports.list[i].open);
    loop = loop_free(loop);
    fake_transports_reset();
}

static inline void play(void)
{
    for (int quiet = 0; quiet < 4; quiet++) {
        loop_turn(loop, 0);
        if (fake_transports_answer())
            quiet = 0;
    }
}

static inline void pass(int64_t ms)
{
    now += ms;
    play();
}

static inline void on_registered(void *ctx, const struct tools_server *server,
                                 const struct err *why)
{
    (void)ctx;
    seen.registered++;
    seen.job = NULL;
    seen.n_tools = server ? server->n_tools : 0;
    (void)snprintf(seen.why, sizeof seen.why, "%s", why ? why->msg : "");
    TEST_CHECK((server == NULL) == (why != NULL));
}

static inline int begin_register(const char *name, const char *params)
{
    drop_json struct json *j = json_parse_copy(params, strlen(params), JSON_STRICT, NULL);
    struct err e = ERR_NONE;
    int r = tools_register(tools, name, j, on_registered, NULL, &seen.job, &e);
    if (r < 0)
        (void)snprintf(seen.why, sizeof seen.why, "%s", e.msg);
    return r;
}

/* True when it is registered. */
static inline bool register_it(const char *name, const char *params)
{
    int before = seen.registered;
    if (begin_register(name, params) < 0)
        return false;
    play();
    return seen.registered > before && seen.why[0] == '\0';
}

static inline void on_done(void *ctx, const struct tools_result *result, const struct err *why)
{
    int *count = ctx;
    if (count)
        ++*count;
    seen.done++;
    const char *text = json_get_text(json_first(result ? result->content : NULL), "text");
    (void)snprintf(seen.why, sizeof seen.why, "%s", why ? why->msg : "");
    (void)snprintf(seen.text, sizeof seen.text, "%s", text ? text : "");
    (void)snprintf(seen.structured, sizeof seen.structured, "%s",
                   result && result->structured_text ? result->structured_text : "");
    seen.is_error = result && result->is_error;
    TEST_CHECK((result == NULL) == (why != NULL));
}

static inline void on_progress(void *ctx, double progress, double total, const char *message)
{
    (void)ctx;
    seen.progress = progress;
    seen.total = total;
    (void)snprintf(seen.message, sizeof seen.message, "%s", message);
}

static inline void on_input(void *ctx, uint64_t key, const struct json *params)
{
    (void)ctx;
    seen.inputs++;
    seen.key = key;
    drop_str char *text = json_print(params);
    (void)snprintf(seen.input, sizeof seen.input, "%s", text);
}

static const struct trace *call_trace; /* of the calls that are made next; NULL: none */

static inline struct tools_call *call_with(const char *server, const char *tool,
                                           const char *arguments, int *count)
{
    static const struct tools_call_events events = {
        .progress = on_progress, .input = on_input, .done = on_done};
    struct tools_call *call = NULL;
    struct err e = ERR_NONE;
    if (tools_call_start(tools, server, tool, arguments, call_trace, &events, count, &call, &e) <
        0) {
        (void)snprintf(seen.why, sizeof seen.why, "%s", e.msg);
        return NULL;
    }
    play();
    return call;
}

static inline struct tools_call *call_it(const char *tool, const char *arguments)
{
    return call_with("s", tool, arguments, NULL);
}

static inline const char *sent(int which)
{
    return buf_text(&fake_transports.list[which].sent);
}

/* The last line that was sent. */
static inline const char *last(int which)
{
    const char *text = sent(which), *line = text;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL && at[1] != '\0'; at++)
        line = at + 1;
    return line;
}

static inline void expect_in(const char *text, const char *part)
{
    TEST_CHECK(strstr(text, part) != NULL);
    TEST_MSG("expected: %s", part);
    TEST_MSG("actual:   %s", text);
}

static inline void expect_text(const char *text, const char *expected)
{
    TEST_CHECK(strcmp(text, expected) == 0);
    TEST_MSG("expected: %s", expected);
    TEST_MSG("actual:   %s", text);
}

#define ENVELOPE(capabilities)                                                                     \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                  \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"ipybox\",\"version\":\"9.9\"},"            \
    "\"io.modelcontextprotocol/clientCapabilities\":" capabilities

#endif
