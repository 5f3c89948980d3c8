/* SPDX-License-Identifier: Apache-2.0
 *
 * A call goes through three rooms: an approval, the registration of a server that an application
 * brings, and the call of the tool. At most one of them is under way (drop_work()).
 * Who completes a call: end_call(), once. It takes the call off the list and frees it, then tells
 * `done`, so that `done` may begin and cancel others. toolplane_call_cancel() ends it without an
 * event. An end that is found inside the caller's own toolplane_call() is told by the loop
 * (end_later()). Registrations are in toolplane_register.c. Loop's thread only. */
#include "approval/toolplane.h"

#include <stdio.h>
#include <string.h>

#include "approval/toolplane_internal.h"
#include "base/alloc.h"
#include "base/json/jsoncanon.h"
#include "base/json/jsonw.h"
#include "base/list.h"
#include "base/text/utf8.h"
#include "base/text/visible.h"

enum {
    ESCAPE_MAX = 6, /* bytes of a character in a string, at most */
    TOOL_SHOWN_MAX = 4096,
};

struct recall { /* a server of an earlier life is registered again */
    struct recall *next;
    struct toolplane *plane;
    struct toolplane_job *job;
    char *name;
};

struct toolplane_call {
    struct toolplane *plane;
    struct toolplane_call *prev, *next;
    bool approve_only;
    bool recalling; /* it waits for the recall of its server */
    bool waiting;   /* … for a registration that was under way when it came */
    bool await_only;
    struct request_context origin;
    char *session, *server, *tool, *arguments;
    char *digest;        /* of the tool that the human was asked about; NULL: none was known */
    struct json *params; /* of a server that is not registered yet, else NULL */
    struct approval *approval;
    struct toolplane_job *registration;
    struct tools_call *call;
    struct toolplane_provider *provider; /* has it, and will answer; NULL: no one */
    struct approval *question;           /* the server asks something */
    uint64_t question_key;
    uint64_t number;
    double progress, total; /* the newest */
    char *message;
    bool untold; /* it was too early for it */
    struct loop_timer pace;
    struct loop_defer late; /* an end that was found inside the caller's call */
    enum toolplane_failure failure;
    char *why;
    int64_t begun_ms;
    const struct toolplane_events *events;
    void *ctx;
};

struct toolplane *toolplane_open(const struct toolplane_config *config)
{
    struct toolplane *plane = NEW(struct toolplane);
    plane->config = *config;
    plane->generations = generations_open(config->loop, config->tools, config->packages_dir);
    return plane;
}

static void drop_recall(struct recall *recall)
{
    chain_remove(&recall->plane->recalls, recall);
    xfree(recall->name);
    xfree(recall);
}

struct toolplane *toolplane_close(struct toolplane *plane)
{
    if (!plane)
        return NULL;
    while (plane->calls)
        toolplane_call_cancel(plane->calls);
    while (plane->jobs)
        toolplane_job_cancel(plane->jobs);
    while (plane->recalls)
        drop_recall(plane->recalls);
    while (plane->failures)
        toolplane_forget_failure(plane, plane->failures->name);
    plane->generations = generations_close(plane->generations);
    xfree(plane);
    return NULL;
}

/* --- the end of a call ----------------------------------------------------------------------- */

static void drop_work(struct toolplane_call *call)
{
    if (call->approval)
        approval_withdraw(call->approval);
    if (call->question)
        approval_withdraw(call->question);
    if (call->registration)
        toolplane_job_cancel(call->registration);
    if (call->call)
        tools_call_cancel(call->call);
    if (call->provider)
        call->provider->cancelled(call->provider->ctx, call);
    loop_defer_stop(call->plane->config.loop, &call->late);
    loop_timer_stop(call->plane->config.loop, &call->pace);
}

static void notify_called(const struct toolplane_call *call, const char *outcome)
{
    const struct toolplane_config *c = &call->plane->config;
    struct audit_event event = {.kind = AUDIT_TOOL_CALL,
                                .request_id = call->origin.request_id,
                                .trace_id = call->origin.trace.id,
                                .session = call->session,
                                .server = call->server,
                                .tool = call->tool,
                                .outcome = outcome,
                                .timed = true,
                                .ms = loop_now(c->loop) - call->begun_ms};
    if (!call->approve_only && !call->await_only) /* the approval was told itself */
        (void)audit_add(c->audit, &event);
}

void toolplane_call_cancel(struct toolplane_call *call)
{
    if (call->events)
        notify_called(call, "cancelled");
    drop_work(call);
    list_remove(&call->plane->calls, call);
    (void)json_free(call->params);
    xfree(call->session);
    xfree(call->server);
    xfree(call->tool);
    xfree(call->arguments);
    xfree(call->digest);
    xfree(call->why);
    xfree(call->message);
    xfree(call);
}

static void notify_progress(struct toolplane_call *call)
{
    const struct toolplane_progress p = {.session = call->session,
                                         .server = call->server,
                                         .tool = call->tool,
                                         .call = call->number,
                                         .progress = call->progress,
                                         .total = call->total,
                                         .message = call->message};
    call->untold = false;
    if (call->plane->watch)
        call->plane->watch(call->plane->watch_ctx, &p);
}

static void end_call(struct toolplane_call *call, enum toolplane_failure failure,
                     const struct tools_result *result, const char *why)
{
    const struct toolplane_events *events = call->events;
    void *ctx = call->ctx;
    drop_str char *text = xstrdup(why);
    static const char *const outcomes[] = {[TOOLPLANE_OK] = "ok",
                                           [TOOLPLANE_ERROR] = "error",
                                           [TOOLPLANE_REJECTED] = "rejected",
                                           [TOOLPLANE_TIMEOUT] = "expired"};
    if (call->untold)
        notify_progress(call);
    notify_called(call, outcomes[failure]);
    if (call->plane->config.metrics && !call->approve_only && !call->await_only)
        call->plane->config.metrics->calls[failure]++;
    call->call = NULL; /* its own end led here, or it never was */
    call->events = NULL;
    toolplane_call_cancel(call);
    events->done(ctx, failure, result, text);
}

static void end_deferred(void *ctx)
{
    struct toolplane_call *call = ctx;
    drop_str char *why = str_take(&call->why);
    end_call(call, call->failure, NULL, why);
}

static void end_later(struct toolplane_call *call, enum toolplane_failure failure, const char *why)
{
    call->failure = failure;
    call->why = xstrdup(why);
    loop_defer(call->plane->config.loop, &call->late, end_deferred, call);
}

/* --- calls ----------------------------------------------------------------------------------- */

static void on_call_answered(void *ctx, const char *answer)
{
    struct toolplane_call *call = ctx;
    call->question = NULL;
    tools_call_answer(call->call, call->question_key, answer);
}

/* The server wants to know something of the human at the other end. */
static void on_call_input(void *ctx, uint64_t key, const struct json *params)
{
    struct toolplane_call *call = ctx;
    struct tools_server server = {.shown = ""};
    drop_str char *form = json_print(params);
    (void)tools_find(call->plane->config.tools, call->server, &server);
    struct approval_question question = {
        .session = call->session, .server = call->server, .shown = server.shown, .form = form};
    call->question_key = key;
    if (!form || approvals_elicit(call->plane->config.approvals, &question, on_call_answered, call,
                                  &call->question, NULL) < 0)
        tools_call_answer(call->call, key, "{\"action\":\"decline\"}");
}

static void on_pace(void *ctx)
{
    struct toolplane_call *call = ctx;
    if (!call->untold)
        return;
    notify_progress(call);
    loop_timer_set(call->plane->config.loop, &call->pace, TOOLPLANE_PROGRESS_MS, on_pace, call);
}

/* A server may say much more than anybody reads. */
static void on_call_progress(void *ctx, double progress, double total, const char *message)
{
    struct toolplane_call *call = ctx;
    call->progress = progress;
    call->total = total;
    xfree(call->message);
    call->message =
        xstrndup(message, utf8_offset(message, strlen(message), TOOLPLANE_PROGRESS_CHARS));
    call->untold = true;
    if (!call->pace.armed)
        on_pace(call);
}

void toolplane_watch(struct toolplane *plane,
                     void (*fn)(void *ctx, const struct toolplane_progress *p), void *ctx)
{
    plane->watch = fn;
    plane->watch_ctx = ctx;
}

/* The text blocks, joined by line breaks. */
static void join_texts(struct buf *out, const struct tools_result *result)
{
    bool more = false;
    for (const struct json *block = json_first(result->content); block; block = json_next(block)) {
        const char *type = json_get_text(block, "type");
        const char *text = json_get_text(block, "text");
        if (!type || strcmp(type, "text") != 0 || !text)
            continue;
        if (more)
            (void)buf_addc(out, '\n');
        (void)buf_adds(out, text);
        more = true;
    }
}

static void on_called(void *ctx, const struct tools_result *result, const struct err *why)
{
    struct toolplane_call *call = ctx;
    if (!result)
        end_call(call, TOOLPLANE_ERROR, NULL, why->msg);
    else if (!result->is_error)
        end_call(call, TOOLPLANE_OK, result, "");
    else {
        drop_buf struct buf text = BUF_INIT(TOOLPLANE_TEXT_MAX);
        join_texts(&text, result);
        end_call(call, TOOLPLANE_ERROR, NULL, text.failed ? "the tool failed" : buf_text(&text));
    }
}

static void start_call(struct toolplane_call *call)
{
    const struct toolplane *plane = call->plane;
    const struct tools_call_events events = {.progress = plane->watch ? on_call_progress : NULL,
                                             .input = on_call_input,
                                             .done = on_called};
    struct err e = ERR_NONE;
    if (plane->config.made)
        plane->config.made(plane->config.ctx, call->session, call->server, call->tool);
    if (tools_call_start(plane->config.tools, call->server, call->tool, call->arguments,
                         &call->origin.trace, &events, call, &call->call, &e) < 0)
        end_later(call, TOOLPLANE_ERROR, e.msg);
}

static bool is_listed_tool(const struct tools_server *server, const char *tool)
{
    for (size_t i = 0; i < server->n_tools; i++)
        if (strcmp(server->tools[i].name, tool) == 0)
            return true;
    return false;
}

/* Before any rule is looked at and anybody is asked: a name is what these go by. */
static int need_listed(const struct toolplane_call *call, const struct tools_server *server,
                       struct err *e)
{
    drop_buf struct buf shown = BUF_INIT(TOOL_SHOWN_MAX);
    if (is_listed_tool(server, call->tool))
        return 0;
    visible_put_text(&shown, call->tool);
    return err_set(e, -ENOENT, "the MCP server %s lists no tool \"%.100s\"", call->server,
                   buf_text(&shown));
}

/* An application brought the server along. */
static void on_brought(void *ctx, char *const *modules, size_t n, const struct err *why)
{
    struct toolplane_call *call = ctx;
    struct tools_server server;
    struct err e = ERR_NONE;
    (void)modules, (void)n;
    call->registration = NULL;
    if (!why && tools_find(call->plane->config.tools, call->server, &server) &&
        need_listed(call, &server, &e) < 0)
        why = &e;
    if (why)
        end_call(call, TOOLPLANE_ERROR, NULL, why->msg);
    else
        start_call(call);
}

static const char *digest_of(const struct tools_server *server, const char *tool)
{
    for (size_t i = 0; i < server->n_tools; i++)
        if (strcmp(server->tools[i].name, tool) == 0)
            return server->tools[i].digest;
    return "";
}

static int ask_about(struct toolplane_call *call, const struct tools_server *server, struct err *e);

static void go_on_with_call(struct toolplane_call *call)
{
    struct err e = ERR_NONE;
    struct tools_server server;
    bool found = tools_find(call->plane->config.tools, call->server, &server);
    if (found && need_listed(call, &server, &e) < 0) {
        end_later(call, TOOLPLANE_ERROR, e.msg);
        return;
    }
    if (found && call->digest && strcmp(call->digest, digest_of(&server, call->tool)) != 0) {
        if (ask_about(call, &server, &e) < 0) /* it is another tool by now */
            end_later(call, TOOLPLANE_ERROR, e.msg);
        return;
    }
    if (call->approve_only) {
        end_later(call, TOOLPLANE_OK, "");
    } else if (!call->params || found) {
        start_call(call); /* two calls may have brought it, one after the other */
    } else {
        const char *before = log_set_request(call->origin.request_id); /* not the approver's */
        const struct toolplane_job how = {.generate = true, .done = on_brought, .ctx = call};
        if (toolplane_start_job(call->plane, call->server, call->params, how, &call->registration,
                                &e) < 0)
            end_later(call, TOOLPLANE_ERROR, e.msg);
        (void)log_set_request(before);
    }
}

static void on_decided(void *ctx, enum approval_verdict verdict, const char *why)
{
    struct toolplane_call *call = ctx;
    call->approval = NULL;
    if (verdict == APPROVAL_ACCEPTED) {
        go_on_with_call(call);
        return;
    }
    static const enum toolplane_failure failures[] = {[APPROVAL_REJECTED] = TOOLPLANE_REJECTED,
                                                      [APPROVAL_EXPIRED] = TOOLPLANE_TIMEOUT,
                                                      [APPROVAL_FAILED] = TOOLPLANE_ERROR};
    static const char *const words[] = {[APPROVAL_REJECTED] = "rejected",
                                        [APPROVAL_EXPIRED] = "expired",
                                        [APPROVAL_FAILED] = "failed: "};
    drop_str char *text = xasprintf("Approval request for %s.%s %s%s", call->server, call->tool,
                                    words[verdict], verdict == APPROVAL_FAILED ? why : "");
    end_call(call, failures[verdict], NULL, text);
}

static int ask_for_call(struct toolplane_call *call, const char *shown, const char *digest,
                        struct err *e)
{
    struct approval_subject subject = {.session = call->session,
                                       .server = call->server,
                                       .shown = shown,
                                       .tool = call->tool,
                                       .arguments = call->arguments,
                                       .digest = digest,
                                       .request_id = call->origin.request_id};
    return approvals_ask(call->plane->config.approvals, &subject, on_decided, call, &call->approval,
                         e);
}

static int ask_about(struct toolplane_call *call, const struct tools_server *server, struct err *e)
{
    xfree(call->digest);
    call->digest = xstrdup(digest_of(server, call->tool));
    return ask_for_call(call, server->shown, call->digest, e);
}

/* A kernel is believed in nothing: its calls belong to the cell that runs in its session. */
static void find_call_context(struct toolplane_call *call, const struct toolplane_request *request)
{
    const struct toolplane_config *c = &call->plane->config;
    const struct request_context *origin = request->origin;
    if (request->role == TOOLPLANE_KERNEL)
        origin = c->origin ? c->origin(c->ctx, request->session) : NULL;
    if (origin)
        call->origin = *origin;
}

static struct toolplane_call *new_call(struct toolplane *plane,
                                       const struct toolplane_request *request,
                                       const struct toolplane_events *events, void *ctx)
{
    struct toolplane_call *call = NEW(struct toolplane_call);
    *call = (struct toolplane_call){.plane = plane,
                                    .session = xstrdup(request->session),
                                    .server = xstrdup(request->server),
                                    .tool = xstrdup(request->tool),
                                    .arguments = xstrdup(request->arguments),
                                    .number = ++plane->numbers,
                                    .begun_ms = loop_now(plane->config.loop),
                                    .events = events,
                                    .ctx = ctx};
    find_call_context(call, request);
    list_push(&plane->calls, call);
    return call;
}

/* --- servers of an earlier life --------------------------------------------------------------- */

static void go_on_recalled(struct toolplane_call *call)
{
    struct tools_server server;
    struct err e = ERR_NONE;
    int r = tools_find(call->plane->config.tools, call->server, &server)
                ? need_listed(call, &server, &e)
                : err_set(&e, -ENOENT, "the MCP server %s was removed meanwhile", call->server);
    if (r == 0)
        r = ask_about(call, &server, &e);
    if (r < 0)
        end_call(call, TOOLPLANE_ERROR, NULL, e.msg);
}

/* The end of a call may end others, so the list is looked at from its begin. */
static void on_recalled(void *ctx, char *const *modules, size_t n, const struct err *why)
{
    struct recall *recall = ctx;
    struct toolplane *plane = recall->plane;
    drop_str char *name = str_take(&recall->name);
    (void)modules, (void)n;
    drop_recall(recall);
    for (struct toolplane_call *call = plane->calls; call;) {
        if (!call->recalling || strcmp(call->server, name) != 0) {
            call = call->next;
            continue;
        }
        call->recalling = false;
        if (why)
            end_call(call, TOOLPLANE_ERROR, NULL, why->msg);
        else
            go_on_recalled(call);
        call = plane->calls;
    }
}

static struct recall *find_recall(const struct toolplane *plane, const char *name)
{
    struct recall *recall = plane->recalls;
    while (recall && strcmp(recall->name, name) != 0)
        recall = recall->next;
    return recall;
}

static int start_recall(struct toolplane_call *call, const struct json *params, struct err *e)
{
    struct toolplane *plane = call->plane;
    struct recall *recall = NEW(struct recall);
    *recall =
        (struct recall){.next = plane->recalls, .plane = plane, .name = xstrdup(call->server)};
    plane->recalls = recall;
    const struct toolplane_job how = {.done = on_recalled, .ctx = recall};
    int r = toolplane_start_job(plane, call->server, params, how, &recall->job, e);
    if (r < 0)
        drop_recall(recall);
    call->recalling = r == 0;
    return r;
}

static void on_recall_answered(void *ctx, const char *answer)
{
    struct toolplane_call *call = ctx;
    struct err e = ERR_NONE;
    drop_json struct json *params = call->params;
    drop_json struct json *said = json_parse_copy(answer, strlen(answer), JSON_REPAIR, NULL);
    const char *action = json_get_text(said, "action");
    call->params = NULL;
    call->question = NULL;
    call->recalling = find_recall(call->plane, call->server) != NULL;
    if (!action || strcmp(action, "accept") != 0)
        (void)err_set(&e, -EPERM,
                      "the MCP server %s was registered before this start, and code could have "
                      "changed its parameters since: approve it (in the client, or with `ipybox "
                      "approve`), or register it with register_mcp_server or --mcp-servers",
                      call->server);
    else if (!call->recalling)
        (void)start_recall(call, params, &e);
    if (!e.code)
        return;
    call->recalling = false;
    end_call(call, TOOLPLANE_ERROR, NULL, e.msg);
}

/* Takes the parameters. */
static int ask_for_recall(struct toolplane_call *call, struct json *params, struct err *e)
{
    drop_str char *shown = tools_shown(params);
    drop_str char *message = xasprintf(
        "Code calls the MCP server %s, which was registered before this start, where code "
        "can change that. Start it with these parameters? %s",
        call->server, shown);
    drop_buf struct buf form = BUF_INIT(TOOLPLANE_TEXT_MAX);
    struct jsonw w = JSONW(&form);
    jsonw_object(&w);
    jsonw_set_text(&w, "message", message);
    jsonw_set_raw(&w, "requestedSchema", "{\"type\":\"object\",\"properties\":{}}");
    jsonw_end(&w);
    struct approval_question question = {
        .session = call->session, .server = call->server, .shown = shown, .form = buf_text(&form)};
    call->params = params;
    return approvals_elicit(call->plane->config.approvals, &question, on_recall_answered, call,
                            &call->question, e);
}

/* 1: it is not remembered. 0: the call waits for its server. */
static int recall_server(struct toolplane_call *call, const struct toolplane_request *request,
                         struct err *e)
{
    const struct remembered *all = call->plane->config.remembered;
    drop_json struct json *params = NULL;
    bool ask = false;
    if (!all || remembered_read(all, call->server, &params, &ask, NULL) < 0 ||
        tools_check_params(call->server, params, NULL) < 0)
        return 1;
    if (request->params && !tools_equal_params(params, request->params))
        return err_set(
            e, -EPERM,
            "the MCP server %s was registered with other parameters; only a registration "
            "can replace them",
            call->server);
    if (find_recall(call->plane, call->server)) {
        call->recalling = true;
        return 0;
    }
    if (!ask)
        return start_recall(call, params, e);
    struct json *taken = params;
    params = NULL;
    return ask_for_recall(call, taken, e);
}

void toolplane_started(struct toolplane *plane, const char *name, const struct err *why)
{
    for (struct toolplane_call *call = plane->calls; call;) {
        struct toolplane_call *next = call->next;
        bool waited = call->waiting && strcmp(call->server, name) == 0;
        call->waiting &= !waited;
        if (waited && (why || call->await_only))
            end_later(call, why ? TOOLPLANE_ERROR : TOOLPLANE_OK, why ? why->msg : "");
        else if (waited)
            go_on_recalled(call);
        call = waited && !why ? plane->calls : next; /* going on may end this one, and others */
    }
}

/* A server that is not registered: only an application may bring it, and only in full view. */
static int ask_for_unknown(struct toolplane_call *call, const struct toolplane_request *request,
                           struct err *e)
{
    const char *why = toolplane_failure_of(call->plane, call->server);
    if (why && !request->params)
        return err_set(e, -ENOENT, "the MCP server %s is not registered: %s", call->server, why);
    if (request->role == TOOLPLANE_KERNEL)
        return err_set(e, -ENOENT,
                       "the MCP server %s is not registered: register it with register_mcp_server "
                       "or --mcp-servers",
                       call->server);
    if (!request->params)
        return err_set(e, -ENOENT,
                       "the MCP server %s is not registered, and server_params are missing",
                       call->server);
    int r = tools_check_params(call->server, request->params, e);
    if (r < 0)
        return r;
    drop_str char *shown = tools_shown(request->params);
    drop_str char *params = json_print(request->params);
    call->params = params ? json_parse_copy(params, strlen(params), JSON_STRICT, e) : NULL;
    return call->params ? ask_for_call(call, shown, "", e) : -ENOMEM;
}

/* Approval alone, of what no server does: shell commands. Code may not make up other names. */
static int ask_for_own(struct toolplane_call *call, const struct toolplane_request *request,
                       struct err *e)
{
    bool shell = strcmp(call->server, TOOLPLANE_OWN) == 0;
    if (request->role == TOOLPLANE_KERNEL && !shell)
        return err_set(e, -ENOENT, "the MCP server %s is not registered", call->server);
    return ask_for_call(call, shell ? "the code itself" : "not registered", "", e);
}

/* What a human is shown is what is sent, in one spelling. */
static int spell_arguments(struct toolplane_call *call, struct err *e)
{
    size_t n = strlen(call->arguments);
    drop_buf struct buf text = BUF_INIT(ESCAPE_MAX * n + 1);
    int r = jsoncanon(call->arguments, n, &text, e);
    if (r == -ENOMEM || r == -EMSGSIZE)
        return r;
    if (r < 0 || *buf_text(&text) != '{')
        return err_set(e, -EINVAL, "the arguments of a tool: %s", r < 0 ? e->msg : "no object");
    xfree(call->arguments);
    call->arguments = buf_take(&text);
    return 0;
}

static int begin_plane_call(struct toolplane_call *call, const struct toolplane_request *request,
                            struct err *e)
{
    struct tools *tools = call->plane->config.tools;
    struct tools_server server;
    bool found = tools_find(tools, call->server, &server);
    int r = spell_arguments(call, e);
    if (r < 0)
        return r;
    if (!found && !request->params && !find_recall(call->plane, call->server) &&
        toolplane_find_job(call->plane, call->server)) {
        call->waiting = true;
        return 0;
    }
    if (!found && (r = recall_server(call, request, e)) <= 0)
        return r;
    if (call->approve_only && !found)
        return ask_for_own(call, request, e);
    if (!found)
        return ask_for_unknown(call, request, e);
    if (request->params && !tools_same_params(tools, call->server, request->params))
        return err_set(e, -EPERM,
                       "the MCP server %s is registered with other parameters; only a registration "
                       "can replace them",
                       call->server);
    r = need_listed(call, &server, e);
    return r < 0 ? r : ask_about(call, &server, e);
}

/* --- calls that the session's own client answers ---------------------------------------------- */

void toolplane_provide(struct toolplane *plane, struct toolplane_provider *provider)
{
    list_push(&plane->providers, provider);
}

void toolplane_unprovide(struct toolplane *plane, struct toolplane_provider *provider)
{
    list_remove(&plane->providers, provider);
    for (struct toolplane_call *call = plane->calls; call; call = call->next) {
        if (call->provider == provider)
            end_later(call, TOOLPLANE_ERROR, "nobody answers the call any more");
        call->provider = call->provider == provider ? NULL : call->provider;
    }
}

void toolplane_answer(struct toolplane_call *call, const char *result, const char *why)
{
    drop_json struct json *parsed =
        result ? json_parse_copy(result, strlen(result), JSON_STRICT, NULL) : NULL;
    const struct tools_result told = {.structured = parsed, .structured_text = result};
    call->provider = NULL;
    if (parsed)
        end_call(call, TOOLPLANE_OK, &told, "");
    else
        end_call(call, TOOLPLANE_ERROR, NULL, why);
}

static struct toolplane_provider *find_provider(const struct toolplane *plane,
                                                const struct toolplane_request *request)
{
    struct toolplane_provider *p = plane->providers;
    while (p &&
           (strcmp(p->session, request->session) != 0 || strcmp(p->server, request->server) != 0))
        p = p->next;
    return request->role == TOOLPLANE_KERNEL ? p : NULL;
}

static int hand_to_provider(struct toolplane_call *call, struct toolplane_provider *provider,
                            struct err *e)
{
    int r = spell_arguments(call, e);
    call->provider = r < 0 ? NULL : provider;
    if (r == 0)
        provider->called(provider->ctx, call, call->tool, call->arguments);
    return r;
}

static int open_call(struct toolplane *plane, const struct toolplane_request *request,
                     bool approve_only, const struct toolplane_events *events, void *ctx,
                     struct toolplane_call **ret, struct err *e)
{
    int r = audit_check(plane->config.audit, e);
    if (r < 0)
        return r;
    struct toolplane_call *call = new_call(plane, request, events, ctx);
    struct toolplane_provider *provider = approve_only ? NULL : find_provider(plane, request);
    call->approve_only = approve_only;
    r = provider ? hand_to_provider(call, provider, e) : begin_plane_call(call, request, e);
    if (r == 0) {
        *ret = call;
        return 0;
    }
    notify_called(call, "refused");
    call->events = NULL;
    toolplane_call_cancel(call);
    return r;
}

int toolplane_call(struct toolplane *plane, const struct toolplane_request *request,
                   const struct toolplane_events *events, void *ctx, struct toolplane_call **ret,
                   struct err *e)
{
    return open_call(plane, request, false, events, ctx, ret, e);
}

int toolplane_approve(struct toolplane *plane, const struct toolplane_request *request,
                      const struct toolplane_events *events, void *ctx, struct toolplane_call **ret,
                      struct err *e)
{
    return open_call(plane, request, true, events, ctx, ret, e);
}

int toolplane_await(struct toolplane *plane, const struct toolplane_request *request,
                    const struct toolplane_events *events, void *ctx, struct toolplane_call **ret,
                    struct err *e)
{
    (void)e;
    const char *why = toolplane_failure_of(plane, request->server);
    struct toolplane_call *call = new_call(plane, request, events, ctx);
    call->await_only = true;
    call->waiting = toolplane_find_job(plane, request->server) != NULL;
    if (!call->waiting)
        end_later(call, why ? TOOLPLANE_ERROR : TOOLPLANE_OK, why ? why : "");
    *ret = call;
    return 0;
}

/* --- results --------------------------------------------------------------------------------- */

/* As a program would see it: an empty object, list or text is as good as none. */
static bool says_something(const struct json *value)
{
    const char *text = json_text(value);
    if (json_is_object(value) || json_is_array(value))
        return json_count(value) > 0;
    if (json_is_number(value))
        return json_number(value) < 0 || json_number(value) > 0;
    return text ? *text != '\0' : json_true(value);
}

void toolplane_put_result(struct jsonw *w, const struct tools_result *result)
{
    drop_buf struct buf text = BUF_INIT(TOOLPLANE_TEXT_MAX);
    if (says_something(result->structured)) {
        jsonw_raw(w, result->structured_text);
        return;
    }
    join_texts(&text, result);
    if (text.len > 0)
        jsonw_text_n(w, text.data, text.len);
    else
        jsonw_null(w);
}

void toolplane_put_content(struct jsonw *w, const struct tools_result *result)
{
    bool all_text = true;
    for (const struct json *block = json_first(result->content); block; block = json_next(block)) {
        const char *type = json_get_text(block, "type");
        all_text = all_text && type && strcmp(type, "text") == 0;
    }
    drop_str char *content = all_text ? NULL : json_print(result->content);
    if (content)
        jsonw_set_raw(w, "content", content);
}
