/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp/mcp_tools.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "front/apps/apps.h"
#include "front/mcp/cell_answer.h"
#include "front/mcp/mcp_about.h"
#include "front/mcp/mcp_forks.h"
#include "front/mcp/mcp_search.h"
#include "session/kernels/sessions.h"
#include "session/packages/pip_report.h"
#include "session/queue/session_checkpoints.h"

enum { DEFAULT_TIMEOUT_S = 120, DEFAULT_MAX_CHARS = 5000, TIMEOUT_MAX_S = 30 * 24 * 3600 };
enum { SIGNATURES_SHOWN = 20 };

#define SERVERS_HERE "\2" /* where a tool's text has the registered MCP servers */
static const char session_json[] =
    "\"session\":{\"type\":\"string\",\"title\":\"Session\",\"default\":\"default\","
    "\"description\":\"Name of the session: each has a kernel of its own, and is made when it is "
    "first named\"}";

/* --- arguments ------------------------------------------------------------------------------ */

int tool_number(const struct json *arguments, const char *name, double fallback, double *ret,
                struct err *e)
{
    const struct json *value = json_get(arguments, name);
    const char *text = json_text(value);
    char *end = NULL;
    if (!value || json_is_null(value))
        *ret = fallback;
    else if (json_is_number(value))
        *ret = json_number(value);
    else if (text && *text && (*ret = strtod(text, &end), *end == '\0'))
        return isfinite(*ret) ? 0 : err_set(e, -EINVAL, "%s: a finite number is needed", name);
    else
        return err_set(e, -EINVAL, "%s: a number is needed", name);
    return 0;
}

int tool_flag(const struct json *arguments, const char *name, bool *ret, struct err *e)
{
    const struct json *value = json_get(arguments, name);
    if (value && !json_is_null(value) && !json_is_bool(value))
        return err_set(e, -EINVAL, "%s: true or false is needed", name);
    *ret = json_true(value);
    return 0;
}

/* --- execute_ipython_cell ------------------------------------------------------------------- */

static const char execute_json[] =
    "{\"name\":\"execute_ipython_cell\",\"title\":\"Run Python code\","
    "\"description\":\"Execute Python code in a stateful IPython kernel.\\n\\n"
    "Variables, imports and definitions persist across calls; calls run one after the other. Use "
    "'await' directly for async code, '!command' for the shell and '%magic' commands. input() is "
    "not available.\\n\\n"
    "Returns what the code printed and the value of its last expression, then markdown links to "
    "the images and other displays that were saved. An empty text when there was no output. Output "
    "over max_output_chars is cut, and the whole of it is kept in a file that the answer names."
    "\\n\\n"
    "Fails with the traceback when the code raises, and after the timeout: the cell is then "
    "interrupted and the kernel keeps its state.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"code\":{\"type\":\"string\",\"title\":\"Code\","
    "\"description\":\"Python code to execute in the IPython kernel\"},"
    "\"timeout\":{\"type\":\"number\",\"title\":\"Timeout\",\"default\":120,"
    "\"description\":\"Maximum execution time in seconds before kernel interruption\"},"
    "\"max_output_chars\":{\"type\":\"integer\",\"title\":\"Max Output Chars\",\"default\":5000,"
    "\"description\":\"Maximum number of characters to return in output (truncates if "
    "exceeded)\"},"
    "\"include_images\":{\"type\":\"boolean\",\"title\":\"Include Images\",\"default\":false,"
    "\"description\":\"Also return the images themselves, not only the paths they are saved "
    "at\"}" TOOL_SESSION_HERE "},"
    "\"required\":[\"code\"]},"
    "\"annotations\":{\"title\":\"Run Python code\",\"readOnlyHint\":false,"
    "\"destructiveHint\":true,\"idempotentHint\":false,\"openWorldHint\":true}}";

static const struct cell_events cell_events = {.text = call_text, .finished = cell_answer};

static int read_cell_arguments(struct mcp_call *call, const struct json *arguments,
                               struct cell_request *request, struct err *e)
{
    const char *code = NULL;
    double timeout = 0, max_chars = 0;
    int r = json_need_text(arguments, "code", &code, e);
    if (r == 0)
        r = tool_number(arguments, "timeout", DEFAULT_TIMEOUT_S, &timeout, e);
    if (r == 0)
        r = tool_number(arguments, "max_output_chars", DEFAULT_MAX_CHARS, &max_chars, e);
    if (r == 0)
        r = tool_flag(arguments, "include_images", &call->include_images, e);
    if (r < 0)
        return r;
    if (timeout <= 0)
        return err_set(e, -EINVAL, "timeout: more than 0 seconds are needed");
    if (max_chars < 0 || floor(max_chars) != max_chars)
        return err_set(e, -EINVAL, "max_output_chars: a whole number from 0 on is needed");
    call->timeout_s = fmin(timeout, TIMEOUT_MAX_S);
    *request = (struct cell_request){
        .code = {(char *)(size_t)code, strlen(code)},
        .timeout_ms = (int64_t)fmax(1, call->timeout_s * 1000),
        .max_chars = (size_t)fmin(max_chars, (double)OUTPUT_HEAD_MAX),
    };
    return 0;
}

static int execute_cell_tool(struct mcp_call *call, const struct json *arguments, struct err *e)
{
    struct cell_request request;
    int r = read_cell_arguments(call, arguments, &request, e);
    if (r < 0)
        return r;
    call->runs_code = true;
    request.tell_variables = call->shows_apps;
    request.origin = &call->origin;
    return session_execute(call->session, &request, &cell_events, call, &call->cell, e);
}

/* --- install_package ------------------------------------------------------------------------ */

static const char install_json[] =
    "{\"name\":\"install_package\",\"title\":\"Install a Python package\","
    "\"description\":\"Install a Python package with pip, or several.\\n\\n"
    "Installed packages are importable at once and persist across reset() calls; another version "
    "of what is imported already needs a reset(). Supports version "
    "specifiers (e.g., 'numpy>=1.20.0'), git URLs, and several names ('numpy pandas').\\n\\n"
    "Returns what was installed, or why nothing was.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"package_name\":{\"type\":\"string\",\"title\":\"Package Name\","
    "\"description\":\"Package spec (name, name==version, or git+https://... URL)\"}},"
    "\"required\":[\"package_name\"]},"
    "\"annotations\":{\"title\":\"Install a Python package\",\"readOnlyHint\":false,"
    "\"destructiveHint\":false,\"idempotentHint\":true,\"openWorldHint\":true}}";

/* A line of what was installed; all that pip wrote is in a file. */
static void put_pip_output(struct jsonw *w, const struct mcp_call *call, const char *output,
                           bool failed)
{
    drop_buf struct buf text = BUF_INIT(MCP_ANSWER_MAX);
    drop_str char *file = pip_report(&text, call->mcp->config->packages.workspace, output, failed);
    if (file)
        (void)buf_addf(&text, "\n[pip's output is in %s]", file);
    put_text_block(w, buf_text(&text), text.len);
}

static void installed(void *ctx, const char *output, const struct err *why)
{
    struct mcp_call *call = ctx;
    struct buf out;
    struct jsonw w;
    call->install = NULL;
    call_answer_begin(call, &out, &w);
    put_pip_output(&w, call, output, why != NULL);
    if (why) {
        drop_str char *text = xasprintf("Error executing tool install_package: %s", why->msg);
        put_text_block(&w, text, strlen(text));
    }
    call_answer_end(call, &out, &w, why != NULL);
}

static int install_package_tool(struct mcp_call *call, const struct json *arguments, struct err *e)
{
    static const struct install_events events = {.text = call_text, .finished = installed};
    const char *package = NULL;
    int r = json_need_text(arguments, "package_name", &package, e);
    if (r < 0)
        return r;
    return install_start(&call->mcp->config->packages, package, &events, call, &call->install, e);
}

/* --- register_mcp_server -------------------------------------------------------------------- */

static const char register_json[] =
    "{\"name\":\"register_mcp_server\",\"title\":\"Register an MCP server\","
    "\"description\":\"Register an MCP server and generate Python functions for its tools.\\n\\n"
    "Connects to the server, lists its tools and writes the package mcptools/{server_name}/ in the "
    "workspace. Code calls a tool so:\\n"
    "    from mcptools.{server_name} import {tool_name}\\n"
    "    result = {tool_name}.run(argument=value)\\n\\n"
    "- result has the fields of the tool's Result class, or is text; await {tool_name}.arun(...) "
    "in async code\\n"
    "- import mcptools; mcptools.search('words') finds tools of all servers, help({tool_name}) "
    "shows one\\n"
    "- Placeholders like ${API_KEY} in server_params are replaced from the server's environment; "
    "the code never sees the values\\n"
    "- Registering a name again overwrites it; call reset() to import the updated tools\\n"
    "- The package mcptools/ persists across reset() calls\\n\\n"
    "Returns how many tools there are, the signatures of the first 20, and how the server is "
    "started." SERVERS_HERE "\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"server_name\":{\"type\":\"string\",\"title\":\"Server Name\","
    "\"description\":\"Package name (valid Python identifier: lowercase, underscores, no leading "
    "digit)\"},"
    "\"server_params\":{\"type\":\"object\",\"title\":\"Server Params\","
    "\"additionalProperties\":true,"
    "\"description\":\"Server config - stdio: {command, args, env, cwd} or http: {url, headers, "
    "type}; type is 'http' or 'sse', needed if the URL has neither /mcp nor /sse\"}},"
    "\"required\":[\"server_name\",\"server_params\"]},"
    "\"annotations\":{\"title\":\"Register an MCP server\",\"readOnlyHint\":false,"
    "\"destructiveHint\":true,\"idempotentHint\":true,\"openWorldHint\":true}}";

/* How many there are, how they are called, and the first of them. */
static void put_registered(struct jsonw *w, const struct tools_server *server, size_t n)
{
    drop_buf struct buf text = BUF_INIT(MCP_ANSWER_MAX);
    (void)buf_addf(&text,
                   "Registered %s: %zu tool%s. Code calls them as\n"
                   "    from mcptools.%s import TOOL\n    result = TOOL.run(name=value)\n\n",
                   server->name, n, n == 1 ? "" : "s", server->name);
    catalog_put_lines(&text, server, SIGNATURES_SHOWN);
    if (n > SIGNATURES_SHOWN)
        (void)buf_addf(&text,
                       "\n… and %zu more. In code: import mcptools; "
                       "mcptools.search(\"words\") finds tools, help(mcptools.%s) lists them.",
                       n - SIGNATURES_SHOWN, server->name);
    while (text.len > 0 && text.data[text.len - 1] == '\n')
        text.len--;
    put_text_block(w, buf_text(&text), text.len);
}

static void registered(void *ctx, char *const *modules, size_t n, const struct err *why)
{
    struct mcp_call *call = ctx;
    call->registration = NULL;
    if (why) {
        call_fail(call, "register_mcp_server", why->msg);
        return;
    }
    (void)modules;
    struct buf out;
    struct jsonw w;
    struct tools_server server;
    call_answer_begin(call, &out, &w);
    if (toolplane_find(call->mcp->config->toolplane, call->server, &server)) {
        put_registered(&w, &server, n);
        if (server.note)
            put_text_block(&w, server.note, strlen(server.note));
    }
    const char *report = toolplane_report(call->mcp->config->toolplane);
    if (report)
        put_text_block(&w, report, strlen(report));
    call_answer_end(call, &out, &w, false);
}

/* An object, or the text of one: models write both, and clients were never told no. */
static const struct json *get_object(const struct json *arguments, const char *name,
                                     struct json **ret_owned, struct err *e)
{
    const struct json *value = json_get(arguments, name);
    const char *text = json_text(value);
    if (text)
        value = *ret_owned = json_parse_copy(text, strlen(text), JSON_STRICT, NULL);
    if (!json_is_object(value)) {
        (void)err_set(e, -EINVAL, "%s: an object is needed", name);
        return NULL;
    }
    return value;
}

static int register_server(struct mcp_call *call, const struct json *arguments, struct err *e)
{
    const char *name = NULL;
    drop_json struct json *owned = NULL;
    if (!call->mcp->caller->may_register)
        return err_set(e, -EACCES,
                       "over HTTP this needs IPYBOX_TOKEN, because code in kernels "
                       "reaches this port, too");
    int r = json_need_text(arguments, "server_name", &name, e);
    if (r < 0)
        return r;
    const struct json *params = get_object(arguments, "server_params", &owned, e);
    if (!params)
        return -EINVAL;
    r = toolplane_register(call->mcp->config->toolplane, name, params, registered, call,
                           &call->registration, e);
    if (r < 0)
        return r;
    call->server = xstrdup(name);
    toolplane_job_listen(call->registration, call_text);
    return 0;
}

/* --- reset ---------------------------------------------------------------------------------- */

static const char reset_json[] =
    "{\"name\":\"reset\",\"title\":\"Reset the kernel\","
    "\"description\":\"Reset the IPython kernel to a clean state.\\n\\n"
    "Creates a new kernel: variables, imports, definitions and running threads are gone. "
    "Connections to MCP servers are closed, and opened again by the next call. Installed packages, "
    "files and mcptools/ persist.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{" TOOL_SESSION_HERE "}},"
    "\"annotations\":{\"title\":\"Reset the kernel\",\"readOnlyHint\":false,"
    "\"destructiveHint\":true,\"idempotentHint\":true,\"openWorldHint\":false}}";

static void was_reset(void *ctx, const struct err *why)
{
    static const char text[] = "The kernel is new: variables, imports and definitions are gone; "
                               "files and installed packages are still there.";
    struct mcp_call *call = ctx;
    call->cell = NULL;
    if (why) {
        call_fail(call, "reset", why->msg);
        return;
    }
    struct buf out;
    struct jsonw w;
    call_answer_begin(call, &out, &w);
    put_text_block(&w, text, sizeof text - 1);
    call_answer_end(call, &out, &w, false);
}

static int reset_tool(struct mcp_call *call, const struct json *arguments, struct err *e)
{
    (void)arguments;
    /* All sessions share the MCP servers: only the one that was there first may stop them. */
    if (!*call->session_id || strcmp(call->session_id, SESSIONS_DEFAULT) == 0)
        toolplane_reset(call->mcp->config->toolplane);
    return session_reset(call->session, was_reset, call, &call->cell, e);
}

/* --- rewind --------------------------------------------------------------------------------- */

static const char rewind_json[] =
    "{\"name\":\"rewind\",\"title\":\"Undo cells\","
    "\"description\":\"Bring variables, imports and definitions of the IPython kernel back to what "
    "they were before the last cell, or the last few.\\n\\n"
    "Files, network traffic, shell commands and tool calls are not undone. A few cells are kept "
    "only; the error names how far it can go back.\\n\\n"
    "Returns which cells were undone, and what of them was not.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"cells\":{\"type\":\"integer\",\"title\":\"Cells\",\"default\":1,\"minimum\":1,"
    "\"description\":\"How many cells to undo\"}" TOOL_SESSION_HERE "}},"
    "\"annotations\":{\"title\":\"Undo cells\",\"readOnlyHint\":false,"
    "\"destructiveHint\":true,\"idempotentHint\":false,\"openWorldHint\":false}}";

struct tool_rewind { /* the work of a call */
    struct mcp_call *call;
    struct rewind *rewind;
    uint64_t cell, next_cell;
};

static void cancel_tool_rewind(void *ctx)
{
    struct tool_rewind *work = ctx;
    session_forget_rewind(work->rewind);
    xfree(work);
}

static void put_rewound(struct jsonw *w, const struct tool_rewind *work)
{
    const struct session *session = work->call->session;
    const struct session_call *made;
    drop_buf struct buf text = BUF_INIT(MCP_ANSWER_MAX);
    (void)buf_addf(&text,
                   "Variables, imports and definitions are as they were before cell %llu; cells up "
                   "to %llu were undone.\nNot undone:\n",
                   (unsigned long long)work->cell, (unsigned long long)work->next_cell - 1);
    for (const char *const *other = session_not_undone; *other; other++)
        (void)buf_addf(&text, "- %s\n", *other);
    for (size_t at = 0; (made = session_call_at(session, at)); at++)
        if (made->cell >= work->cell)
            (void)buf_addf(&text, "Cell %llu called the tool %s.\n", (unsigned long long)made->cell,
                           made->name);
    put_text_block(w, buf_text(&text), text.len - 1);
}

static void on_tool_rewound(void *ctx, const struct err *why)
{
    struct tool_rewind *work = ctx;
    struct mcp_call *call = work->call;
    struct buf out;
    struct jsonw w;
    call->work.cancel = NULL;
    if (why) {
        call_fail(call, "rewind", why->msg);
    } else {
        call_answer_begin(call, &out, &w);
        put_rewound(&w, work);
        call_answer_end(call, &out, &w, false);
    }
    xfree(work);
}

/* Those that were undone before do not count. */
static int find_cell_back(const struct session *session, double cells, uint64_t *ret, struct err *e)
{
    struct session_checkpoint point;
    size_t count = 0;
    while (session_checkpoint_at(session, count, &point))
        count++;
    if (cells < 1 || floor(cells) != cells)
        return err_set(e, -EINVAL, "cells: a whole number from 1 on is needed");
    if (cells > (double)count)
        return err_set(e, -ESTALE, "cells: %zu can be undone at most", count);
    (void)session_checkpoint_at(session, (size_t)cells - 1, &point);
    *ret = point.cell;
    return 0;
}

static int rewind_tool(struct mcp_call *call, const struct json *arguments, struct err *e)
{
    struct session *session = call->session;
    double cells = 0;
    uint64_t cell = 0;
    int r = tool_number(arguments, "cells", 1, &cells, e);
    if (r == 0)
        r = find_cell_back(session, cells, &cell, e);
    if (r < 0)
        return r;
    struct tool_rewind *work = NEW(struct tool_rewind);
    *work =
        (struct tool_rewind){.call = call, .cell = cell, .next_cell = session_next_cell(session)};
    r = session_rewind(session, cell, false, on_tool_rewound, work, &work->rewind, e);
    if (r < 0) {
        xfree(work);
        return r;
    }
    call->work = (struct call_work){cancel_tool_rewind, work};
    return 0;
}

/* --- the table ------------------------------------------------------------------------------ */

#define OPTION(member) offsetof(struct mcp_config, member)

static const struct tool {
    const char *name, *json;
    int (*start)(struct mcp_call *call, const struct json *arguments, struct err *e);
    size_t option; /* of mcp_config: the bool that offers it; 0: it always is */
} tools[] = {
    {"execute_ipython_cell", execute_json, execute_cell_tool, 0},
    {"install_package", install_json, install_package_tool, 0},
    {"register_mcp_server", register_json, register_server, 0},
    {"reset", reset_json, reset_tool, 0},
    {"search_tools", search_tools_json, search_tools_tool, OPTION(search_tool)},
    {"rewind", rewind_json, rewind_tool, OPTION(rewinds)},
    {"fork", fork_json, fork_tool, OPTION(forks)},
    {"end_session", end_session_json, end_session_tool, OPTION(forks)},
};

enum { TOOL_COUNT = sizeof tools / sizeof *tools };

static bool is_offered(const struct mcp_config *config, const struct tool *tool)
{
    return tool->option == 0 || *(const bool *)((const char *)config + tool->option);
}

static const struct tool *find_tool(const struct mcp_config *config, const char *name)
{
    for (size_t i = 0; i < TOOL_COUNT; i++) {
        if (is_offered(config, &tools[i]) && strcmp(tools[i].name, name) == 0)
            return &tools[i];
    }
    return NULL;
}

/* The registered servers where the text has SERVERS_HERE. Their names are identifiers, so this is
 * JSON as it stands. */
static void put_register_tool(struct jsonw *w, const struct mcp *mcp)
{
    const char *at = strstr(register_json, SERVERS_HERE);
    drop_buf struct buf text = BUF_INIT(MCP_ANSWER_MAX);
    drop_buf struct buf servers = BUF_INIT(MCP_ANSWER_MAX);
    put_registered_servers(&servers, mcp);
    (void)buf_add(&text, register_json, (size_t)(at - register_json));
    if (servers.len)
        (void)buf_addf(&text, "\\n\\nRegistered now: %s.", buf_text(&servers));
    (void)buf_adds(&text, at + 1);
    jsonw_raw(w, buf_text(&text));
}

/* There are several sessions, of which a call names one. */
static bool takes_names(const struct mcp_config *config)
{
    return config->shared || config->forks;
}

/* meta: more members, or "". */
static void put_tool(struct jsonw *w, const char *json, bool with_session, const char *meta)
{
    const char *at = strstr(json, TOOL_SESSION_HERE), *end = json + strlen(json) - 1;
    const char *rest = at ? at + 1 : json;
    const bool is_first = at && at[-1] == '{';
    with_session = with_session && at;
    drop_str char *text = xasprintf(
        "%.*s%s%s%.*s%s}", at ? (int)(at - json) : 0, json, with_session && !is_first ? "," : "",
        with_session ? session_json : "", (int)(end - rest), rest, meta);
    jsonw_raw(w, text);
}

void tools_put_list(struct jsonw *w, const struct mcp_request *r)
{
    static const char page[] = ",\"_meta\":{\"ui\":{\"resourceUri\":\"" APPS_CELL "\"}}";
    const struct mcp_config *config = r->mcp->config;
    const bool shows_apps = mcp_shows_apps(r);
    jsonw_array(w);
    for (size_t i = 0; i < TOOL_COUNT; i++) {
        if (!is_offered(config, &tools[i]))
            continue;
        if (tools[i].json == register_json)
            put_register_tool(w, r->mcp);
        else
            put_tool(w, tools[i].json, takes_names(config),
                     shows_apps && tools[i].json == execute_json ? page : "");
    }
    if (config->extension)
        config->extension->put_tools(w, r->era);
    jsonw_end(w);
}

bool tool_takes_session(const struct mcp_config *config, const char *name)
{
    const struct tool *tool = find_tool(config, name);
    return tool && strstr(tool->json, TOOL_SESSION_HERE);
}

bool tool_exists(const struct mcp_config *config, const char *name)
{
    return find_tool(config, name) != NULL;
}

void tool_call(struct mcp_call *call, const char *name, const struct json *arguments)
{
    struct err e = ERR_NONE;
    const struct tool *tool = find_tool(call->mcp->config, name);
    const bool named = strstr(tool->json, TOOL_SESSION_HERE) != NULL;
    int r = forks_find_session(call, named ? json_get(arguments, "session") : NULL, &e);
    if (r == 0)
        r = tool->start(call, arguments, &e);
    if (r < 0)
        call_fail(call, name, e.msg);
}
