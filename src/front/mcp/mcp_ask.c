/* SPDX-License-Identifier: Apache-2.0
 *
 * A question belongs to the call whose cell asks (find_call()). It leaves the list before or when
 * it is settled, by the first of: the client's answer, a pass to the next approver, the end of its
 * time, the approvals themselves (on_elicitation_settled()). Later answers find nothing and change
 * nothing. A parked call is answered anew when the client comes again (ask_retry()), or is given up
 * by its timer (on_elicitation_given_up()): its questions are refused, its cell goes on. */
#include "front/mcp/mcp_ask.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/random.h"
#include "front/mcp/ask_text.h"
#include "front/mcp/mcp_call.h"
#include "front/mcp/mcp_forks.h"

enum { KEY_BYTES = 32, KEY_MAX = 32, STATE_MAX = 3 + 2 * ASK_HANDLE_BYTES + 1 + HMAC_HEX + 1 };

/* Of the forms that wait: arguments of deep nesting grow when they are indented. */
#define FORM_MAX ((size_t)32 << 20)
#define FORMS_MAX ((size_t)64 << 20)

#define META "io.modelcontextprotocol/"

static const char answer_start[] = "{\"jsonrpc\":\"2.0\",\"id\":";

struct question {
    struct question *next;
    struct mcp_call *call; /* whose work asks; NULL: no call is open, the next one takes it */
    char id[APPROVALS_ID_MAX];
    char key[KEY_MAX]; /* id of the live request, name among the inputRequests */
    bool is_form;
    bool live;  /* a request of ours waits for its response */
    bool shown; /* part of the last "input_required" of its call */
    char *params;
    int64_t expires_ms;
};

struct asker {
    struct mcp *mcp;
    struct approver *approver; /* NULL until the client says that it can be asked */
    struct hmac *hmac;
    struct question *questions; /* oldest first */
    uint64_t count;
    size_t bytes;                   /* of their forms */
    bool handshake_can, modern_can; /* a modern client has said so once; each call says it anew */
};

static struct loop *get_loop(const struct asker *a)
{
    return a->mcp->config->loop;
}

/* --- questions ------------------------------------------------------------------------------- */

static void send_cancelled(struct asker *a, const struct question *q)
{
    drop_buf struct buf out = BUF_INIT(4096);
    struct jsonw w = JSONW(&out);
    rpc_notification_begin(&w, "notifications/cancelled");
    jsonw_set_text(&w, "requestId", q->key);
    jsonw_set_text(&w, "reason", "no answer is needed any more");
    rpc_end(&w);
    mcp_send(a->mcp, q->call, &out);
}

static void drop_question(struct asker *a, struct question *q)
{
    chain_remove(&a->questions, q);
    if (q->live)
        send_cancelled(a, q);
    a->bytes -= strlen(q->params);
    xfree(q->params);
    xfree(q);
}

static struct approval_decision read_elicited_decision(const struct json *result)
{
    const char *action = json_get_text(result, "action");
    const char *decision = json_get_text(json_get(result, "content"), "decision");
    if (!action || strcmp(action, "accept") != 0 || !decision)
        return (struct approval_decision){.accept = false};
    if (strcmp(decision, ASK_APPROVE_SESSION) == 0)
        return (struct approval_decision){.accept = true, .remember_ms = INT64_MAX};
    return (struct approval_decision){.accept = strcmp(decision, ASK_APPROVE) == 0};
}

/* What a server gets: nothing but the members that belong there. */
static void put_elicitation_answer(struct buf *out, const struct json *result)
{
    const char *action = json_get_text(result, "action");
    const struct json *content = json_get(result, "content");
    bool accept = action && strcmp(action, "accept") == 0 && json_is_object(content);
    bool cancel = action && strcmp(action, "cancel") == 0;
    char *raw = accept ? json_print(content) : NULL;
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    jsonw_set_text(&w, "action", raw ? "accept" : cancel ? "cancel" : "decline");
    if (raw)
        jsonw_set_raw(&w, "content", raw);
    jsonw_end(&w);
    xfree(raw);
}

/* result == NULL: refused. That it waits no more is no error: then nobody needs the answer. */
static void answer_elicitation(struct asker *a, const char *id, bool is_form,
                               const struct json *result)
{
    struct approval_decision decision = read_elicited_decision(result);
    drop_buf struct buf text = BUF_INIT(MCP_ANSWER_MAX);
    if (is_form)
        put_elicitation_answer(&text, result);
    int r = is_form
                ? approver_answer(a->approver, id,
                                  text.failed ? "{\"action\":\"decline\"}" : buf_text(&text), NULL)
                : approver_decide(a->approver, id, &decision, NULL);
    (void)r;
}

static void settle_elicitation(struct asker *a, struct question *q, const struct json *result)
{
    answer_elicitation(a, q->id, q->is_form, result);
    drop_question(a, q);
}

static void pass_elicitation(struct asker *a, const char *id)
{
    int r = approver_pass(a->approver, id, NULL);
    (void)r; /* settled meanwhile */
}

static struct question *question_of(const struct asker *a, const struct mcp_call *call)
{
    struct question *q = a->questions;
    while (q && q->call != call)
        q = q->next;
    return q;
}

/* --- the handshake's way: a request of ours -------------------------------------------------- */

static void send_live(struct asker *a, struct question *q)
{
    drop_buf struct buf out = BUF_INIT(MCP_ANSWER_MAX);
    struct jsonw w = JSONW(&out);
    jsonw_object(&w);
    jsonw_set_text(&w, "jsonrpc", "2.0");
    jsonw_set_text(&w, "id", q->key);
    jsonw_set_text(&w, "method", "elicitation/create");
    jsonw_set_raw(&w, "params", q->params);
    jsonw_end(&w);
    if (out.failed) { /* a human who cannot see all of it is not asked */
        settle_elicitation(a, q, NULL);
        return;
    }
    q->live = true;
    mcp_send(a->mcp, q->call, &out);
}

void ask_response(struct mcp *mcp, const struct rpc_message *m)
{
    struct asker *a = mcp->caller->may_approve ? mcp->asker : NULL;
    for (struct question *q = a ? a->questions : NULL; q; q = q->next) {
        char id[KEY_MAX + 2];
        (void)snprintf(id, sizeof id, "\"%s\"", q->key);
        if (!q->live || !rpc_same_id(id, m->id))
            continue;
        q->live = false;
        settle_elicitation(a, q, json_get(m->tree, "result"));
        return;
    }
}

/* --- the modern way: the call is parked ------------------------------------------------------ */

static void make_mac(struct asker *a, const char *handle, int64_t until_ms,
                     const unsigned char digest[HMAC_BYTES], char hex[HMAC_HEX + 1])
{
    unsigned char mac[HMAC_BYTES];
    hmac_begin(a->hmac);
    hmac_add(a->hmac, "state", sizeof "state");
    hmac_add(a->hmac, handle, strlen(handle) + 1);
    hmac_add(a->hmac, &until_ms, sizeof until_ms);
    hmac_add(a->hmac, digest, HMAC_BYTES);
    hmac_end(a->hmac, mac);
    hmac_hex(mac, hex);
}

static void make_digest(struct asker *a, const struct json *params,
                        unsigned char digest[HMAC_BYTES])
{
    const char *name = json_get_text(params, "name");
    const struct json *arguments = json_get(params, "arguments");
    char *text = arguments && !json_is_null(arguments) ? json_print(arguments) : NULL;
    hmac_begin(a->hmac);
    hmac_add(a->hmac, "call", sizeof "call");
    hmac_add(a->hmac, name ? name : "", name ? strlen(name) + 1 : 1);
    hmac_add(a->hmac, text ? text : "{}", text ? strlen(text) : 2);
    hmac_end(a->hmac, digest);
    xfree(text);
}

static void put_requests(struct asker *a, const struct mcp_call *call, struct jsonw *w)
{
    jsonw_set_object(w, "inputRequests");
    for (struct question *q = a->questions; q; q = q->next) {
        if (q->call != call)
            continue;
        q->shown = true;
        jsonw_set_object(w, q->key);
        jsonw_set_text(w, "method", "elicitation/create");
        jsonw_set_raw(w, "params", q->params);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void set_elicitation_end(struct asker *a, struct mcp_call *call)
{
    int64_t now = loop_now(get_loop(a)), until = 0;
    bool endless = false;
    for (struct question *q = a->questions; q; q = q->next) {
        if (q->call != call)
            continue;
        endless = endless || q->expires_ms == 0;
        until = q->expires_ms > until ? q->expires_ms : until;
    }
    call->ask.until_ms = endless ? now + ASK_PARKED_MS : until;
}

static void refuse_all_elicitations(struct asker *a, struct mcp_call *call)
{
    struct question *q = NULL;
    while ((q = question_of(a, call)) != NULL)
        settle_elicitation(a, q, NULL);
}

/* Nobody came for it: that is a no, and the work goes on without a listener. */
static void on_elicitation_given_up(void *ctx)
{
    struct mcp_call *call = ctx;
    if (call->mcp->asker)
        refuse_all_elicitations(call->mcp->asker, call);
    call_abandon(call);
}

static void park(struct asker *a, struct mcp_call *call)
{
    drop_buf struct buf out = BUF_INIT(MCP_ANSWER_MAX);
    struct jsonw w = JSONW(&out);
    char mac[HMAC_HEX + 1], state[STATE_MAX];
    random_hex(call->ask.handle, ASK_HANDLE_BYTES);
    set_elicitation_end(a, call);
    make_mac(a, call->ask.handle, call->ask.until_ms, call->ask.digest, mac);
    (void)snprintf(state, sizeof state, "v1.%s.%s", call->ask.handle, mac);
    rpc_result_begin(&w, call->id);
    jsonw_set_text(&w, "resultType", "input_required");
    put_requests(a, call, &w);
    jsonw_set_text(&w, "requestState", state);
    put_server_stamp(&w, a->mcp);
    rpc_end(&w);
    if (out.failed) { /* a human who cannot see all of it is not asked */
        refuse_all_elicitations(a, call);
        return;
    }
    call_end_progress(call);
    call_send_answer(call, &out, 0);
    call->ask.parked = true;
    call->ask.rounds++;
    loop_timer_set(get_loop(a), &call->ask.timer, call->ask.until_ms - loop_now(get_loop(a)),
                   on_elicitation_given_up, call);
    if (mcp_is_idle(a->mcp))
        a->mcp->events->idle(a->mcp->ctx);
}

static void pass_all(struct asker *a, struct mcp_call *call)
{
    struct question *q = NULL;
    while ((q = question_of(a, call)) != NULL) {
        pass_elicitation(a, q->id);
        drop_question(a, q);
    }
}

static void on_gathered(void *ctx)
{
    struct mcp_call *call = ctx;
    struct asker *a = call->mcp->asker;
    if (!a || call->ask.parked || call_is_task(call) || !question_of(a, call))
        return;
    if (call->ask.can && call->ask.rounds < ASK_ROUNDS_MAX)
        park(a, call);
    else
        pass_all(a, call);
}

static void gather(struct asker *a, struct mcp_call *call, int64_t ms)
{
    if (!call->ask.parked && !call->ask.timer.armed)
        loop_timer_set(get_loop(a), &call->ask.timer, ms, on_gathered, call);
}

/* "v1.HANDLE.MAC": the parked call that it was made for, or NULL. */
static struct mcp_call *find_parked(struct asker *a, const struct json *params)
{
    const char *state = json_get_text(params, "requestState");
    char handle[2 * ASK_HANDLE_BYTES + 1], mac[HMAC_HEX + 1];
    if (!state || strlen(state) != STATE_MAX - 1 || strncmp(state, "v1.", 3) != 0)
        return NULL;
    (void)snprintf(handle, sizeof handle, "%s", state + 3);
    for (struct mcp_call *call = a->mcp->calls; call; call = call->next) {
        if (!call->ask.parked || call->cancelled || strcmp(call->ask.handle, handle) != 0)
            continue;
        unsigned char digest[HMAC_BYTES];
        make_digest(a, params, digest);
        make_mac(a, handle, call->ask.until_ms, digest, mac);
        bool in_time = loop_now(get_loop(a)) < call->ask.until_ms;
        return in_time && state[3 + 2 * ASK_HANDLE_BYTES] == '.' &&
                       hmac_equal(mac, state + 3 + 2 * ASK_HANDLE_BYTES + 1)
                   ? call
                   : NULL;
    }
    return NULL;
}

static void take_responses(struct asker *a, struct mcp_call *call, const struct json *responses)
{
    struct question *next = NULL;
    for (struct question *q = a->questions; q; q = next) {
        next = q->next;
        const struct json *response = q->call == call && q->shown && json_is_object(responses)
                                          ? json_get(responses, q->key)
                                          : NULL;
        if (response)
            settle_elicitation(a, q, response);
    }
}

/* The answer was written for the id of the request that was parked. */
static void send_kept(struct mcp_call *call, size_t old_id_len)
{
    drop_buf struct buf out = BUF_INIT(MCP_ANSWER_MAX + JSONSCAN_ID_MAX);
    size_t skip = sizeof answer_start - 1 + old_id_len;
    (void)buf_adds(&out, answer_start);
    (void)buf_adds(&out, call->id);
    (void)buf_add(&out, call->ask.kept.data + skip, call->ask.kept.len - skip);
    int error = out.failed ? RPC_INTERNAL_ERROR : 0;
    if (error != 0) {
        buf_clear(&out);
        rpc_put_error(&out, call->id, error, "Internal error: no memory", NULL);
    }
    call_send_answer(call, &out, error);
    call_drop(call);
}

static bool elicits(const struct json *capabilities)
{
    const struct json *elicitation = json_get(capabilities, "elicitation");
    return json_is_object(elicitation) &&
           (json_count(elicitation) == 0 || json_is_object(json_get(elicitation, "form")));
}

/* By a modern request. */
static bool may_be_asked(const struct mcp *mcp, const struct json *params)
{
    return mcp->caller->may_approve &&
           elicits(json_get(json_get(params, "_meta"), META "clientCapabilities"));
}

/* Questions that came while no call was open. */
static void adopt(struct asker *a, struct mcp_call *call)
{
    for (struct question *q = a->questions; q; q = q->next) {
        if (!q->call && !q->live)
            q->call = call;
    }
}

bool ask_retry(struct mcp *mcp, const struct rpc_message *m)
{
    struct asker *a = mcp->asker;
    struct mcp_call *call = a ? find_parked(a, m->params) : NULL;
    if (!call)
        return false;
    size_t old_id_len = strlen(call->id);
    loop_timer_stop(get_loop(a), &call->ask.timer);
    call->ask.parked = false;
    call->ask.handle[0] = '\0';
    call->ask.can = may_be_asked(mcp, m->params);
    call_reopen(call, m);
    if (mcp->caller->may_approve)
        take_responses(a, call, json_get(m->params, "inputResponses"));
    if (call->ask.can)
        adopt(a, call);
    if (call->ask.kept.len > 0)
        send_kept(call, old_id_len);
    else
        on_gathered(call); /* what is still without an answer is asked again */
    return true;
}

bool ask_waits(const struct mcp_call *call)
{
    return call->mcp->asker && question_of(call->mcp->asker, call);
}

void ask_put_requests(const struct mcp_call *call, struct jsonw *w)
{
    put_requests(call->mcp->asker, call, w);
}

void ask_take_responses(struct mcp_call *call, const struct json *responses)
{
    if (call->mcp->asker && call->mcp->caller->may_approve)
        take_responses(call->mcp->asker, call, responses);
}

void ask_keep_answer(struct mcp_call *call, struct buf *answer_text)
{
    call->ask.kept = *answer_text;
    *answer_text = BUF_INIT(MCP_ANSWER_MAX);
}

/* --- as an approver -------------------------------------------------------------------------- */

static bool is_of_session(const struct mcp_call *call, const char *session)
{
    return !*call->session_id || strcmp(call->session_id, session) == 0;
}

/* The one place that knows to which call a question belongs. A session's cells run in the order of
 * their calls: the oldest that runs code is the one whose cell runs. Without one it is the oldest
 * other call (servers may ask while they are registered); NULL: a thread asks after its cell's
 * end. */
static struct mcp_call *find_call(const struct mcp *mcp, const char *session)
{
    struct mcp_call *cell = NULL, *other = NULL;
    for (struct mcp_call *call = mcp->calls; call; call = call->next) { /* the newest first */
        if (call->runs_code && call->cell && is_of_session(call, session))
            cell = call;
        else if (!call->runs_code && !call->listening && !call->cancelled &&
                 call->ask.kept.len == 0 && !call->task.answer.len)
            other = call;
    }
    return cell ? cell : other;
}

static bool can_ask(const struct asker *a, const struct mcp_call *call)
{
    if (!call)
        return a->handshake_can || a->modern_can;
    return call->era == MCP_MODERN ? call->ask.can : a->handshake_can;
}

static bool put_params(const struct asker *a, struct buf *out, const struct approval_view *view,
                       bool modern)
{
    const char *version = a->mcp->handshake_version;
    bool with_mode = modern || (version && strcmp(version, "2025-11-25") >= 0);
    if (!view->form)
        ask_put_approval(out, view, with_mode);
    else if (ask_put_form(out, view, with_mode, NULL) < 0)
        return false;
    return !out->failed && a->bytes + out->len <= FORMS_MAX;
}

static struct question *add_question(struct asker *a, const struct approval_view *view,
                                     struct mcp_call *call, char *params)
{
    struct question *q = NEW(struct question);
    q->call = call;
    q->is_form = view->form != NULL;
    q->params = params;
    a->bytes += strlen(params);
    q->expires_ms = view->expires_ms;
    (void)snprintf(q->id, sizeof q->id, "%s", view->id);
    (void)snprintf(q->key, sizeof q->key, "ipybox-%llu", (unsigned long long)++a->count);
    chain_append(&a->questions, q);
    return q;
}

static void on_elicitation_ask(void *ctx, const struct approval_view *view)
{
    struct asker *a = ctx;
    struct mcp_call *call = find_call(a->mcp, view->subject.session);
    bool modern = call ? call->era == MCP_MODERN : !a->handshake_can;
    drop_buf struct buf params = BUF_INIT(FORM_MAX);
    if (call && call->cancelled) { /* the one who could say yes has turned away */
        answer_elicitation(a, view->id, view->form != NULL, NULL);
        return;
    }
    if (!can_ask(a, call) || !put_params(a, &params, view, modern)) {
        pass_elicitation(a, view->id);
        return;
    }
    struct question *q = add_question(a, view, call, buf_take(&params));
    if (!modern)
        send_live(a, q);
    else if (call)
        gather(a, call, ASK_GATHER_MS);
}

static void on_elicitation_settled(void *ctx, const char *id, const char *outcome)
{
    struct asker *a = ctx;
    (void)outcome;
    struct question *q = a->questions;
    while (q && strcmp(q->id, id) != 0)
        q = q->next;
    if (q)
        drop_question(a, q);
}

static bool is_own_branch(void *ctx, const char *session)
{
    const struct asker *a = ctx;
    return forks_has(a->mcp, session);
}

static void join_elicitations(struct asker *a)
{
    struct approver_config config = {.rank = APPROVER_CLIENT,
                                     .session = a->mcp->config->session_id,
                                     .covers = is_own_branch,
                                     .ask = on_elicitation_ask,
                                     .elicit = on_elicitation_ask,
                                     .settled = on_elicitation_settled,
                                     .ctx = a};
    if (!a->approver)
        a->approver = approver_join(a->mcp->config->approvals, &config);
}

static void leave_elicitations(struct asker *a)
{
    while (a->questions)
        drop_question(a, a->questions);
    a->approver = approver_leave(a->approver);
}

/* --- the dispatcher's calls ------------------------------------------------------------------ */

struct asker *asker_open(struct mcp *mcp)
{
    if (!mcp->config->approvals || mcp->config->runs_nothing)
        return NULL;
    char key[2 * KEY_BYTES + 1];
    random_hex(key, KEY_BYTES);
    struct asker *a = NEW(struct asker);
    a->mcp = mcp;
    a->hmac = hmac_new(key, 2 * KEY_BYTES);
    return a;
}

struct asker *asker_close(struct asker *a)
{
    if (!a)
        return NULL;
    for (struct question *q = a->questions; q; q = q->next)
        q->live = false; /* there is nobody any more to whom it could be told */
    leave_elicitations(a);
    (void)hmac_free(a->hmac);
    xfree(a);
    return NULL;
}

void ask_handshake(struct mcp *mcp, const struct json *capabilities)
{
    struct asker *a = mcp->asker;
    if (!a)
        return;
    a->handshake_can = mcp->caller->may_approve && elicits(capabilities);
    if (a->handshake_can)
        join_elicitations(a);
    else if (!a->modern_can)
        leave_elicitations(a);
}

void ask_call_begins(struct mcp_call *call, const struct json *params)
{
    struct asker *a = call->mcp->asker;
    if (!a || call->era != MCP_MODERN || !may_be_asked(call->mcp, params))
        return;
    call->ask.can = a->modern_can = true;
    join_elicitations(a);
    make_digest(a, params, call->ask.digest);
    adopt(a, call);
    if (question_of(a, call))
        gather(a, call, 0);
}

void ask_call_cancelled(struct mcp_call *call)
{
    if (call->mcp->asker)
        refuse_all_elicitations(call->mcp->asker, call);
}

void ask_call_ends(struct mcp_call *call)
{
    struct asker *a = call->mcp->asker;
    loop_timer_stop(call->mcp->config->loop, &call->ask.timer);
    buf_done(&call->ask.kept);
    for (struct question *q = a ? a->questions : NULL; q; q = q->next) {
        if (q->call == call) {
            q->call = NULL;
            q->shown = false;
        }
    }
}
