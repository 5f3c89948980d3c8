/* SPDX-License-Identifier: Apache-2.0
 *
 * The control plane: making, finding and ending sandboxes. What a client asks for and is not served
 * is refused, so that nobody relies on it. */
#include "front/e2b/e2b_control.h"

#include <string.h>

#include "session/executions/executions.h"

enum { TIMEOUT_S = 300 /* where a client names none */, TEMPLATE_MAX = 200 };

struct e2b_sandbox *e2b_sandbox_param(struct e2b *e, struct http_request *r)
{
    const char *id = http_param(r, "id");
    struct e2b_sandbox *s = e2b_sandbox_find(e, id);
    if (!s)
        e2b_fail(r, 404, "there is no sandbox %.40s", id);
    return s;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Whole seconds of a member; none: fallback. */
static int read_seconds(const struct json *body, const char *name, int64_t fallback, int64_t *ret,
                        struct err *err)
{
    const struct json *value = json_get(body, name);
    double seconds = json_number(value);
    *ret = fallback;
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_number(value) || seconds < 0 || seconds > (double)SESSIONS_MS_MAX / 1000 ||
        seconds != (double)(int64_t)seconds)
        return err_set(err, -EINVAL, "%s: whole seconds from 0 to %lld are needed", name,
                       (long long)SESSIONS_MS_MAX / 1000);
    *ret = (int64_t)seconds;
    return 0;
}

int e2b_read_timeout(const struct json *body, int64_t *ret_ms, struct err *err)
{
    int64_t seconds = 0;
    int r = read_seconds(body, "timeout", TIMEOUT_S, &seconds, err);
    if (r == 0 && seconds == 0)
        r = err_set(err, -EINVAL, "timeout: at least a second is needed");
    *ret_ms = seconds * 1000;
    return r;
}

static int read_texts(const struct json *body, const char *name, const struct json **ret,
                      struct err *err)
{
    const struct json *value = json_get(body, name);
    *ret = NULL;
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_object(value))
        return err_set(err, -EINVAL, "%s: an object of strings is needed", name);
    for (const struct json *j = json_first(value); j; j = json_next(j))
        if (!json_text(j))
            return err_set(err, -EINVAL, "%s.%.40s: a string is needed", name, json_name(j));
    *ret = value;
    return 0;
}

/* "network" as far as it says no more than that there is to be none. */
static int read_offline(const struct json *body, bool *ret_offline, struct err *err)
{
    const struct json *allow = json_get(body, "allow_internet_access");
    const struct json *network = json_get(body, "network");
    const struct json *deny = json_get(network, "denyOut");
    if (allow && !json_is_null(allow) && !json_is_bool(allow))
        return err_set(err, -EINVAL, "allow_internet_access: true or false is needed");
    const char *denied = json_text(json_first(deny));
    bool none = json_count(deny) == 1 && denied && strcmp(denied, "0.0.0.0/0") == 0;
    if (json_count(json_get(network, "allowOut")) > 0 ||
        json_count(json_get(network, "rules")) > 0 || (json_count(deny) > 0 && !none))
        return err_set(
            err, -EINVAL,
            "network: only denyOut [\"0.0.0.0/0\"] is served; hosts by name stand in the "
            "server's --sandbox-config");
    *ret_offline = none || json_is_bool(allow) ? none || !json_true(allow) : false;
    return 0;
}

/* A pause keeps the processes; one that ends them and keeps files alone is not served. */
static int need_kept_memory(const struct json *body, const char *name, struct err *err)
{
    const struct json *value = json_get(body, name);
    if (!json_is_bool(value) || json_true(value))
        return 0;
    return err_set(err, -EINVAL, "%s: a pause keeps the memory here; false is not served", name);
}

static int refuse_unserved(const struct json *body, struct err *err)
{
    if (json_count(json_get(body, "volumeMounts")) > 0)
        return err_set(err, -EINVAL, "volumeMounts: volumes are not served");
    if (json_count(json_get(body, "mcp")) > 0)
        return err_set(err, -EINVAL,
                       "mcp: the server's own MCP servers are those of --mcp-servers");
    if (json_count(json_get(body, "iam")) > 0)
        return err_set(err, -EINVAL, "iam: roles of a cloud are not served");
    return 0;
}

static int read_spec(const struct json *body, struct e2b_sandbox_spec *ret, struct err *err)
{
    int r = json_need_text(body, "templateID", &ret->template_name, err);
    if (r == 0 && (!*ret->template_name || strlen(ret->template_name) > TEMPLATE_MAX))
        r = err_set(err, -EINVAL, "templateID: 1 to %d characters are needed", TEMPLATE_MAX);
    if (r == 0)
        r = e2b_read_timeout(body, &ret->timeout_ms, err);
    if (r == 0)
        r = read_texts(body, "metadata", &ret->metadata, err);
    if (r == 0)
        r = read_texts(body, "envVars", &ret->env, err);
    if (r == 0)
        r = read_offline(body, &ret->offline, err);
    if (r == 0)
        r = refuse_unserved(body, err);
    if (r == 0)
        r = need_kept_memory(body, "autoPauseMemory", err);
    if (r < 0)
        return r;
    ret->pauses = json_true(json_get(body, "autoPause"));
    ret->wakes = json_true(json_get(json_get(body, "autoResume"), "enabled"));
    return 0;
}

/* --- handlers --------------------------------------------------------------------------------- */

static void post_sandbox(void *ctx, struct http_request *r)
{
    struct e2b *e = ctx;
    struct e2b_sandbox_spec spec = {.key = http_header(r, "Idempotency-Key")};
    struct e2b_sandbox *s = NULL;
    struct err why = ERR_NONE;
    drop_json struct json *body = NULL;
    if (!e2b_body(r, &body))
        return;
    if (e->stopping) {
        e2b_fail(r, 503, "the server is stopping");
        return;
    }
    if (spec.key && (!*spec.key || strlen(spec.key) > EXECUTION_KEY_MAX)) {
        e2b_fail(r, 400, "Idempotency-Key: 1 to %d characters are needed", EXECUTION_KEY_MAX);
        return;
    }
    if (spec.key)
        s = e2b_sandbox_by_key(e, spec.key);
    if (!s && (read_spec(body, &spec, &why) < 0 || e2b_sandbox_new(e, &spec, &s, &why) < 0))
        e2b_fail_err(r, &why);
    else
        e2b_answer_sandbox(r, 201, s);
}

/* Seconds of a member of the body. False: it has answered. */
static bool read_end(struct http_request *r, const char *name, int64_t fallback, int64_t *ret_ms)
{
    int64_t seconds;
    struct err e = ERR_NONE;
    drop_json struct json *body = NULL;
    if (!e2b_body(r, &body))
        return false;
    if (read_seconds(body, name, fallback, &seconds, &e) < 0) {
        e2b_fail_err(r, &e);
        return false;
    }
    if (seconds < 0)
        e2b_fail(r, 400, "%s: a number is needed", name);
    *ret_ms = seconds * 1000;
    return seconds >= 0;
}

static void move_end_later(struct e2b_sandbox *s, int64_t ms)
{
    if (ms > e2b_sandbox_left(s))
        e2b_sandbox_set_end(s, ms);
}

static void post_connect(void *ctx, struct http_request *r)
{
    struct e2b_sandbox *s = e2b_sandbox_param(ctx, r);
    int64_t ms;
    if (!s || !read_end(r, "timeout", TIMEOUT_S, &ms))
        return;
    const bool paused = s->paused;
    if (paused)
        e2b_sandbox_resume(s, ms);
    else
        move_end_later(s, ms);
    e2b_answer_sandbox(r, paused ? 201 : 200, s);
}

struct e2b_sandbox *e2b_running_param(struct e2b *e, struct http_request *r)
{
    struct e2b_sandbox *s = e2b_sandbox_param(e, r);
    if (!s || !s->paused)
        return s;
    e2b_fail(r, 409, "the sandbox %.40s is paused: connect resumes it", s->id);
    return NULL;
}

static void post_timeout(void *ctx, struct http_request *r)
{
    struct e2b_sandbox *s = e2b_running_param(ctx, r);
    int64_t ms;
    if (!s || !read_end(r, "timeout", -1, &ms))
        return;
    e2b_sandbox_set_end(s, ms);
    http_answer(r, 204, NULL, 0, NULL, 0);
}

static void post_refreshes(void *ctx, struct http_request *r)
{
    struct e2b_sandbox *s = e2b_running_param(ctx, r);
    int64_t ms;
    if (!s || !read_end(r, "duration", TIMEOUT_S, &ms))
        return;
    move_end_later(s, ms);
    http_answer(r, 204, NULL, 0, NULL, 0);
}

static void post_pause(void *ctx, struct http_request *r)
{
    struct e2b_sandbox *s = e2b_running_param(ctx, r);
    struct err e = ERR_NONE;
    drop_json struct json *body = NULL;
    if (!s || !e2b_body(r, &body))
        return;
    if (need_kept_memory(body, "memory", &e) < 0) {
        e2b_fail_err(r, &e);
        return;
    }
    e2b_sandbox_pause(s);
    http_answer(r, 204, NULL, 0, NULL, 0);
}

static void post_resume(void *ctx, struct http_request *r)
{
    struct e2b_sandbox *s = e2b_sandbox_param(ctx, r);
    int64_t ms;
    if (!s || !read_end(r, "timeout", TIMEOUT_S, &ms))
        return;
    if (!s->paused) {
        e2b_fail(r, 409, "the sandbox %.40s is running", s->id);
        return;
    }
    e2b_sandbox_resume(s, ms);
    e2b_answer_sandbox(r, 201, s);
}

static void delete_sandbox(void *ctx, struct http_request *r)
{
    struct e2b_sandbox *s = e2b_sandbox_param(ctx, r);
    if (!s)
        return;
    e2b_sandbox_kill(s);
    http_answer(r, 204, NULL, 0, NULL, 0);
}

/* --- what is not served ----------------------------------------------------------------------- */

static void post_snapshot(void *ctx, struct http_request *r)
{
    if (e2b_sandbox_param(ctx, r))
        e2b_fail(r, 501,
                 "snapshots are not served: a sandbox that has ended is gone; "
                 "fork makes sandboxes that begin as this one is");
}

static void put_network(void *ctx, struct http_request *r)
{
    if (e2b_sandbox_param(ctx, r))
        e2b_fail(r, 501,
                 "the network of a running sandbox is changed by the HTTP API alone: "
                 "PUT /v1/sessions/{id}/sandbox");
}

static void answer_constant(struct http_request *r, const char *json)
{
    static const struct http_header type = {"Content-Type", E2B_TYPE};
    http_answer(r, 200, &type, 1, json, strlen(json));
}

static void get_logs(void *ctx, struct http_request *r)
{
    if (e2b_sandbox_param(ctx, r))
        answer_constant(r, "{\"logs\":[],\"logEntries\":[]}");
}

static void get_snapshots(void *ctx, struct http_request *r)
{
    (void)ctx;
    answer_constant(r, "[]");
}

#define POST(path, start) {"POST", path, HTTP_COLLECT, E2B_BODY_MAX, NULL, E2B_NEEDS_KEY, start}

static const struct http_route routes[] = {
    POST("/sandboxes", post_sandbox),
    POST("/v2/sandboxes", post_sandbox),
    {"GET", "/sandboxes", HTTP_NO_BODY, 0, NULL, E2B_NEEDS_KEY, e2b_sandboxes_list},
    {"GET", "/v2/sandboxes", HTTP_NO_BODY, 0, NULL, E2B_NEEDS_KEY, e2b_sandboxes_list_v2},
    {"GET", "/sandboxes/{id}", HTTP_NO_BODY, 0, NULL, E2B_NEEDS_KEY, e2b_sandbox_get},
    {"DELETE", "/sandboxes/{id}", HTTP_COLLECT, E2B_BODY_MAX, NULL, E2B_NEEDS_KEY, delete_sandbox},
    POST("/sandboxes/{id}/connect", post_connect),
    POST("/v2/sandboxes/{id}/connect", post_connect),
    POST("/sandboxes/{id}/timeout", post_timeout),
    POST("/sandboxes/{id}/refreshes", post_refreshes),
    POST("/sandboxes/{id}/resume", post_resume),
    POST("/sandboxes/{id}/pause", post_pause),
    POST("/sandboxes/{id}/fork", e2b_sandbox_fork),
    POST("/sandboxes/{id}/snapshots", post_snapshot),
    {"PUT", "/sandboxes/{id}/network", HTTP_COLLECT, E2B_BODY_MAX, NULL, E2B_NEEDS_KEY,
     put_network},
    {"GET", "/sandboxes/{id}/metrics", HTTP_NO_BODY, 0, NULL, E2B_NEEDS_KEY, e2b_sandbox_metrics},
    {"GET", "/sandboxes/{id}/logs", HTTP_NO_BODY, 0, NULL, E2B_NEEDS_KEY, get_logs},
    {"GET", "/snapshots", HTTP_NO_BODY, 0, NULL, E2B_NEEDS_KEY, get_snapshots},
};

const struct e2b_part e2b_control_part = {.routes = routes, .n = sizeof routes / sizeof *routes};
