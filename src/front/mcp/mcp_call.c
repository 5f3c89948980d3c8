/* SPDX-License-Identifier: Apache-2.0 */
#include "front/mcp/mcp_call.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/text/utf8.h"
#include "front/apps/apps.h"

void mcp_send(struct mcp *mcp, const struct mcp_call *call, const struct buf *message)
{
    mcp->events->send(mcp->ctx, &(struct mcp_out){.text = buf_text(message),
                                                  .n = message->len,
                                                  .stream = call ? call->stream : NULL});
}

void call_send_answer(struct mcp_call *call, const struct buf *message, int error)
{
    call->mcp->events->send(call->mcp->ctx, &(struct mcp_out){.text = buf_text(message),
                                                              .n = message->len,
                                                              .stream = call->stream,
                                                              .is_answer = true,
                                                              .error = error});
    call->stream = NULL;
}

/* --- progress ------------------------------------------------------------------------------- */

/* Bytes of the text that end with a whole character: a pipe may be read in the middle of one. */
static size_t whole_characters(const struct buf *text)
{
    size_t n = text->len;
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)text->data[n - back];
        if (c >= 0xC0)
            return utf8_char(text->data + n - back, back, NULL) == back ? n : n - back;
        if (c < 0x80)
            break;
    }
    return n;
}

/* message == NULL: it only says that the work goes on. */
static void put_progress(struct mcp_call *call, const char *message, size_t n)
{
    drop_buf struct buf out = BUF_INIT(PROGRESS_TEXT_MAX * 6 + 4096);
    struct jsonw w = JSONW(&out);
    rpc_notification_begin(&w, "notifications/progress");
    jsonw_set_raw(&w, "progressToken", call->progress_token);
    jsonw_set_int(&w, "progress", (int64_t)++call->progress);
    if (message) {
        jsonw_name(&w, "message");
        jsonw_text_n(&w, message, n);
    }
    rpc_end(&w);
    mcp_send(call->mcp, call, &out);
}

static bool send_progress(struct mcp_call *call)
{
    size_t n = whole_characters(&call->progress_text);
    if (n == 0)
        return false;
    put_progress(call, call->progress_text.data, n);
    buf_cut_front(&call->progress_text, n);
    return true;
}

static void on_progress_timer(void *ctx)
{
    struct mcp_call *call = ctx;
    const bool was_silent = !call->has_text_due;
    call->has_text_due = false;
    if (call->cancelled || call->listening)
        return;
    if (!send_progress(call) && was_silent)
        put_progress(call, NULL, 0);
    loop_timer_set(call->mcp->config->loop, &call->progress_timer, PROGRESS_SILENCE_MS,
                   on_progress_timer, call);
}

static void begin_progress(struct mcp_call *call)
{
    if (call->progress_token)
        loop_timer_set(call->mcp->config->loop, &call->progress_timer, PROGRESS_SILENCE_MS,
                       on_progress_timer, call);
}

/* --- a call ----------------------------------------------------------------------------------- */

static char *progress_token(const struct json *params)
{
    const struct json *token = json_get(json_get(params, "_meta"), "progressToken");
    return json_text(token) || json_is_number(token) ? json_print(token) : NULL;
}

/* What stands in the message itself is nearer to the work than what carried it. */
static void find_client_call(struct mcp_call *call, const struct json *params)
{
    const struct json *meta = json_get(params, "_meta");
    const char *name = json_get_text(json_get(meta, MCP_CLIENT_KEY), "name");
    if (call->mcp->caller)
        call->origin = call->mcp->caller->origin;
    if (!name && *call->mcp->client)
        name = call->mcp->client;
    if (name)
        request_put_client(call->origin.client, name);
    else if (!call->mcp->caller)
        request_put_client(call->origin.client, "mcp");
    (void)trace_parse(json_get_text(meta, "traceparent"), json_get_text(meta, "tracestate"),
                      &call->origin.trace);
}

struct mcp_call *call_new(struct mcp *mcp, const struct rpc_message *m, enum mcp_era era)
{
    struct mcp_call *call = NEW(struct mcp_call);
    call->mcp = mcp;
    call->era = era;
    call->stream = mcp->stream;
    memcpy(call->id, m->id, sizeof call->id);
    call->progress_token = progress_token(m->params);
    find_client_call(call, m->params);
    call->progress_text = BUF_INIT(PROGRESS_TEXT_MAX);
    list_push(&mcp->calls, call);
    begin_progress(call);
    return call;
}

static void call_free(struct mcp_call *call)
{
    struct mcp *mcp = call->mcp;
    list_remove(&mcp->calls, call);
    loop_timer_stop(mcp->config->loop, &call->progress_timer);
    ask_call_ends(call);
    task_call_ends(call);
    buf_done(&call->progress_text);
    buf_done(&call->app_data);
    xfree(call->progress_token);
    xfree(call->server);
    xfree(call);
    if (mcp_is_idle(mcp))
        mcp->events->idle(mcp->ctx);
}

struct mcp_call *call_find(struct mcp *mcp, const char *id)
{
    struct mcp_call *call = mcp->calls;
    while (call && (call->cancelled || call->ask.parked || call_is_task(call) ||
                    !rpc_same_id(call->id, id)))
        call = call->next;
    return call;
}

struct mcp_call *call_find_parked(struct mcp *mcp, const char *id)
{
    struct mcp_call *call = mcp->calls;
    while (call && (call->cancelled || !call->ask.parked || !rpc_same_id(call->id, id)))
        call = call->next;
    return call;
}

/* Work that ends with the one who asked for it. */
static void drop_call_job(struct mcp_call *call)
{
    call->install = install_cancel(call->install);
    if (call->registration)
        toolplane_job_cancel(call->registration);
    call->registration = NULL;
    if (call->work.cancel)
        call->work.cancel(call->work.ctx);
    call->work = (struct call_work){0};
}

static void answer_cancelled(struct mcp_call *call)
{
    drop_buf struct buf out = BUF_INIT(4096);
    rpc_put_error(&out, call->id, RPC_CANCELLED, "Request cancelled", NULL);
    call_send_answer(call, &out, RPC_CANCELLED);
}

void call_cancel(struct mcp_call *call)
{
    bool was = call->cancelled;
    call->cancelled = true;
    ask_call_cancelled(call);
    if (call->mcp->config->answers_cancelled && call->stream && !was)
        answer_cancelled(call);
    if (call->cell) {
        cell_cancel(call->cell); /* its last event frees the call */
    } else {
        drop_call_job(call);
        if (call_is_task(call))
            task_cancelled(call);
        else
            call_free(call);
    }
}

void call_drop(struct mcp_call *call)
{
    call->cancelled = true;
    if (call->cell)
        cell_forget(call->cell);
    drop_call_job(call);
    call_free(call);
}

void call_abandon(struct mcp_call *call)
{
    if (call->cell)
        cell_abandon(call->cell);
    call->cell = NULL;
    call_drop(call);
}

/* --- progress of a call that waits ------------------------------------------------------------ */

void call_end_progress(struct mcp_call *call)
{
    (void)send_progress(call);
    loop_timer_stop(call->mcp->config->loop, &call->progress_timer);
    call->has_text_due = false;
    buf_clear(&call->progress_text);
    xfree(call->progress_token);
    call->progress_token = NULL;
}

void call_reopen(struct mcp_call *call, const struct rpc_message *m)
{
    memcpy(call->id, m->id, sizeof call->id);
    call->stream = call->mcp->stream;
    call->progress_token = progress_token(m->params);
    call->progress = 0;
    call->progress_bytes = 0;
    begin_progress(call);
    task_call_begins(call, m->params);
}

void call_text(void *ctx, const char *text, size_t n)
{
    static const char cut[] = "\n[more output follows; it is not shown as progress]\n";
    struct mcp_call *call = ctx;
    if (!call->progress_token || call->cancelled || call->progress_bytes > PROGRESS_TEXT_MAX / 2)
        return;
    call->progress_bytes += n;
    if (call->progress_bytes > PROGRESS_TEXT_MAX / 2) {
        text = cut;
        n = sizeof cut - 1;
    }
    (void)buf_add(&call->progress_text, text, n);
    if (call->has_text_due) /* the first text of a burst soon, the rest in one piece */
        return;
    call->has_text_due = true;
    loop_timer_set(call->mcp->config->loop, &call->progress_timer,
                   call->progress == 0 ? 0 : PROGRESS_MS, on_progress_timer, call);
}

/* --- the answer ----------------------------------------------------------------------------- */

void put_result_stamp(struct jsonw *w, const struct mcp *mcp, enum mcp_era era)
{
    if (era != MCP_MODERN)
        return;
    jsonw_set_text(w, "resultType", "complete");
    put_server_stamp(w, mcp);
}

static void put_server_info(struct jsonw *w, const struct mcp *mcp)
{
    jsonw_set_object(w, "io.modelcontextprotocol/serverInfo");
    jsonw_set_text(w, "name", "ipybox");
    jsonw_set_text(w, "version", mcp->config->version);
    jsonw_end(w);
}

void put_server_stamp(struct jsonw *w, const struct mcp *mcp)
{
    jsonw_set_object(w, "_meta");
    put_server_info(w, mcp);
    jsonw_end(w);
}

/* The stamp, and what the page of the result shows, which is no model's to read. */
static void put_call_stamp(struct jsonw *w, const struct mcp_call *call)
{
    if (call->app_data.len == 0) {
        put_result_stamp(w, call->mcp, call->era);
        return;
    }
    if (call->era == MCP_MODERN)
        jsonw_set_text(w, "resultType", "complete");
    jsonw_set_object(w, "_meta");
    if (call->era == MCP_MODERN)
        put_server_info(w, call->mcp);
    jsonw_set_raw(w, APPS_CELL_DATA, buf_text(&call->app_data));
    jsonw_end(w);
}

void put_text_block(struct jsonw *w, const char *text, size_t n)
{
    jsonw_object(w);
    jsonw_set_text(w, "type", "text");
    jsonw_name(w, "text");
    jsonw_text_n(w, text, n);
    jsonw_end(w);
}

void call_answer_begin(struct mcp_call *call, struct buf *out, struct jsonw *w)
{
    if (!call->cancelled)
        (void)send_progress(call);
    *out = BUF_INIT(MCP_ANSWER_MAX);
    *w = JSONW(out);
    rpc_result_begin(w, call->id);
    jsonw_set_array(w, "content");
}

void call_answer_end(struct mcp_call *call, struct buf *out, struct jsonw *w, bool is_error)
{
    jsonw_end(w);
    jsonw_set_bool(w, "isError", is_error);
    put_call_stamp(w, call);
    rpc_end(w);
    int error = 0;
    if (out->failed) {
        buf_clear(out);
        error = RPC_INTERNAL_ERROR;
        rpc_put_error(out, call->id, RPC_INTERNAL_ERROR,
                      "Internal error: the answer is too large; ask for fewer max_output_chars or "
                      "no images",
                      NULL);
    }
    if (call_is_task(call)) {
        task_keep_answer(call, out, error);
        return;
    }
    if (call->ask.parked && !call->cancelled) {
        ask_keep_answer(call, out);
        return;
    }
    if (!call->cancelled)
        call_send_answer(call, out, error);
    buf_done(out);
    call_free(call);
}

void call_fail(struct mcp_call *call, const char *tool, const char *why)
{
    struct buf out;
    struct jsonw w;
    call_answer_begin(call, &out, &w);
    drop_str char *text = xasprintf("Error executing tool %s: %s", tool, why);
    put_text_block(&w, text, strlen(text));
    call_answer_end(call, &out, &w, true);
}
