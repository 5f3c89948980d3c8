/* SPDX-License-Identifier: Apache-2.0
 *
 * POST /sandboxes/{id}/fork: sandboxes that begin as one is. Its own session is forked first, then
 * its contexts one by one, each for all of the new sandboxes, until these lack none. All of it is
 * done or nothing: when one step fails, or the client has gone, the new sandboxes end. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "front/e2b/e2b_control.h"
#include "front/e2b/e2b_interpreter.h"

enum { FORKS_MAX = 20 }; /* of a request, as the wire says */

struct e2b_fork {
    struct e2b_fork *prev, *next;
    struct e2b *owner;
    struct sessions_fork *fork; /* of the session whose turn it is */
    char parent[E2B_ID_MAX + 1];
    char context[SESSIONS_ID_MAX + 1]; /* of the parent, whose turn it is; "": its own session */
    char ids[FORKS_MAX][E2B_ID_MAX + 1];
    size_t count, made;
    int64_t timeout_ms;
    struct http_request *r; /* NULL: it is gone */
};

static void free_e2b_fork(struct e2b_fork *f)
{
    list_remove(&f->owner->forks, f);
    xfree(f);
}

void e2b_forks_close(struct e2b *e)
{
    while (e->forks) {
        sessions_forget_fork(e->forks->fork);
        free_e2b_fork(e->forks);
    }
}

/* --- how it ends ------------------------------------------------------------------------------ */

static void fail_e2b_fork(struct e2b_fork *f, const struct err *why)
{
    for (size_t i = 0; i < f->made; i++) {
        struct e2b_sandbox *s = e2b_sandbox_find(f->owner, f->ids[i]);
        if (s)
            e2b_sandbox_kill(s);
    }
    if (f->r && why->code == -EBUSY)
        e2b_fail(f->r, 409, "%s", why->msg);
    else if (f->r)
        e2b_fail_err(f->r, why);
    free_e2b_fork(f);
}

static void answer_e2b_fork(struct e2b_fork *f)
{
    drop_buf struct buf body = BUF_INIT(E2B_ANSWER_MAX);
    struct jsonw w = JSONW(&body);
    jsonw_array(&w);
    for (size_t i = 0; i < f->made; i++) {
        jsonw_object(&w);
        jsonw_name(&w, "sandbox");
        e2b_put_created(&w, e2b_sandbox_find(f->owner, f->ids[i]));
        jsonw_end(&w);
    }
    jsonw_end(&w);
    http_answer_json(f->r, 201, &body);
    free_e2b_fork(f);
}

/* --- step by step ----------------------------------------------------------------------------- */

static void on_e2b_forked(void *ctx, const char *const *ids, size_t count, const struct err *why);

static int fork_place(struct e2b_fork *f, const char *session, struct err *e)
{
    const struct sessions_fork_spec spec = {
        .id = session, .count = f->count, .wait = true, .done = on_e2b_forked, .ctx = f};
    return sessions_fork(f->owner->config.sessions, &spec, &f->fork, e);
}

/* NULL with *e: one of them, or the parent, has ended meanwhile, or nobody waits any more. */
static const struct e2b_sandbox *forked_parent(const struct e2b_fork *f, struct err *e)
{
    const struct e2b_sandbox *parent = e2b_sandbox_find(f->owner, f->parent);
    bool all = parent && f->r;
    for (size_t i = 0; i < f->made; i++)
        all = all && e2b_sandbox_find(f->owner, f->ids[i]);
    if (!all)
        (void)err_set(e, -ENOENT, "the sandbox %.40s, or a fork of it, has ended meanwhile",
                      f->parent);
    return all ? parent : NULL;
}

static void fork_next_context(struct e2b_fork *f)
{
    struct err e = ERR_NONE;
    const struct e2b_sandbox *parent = forked_parent(f, &e);
    const struct e2b_context *lacks =
        parent ? e2b_context_lacking(e2b_sandbox_find(f->owner, f->ids[0]), parent) : NULL;
    if (parent && !lacks) {
        answer_e2b_fork(f);
        return;
    }
    if (lacks)
        (void)snprintf(f->context, sizeof f->context, "%s", lacks->id);
    if (!lacks || fork_place(f, lacks->session, &e) < 0)
        fail_e2b_fork(f, &e);
}

static void take_sandboxes(struct e2b_fork *f, const char *const *ids, size_t count)
{
    const struct e2b_sandbox *parent = e2b_sandbox_find(f->owner, f->parent);
    struct err e = ERR_NONE; /* -ENOENT: it has ended by itself */
    for (size_t i = 0; i < count; i++) {
        if (parent) {
            (void)snprintf(f->ids[f->made++], sizeof f->ids[0], "%s", ids[i]);
            (void)e2b_sandbox_branch(parent, ids[i], f->timeout_ms);
        } else {
            (void)!sessions_end(f->owner->config.sessions, ids[i], &e);
        }
    }
}

static void take_contexts(struct e2b_fork *f, const char *const *ids, size_t count)
{
    const struct e2b_sandbox *parent = e2b_sandbox_find(f->owner, f->parent);
    struct err e = ERR_NONE; /* likewise */
    for (size_t i = 0; i < count; i++) {
        struct e2b_sandbox *s = e2b_sandbox_find(f->owner, f->ids[i]);
        if (!parent || !s || !e2b_context_branch(s, parent, f->context, ids[i]))
            (void)!sessions_end(f->owner->config.sessions, ids[i], &e);
    }
}

static void on_e2b_forked(void *ctx, const char *const *ids, size_t count, const struct err *why)
{
    struct e2b_fork *f = ctx;
    if (why) {
        fail_e2b_fork(f, why);
        return;
    }
    if (*f->context)
        take_contexts(f, ids, count);
    else
        take_sandboxes(f, ids, count);
    fork_next_context(f);
}

/* --- the request ------------------------------------------------------------------------------ */

static void on_e2b_fork_gone(void *ctx)
{
    struct e2b_fork *f = ctx;
    f->r = NULL;
}

static int read_fork(const struct json *body, struct e2b_fork *f, struct err *e)
{
    const struct json *value = json_get(body, "count");
    double count = value && !json_is_null(value) ? json_number(value) : 1;
    if (value && !json_is_null(value) && !json_is_number(value))
        count = 0;
    if (!(count >= 1 && count <= FORKS_MAX) || count != (double)(size_t)count)
        return err_set(e, -EINVAL, "count: a whole number from 1 to %d is needed", FORKS_MAX);
    f->count = (size_t)count;
    return e2b_read_timeout(body, &f->timeout_ms, e);
}

void e2b_sandbox_fork(void *ctx, struct http_request *r)
{
    static const struct http_events events = {.gone = on_e2b_fork_gone};
    struct e2b *owner = ctx;
    const struct e2b_sandbox *parent = e2b_running_param(owner, r);
    struct err e = ERR_NONE;
    drop_json struct json *body = NULL;
    if (!parent || !e2b_body(r, &body))
        return;
    if (owner->stopping) {
        e2b_fail(r, 503, "the server is stopping");
        return;
    }
    struct e2b_fork *f = NEW(struct e2b_fork);
    *f = (struct e2b_fork){.owner = owner, .r = r};
    memcpy(f->parent, parent->id, sizeof f->parent);
    list_push(&owner->forks, f);
    if (read_fork(body, f, &e) < 0 || audit_check(owner->config.audit, &e) < 0 ||
        fork_place(f, f->parent, &e) < 0)
        fail_e2b_fork(f, &e);
    else
        http_watch(r, &events, f);
}
