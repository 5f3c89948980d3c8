/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "fakes/fake_session.h"
#include "fakes/fake_toolplane.h"
#include "front/mcp/mcp.h"

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

static int64_t now = 1000;
static struct loop *loop;
static struct mcp_config config;
static struct mcp *mcp;
static char sent[65536]; /* the messages since the last say(), one per line */
static int messages, idles;

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
    TEST_ASSERT(strlen(sent) + n + 2 < sizeof sent);
    strncat(sent, message, n);
    strcat(sent, "\n");
    messages++;
}

static void on_idle(void *ctx)
{
    (void)ctx;
    idles++;
}

static const struct mcp_events events = {.send = on_send, .idle = on_idle};

static void say(const char *text)
{
    sent[0] = '\0';
    messages = 0;
    drop_str char *copy = xstrdup(text);
    mcp_message(mcp, copy, strlen(copy));
}

#define INITIALIZE                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"0\"}}}"

static void open_mcp(void)
{
    struct err e = ERR_NONE;
    TEST_ASSERT(loop_new(&loop, &e) == 0);
    loop_set_clock(loop, fake_clock);
    config = (struct mcp_config){
        .loop = loop, .version = "1.2.3", .toolplane = (struct toolplane *)&fake_toolplane};
    mcp = mcp_new(&config, &events, NULL);
}

static void open_initialized(void)
{
    open_mcp();
    say(INITIALIZE);
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    TEST_CHECK(messages == 0);
}

static void close_mcp(void)
{
    mcp = mcp_free(mcp);
    fake_session_drop();
    loop = loop_free(loop);
}

static void expect(const char *part)
{
    TEST_CHECK(strstr(sent, part) != NULL);
    TEST_MSG("wanted %s", part);
    TEST_MSG("in     %s", sent);
}

static void expect_not(const char *part)
{
    TEST_CHECK(strstr(sent, part) == NULL);
    TEST_MSG("not wanted %s", part);
    TEST_MSG("in         %s", sent);
}

static void call(const char *id, const char *tool, const char *arguments)
{
    drop_str char *text = xasprintf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\","
                                    "\"params\":{\"name\":\"%s\",\"arguments\":%s}}",
                                    id, tool, arguments);
    say(text);
}

static void finish(enum cell_status status, const char *text)
{
    struct output o;
    output_init(&o, "/tmp", 5000, 0);
    output_text(&o, text, strlen(text));
    output_finish(&o, SIZE_MAX);
    sent[0] = '\0';
    messages = 0;
    fake_session_finish(&(struct cell_result){.status = status,
                                              .output = &o,
                                              .ename = "ZeroDivisionError",
                                              .evalue = "division by zero",
                                              .traceback = "line 1",
                                              .reason = "because",
                                              .notice = "",
                                              .late = ""});
    output_done(&o);
}

static void the_version_is_echoed_when_it_is_served_and_else_the_newest(void)
{
    static const char *const cases[][2] = {
        {"2024-11-05", "2024-11-05"}, {"2025-03-26", "2025-03-26"}, {"2025-06-18", "2025-06-18"},
        {"2025-11-25", "2025-11-25"}, {"2026-07-28", "2025-11-25"}, {"1999-01-01", "2025-11-25"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_mcp();
        drop_str char *text = xasprintf("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
                                        "\"params\":{\"protocolVersion\":\"%s\"}}",
                                        cases[i][0]);
        drop_str char *wanted =
            xasprintf("\"id\":0,\"result\":{\"protocolVersion\":\"%s\"", cases[i][1]);
        say(text);
        expect(wanted);
        expect("\"serverInfo\":{\"name\":\"ipybox\",\"version\":\"1.2.3\"}");
        close_mcp();
    }
}

static void before_initialize_only_ping_is_answered(void)
{
    open_mcp();
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
    expect("\"id\":2,\"error\":{\"code\":-32600");
    close_mcp();
}

static void the_tools_have_the_names_and_defaults_that_clients_know(void)
{
    open_initialized();
    say("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/list\"}");
    expect("\"id\":\"a\",\"result\":{\"tools\":[{\"name\":\"execute_ipython_cell\"");
    expect("\"name\":\"install_package\"");
    expect("\"name\":\"register_mcp_server\"");
    expect("\"name\":\"reset\"");
    expect("\"default\":120");
    expect("\"default\":5000");
    expect("\"required\":[\"code\"]");
    expect_not("resultType");
    drop_json struct json *tree = json_parse(sent, strlen(sent), JSON_STRICT, NULL);
    TEST_CHECK(json_count(json_get(json_get(tree, "result"), "tools")) == 4);
    close_mcp();
}

static void a_cell_is_answered_in_the_old_form(void)
{
    open_initialized();
    call("7", "execute_ipython_cell", "{\"code\":\"1+1\"}");
    TEST_CHECK(messages == 0 && strcmp(fake.code, "1+1") == 0 && !mcp_is_idle(mcp));
    TEST_CHECK(fake.request.timeout_ms == 120000 && fake.request.max_chars == 5000);
    finish(CELL_OK, "2\n");
    expect("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
           "\"2\"}],\"isError\":false}}\n");
    TEST_CHECK(mcp_is_idle(mcp) && idles == 1);
    close_mcp();
}

static void arguments_of_every_form_that_models_write_are_understood(void)
{
    static const struct {
        const char *arguments;
        int64_t timeout_ms;
        size_t max_chars;
    } cases[] = {
        {"{\"code\":\"x\",\"timeout\":1.5,\"max_output_chars\":10}", 1500, 10},
        {"{\"code\":\"x\",\"timeout\":\"2\",\"max_output_chars\":\"0\"}", 2000, 0},
        {"{\"code\":\"x\",\"timeout\":1e9,\"max_output_chars\":1e12}", 2592000000, OUTPUT_HEAD_MAX},
        {"{\"code\":\"x\",\"other\":1}", 120000, 5000},
        {"{\"code\":\"x\",\"timeout\":1e-9}", 1, 5000},
    };
    open_initialized();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("case %zu", i);
        call("1", "execute_ipython_cell", cases[i].arguments);
        TEST_CHECK(messages == 0);
        TEST_CHECK(fake.request.timeout_ms == cases[i].timeout_ms);
        TEST_CHECK(fake.request.max_chars == cases[i].max_chars);
        finish(CELL_OK, "");
    }
    close_mcp();
}

static void wrong_arguments_are_named_in_the_error(void)
{
    static const char *const cases[][3] = {
        {"execute_ipython_cell", "{}", "code: a string is needed"},
        {"execute_ipython_cell", "{\"code\":5}", "code: a string is needed"},
        {"execute_ipython_cell", "{\"code\":\"x\",\"timeout\":0}", "timeout: more than 0"},
        {"execute_ipython_cell", "{\"code\":\"x\",\"timeout\":\"soon\"}", "timeout: a number"},
        {"execute_ipython_cell", "{\"code\":\"x\",\"timeout\":\"nan\"}", "timeout: a finite"},
        {"execute_ipython_cell", "{\"code\":\"x\",\"timeout\":[]}", "timeout: a number"},
        {"execute_ipython_cell", "{\"code\":\"x\",\"max_output_chars\":-1}", "max_output_chars:"},
        {"execute_ipython_cell", "{\"code\":\"x\",\"max_output_chars\":1.5}", "max_output_chars:"},
        {"execute_ipython_cell", "{\"code\":\"x\",\"include_images\":1}", "include_images: true"},
        {"install_package", "{}", "package_name: a string"},
        {"install_package", "{\"package_name\":\"--help\"}", "package_name: an option"},
    };
    open_initialized();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        call("1", cases[i][0], cases[i][1]);
        drop_str char *start =
            xasprintf("\"text\":\"Error executing tool %s: %s", cases[i][0], cases[i][2]);
        expect(start);
        expect("\"isError\":true");
        TEST_CHECK(messages == 1 && fake.executes == 0);
    }
    close_mcp();
}

/* As clients write what they leave out. */
static void null_is_as_if_it_were_not_there(void)
{
    open_initialized();
    call("1", "execute_ipython_cell",
         "{\"code\":\"x\",\"timeout\":null,\"max_output_chars\":null,\"include_images\":null}");
    TEST_CHECK(fake.executes == 1 && fake.request.timeout_ms == 120000);
    TEST_CHECK(fake.request.max_chars == 5000);
    finish(CELL_OK, "");
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":null}}");
    expect("\"tools\":[");
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\",\"params\":{"
        "\"cursor\":null}}");
    expect("\"resources\":[");
    close_mcp();
}

static void every_end_of_a_cell_has_its_words(void)
{
    static const struct {
        enum cell_status status;
        const char *wanted;
    } cases[] = {
        {CELL_ERROR, "Error executing tool execute_ipython_cell: ZeroDivisionError: division by "
                     "zero\\nline 1\"}"},
        {CELL_TIMEOUT, "TimeoutError: the cell ran longer than 120 s; because"},
        {CELL_LOST, "KernelDied: because. The next cell runs in a new kernel"},
        {CELL_STOPPED, "the cell was ended: because"},
        {CELL_REFUSED, "the cell did not run: because"},
    };
    open_initialized();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        call("1", "execute_ipython_cell", "{\"code\":\"x\"}");
        finish(cases[i].status, "before");
        expect(cases[i].wanted);
        expect("\"isError\":true");
        expect("{\"type\":\"text\",\"text\":\"Output before the error:\\nbefore\"}");
    }
    close_mcp();
}

static void a_refused_cell_is_a_tool_error(void)
{
    open_initialized();
    fake.refuse = true;
    call("1", "execute_ipython_cell", "{\"code\":\"x\"}");
    expect("Error executing tool execute_ipython_cell: the queue is full");
    TEST_CHECK(mcp_is_idle(mcp));
    close_mcp();
}

static void a_cancelled_call_gets_no_answer(void)
{
    open_initialized();
    call("\"k\"", "execute_ipython_cell", "{\"code\":\"x\"}");
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
        "\"\\u006b\",\"reason\":\"r\"}}");
    TEST_CHECK(fake.cancels == 1 && messages == 0);
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
        "\"k\"}}");
    TEST_CHECK(fake.cancels == 1);
    finish(CELL_CANCELLED, "x");
    TEST_CHECK(messages == 0 && mcp_is_idle(mcp));
    call("2", "install_package", "{\"package_name\":\"six\"}");
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
        "2}}");
    TEST_CHECK(messages == 0 && mcp_is_idle(mcp));
    close_mcp();
}

static void output_is_told_as_progress_to_the_one_who_asked(void)
{
    open_initialized();
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"execute_ipython_cell\",\"arguments\":"
        "{\"code\":\"x\"},\"_meta\":{\"progressToken\":\"t\"}"
        "}}");
    fake_session_text("a");
    loop_turn(loop, 0);
    loop_turn(loop, 0);
    expect("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
           "\"progressToken\":\"t\",\"progress\":1,\"message\":\"a\"}}");
    fake_session_text("b\xE2\x82"); /* half a character waits for the other half */
    fake_session_text("\xAC"
                      "c\xE2");
    now += 100;
    loop_turn(loop, 0);
    expect("\"progress\":2,\"message\":\"b\xE2\x82\xAC"
           "c\"");
    TEST_CHECK(messages == 2);
    finish(CELL_OK, "");
    TEST_CHECK(messages == 1);
    call("2", "execute_ipython_cell", "{\"code\":\"x\"}");
    fake_session_text("quiet");
    now += 100;
    loop_turn(loop, 0);
    TEST_CHECK(messages == 0);
    finish(CELL_OK, "");
    close_mcp();
}

static void a_silent_call_is_told_as_progress_too(void)
{
    open_initialized();
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"execute_ipython_cell\",\"arguments\":"
        "{\"code\":\"x\"},\"_meta\":{\"progressToken\":7}}}");
    for (int i = 1; i <= 3; i++) {
        char wanted[64];
        now += 14900;
        loop_turn(loop, 0);
        TEST_CHECK(messages == i - 1);
        now += 200;
        loop_turn(loop, 0);
        (void)snprintf(wanted, sizeof wanted, "{\"progressToken\":7,\"progress\":%d}}", i);
        expect(wanted);
    }
    fake_session_text("a"); /* which begins the time anew */
    now += 100;
    loop_turn(loop, 0);
    expect("\"progress\":4,\"message\":\"a\"");
    now += 14900;
    loop_turn(loop, 0);
    TEST_CHECK(messages == 4);
    finish(CELL_OK, "");
    now += 60000;
    loop_turn(loop, 0);
    TEST_CHECK(messages == 1); /* the answer, and nothing after it */
    close_mcp();
}

static void a_flood_is_not_told_as_progress(void)
{
    open_initialized();
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"execute_ipython_cell\",\"arguments\":"
        "{\"code\":\"x\"},\"_meta\":{\"progressToken\":1}}}");
    static char line[1001];
    memset(line, 'x', 1000);
    size_t told = 0;
    for (int i = 0; i < 10000; i++) {
        fake_session_text(line);
        now += 100;
        loop_turn(loop, 0);
        told += strlen(sent);
        sent[0] = '\0';
    }
    TEST_CHECK(told > 500000 && told < 1000000);
    finish(CELL_OK, "");
    close_mcp();
}

static void packages_are_answered_with_the_output_of_pip(void)
{
    open_initialized();
    call("1", "install_package", "{\"package_name\":\"numpy>=2\"}");
    TEST_CHECK(strcmp(fake.package, "numpy>=2") == 0);
    fake_session_installed("Successfully installed", NULL);
    expect("{\"content\":[{\"type\":\"text\",\"text\":\"Successfully installed\"}],\"isError\":"
           "false}");
    call("2", "install_package", "{\"package_name\":\"x\"}");
    fake_session_installed("no such", "pip ended with status 1");
    expect("{\"content\":[{\"type\":\"text\",\"text\":\"no such\"},{\"type\":\"text\",\"text\":"
           "\"Error executing tool install_package: pip ended with status 1\"}],\"isError\":true}");
    close_mcp();
}

static void a_reset_is_answered_with_a_line_or_the_reason(void)
{
    open_initialized();
    call("1", "reset", "{}");
    fake_session_reset_done(NULL);
    expect("\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"The kernel is new: ");
    call("2", "reset", "{}");
    fake_session_reset_done("no python");
    expect("Error executing tool reset: no python");
    close_mcp();
}

static void a_registration_is_answered_with_signatures_or_the_reason(void)
{
    open_initialized();
    call("1", "register_mcp_server",
         "{\"server_name\":\"s\",\"server_params\":{\"command\":\"x\"}}");
    TEST_CHECK(messages == 0 && fake_toolplane.registrations == 1);
    TEST_CHECK(strcmp(fake_toolplane.server, "s") == 0);
    TEST_CHECK(strcmp(fake_toolplane.params, "{\"command\":\"x\"}") == 0);
    char *modules[] = {"echo", "add"};
    fake_toolplane_registered(modules, 2, NULL);
    expect("\"content\":[],\"isError\":false"); /* it was removed meanwhile */
    fake_toolplane.launched = true;             /* then the last text says how */
    call("4", "register_mcp_server",
         "{\"server_name\":\"demo\",\"server_params\":{\"command\":\"x\"}}");
    fake_toolplane_registered(modules, 1, NULL);
    expect("{\"type\":\"text\",\"text\":\"Registered demo: 1 tool. Code calls them as\\n"
           "    from mcptools.demo import TOOL\\n    result = TOOL.run(name=value)\\n\\n"
           "add(**more) -> str: adds\"},"
           "{\"type\":\"text\",\"text\":\"how it is started\"}],\"isError\":false");
    call("2", "register_mcp_server",
         "{\"server_name\":\"s\",\"server_params\":\"{\\\"url\\\":1}\"}");
    TEST_CHECK(strcmp(fake_toolplane.params, "{\"url\":1}") == 0);
    struct err why = ERR_NONE;
    (void)err_set(&why, -EINVAL, "no command");
    fake_toolplane_registered(NULL, 0, &why);
    expect("Error executing tool register_mcp_server: no command");
    expect("\"isError\":true");
    call("3", "register_mcp_server", "{\"server_name\":\"s\",\"server_params\":[]}");
    expect("server_params: an object is needed");
    fake_toolplane_clear();
    close_mcp();
}

static void only_the_default_session_stops_the_servers_that_all_share(void)
{
    open_initialized();
    call("1", "reset", "{}");
    TEST_CHECK(fake_toolplane.resets == 1);
    config.session_id = "other";
    call("2", "reset", "{}");
    TEST_CHECK(fake_toolplane.resets == 1);
    config.session_id = "default";
    call("3", "reset", "{}");
    TEST_CHECK(fake_toolplane.resets == 2);
    fake_toolplane_clear();
    close_mcp();
}

static void what_the_protocol_forbids_gets_its_code(void)
{
    static const char *const cases[][2] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"no\"}}",
         "{\"code\":-32602,\"message\":\"Unknown tool: no\"}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}}", "-32602"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"reset\","
         "\"arguments\":[]}}",
         "-32602"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}",
         "-32602"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}", "-32601"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/list\"}", "-32601"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", "-32602"},
        {"nonsense", "\"id\":null,\"error\":{\"code\":-32700"},
        {"[]", "-32600"},
    };
    open_initialized();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("%s", cases[i][0]);
        say(cases[i][0]);
        expect(cases[i][1]);
        TEST_CHECK(messages == 1);
    }
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"); /* an answer to nothing */
    TEST_CHECK(messages == 0);
    call("5", "execute_ipython_cell", "{\"code\":\"x\"}");
    call("5", "execute_ipython_cell", "{\"code\":\"y\"}");
    expect("\"id\":5,\"error\":{\"code\":-32600");
    TEST_CHECK(fake.executes == 1);
    finish(CELL_OK, "");
    close_mcp();
}

static void batches_belong_to_the_revisions_that_had_them(void)
{
    static const char batch[] = "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":"
                                "\"2.0\",\"method\":\"notifications/x\"},{\"jsonrpc\":\"2.0\","
                                "\"id\":9007199254740991,\"method\":\"ping\"}]";
    open_initialized();
    say(batch);
    expect("\"id\":null,\"error\":{\"code\":-32600");
    close_mcp();
    open_mcp();
    say("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-03-26\"}}");
    say(batch);
    TEST_CHECK(messages == 2);
    expect("\"id\":1,\"result\":{}");
    expect("\"id\":9007199254740991,\"result\":{}");
    say("[]");
    expect("-32600");
    close_mcp();
}

static void the_modern_era_needs_no_handshake(void)
{
    open_mcp();
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META "}}");
    expect("\"supportedVersions\":[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\","
           "\"2024-11-05\"]");
    expect("\"resultType\":\"complete\"");
    expect("\"ttlMs\":");
    expect("\"cacheScope\":");
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{" META "}}");
    expect("\"resultType\":\"complete\"");
    expect("\"ttlMs\":");
    say("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"execute_ipython_cell\",\"arguments\":{\"code\":\"1\"}," META "}}");
    finish(CELL_OK, "1");
    expect("{\"content\":[{\"type\":\"text\",\"text\":\"1\"}],\"isError\":false,\"resultType\":"
           "\"complete\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"ipybox\","
           "\"version\":\"1.2.3\"}}}");
    close_mcp();
}

static void a_wrong_envelope_is_refused_by_name(void)
{
    open_initialized();
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}");
    expect("-32602");
    expect("clientCapabilities");
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":5,"
        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
    expect("-32602");
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"1900-01-01\","
        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
    expect("{\"code\":-32022,\"message\":\"Unsupported protocol version\",\"data\":{\"supported\":"
           "[\"2026-07-28\"");
    expect("\"requested\":\"1900-01-01\"}}");
    static const char *const removed[] = {"initialize", "ping", "logging/setLevel"};
    for (size_t i = 0; i < 3; i++) {
        drop_str char *text = xasprintf(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{" META "}}", removed[i]);
        say(text);
        expect("-32601");
    }
    close_mcp();
}

static void the_instructions_say_where_code_runs(void)
{
    static const struct {
        bool native, sandboxed;
        const char *place, *files;
    } cases[] = {
        {false, false, "kernel inside a container. Variables", "files there outlive the container"},
        {false, true, "see. A sandbox limits which files", "files there outlive the container"},
        {true, false, "the machine of the server, with the rights of its user and no container",
         "files and installed packages stay there."},
        {true, true, "in a sandbox on the machine of the server.",
         "installed packages stay there."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_mcp();
        config.native = cases[i].native;
        config.sandboxed = cases[i].sandboxed;
        say(INITIALIZE);
        expect(cases[i].place);
        expect(cases[i].files);
        TEST_CHECK((strstr(sent, " container") == NULL) == (cases[i].native && cases[i].sandboxed));
        TEST_CHECK((strstr(sent, "A sandbox limits") != NULL) == cases[i].sandboxed);
        close_mcp();
    }
}

#define CHANGED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{"

static void a_client_hears_that_servers_have_changed(void)
{
    fake_toolplane_clear();
    fake_toolplane.removals = 1; /* there is none */
    open_mcp();
    fake_toolplane_changed();
    TEST_CHECK(messages == 0); /* before its handshake */
    say(INITIALIZE);
    expect("register_mcp_server adds one; none is registered yet.\"");
    expect("\"tools\":{\"listChanged\":true}");
    fake_toolplane.removals = 0;
    fake_toolplane_changed();
    expect(CHANGED "}}");
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
    expect("how the server is started.\\n\\nRegistered now: demo (1 tool).\"");
    say(INITIALIZE);
    expect("`mcptools.servers()` lists the servers. Registered: demo (1 tool).\"");
    close_mcp();
}

static void tools_are_searched_where_that_is_offered(void)
{
    fake_toolplane_clear();
    open_initialized();
    call("1", "search_tools", "{\"query\":\"add\"}");
    expect("Unknown tool: search_tools");
    config.search_tool = true;
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
    expect("\"name\":\"search_tools\"");
    call("3", "search_tools", "{\"query\":\"add\"}");
    expect("\"text\":\"demo.add(**more) -> str: adds\\n\"}],\"isError\":false");
    call("4", "search_tools", "{\"query\":\"demo.add\"}");
    expect("\"text\":\"demo.add(**more) -> str: adds\\n\\nadds\\n\\n\"}]");
    call("5", "search_tools", "{\"query\":\"nothing\"}");
    expect("No registered tool has one of these words.");
    call("6", "search_tools", "{}");
    expect("query: a string is needed");
    close_mcp();
}

static void a_listener_is_acknowledged_and_hears_what_it_asked_for(void)
{
    open_mcp();
    say("{\"jsonrpc\":\"2.0\",\"id\":\"L\",\"method\":\"subscriptions/listen\",\"params\":{"
        "\"notifications\":{\"toolsListChanged\":true}," META "}}");
    expect(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":"
        "{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"L\"},"
        "\"notifications\":{\"toolsListChanged\":true}}}");
    TEST_CHECK(messages == 1);
    fake_toolplane_changed();
    expect(CHANGED "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"L\"}}}");
    TEST_CHECK(mcp_is_idle(mcp)); /* it is no reason to stay */
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
        "\"L\"}}");
    TEST_CHECK(messages == 0);
    close_mcp();
}

static void a_message_that_is_too_long_is_answered_under_its_id(void)
{
    open_initialized();
    sent[0] = '\0';
    mcp_too_long(mcp, "12", 16777216);
    expect("\"id\":12,\"error\":{\"code\":-32600");
    expect("16777216");
    sent[0] = '\0';
    mcp_too_long(mcp, "", 16777216);
    expect("\"id\":null");
    close_mcp();
}

static void a_peer_that_goes_leaves_nothing_behind(void)
{
    open_initialized();
    call("1", "execute_ipython_cell", "{\"code\":\"x\"}");
    call("2", "reset", "{}");
    call("3", "install_package", "{\"package_name\":\"six\"}");
    mcp = mcp_free(mcp);
    TEST_CHECK(fake.forgotten == 2);
    close_mcp();
}

#define T(name) {#name, name}

/* --- resources -------------------------------------------------------------------------------- */

#define READ(id, uri, more)                                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"resources/read\",\"params\":{\"uri\":\"" uri \
    "\"" more "}}"

static void open_history(void)
{
    char code[] = "6*7";
    config.session = (struct session *)&fake;
    fake.history = history_open(&(struct history_config){.loop = loop, .memory_max = 65536});
    history_begin(fake.history, HISTORY_SESSION, (struct slice){code, 3});
    history_end(fake.history, HISTORY_SESSION, "ok", NULL, "");
}

static void close_history(void)
{
    fake.history = history_close(fake.history);
    close_mcp();
}

static void a_session_is_read_as_a_notebook_and_as_a_script(void)
{
    open_initialized();
    open_history();
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}");
    expect("\"uri\":\"ipybox://sessions/default/notebook.ipynb\"");
    expect("\"mimeType\":\"application/x-ipynb+json\"");
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/templates/list\"}");
    expect("\"resourceTemplates\":[]");
    say(READ(3, "ipybox://sessions/default/notebook.ipynb", ""));
    expect("\\\"source\\\":\\\"6*7\\\"");
    expect_not("ttlMs");
    say(READ(4, "ipybox://sessions/default/notebook.py", ""));
    expect("\"mimeType\":\"text/x-python\"");
    expect("\\n6*7\\n");
    close_history();
}

static void a_resource_that_is_not_there_is_refused_as_each_era_does(void)
{
    open_initialized();
    open_history();
    say(READ(1, "ipybox://sessions/other/notebook.ipynb", ""));
    expect("\"code\":-32002");
    expect("\"data\":{\"uri\":\"ipybox://sessions/other/notebook.ipynb\"}");
    say(READ(2, "ipybox://sessions/default/notebook.pdf", "," META));
    expect("\"code\":-32602");
    say("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/read\",\"params\":{}}");
    expect("a resource's name is needed");
    close_history();
}

static void where_calls_name_their_session_any_can_be_read(void)
{
    open_mcp();
    open_history();
    config.shared = true;
    config.sessions = (struct sessions *)&fake;
    (void)snprintf(fake.other, sizeof fake.other, "other");
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/templates/list\",\"params\":{" META
        "}}");
    expect("\"uriTemplate\":\"ipybox://sessions/{session}/notebook.ipynb\"");
    say(READ(2, "ipybox://sessions/other/notebook.ipynb", "," META));
    expect("\\\"session\\\":\\\"other\\\"");
    expect("\"ttlMs\":0,\"cacheScope\":\"private\"");
    say(READ(3, "ipybox://sessions/none/notebook.ipynb", "," META));
    expect("Resource not found");
    close_history();
}

TEST_LIST = {
    T(the_version_is_echoed_when_it_is_served_and_else_the_newest),
    T(before_initialize_only_ping_is_answered),
    T(the_tools_have_the_names_and_defaults_that_clients_know),
    T(a_cell_is_answered_in_the_old_form),
    T(arguments_of_every_form_that_models_write_are_understood),
    T(wrong_arguments_are_named_in_the_error),
    T(null_is_as_if_it_were_not_there),
    T(every_end_of_a_cell_has_its_words),
    T(a_refused_cell_is_a_tool_error),
    T(a_cancelled_call_gets_no_answer),
    T(output_is_told_as_progress_to_the_one_who_asked),
    T(a_silent_call_is_told_as_progress_too),
    T(a_flood_is_not_told_as_progress),
    T(packages_are_answered_with_the_output_of_pip),
    T(a_reset_is_answered_with_a_line_or_the_reason),
    T(a_registration_is_answered_with_signatures_or_the_reason),
    T(only_the_default_session_stops_the_servers_that_all_share),
    T(what_the_protocol_forbids_gets_its_code),
    T(batches_belong_to_the_revisions_that_had_them),
    T(the_modern_era_needs_no_handshake),
    T(a_wrong_envelope_is_refused_by_name),
    T(a_listener_is_acknowledged_and_hears_what_it_asked_for),
    T(tools_are_searched_where_that_is_offered),
    T(the_instructions_say_where_code_runs),
    T(a_client_hears_that_servers_have_changed),
    T(a_message_that_is_too_long_is_answered_under_its_id),
    T(a_peer_that_goes_leaves_nothing_behind),
    {"a_session_is_read_as_a_notebook_and_as_a_script",
     a_session_is_read_as_a_notebook_and_as_a_script},
    {"a_resource_that_is_not_there_is_refused_as_each_era_does",
     a_resource_that_is_not_there_is_refused_as_each_era_does},
    {"where_calls_name_their_session_any_can_be_read",
     where_calls_name_their_session_any_can_be_read},
    {NULL, NULL},
};
