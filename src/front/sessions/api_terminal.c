/* SPDX-License-Identifier: Apache-2.0
 *
 * /v1/sessions/{id}/terminal: a shell in the session for an administrator, over a WebSocket. It is
 * a command of the session (session/commands/commands.h): its sandbox, its user, its budget.
 * Binary:  what is typed, and what it writes.
 * Text:    {"columns", "rows"} from the client; {"exit": {…}} to it, at the end.
 * Ends:    with its shell or its session; with its socket it is killed, and all that it started. */
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "front/api.h"
#include "front/api/api_json.h"
#include "front/http/http_head.h"
#include "front/sessions/api_session.h"
#include "session/commands/commands.h"

#define TERMINAL_PROGRAM "/bin/bash"
#define TERMINAL_ENVIRONMENT "{\"TERM\":\"xterm-256color\"}"

enum {
    TYPED_MAX = 64 << 10,
    HELD_MAX = 8 << 20,
    HELD_KEPT = 256 << 10,
    COLUMNS = 80,
    ROWS = 24,
    CELLS_MAX = 1000
};

struct terminal {
    struct terminal *prev, *next;
    struct api_session *api_session;
    struct ws *ws;
    struct command_reader reader;
    struct buf held; /* what the client did not take yet */
};

static void free_terminal(struct terminal *t)
{
    struct command *command = t->reader.command;
    command_unfollow(&t->reader);
    if (command)
        (void)!command_kill(command, true); /* it may have ended */
    list_remove(&t->api_session->terminals, t);
    t->api_session->terminal_count--;
    buf_done(&t->held);
    xfree(t);
}

static void close_terminal(struct terminal *t, enum ws_code code, const char *reason)
{
    ws_close(t->ws, code, reason);
    free_terminal(t);
}

/* --- of the command --------------------------------------------------------------------------- */

/* False: the client is slow. */
static bool flush_terminal(struct terminal *t)
{
    if (t->held.failed)
        return false;
    if (t->held.len > 0 && ws_send(t->ws, false, t->held.data, t->held.len, NULL) == -EAGAIN)
        return false;
    buf_reuse(&t->held, HELD_KEPT);
    return true;
}

static void on_terminal_started(void *ctx, pid_t pid)
{
    (void)ctx, (void)pid;
}

static bool on_terminal_output(void *ctx, enum command_stream stream, const char *bytes, size_t n)
{
    struct terminal *t = ctx;
    (void)stream;
    (void)buf_add(&t->held, bytes, n);
    return flush_terminal(t);
}

static void on_terminal_ended(void *ctx, const struct command_end *end)
{
    struct terminal *t = ctx;
    drop_buf struct buf text = BUF_INIT(4096);
    struct jsonw w = JSONW(&text);
    jsonw_object(&w);
    jsonw_set_object(&w, "exit");
    if (end->signal)
        jsonw_set_int(&w, "signal", end->signal);
    else
        jsonw_set_int(&w, "code", end->code);
    if (end->limit || end->why)
        jsonw_set_text(&w, "reason", end->limit ? end->limit : end->why);
    jsonw_end(&w);
    jsonw_end(&w);
    ws_limit(t->ws, TYPED_MAX, SIZE_MAX); /* the last words are taken however much waits */
    (void)flush_terminal(t);
    (void)!ws_send(t->ws, true, text.data, text.len, NULL);
    close_terminal(t, WS_NORMAL, "the program has ended");
}

/* --- of the client ---------------------------------------------------------------------------- */

static bool read_side(const struct json *size, const char *name, unsigned short *ret)
{
    const double n = json_number(json_get(size, name));
    *ret = n >= 1 && n <= CELLS_MAX ? (unsigned short)n : 0;
    return *ret > 0;
}

static void resize_terminal(struct terminal *t, const char *data, size_t n)
{
    unsigned short columns, rows;
    drop_json struct json *size = json_parse_copy(data, n, JSON_REQUEST, NULL);
    if (!read_side(size, "columns", &columns) || !read_side(size, "rows", &rows))
        close_terminal(t, WS_POLICY, "a text is {\"columns\", \"rows\"}, 1 to 1000 each");
    else if (t->reader.command)
        (void)!command_resize(t->reader.command, columns, rows); /* it may have ended */
}

static void on_terminal_message(void *ctx, bool text, char *data, size_t n)
{
    struct terminal *t = ctx;
    if (text)
        resize_terminal(t, data, n);
    else if (t->reader.command && command_type(t->reader.command, data, n) == -EAGAIN)
        close_terminal(t, WS_POLICY, "the program does not read what is typed");
}

static void on_terminal_writable(void *ctx)
{
    struct terminal *t = ctx;
    if (flush_terminal(t))
        command_continue(&t->reader);
}

static void on_terminal_closed(void *ctx, int code, const char *reason)
{
    (void)code, (void)reason;
    free_terminal(ctx);
}

/* --- opening and ending ----------------------------------------------------------------------- */

static int start_shell(struct terminal *t, struct commands *commands, struct err *e)
{
    static const struct command_events events = {on_terminal_started, on_terminal_output,
                                                 on_terminal_ended};
    static const char environment[] = TERMINAL_ENVIRONMENT;
    drop_json struct json *envs =
        json_parse_copy(environment, sizeof environment - 1, JSON_STRICT, e);
    const struct command_spec spec = {.program = TERMINAL_PROGRAM,
                                      .envs = envs,
                                      .input = true,
                                      .terminal = true,
                                      .columns = COLUMNS,
                                      .rows = ROWS};
    return command_start(commands, &spec, &events, t, &t->reader, e);
}

static void open_session_terminal(struct api_session *session, struct commands *commands,
                                  struct http_request *r)
{
    static const struct ws_events events = {.message = on_terminal_message,
                                            .writable = on_terminal_writable,
                                            .closed = on_terminal_closed};
    struct err e = ERR_NONE;
    struct terminal *t = NEW(struct terminal);
    t->api_session = session;
    t->held = BUF_INIT(HELD_MAX);
    list_push(&session->terminals, t);
    session->terminal_count++;
    if (start_shell(t, commands, &e) < 0) {
        free_terminal(t);
        api_fail(r, &e);
        return;
    }
    if (http_upgrade(r, http_subprotocol(r), &events, t, &t->ws) < 0)
        free_terminal(t);
    else
        ws_limit(t->ws, TYPED_MAX, HTTP_QUEUE_MAX);
}

void terminal_get(void *ctx, struct http_request *r)
{
    struct api *api = ctx;
    struct sessions_view view;
    struct api_session *session = api_session_of(api, r);
    if (!session || !sessions_find(api->config->sessions, session->id, &view))
        return;
    if (api->drains)
        http_problem(r, 503, NULL, 0, API_STOPPING);
    else if (session->terminal_count >= TERMINALS_MAX)
        http_problem(r, 429, NULL, 0, "the session has %d terminals, as many as there may be",
                     TERMINALS_MAX);
    else
        open_session_terminal(session, view.commands, r);
}

void terminals_end(struct api_session *api_session, bool stopping, const char *reason)
{
    while (api_session->terminals)
        close_terminal(api_session->terminals, stopping ? WS_GOING_AWAY : WS_NORMAL, reason);
}
