/* SPDX-License-Identifier: Apache-2.0 */
#include "front/librechat/librechat.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "front/http/http_auth.h"
#include "front/librechat/librechat_internal.h"

enum { TEXT_MAX = 1000, BUSY_SECONDS = 5 };

#define AT(path) LIBRECHAT_PREFIX path

/* --- errors ----------------------------------------------------------------------------------- */

static const char *word_of(int status)
{
    static const struct {
        int status;
        const char *word;
    } words[] = {{401, "unauthorized"},       {403, "forbidden"},         {404, "not_found"},
                 {405, "method_not_allowed"}, {413, "payload_too_large"}, {429, "rate_limited"},
                 {503, "unavailable"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].status == status)
            return words[i].word;
    return status < 500 ? "invalid_request" : "internal_error";
}

static void put_librechat_problem(void *ctx, int status, const char *detail, struct buf *body)
{
    struct jsonw w = JSONW(body);
    (void)ctx;
    jsonw_object(&w);
    jsonw_set_text(&w, "error", word_of(status));
    jsonw_set_text(&w, "message", detail);
    if (status == 429)
        jsonw_set_int(&w, "retry_after_seconds", BUSY_SECONDS);
    jsonw_end(&w);
}

void librechat_fail(struct http_request *r, int status, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    http_problem(r, status, NULL, 0, "%s", text);
}

void librechat_fail_err(struct http_request *r, const struct err *e)
{
    switch (e->code) {
    case -EINVAL:
    case -EDOM:
    case -EOVERFLOW:
        librechat_fail(r, 400, "%s", e->msg);
        break;
    case -ENOENT:
        librechat_fail(r, 404, "%s", e->msg);
        break;
    case -EACCES:
        librechat_fail(r, 403, "%s", e->msg);
        break;
    case -EAGAIN:
        librechat_fail(r, 429, "%s", e->msg);
        break;
    case -ENOSPC:
    case -EDQUOT:
    case -EFBIG:
        librechat_fail(r, 507, "%s", e->msg);
        break;
    default:
        librechat_fail(r, 503, "%s", e->msg);
    }
}

int librechat_refuse(const struct librechat *l, const char *name, struct err *e)
{
    if (!judge_is_ready(l->judge))
        return err_set(e, -EAGAIN, "the workspace is still looked through; try again in a second");
    return err_set(e, -EACCES, "%.200s: code in the session may not do this, nor may you", name);
}

/* --- who may ---------------------------------------------------------------------------------- */

static bool has_right_profile(struct http_request *r)
{
    static const char body[] =
        "{\"error\":\"execution_profile_mismatch\",\"code\":\"execution_"
        "profile_mismatch\",\"message\":\"default and stateful are served\"}";
    static const struct http_header type = {"Content-Type", "application/json"};
    const char *profile = http_header(r, "X-CodeAPI-Expected-Profile");
    if (!profile || strcmp(profile, "default") == 0 || strcmp(profile, "stateful") == 0)
        return true;
    http_answer(r, 409, &type, 1, body, sizeof body - 1);
    return false;
}

static bool admit_librechat(void *ctx, struct http_request *r, const struct http_route *route)
{
    struct librechat *l = ctx;
    struct err why = ERR_NONE;
    if (route->tag == LIBRECHAT_FREE)
        return true;
    if (l->config.key || l->keys) {
        const char *role = librechat_role(l, r, &why);
        if (!role) {
            http_guard_refuse(l->guard, r, why.msg);
            return false;
        }
        http_guard_admit(l->guard, r, role);
    }
    return has_right_profile(r);
}

/* --- routes ----------------------------------------------------------------------------------- */

static void get_librechat_health(void *ctx, struct http_request *r)
{
    static const struct http_header type = {"Content-Type", "application/json"};
    static const char body[] = "{\"status\":\"ok\"}";
    (void)ctx;
    http_answer(r, 200, &type, 1, body, sizeof body - 1);
}

#define KEY LIBRECHAT_NEEDS_KEY

static const struct http_route routes[] = {
    {"GET", AT("/health"), HTTP_NO_BODY, 0, NULL, LIBRECHAT_FREE, get_librechat_health},
    {"POST", AT("/exec"), HTTP_COLLECT, LIBRECHAT_BODY_MAX, NULL, KEY, librechat_post_exec},
    {"POST", AT("/exec/programmatic"), HTTP_COLLECT, LIBRECHAT_RESULTS_MAX, NULL, KEY,
     librechat_post_programmatic},
    {"POST", AT("/exec/programmatic/cancel"), HTTP_COLLECT, LIBRECHAT_BODY_MAX, NULL, KEY,
     librechat_post_cancel},
    {"POST", AT("/upload"), HTTP_RECEIVE, LIBRECHAT_UPLOAD_MAX, NULL, KEY, librechat_post_upload},
    {"POST", AT("/upload/batch"), HTTP_RECEIVE, LIBRECHAT_UPLOAD_MAX, NULL, KEY,
     librechat_post_upload},
    {"GET", AT("/files/{session}"), HTTP_NO_BODY, 0, NULL, KEY, librechat_get_files},
    {"DELETE", AT("/files/{session}/{file}"), HTTP_NO_BODY, 0, NULL, KEY, librechat_delete},
    {"GET", AT("/sessions/{session}/objects/{file}"), HTTP_NO_BODY, 0, NULL, KEY,
     librechat_get_object},
    {"GET", AT("/download/{session}/{file}"), HTTP_NO_BODY, 0, NULL, KEY, librechat_download},
};

const struct http_realm *librechat_realm(const struct librechat *l, const struct http_request *r)
{
    const char *path = http_path(r);
    size_t n = sizeof LIBRECHAT_PREFIX - 1;
    bool ours = strncmp(path, LIBRECHAT_PREFIX, n) == 0 && (path[n] == '\0' || path[n] == '/');
    return ours ? &l->realm : NULL;
}

/* --- opening and closing ---------------------------------------------------------------------- */

static void on_librechat_session_ended(void *ctx, const char *id)
{
    librechat_runs_session_ended(ctx, id);
}

int librechat_open(const struct librechat_config *config, struct librechat **ret, struct err *e)
{
    struct beneath top;
    struct jwks *keys = NULL;
    int r = config->jwt_keys ? jwks_read(config->jwt_keys, &keys, e) : 0;
    if (r < 0)
        return err_wrap(e, "--librechat-jwt-keys");
    r = beneath_open(config->workspace, &top, e);
    if (r < 0) {
        (void)jwks_free(keys);
        return err_wrap(e, "--librechat");
    }
    struct librechat *l = NEW(struct librechat);
    *l = (struct librechat){.config = *config,
                            .keys = keys,
                            .top = top,
                            .judge = judge_new(config->sessions),
                            .watcher = {.ended = on_librechat_session_ended, .ctx = l}};
    l->realm = (struct http_realm){.routes = routes,
                                   .n_routes = sizeof routes / sizeof *routes,
                                   .alone = true,
                                   .admit = admit_librechat,
                                   .problem = put_librechat_problem,
                                   .ctx = l};
    l->rules = judge_rules(l->judge);
    l->guard = http_guard_new(config->loop);
    http_guard_tell(l->guard, config->audit, "librechat");
    sessions_watch(config->sessions, &l->watcher);
    *ret = l;
    return 0;
}

/* No request is open any more, and no run waits for one since librechat_stop(). */
struct librechat *librechat_close(struct librechat *l)
{
    if (!l)
        return NULL;
    sessions_unwatch(l->config.sessions, &l->watcher);
    l->guard = http_guard_free(l->guard);
    l->judge = judge_free(l->judge);
    beneath_close(&l->top);
    (void)jwks_free(l->keys);
    xfree(l);
    return NULL;
}

void librechat_stop(struct librechat *l)
{
    l->stopping = true;
    librechat_tools_stop(l);
}
