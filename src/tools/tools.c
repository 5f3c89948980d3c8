/* SPDX-License-Identifier: Apache-2.0
 *
 * A server is in one of two places: `servers`, found by name, once it is registered; `others`
 * while its registration is under way (`job`) and after another has taken its name (`retired`).
 * Who completes a registration: finish_job(), once, from a deferred call, after on_tools_listed()
 * or fail_all(); tools_job_cancel() ends one without a word. What waits in the calls of the old
 * server moves to the new one; what it has been sent stays, and the old one ends with its last
 * call (on_emptied()).
 * Who completes a call: client/call.c, once. Here it is only decided what a list of calls meets:
 * calls_begin() when the server is ready, calls_fail() when its start has failed,
 * calls_fail_sent() when it died; those that were not sent yet then wait for the next start.
 * What may re-enter: `done` of a job and the events of calls may call any function of tools.h.
 * on_server_ended() and on_lost() may start the server again at once.
 * Thread:  the loop's; nothing blocks. */
#include "tools/tools.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/list.h"
#include "loop/gate.h"
#include "tools/client/client.h"
#include "tools/launch/launch.h"
#include "tools/transport/http_client.h"
#include "tools/transport/params.h"

struct registered_server {
    struct registered_server *next; /* in `others` */
    struct tools *tools;
    char *name, *params_text, *shown;
    struct json *params;
    enum era era;                 /* kept for the life of the registration */
    bool guessed;                 /* this start relies on it */
    struct server_client *client; /* NULL: it does not run */
    char *program, *cwd, *note;   /* of its last start, as in struct tools_server */
    bool secret;
    bool ready; /* calls can be sent */
    char *why;  /* its last start has failed; NULL: it has not */
    struct tool_list *list;
    struct call_list calls;
    struct gate gate;      /* of what it has logged, over all its starts */
    struct tools_job *job; /* being registered */
    bool retired;          /* no longer registered; ends with its last call */
};

struct tools_job {
    struct registered_server *server;
    void (*done)(void *ctx, const struct tools_server *server, const struct err *why);
    void *ctx;
    void (*text)(void *ctx, const char *text, size_t n);
    struct copy *copy; /* its package is being installed */
    struct err why;    /* code 0: well */
    struct loop_defer finish;
};

struct tools {
    struct tools_config config;
    struct http_client *http;
    struct registered_server *servers[TOOLS_SERVERS_MAX];
    size_t n_servers;
    struct registered_server *others; /* being registered, or retired */
    struct place_specs specs;
};

/* --- one server ------------------------------------------------------------------------------ */

static void free_server(struct registered_server *server)
{
    server->client = client_close(server->client);
    gate_done(&server->gate);
    calls_free(&server->calls);
    server->list = tool_list_free(server->list);
    (void)json_free(server->params);
    xfree(server->name);
    xfree(server->params_text);
    xfree(server->shown);
    xfree(server->program);
    xfree(server->cwd);
    xfree(server->note);
    xfree(server->why);
    xfree(server);
}

static void leave_others(struct registered_server *server)
{
    chain_remove(&server->tools->others, server);
}

static void enter_others(struct registered_server *server)
{
    server->next = server->tools->others;
    server->tools->others = server;
}

static void start_server(struct registered_server *server);

static void on_emptied(void *ctx)
{
    struct registered_server *server = ctx;
    if (!server->retired)
        return;
    leave_others(server);
    free_server(server);
}

static void finish_job(void *ctx);

/* Neither its registration nor a call gets anything from it. */
static void fail_all(struct registered_server *server, const struct err *why)
{
    xfree(server->why);
    server->why = xstrdup(why->msg);
    if (server->job) {
        server->job->why = *why;
        loop_defer(server->tools->config.loop, &server->job->finish, finish_job, server->job);
    }
    calls_fail(&server->calls, why);
}

/* A start that relied on what was known is tried again from the start of the ladder. */
static void on_server_ended(void *ctx, const struct err *why)
{
    struct registered_server *server = ctx;
    bool was_ready = server->ready;
    server->client = NULL;
    server->ready = false;
    if (!was_ready && server->guessed && why->code != -ETIMEDOUT) {
        server->era = ERA_UNKNOWN;
        start_server(server);
        return;
    }
    if (!was_ready || server->job) {
        fail_all(server, why);
        return;
    }
    calls_fail_sent(&server->calls, why);
    if (calls_any_waiting(&server->calls))
        start_server(server);
}

static void on_tools_listed(void *ctx, struct tool_list *list)
{
    struct registered_server *server = ctx;
    (void)tool_list_free(server->list);
    server->list = list;
    if (server->ready)
        return;
    server->ready = true;
    xfree(server->why);
    server->why = NULL;
    server->era = client_era(server->client);
    if (server->job)
        loop_defer(server->tools->config.loop, &server->job->finish, finish_job, server->job);
    calls_begin(&server->calls, client_peer(server->client), server->list);
}

static void keep_launch(struct registered_server *server, const struct server_launch *launch)
{
    xfree(server->program);
    xfree(server->cwd);
    xfree(server->note);
    server->program = xstrdup(launch->program);
    server->cwd = xstrdup(launch->cwd);
    server->note = xstrdup(launch->note);
    server->secret = launch->secret;
}

static int try_start(struct registered_server *server, struct err *e)
{
    static const struct client_events events = {.listed = on_tools_listed,
                                                .ended = on_server_ended};
    struct client_config config = {.tools = &server->tools->config,
                                   .name = server->name,
                                   .calls = &server->calls,
                                   .known = server->era,
                                   .http = server->tools->http,
                                   .gate = &server->gate,
                                   .specs = &server->tools->specs};
    server->ready = false;
    server->guessed = server->era == ERA_HANDSHAKE || server->era == ERA_SSE;
    int r = client_open(&config, server->params, &events, server, &server->client, e);
    if (r == 0)
        keep_launch(server, client_launch(server->client));
    return r;
}

static void start_server(struct registered_server *server)
{
    struct err why = ERR_NONE;
    if (try_start(server, &why) == 0)
        return;
    (void)err_wrap(&why, "the server %s could not be started", server->name);
    fail_all(server, &why);
}

/* Its session was over: the calls that were lost wait for the next one. */
static void on_lost(void *ctx)
{
    struct registered_server *server = ctx;
    struct err why = ERR_NONE;
    (void)err_set(&why, -ECONNRESET, "the server %s ended: its session is over", server->name);
    calls_fail_sent(&server->calls, &why);
    server->client = client_close(server->client);
    start_server(server);
}

static void stop(struct registered_server *server, const char *how)
{
    struct err why = ERR_NONE;
    (void)err_set(&why, -ECANCELED, "the server %s was %s", server->name, how);
    calls_fail(&server->calls, &why);
    server->client = client_close(server->client);
    server->ready = false;
}

static void on_left_out(void *ctx, const struct gate_loss *loss)
{
    const struct registered_server *server = ctx;
    drop_str char *line = xasprintf("%s: " GATE_TEXT, server->name, GATE_TEXT_OF(loss));
    if (server->tools->config.log)
        server->tools->config.log(LOG_WARNING, line);
}

static struct registered_server *new_server(struct tools *tools, const char *name,
                                            const struct json *params, struct err *e)
{
    drop_str char *text = json_print(params);
    struct json *tree = text ? json_parse_copy(text, strlen(text), JSON_STRICT, e) : NULL;
    if (!tree) {
        (void)err_set(e, -ENOMEM, "server_params: no memory");
        return NULL;
    }
    struct registered_server *server = NEW(struct registered_server);
    server->tools = tools;
    server->name = xstrdup(name);
    server->params_text = str_take(&text);
    server->shown = params_shown(tree);
    server->params = tree;
    gate_init(&server->gate, tools->config.loop, on_left_out, server);
    server->calls = (struct call_list){.lost = on_lost, .emptied = on_emptied, .ctx = server};
    return server;
}

/* --- the registry ---------------------------------------------------------------------------- */

static size_t find_index(const struct tools *tools, const char *name)
{
    size_t i = 0;
    while (i < tools->n_servers && strcmp(tools->servers[i]->name, name) != 0)
        i++;
    return i;
}

static struct registered_server *find_server(const struct tools *tools, const char *name)
{
    size_t i = find_index(tools, name);
    return i < tools->n_servers ? tools->servers[i] : NULL;
}

/* 0: no registered server has that name in another case. */
static int check_case(const struct tools *tools, const char *name, struct err *e)
{
    for (size_t i = 0; i < tools->n_servers; i++) {
        const char *other = tools->servers[i]->name;
        if (strcasecmp(other, name) == 0 && strcmp(other, name) != 0)
            return err_set(e, -EINVAL,
                           "server_name: %s differs only in case from the registered %s: their "
                           "packages would be one where files do not tell case apart; remove the "
                           "other, or take another name",
                           name, other);
    }
    return 0;
}

const char *tools_state_name(enum tools_state state)
{
    static const char *const names[] = {[TOOLS_STOPPED] = "stopped",
                                        [TOOLS_STARTING] = "starting",
                                        [TOOLS_RUNNING] = "running",
                                        [TOOLS_FAILED] = "failed"};
    return names[state];
}

static enum tools_state server_state_of(const struct registered_server *server)
{
    if (server->client)
        return server->ready ? TOOLS_RUNNING : TOOLS_STARTING;
    return server->why ? TOOLS_FAILED : TOOLS_STOPPED;
}

static struct tools_server view(const struct registered_server *server)
{
    enum tools_state state = server_state_of(server);
    return (struct tools_server){.name = server->name,
                                 .state = state,
                                 .why = state == TOOLS_FAILED ? server->why : NULL,
                                 .params = server->params_text,
                                 .shown = server->shown,
                                 .tools = server->list ? server->list->tools : NULL,
                                 .n_tools = server->list ? server->list->n : 0,
                                 .program = server->program,
                                 .cwd = server->cwd,
                                 .note = server->note,
                                 .secret = server->secret};
}

struct tool_list *tools_hold(const struct tools *tools, const char *name, struct tools_server *ret)
{
    const struct registered_server *server = find_server(tools, name);
    if (!server || !server->list)
        return NULL;
    *ret = view(server);
    tool_list_hold(server->list);
    return server->list;
}

void tools_release(struct tool_list *held)
{
    (void)tool_list_free(held);
}

bool tools_find(const struct tools *tools, const char *name, struct tools_server *ret)
{
    const struct registered_server *server = find_server(tools, name);
    if (server)
        *ret = view(server);
    return server != NULL;
}

bool tools_next(const struct tools *tools, size_t *at, struct tools_server *ret)
{
    if (*at >= tools->n_servers)
        return false;
    *ret = view(tools->servers[(*at)++]);
    return true;
}

bool tools_same_params(const struct tools *tools, const char *name, const struct json *params)
{
    const struct registered_server *server = find_server(tools, name);
    return server && params_same(server->params, params);
}

bool tools_equal_params(const struct json *a, const struct json *b)
{
    return params_same(a, b);
}

/* It ends when its last call has ended. */
static void retire(struct registered_server *server)
{
    server->retired = true;
    enter_others(server);
    if (!server->calls.first)
        on_emptied(server);
}

/* What waited for the old one is served by the new one. */
static void put_server_in_place(struct tools *tools, struct registered_server *server)
{
    size_t i = find_index(tools, server->name);
    struct registered_server *old = i < tools->n_servers ? tools->servers[i] : NULL;
    tools->servers[i] = server;
    if (!old) {
        tools->n_servers++;
        return;
    }
    calls_move_waiting(&old->calls, &server->calls);
    retire(old);
    calls_begin(&server->calls, client_peer(server->client), server->list);
}

char *tools_shown(const struct json *params)
{
    return params_shown(params);
}

int tools_check_params(const char *name, const struct json *params, struct err *e)
{
    int r = params_check_name(name, e);
    return r < 0 ? r : params_check(params, e);
}

static void finish_job(void *ctx)
{
    struct tools_job *job = ctx;
    struct registered_server *server = job->server;
    struct tools *tools = server->tools;
    leave_others(server);
    server->job = NULL;
    if (job->why.code == 0 && find_index(tools, server->name) == TOOLS_SERVERS_MAX)
        (void)err_set(&job->why, -ENOSPC, "more than %d servers", TOOLS_SERVERS_MAX);
    if (job->why.code == 0)
        (void)check_case(tools, server->name, &job->why);
    if (job->why.code) {
        free_server(server);
        job->done(job->ctx, NULL, &job->why);
    } else {
        put_server_in_place(tools, server);
        struct tools_server what = view(server);
        job->done(job->ctx, &what, NULL);
    }
    xfree(job);
}

static void drop_tools_job(struct registered_server *server)
{
    loop_defer_stop(server->tools->config.loop, &server->job->finish);
    server->job->copy = copy_stop(server->job->copy);
    xfree(server->job);
    server->job = NULL;
}

/* --- its own copy of a package ---------------------------------------------------------------- */

static void on_copy_text(void *ctx, const char *text, size_t n)
{
    struct registered_server *server = ctx;
    if (server->job->text)
        server->job->text(server->job->ctx, text, n);
}

static void on_copied(void *ctx, const struct err *why)
{
    struct registered_server *server = ctx;
    server->job->copy = NULL;
    if (why) {
        struct err e = *why;
        (void)err_wrap(&e, "the server %s could not be started", server->name);
        fail_all(server, &e);
    } else {
        start_server(server);
    }
}

/* Starts the server, or what has to be there before. */
static int begin_registration(struct registered_server *server, struct err *e)
{
    static const struct copy_events events = {.text = on_copy_text, .done = on_copied};
    struct tools *tools = server->tools;
    struct server_launch launch = {0};
    struct params params = {.kind = PARAMS_STDIO};
    int r = launch_make(&tools->config, &tools->specs, server->name, server->params, &launch,
                        &params, e);
    if (r < 0)
        return r;
    params_done(&params);
    r = launch.missing ? copy_start(&tools->config, &launch, &events, server, &server->job->copy, e)
                       : try_start(server, e);
    launch_done(&launch);
    return r;
}

void tools_job_listen(struct tools_job *job, void (*text)(void *ctx, const char *text, size_t n))
{
    job->text = text;
}

void tools_note_package(struct tools *tools, const char *spec)
{
    place_specs_add(tools->config.place, &tools->specs, spec);
}

int tools_register(struct tools *tools, const char *name, const struct json *params,
                   void (*done)(void *ctx, const struct tools_server *server,
                                const struct err *why),
                   void *ctx, struct tools_job **ret, struct err *e)
{
    int r = tools_check_params(name, params, e);
    if (r < 0)
        return r;
    r = check_case(tools, name, e);
    if (r < 0)
        return r;
    if (find_index(tools, name) == TOOLS_SERVERS_MAX)
        return err_set(e, -ENOSPC, "more than %d servers", TOOLS_SERVERS_MAX);
    struct registered_server *server = new_server(tools, name, params, e);
    if (!server)
        return -ENOMEM;
    struct tools_job *job = server->job = NEW(struct tools_job);
    job->server = server;
    job->done = done;
    job->ctx = ctx;
    r = begin_registration(server, e);
    if (r < 0) {
        drop_tools_job(server);
        free_server(server);
        return r;
    }
    enter_others(server);
    *ret = job;
    return 0;
}

void tools_job_cancel(struct tools_job *job)
{
    struct registered_server *server = job->server;
    drop_tools_job(server);
    leave_others(server);
    free_server(server);
}

void tools_remove(struct tools *tools, const char *name)
{
    size_t i = find_index(tools, name);
    if (i == tools->n_servers)
        return;
    struct registered_server *server = tools->servers[i];
    memmove(tools->servers + i, tools->servers + i + 1,
            (--tools->n_servers - i) * sizeof(struct registered_server *));
    stop(server, "removed");
    retire(server);
}

void tools_reset(struct tools *tools)
{
    for (size_t i = 0; i < tools->n_servers; i++)
        stop(tools->servers[i], "stopped by a reset");
    for (struct registered_server *server = tools->others; server; server = server->next) {
        if (server->retired)
            stop(server, "stopped by a reset");
    }
}

/* --- calls ----------------------------------------------------------------------------------- */

int tools_call_start(struct tools *tools, const char *server_name, const char *tool,
                     const char *arguments, const struct trace *trace,
                     const struct tools_call_events *events, void *ctx, struct tools_call **ret,
                     struct err *e)
{
    struct registered_server *server = find_server(tools, server_name);
    if (!server)
        return err_set(e, -ENOENT, "there is no MCP server \"%s\": register it first", server_name);
    int r = call_make(&server->calls, &tools->config, tool, arguments, trace, events, ctx, ret, e);
    if (r < 0)
        return r;
    if (server->ready)
        calls_begin(&server->calls, client_peer(server->client), server->list);
    else if (!server->client)
        start_server(server);
    return 0;
}

/* --- opening and closing --------------------------------------------------------------------- */

int tools_open(const struct tools_config *config, struct tools **ret, struct err *e)
{
    struct tools *tools = NEW(struct tools);
    tools->config = *config;
    int r = http_client_open(config->loop, config->ca_file, &tools->http, e);
    if (r < 0) {
        xfree(tools);
        return r;
    }
    place_specs_load(tools->config.place, &tools->specs);
    *ret = tools;
    return 0;
}

struct tools *tools_close(struct tools *tools)
{
    if (!tools)
        return NULL;
    for (size_t i = 0; i < tools->n_servers; i++)
        free_server(tools->servers[i]);
    while (tools->others) {
        struct registered_server *server = tools->others;
        tools->others = server->next;
        if (server->job)
            drop_tools_job(server);
        free_server(server);
    }
    tools->http = http_client_close(tools->http);
    place_specs_done(&tools->specs);
    xfree(tools);
    return NULL;
}
