/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_fixtures.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hmac.h"
#include "base/random.h"

enum { STEP_MS = 50, ANSWER_MAX = 1 << 20, STEPS = 3, ROUNDS = 2 };

#define PNG                                                                                        \
    "\"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5E"   \
    "rkJggg==\""
#define WAV "\"UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=\""
#define IMAGE "{\"type\":\"image\",\"data\":" PNG ",\"mimeType\":\"image/png\"}"
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define MIXED                                                                                      \
    TEXT("Multiple content types test:")                                                           \
    "," IMAGE ",{\"type\":\"resource\",\"resource\":{\"uri\":\"test://mixed\","                    \
    "\"mimeType\":\"application/json\",\"text\":\"{\\\"test\\\":1}\"}}"
#define FORM(message, properties, required)                                                        \
    "{\"mode\":\"form\",\"message\":\"" message "\",\"requestedSchema\":{\"type\":\"object\","     \
    "\"properties\":{" properties "},\"required\":[" required "]}}"
#define STRING(name) "\"" name "\":{\"type\":\"string\"}"
#define SAMPLE(text, max)                                                                          \
    "{\"messages\":[{\"role\":\"user\",\"content\":" TEXT(text) "}],\"maxTokens\":" max "}"

struct input { /* one of the inputRequests */
    const char *key, *method, *params;
};

struct tool {
    const char *name;
    unsigned eras;
    const char *properties; /* of its schema */
    const char *required;
    const char *content; /* the answer; of a script: its last part; of rounds: at their end */
    bool is_error;
    const char *steps[STEPS]; /* notifications before it: their method, '!', their params */
    const char *ask, *params; /* a request to the client; '%' stands for `argument` */
    const char *argument;
    struct input rounds[ROUNDS][STEPS]; /* modern */
    bool with_state;
    const char *needs; /* a capability of the client, modern */
    double lasts_s;    /* as a task: it ends so long after it has become one … */
    bool by_argument;  /* … or as long as "seconds" says, 0: at once */
};

enum { HANDSHAKE = 1, MODERN = 2, BOTH = 3 };

#define ASK_NAME                                                                                   \
    {"user_name", "elicitation/create", FORM("What is your name?", STRING("name"), "\"name\"")}
#define ASK_OK                                                                                     \
    {"confirm", "elicitation/create",                                                              \
     FORM("Please confirm", "\"ok\":{\"type\":\"boolean\"}", "\"ok\"")}
#define PROGRESS_STEP(n)                                                                           \
    "notifications/progress!{\"progressToken\":%,\"progress\":" n ",\"total\":100}"
#define LOG_STEP(text) "notifications/message!{\"level\":\"info\",\"data\":\"" text "\"}"

static const struct tool tools[] = {
    {"test_simple_text", BOTH, .content = TEXT("This is a simple text response for testing.")},
    {"test_image_content", BOTH, .content = IMAGE},
    {"test_audio_content", BOTH,
     .content = "{\"type\":\"audio\",\"data\":" WAV ",\"mimeType\":\"audio/wav\"}"},
    {"test_embedded_resource", BOTH,
     .content = "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\","
                "\"mimeType\":\"text/plain\",\"text\":\"This is an embedded resource content.\"}}"},
    {"test_multiple_content_types", BOTH, .content = MIXED},
    {"test_error_handling", BOTH,
     .content = TEXT("This tool intentionally returns an error for testing"), .is_error = true},
    {"test_tool_with_progress", BOTH, .content = TEXT("done"),
     .steps = {PROGRESS_STEP("0"), PROGRESS_STEP("50"), PROGRESS_STEP("100")}},
    {"test_tool_with_logging", HANDSHAKE, .content = TEXT("done"),
     .steps = {LOG_STEP("Tool execution started"), LOG_STEP("Tool processing data"),
               LOG_STEP("Tool execution completed")}},
    {"test_logging_tool", MODERN, .content = TEXT("done"), .steps = {LOG_STEP("a line")}},
    {"test_sampling", HANDSHAKE, STRING("prompt"), "\"prompt\"", .ask = "sampling/createMessage",
     .params = SAMPLE("%", "100"), .argument = "prompt"},
    {"test_elicitation", HANDSHAKE, STRING("message"), "\"message\"", .ask = "elicitation/create",
     .params = FORM("%", STRING("username") "," STRING("email"), "\"username\",\"email\""),
     .argument = "message"},
    {"test_elicitation_sep1034_defaults", HANDSHAKE, .ask = "elicitation/create",
     .params = FORM("With defaults",
                    "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
                    "\"age\":{\"type\":\"integer\",\"default\":30},"
                    "\"score\":{\"type\":\"number\",\"default\":95.5},"
                    "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\","
                    "\"pending\"],\"default\":\"active\"},"
                    "\"verified\":{\"type\":\"boolean\",\"default\":true}",
                    "")},
    {"test_elicitation_sep1330_enums", HANDSHAKE, .ask = "elicitation/create",
     .params = FORM("Enums",
                    "\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\","
                    "\"option3\"]},"
                    "\"titledSingle\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"value1\","
                    "\"title\":\"First Option\"},{\"const\":\"value2\",\"title\":\"Second\"}]},"
                    "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\"],"
                    "\"enumNames\":[\"Option One\",\"Option Two\"]},"
                    "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
                    "\"enum\":[\"option1\",\"option2\"]}},"
                    "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":"
                    "\"value1\",\"title\":\"First Choice\"},{\"const\":\"value2\",\"title\":"
                    "\"Second\"}]}}",
                    "")},
    {"test_missing_capability", MODERN, .content = TEXT("it can sample"), .needs = "sampling"},
    {"test_streaming_elicitation", MODERN, .content = TEXT("asked"), .rounds = {{ASK_OK}}},
    {"test_input_required_result_elicitation", MODERN, .content = TEXT("Hello!"),
     .rounds = {{ASK_NAME}}},
    {"test_input_required_result_sampling", MODERN, .content = TEXT("sampled"),
     .rounds = {{{"capital_question", "sampling/createMessage",
                  SAMPLE("What is the capital of France?", "100")}}}},
    {"test_input_required_result_list_roots", MODERN, .content = TEXT("listed"),
     .rounds = {{{"client_roots", "roots/list", "{}"}}}},
    {"test_input_required_result_request_state", MODERN, .content = TEXT("state-ok"),
     .rounds = {{ASK_OK}}, .with_state = true},
    {"test_input_required_result_tampered_state", MODERN, .content = TEXT("state-ok"),
     .rounds = {{ASK_OK}}, .with_state = true},
    {"test_input_required_result_multiple_inputs", MODERN, .content = TEXT("all there"),
     .rounds = {{ASK_NAME,
                 {"greeting", "sampling/createMessage", SAMPLE("Generate a greeting", "50")},
                 {"client_roots", "roots/list", "{}"}}},
     .with_state = true},
    {"test_input_required_result_multi_round", MODERN, .content = TEXT("both rounds"),
     .rounds = {{{"step1", "elicitation/create",
                  FORM("Step 1: What is your name?", STRING("name"), "\"name\"")}},
                {{"step2", "elicitation/create",
                  FORM("Step 2: What is your favorite color?", STRING("color"), "\"color\"")}}},
     .with_state = true},
    {"test_input_required_result_capabilities", MODERN, .content = TEXT("what you can"),
     .rounds = {{ASK_NAME,
                 {"greeting", "sampling/createMessage", SAMPLE("Generate a greeting", "50")}}}},
    {"greet", MODERN, STRING("name"), "\"name\"", .content = TEXT("Hello, %!"), .argument = "name"},
    {"slow_compute", MODERN, "\"seconds\":{\"type\":\"number\"}," STRING("label"), "\"seconds\"",
     .content = TEXT("computed"), .lasts_s = 1, .by_argument = true},
    {"failing_job", MODERN, .content = TEXT("it failed"), .is_error = true, .lasts_s = 1},
};

enum { TOOL_COUNT = sizeof tools / sizeof *tools };

struct work { /* a call that waits: for its next step, or for the client's answer */
    struct work *next;
    struct mcp_call *call;
    const struct tool *tool;
    int step;
    char id[32];
    struct loop_timer timer;
};

static struct work *works;
static uint64_t asked;
static struct hmac *hmac;

static unsigned era_bit(enum mcp_era era)
{
    return era == MCP_MODERN ? MODERN : HANDSHAKE;
}

static bool is(const struct mcp_request *r, const char *method)
{
    return strcmp(r->m->method, method) == 0;
}

/* --- what takes time -------------------------------------------------------------------------- */

static void free_work(void *ctx)
{
    struct work *w = ctx, **at = &works;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    loop_timer_stop(w->call->mcp->config->loop, &w->timer);
    w->call->work = (struct call_work){0};
    xfree(w);
}

static struct work *new_work(struct mcp_call *call, const struct tool *tool)
{
    struct work *w = NEW(struct work);
    *w = (struct work){.next = works, .call = call, .tool = tool};
    works = w;
    call->work = (struct call_work){.cancel = free_work, .ctx = w};
    return w;
}

static void put_raw(struct buf *out, const char *text)
{
    (void)buf_adds(out, text);
}

static void finish_call(struct mcp_call *call, const char *content, bool is_error)
{
    struct buf out;
    struct jsonw w;
    call_answer_begin(call, &out, &w);
    put_raw(&out, content);
    call_answer_end(call, &out, &w, is_error);
}

/* "METHOD!PARAMS" with the progress token for '%'. */
static void send_step(struct mcp_call *call, const char *step)
{
    size_t method = strcspn(step, "!"), before = strcspn(step, "%");
    if (step[before] && !call->progress_token)
        return;
    drop_buf struct buf out = BUF_INIT(ANSWER_MAX);
    (void)buf_addf(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"%.*s\",\"params\":%.*s", (int)method,
                   step, (int)(before - method - 1), step + method + 1);
    if (step[before])
        (void)buf_addf(&out, "%s%s", call->progress_token, step + before + 1);
    put_raw(&out, "}");
    mcp_send(call->mcp, call, &out);
}

static void on_step(void *ctx)
{
    struct work *w = ctx;
    const struct tool *tool = w->tool;
    struct mcp_call *call = w->call;
    if (w->step < STEPS && tool->steps[w->step]) {
        send_step(call, tool->steps[w->step++]);
        loop_timer_set(call->mcp->config->loop, &w->timer, STEP_MS, on_step, w);
        return;
    }
    free_work(w);
    finish_call(call, tool->content, tool->is_error);
}

static void ask_client(struct mcp_call *call, const struct tool *tool, const struct json *params)
{
    struct work *w = new_work(call, tool);
    const char *value =
        tool->argument ? json_get_text(json_get(params, "arguments"), tool->argument) : NULL;
    size_t before = value ? strcspn(tool->params, "%") : strlen(tool->params);
    (void)snprintf(w->id, sizeof w->id, "fixture-%llu", (unsigned long long)++asked);
    drop_buf struct buf out = BUF_INIT(ANSWER_MAX);
    (void)buf_addf(&out, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"%s\",\"params\":%.*s",
                   w->id, tool->ask, (int)before, tool->params);
    if (value)
        (void)buf_addf(&out, "%s%s", value, tool->params + before + 1);
    put_raw(&out, "}");
    mcp_send(call->mcp, call, &out);
}

static void on_response(struct mcp *mcp, const struct rpc_message *m)
{
    for (struct work *w = works; w; w = w->next) {
        char id[40];
        (void)snprintf(id, sizeof id, "\"%s\"", w->id);
        if (w->call->mcp != mcp || !rpc_same_id(id, m->id))
            continue;
        struct mcp_call *call = w->call;
        const struct json *result = json_get(m->tree, "result");
        drop_str char *text = result ? json_print(result) : xstrdup("it was refused");
        free_work(w);
        struct buf out;
        struct jsonw jw;
        call_answer_begin(call, &out, &jw);
        put_text_block(&jw, text, strlen(text));
        call_answer_end(call, &out, &jw, !result);
        return;
    }
}

/* --- questions of the modern era -------------------------------------------------------------- */

static bool client_can(const struct mcp_request *r, const char *method)
{
    static const char *const capabilities[][2] = {{"elicitation/create", "elicitation"},
                                                  {"sampling/createMessage", "sampling"},
                                                  {"roots/list", "roots"}};
    const struct json *all =
        json_get(json_get(r->m->params, "_meta"), "io.modelcontextprotocol/clientCapabilities");
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(method, capabilities[i][0]) == 0 || strcmp(method, capabilities[i][1]) == 0)
            return json_is_object(json_get(all, capabilities[i][1]));
    }
    return false;
}

static void refuse_capability(const struct mcp_request *r, const char *name)
{
    drop_str char *data = xasprintf("{\"requiredCapabilities\":{\"%s\":{}}}", name);
    mcp_answer_error(r->mcp, r->m->id, RPC_MISSING_CAPABILITY, "a capability is missing", data);
}

/* "ROUND.MAC" */
static void make_state(const char *name, int round, char out[HMAC_HEX + 8])
{
    unsigned char mac[HMAC_BYTES];
    char hex[HMAC_HEX + 1];
    hmac_begin(hmac);
    hmac_add(hmac, name, strlen(name) + 1);
    hmac_add(hmac, &round, sizeof round);
    hmac_end(hmac, mac);
    hmac_hex(mac, hex);
    (void)snprintf(out, HMAC_HEX + 8, "%d.%s", round, hex);
}

/* The round that the request answers: 0 when it brings no state; -1: a state that is not good. */
static int read_round(const struct mcp_request *r, const struct tool *tool)
{
    const struct json *state = json_get(r->m->params, "requestState");
    for (int round = 0; state && tool->with_state && round < ROUNDS; round++) {
        char good[HMAC_HEX + 8];
        make_state(tool->name, round, good);
        if (json_text(state) && strcmp(json_text(state), good) == 0)
            return round;
    }
    return state ? -1 : 0;
}

static bool all_answered(const struct mcp_request *r, const struct input *round)
{
    const struct json *responses = json_get(r->m->params, "inputResponses");
    for (int i = 0; i < STEPS && round[i].key; i++) {
        if (client_can(r, round[i].method) && !json_is_object(json_get(responses, round[i].key)))
            return false;
    }
    return json_is_object(responses);
}

static void put_questions(const struct mcp_request *r, const char *name, const struct input *round,
                          int number, bool with_state)
{
    drop_buf struct buf out = BUF_INIT(ANSWER_MAX);
    struct jsonw w = JSONW(&out);
    char state[HMAC_HEX + 8];
    rpc_result_begin(&w, r->m->id);
    jsonw_set_text(&w, "resultType", "input_required");
    jsonw_set_object(&w, "inputRequests");
    for (int i = 0; i < STEPS && round[i].key; i++) {
        if (!client_can(r, round[i].method))
            continue;
        jsonw_set_object(&w, round[i].key);
        jsonw_set_text(&w, "method", round[i].method);
        jsonw_set_raw(&w, "params", round[i].params);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    make_state(name, number, state);
    if (with_state)
        jsonw_set_text(&w, "requestState", state);
    put_server_stamp(&w, r->mcp);
    rpc_end(&w);
    mcp_answer(r->mcp, &out);
}

static void answer_rounds(const struct mcp_request *r, const struct tool *tool)
{
    int round = read_round(r, tool);
    if (round < 0) {
        mcp_answer_error(r->mcp, r->m->id, RPC_INVALID_PARAMS, "Invalid or expired requestState",
                         NULL);
        return;
    }
    bool has_state = !tool->with_state || json_get(r->m->params, "requestState");
    if (has_state && all_answered(r, tool->rounds[round]))
        round++;
    if (round < ROUNDS && tool->rounds[round][0].key)
        put_questions(r, tool->name, tool->rounds[round], round, tool->with_state);
    else
        finish_call(call_new(r->mcp, r->m, r->era), tool->content, false);
}

/* --- tools ------------------------------------------------------------------------------------ */

static void put_tools(struct jsonw *w, enum mcp_era era)
{
    for (size_t i = 0; i < TOOL_COUNT; i++) {
        if (!(tools[i].eras & era_bit(era)))
            continue;
        drop_str char *schema =
            xasprintf("{\"type\":\"object\",\"properties\":{%s},\"required\":[%s]}",
                      tools[i].properties ? tools[i].properties : "",
                      tools[i].required ? tools[i].required : "");
        jsonw_object(w);
        jsonw_set_text(w, "name", tools[i].name);
        jsonw_set_text(w, "description", "A fixture of the conformance suite");
        jsonw_set_raw(w, "inputSchema", schema);
        jsonw_end(w);
    }
}

static double lasting_s(const struct mcp_request *r, const struct tool *tool)
{
    const struct json *seconds = json_get(json_get(r->m->params, "arguments"), "seconds");
    return tool->by_argument && json_is_number(seconds) ? json_number(seconds) : tool->lasts_s;
}

static void begin_lasting(struct mcp_call *call, const struct mcp_request *r,
                          const struct tool *tool)
{
    const double seconds = lasting_s(r, tool);
    struct work *w = new_work(call, tool);
    task_call_begins(call, r->m->params);
    loop_timer_set(call->mcp->config->loop, &w->timer,
                   seconds > 0 ? TASK_AFTER_MS + (int64_t)(seconds * 1000) : 0, on_step, w);
}

/* The content, with the argument's text for '%'. */
static void answer_argument(struct mcp_call *call, const struct mcp_request *r,
                            const struct tool *tool)
{
    const char *value = json_get_text(json_get(r->m->params, "arguments"), tool->argument);
    const size_t before = strcspn(tool->content, "%");
    drop_str char *content = xasprintf("%.*s%s%s", (int)before, tool->content, value ? value : "",
                                       tool->content + before + 1);
    finish_call(call, content, false);
}

static bool may_log(const struct mcp_request *r)
{
    return r->era != MCP_MODERN ||
           json_get(json_get(r->m->params, "_meta"), "io.modelcontextprotocol/logLevel");
}

static void run_tool(const struct mcp_request *r, const struct tool *tool)
{
    if (tool->needs && !client_can(r, tool->needs)) {
        refuse_capability(r, tool->needs);
        return;
    }
    if (tool->rounds[0][0].key) {
        answer_rounds(r, tool);
        return;
    }
    struct mcp_call *call = call_new(r->mcp, r->m, r->era);
    bool logs = tool->steps[0] && strncmp(tool->steps[0], "notifications/message", 21) == 0;
    if (tool->ask)
        ask_client(call, tool, r->m->params);
    else if (tool->lasts_s > 0)
        begin_lasting(call, r, tool);
    else if (tool->argument)
        answer_argument(call, r, tool);
    else if (tool->steps[0] && (!logs || may_log(r)))
        on_step(new_work(call, tool));
    else
        finish_call(call, tool->content, tool->is_error);
}

static bool call_tool(const struct mcp_request *r)
{
    const char *name = json_get_text(r->m->params, "name");
    for (size_t i = 0; name && i < TOOL_COUNT; i++) {
        if (strcmp(tools[i].name, name) == 0 && (tools[i].eras & era_bit(r->era))) {
            run_tool(r, &tools[i]);
            return true;
        }
    }
    return false;
}

/* --- results that are there at once ----------------------------------------------------------- */

/* The members of the result, as JSON text; cached: lists and resources. */
static void answer_members(const struct mcp_request *r, const char *members, bool cached)
{
    drop_buf struct buf out = BUF_INIT(ANSWER_MAX);
    struct jsonw w = JSONW(&out);
    rpc_result_begin(&w, r->m->id);
    put_raw(&out, members);
    w.more[w.depth - 1] = *members != '\0'; /* a comma is due */
    if (cached)
        put_caching(&w, r->era);
    put_result_stamp(&w, r->mcp, r->era);
    rpc_end(&w);
    mcp_answer(r->mcp, &out);
}

#define RESOURCE(uri, name, type)                                                                  \
    "{\"uri\":\"" uri "\",\"name\":\"" name                                                        \
    "\",\"description\":\"A fixture\",\"mimeType\":\"" type "\"}"

static void read_resource(const struct mcp_request *r)
{
    static const char text[] = "test://static-text", binary[] = "test://static-binary";
    const char *uri = json_get_text(r->m->params, "uri");
    char id[32];
    int end = 0;
    uri = uri ? uri : "";
    drop_buf struct buf members = BUF_INIT(ANSWER_MAX);
    (void)buf_addf(&members, "\"contents\":[{\"uri\":\"%s\",", uri);
    if (strcmp(uri, text) == 0) {
        put_raw(&members, "\"mimeType\":\"text/plain\",\"text\":\"This is the content of the "
                          "static text resource.\"}]");
    } else if (strcmp(uri, binary) == 0) {
        put_raw(&members, "\"mimeType\":\"image/png\",\"blob\":" PNG "}]");
    } else if (sscanf(uri, "test://template/%30[0-9a-z]/data%n", id, &end) == 1 && end > 0 &&
               uri[end] == '\0') {
        (void)buf_addf(&members,
                       "\"mimeType\":\"application/json\",\"text\":\"{\\\"id\\\":\\\"%s\\\","
                       "\\\"templateTest\\\":true}\"}]",
                       id);
    } else {
        drop_buf struct buf data = BUF_INIT(ANSWER_MAX);
        struct jsonw w = JSONW(&data);
        jsonw_object(&w);
        jsonw_set_text(&w, "uri", uri);
        jsonw_end(&w);
        mcp_answer_error(r->mcp, r->m->id, RPC_INVALID_PARAMS, "Resource not found",
                         buf_text(&data));
        return;
    }
    answer_members(r, buf_text(&members), true);
}

#define MESSAGE(content) "{\"role\":\"user\",\"content\":" content "}"

static void get_prompt(const struct mcp_request *r)
{
    static const struct input context[STEPS] = {
        {"user_context", "elicitation/create",
         FORM("What context should the prompt use?", STRING("context"), "\"context\"")}};
    static const char *const fixed[][2] = {
        {"test_simple_prompt", MESSAGE(TEXT("This is a simple prompt for testing."))},
        {"test_prompt_with_image", MESSAGE(IMAGE) "," MESSAGE(TEXT("Please analyze it."))},
        {"test_input_required_result_prompt", MESSAGE(TEXT("With the context"))}};
    const struct json *arguments = json_get(r->m->params, "arguments");
    const char *name = json_get_text(r->m->params, "name");
    const char *one = json_get_text(arguments, "arg1"), *two = json_get_text(arguments, "arg2");
    const char *uri = json_get_text(arguments, "resourceUri");
    drop_buf struct buf members = BUF_INIT(ANSWER_MAX);
    name = name ? name : "";
    if (strcmp(name, fixed[2][0]) == 0 && r->era == MCP_MODERN && !all_answered(r, context)) {
        put_questions(r, name, context, 0, false);
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(name, fixed[i][0]) == 0)
            (void)buf_addf(&members, "\"messages\":[%s]", fixed[i][1]);
    }
    if (strcmp(name, "test_prompt_with_arguments") == 0 && one && two)
        (void)buf_addf(&members,
                       "\"messages\":[" MESSAGE(TEXT("Prompt with arguments: arg1='%s', "
                                                     "arg2='%s'")) "]",
                       one, two);
    if (strcmp(name, "test_prompt_with_embedded_resource") == 0 && uri)
        (void)buf_addf(&members,
                       "\"messages\":[" MESSAGE(
                           "{\"type\":\"resource\",\"resource\":{\"uri\":\"%s\",\"mimeType\":"
                           "\"text/plain\",\"text\":\"Embedded resource content.\"}}") "]",
                       uri);
    if (members.len > 0)
        answer_members(r, buf_text(&members), false);
    else
        mcp_answer_error(r->mcp, r->m->id, RPC_INVALID_PARAMS, "Unknown prompt", NULL);
}

#define PROMPT(name, arguments)                                                                    \
    "{\"name\":\"" name "\",\"description\":\"A fixture\",\"arguments\":[" arguments "]}"
#define ARGUMENT(name) "{\"name\":\"" name "\",\"description\":\"An argument\",\"required\":true}"

/* The formatter cannot break concatenated macros sensibly: one of them a line. */
#define PROMPT_LIST                                                                                \
    PROMPT("test_simple_prompt", "")                                                               \
    "," PROMPT("test_prompt_with_image", "") "," PROMPT(                                           \
        "test_input_required_result_prompt",                                                       \
        "") "," PROMPT("test_prompt_with_embedded_resource",                                       \
                       ARGUMENT("resourceUri")) "," PROMPT("test_prompt_with_arguments",           \
                                                           ARGUMENT("arg1") "," ARGUMENT("arg2"))

static const struct {
    const char *method;
    unsigned eras;
    const char *members; /* of the result */
    bool cached;
    void (*answer)(const struct mcp_request *r); /* instead */
} methods[] = {
    {"resources/list", BOTH,
     "\"resources\":[" RESOURCE("test://static-text", "static-text", "text/plain") "," RESOURCE(
         "test://static-binary", "static-binary", "image/png") "]",
     true, NULL},
    {"resources/templates/list", BOTH,
     "\"resourceTemplates\":[{\"uriTemplate\":\"test://template/{id}/data\",\"name\":\"template\","
     "\"description\":\"A fixture\",\"mimeType\":\"application/json\"}]",
     true, NULL},
    {"resources/read", BOTH, NULL, true, read_resource},
    {"resources/subscribe", HANDSHAKE, "", false, NULL},
    {"resources/unsubscribe", HANDSHAKE, "", false, NULL},
    {"logging/setLevel", HANDSHAKE, "", false, NULL},
    {"prompts/list", BOTH, "\"prompts\":[" PROMPT_LIST "]", true, NULL},
    {"prompts/get", BOTH, NULL, false, get_prompt},
    {"completion/complete", BOTH, "\"completion\":{\"values\":[],\"total\":0,\"hasMore\":false}",
     false, NULL},
};

static bool on_request(const struct mcp_request *r)
{
    if (is(r, "tools/call"))
        return call_tool(r);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (!is(r, methods[i].method) || !(methods[i].eras & era_bit(r->era)))
            continue;
        if (methods[i].answer)
            methods[i].answer(r);
        else
            answer_members(r, methods[i].members, methods[i].cached);
        return true;
    }
    return false;
}

static void put_capabilities(struct jsonw *w)
{
    static const char *const names[] = {"prompts", "completions", "logging"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        jsonw_set_object(w, names[i]);
        jsonw_end(w);
    }
}

const struct mcp_extension mcp_fixtures = {.request = on_request,
                                           .response = on_response,
                                           .put_capabilities = put_capabilities,
                                           .put_tools = put_tools};

void mcp_fixtures_open(void)
{
    char key[65];
    random_hex(key, 32);
    hmac = hmac_new(key, sizeof key);
}

void mcp_fixtures_close(void)
{
    hmac = hmac_free(hmac);
}
