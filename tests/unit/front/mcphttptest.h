/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/front/mcphttptest.h - what tests of MCP over HTTP share: the door with /mcp alone, the
 * sessions behind it (fake_session.h), and a client. */
#ifndef UNIT_FRONT_MCPHTTPTEST_H
#define UNIT_FRONT_MCPHTTPTEST_H

#include "unit/front/httptest.h"

#include "fakes/fake_session.h"
#include "front/api/api_internal.h"
#include "front/mcp/mcp_stream.h"
#include "front/mcp_http/api_mcp.h"

enum { IDLE_MS = 60000, SESSIONS_MAX = 3 };

#define RPC(id, method, params)                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define INITIALIZE(version)                                                                        \
    RPC("0", "initialize",                                                                         \
        "{\"protocolVersion\":\"" version "\",\"capabilities\":{\"elicitation\":{}}}")
#define CALL(id, more)                                                                             \
    RPC(id, "tools/call",                                                                          \
        "{\"name\":\"execute_ipython_cell\",\"arguments\":{\"code\":\"x\"}" more "}")
#define PROGRESS ",\"_meta\":{\"progressToken\":5}"

static struct api parts;
static struct mcp_config mcp_config;
static struct approvals *approvals;
static struct approval *approval;
static enum approval_verdict verdict;
static int acquired, released, idles, decided;
static bool refuse_session;
static bool may_register = true, may_approve = true;
static char asked_for[300]; /* names, in order */
static char session_id[64];

static __attribute__((unused)) void *handle_of(int n)
{
    return &asked_for[n];
}

static int session_for(void *ctx, const char *name, struct api_mcp_session *ret, struct err *e)
{
    TEST_CHECK(ctx == &parts);
    if (refuse_session)
        return err_set(e, -EAGAIN, "no kernel for you");
    if (*asked_for)
        strcat(asked_for, " ");
    strcat(asked_for, name ? name : "(own)");
    acquired++;
    *ret = (struct api_mcp_session){.id = "default", .handle = handle_of(acquired)};
    return 0;
}

static void session_done(void *ctx, void *handle)
{
    (void)ctx;
    TEST_CHECK(handle >= handle_of(1) && handle <= handle_of(acquired));
    released++;
}

static void rights(void *ctx, const struct http_request *r, struct mcp_caller *caller)
{
    TEST_CHECK(ctx == &parts && r != NULL);
    caller->may_register = may_register;
    caller->may_approve = may_approve;
}

static void on_idle(void *ctx)
{
    (void)ctx;
    idles++;
}

static void open_it(void)
{
    struct err e = ERR_NONE;
    open_loop();
    struct approvals_config rules = {.loop = loop, .timeout_ms = 0, .ask_by_default = true};
    TEST_ASSERT(approvals_open(&rules, &approvals, &e) == 0);
    mcp_config = (struct mcp_config){.loop = loop, .version = "1.2.3", .approvals = approvals};
    struct api_mcp_config config = {.loop = loop,
                                    .mcp = &mcp_config,
                                    .sessions_max = SESSIONS_MAX,
                                    .idle_ms = IDLE_MS,
                                    .session_for = session_for,
                                    .session_done = session_done,
                                    .idle = on_idle,
                                    .rights = rights,
                                    .ctx = &parts};
    parts = (struct api){.loop = loop, .mcp = api_mcp_open(&config)};
    struct http_config door = {.loop = loop,
                               .host = "localhost",
                               .routes = api_mcp_group.routes,
                               .n_routes = api_mcp_group.n,
                               .ctx = &parts};
    TEST_CHECK(http_open(&door, &parts.http, &e) == 0);
    TEST_MSG("%s", e.msg);
    port = http_port(parts.http);
}

static void close_it(void)
{
    parts.http = http_close(parts.http);
    parts.mcp = api_mcp_close(parts.mcp);
    approvals = approvals_close(approvals);
    fake_session_drop();
    close_loop();
}

/* headers: SESSION in them stands for the last session's id. */
static int start_request(const char *method, const char *headers, const char *body)
{
    drop_str char *own = xstrdup(headers);
    char *at = strstr(own, "SESSION");
    drop_str char *text = xasprintf(
        "%s /mcp HTTP/1.1\r\nHost: localhost\r\n%.*s%s%sContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        method, at ? (int)(at - own) : (int)strlen(own), own, at ? session_id : "",
        at ? at + sizeof "SESSION" - 1 : "", strlen(body), body);
    int fd = dial();
    say(fd, text);
    turn();
    return fd;
}

static void end(int fd)
{
    (void)fd_close(fd);
    turn();
}

static void send_request(const char *method, const char *headers, const char *body)
{
    int fd = start_request(method, headers, body);
    (void)hear(fd);
    drop_str char *heard = xstrdup(buf_text(&got));
    end(fd);
    buf_clear(&got);
    (void)buf_adds(&got, heard);
}

#define ACCEPT "Accept: application/json, text/event-stream\r\n"

static int start_post_with(const char *headers, const char *body)
{
    drop_str char *all = xasprintf(ACCEPT "%s", headers);
    return start_request("POST", all, body);
}

static void post_with(const char *headers, const char *body)
{
    drop_str char *all = xasprintf(ACCEPT "%s", headers);
    send_request("POST", all, body);
}

static __attribute__((unused)) int start_post(const char *body)
{
    return start_post_with("Mcp-Session-Id: SESSION\r\n", body);
}

static __attribute__((unused)) void post(const char *body)
{
    post_with("Mcp-Session-Id: SESSION\r\n", body);
}

static __attribute__((unused)) void initialize(const char *version)
{
    drop_str char *body = xasprintf(INITIALIZE("%s"), version);
    post_with("", body);
    const char *at = strstr(buf_text(&got), "Mcp-Session-Id: ");
    TEST_CHECK(at != NULL);
    if (at)
        (void)sscanf(at, "Mcp-Session-Id: %40s", session_id);
}

/* The cell that was asked for last. */
static void finish(const char *text)
{
    struct output o;
    output_init(&o, "/tmp", 10 << 20, 0);
    output_text(&o, text, strlen(text));
    output_finish(&o, SIZE_MAX);
    fake_session_finish(&(struct cell_result){.status = CELL_OK, .output = &o});
    output_done(&o);
    turn();
}

static void on_decided(void *ctx, enum approval_verdict v, const char *why)
{
    (void)ctx, (void)why;
    decided++;
    verdict = v;
}

/* A cell's code asks for an approval. */
static __attribute__((unused)) void ask_approval(void)
{
    struct err e = ERR_NONE;
    struct approval_subject subject = {.session = "default",
                                       .server = "git",
                                       .shown = "npx git-mcp",
                                       .tool = "push",
                                       .arguments = "{}",
                                       .digest = "d"};
    TEST_ASSERT(approvals_ask(approvals, &subject, on_decided, NULL, &approval, &e) == 0);
    turn();
    pass(20);
}

#endif
