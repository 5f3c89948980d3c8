/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that go on as tasks: the extension io.modelcontextprotocol/tasks of the modern era.
 * A call whose client takes tasks becomes one when it has not been answered after TASK_AFTER_MS: it
 * is answered with the task's id, and keeps no stream. Its answer, when it comes, is kept for
 * tasks/get (task_keep_answer()), its questions are shown there and answered by tasks/update. It is
 * freed once: by its timer, by a newer task that needs its place, or with the dispatcher. A call
 * that waits for its client's answer to a question is none until the client has come back. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"
#include "front/mcp/mcp_call.h"

enum { SMALL_ANSWER_MAX = 1 << 20, QUESTION_PAUSE_MS = 100, POLL_MS = 1000 };

#define CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define EXTENSION "io.modelcontextprotocol/tasks"

static const char *const status_names[] = {[TASK_WORKING] = "working",
                                           [TASK_COMPLETED] = "completed",
                                           [TASK_FAILED] = "failed",
                                           [TASK_CANCELLED] = "cancelled"};

bool call_is_task(const struct mcp_call *call)
{
    return call->task.id[0] != '\0';
}

static bool is_task_over(const struct mcp_call *call)
{
    return call_is_task(call) && call->task.status != TASK_WORKING;
}

static struct mcp_call *find_task(const struct mcp *mcp, const char *id)
{
    struct mcp_call *call = mcp->calls;
    while (call && (!call_is_task(call) || strcmp(call->task.id, id) != 0))
        call = call->next;
    return call;
}

bool mcp_has_task(const struct mcp *mcp, const char *id)
{
    return find_task(mcp, id) != NULL;
}

static bool takes_tasks(const struct json *params)
{
    const struct json *capabilities = json_get(json_get(params, "_meta"), CAPABILITIES);
    return json_is_object(json_get(json_get(capabilities, "extensions"), EXTENSION));
}

void tasks_put_extension(struct jsonw *w)
{
    jsonw_set_object(w, EXTENSION);
    jsonw_end(w);
}

/* --- what is said of one ---------------------------------------------------------------------- */

static void put_task(struct jsonw *w, const struct mcp_call *call, const char *status)
{
    jsonw_set_text(w, "taskId", call->task.id);
    jsonw_set_text(w, "status", status);
    jsonw_set_time(w, "createdAt", call->task.made_ms);
    jsonw_set_time(w, "lastUpdatedAt", call->task.changed_ms);
    jsonw_set_int(w, "ttlMs", call->task.ttl_ms);
    jsonw_set_int(w, "pollIntervalMs", POLL_MS);
}

static void send_task_begun(struct mcp_call *call)
{
    drop_buf struct buf out = BUF_INIT(SMALL_ANSWER_MAX);
    struct jsonw w = JSONW(&out);
    rpc_result_begin(&w, call->id);
    jsonw_set_text(&w, "resultType", "task");
    put_task(&w, call, status_names[TASK_WORKING]);
    put_server_stamp(&w, call->mcp);
    rpc_end(&w);
    call_end_progress(call);
    call_send_answer(call, &out, 0);
}

/* --- room for them ---------------------------------------------------------------------------- */

static struct mcp_call *oldest_task_over(const struct mcp *mcp, const struct mcp_call *but)
{
    struct mcp_call *oldest = NULL;
    for (struct mcp_call *call = mcp->calls; call; call = call->next) /* the newest first */
        if (call != but && is_task_over(call))
            oldest = call;
    return oldest;
}

static size_t count_tasks(const struct mcp *mcp)
{
    size_t n = 0;
    for (const struct mcp_call *call = mcp->calls; call; call = call->next)
        n += call_is_task(call);
    return n;
}

static size_t kept_bytes(const struct mcp *mcp)
{
    size_t bytes = 0;
    for (const struct mcp_call *call = mcp->calls; call; call = call->next)
        bytes += call->task.answer.len;
    return bytes;
}

static bool make_room_for_task(struct mcp *mcp)
{
    struct mcp_call *oldest = NULL;
    while (count_tasks(mcp) >= TASKS_MAX && (oldest = oldest_task_over(mcp, NULL)) != NULL)
        call_drop(oldest);
    return count_tasks(mcp) < TASKS_MAX;
}

static void keep_bytes_bounded(const struct mcp_call *newest)
{
    struct mcp_call *oldest = NULL;
    while (kept_bytes(newest->mcp) > TASKS_BYTES_MAX &&
           (oldest = oldest_task_over(newest->mcp, newest)) != NULL)
        call_drop(oldest);
}

/* --- a life ----------------------------------------------------------------------------------- */

static void on_task_expired(void *ctx);

static void set_task_end(struct mcp_call *call, int64_t ms)
{
    call->task.ttl_ms += ms;
    loop_timer_set(call->mcp->config->loop, &call->task.timer, ms, on_task_expired, call);
}

/* What still runs has its own end. */
static void on_task_expired(void *ctx)
{
    struct mcp_call *call = ctx;
    if (is_task_over(call))
        call_drop(call);
    else
        set_task_end(call, TASK_KEPT_MS);
}

static void on_task_due(void *ctx)
{
    struct mcp_call *call = ctx;
    if (call->cancelled || call->ask.parked)
        return;
    if (call->ask.timer.armed) { /* a question goes out first, as the answer to the request */
        loop_timer_set(call->mcp->config->loop, &call->task.timer, QUESTION_PAUSE_MS, on_task_due,
                       call);
        return;
    }
    if (!make_room_for_task(call->mcp))
        return;
    random_hex(call->task.id, TASK_ID_BYTES);
    call->task.made_ms = call->task.changed_ms = clock_real_ms();
    set_task_end(call, (int64_t)(call->timeout_s * 1000) + TASK_KEPT_MS);
    send_task_begun(call);
    if (mcp_is_idle(call->mcp))
        call->mcp->events->idle(call->mcp->ctx);
}

void task_call_begins(struct mcp_call *call, const struct json *params)
{
    const struct mcp_config *config = call->mcp->config;
    const int64_t after_ms = config->task_after_ms > 0 ? config->task_after_ms : TASK_AFTER_MS;
    if (call->era == MCP_MODERN && takes_tasks(params))
        loop_timer_set(config->loop, &call->task.timer, after_ms, on_task_due, call);
    else
        loop_timer_stop(config->loop, &call->task.timer);
}

void task_call_ends(struct mcp_call *call)
{
    loop_timer_stop(call->mcp->config->loop, &call->task.timer);
    buf_done(&call->task.answer);
}

static void end_task(struct mcp_call *call, enum task_status status)
{
    call->task.status = status;
    call->task.changed_ms = clock_real_ms();
}

void task_cancelled(struct mcp_call *call)
{
    end_task(call, TASK_CANCELLED);
}

void task_keep_answer(struct mcp_call *call, struct buf *answer, int error)
{
    if (call->cancelled) {
        task_cancelled(call);
        buf_done(answer);
        return;
    }
    if (answer->len > TASKS_BYTES_MAX) {
        buf_clear(answer);
        error = RPC_INTERNAL_ERROR;
        rpc_put_error(answer, call->id, error,
                      "Internal error: the answer is too large to be kept; ask for fewer "
                      "max_output_chars or no images",
                      NULL);
    }
    call->task.answer = *answer;
    *answer = BUF_INIT(0);
    end_task(call, error ? TASK_FAILED : TASK_COMPLETED);
    keep_bytes_bounded(call);
}

/* --- methods ---------------------------------------------------------------------------------- */

/* NULL: it has been answered. */
static struct mcp_call *task_of(const struct mcp_request *r)
{
    static const char needed[] =
        "{\"requiredCapabilities\":{\"extensions\":{\"" EXTENSION "\":{}}}}";
    const char *id = json_get_text(r->m->params, "taskId");
    struct mcp_call *call = id && *id ? find_task(r->mcp, id) : NULL;
    if (!takes_tasks(r->m->params))
        mcp_answer_error(r->mcp, r->m->id, RPC_MISSING_CAPABILITY,
                         "Missing required client capability: " EXTENSION, needed);
    else if (!call)
        mcp_answer_error(r->mcp, r->m->id, RPC_INVALID_PARAMS,
                         "Invalid params: taskId: there is no such task: it was dropped after its "
                         "end, or never was",
                         NULL);
    else
        return call;
    return NULL;
}

/* The answer that is kept is a whole message, "result" or "error" its last member. */
static void put_kept(struct jsonw *w, const struct mcp_call *call)
{
    const bool failed = call->task.status == TASK_FAILED;
    const size_t skip =
        strlen("{\"jsonrpc\":\"2.0\",\"id\":,\"result\":") - failed + strlen(call->id);
    const struct buf *answer = &call->task.answer;
    drop_buf struct buf text = BUF_INIT(MCP_ANSWER_MAX);
    (void)buf_add(&text, answer->data + skip, answer->len - skip - 1);
    jsonw_set_raw(w, failed ? "error" : "result", buf_text(&text));
}

static void answer_task(const struct mcp_request *r, const struct mcp_call *call)
{
    drop_buf struct buf out = BUF_INIT(MCP_ANSWER_MAX);
    struct jsonw w = JSONW(&out);
    const bool asks =
        call && call->task.status == TASK_WORKING && r->mcp->caller->may_approve && ask_waits(call);
    rpc_result_begin(&w, r->m->id);
    if (call)
        put_task(&w, call, asks ? "input_required" : status_names[call->task.status]);
    if (asks)
        ask_put_requests(call, &w);
    if (call && call->task.answer.len > 0)
        put_kept(&w, call);
    put_result_stamp(&w, r->mcp, r->era);
    rpc_end(&w);
    if (out.failed)
        mcp_answer_error(r->mcp, r->m->id, RPC_INTERNAL_ERROR, "Internal error: no memory", NULL);
    else
        mcp_answer(r->mcp, &out);
}

void tasks_get(const struct mcp_request *r)
{
    const struct mcp_call *call = task_of(r);
    if (call)
        answer_task(r, call);
}

void tasks_update(const struct mcp_request *r)
{
    struct mcp_call *call = task_of(r);
    const struct json *responses = json_get(r->m->params, "inputResponses");
    if (!call)
        return;
    if (!json_is_object(responses)) {
        mcp_answer_error(r->mcp, r->m->id, RPC_INVALID_PARAMS,
                         "Invalid params: inputResponses: an object is needed", NULL);
        return;
    }
    ask_take_responses(call, responses);
    answer_task(r, NULL);
}

void tasks_cancel(const struct mcp_request *r)
{
    struct mcp_call *call = task_of(r);
    if (!call)
        return;
    if (call->task.status == TASK_WORKING && !call->cancelled)
        call_cancel(call);
    answer_task(r, NULL);
}
