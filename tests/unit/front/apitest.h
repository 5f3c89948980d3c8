/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/front/apitest.h - the HTTP API over real sessions, whose kernels the test plays
 * (tests/fakes/fake_kernel.h), and a client of it. */
#ifndef UNIT_FRONT_APITEST_H
#define UNIT_FRONT_APITEST_H

#include "unit/front/httptest.h"

#include "fakes/fake_kernel.h"
#include "front/api.h"

#define OK_REPLY "{\"status\":\"ok\"}"
#define LONG_EVENT (6 << 20) /* bytes */

static struct session_config session_config;
static struct sessions *sessions;
static struct approvals *approvals;
static struct api *api;
static struct mcp_http *mcp_http;
static bool without_mcp;
static bool with_e2b; /* its key is api_config's admin_token */
static struct e2b *e2b;
/* Makes the tools of LibreChat's wire, which is served then, likewise. */
static struct toolplane *(*open_librechat_tools)(void);
static const char *librechat_keys;
static struct librechat *librechat;
#define API_WORKSPACE "/tmp/test-front-workspace"

static struct api_config api_config;
static struct metrics metrics;
static const char *api_host = "localhost";
static struct audit *audit_of_sessions; /* NULL: there is none */
static struct packages_config packages;
static size_t max_sessions = 3;

static void ignore_log(enum log_level level, const char *text)
{
    (void)level, (void)text;
}

/* With `sandbox` kernels are put behind it. */
static void open_api_behind(const struct sandbox_spec *sandbox)
{
    struct err e = ERR_NONE;
    open_loop();
    fake = (struct fake_kernel){0};
    metrics = (struct metrics){0};
    session_config = (struct session_config){.kernel = {.loop = loop, .sandbox = sandbox},
                                             .workspace = API_WORKSPACE,
                                             .interrupt_grace_ms = 5000,
                                             .metrics = &metrics,
                                             .audit = audit_of_sessions,
                                             .event_memory = 1 << 20,
                                             .history_memory = 1 << 20,
                                             .log = ignore_log};
    struct sessions_config config = {.base = &session_config, .max = max_sessions};
    TEST_ASSERT(sessions_open(&config, &sessions, &e) == 0);
    struct approvals_config asked = {
        .loop = loop, .timeout_ms = 600000, .ask_by_default = true, .metrics = &metrics};
    TEST_ASSERT(approvals_open(&asked, &approvals, &e) == 0);
    api_config.loop = loop;
    api_config.host = api_host;
    (void)mkdir(API_WORKSPACE, 0700);
    api_config.workspace = API_WORKSPACE;
    api_config.version = "1";
    api_config.instance = "here";
    api_config.sessions = sessions;
    api_config.approvals = approvals;
    api_config.metrics = &metrics;
    api_config.audit = audit_of_sessions;
    api_config.packages = &packages;
    struct mcp_http_config mcp = {.mcp = {.loop = loop, .version = "1", .approvals = approvals},
                                  .sessions = sessions};
    api_config.mcp = mcp_http = without_mcp ? NULL : mcp_http_open(&mcp);
    struct e2b_config e2b_asked = {.loop = loop,
                                   .sessions = sessions,
                                   .workspace = API_WORKSPACE,
                                   .key = api_config.admin_token};
    api_config.e2b = e2b = with_e2b ? e2b_open(&e2b_asked) : NULL;
    struct librechat_config librechat_asked = {
        .loop = loop,
        .sessions = sessions,
        .workspace = API_WORKSPACE,
        .key = api_config.admin_token,
        .jwt_keys = librechat_keys,
        .jwt_issuer = "librechat",
        .jwt_audience = "codeapi",
        .toolplane = open_librechat_tools ? open_librechat_tools() : NULL};
    if (open_librechat_tools)
        TEST_ASSERT(librechat_open(&librechat_asked, &librechat, &e) == 0);
    api_config.librechat = librechat;
    TEST_ASSERT(api_open(&api_config, &api, &e) == 0);
    TEST_MSG("%s", e.msg);
    port = api_port(api);
}

static __attribute__((unused)) void open_api(void)
{
    open_api_behind(NULL);
}

/* The default session's kernel is up. */
static __attribute__((unused)) void open_ready(void)
{
    open_api();
    fake_kernel_ready();
    turn();
}

static void close_api(void)
{
    api = api_close(api);
    e2b = e2b_close(e2b);
    librechat = librechat_close(librechat);
    mcp_http = mcp_http_close(mcp_http);
    approvals = approvals_close(approvals);
    sessions = sessions_close(sessions);
    close_loop();
}

/* One request, its head complete but for the body's length; `more`: further headers. */
static int send_with(const char *line, const char *more, const char *body)
{
    int fd = dial();
    drop_str char *text =
        xasprintf("%s HTTP/1.1\r\nHost: localhost\r\n%s%sContent-Length: %zu\r\n\r\n%s", line,
                  *body ? "Content-Type: application/json\r\n" : "", more, strlen(body), body);
    say(fd, text);
    return fd;
}

static void finish(int fd)
{
    (void)hear(fd);
    (void)fd_close(fd);
    turn();
}

static void call_with(const char *line, const char *more, const char *body)
{
    finish(send_with(line, more, body));
}

static __attribute__((unused)) void call(const char *line, const char *body)
{
    call_with(line, "", body);
}

/* Another session, whose log keeps events of several MiB; its kernel is the one that is played. */
static __attribute__((unused)) void make_session_of_long_events(const char *id)
{
    drop_str char *body = xasprintf("{\"id\":\"%s\"}", id);
    session_config.event_memory = 16 << 20;
    call("POST /v1/sessions", body);
    fake_kernel_ready();
    turn();
}

/* A cell runs there and shows more than the system takes for a client that does not read: then one
 * event, far longer than what may wait, is all that waits for it. */
static __attribute__((unused)) void show_long_events(const char *id)
{
    static char large[LONG_EVENT];
    int n = snprintf(large, sizeof large, "{\"data\":{\"text/plain\":\"");
    memset(large + n, 'x', sizeof large - (size_t)n);
    memcpy(large + sizeof large - 4, "\"}}", 4);
    drop_str char *line = xasprintf("POST /v1/sessions/%s/executions", id);
    call(line, "{\"code\":\"x\",\"wait\":false}");
    for (int i = 0; i < 4; i++) {
        fake_kernel_message(JUPYTER_DISPLAY_DATA, large);
        turn();
    }
}

/* The value of a header of the last answer; borrowed until the next call. */
static __attribute__((unused)) const char *header_of(const char *name)
{
    static char value[256];
    drop_str char *prefix = xasprintf("\r\n%s: ", name);
    const char *at = strstr(buf_text(&got), prefix);
    value[0] = '\0';
    if (at)
        (void)snprintf(value, sizeof value, "%.*s", (int)strcspn(at + strlen(prefix), "\r"),
                       at + strlen(prefix));
    return value;
}

#endif
