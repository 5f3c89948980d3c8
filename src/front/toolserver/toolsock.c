/* SPDX-License-Identifier: Apache-2.0
 *
 * A request is an `ask` from its line to its answer, in any order (on_tool_line_done()).
 * Who completes it: the tool plane's `done`, once, answers it; a "cancel" of its peer or the end of
 * the connection cancels the call, and nothing is answered.
 * Who frees a connection: end_peer() alone. Whatever goes wrong only breaks its lines, whose
 * `ended` comes from the loop, so nobody touches it afterwards. Loop's thread only. */
#include "front/toolserver/toolsock.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json/jsonspan.h"
#include "base/list.h"
#include "base/unixsock.h"
#include "front/http/listener.h"
#include "loop/lines.h"
#include "wire/jsonrpc.h"

enum {
    BACKLOG = 128,
    ERROR_MAX = 65536,
    RPC_NOT_ALLOWED = -32001,
    RPC_TOO_MUCH = -32002,
};

struct holder { /* of a token: those who know it */
    struct holder *next;
    char *token, *session;
    size_t peers;
    size_t held; /* bytes */
};

struct tool_line_ask { /* a request that is not answered yet */
    struct tool_line_ask *prev, *next;
    struct tool_peer *peer;
    struct toolplane_call *call;
    const char *said; /* the member that says yes or no; NULL: it is a call, with a result */
    size_t held;
    char id[JSONSCAN_ID_MAX + 1];
};

struct tool_peer { /* a connection */
    struct tool_peer *prev, *next;
    struct toolsock *owner;
    struct holder *holder; /* NULL before its hello */
    struct loop_timer hello;
    struct lines lines;
    size_t counted; /* bytes of `lines` in holder->held */
    struct tool_line_ask *asks;
    size_t n_asks;
};

struct toolsock {
    struct toolsock_config config;
    char *path;
    struct listener *listener;
    struct tool_peer *peers; /* the newest first */
    size_t n_peers, n_strangers;
    struct holder *holders;
};

/* --- who it is, and what that holds --------------------------------------------------------- */

static struct holder *holder_of(struct toolsock *s, const char *token, const char *session)
{
    for (struct holder *h = s->holders; h; h = h->next)
        if (strcmp(h->token, token) == 0)
            return h;
    struct holder *h = NEW(struct holder);
    *h = (struct holder){.next = s->holders, .token = xstrdup(token), .session = xstrdup(session)};
    s->holders = h;
    return h;
}

static void holder_leave(struct toolsock *s, struct holder *h)
{
    if (--h->peers > 0)
        return;
    chain_remove(&s->holders, h);
    xfree(h->token);
    xfree(h->session);
    xfree(h);
}

/* Brings holder->held up to date. */
static void count_token_bytes(struct tool_peer *peer)
{
    size_t now = lines_held(&peer->lines);
    if (peer->holder)
        peer->holder->held += now - peer->counted;
    peer->counted = peer->holder ? now : 0;
}

/* --- answers -------------------------------------------------------------------------------- */

static void answer_line_error(struct tool_peer *peer, const char *id, int code, const char *why)
{
    rpc_put_error(&peer->lines.out, id, code, why, NULL);
    (void)buf_addc(&peer->lines.out, '\n');
    lines_flush(&peer->lines);
}

/* The last that this connection hears. */
static void refuse_tool_line(struct tool_peer *peer, const char *id, int code, const char *why)
{
    rpc_put_error(&peer->lines.out, id, code, why, NULL);
    (void)buf_addc(&peer->lines.out, '\n');
    lines_finish(&peer->lines);
}

static void answer_empty(struct tool_peer *peer, const char *id)
{
    struct jsonw w = JSONW(&peer->lines.out);
    rpc_result_begin(&w, id);
    rpc_end(&w);
    (void)buf_addc(&peer->lines.out, '\n');
    lines_flush(&peer->lines);
}

static void put_failure(struct jsonw *w, enum toolplane_failure failure, const char *why)
{
    jsonw_set_text(w, "error", why);
    if (failure == TOOLPLANE_REJECTED)
        jsonw_set_text(w, "type", "rejected");
    else if (failure == TOOLPLANE_TIMEOUT)
        jsonw_set_text(w, "type", "timeout");
}

static void put_line_answer(struct tool_peer *peer, const char *id, const char *said,
                            enum toolplane_failure failure, const struct tools_result *result,
                            const char *why)
{
    struct jsonw w = JSONW(&peer->lines.out);
    rpc_result_begin(&w, id);
    if (said)
        jsonw_set_bool(&w, said, failure == TOOLPLANE_OK);
    if (failure != TOOLPLANE_OK) {
        put_failure(&w, failure, why);
    } else if (!said) {
        jsonw_name(&w, "result");
        toolplane_put_result(&w, result);
        toolplane_put_content(&w, result);
    }
    rpc_end(&w);
    (void)buf_addc(&peer->lines.out, '\n');
}

/* An answer that does not fit is replaced by one that says so. */
static void answer_tool_line(struct tool_peer *peer, const char *id, const char *said,
                             enum toolplane_failure failure, const struct tools_result *result,
                             const char *why)
{
    struct buf *out = &peer->lines.out;
    size_t before = out->len;
    size_t room = TOOLSOCK_HELD_MAX -
                  (peer->holder->held < TOOLSOCK_HELD_MAX ? peer->holder->held : TOOLSOCK_HELD_MAX);
    out->cap = before + (room < TOOLSOCK_LINE_MAX ? room : TOOLSOCK_LINE_MAX);
    put_line_answer(peer, id, said, failure, result, why);
    if (out->failed) {
        out->failed = 0;
        out->len = before;
        out->cap = before + ERROR_MAX;
        put_line_answer(peer, id, said, TOOLPLANE_ERROR, NULL,
                        room < TOOLSOCK_LINE_MAX
                            ? "the answer was dropped: too much waits for this kernel to read it"
                            : "the answer was dropped: it is over 64 MiB long");
    }
    out->cap = SIZE_MAX / 2; /* each answer has its own limit */
    lines_flush(&peer->lines);
}

/* --- requests ------------------------------------------------------------------------------- */

static void end_ask(struct tool_line_ask *ask)
{
    struct tool_peer *peer = ask->peer;
    list_remove(&peer->asks, ask);
    peer->n_asks--;
    peer->holder->held -= ask->held;
    xfree(ask);
}

static void on_tool_line_done(void *ctx, enum toolplane_failure failure,
                              const struct tools_result *result, const char *why)
{
    struct tool_line_ask *ask = ctx;
    struct tool_peer *peer = ask->peer;
    char id[sizeof ask->id];
    memcpy(id, ask->id, sizeof id);
    const char *said = ask->said;
    end_ask(ask);
    answer_tool_line(peer, id, said, failure, result, why);
}

typedef int tool_line_start(struct toolplane *plane, const struct toolplane_request *request,
                            const struct toolplane_events *events, void *ctx,
                            struct toolplane_call **ret, struct err *e);

static const struct tool_line_method { /* that the tool plane answers, later */
    const char *name, *said;
    tool_line_start *start;
    bool names_tool;
} plane_methods[] = {{"run", NULL, toolplane_call, true},
                     {"approve", "approved", toolplane_approve, true},
                     {"await", "started", toolplane_await, false}};

static const struct tool_line_method *find_plane_method(const char *name)
{
    for (size_t i = 0; i < sizeof plane_methods / sizeof *plane_methods; i++)
        if (strcmp(plane_methods[i].name, name) == 0)
            return &plane_methods[i];
    return NULL;
}

static int read_tool_request(const struct rpc_message *m, bool names_tool,
                             struct toolplane_request *request, struct err *e)
{
    int r = json_need_text(m->params, "server_name", &request->server, e);
    if (r < 0 || !names_tool)
        return r;
    r = json_need_text(m->params, "tool_name", &request->tool, e);
    if (r == 0 && !json_is_object(json_get(m->params, "tool_args")))
        r = err_set(e, -EINVAL, "tool_args: an object is needed");
    if (r == 0 && request->params && !json_is_object(request->params))
        r = err_set(e, -EINVAL, "server_params: an object is needed");
    return r;
}

static int start_tool_request(struct tool_peer *peer, const struct rpc_message *m,
                              const char *arguments, struct err *e)
{
    static const struct toolplane_events events = {.done = on_tool_line_done};
    const struct tool_line_method *method = find_plane_method(m->method);
    struct toolplane_request request = {.role = TOOLPLANE_KERNEL,
                                        .session = peer->holder->session,
                                        .tool = "",
                                        .params = json_get(m->params, "server_params"),
                                        .arguments = arguments};
    int r = read_tool_request(m, method->names_tool, &request, e);
    if (r < 0)
        return r;
    struct tool_line_ask *ask = NEW(struct tool_line_ask);
    *ask = (struct tool_line_ask){.peer = peer, .said = method->said, .held = strlen(arguments)};
    memcpy(ask->id, m->id, sizeof ask->id);
    list_push(&peer->asks, ask);
    peer->n_asks++;
    peer->holder->held += ask->held;
    struct toolplane *plane = peer->owner->config.toolplane;
    struct err why = ERR_NONE;
    r = method->start(plane, &request, &events, ask, &ask->call, &why);
    if (r < 0) {
        answer_tool_line(peer, ask->id, ask->said, TOOLPLANE_ERROR, NULL, why.msg);
        end_ask(ask);
    }
    return 0;
}

static void run_call(struct tool_peer *peer, const struct rpc_message *m, const char *arguments)
{
    struct err e = ERR_NONE;
    if (peer->n_asks >= TOOLSOCK_CALLS_MAX)
        answer_line_error(peer, m->id, RPC_TOO_MUCH, "too many calls at a time on this connection");
    else if (peer->holder->held > TOOLSOCK_HELD_MAX / 2)
        answer_line_error(peer, m->id, RPC_TOO_MUCH, "the open calls of this kernel are too large");
    else if (start_tool_request(peer, m, arguments ? arguments : "", &e) < 0)
        answer_line_error(peer, m->id, RPC_INVALID_PARAMS, e.msg);
}

static void put_server_line(void *ctx, const struct tools_server *server)
{
    struct jsonw *w = ctx;
    jsonw_object(w);
    jsonw_set_text(w, "name", server->name);
    jsonw_set_text(w, "state", tools_state_name(server->state));
    jsonw_set_int(w, "tools", (int64_t)server->n_tools);
    if (server->why)
        jsonw_set_text(w, "error", server->why);
    jsonw_end(w);
}

static void run_servers(struct tool_peer *peer, const struct rpc_message *m, const char *arguments)
{
    (void)arguments;
    const struct toolplane *plane = peer->owner->config.toolplane;
    struct jsonw w = JSONW(&peer->lines.out);
    struct tools_server server;
    size_t at = 0;
    rpc_result_begin(&w, m->id);
    jsonw_set_array(&w, "servers");
    while (toolplane_next(plane, &at, &server))
        put_server_line(&w, &server);
    toolplane_unready(plane, put_server_line, &w);
    jsonw_end(&w);
    rpc_end(&w);
    (void)buf_addc(&peer->lines.out, '\n');
    lines_flush(&peer->lines);
}

static void run_reset(struct tool_peer *peer, const struct rpc_message *m, const char *arguments)
{
    (void)arguments;
    const struct toolsock_config *config = &peer->owner->config;
    if (!config->may_reset || strcmp(config->may_reset, peer->holder->session) != 0) {
        drop_str char *why =
            xasprintf("code of this session may not stop the MCP servers, which all sessions "
                      "share%s%s",
                      config->may_reset ? ": only that of the session " : "",
                      config->may_reset ? config->may_reset : "");
        answer_line_error(peer, m->id, RPC_NOT_ALLOWED, why);
        return;
    }
    toolplane_reset(peer->owner->config.toolplane);
    answer_empty(peer, m->id);
}

static void run_hello(struct tool_peer *peer, const struct rpc_message *m, const char *arguments)
{
    (void)arguments;
    struct toolsock *s = peer->owner;
    const char *token = json_get_text(m->params, "token"), *session = NULL;
    if (peer->holder) {
        answer_line_error(peer, m->id, RPC_INVALID_REQUEST, "Invalid Request: a second hello");
        return;
    }
    if (!token || !s->config.who(s->config.ctx, token, &session)) {
        refuse_tool_line(peer, m->id, RPC_NOT_ALLOWED, "the token is not that of a kernel");
        return;
    }
    struct holder *holder = holder_of(s, token, session);
    if (holder->peers >= TOOLSOCK_PER_TOKEN_MAX) {
        refuse_tool_line(peer, m->id, RPC_TOO_MUCH, "too many connections of this kernel");
        return;
    }
    holder->peers++;
    peer->holder = holder;
    lines_set_max(&peer->lines, TOOLSOCK_LINE_MAX);
    s->n_strangers--;
    loop_timer_stop(s->config.loop, &peer->hello);
    answer_empty(peer, m->id);
}

static const struct {
    const char *name;
    void (*run)(struct tool_peer *peer, const struct rpc_message *m, const char *arguments);
} methods[] = {{"run", run_call},        {"approve", run_call}, {"await", run_call},
               {"servers", run_servers}, {"reset", run_reset},  {"hello", run_hello}};

static void run_tool_line_request(struct tool_peer *peer, const struct rpc_message *m,
                                  const char *arguments)
{
    if (!peer->holder && strcmp(m->method, "hello") != 0) {
        refuse_tool_line(peer, m->id, RPC_NOT_ALLOWED, "hello must come first");
        return;
    }
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(methods[i].name, m->method) == 0) {
            methods[i].run(peer, m, arguments);
            return;
        }
    }
    answer_line_error(peer, m->id, RPC_METHOD_NOT_FOUND, "Method not found");
}

static void cancel(struct tool_peer *peer, const char *id)
{
    for (struct tool_line_ask *ask = peer->asks; ask; ask = ask->next) {
        if (rpc_same_id(ask->id, id)) {
            toolplane_call_cancel(ask->call);
            end_ask(ask);
            return;
        }
    }
}

/* --- lines ---------------------------------------------------------------------------------- */

/* A copy of the value of params.NAME as it was written, or NULL. */
static char *written(const char *line, size_t n, const char *name)
{
    struct jsonspan span;
    if (!jsonspan_get(JSONSPAN(line, n), "params", &span) || !jsonspan_get(span, name, &span))
        return NULL;
    return jsonspan_line(span);
}

static void on_tool_line(void *ctx, char *line, size_t n)
{
    struct tool_peer *peer = ctx;
    drop_str char *arguments = written(line, n, "tool_args");
    drop_str char *id = arguments ? NULL : written(line, n, "id");
    struct rpc_message m;
    struct err e = ERR_NONE;
    int code = rpc_parse(line, n, JSON_STRICT, &m, &e);
    if (code < 0 && !peer->holder)
        refuse_tool_line(peer, m.id, code, e.msg);
    else if (code < 0)
        answer_line_error(peer, m.id, code, e.msg);
    else if (m.kind == RPC_REQUEST)
        run_tool_line_request(peer, &m, arguments);
    else if (m.kind == RPC_NOTIFICATION && id && strcmp(m.method, "cancel") == 0)
        cancel(peer, id);
    rpc_message_done(&m);
}

static void on_tool_line_too_long(void *ctx, const char *piece, size_t n, bool last)
{
    (void)piece, (void)n, (void)last;
    refuse_tool_line(ctx, "null", RPC_TOO_MUCH, "the line is too long");
}

static void on_tool_lines_moved(void *ctx)
{
    struct tool_peer *peer = ctx;
    count_token_bytes(peer);
    if (peer->holder && peer->holder->held > TOOLSOCK_HELD_MAX && lines_are_run(&peer->lines))
        refuse_tool_line(peer, "null", RPC_TOO_MUCH, "the open calls of this kernel are too large");
}

/* --- connections ---------------------------------------------------------------------------- */

static void cancel_all(struct tool_peer *peer)
{
    while (peer->asks) {
        toolplane_call_cancel(peer->asks->call);
        end_ask(peer->asks);
    }
}

static void end_peer(struct tool_peer *peer)
{
    struct toolsock *s = peer->owner;
    cancel_all(peer);
    list_remove(&s->peers, peer);
    s->n_peers--;
    if (peer->holder) {
        peer->holder->held -= peer->counted;
        holder_leave(s, peer->holder);
    } else {
        s->n_strangers--;
    }
    loop_timer_stop(s->config.loop, &peer->hello);
    lines_close(&peer->lines);
    (void)fd_close(peer->lines.in_fd);
    xfree(peer);
}

static void on_tool_lines_ended(void *ctx)
{
    end_peer(ctx);
}

static void drop_oldest_stranger(struct toolsock *s)
{
    struct tool_peer *oldest = NULL;
    for (struct tool_peer *peer = s->peers; peer; peer = peer->next)
        oldest = peer->holder ? oldest : peer;
    end_peer(oldest);
}

static void turn_away(int fd)
{
    drop_buf struct buf out = BUF_INIT(ERROR_MAX);
    rpc_put_error(&out, "null", RPC_TOO_MUCH, "too many connections", NULL);
    lines_say_once(fd, &out);
}

static void on_tool_connection(void *ctx, int fd, const struct sockaddr *from, socklen_t n)
{
    static const struct lines_events events = {.line = on_tool_line,
                                               .too_long = on_tool_line_too_long,
                                               .moved = on_tool_lines_moved,
                                               .ended = on_tool_lines_ended};
    (void)from, (void)n;
    struct toolsock *s = ctx;
    if (s->n_strangers >= TOOLSOCK_STRANGERS_MAX)
        drop_oldest_stranger(s);
    if (s->n_peers >= TOOLSOCK_CONNECTIONS_MAX) {
        turn_away(fd);
        return;
    }
    struct tool_peer *peer = NEW(struct tool_peer);
    *peer = (struct tool_peer){.owner = s};
    peer->lines = (struct lines){.loop = s->config.loop,
                                 .events = &events,
                                 .ctx = peer,
                                 .in_fd = fd,
                                 .out_fd = fd,
                                 .line_max = TOOLSOCK_HELLO_MAX,
                                 .backlog_max = TOOLSOCK_BACKLOG,
                                 .out = BUF_INIT(SIZE_MAX / 2)};
    list_push(&s->peers, peer);
    s->n_peers++;
    s->n_strangers++;
    loop_timer_set(s->config.loop, &peer->hello, TOOLSOCK_HELLO_MS, on_tool_lines_ended, peer);
    struct err e = ERR_NONE;
    if (lines_open(&peer->lines, &e) < 0)
        end_peer(peer);
}

/* --- opening and closing -------------------------------------------------------------------- */

static int listen_for_tools(struct toolsock *s, struct err *e)
{
    int fd = -1;
    int r = listener_open(s->config.loop, NULL, 0, NULL, on_tool_connection, s, &s->listener, e);
    if (r == 0)
        r = unixsock_listen(s->path, BACKLOG, &fd, e);
    return r < 0 ? r : listener_add(s->listener, fd, e);
}

int toolsock_open(const struct toolsock_config *config, struct toolsock **ret, struct err *e)
{
    struct toolsock *s = NEW(struct toolsock);
    *s = (struct toolsock){.config = *config, .path = xstrdup(config->path)};
    int r = listen_for_tools(s, e);
    if (r < 0) {
        (void)toolsock_close(s);
        return r;
    }
    *ret = s;
    return 0;
}

struct toolsock *toolsock_close(struct toolsock *s)
{
    if (!s)
        return NULL;
    while (s->peers)
        end_peer(s->peers);
    s->listener = listener_close(s->listener);
    unixsock_remove(s->path);
    xfree(s->path);
    xfree(s);
    return NULL;
}

void toolsock_revoke(struct toolsock *s, const char *token)
{
    for (struct tool_peer *peer = s->peers; peer; peer = peer->next) {
        if (!peer->holder || strcmp(peer->holder->token, token) != 0)
            continue;
        cancel_all(peer); /* now; the peer ends in the next turn, for it may be at work */
        lines_break(&peer->lines);
    }
}
