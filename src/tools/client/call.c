/* SPDX-License-Identifier: Apache-2.0
 *
 * A call waits for its server (`peer` is NULL), is sent, may be asked for input, once or in rounds
 * (the revision of 2026 sends the call again with the answers), and ends.
 * Who completes it: complete() or fail_call(), the first of them; both note the end and wake the
 * call. run_call_step(), from the loop, tells `done` once (deliver_call()) and frees it, so `done`
 * may close everything else. tools_call_cancel() ends it without an event.
 * Sent twice: only when the server did nothing the first time (`sent_again`): its HTTP session was
 * over, or its program had ended before the request was written. */
#include "tools/client/call.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/random.h"
#include "tools/client/era.h"
#include "tools/transport/param_headers.h"
#include "wire/jsonrpc.h"

enum { BACKOFF_MS = 50, BACKOFF_MAX_MS = 250 };

#define DECLINE "{\"action\":\"decline\"}"

struct input {
    struct input *next;
    uint64_t key;
    char *id;                  /* of the server's request; NULL: of an input_required … */
    char *name;                /* … under this name */
    struct json *tree;         /* owned, or NULL: params are part of the call's tree */
    const struct json *params; /* of elicitation/create */
    char *answer;
    bool asked;
};

struct tools_call {
    struct tools_call *prev, *next;
    struct call_list *list;
    const struct tools_config *config;
    char *tool, *arguments;
    struct trace trace; /* not set: none */
    struct tools_call_events events;
    void *ctx;

    struct server_peer *peer; /* NULL: waits for its server */
    struct param_headers headers;
    struct peer_request *request;
    bool sent_again; /* because a session was over, or the program before it was sent */

    struct input *inputs;
    uint64_t last_key;
    bool in_round; /* the answers to the inputs are sent together */
    int rounds;
    char *state; /* requestState as it was written */

    struct loop_defer step;
    struct loop_timer backoff;

    bool finished;
    struct json *tree;
    const struct json *result;
    char *structured;
    struct err why;
};

static void run_call_step(void *ctx);
static void send_call(struct tools_call *call);

static void wake(struct tools_call *call)
{
    loop_defer(call->config->loop, &call->step, run_call_step, call);
}

/* --- life and end ---------------------------------------------------------------------------- */

static void free_input(struct input *input)
{
    xfree(input->id);
    xfree(input->name);
    xfree(input->answer);
    (void)json_free(input->tree);
    xfree(input);
}

static void drop_inputs(struct tools_call *call)
{
    while (call->inputs) {
        struct input *input = call->inputs;
        call->inputs = input->next;
        free_input(input);
    }
}

static void unlink_call(struct tools_call *call)
{
    list_remove(&call->list->first, call);
    call->prev = call->next = NULL;
}

static void link_call(struct tools_call *call, struct call_list *list)
{
    call->list = list;
    list_push(&list->first, call);
}

static void stop_call(struct tools_call *call)
{
    loop_defer_stop(call->config->loop, &call->step);
    loop_timer_stop(call->config->loop, &call->backoff);
}

static void free_tool_call(struct tools_call *call)
{
    drop_inputs(call);
    param_headers_done(&call->headers);
    (void)json_free(call->tree);
    xfree(call->structured);
    xfree(call->state);
    xfree(call->tool);
    xfree(call->arguments);
    xfree(call);
}

static void leave_list(struct tools_call *call)
{
    struct call_list *list = call->list;
    unlink_call(call);
    if (!list->first)
        list->emptied(list->ctx);
}

/* Whoever gets the event may close everything but the call itself. */
static void deliver_call(struct tools_call *call)
{
    stop_call(call);
    leave_list(call);
    struct tools_result result = {
        .is_error = json_true(json_get(call->result, "isError")),
        .content = json_get(call->result, "content"),
        .structured = call->structured ? json_get(call->result, "structuredContent") : NULL,
        .structured_text = call->structured};
    if (!json_is_array(result.content))
        result.content = NULL;
    bool failed = call->why.code != 0;
    call->events.done(call->ctx, failed ? NULL : &result, failed ? &call->why : NULL);
    free_tool_call(call);
}

static void fail_call(struct tools_call *call, const struct err *why)
{
    if (call->finished)
        return;
    call->request = NULL; /* it goes with its connection */
    loop_timer_stop(call->config->loop, &call->backoff);
    drop_inputs(call);
    call->finished = true;
    call->why = *why;
    if (call->why.code == 0)
        call->why.code = -EIO;
    wake(call);
}

static void fail_with(struct tools_call *call, int code, const char *text)
{
    struct err why = ERR_NONE;
    (void)err_set(&why, code, "%s", text);
    fail_call(call, &why);
}

/* --- results --------------------------------------------------------------------------------- */

static void complete(struct tools_call *call, struct peer_answer *a)
{
    struct jsonspan span;
    call->tree = json_free(call->tree);
    const struct json *structured = json_get(a->result, "structuredContent");
    bool has = structured && !json_is_null(structured);
    if (has && jsonspan_get(a->text, "structuredContent", &span)) {
        call->structured = jsonspan_line(span);
        if (!call->structured) {
            fail_with(call, -ENOMEM, "no memory for the result");
            return;
        }
    }
    call->tree = *a->tree;
    *a->tree = NULL;
    call->result = a->result;
    drop_inputs(call);
    call->finished = true;
    wake(call);
}

static void add_input(struct tools_call *call, struct input *input)
{
    input->key = ++call->last_key;
    chain_append(&call->inputs, input);
}

/* One member of inputRequests; an answer that needs nobody is given at once. */
static int add_request(struct tools_call *call, const struct json *request, struct err *e)
{
    const char *method = json_get_text(request, "method");
    const struct json *params = json_get(request, "params");
    const char *mode = json_get_text(params, "mode");
    bool elicits = method && strcmp(method, "elicitation/create") == 0;
    bool roots = method && strcmp(method, "roots/list") == 0 && call->config->root;
    if (!elicits && !roots)
        return err_set(e, -ENOTSUP, "the server asks for %.60s, which ipybox does not offer",
                       method ? method : "something without a name");
    struct input *input = NEW(struct input);
    input->name = xstrdup(json_name(request));
    input->params = params;
    if (roots) {
        drop_buf struct buf text = BUF_INIT(PARAMS_TEXT_MAX);
        struct jsonw w = JSONW(&text);
        era_put_roots(&w, call->config);
        input->answer = xstrdup(buf_text(&text));
    } else if (mode && strcmp(mode, "form") != 0) {
        input->answer = xstrdup(DECLINE);
    }
    add_input(call, input);
    return 0;
}

static void on_backoff(void *ctx)
{
    send_call(ctx);
}

/* The call ended for now: its next request carries what is asked for. */
static void begin_round(struct tools_call *call, struct peer_answer *a)
{
    struct jsonspan span;
    struct err why = ERR_NONE;
    xfree(call->state);
    bool state = json_get_text(a->result, "requestState") != NULL &&
                 jsonspan_get(a->text, "requestState", &span);
    call->state = state ? jsonspan_line(span) : NULL;
    (void)json_free(call->tree);
    call->tree = *a->tree;
    *a->tree = NULL;
    const struct json *requests = json_get(a->result, "inputRequests");
    for (const struct json *v = json_first(requests); v; v = json_next(v)) {
        if (!json_is_object(requests) || add_request(call, v, &why) < 0)
            break;
    }
    if (why.code < 0)
        fail_call(call, &why);
    else if (!call->inputs && !call->state)
        fail_with(call, -EPROTO, "the server needs input, but does not say which");
    else if (call->rounds == TOOLS_INPUT_ROUNDS_MAX)
        fail_with(call, -ELOOP, "the server asks for input again and again");
    else if (call->inputs) {
        call->in_round = true;
        call->rounds++;
        wake(call);
    } else {
        int64_t delay = (int64_t)BACKOFF_MS * ++call->rounds;
        loop_timer_set(call->config->loop, &call->backoff,
                       delay < BACKOFF_MAX_MS ? delay : BACKOFF_MAX_MS, on_backoff, call);
    }
}

/* The server forgot the session of HTTP (404, or what some send instead): nothing was done. */
static bool session_is_over(const struct tools_call *call, const struct peer_answer *a)
{
    if (call->sent_again || peer_is_program(call->peer) || peer_is_modern(call->peer))
        return false;
    if (a->outcome == PEER_REFUSED)
        return a->status == 404;
    return a->outcome == PEER_ERROR && (a->code == -32000 || a->code == -32001) &&
           strcasestr(a->why->msg, "session");
}

static void on_answer(void *ctx, struct peer_answer *a)
{
    struct tools_call *call = ctx;
    call->request = NULL;
    const char *type = json_get_text(a->result, "resultType");
    bool modern = peer_is_modern(call->peer);
    if (a->outcome != PEER_RESULT && session_is_over(call, a)) {
        call->sent_again = true;
        call->peer = NULL;
        call->list->lost(call->list->ctx);
    } else if (a->outcome != PEER_RESULT) {
        fail_call(call, a->why);
    } else if (modern && type && strcmp(type, "input_required") == 0) {
        begin_round(call, a);
    } else if (modern && type && strcmp(type, "complete") != 0) {
        fail_with(call, -ENOTSUP, "a result of an unknown type");
    } else if (!json_is_object(a->result)) {
        fail_with(call, -EPROTO, "the result is no object");
    } else {
        complete(call, a);
    }
}

/* --- sending --------------------------------------------------------------------------------- */

/* traceparent: of this request, "" for none. */
static void put_meta(struct jsonw *w, const struct tools_call *call, const char *traceparent)
{
    bool modern = peer_is_modern(call->peer);
    bool traced = *traceparent && peer_is_program(call->peer);
    if (!modern && !traced && !call->events.progress)
        return;
    jsonw_set_object(w, "_meta");
    if (call->events.progress)
        jsonw_set_int(w, "progressToken", peer_next_id(call->peer));
    if (modern)
        era_put_envelope(w, call->config);
    if (traced)
        jsonw_set_text(w, "traceparent", traceparent);
    if (traced && call->trace.state[0])
        jsonw_set_text(w, "tracestate", call->trace.state);
    jsonw_end(w);
}

static void begin_span(const struct tools_call *call, char ret[TRACEPARENT_LEN + 1])
{
    char span[TRACE_SPAN_HEX + 1];
    random_hex(span, TRACE_SPAN_BYTES);
    ret[0] = '\0';
    if (trace_is_set(&call->trace))
        trace_write(&call->trace, span, ret);
}

static void put_round(struct jsonw *w, const struct tools_call *call)
{
    if (call->inputs) {
        jsonw_set_object(w, "inputResponses");
        for (const struct input *i = call->inputs; i; i = i->next)
            jsonw_set_raw(w, i->name, i->answer);
        jsonw_end(w);
    }
    if (call->state)
        jsonw_set_raw(w, "requestState", call->state);
}

static void send_call(struct tools_call *call)
{
    drop_buf struct buf params = BUF_INIT(PEER_TEXT_MAX);
    struct jsonw w = JSONW(&params);
    char traceparent[TRACEPARENT_LEN + 1];
    begin_span(call, traceparent);
    jsonw_object(&w);
    jsonw_set_text(&w, "name", call->tool);
    jsonw_set_raw(&w, "arguments", call->arguments);
    put_round(&w, call);
    put_meta(&w, call, traceparent);
    jsonw_end(&w);
    struct err why = ERR_NONE;
    struct peer_question question = {.method = "tools/call",
                                     .name = call->tool,
                                     .headers = call->headers.list,
                                     .n_headers = call->headers.n,
                                     .traceparent = traceparent,
                                     .tracestate = call->trace.state,
                                     .params = buf_text(&params)};
    call->in_round = false;
    drop_inputs(call);
    if (params.failed) {
        fail_with(call, params.failed, "the arguments are too large");
        return;
    }
    int r = peer_ask(call->peer, &question, on_answer, call, &call->request, &why);
    if (r == -EPIPE && peer_is_program(call->peer) && !call->sent_again && call->rounds == 0) {
        call->sent_again = true; /* the program has ended, which will be told */
        call->peer = NULL;
    } else if (r < 0) {
        fail_call(call, &why);
    }
}

static void begin_tool_call(struct tools_call *call, struct server_peer *peer,
                            const struct tool_list *tools)
{
    const struct tools_tool *tool = tool_list_find(tools, call->tool);
    call->peer = peer;
    param_headers_done(&call->headers);
    if (tool && peer_is_modern(peer) && !peer_is_program(peer))
        param_headers_read(tool->input, call->arguments, &call->headers);
    send_call(call);
}

void calls_begin(struct call_list *list, struct server_peer *peer, const struct tool_list *tools)
{
    struct tools_call *call = list->first;
    while (call && call->next)
        call = call->next;
    for (; call; call = call->prev) { /* the oldest first */
        if (!call->peer && !call->finished)
            begin_tool_call(call, peer, tools);
    }
}

/* --- inputs ---------------------------------------------------------------------------------- */

static void remove_input(struct tools_call *call, struct input *input)
{
    chain_remove(&call->inputs, input);
    free_input(input);
}

static void take_answer(struct tools_call *call, struct input *input, const char *answer)
{
    char *line = jsonspan_line(JSONSPAN(answer, strlen(answer)));
    if (input->id) {
        peer_reply(call->peer, input->id, line ? line : DECLINE);
        xfree(line);
        remove_input(call, input);
    } else {
        input->answer = line ? line : xstrdup(DECLINE);
    }
    wake(call);
}

static void run_call_step(void *ctx)
{
    struct tools_call *call = ctx;
    struct input *input = call->inputs;
    while (input && input->answer)
        input = input->next;
    if (call->finished)
        deliver_call(call);
    else if (input && !call->events.input)
        take_answer(call, input, DECLINE);
    else if (input && !input->asked) {
        input->asked = true;
        call->events.input(call->ctx, input->key, input->params);
    } else if (!input && call->in_round) {
        send_call(call);
    }
}

void tools_call_answer(struct tools_call *call, uint64_t key, const char *answer)
{
    for (struct input *input = call->inputs; input; input = input->next) {
        if (input->key == key && input->asked && !input->answer) {
            take_answer(call, input, answer);
            return;
        }
    }
}

void calls_elicit(struct call_list *list, struct server_peer *peer, const char *id,
                  const struct json *params)
{
    struct tools_call *call = list->first;
    while (call && (!call->request || call->peer != peer))
        call = call->next;
    const char *mode = json_get_text(params, "mode");
    if (mode && strcmp(mode, "form") != 0) {
        peer_refuse(peer, id, RPC_INVALID_PARAMS, "Only elicitation by a form is offered");
        return;
    }
    drop_str char *text = call ? json_print(params) : NULL;
    struct json *tree = text ? json_parse_copy(text, strlen(text), JSON_REPAIR, NULL) : NULL;
    if (!tree) {
        peer_reply(peer, id, DECLINE);
        return;
    }
    struct input *input = NEW(struct input);
    input->id = xstrdup(id);
    input->tree = tree;
    input->params = tree;
    add_input(call, input);
    wake(call);
}

void calls_withdraw(struct call_list *list, const struct json *request_id)
{
    drop_str char *id = json_print(request_id);
    for (struct tools_call *call = list->first; call && id; call = call->next) {
        for (struct input *input = call->inputs; input; input = input->next) {
            if (input->id && rpc_same_id(input->id, id)) {
                remove_input(call, input);
                wake(call);
                return;
            }
        }
    }
}

void calls_progress(struct call_list *list, const struct json *params)
{
    const struct json *token = json_get(params, "progressToken");
    const char *text = json_text(token);
    for (struct tools_call *call = list->first; call; call = call->next) {
        if (!call->request || !call->events.progress)
            continue;
        char id[24];
        long number = peer_request_id(call->request);
        (void)snprintf(id, sizeof id, "%ld", number);
        double value = json_number(token);
        bool same =
            text ? strcmp(text, id) == 0 : value >= (double)number && value <= (double)number;
        if (!same)
            continue;
        const struct json *total = json_get(params, "total");
        const char *message = json_get_text(params, "message");
        call->events.progress(call->ctx, json_number(json_get(params, "progress")),
                              json_is_number(total) ? json_number(total) : -1,
                              message ? message : "");
        return;
    }
}

/* --- all of a server ------------------------------------------------------------------------- */

int call_make(struct call_list *list, const struct tools_config *config, const char *tool,
              const char *arguments, const struct trace *trace,
              const struct tools_call_events *events, void *ctx, struct tools_call **ret,
              struct err *e)
{
    drop_json struct json *tree = json_parse_copy(arguments, strlen(arguments), JSON_STRICT, NULL);
    if (!json_is_object(tree))
        return err_set(e, -EINVAL, "the arguments of a tool are an object");
    char *line = jsonspan_line(JSONSPAN(arguments, strlen(arguments)));
    if (!line)
        return err_set(e, -ENOMEM, "no memory for the arguments");
    struct tools_call *call = NEW(struct tools_call);
    call->config = config;
    call->tool = xstrdup(tool);
    call->arguments = line;
    if (trace)
        call->trace = *trace;
    call->events = *events;
    call->ctx = ctx;
    link_call(call, list);
    *ret = call;
    return 0;
}

void calls_fail(struct call_list *list, const struct err *why)
{
    for (struct tools_call *call = list->first; call; call = call->next)
        fail_call(call, why);
}

void calls_fail_sent(struct call_list *list, const struct err *why)
{
    for (struct tools_call *call = list->first; call; call = call->next) {
        if (call->peer)
            fail_call(call, why);
    }
}

void calls_move_waiting(struct call_list *from, struct call_list *to)
{
    for (struct tools_call *call = from->first, *next; call; call = next) {
        next = call->next;
        if (call->peer || call->finished)
            continue;
        unlink_call(call);
        link_call(call, to);
    }
}

bool calls_any_waiting(const struct call_list *list)
{
    for (const struct tools_call *call = list->first; call; call = call->next) {
        if (!call->peer && !call->finished)
            return true;
    }
    return false;
}

void calls_free(struct call_list *list)
{
    while (list->first) {
        struct tools_call *call = list->first;
        unlink_call(call);
        stop_call(call);
        free_tool_call(call);
    }
}

void tools_call_cancel(struct tools_call *call)
{
    if (call->request)
        peer_forget(call->peer, call->request, true);
    call->request = NULL;
    stop_call(call);
    leave_list(call);
    free_tool_call(call);
}
