/* SPDX-License-Identifier: Apache-2.0 */
#include "front/api/api_bodies.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text/utf8.h"
#include "output/output.h"
#include "session/queue/session_checkpoints.h"

enum { CHARS_DEFAULT = 100000, REWIND_CELL_MAX = INT32_MAX };

/* --- members ---------------------------------------------------------------------------------- */

static bool is_known_member(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

int body_parse(struct buf *bytes, const char *const *known, struct json **ret, struct err *e)
{
    *ret = NULL;
    if (bytes->len == 0)
        return 0;
    drop_json struct json *parsed = json_parse(bytes->data, bytes->len, JSON_REQUEST, e);
    if (!parsed)
        return err_set(e, -EINVAL, "the body: %s", e->msg);
    if (!json_is_object(parsed))
        return err_set(e, -EINVAL, "the body: a JSON object is needed");
    for (const struct json *item = json_first(parsed); item; item = json_next(item)) {
        if (!is_known_member(json_name(item), known))
            return err_set(e, -EINVAL, "%.80s: there is no such member", json_name(item));
    }
    *ret = parsed;
    parsed = NULL;
    return 0;
}

static const struct json *given_member(const struct json *body, const char *name)
{
    const struct json *item = json_get(body, name);
    return json_is_null(item) ? NULL : item;
}

/* A member that may be absent or null: *ret stays as it is. */
static int body_text(const struct json *body, const char *name, const char **ret, struct err *e)
{
    const struct json *item = given_member(body, name);
    if (item && !json_text(item))
        return err_set(e, -EINVAL, "%s: a string is needed", name);
    *ret = item ? json_text(item) : *ret;
    return 0;
}

int body_bool(const struct json *body, const char *name, bool *ret, struct err *e)
{
    const struct json *item = given_member(body, name);
    if (item && !json_is_bool(item))
        return err_set(e, -EINVAL, "%s: true or false is needed", name);
    *ret = item ? json_true(item) : *ret;
    return 0;
}

static int body_int(const struct json *body, const char *name, int64_t least, int64_t most,
                    int64_t *ret, struct err *e)
{
    const struct json *item = given_member(body, name);
    double n = json_number(item);
    if (item &&
        (!json_is_number(item) || n < (double)least || n > (double)most || (double)(int64_t)n != n))
        return err_set(e, -EINVAL, "%s: a whole number from %lld to %lld is needed", name,
                       (long long)least, (long long)most);
    *ret = item ? (int64_t)n : *ret;
    return 0;
}

/* --- POST /v1/sessions/{id}/executions -------------------------------------------------------- */

const char *const body_execution_known[] = {
    "code", "timeout_ms", "max_output_chars", "on_disconnect", "wait", "save_displays", NULL};

int body_execution(const struct json *body, int64_t timeout_ms, struct body_execution *ret,
                   struct err *e)
{
    static const char *const wishes[] = {"cancel", "detach", NULL};
    *ret = (struct body_execution){
        .timeout_ms = timeout_ms, .max_chars = CHARS_DEFAULT, .wait = true, .save_displays = true};
    int r = json_need_text(body, "code", &ret->code, e);
    if (r == 0)
        r = body_int(body, "timeout_ms", 1, SESSIONS_MS_MAX, &ret->timeout_ms, e);
    if (r == 0)
        r = body_int(body, "max_output_chars", 0, (int64_t)OUTPUT_HEAD_MAX, &ret->max_chars, e);
    if (r == 0)
        r = body_bool(body, "wait", &ret->wait, e);
    if (r == 0)
        r = body_bool(body, "save_displays", &ret->save_displays, e);
    if (r == 0)
        r = body_text(body, "on_disconnect", &ret->on_disconnect, e);
    if (r == 0 && ret->on_disconnect && !is_known_member(ret->on_disconnect, wishes))
        r = err_set(e, -EINVAL, "on_disconnect: cancel or detach is needed");
    return r;
}

/* --- POST /v1/sessions ------------------------------------------------------------------------ */

const char *const body_session_known[] = {"id",
                                          "env",
                                          "cwd",
                                          "timeout_ms",
                                          "idle_timeout_ms",
                                          "approval",
                                          "approval_timeout_ms",
                                          "sandbox",
                                          "limits",
                                          "checkpoints",
                                          NULL};

static int read_strictness(const struct json *body, enum approvals_strictness *ret, struct err *e)
{
    static const char *const names[] = {[APPROVALS_BY_POLICY] = "policy",
                                        [APPROVALS_ASK_ALL] = "ask",
                                        [APPROVALS_DENY_ALL] = "deny"};
    const char *name = names[APPROVALS_BY_POLICY];
    int r = body_text(body, "approval", &name, e);
    for (size_t i = 0; r == 0 && i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            *ret = (enum approvals_strictness)i;
            return 0;
        }
    }
    return r < 0 ? r : err_set(e, -EINVAL, "approval: policy, ask or deny is needed");
}

int body_session(const struct json *body, struct sessions_spec *ret,
                 struct approvals_rule *ret_rule, struct err *e)
{
    *ret = (struct sessions_spec){.env = json_get(body, "env"),
                                  .limits = given_member(body, "limits")};
    int64_t checkpoints = 0;
    int r = body_text(body, "id", &ret->id, e);
    if (r == 0)
        r = body_text(body, "cwd", &ret->cwd, e);
    if (r == 0)
        r = body_int(body, "timeout_ms", 1, SESSIONS_MS_MAX, &ret->timeout_ms, e);
    if (r == 0)
        r = body_int(body, "idle_timeout_ms", 0, SESSIONS_MS_MAX, &ret->idle_ms, e);
    ret->own_checkpoints = given_member(body, "checkpoints") != NULL;
    if (r == 0)
        r = body_int(body, "checkpoints", 0, SESSION_CHECKPOINTS_MAX, &checkpoints, e);
    ret->checkpoints = (size_t)checkpoints;
    *ret_rule =
        (struct approvals_rule){.own_timeout = given_member(body, "approval_timeout_ms") != NULL};
    if (r == 0)
        r = body_int(body, "approval_timeout_ms", 0, SESSIONS_MS_MAX, &ret_rule->timeout_ms, e);
    return r == 0 ? read_strictness(body, &ret_rule->strictness, e) : r;
}

/* --- POST /v1/sessions/{id}/fork ---------------------------------------------------------------
 */

const char *const body_fork_known[] = {"count", "name", "force", "wait", "random", NULL};

int body_fork(const struct json *body, struct sessions_fork_spec *ret, struct err *e)
{
    static const char *const states[] = {"new", "keep", NULL};
    const char *random = states[0];
    int64_t count = 1;
    int r = body_int(body, "count", 1, SESSIONS_FORK_MAX, &count, e);
    if (r == 0)
        r = body_text(body, "name", &ret->name, e);
    if (r == 0)
        r = body_bool(body, "force", &ret->force, e);
    if (r == 0)
        r = body_bool(body, "wait", &ret->wait, e);
    if (r == 0 && ret->name && (!*ret->name || strlen(ret->name) > SESSIONS_FORK_NAME_MAX))
        r = err_set(e, -EINVAL, "name: 1 to %d characters are needed", SESSIONS_FORK_NAME_MAX);
    if (r == 0)
        r = body_text(body, "random", &random, e);
    if (r == 0 && !is_known_member(random, states))
        r = err_set(e, -EINVAL, "random: new or keep is needed");
    ret->keep_random = strcmp(random, "keep") == 0;
    ret->count = (size_t)count;
    return r;
}

/* --- POST /v1/sessions/{id}/complete, inspect ------------------------------------------------- */

const char *const body_question_known[] = {"code", "cursor", NULL};

int body_question(const struct json *body, const char **ret_code, size_t *ret_cursor, struct err *e)
{
    int r = json_need_text(body, "code", ret_code, e);
    if (r < 0)
        return r;
    const int64_t end = (int64_t)utf8_count(*ret_code, strlen(*ret_code));
    int64_t cursor = end;
    r = body_int(body, "cursor", 0, end, &cursor, e);
    *ret_cursor = (size_t)cursor;
    return r;
}

/* --- POST /v1/sessions/{id}/rewind ------------------------------------------------------------ */

const char *const body_rewind_known[] = {"cell", "wait", NULL};

int body_rewind(const struct json *body, struct body_rewind *ret, struct err *e)
{
    int64_t cell = 0;
    *ret = (struct body_rewind){0};
    int r = body_int(body, "cell", 1, REWIND_CELL_MAX, &cell, e);
    if (r == 0 && cell == 0)
        r = err_set(e, -EINVAL, "cell: a whole number is needed");
    if (r == 0)
        r = body_bool(body, "wait", &ret->wait, e);
    ret->cell = (uint64_t)cell;
    return r;
}

/* --- PUT /v1/sessions/{id}/sandbox ------------------------------------------------------------ */

const char *const body_sandbox_known[] = {"settings", "reset", NULL};

int body_sandbox(const struct json *body, const struct json **ret_settings, bool *ret_reset,
                 struct err *e)
{
    *ret_settings = json_get(body, "settings");
    *ret_reset = false;
    if (!json_is_object(*ret_settings))
        return err_set(e, -EINVAL, "settings: an object is needed");
    return body_bool(body, "reset", ret_reset, e);
}

/* --- POST /v1/approvals/{aid} ----------------------------------------------------------------- */

const char *const body_decision_known[] = {"decision", "remember_ms", "remember_calls",
                                           "action",   "content",     NULL};

static int read_body_decision(const struct json *body, struct approval_decision *ret, struct err *e)
{
    static const char *const words[] = {"accept", "reject", NULL};
    const char *word = NULL;
    int64_t calls = 0;
    int r = json_need_text(body, "decision", &word, e);
    if (r == 0)
        r = body_int(body, "remember_ms", 0, SESSIONS_MS_MAX, &ret->remember_ms, e);
    if (r == 0)
        r = body_int(body, "remember_calls", 0, 1000000, &calls, e);
    if (r < 0)
        return r;
    if (!is_known_member(word, words))
        return err_set(e, -EINVAL, "decision: accept or reject is needed");
    ret->remember_calls = (uint32_t)calls;
    ret->accept = strcmp(word, "accept") == 0;
    if (!ret->accept && (ret->remember_ms > 0 || calls > 0))
        return err_set(e, -EINVAL, "remember_ms, remember_calls: only with the decision accept");
    return 0;
}

static int read_answer(const struct json *body, struct body_decision *ret, struct err *e)
{
    static const char *const words[] = {"accept", "decline", "cancel", NULL};
    int r = json_need_text(body, "action", &ret->action, e);
    ret->content = given_member(body, "content");
    if (r < 0)
        return r;
    if (!is_known_member(ret->action, words))
        return err_set(e, -EINVAL, "action: accept, decline or cancel is needed");
    if (given_member(body, "decision") || given_member(body, "remember_ms") ||
        given_member(body, "remember_calls"))
        return err_set(e, -EINVAL, "action: only content may stand beside it");
    if (ret->content && (!json_is_object(ret->content) || strcmp(ret->action, "accept") != 0))
        return err_set(e, -EINVAL, "content: must be an object, and only with the action accept");
    return 0;
}

int body_decision(const struct json *body, struct body_decision *ret, struct err *e)
{
    *ret = (struct body_decision){0};
    if (given_member(body, "action"))
        return read_answer(body, ret, e);
    if (given_member(body, "content"))
        return err_set(e, -EINVAL, "content: an action is needed beside it");
    return read_body_decision(body, &ret->decision, e);
}

/* --- POST /v1/packages, /v1/mcp-servers ------------------------------------------------------- */

const char *const body_package_known[] = {"package", NULL};

int body_package(const struct json *body, const char **ret_package, struct err *e)
{
    return json_need_text(body, "package", ret_package, e);
}

const char *const body_server_known[] = {"name", "params", "generate", NULL};

int body_server(const struct json *body, const char **ret_name, const struct json **ret_params,
                bool *ret_generate, struct err *e)
{
    *ret_generate = true;
    int r = json_need_text(body, "name", ret_name, e);
    *ret_params = json_get(body, "params");
    if (r == 0 && !json_is_object(*ret_params))
        r = err_set(e, -EINVAL, "params: an object is needed");
    return r < 0 ? r : body_bool(body, "generate", ret_generate, e);
}
